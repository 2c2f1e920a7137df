"""What the name of a failing op, or the line above it, tells of a loop, a feature, a penalty; near misses."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

TRAINS = "Epoch 1/9\n"
BACKWARD = "gradient_tape/net/conv_lstm2d/while/net/conv_lstm2d/while_grad/body/_9/gradients/AddN_2"
OPTIMIZER = """Detected at node '%s' defined at (most recent call last):
    File "a.py", line 5, in <module>
      model.fit(x, y)
    File "site-packages/keras/optimizers/optimizer_v2/optimizer_v2.py", line 591, in %s
      grads = tape.gradient(loss, variables)
Node: '%s'
"""
ONE_HOT = "OneHot"


def because(log: str, rule: str) -> str:
    """What the rule says of the log; nothing where it says nothing."""
    return next((each.because or each.headline for each in explain(log).findings if each.rule == rule), "")


def explain(log: str) -> Report:
    return pipeline.explain(log)


LOOPS = {
    "the backward pass of a Keras loop": (oom("8,64,64,32", BACKWARD), True),
    "the backward pass of a session's loop": (
        oom("8,900", "train/gradients/rnn/while/MatMul_grad/MatMul"),
        True,
    ),
    "a decoder that is trained": (TRAINS + oom("8,900,512", "decoder/while/attention/Tanh"), True),
    "a decoder in the scope of the training": (TRAINS + oom("8,900,512", "train/decoder/while/Tanh"), True),
    "a decoder of which nobody says that it is trained": (
        oom("8,900,512", "decoder/while/attention/Tanh"),
        False,
    ),
    "steps of a training that run in one loop": (
        TRAINS + oom("8,64,64,32", "while/body/_1/net/conv/Relu"),
        False,
    ),
    "suppression of boxes": (TRAINS + oom("8,900", "rnn/NonMaxSuppression/map/while/Gather"), False),
    "a layer named like a loop": (TRAINS + oom("8,900", "gradient_tape/net/awhile/conv/Relu"), False),
}


@pytest.mark.parametrize(("log", "fires"), LOOPS.values(), ids=list(LOOPS))
def test_a_loop_that_is_gone_back_through_keeps_its_turns(log: str, fires: bool) -> None:
    assert bool(because(log, "loop-state")) is fires


@pytest.mark.parametrize(("function", "updates"), [("_compute_gradients", False), ("apply_gradients", True)])
def test_gradients_that_an_optimizer_asks_for_are_no_update(function: str, updates: bool) -> None:
    node = "net/x/AddN_2"
    report = explain(OPTIMIZER % (node, function, node) + oom("8,64,64,32", node))
    assert ("the optimizer's update" in report.verdict) is updates


def test_a_feature_as_one_hot_vectors_is_no_label() -> None:
    feature = oom("4096,1,2500000", "net/input_layer/user_indicator/one_hot", on=CPU, by="cpu")
    report = explain(feature.replace("]]", " = OneHot[T=DT_FLOAT]]]"))
    assert "a feature of 2,500,000 values" in report.verdict
    assert "embed-the-feature" in {each.slug for each in report.findings[0].remedies}
    labels = oom("2000000,50257", ONE_HOT, on=CPU, by="cpu").replace("[[{{node OneHot}}]]", "[Op:OneHot]")
    assert "labels" in explain(labels).verdict


GRAPH = (
    "Cannot serialize protocol buffer of type tensorflow.GraphDef as the serialized size"
    " (2155902411bytes) would be larger than the limit (2147483647 bytes)\n"
)


def test_a_graph_that_passes_its_limit_after_steps_has_grown() -> None:
    grown, at_once = explain("step 10 loss 2.2\nstep 20 loss 2.1\n" + GRAPH), explain(GRAPH)
    assert "steps as far as 20" in grown.verdict and "steps" not in at_once.verdict
    assert grown.findings[0].remedies[0].slug == "build-once"
    assert "build-once" not in {each.slug for each in at_once.findings[0].remedies}


def test_a_message_beyond_grpcs_limit_is_told_with_its_sizes() -> None:
    verdict = explain('details = "Received message larger than max (37748804 vs. 4194304)"\n').verdict
    assert "36.00 MiB, and the receiver takes 4.00 MiB" in verdict


@pytest.mark.parametrize(
    ("side", "program", "code"),
    [
        ("Sent", "", "grpc.max_send_message_length"),
        ("Received", "", "grpc.max_receive_message_length"),
        ("Sent", "run_client(\n    grpc_max_message_length=4096,\n)\n", "grpc_max_message_length=2**31"),
        ("Sent", "run_client(\n    my_max_message_length=4096,\n)\n", "grpc.max_send_message_length"),
    ],
)
def test_the_side_that_refused_a_message_takes_more(side: str, program: str, code: str) -> None:
    report = explain(f'details = "{side} message larger than max (37748804 vs. 4194304)"\n{program}')
    (remedy,) = [each for each in report.findings[0].remedies if each.slug == "larger-message"]
    assert code in (remedy.code or "")


PENALTY = """  File "a.py", line 9, in %s
    grads = tape.gradient(pred, [mixed])[0]
"""


@pytest.mark.parametrize(("function", "fires"), [("gradient_penalty", True), ("train_step", False)])
def test_a_gradient_penalty_is_known_by_its_function(function: str, fires: bool) -> None:
    log = (
        "Traceback (most recent call last):\n"
        + PENALTY % function
        + oom("64,128,128,128", "gradient_tape/critic/conv/Relu")
    )
    assert bool(because(log, "second-derivative")) is fires


STAGES = "Epoch 4/5\n 9/9 [==============================] - 1s\n%s\nEpoch 1/9\n"


def test_what_unfreezes_may_stand_in_the_code_below() -> None:
    log = STAGES % "=== phase 2 ===" + oom("32,120,120,256", "net/a/Sigmoid")
    assert "frozen" not in because(log, "first-step-of-a-stage")
    assert "frozen ones do not" in because(log + "\nbase.trainable = True\n", "first-step-of-a-stage")
