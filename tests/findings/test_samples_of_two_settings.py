"""Samples that two settings of the text make: their product is the first side of the tensor."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

_FAILS = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[{}] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]\n"
)
_CODE = """```python
n_ref = 300
{other} = 4000
ref = x[:n_ref]
out = model({call})
```
"""


def _text(shape: str, other: str = "n_draws", call: str = "mix(ref, n_draws)") -> str:
    return _FAILS.format(shape) + _CODE.format(other=other, call=call)


def test_samples_that_two_settings_make_are_told() -> None:
    report = explained(_text("1200000,32,32,16"))
    assert "`n_ref` 300 of line 3 x `n_draws` 4,000 of line 4" in report.verdict
    assert "lower `n_draws` (4,000) or `n_ref` (300)" in first(_text("1200000,32,32,16"))


@pytest.mark.parametrize(
    "text",
    [
        _text("1200400,32,32,16"),
        _text("1200000,32,32,16", other="epochs"),
        _text("1200000,32,32,16") + "n_ref2 = 400\nn_rows = 3000\n",
    ],
    ids=["another number", "no factor of samples", "two ways"],
)
def test_other_numbers_are_no_product(text: str) -> None:
    assert "lower-a-factor" not in offered(text)


def test_an_explainer_gets_a_function_that_predicts_in_batches() -> None:
    call = "shap.KernelExplainer(model, ref)"
    codes = [each.remedy.code or "" for each in explained(_text("1200000,32,32,16", call=call)).actions]
    assert any("KernelExplainer(lambda x: model.predict(x, batch_size=100)" in code for code in codes)
    codes = [each.remedy.code or "" for each in explained(_text("1200000,32,32,16")).actions]
    assert not any("Explainer" in code for code in codes)
