"""How programs write layers: the order of their arguments, and the names of TensorFlow 1's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ARGUMENTS = {
    "Dense": ("units", "activation"),
    "Embedding": ("input_dim", "output_dim"),
    "Reshape": ("target_shape",),
    "Dropout": ("rate",),
    "Concatenate": ("axis",),
    "MultiHeadAttention": ("num_heads", "key_dim", "value_dim"),
    "SimpleRNN": ("units",),
    "LSTMCell": ("units",),
    "GRUCell": ("units",),
    "SimpleRNNCell": ("units",),
    "Permute": ("dims",),
    "RepeatVector": ("n",),
    **{f"ConvLSTM{rank}D": ("filters", "kernel_size", "strides", "padding") for rank in (1, 2, 3)},
    **{f"UpSampling{rank}D": ("size",) for rank in (1, 3)},
    **{f"{kind}{rank}D": ("padding",) for kind in ("ZeroPadding", "Cropping") for rank in (1, 2, 3)},
    "Resizing": ("height", "width", "interpolation"),
    "CenterCrop": ("height", "width"),
    "RandomCrop": ("height", "width"),
    "Rescaling": ("scale", "offset"),
    "RandomFlip": ("mode",),
    "RandomRotation": ("factor",),
    "RandomZoom": ("height_factor", "width_factor"),
    "EinsumDense": ("equation", "output_shape"),
    "GroupNormalization": ("groups",),
    "Dot": ("axes",),
    "Softmax": ("axis",),
    "ELU": ("alpha",),
    "Masking": ("mask_value",),
    "GaussianNoise": ("stddev",),
    **{f"{kind}Dropout": ("rate",) for kind in ("Gaussian", "Alpha")},
    **{f"SpatialDropout{rank}D": ("rate",) for rank in (1, 2, 3)},
    "Flatten": (),
    "LSTM": ("units",),
    "GRU": ("units",),
    "ZeroPadding2D": ("padding",),
    "UpSampling2D": ("size",),
    "BatchNormalization": (),
    "LayerNormalization": (),
    "LeakyReLU": (),
    "ReLU": (),
    "Activation": ("activation",),
    "DepthwiseConv2D": ("kernel_size", "strides", "padding"),
    **{
        f"{kind}{rank}": ("filters", "kernel_size", "strides", "padding")
        for rank in ("1D", "2D", "3D", "2DTranspose", "3DTranspose")
        for kind in ("Conv", "SeparableConv")
    },
    **{
        f"{kind}Pool{end}{rank}": ("pool_size", "strides", "padding")
        for rank in ("1D", "2D", "3D")
        for kind in ("Max", "Average", "Avg")
        for end in ("ing", "")
    },
    **{f"Global{kind}Pooling{rank}": () for rank in ("1D", "2D", "3D") for kind in ("Max", "Average")},
}
"""Keras's layers with the names of their positional arguments."""
SIZED = ("units", "filters", "kernel_size", "strides", "padding", "pool_size", "target_shape", "size")
OF_TF_LAYERS = {
    "conv1d": "Conv1D",
    "conv2d": "Conv2D",
    "conv3d": "Conv3D",
    "conv2d_transpose": "Conv2DTranspose",
    "conv3d_transpose": "Conv3DTranspose",
    "separable_conv2d": "SeparableConv2D",
    "dense": "Dense",
    "flatten": "Flatten",
    "max_pooling1d": "MaxPooling1D",
    "max_pooling2d": "MaxPooling2D",
    "max_pooling3d": "MaxPooling3D",
    "average_pooling1d": "AveragePooling1D",
    "average_pooling2d": "AveragePooling2D",
    "average_pooling3d": "AveragePooling3D",
    "batch_normalization": "BatchNormalization",
    "dropout": "Dropout",
}
BACKBONES = {
    "VGG16": 512,
    "VGG19": 512,
    **dict.fromkeys(("ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2"), 2048),
    "MobileNet": 1024,
    "MobileNetV2": 1280,
    "DenseNet121": 1024,
    "EfficientNetB0": 1280,
    "EfficientNetB1": 1280,
    "EfficientNetB2": 1408,
    "EfficientNetB3": 1536,
    "EfficientNetB4": 1792,
    "EfficientNetB5": 2048,
    "EfficientNetB6": 2304,
    "EfficientNetB7": 2560,
}
"""Channels behind `include_top=False`, at a thirty-second of the image's sides."""
OF_SLIM = {
    "conv2d": ("Conv2D", ("filters", "kernel_size", "strides", "padding"), 1),
    "convolution2d": ("Conv2D", ("filters", "kernel_size", "strides", "padding"), 1),
    "fully_connected": ("Dense", ("units",), 1),
    "max_pool2d": ("MaxPooling2D", ("pool_size", "strides", "padding"), 2),
    "avg_pool2d": ("AveragePooling2D", ("pool_size", "strides", "padding"), 2),
    "flatten": ("Flatten", (), 1),
    "dropout": ("Dropout", (), 1),
    "batch_norm": ("BatchNormalization", (), 1),
}
"""Functions of TensorFlow 1's slim: the layer, its arguments behind the input, and the usual stride."""
_SLIM_NAMES = {"num_outputs": "filters", "stride": "strides"}


def of_slim(name: str, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The layer that a function of slim makes: its convolutions pad, and its pools halve, unless it says
    otherwise.
    """
    class_name, order, stride = OF_SLIM[name]
    stated = {_SLIM_NAMES.get(each, each): value for each, value in named.items()}
    for other, usual in (("units", "filters"), ("pool_size", "kernel_size")):
        if other in order and usual in stated:
            stated[other] = stated[usual]
    usually = {"strides": stride, "padding": "valid" if stride > 1 else "same"}
    return class_name, usually | dict(zip(order, positional, strict=False)) | stated


def as_saved(value: Any) -> Any:
    """A setting as Keras's own files have it."""
    if isinstance(value, tuple):
        return list(value)
    return value.lower() if isinstance(value, str) else value
