"""Programs in other languages get no Python, and remedies of their own."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy

FAILED = oom("64,256,256,64", "net/conv/Conv2D")
JAVA = "\tat org.tensorflow.Session.run(Session.java:830)\n"
NODE = "    at Object.kernelFunc (/app/node_modules/@tensorflow/tfjs-node-gpu/dist/kernels/Relu.js:33:24)\n"
CPP = 'status = session->Run({{"input:0", img}}, {"out:0"}, {}, &outputs);\n'
SERVING = "$ tensorflow_model_server --rest_api_port=8501 --model_name=net\n"


def remedies(text: str) -> dict[str, Remedy]:
    return {remedy.slug: remedy for each in pipeline.explain(text).findings for remedy in each.remedies}


@pytest.mark.parametrize(
    ("around", "own"),
    [(JAVA, "close-tensors"), (NODE, "tidy"), (SERVING, "smaller-requests"), (CPP, None)],
)
def test_a_program_that_runs_a_model_gets_what_it_can_use(around: str, own: str | None) -> None:
    told = remedies(FAILED + around)
    assert not {"mixed-precision", "list-tensors", "record-a-step", "recompute"} & told.keys()
    assert "python" not in " ".join(remedy.code or "" for remedy in told.values())
    assert ("smaller-batch" in told) is (own != "smaller-requests")
    assert all("accumulation" not in remedy.text for remedy in told.values())
    assert {"tidy", "close-tensors", "smaller-requests"} & told.keys() == ({own} if own else set())


@pytest.mark.parametrize(
    "around",
    ["model.fit(x, y)\n", "import tensorflow.compat.v1 as tf\nopt.minimize(loss)\n", "sess.run(train_op)\n"],
)
def test_a_python_program_gets_python(around: str) -> None:
    told = remedies(FAILED + around)
    assert {"mixed-precision", "read-the-log"} <= told.keys()
    assert "python train.py" in (told["read-the-log"].code or "")
    assert "accumulation" in told["smaller-batch"].text
    assert not {"tidy", "close-tensors", "smaller-requests"} & told.keys()


def test_r_trains_and_runs_no_python_code() -> None:
    told = remedies(FAILED + "history = model.fit(x, y)\nRun `reticulate::py_last_error()` for details.\n")
    assert "accumulation" in told["smaller-batch"].text
