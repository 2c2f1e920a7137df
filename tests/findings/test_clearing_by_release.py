"""Models in a loop are cleared as the Keras of the traceback has it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

TEXT = """I train 12 models one after another in a loop of one script, the seventh fails:
Traceback (most recent call last):
  File "search.py", line 60, in <module>
    model.fit(x, y, {argument})
  File "{keras}", line 336, in __call__
    updated = session.run(self.outputs + self.updates, feed_dict=feed_dict)
  File "/usr/lib/python2.7/dist-packages/tensorflow/python/client/session.py", line 368, in run
tensorflow.python.framework.errors.ResourceExhaustedError: OOM when allocating tensor with shape[4096,4096]
\t [[Node: sub_2518 = Sub[T=DT_FLOAT](Variable_1955/read, mul_77)]]
"""
ALONE = "/usr/lib/python2.7/dist-packages/keras/backend/tensorflow_backend.py"
WITHIN = "/usr/lib/python3.6/site-packages/tensorflow/python/keras/backend.py"


@pytest.mark.parametrize(
    ("keras", "argument", "code", "absent"),
    [
        (ALONE, "nb_epoch=9, show_accuracy=True", "tf.reset_default_graph()", "clear_session"),
        (ALONE, "epochs=9", "keras.backend.clear_session()", "tf.keras"),
        (WITHIN, "epochs=9", "tf.keras.backend.clear_session()", "reset_default_graph"),
    ],
)
def test_the_call_is_one_that_the_release_has(keras: str, argument: str, code: str, absent: str) -> None:
    report = pipeline.explain(TEXT.format(keras=keras, argument=argument))
    dropped = [each.remedy.code or "" for each in report.actions if each.remedy.slug == "drop-models"]
    assert len(dropped) == 1
    assert code in dropped[0]
    assert absent not in dropped[0]
