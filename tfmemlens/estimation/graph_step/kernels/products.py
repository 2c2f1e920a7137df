"""Kernels that need scratch memory: convolutions' gradients, pooling, normalisation, Einsum."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.convolution.col_buffer import UnrolledConvolution, of_shapes
from tfmemlens.knowledge.half_products import float32_bytes
from tfmemlens.knowledge.ops.shapes import matrices, side_of
from tfmemlens.knowledge.ops.shapes.products import labels
from tfmemlens.knowledge.ops.table import those
from tfmemlens.model.tensor import ITEM_BYTES


def float32_copies(call: KernelCall, result: Token) -> None:
    """The scratch memory of a product of matrices in 16 bits; of other ops nothing."""
    operands = [each.shape for each in call.inputs[:2]]
    memory = call.memory
    extra = float32_bytes(call.node.op, result.dtype, operands, result.shape, memory.widened, memory.onednn)
    if extra:
        call.temporary((), size_bytes=extra)


def _unrolled(call: KernelCall, filters: Sequence[int]) -> UnrolledConvolution:
    """What a gradient unrolls, by the shape of the kernel. Raises MalformedNode."""
    gradient = call.input(2).shape
    if len(filters) != 4 or len(gradient) != 4:
        raise MalformedNode(f"its filters are {list(filters)}, its gradient {list(gradient)}")
    return of_shapes(filters, gradient, str(call.attribute("data_format", "NHWC")))


@kernel("Conv2DBackpropInput")
def _input_gradient(call: KernelCall) -> list[Token]:
    result = call.fresh(call.result())
    cost = _unrolled(call, call.input(1).shape)
    images = cost.images_of_input_gradient(side_of(call.input(2).shape, 0), call.threads)
    if not call.memory.onednn:
        call.temporary((images, cost.positions, cost.patch), size_bytes=images * cost.image_bytes)
    return [result]


@kernel("Conv2DBackpropFilter")
def _filter_gradient(call: KernelCall) -> list[Token]:
    result = call.fresh(call.result())
    cost = _unrolled(call, result.shape)
    shape = (cost.images_of_filter_gradient(), cost.positions, cost.patch)
    if not call.memory.onednn:
        call.temporary(shape, size_bytes=cost.filter_gradient_bytes())
    return [result]


@kernel("Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
def _volume_gradient(call: KernelCall) -> list[Token]:
    """Both unroll as many volumes as fill the L3 cache; the input's unrolls one where the batch is one."""
    result = call.fresh(call.result())
    if call.memory.onednn:
        return [result]
    of_input = call.node.op == "Conv3DBackpropInputV2"
    gradient = call.input(2).shape
    image, filters = (result.shape, call.input(1).shape) if of_input else (call.input(0).shape, result.shape)
    if not len(image) == len(filters) == len(gradient) == 5:
        raise MalformedNode(f"its filters are {list(filters)}, its gradient {list(gradient)}")
    cost = of_shapes(
        filters, gradient, str(call.attribute("data_format", "NDHWC")), ITEM_BYTES.get(result.dtype, 4)
    )
    tensors = (call.memory.l3_bytes, image, filters, gradient)
    size = (
        cost.volume_input_gradient_bytes(gradient[0], *tensors)
        if of_input
        else cost.volume_gradient_bytes(*tensors)
    )
    volumes = size // max(cost.image_bytes, 1)
    if volumes:
        call.temporary((volumes, cost.positions, cost.patch), size_bytes=size)
    return [result]


@kernel("DepthwiseConv2dNativeBackpropFilter")
def _depthwise_filter_gradient(call: KernelCall) -> list[Token]:
    """A gradient for each image, summed at the end."""
    result = call.fresh(call.result())
    if len(result.shape) == 4:
        height, width, channels, multiplier = result.shape
        call.temporary((side_of(call.input(2).shape, 0), height * width, channels * multiplier))
    return [result]


@kernel("MaxPoolGrad")
def _max_pool_gradient(call: KernelCall) -> list[Token]:
    """The maxima are found anew, with the places where they stand, and the gradient is written over what was
    pooled (`MaxPoolingGradOp`); oneDNN's kernel does neither.
    """
    if call.memory.onednn:
        return [call.fresh(call.result())]
    pooled = call.input(1)
    if not call.is_last(pooled):
        call.temporary(pooled.shape, pooled.dtype)
    call.temporary(pooled.shape, "int64")
    return [call.forward([0], call.result())]


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def _batch_norm(call: KernelCall) -> list[Token]:
    """What V3 reserves is one number on the CPU."""
    image, *rest = call.results(*[None] * 5, ()) if call.node.op.endswith(("V3", "Ex")) else call.results()
    return [call.forward([0], image), *map(call.fresh, rest)]


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _batch_norm_gradient(call: KernelCall) -> list[Token]:
    made = [call.fresh(token) for token in call.results()]
    call.temporary(call.input(2).shape)
    return made


@kernel(*those(lambda op: op.shape is matrices.transform))
def _real_transform(call: KernelCall) -> list[Token]:
    """All frequencies stand in scratch memory (`FFTCPU`)."""
    made = call.result()
    length = [side for side in call.values(1) or () if side is not None]
    call.temporary((*made.shape[: len(made.shape) - len(length)], *length), "complex64")
    return [call.fresh(made)]


@kernel("Einsum")
def _einsum(call: KernelCall) -> list[Token]:
    """Operands are brought to [batch, free, summed] in copies where they stand otherwise, the product to its
    order in another.
    """
    equation = str(call.attribute("equation", "")).replace(" ", "")
    left, _, result = equation.partition("->")
    terms = [labels(term, token.shape) for term, token in zip(left.split(","), call.inputs, strict=False)]
    wanted = labels(result, None, terms)
    product: list[str] = []
    if len(terms) == 2:
        shared = [label for label in terms[0] if label in terms[1]]
        batch = [label for label in shared if label in wanted]
        for index, term in enumerate(terms):
            free = [label for label in term if label not in shared]
            summed = [label for label in term if label in shared and label not in batch]
            if term not in ([*batch, *free, *summed], [*batch, *summed, *free]):
                call.temporary(call.input(index).shape, call.input(index).dtype)
            product += ([*batch] if index == 0 else []) + free
    made = call.result()
    if product and product != wanted:
        call.temporary(made.shape, made.dtype)
    return [call.fresh(made)]
