"""The plain optimizer that is offered is one of the program's own release."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

FULL = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[2048,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
EAGER = f"{FULL} [Op:Fill] name: Adam/net/dense_3/kernel/m/Initializer/zeros/\n"
GRAPH = f"""tensorflow==1.12.0
  File "train.py", line 9, in <module>
    sess.run(tf.global_variables_initializer())
{FULL}
\t [[node net/dense_3/kernel/Adam/Initializer/zeros (defined at train.py:7) ]]
"""


@pytest.mark.parametrize(
    ("text", "optimizer"),
    [(EAGER, "tf.keras.optimizers.SGD"), (GRAPH, "tf.train.GradientDescentOptimizer")],
)
def test_the_optimizer_is_of_the_release(text: str, optimizer: str) -> None:
    codes = [action.remedy.code or "" for action in pipeline.explain(text).actions]
    assert any(optimizer in code for code in codes)
