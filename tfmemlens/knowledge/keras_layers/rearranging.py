"""Ops that join, cut, turn, repeat and pick: NumPy's functions and their namesakes in Keras and
TensorFlow.
"""

from __future__ import annotations

from itertools import pairwise

from tfmemlens.knowledge.keras_layers._context import (
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


def _concatenate(asked: LayerCall) -> LayerSpecs:
    return asked.told(
        concatenated(_parts(asked, "values", "xs"), argument(asked, 1, "axis", default=0)),
        dtype=dtype_of(asked),
    )


def _hstack(asked: LayerCall) -> LayerSpecs:
    return asked.told(concatenated(_parts(asked, "xs"), 1), dtype=dtype_of(asked))


def _parts(asked: LayerCall, *names: str) -> list[Shape]:
    return [each.shape or () for each in tensors(argument(asked, 0, *names))]


def _stack(asked: LayerCall) -> LayerSpecs:
    parts = list(tensors(argument(asked, 0, "values", "x")))
    axis = place_of(argument(asked, 1, "axis", default=0), len(asked.shape) + 1)
    return asked.told([*asked.shape[:axis], len(parts), *asked.shape[axis:]], dtype=dtype_of(asked))


def _reshape(asked: LayerCall) -> LayerSpecs:
    target = sizes(asked, 1, "newshape", "shape")
    elements = product(asked.shape)
    if target.count(None) == 1 and elements is not None:
        known = product([size for size in target if size is not None]) or 1
        target[target.index(None)] = elements // known
    elif target.count(None) > 1 and asked.shape[:1] not in ((), (None,)) and target[0] is None:
        target[0] = asked.shape[0]
    return asked.told(target, dtype=dtype_of(asked))


def _transpose(asked: LayerCall) -> LayerSpecs:
    axes = argument(asked, 1, "axes", "perm")
    order = axes_of(axes, len(asked.shape)) if axes is not None else range(len(asked.shape))[::-1]
    return asked.told([asked.shape[axis] for axis in order], dtype=dtype_of(asked))


def _swapaxes(asked: LayerCall) -> LayerSpecs:
    one, two = (place_of(needed(asked, at, f"axis{at}"), len(asked.shape)) for at in (1, 2))
    shape = list(asked.shape)
    shape[one], shape[two] = shape[two], shape[one]
    return asked.told(shape, dtype=dtype_of(asked))


def _moveaxis(asked: LayerCall) -> LayerSpecs:
    rank = len(asked.shape)
    source, target = (
        axes_of(needed(asked, 1, "source"), rank),
        axes_of(needed(asked, 2, "destination"), rank),
    )
    if len(source) != len(target):
        raise UnsupportedLayer("it moves so many axes to other numbers of places")
    order = [axis for axis in range(rank) if axis not in source]
    for where, which in sorted(zip(target, source, strict=True)):
        order.insert(where, which)
    return asked.told([asked.shape[axis] for axis in order], dtype=dtype_of(asked))


def _expand(asked: LayerCall) -> LayerSpecs:
    shape = list(asked.shape)
    for axis in sorted(axes_of(argument(asked, 1, "axis", default=-1), len(shape) + 1)):
        shape.insert(axis, 1)
    return asked.told(shape, dtype=dtype_of(asked))


def _squeeze(asked: LayerCall) -> LayerSpecs:
    axis = argument(asked, 1, "axis")
    gone = (
        axes_of(axis, len(asked.shape))
        if axis is not None and axis != []
        else [at for at, size in enumerate(asked.shape) if size == 1]
    )
    return asked.told([size for at, size in enumerate(asked.shape) if at not in gone], dtype=dtype_of(asked))


def _getitem(asked: LayerCall) -> LayerSpecs:
    spec = argument(asked, 1, "slice_spec", "key")
    parts = list(spec) if isinstance(spec, list | tuple) else [spec]
    if sum(part is Ellipsis for part in parts) > 1 or any(isinstance(part, TensorType) for part in parts):
        raise UnsupportedLayer("it indexes by a computed tensor")
    if any(part is Ellipsis for part in parts):
        at = next(index for index, part in enumerate(parts) if part is Ellipsis)
        missing = len(asked.shape) - sum(part is not None and part is not Ellipsis for part in parts)
        parts[at : at + 1] = [slice(None)] * missing
    if sum(part is not None for part in parts) > len(asked.shape):
        raise UnsupportedLayer("it has more indices than its input has dimensions")
    made: list[int | None] = []
    sizes = iter(asked.shape)
    for part in parts:
        if part is None:
            made.append(1)
            continue
        size = next(sizes)
        if isinstance(part, slice):
            made.append(_sliced(size, part))
    return asked.told([*made, *sizes], dtype=dtype_of(asked))


def _sliced(size: int | None, part: slice) -> int | None:
    bounds = [each for each in (part.start, part.stop, part.step) if each is not None]
    if size is None or part.step == 0 or not all(isinstance(each, int) for each in bounds):
        return None
    return len(range(*part.indices(size)))


def _split(asked: LayerCall) -> LayerSpecs:
    sections, axis = (
        argument(asked, 1, "indices_or_sections", "num_or_size_splits"),
        place_of(argument(asked, 2, "axis", default=0), len(asked.shape)),
    )
    size = asked.shape[axis]
    name = "indices_or_sections"
    if not isinstance(sections, list | tuple):
        count = whole(sections, name, 1)
        parts = [None if size is None else size // count] * _few(count)
    elif name_of(asked) == "split" and asked.dialect != "keras-3":
        parts = sides_of(sections, name)
    else:
        marks = [0, *(whole(mark, name) for mark in sections), size if size is not None else 0]
        parts = [max(end - start, 0) for start, end in pairwise(marks)]
    made = [
        TensorType((*asked.shape[:axis], part, *asked.shape[axis + 1 :]), dtype_of(asked)) for part in parts
    ]
    return LayerSpecs(tuple(made))


def _unstack(asked: LayerCall) -> LayerSpecs:
    axis = place_of(argument(asked, 1, "axis", default=0), len(asked.shape))
    one = TensorType((*asked.shape[:axis], *asked.shape[axis + 1 :]), dtype_of(asked))
    count = whole(argument(asked, 2, "num", default=asked.shape[axis]) or 1, "num")
    return LayerSpecs((one,) * _few(count))


def _few(count: int) -> int:
    if count > _MAX_PARTS:
        raise UnsupportedLayer(f"it would make {count} tensors")
    return count


def _tile(asked: LayerCall) -> LayerSpecs:
    counts = tuple_of(needed(asked, 1, "repeats", "multiples"), len(asked.shape), "repeats", 0)
    return asked.told(
        [None if size is None else size * count for size, count in zip(asked.shape, counts, strict=True)],
        dtype=dtype_of(asked),
    )


def _repeat(asked: LayerCall) -> LayerSpecs:
    count, axis = argument(asked, 1, "repeats"), argument(asked, 2, "axis")
    if not isinstance(count, int) or axis is None:
        raise UnsupportedLayer("it repeats by numbers that the file does not tell")
    shape, place = list(asked.shape), place_of(axis, len(asked.shape))
    side = shape[place]
    shape[place] = None if side is None else side * whole(count, "repeats")
    return asked.told(shape, dtype=dtype_of(asked))


def _pad(asked: LayerCall) -> LayerSpecs:
    width = argument(asked, 1, "pad_width", "paddings")
    rank = len(asked.shape)
    pairs = [width] * rank if isinstance(width, int) else listed(width, "pad_width")
    if len(pairs) != rank:
        raise UnsupportedLayer(f"it pads {len(pairs)} dimensions, and reads {list(asked.shape)}")
    sides = [tuple_of(pair, 2, "pad_width", 0) for pair in pairs]
    return asked.told(
        [None if size is None else size + sum(side) for size, side in zip(asked.shape, sides, strict=True)],
        dtype=dtype_of(asked),
    )


def _take(asked: LayerCall) -> LayerSpecs:
    source, picked = argument(asked, 0, "params", "x"), argument(asked, 1, "indices")
    axis = argument(asked, 2, "axis", default=0)
    if not isinstance(source, TensorType) or source.shape is None:
        raise UnsupportedLayer("it picks from a table that the file does not describe")
    shape = picked.shape if isinstance(picked, TensorType) else constant_shape(picked)
    axis = place_of(axis, len(source.shape))
    return asked.told([*source.shape[:axis], *(shape or ()), *source.shape[axis + 1 :]], dtype=source.dtype)


def _one_hot(asked: LayerCall) -> LayerSpecs:
    shape, count = list(asked.shape), whole(needed(asked, 1, "num_classes", "depth"), "num_classes")
    shape.insert(place_of(argument(asked, 4, "axis", default=-1), len(shape) + 1), count)
    return asked.told(shape, dtype=numpy_dtype(str(argument(asked, 9, "dtype", default="float32"))))


def _broadcast_to(asked: LayerCall) -> LayerSpecs:
    return asked.told(sizes(asked, 1, "shape"), dtype=dtype_of(asked))


def _flatten(asked: LayerCall) -> LayerSpecs:
    return asked.told([product(asked.shape)], dtype=dtype_of(asked))


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
