"""Sets of weights of which only the last few are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
CODE = """
import keras
import tensorflow as tf
class Keep(keras.callbacks.Callback):
    def __init__(self):
        self.sets = []
    def on_epoch_end(self, epoch, logs=None):
        self.sets.append([tf.identity(v) for v in self.model.trainable_variables])
        print(len(self.sets[-1]))
    def average(self, n):
        return [tf.add_n(list(ws)) / float(len(ws)) for ws in zip(*{read})]
model.fit(x, y, epochs=30, callbacks=[Keep()])
"""


@pytest.mark.parametrize(
    ("read", "code"),
    [
        ("self.sets[-5:]", "del self.sets[:-5]   # after each append"),
        ("self.sets[-last:]", "del self.sets[:-n]   # after each append; n: `last` there"),
        ("self.sets", None),
        ("self.sets[-n:] + self.sets[:2]", None),
    ],
)
def test_no_other_set_is_kept(tmp_path: Path, read: str, code: str | None) -> None:
    (tmp_path / "run.py").write_text(CODE.format(read=read))
    frame = (
        'Traceback (most recent call last):\n  File "run.py", line 12, in <module>\n'
        "    model.fit(x, y, epochs=30, callbacks=[Keep()])\n"
    )
    full = dump_by_size(16 * MIB, 500, (27, 16 * MIB), (9, 4 * MIB), (20, MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    log.write_text(full + frame + oom("2048,2048", "sgd/AssignSubVariableOp_6", on=CPU, by=HOST))
    first = pipeline.explain(log).actions[0].remedy
    assert first.slug == "keep-numbers"
    assert (first.code == code) is (code is not None)
    assert ("running mean" in first.text) is (code is None and "+" not in read)
