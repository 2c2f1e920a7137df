"""`tfmemlens layout`: pages, JSON, errors, and the real pass where an environment with TensorFlow is at
hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.renderers.report_schema import COPY, REPORT, validate
from tfmemlens.cli.main import main
from tfmemlens.recording import export_graph, grappler

FOLDER = "sample_traces/layout/"
PAGES = [
    f"{version}-{name}"
    for version, names in {
        "1.5": ["resnet-fused-inference-layout-pass-alone"],
        "1.10": ["unet-founding-question", "resnet-plain", "dropout", "towers", "local-norm"],
        "1.15": [
            "unet-founding-question",
            "leaky-relu",
            "half-precision-tensor-cores",
            "while-loop",
            "fetched-gradients",
        ],
        "2.21": ["unet-founding-question", "volume", "unknown-rank", "resize-decoder", "concat-skips"],
    }.items()
    for name in names
]
ENVIRONMENTS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache" / "tfmemlens" / "envs"))


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["layout", *arguments, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_graph_after_the_pass_reads_well(
    name: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", f"{FOLDER}{name}.after.pb.gz", "--full"]) == 0
    golden(f"layout/{name}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["2.21-unet-layout", "2.11-unet-layout-training"])
def test_partition_graphs_of_a_traced_step(
    name: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", f"sample_traces/layout_traces/{name}.pb.gz", "--full"]) == 0
    golden(f"layout/traced-{name}.txt", capsys.readouterr().out)


def test_the_peak_of_copies_that_replace_their_originals(capsys: pytest.CaptureFixture[str]) -> None:
    """Two real steps of one net: 70 copies or 11, and the allocator's own peak hardly differs; so says the
    curve without them.
    """
    for version in ("2.11", "2.21"):
        truths = [
            json.loads((SAMPLES / "layout_traces" / f"{version}-unet-layout{end}.truth.json").read_text())
            for end in ("", "-training")
        ]
        measured = [truth["max_in_use_bytes"] for truth in truths]
        assert abs(measured[0] - measured[1]) < 0.005 * measured[0]
        found = document(capsys, f"sample_traces/layout_traces/{version}-unet-layout.pb.gz")
        norm = next(cause for cause in found["causes"] if cause["cause"] == "batch-norm-inference-mode")
        assert norm["copies"] > 50
        assert norm["peak_saved_bytes"] < 0.03 * found["layout"]["peak_bytes"]
        assert found["layout"]["certainty"] == "bound"


def test_the_document_extends_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, f"{FOLDER}1.10-unet-founding-question.after.pb.gz")
    validate(found, REPORT)
    for copy in [*found["copies"], *found["helpers"]]:
        validate(copy, COPY)
    assert len(found["copies"]) == 45
    assert sum(copy["bytes"] for copy in found["copies"]) == found["layout"]["bytes"]
    assert sum(cause["copies"] for cause in found["causes"]) == 45
    assert found["causes"][0]["cause"] == "batch-norm-inference-mode"
    assert found["findings"][0]["rule"] == "layout-optimizer-copies"


def test_a_graph_beside_a_log_proves_the_cause(capsys: pytest.CaptureFixture[str]) -> None:
    """A traced step of the same model names the cause that the log alone makes likely; sizes stay those of
    the log.
    """
    log, trace = (
        "sample_traces/oom_log/2.21-unet-layout.txt",
        "sample_traces/layout_traces/2.21-unet-layout.pb.gz",
    )
    main(["explain", log, "--json"])
    alone = next(
        each
        for each in json.loads(capsys.readouterr().out)["findings"]
        if each["rule"] == "layout-optimizer-copies"
    )
    main(["explain", log, "--trace", trace, "--json"])
    proven = next(
        each
        for each in json.loads(capsys.readouterr().out)["findings"]
        if each["rule"] == "layout-optimizer-copies"
    )
    assert "By the names" in alone["detail"]
    assert "The graph proves why" not in alone["detail"]
    assert "The graph proves why" in proven["detail"]
    assert "of the traced step" in proven["detail"]
    assert proven["bytes"] == alone["bytes"]
    assert all(remedy["saves_bytes"] is None for remedy in proven["remedies"])


def test_a_log_has_no_copies_key(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "sample_traces/oom_log/1.10-unet-layout.txt", "--json"])
    assert "copies" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a graph"),
        (["README.md"], "no graph"),
        (["no/such.pb"], "does not exist"),
        ([f"{FOLDER}1.10-towers.before.pb.gz", "--gpu", "Voodoo"], "no GPU that tfmemlens knows"),
        ([f"{FOLDER}1.10-towers.before.pb.gz", "--try", "prayer"], "no remedy"),
        ([f"{FOLDER}1.10-towers.before.pb.gz", "--python", "/no/python"], "cannot be started"),
        ([f"{FOLDER}1.10-towers.after.pb.gz", "--try", "relu"], "has been through it"),
    ],
)
def test_usage_errors_have_a_hint(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert "hint: " in complaint


def test_a_python_without_tensorflow_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'tensorflow'\" >&2\nexit 1\n")
    stand_in.chmod(0o755)
    assert main(["layout", f"{FOLDER}1.10-towers.before.pb.gz", "--python", str(stand_in)]) == 2
    assert "--python /path/to/python" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("sm_61", "6.1"),
        ("7.0", "7.0"),
        ("p100", "6.0"),
        ("T4", "7.5"),
        ("sm_90a", "9.0"),
        ("H100", "9.0"),
        ("sm_100", "10.0"),
    ],
)
def test_names_of_gpus(text: str, capability: str) -> None:
    assert grappler.capability(text) == capability


def test_the_exporter_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "--print-exporter"]) == 0
    assert capsys.readouterr().out == Path(export_graph.__file__).read_text(encoding="utf-8")


def interpreter(name: str) -> str:
    python = ENVIRONMENTS / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment {name}")
    return str(python)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("environment", "before", "after"), [("tf1.10", 45, 9), ("tf1.15", 45, 9), ("tf2.21", 57, 9)]
)
def test_the_founding_question_from_graph_to_proof(
    environment: str, before: int, after: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real pass on the graph of that TensorFlow, and on the graph with batch normalisation in training
    mode.
    """
    graph = f"{FOLDER}{environment[2:]}-unet-founding-question.before.pb.gz"
    found = document(
        capsys,
        graph,
        "--python",
        interpreter(environment),
        "--gpu",
        "sm_61",
        "--try",
        "batch-norm-training",
        "--try",
        "pass-off",
    )
    assert len(found["copies"]) == before
    assert {trial["remedy"]: trial["copies"] for trial in found["trials"]} == {
        "batch-norm-training": after,
        "pass-off": 0,
    }


@pytest.mark.tensorflow
@pytest.mark.parametrize("environment", ["tf1.15", "tf2.21"])
def test_resizes_and_leaky_relus_are_replaced(environment: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder, python = f"{FOLDER}{environment[2:]}-", interpreter(environment)
    resized = document(
        capsys, f"{folder}resize-decoder.before.pb.gz", "--python", python, "--try", "transposed-convolution"
    )
    assert resized["trials"][0]["copies"] < len(resized["copies"])
    leaky = document(capsys, f"{folder}leaky-relu.before.pb.gz", "--python", python, "--try", "relu")
    assert leaky["trials"][0]["copies"] <= 3


TRAINING = """
import tensorflow as tf
tf1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
if tf.__version__.startswith("2"):
    tf1.disable_v2_behavior()
x = tf1.placeholder(tf.float32, [None, 16, 16, 3])
kernel = tf1.get_variable("kernel", [3, 3, 3, 8])
y = tf1.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
loss = tf1.reduce_mean(tf1.image.resize_bilinear(tf1.nn.relu(y), [32, 32]))
train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf1.Session() as session:
    session.run(tf1.global_variables_initializer())
    try:
        session.run([train, loss], {x: [[[[0.0] * 3] * 16] * 16]})
    except Exception:
        pass
raise RuntimeError("the training went on")
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("environment", ["tf1.10", "tf1.15", "tf2.21"])
def test_from_a_training_script_to_the_line_of_code(
    environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exporter stops the script at its first step; the copies then name the script's own lines."""
    python = interpreter(environment)
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "export_graph.py").write_text(Path(export_graph.__file__).read_text(encoding="utf-8"))
    done = subprocess.run(
        [python, "-W", "ignore", "export_graph.py", "train.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "wrote graph.meta" in done.stdout, done.stderr[-2000:]
    found = document(capsys, str(tmp_path / "graph.meta"), "--python", python, "--batch", "8")
    resize = next(copy for copy in found["copies"] if copy["forced_op"] == "ResizeBilinear")
    assert resize["source_line"] == "train.py:9"
    assert resize["shape"][0] == 8


def test_the_scripts_for_old_pythons_stay_plain() -> None:
    """They run alone, on Python 3.6: nothing of ours, no new syntax."""
    for script in (export_graph.__file__, grappler.layout_pass.__file__):
        text = Path(script).read_text(encoding="utf-8")
        assert "tfmemlens import" not in text
        assert "from __future__" not in text
        assert not any(word in text for word in (' f"', "(f'", ":=", "| None"))
    assert sys.version_info >= (3, 10)
