"""A product in half precision copies a matrix to float32: whose kernel that is, and when nobody can say."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report

MIB = 1 << 20
FAILED = (
    "W0000 00:00:1.0 1 op_kernel.cc:1855] OP_REQUIRES failed at matmul_op_impl.h:1113 : RESOURCE_EXHAUSTED:"
    " OOM when allocating tensor with shape[1,32768,1024] and type float on"
    " /job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu\n"
    "\t [[{{{{node {node}}}}}]]\n"
)
CODE = """
from tensorflow.keras import layers
image = layers.Input((1024, 32))
x = layers.Flatten(name="flat")(image)
x = layers.Dense({units}, name="wide")(x)
model = keras.Model(image, x)
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train, batch_size=16)
"""
FORWARD = FAILED.format(node="net_1/wide_1/MatMul")


def explained(text: str) -> tuple[Report, Finding | None]:
    report = pipeline.explain(text)
    return report, next((each for each in report.findings if each.rule == "dense-kernel-gradient"), None)


@pytest.mark.parametrize(("units", "known"), [(1024, True), (1000, False)])
def test_the_program_says_whose_kernel_it_is(units: int, known: bool) -> None:
    report, found = explained(CODE.format(units=units) + FORWARD)
    assert (found is not None) is known
    if found:
        assert "the kernel of `wide` (line 5), 32,768 x 1,024" in found.because
        assert "with gradients and Adam's slots 512.00 MiB" in found.because
        assert found.explains == 512 * MIB
    batches = [each.remedy for each in report.actions if "batch" in each.remedy.slug]
    assert bool(batches) is not known


def test_a_net_that_only_predicts_has_no_slots() -> None:
    code = CODE.replace(".fit(x_train, y_train, ", ".predict(x_train, ").replace("model.compile", "# ")
    _, found = explained(code.format(units=1024) + FORWARD)
    assert found and "with this copy 256.00 MiB" in found.because


@pytest.mark.parametrize(
    ("node", "blocks", "told"),
    [
        ("net_1/wide_1/MatMul", 2, True),  # the kernel and a slot, before anything else is made
        ("net_1/wide_1/MatMul", 1, False),
        ("gradient_tape/net_1/wide_1/MatMul", 2, False),  # in the backward pass gradients are as large
    ],
)
def test_blocks_of_its_size_speak_for_a_kernel(node: str, blocks: int, told: bool) -> None:
    held = (blocks, 128 * MIB)
    text = dump_by_size(128 * MIB, 128 * blocks, held, allocator="bfc_cpu_allocator_for_gpu")
    _, found = explained(text + FAILED.format(node=node))
    assert (found is not None) is told
    assert found is None or "most likely the kernel of `net_1/wide_1`, 32,768 inputs" in found.because
