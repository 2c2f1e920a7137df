"""Recurrent layers whose steps fill a dump."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.recurrent_steps import recurrent_steps
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.report import Report
from tfmemlens.readers.program.parsing import statements_of_file

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
ESTIMATOR = """import tensorflow as tf
PARAMS = dict(frames=160, units=256)
def model_fn(features, labels, mode, params):
    x = tf.reshape(features["mel"], [-1, params["frames"], 40])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(params["units"]) for _ in range(3)])
    out, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.layers.dense(out[:, -1], 128))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.AdamOptimizer().minimize(loss))
est = tf.estimator.Estimator(model_fn, params=PARAMS)
est.train(input_fn, max_steps=3)
"""
KERAS = """import tensorflow as tf
net = tf.keras.Sequential([tf.keras.Input((90, 12)), tf.keras.layers.LSTM(64), tf.keras.layers.Dense(3)])
net.fit(x, y)
"""


def program(code: str) -> Program:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    return Program(tuple(statements_of_file(lines)))


@pytest.mark.parametrize(
    ("code", "shape", "told"),
    [
        (ESTIMATOR, (320, 256), ("dynamic_rnn", 6, 160)),
        (ESTIMATOR, (320, 1024), ("dynamic_rnn", 6, 160)),  # all gates at once
        (KERAS, (32, 64), ("LSTM", 2, 90)),
        (ESTIMATOR, (320, 250), None),
        (ESTIMATOR, (320, 160, 256), None),  # the whole sequence
        (KERAS.replace("LSTM(64)", "Dense(64)"), (32, 64), None),
        (KERAS + KERAS.replace("net", "other"), (32, 64), None),  # either
    ],
)
def test_whose_step_it_is(code: str, shape: tuple[int, ...], told: tuple[str, int, int] | None) -> None:
    found = recurrent_steps(program(code), shape)
    assert (found and (found.called, found.line.number, found.steps)) == told


def explained(code: str) -> Report:
    full = dump_by_size(327680, 500, (1138, 327680), (1, 140 * MIB), allocator=HOST)
    return pipeline.explain(f"{code}\n{full}{oom('320,256', 'net/mul', on=CPU, by=HOST)}")


def test_equal_chunks_are_the_steps() -> None:
    report = explained(ESTIMATOR)
    assert "most likely what each of the 160 steps of line 6 (`dynamic_rnn`) makes" in report.verdict
    assert report.actions[0].remedy.slug == "shorter-sequences"
    assert "160 -> 80 steps" in report.actions[0].remedy.text


@pytest.mark.parametrize(
    "code",
    [
        ESTIMATOR.replace(".minimize(loss)", "").replace("est.train", "est.predict"),
        ESTIMATOR.replace("256", "250"),
    ],
)
def test_what_no_step_is_blamed_for(code: str) -> None:
    assert "steps of line" not in explained(code).verdict
