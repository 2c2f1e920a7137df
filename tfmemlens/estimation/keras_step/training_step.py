"""From a completed network to the ops of one step, forward, backward and update."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tfmemlens.estimation.keras_step import optimizers
from tfmemlens.estimation.keras_step.losses import loss_of, losses_of
from tfmemlens.estimation.keras_step.lowering import LoweringContext, known, lower
from tfmemlens.estimation.keras_step.lowering._context import EITHER, cast, sizes_of, time_in_front
from tfmemlens.estimation.keras_step.penalties import Penalty, penalty_of, penalty_of_activity, seeds_of
from tfmemlens.estimation.keras_step.summing import sum_in_variables
from tfmemlens.estimation.keras_step.tape import Tape, TapeValue
from tfmemlens.estimation.needed_limit import FETCHED_BATCHES
from tfmemlens.knowledge.half_products import widened
from tfmemlens.knowledge.keras_layers import compute_dtype, model_types
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.network import LayerSpec, Network, TensorRef
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass, field, replace

_HANDLE_BYTES = 200
"""About what a handle asks for: its chunk has 256."""
_FIRST_TO_FUSE_VOLUMES = (2, 5)
"""Keras 2.4 did not, 2.11 does (their `BatchNormalization.build`)."""
Made = dict[tuple[str, int], list[TapeValue]]


@dataclass
class TrainingStep:
    """The ops of a step and what stands before it."""

    tape: Tape
    weights: list[tuple[str, TapeValue, bool]] = field(default_factory=list)
    """(layer, weight, trainable)"""
    slots: list[tuple[str, TapeValue]] = field(default_factory=list)
    scalars: list[TapeValue] = field(default_factory=list)
    """Counters, rates, metrics: each takes a chunk."""
    handles: dict[int, TapeValue] = field(default_factory=dict)
    """By a variable's buffer the handle that names it: on the CPU it takes a chunk, too."""
    inputs: list[TapeValue] = field(default_factory=list)
    outputs: list[TapeValue] = field(default_factory=list)
    arrays: list[TapeValue] = field(default_factory=list)
    """What `fit(x, y)` copied: the inputs and labels of all samples."""
    fetched: list[TapeValue] = field(default_factory=list)
    """Batches that `fit` has ready beside that of the step."""
    calls: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """For each layer's path the ranges of ops of its calls."""
    unknown: list[str] = field(default_factory=list)
    """Layers of a kind whose ops are not known."""
    not_understood: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Layers of a known kind whose description lacks something: what, and the bytes of their outputs."""


def build(
    network: Network,
    optimizer: optimizers.Optimizer,
    training: bool,
    device: str,
    threads: int,
    dtype: str | None,
    workers: int = 4,
    *,
    l3_bytes: int | None = None,
    onednn: bool = False,
    fetches: bool = False,
    open_batch: bool = False,
) -> TrainingStep:
    """The step of a network whose shapes are known."""
    keras_3 = network.dialect == "keras-3"
    scatters = training and keras_3 and optimizer.scatters
    wide = widened(keras_3, device)
    step = TrainingStep(Tape(training, keras_3, scatters, fetches, wide, onednn, open_batch))
    fuses_volumes = not optimizers.is_older(network.version, _FIRST_TO_FUSE_VOLUMES)
    builder = _Builder(step, device, threads, keras_3, dtype, workers, l3_bytes, onednn, fuses_volumes)
    builder.network(network, {}, "")
    outputs = step.outputs
    step.scalars = [
        step.tape.source(f"counters and metrics/{at}", (), "float32", Kind.CONSTANT)
        for at in range(optimizer.scalars + 6)
    ]
    if training:
        tape = step.tape
        seeds = []
        for value, name in zip(outputs, losses_of(network, len(outputs)), strict=True):
            loss = loss_of(tape, value, name)
            step.inputs.append(loss.labels)
            seeds.append((loss.read, loss.gradient))
        tape.phase = Phase.GRADIENT
        for penalty in builder.penalties:
            if tape.needs(penalty.value):
                seeds += seeds_of(tape, penalty)
        tape.differentiate(seeds)
        tape.phase = Phase.OPTIMIZER
        gradients = _clipped(tape) if optimizer.clips_together else tape.gradients
        for layer, weight, trainable in step.weights:
            grad = gradients.get(weight.buffer)
            if trainable:
                tape.layer = layer
                slots = [
                    tape.source(
                        f"{optimizer.name}/{layer}/slot_{at}",
                        shape,
                        weight.dtype,
                        Kind.OPTIMIZER_SLOT,
                        layer=layer,
                    )
                    for at, shape in enumerate(optimizer.slot_shapes(weight.shape))
                ]
                step.slots += [(layer, slot) for slot in slots]
                own = slots[: len(slots) - optimizer.averages]
                if grad is not None and optimizer.name != "none":
                    optimizers.update(
                        tape,
                        optimizer,
                        weight,
                        grad,
                        own,
                        optimizers.prepare(tape, optimizer, weight, grad, own),
                    )
    read_by_nobody = training and network.metrics is not None
    step.tape.prune(_best_classes(step, network.metrics or ()) if read_by_nobody else outputs)
    if device == "cpu":
        sum_in_variables(step.tape)
    if step.tape.scatters:
        _copy_tables_first(step.tape)
    if device == "cpu":
        _handles(step)
    return step


def add_arrays(step: TrainingStep, samples: int) -> None:
    """Put beside the step what `fit(x, y)` holds of arrays of so many samples."""

    def beside(name: str, value: TapeValue, count: int) -> TapeValue:
        node = f"{name}/{step.tape.buffers[value.buffer].node}"
        return step.tape.source(node, (count, *value.shape[1:]), value.dtype, Kind.INPUT, layer=name)

    for value in step.inputs:
        if not value.shape:  # labels of an output that nobody can tell: the step is refused, or traced
            continue
        step.arrays.append(beside("arrays of fit", value, samples))
        step.fetched += [beside("fetched batch", value, value.shape[0]) for _ in range(FETCHED_BATCHES)]


_ARGMAX_METRICS = {"accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy"}


def _best_classes(step: TrainingStep, metrics: Collection[str]) -> list[TapeValue]:
    """What accuracy makes of each output with several classes. Keras 3's `argmax` puts a tiny number for each
    negative zero first (`keras/src/backend/tensorflow/numpy.py`), in tensors of the output's shape.
    """
    if not _ARGMAX_METRICS.intersection(metrics):
        return []
    tape, best = step.tape, []
    tape.layer, tape.phase = "metrics", Phase.FORWARD
    for output in step.outputs:
        if output.shape[-1:] <= (1,):
            continue
        _leave_open_when_probabilities_are_made(tape, output)
        if tape.keras_3:
            signs = tape.op("Less", [tape.op("BitwiseAnd", [output], dtype="int32")], dtype="bool")
            zeros = tape.op("Equal", [output], dtype="bool")
            chosen = tape.op("LogicalAnd", [zeros, signs], over=[zeros, signs])
            output = tape.op("SelectV2", [output, chosen], over=[output])
        best.append(tape.op("ArgMax", [output], output.shape[:-1], "int32"))
    return best


def _leave_open_when_probabilities_are_made(tape: Tape, output: TapeValue) -> None:
    """The loss reads the logits, accuracy the softmax of them: whichever comes second writes over them. In
    five of ten nets the softmax and all of accuracy came before the whole backward pass, in five after it, in
    the other five on the other version (2.11, 2.21).
    """
    for at, op in enumerate(tape.ops):
        if op.op == "Softmax" and output.buffer in op.writes:
            tape.ops[at] = replace(op, rank=EITHER)


def _copy_tables_first(tape: Tape) -> None:
    """Tables are copied while the batch is fetched; the look-ups come when it is there, after all copies."""
    copies = {op.writes[0]: at for at, op in enumerate(tape.ops) if op.op == "ReadVariableOp" and op.early}
    for at, op in enumerate(tape.ops):
        if copies.keys() & set(op.reads):
            tape.ops[at] = replace(op, after=(*op.after, *copies.values()))


def _clipped(tape: Tape) -> dict[int, TapeValue]:
    """The gradients of all weights, each scaled by the norm of all, which waits for every one of them."""
    tape.layer = ""
    squares = [tape.op("L2Loss", [grad], ()) for grad in tape.gradients.values()]
    norm = tape.op("Sqrt", [tape.op("AddN", squares, ())]) if squares else None
    return {
        weight: tape.op("Mul", [grad, norm], grad.shape, over=[grad]) if norm else grad
        for weight, grad in tape.gradients.items()
    }


def _handles(step: TrainingStep) -> None:
    variables = [*(weight for _, weight, _ in step.weights), *step.scalars, *(slot for _, slot in step.slots)]
    for value in variables:
        buffer = step.tape.buffers[value.buffer]
        step.handles[value.buffer] = step.tape.source(
            f"{buffer.node}/handle", (_HANDLE_BYTES,), "uint8", Kind.CONSTANT, layer=buffer.owner.layer
        )


@dataclass
class _Builder:
    step: TrainingStep
    device: str
    threads: int
    keras_3: bool
    dtype: str | None
    workers: int
    l3_bytes: int | None = None
    onednn: bool = False
    fuses_volumes: bool = True
    weights: dict[str, dict[str, TapeValue]] = field(default_factory=dict)
    penalties: list[Penalty] = field(default_factory=list)
    holder: str | None = None
    """The layer of the user's model that runs the layers of a nested one as its own: TimeDistributed."""
    shared: dict[str, tuple[str, LayerSpec]] = field(default_factory=dict)
    """By the path of a TimeDistributed the layer that it wraps and that its network calls by itself, too."""

    def network(self, network: Network, given: Mapping[str, list[TapeValue]], prefix: str) -> list[TapeValue]:
        """Write all calls of a network; returns its outputs."""
        made: Made = {}
        specs = {layer.name: layer for layer in network.layers}
        for layer in network.layers:
            if (same := _wrapped_too(layer, specs)) is not None:
                self.shared[f"{prefix}{layer.name}"] = f"{prefix}{same.name}", same
            if not layer.calls:
                self._weights(f"{prefix}{layer.name}", layer)
        for name, index in model_types.order(network):
            layer = specs[name]
            call = layer.calls[index]
            path = f"{prefix}{name}"
            if layer.class_name == "InputLayer" or (not call.inbound and layer.network is None):
                made[name, index] = given.get(name) or self._input(path, call.outputs)
                continue
            inputs = [value for ref in call.inbound if (value := _lookup(made, ref)) is not None]
            if layer.network is not None:
                done = model_types.applied(layer.network, call.inputs, self.dtype, trainable=layer.trainable)
                made[name, index] = self.network(
                    done,
                    {ref.layer: [value] for ref, value in zip(done.inputs, inputs, strict=False)},
                    f"{path}/",
                )
                continue
            start = len(self.step.tape.ops)
            made[name, index] = self._call(path, layer, inputs, call.outputs)
            self.step.calls.setdefault(path, []).append((start, len(self.step.tape.ops)))
        outputs = [value for ref in network.outputs if (value := _lookup(made, ref)) is not None]
        if not prefix:
            self.step.outputs = outputs
        return outputs

    def _input(self, path: str, outputs: Sequence[TensorType]) -> list[TapeValue]:
        values = [
            self.step.tape.source(path, sizes_of(kind), kind.dtype or "float32", Kind.INPUT, layer=path)
            for kind in outputs
        ]
        self.step.inputs += values
        return values

    def _call(
        self, path: str, layer: LayerSpec, inputs: list[TapeValue], outputs: tuple[TensorType, ...]
    ) -> list[TapeValue]:
        tape = self.step.tape
        tape.layer, tape.phase = self.holder or path, Phase.FORWARD
        dtype = compute_dtype(layer.config.get("dtype"), outputs)
        if "float" in dtype:
            inputs = [
                value if value.dtype == dtype or "float" not in value.dtype else cast(tape, value, dtype)
                for value in inputs
            ]
        weights = {}
        if not (layer.inner and layer.inner[0].network):
            weights = self._weights(*self.shared.get(path, (path, layer)))
        job = LoweringContext(
            tape,
            layer,
            inputs,
            outputs,
            weights,
            dtype,
            self.keras_3,
            self.device,
            self.threads,
            self.workers,
            l3_bytes=self.l3_bytes,
            onednn=self.onednn,
            fuses_volumes=self.fuses_volumes,
        )
        if not known(job) and path not in self.step.unknown:
            self.step.unknown.append(path)
        if (
            layer.class_name == "TimeDistributed"
            and layer.inner
            and (layer.inner[0].network is None or layer.inner[0].network.inputs)
            and len(job.inputs[0].shape if job.inputs else ()) > 1
            and job.outputs
            and len(job.shape) > 1
        ):
            return self._distributed(path, layer, job)
        made = lower(job)
        self._note_what_was_not_understood(path, job)
        self.penalties += [
            penalty for value in made if (penalty := penalty_of_activity(layer, self.holder or path, value))
        ]
        return made

    def _note_what_was_not_understood(self, path: str, job: LoweringContext) -> None:
        if job.not_understood is not None and not job.spec.problem:  # a problem has a note of its own
            weight = sum(kind.bytes or 0 for kind in job.outputs)
            reason = f"{path} ({job.spec.class_name}): {job.not_understood}"
            self.step.not_understood[path] = (reason, weight)

    def _distributed(self, path: str, layer: LayerSpec, job: LoweringContext) -> list[TapeValue]:
        """The inner layer on [batch * time, …] in Keras 2. Keras 3 calls it once a time step (`call` of
        time_distributed.py, "use a Python for loop"), and joins what comes out.
        """
        tape, x = job.tape, job.inputs[0]
        if not self.keras_3:
            flat = tape.alias(x, (x.shape[0] * x.shape[1], *x.shape[2:]))
            shape = job.shape
            outputs = TensorType((shape[0] * shape[1], *shape[2:]), job.outputs[0].dtype)
            made = self._inside(path, layer.inner[0], job, flat, outputs)
            return [tape.alias(value, sizes_of(kind)) for value, kind in zip(made, job.outputs, strict=False)]
        steps = tape.slices(_transposed(tape, x))
        output = TensorType((job.shape[0], *job.shape[2:]), job.outputs[0].dtype)
        made = [self._inside(path, layer.inner[0], job, each, output)[0] for each in steps]
        tape.layer = self.holder or path
        return [_transposed(tape, tape.joined(made))]

    def _inside(
        self, path: str, inner: LayerSpec, job: LoweringContext, x: TapeValue, output: TensorType
    ) -> list[TapeValue]:
        """One call of what a TimeDistributed holds, a layer or a model."""
        if inner.network is None:
            inner_job = replace(job, spec=inner, inputs=[x], outputs=(output,))
            made = lower(inner_job)
            self._note_what_was_not_understood(path, inner_job)
            return made
        done = model_types.applied(inner.network, [TensorType(x.shape, x.dtype)], self.dtype)
        outer, self.holder = self.holder, path
        holds_them, _ = self.shared.get(path, (path, inner))
        made = self.network(done, {done.inputs[0].layer: [x]}, f"{holds_them}/")
        self.holder = outer
        return made

    def _weights(self, path: str, layer: LayerSpec) -> dict[str, TapeValue]:
        if path not in self.weights:
            self.weights[path] = {}
            for spec in layer.weights:
                owner = self.holder or path
                value = self.step.tape.source(
                    f"{path}/{spec.name}",
                    spec.shape,
                    spec.dtype,
                    Kind.PARAMETER,
                    spec.trainable and self.step.tape.training,
                    owner,
                )
                self.weights[path][spec.name] = value
                if penalty := penalty_of(layer.config, spec.name, owner, value):
                    self.penalties.append(penalty)
                self.step.weights.append((owner, value, spec.trainable))
        return self.weights[path]


def _wrapped_too(wrapper: LayerSpec, layers: Mapping[str, LayerSpec]) -> LayerSpec | None:
    """The layer of the same network that a TimeDistributed wraps, as where one encoder reads many texts and
    one: its weights stand once. A file has its description twice, under one name.
    """
    inner = wrapper.inner[0] if wrapper.class_name == "TimeDistributed" and wrapper.inner else None
    other = layers.get(inner.name) if inner else None
    return other if inner and other and _description(inner) == _description(other) else None


def _description(layer: LayerSpec) -> object:
    """What a layer is, whoever reads it; which of two was written first shows in `shared_object_id`."""
    inner = layer.network.layers if layer.network else ()
    return layer.class_name, layer.name, _plain(layer.config), [_description(each) for each in inner]


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if key != "shared_object_id"}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _lookup(made: Made, ref: TensorRef) -> TapeValue | None:
    values = made.get((ref.layer, ref.call), [])
    return values[ref.port] if 0 <= ref.port < len(values) else None


def _transposed(tape: Tape, value: TapeValue) -> TapeValue:
    """Batch and time change places, and again in the gradient."""
    made = time_in_front(tape, value)
    tape.gradient(made, [value], lambda grad: [time_in_front(tape, grad)])
    return made
