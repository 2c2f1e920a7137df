"""Loops of the quoted code, as syntax trees: what each adds to something that outlasts its turns.

A value's size comes from a comment that states its shape, on the line that keeps it or on the one that made
it (`attn = fwd(x)   # (8, 512, 512)`), or from the stated number of weights where it is all gradients.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tfmemlens.findings.support.program_lines import figures_by_name
from tfmemlens.findings.support.stated_weights import stated_weights
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_ADDS = frozenset({"append", "appendleft", "extend", "add", "put"})
_NUMBERS = frozenset({"float", "int", "str", "len", "round", "bool"})
_TO_NUMBERS = frozenset({"item", "result", "global_norm", "reduce_mean", "reduce_sum", "mean", "sum", "norm"})
_TO_HOST = frozenset(
    {"numpy", "tolist", "device_get", "predict", "predict_on_batch", "run", "eval", "load", "get_weights"}
)
_FIGURES = frozenset({"evaluate", "test_on_batch", "train_on_batch"})
"""Methods of Keras that return a loss and metrics."""
_OF_NUMPY = frozenset({"np", "numpy", "onp", "librosa", "cv2"})
_DRAWS = frozenset("random normal uniform integers randint rand randn choice permutation poisson".split())
_GENERATOR = regex(r"(?i)(?:\A|_)(?:rng|random_?state)\d?\Z")
"""What programs call NumPy's generators, by whose methods JAX draws nothing."""
_A_NUMBER = regex(
    r"(?i)\A(?:\w*_)?(?:loss|l|acc|accuracy|metrics?|lr|step|epoch|reward|r|score|time|name|path|key"
    r"|rate|auc|f1|mae|r?mse|iou|dice|precision|recall|id|done)s?\d?\Z"
)
_A_LOSS = regex(r"(?i)(?:\A|_)(?:loss|accuracy|score)(?:_fn)?\Z")
_LOSSES = regex(
    r"(?:Crossentropy|Error|Huber|Hinge|LogCosh|KLDivergence|Poisson|CosineSimilarity|Tversky|Dice|CTC)\Z"
)
"""Losses of Keras by the ends of their names."""
_SHAPE = regex(r"[(\[]\s?(?P<sizes>\d[\d_]*(?:\s?,\s?\d[\d_]*){1,7}),?\s?[)\]]\s*,?\s*(?P<type>\w{2,9})?")
_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "float": "float32", "double": "float64"}
_GRADIENTS = frozenset({"gradient", "grad", "compute_gradients"})
_MODELS = regex(r"(?i)\A(?:(?:build|make|create|get)_?\w*|Model|Sequential|\w*net\d*)\Z")
_MODEL_NAME = regex(r"(?i)\A(?:\w*_)?(?:model|net|clf|classifier)\d?\Z")
_EACH_TURN = regex(r"on_(?:\w+_)?batch_end\Z")
"""What a callback does at each batch, as a loop's body does."""
_EACH_EPOCH = regex(r"on_epoch_end\Z")
"""The same for each epoch."""
_EPOCHS = regex(r"(?i)\Ae(?:poch(?:_?\w{1,10})?|p)?\Z")
"""What counts epochs in a loop."""
_ALL_WEIGHTS = frozenset({"weights", "variables", "trainable_weights", "trainable_variables"})
_ONCE = frozenset({"__init__", "build", "setup", "__post_init__"})
"""Methods that an object runs once; any other may be called again and again."""
_COMPILERS = frozenset({"function", "jit", "pmap", "get_concrete_function"})
"""Calls whose result is a function: `tf.function(f)`, `jax.jit(f)`."""
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Kept:
    """A line inside a loop that adds to what was made outside it."""

    container: str
    value: str
    line: Line
    line_of_loop: Line
    each: int | None = None
    """Bytes of what one turn adds, as far as the text tells them."""
    shape: str = ""
    every: int = 1
    """It is done at every so manieth turn."""
    most: int | None = None
    """So many entries at most: `deque(maxlen=...)`."""
    turns: int | None = None
    """How often a loop of known length adds to a list that goes with its call, or with a turn of a loop
    around it.
    """
    on_host: bool = False
    number: bool = False
    gradients: bool = False
    weights: bool = False
    """Whether it is a copy of all weights of a model."""
    model: bool = False
    function: bool = False
    """Whether it is a function that another one made, or a compiler."""
    uses: tuple[tuple[str, Line], ...] = ()
    """What later lines do with it."""
    made: tuple[Line, ...] = ()
    """The lines that make what is kept, where a name stands for it."""
    by_calls: bool = False
    """Whether a method keeps it: a layer's runs once in a graph, while it is traced."""
    by_epochs: bool = False
    """Whether each epoch adds one, and no step."""

    def after(self, turns: int) -> int:
        """How many entries there are after so many turns."""
        entries = turns // self.every
        return min(entries, self.most) if self.most else entries


@dataclass(frozen=True, slots=True)
class _Loop:
    node: ast.For | ast.While | ast.FunctionDef
    every: int = 1

    @property
    def of_epochs(self) -> bool:
        """Whether its turns are epochs: a callback's, or what a loop counts by that name."""
        if isinstance(self.node, ast.FunctionDef):
            return bool(_EACH_EPOCH.match(self.node.name))
        named = self.node.target if isinstance(self.node, ast.For) else None
        return isinstance(named, ast.Name) and bool(_EPOCHS.match(named.id))


def kept_by_loops(told: Surroundings) -> list[Kept]:
    """All that loops keep, in the order of the text."""
    code = _Code(told.program())
    kept: list[Kept] = []
    for statement in code.statements:
        names = _Names(code, statement, told)
        for each, loops in _additions(statement.node, (), code.called_in_loops):
            if _is_of_one_pass(statement, each, loops[-1].node, code.of_one_pass):
                continue
            if any(isinstance(loop.node, ast.FunctionDef) or statement.runs(loop.node) for loop in loops):
                kept.append(names.seen(each, loops))
    return [each for each in kept if each.container and not _LAYER.search(each.line.text)]


_LAYER = regex(r"\.add\(\s*(?:\w+\.)*[A-Z]\w*\(")
"""A layer that is added to a model: `model.add(Dense(64))`."""


def _additions(
    node: ast.AST, loops: tuple[_Loop, ...], in_turns: frozenset[str], in_class: bool = False
) -> Iterator[tuple[ast.stmt, tuple[_Loop, ...]]]:
    """The statements that may add to something, with the loops around each; a method is as good as one, and
    a function that a loop calls.
    """
    if isinstance(node, ast.For | ast.While):
        loops = (*loops, _Loop(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        again = node.name not in _ONCE if in_class else node.name in in_turns
        each_turn = isinstance(node, ast.FunctionDef) and (again or _EACH_TURN.match(node.name))
        loops = (_Loop(node),) if isinstance(node, ast.FunctionDef) and each_turn else ()
    if isinstance(node, ast.If) and loops and (every := _every(node.test)):
        loops = (*loops[:-1], _Loop(loops[-1].node, every))
    if loops and isinstance(node, ast.Expr | ast.AugAssign | ast.Assign):
        yield node, loops
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _additions(child, loops, in_turns, isinstance(node, ast.ClassDef))


def _is_of_one_pass(statement: Statement, node: ast.stmt, loop: ast.AST, of_one_pass: frozenset[str]) -> bool:
    """Whether it adds an entry for each part of a network to a name that a pass makes anew, as in `for block
    in self.blocks`: they are few, and live for one call.
    """
    target, _ = _added(node)
    if not isinstance(target, ast.Name) or not isinstance(loop, ast.For) or not _goes_by_parts(loop.iter):
        return False
    return any(
        isinstance(each, ast.FunctionDef)
        and (each.name in of_one_pass or _of_own_parts(loop.iter))
        and target.id in _assigned(each)
        and not _stays(each, target.id)
        for each in statement.nodes
        if _is_around(each, node)
    )


_PARTS = regex(r"(?:layers?|blocks?|cells?|heads?|units?|convs?|stages?|levels?|nets?|modules?)\Z")


def _of_own_parts(over: ast.expr) -> bool:
    """Whether a loop goes through the parts of the object's own network, or of parameters that are looked up
    by such a name: `zip(self.layers, caches)`, `params["layers"]`.
    """
    nodes = list(ast.walk(over))
    parts = [each.attr for each in nodes if isinstance(each, ast.Attribute) and _root(each) == "self"]
    keys = (each.slice for each in nodes if isinstance(each, ast.Subscript))
    parts += [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return any(map(_PARTS.search, parts))


def _goes_by_parts(over: ast.expr) -> bool:
    """Whether a loop goes through what is there already, and does not count turns of its own."""
    counts = isinstance(over, ast.Call) and _called(over) == "range"
    return not counts or any(
        isinstance(each, ast.Call) and _called(each) == "len" and _root(each.args[0]) == "self"
        for each in ast.walk(over)
        if isinstance(each, ast.Call) and each.args
    )


def _stays(function: ast.FunctionDef, name: str) -> bool:
    """Whether a list is put into the object whose method it is: `self.steps = steps`."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Name)
        and each.value.id == name
        and any(isinstance(target, ast.Attribute) for target in each.targets)
        for each in ast.walk(function)
    )


def _of_one_pass(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Methods that are one forward pass of a layer or model of the text's, and what they call of its own."""
    within = [each for node in nodes if isinstance(node, ast.ClassDef) for each in node.body]
    methods = {each.name: each for each in within if isinstance(each, ast.FunctionDef)}
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    waiting = [name for name in methods if name in _PASSES]
    while waiting:
        name = waiting.pop()
        if name in found or name not in functions:
            continue
        found.add(name)
        calls = (each for each in ast.walk(functions[name]) if isinstance(each, ast.Call))
        waiting += [_called(each) for each in calls]
    return frozenset(found)


_PASSES = frozenset({"call", "__call__", "forward"})


def _every(test: ast.expr) -> int | None:
    """4 of `step % 4 == 0`."""
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.BinOp)
        and isinstance(test.left.op, ast.Mod)
    ):
        right = test.left.right
        if isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 1:
            return right.value
    return None


def _returns_a_loss(function: ast.FunctionDef) -> bool:
    """Whether every result is one of which a tape in it takes the gradient of weights, by its name."""
    differentiated = {
        ast.unparse(each.args[0])
        for each in ast.walk(function)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args
        if each.func.attr == "gradient"
    }
    results = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
    return bool(results) and all(each and ast.unparse(each) in differentiated for each in results)


class _Code:
    """All statements, walked once for what is asked of them again and again."""

    def __init__(self, program: Iterable[Statement]) -> None:
        self.statements = list(program)
        nodes = [(node, each) for each in self.statements for node in each.nodes]
        self.assignments = [
            pair
            for node, statement in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            for pair in _pairs(target, node.value, statement.line_of(node))
        ]
        """Every assignment of the text to one name or to several: the name, the value, the line."""
        self.values: dict[str, list[tuple[ast.expr, Line]]] = {}
        self.copies: dict[str, list[str]] = {}
        """By a name the others that it was given to: `obs = nobs`."""
        for target, value, line in self.assignments:
            self.values.setdefault(target, []).append((value, line))
            if isinstance(value, ast.Name):
                self.copies.setdefault(value.id, []).append(target)
        self.reading = [
            (node, node.value, ast.unparse(node.value), statement.line_of(node))
            for node, statement in nodes
            if isinstance(node, ast.Assign | ast.Expr | ast.Return) and node.value is not None
        ]
        """What reads names: the statement, its value, that in words, its line."""
        self.called_in_loops = frozenset(
            call.func.id
            for node, _ in nodes
            if isinstance(node, ast.For | ast.While)
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        )
        self.of_one_pass = _of_one_pass([node for node, _ in nodes])
        """Functions whose own lists go with each forward pass."""
        self.makers = frozenset(
            node.name for node, _ in nodes if isinstance(node, ast.FunctionDef) and _makes_a_function(node)
        )
        """Functions of the text that return a function."""
        self.differentiating = _GRADIENTS | {
            node.name for node, _ in nodes if isinstance(node, ast.FunctionDef) and _returns_gradients(node)
        }
        """Calls that return gradients, functions of the text among them."""
        self.losses = frozenset(
            node.name for node, _ in nodes if isinstance(node, ast.FunctionDef) and _returns_a_loss(node)
        )
        """Functions of the text that return what they take the gradient of, which is one number."""
        self.to_host = frozenset(
            node.name for node, _ in nodes if isinstance(node, ast.FunctionDef) and _returns_of_host(node)
        )
        """Functions of the text that return nothing of a device."""
        self.functions = [node for node, _ in nodes if isinstance(node, ast.FunctionDef)]
        self.number_places = {each.name: _number_places(each) for each in self.functions}
        """By a function's name, at which places of what it returns there is a number of Python."""
        self.classes = [node for node, _ in nodes if isinstance(node, ast.ClassDef)]
        self.made: dict[str, list[ast.Call]] = {}
        """Calls by the name of what is called."""
        for node, _ in nodes:
            if isinstance(node, ast.Call):
                self.made.setdefault(_called(node), []).append(node)
        self._settings: dict[str, int] | None = None
        self.calls = {ast.unparse(node.func) for node, _ in nodes if isinstance(node, ast.Call)}
        self.remarks = [line.text for each in self.statements for line in each.lines if "#" in line.text]

    def owner_of(self, function: ast.FunctionDef) -> str | None:
        """The class whose method it is, where that makes its objects."""
        own = (each.name for each in self.classes if function in each.body and function.name == "__init__")
        return next(own, None)

    def settings(self, told: Surroundings) -> dict[str, int]:
        """Whole numbers of the program by their names."""
        if self._settings is None:
            self._settings = figures_by_name(told)
        return self._settings


class _Names:
    """What names mean where a statement of the text stands."""

    def __init__(self, code: _Code, statement: Statement, told: Surroundings) -> None:
        self.code, self.statement, self.told = code, statement, told

    def seen(self, node: ast.stmt, loops: Sequence[_Loop]) -> Kept:
        """What a statement adds to; without a container where it adds to nothing that lasts."""
        line = self.statement.line_of(node)
        nothing = Kept("", "", line, line)
        target, value = _added(node)
        if target is None or value is None:
            return nothing
        name, loop = ast.unparse(target), loops[-1]
        grows = isinstance(node, ast.Assign) and _grows(node)
        if (_root(target) in _assigned(loop.node) and not grows) or len(name) > 40:
            return nothing
        if isinstance(node, ast.Assign) and not grows and not self._is_dict(name):
            return nothing
        if isinstance(node, ast.Expr) and self._is_own_object(name):
            return nothing  # its class's own method says what it adds to
        size, shape = self._size(value, line)
        return Kept(
            name,
            ast.unparse(value),
            line,
            self.statement.line_of(loop.node),
            each=size,
            shape=shape,
            every=loop.every,
            most=self._most(name),
            turns=self._turns_of_a_call(name, loops),
            on_host=self._on_host(value),
            number=self._number(value) or self._is_number_of_a_call(value, node),
            gradients=self._of(value, self.code.differentiating),
            weights=self._is_weights(value),
            model=self._is_model(value),
            function=self._is_function(value),
            uses=tuple(self._uses(name, node)),
            made=tuple(self._made(value)),
            by_calls=isinstance(loop.node, ast.FunctionDef)
            and not (_EACH_TURN.match(loop.node.name) or loop.of_epochs),
            by_epochs=loop.of_epochs,
        )

    def _made(self, value: ast.expr) -> Iterator[Line]:
        """Where the names are made that a value is, one of several or one of two."""
        for each in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            for part in (each.body, each.orelse) if isinstance(each, ast.IfExp) else (each,):
                if isinstance(part, ast.Name):
                    yield from (line for _, line in self._values(part.id))

    def _is_own_object(self, name: str) -> bool:
        """Whether a name is an object of a class of the text's."""
        own = {each.name for each in self.code.classes}
        made = [value for value, _ in self._values(name) if isinstance(value, ast.Call)]
        return bool(made) and all(_called(value) in own for value in made)

    def _is_dict(self, name: str) -> bool:
        """Whether a name is a dict that the text makes empty."""
        made = [ast.unparse(value) for value, _ in self._values(name)]
        return any(each in ("{}", "dict()") or "defaultdict" in each for each in made)

    def _values(self, name: str) -> list[tuple[ast.expr, Line]]:
        return self.code.values.get(name, [])

    def _most(self, name: str) -> int | None:
        for value, _ in self._values(name):
            for word in value.keywords if isinstance(value, ast.Call) else ():
                if word.arg == "maxlen":
                    return self._whole_number(word.value, value)
        return None

    def _whole_number(self, node: ast.expr, within: ast.AST) -> int | None:
        """A number, a setting's, or the largest that a parameter of the function around it may have."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int) else None
        name = ast.unparse(node).rpartition(".")[2]
        if name in self.code.settings(self.told):
            return self.code.settings(self.told)[name]
        around = [each for each in self.code.functions if any(node is within for node in ast.walk(each))]
        return max(self._given(around[-1], name), default=None) if around else None

    def _given(self, function: ast.FunctionDef, name: str) -> Iterator[int]:
        """What a parameter has by default, and what calls of the function or of its class give it."""
        positional = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        if name not in positional:
            return
        at = positional.index(name)
        defaults = function.args.defaults
        if (back := at - len(positional) + len(defaults)) >= 0:
            yield from self._known(defaults[back])
        for call in self.code.made.get(self.code.owner_of(function) or function.name, ()):
            place = at - (positional[0] == "self")
            given = [each.value for each in call.keywords if each.arg == name] or call.args[place : place + 1]
            for each in given:
                yield from self._known(each)

    def _known(self, node: ast.expr) -> Iterator[int]:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node.value
        elif (name := ast.unparse(node).rpartition(".")[2]) in self.code.settings(self.told):
            yield self.code.settings(self.told)[name]

    def _turns_of_a_call(self, name: str, loops: Sequence[_Loop]) -> int | None:
        """How often loops of known length add to a list that the function or the loop around them makes, and
        gives to nothing that outlasts its call or turn; None where any of that is open.
        """
        within = [each.node for each in loops if not isinstance(each.node, ast.FunctionDef)]
        anew = [at for at, each in enumerate(within[:-1]) if name in _assigned(each)]
        if anew and not _gives_away(within[anew[-1]], name):
            inner = [self._length(each) for each in within[anew[-1] + 1 :]]
            return None if None in inner else math.prod(each or 0 for each in inner)
        around = next((each for each in self.statement.nodes if within and _is_around(each, within[0])), None)
        turns = [self._length(each) for each in within]
        if not isinstance(around, ast.FunctionDef) or name not in _assigned(around) or None in turns:
            return None
        if _gives_away(around, name):
            return None
        return math.prod(each or 0 for each in turns)

    def _length(self, loop: ast.AST) -> int | None:
        """24 of `for t in range(STEPS)`, where the text gives `STEPS` one value."""
        call = loop.iter if isinstance(loop, ast.For) else None
        if not isinstance(call, ast.Call) or _called(call) != "range" or len(call.args) != 1:
            return None
        (last,) = call.args
        given = [last] if isinstance(last, ast.Constant) else [v for v, _ in self._values(ast.unparse(last))]
        known = given[0].value if len(given) == 1 and isinstance(given[0], ast.Constant) else None
        return known if isinstance(known, int) and known > 0 else None

    def _size(self, value: ast.expr, line: Line) -> tuple[int | None, str]:
        """The bytes of what is kept, and its shape in words."""
        if isinstance(value, ast.Tuple | ast.List):
            parts = {self._origin(ast.unparse(each)): self._size(each, line) for each in value.elts}
            sizes = [size for size, _ in parts.values() if size]
            shapes = [shape for size, shape in parts.values() if size]
            return (sum(sizes), " and ".join(shapes)) if sizes else (None, "")
        if isinstance(value, ast.Call) and _called(value) in _NUMBERS | _TO_NUMBERS:
            return None, ""
        if self._is_weights(value) and self.told.parameters:
            return self.told.parameters[0] * _FLOAT_BYTES, ""
        if self._of(value, self.code.differentiating) or self._is_weights(value):
            weights = stated_weights(self.told) or None
            return (weights.bytes, weights.text) if weights else (None, "")
        inner = _inside(value)
        if tensor := _shape_of(line.text, ast.unparse(inner), alone=True):
            return _bytes(tensor, ast.unparse(value))
        for name in self._aliases(ast.unparse(inner)):
            for made, at in self._values(name):
                if tensor := _shape_of(at.text, name, alone=isinstance(made, ast.Call | ast.BinOp)):
                    return _bytes(tensor, at.text)
        for remark in self.code.remarks:
            if tensor := _shape_of(remark, ast.unparse(inner), alone=False):
                return _bytes(tensor, remark)
        return None, ""

    def _aliases(self, name: str) -> list[str]:
        """The name, and names that are the same array: `obs = nobs`."""
        same = [ast.unparse(value) for value, _ in self._values(name) if isinstance(value, ast.Name)]
        return [name, *same, *self.code.copies.get(name, ())]

    def _origin(self, name: str) -> str:
        return min(self._aliases(name))

    def _on_host(self, value: ast.expr) -> bool:
        """Whether it lies in host RAM; of several values one does, and of none is known where it was made."""
        if any(_host_call(each) for each in ast.walk(value) if isinstance(each, ast.Call)):
            return True
        if isinstance(value, ast.Tuple | ast.List):
            known = [each for each in value.elts if self._values(ast.unparse(each))]
            return bool(known) and all(map(self._on_host, known))
        return any(map(self._made_on_host, (made for made, _ in self._values(ast.unparse(value)))))

    def _made_on_host(self, made: ast.expr) -> bool:
        first = made.left if isinstance(made, ast.Compare) else made
        return isinstance(first, ast.Call) and (_host_call(first) or _called(first) in self.code.to_host)

    def _number(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            name = _called(value)
            return name in _NUMBERS | _TO_NUMBERS | _FIGURES | self.code.losses or self._is_loss(value)
        if isinstance(value, ast.Tuple | ast.List):
            return all(map(self._number, value.elts))
        if isinstance(value, ast.Constant) or _A_NUMBER.match(ast.unparse(value).rpartition(".")[2]):
            return True
        root = value.value if isinstance(value, ast.Subscript) else value
        made = [each for each, _ in self._values(root.id)] if isinstance(root, ast.Name) else []
        return bool(made) and all(isinstance(each, ast.Call) and _called(each) in _FIGURES for each in made)

    def _is_number_of_a_call(self, value: ast.expr, node: ast.stmt) -> bool:
        """Whether the function around only ever gives the name a number that another one returned."""
        if isinstance(value, ast.Tuple | ast.List):
            return all(self._number(each) or self._is_number_of_a_call(each, node) for each in value.elts)
        if not isinstance(value, ast.Name):
            return False
        around = [each for each in self.statement.nodes if _is_around(each, node)]
        scope = around[0] if around else self.statement.node
        return value.id in _numbers_of_calls(scope, self.code.number_places)

    def _is_loss(self, call: ast.Call) -> bool:
        """Whether it calls what is a loss by its name, or an object of Keras that returns one number."""
        if _A_LOSS.search(_called(call)):
            return True
        made = [each for each, _ in self._values(ast.unparse(call.func)) if isinstance(each, ast.Call)]
        return bool(made) and all(_LOSSES.search(_called(each)) and _is_reduced(each) for each in made)

    def _of(self, value: ast.expr, calls: frozenset[str]) -> bool:
        """Whether it is what one of these calls returned."""
        if not isinstance(value, ast.Name):
            return isinstance(value, ast.Call) and _called(value) in calls
        return any(
            isinstance(made, ast.Call) and _called(made) in calls for made, _ in self._values(value.id)
        )

    def _is_model(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Tuple | ast.List):
            return any(map(self._is_model, value.elts))
        if not isinstance(value, ast.Name):
            return False
        made = [each for each, _ in self._values(value.id) if isinstance(each, ast.Call)]
        if not any(_MODELS.match(_called(each)) for each in made):
            return False
        return bool(_MODEL_NAME.match(value.id)) or self._is_trained(value.id)

    def _is_weights(self, value: ast.expr) -> bool:
        """Whether it is a copy of each weight of a model: `model.get_weights()`, a list made of them, or the
        tree that a step of JAX makes anew; of several values whether one is.
        """
        if isinstance(value, ast.Tuple | ast.List):
            return any(map(self._is_weights, value.elts))
        if not isinstance(value, ast.Name):
            return _copies_weights(value)
        updated = _PARAMETERS.match(value.id) is not None
        made = [each for each, _ in self._values(value.id)]
        return any(_copies_weights(each) or (updated and _updates(each, value.id)) for each in made)

    def _is_function(self, value: ast.expr) -> bool:
        """Whether it is what a maker of functions returned, or a compiler."""
        values = [value, *(made for made, _ in self._values(ast.unparse(value)))]
        return any(
            isinstance(each, ast.Lambda)
            or (isinstance(each, ast.Call) and _called(each) in self.code.makers | _COMPILERS)
            for each in values
        )

    def _is_trained(self, name: str) -> bool:
        """Whether a method of a model is called on it."""
        return not self.code.calls.isdisjoint({f"{name}.fit", f"{name}.compile", f"{name}.train_on_batch"})

    def _uses(self, name: str, node: ast.stmt) -> Iterator[tuple[str, Line]]:
        """Later statements that read it, outside of the one that adds to it."""
        after = self.statement.line_of(node).number
        for each, value, text, line in self.code.reading:
            if each is node or name not in text or line.number <= after or _added(each)[0] is not None:
                continue
            if any(ast.unparse(part) == name for part in _read(value)):
                yield ast.unparse(each), line


def _read(value: ast.AST) -> Iterator[ast.AST]:
    """All parts of an expression whose values it reads; of `len(kept)` none."""
    if isinstance(value, ast.Call) and _called(value) == "len":
        return
    yield value
    for child in ast.iter_child_nodes(value):
        yield from _read(child)


def _is_around(node: ast.AST, loop: ast.AST) -> bool:
    """Whether it is the innermost function around a loop or a statement."""
    if not isinstance(node, ast.FunctionDef):
        return False
    within = set(ast.walk(node))
    inner = (each for each in within if isinstance(each, ast.FunctionDef) and each is not node)
    return loop in within and not any(loop in set(ast.walk(each)) for each in inner)


def _is_reduced(call: ast.Call) -> bool:
    """Whether a loss of Keras gives one number, as it does unless it is told not to reduce."""
    told = [ast.unparse(word.value).lower() for word in call.keywords if word.arg == "reduction"]
    return not any("none" in each for each in told)


def _gives_away(around: ast.AST, name: str) -> bool:
    """Whether a function returns a list itself, or puts it where it outlasts the call; the same of a loop."""
    for each in ast.walk(around):
        if isinstance(each, ast.Global | ast.Nonlocal) and name in each.names:
            return True
        given = each.value if isinstance(each, ast.Return | ast.Yield | ast.Assign) else None
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _ADDS:
            given = ast.Tuple(each.args)
        parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
        parts = [inner for part in parts for inner in _of_an_object(part)]
        if any(isinstance(part, ast.Name) and part.id == name for part in parts):
            return True
    return False


def _of_an_object(part: ast.expr | None) -> Sequence[ast.expr | None]:
    """What a dictionary or an object is made of: `Report(turn, deltas)`; else the value itself."""
    if isinstance(part, ast.Dict):
        return part.values
    if isinstance(part, ast.Call) and _called(part)[:1].isupper():
        return [*part.args, *(word.value for word in part.keywords)]
    return [part]


def _makes_a_function(node: ast.FunctionDef) -> bool:
    """Whether it returns a function: one that it defines, or that a compiler makes of one."""
    inner = {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef) and each is not node}
    given = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    return any(
        isinstance(each, ast.Lambda)
        or (isinstance(each, ast.Name) and each.id in inner)
        or (isinstance(each, ast.Call) and _called(each) in _COMPILERS)
        for each in given
    )


def _returns_gradients(node: ast.FunctionDef) -> bool:
    """Whether all that it returns is gradients."""
    made = {
        target.id
        for each in ast.walk(node)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
        if _called(each.value) in _GRADIENTS
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    given = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
    return bool(given) and all(
        (isinstance(each, ast.Name) and each.id in made)
        or (isinstance(each, ast.Call) and _called(each) in _GRADIENTS)
        for each in given
    )


def _added(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """The container and what goes into it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDS and call.args:
            return call.func.value, call.args[-1]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and _grows(node):
        more = node.value.right
        assert isinstance(more, ast.Tuple | ast.List)
        return node.targets[0], more.elts[0] if len(more.elts) == 1 else more
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.List):
        return node.target, node.value.elts[0] if len(node.value.elts) == 1 else node.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        return (None, None) if isinstance(target.slice, ast.Constant) else (target.value, node.value)
    return None, None


def _updates(made: ast.expr, name: str) -> bool:
    """Whether a call is given what it replaces: `params, state = step(params, state, batch)`."""
    given = made.args if isinstance(made, ast.Call) else []
    return any(isinstance(each, ast.Name) and each.id == name for each in given)


_PARAMETERS = regex(r"(?i)\A(?:\w+_)?(?:params?|parameters|weights)\Z")


def _copies_weights(value: ast.expr) -> bool:
    if isinstance(value, ast.ListComp):
        of = value.generators[0].iter
        return (
            isinstance(of, ast.Attribute) and of.attr in _ALL_WEIGHTS and not isinstance(value.elt, ast.Name)
        )
    return isinstance(value, ast.Call) and _called(value) == "get_weights"


def _grows(node: ast.Assign) -> bool:
    """Whether it is `kept = kept + [each]`."""
    value = node.value
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Add)
        and isinstance(value.right, ast.Tuple | ast.List)
        and len(node.targets) == 1
        and ast.unparse(node.targets[0]) == ast.unparse(value.left)
    )


def _inside(value: ast.expr) -> ast.expr:
    """What a conversion is given: `attn` of `np.asarray(attn)` and of `attn.numpy()`."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("numpy", "copy") and not value.args:
            return _inside(value.func.value)
        if _called(value) in ("asarray", "array", "device_get", "copy") and value.args:
            return _inside(value.args[0])
    return value


def _returns_of_host(function: ast.FunctionDef) -> bool:
    """Whether each value that it returns is made in host RAM in the very line that returns it."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    values = [
        each for value in returned for each in (value.elts if isinstance(value, ast.Tuple) else [value])
    ]
    calls = [each for each in values if isinstance(each, ast.Call)]
    plain = all(_host_call(each) or _called(each) in _NUMBERS for each in calls)
    others = (each for each in values if not isinstance(each, ast.Call))
    return any(map(_host_call, calls)) and plain and all(isinstance(each, _UNMADE) for each in others)


def _numbers_of_calls(scope: ast.AST, returned: Mapping[str, Mapping[int | None, bool]]) -> frozenset[str]:
    """Names to which nothing is ever given there but what a function returns as `float(...)` or `....item()`,
    alone or at that place of a tuple: `loss, kd = self.step(x)` after `return float(loss), float(kd)`.
    """
    numbers: dict[str, bool] = {}
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign):
            continue
        places = returned.get(_called(node.value), {}) if isinstance(node.value, ast.Call) else {}
        for target in node.targets:
            several = isinstance(target, ast.Tuple | ast.List)
            for place, each in enumerate(
                target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            ):
                if isinstance(each, ast.Name):
                    is_one = places.get(place if several else None, False)
                    numbers[each.id] = is_one and numbers.get(each.id, True)
    return frozenset(name for name, is_one in numbers.items() if is_one)


def _number_places(function: ast.FunctionDef) -> dict[int | None, bool]:
    """At which places of the tuples that it returns there is a number of Python; None: the result is one."""
    places: dict[int | None, bool] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        parts: list[tuple[int | None, ast.expr]] = [(None, node.value)]
        if isinstance(node.value, ast.Tuple):
            parts = list(enumerate(node.value.elts))
        for place, each in parts:
            of_python = isinstance(each, ast.Call) and _called(each) in _NUMBERS | {"item"}
            places[place] = of_python and places.get(place, True)
    return places


_UNMADE = (ast.Constant, ast.Attribute)
"""What is returned beside: a count, `ward.count`."""


def _host_call(call: ast.Call) -> bool:
    if _called(call) in _TO_HOST:
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = ast.unparse(call.func.value).rpartition(".")[2]
    return _root(call.func) in _OF_NUMPY or (call.func.attr in _DRAWS and bool(_GENERATOR.search(owner)))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(loop: ast.For | ast.While | ast.FunctionDef) -> set[str]:
    """Names that each iteration makes anew."""
    bound = [loop.target] if isinstance(loop, ast.For) else []
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            bound += node.targets
    names = (part for each in bound for part in ast.walk(each))
    return {part.id for part in names if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _pairs(target: ast.expr, value: ast.expr, line: Line) -> Iterator[tuple[str, ast.expr, Line]]:
    if isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for index, each in enumerate(target.elts):
            of = values[index] if len(values) == len(target.elts) else value
            yield from _pairs(each, of, line)
    else:
        yield ast.unparse(target), value, line


def _shape_of(text: str, name: str, alone: bool) -> tuple[tuple[int, ...], str | None] | None:
    """The shape that a comment states of a name; `alone`: also one that stands without a name."""
    comment = text.partition("#")[2]
    for match in _SHAPE.finditer(comment):
        before = comment[: match.start()].rstrip(" :=").rpartition(" ")[2].strip("`'\",")
        if (alone and not before.isidentifier()) or before == name:
            return tuple(int(each) for each in match["sizes"].split(",")), match["type"]
    return None


def _bytes(tensor: tuple[tuple[int, ...], str | None], text: str) -> tuple[int, str]:
    sizes, word = tensor
    kind = _TYPES.get(word or "", word or "")
    if kind not in ITEM_BYTES:
        kind = next((each for each in ("uint8", "float16", "bfloat16", "float64") if each in text), "")
    item = ITEM_BYTES.get(kind, _FLOAT_BYTES)
    return math.prod(sizes) * item, f"[{','.join(map(str, sizes))}] {kind or 'float32'}"
