"""Rows of an array that the output prints, and rows that many steps left in a bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.pages import explained, offered
from tfmemlens import pipeline
from tfmemlens.model.report import Report

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
XLA = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.\n"


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("grid (64000000, 3)", True),
        ("grid (63000000, 3)", False),  # no whole numbers of it
        ("grid (640000, 3)", False),  # of so few rows a square may be meant
        ("", False),
    ],
)
def test_a_square_of_printed_rows_is_one_by_chance(printed: str, told: bool) -> None:
    text = f"{printed}\n{XLA.format(64_000_000 * 256 * 4)}"
    verdict = explained(text).verdict
    assert ("256 float32 values for each of the 64,000,000 rows of `grid` (line 1)" in verdict) is told
    assert ("128,000 x 128,000" in verdict) is not told
    assert (offered(text)[0] == "in-blocks") is told


BANK = """
import tensorflow as tf
class Memory:
    def __init__(self):
        self.feats = tf.Variable(tf.zeros([0, 512]), shape=[None, 512])
    def enqueue(self, z):
        self.feats.assign(tf.concat([self.feats, z], axis=0))
def train_step(x):
    sim = tf.matmul(encode(x), memory.feats, transpose_b=True)
    return sim
"""


def with_a_bank(folder: Path, code: str, went: list[str], shape: str) -> Report:
    """The page of a run of that program, which failed at the product with the bank."""
    (folder / "run.py").write_text(code)
    line = "    sim = tf.matmul(encode(x), memory.feats, transpose_b=True)"
    number = code.split("\n").index(line) + 1
    frames = f'Traceback (most recent call last):\n  File "run.py", line {number}, in train_step\n{line}\n'
    first, second = map(int, shape.split(","))
    need = first * second * 4
    full = dump_by_size(need, 500, (7, need), (7, 8 * MIB), (2, 60 * MIB), allocator=HOST)
    log = folder / "log.txt"
    log.write_text("".join(f"{each}\n" for each in went) + full + frames + oom(shape, "Mul", on=CPU, by=HOST))
    return pipeline.explain(log)


@pytest.mark.parametrize(
    ("steps", "shape", "told"),
    [(30, "512,17920", True), (30, "512,17921", False), (30, "512,4096", False), (4, "512,17920", False)],
)
def test_a_bank_has_the_rows_of_so_many_steps(tmp_path: Path, steps: int, shape: str, told: bool) -> None:
    went = [f"step {at} loss 0.3" for at in range(steps)]
    verdict = with_a_bank(tmp_path, BANK, went, shape).verdict
    assert ("are the rows of 35 steps" in verdict) is told


@pytest.mark.parametrize(
    ("steps", "shape", "told"),
    [
        (1, "512,45056", "11 times 4,096"),
        (1, "512,45057", "11 times 4,096"),  # one more: the positive
        (1, "512,45058", ""),
        (1, "512,8192", ""),  # a double of it may be any width
        (1, "512,40960", "10 times 4,096"),
    ],
)
def test_a_bank_has_so_many_times_the_rows_that_are_added(
    tmp_path: Path, steps: int, shape: str, told: str
) -> None:
    went = [f"epoch {at} loss 0.3" for at in range(steps + 1)]
    found = with_a_bank(tmp_path, f"CHUNK = 4096\n{BANK}", went, shape)
    assert ("are its rows, " in found.verdict) is bool(told) and told in found.verdict
    if told:
        kept = f"self.feats.assign(self.feats[-{int(shape.partition(',')[2]) // 4}:])"
        assert (found.actions[0].remedy.code or "").startswith(kept)
