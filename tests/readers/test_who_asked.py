"""Requests that no step made: a weight's first value, an element of the data set, an op of a growing"
" graph."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.attribution import Kind
from tfmemlens.model.report import Report

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
RANDOM = (
    f"ResourceExhaustedError: {{{{function_node __wrapped__StatelessRandomUniformV2_device_{CPU}}}}} OOM when"
    f" allocating tensor with shape[2097152,2048] and type float on {CPU} by allocator cpu"
    " [Op:StatelessRandomUniformV2] name: \n"
)
FRAMES = {
    "Keras 3": "keras/src/backend/tensorflow/random.py",
    "Keras 2": "keras/initializers/initializers_v2.py",
    "tf.keras": "tensorflow/python/keras/initializers/initializers_v2.py",
    "graph": "tensorflow/python/ops/init_ops.py",
}


def traceback(file: str, header: str = "", line: str = "x = Dense(2048)(x)") -> Report:
    package = "/usr/lib/python3.11/site-packages"
    return pipeline.explain(
        'Traceback (most recent call last):\n  File "model.py", line 34, in build_model\n'
        f'    {line}\n  File "{package}/{file}", line 36, in uniform\n    return made\n'
        f"{header}{RANDOM}"
    )


def asks_for_less(report: Report) -> bool:
    return any("halve the batch" in action.remedy.text for action in report.actions)


@pytest.mark.parametrize("name", FRAMES)
def test_an_initializer_in_the_traceback_makes_it_a_weight(name: str) -> None:
    report = traceback(FRAMES[name])
    (moment,) = report.case.moments
    assert moment.request is not None
    assert moment.request.owner.kind is Kind.PARAMETER
    assert "a fully connected kernel of 2,097,152 x 2,048" in report.verdict
    assert not asks_for_less(report)


def test_noise_inside_a_layer_s_call_is_no_weight() -> None:
    report = traceback(FRAMES["Keras 3"], "Exception encountered when calling GaussianNoise.call().\n\n")
    (moment,) = report.case.moments
    assert moment.request is not None and not moment.request.failed.creating


def test_a_line_that_makes_a_layer_makes_a_weight_where_keras_hides_its_frames() -> None:
    report = traceback("keras/src/utils/traceback_utils.py")
    (moment,) = report.case.moments
    assert moment.request is not None and moment.request.failed.creating


def test_other_frames_make_no_weight() -> None:
    report = traceback("keras/src/utils/traceback_utils.py", line="x = x + tf.random.uniform(x.shape)")
    (moment,) = report.case.moments
    assert moment.request is not None and not moment.request.failed.creating


def read_ahead(tag: str) -> Report:
    return pipeline.explain(
        f"ResourceExhaustedError: OOM when allocating tensor with shape[4096,4096,3] and type float on"
        f" {CPU} by"
        f" allocator cpu\n\t [[{{{{node resize/ResizeBilinear}}}}]]\n\t [[{tag}]]\n"
    )


def test_an_element_of_the_data_set_is_host_memory_and_no_batch() -> None:
    report = read_ahead("IteratorGetNext/_4")
    assert "input pipeline" in report.verdict
    assert not asks_for_less(report)
    assert any("shuffle" in action.remedy.text for action in report.actions)


def test_another_node_behind_the_failing_one_says_nothing_of_a_data_set() -> None:
    report = read_ahead("loss/mul")
    assert "input pipeline" not in report.verdict
    assert asks_for_less(report)


@pytest.mark.parametrize(("number", "grows"), [(4999, False), (5000, True)])
def test_a_counter_of_thousands_is_a_loop(number: int, grows: bool) -> None:
    report = pipeline.explain(
        "ResourceExhaustedError: OOM when allocating tensor with shape[4096,1024] and type float on"
        f" /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{{{node"
        f" Variable_{number}/Assign}}}}]]\n"
    )
    assert (report.findings[0].rule == "growing-graph") is grows
    assert (report.actions[0].remedy.slug == "build-once") is grows


def test_an_edge_s_number_is_no_counter() -> None:
    report = pipeline.explain(
        "ResourceExhaustedError: OOM when allocating tensor with shape[4096,1024] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[loss/mul/_55794]]\n"
    )
    assert "growing-graph" not in {finding.rule for finding in report.findings}


GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"
SESSION = "/usr/lib/python3.6/site-packages/tensorflow/python/client/session.py"
RAN = (
    'Traceback (most recent call last):\n  File "{file}", line 97, in <module>\n'
    "    acc = sess.run(accuracy, feed)\n"
    f'  File "{SESSION}", line 929, in run\n    run_metadata_ptr)\n'
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    f" shape[512,28,28,64] and type float on {GPU_0} by allocator GPU_0_bfc\n"
)


def test_the_line_that_ran_the_op_stands_beside_the_one_that_made_it() -> None:
    report = pipeline.explain(RAN.format(file="cnn.py") + "\t [[node conv (defined at cnn.py:22) ]]\n")
    moment = report.case.moments[0]
    assert moment.request
    failed = moment.request.failed
    assert (failed.source, failed.source_text) == ("cnn.py:22", None)
    assert failed.ran_by and failed.ran_by[:2] == ("cnn.py:97", "acc = sess.run(accuracy, feed)")


@pytest.mark.parametrize(
    ("file", "tag"),
    [("cnn.py", "[[node conv (defined at cnn.py:97) ]]"), ("cnn.py", "[[{{node conv}}]]"), (SESSION, "")],
    ids=["the same line", "nothing made it known", "no line of the user"],
)
def test_a_line_that_is_told_once_is_not_told_again(file: str, tag: str) -> None:
    moment = pipeline.explain(RAN.format(file=file) + f"\t {tag}\n").case.moments[0]
    assert moment.request and moment.request.failed.ran_by is None


def test_the_code_below_the_last_frame_of_a_stack_behind_the_message_is_kept() -> None:
    text = (
        f"ResourceExhaustedError: OOM when allocating tensor with shape[8,64,64,32] and type float on {GPU_0}"
        " by allocator GPU_0_bfc\n\t [[{{node up/conv2d}}]]\n\nCaused by op 'up/conv2d', defined at:\n"
        '  File "gan.py", line 596, in build\n    net = up(x)\n'
    )
    moment = pipeline.explain(text).case.moments[0]
    assert moment.request
    assert (moment.request.failed.source, moment.request.failed.source_text) == ("gan.py:596", "net = up(x)")


@pytest.mark.parametrize(
    ("file", "made", "told"),
    [("/home/u/cnn.py", "home/u/cnn.py", "/home/u/cnn.py"), ("/home/u/cnn.py", "u/cnn.py", "u/cnn.py"),
     ("home/u/cnn.py", "home/u/cnn.py", "home/u/cnn.py")],
)  # fmt: skip
def test_the_slash_that_a_stack_loses_comes_from_the_traceback(file: str, made: str, told: str) -> None:
    text = RAN.format(file=file) + f"\t [[node conv (defined at {made}:22) ]]\n"
    moment = pipeline.explain(text).case.moments[0]
    assert moment.request and moment.request.failed.source == f"{told}:22"
