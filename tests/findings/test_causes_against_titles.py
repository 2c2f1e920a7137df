"""A cause that a text names below goes before the word of its title, and before what is advised for all."""

from __future__ import annotations

from tests.findings.pages import explained, first, offered
from tfmemlens import pipeline

TITLE = "# memory leak in the compiled solver\n\n"
CAUSE = (
    "The solver is used by JAX on cpu. The cause is still the jacobian evaluation but the OOM shows only when"
    " the matrix is printed.\n"
)


def test_a_cause_below_goes_before_the_leak_of_a_title() -> None:
    report = explained(f"{TITLE}With jax, lower resolutions are fine.\n\n{CAUSE}")
    assert "grows" not in report.verdict
    assert "host RAM ran out (line 5)" in report.verdict
    assert "some columns or rows at a time" in first(f"{TITLE}With jax, lower resolutions work.\n\n{CAUSE}")


def test_a_cause_that_keeps_leaves_the_leak() -> None:
    text = (
        f"{TITLE}With jax on cpu it runs out of memory.\n\nThe cause is that each call appends to a list.\n"
    )
    assert "grows" in explained(text).verdict


def test_a_title_alone_still_tells_of_a_leak() -> None:
    assert "grows" in explained(f"{TITLE}With jax on cpu it runs out of memory.\n").verdict


def test_a_doubted_cause_is_none() -> None:
    text = "With jax it runs out of memory. The cause is the jacobian evaluation but I am not sure.\n"
    told = pipeline.capture(text).surroundings
    assert not any(name.startswith("said to be the cause") for name, _ in told.purposes)


def test_gpu_drivers_are_named_where_a_gpu_is() -> None:
    text = "The out of memory killer ends my container with tensorflow, started by docker run -m 2g demo\n"
    assert "container-limit" in offered(text)
    assert "driver" not in first(text)
    assert "driver" in first(f"{text}It has a GPU of NVIDIA's.\n")
