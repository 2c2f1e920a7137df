"""A list of numbers that a function returned keeps no memory, at whatever place of a tuple they stand."""

from __future__ import annotations

import pytest

from tests.findings.test_retraced_code import program
from tfmemlens.findings.support.kept_trees import kept_by_loops
from tfmemlens.model.capture import Surroundings

CODE = """
class Trainer:
    def __init__(self):
        self.log = {{"a": []}}
    def step(self, x):
        part = tf.reduce_mean(self.net(x), 1)
        return {returned}
    def run(self, data):
        for x in data:
            {given} = self.step(x)
            self.log["a"].append(part)
"""


@pytest.mark.parametrize(
    ("returned", "given", "number"),
    [
        ("float(self.f(x)), float(part[0])", "total, part", True),
        ("self.f(x), part[0].item()", "total, part", True),
        ("float(part[0])", "part", True),
        ("float(self.f(x)), part", "total, part", False),
        ("part, float(self.f(x))", "part, total", False),
        ("float(self.f(x)), float(part[0])", "part", False),  # both of them
        ("float(part[0])", "part = None; part", False),  # it may be something else
    ],
)
def test_a_number_of_a_call(returned: str, given: str, number: bool) -> None:
    code = program(CODE.format(returned=returned, given=given))
    (kept,) = kept_by_loops(Surroundings(program=lambda: code))
    assert (kept.value, kept.number) == ("part", number)
