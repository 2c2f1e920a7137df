"""TensorFlow's executor, simulated: which node runs when, how large its outputs are, and when each buffer
dies. Here with one thread; `overlap` has several.

After core/common_runtime/executor.cc: inexpensive nodes run at once, in the order in which they became ready;
of several expensive ones the last goes on in the same thread and the others wait in the thread's queue,
newest first. Loops (Enter, Merge, Switch, NextIteration, Exit) run with their real number of iterations where
the condition is made of whole numbers that are known.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step import overlap
from tfmemlens.estimation.graph_step.compiled import Edge, Item, compiled
from tfmemlens.estimation.graph_step.frames import LoopFrame, Tagged
from tfmemlens.estimation.graph_step.kernels import KernelCall, UnknownShapeError, guessed, is_known, run
from tfmemlens.estimation.graph_step.kernels.stacks import Array
from tfmemlens.estimation.graph_step.resources import Variables
from tfmemlens.estimation.graph_step.tokens import DEAD, LARGEST_BYTES, Memory, Token, TokenBuffer, Variable
from tfmemlens.knowledge.ops import cheap_runs, roles
from tfmemlens.knowledge.ops.origin import behind
from tfmemlens.model.allocation import PERSISTENT
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.units import human
from tfmemlens.values import dataclass, field

_APPLY = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply", "Scatter")
_UPDATED_IN_PLACE = ("Apply", "SparseApply", "Scatter")
"""Updates of reference variables, which hand the variable on."""
_MAKING = frozenset(("ScatterNd", "ScatterNdNonAliasingAdd"))
"""Named like updates, but they make a tensor."""
_TURNING = roles.ENTERS | roles.EXITS | roles.NEXTS | {"LoopCond"}
_RUNNING_DEAD = roles.MERGES | {"ControlTrigger"}
"""What runs although an input is dead."""
_FED = roles.FEEDS | roles.RECEIVES
_OWN = (
    _TURNING | _FED | roles.SWITCHES | roles.MERGES | roles.ALL_VARIABLES | roles.ASSIGNS | roles.COUNTS
    | roles.CONSTANTS
)  # fmt: skip
_MAX_ITERATIONS = 100_000
_UNKNOWN_TURNS = 8
_BEYOND = ("Greater", "GreaterEqual")
_MOST_NEGATIONS = 8


def _updates(op: str) -> bool:
    return op.startswith(_APPLY) and op not in _MAKING


class _Running(NamedTuple):
    """A node that has begun: what came in by input, and what it made."""

    slots: dict[int, Token]
    inputs: Sequence[Token]
    outputs: list[Token]
    scratch: list[TokenBuffer]
    dead: bool


NOT_FOLLOWED = "the step could not be followed to its end"
TURNS_UNKNOWN = "it is not known how often a loop runs, that at"


@dataclass
class Executor:
    """One graph, ready to run any number of steps."""

    graph: Graph
    memory: Memory
    fetches: tuple[str, ...]
    feed: Callable[[Node], list[Token]]
    variables: dict[str, Variable]
    threads: int = 1
    notes: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    """By node the most bytes that pass through an op of which it is not known what it makes or allocates."""
    order: list[str] = field(default_factory=list)
    """The nodes of the last step in the order in which they ran."""
    workers: int = 1
    """How many nodes may run at the same time."""
    chance: Random | None = None
    """What decides how long they take then."""

    def __post_init__(self) -> None:
        self.items = compiled(self.graph, self.fetches)
        self.resources = Variables(self.memory, self.variables)
        self.constants: dict[str, Any] = {}
        self.kept = {split_reference(name)[0] for name in self.fetches if not name.startswith("^")}
        self.turns: dict[str, int] = {}
        self.entries = Counter(
            str(item.node.attributes.get("frame_name")) for item in self.items if item.node.op in roles.ENTERS
        )
        self._make_constants()

    def _make_constants(self) -> None:
        """A constant is made with its kernel, before the first step, and stays."""
        for item in self.items:
            if item.node.op in roles.CONSTANTS:
                call = KernelCall(item.node, (), self.memory, self.threads, self.constants, [])
                token = run(call)[0]
                if token.bytes >= LARGEST_BYTES:
                    self._note(
                        f"{item.node.name} ({item.node.op}) is left out: it would take {token.bytes} bytes"
                    )
                    token.shape = ()
                if token.bytes and token.dtype != "string":
                    token.buffer = self.memory.allocate(
                        item.node.name, item.node.op, token.bytes, token.shape, token.dtype, PERSISTENT
                    )

    def age(self) -> None:
        """Let all kernels have run as often as in a long training."""
        for item in self.items:
            item.runs += cheap_runs.RUNS

    def set_pace(self, pace: float) -> None:
        """Let kernels that do so many times as much count as cheap."""
        for item in self.items:
            item.cheap_bytes = round(item.cheap_bytes * pace)

    def step(self) -> None:
        """Run once."""
        self.order = []
        self.guessed: dict[str, str] = {}
        self.state: dict[str, Any] = {}
        self.frames: dict[tuple[str, int, int], LoopFrame] = {}
        root = LoopFrame("")
        self.root = root
        self.queue: deque[Tagged] = deque()
        self.fetched: list[Token] = []
        roots = [
            Tagged(index, root, 0)
            for index, item in enumerate(self.items)
            if item.inputs + item.controls == 0
        ]
        if self.workers > 1:
            overlap.run(
                roots, self._begun, self._ended, self._may_wait, self.workers, self.chance or Random(0)
            )
        else:
            inline: deque[Tagged] = deque()
            self._schedule(roots, inline)  # the _SOURCE node runs first, and all roots hang on it
            self._work_off(inline)
            while self.queue:
                self._work_off(deque([self.queue.popleft()]))
        for token in self.fetched:
            self.memory.release(token.buffer)
        self._drop_state()
        left = {split_reference(name)[0] for name in self.fetches}.difference(self.order)
        if left:
            self._note(f"{NOT_FOLLOWED}: {sorted(left)[0]} was never reached")

    def _drop_state(self) -> None:
        """Stacks and arrays end with the step."""
        for thing in [
            *self.state.get("keep", []),
            *self.state.get("arrays", {}).values(),
            *self.state.get("things", []),
        ]:
            for token in thing.values() if isinstance(thing, dict) else thing:
                self.memory.release(token.buffer)
            thing.clear()

    def _work_off(self, inline: deque[Tagged]) -> None:
        while inline:
            index, frame, iteration = inline.popleft()
            ready = self._run(index, frame, iteration)
            frame.done(iteration)
            self._clean(frame, iteration, ready)
            self._schedule(ready, inline)

    def _schedule(self, ready: list[Tagged], inline: deque[Tagged]) -> None:
        """ExecutorState::ScheduleReady. oneDNN makes one node of the gradients of a kernel and of its bias,
        which then is the last reader of its gradient in most steps, and runs at once.
        """
        current = None
        if self.memory.onednn:
            ready = sorted(ready, key=lambda tagged: "BackpropFilter" in self.items[tagged.number].node.op)
        for tagged in ready:
            if not self.items[tagged.number].is_expensive or tagged.frame.is_dead(
                tagged.number, tagged.iteration
            ):
                inline.append(tagged)
                continue
            if current is not None:
                self.queue.appendleft(current)
            current = tagged
        if current is not None:
            if inline:
                self.queue.appendleft(current)
            else:
                inline.append(current)

    def _run(self, index: int, frame: LoopFrame, iteration: int) -> list[Tagged]:
        tagged = Tagged(index, frame, iteration)
        return self._left(tagged, self._entered(tagged))

    def _begun(self, tagged: Tagged) -> tuple[_Running, float]:
        """As `_entered`, with how long it runs."""
        running = self._entered(tagged)
        return running, overlap.micros(self.items[tagged.number].node.op, running.inputs, running.outputs)

    def _ended(self, tagged: Tagged, running: _Running) -> list[Tagged]:
        """As `_left`, and the loops that are over."""
        ready = self._left(tagged, running)
        tagged.frame.done(tagged.iteration)
        self._clean(tagged.frame, tagged.iteration, ready)
        return ready

    def _may_wait(self, tagged: Tagged) -> bool:
        """Whether the executor takes it for expensive."""
        return self.items[tagged.number].is_expensive and not tagged.frame.is_dead(
            tagged.number, tagged.iteration
        )

    def _entered(self, tagged: Tagged) -> _Running:
        """Begin a node: it allocates all that it makes."""
        index, frame, iteration = tagged
        item = self.items[index]
        slots, is_dead = frame.take(index, iteration)
        self.turn = frame, iteration
        op = item.node.op
        self.order.append(item.node.name)
        if is_dead and op not in _RUNNING_DEAD:
            return _Running(slots, [], [], [], True)
        inputs = (
            [slots[slot] for slot in sorted(slots)]
            if op in roles.MERGES
            else [slots.get(slot, DEAD) for slot in range(item.inputs)]
        )
        call = KernelCall(
            item.node, inputs, self.memory, self.threads, self.constants if op == "Const" else self.state, []
        )
        outputs = self._made(call, slots)
        item.runs += 1
        item.bytes = sum(token.bytes for token in inputs) + sum(token.bytes for token in outputs)
        if item.node.name in self.unknown:
            passing = max(sum(token.bytes for token in tokens) for tokens in (inputs, outputs))
            self.unknown[item.node.name] = max(self.unknown[item.node.name], passing)
        for token in outputs:
            self.memory.hold(token.buffer)
        return _Running(slots, inputs, outputs, call.scratch, False)

    def _left(self, tagged: Tagged, running: _Running) -> list[Tagged]:
        """End a node: it lets go of what it read, and hands on what it made."""
        index, frame, iteration = tagged
        for buffer in running.scratch:
            self.memory.free(buffer)
        for token in running.slots.values():
            self.memory.release(token.buffer)
        if running.dead:
            return self._propagate(index, frame, iteration, [DEAD] * self.items[index].ports, True)
        for buffer in self.state.pop("released", []):
            self.memory.release(buffer)
        ready = self._propagate(index, frame, iteration, running.outputs, False)
        for token in running.outputs:
            self.memory.release(token.buffer)
        return ready

    def _execute(self, call: KernelCall, slots: dict[int, Token]) -> list[Token]:
        """Control flow and state here, everything else by its kernel."""
        op, node = call.node.op, call.node
        if op in roles.SWITCHES:
            taken = self._predicate(call)
            return [call.input(0) if taken == side else DEAD for side in (0, 1)]
        if op in roles.MERGES:
            alive = [(slot, token) for slot, token in slots.items() if not token.dead]
            return [alive[0][1], call.output((), "int32", (alive[0][0],))] if alive else [DEAD, DEAD]
        if op in _TURNING:
            return [call.input(0)]
        if op in roles.ALL_VARIABLES:
            return [self.resources.read(node)]
        if op in _FED and (op.startswith("Iterator") or not call.inputs):
            return self.feed(node)
        if op in roles.ASSIGNS:
            return self.resources.assign(call)
        if _updates(op) or op in roles.COUNTS:
            self.resources.own(call)
            return [call.alias(0)] if call.inputs and op.startswith(_UPDATED_IN_PLACE) else []
        outputs = run(call)
        for token in outputs:
            if isinstance(token.resource, (list, dict)):
                self.state.setdefault("things", []).append(token.resource)
        return outputs

    def _made(self, call: KernelCall, slots: dict[int, Token]) -> list[Token]:
        """What a node makes; where it cannot be told, what the graph states, or something like the first
        input.
        """
        node = call.node
        if not is_known(node.op) and not self._steers(node.op):
            self.unknown.setdefault(node.name, 0)
        try:
            return self._execute(call, slots)
        except UnknownShapeError:
            outputs = guessed(call)
            self.unknown.setdefault(node.name, 0)
            self._note(
                f"what {node.op} makes in {node.name} is not known, something like its input is taken for it"
            )
        except MalformedNode as problem:
            outputs = guessed(call)
            self.unknown.setdefault(node.name, 0)
            weight = human(sum(token.bytes for token in outputs))
            self._note(
                f"{node.name} ({node.op}) is not understood: {problem}; {weight} are counted for what it"
                f" makes"
            )
        return outputs

    @staticmethod
    def _steers(op: str) -> bool:
        """Whether the executor itself knows the op: control flow, feeds, variables and their updates."""
        return op in _OWN or "Apply" in op or _updates(op) or op.startswith("Iterator")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _predicate(self, call: KernelCall) -> int:
        """Which side of a Switch: known values decide. An unknown loop condition holds as often as the arrays
        that the loop had in the step before have elements, another one is taken to be true.
        """
        known = call.values(1)
        if known:
            return int(bool(known[0]))
        condition = split_reference(call.node.inputs[1])[0]
        frame, iteration = self.turn
        if self.graph.op_of(condition) != "LoopCond":
            side = self._likely(condition) if frame.parent is not None else 1
            chosen = "true" if side else "false"
            self._note(f"the condition of {call.node.name} is not known: it is taken to be {chosen}")
            return side
        self.guessed[frame.name] = call.node.name
        return int(iteration < self.turns.get(frame.name, _UNKNOWN_TURNS))

    def _likely(self, name: str) -> int:
        """Whether an unknown condition in a loop's body holds: its counter has not reached a bound, such as
        the length of a sequence.
        """
        holds = True
        for _ in range(_MOST_NEGATIONS):
            name = behind(name, self.graph, roles.PASSING_CONDITIONS)
            op, sources = self.graph.op_of(name), self.graph.sources_of(name)
            if op in _BEYOND:
                return int(not holds)
            if op != "LogicalNot" or not sources:
                break
            holds, name = not holds, sources[0]
        return int(holds)

    def tell_guesses(self) -> None:
        """Note of each loop whose condition was not known how often it was taken to run."""
        for frame, node in sorted(self.guessed.items()):
            turns = self.turns.get(frame)
            known = f"{TURNS_UNKNOWN} {node}"
            if turns:
                known = f"the loop at {node} is taken to run {turns} times, as its longest array has elements"
            self._note(known)

    def _count_turns(self, frame: LoopFrame) -> None:
        """A loop is over: the next step knows how many elements its arrays have."""
        arrays = [token.resource for _, token in frame.constants if isinstance(token.resource, Array)]
        if frame.name not in self.turns and any(array.size > _UNKNOWN_TURNS for array in arrays):
            self.turns[frame.name] = max(array.size for array in arrays)

    def _propagate(
        self, index: int, frame: LoopFrame, iteration: int, outputs: list[Token], is_dead: bool
    ) -> list[Tagged]:
        """ExecutorState::PropagateOutputs: tokens go to their consumers; those that miss nothing more are
        ready.
        """
        item = self.items[index]
        op = item.node.op
        ready: list[Tagged] = []
        target_frame, target_iteration = frame, iteration
        if op in roles.ENTERS:
            target_frame, target_iteration = self._frame(item.node, frame, iteration), 0
            if item.node.attributes.get("is_constant") and not is_dead:
                self._keep_constant(target_frame, index, outputs[0], ready)
                self._clean(target_frame, 0, ready)
                return ready
        elif op in roles.EXITS:
            if is_dead or frame.parent is None:
                return ready
            target_frame, target_iteration = frame.parent, frame.parent_iteration
        elif op in roles.NEXTS:
            if is_dead or iteration + 1 > _MAX_ITERATIONS:
                return ready
            if iteration == frame.reached and frame.reached + 1 - frame.finished >= frame.parallel:
                self.memory.hold(outputs[0].buffer)
                frame.held_back.append((index, outputs[0]))
                return ready
            target_iteration = iteration + 1
            self._begin(target_frame, target_iteration, ready)
        if item.node.name in self.kept and frame is self.root and outputs and outputs[0].buffer is not None:
            self.memory.hold(outputs[0].buffer)
            self.fetched.append(outputs[0])
        self._activate(item, target_frame, target_iteration, outputs, is_dead, ready)
        return ready

    def _clean(self, frame: LoopFrame, iteration: int, ready: list[Tagged]) -> None:
        """FrameState::CleanupIterations: iterations that are over make room for those held back; a loop that
        is over tells its parent.
        """
        while frame is not self.root and not frame.over and frame.is_over(iteration):
            frame.finished = iteration + 1
            if frame.held_back:
                held, frame.held_back = frame.held_back, []
                self._begin(frame, frame.reached + 1, ready)
                for index, token in held:
                    self._activate(self.items[index], frame, frame.reached, [token], False, ready)
                    self.memory.release(token.buffer)
            if frame.finished > frame.reached:
                frame.over = True
                self._count_turns(frame)
                for _, token in frame.constants:
                    self.memory.release(token.buffer)
                self._forget(frame)
                parent = frame.parent
                if parent is None:
                    return
                parent.inner[frame.parent_iteration] -= 1
                frame, iteration = parent, frame.parent_iteration
                continue
            iteration += 1

    def _forget(self, frame: LoopFrame) -> None:
        """Tokens that never met all their companions die with the loop."""
        for slots in frame.waiting.values():
            for token in slots.values():
                self.memory.release(token.buffer)
        frame.waiting.clear()

    def _frame(self, node: Node, parent: LoopFrame, iteration: int) -> LoopFrame:
        name = str(node.attributes.get("frame_name"))
        key = (name, id(parent), iteration)
        if key not in self.frames:
            parallel = node.attributes.get("parallel_iterations")
            self.frames[key] = LoopFrame(
                name,
                parent,
                iteration,
                parallel=parallel if isinstance(parallel, int) and parallel > 0 else 10,
                entries=self.entries[name],
            )
            parent.inner[iteration] = parent.inner.get(iteration, 0) + 1
        self.frames[key].entries -= 1
        return self.frames[key]

    def _keep_constant(self, frame: LoopFrame, index: int, token: Token, ready: list[Tagged]) -> None:
        """A loop's constant is given to every iteration, those that have begun and those to come."""
        frame.constants.append((index, token))
        self.memory.hold(token.buffer)
        for iteration in range(frame.reached + 1):
            self._activate(self.items[index], frame, iteration, [token], False, ready)

    def _begin(self, frame: LoopFrame, iteration: int, ready: list[Tagged]) -> None:
        if iteration > frame.reached:
            frame.reached = iteration
            for index, token in frame.constants:
                self._activate(self.items[index], frame, iteration, [token], False, ready)

    def _activate(
        self,
        item: Item,
        frame: LoopFrame,
        iteration: int,
        outputs: list[Token],
        is_dead: bool,
        ready: list[Tagged],
    ) -> None:
        for edge in item.edges:
            target = self.items[edge.target]
            key = (iteration, edge.target)
            token = None
            if edge.port is not None:
                token = outputs[edge.port] if 0 <= edge.port < len(outputs) else Token()
            died = is_dead if token is None else token.dead
            if target.node.op in roles.MERGES:
                self._to_merge(edge, target, frame, key, token, died, ready)
                continue
            if token is not None and not token.dead:
                self.memory.hold(token.buffer)
                frame.waiting.setdefault(key, {})[edge.slot] = token
            if died:
                frame.dead[key] = 1
            left = frame.pending.get(key, target.inputs + target.controls) - 1
            frame.pending[key] = left
            if left == 0:
                ready.append(frame.ready(edge.target, iteration))

    def _to_merge(
        self,
        edge: Edge,
        target: Item,
        frame: LoopFrame,
        key: tuple[int, int],
        token: Token | None,
        died: bool,
        ready: list[Tagged],
    ) -> None:
        """A Merge runs with its first living input, or dead once all inputs that can come are dead."""
        state = frame.pending.get(key)
        if state == -1:
            return
        if token is None:
            frame.pending[key] = (target.controls if state is None else state) - 1
        elif not died:
            self.memory.hold(token.buffer)
            frame.waiting.setdefault(key, {})[edge.slot] = token
        else:
            frame.dead[key] = frame.dead.get(key, 0) + 1
        if frame.pending.get(key, target.controls) > 0:
            return
        if frame.waiting.get(key):
            frame.dead.pop(key, None)
        elif frame.dead.get(key, 0) < target.inputs:
            return
        frame.pending[key] = -1
        iteration, number = key
        ready.append(frame.ready(number, iteration))
