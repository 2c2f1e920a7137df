"""Ops that join, cut, turn, repeat and pick: NumPy's functions and their namesakes in Keras and
TensorFlow.
"""

from __future__ import annotations

from itertools import pairwise

from tfmemlens.knowledge.keras_layers._context import (
    MAX_SIZE,
    LayerCall,
    LayerSpecs,
    Rule,
    Shape,
    UnsupportedLayer,
    listed,
    place_of,
    product,
    sides_of,
    tuple_of,
    whole,
)
from tfmemlens.knowledge.keras_layers._operation import (
    argument,
    axes_of,
    constant_shape,
    dtype_of,
    name_of,
    needed,
    sizes,
    tensors,
)
from tfmemlens.knowledge.keras_layers.merging import concatenated
from tfmemlens.model.tensor import TensorType, numpy_dtype

_MAX_PARTS = 1 << 16


def _concatenate(call: LayerCall) -> LayerSpecs:
    return call.specs(
        concatenated(_parts(call, "values", "xs"), argument(call, 1, "axis", default=0)),
        dtype=dtype_of(call),
    )


def _hstack(call: LayerCall) -> LayerSpecs:
    return call.specs(concatenated(_parts(call, "xs"), 1), dtype=dtype_of(call))


def _parts(call: LayerCall, *names: str) -> list[Shape]:
    return [each.shape or () for each in tensors(argument(call, 0, *names))]


def _stack(call: LayerCall) -> LayerSpecs:
    parts = list(tensors(argument(call, 0, "values", "x")))
    axis = place_of(argument(call, 1, "axis", default=0), len(call.shape) + 1)
    return call.specs([*call.shape[:axis], len(parts), *call.shape[axis:]], dtype=dtype_of(call))


def _reshape(call: LayerCall) -> LayerSpecs:
    target = sizes(call, 1, "newshape", "shape")
    elements = product(call.shape)
    if target.count(None) == 1 and elements is not None:
        known = product([size for size in target if size is not None]) or 1
        target[target.index(None)] = elements // known
    elif target.count(None) > 1 and call.shape[:1] not in ((), (None,)) and target[0] is None:
        target[0] = call.shape[0]
    return call.specs(target, dtype=dtype_of(call))


def _transpose(call: LayerCall) -> LayerSpecs:
    axes = argument(call, 1, "axes", "perm")
    order = axes_of(axes, len(call.shape)) if axes is not None else range(len(call.shape))[::-1]
    return call.specs([call.shape[axis] for axis in order], dtype=dtype_of(call))


def _swapaxes(call: LayerCall) -> LayerSpecs:
    one, two = (place_of(needed(call, at, f"axis{at}"), len(call.shape)) for at in (1, 2))
    shape = list(call.shape)
    shape[one], shape[two] = shape[two], shape[one]
    return call.specs(shape, dtype=dtype_of(call))


def _moveaxis(call: LayerCall) -> LayerSpecs:
    rank = len(call.shape)
    source, target = (
        axes_of(needed(call, 1, "source"), rank),
        axes_of(needed(call, 2, "destination"), rank),
    )
    if len(source) != len(target):
        raise UnsupportedLayer("it moves so many axes to other numbers of places")
    order = [axis for axis in range(rank) if axis not in source]
    for where, which in sorted(zip(target, source, strict=True)):
        order.insert(where, which)
    return call.specs([call.shape[axis] for axis in order], dtype=dtype_of(call))


def _expand(call: LayerCall) -> LayerSpecs:
    shape = list(call.shape)
    for axis in sorted(axes_of(argument(call, 1, "axis", default=-1), len(shape) + 1)):
        shape.insert(axis, 1)
    return call.specs(shape, dtype=dtype_of(call))


def _squeeze(call: LayerCall) -> LayerSpecs:
    axis = argument(call, 1, "axis")
    gone = (
        axes_of(axis, len(call.shape))
        if axis is not None and axis != []
        else [at for at, size in enumerate(call.shape) if size == 1]
    )
    return call.specs([size for at, size in enumerate(call.shape) if at not in gone], dtype=dtype_of(call))


def _getitem(call: LayerCall) -> LayerSpecs:
    spec = argument(call, 1, "slice_spec", "key")
    parts = list(spec) if isinstance(spec, list | tuple) else [spec]
    if sum(part is Ellipsis for part in parts) > 1 or any(isinstance(part, TensorType) for part in parts):
        raise UnsupportedLayer("it indexes by a computed tensor")
    if any(part is Ellipsis for part in parts):
        at = next(index for index, part in enumerate(parts) if part is Ellipsis)
        missing = len(call.shape) - sum(part is not None and part is not Ellipsis for part in parts)
        parts[at : at + 1] = [slice(None)] * missing
    if sum(part is not None for part in parts) > len(call.shape):
        raise UnsupportedLayer("it has more indices than its input has dimensions")
    made: list[int | None] = []
    sizes = iter(call.shape)
    for part in parts:
        if part is None:
            made.append(1)
            continue
        size = next(sizes)
        if isinstance(part, slice):
            made.append(_sliced(size, part))
    return call.specs([*made, *sizes], dtype=dtype_of(call))


def _sliced(size: int | None, part: slice) -> int | None:
    bounds = [each for each in (part.start, part.stop, part.step) if each is not None]
    if size is None or size > MAX_SIZE or part.step == 0 or not all(isinstance(each, int) for each in bounds):
        return None
    return len(range(*part.indices(size)))


def _split(call: LayerCall) -> LayerSpecs:
    sections, axis = (
        argument(call, 1, "indices_or_sections", "num_or_size_splits"),
        place_of(argument(call, 2, "axis", default=0), len(call.shape)),
    )
    size = call.shape[axis]
    name = "indices_or_sections"
    if not isinstance(sections, list | tuple):
        count = whole(sections, name, 1)
        parts = [None if size is None else size // count] * _few(count)
    elif name_of(call) == "split" and call.dialect != "keras-3":
        parts = sides_of(sections, name)
    else:
        marks = [0, *(whole(mark, name) for mark in sections), size if size is not None else 0]
        parts = [max(end - start, 0) for start, end in pairwise(marks)]
    made = [TensorType((*call.shape[:axis], part, *call.shape[axis + 1 :]), dtype_of(call)) for part in parts]
    return LayerSpecs(tuple(made))


def _unstack(call: LayerCall) -> LayerSpecs:
    axis = place_of(argument(call, 1, "axis", default=0), len(call.shape))
    one = TensorType((*call.shape[:axis], *call.shape[axis + 1 :]), dtype_of(call))
    count = whole(argument(call, 2, "num", default=call.shape[axis]) or 1, "num")
    return LayerSpecs((one,) * _few(count))


def _few(count: int) -> int:
    if count > _MAX_PARTS:
        raise UnsupportedLayer(f"it would make {count} tensors")
    return count


def _tile(call: LayerCall) -> LayerSpecs:
    by = needed(call, 1, "repeats", "multiples", "reps")
    more = len(by) - len(call.shape) if isinstance(by, list | tuple) else 0
    shape = [*[1] * more, *call.shape]  # NumPy and Keras 3 put sides of 1 before
    counts = tuple_of(by, len(shape), "repeats", 0)
    return call.specs(
        [None if size is None else size * count for size, count in zip(shape, counts, strict=True)],
        dtype=dtype_of(call),
    )


def _repeat(call: LayerCall) -> LayerSpecs:
    count, axis = argument(call, 1, "repeats"), argument(call, 2, "axis")
    if not isinstance(count, int) or axis is None:
        raise UnsupportedLayer("it repeats by numbers that the file does not tell")
    shape, place = list(call.shape), place_of(axis, len(call.shape))
    side = shape[place]
    shape[place] = None if side is None else side * whole(count, "repeats")
    return call.specs(shape, dtype=dtype_of(call))


def _pad(call: LayerCall) -> LayerSpecs:
    width = argument(call, 1, "pad_width", "paddings")
    rank = len(call.shape)
    pairs = [width] * rank if isinstance(width, int) else listed(width, "pad_width")
    if len(pairs) != rank:
        raise UnsupportedLayer(f"it pads {len(pairs)} dimensions, and reads {list(call.shape)}")
    sides = [tuple_of(pair, 2, "pad_width", 0) for pair in pairs]
    return call.specs(
        [None if size is None else size + sum(side) for size, side in zip(call.shape, sides, strict=True)],
        dtype=dtype_of(call),
    )


def _take(call: LayerCall) -> LayerSpecs:
    source, picked = argument(call, 0, "params", "x"), argument(call, 1, "indices")
    shared = argument(call, 4, "batch_dims", default=0)
    axis = argument(call, 2, "axis", default=shared)
    if not isinstance(source, TensorType) or source.shape is None:
        raise UnsupportedLayer("it picks from a table that the file does not describe")
    shape = picked.shape if isinstance(picked, TensorType) else constant_shape(picked)
    axis = place_of(axis, len(source.shape))
    if shared and not 0 < shared <= min(axis, len(shape or ())):
        raise UnsupportedLayer("it picks for each of dimensions that it does not have")
    rest = (shape or ())[shared:]
    return call.specs([*source.shape[:axis], *rest, *source.shape[axis + 1 :]], dtype=source.dtype)


def _one_hot(call: LayerCall) -> LayerSpecs:
    shape, count = list(call.shape), whole(needed(call, 1, "num_classes", "depth"), "num_classes")
    shape.insert(place_of(argument(call, 4, "axis", default=-1), len(shape) + 1), count)
    return call.specs(shape, dtype=numpy_dtype(str(argument(call, 9, "dtype", default="float32"))))


def _broadcast_to(call: LayerCall) -> LayerSpecs:
    return call.specs(sizes(call, 1, "shape"), dtype=dtype_of(call))


def _flatten(call: LayerCall) -> LayerSpecs:
    return call.specs([product(call.shape)], dtype=dtype_of(call))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("concat", "concatenate", "concatv2"), _concatenate),
    **dict.fromkeys(("expanddims", "newaxis"), _expand),
    **dict.fromkeys(("take", "gather", "embeddinglookup"), _take),
    **dict.fromkeys(("flatten", "ravel"), _flatten),
    "stack": _stack,
    "hstack": _hstack,
    "reshape": _reshape,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "squeeze": _squeeze,
    "getitem": _getitem,
    "split": _split,
    "unstack": _unstack,
    "tile": _tile,
    "repeat": _repeat,
    "pad": _pad,
    "onehot": _one_hot,
    "broadcastto": _broadcast_to,
}
"""By the op's plain name."""
