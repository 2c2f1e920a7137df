"""What a text states of a JAX program outranks the general advice for a program that is too large."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def slugs(report: Report) -> list[str | None]:
    return [action.remedy.slug for action in report.actions]


def of_constants(constants: str, temporaries: str, asked: int) -> Report:
    return pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/fit.py", line 60, in <module>\n'
        "    params, loss = step(params, idx)\n"
        f"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 5.00GiB ({asked}B)"
        " on device ordinal 0: BufferAssignment stats:\n"
        "             parameter allocation:   40.00MiB\n"
        f"              constant allocation:    {constants}\n"
        "        maybe_live_out allocation:   40.00MiB\n"
        f"     preallocated temp allocation:  {temporaries}\n"
    )


def test_an_array_that_a_jitted_function_closes_over_is_a_constant() -> None:
    report = of_constants("5.00GiB", "300.00MiB", 5 << 30)
    assert "5.00 GiB of the program are constants" in report.verdict
    assert slugs(report)[:2] == ["pass-as-argument", "one-batch-to-the-device"]
    assert not {"smaller-batch", "recompute", "donate-buffers"} & set(slugs(report))


@pytest.mark.parametrize(("constants", "temporaries"), [("100.00MiB", "50.00MiB"), ("1.00GiB", "5.00GiB")])
def test_small_constants_and_a_small_part_explain_nothing(constants: str, temporaries: str) -> None:
    report = of_constants(constants, temporaries, 5 << 30)
    assert "constants" not in report.verdict and "pass-as-argument" not in slugs(report)


STATE = "snapshots.append((acc, nnx.state((model, optimizer))))"


def of_readings(kept: str, figures: list[float], divisor: str = "1e9", end: str = "") -> Report:
    rows = "".join(f"    {epoch} 0.51  {figure:.2f}\n" for epoch, figure in enumerate(figures))
    return pipeline.explain(
        "for epoch in range(50):\n    loss = train_step(model, optimizer, x, y)\n"
        f"    {kept}\n"
        f'    print(epoch, acc, jax.local_devices()[0].memory_stats()["bytes_in_use"] / {divisor}{end})\n\n'
        f"{rows}Traceback (most recent call last):\n"
        '  File "/home/u/fit.py", line 85, in <module>\n    loss = train_step(model, optimizer, x, y)\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 2236481536 bytes.\n"
    )


@pytest.mark.parametrize(("divisor", "told"), [("1e9", "3.73 GiB to 12.1"), ("2**30", "4.00 GiB to 13.0")])
def test_readings_that_quoted_code_prints_rise(divisor: str, told: str) -> None:
    report = of_readings(STATE, [4, 7, 10, 13], divisor)
    assert f"rose from {told}" in report.verdict and "`snapshots` keeps whole states" in report.verdict
    assert slugs(report)[:2] == ["keep-numbers", "drop-results"]
    assert "smaller-batch" not in slugs(report)


@pytest.mark.parametrize(
    ("figures", "end"),
    [([4, 4, 4, 4], ""), ([4, 9, 4, 9], ""), ([4, 7, 10, 13], ", loss")],
    ids=["even", "up and down", "the loss stands last"],
)
def test_readings_that_do_not_rise(figures: list[float], end: str) -> None:
    assert "rose" not in of_readings(STATE, figures, end=end).verdict


def of_pytest(call: str, *, below: str = "") -> Report:
    error = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    return pipeline.explain(
        f"FAILED tests/test_gp.py::test_full - {error} 14400000000 bytes.\n\n"
        "    def test_full():\n"
        "        x, y = subset(32)\n"
        ">       fit(x, y)\n\n"
        "tests/test_gp.py:41: \n_ _ _ _ _ _ _ _\n\n"
        "    def fit(x, y):\n"
        "        theta, unravel = ravel_pytree(params)\n"
        f">       {call}\n{below}\n"
        f"gp.py:27: {'XlaRuntimeError' if below else ''}\n"
        + ("" if below else f"_ _ _ _\nE   {error} 14400000000 bytes.\n")
    )


@pytest.mark.parametrize(
    "below",
    ["", "E       jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to"
     " allocate 14400000000 bytes.\n"],
    ids=["the error below the place", "the error above the place"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("H = jax.hessian(flat_loss)(theta)", "Hessian"),
        ("J = jax.jacrev(residuals)(theta)", "Jacobian"),
        ("K = jnp.zeros((60000, 60000))", "[60000,60000] float32"),
    ],
)
def test_pytest_quotes_the_code_above_its_place(call: str, what: str, below: str) -> None:
    report = of_pytest(call, below=below)
    assert what in report.verdict
    failed = report.case.moments[0].request.failed  # type: ignore[union-attr]
    assert failed.source == "gp.py:27" and failed.source_text == call
