"""Edges of what rules and their remedies take from a text."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.logs import oom
from tests.findings.test_outputs_by_size import told
from tfmemlens import pipeline
from tfmemlens.findings import report_not_enabled
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import enumerated
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import LiveModel
from tfmemlens.values import replace


def stating(batch: str | None, /, **hints: Any) -> Any:
    setting = None if batch is None else (batch, Line(3, ""))
    surroundings = Made(setting=lambda name: setting if name == "batch_size" else None, settings=())
    given = Made(**{"batch": None, "input_shape": None, **hints})
    return Made(capture=Made(surroundings=surroundings, hints=given, live_model=None), moments=())


@pytest.mark.parametrize(
    "batch, most, said",
    [(None, 4, False), ("x", 4, False), ("0", 4, False), ("1", 4, False), ("2", 1, True), ("7", 1, True),
     ("8", 2, True), ("64", 16, True)],
)  # fmt: skip
def test_a_server_is_told_a_quarter_of_its_examples(batch: str | None, most: int, said: bool) -> None:
    found = remedies.smaller_requests(stating(batch))
    assert f"value: {most} }}" in (found.code or "")
    assert (f"(here {batch}, line 3)" in found.text) is said


@pytest.mark.parametrize(
    "stated, hints, batch",
    [
        ("8", {}, 8),
        ("0", {}, None),
        (None, {}, None),
        ("8", {"batch": 4}, 4),
        ("8", {"input_shape": (2, 5)}, 2),
        ("8", {"batch": 4, "input_shape": (2, 5)}, 4),
        ("8", {"input_shape": (None, 5)}, 8),
    ],
)
def test_the_batch_as_it_is_stated(stated: str | None, hints: dict[str, Any], batch: int | None) -> None:
    assert remedies._stated_batch(stating(stated, **hints)) == batch


@pytest.mark.parametrize(
    "allocator, by_bfc", [(None, True), ("GPU_0_bfc", True), ("BFC", True), ("cuda_malloc_async", False)]
)
def test_who_may_write_a_dump(allocator: str | None, by_bfc: bool) -> None:
    moment: Any = Made(request=Made(failed=Made(allocator=allocator)))
    assert report_not_enabled._by_bfc(moment) is by_bfc
    assert report_not_enabled._by_bfc(Made(request=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("side, fires", [(64, False), (96, False), (160, False), (224, False), (288, True)])
def test_odd_parts_of_kernels_show_no_outputs(side: int, fires: bool) -> None:
    """1, 9, 25 and 49: weights of square kernels have these, too. 81 is no such part."""
    need = 2 * side * side * 128 * 4
    found = told((5, 2 * need), (5, need), shape=f"2,{side},{side},128", need=need)
    assert (found is not None) is fires


def test_words_in_a_row() -> None:
    assert [enumerated(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(
    ("recorded", "model", "begins"),
    [
        (None, None, "to see which layers hold the memory: run it once more"),
        (
            LiveModel((), ()),
            None,
            "this run recorded itself, but no step of it ran to its end: run it the same way",
        ),
        (
            LiveModel((), (), description="{}"),
            None,
            "this run recorded itself, but no step of it ran to its end: `tfmemlens fit` of",
        ),
        (LiveModel((), ()), "net.keras", "to see which layers hold the memory: run it once more"),
    ],
)
def test_a_run_that_recorded_no_step_is_not_sent_to_record_itself(
    recorded: LiveModel | None, model: str | None, begins: str
) -> None:
    hint = (
        "Hint: If you want to see a list of allocated tensors when OOM happens, add"
        " report_tensor_allocations_upon_oom to RunOptions for current allocation info. This isn't available"
        " when running in Eager mode.\n [Op:__inference_train_function_999]\n"
    )
    case = pipeline.explain(oom("32,64,64,64") + hint).case
    capture = replace(
        case.capture,
        live_model=recorded,
        hints=replace(case.capture.hints, model=model),
    )
    (found,) = report_not_enabled.check(replace(case, capture=capture))
    assert found.remedies[0].text.startswith(begins)
    assert found.remedies[0].slug == "record-a-step"


@pytest.mark.parametrize(
    "described, begins", [(None, "to learn which batch fits"), ("{}", "`tfmemlens fit` of")]
)
def test_where_the_program_told_who_holds_it_only_the_batch_is_open(
    described: str | None, begins: str
) -> None:
    case = pipeline.explain(oom("32,64,64,64")).case
    table = AllocationTable.of([Allocation("body/x", 8)])
    moment = replace(
        case.moments[0], counted=Attribution(table, [Owner("body", Kind.ACTIVATION, Phase.FORWARD)])
    )
    capture = replace(case.capture, live_model=LiveModel((), (), description=described))
    (found,) = report_not_enabled.check(replace(case, capture=capture, moments=(moment,)))
    assert found.headline == "which batch fits is not in this input"
    assert [remedy.text.startswith(begins) for remedy in found.remedies] == [True]
