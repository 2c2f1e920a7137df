"""Words of pages that few inputs bring about: origins, arguments of a call, titles, places in time."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.builders import row, timeline
from tfmemlens.model.case import Api, Balance
from tfmemlens.model.finding import Certainty, Enough
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers import origin, run_facts, savings
from tfmemlens.renderers.json import report as document
from tfmemlens.renderers.terminal import _timeline
from tfmemlens.units import Size
from tfmemlens.values import replace


@pytest.mark.parametrize(
    "formats, given, words",
    [
        (("oom-sentence",), {}, "OOM message, TensorFlow"),
        (("oom-sentence", "new-one"), {"framework": "jax"}, "OOM message and new one, JAX"),
        (("oom-sentence",), {"framework": "jax", "library": "Flax"}, "OOM message, Flax on JAX"),
        (("oom-sentence",), {"framework": "other"}, "OOM message, TensorFlow"),
        (("graph-def",), {"predicted": True}, "GraphDef; predicted, nothing was run"),
        ((), {"predicted": True}, "no known format; predicted, nothing was run"),
        (("oom-disguise",), {"framework": "tensorflow"}, "indirect OOM message"),
        (
            ("oom-disguise",),
            {"framework": "tensorflow", "version": ("1.0", "2.0")},
            "indirect OOM message, TensorFlow",
        ),
        (("oom-disguise",), {"framework": "jax"}, "indirect OOM message, JAX"),
        (
            ("oom-disguise", "bfc-dump"),
            {"framework": "tensorflow"},
            "indirect OOM message and memory dump, TensorFlow",
        ),
    ],
)  # fmt: skip
def test_what_an_input_is(formats: tuple[str, ...], given: dict[str, Any], words: str) -> None:
    source = Made(formats=formats, framework=given.get("framework"), version=given.get("version"))
    moments = [Made(predicted=given.get("predicted", False))]
    api = replace(Api(), library=given.get("library"))
    report: Any = Made(
        case=Made(capture=Made(source=source), moments=moments, api=api), findings=(), fit=None
    )
    assert origin.described(report) == words


@pytest.mark.parametrize(
    "count, last", [(3, "a2 [3] int8 (line 7)"), (4, "a3 [3] int8 (line 7)"), (6, "and 2 more")]
)
def test_four_arguments_of_a_call(count: int, last: str) -> None:
    arguments = [Made(name=f"a{at}", shape=(3,), dtype="int8", line=Line(7, "")) for at in range(count)]
    shown = Made(
        shows=lambda _: None, is_of_the_cure=lambda _: False,
        settings=(("jit", "True", Line(2, "")),), retraced=None, device_uses=(), devices=(), named_devices=(),
        host_uses=(), evaluating=None, progress_before=lambda line: None,
    )  # fmt: skip
    report: Any = Made(case=Made(capture=Made(surroundings=shown)))
    moment: Any = Made(request=Made(failed=Made(arguments=arguments, line=None)), balance=Balance())
    told = dict(run_facts.facts(report, moment))
    assert list(told) == ["settings", "call"]
    assert told["settings"] == ["jit=True (line 2)"]
    assert (len(told["call"]), told["call"][-1]) == (min(count, 4) + (count > 4), last)
    assert run_facts.facts(report, Made(request=None)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "enough, brief, words",
    [
        ("YES", False, "saves 2.0 KiB: enough, 1.0 KiB more was needed"),
        ("YES", True, "saves 2.0 KiB"),
        ("NO", True, "saves 2.0 KiB of the 1.0 KiB more needed: not enough alone"),
        ("WITH_NEXT", False, "saves 2.0 KiB of the 1.0 KiB more needed: enough only with the next"),
        ("PERHAPS", False, "saves 2.0 KiB"),
    ],
)
def test_whether_a_saving_is_enough(enough: str, brief: bool, words: str) -> None:
    remedy: Any = Made(
        saves_bytes=2048, certainty=Certainty.EXACT, digits=2, missing_bytes=1024,
        enough=Enough[enough],
    )  # fmt: skip
    assert savings.of_remedy(remedy, brief) == words
    remedy.missing_bytes = None
    assert savings.of_remedy(remedy) == "saves 2.0 KiB"


def test_the_largest_output_of_a_layer() -> None:
    def largest(*types: TensorType) -> int:
        layer: Any = Made(outputs=types)
        return _timeline._largest_output(layer)

    assert largest() == largest(TensorType((None, 5), "float32")) == 0
    assert largest(TensorType((2, 5), "float32"), TensorType((3, 5), "float32")) == 60


@pytest.mark.parametrize(
    "changed, keys",
    [
        ({}, {"time_micros": 1000.0, "time_line": None}),
        ({"ordinal": True}, {"time_micros": None, "time_line": 1000.0}),
    ],
)
def test_when_the_peak_was(changed: dict[str, Any], keys: dict[str, float | None]) -> None:
    step = replace(timeline(row("a", 4, 0, 3), row("b", 2, 1, 2)), **changed)
    table = Made(total_bytes=7)
    moment: Any = Made(timeline=step, attribution=Made(table=table), peak_micros=1000.0, predicted=False)
    found = document._peak(moment)
    assert {name: found[name] for name in keys} == keys
    assert "time_instruction" not in found and "predicted" not in found


def test_a_forecast_without_a_bar_or_a_limit() -> None:
    moment: Any = Made(predicted=True, error_bar=None, needed_limit=None, fits=None)
    found = document._forecast(moment)
    assert (found["low_bytes"], found["high_bytes"], found["needed_limit_bytes"]) == (None, None, None)
    moment.error_bar, moment.needed_limit = (5, 7), Made(bytes=8, high_bytes=9)
    found = document._forecast(moment)
    assert (found["low_bytes"], found["high_bytes"]) == (5, 7)
    assert (found["needed_limit_bytes"], found["needed_limit_high_bytes"]) == (8, 9)
    moment.predicted = False
    assert document._forecast(moment) == {}


def test_what_books_do_not_say_is_null() -> None:
    books = replace(Balance(), limit=Size.exactly(5))
    assert document._allocator(books)["limit_bytes"] == 5
    assert document._allocator(books)["in_use_bytes"] is None
    assert document._holders(books, False)["total_bytes"] is None
    assert document._holders(books, True)["total_bytes"] == 0
