"""A run's end that was pasted into the program that it ran."""

from __future__ import annotations

import pytest

from tfmemlens.readers.oom.pasted_output import pasted_output

PROGRAM = "import tensorflow as tf\nprint(tf.zeros([2]))\n'''\nshape (400, 127, 512)\n\n{}\n'''\n"


@pytest.mark.parametrize(
    ("end", "is_output"),
    [
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", True),
        ("Process finished with exit code -1 (interrupted by signal 9:SIGKILL)", True),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4.batch", True),
        ("  what():  std::bad_alloc", True),
        ("Process finished with exit code 0", False),
        ("Process finished with exit code 1", False),
        ("it may be killed with exit code 137", False),
    ],
)
def test_what_tells_of_a_run(end: str, is_output: bool) -> None:
    assert pasted_output(PROGRAM.format(end)) is is_output
