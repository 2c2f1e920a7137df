"""Next to nothing fails while an iterator is made, beside blocks that whole arrays fill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
ONE = "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)"


@pytest.mark.parametrize(
    ("line", "op", "sizes", "told"),
    [
        (ONE, "MakeIterator", (240, 230), True),
        (ONE, "MatMul", (240, 230), False),
        (ONE, "MakeIterator", (30,) * 16, False),  # of a network as well
        (f"{ONE}\nother = tf.data.Dataset.from_tensor_slices(z)", "MakeIterator", (240, 230), False),
        ("ds = tf.data.Dataset.from_tensor_slices(files).map(read)", "MakeIterator", (240, 230), False),
    ],
)
def test_one_line_gives_the_arrays(
    tmp_path: Path, line: str, op: str, sizes: tuple[int, ...], told: bool
) -> None:
    (tmp_path / "run.py").write_text(f"import tensorflow as tf\nx, y = windows()\n{line}\nmodel.fit(ds)\n")
    full = dump_by_size(16384, 500, *((1, size * MIB) for size in sizes), allocator=HOST)
    frames = 'Traceback (most recent call last):\n  File "run.py", line 4, in <module>\n    model.fit(ds)\n'
    log = tmp_path / "log.txt"
    log.write_text(full + frames + oom("4096", op, on=CPU, by=HOST))
    found = pipeline.explain(log)
    assert ("(line 3 of run.py) holds whole arrays as constants" in found.verdict) is told
    if told:
        assert found.actions[0].remedy.slug == "in-batches"
