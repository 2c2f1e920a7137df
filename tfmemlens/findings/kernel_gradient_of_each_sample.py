"""The gradient of a Dense layer's kernel was made for each sample before it was summed.

What it means: on inputs of three axes, [samples, positions, inputs], Keras 3 computed a Dense layer as a
batched product of matrices. TensorFlow's gradient of such a product has one kernel for each sample, [samples,
inputs, units], and only then sums them: as large as the batch times the kernel, however few positions there
are.
When it fires: the failing op is the second product of a layer's `MatMul` under a gradient tape, with three
axes and at least 64 MiB, and its name is none of attention, whose two operands are activations.
What to do: give the layer two axes (reshape before it and after it), or take a newer Keras, whose product is
flat; a smaller batch until then.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kernel_gradients import layer_of_each_sample
from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"
_LEAST_BYTES = 64 * MIB


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        layer, need = layer_of_each_sample(request), request.failed.tensor_bytes
        if layer is None or need is None or need < _LEAST_BYTES:
            continue
        layer = (request.owner.layer or layer).rpartition("/")[2]
        samples, inputs, units = (size or 1 for size in request.failed.shape or (1, 1, 1))
        kernel = need // samples
        what = (
            f"the gradient of the kernel of `{layer}` ({inputs:,} x {units:,}, {human(kernel)}) is made for"
            f" each of {samples:,} samples before it is summed"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {human(need)}",
            because=f"{what}, as a batched product of matrices of a layer on three axes does",
            explains=need,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    f"give `{layer}`, and layers like it, inputs of two axes: positions join the samples"
                    " before it and come apart behind it, and one kernel's gradient is made (newer Keras does"
                    " so by itself: 3.15 with TensorFlow 2.21 does, as Keras 2 did)",
                    f"x = keras.ops.reshape(x, (-1, {inputs}))   # then: reshape(y, (-1, positions,"
                    f" {units}))",
                    need - kernel,
                    Certainty.BOUND,
                    slug="flat-before-dense",
                ),
                *remedies.offered(case, moment, "smaller-batch"),
            ),
            moment=index,
            rules_out=("sampled-loss", "smaller-vocabulary", "shorter-sequences", "blockwise-attention"),
        )
