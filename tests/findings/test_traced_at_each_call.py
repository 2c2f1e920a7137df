"""A warning that every call is traced, of a method or of a function, and the option that it names."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.findings.support.code_snippets import relaxed
from tfmemlens.model.case import Api

_TITLE = "# The GPU runs out of memory after some frames\n\n"
_WARNING = (
    "WARNING:tensorflow:{times} out of the last {calls} calls to <function {name} at 0x7f1c2c0d5e10>"
    " triggered tf.function retracing. Also, tf.function has {option}=True option that"
    " avoids unnecessary retracing.\n"
)


def _warned(name: str, times: int = 9, calls: int = 9, option: str = "experimental_relax_shapes") -> str:
    return _TITLE + _WARNING.format(name=name, times=times, calls=calls, option=option)


def test_a_method_whose_every_call_is_traced_has_a_new_object() -> None:
    text = _warned("Explainer.heat_map")
    assert "`Explainer.heat_map` is traced at every call" in explained(text).verdict
    assert "make the model and `Explainer` once" in first(text)
    assert "constant-shapes" not in offered(text)


@pytest.mark.parametrize(
    ("name", "times"), [("heat_map", 9), ("Explainer.heat_map", 5), ("make.<locals>.heat_map", 9)]
)
def test_others_may_have_other_shapes(name: str, times: int) -> None:
    text = _warned(name, times)
    assert "is traced at every call" not in explained(text).verdict
    assert "constant-shapes" in offered(text)


@pytest.mark.parametrize("option", ["experimental_relax_shapes", "reduce_retracing"])
def test_the_option_is_the_one_that_the_warning_names(option: str) -> None:
    assert f"@tf.function({option}=True)" in first(_warned("heat_map", option=option))
    assert relaxed(Api(), f"it has {option}=True option") == f"@tf.function({option}=True)"
