"""What a post says of the cause goes before stock advice."""

from __future__ import annotations

from tfmemlens import attribution, findings
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import oom_log


def explain(*lines: str) -> Report:
    capture = oom_log.read_lines(list(enumerate(lines, 1)))
    return findings.examine(attribution.attribute(capture))


def slugs(*lines: str) -> list[str]:
    return [action.remedy.slug for action in explain(*lines).actions]


ENDED = "MemoryError"


def test_worker_processes_that_the_text_names() -> None:
    blamed = "It has to do with multiprocessing in fit_generator."
    assert slugs("I train with Keras.", blamed, ENDED)[0] == "fewer-workers"
    assert slugs("I train with Keras.", ENDED)[0] == "map-the-file"
    array = (
        "MemoryError: Unable to allocate 8.0 GiB for an array with shape (1073741824,) and data type float64"
    )
    assert slugs(blamed, array)[0] == "narrow-array"
    elsewhere = "I run it with multiprocessing.get_context('spawn').Pool(1)."
    assert slugs(elsewhere, ENDED)[0] == "map-the-file"


def test_a_fork_that_was_refused_asks_for_no_gpu() -> None:
    refused = "OSError: [Errno 12] Cannot allocate memory"
    forked = '  File "/usr/lib/python3.6/multiprocessing/popen_fork.py", line 66, in _launch'
    assert slugs("import keras", forked, refused)[0] == "fewer-workers"
    assert "fewer-workers" not in slugs("import keras", refused)


def test_growth_at_each_call_is_not_answered_with_a_file() -> None:
    calls = "Each call of estimator.evaluate leaves RAM behind, and memory grows with every evaluation."
    told = slugs("I use a tf.estimator.Estimator.", calls, ENDED)
    assert told
    assert "map-the-file" not in told


def test_the_limit_of_yarn_and_its_setting() -> None:
    killed = (
        "Container killed by YARN for exceeding memory limits. 8.4 GB of 8 GB physical memory used. Consider"
        " boosting spark.yarn.executor.memoryOverhead."
    )
    report = explain("import tensorflow as tf", killed)
    assert "the executor's container reached its own limit" in report.verdict
    assert report.actions[0].remedy.slug == "raise-container-limit"
    assert "memoryOverhead" in (report.actions[0].remedy.code or "")
    other = explain(
        "import tensorflow as tf", "slurmstepd: error: Detected 1 oom-kill event(s). oom_kill in StepId=1.0"
    )
    assert "memoryOverhead" not in (other.actions[0].remedy.code or "")


def test_two_versions_while_a_server_reloads() -> None:
    serving = "I use TensorFlow Serving 2.8 in k8s."
    assert (
        slugs(serving, "hot reload needs double memory, it goes out of memory")[0] == "room-for-two-versions"
    )
    grows = "memory grows each time when it reloads a new model"
    assert slugs(serving, grows)[0] == "another-malloc"
    assert "room-for-two-versions" not in slugs(serving, "it goes out of memory")


SHAPE = "ResourceExhaustedError: OOM when allocating tensor with shape[64,7,7,512]"


def test_a_batch_of_one_is_not_halved() -> None:
    boxes = "\t [[Node: SecondStageFeatureExtractor/block4/conv1/Conv2D = Conv2D[T=DT_FLOAT](a, b)]]"
    told = [action.remedy.text for action in explain("I checked batch size was 1.", SHAPE, boxes).actions]
    assert not any("halve" in text for text in told)
    told = [action.remedy.text for action in explain("I train it.", SHAPE, boxes).actions]
    assert any("halve" in text for text in told)


def test_ram_that_a_board_shares() -> None:
    killed = "Out of memory: Killed process 4242 (python3) total-vm:9000000kB, anon-rss:2000000kB"
    shared = explain("I use a Jetson Nano with TensorFlow.", killed).verdict
    assert shared.startswith("The RAM that CPU and GPU of this board share ran out")
    assert explain("I use TensorFlow.", killed).verdict.startswith("Host RAM (not GPU memory) ran out")


LOOP = """@tf.function
def train(model, data):
    for x, y in {over}:
        with tf.GradientTape() as tape:
            loss = model(x, y)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
"""


def headlines(*lines: str) -> str:
    return " ".join(each.headline for each in explain(*lines).findings)


def test_a_loop_of_python_within_a_function_is_one_graph() -> None:
    says = "Memory is rising on every step."
    assert "all become one graph" in headlines(
        says, "```py", *LOOP.format(over="tqdm(data)").split("\n"), "```"
    )
    for over in ("data", "enumerate(data)"):
        assert "one graph" not in headlines(says, "```py", *LOOP.format(over=over).split("\n"), "```")
    eager = LOOP.format(over="tqdm(data)").split("\n")[1:]
    assert "one graph" not in headlines(says, "```py", *eager, "```")


def test_a_stated_save_goes_before_a_replay_buffer() -> None:
    replay, save = "- Replay buffer capacity: 4096", "Root cause: OOM during checkpoint serialization"
    assert "experiences" in headlines("With Keras memory grows until it is full.", replay)
    assert "experiences" not in headlines("With Keras memory grows until it is full.", replay, save)


def test_a_prediction_named_beside_a_failure_of_training() -> None:
    title = "# Assertion in the prediction script and GPU OOM errors during training"
    assert "evaluation" not in headlines("I use Keras.", title)
    assert "evaluation" in headlines("I use Keras.", "# GPU OOM errors in the evaluation script")
    assert "one batch of the inference" in headlines(
        "I use Keras.", "# GPU OOM errors in the prediction script"
    )


def test_growth_is_no_advice_for_a_full_pool() -> None:
    full = "tensorflow.python.framework.errors_impl.InternalError: Dst tensor is not initialized."
    told = slugs("import tensorflow as tf", full)
    assert "growth" not in told
    assert "smaller-input" in told
    driver = "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"
    assert "smaller-input" not in slugs("import tensorflow as tf", driver)
