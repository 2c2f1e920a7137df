"""What the user's own process said of itself: its layers and variables by the user's names, and the tensors
that Python held when it failed.
"""

from __future__ import annotations

import os

from tfmemlens.model.attribution import Kind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass

LEAST_BYTES = 1024
"""A smaller tensor tells nothing by its size: scalars of all kinds have it."""


@dataclass(frozen=True, slots=True)
class LiveVariable:
    """A variable of the program, of a layer if it belongs to one."""

    name: str
    layer: str | None
    kind: Kind
    tensor: TensorType
    device: str = ""
    """Such as `CPU:0`; empty where it is not known."""
    now: TensorType | None = None
    """Of its value when the program was asked, where it may have values of several shapes."""

    def may_be_on(self, device: str) -> bool:
        """Whether it may lie on a device (`/device:GPU:0`), as far as both are known."""
        mine, theirs = self.device.partition(":")[0], device.upper()
        return not mine or "PU:" not in theirs or f"{mine}:" in theirs


@dataclass(frozen=True, slots=True)
class StandingTensors:
    """Tensors of one type that Python held before a step, wherever it held them."""

    tensor: TensorType
    count: int
    device: str = ""
    """Such as `CPU:0`; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class KeptConstant:
    """A constant that a session or a function keeps for one of its graphs, not always the traced step's."""

    name: str
    tensor: TensorType
    requested_bytes: int
    size_bytes: int
    """Of the allocator's chunk."""
    allocator: str
    """Empty where it is not known."""
    count: int = 1
    is_variable: bool = False
    """Whether it is a variable that only a function's traces still keep."""
    is_folded: bool = False
    """Whether nobody wrote it: the runtime computes it once of constants alone, and most likely keeps it."""


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A `tf.function` by its name, with the bytes of the constants that all its traces keep, and of the
    tensors that one of them alone captured.
    """

    name: str
    traces: int
    bytes: int
    variable_bytes: int = 0
    """How much of it are variables that nothing else keeps."""


@dataclass(frozen=True, slots=True)
class OpPlace:
    """A line of the program, and the ops of its functions that it makes in no scope."""

    function: str
    file: str
    code_line: int
    ops: tuple[str, ...]

    @property
    def label(self) -> str:
        """`encode (net.py:24)`; of what stands in no function the line alone."""
        place = f"{self.file}:{self.code_line}"
        named = self.function and not self.function.startswith("<")
        return f"{self.function} ({place})" if named else place


@dataclass(frozen=True, slots=True)
class LiveModel:
    """The layers of the program's models by their paths in `model.layers`, and all variables."""

    names: tuple[str, ...]
    """What the models are called: their scopes stand before their layers'."""
    layers: tuple[tuple[str, str], ...]
    """(path, class) of each, in the models' order."""
    variables: tuple[LiveVariable, ...] = ()
    outputs: tuple[tuple[str, tuple[int | None, ...]], ...] = ()
    """(path, shape) of what layers of functional models return; the batch is None."""

    tensors: tuple[StandingTensors, ...] = ()
    """The most bytes first."""
    unbuilt: tuple[tuple[str, tuple[int | None, ...]], ...] = ()
    """(path, shape) of the weight that a layer makes when it is first called, for layers that never were."""
    inputs: tuple[TensorType, ...] = ()
    """What the traced step was given, the batch in its place."""
    batch: int | None = None
    """How many samples the traced step was given."""
    failed_batch: int | None = None
    """How many the step was given that failed, where it is another."""
    ahead: bool = False
    """Whether an iterator gives them: the next batch is made before it is asked for."""
    constants: tuple[KeptConstant, ...] = ()
    """The most bytes first."""
    failed_in: str | None = None
    """The path of the layer whose own code a failure came through."""
    functions: tuple[TracedFunction, ...] = ()
    """The most bytes first."""
    description: str | None = None
    """Keras's JSON of the largest model, where it has one."""
    optimizer: str | None = None
    """What that model was compiled with, as its class's name."""
    chunks: tuple[tuple[str, int, int], ...] = ()
    """(allocator, bytes asked for, bytes of the chunk) of what was in use in a dump beside it."""
    places: tuple[OpPlace, ...] = ()
    fetches: tuple[str, ...] = ()
    """What the run of a session was to compute that failed before any was traced."""
    feeds: tuple[tuple[str, tuple[int | None, ...]], ...] = ()
    """The placeholders that it was given, with their shapes."""
    fed: tuple[tuple[str, TensorType], ...] = ()
    """The placeholders of the session's run that failed, with the arrays that they were given."""
    failed_scope: str | None = None
    """The scope of the eager op that failed."""
    failed_step: bool = False
    """Whether the traced step is the one that failed, the first of its kind: it has no peak of its own."""
    alike: int = 0
    """How many models with the same layers and weights are alive; 0 where all differ."""
    until_failure: bool = False
    """Whether the newest traced step is the one that failed, of whatever kind."""
    told_failure: bool = False
    """Whether its process saw a failure for memory."""

    @property
    def failed(self) -> bool:
        """Whether its program says of itself that it failed."""
        told = self.failed_batch, self.failed_in, self.failed_scope
        return self.failed_step or self.told_failure or any(each is not None for each in told)

    def makers_of(self, shape: tuple[int | None, ...], kind: str | None = None) -> tuple[str, ...]:
        """The layers, of this class if one is given, whose output has this shape, whatever the batch. Where
        no output is known, a class is enough if the layer's kernel ends in the shape's last size.
        """
        classes = dict(self.layers)
        told = {path for path, _ in self.outputs}
        paths = [
            path
            for path, known in self.outputs
            if len(known) == len(shape) > 1
            and all(mine in (None, theirs) for mine, theirs in zip(known, shape, strict=True))
            and any(known)
        ]
        if kind is not None and len(shape) > 1:
            paths += [
                each.layer
                for each in self.variables
                if each.layer
                and each.layer not in told
                and _ends_alike(each.tensor.shape, shape, classes.get(each.layer))
            ]
        return tuple(path for path in dict.fromkeys(paths) if kind in (None, classes.get(path)))

    def widest_like(self, shape: tuple[int | None, ...]) -> str | None:
        """The one layer whose output, as wide as this shape, an op without a name makes or differentiates;
        of a variable without a layer its name. None where several are as wide.
        """
        if len(shape) < 2:
            return None
        told, classes = {path for path, _ in self.outputs}, dict(self.layers)
        names = set(self.makers_of(shape)) | {
            each.layer or each.name
            for each in self.variables
            if each.kind is not Kind.OPTIMIZER_SLOT
            and each.layer not in told
            and _ends_alike(each.tensor.shape, shape, classes.get(each.layer or ""))
        }
        return names.pop() if len(names) == 1 else None

    def being_made(self, shape: tuple[int | None, ...]) -> tuple[str, ...]:
        """The layers without weights as yet whose first weight has this shape."""
        return tuple(path for path, known in self.unbuilt if _fits(known, shape))

    def with_weight(self, shape: tuple[int | None, ...]) -> tuple[str, ...]:
        """The layers with a weight of this shape, of two dimensions or more: vectors are alike. A product of
        matrices takes a matrix as a batch of one.
        """
        if len(shape) == 3 and shape[0] == 1:
            shape = shape[1:]
        paths = (
            each.layer
            for each in self.variables
            if each.layer and each.kind is Kind.PARAMETER and each.tensor.shape == shape and len(shape) > 1
        )
        return tuple(dict.fromkeys(paths))

    def like_one_variable(self, shape: tuple[int | None, ...]) -> str | None:
        """The variable with this shape, of two dimensions or more, where it is the only one beside its own
        slots (`w/Adagrad`); None where the batch may have made it.
        """
        given = {self.batch, self.failed_batch, *(each.shape[0] for each in self.inputs if each.shape)}
        if len(shape) < 2 or shape[0] in given:
            return None
        names = [each.name for each in self.variables if each.tensor.shape == shape]
        shortest = min(names, key=len, default=None)
        alone = all(name == shortest or name.startswith(f"{shortest}/") for name in names)
        return shortest if alone else None

    def differentiated(self, op: str, shape: tuple[int | None, ...]) -> tuple[str, ...]:
        """The layers with a kernel of which an op of the backward pass makes this shape: the gradient of the
        kernel, of what the layer read, of its activation, or the patches of a convolution.
        """
        layers = []
        for each in self.variables:
            kernel = each.tensor.shape
            if each.layer is None or each.kind is not Kind.PARAMETER or kernel is None or len(kernel) < 2:
                continue
            if _of_gradient(op, kernel, shape):
                layers.append(each.layer)
        return tuple(dict.fromkeys(layers))


OF_A_TAPE = "gradient tape"
"""The kind of a holder that is no container: what a tape keeps until its gradient is taken."""
OF_A_DATA_SET = "data set"
"""The kind of a holder that is a data set of tensors, by the name that leads to it."""
OF_A_CALL = "call"
"""The kind of a holder that is a call of a library's which has not ended."""
OF_AN_ARRAY = "array given"
"""The kind of a holder that is a copy of an array: of what `fit` was given whole."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A container that holds tensors: the name that leads to it, None where none was found."""

    name: str | None
    kind: str
    """Its class: `list`, `dict`; `OF_A_TAPE`."""
    count: int
    bytes: int
    file: str | None = None
    code_line: int | None = None
    """The line of the program that fills it."""
    line: Line | None = None
    """Where the input says so."""
    scope: str | None = None
    """The scope that they were made in, of those that no name leads to."""
    calls: int = 0
    """In how many stays in that scope."""
    shown_bytes: int | None = None
    """What it refers to, where it keeps the whole for a part: a row of each batch; None where that is all."""
    call: str | None = None
    """What takes the array that was copied: `fit`; then `code_line` is that call's."""

    @property
    def place(self) -> str:
        """`train.py:41`; empty where the program's line is not known."""
        known = self.file and self.code_line
        return f"{os.path.basename(self.file or '')}:{self.code_line}" if known else ""

    @property
    def is_given(self) -> bool:
        """Whether it is a copy of an array of the program's, by whose name it goes."""
        return self.kind == OF_AN_ARRAY and self.name is not None

    @property
    def of_call(self) -> str | None:
        """The function and the line of the program whose call of a library has them: `encode (net.py:20)`."""
        if self.name is not None or self.kind not in (OF_A_CALL, OF_A_DATA_SET) or not self.place:
            return None
        return f"{self.call} ({self.place})" if self.call else self.place

    @property
    def is_input(self) -> bool:
        """Whether a step is fed from it."""
        return self.is_given or self.kind == OF_A_DATA_SET

    @property
    def is_tape(self) -> bool:
        """Whether a gradient tape holds them."""
        return self.kind == OF_A_TAPE


@dataclass(frozen=True, slots=True)
class HeldTensors:
    """Live tensors of one type, and who holds them, the most bytes first."""

    tensor: TensorType
    count: int
    bytes: int
    holders: tuple[Holder, ...]
    arrays: bool = False
    """Whether Python holds them as NumPy arrays, in the host's memory: what a session returned."""
    own: bool = False
    """Whether these are arrays of NumPy's own memory, and no allocator of TensorFlow's has them."""

    def may_be_on(self, where: str | None) -> bool:
        """Whether they may lie on a device (`/device:GPU:0`) or in what an allocator has, as far as that is
        known.
        """
        name = (where or "").upper()
        return not self.arrays or "CPU" in name or "HOST" in name or not ("GPU" in name or "TPU" in name)


def _ends_alike(
    kernel: tuple[int | None, ...] | None, shape: tuple[int | None, ...], kind: str | None
) -> bool:
    """Whether a layer of this class and kernel makes tensors as wide; a transposed convolution has what it
    reads last.
    """
    if kernel is None or len(kernel) < 2:
        return False
    return kernel[-2 if is_transposed(kind) else -1] == shape[-1]


def is_transposed(kind: str | None) -> bool:
    """Whether a class of layers runs forward what others run backward: `Conv2DTranspose`."""
    return kind is not None and kind.startswith("Conv") and kind.endswith("Transpose")


def _fits(known: tuple[int | None, ...], shape: tuple[int | None, ...]) -> bool:
    return len(known) == len(shape) and all(
        mine in (None, theirs) for mine, theirs in zip(known, shape, strict=True)
    )


def _of_gradient(op: str, kernel: tuple[int | None, ...], shape: tuple[int | None, ...]) -> bool:
    """Whether an op of the backward pass of a layer with this kernel may have made the shape."""
    if "Conv" in op:
        if len(kernel) < 3:
            return False
        patch = 1
        for size in kernel[:-1]:
            patch *= size or 0
        if "Filter" in op:
            return shape == kernel or shape[-1] == patch
        return (len(shape) == len(kernel) and shape[-1] == kernel[-2]) or shape[-1] == patch
    if "MatMul" in op:
        return len(kernel) == len(shape) == 2 and (shape == kernel or shape[-1] == kernel[0])
    return op.endswith("Grad") and len(shape) == len(kernel) and shape[-1] == kernel[-1]
