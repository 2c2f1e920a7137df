"""A tf.function that is made again and again: no signature helps it, and it is no result that could be
reduced.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.kept_code import kept, kept_function
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

WARNING = (
    "WARNING:tensorflow:{times} out of the last {times} calls to <function {name} at {address}> triggered"
    " tf.function retracing.\n"
)
FAILED = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[80000,128] and type float on"
    " /job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu [Op:Square]\n"
)
MAKER = """
class Trainer:
    def __init__(self):
        self.steps = {}

    def build(self, rate):
        @tf.function
        def step(x):
            return x * rate

        return step

    def run(self, x, rate):
        self.steps[rate] = self.build(rate)
"""


def told(code: str) -> Surroundings:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1) if text.strip())
    return Surroundings(program=lambda: read_program(lines))


def retraced(name: str, *addresses: str) -> Finding:
    warnings = (
        WARNING.format(times=5 + turn, name=name, address=address) for turn, address in enumerate(addresses)
    )
    found = pipeline.explain("".join(warnings) + FAILED).findings
    return next(each for each in found if each.rule == "retraced-functions")


@pytest.mark.parametrize(
    ("name", "addresses", "anew"),
    [
        ("Net.build.<locals>.step", ("0x7f2e9fad1620", "0x7f2e9fad1f80"), True),
        ("Net.build.<locals>.step", ("0x7f2e9fad1620", "0x7f2e9fad1620"), False),  # the same, traced again
        ("Net.build.<locals>.step", ("0x7f2e9fad1620",), False),  # `main` may define a step and loop over it
        ("step", ("0x7f2e9fad1620", "0x7f2e9fad1f80"), False),  # a cell that was run again
    ],
)
def test_two_objects_of_one_name_are_made_anew(name: str, addresses: tuple[str, ...], anew: bool) -> None:
    seen = retraced(name, *addresses)
    assert ("made anew at each call of `build`" in seen.because) is anew
    assert seen.remedies[0].slug == ("one-function" if anew else "one-signature")
    assert ("outside of `build`" in seen.remedies[0].text) is anew


@pytest.mark.parametrize(
    ("code", "container"),
    [
        (MAKER, "self.steps"),
        ("steps = []\nfor rate in rates:\n    steps.append(tf.function(f))", "steps"),
        ("steps = []\nfor rate in rates:\n    steps.append(lambda x: x * rate)", "steps"),
        ("jitted = {}\nfor n in sizes:\n    step = jax.jit(f)\n    jitted[n] = step", "jitted"),
        ("outs = []\nfor x in data:\n    outs.append(step(x))", None),
        ("def step(x):\n    return x\n\nouts = []\nfor x in data:\n    outs.append(step(x))", None),
    ],
)
def test_a_kept_function_is_no_kept_result(code: str, container: str | None) -> None:
    keeping = kept_function(told(code))
    assert (keeping and keeping.container) == container
    assert bool(kept(told(code))) is (container is None)


def test_the_program_names_what_keeps_each_function() -> None:
    text = "".join(
        WARNING.format(times=times, name="Trainer.build.<locals>.step", address="0x7f2e9fad1620")
        for times in (5, 6)
    )
    found = pipeline.explain(f"{MAKER}\n{text}{FAILED}").findings
    seen = next(each for each in found if each.rule == "retraced-functions")
    assert "made anew by `build` again and again (`self.steps`, line" in seen.because
    assert seen.remedies[0].slug == "one-function"
    assert not [each for each in found if each.rule == "kept-by-a-loop"]
