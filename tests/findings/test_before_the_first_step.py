"""Failures before a step: initialisers of a session, and constants of its graph."""

import pytest

from tfmemlens import pipeline
from tfmemlens.findings import before_the_first_step
from tfmemlens.model.case import Case
from tfmemlens.readers.formats import oom_log

INITIAL = """Traceback (most recent call last):
  File "fit.py", line 40, in <module>
    sess.run({run})
  File "/usr/lib/python3/dist-packages/tensorflow/python/client/session.py", line 778, in run
    run_metadata_ptr)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[{shape}]
\t [[Node: {node} = Const[dtype=DT_FLOAT, _device="/job:localhost/replica:0/task:0/gpu:0"]()]]
"""
CONSTANT = (
    "W tensorflow/core/framework/op_kernel.cc:1628] OP_REQUIRES failed at constant_op.cc:{line} : Resource"
    " exhausted: OOM when allocating tensor of shape [{shape}] and type float\n"
    "\t [[{{{{node net/norm/eps}}}}]]\n"
)


def case(text: str) -> Case:
    return pipeline.case(oom_log.read_lines(list(enumerate(text.splitlines(), 1))))


@pytest.mark.parametrize(
    "text, where",
    [
        (
            INITIAL.format(run="tf.global_variables_initializer()", shape="2048", node="fc/Adam/Const"),
            "first values",
        ),
        (INITIAL.format(run="ready", shape="2048", node="fc/Adam/Initializer/zeros"), "first values"),
        (CONSTANT.format(line=77, shape=""), "prepared its graph"),
    ],
)
def test_no_batch_has_a_part(text: str, where: str) -> None:
    (seen,) = before_the_first_step.check(case(text))
    assert where in seen.because and "smaller-batch" in seen.rules_out
    assert [each.slug for each in seen.remedies] == ["see-device-users", "smaller-model"]
    report = pipeline.report(case(text).capture)
    assert not any(each.remedy.slug == "smaller-batch" for each in report.actions)


@pytest.mark.parametrize(
    "text",
    [
        INITIAL.format(run="train_op", shape="2048", node="fc/MatMul"),
        INITIAL.format(run="tf.global_variables_initializer()", shape="40000,9000", node="fc/Adam/Const"),
        CONSTANT.format(line=206, shape=""),  # Fill
        CONSTANT.format(line=77, shape="4096,4096"),
        "step 10 loss 0.1\nstep 20 loss 0.1\nstep 30 loss 0.1\n" + CONSTANT.format(line=77, shape=""),
    ],
)
def test_a_step_or_a_large_weight(text: str) -> None:
    assert not list(before_the_first_step.check(case(text)))


HUGE = "1280,1280,512,32"


def test_a_variable_larger_than_any_card_is_looked_for() -> None:
    text = INITIAL.format(run="tf.global_variables_initializer()", shape=HUGE, node="cls/Fill")
    text = text.replace("]\n", "] and type float on /device:GPU:0 by allocator GPU_0_bfc\n", 1)
    actions = [each.remedy for each in pipeline.explain(text).actions]
    assert actions[0].slug == "smaller-model" and "find the variable of this size" in actions[0].text
    assert "[1280, 1280, 512, 32]" in (actions[0].code or "")
    assert not {"smaller-input", "smaller-batch"} & {each.slug for each in actions}


def test_a_step_of_the_same_size_has_no_variable_to_look_for() -> None:
    text = INITIAL.format(run="train_op", shape=HUGE, node="cls/Fill")
    assert not any("find the variable" in each.remedy.text for each in pipeline.explain(text).actions)
