"""Matrix products, convolutions, pooling, normalisation, resizing."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, broadcast, declared, kernel
from tfmemlens.estimation.graph_step.tokens import Shape, Token
from tfmemlens.knowledge.convolution.col_buffer import of_shapes


@kernel(
    "MatMul", "_FusedMatMul", "_MklMatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"
)
def _matmul(call: KernelCall) -> list[Token]:
    left, right = call.inputs[0].shape, call.inputs[1].shape
    turned_left = bool(call.attribute("transpose_a") or call.attribute("adj_x"))
    turned_right = bool(call.attribute("transpose_b") or call.attribute("adj_y"))
    if len(left) < 2 or len(right) < 2:
        return [call.output(declared(call) or left)]
    rows, columns = left[-1 if turned_left else -2], right[-2 if turned_right else -1]
    return [call.output((*broadcast([left[:-2], right[:-2]]), rows, columns))]


def spatial(
    sizes: Sequence[int],
    kernel_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    edges: Sequence[int],
) -> list[int]:
    """Output sizes of a window that moves over an image."""
    result = []
    for index, (size, side, stride, dilation) in enumerate(
        zip(sizes, kernel_sizes, strides, dilations, strict=True)
    ):
        extent = (side - 1) * dilation + 1
        if padding == "SAME":
            result.append(-(-size // stride))
        elif padding == "EXPLICIT":
            result.append((size + edges[2 * index] + edges[2 * index + 1] - extent) // stride + 1)
        else:
            result.append((size - extent) // stride + 1)
    return result


def _window(
    call: KernelCall, shape: Shape, kernel_sizes: Sequence[int] | None, channels: int | None
) -> Shape:
    """The shape after a convolution or pooling, whatever the layout."""
    first = str(call.attribute("data_format", "NHWC")).startswith("NC")
    place = slice(2, None) if first else slice(1, -1)
    rank = len(shape)
    strides = tuple(call.attribute("strides") or (1,) * rank)[place]
    dilations = tuple(call.attribute("dilations") or (1,) * rank)[place]
    edges = tuple(call.attribute("explicit_paddings") or (0,) * (2 * rank))
    edges = edges[4:] if first else edges[2:-2]
    sides = kernel_sizes if kernel_sizes is not None else tuple(call.attribute("ksize"))[place]
    sizes = spatial(shape[place], sides, strides, dilations, str(call.attribute("padding", "VALID")), edges)
    width = channels if channels is not None else shape[1 if first else -1]
    return (shape[0], width, *sizes) if first else (shape[0], *sizes, width)


@kernel("Conv2D", "_FusedConv2D", "Conv3D", "_FusedConv3D")
def _convolution(call: KernelCall) -> list[Token]:
    sides = call.inputs[1].shape
    return [call.output(_window(call, call.inputs[0].shape, sides[:-2], sides[-1]))]


@kernel("DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative")
def _depthwise(call: KernelCall) -> list[Token]:
    sides = call.inputs[1].shape
    return [call.output(_window(call, call.inputs[0].shape, sides[:2], sides[2] * sides[3]))]


@kernel("Conv2DBackpropInput")
def _input_gradient(call: KernelCall) -> list[Token]:
    result = call.output(call.values(0) or declared(call) or ())
    cost = of_shapes(call.inputs[1].shape, call.inputs[2].shape, str(call.attribute("data_format", "NHWC")))
    images = cost.images_of_input_gradient(result.shape[0] if result.shape else 1, call.threads)
    call.temporary((images, cost.positions, cost.patch), size_bytes=images * cost.image_bytes)
    return [result]


@kernel("Conv2DBackpropFilter")
def _filter_gradient(call: KernelCall) -> list[Token]:
    result = call.output(call.values(1) or declared(call) or ())
    cost = of_shapes(result.shape, call.inputs[2].shape, str(call.attribute("data_format", "NHWC")))
    shape = (cost.images_of_filter_gradient(), cost.positions, cost.patch)
    call.temporary(shape, size_bytes=cost.filter_gradient_bytes())
    return [result]


@kernel("Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput")
def _other_input_gradient(call: KernelCall) -> list[Token]:
    return [call.output(call.values(0) or declared(call) or ())]


@kernel("Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter")
def _other_filter_gradient(call: KernelCall) -> list[Token]:
    result = call.output(call.values(1) or declared(call) or ())
    if call.node.op.startswith("Depthwise") and len(result.shape) == 4:
        call.temporary(
            (call.inputs[2].shape[0], result.shape[0] * result.shape[1], result.shape[2] * result.shape[3])
        )
    return [result]


@kernel("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")
def _pool(call: KernelCall) -> list[Token]:
    return [call.output(_window(call, call.inputs[0].shape, None, None))]


@kernel("MaxPoolGrad")
def _max_pool_gradient(call: KernelCall) -> list[Token]:
    pooled = call.inputs[1]
    if not call.is_last(pooled):
        call.temporary(pooled.shape, pooled.dtype)
    call.temporary(pooled.shape, "int64")
    return [call.output(call.inputs[0].shape)]


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def _average_pool_gradient(call: KernelCall) -> list[Token]:
    return [call.output(call.values(0) or declared(call) or ())]


@kernel("MaxPool3DGrad")
def _max_pool_3d_gradient(call: KernelCall) -> list[Token]:
    return [call.output(call.inputs[0].shape)]


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def _batch_norm(call: KernelCall) -> list[Token]:
    shape, width = call.inputs[0].shape, call.inputs[1].shape
    made = [call.forward([0], shape), *(call.output(width, "float32") for _ in range(4))]
    return [*made, call.output((), "float32")] if call.node.op.endswith(("V3", "Ex")) else made


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _batch_norm_gradient(call: KernelCall) -> list[Token]:
    width = call.inputs[2].shape
    made = [call.output(call.inputs[0].shape), call.output(width, "float32"), call.output(width, "float32")]
    call.temporary(width)
    return [*made, call.output((), "float32"), call.output((), "float32")]


@kernel("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
def _resize(call: KernelCall) -> list[Token]:
    shape, sizes = call.inputs[0].shape, call.values(1) or (1, 1)
    result = (shape[0], *sizes, shape[-1])
    dtype = call.inputs[0].dtype if call.node.op == "ResizeNearestNeighbor" else "float32"
    return [
        call.alias(0) if result == shape and dtype == call.inputs[0].dtype else call.output(result, dtype)
    ]


@kernel("ResizeBilinearGrad", "ResizeBicubicGrad")
def _resize_gradient(call: KernelCall) -> list[Token]:
    return [call.output(call.inputs[1].shape)]


@kernel("ResizeNearestNeighborGrad")
def _nearest_gradient(call: KernelCall) -> list[Token]:
    shape, sizes = call.inputs[0].shape, call.values(1) or (1, 1)
    return [call.output((shape[0], *sizes, shape[-1]))]


@kernel("ExtractImagePatches")
def _patches(call: KernelCall) -> list[Token]:
    sides = call.attribute("ksizes")
    shape = call.inputs[0].shape
    sizes = spatial(
        shape[1:3],
        sides[1:3],
        call.attribute("strides")[1:3],
        call.attribute("rates")[1:3],
        str(call.attribute("padding")),
        (),
    )
    return [call.output((shape[0], *sizes, sides[1] * sides[2] * shape[3]))]


@kernel("SpaceToDepth", "DepthToSpace")
def _space_to_depth(call: KernelCall) -> list[Token]:
    block = int(call.attribute("block_size", 2))
    batch, height, width, depth = call.inputs[0].shape
    if call.node.op == "DepthToSpace":
        return [call.output((batch, height * block, width * block, depth // block**2))]
    return [call.output((batch, height // block, width // block, depth * block**2))]
