"""Tensors that a line of the program joins to themselves in each step, where no record tells who is alive."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, dump_by_size, oom
from tests.findings.pages import explained
from tests.findings.test_retraced_code import program
from tfmemlens.findings.growing_concatenation import _cut
from tfmemlens.findings.support.joined_code import joined_over_steps

HOST = "bfc_cpu_allocator_for_gpu"
METHOD = "class Net:\n    def learn(self, k):\n        {}\n"
VARIABLE = "shelf = tf.Variable(first, validate_shape=False)\nheld = tf.reshape(shelf, [-1, 8])\n"
KEPT = "class Shelf:\n    def add(self, k):\n        {}\n        self.shelf.assign(more)\n"
STEPS = "step 0 loss 0.1\nstep 20 loss 0.2\nstep 40 loss 0.2\n"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (METHOD.format("self.bank = tf.concat([k, self.bank], axis=0)"), ["self.bank"]),
        (METHOD.format("self.bank = np.concatenate((self.bank, k))"), ["self.bank"]),
        (METHOD.format("self.bank = np.append(self.bank, k, 0)"), ["self.bank"]),
        (METHOD.format("self.bank.assign(tf.concat([self.bank, k], 0))"), ["self.bank"]),
        (METHOD.format("self.bank = tf.concat([k, self.bank], 0)[:99]"), []),
        (METHOD.format("self.bank = tf.concat([k, self.shelf], 0)"), []),
        (METHOD.format("self.bank = tf.concat([k, self.bank], axis=-1)"), []),
        (METHOD.format("self.bank = tf.concat([self.bank, k], 0)\n        self.bank = self.bank[-99:]"), []),
        (METHOD.format("self.bank = make()\n        self.bank = tf.concat([self.bank, k], 0)"), []),
        (METHOD.replace("learn", "call").format("self.bank = tf.concat([self.bank, k], 0)"), []),
        ("for step in range(90):\n    seen = tf.concat([seen, k], 0)\n", ["seen"]),
        ("for block in blocks:\n    x = tf.concat([x, block(x)], 0)\n", []),  # a network
        ("for step in range(90):\n    seen = first()\n    seen = tf.concat([seen, k], 0)\n", []),
        ("def add(k):\n    global seen\n    seen = tf.concat([seen, k], 0)\n", ["seen"]),
        ("def add(seen, k):\n    seen = tf.concat([seen, k], 0)\n", []),
        (VARIABLE + "push = tf.assign(shelf, tf.concat([held, k], 0), validate_shape=False)\n", ["shelf"]),
        (VARIABLE + "push = tf.assign(shelf, tf.concat([k, shelf.value()], axis=0))\n", ["shelf"]),
        (VARIABLE + "push = shelf.assign(tf.concat([held, k], 0))\n", ["shelf"]),
        (VARIABLE + "push = tf.assign(shelf, tf.concat([held[8:], k], 0))\n", []),  # a ring
        (KEPT.format("more = tf.concat([self.shelf, k], 0)"), ["self.shelf"]),
        (KEPT.format("more = tf.concat([self.shelf, k], 0)[-64:]"), []),
        (KEPT.format("more = tf.concat([self.other, k], 0)"), []),
        (KEPT.format("more = tf.concat([self.shelf, k], 0)\n        more = more[-64:]"), []),
        (
            KEPT.format(
                "more = tf.concat([self.shelf, k], 0)\n        if MOST:\n            more = more[-MOST:]"
            ),
            [],
        ),
        (
            "MOST = int(os.environ.get('MOST', 0))\n"
            + KEPT.format(
                "more = tf.concat([self.shelf, k], 0)\n        if MOST:\n            more = more[-MOST:]"
            ),
            ["self.shelf"],
        ),
        (VARIABLE + "push = tf.assign(shelf, tf.concat([held, k], 0)[-99:])\n", []),
        (VARIABLE + "push = tf.assign(shelf, tf.concat([held, k], -1))\n", []),  # columns
        (VARIABLE + "push = tf.assign(shelf, tf.concat([other, k], 0))\n", []),
        (VARIABLE + "push = shelf.assign(tf.concat([held, k], 0))\ncut = shelf.assign(held[-99:])\n", []),
    ],
)
def test_names_that_grow_from_step_to_step(code: str, names: list[str]) -> None:
    assert [name for name, _ in joined_over_steps(program(code))] == names


@pytest.mark.parametrize(
    ("steps", "blocks", "grows"),
    [
        (STEPS, ((1, 60 * MIB), (40, MIB)), True),
        ("step 1 loss 0.1\nstep 2 loss 0.1\n", ((1, 60 * MIB), (40, MIB)), False),  # may as well be a batch
        (STEPS, ((1, 12 * MIB), (88, MIB)), False),  # nothing large is there once
        (STEPS, ((40, MIB), (30, 2 * MIB)), False),
    ],
)
def test_a_block_that_grew_with_the_steps(
    steps: str, blocks: tuple[tuple[int, int], ...], grows: bool
) -> None:
    code = METHOD.format("self.bank = tf.concat([k, self.bank], axis=0)")
    text = (
        code
        + steps
        + dump_by_size(8 * MIB, 100, *blocks, allocator=HOST)
        + oom("32,65536", "RealDiv", on=CPU, by=HOST)
    )
    found = [each for each in explained(text).findings if each.rule == "growing-concatenation"]
    assert bool(found) is grows
    if found:
        assert "most likely it has the largest block of 60.00 MiB" in found[0].headline
        slugs = [each.remedy.slug for each in explained(text).actions]
        assert slugs[0] == "ring-buffer" and not {"constant-shapes", "smaller-batch"} & {*slugs}


def test_the_newest_rows_stay() -> None:
    assert _cut("self.bank", "self.bank = tf.concat([k, self.bank], 0)", 4000) == (
        "self.bank = self.bank[:1000]   # behind that line"
    )
    assert _cut("bank", "bank = tf.concat([bank, k], 0)", 4000) == "bank = bank[-1000:]   # behind that line"
    assert _cut("bank", "bank = tf.concat([bank, k], 0)", 0) is None


def test_a_width_is_no_lever_for_what_grows() -> None:
    """The line that failed joins it itself, and the program names the number of its columns."""
    line = "    bank = tf.concat([bank, k], 0)\n"
    code = "WIDE = 192\nWORDS = tf.zeros([1, WIDE])\n"
    frame = 'Traceback (most recent call last):\n  File "train.py", line 6, in <module>\n' + line
    full = dump_by_size(89089 * 192 * 4, 200, (1, 94 * MIB), (100, MIB), allocator=HOST)
    text = code + full + frame + oom("89089,192", "concat", on=CPU, by=HOST)
    report = explained(text)
    assert "growing-concatenation" in {each.rule for each in report.findings}
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[0] == "ring-buffer" and not {"lower-constant", "lower-setting"} & {*slugs}


@pytest.mark.parametrize(("part", "grows"), [("held", True), ("held[256:]", False)])
def test_a_variable_that_is_assigned_its_own_value_and_more(part: str, grows: bool) -> None:
    """No gap of the free memory and no step of another shape is the cause then."""
    line = f"push = tf.assign(shelf, tf.concat([{part}, k], 0), validate_shape=False)\n"
    frame = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    ' + line
    full = dump_by_size(9217 * 2048 * 4, 200, (1, 70 * MIB), (3, MIB), allocator=HOST)
    report = explained(VARIABLE + line + STEPS + full + frame + oom("9217,2048", "concat", on=CPU, by=HOST))
    assert ("growing-concatenation" in {each.rule for each in report.findings}) is grows
    if grows:
        slugs = [each.remedy.slug for each in report.actions]
        assert slugs[0] == "ring-buffer" and not {"constant-shapes", "large-tensors-first"} & {*slugs}
        assert "tf.assign(shelf, tf.concat([shelf, x], 0)[-4608:]" in (report.actions[0].remedy.code or "")


def test_a_line_that_only_makes_the_longer_rows_is_cut_where_it_stands() -> None:
    line = "        more = tf.concat([self.shelf, k], axis=0)\n"
    frame = 'Traceback (most recent call last):\n  File "train.py", line 3, in add\n' + line
    text = KEPT.format(line.strip()) + frame + oom("9217,2048", "concat", on=CPU, by=HOST)
    first = explained(text).actions[0].remedy
    assert first.slug == "ring-buffer" and first.code == f"{line.strip()}[-4608:]"
