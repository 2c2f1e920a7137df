"""What an optimizer keeps of every weight, and what its update passes over, as Keras 2.11 and 3 write it (not
one fused kernel).
"""

from __future__ import annotations

import math
from collections.abc import Collection

from tfmemlens.errors import UsageError
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue
from tfmemlens.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Optimizer:
    """`slots` tensors of each weight's shape; `early` products of them are there from the step's beginning,
    since they wait for no gradient.
    """

    name: str
    slots: int
    early: int
    factored: bool = False
    """Adafactor: rows and columns of matrices instead of whole tensors."""
    scalars: int = 2
    scatters: bool = False
    """Whether only the rows of a table that were looked up change, in Keras 3, too; then each read copies the
    table (`copy_on_read_mode`).
    """
    decays: bool = False
    """Whether all weights decay at the step's beginning, while the forward pass still reads the old ones."""
    averages: int = 0
    """Tensors of each weight's shape that stand beside the slots: a moving average, accumulated gradients."""
    clips_together: bool = False
    """Whether all gradients wait for the norm of all (`global_clipnorm`)."""

    def with_options(self, options: Collection[str]) -> Optimizer:
        """The same with these arguments of Keras set (those of OPTIONS; others change nothing here)."""
        return replace(
            self,
            decays=self.decays or "weight_decay" in options,
            averages=len({"use_ema", "gradient_accumulation_steps"}.intersection(options)),
            clips_together="global_clipnorm" in options,
        )

    def slot_shapes(self, shape: Sizes) -> list[Sizes]:
        """The shapes of the slots of one weight."""
        averages = [shape] * self.averages
        if not self.factored:
            return [shape] * self.slots + averages
        rows_and_columns = [shape[:-1], (*shape[:-2], shape[-1])] if len(shape) >= 2 else [(1,), (1,)]
        return [*rows_and_columns, shape, *averages]


OPTIONS = ("weight_decay", "use_ema", "gradient_accumulation_steps", "global_clipnorm")
"""Arguments of a Keras optimizer that change what it holds, or when."""


_OPTIMIZERS = {
    "sgd": Optimizer("sgd", 0, 0, scatters=True),
    "momentum": Optimizer("momentum", 1, 1),
    "nesterov": Optimizer("nesterov", 1, 1),
    "adam": Optimizer("adam", 2, 0),
    "adamw": Optimizer("adamw", 2, 0, decays=True),
    "nadam": Optimizer("nadam", 2, 0, scalars=3),
    "adamax": Optimizer("adamax", 2, 1),
    "lamb": Optimizer("lamb", 2, 0),
    "amsgrad": Optimizer("amsgrad", 3, 0),
    "rmsprop": Optimizer("rmsprop", 1, 1, scatters=True),
    "adagrad": Optimizer("adagrad", 1, 0, scatters=True),
    "adadelta": Optimizer("adadelta", 2, 3, scatters=True),
    "ftrl": Optimizer("ftrl", 2, 2),
    "lion": Optimizer("lion", 1, 2),
    "adafactor": Optimizer("adafactor", 1, 0, factored=True),
    "none": Optimizer("none", 0, 0, scalars=0),
}


def optimizer(name: str) -> Optimizer:
    """The optimizer of this name, Keras's class names included. Raises UsageError."""
    plain = name.lower().replace("_", "").replace("optimizer", "").replace("gradientdescent", "sgd")
    if plain not in _OPTIMIZERS:
        raise UsageError(f"the optimizer {name} is not known", f"one of {', '.join(_OPTIMIZERS)}")
    return _OPTIMIZERS[plain]


_IDLE_MOMENTUM = Optimizer("idle-momentum", 1, 0)
_FIRST_KERAS_2_WITH_THESE = (2, 11)


def of_keras_2(kind: Optimizer, version: str | None) -> Optimizer:
    """The same as Keras 2 writes it: since 2.11 plain SGD has the slots of momentum, too, and the step
    stands in them; what momentum 0 multiplies is folded away, except for tables of which rows are written.
    """
    if kind.name != "sgd" or is_older(version, _FIRST_KERAS_2_WITH_THESE):
        return kind
    return _IDLE_MOMENTUM


def is_older(version: str | None, than: tuple[int, int]) -> bool:
    """Whether a file says that an older Keras wrote it; one that says nothing is taken for a new one's."""
    digits = tuple(int(each) for each in (version or "").split(".")[:2] if each.isdecimal())
    return len(digits) == len(than) and digits < than


def prepare(
    tape: Tape, kind: Optimizer, weight: TapeValue, grad: TapeValue, slots: list[TapeValue]
) -> list[TapeValue]:
    """What an update computes before it has a gradient: momentum * m is there from the step's beginning.

    So are, in Keras 2, the slots of a table of which only some rows have a gradient: they decay as a whole.
    """
    if kind.decays:
        tape.consume("AssignSubVariableOp", [tape.op("Mul", [weight], early=True)], updates=weight)
    if _sparse_2(tape, kind, weight, grad):
        if kind.name == _IDLE_MOMENTUM.name:  # momentum 0 times the slot was folded to zeros, which stay
            tape.constant("zeros", weight.shape, weight.dtype)
        return [_rewritten(tape, slot) for slot in slots]
    return [
        tape.op("Mul", [slots[min(at, len(slots) - 1)]], weight.shape, early=True) for at in range(kind.early)
    ]


def update(
    tape: Tape,
    kind: Optimizer,
    weight: TapeValue,
    grad: TapeValue,
    slots: list[TapeValue],
    ready: list[TapeValue],
) -> None:
    """The ops that apply one gradient; its steps write over each other where they can."""
    whole = math.prod(grad.shape) == math.prod(weight.shape)
    if kind.name == "sgd":
        if not whole:
            tape.consume("ResourceScatterAdd", [grad, weight], updates=weight)
            return
        step = tape.op("Mul", [grad], weight.shape, over=[grad])
    elif kind.scatters and not whole and (tape.keras_3 or kind.name != "adadelta"):
        step = _scattered(tape, kind, weight, grad, slots, ready)
        tape.consume("ResourceScatterAdd", [step, weight], updates=weight)
        return
    elif _sparse_2(tape, kind, weight, grad):
        step = _rows(tape, grad, ready)
    elif kind.name == _IDLE_MOMENTUM.name:
        step = tape.op("Mul", [grad], weight.shape, over=[grad])
        tape.consume("AssignVariableOp", [step], replaces=slots[0])
    elif kind.name == "momentum":
        scaled = tape.op("Mul", [_dense(tape, weight, grad)], weight.shape, over=[grad])
        step = tape.op("Sub", [ready[0], scaled], weight.shape, over=[ready[0], scaled])
        tape.consume("AssignVariableOp", [step], replaces=slots[0])
    elif kind.name in ("adam", "adamw"):
        step = _adam(tape, weight, grad, slots)
    elif kind.name == "adagrad":
        step = _adagrad(tape, weight, grad, slots[0])
    elif kind.name == "adamax":
        step = _adamax(tape, weight, grad, slots, ready)
    elif kind.name == "nadam":
        step = _nadam(tape, weight, grad, slots)
    elif kind.factored:
        step = _adafactor(tape, weight, grad, slots)
    elif kind.name == "ftrl":
        step = _ftrl(tape, weight, grad, slots, ready)
    else:
        step = _generic(tape, kind, weight, grad, slots, ready)
    if not whole and not tape.keras_3:
        made = tape.op("AssignSubVariableOp", [weight, step], weight.shape)
        tape.consume("AssignSubVariableOp", [made], replaces=weight)
    else:
        tape.consume("AssignSubVariableOp", [weight, step], updates=weight)


def _sparse_2(tape: Tape, kind: Optimizer, weight: TapeValue, grad: TapeValue) -> bool:
    """Whether the update changes rows only, as Keras 2 does where it can."""
    return (
        not tape.keras_3
        and kind.name in ("idle-momentum", "momentum", "adam", "adamw", "rmsprop")
        and math.prod(grad.shape) != math.prod(weight.shape)
    )


def _rewritten(tape: Tape, slot: TapeValue) -> TapeValue:
    """A variable of which rows are written is copied by each read and by each update of the whole
    (`copy_on_read_mode`).
    """
    read = tape.op("ReadVariableOp", [slot], early=True)
    scaled = tape.op("Mul", [read], over=[read])
    made = tape.op("AssignAddVariableOp", [scaled, slot], slot.shape)
    tape.consume("AssignAddVariableOp", [made], replaces=slot)
    return made


def _rows(tape: Tape, grad: TapeValue, slots: list[TapeValue]) -> TapeValue:
    """Rows are added to the slots; then copies of the slots make the step."""
    copies = []
    for index, slot in enumerate(slots):
        rows = tape.op("Mul", [grad]) if not index else tape.op("Square", [grad])
        added = tape.op("ResourceScatterAdd", [rows, slot], (), work=rows.bytes)
        copies.append(tape.op("ReadVariableOp", [slot, added]))
    if len(copies) == 1:
        return copies[0]
    root = tape.op("Sqrt", [copies[1]], over=[copies[1]])
    step = tape.op("Mul", [copies[0]], over=[copies[0]])
    return tape.op("RealDiv", [step, root], over=[step, root])


def _dense(tape: Tape, weight: TapeValue, grad: TapeValue) -> TapeValue:
    """An embedding's gradient has only the rows that were looked up; most updates spread it over the whole
    table.
    """
    return (
        grad
        if math.prod(grad.shape) == math.prod(weight.shape)
        else tape.op("UnsortedSegmentSum", [grad], weight.shape)
    )


def _adam(tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue]) -> TapeValue:
    """The squares go first, so that the gradient itself can be written over; then both parts meet in a
    division.
    """
    first = _dense(tape, weight, grad)
    first = tape.op("Sub", [first, slots[0]], weight.shape, over=[first])
    first = tape.op("Mul", [first], over=[first])
    square = _dense(tape, weight, tape.op("Square", [grad], over=[grad], rank=0 if tape.keras_3 else -1))
    second = tape.op("Sub", [square, slots[1]], weight.shape, over=[square])
    second = tape.op("Mul", [second], over=[second])
    moved = tape.op("AssignAddVariableOp", [slots[0], first], (), work=first.bytes)
    scaled = tape.op("AssignAddVariableOp", [slots[1], second], (), work=second.bytes)
    step = tape.op("Mul", [slots[0], moved], weight.shape)
    root = tape.op("Sqrt", [slots[1], scaled], weight.shape)
    root = tape.op("AddV2", [root], over=[root])
    return tape.op("RealDiv", [step, root], over=[step, root])


def _nadam(tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue]) -> TapeValue:
    """Three of the gradient's readers each make a tensor: both changes of the slots and its own share."""
    whole = _dense(tape, weight, grad)
    first = _drawn_nearer(tape, slots[0], whole)
    square = tape.op("Square", [whole], over=[whole])
    second = _drawn_nearer(tape, slots[1], square)
    share = tape.op("Mul", [whole], over=[whole])
    share = tape.op("RealDiv", [share], over=[share])
    ahead = tape.op("Mul", [slots[0], first], weight.shape)
    ahead = tape.op("RealDiv", [ahead], over=[ahead])
    hat = tape.op("AddV2", [ahead, share], over=[ahead, share])
    root = tape.op("RealDiv", [slots[1], second], weight.shape)
    root = tape.op("Sqrt", [root], over=[root])
    return tape.op("RealDiv", [hat, root], over=[hat, root])


def _adafactor(tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue]) -> TapeValue:
    """Means of the squares go into rows and columns, and their product replaces the whole slot; the step is
    measured before it is taken, as the weight is at the step's beginning.
    """
    rows, columns, slot = slots[:3]
    size = tape.op("Mean", [tape.op("Square", [weight], early=True)], (), early=True)
    whole = _dense(tape, weight, grad)
    square = tape.op("Square", [whole])
    square = tape.op("AddV2", [square], over=[square])
    if len(weight.shape) >= 2:
        means = [tape.op("Mean", [square], each.shape) for each in (rows, columns)]
        made = tape.op("Mul", means, weight.shape)
        for each, mean in zip((rows, columns), means, strict=True):
            tape.consume("AssignVariableOp", [mean], replaces=each)
    else:
        made = tape.op("AddV2", [slot, square], weight.shape, over=[square])
    tape.consume("AssignVariableOp", [made], replaces=slot)
    root = tape.op("Sqrt", [made], weight.shape)
    tape.ops[-1] = replace(tape.ops[-1], after=(len(tape.ops) - 2,))  # the slot is read when it was assigned
    step = tape.op("RealDiv", [whole, root], over=[whole, root])
    length = tape.op("Mean", [tape.op("Square", [step])], ())
    step = tape.op("RealDiv", [step, length], over=[step])
    return tape.op("Mul", [step, size], over=[step])


def _adagrad(tape: Tape, weight: TapeValue, grad: TapeValue, slot: TapeValue) -> TapeValue:
    """The square is added to the slot where it lies; then the slot's root divides the gradient."""
    square = tape.op("Square", [grad])
    moved = tape.op("AssignAddVariableOp", [slot, square], (), work=square.bytes)
    root = tape.op("AddV2", [slot, moved], weight.shape)
    root = tape.op("Sqrt", [root], over=[root])
    scaled = tape.op("Mul", [_dense(tape, weight, grad)], weight.shape, over=[grad], rank=-2)
    return tape.op("RealDiv", [scaled, root], over=[scaled, root])


def _adamax(
    tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue], ready: list[TapeValue]
) -> TapeValue:
    """The second slot is replaced by the greater of itself, decayed, and the gradient's size."""
    moved = _drawn_nearer(tape, slots[0], _dense(tape, weight, grad))
    size = tape.op("Abs", [_dense(tape, weight, grad)], over=[grad])
    greater = tape.op("Maximum", [ready[0], size], weight.shape, over=[ready[0], size])
    tape.consume("AssignVariableOp", [greater], replaces=slots[1])
    step = tape.op("Mul", [slots[0], moved], weight.shape)
    below = tape.op("AddV2", [greater])
    below = tape.op("Mul", [below], over=[below])
    return tape.op("RealDiv", [step, below], over=[step, below])


def _drawn_nearer(tape: Tape, slot: TapeValue, value: TapeValue) -> TapeValue:
    """A share of the difference is added to the slot where it lies; what waits for that reads the result."""
    change = tape.op("Sub", [value, slot], slot.shape, over=[value])
    change = tape.op("Mul", [change], over=[change])
    return tape.op("AssignAddVariableOp", [slot, change], (), work=change.bytes)


def _ftrl(
    tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue], ready: list[TapeValue]
) -> TapeValue:
    """Roots of the first slot before and after the square is added; the weight is made anew of the second.
    What the weight adds to the gradient is made, though it is nothing by default.
    """
    whole = _dense(tape, weight, grad)
    square = tape.op("Square", [whole])
    added = tape.op("AddV2", [slots[0], square], weight.shape, over=[square])
    root = tape.op("Sqrt", [added])
    change = tape.op("Sub", [root, ready[0]], over=[root, ready[0]])
    change = tape.op("Mul", [change, weight], over=[change])
    used = tape.op("AddV2", [whole, ready[1]], weight.shape, over=[whole, ready[1]])
    change = tape.op("Sub", [used, change], over=[used, change])
    moved = tape.op("AssignAddVariableOp", [slots[1], change], (), work=change.bytes)
    below = tape.op("RealDiv", [root], over=[root])
    clipped = tape.op("Minimum", [slots[1], moved], weight.shape)
    clipped = tape.op("Sub", [clipped, slots[1]], over=[clipped])
    made = tape.op("RealDiv", [clipped, below], over=[clipped, below])
    tape.consume("AssignVariableOp", [added], replaces=slots[0])
    return made


def _generic(
    tape: Tape,
    kind: Optimizer,
    weight: TapeValue,
    grad: TapeValue,
    slots: list[TapeValue],
    ready: list[TapeValue],
) -> TapeValue:
    """Other optimizers: each slot is replaced by its decayed self and the gradient's square, and the step
    divides by a root.
    """
    if kind.name == "lion":
        return _lion(tape, weight, grad, slots, ready)
    value, left = weight, ready[len(slots) :]
    averaged = slots[:1] if kind.name == "adadelta" else slots
    for at, slot in enumerate(averaged):
        square = _dense(tape, weight, tape.op("Square", [grad]))
        decayed = ready[at] if at < len(ready) else slot
        value = tape.op(
            "AddV2", [decayed, square], weight.shape, over=[decayed, square] if at < len(ready) else [square]
        )
        tape.consume("AssignVariableOp", [value], replaces=slot)
    root = tape.op("Sqrt", [value], weight.shape)
    whole = _dense(tape, weight, grad)
    scaled = tape.op("Mul", [whole, *left], weight.shape, over=[whole, *left], rank=-2)  # behind the squares
    step = tape.op("RealDiv", [scaled, root], over=[scaled, root])
    if kind.name == "adadelta":
        _add_squared_step(tape, weight, step, ready[1], slots[1])
    return step


def _scattered(
    tape: Tape,
    kind: Optimizer,
    weight: TapeValue,
    grad: TapeValue,
    slots: list[TapeValue],
    ready: list[TapeValue],
) -> TapeValue:
    """A step of the rows that were looked up, divided by the root of a slot: of its rows in Keras 2, of the
    whole table in Keras 3.
    """
    squares = tape.op("Square", [grad])
    if kind.name == "adagrad" or not tape.keras_3:
        slot = (ready or slots)[0]
        added = tape.op("ResourceScatterAdd", [squares, slot], (), work=squares.bytes)
        if kind.name == "adagrad" and not tape.keras_3:
            rows = tape.op("ResourceGather", [slot, added], grad.shape)
            return tape.op("RealDiv", [tape.op("Mul", [grad]), rows], over=[rows])
        value = tape.op("ReadVariableOp", [slot, added], weight.shape)
        root = tape.op("Sqrt", [value], over=[value])
    else:
        spread = _dense(tape, weight, squares)
        value = tape.op("AddV2", [ready[0], spread], weight.shape, over=[ready[0], spread])
        tape.consume("AssignVariableOp", [value], replaces=slots[0])
        root = tape.op("Sqrt", [value], weight.shape)
        tape.ops[-1] = replace(tape.ops[-1], after=(len(tape.ops) - 2,))  # the slot is read when assigned
    scaled = tape.op("Mul", [grad])
    rows = tape.op("GatherV2", [root, *_undefined(tape, root)], grad.shape)
    step = tape.op("RealDiv", [scaled, rows], over=[scaled, rows])
    if kind.name == "adadelta":
        _add_squared_step(tape, weight, step, ready[1], slots[1])
    return step


def _undefined(tape: Tape, root: TapeValue) -> list[TapeValue]:
    """Whether rows divided by it are undefined anywhere: Keras 3 looks at the whole table for zeros and NaNs
    first (`indexed_slices_div`, keras/src/backend/tensorflow/sparse.py).
    """
    if not tape.keras_3:
        return []
    told = [tape.op(name, [root], dtype="bool") for name in ("Equal", "IsNan")]
    return [tape.op("Any", [tape.op("LogicalOr", told, over=told)], (), "bool")]


def _add_squared_step(
    tape: Tape, weight: TapeValue, step: TapeValue, decayed: TapeValue, slot: TapeValue
) -> None:
    """Adadelta's second slot is replaced by its decayed self and the square of the step."""
    square = _dense(tape, weight, tape.op("Square", [step]))
    total = tape.op("AddV2", [decayed, square], weight.shape, over=[decayed, square])
    tape.consume("AssignVariableOp", [total], replaces=slot)


def _lion(
    tape: Tape, weight: TapeValue, grad: TapeValue, slots: list[TapeValue], ready: list[TapeValue]
) -> TapeValue:
    """The sign of one mixture is the step, another is the new slot."""
    mixed = []
    for decayed in ready:
        share = tape.op("Mul", [_dense(tape, weight, grad)])
        mixed.append(tape.op("AddV2", [decayed, share], over=[decayed, share]))
    tape.consume("AssignVariableOp", [mixed[1]], replaces=slots[0])
    return tape.op("Sign", [mixed[0]], over=[mixed[0]])
