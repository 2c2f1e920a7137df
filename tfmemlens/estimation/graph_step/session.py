"""A few steps of a training graph in a session that never runs: variables are made, the step is walked
through until it repeats, the last one is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tfmemlens.errors import UsageError
from tfmemlens.estimation.graph_step.compiled import needed
from tfmemlens.estimation.graph_step.executor import Executor
from tfmemlens.estimation.graph_step.folding import folded
from tfmemlens.estimation.graph_step.inlining import inlined, unchained
from tfmemlens.estimation.graph_step.rewriting import ordered, rewritten
from tfmemlens.estimation.graph_step.tokens import Memory, Token, Variable
from tfmemlens.estimation.needed_limit import FETCHED_BATCHES
from tfmemlens.knowledge.bfc import FIRST_REGION_BYTES, Pool
from tfmemlens.knowledge.half_products import widened
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, AllocationTable
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import MIB
from tfmemlens.values import replace

Shape = tuple["int | None", ...]
ALLOCATOR = {"cpu": "bfc_cpu_allocator_for_gpu", "gpu": "GPU_0_bfc"}
STEPS = 4
_FIRST_OF_KERAS_3 = (2, 16)
_INPUTS = roles.PLACEHOLDERS | {"_Arg"}
_KERAS_TARGET = regex(r"_targets?(?:_\d+)?\Z")
"""Labels of Keras in TensorFlow 1, whose sizes the graph leaves open; they are fed, so they hold nothing of
the allocator.
"""


def of_graph(
    graph: Graph,
    fetches: Sequence[str],
    batch: int | None = None,
    *,
    shapes: Mapping[str, Shape] | None = None,
    device: str = "cpu",
    limit_bytes: int | None = None,
    threads: int = 1,
    optimized: bool = False,
    held_inputs: bool = False,
    variant: int = 0,
    steps: int = STEPS,
    notes: list[str] | None = None,
    unknown: dict[str, int] | None = None,
    onednn: bool = False,
    l3_bytes: int | None = None,
    pool: Pool | None = None,
    samples: int | None = None,
    old_blocks: Sequence[int] = (),
    workers: int = 1,
    chance: Random | None = None,
    late: bool = False,
    pace: float = 1.0,
) -> Timeline:
    """The predicted timeline of one step that computes `fetches` (node names, as in Session.run).

    `batch` replaces unknown first dimensions of the graph's inputs, `shapes` gives the whole shape of an
    input by its name. An `optimized` graph has been through Grappler already. `held_inputs`: the batch
    lives on this allocator, as with tf.data and tf.function, instead of being fed to a session. `notes`
    takes what could not be followed, `unknown` the bytes that pass through ops that are not known.
    `variant`: TensorFlow visits the readers of a tensor in an order that differs from run to run; 0 is by
    name, which real runs are nearest to. `pool`: the allocator, empty and without a limit; one that grows
    as the graph's TensorFlow does if none is given. `samples`: `held_inputs` are cut from arrays of so many
    samples, which `fit` copied, and it has further batches ready. `old_blocks`: what the program allocated
    before its variables and gave back after them. `workers`: so many nodes run at once, for as long as
    `chance` lets them. `late`: the step after many others, when all kernels that may count as cheap do.
    `pace`: how many times as much as on the processor that was measured a kernel does and counts as cheap.
    `l3_bytes`: the processor's cache, which Conv3D's gradients fill.
    Raises UsageError when a fetch is not in the graph or an input's shape is not known.
    """
    graph, names = inlined(graph, resolved(graph, fetches), calls_stay=optimized)
    graph = unchained(graph) if optimized else graph
    wide = widened(graph.version >= _FIRST_OF_KERAS_3, device)
    pool = pool or Pool(first_region_bytes=first_region(graph.version))
    memory = Memory(pool, onednn=onednn, l3_bytes=l3_bytes, widened=wide)
    old = [memory.pool.allocate(size) for size in old_blocks]
    feeds = _Feeds(batch, shapes or {})
    variables: dict[str, Variable] = {}
    _initialize(graph, memory, variables, threads)
    ready = ordered(graph, variant) if variant else graph
    if not optimized:
        ready = rewritten(graph, names, feeds, variant)
    executor = Executor(
        ready, memory, names, feeds, variables, threads, [] if notes is None else notes,
        workers=workers, chance=chance,
    )  # fmt: skip
    if pace != 1:
        executor.set_pace(pace)
    _complete(executor, memory)
    for block in old:
        assert block is not None, "a pool without a limit always finds room"
        memory.pool.free(block)
    if held_inputs:
        feeds.memory = memory
        for item in executor.items if samples else ():
            if item.node.op in _INPUTS:
                feeds.hold_arrays(item.node, samples or 0, batch or 1)
    begun = row = baseline = 0
    for left in reversed(range(steps)):
        begun, row, baseline = memory.clock, len(memory.rows), memory.pool.in_use_bytes
        if late and not left:
            executor.age()
        executor.step()
    executor.tell_guesses()
    if unknown is not None:
        unknown.update(executor.unknown)
    place = "/job:localhost/replica:0/task:0/device:" + ("GPU:0" if device == "gpu" else "CPU:0")
    return _timeline(
        memory, variables, begun, row, baseline, place, ALLOCATOR[device], limit_bytes, executor.order
    )


def first_region(version: tuple[int, ...]) -> int:
    """Bytes of a growing pool's first region: pools began with 1 MiB up to TensorFlow 2.3."""
    return MIB if () < version < (2, 4) else FIRST_REGION_BYTES


class _Feeds:
    """Tensors for the graph's inputs: they come from outside, so they hold no memory of this allocator."""

    def __init__(self, batch: int | None, shapes: Mapping[str, Shape]) -> None:
        self.batch = batch
        self.shapes = shapes
        self.memory: Memory | None = None
        """Where the batch lives, when it does."""
        self.held: dict[str, list[Token]] = {}

    def __call__(self, node: Node) -> list[Token]:
        if node.name in self.held:
            return self.held[node.name]
        made = [self._token(node.name, each) for each in self.declared(node)]
        if self.memory is not None:
            for token in made:
                if token.bytes:
                    token.buffer = self.memory.allocate(
                        node.name, node.op, token.bytes, token.shape, token.dtype, PERSISTENT
                    )
            self.held[node.name] = made
        return made

    def hold_arrays(self, node: Node, samples: int, batch: int) -> None:
        """Allocate what `fit` holds of an input beside the batch of the step."""
        assert self.memory is not None
        for token in (self._token(node.name, each) for each in self.declared(node)):
            for name, count in (("arrays of fit", samples), *[("fetched batch", batch)] * FETCHED_BATCHES):
                if token.bytes:
                    size = count * token.bytes // batch
                    shape = (count, *token.shape[1:])
                    self.memory.allocate(f"{name}/{node.name}", node.op, size, shape, token.dtype, PERSISTENT)

    def is_static(self, node: Node) -> bool:
        """Whether the graph itself states the shapes of an input."""
        return all(each.shape is not None and None not in each.shape for each in self.declared(node))

    def declared(self, node: Node) -> list[TensorType]:
        """What the graph says of an input's tensors."""
        listed = node.attributes.get("output_shapes")
        if isinstance(listed, tuple):
            types = node.attributes.get("output_types")
            kinds = types if isinstance(types, tuple) else ("float32",) * len(listed)
            return [TensorType(shape, str(kind)) for shape, kind in zip(listed, kinds, strict=False)]
        if node.outputs:
            return list(node.outputs)
        shape = node.attributes.get("shape")
        return [
            TensorType(
                shape if isinstance(shape, tuple) else None,
                str(node.attributes.get("dtype") or node.attributes.get("T") or "float32"),
            )
        ]

    def _token(self, name: str, known: TensorType) -> Token:
        shape = self.shapes.get(name, known.shape)
        if shape is None:
            if known.dtype == "bool":
                return Token((), "bool", (1,))
            raise UsageError(
                f"the shape of the input {name} is not known",
                f"give it, as in --input-shape {name}=32x224x224x3",
            )
        if shape and shape[0] is None:
            if self.batch is None:
                raise UsageError(f"the batch of the input {name} is not known", "give it with --batch")
            shape = (self.batch, *shape[1:])
        if None in shape and _KERAS_TARGET.search(name):
            shape = tuple(size if size is not None else 1 for size in shape)
        if None in shape:
            raise UsageError(
                f"the input {name} has dimensions that the graph leaves open: {list(shape)}",
                "give its whole shape with --input-shape",
            )
        return Token(tuple(size or 0 for size in shape), known.dtype or "float32")


def resolved(graph: Graph, fetches: Sequence[str]) -> list[str]:
    """The nodes behind names such as `loss:0`, `train_op` or `^update` (only waited for). Raises UsageError
    with the likeliest names.
    """
    plain_names = []
    for name in fetches:
        plain = split_reference(name)[0]
        if plain not in graph.nodes:
            near = [each for each in candidates(graph) if each]
            raise UsageError(
                f"the graph has no node {plain!r}",
                f"fetches that look like a training step: {', '.join(near[:6]) or 'none'}",
            )
        plain_names.append(f"^{plain}" if name.startswith("^") else plain)
    return plain_names


def reached(graph: Graph, fetches: Sequence[str]) -> list[str]:
    """The nodes that a step with these fetches runs."""
    return needed(graph, fetches)


def candidates(graph: Graph) -> list[str]:
    """Nodes that nobody reads and that update variables, those with most updates first: the train op is one
    of them.
    """
    updates = {node.name for node in graph if "Apply" in node.op or node.op in roles.COUNTS}
    ends = [
        node
        for node in graph
        if node.op in ("NoOp", "AssignAdd", "AssignAddVariableOp", "Identity")
        and not graph.consumers.get(node.name)
    ]
    counted = [(len(updates.intersection(needed(graph, [node.name]))), node.name) for node in ends]
    return [name for count, name in sorted(counted, key=lambda pair: (-pair[0], pair[1])) if count]


def _initialize(graph: Graph, memory: Memory, variables: dict[str, Variable], threads: int) -> None:
    """Run the variables' initial assignments, as `global_variables_initializer` does: its constants stay in
    memory, too.
    """
    assignments = [
        node.name for node in graph if node.op in roles.ASSIGNS and node.inputs and _is_first(node, graph)
    ]
    if not assignments:
        return
    feeds = _Feeds(1, {})
    Executor(
        folded(graph, assignments, feeds, by_name=True), memory, tuple(assignments), feeds, variables, threads
    ).step()


def _is_first(node: Node, graph: Graph) -> bool:
    """The assignment of the initial value: `X/Assign` of the variable X."""
    target = graph.nodes.get(split_reference(node.inputs[0])[0])
    return (
        target is not None
        and target.op in roles.VARIABLES
        and node.name.startswith(target.name)
        and node.name[len(target.name) :].startswith("/Assign")
    )


def _complete(executor: Executor, memory: Memory) -> None:
    """Variables without an initial assignment get their buffer by their shape, as eager code makes them:
    random numbers by way of two more tensors.
    """
    nodes = [item.node for item in executor.items if item.node.op in roles.VARIABLES]
    for node in sorted(nodes, key=lambda node: int(str(node.attributes.get("_tfmemlens_made") or 0))):
        variable = executor.resources.read(node).resource
        type_ = variable.token
        if variable.initialized or not type_.bytes:
            continue
        variable.initialized = True
        is_random = node.attributes.get("_tfmemlens_filled") is False
        drawn = [
            memory.temporary(node.name, node.op, type_.bytes, type_.shape, type_.dtype)
            for _ in range(2 if is_random else 0)
        ]
        lasting = PERSISTENT if node.op != "VarHandleOp" else OUTPUT
        type_.buffer = memory.allocate(node.name, node.op, type_.bytes, type_.shape, type_.dtype, lasting)
        memory.hold(type_.buffer)
        for buffer in drawn:
            memory.free(buffer)


def _timeline(
    memory: Memory,
    variables: Mapping[str, Variable],
    begun: int,
    first_row: int,
    baseline: int,
    device: str,
    allocator: str,
    limit_bytes: int | None,
    order: Sequence[str],
) -> Timeline:
    names = {
        variable.token.buffer.row: variable.name
        for variable in variables.values()
        if variable.token.buffer is not None
    }
    rows, standing = [], []
    for index, row in enumerate(memory.rows):
        end = memory.ends[index]
        placed = replace(row, device=device, allocator=allocator)
        if index >= first_row:
            rows.append(
                replace(
                    placed,
                    start_micros=float(memory.starts[index] - begun),
                    end_micros=None if end is None else float(end - begun),
                )
            )
        elif end is None or end > begun:
            named = replace(placed, node=names[index], op="VarHandleOp") if index in names else placed
            standing.append(replace(named, purpose=PERSISTENT))
    ticks = [float(index) for index in range(len(order))]
    return Timeline(
        device, allocator, AllocationTable.of(rows), AllocationTable.of(standing), baseline, None,
        BaselineSource.PREDICTED, limit_bytes, True,
        Executions(list(order), ticks, ticks),
    )  # fmt: skip
