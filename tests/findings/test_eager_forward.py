"""An eager call of a built model, where Keras 3 holds all that its layers make."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

BUILT = "model = keras.Model(inputs, outputs)\n"
LOG = """{built}for x, names in ds:
    {line}
Traceback (most recent call last):
  File "score.py", line 20, in <module>
    {line}
  File "/usr/lib/python3/dist-packages/keras/src/utils/traceback_utils.py", line 122, in error_handler
    raise e.with_traceback(filtered_tb) from None
tensorflow.python.framework.errors_impl.ResourceExhaustedError: {where} failed to allocate memory {op}
"""
KERAS = (
    "Exception encountered when calling Activation.call().\n\n"
    "{{function_node __wrapped__Sigmoid_device_/job:localhost/replica:0/task:0/device:GPU:0}}"
)
EAGER = (
    "[Op:Sigmoid] name: \n\nArguments received by Activation.call():\n  • inputs=tf.Tensor(shape=(16, 9, 7))"
)


@pytest.mark.parametrize(
    ("built", "line", "told"),
    [
        (BUILT, "out.append(model(x, training=False).numpy())", True),
        ("model = applications.EfficientNetB3(include_top=False)\n", "out = model(x, training=False)", True),
        ("", "out = model(x, training=False)", False),  # perhaps a class of the program's own
        (BUILT, "out = model.predict(x)", False),
        (BUILT, "out = model(x, training=True)", False),
        ("with tf.GradientTape() as tape:\n    pass\n" + BUILT, "out = model(x, training=False)", True),
    ],
)
def test_the_call_is_named(built: str, line: str, told: bool) -> None:
    found = explained(LOG.format(built=built, line=line, where=KERAS, op=EAGER))
    assert ("`model` is called op by op" in found.verdict) is told
    assert (found.actions[0].remedy.slug == "compile-the-forward") is told
    if told:
        assert found.actions[0].remedy.code == "forward = tf.function(model); y = forward(x, training=False)"


def test_a_graph_frees_each_output() -> None:
    graph = "Graph execution error:\n\nDetected at node model/activation/Sigmoid\n"
    found = explained(LOG.format(built=BUILT, line="out = model(x, training=False)", where=graph, op=""))
    assert "eager-forward" not in {each.rule for each in found.findings}
