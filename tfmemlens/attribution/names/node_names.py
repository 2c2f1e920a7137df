"""From a node's name to the layer that the user wrote.

A name is the user's scopes with TensorFlow's own words around them: gradients, optimizers, Grappler rewrites,
inlined functions, loop bodies, replicas. Each step below takes one of these wrappings off and remembers what
it meant.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tfmemlens.attribution.names import jax_names, optimizers
from tfmemlens.attribution.names import vocabulary as words
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_LAYOUT = (
    r"(?P<what>Transpose|DataFormatVecPermute|VecPermute|DataFormatDimMap|DimMap|Reshape|PermConst"
    r"|ReshapeConst)"
)
_FORMATS = r"(?P<source>N[DHWC]+)To(?P<target>N[DHWC]+)"
LAYOUT_BEHIND = rf"(?P<x>.+)-(?P<first>\d+)-(?P<second>\d+)-{_LAYOUT}{_FORMATS}-LayoutOptimizer"
LAYOUT_BEFORE = rf"(?P<x>.+)-(?P<input>\d+)-{_LAYOUT}{_FORMATS}-LayoutOptimizer"
LAYOUT_OLD = (
    rf"LayoutOptimizer(?:{_LAYOUT}|PermVec)(?:{_FORMATS})?(?:-(?P<x>.+?)(?:-(?P<input>\d+)|-[\w./]+-\d+)?)?"
)
_LAYOUT_OTHER = (
    r"(?P<x>.+?)(?:-\d+)*-(?:ReshapeConst|PermConst\w*|)-?LayoutOptimizer"
    r"|(?P<shared>PermConst\w+)-LayoutOptimizer"
)
_UNIQUE = regex(r"_\d+\Z")
_APPLIES = regex(r"(?:Resource)?(?:Sparse)?Apply[A-Z]")
_FIRST_VALUE = regex(r"(?:\A|/)(?:Initializer|initial_value)(?:_\d+)?(?:/|\Z)")
_MOMENT = regex(r"(?:\A|/)moments(?:_\d+)?/[^/]+\Z")
"""The mean or variance of a batch, `moments/variance`: what a layer computes, no variable of that name."""
_OF_VARIABLES = roles.ALL_VARIABLES | roles.READS | roles.ASSIGNS
_CONTROL = regex(r"(?:while|cond)(?:_grad)?(?:_\d+)?\Z")
"""Scopes that TensorFlow opens for loops and branches."""
_CLIPPING = regex(r"(?:.*/)?(?:clip_by_)?global_norm(?:_\d+)?/")
_CELL = regex(r"(?:\A|_)(?:cell|rnn)(?:_\d+)?\Z")
_PARTITION = regex(r"part_\d+\Z")
_RULE = r"[A-Z][A-Za-z0-9]+"
_WRAPPED = regex(
    r"ptimizer|ConstantFolding|AutoMixed|Recompute|swap_|scoped_allocator|AutoParallel|Call|Func/"
    r"|replica_|cluster_|xla_run|__|\A_|edge_|/_|while|oop"
)
"""What a name must hold for the costly steps to find anything; most names are plain."""


@dataclass(slots=True)
class _Reading:
    """What is known so far, and the part of the name not yet explained."""

    rest: str
    op: str | None = None
    kind: Kind | None = None
    phase: Phase = Phase.FORWARD
    replica: int | None = None
    in_loop: bool = False
    copy_of: str | None = None
    drop_last: bool = True
    inside: str = ""
    """What stood below a path whose last part is cut already."""


@lru_cache(maxsize=1 << 17)
def owner_of(name: str, op: str | None = None) -> Owner:
    """The layer, kind and phase that a node name betrays; `op` is the op type where the input states it."""
    if jax_names.is_jax(name):
        return jax_names.owner_of(name, op)
    reading = _Reading(_bare(name), op=op)
    wrapped = _WRAPPED.search(reading.rest) or op in roles.TRANSFERS
    for step in _STEPS if wrapped else (_gradients, _optimizer):
        step(reading)
    return _settle(reading)


def _bare(name: str) -> str:
    """Without ports, control marks and the wrapping of messages: `{{node X}}`, `^X`, `X:0`, `X:MatMul`."""
    if "{" not in name and ":" not in name:
        return name.strip().removeprefix("^")
    name = re.sub(r"\{\{function_node [^}]*\}\}|\{\{node (\S+?)\}\}", r"\1", name).strip().removeprefix("^")
    return re.sub(r":\w+\Z", "", name)


def unwrap_op(name: str) -> str | None:
    """The op of an eager call: `__wrapped__MatMul_device_/job:...` ran MatMul."""
    match = re.match(r"__wrapped__(\w+?)_device_", name)
    return match[1] if match else None


def _grappler(reading: _Reading) -> None:
    """Copies and rewrites by Grappler: the layout optimizer, constant folding, arithmetic rules, mixed
    precision, memory optimizer.
    """
    _layout(reading)
    if reading.rest.startswith("_cloop"):
        reading.rest = reading.rest.removeprefix("_cloop")
    if match := re.match(r"(?:.*/)?ConstantFolding(?:Ctrl)?/(?P<x>.+)", reading.rest):
        reading.kind, reading.op = reading.kind or Kind.CONSTANT, reading.op or "Const"
        reading.rest = re.sub(r"/_\d+\Z", "", match["x"])
        reading.rest = re.sub(
            r"(-folded|-matshapes|-bcastargs|-broadcastto_shape|-reduction_indices)(-\d+)*\Z|_(recip"
            r"|enter|const_axis)\Z",
            "",
            reading.rest,
        )
    if match := re.match(r"(?P<scope>(?:.*/)?)ArithmeticOptimizer/(?P<x>.+)", reading.rest):
        reading.rest = match["scope"] + _without_rule(match["x"])
    if match := re.match(r"(?P<x>.+?)-(?:\d+-)*CastTo(?:Fp16|Bf16|Fp32)-AutoMixedPrecision\Z", reading.rest):
        reading.rest, reading.op = match["x"], "Cast"
    if match := re.match(r"(?:Recomputed|RecomputeTrigger|RecomputedInput)/(?P<x>.+)", reading.rest):
        reading.rest = match["x"]
    if match := re.match(r"swap_(?:in|out)_(?P<x>.+?)(?:_\d+)?\Z", reading.rest):
        reading.rest, reading.kind = match["x"], Kind.TRANSFER
    if match := re.match(r"scoped_allocator(?:_concat|_split|_identity)?_\d+", reading.rest):
        reading.rest, reading.kind, reading.phase = "", Kind.GRADIENT, Phase.GRADIENT
    if match := re.match(
        r"(?:AutoParallel-Replica-(?P<replica>\d+)|LoopOptimizer|loop_optimizer)[/-](?P<x>.+)", reading.rest
    ):
        reading.rest = match["x"]
        reading.replica = int(match["replica"]) if match["replica"] else reading.replica


def _without_rule(text: str) -> str:
    """`ReplaceMulWithSquare_mul` is the user's `mul`; a rule may add a dtype and its own counters before
    it.
    """
    text = re.sub(rf"\A{_RULE}_(?=.)", "", text)
    return re.sub(
        r"\A(?:(?:bool|float|half|bfloat16|double|int32|int64)_)?(?:(?:Leaf|Internal)_\d+_)?(?=.)", "", text
    )


def _layout(reading: _Reading) -> None:
    if "LayoutOptimizer" not in reading.rest:
        return
    text = re.sub(r"(?:_\d+)?(?:/_\d+)?\Z", "", reading.rest)
    behind = re.fullmatch(LAYOUT_BEHIND, text)
    match = (
        behind
        or re.fullmatch(LAYOUT_BEFORE, text)
        or re.fullmatch(LAYOUT_OLD, text)
        or re.fullmatch(_LAYOUT_OTHER, text)
    )
    if not match:
        return
    parts = match.groupdict()
    reading.rest = parts.get("x") or ""
    is_copy = parts.get("what") == "Transpose"
    reading.kind = Kind.LAYOUT_TRANSPOSE if is_copy else Kind.CONSTANT
    reading.op = "Transpose" if is_copy else None
    old_behind = text.startswith("LayoutOptimizer") and str(parts.get("source")) == "NCHW"
    if is_copy:
        reading.copy_of = "output" if behind or old_behind else "input"


def _functions(reading: _Reading) -> None:
    """Inlined functions, replicas, clusters: `StatefulPartitionedCall/R`, `Func/CALL/input/_2`,
    `replica_1/R`.
    """
    reading.rest = re.sub(r"\A(?:(?:Stateful|Stateless)?PartitionedCall(?:_\d+)?/)+(?=.)", "", reading.rest)
    if match := re.match(
        r"Func/(?P<x>.+?)/(?:input|output|input_control_node|output_control_node)/_\d+\Z", reading.rest
    ):
        reading.rest, reading.kind, reading.phase = "", Kind.INPUT, Phase.INPUT
    if match := re.match(r"(?:(?:Stateful|Stateless)?PartitionedCall(?:_\d+)?)\Z", reading.rest):
        reading.rest, reading.drop_last = match[0], False
    if match := re.match(r"replica_(\d+)/(?P<x>.+)", reading.rest):
        reading.replica, reading.rest = int(match[1]), match["x"]
    reading.rest = re.sub(r"\A(?:cluster_\d+_\d+|xla_run)/(?=.)", "", reading.rest)
    if match := re.match(r"(?:.*/)?__(?:inference|forward|backward)_(\w+?)(?:_\d+)*\Z", reading.rest):
        reading.rest = match[1]
    if op := unwrap_op(reading.rest):
        reading.rest, reading.op = op, reading.op or op


def _transfers(reading: _Reading) -> None:
    """Feeds, fetches and tensors that come from another device: `_arg_frames_0_0`, `_retval_loss_0_0`,
    `x/_123`, `edge_45_x`.
    """
    if match := re.match(r"_arg_(?P<x>.+?)_\d+_\d+\Z", reading.rest):
        reading.rest, reading.kind, reading.phase, reading.drop_last = (
            match["x"],
            Kind.INPUT,
            Phase.INPUT,
            False,
        )
    elif match := re.match(r"_(?:retval|recv|send)_(?P<x>.+?)(?:_\d+)*\Z", reading.rest):
        reading.rest, reading.kind, reading.drop_last = match["x"], Kind.TRANSFER, True
    elif match := re.match(r"edge_\d+_(?:\.\.\.)?(?P<x>.+)\Z", reading.rest):
        reading.rest, reading.kind = match["x"], Kind.TRANSFER
    elif re.match(r"_[SG]\d+\Z|/_\d+\Z", reading.rest):
        reading.rest, reading.kind = "", Kind.TRANSFER
    elif match := re.match(r"(?P<x>.+)/_\d+\Z", reading.rest):
        reading.rest = match["x"]
        if reading.op in roles.TRANSFERS or not re.search(r"(?:\A|/)(?:body|cond|then|else)\Z", reading.rest):
            reading.kind = reading.kind or Kind.TRANSFER
    if reading.op in roles.TRANSFERS:
        reading.kind = Kind.TRANSFER


def _loops(reading: _Reading) -> None:
    """Lowered while and cond functions repeat the whole path after `body/_12/`; only the last part counts."""
    if match := re.match(r"(?P<outer>.*?)/?(?P<frame>body|cond|then|else)/_\d+/(?P<x>.+)\Z", reading.rest):
        last = (
            re.match(r"(?P<outer>.*)/(?P<frame>body|cond|then|else)/_\d+/(?P<x>.+)\Z", reading.rest) or match
        )
        if "body" in (match["frame"], last["frame"]):
            reading.in_loop = True
        outer_gradient = re.match(r".*?(gradient_tape/|gradients/)", last["outer"])
        inner = last["x"]
        if outer_gradient and not re.search(r"(?:\A|/)gradient(?:s|_tape)/", inner):
            reading.phase = Phase.GRADIENT
        reading.rest = _inside(last["outer"], inner)
    if re.search(r"(?:\A|/)while(?:_\d+)?(?:/|\Z)", reading.rest):
        reading.in_loop = True


def _inside(outer: str, inner: str) -> str:
    """The whole path of an op in a function body: some bodies repeat the scopes outside of them, others begin
    anew.
    """
    scopes = [part for part in inner.split("/")[:-1] if not _is_tensorflows(part)]
    outside = [
        part
        for part in re.sub(r".*(?:gradient_tape|gradients(?:_\d+)?)/", "", outer).split("/")
        if part and not _CONTROL.match(part)
    ]
    repeated = bool(scopes and outside and scopes[0] == outside[0]) or bool(
        re.search(r"(?:\A|/)gradient(?:s|_tape)/", inner)
    )
    return inner if repeated or not outer or (scopes and not outside) else f"{outer}/{inner}"


def _gradients(reading: _Reading) -> None:
    """`gradients/R_grad/…` of tf.gradients, `gradient_tape/R/GradOp` of GradientTape; loops and towers put
    scopes before them.
    """
    if match := re.match(r"(?P<before>.*?(?:\A|/))gradients(?:_\d+)?/(?P<x>.+)\Z", reading.rest):
        reading.phase = Phase.GRADIENT
        inner = re.sub(r"\A.*(?:\A|/)gradients(?:_\d+)?/", "", match["x"])
        if re.search(r"/[fb]_acc(?:_\d+)?\Z|/[fb]_count|/Stack(?:Push|Pop)?(?:V2)?(?:_\d+)?\Z", inner):
            reading.kind = reading.kind or Kind.LOOP_STACK
        forward = _cut_grad(inner)
        if forward is None:
            _gradient_helper(reading, inner)
        else:
            reading.rest = re.sub(r"/(?:Enter|Exit|Switch|Merge|NextIteration)(?:_\d+)?\Z", "", forward)
            reading.op = reading.op or _op_of(inner)
            _towers(reading, match["before"])
    elif match := re.match(r"(?:.*/)?gradient_tape/(?P<x>.+)\Z", reading.rest):
        reading.phase = Phase.GRADIENT
        forward, _, op = match["x"].rpartition("/")
        reading.op = reading.op or (_op_of(op) if op else None)
        reading.rest, reading.drop_last, reading.inside = (
            _cut_grad(match["x"]) or forward or match["x"],
            False,
            op,
        )
        reading.rest = re.sub(r"\Areplica_\d+/(?=.)", "", reading.rest)
        if match := re.match(r".*gradient_tape/replica_(\d+)/", _bare(f"gradient_tape/{match['x']}")):
            reading.replica = int(match[1])
    elif "global_norm" in reading.rest and _CLIPPING.match(reading.rest):
        reading.phase = Phase.GRADIENT
        _gradient_helper(reading, reading.rest)


def _towers(reading: _Reading, before: str) -> None:
    """`tower_1/gradients/tower_1/X_grad`: the scope stands twice; once `X` lacks it, it still belongs to the
    layer.
    """
    tower = re.match(r"(?:.*/)?((?:tower|Tower|gpu|GPU|clone)_\d+)/\Z", before)
    if tower and not re.search(rf"(?:\A|/){re.escape(tower[1])}/", reading.rest):
        reading.rest = f"{tower[1]}/{reading.rest}"


def _gradient_helper(reading: _Reading, inner: str) -> None:
    """Sums, zeros and loop counters that tf.gradients adds: they belong to no single forward op."""
    reading.rest, reading.op = "", reading.op or _op_of(inner)


def _cut_grad(path: str) -> str | None:
    """The forward op of `R_grad/…`: everything before the last part that ends in `_grad`, again for second
    derivatives.
    """
    shorter = None
    while cut := re.match(r"(?P<x>.+)_grad(?:_\d+)?(?:/.*)?\Z", shorter or path):
        shorter = cut["x"]
    return shorter


_FIRST_VALUES = frozenset(("Fill", "ZerosLike"))
"""What an optimizer begins a slot with; an update makes neither."""


def _optimizer(reading: _Reading) -> None:
    """Slots and update ops: their layer is the layer of the variable they serve."""
    if reading.phase is Phase.GRADIENT:
        return
    if slot := optimizers.slot_of(reading.rest):
        reading.kind, reading.phase, reading.rest = reading.kind or Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER, slot
    elif (update := optimizers.update_of(reading.rest)) is not None:
        reading.op = reading.op or _op_of(reading.rest)
        made = Kind.OPTIMIZER_SLOT if reading.op in _FIRST_VALUES and not update else Kind.WORKSPACE
        reading.kind, reading.phase, reading.rest = reading.kind or made, Phase.OPTIMIZER, update


def _op_of(path: str) -> str | None:
    """The op type of a last part that still bears its default name: `MatMul_1` is MatMul."""
    last = _UNIQUE.sub("", path.rpartition("/")[2])
    return last if last in words.OPS else words.FUNCTION_OPS.get(last)


_STEPS = (_grappler, _functions, _transfers, _loops, _gradients, _functions, _optimizer)


def _settle(reading: _Reading) -> Owner:
    rest = reading.rest
    op = reading.op or (_op_of(rest) if reading.phase is not Phase.GRADIENT else None)
    kind = reading.kind or _kind(reading, op)
    phase = reading.phase
    if kind is Kind.INPUT:
        phase = Phase.INPUT
    if phase is Phase.FORWARD and _APPLIES.match(op or ""):
        kind, phase = Kind.WORKSPACE, Phase.OPTIMIZER
    layer = "/".join(_layer_parts(rest, reading.drop_last, reading.inside)) or (
        rest.split("/")[0] if rest else None
    )
    if not rest or _runtime(rest) or _APPLIES.match(rest):
        layer = None
    return Owner(
        layer,
        kind,
        phase,
        op,
        forward=rest or None,
        replica=reading.replica,
        in_loop=reading.in_loop,
        copy_of=reading.copy_of,
    )


def _runtime(name: str) -> bool:
    """Nodes of the runtime itself, no layer of anybody."""
    return name in {
        "_EagerConst",
        "_SOURCE",
        "_SINK",
        "TPUReplicateMetadata",
        "XRTExecute",
        "LoopCond",
    } or bool(re.match(r"XRT\w+\Z|_Xla\w+\Z", name))


def _kind(reading: _Reading, op: str | None) -> Kind:
    last = _UNIQUE.sub("", reading.rest.rpartition("/")[2])
    if op in roles.TRANSFERS:
        return Kind.TRANSFER
    if op in roles.INPUTS or last in roles.INPUTS:
        return Kind.INPUT
    if op in roles.LOOP_STACKS or last in roles.LOOP_STACKS or last in ("f_acc", "b_acc"):
        return Kind.LOOP_STACK
    if last == "accumulator" and (reading.in_loop or reading.phase is Phase.GRADIENT):
        return Kind.LOOP_STACK
    if reading.phase is Phase.GRADIENT:
        return Kind.GRADIENT
    named = last in words.VARIABLES and not _MOMENT.search(reading.rest)
    if op in _OF_VARIABLES or named or last == "read" or _FIRST_VALUE.search(reading.rest):
        return Kind.PARAMETER
    if op in roles.ALL_CONSTANTS:
        return Kind.CONSTANT
    if not reading.rest or _runtime(reading.rest):
        return Kind.UNATTRIBUTED
    return Kind.ACTIVATION


def _layer_parts(path: str, drop_last: bool = True, inside: str = "") -> list[str]:
    parts = [part for part in path.split("/") if part]
    if "while" in path or "cond" in path:
        parts = _unloop(parts)
    if "/part_" in path:
        parts = [part for part in parts if not _PARTITION.match(part)]
    below = parts.pop() if drop_last and len(parts) > 1 else inside
    if below in ("read", "Assign", "AssignVariableOp", "IsInitialized") and len(parts) > 1:
        parts.pop()  # the variable itself, whatever its name
    while (
        len(parts) > 1
        and _is_tensorflows(parts[-1], parts[-2])
        and not _is_scope(parts[-1], below)
        and not _is_keras(parts[-1], below)
    ):
        below = parts.pop()
    return parts


def _is_scope(part: str, below: str) -> bool:
    """Whether a name that variables have is the user's scope here: `bert/embeddings/add` is,
    `tokens/embeddings/Initializer/mul` is not.
    """
    return (
        _UNIQUE.sub("", part) in words.VARIABLES
        and bool(below)
        and _UNIQUE.sub("", below) not in words.OF_VARIABLES
    )


def _is_keras(part: str, below: str) -> bool:
    """Whether a part that TensorFlow might have written is a layer of Keras under its default name, by what
    is in it: `add_1/add`, `conv2d_transpose/BiasAdd`.
    """
    plain, inside = _UNIQUE.sub("", part), _UNIQUE.sub("", below)
    if plain == "conv2d_transpose":
        return bool(inside) and inside not in words.INSIDE_CONV2D_TRANSPOSE
    return inside in words.KERAS_LAYERS.get(plain, ())


def _is_tensorflows(part: str, before: str = "") -> bool:
    """Whether TensorFlow, not the user, wrote this part of a path. `conv2d` is a layer, `Conv2D` an op,
    `drop/dropout` the op of layer `drop`.
    """
    plain = _UNIQUE.sub("", part)
    if plain == "dropout":
        return "drop" in before.lower()
    return (
        plain in words.OPS
        or plain in words.FUNCTION_SCOPES
        or plain in words.VARIABLES
        or part.startswith("_")
    )


def _unloop(parts: list[str]) -> list[str]:
    """Loops and branches are no layers: `rnn/while/rnn/cell/MatMul` says `rnn` twice;
    `lstm/while/lstm_cell/MatMul` is inside the layer `lstm`.
    """
    for index, part in enumerate(parts):
        if not _CONTROL.match(part):
            continue
        outer, inner = parts[:index], parts[index + 1 :]
        scopes = [scope for scope in inner[:-1] if not _is_tensorflows(scope)]
        if not outer and not scopes:
            continue  # nothing else names it
        for size in range(min(len(outer), len(inner)), 0, -1):
            if outer[-size:] == inner[:size]:
                return _unloop(outer + inner[size:])
        if outer and all(_CELL.search(scope) for scope in scopes):
            return [*outer, inner[-1]] if inner else outer
        return _unloop(outer + inner)
    return parts
