"""Convolutions, pooling, normalisation, resizing, and their gradients."""

from __future__ import annotations

from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, Swallowed, each
from tfmemlens.knowledge.ops.shapes import elementwise, images
from tfmemlens.values import replace

_NORM = Op(
    images.norm,
    dtypes=("T", "U=T"),
    output=Output.OVERWRITTEN,
    layout=Layout.CONVERTED,
    batch=Batch.FIRST_OUTPUT,
    outputs=(
        "y",
        "batch_mean",
        "batch_variance",
        "reserve_space_1",
        "reserve_space_2",
        "reserve_space_3",
    ),
)
_CONVOLUTION = Op(images.convolution, layout=Layout.CONVERTED, batch=Batch.IMAGE)

OPS = {
    "_FusedBatchNormEx": _NORM,
    **each("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", replace(_NORM, swallowed=Swallowed.NORM)),
    "_FusedBatchNormGradEx": Op(images.norm_gradient, layout=Layout.CONVERTED),
    **each("_FusedConv2D Conv3D", _CONVOLUTION),
    "Conv2D": replace(_CONVOLUTION, fused="_FusedConv2D"),
    "DepthwiseConv2dNative": replace(_CONVOLUTION, fused="_FusedDepthwiseConv2dNative"),
    **each("_FusedConv2DBackpropFilter Conv3DBackpropFilter", Op(batch=Batch.NEVER)),
    **each("_FusedConv3D _FusedDepthwiseConv2dNative", Op(images.convolution, batch=Batch.IMAGE)),
    **each(
        "AvgPool AvgPool3D MaxPool MaxPool3D", Op(images.pool, layout=Layout.CONVERTED, batch=Batch.IMAGE)
    ),
    **each("AvgPool3DGrad AvgPoolGrad", Op(images.stated_by_first, layout=Layout.CONVERTED)),
    "BiasAdd": Op(
        elementwise.same, output=Output.OVERWRITTEN, layout=Layout.CONVERTED, swallowed=Swallowed.BIAS
    ),
    "BiasAddGrad": Op(images.bias_gradient, layout=Layout.CONVERTED, batch=Batch.NEVER),
    **each(
        "Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter",
        Op(images.stated_by_second, layout=Layout.CONVERTED, batch=Batch.NEVER),
    ),
    **each(
        "Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput",
        Op(images.stated_by_first, layout=Layout.CONVERTED, batch=Batch.IMAGE),
    ),
    "CropAndResize": Op(images.crops, dtypes=("float32",)),
    "CropAndResizeGradBoxes": Op(images.like_third, dtypes=("float32",)),
    "CropAndResizeGradImage": Op(images.stated_by_fourth),
    **each("DepthToSpace SpaceToDepth", Op(images.blocks, layout=Layout.CONVERTED)),
    "ExtractImagePatches": Op(images.patches),
    **each(
        "FusedBatchNormGrad FusedBatchNormGradV2",
        Op(
            images.norm_gradient,
            layout=Layout.CONVERTED,
            batch=Batch.FIRST_OUTPUT,
            outputs=("x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"),
        ),
    ),
    "FusedBatchNormGradV3": Op(
        images.norm_gradient,
        layout=Layout.CONVERTED,
        batch=Batch.FIRST_OUTPUT,
        outputs=("x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5"),
    ),
    "FusedConv2DBiasActivation": Op(images.convolution, layout=Layout.CONVERTED),
    **each("LRN LRNGrad", Op(images.image_like)),
    **each("MaxPool3DGrad MaxPoolGrad MaxPoolGradV2", Op(images.like_first, layout=Layout.CONVERTED)),
    **each("MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolV2", Op(layout=Layout.CONVERTED)),
    "MaxPoolGradWithArgmax": Op(images.like_first),
    "MaxPoolWithArgmax": Op(
        images.pool_with_places, dtypes=("T", "Targmax=int64"), outputs=("output", "argmax")
    ),
    **each("ResizeArea ResizeBicubic", Op(images.resize, dtypes=("float32",))),
    **each("ResizeBicubicGrad ResizeBilinearGrad", Op(images.like_second)),
    "ResizeBilinear": Op(images.resize, dtypes=("float32",), batch=Batch.IMAGE),
    "ResizeNearestNeighbor": Op(images.resize, batch=Batch.IMAGE),
    "ResizeNearestNeighborGrad": Op(images.resize),
}
