"""What the text itself clears is not blamed: weights that are shared, draws not made yet, a search."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(("arguments", "shares"), [("11.10G", True), ("29.90G", False)])
def test_weights_that_are_shared_already_are_not_what_is_too_much(arguments: str, shares: bool) -> None:
    report = explained(
        "jax train step of a 65B model, TPU v4-64",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory"
        " space hbm. Used 33.30G of 30.75G hbm. Exceeded hbm capacity by 2.55G.",
        "",
        "Total hbm usage >= 34.55G:",
        "    reserved          1.25G",
        "    program          22.20G" if shares else "    program           3.40G",
        f"    arguments        {arguments}",
    )
    assert ("65 billion" not in report.verdict) is shares


def test_a_sampler_that_starts_keeps_no_draws_yet() -> None:
    def failed_in(name: str) -> Report:
        return explained(
            "Traceback (most recent call last):",
            '  File "fit.py", line 30, in <module>',
            "    mcmc.run(key, x, y)",
            f'  File "/v/site-packages/numpyro/infer/hmc.py", line 700, in {name}',
            "    params = self.start(x)",
            '  File "fit.py", line 12, in net',
            "    h = jnp.tanh(x @ w)",
            '  File "/v/site-packages/jax/_src/dispatch.py", line 460, in _execute_compiled',
            "    out = compiled.execute(x)",
            "RuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3221225400 bytes.",
        )

    starts = failed_in("init")
    assert "before any draw" in starts.verdict and slugs(starts)[0] == "subsampling"
    assert "keeps every draw" in failed_in("run_chain").verdict


@pytest.mark.parametrize(
    ("shape", "size", "whole"),
    [
        ("1,512,1900,1100", 4280320000, True),
        ("8,512,500,500", 4096000000, False),
        ("1,9,9,9", 4096000000, None),
    ],
)
def test_an_operand_of_a_tried_convolution_is_no_workspace(shape: str, size: int, whole: bool | None) -> None:
    report = explained(
        "jaxlib.xla_extension.XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm"
        " for:",
        f"%cudnn-conv.7 = (f32[{shape}]{{3,2,1,0}}, u8[0]{{0}}) custom-call(f32[{shape}]{{3,2,1,0}} %c.3,"
        " f32[512,512,1,1]{3,2,1,0} %w.1), window={size=1x1}, dim_labels=bf01_oi01->bf01",
        "",
        f"Original error: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {size} bytes.",
    )
    assert ("an array of the convolution" in report.verdict) is (whole is not None)
    assert ("default-algorithm" in slugs(report)) is (whole is None)
    assert ("smaller-input" in slugs(report)) is (whole is True)
    assert whole is False or "smaller-batch" not in slugs(report)
