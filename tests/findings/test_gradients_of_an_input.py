"""Gradients of an input that are taken for all rows at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.taped_loop import watched_input
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
INNER = """
import tensorflow as tf
def slopes(net, x):
    with tf.GradientTape() as tape:
        {watch}
        y = net(x, training=False)
    return tape.gradient(y, {by})
"""
OUTER = (
    INNER
    + """
def penalty(net, x, top):
    with tf.GradientTape() as upper:
        g = slopes(net, x)
    return upper.gradient(g, top)
"""
)
AT_THE_EDGE = """
import tensorflow as tf
with tf.GradientTape() as tape:
    tape.watch(x)
    y = net(x)
g = tape.gradient(y, x)
"""


@pytest.mark.parametrize(
    ("code", "lines", "watched"),
    [
        (INNER.format(watch="tape.watch(x)", by="x"), (6,), "x"),
        (INNER.format(watch="tape.watch(x)", by="x"), (2,), None),  # outside of the tape
        (INNER.format(watch="tape.watch(x)", by="[x, net.weights]"), (6,), None),
        (INNER.format(watch="pass", by="x"), (6,), None),  # a variable, which needs no watching
        (OUTER.format(watch="tape.watch(x)", by="x"), (6, 11), None),  # a gradient of the gradient
        (AT_THE_EDGE, (5,), "x"),
    ],
)
def test_what_is_watched(code: str, lines: tuple[int, ...], watched: str | None) -> None:
    read = Program(
        tuple(
            Statement(node, tuple(Line(at, text, "run.py") for at, text in enumerate(code.splitlines(), 1)))
            for node in ast.parse(code).body
        )
    )
    found = watched_input(read, [Frame(f"run.py:{number}", "") for number in lines])
    assert (found and found.watched) == watched


@pytest.mark.parametrize(("rows", "at_a_time"), [(260, 32), (40, 20), (1, None)])
def test_some_rows_at_a_time(tmp_path: Path, rows: int, at_a_time: int | None) -> None:
    code = INNER.format(watch="tape.watch(x)", by="x")
    (tmp_path / "run.py").write_text(code)
    text = "y = net(x, training=False)"
    frame = f'Traceback (most recent call last):\n  File "run.py", line 6, in slopes\n    {text}\n'
    full = dump_by_size(rows * 64 * 64 * 64 * 4, 1100, (3, 300 * MIB), (1, 170 * MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    log.write_text(full + frame + oom(f"{rows},64,64,64", "Mul", on=CPU, by=HOST))
    found = pipeline.explain(log)
    first = found.actions[0].remedy if found.actions else None
    assert (first is not None and first.slug == "gradients-by-rows") is (at_a_time is not None)
    assert (f"all its {rows} rows at once" in found.verdict) is (at_a_time is not None)
    if first and at_a_time:
        assert f"{at_a_time} of {rows}" in first.text
        assert first.saves_bytes == (rows - at_a_time) * 64 * 64 * 64 * 4
    assert "prediction" not in found.verdict
