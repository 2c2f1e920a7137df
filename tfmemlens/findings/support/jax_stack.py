"""What the traceback of a JAX program says was being made: weights, the optimizer's state, draws of a
sampler, a matrix of derivatives. The libraries' own frames say so, and the user's lines that called them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human, square_side
from tfmemlens.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class MadeByLine:
    """What a line makes, in a clause, and what makes that smaller."""

    what: str
    remedies: tuple[Remedy, ...]
    basis: Basis = Basis.NAME
    line: Line | None = None
    """The line of quoted code that shows it, where no frame does."""
    explains: int | None = None
    """The bytes that it explains, where they are not those of the request alone."""
    rules_out: tuple[str, ...] = ()
    """Slugs of remedies that make no such array smaller."""
    shape: tuple[int, ...] = ()
    """Of the array that it makes, where the program was followed."""


_PROGRAM = regex(r"_step\w*\(|\bstep\(|\.fit\(|\b(?:p?update|train)_(?:fn|one_\w+|epoch)\(")
"""A call of a compiled step, whose temporaries the request stands for."""


def calls_program(text: str | None) -> bool:
    """Whether a line calls a compiled step."""
    return bool(text and _PROGRAM.search(text))


_CALL = regex(
    r"\A\s*(?:return |yield |await |[\w.,\s()\[\]*'\"]+?(?<![=!<>])=(?!=)\s*|=\s+)?"
    r"(?P<name>[A-Za-z_][\w.]*)\("
)
_OF_LIBRARIES = regex(
    r"(?:jnp|np|onp|numpy|jax|lax|random|jr|jrandom|jsp|scipy|optax|nnx?|eqx|hk|flax|tf|torch|plt|pd"
    r"|os|ocp|orbax"
    r"|einops|pickle|print|float|int|bool|str|list|len|range|zip|tuple|dict|map|max|min|sum|abs|round"
    r"|sorted|next"
    r"|isinstance|super|getattr|sys|exit|asyncio|subprocess|device_put|vmap|pmap|jit|grad)(?:\.|\Z)"
)
_OF_ARRAYS = regex(
    r"(?:\.|\A)(?:[A-Z]\w*|init\w*|apply|load\w*|restore\w*|from_\w+|append|array|asarray|astype|copy"
    r"|sum|mean|dot"
    r"|reshape|transpose|item|tolist|block_until_ready|save\w*|get|put|set|add|numpy|view|replicate|concat\w*"
    r"|stack|main|run|train|read\w*|make\w*|create\w*|build\w*|main\w*|cli)\Z"
)
"""Calls that run eagerly, make or move arrays, or go on into more of Python."""


_INTERNAL = regex(r"[/\\](?:jax|jaxlib|flax|equinox|haiku|optax|chex)[/\\]|contextlib\.py|^jax[._]")


def calls_compiled(text: str | None, frames: Sequence[Frame] = ()) -> str | None:
    """The function that a user's deepest line calls, where it most likely is compiled: a function in Python
    would have a frame of its own below it, be it of a library.
    """
    last = max((at for at, frame in enumerate(frames) if frame.text == text), default=None)
    if last is not None and any(not _INTERNAL.search(frame.place) for frame in frames[last + 1 :]):
        return None
    match = _CALL.match(text or "")
    if match is None or _OF_LIBRARIES.match(match["name"]) or _OF_ARRAYS.search(match["name"]):
        return None
    return match["name"]


LEAST_BYTES = 64 * MIB
"""A smaller request fails for what is held beside it, and no call explains that."""
_HUGE_BYTES = 4 * GIB
"""A weight as large as this is rather a mistake than a model."""
_SMALL_BYTES = 512 * MIB
"""Of a smaller weight nobody would say that it is too large by itself."""
_ITEMS = ((4, "float32"), (2, "16 bits"), (8, "float64"))

_OPTIMIZER_FILES = regex(r"optax[/\\]|flax[/\\]nnx[/\\]training[/\\]optimizer")
_MAKES_SLOTS = regex(r"init(?:_fn)?|__init__|zeros_like|full_like|create")
_UPDATES = regex(r"update(?:_fn)?|apply_updates|apply_gradients|tree_update_moment\w*")
_LAYER_FILES = regex(
    r"flax[/\\]nnx[/\\](?:nn[/\\])?(?:linear|attention|recurrent|normalization|lora)\.py"
    r"|equinox[/\\]nn[/\\]"
    r"|haiku[/\\]_src[/\\](?:base|initializers)\.py|jax[/\\]_src[/\\]nn[/\\]initializers\.py"
    r"|flax[/\\](?:core[/\\]scope|linen[/\\]initializers)\.py"
)
_MAKES_WEIGHTS = regex(r"__init__|init|param|get_parameter|default_init|\w*initializer")
_LAYER_CALL = regex(
    r"\bnnx\.(?:Linear\w*|Embed|Conv\w*|Einsum|MultiHeadAttention|Param|LSTMCell|GRUCell|LoRA\w*)\("
    r"|\beqx\.nn\.[A-Z]\w*\(|\bself\.param\(|\bhk\.get_parameter\(|\bscope\.param\("
)
_INITIALISERS = regex(
    r"\brandom\.(?:normal|uniform|truncated_normal|orthogonal)\(|\binitializers?\.|\bjnp\.(?:zeros|ones"
    r"|full)\("
)
_DRAWN_BY_NAME = regex(
    r"\A\s*(?:self\.)?\w*(?:params?|weights?|kernel|embed(?:ding)?s?|table)\w*(?:\[[^\]]*\])?\s*=(?!=)"
    r"[^#]*\brandom\.(?:normal|uniform|truncated_normal|orthogonal)\("
)
"""A line that draws numbers and gives them a weight's name."""
_LAYER = regex(
    r"\b(?P<layer>nnx?\.(?:Dense\w*|Embed|Conv\w*|Linear\w*|Einsum|LayerNorm|RMSNorm|\w*Attention))\("
)
"""Layers of Flax that take a dtype for their weights."""
_KERAS_LAYER = regex(r"\blayers\.[A-Z]\w*\(|\bself\.add_weight\(|\.build\(|\bSequential\(")
_DRAWN = regex(r"jax[/\\]_src[/\\]random|keras[/\\]src[/\\](?:initializers|backend[/\\]common[/\\]variables)")
"""Files that draw a layer's first weights."""
_INITIALISING = regex(
    r"(?:init|initialize|make|create|build)_?\w*(?:param|weight|layer|model|net|embed|table|mlp)\w*|init"
    r"|__init__"
)
_MODEL_INIT = regex(
    r"\b(?!tx\b|opt)\w+\.init(?:_with_output)?\(\s*(?:rngs?\s*=\s*)?(?:\w*(?:key|rng|Key|RNG)\w*"
    r"|jax\.random|random\.|\{)"
)
_ONE_SAMPLE = regex(
    r"\.init(?:_with_output)?\([^#]*\b(?:zeros|ones|empty|normal)\([^#]*?[(\[]\s*(?:shape\s*=\s*\(\s*)?1\s*,"
)
"""An example of one sample that a model's init is given."""
_STATE_INIT = regex(
    r"\b(?:tx|opt\w*|optim\w*|optimizer|adam\w*|sgd)\.init\(|\.init\(\s*(?:self\.)?params"
    r"|\bTrainState\.create\("
    r"|\bnnx\.(?:Model(?:And))?Optimizer\("
)
_INIT_OF_STATE = regex(r"_?(?:init|create|make|setup|initiali[sz]e)_\w*state\w*")
"""A function that makes weights and the optimizer's state."""
_MAKES_STATE = regex(
    r"\b_?(?:init|create|make|setup|build|initiali[sz]e)_"
    r"(?!\w*(?:env|rnn|carry|hidden|cache|buffer|loop|sim))"
    r"\w*(?:state|params|model|weights|optimi[sz]er)\w*\("
)
"""A call of a function that makes weights, or them and the optimizer's state."""
_ZEROS_OF_WEIGHTS = regex(
    r"(?:tree\.map|tree_map)\(\s*(?:jnp\.(?:zeros_like|ones_like)|lambda \w+: jnp\.zeros(?:_like)?\()"
)
"""Slots that a program makes by hand: one array of zeros for each weight."""
_LOADING = regex(
    r"\bfrom_pretrained\(|\bFlax\w{1,40}Pipe?line\(|\bload_(?:params|weights|checkpoint|state_dict"
    r"|pretrained)\w*\(|\brestore\w*\("
    r"|\bconvert_pytorch_state_dict\w*\(|\bsafetensors\b"
)
_REPLICATING = regex(r"\breplicate\(|\bdevice_put_replicated\(")
_WEIGHTS = regex(r"\b(?:params?|weights|state|model|variables|ckpt|checkpoint|train_state)\b")
_SAMPLERS = regex(r"fori_collect|inference_loop\w*|run_inference_algorithm")
_DERIVATIVES = regex(r"jacfun|_std_basis|_jacfwd_unravel|_jacrev_unravel|hessian")
_DERIVATIVE_CALL = regex(r"\b(?:jax\.)?(?:filter_)?(?P<name>hessian|jacfwd|jacrev|jacobian)\(")
_LITERAL_SIZES = regex(r"(?<![\w.])\d[\d_]{1,}(?![\w.])")


def made_by_frames(frames: Sequence[Frame], text: str | None, need: int | None) -> MadeByLine | None:
    """What the traceback shows to be made; None where its frames tell nothing. `text` is the user's deepest
    line, which may be known without its traceback.
    """
    own = _own(frames, text)
    for reading in _READINGS:
        if made := reading(frames, own, need):
            return made
    return None


def _own(frames: Sequence[Frame], text: str | None) -> list[Frame]:
    """The user's own frames, the deepest line last."""
    own = [frame for frame in frames if user_frame(frame.place)]
    if text and not any(frame.text == text for frame in own):
        own.append(Frame("", text))
    return own


def _runs_through(frames: Sequence[Frame], files: re.Pattern[str], names: re.Pattern[str]) -> bool:
    return any(files.search(frame.place) and names.fullmatch(frame.name) for frame in frames)


def _code(own: Sequence[Frame], pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The deepest line of the user's own in which the pattern is found."""
    return next((match for frame in reversed(own) if (match := pattern.search(frame.text))), None)


_SHARDED = Remedy(
    "shard weights and optimizer state over devices from the start: no device then holds all of them",
    "params = jax.jit(init, out_shardings=shardings)(key)   # one NamedSharding for each leaf",
    slug="shard-arguments",
)


_SMALLER_MOMENTS = Remedy(
    "keep the first moments in 16 bits, or use an optimizer that keeps less (Adafactor, Lion, SGD)",
    "tx = optax.adamw(1e-3, mu_dtype=jnp.bfloat16)   # or optax.adafactor(1e-3)",
    slug="smaller-moments",
)


_FAILS_ONLY_WHERE_FULL = 256 * MIB
_WHO_FILLS_IT = Remedy(
    "see before the run whether the device is empty: a process that was left, or another user, may hold it",
    "nvidia-smi",
    slug="see-device-users",
)


def _slots(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """State that an optimizer keeps of the weights, when it is made."""
    made = _runs_through(frames, _OPTIMIZER_FILES, _MAKES_SLOTS)
    updated = _runs_through(frames, _OPTIMIZER_FILES, _UPDATES)
    by_hand = _code(own[-1:], _ZEROS_OF_WEIGHTS)
    named = bool(own and _INIT_OF_STATE.fullmatch(own[-1].name))
    if updated or not (made or by_hand or named or _code(own[-1:], _STATE_INIT)):
        return None
    if named and not (made or by_hand):
        what = f"`{own[-1].name}` makes the weights and the optimizer's state: with Adam two more numbers for"
        what += " each weight that is trained, whatever the batch"
        if need is None or need > _FAILS_ONLY_WHERE_FULL:
            return MadeByLine(what, (_SHARDED, _SMALLER_MOMENTS))
        what += f"; so small a request ({human(need)}) fails only where the device is full already"
        return MadeByLine(what, (_WHO_FILLS_IT, _SHARDED, _SMALLER_MOMENTS))
    return MadeByLine(
        "the line makes the optimizer's state: Adam's is two numbers for each weight, whatever the batch",
        (
            _SMALLER_MOMENTS,
            Remedy("shard weights and optimizer state over devices", slug="shard-arguments"),
        ),
    )


def _update(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """An optimizer that runs op by op: an update inside a compiled step has no such frames."""
    del own, need
    if not _runs_through(frames, _OPTIMIZER_FILES, _UPDATES):
        return None
    return MadeByLine(
        "the optimizer's update runs outside of jit, so that new weights and state exist beside the old ones,"
        " whatever the batch",
        (
            Remedy(
                "put gradient and update into one jitted step that gives the old weights and state back",
                "step = jax.jit(step, donate_argnums=(0, 1))   # params, opt_state",
                slug="donate-buffers",
            ),
            Remedy(
                "use an optimizer that keeps less (Adafactor, Lion, SGD)",
                "tx = optax.adafactor(1e-3)",
                slug="smaller-moments",
            ),
            Remedy("shard weights and optimizer state over devices", slug="shard-arguments"),
        ),
    )


def _weights(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """A weight of the model, when it is made."""
    last = own[-1:] and own[-1]
    by_hand = bool(last and _INITIALISING.fullmatch(last.name) and _INITIALISERS.search(last.text))
    by_hand = by_hand or bool(last and _DRAWN_BY_NAME.search(last.text))
    drawn = last and _KERAS_LAYER.search(last.text) and any(_DRAWN.search(each.place) for each in frames)
    if not (
        by_hand
        or drawn
        or _runs_through(frames, _LAYER_FILES, _MAKES_WEIGHTS)
        or _code(own[-1:], _LAYER_CALL)
    ):
        return None
    shape = _sizes(last.text if last else "", need)
    what = "this line makes a weight of the model" + (f" ({shape})" if shape else "")
    if need is not None and need < _SMALL_BYTES:
        what += ", and the device is full with what was made before it, most likely the other weights"
    smaller = Remedy(
        "make the model smaller (fewer or narrower layers, a smaller table), and count for training with Adam"
        " about four times its weights",
        slug="smaller-model",
    )
    narrow = Remedy(
        "keep the weights in bfloat16 where the program allows it: half of them",
        _narrow(frames, own),
        slug="narrow-weights",
    )
    remedies: tuple[Remedy, ...] = (narrow, _SHARDED, smaller)
    if last and "complex" in last.text:
        remedies = (replace(smaller, text="keep fewer modes, or make the layer narrower"), _SHARDED)
    elif need is not None and need >= _HUGE_BYTES:
        unusual = (
            "a single weight of this size is seldom meant: pool before a dense layer on flattened inputs, or"
            " make the table smaller"
        )
        remedies = (replace(smaller, text=unusual), _SHARDED, narrow)
    return MadeByLine(
        f"{what}: it is as large whatever the batch", remedies, Basis.SHAPE if shape else Basis.NAME
    )


def _sizes(text: str, need: int | None) -> str:
    """`4096 x 14336 in float32`, where two figures of the line make the request."""
    sizes = [int(size.replace("_", "")) for size in _LITERAL_SIZES.findall(text)][:8]
    pairs = [(one, other) for at, one in enumerate(sizes) for other in sizes[at + 1 :]]
    return next(
        (
            f"{one} x {other} in {name}: {human(need)}"
            for one, other in pairs
            for item, name in _ITEMS
            if need is not None and one * other * item == need
        ),
        "",
    )


def _narrow(frames: Sequence[Frame], own: Sequence[Frame]) -> str:
    told = " ".join([*(frame.place for frame in frames), *(frame.text for frame in own)])
    if re.search(r"\bkeras[/\\.]", told):
        return "keras.config.set_dtype_policy('bfloat16')   # before the model is built"
    if layer := _LAYER.search(own[-1].text if own else ""):
        return f"{layer['layer']}(..., param_dtype=jnp.bfloat16)"
    if re.search(r"flax[/\\]nnx|\bnnx\.", told):
        return "nnx.Linear(din, dout, param_dtype=jnp.bfloat16, rngs=rngs)"
    if re.search(r"equinox|\beqx\.", told):
        return "eqx.nn.Linear(din, dout, dtype=jnp.bfloat16, key=key)"
    if re.search(r"haiku|\bhk\.", told):
        return "hk.mixed_precision.set_policy(Block, jmp.get_policy('p=bf16,c=bf16,o=f32'))"
    if re.search(r"flax[/\\]|\blinen\b|\bnn\.", told):
        return "nn.Dense(features, param_dtype=jnp.bfloat16)"
    return "jax.random.normal(key, shape, dtype=jnp.bfloat16)"


_SVI_INIT = regex(r"\bsvi\.init\(")


def _first_call(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """A model that is run once, op by op, for the shapes of its weights."""
    del frames, need
    if not _code(own, _MODEL_INIT):
        return None
    if _code(own, _ONE_SAMPLE):
        return MadeByLine(
            "init runs the model on an example of one sample already: what is so large is a weight, or what"
            " one sample makes, whatever the batch",
            (
                Remedy(
                    "make the layer of this line smaller: fewer inputs (a stride, pooling or a mean before"
                    " it) or fewer units; for training count its gradient and the optimizer's slots as well",
                    slug="smaller-model",
                ),
            ),
        )
    if _code(own, _SVI_INIT):
        return MadeByLine(
            "init is given the data as a whole: it puts them on the device, and runs the model on all of them"
            " once",
            (
                Remedy(
                    "give init one minibatch of what the updates get, keep the whole in NumPy's arrays, and"
                    " jit the update",
                    "state = svi.init(key, {k: v[:batch_size] for k, v in data.items()})\n"
                    "update = jax.jit(svi.update)   # once, above the loop",
                    slug="small-init",
                ),
            ),
        )
    return MadeByLine(
        "init runs the model once, op by op, on the example that it is given, and keeps what it makes",
        (
            Remedy(
                "let init be compiled, on one small example: weights have the same shapes for any batch",
                "params = jax.jit(model.init)(key, x[:1])",
                slug="small-init",
            ),
            _SHARDED,
        ),
    )


def runs_init(frames: Sequence[Frame]) -> bool:
    """Whether a line of the user's runs a model's `init`."""
    return _code(_own(frames, None), _MODEL_INIT) is not None


def _state_made(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """Weights and an optimizer's state, by the name of the function that the user's deepest line calls."""
    del frames, need
    if not _code(own[-1:], _MAKES_STATE):
        return None
    return MadeByLine(
        "the line makes weights, with the optimizer's state where it trains: they are as large whatever the"
        " batch, with Adam in float32 16 bytes for each weight, its gradient included",
        (
            _SHARDED,
            Remedy(
                "train a part of the weights: low-rank additions (LoRA) or the last layers; what is frozen"
                " has no gradient and no moments, and can be kept in bfloat16",
                slug="low-rank-tuning",
            ),
            _SMALLER_MOMENTS,
        ),
    )


def loaded_by(frames: Sequence[Frame], text: str | None) -> MadeByLine | None:
    """Weights that are read from files, or copied to every device, as the frames or the user's line show."""
    own = _own(frames, text)
    last = own[-1].text if own else ""
    if _REPLICATING.search(last):
        return _replicated("the line copies all of it to every device")
    if _runs_through(frames, _PUTTING_FILES, _PUTS_EVERYWHERE) and not (own and _CONVERTS.search(last)):
        of_weights = ", most likely weights," if _WEIGHTS.search(last) else ""
        made = _replicated(f"an array{of_weights} is copied to every device (`{_putting(frames)}`)")
        return replace(made, remedies=made.remedies[::-1])  # of one device there may be no other
    if _CONVERTS.search(last):
        return _converted()
    through = any(re.search(r"modeling_flax_utils|orbax[/\\]|safetensors", frame.place) for frame in frames)
    if not (through or _code(own, _LOADING)):
        return None
    return MadeByLine(
        "weights are being loaded: they are as large whatever the batch",
        (
            Remedy(
                "load them on the host, in 16 bits: half of them; and copy those",
                "with jax.default_device(jax.devices('cpu')[0]): params = load()   # then"
                " w.astype(jnp.bfloat16) of each",
                slug="narrow-weights",
            ),
            Remedy(
                "or place each array sharded over the devices",
                "params = jax.device_put(params, shardings)",
                slug="shard-arguments",
            ),
        ),
    )


_PUTTING_FILES = regex(r"jax[/\\](?:_src[/\\])?api\.py|flax[/\\]jax_utils\.py")
_PUTS_EVERYWHERE = regex(r"device_put_replicated|replicate")


def _putting(frames: Sequence[Frame]) -> str:
    """The library's function that copies an array to every device."""
    names = (frame.name for frame in frames if _PUTTING_FILES.search(frame.place))
    return next(name for name in names if _PUTS_EVERYWHERE.fullmatch(name))


def _replicated(what: str) -> MadeByLine:
    return MadeByLine(
        f"{what}: each must hold the whole, however many there are",
        (
            Remedy(
                "shard weights and optimizer state over the devices instead of copying them",
                "split = lambda w: P('data') if w.ndim and w.shape[0] % mesh.size == 0 else P()\n"
                "state = jax.tree.map(lambda w: jax.device_put(w, NamedSharding(mesh, split(w))), state)",
                slug="shard-arguments",
            ),
            Remedy("keep the weights in 16 bits: half of each copy", slug="narrow-weights"),
        ),
    )


_CONVERTS = regex(
    r"\bconvert_\w*(?:weights|params|checkpoint|hf|model|state)\w*"
    r"|_to_(?:hf|huggingface|pytorch|torch|flax)\b"
    r"|_to_(?:hf|huggingface)_"
)
"""A line that brings weights into the files of another library."""


def _converted() -> MadeByLine:
    return MadeByLine(
        "weights are being converted from one library's files to another's: they are as large whatever the"
        " batch, and one device most likely holds all of them",
        (
            Remedy(
                "convert on the CPU, where RAM holds all of them: converting computes next to nothing",
                "JAX_PLATFORMS=cpu python convert.py ...   # older: JAX_PLATFORM_NAME=cpu",
                slug="on-the-cpu",
            ),
            Remedy(
                "or bring each array to the host as it is read, and let the device's go",
                "arrays = {name: np.asarray(value) for name, value in shards}",
                slug="drop-references",
            ),
            Remedy(
                "keep them in 16 bits: half of float32",
                "params = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)",
                slug="narrow-weights",
            ),
        ),
    )


_RESTORING_FILES = regex(
    r"orbax[/\\]|array_serialization[/\\]|flax[/\\](?:training[/\\]checkpoints|serialization)\.py|safetensors"
)
_RESTORES = regex(
    r"(?:_?(?:async_)?(?:restore|deserialize|load)\w*|from_(?:bytes|state_dict)|msgpack_restore)"
)
_RESTORING = regex(r"\brestore\w*\(|\b(?:load_checkpoint|from_bytes|from_state_dict|tree_deserialise\w*)\(")
_MADE_FOR_IT = regex(
    r"\b(?P<state>\w*(?:state|params|variables|model|network|net))(?:\s*,\s*\w+)*\s*=(?!=)\s*(?:self\.)?"
    r"(?:\w*(?:create|init|make|build)\w*(?:state|params|model|network|net)?\w*\("
    r"|\w+(?:\.\w+)*\.init(?:_weights)?\("
    r"|(?:\w+\.)?TrainState\.create\(|[A-Z]\w*\([^#]*\b(?:rngs|key)\s*=)"
)
_OF_SHAPES = regex(r"eval_shape|abstract|ShapeDtypeStruct|\bjit\(")


def restored_beside(frames: Sequence[Frame], text: str | None, code: Sequence[Line]) -> MadeByLine | None:
    """A checkpoint that is read to the device beside the weights which were made at random before it."""
    last = (_own(frames, text)[-1:] or [Frame("", "")])[0].text
    reads = _runs_through(frames, _RESTORING_FILES, _RESTORES) or _RESTORING.search(last)
    if not reads or any(_OF_SHAPES.search(line.text) for line in code):
        return None
    made = next((line for line in code if _MADE_FOR_IT.search(line.text)), None)
    match = _MADE_FOR_IT.search(made.text) if made else None
    if made is None or match is None:
        return None
    return MadeByLine(
        f"the checkpoint is read to the device beside `{match['state']}` ({made.place}), which was made"
        " before it: for a while both are there",
        (
            Remedy(
                "restore into shapes instead of a state that was made for it",
                "shapes = jax.eval_shape(create_state, key); state = checkpointer.restore(path, shapes)",
                slug="restore-into-shapes",
            ),
            Remedy(
                "or let go of what was made first, and keep its shapes alone",
                "shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state); del state",
                slug="drop-references",
            ),
        ),
        line=made,
    )


def _draws(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """A sampler's collection of draws; of NumPyro's the table of idioms knows."""
    del need
    if any(_SAMPLERS.fullmatch(frame.name) for frame in frames):
        numpyro = any("numpyro" in frame.place for frame in frames) or _code(own, regex(r"mcmc\.run\("))
        return None if numpyro else _DRAWS_OF_A_SCAN
    return None


_DRAWS_OF_A_SCAN = MadeByLine(
    "the sampling loop keeps the state of every draw until all are done",
    (
        Remedy(
            "let the loop return only what is needed (a few sites, a thinned or running statistic), and run"
            " and save in several parts",
            "return state, state.position   # not the whole state, nor its info",
            slug="fewer-draws",
        ),
    ),
)


_OF_ALL_ROWS = MadeByLine(
    "vmap computes the Jacobian of every row at once, and holds them all",
    (
        Remedy(
            "go through the rows in blocks, and reduce each block at once",
            "y = jax.lax.map(lambda x: reduce(jax.jacrev(f)(x)), xs, batch_size=256)",
            slug="in-blocks",
        ),
        Remedy(
            "use products with vectors (jax.jvp, jax.vjp) where they do, which never make the matrices",
            "y, pull = jax.vjp(f, x); row = pull(v)",
            slug="hessian-products",
        ),
    ),
)


def _derivatives(frames: Sequence[Frame], own: Sequence[Frame], need: int | None) -> MadeByLine | None:
    """A Jacobian or Hessian, as a whole."""
    call = _code(own, _DERIVATIVE_CALL)
    inside = any(_DERIVATIVES.fullmatch(frame.name) for frame in frames)
    if need is None or not (inside or (call and _code(own[-1:], _DERIVATIVE_CALL))):
        return None
    hessian = bool(_code(own, regex(r"\bhessian\(|jac\w+\(\s*(?:jax\.)?(?:jac|grad\()")))
    hessian = hessian or any(frame.name == "hessian" for frame in frames)
    side = square_side(need, 4)
    square = side is not None
    if _code(own[-1:], regex(r"\bvmap\(")) and not square:
        return _OF_ALL_ROWS
    sides = f" of {side:,} x {side:,}" if square else ""
    matrix = "Hessian" if hessian else "Jacobian"
    if square and not hessian:
        matrix = "Jacobian or Hessian"
    products = (
        Remedy(
            "take products of the Hessian with vectors, which never make the matrix",
            "hvp = lambda v: jax.jvp(jax.grad(loss), (w,), (v,))[1]",
            slug="hessian-products",
        )
        if hessian
        else Remedy(
            "use products with vectors (jax.jvp, jax.vjp), which never make the matrix",
            "y, pull = jax.vjp(f, x); row = pull(v)",
            slug="hessian-products",
        )
    )
    return MadeByLine(
        f"all rows of a {matrix} are computed at once, and a matrix{sides} is made for them",
        (
            products,
            Remedy(
                "or compute blocks of rows, and reduce each row before the next: all rows together are the"
                " whole matrix again",
                "norms = jax.lax.map(lambda i: (row(i) ** 2).sum(), jnp.arange(n), batch_size=64)",
                slug="in-blocks",
            ),
        ),
        Basis.SHAPE if square else Basis.NAME,
    )


_APPLYING_FILES = regex(
    r"flax[/\\](?:nnx[/\\](?:nn[/\\])?|linen[/\\])(?:linear|attention|normalization|recurrent|activation)\.py"
    r"|equinox[/\\]nn[/\\]|haiku[/\\]_src[/\\](?:basic|conv|batch_norm|layer_norm|attention|recurrent)\.py"
)


def layers_op_by_op(frames: Sequence[Frame], text: str | None, need: int) -> MadeByLine | None:
    """A layer that runs outside of jit: traced code has no such frames when it fails."""
    own = _own(frames, text)
    if need < LEAST_BYTES or not _runs_through(frames, _APPLYING_FILES, regex("__call__")):
        return None
    graded = _code(own, regex(r"\bgrad\(|\bvalue_and_grad\(|\bgrad_fn\("))
    kept = ", and the gradient keeps those of all layers" if graded else ""
    return MadeByLine(
        f"the model runs op by op, outside of jit: each layer makes its whole output, for all samples{kept}",
        (
            Remedy(
                "compile the call: XLA then joins ops, and frees what is no longer needed",
                "step = jax.jit(step)   # nnx.jit, eqx.filter_jit",
                slug="compile-the-call",
            ),
            Remedy(
                "give it fewer samples at a time"
                + ("" if graded else ", and bring each part's result to the host"),
                slug="in-pieces",
            ),
        ),
    )


_READINGS: tuple[Callable[[Sequence[Frame], Sequence[Frame], int | None], MadeByLine | None], ...] = (
    _update,
    _slots,
    _weights,
    _first_call,
    _state_made,
    _draws,
    _derivatives,
)
"""Readings of a traceback, the most particular first."""
