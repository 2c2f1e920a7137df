"""Owners for whole tables: names first, then what a table tells beyond each single name."""

from __future__ import annotations

import re
from collections import Counter

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.convolution import col_buffer_of, is_shuffled_volume
from tfmemlens.knowledge.kernel_shapes import like_a_dense_kernel, like_a_kernel, like_a_turned_kernel
from tfmemlens.model.allocation import BY_OP, HELD, Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_COLOCATED = regex(r"loc:@([^\"\]]+)")
_MAKING = regex(
    r"(?:/|\A)(?:Initializer|initial_value|truncated_normal|Variable(?:_\d+)?/Assign"
    r"|kernel/Assign)(?:_\d+)?(?:/|\Z)"
)
_RANDOM = regex(
    r"(?:Stateless)?(?:RandomUniform|RandomStandardNormal|RandomNormal|TruncatedNormal)(?:V2)?(?:_\d+)?\Z"
)
_FIRST_VALUE = regex(
    r"Fill|(?:Zeros|Ones)Like|(?:Stateless)?(?:RandomUniform|RandomStandardNormal|RandomNormal"
    r"|TruncatedNormal)(?:V2)?"
)
"""Ops that a dump names as types alone, and that run before any layer does."""
_MIN_TABLE_ROWS, _MIN_SQUARE_ROWS = 2048, 256
"""Rows of random numbers that are more likely a kernel's or a table's than a batch of noise; of as many
columns fewer will do.
"""
_LOOP_ALONE = regex(r"while(?:_\d+)?\Z")


def attribute_table(table: AllocationTable) -> Attribution:
    """An owner for each row."""
    owners = [_owner(row) for row in table]
    executions: Counter[str | None] = Counter()
    for row in table:
        executions[row.node] += row.count
    return Attribution(
        table, [looped(owner, executions[row.node]) for owner, row in zip(owners, table, strict=True)]
    )


def _owner(row: Allocation) -> Owner:
    if row.purpose == HELD and row.node:
        return replace(NOBODY, layer=row.node)  # a stack says who made it, not what it is for
    if row.node is None:
        return replace(NOBODY, kind=Kind.PARAMETER) if row.purpose == "parameter" else NOBODY
    if row.node.startswith("%"):
        return replace(NOBODY, op=row.op)  # an instruction of the compiler's, no name of anybody's
    owner = owner_of(row.node, row.op)
    if row.purpose == BY_OP and _FIRST_VALUE.fullmatch(row.node):
        return replace(NOBODY, layer=row.node, op=row.node)  # an initialiser's, a slot's, or anybody's
    if row.purpose == "temp":
        return replace(owner, kind=Kind.WORKSPACE)
    if row.purpose == "parameter":
        return replace(owner, kind=argument_kind(row.node), phase=Phase.NONE)
    return owner


def argument_kind(name: str) -> Kind:
    """An argument of a compiled program is a weight, a slot or a batch; JAX names it after the argument's
    path.
    """
    lower = name.lower()
    if any(
        word in lower for word in ("opt_state", "optimizer", ".mu", ".nu", "['mu']", "['nu']", "momentum")
    ):
        return Kind.OPTIMIZER_SLOT
    if any(word in lower for word in ("batch[", "inputs[", "['image']", "['inputs']", "['targets']")):
        return Kind.INPUT
    return Kind.PARAMETER


def looped(owner: Owner, executions: int) -> Owner:
    """What a loop keeps of every iteration is its stack; `executions` of the node are alive."""
    if owner.in_loop and executions > 1 and owner.kind is Kind.ACTIVATION:
        return replace(owner, kind=Kind.LOOP_STACK)
    return owner


def _is_assigned(request: FailedRequest, owner: Owner) -> bool:
    """Whether a variable of a graph got its value, as the C++ source tells where no node does."""
    of_assign = (request.kernel or "").rpartition("/")[2].startswith("assign_op")
    return of_assign and owner.kind is Kind.UNATTRIBUTED and len(request.shape or ()) >= 2


def attribute_request(request: FailedRequest) -> Owner:
    """The owner of a failed request; the Keras layer or the forward op that a message names count where the
    node betrays nothing.
    """
    owner = owner_of(request.node, request.op) if request.node else replace(NOBODY, op=request.op)
    if request.node and request.node == request.op:
        owner = replace(owner, layer=None)  # an eager op has no name of its own
    if request.caller and (owner.layer is None or _LOOP_ALONE.match(owner.layer)):
        owner = replace(owner, layer=owner_of(request.caller).layer)
    if request.creating or _is_initial_value(request, owner) or _is_assigned(request, owner):
        making = Kind.OPTIMIZER_SLOT if request.updating else Kind.PARAMETER
        owner = (
            owner
            if owner.kind is Kind.OPTIMIZER_SLOT
            else replace(owner, kind=making, phase=Phase.OPTIMIZER if request.updating else owner.phase)
        )
        if request.updating:
            owner = replace(owner, layer=None)
    elif request.updating and owner.phase in (Phase.FORWARD, Phase.NONE):
        owner = replace(owner, layer=None, kind=Kind.WORKSPACE, phase=Phase.OPTIMIZER)
    if owner.layer is None and request.forward_node:
        owner = replace(owner, layer=owner_of(request.forward_node).layer)
    if owner.layer is None and (beside := _COLOCATED.search(dict(request.attributes).get("_class", ""))):
        owner = replace(
            owner, layer=owner_of(beside[1]).layer
        )  # sums of gradients and updates stand beside what they serve
    if request.keras_layer and owner.layer is None:
        owner = replace(owner, layer=request.keras_layer[0] or request.keras_layer[1], phase=Phase.FORWARD)
    if request.op:
        owner = replace(owner, op=request.op)
    if _is_workspace(request, owner):
        owner = replace(owner, kind=Kind.WORKSPACE)
    elif _is_copied_kernel(request, owner):
        owner = replace(owner, kind=Kind.PARAMETER)
    elif (
        request.node is None
        and request.kind is RequestKind.TENSOR
        and request.op
        and owner.kind is Kind.UNATTRIBUTED
    ):
        backward = "Grad" in request.op or ("Backprop" in request.op and not request.keras_layer)
        owner = (
            replace(owner, kind=Kind.GRADIENT, phase=Phase.GRADIENT)
            if backward
            else replace(owner, kind=Kind.ACTIVATION)
        )
    return owner


def _is_initial_value(request: FailedRequest, owner: Owner) -> bool:
    """Whether the request is for the first value of a weight or a slot: random numbers in the shape of a
    kernel, or an op named after a variable's making. Dropout's random numbers are neither.
    """
    name = request.node or ""
    if owner.phase is Phase.GRADIENT or "dropout" in f"{name} {request.keras_layer}".lower():
        return False
    if _MAKING.search(name):
        return True
    last = name.rpartition("/")[2] or request.op or ""
    shape = request.shape or ()
    if "TruncatedNormal" in last and len(shape) >= 2:
        return True  # nothing but initialisers draws from it
    if not name and "constant_op" in (request.kernel or "") and like_a_dense_kernel(shape):
        return True
    random = bool(_RANDOM.match(last)) or "random_op" in (request.kernel or "")
    rows, units = shape if len(shape) == 2 else (0, 0)
    table, square = (rows or 0) >= _MIN_TABLE_ROWS, rows == units and (rows or 0) >= _MIN_SQUARE_ROWS
    return random and (like_a_kernel(shape) or table or square)


def _is_copied_kernel(request: FailedRequest, owner: Owner) -> bool:
    """Whether it is the copy of a kernel that a convolution makes for cuDNN, `[4096,512,7,7]`: first stands a
    layer's width of 1,024 or more, of which nobody makes a batch of small maps.
    """
    shape = request.shape
    if request.kind is not RequestKind.TENSOR or not like_a_turned_kernel(shape):
        return False
    name = owner.op or request.op or (request.node or "").rpartition("/")[2]
    forward = _CONVOLVES.fullmatch(name) is not None and owner.phase is not Phase.GRADIENT
    return forward and shape is not None and (shape[0] or 1) % _WIDTHS == 0


_CONVOLVES = regex(r"(?:_Fused)?Conv2D(?:_\d+)?")
_WIDTHS = 1024


def _is_workspace(request: FailedRequest, owner: Owner) -> bool:
    if request.kind is RequestKind.WORKSPACE:
        return True
    if (
        re.match(r"conv_grad\w*_ops", (request.kernel or "").rpartition("/")[2])
        and len(request.shape or ()) == 3
    ):
        return True
    last = (request.node or "").rpartition("/")[2]
    if "Conv3DBackpropFilter" in f"{owner.op}{last}" and is_shuffled_volume(request.shape):
        return True
    backward = "Backprop" in (owner.op or "") or "Backprop" in last
    return backward and "Conv" in f"{owner.op}{last}" and col_buffer_of(request.shape) is not None
