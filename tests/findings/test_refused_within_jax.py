"""A bad_alloc that JAX hands on as Python's MemoryError: no array of NumPy's, and no data set."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

TRACE = (
    "import jax\n\nTraceback (most recent call last):\n"
    '  File "fit.py", line 88, in <module>\n    state = many_steps(state)\n{end}\n'
)


@pytest.mark.parametrize("end", ["MemoryError: bad allocation", "MemoryError: std::bad_alloc"])
@pytest.mark.parametrize(
    "said, slugs",
    [
        ("The compilation needs a lot of RAM.\n", ["roll-loops", "count-operations", "compile-less"]),
        ("", ["compile-alone", "roll-loops", "count-operations"]),
    ],
)
def test_what_is_refused_below_jax_maps_no_file(end: str, said: str, slugs: list[str]) -> None:
    report = explained(said + TRACE.format(end=end))
    assert [each.remedy.slug for each in report.actions][:3] == slugs
    assert "`state = many_steps(state)` got no more of it" in report.verdict
    assert ("most likely it was XLA's compiler" in report.verdict) is bool(said)


@pytest.mark.parametrize(
    "log",
    [
        TRACE.format(end="MemoryError"),
        TRACE.format(end="MemoryError: bad allocation").replace("import jax", "import pandas"),
        TRACE.format(
            end="MemoryError: Unable to allocate 30.0 GiB for an array with shape (8053063680,) and data type"
            " float32"
        ),
    ],
)
def test_a_memory_error_of_pythons_own_is_none_of_jax(log: str) -> None:
    report = explained(log)
    assert "C++ code below JAX" not in report.verdict
    assert not {"compile-alone", "compile-less"} & {each.remedy.slug for each in report.actions}
