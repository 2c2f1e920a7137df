"""The functions whose results' shapes are known: each name with its rule."""

from __future__ import annotations

from tfmemlens.knowledge.jax_arrays.rules import (
    Call,
    Rule,
    as_array,
    axes_of,
    dot,
    dtype_of,
    einsum,
    elementwise,
    joined_dtype,
    matmul,
    padded,
    reduced,
    reshaped,
    squeezed,
    stacked,
    swapped,
    transposed,
)
from tfmemlens.knowledge.jax_arrays.values import JaxArray, count, is_number, sizes_of, whole
from tfmemlens.values import replace

__all__ = ["REDUCING", "RULES", "UPDATING", "drawn"]


def _filled(call: Call) -> JaxArray | None:
    shape = sizes_of(call.get(0, "shape"))
    at = 2 if call.name == "full" else 1
    return None if shape is None else JaxArray(shape, call.dtype(at), call.on_host)


def _like(call: Call) -> JaxArray | None:
    x = call.array()
    dtype = dtype_of(call.named.get("dtype"))
    return None if x is None else replace(x, dtype=dtype or x.dtype, on_host=call.on_host)


def _square(call: Call) -> JaxArray | None:
    rows = whole(call.get(0, "N", "n"))
    columns = whole(call.get(1, "M", "m")) if call.name != "identity" else None
    if rows is None:
        return None
    return JaxArray((rows, rows if columns is None else columns), call.dtype(), call.on_host)


def _range(call: Call) -> JaxArray | None:
    if call.name in ("linspace", "logspace", "geomspace"):
        many = whole(call.get(2, "num", default=50))
        return None if many is None else JaxArray((many,), call.dtype(), call.on_host)
    given = [call.get(at) for at in range(len(call.args))]
    numbers = [each for each in given if is_number(each)]
    if not numbers or len(numbers) < len(given):
        return None
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) > 2 else 1
    floats = any(isinstance(each, float) for each in numbers)
    many = max(0, int(-(-(stop - start) // step))) if step else 0
    default = call.floats if floats else "int64"
    return JaxArray((many,), call.dtype(default=default), call.on_host)


def _converted(call: Call) -> JaxArray | None:
    x = as_array(call.get(0, "object", "a", "x"))
    if x is None:
        return None
    kept = "int64" if x.dtype == "bool" and is_number(call.get(0)) else x.dtype
    if call.name == "device_put":
        return replace(x, dtype=call.stored(kept), on_host=False)
    return JaxArray(x.shape, call.dtype(1, kept), call.on_host)


def _cast(call: Call) -> JaxArray | None:
    x, dtype = call.array(), dtype_of(call.get(1, "dtype"))
    if x is None or dtype is None:
        return None
    return replace(x, dtype=dtype if x.on_host else call.stored(dtype))


def _same(call: Call) -> JaxArray | None:
    return call.array()


def _gathered(call: Call) -> JaxArray | None:
    """Parts of all devices in their order: of one device, as the reader follows them, the array itself."""
    return call.array() if call.named.get("tiled") is True else None


def _real(call: Call) -> JaxArray | None:
    x = call.array()
    return x and replace(x, dtype={"complex64": "float32", "complex128": "float64"}.get(x.dtype, x.dtype))


def _sum_up(call: Call) -> JaxArray | None:
    x = call.array()
    return x and replace(x, shape=(count(x.shape),)) if call.get(1, "axis") is None else x


def _broadcasting(call: Call) -> JaxArray | None:
    compares = call.name in ("equal", "less", "greater", "not_equal", "logical_and", "logical_or", "isin")
    return elementwise(*call.args, dtype="bool" if compares else None)


def _where(call: Call) -> JaxArray | None:
    if len(call.args) != 3:
        return None
    made, chosen = elementwise(*call.args), elementwise(*call.args[1:])
    return made and chosen and replace(made, dtype=chosen.dtype)


def _of_parts(call: Call) -> JaxArray | None:
    x, axis = call.array(), call.get(1, "axis")
    axes = axes_of(-1 if axis is None else axis, len(x.shape)) if x and x.shape else None
    return None if axes is None else x


def _repeated(call: Call) -> JaxArray | None:
    x, many = call.array(), call.get(1, "repeats", "reps", "shape")
    if x is None:
        return None
    if call.name == "broadcast_to":
        shape = sizes_of(many)
        return None if shape is None else replace(x, shape=shape)
    if call.name == "repeat":
        times, axis = whole(many), call.get(2, "axis")
        if times is None:
            return None
        if axis is None:
            return replace(x, shape=(count(x.shape) * times,))
        axes = axes_of(axis, len(x.shape))
        if axes is None:
            return None
        return replace(x, shape=tuple(s * times if at in axes else s for at, s in enumerate(x.shape)))
    reps = sizes_of(many)
    if reps is None:
        return None
    rank = max(len(reps), len(x.shape))
    sizes = (*[1] * (rank - len(x.shape)), *x.shape)
    times_of = (*[1] * (rank - len(reps)), *reps)
    return replace(x, shape=tuple(s * t for s, t in zip(sizes, times_of, strict=True)))


def _outer(call: Call) -> JaxArray | None:
    a, b = call.array(0), call.array(1)
    if a is None or b is None:
        return None
    dtype = joined_dtype([a, b])
    if call.name == "kron" and len(a.shape) == len(b.shape):
        return JaxArray(tuple(s * t for s, t in zip(a.shape, b.shape, strict=True)), dtype, call.on_host)
    return JaxArray((count(a.shape), count(b.shape)), dtype, call.on_host) if call.name == "outer" else None


def _taken(call: Call) -> JaxArray | None:
    x, indices = call.array(), as_array(call.get(1, "indices"))
    if x is None or indices is None:
        return None
    if call.name == "take_along_axis":
        return replace(x, shape=indices.shape) if len(indices.shape) == len(x.shape) else None
    axis = call.get(2, "axis")
    if axis is None:
        return replace(x, shape=indices.shape)
    axes = axes_of(axis, len(x.shape))
    if axes is None:
        return None
    return replace(x, shape=(*x.shape[: axes[0]], *indices.shape, *x.shape[axes[0] + 1 :]))


def _one_hot(call: Call) -> JaxArray | None:
    x, classes = call.array(), whole(call.get(1, "num_classes"))
    return None if x is None or classes is None else JaxArray((*x.shape, classes), call.dtype())


def _split(call: Call) -> tuple[JaxArray, ...] | None:
    x, parts = call.array(), whole(call.get(1, "indices_or_sections"))
    axes = axes_of(call.get(2, "axis", default=0), len(x.shape)) if x else None
    if x is None or not parts or axes is None or len(axes) != 1 or x.shape[axes[0]] % parts:
        return None
    shape = tuple(s // parts if at in axes else s for at, s in enumerate(x.shape))
    return (replace(x, shape=shape),) * min(parts, 64)


def _convolution(call: Call) -> JaxArray | None:
    x, w, padding = call.array(0), call.array(1), call.get(3, "padding")
    strides = sizes_of(call.get(2, "window_strides"))
    letters = call.get(6, "dimension_numbers", default=("NCHW", "OIHW", "NCHW"))
    if x is None or w is None or strides is None or any(n in call.named for n in ("rhs_dilation",)):
        return None
    if not (isinstance(letters, tuple) and len(letters) == 3 and all(isinstance(s, str) for s in letters)):
        return None
    given, kernel, made = letters
    if (len(given), len(kernel)) != (len(x.shape), len(w.shape)) or sorted(given) != sorted(made):
        return None
    inputs, filters = dict(zip(given, x.shape, strict=True)), dict(zip(kernel, w.shape, strict=True))
    sides = [each for each in kernel if each not in "OI"]
    if len(sides) != len(strides) or any(side not in inputs for side in sides) or "O" not in filters:
        return None
    sizes = {"N": inputs.get("N", 0), "C": filters["O"]}
    for side, stride in zip(sides, strides, strict=True):
        if padding not in ("SAME", "VALID") or not stride:
            return None
        free = inputs[side] if padding == "SAME" else inputs[side] - filters[side] + 1
        sizes[side] = max(0, -(-free // stride))
    return JaxArray(tuple(sizes.get(each, 0) for each in made), joined_dtype([x, w]))


def _transform(call: Call) -> JaxArray | None:
    x = call.array()
    if x is None or not x.shape or call.get(1, "n", "s") is not None:
        return None
    wide = "complex128" if x.dtype in ("float64", "complex128") else "complex64"
    if call.name.startswith("rfft"):
        return replace(x, shape=(*x.shape[:-1], x.shape[-1] // 2 + 1), dtype=wide)
    return replace(x, dtype=wide) if not call.name.startswith("irfft") else None


def _factors(call: Call) -> JaxArray | tuple[JaxArray, ...] | None:
    """Decompositions, of the last two axes."""
    x = call.array()
    if x is None or len(x.shape) < 2:
        return None
    *batch, m, n = x.shape
    low = min(m, n)

    def made(*sizes: int) -> JaxArray:
        return replace(x, shape=(*batch, *sizes))

    if call.name == "svd":
        if call.get(2, "compute_uv", default=True) is False:
            return made(low)
        full = call.get(1, "full_matrices", default=True)
        return (made(m, m), made(low), made(n, n)) if full else (made(m, low), made(low), made(low, n))
    if call.name == "qr":
        return (made(m, low), made(low, n)) if call.get(1, "mode", default="reduced") == "reduced" else None
    if call.name == "eigh":
        return made(n), made(n, n)
    if call.name == "cho_factor":
        return x, x  # the flag behind it is of no size
    return made(n, m) if call.name == "pinv" else x


def _solved(call: Call) -> JaxArray | None:
    return call.array(1)


def _of_best(call: Call) -> tuple[JaxArray, ...] | None:
    x, many = call.array(), whole(call.get(1, "k"))
    if x is None or many is None:
        return None
    best = replace(x, shape=(*x.shape[:-1], many))
    return best, replace(best, dtype="int32")


def _diagonal(call: Call) -> JaxArray | None:
    x = call.array()
    if x is None or len(x.shape) not in (1, 2):
        return None
    return replace(x, shape=x.shape * 2 if len(x.shape) == 1 else (min(x.shape),))


def _grid(call: Call) -> tuple[JaxArray, ...] | None:
    """`meshgrid`, whose first two axes are turned round unless it is told `ij`."""
    axes = [as_array(each) for each in call.args]
    known = [each for each in axes if each is not None and len(each.shape) == 1]
    if not known or len(known) < len(axes):
        return None
    sizes = [each.shape[0] for each in known]
    turned = [*sizes[1::-1], *sizes[2:]] if call.named.get("indexing", "xy") == "xy" else sizes
    if call.named.get("sparse"):
        return None
    return tuple(replace(each, shape=tuple(turned)) for each in known)


def _contracted(call: Call) -> JaxArray | None:
    """`tensordot`, `inner`, `vdot`."""
    a, b, axes = call.array(0), as_array(call.get(1, "b")), call.get(2, "axes", default=2)
    if a is None or b is None:
        return None
    dtype, host = joined_dtype([a, b]), a.on_host and b.on_host
    if call.name == "vdot":
        return JaxArray((), dtype, host)
    if call.name == "inner":
        return JaxArray((*a.shape[:-1], *b.shape[:-1]), dtype, host)
    if isinstance(axes, int):
        axes = (tuple(range(len(a.shape) - axes, len(a.shape))), tuple(range(axes)))
    if not isinstance(axes, tuple | list) or len(axes) != 2:
        return None
    one, other = axes_of(axes[0], len(a.shape)), axes_of(axes[1], len(b.shape))
    if one is None or other is None or [a.shape[at] for at in one] != [b.shape[at] for at in other]:
        return None
    left = (size for at, size in enumerate(a.shape) if at not in one)
    return JaxArray((*left, *(s for at, s in enumerate(b.shape) if at not in other)), dtype, host)


def _norm(call: Call) -> JaxArray | None:
    axis = call.get(2, "axis")
    return reduced(replace(call, args=call.args[:1], named=call.named | {"axis": axis}))


def _sliced(call: Call) -> JaxArray | None:
    """`lax.dynamic_slice` and its forms for one axis."""
    x = call.array()
    if x is None:
        return None
    if call.name == "dynamic_slice":
        sizes = sizes_of(call.get(2, "slice_sizes"))
        return None if sizes is None else replace(x, shape=sizes)
    whole_axis = call.name == "dynamic_slice_in_dim"
    size = whole(call.get(2, "slice_size")) if whole_axis else 1
    axes = axes_of(call.get(3 if whole_axis else 2, "axis", default=0), len(x.shape))
    if size is None or not axes:
        return None
    kept = (size,) if whole_axis or call.get(3, "keepdims", default=True) else ()
    return replace(x, shape=(*x.shape[: axes[0]], *kept, *x.shape[axes[0] + 1 :]))


def _segments(call: Call) -> JaxArray | None:
    x, many = call.array(), whole(call.get(2, "num_segments"))
    return None if x is None or many is None else replace(x, shape=(many, *x.shape[1:]))


def _resized(call: Call) -> JaxArray | None:
    x, shape = call.array(), sizes_of(call.get(1, "shape"))
    return None if x is None or shape is None else replace(x, shape=shape)


def _of_second(call: Call) -> JaxArray | None:
    x = as_array(call.get(1, "v"))
    return x and JaxArray(x.shape, "int32", call.on_host)


def _differences(call: Call) -> JaxArray | None:
    x, many = call.array(), whole(call.get(1, "n", default=1))
    axes = axes_of(call.get(2, "axis", default=-1), len(x.shape)) if x else None
    if x is None or many is None or not axes:
        return None
    return replace(x, shape=tuple(s - many if at in axes else s for at, s in enumerate(x.shape)))


def _indices(call: Call) -> JaxArray | None:
    x = call.array()
    return x and replace(x, dtype=call.stored("int64"))


def _counted(call: Call) -> JaxArray | None:
    """`bincount`, whose length depends on what it counts unless it is told."""
    many = whole(call.get(2, "length", "minlength"))
    return None if many is None else JaxArray((many,), call.stored("int64"), call.on_host)


def _number(call: Call) -> JaxArray | None:
    """`jnp.float32(x)`."""
    x, dtype = call.array(), dtype_of(call.name)
    return x and replace(x, dtype=call.stored(dtype or x.dtype), on_host=call.on_host)


def _flat(call: Call) -> JaxArray | None:
    x = call.array()
    return x and replace(x, shape=(count(x.shape),))


_NAMES: tuple[tuple[str, Rule], ...] = (
    ("zeros ones empty full", _filled),
    ("zeros_like ones_like empty_like full_like", _like),
    ("eye identity tri", _square),
    ("arange linspace logspace geomspace", _range),
    ("array asarray device_put ascontiguousarray", _converted),
    ("astype", _cast),
    (
        "relu gelu tanh sigmoid silu swish elu leaky_relu softplus exp expm1 log log1p sqrt square sin cos"
        " arctan negative sign floor ceil round clip copy stop_gradient block_until_ready softmax log_softmax"
        " log_sigmoid standardize roll flip sort triu tril nan_to_num reciprocal rsqrt erf conj"
        " fftshift ifftshift with_sharding_constraint pmean psum normalize cbrt tan arcsin"
        " arccos sinh cosh arcsinh exp2 log2 log10 relu6 mish selu celu hard_tanh hard_sigmoid soft_sign"
        " logit isnan isfinite isinf logical_not lgamma digamma erfinv trunc cummax cummin"
        " cumlogsumexp interp digitize dynamic_update_slice dynamic_update_slice_in_dim"
        " dynamic_update_index_in_dim cross optimization_barrier",
        _same,
    ),
    ("all_gather", _gathered),
    ("abs real imag angle absolute", _real),
    ("cumsum cumprod", _sum_up),
    (
        "add subtract multiply divide true_divide power maximum minimum logaddexp equal less greater"
        " not_equal logical_and logical_or mod remainder arctan2 hypot fmod logaddexp2 heaviside",
        _broadcasting,
    ),
    ("where", _where),
    (
        "sum mean max min amax amin var std prod any all argmax argmin logsumexp median nansum nanmean"
        " nanmax nanmin nanstd nanvar count_nonzero ptp",
        reduced,
    ),
    ("reshape", reshaped),
    ("transpose", transposed),
    ("swapaxes moveaxis", swapped),
    ("squeeze expand_dims", squeezed),
    ("ravel flatten", _flat),
    ("stack concatenate vstack hstack concat", stacked),
    ("pad", padded),
    ("matmul", lambda call: matmul(call.get(0), call.get(1))),
    ("dot", lambda call: dot(call.get(0), call.get(1))),
    ("einsum", einsum),
    ("broadcast_to repeat tile", _repeated),
    ("outer kron", _outer),
    ("take take_along_axis", _taken),
    ("one_hot", _one_hot),
    ("split array_split", _split),
    ("conv_general_dilated conv", _convolution),
    ("fft fft2 fftn rfft rfft2 rfftn ifft ifft2 ifftn", _transform),
    ("svd qr eigh cholesky inv pinv cho_factor", _factors),
    ("solve cho_solve solve_triangular", _solved),
    ("top_k", _of_best),
    ("diag", _diagonal),
    ("meshgrid", _grid),
    ("tensordot inner vdot", _contracted),
    ("norm", _norm),
    ("dynamic_slice dynamic_slice_in_dim dynamic_index_in_dim", _sliced),
    ("segment_sum segment_max segment_min segment_prod", _segments),
    ("resize", _resized),
    ("searchsorted", _of_second),
    ("argsort argpartition", _indices),
    ("bincount", _counted),
    ("float32 float16 bfloat16 float64 int32 int64 int8 uint8 uint32 int16 float_ double", _number),
    ("diff", _differences),
)
RULES: dict[str, Rule] = {name: rule for names, rule in _NAMES for name in names.split()}
"""The rule of each function, by the last part of its name."""
REDUCING = frozenset(name for name, rule in RULES.items() if rule in (reduced, _norm, _contracted))
REDUCING |= {"matmul", "dot", "einsum"}
"""Functions and operators that sum over an axis, or take one value of it."""
UPDATING = frozenset(name for name in RULES if name.startswith("dynamic_update")) | {"update"}
"""What writes into an array, and gives one as large."""

_HANN = ("hanning", "hamming", "blackman")
RULES |= dict.fromkeys(_HANN, lambda call: _filled(replace(call, name="zeros")))


_WITH_KEY = {"normal": 1, "uniform": 1, "truncated_normal": 3, "bernoulli": 2, "randint": 1, "gumbel": 1}
_WITH_KEY |= {"exponential": 1, "laplace": 1, "rademacher": 1, "cauchy": 1, "bits": 1, "initializer": 1}
_WITH_KEY |= {"gamma": 2, "poisson": 2, "beta": 3, "t": 2, "logistic": 1, "choice": 2}
_OF_NUMPY = {"random": 0, "standard_normal": 0, "random_sample": 0, "normal": 2, "uniform": 2}
_OF_NUMPY |= {"integers": 2, "randint": 2, "exponential": 1, "choice": 1, "zipf": 1, "poisson": 1}
_OF_NUMPY |= {"binomial": 2, "geometric": 1, "gamma": 2, "beta": 2, "lognormal": 2, "laplace": 2}

_WHOLE_NUMBERS = frozenset({"integers", "randint", "zipf", "poisson", "binomial", "geometric"})


def drawn(call: Call, *, with_key: bool) -> JaxArray | tuple[JaxArray, ...] | None:
    """Random numbers: of JAX behind a key, or of NumPy."""
    if not with_key:
        if call.name in ("rand", "randn"):
            shape = sizes_of(call.args)
            return None if shape is None else JaxArray(shape, "float64", on_host=True)
        if call.name == "permutation" and (many := whole(call.get(0))) is not None:
            return JaxArray((many,), "int64", on_host=True)
        at = _OF_NUMPY.get(call.name)
        shape = None if at is None else sizes_of(call.get(at, "size"))
        default = "int64" if call.name in _WHOLE_NUMBERS else "float64"
        dtype = dtype_of(call.get(1 if at == 0 else 3, "dtype")) or default
        return None if shape is None else JaxArray(shape, dtype, on_host=True)
    if call.name in ("PRNGKey", "key", "fold_in"):
        return JaxArray((2,), "uint32")
    if call.name == "split":
        return JaxArray((whole(call.get(1, "num", default=2)) or 2, 2), "uint32")
    if call.name == "permutation":
        many = whole(call.get(1, "x"))
        return call.array(1) if many is None else JaxArray((many,), call.stored("int64"))
    if call.name == "categorical":
        logits = call.array(1)
        return logits and replace(logits, shape=logits.shape[:-1], dtype="int32")
    if call.name not in _WITH_KEY:
        return None
    shape = sizes_of(call.get(_WITH_KEY[call.name], "shape", default=()))
    if shape is None:
        return None
    fixed = {"randint": "int32", "bernoulli": "bool", "poisson": "int32"}.get(call.name)
    if call.name == "choice":
        among = as_array(call.get(1, "a"))
        drawn_from = among if among and among.shape else JaxArray((1,), "int32")
        return JaxArray((*shape, *drawn_from.shape[1:]), drawn_from.dtype)
    at = 4 if call.name in ("randint", "truncated_normal") else 2
    return JaxArray(shape, fixed or call.dtype(at))
