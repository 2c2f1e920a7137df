"""A shuffle buffer behind `batch` counts batches."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.shuffled_batches import shuffled_batches
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

CHAIN = """\
SIZE = 48
ds = (tf.data.Dataset.range(9000)
      .map(read)
      .batch(SIZE)
      .shuffle(1500, seed=1)
      .prefetch(2))
"""
NAMED = """\
P = {"batch": 32, "buffer": 2000}
def make(p):
    ds = tf.data.Dataset.range(9000).map(read)
    ds = ds.batch(p["batch"])
    ds = ds.shuffle(p["buffer"]).map(augment)
    return ds
"""


def program(code: str) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (CHAIN, (5, 4, 1500, 48)),
        (NAMED, (5, 4, 2000, 32)),
        (NAMED.replace('shuffle(p["buffer"])', "shuffle(len(names))"), (5, 4, None, 32)),
        (CHAIN.replace("      .batch(SIZE)\n", "").replace(".prefetch(2)", ".batch(SIZE)"), None),
        (NAMED.replace("    ds = ds.shuffle", "    ds = ds.unbatch()\n    ds = ds.shuffle"), None),
        (NAMED.replace('ds = ds.batch(p["batch"])', 'other = ds.batch(p["batch"])'), None),
    ],
)
def test_what_is_shuffled_as_batches(code: str, told: tuple[int, int, int | None, int] | None) -> None:
    found = shuffled_batches(program(code))
    assert (found and (found.line.number, found.batched.number, found.buffer, found.batch)) == told


def test_the_same_numbers_of_samples_take_less() -> None:
    found = shuffled_batches(program(CHAIN))
    assert found
    assert "full it takes 6.87 GiB" in found.meaning(48 * 100 * 1024)
    assert "1,500 then take 146.48 MiB" in found.advice(48 * 100 * 1024)
