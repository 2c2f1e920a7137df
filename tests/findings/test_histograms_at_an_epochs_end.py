"""Old Keras writes histograms after an epoch, and runs the whole validation set for them."""

from __future__ import annotations

import pytest

from tests.findings.test_texts_of_strangers import explained

TEXT = """model.fit(x, y, batch_size=64, validation_data=(vx, vy),
          callbacks=[TensorBoard(log_dir='out', histogram_freq=2)])

Traceback (most recent call last):
  File "train.py", line 31, in <module>
    callbacks=[TensorBoard(log_dir='out', histogram_freq=2)])
  File "/usr/lib/python3/dist-packages/keras/engine/training.py", line 1926, in fit
    callbacks.on_epoch_end(epoch, epoch_logs)
  File "/usr/lib/python3/dist-packages/keras/callbacks.py", line 77, in on_epoch_end
    callback.on_epoch_end(epoch, logs)
  File "/usr/lib/python3/dist-packages/keras/callbacks.py", line 668, in on_epoch_end
    result = self.sess.run([self.merged], feed_dict=feed_dict)
ResourceExhaustedError: OOM when allocating tensor with shape[9000,64,56,56]
\t [[Node: conv_3/convolution = Conv2D[T=DT_FLOAT, _device="/job:localhost/replica:0/task:0/gpu:0"](a, b)]]
"""
RULE = "histograms-of-weights"


def test_the_callback_runs_the_whole_validation_set() -> None:
    found = explained(TEXT)
    assert found.findings[0].rule == RULE
    assert found.actions[0].remedy.slug == "histograms-off"
    assert "smaller-batch" not in {action.remedy.slug for action in found.actions}


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("histogram_freq=2", "histogram_freq=0"),
        ("self.sess.run([", "self.save(["),
        ("on_epoch_end", "on_batch_end"),
    ],
)
def test_does_not_fire_where_no_histogram_is_written(there: str, instead: str) -> None:
    assert RULE not in {finding.rule for finding in explained(TEXT.replace(there, instead)).findings}
