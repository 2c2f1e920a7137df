"""Loops of any name, gathered tables, clipping, convolutions along one axis: each with what is nearly so."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom, report
from tfmemlens import pipeline
from tfmemlens.knowledge.convolution import is_likely, kernels_of
from tfmemlens.model.report import Report

CLIPPED = '  File "a/base_optimizer.py", line 1191, in clip_by_global_norm\n'


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def rules(text: str) -> set[str]:
    return {finding.rule for finding in explained(text).findings}


def turns(times: int, name: str = "integrate/MatMul") -> str:
    return oom("4096,8", name) + report(
        *[f"128.0KiB from {name}" for _ in range(times)], rest="100 nodes with 12.5MiB"
    )


def test_a_loop_of_any_name_is_known_by_its_turns() -> None:
    said = explained(turns(34)).verdict
    assert "a loop keeps every iteration" in said and "integrate/MatMul is alive 34 times" in said
    assert "100 more executions hold 12.50 MiB" in said
    assert "loop-state" not in rules(turns(15))


def test_as_many_nodes_of_many_names_are_no_loop() -> None:
    rows = [f"128.0KiB from net/layer_{number}/MatMul" for number in range(34)]
    assert "loop-state" not in rules(oom("4096,8") + report(*rows, rest="100 nodes with 12.5MiB"))


@pytest.mark.parametrize(
    ("kernel", "dense"), [("segment_reduction_ops_impl.h", True), ("matmul_op_impl.h", False)]
)
def test_the_gradient_of_a_gather_is_known_by_its_kernel(kernel: str, dense: bool) -> None:
    text = oom("300000,48", "gradient_tape/TanhGrad/dy", kernel=kernel)
    assert ("dense-embedding-gradient" in rules(text)) == dense
    assert ("a gathered table" in explained(text).verdict) == dense


def test_all_gradients_wait_for_the_global_norm() -> None:
    failed = oom("2800,2800", "sgd_1/Square_2")
    optimizer = '  File "site-packages/keras/src/optimizers/base_optimizer.py", line 876, in apply\n'
    text = "Traceback (most recent call last):\n" + optimizer + CLIPPED + failed
    of_weight = CLIPPED + oom("2800,2800", "gradients/fc/MatMul_grad/MatMul_1")
    assert "clipped-by-global-norm" in rules(of_weight)
    assert "batch" not in explained(of_weight).actions[0].remedy.text.split(";")[0]
    assert "clipped-by-global-norm" not in rules(text.replace("clip_by_global_norm", "clip_by_value"))
    for units, of_one in ((16384, True), (256, False)):  # 16 MiB and 256 KiB, beside 30 MiB
        code = f"x = layers.Dense({units})(Input((256,)))\n"
        assert ("clipped-by-global-norm" in rules(code + of_weight)) is of_one
    assert "clipped-by-global-norm" not in rules(CLIPPED + oom("64,64,64,64", "net/conv/Relu"))


def test_float64_is_told_with_what_float32_takes() -> None:
    said = explained(oom("2048,3000", "mix/Relu", dtype="double"))
    finding = next(each for each in said.findings if each.rule == "double-precision")
    assert finding.because == "it is float64, and in float32 it would take 23.44 MiB"
    assert finding.remedies[0].saves_bytes == 2048 * 3000 * 4


def unrolled(shape: str, node: str) -> str:
    return oom(shape, node, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc")


def test_no_kernel_is_invented_for_one_axis() -> None:
    text = unrolled("1,6000,9600", "gradient_tape/net/receptive/Conv1D/Conv2DBackpropFilter")
    said = explained(text).verdict
    assert "6,000 output positions x 9,600 values each" in said
    assert "5 x 5" not in said and "height" not in explained(text).actions[0].remedy.text


def test_a_kernel_is_named_only_where_it_is_likely() -> None:
    node = "gradient_tape/net/conv/Conv2D/Conv2DBackpropFilter"
    assert "3 x 3 kernel x 72 channels" in explained(unrolled("1,36864,648", node)).verdict
    said = explained(unrolled("1,36864,338", node)).verdict
    assert "338 values each" in said and "kernel x" not in said


@pytest.mark.parametrize(
    ("patch", "best"),
    [(648, (3, 3, 72)), (576, (3, 3, 64)), (800, (5, 5, 32)), (147, (7, 7, 3)), (363, (11, 11, 3))],
)
def test_the_likeliest_kernel_is_small(patch: int, best: tuple[int, int, int]) -> None:
    assert kernels_of(patch)[0] == best


def test_likely_kernels_are_odd_squares_over_usual_channels() -> None:
    assert is_likely((3, 3), 72) and is_likely((7, 7), 3)
    assert not is_likely((9, 9), 8) and not is_likely((3, 5), 64) and not is_likely((3, 3), 70)
