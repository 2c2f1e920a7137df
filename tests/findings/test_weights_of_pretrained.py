"""While a pretrained model is made or loaded, neither a batch nor an optimizer plays a part."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU
from tests.findings.pages import explained, offered

_MAKING = """\
ResourceExhaustedError                    Traceback (most recent call last)
Cell In[3], line 2
      1 prepare = TokenPreprocessor(sequence_length=2048)
----> 2 lm = TextLM.from_preset('text_7b', preprocessor=prepare)

ResourceExhaustedError: {{{{function_node __wrapped__AddV2_device_{gpu}}}}} OOM when allocating tensor with\
 shape[4096,11008] and type {dtype} on {gpu} by allocator GPU_0_bfc [Op:AddV2]
"""
_LOADING = """\
{before}Traceback (most recent call last):
  File "run.py", line 12, in make
    net.load_weights(path)
  File "/usr/lib/python3/site-packages/keras/backend.py", line 4302, in batch_set_value
    x.assign(np.asarray(value, dtype=dtype_numpy(x)))
tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from {cpu} to {gpu} in\
 order to run _EagerConst: Dst tensor is not initialized.
"""


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", "(8 or 4 bits"), ("float", "(bfloat16, 8 bits")])
def test_fewer_bits_are_fewer_than_it_has(dtype: str, bits: str) -> None:
    text = _MAKING.format(gpu=GPU, dtype=dtype)
    assert bits in explained(text).actions[0].remedy.text
    assert "shorter-sequences" not in offered(text)


@pytest.mark.parametrize(("before", "trains"), [("", False), ("Epoch 1/30\n", True)])
def test_slots_of_an_optimizer_are_of_a_training(before: str, trains: bool) -> None:
    text = _LOADING.format(before=before, cpu=CPU, gpu=GPU)
    assert "while weights were being loaded" in explained(text).verdict
    assert ("load-before-training" in offered(text)) is trains
