"""What a TPU's account says of weights that are sharded already."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

ACCOUNT = (
    "maxtext on v5p-64, llama2-70b, seq 8192\nXlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent"
    " error. Ran out of memory in memory space hbm. Used 131.42G of 95.74G hbm. Exceeded hbm capacity by"
    " 35.68G.\n\nTotal hbm usage >= 131.68G:\n    reserved        263.00M\n    program         131.42G\n"
    "    arguments            0B\n\nOutput size {shared}; shares {shared} with arguments.\n\nProgram hbm"
    " requirement 131.42G:\n    HLO temp         {temp}\n    global            1.93G\n\n"
    "  Largest program allocations in hbm:\n\n  1. Size: 40.00G\n"
    '     Operator: op_name="jit(train_step)/jit(main)/transpose(jvp(Transformer))/decoder/while/body/mlp"\n'
    "     Shape: bf16[80,4,8192,8192]{{3,2,1,0:T(8,128)(2,1)}}\n     Unpadded size: 40.00G\n"
    "     XLA label: fusion.1201 = ...\n     Allocation type: HLO temp\n     ==========================\n"
)


@pytest.mark.parametrize(("shared", "temp", "fires"), [("12.91G", "118.49G", False), ("0B", "118.49G", True)])
def test_weights_that_results_share_are_sharded(shared: str, temp: str, fires: bool) -> None:
    report = pipeline.explain(ACCOUNT.format(shared=shared, temp=temp))
    assert ("which more devices must share" in report.verdict) is fires
