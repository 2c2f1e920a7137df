"""What a memory profile, or a program's own print of its arrays, says of a failure beside it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "$ pprof -top memory.prof\nType: space\n      flat  flat%   sum%        cum   cum%\n"
FAILED = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 1610612736 bytes.\n"
)
WEIGHTS = (
    "init_params /home/u/model.py",
    "init_fn /v/site-packages/optax/t.py",
    "zeros_like /v/lib/python3.11/o.py",
)
OTHERS = ("embed /home/u/model.py", "encode /home/u/model.py", "decode /home/u/model.py")


def top(*rows: tuple[str, str]) -> str:
    return HEAD + "".join(f"    {size} 25.49% 25.49%     {size} 25.49%  {name}\n" for size, name in rows)


def profile(sets: tuple[str, ...] = WEIGHTS, extra: str = "collect /home/u/evaluate.py") -> str:
    return top(*(("2.49GB", name) for name in sets), ("2.24GB", extra))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_a_profile_beside_a_failure_says_what_was_held() -> None:
    report = pipeline.explain(profile() + "\nthen the next step dies with\n" + FAILED)
    assert "3 sets of 2.49 GiB (most likely weights and Adam's two moments)" in report.verdict
    assert "2.24 GiB made in `collect`" in report.verdict
    assert slugs(report)[:2] == ["keep-numbers", "smaller-moments"]


def test_equal_sets_of_other_functions_are_no_optimizer_state() -> None:
    report = pipeline.explain(profile(OTHERS) + FAILED)
    assert "3 sets of 2.49 GiB of the same size" in report.verdict
    assert "smaller-moments" not in slugs(report)


@pytest.mark.parametrize("extra", ["wrapper /v/site-packages/jax/_src/api.py", "main"])
def test_a_library_function_is_not_told_as_the_programs_own(extra: str) -> None:
    assert "made in" not in pipeline.explain(profile(extra=extra) + FAILED).verdict


def test_a_profile_alone_with_nothing_alike_keeps_its_verdict() -> None:
    report = pipeline.explain(top(("2.49GB", WEIGHTS[0]), ("1.20GB", OTHERS[0])))
    assert report.verdict.startswith("Arrays on") and "sets of" not in report.verdict


def live(many: int, figure: int = 524288000, asked: int = 524288000) -> Report:
    return pipeline.explain(
        ">>> for a in jax.live_arrays(): print(a.shape, a.dtype, a.nbytes)\n"
        + many * f"(32000, 4096) float32 {figure}\n"
        + FAILED.replace("1610612736", str(asked))
    )


def test_arrays_of_two_states() -> None:
    report = live(6)
    assert "6 arrays of [32000,4096] are alive, 2.93 GiB together: as many as of 2 states" in report.verdict
    assert slugs(report)[0] == "drop-references"
    assert "states" not in live(4).verdict and "4 arrays of" in live(4).verdict


@pytest.mark.parametrize("report", [live(3), live(6, figure=524288001), live(4, asked=8 << 30)])
def test_arrays_that_explain_nothing(report: Report) -> None:
    assert "are alive" not in report.verdict


@pytest.mark.parametrize(
    ("shape", "fires"), [("(16, 4096)", True), ("(16, 600)", False), ("(4096)", False), ("12", False)]
)
def test_a_batch_longer_than_those_before(shape: str, fires: bool) -> None:
    steps = "".join(f"step {step} batch (16, 512) loss 3.{step}\n" for step in range(2))
    report = pipeline.explain(f"import jax\n{steps}step 2 batch {shape}\n{FAILED}")
    assert (f"this batch is {shape}" in report.verdict) is fires


def on_chip(space: str) -> Report:
    return pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory"
        f" in memory space {space}. Used 1.03M of 1.00M {space}. Exceeded {space} capacity by 31.2K.\n"
    )


def test_scalar_memory_is_no_memory_for_tiles() -> None:
    assert "holds scalars" in on_chip("smem").verdict
    assert "tables of indices" in on_chip("smem").actions[0].remedy.text
    assert "tiles that a kernel works on" in on_chip("vmem").verdict
    assert "kernel's blocks smaller" in on_chip("vmem").actions[0].remedy.text
