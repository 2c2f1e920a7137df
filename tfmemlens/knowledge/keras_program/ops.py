"""What functions of TensorFlow make that no saved model holds as an op: gathers and scatters, linear algebra,
frames of a signal, patches of pictures, functions that are mapped over rows, cells of TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfmemlens.knowledge.keras_program.arrays import tensor
from tfmemlens.knowledge.keras_program.values import UNKNOWN, Instance, Names, UserClass, tensors_in
from tfmemlens.model.tensor import TensorType

__all__ = ["CELLS", "cell_of", "made_by", "ran_through_cell"]

Shape = tuple[int | None, ...]
_Rule = Callable[[list[TensorType], list[Any], Names], Any]

CELLS = frozenset(
    "GRUCell LSTMCell BasicLSTMCell BasicRNNCell LSTMBlockCell LayerNormBasicLSTMCell MultiRNNCell"
    " DropoutWrapper".split()
)
"""Cells of `tf.nn.rnn_cell` and `tf.contrib.rnn`, whose first argument is their width."""


def cell_of(name: str, given: list[Any], named: Names) -> Instance:
    """A cell of TensorFlow 1 by its width."""
    units = given[0] if given else named.get("num_units", UNKNOWN)
    if name == "MultiRNNCell":
        cells = given[0] if given else named.get("cells", UNKNOWN)
        last = cells[-1] if isinstance(cells, tuple | list) and cells else UNKNOWN
        return last if isinstance(last, Instance) else Instance(UserClass(name, {}), {})
    if name == "DropoutWrapper" and given and isinstance(given[0], Instance):
        return given[0]
    return Instance(UserClass(name, {}), {"num_units": units})


def ran_through_cell(given: list[Any], named: Names) -> Any:
    """What `dynamic_rnn(cell, inputs)` gives: all outputs, and a state that no one asks for."""
    cell = given[0] if given else named.get("cell", UNKNOWN)
    inputs = given[1] if len(given) > 1 else named.get("inputs", UNKNOWN)
    units = cell.attributes.get("num_units") if isinstance(cell, Instance) else None
    if not isinstance(units, int) or not isinstance(inputs, TensorType) or len(inputs.shape or ()) != 3:
        return (UNKNOWN, UNKNOWN)
    rows = (inputs.shape or ())[:2]
    state = TensorType((rows[0], units), inputs.dtype)
    of_two = "LSTM" in (cell.of.name if cell.of else "")
    return (TensorType((*rows, units), inputs.dtype), (state, state) if of_two else state)


def made_by(path: str, given: list[Any], named: Names) -> Any:
    """What a function of TensorFlow makes of tensors; UNKNOWN where no rule here tells."""
    rule = _RULES.get(path.rpartition(".")[2])
    inputs = [each for each in tensors_in([*given, *named.values()]) if each.shape is not None]
    if rule is None or not inputs:
        return UNKNOWN
    try:
        return rule(inputs, given, named)
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return UNKNOWN


def _argument(given: list[Any], named: Names, position: int, *names: str) -> Any:
    told = next((named[name] for name in names if name in named), None)
    if told is not None:
        return told
    return given[position] if len(given) > position else None


def _shape(of: TensorType) -> Shape:
    return of.shape or ()


def _alike(inputs: list[TensorType], *_: Any) -> Any:
    return inputs[0]


def _of_last(inputs: list[TensorType], *_: Any) -> Any:
    return inputs[-1]


def _without(count: int) -> _Rule:
    """The first tensor's shape without its last sides."""
    return lambda inputs, *_: TensorType(_shape(inputs[0])[:-count], inputs[0].dtype)


def _loss_of_rows(inputs: list[TensorType], _given: list[Any], named: Names) -> Any:
    logits = named.get("logits", max(inputs, key=lambda each: len(_shape(each))))
    return TensorType(_shape(logits)[:-1], "float32")


def _loss_of_each(inputs: list[TensorType], *_: Any) -> Any:
    return max(inputs, key=lambda each: len(_shape(each)))


def _mean_loss(*_: Any) -> Any:
    return TensorType((), "float32")


def _gather_nd(inputs: list[TensorType], _given: list[Any], named: Names) -> Any:
    table, places = _shape(inputs[0]), _shape(inputs[1])
    shared = named.get("batch_dims", 0)
    depth = places[-1]
    if not isinstance(depth, int) or not isinstance(shared, int):
        return UNKNOWN
    return TensorType((*places[:-1], *table[shared + depth :]), inputs[0].dtype)


def _scatter_nd(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    return tensor(_argument(given, named, 2, "shape"), inputs[1].dtype or "float32")


def _diagonal(inputs: list[TensorType], *_: Any) -> Any:
    shape = _shape(inputs[0])
    return TensorType((*shape, shape[-1]), inputs[0].dtype)


def _turned(inputs: list[TensorType], *_: Any) -> Any:
    shape = _shape(inputs[0])
    return TensorType((*shape[:-2], shape[-1], shape[-2]), inputs[0].dtype)


def _matvec(inputs: list[TensorType], *_: Any) -> Any:
    return TensorType(_shape(inputs[0])[:-1], inputs[0].dtype)


def _tensordot(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    first, second = _shape(inputs[0]), _shape(inputs[1])
    axes = _argument(given, named, 2, "axes")
    if isinstance(axes, int):
        shape = (*first[: len(first) - axes], *second[axes:])
    elif isinstance(axes, tuple | list) and len(axes) == 2:
        gone, other = (
            _places(each, rank) for each, rank in zip(axes, (len(first), len(second)), strict=True)
        )
        kept = [side for at, side in enumerate(first) if at not in gone]
        shape = (*kept, *[side for at, side in enumerate(second) if at not in other])
    else:
        return UNKNOWN
    return TensorType(shape, inputs[0].dtype)


def _places(axes: Any, rank: int) -> set[int]:
    return {each % rank for each in (axes if isinstance(axes, tuple | list) else [axes])}


def _frames(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    *others, samples = _shape(inputs[0])
    length, step = (_argument(given, named, at, f"frame_{name}") for at, name in ((1, "length"), (2, "step")))
    return TensorType((*others, _count(samples, length, step, named.get("pad_end")), length), inputs[0].dtype)


def _count(samples: int | None, length: int, step: int, padded: Any) -> int | None:
    if samples is None:
        return None
    return -(-samples // step) if padded is True else max((samples - length) // step + 1, 0)


def _spectrum(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    *others, samples = _shape(inputs[0])
    length, step = (_argument(given, named, at, f"frame_{name}") for at, name in ((1, "length"), (2, "step")))
    whole = _argument(given, named, 3, "fft_length")
    if not isinstance(whole, int):
        whole = 1 << (length - 1).bit_length()
    frames = _count(samples, length, step, named.get("pad_end"))
    return TensorType((*others, frames, whole // 2 + 1), "complex64")


def _half_spectrum(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    *others, samples = _shape(inputs[0])
    length = _argument(given, named, 1, "fft_length")
    length = length[-1] if isinstance(length, tuple | list) else length
    whole = length if isinstance(length, int) else samples
    return TensorType((*others, None if whole is None else whole // 2 + 1), "complex64")


def _complex(inputs: list[TensorType], *_: Any) -> Any:
    return TensorType(inputs[0].shape, "complex64")


def _real(inputs: list[TensorType], *_: Any) -> Any:
    of_complex = (inputs[0].dtype or "").startswith("complex")
    return TensorType(inputs[0].shape, "float32") if of_complex else inputs[0]


def _patches(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    batch, height, width, channels = _shape(inputs[0])
    sizes, strides = (_argument(given, named, at, name) for at, name in ((1, "sizes"), (2, "strides")))
    padding = str(_argument(given, named, 4, "padding") or "VALID").upper()
    _, high, wide, _ = sizes
    made = [
        None if side is None else _windows(side, size, step, padding)
        for side, size, step in ((height, high, strides[1]), (width, wide, strides[2]))
    ]
    depth = None if channels is None else high * wide * channels
    return TensorType((batch, *made, depth), inputs[0].dtype)


def _windows(side: int, size: int, step: int, padding: str) -> int:
    return -(-side // step) if padding == "SAME" else max((side - size) // step + 1, 0)


def _crops(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    size = _argument(given, named, 3, "crop_size")
    boxes = _argument(given, named, 1, "boxes")
    count = _shape(boxes)[0] if isinstance(boxes, TensorType) and boxes.shape else None
    return tensor((count, *size, _shape(inputs[0])[-1]))


def _convolution(rank: int) -> _Rule:
    def made(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
        kernel = _shape(inputs[1])
        strides = _argument(given, named, 2, "strides", "stride")
        padding = str(_argument(given, named, 3, "padding") or "VALID").upper()
        batch, *sides, _ = _shape(inputs[0])
        if isinstance(strides, tuple | list):
            steps = list(strides)[1:-1] if len(strides) == rank + 2 else list(strides)
        else:
            steps = [strides if isinstance(strides, int) else 1] * rank
        sizes = zip(sides, kernel, steps, strict=False)
        grid = [
            None if side is None or size is None else _windows(side, size, step, padding)
            for side, size, step in sizes
        ]
        return TensorType((batch, *grid, kernel[-1]), inputs[0].dtype)

    return made


def _mesh(inputs: list[TensorType], _given: list[Any], named: Names) -> Any:
    sides = [each.shape[0] for each in inputs if each.shape]
    if named.get("indexing", "xy") == "xy" and len(sides) > 1:
        sides[:2] = sides[1::-1]
    return tuple(TensorType(tuple(sides), each.dtype) for each in inputs)


def _mask_of_lengths(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    most = _argument(given, named, 1, "maxlen")
    return TensorType((*_shape(inputs[0]), most if isinstance(most, int) else None), "bool")


def _open_rows(inputs: list[TensorType], *_: Any) -> Any:
    """As many rows as the data have it."""
    return TensorType((None, *_shape(inputs[0])[1:]), inputs[0].dtype)


def _places_of(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    """`tf.where(condition)`: the places where it holds; with two more arguments values of either."""
    if len(given) > 1 or len(named) > 1:
        return max(inputs, key=lambda each: len(_shape(each)))
    return TensorType((None, len(_shape(inputs[0]))), "int64")


def _moments(inputs: list[TensorType], given: list[Any], named: Names) -> Any:
    shape = _shape(inputs[0])
    gone = _places(_argument(given, named, 1, "axes"), len(shape))
    keep = named.get("keepdims", named.get("keep_dims")) is True
    kept = [1 if at in gone else side for at, side in enumerate(shape) if keep or at not in gone]
    made = TensorType(tuple(kept), inputs[0].dtype)
    return (made, made)


def _names(text: str, rule: _Rule) -> dict[str, _Rule]:
    return dict.fromkeys(text.split(), rule)


_RULES: dict[str, _Rule] = {
    **_names(
        "band_part matrix_band_part cholesky inv pinv matrix_inverse expm sqrtm sparse_softmax lrn dropout2d"
        " clip_by_norm clip_by_global_norm check_numerics Print print_v2 mod floormod relu_layer crelu swish"
        " image_gradients random_flip_left_right adjust_brightness per_image_standardization"
        " cumulative_logsumexp batch_normalization lbeta digamma lgamma erfc erfinv ndtri bessel_i0 polygamma"
        " angle",
        _alike,
    ),
    **_names("solve matrix_solve triangular_solve matrix_triangular_solve cholesky_solve lstsq", _of_last),
    **_names("logdet det matrix_determinant trace", _without(2)),
    **_names("diag_part matrix_diag_part eigvalsh", _without(1)),
    **_names("diag matrix_diag set_diag", _diagonal),
    **_names("matrix_transpose adjoint", _turned),
    **_names(
        "sparse_softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits"
        " softmax_cross_entropy_with_logits_v2 sparse_categorical_crossentropy categorical_crossentropy",
        _loss_of_rows,
    ),
    **_names("sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits", _loss_of_each),
    **_names(
        "mean_squared_error absolute_difference huber_loss softmax_cross_entropy sigmoid_cross_entropy"
        " sparse_softmax_cross_entropy log_loss",
        _mean_loss,
    ),
    **_names("fft ifft fft2d ifft2d fft3d", _complex),
    **_names("real imag", _real),
    **_names("extract_patches extract_image_patches", _patches),
    **_names("boolean_mask segment_sum segment_mean segment_max segment_min unique", _open_rows),
    "gather_nd": _gather_nd,
    "scatter_nd": _scatter_nd,
    "tensordot": _tensordot,
    "matvec": _matvec,
    "frame": _frames,
    "stft": _spectrum,
    "rfft": _half_spectrum,
    "abs": _real,
    "crop_and_resize": _crops,
    "conv1d": _convolution(1),
    "conv3d": _convolution(3),
    "meshgrid": _mesh,
    "sequence_mask": _mask_of_lengths,
    "where": _places_of,
    "moments": _moments,
}
"""By the last part of the function's name."""


def each_row(values: Sequence[Any]) -> list[Any]:
    """The rows of tensors that a function is mapped over: each without its first side."""
    return [
        TensorType(each.shape[1:], each.dtype) if isinstance(each, TensorType) and each.shape else UNKNOWN
        for each in values
    ]


def of_rows(made: Any, first: int | None) -> Any:
    """What a mapped function gives for all rows."""
    if isinstance(made, TensorType) and made.shape is not None:
        return TensorType((first, *made.shape), made.dtype)
    if isinstance(made, tuple | list):
        return tuple(of_rows(each, first) for each in made)
    return UNKNOWN
