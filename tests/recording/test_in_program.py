"""Recording that a program asks for, with a real TensorFlow where there is one."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmemlens import keras, pipeline
from tfmemlens.api import recording
from tfmemlens.errors import MissingExtra
from tfmemlens.readers.formats import graph_file
from tfmemlens.recording import in_program
from tfmemlens.recording.beside import recorded

ENVIRONMENTS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache" / "tfmemlens" / "envs"))
PYTHON = ENVIRONMENTS / "tf2.21" / "bin" / "python"
BFC = {
    "TF_CPU_ALLOCATOR_USE_BFC": "1",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": "300",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
with_tensorflow = pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON}")

PROGRAM = """
import numpy as np, tensorflow as tf
Dense = tf.keras.layers.Dense
model = tf.keras.Sequential([tf.keras.Input((64,)), Dense(512, name="enc"), Dense(2048, name="dec")])
model.compile("adam", "mse")
data = np.ones((128, 64), "float32"), np.ones((128, 2048), "float32")
"""
API = """
import tfmemlens
callback = tfmemlens.keras.MemoryCallback(trace_step=2, out="bundle")
model.fit(*data, batch_size=32, verbose=0, callbacks=[callback])
step = tf.function(lambda x: model(x, training=True) * 2)
step(tf.ones([64, 64]))
once = tfmemlens.trace_step(step, tf.ones([64, 64]))
assert once.result.shape == (64, 2048)
assert 2 * 64 * 2048 * 4 <= once.peak_bytes < 64 << 20, once.peak_bytes
kept = []
try:
    with tfmemlens.watch("watched"):
        while True:
            kept.append(tf.ones([2048, 2048]) + 1.0)
except tf.errors.ResourceExhaustedError:
    print("raised")
"""
LEAK = """
model.fit(*data, batch_size=32, verbose=0)
kept = {"outputs": []}
while True:
    kept["outputs"].append(model(tf.ones([2048, 64])))
"""
EAGER = """
class Block(tf.keras.layers.Layer):
    def __init__(self, **more):
        super().__init__(**more)
        self.expand = tf.keras.layers.Dense(2048, name="expand")
    def call(self, x):
        return self.expand(x)
first, second = Block(name="first"), Block(name="second")
for rows in (16, 16, 16, 1 << 20):
    x = tf.ones([rows, 24])
    with tf.GradientTape() as tape:
        y = second(first(x)[:, :24])
"""

MONITORED = """
import numpy as np, tensorflow as tf
import tfmemlens
v1 = tf.compat.v1
v1.disable_eager_execution()
images = v1.placeholder(tf.float32, [None, 32, 32, 3])
with v1.variable_scope("stem"):
    kernel = v1.get_variable("kernel", [3, 3, 3, 64])
    loss = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(images, kernel, 1, "SAME")))
train = v1.train.AdamOptimizer().minimize(loss, global_step=v1.train.get_or_create_global_step())
with v1.train.MonitoredTrainingSession(hooks=[tfmemlens.session_hook("bundle", every=2)]) as session:
    for _ in range(4):
        session.run(train, {images: np.ones([8, 32, 32, 3], "float32")})
"""


GONE = 2**22 + 1
"""No process has this number."""


@pytest.mark.parametrize(
    "told, left",
    [
        ({"pid": GONE}, ["mine.txt"]),
        ({"pid": os.getpid()}, ["mine.txt", "recorder.json", "step-0000002.xplane.pb"]),
        ({"pid": None}, ["mine.txt", "recorder.json", "step-0000002.xplane.pb"]),
        ([], ["mine.txt", "recorder.json", "step-0000002.xplane.pb"]),
        (None, ["mine.txt", "step-0000002.xplane.pb"]),
    ],
)
def test_what_a_process_that_has_ended_recorded_is_replaced(
    tmp_path: Path, told: object, left: list[str]
) -> None:
    for name in ("mine.txt", "step-0000002.xplane.pb"):
        (tmp_path / name).write_text("x")
    if told is not None:
        (tmp_path / "recorder.json").write_text(json.dumps(told))
    in_program._clear(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == left


@pytest.mark.parametrize("given", [None, "/elsewhere/bfc"])
def test_a_watched_block_has_the_allocators_state_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    if given is None:
        monkeypatch.delenv("TF_BFC_MEMORY_DUMP", raising=False)
    else:
        monkeypatch.setenv("TF_BFC_MEMORY_DUMP", given)
    with recording._dumping(str(tmp_path)):
        assert os.environ["TF_BFC_MEMORY_DUMP"] == (given or str(tmp_path / "bfc"))
    assert os.environ.get("TF_BFC_MEMORY_DUMP") == given


@pytest.mark.parametrize("steps, warned", [(0, 0), (2, 1), (3, 0), (9, 0)])
def test_a_callback_says_that_training_was_too_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, warned: int
) -> None:
    monkeypatch.setattr(in_program, "callback_class", lambda: object)
    monkeypatch.setattr(in_program.Callback, "batch_ended", lambda own: False)
    own = keras.MemoryCallback(trace_step=3, out=tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(steps):
            own.model = None
            own.on_train_batch_begin(step)
            own.on_train_batch_end(step)
        own.on_train_end()
    assert len([each for each in told if "before step 3" in str(each.message)]) == warned


def run(folder: Path, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(code)
    return subprocess.run(
        [str(PYTHON), "train.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT), **BFC, **more},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.tensorflow
@with_tensorflow
def test_callback_one_call_and_watch_with_tensorflow(tmp_path: Path) -> None:
    ended = run(tmp_path, PROGRAM + API)
    assert (ended.returncode, ended.stdout) == (0, "raised\n"), ended.stderr[-2000:]
    assert "`kept` (line 20 of train.py) holds" in ended.stderr
    (moment, *_) = pipeline.case(pipeline.timelines(tmp_path / "bundle")).moments
    layers = {group.name for group in moment.attribution.by("layer")}
    assert {"enc", "dec"} <= layers
    kinds = {group.name: group.total_bytes for group in moment.attribution.by("kind")}
    assert kinds["unattributed"] < 0.15 * sum(kinds.values())


@pytest.mark.tensorflow
@with_tensorflow
def test_a_hook_traces_the_runs_of_a_monitored_session(tmp_path: Path) -> None:
    ended = run(tmp_path, MONITORED)
    assert ended.returncode == 0, ended.stderr[-2000:]
    (moment, *_) = pipeline.case(pipeline.timelines(tmp_path / "bundle")).moments
    rows = {row.node: row.size_bytes for row in moment.attribution.table}
    assert rows["stem/kernel"] == 27 * 64 * 4
    assert rows["gradients/stem/Mean_grad/Tile"] == 8 * 32 * 32 * 64 * 4
    assert "stem" in {group.name for group in moment.attribution.by("layer")}


@pytest.mark.tensorflow
@with_tensorflow
def test_a_leak_is_named_under_run_and_the_traceback_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    known = recorded.environment({"PYTHONPATH": ""}, str(tmp_path / "bundle"), None)
    ended, plain = run(tmp_path, PROGRAM + LEAK, **known), run(tmp_path, PROGRAM + LEAK)
    assert ended.returncode == plain.returncode == 1
    assert "_tfmemlens" not in ended.stderr
    assert "tfmemlens/recording" not in ended.stderr
    frames = [line for line in plain.stderr.splitlines() if line.startswith('  File "')]
    assert [line for line in ended.stderr.splitlines() if line.startswith('  File "')] == frames
    held = json.loads((tmp_path / "bundle" / "living.json").read_text())["groups"][0]["held_by"][0]
    assert (held["name"], held["line"]) == ("kept['outputs']", len((PROGRAM + LEAK).splitlines()))
    model = json.loads((tmp_path / "bundle" / "model.json").read_text())
    assert [layer["path"] for layer in model["models"][0]["layers"]][-2:] == ["enc", "dec"]
    assert model["batch"] == 32
    assert list((tmp_path / "bundle").glob("step-*.xplane.pb"))
    (timeline,) = pipeline.timelines(tmp_path / "bundle").timelines
    graph = graph_file.read_graph(tmp_path / "bundle" / "function_graphs.pb")
    nodes = {name for name in timeline.table.node if name and "gradient_tape/" in name}
    assert nodes & {node.name for node in graph if node.inputs}


@pytest.mark.tensorflow
@with_tensorflow
def test_layers_in_no_model_are_named_when_an_eager_call_fails(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    ended = run(
        tmp_path, PROGRAM + EAGER, **recorded.environment({"PYTHONPATH": ""}, str(tmp_path / "bundle"), 2)
    )
    assert ended.returncode == 1
    model = json.loads((tmp_path / "bundle" / "model.json").read_text())
    assert model["failed_in"] == "first"
    (program,) = (each for each in model["models"] if each["name"] == "program")
    assert {layer["path"] for layer in program["layers"]} == {
        "first",
        "first/expand",
        "second",
        "second/expand",
    }
    assert [16, 24] in [each["shape"] for each in model["tensors"]]


def test_a_callback_needs_a_keras_that_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match="Keras"):
        keras.MemoryCallback(out=tmp_path)


@pytest.mark.whole
def test_a_failure_for_memory_becomes_a_bundle(tmp_path: Path) -> None:
    own = in_program.into(tmp_path / "bundle")
    try:
        raise MemoryError("OOM when allocating tensor with shape[8,8] and type float")
    except MemoryError as error:
        in_program.failed(own, error)
    assert "MemoryError: OOM when allocating" in (tmp_path / "bundle" / "log.txt").read_text()
    assert pipeline.explain(tmp_path / "bundle").case.capture.incidents


def test_another_failure_is_left_alone(tmp_path: Path) -> None:
    own = in_program.into(tmp_path / "bundle")
    own.failed(ValueError("no such layer"))
    assert not list((tmp_path / "bundle").iterdir())
