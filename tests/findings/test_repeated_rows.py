"""Rows that the program repeats before its network sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

MIB = 1 << 20
OP = "{{function_node __wrapped__AddV2_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
HOST = "bfc_cpu_allocator_for_gpu"
DROPOUT = """
import tensorflow as tf
SHOPS = 128
HOURS = 336
DRAWS = 100
def bands(net, x, draws):
    many = {call}
    return net(many, training=True)
bands(net, x[:SHOPS], DRAWS)
"""
GRADED = """
import tensorflow as tf
SHOPS = 128
DRAWS = 100
def step(net, x, draws):
    with tf.GradientTape() as tape:
        many = {call}
        loss = bound(net(many, training=True))
    return tape.gradient(loss, net.weights)
step(net, x[:SHOPS], DRAWS)
"""
BEAMS = DROPOUT.replace("DRAWS", "BEAM_WIDTH")


def explained(folder: Path, code: str, shape: str = "12800,336,64") -> Report:
    (folder / "run.py").write_text(code)
    (at,) = (at for at, line in enumerate(code.splitlines(), 1) if "net(many" in line)
    name = "step" if "tape" in code else "bands"
    edge = len(code.splitlines())
    frames = (
        f'Traceback (most recent call last):\n  File "run.py", line {edge}, in <module>\n'
        f'    {code.splitlines()[-1]}\n  File "run.py", line {at}, in {name}\n'
        f"    {code.splitlines()[at - 1].strip()}\n"
    )
    full = dump_by_size(1101004800, 600, (1, 128 * MIB), allocator=HOST)
    log = folder / "log.txt"
    log.write_text(full + frames + OP + oom(shape, "AddV2", on=CPU, by=HOST))
    return pipeline.explain(log)


@pytest.mark.parametrize(
    ("call", "shape", "said"),
    [
        ("tf.repeat(x, draws, axis=0)", "12800,336,64", True),
        ("tf.repeat(x, draws, 0)", "12800,336,64", True),
        ("tf.tile(x, [draws, 1, 1])", "12800,336,64", True),
        ("tf.reshape(tf.tile(x[:, None], [1, draws, 1, 1]), [-1, 336, 6])", "12800,336,64", True),
        ("tf.concat([x] * draws, axis=0)", "12800,336,64", True),
        ("tf.repeat(x, draws, axis=1)", "12800,336,64", False),  # longer rows, not more
        ("tf.repeat(x, draws)", "12800,336,64", False),  # flat
        ("tf.tile(x, [1, 1, draws])", "12800,336,64", False),
        ("tf.concat([x] * draws, axis=-1)", "12800,336,64", False),
        ("tf.repeat(x, draws, axis=0)", "4300800,64", True),  # and the positions of each in one axis
        ("tf.repeat(x, draws, axis=0)", "6400,336,64", False),  # of rows that no setting has
        ("tf.repeat(x, draws, axis=0)", "128,336,64", False),  # the rows themselves
        ("tf.repeat(x, draws, axis=0)", "12800", False),
    ],
)
def test_who_repeats_the_rows(tmp_path: Path, call: str, shape: str, said: bool) -> None:
    verdict = explained(tmp_path, DROPOUT.format(call=call), shape).verdict
    assert ("makes 128 rows (`SHOPS`) into 12,800" in verdict and "`DRAWS` is 100" in verdict) is said
    assert (", of 336 positions each" in verdict) is (shape == "4300800,64")


def test_one_repetition_after_the_other_where_no_gradient_is_taken(tmp_path: Path) -> None:
    page = explained(tmp_path, DROPOUT.format(call="tf.repeat(x, draws, axis=0)"))
    first = page.actions[0].remedy
    assert first.slug == "one-repetition-at-a-time"
    assert first.saves_bytes == 12800 * 336 * 64 * 4 * 99 // 100
    assert "128 -> 32" in page.actions[1].remedy.text
    assert "smaller-batch" not in [each.remedy.slug for each in page.actions]


def test_fewer_repetitions_where_a_tape_keeps_all(tmp_path: Path) -> None:
    page = explained(tmp_path, GRADED.format(call="tf.repeat(x, draws, axis=0)"))
    slugs = [each.remedy.slug for each in page.actions]
    assert slugs[0] == "fewer-repetitions" and "tape-per-part" in slugs
    assert "one-repetition-at-a-time" not in slugs
    assert "100 -> 50" in page.actions[0].remedy.text


def test_beams_stay_and_fewer_sentences_are_decoded_at_once(tmp_path: Path) -> None:
    page = explained(tmp_path, BEAMS.format(call="tf.repeat(x, draws, axis=0)"))
    slugs = [each.remedy.slug for each in page.actions]
    assert slugs[:3] == ["fewer-rows-at-once", "broadcast-instead", "fewer-repetitions"]


FOLLOWED = """
import tensorflow as tf
scans = tf.zeros([24, 336, 6])
def spread(net, x, passes=50):
    many = {call}
    return net(many, training=True)
for at in range(0, 24, 8):
    spread(net, scans[at:at + 8])
"""


@pytest.mark.parametrize(
    ("call", "shape", "said"),
    [
        ("tf.repeat(x, passes, axis=0)", "400,336,64", "makes 8 rows into 400: `passes` is 50"),
        ("tf.tile(x, [50, 1, 1])", "400,336,64", "makes 8 rows into 400: each 50 times"),
        ("tf.repeat(x, passes, axis=0)", "300,336,64", ""),
        ("tf.repeat(x, passes, axis=1)", "400,336,64", ""),
        ("tf.repeat(other, passes, axis=0)", "400,336,64", ""),  # nobody knows how many these are
    ],
)
def test_rows_of_a_slice_that_a_default_repeats(tmp_path: Path, call: str, shape: str, said: str) -> None:
    verdict = explained(tmp_path, FOLLOWED.format(call=call), shape).verdict
    assert said in verdict
    assert bool(said) is ("makes 8 rows into" in verdict)
