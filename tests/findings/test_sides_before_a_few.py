"""Where not even one sample is likely to fit, a setting of its size goes before the batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.situation import situation

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
NET = """
import tensorflow as tf
BATCH = {batch}
TILE = 768
model = net(TILE)
model.compile("adam", "mse")
model.fit(tiles(TILE).batch(BATCH))
"""
IN_FIT = """Traceback (most recent call last):
  File "run.py", line 7, in <module>
    model.fit(tiles(TILE).batch(BATCH))
"""


@pytest.mark.parametrize(("batch", "first"), [(2, "lower `TILE`"), (4, "lower `TILE`"), (8, ": 8 -> 1 ")])
def test_the_sides_first_where_one_sample_is_too_large(tmp_path: Path, batch: int, first: str) -> None:
    (tmp_path / "run.py").write_text(NET.format(batch=batch))
    need = batch * 384 * 384 * 48 * 4
    full = dump_by_size(need, 700, (3, 150 * MIB), (1, 250 * MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    failed = oom(f"{batch},384,384,48", "net/enc1/conv/Conv2D", on=CPU, by=HOST)
    log.write_text(full + IN_FIT + failed)
    assert first in pipeline.explain(log).actions[0].remedy.text


SESSION = """
import tensorflow as tf
def build(x):
    loss = net(x)
    {name} = tf.train.AdamOptimizer(0.1).minimize(loss)
    return loss, {name}
loss, update = build(x)
with tf.Session() as sess:
    sess.run([{run}], {{x: 1}})
"""


@pytest.mark.parametrize(
    ("name", "run", "training"),
    [("update", "loss, update", True), ("update", "loss", None), ("other", "loss, update", None)],
)
def test_a_session_that_runs_what_the_optimizer_gave_trains(
    tmp_path: Path, name: str, run: str, training: bool | None
) -> None:
    code = SESSION.format(name=name, run=run)
    (tmp_path / "run.py").write_text(code)
    log = tmp_path / "log.txt"
    frames = (
        "Traceback (most recent call last):\n"
        f'  File "run.py", line 9, in <module>\n    {code.splitlines()[8].strip()}\n'
    )
    full = dump_by_size(64 * MIB, 700, (3, 225 * MIB), allocator=HOST)
    log.write_text(full + frames + oom("16,1024,1024", "enc/add", on=CPU, by=HOST))
    case = pipeline.explain(log).case
    assert situation(case, case.moments[0]).training is training


OF_A_CLASS = """
import tensorflow as tf
class Net:
    def __init__(self, x):
        self.loss = net(x)
        self.train_op = tf.train.AdamOptimizer(0.1).apply_gradients(clipped(self.loss))
m = Net(x)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run([{run}],
             {{x: 1}})
"""


@pytest.mark.parametrize(
    ("run", "training"),
    [("m.loss, m.train_op", True), ("m.loss", None), ("m.train_op], {x: 2}); sess.run([m.loss", None)],
)
def test_a_program_that_runs_nothing_but_updates_trains(
    tmp_path: Path, run: str, training: bool | None
) -> None:
    (tmp_path / "run.py").write_text(OF_A_CLASS.format(run=run))
    log = tmp_path / "log.txt"
    frames = (
        'Traceback (most recent call last):\n  File "run.py", line 11, in <module>\n    {x: 1})\n'
        '  File "/site-packages/tensorflow_core/python/client/session.py", line 956, in run\n'
        "    run_metadata_ptr)\n"
    )
    full = dump_by_size(64 * MIB, 700, (3, 225 * MIB), allocator=HOST)
    log.write_text(full + frames + oom("16,1024,1024", "enc/add", on=CPU, by=HOST))
    case = pipeline.explain(log).case
    assert situation(case, case.moments[0]).training is training
