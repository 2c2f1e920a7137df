"""What a loop of a quoted JAX or PyTorch/XLA program makes anew in each of its turns, by its syntax tree:
functions that are compiled again, loaders with threads and queues of their own, lists that keep every array.

Run of jax 0.10 on the CPU, 160 turns each: a new lambda, partial or gradient for `lax.scan`, `while_loop`,
`fori_loop`, `cond` or `map` outside of jit left 1.5 MiB of host RAM a turn, and nothing with
`jax.clear_caches()` or with one function for all turns. `jit(...)` made anew left nothing once nothing held
it, and 1.4 MiB a turn in a list; early releases kept it all the same. Another value of a static argument
left 1.4 MiB.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeGuard

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.prose_of_jax import NO_STATIC
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.knowledge.tree_values import dotted, last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_COMPILES = frozenset({"jit", "pjit", "pmap", "filter_jit", "filter_pmap"})
_LOOPS_OF_XLA = frozenset({"scan", "while_loop", "fori_loop", "cond", "switch", "associative_scan", "map"})
_JITTED_OVER_A_FUNCTION = frozenset(
    {"odeint", "minimize", "bfgs_minimize", "lbfgs_minimize", "cg", "gmres"}
    | {"diffeqsolve", "least_squares", "root_find"}
    | {
        "LBFGS",
        "BFGS",
        "GradientDescent",
        "ProximalGradient",
        "OptaxSolver",
        "GaussNewton",
        "LevenbergMarquardt",
    }
    | {"NonlinearCG", "ProjectedGradient", "Broyden", "AndersonAcceleration", "FixedPointIteration"}
)
"""Of `jax.experimental.ode`, `jax.scipy`, TensorFlow Probability on JAX, and solvers of JAX's libraries."""
_OWNERS = ("jax", "jaxopt", "tfp", "tensorflow_probability", "diffrax", "optimistix", "lineax")
_MAKES_FUNCTIONS = frozenset({"partial", "grad", "value_and_grad", "vmap", "jit", "checkpoint", "remat"})
_LOADERS = frozenset({"ParallelLoader", "MpDeviceLoader"})
_SAMPLERS = frozenset({"SVI", "MCMC"})
"""Of NumPyro: `run` traces and compiles what it was made of."""
_MAKERS = frozenset(
    {
        "zeros",
        "ones",
        "full",
        "empty",
        "arange",
        "linspace",
        "eye",
        "normal",
        "uniform",
        "randint",
        "bernoulli",
    }
    | {"permutation", "truncated_normal", "categorical", "choice"}
)
_OF_JAX = frozenset({"jnp", "jax", "random", "jr", "jrandom", "lax"})
_DERIVATIVES = frozenset({"grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian"})
_LIVE = frozenset({"live_arrays", "live_buffers"})
_LOADS = frozenset({"from_pretrained", "restore_checkpoint", "load_checkpoint", "from_bytes"})
_REMEMBERS = frozenset({"cache", "lru_cache"})
_FEWEST_TURNS = 3
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Anew:
    """Something that each turn of a loop makes."""

    kind: str
    """`function`, `body` (of a loop of XLA), `static` (an argument), `instance` (of a class whose methods are
    compiled for each), `shape`, `weights`, `loader`, `arrays`, `eager` (a library's call outside of jit, with
    a lambda), `sampler` (whose run is compiled), `derivative` (of a library's function, outside of jit),
    `second` (derivative of a jitted function, outside of jit).
    """
    line: Line
    loop: Line
    name: str
    """What makes it, `lax.scan`; of arrays the list that keeps them."""
    changes: bool = False
    """Whether it uses what the loop goes over."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of a loop, or a call of a function in it."""

    loop: ast.For | ast.While
    line: Line
    inside: frozenset[str]
    """Functions that are defined anew in it."""
    called: tuple[str, ...] = ()
    """Functions of the program that led here, the outermost first."""


class _Finder:
    """One program, followed from its loops into the functions that they call."""

    def __init__(self, program: Program) -> None:
        self._program = program
        trees = [(each, node) for each in program for node in each.nodes]
        self._functions = {node.name: (at, node) for at, node in trees if isinstance(node, ast.FunctionDef)}
        self._jitted = {name for name, (_, node) in self._functions.items() if _is_traced(node)}
        for _, call in trees:
            if isinstance(call, ast.Call) and last_name(call.func) in _COMPILES:
                self._jitted |= _names(call.args)
        self._within_jit = {
            name
            for each in self._jitted & self._functions.keys()
            for name in _names(self._functions[each][1].body)
        }
        nodes = [node for _, node in trees]
        self._compiled = {name for name, (_, node) in self._functions.items() if _is_traced(node)} | {
            last_name(node.targets[0])
            for node in nodes
            if isinstance(node, ast.Assign) and _compiles(node.value)
        }
        self._others = _objects_of_others(nodes, self._functions.keys() | self._jitted)
        self._static = dict(_static_arguments(nodes))
        self._compiling = {
            node.name: method
            for _, node in trees
            if isinstance(node, ast.ClassDef) and (method := _compiled_for_each(node))
        }
        self._imported = [
            (at.line_of(node).number, each.asname or each.name, node.module or "")
            for at, node in trees
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        ] + [
            (at.line_of(node).number, (each.asname or each.name).partition(".")[0], each.name)
            for at, node in trees
            if isinstance(node, ast.Import)
            for each in node.names
        ]
        self._imported.sort()
        self._numpy_of_jax = frozenset(
            each.asname or ""
            for _, node in trees
            if isinstance(node, ast.Import)
            for each in node.names
            if each.name == "jax.numpy"
        )

    def _is_of_jax(self, call: ast.Call) -> bool:
        """Whether an array is made by JAX, which compiles that anew for each shape; NumPy does not."""
        root = dotted(call.func).partition(".")[0]
        return root in _OF_JAX or (root in self._numpy_of_jax and ".random." not in dotted(call.func))

    def found(self) -> Iterator[Anew]:
        """Each line once."""
        seen: set[Line] = set()
        for statement in self._program:
            for each in self._visit(statement, statement.node, None):
                if each.line not in seen:
                    seen.add(each.line)
                    yield each

    def repeated(self, said: Line) -> Iterator[Anew]:
        """What statements make that run again and again, though no loop is quoted."""
        body = [each.node for each in self._program]
        if any(isinstance(node, ast.For | ast.While) for each in self._program for node in each.nodes):
            return
        turn = _Turn(ast.While(ast.Constant(True), body, []), said, _defined_in(body))
        for statement in self._program:
            for each in self._visit(statement, statement.node, turn):
                if each.kind == "body":
                    yield each

    def _visit(self, at: Statement, node: ast.AST, turn: _Turn | None) -> Iterator[Anew]:
        if isinstance(node, ast.For | ast.While) and _is_long(node) and at.runs(node):
            turn = _Turn(node, at.line_of(node), _defined_in(node.body))
            yield from self._body(at, node.body, turn)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from self._defined(at, node, turn)
        elif not (isinstance(node, ast.Lambda) or (isinstance(node, ast.If) and _is_remembered(node))):
            if turn is not None:
                yield from self._made(at, node, turn)
            yield from self._body(at, ast.iter_child_nodes(node), turn)

    def _body(self, at: Statement, parts: Iterable[ast.AST], turn: _Turn | None) -> Iterator[Anew]:
        for part in parts:
            yield from self._visit(at, part, turn)

    def _defined(
        self, at: Statement, node: ast.FunctionDef | ast.ClassDef, turn: _Turn | None
    ) -> Iterator[Anew]:
        """A definition runs nothing of its body; what is traced runs it once."""
        traced = isinstance(node, ast.FunctionDef) and _is_traced(node)
        if traced and turn is not None:
            yield Anew("function", at.line_of(node), turn.line, node.name, _uses(turn.loop, node))
        if not traced and node.name not in self._jitted:
            yield from self._body(at, node.body, None)

    def _made(self, at: Statement, node: ast.AST, turn: _Turn) -> Iterator[Anew]:
        line = at.line_of(node) if hasattr(node, "lineno") else turn.line
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = last_name(node.targets[0])
            if last_name(node.value.func) in _LIVE and name and not _is_deleted(turn.loop, name):
                yield Anew("arrays", line, turn.line, name)
        if not isinstance(node, ast.Call):
            return
        name = last_name(node.func)
        if name in _COMPILES and node.args:
            yield Anew("function", line, turn.line, dotted(node.func), _uses(turn.loop, node))
        elif name in _LOADS:
            yield Anew("weights", line, turn.line, dotted(node.func), _uses(turn.loop, node))
        elif name in _LOADERS:
            yield Anew("loader", line, turn.line, name)
        elif name in _SAMPLERS and name not in self._functions:
            yield Anew("sampler", line, turn.line, name)
        elif name in _LOOPS_OF_XLA and "lax" in dotted(node.func) and _is_given_anew(node, turn.inside):
            yield Anew("body", line, turn.line, dotted(node.func))
        elif self._is_of_jax(node) and _makes_new_shapes(node, turn.loop):
            yield Anew("shape", line, turn.line, dotted(node.func))
        elif name in self._static and self._static[name].changes(node, turn.loop):
            yield Anew("static", line, turn.line, name)
        elif isinstance(node.func, ast.Name) and name in self._compiling:
            method, static = self._compiling[name]
            kind = "instance" if static else "function"
            yield Anew(kind, line, turn.line, f"{name}.{method}", _uses(turn.loop, node))
        elif self._compiles_what_it_gets(at, node) and _is_given_anew(node, turn.inside):
            yield Anew("body", line, turn.line, dotted(node.func))
        elif name in _DERIVATIVES and self._others & _names(node.args[:1]):
            yield Anew("derivative", line, turn.line, dotted(node.func))
        elif name == "hessian" and self._compiled & _names(node.args[:1]):
            yield Anew("second", line, turn.line, dotted(node.func))
        elif self._is_left_outside(node, turn):
            yield Anew("eager", line, turn.line, turn.called[-1])
        elif isinstance(node.func, ast.Name) and len(turn.called) < _DEEPEST:
            yield from self._called(node.func.id, turn)

    def _is_left_outside(self, call: ast.Call, turn: _Turn) -> bool:
        """Whether a library gets a lambda here, in a function that the program calls within jit elsewhere and
        here outside of it.
        """
        given = [*call.args, *(word.value for word in call.keywords)]
        outside = bool(turn.called) and turn.called[-1] in self._within_jit
        return (
            outside and _root(call.func) not in _KNOWN and any(isinstance(each, ast.Lambda) for each in given)
        )

    def _called(self, name: str, turn: _Turn) -> Iterator[Anew]:
        """What a function of the program makes in each of its calls."""
        at, function = self._functions.get(name, (None, None))
        if at is None or function is None or name in self._jitted or _is_cached(function):
            return
        if name in turn.called:
            return
        inside = _defined_in(function.body)
        yield from self._body(at, function.body, _Turn(turn.loop, turn.line, inside, (*turn.called, name)))

    def _compiles_what_it_gets(self, at: Statement, call: ast.Call) -> bool:
        """Whether it is a function of JAX that is jitted itself, with the function that it is given as static
        argument: by the last import above it.
        """
        name = last_name(call.func)
        if name not in _JITTED_OVER_A_FUNCTION:
            return False
        root = dotted(call.func).partition(".")[0]
        here = at.line_of(call).number
        above = [module for number, known, module in self._imported if known == root and number <= here]
        return (above[-1].partition(".")[0] if above else root) in _OWNERS


def _compiled_for_each(node: ast.ClassDef) -> tuple[str, bool] | None:
    """A method that is compiled anew for each instance of a class, and whether that is since it has `self` as
    a static argument, which keeps the instance: else the constructor compiles it. None of a class whose
    instances may be equal, and of one that is a tree.
    """
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    equal = {"__hash__", "__eq__"} & {each.name for each in methods} or node.decorator_list
    if equal or any(last_name(each) in _TREES for each in node.bases):
        return None
    for method in methods:
        parts = [part for each in method.decorator_list for part in ast.walk(each)]
        names = [each.arg for each in method.args.args]
        if names[:1] == ["self"] and _is_traced(method) and 0 in _static(parts, names).places:
            return method.name, True
        if method.name == "__init__":
            made = (each for each in ast.walk(method) if isinstance(each, ast.Assign))
            for each in made:
                if _compiles(each.value) and isinstance(each.targets[0], ast.Attribute):
                    return each.targets[0].attr, False
    return None


_TREES = frozenset({"Module", "NamedTuple", "PyTreeNode"})
"""Bases whose instances are arguments like any other."""


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {each.id for part in nodes for each in ast.walk(part) if isinstance(each, ast.Name)}


def _defined_in(body: Iterable[ast.AST]) -> frozenset[str]:
    """Names of functions that each turn makes: by def, lambda, partial, or as the gradient of another."""
    nodes = [node for part in body for node in ast.walk(part)]
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    made = (each for each in nodes if isinstance(each, ast.Assign) and _makes_a_function(each.value))
    return frozenset(defined | {last_name(each.targets[0]) for each in made})


def _makes_a_function(node: ast.AST) -> bool:
    return isinstance(node, ast.Lambda) or (
        isinstance(node, ast.Call) and last_name(node.func) in _MAKES_FUNCTIONS
    )


@dataclass(frozen=True, slots=True)
class _Static:
    """Which arguments of a compiled function are static."""

    places: frozenset[int]
    names: frozenset[str]

    def changes(self, call: ast.Call, loop: ast.For | ast.While) -> bool:
        """Whether a call gives one of them what the loop goes over, or what follows from it."""
        given = [each for place, each in enumerate(call.args) if place in self.places]
        given += [each.value for each in call.keywords if each.arg in self.names]
        return bool(_names(given) & _counted(loop))


def _counted(loop: ast.For | ast.While) -> set[str]:
    """The names that have another value in each turn: what the loop goes over or counts, and what is computed
    from it.
    """
    nodes = [node for part in loop.body for node in ast.walk(part)]
    counted = _names([loop.target]) if isinstance(loop, ast.For) else set()
    counted |= {name for each in nodes if isinstance(each, ast.AugAssign) for name in _names([each.target])}
    assigned = [each for each in nodes if isinstance(each, ast.Assign)]
    for _ in assigned:
        more = {
            name
            for each in assigned
            if _names([each.value]) & counted and not _is_of_shape(each.value)
            for name in _names(each.targets)
        }
        if more <= counted:
            break
        counted |= more
    return counted


def _makes_new_shapes(call: ast.Call, loop: ast.For | ast.While) -> bool:
    """Whether an array gets another size in each turn: `(400, n)` where the loop goes over `n`."""
    if last_name(call.func) not in _MAKERS:
        return False
    shapes: list[ast.expr] = [each for each in call.args if isinstance(each, ast.Tuple | ast.List)]
    shapes += [each.value for each in call.keywords if each.arg in ("shape", "size")]
    if last_name(call.func) in ("zeros", "ones", "empty", "arange", "eye"):
        shapes += call.args[:1]
    counted = _counted(loop)
    return any(_names([shape]) & counted and not _is_of_shape(shape) for shape in shapes)


def _is_of_shape(node: ast.AST) -> bool:
    """Whether it is read from a shape, which most loops keep."""
    return any(isinstance(each, ast.Attribute) and each.attr == "shape" for each in ast.walk(node))


def _static_arguments(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, _Static]]:
    """Compiled functions with static arguments, by their names."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and _is_traced(node):
            parts = [part for each in node.decorator_list for part in ast.walk(each)]
            names = [each.arg for each in node.args.args]
            yield node.name, _static(parts, names)
        elif isinstance(node, ast.Assign) and _compiles(node.value):
            yield last_name(node.targets[0]), _static([node.value], [])


def _compiles(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _COMPILES


def _static(parts: Iterable[ast.AST], arguments: list[str]) -> _Static:
    words = {word.arg: word.value for part in parts if isinstance(part, ast.Call) for word in part.keywords}
    told = [words[name] for name in ("static_argnums", "static_argnames") if name in words]
    values = [each.value for one in told for each in ast.walk(one) if isinstance(each, ast.Constant)]
    places = {each for each in values if isinstance(each, int)}
    names = {each for each in values if isinstance(each, str)}
    places |= {arguments.index(each) for each in names if each in arguments}
    names |= {arguments[each] for each in places if 0 <= each < len(arguments)}
    return _Static(frozenset(places), frozenset(names))


def _is_traced(node: ast.FunctionDef) -> bool:
    """Whether a decorator compiles it: `@jax.jit`, `@partial(jax.jit, static_argnums=0)`."""
    parts = (part for each in node.decorator_list for part in ast.walk(each))
    return any(last_name(part) in _COMPILES for part in parts)


def _is_cached(node: ast.FunctionDef) -> bool:
    parts = (part for each in node.decorator_list for part in ast.walk(each))
    return any(last_name(part) in _REMEMBERS for part in parts)


def _is_remembered(node: ast.If) -> bool:
    """`if key not in made:`, `if step is None:`: what follows is made once."""
    return any(
        isinstance(part, ast.Compare) and any(isinstance(op, ast.NotIn | ast.Is) for op in part.ops)
        for part in ast.walk(node.test)
    )


def _is_long(loop: ast.For | ast.While) -> bool:
    """Whether it may turn more than twice: a loop over two stages prepares each."""
    if isinstance(loop, ast.While):
        return True
    over = loop.iter
    if isinstance(over, ast.Tuple | ast.List):
        return len(over.elts) >= _FEWEST_TURNS
    last = over.args[-1] if isinstance(over, ast.Call) and last_name(over.func) == "range" else None
    return not (isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value < _FEWEST_TURNS)


def _uses(loop: ast.For | ast.While, node: ast.AST) -> bool:
    """Whether it reads a name that each turn of the loop sets."""
    parts = [*loop.body, *([loop.target] if isinstance(loop, ast.For) else [])]
    names = [each for part in parts for each in ast.walk(part) if isinstance(each, ast.Name)]
    changed = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return bool(changed & _names([node]))


def _is_given_anew(call: ast.Call, inside: frozenset[str]) -> bool:
    """Whether a function that it is given is made in the turn."""
    given = [*call.args, *(word.value for word in call.keywords)]
    given += [part for each in given if _is_term(each) for part in each.args]
    given += [part for each in given if isinstance(each, ast.List | ast.Tuple) for part in each.elts]
    return any(_makes_a_function(each) or last_name(each) in inside for each in given)


def _is_term(node: ast.AST) -> TypeGuard[ast.Call]:
    """`ODETerm(f)`: a function as a solver takes it."""
    return isinstance(node, ast.Call) and last_name(node.func).endswith("Term")


def _is_deleted(loop: ast.For | ast.While, name: str) -> bool:
    gone = (each for part in loop.body for each in ast.walk(part) if isinstance(each, ast.Delete))
    return any(last_name(target) == name for each in gone for target in each.targets)


def told_to_repeat(program: Program, said: Line) -> Iterator[Anew]:
    """The same of code without a loop, which words say is run again and again."""
    return _Finder(program).repeated(said)


def made_anew(program: Program) -> Iterator[Anew]:
    """All that loops of the program make in each turn, in the order of the text."""
    return _Finder(program).found()


def nothing_made_anew(case: Case) -> bool:
    """Whether the text quotes a loop of JAX that makes nothing anew, and that keeps nothing in a list; what
    a library does without jit round it is not known.
    """
    told = case.capture.surroundings
    if told.shows("jax: jit ends it"):
        return False
    nodes = [node for each in told.program() for node in each.nodes]
    loops = any(isinstance(node, ast.For | ast.While) for node in nodes)
    anew = any(True for _ in made_anew(told.program())) or any(True for _ in kept(told))
    return framework_of(case) == JAX and loops and not (anew or told.stores) and _calls_are_known(nodes)


_KNOWN = _OF_JAX | frozenset(dir(builtins)) | {"np", "numpy", "gc", "os", "sys", "time", "psutil", "resource"}
_DEEPEST = 4


def _calls_are_known(nodes: Sequence[ast.AST]) -> bool:
    """Whether the loops call nothing but JAX, jitted functions and functions of the text that do the same,
    and give JAX no function that a library made.
    """
    defined = {each.name: each for each in nodes if isinstance(each, ast.FunctionDef)}
    jitted = {
        name for name, each in defined.items() if any(_COMPILES & _words(one) for one in each.decorator_list)
    }
    jitted |= {
        name
        for each in nodes
        if isinstance(each, ast.Assign) and _COMPILES & _words(each.value)
        for target in each.targets
        for name in _names([target])
    }
    made = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    others = _objects_of_others(nodes, defined.keys() | jitted)
    made -= others

    def known(part: ast.AST, depth: int = 0) -> bool:
        for call in (each for each in ast.walk(part) if isinstance(each, ast.Call)):
            root = _root(call.func)
            if root in _KNOWN and others & {each.id for each in call.args if isinstance(each, ast.Name)}:
                return False
            method = isinstance(call.func, ast.Attribute) and root in made and root not in defined
            if root in _KNOWN or root in jitted or method:
                continue
            if root not in defined or depth > _DEEPEST:
                return False
            if not all(known(each, depth + 1) for each in defined[root].body):
                return False
        return True

    loops = (each for each in nodes if isinstance(each, ast.For | ast.While))
    return all(known(part) for loop in loops for part in loop.body)


def _objects_of_others(nodes: Sequence[ast.AST], own: AbstractSet[str]) -> set[str]:
    """Names that are given what a library made: its methods may compile."""
    return {
        name
        for each in nodes
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
        if _root(each.value.func) not in _KNOWN | own
        for target in each.targets
        for name in _names([target])
    }


def _words(node: ast.AST) -> set[str]:
    """All names and attributes in it."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)
    }


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def growers(case: Case) -> Iterator[Grower]:
    """The same in words, with what helps, for the framework that runs it."""
    kinds = {
        JAX: (
            "arrays",
            "static",
            "instance",
            "function",
            "body",
            "sampler",
            "shape",
            "weights",
            *_TRACED_ANEW,
        ),
        TORCH_XLA: ("loader",),
    }.get(framework_of(case) or "", ())
    program = case.capture.surroundings.program()
    found = list(made_anew(program)) if kinds and program else []
    told = case.capture.surroundings
    grows = told.shows("growing in words") or told.shows("failing late")
    again = grows and (_REPEATED.search(grows.text) or _LEAKS.search(grows.text))
    if not found and grows and again and program and "body" in kinds:
        found = list(told_to_repeat(program, grows))
    for kind in kinds:
        for each in (one for one in found if one.kind == kind):
            if kind in _ONLY_WHILE_IT_GROWS and not grows:
                continue
            if told.setting("clear_caches") and kind not in ("arrays", "weights", "loader"):
                continue  # the programs that it compiles are dropped
            yield Grower(_in_words(each), each.line, _remedies(each), sure=kind in _SHOWN)


_TRACED_ANEW = ("eager", "derivative", "second")
_ONLY_WHILE_IT_GROWS = ("shape", *_TRACED_ANEW)
_REPEATED = regex(r"(?i)\brepeated\w*\b|\bloops?\b|\b(?:each|every) (?:call|time|iteration|step|run)\b")
_LEAKS = regex(r"(?i)\bleak(?:s|ing|age)?\b")
"""What leaks is called more than once."""
_SHOWN = ("arrays", "static", "instance", "body")
"""What JAX keeps whatever holds the functions: runs of our own showed it."""


def loader_in_words(told: Surroundings) -> Grower | None:
    """A loader of PyTorch/XLA that the title, or the line that tells of growth, names."""
    line, grows = told.shows("ending steps"), told.shows("growing in words")
    match = _NAMED_LOADER.search(line.text) if line else None
    if line is None or match is None or not (line == grows or line.text.startswith("# ")):
        return None
    what = f"`{match[0]}` ({line.place}), whose threads and queues of each pass over it may stay"
    return Grower(what, line, (_ONE_LOADER, _FEWER_WAITING, _NEWER_LOADER))


_NAMED_LOADER = regex(r"\b(?:MpDeviceLoader|ParallelLoader|parallel_loader)\b")
_NEWER_LOADER = Remedy(
    "or take a newer torch_xla: a change of September 2024 lets the loader's threads end",
    "pip install -U 'torch_xla[tpu]'",
    slug="newer-release",
)


def _in_words(made: Anew) -> str:
    of_loop = f"each turn of the loop on {made.loop.place}"
    if not _LOOPS.match(made.loop.text):
        tells = "loop" if _REPEATED.search(made.loop.text) else "leak"
        of_loop = f"each call ({made.loop.place} tells of a {tells})"
    if made.kind == "arrays":
        return (
            f"`{made.name}` ({made.line.place}), which keeps all arrays that are alive, those of earlier"
            " turns as well"
        )
    if made.kind == "weights":
        return (
            f"{made.line.place} reads weights in {of_loop}, and those before go only when nothing holds them"
        )
    if made.kind == "loader":
        return (
            f"{made.line.place} makes another `{made.name}` in {of_loop}, with threads and queues of batches"
            " of its own"
        )
    if made.kind == "static":
        return (
            f"{made.line.place} gives `{made.name}` another value of a static argument in {of_loop}: each is"
            " compiled, and its program stays"
        )
    if made.kind == "instance":
        owner, _, method = made.name.partition(".")
        return (
            f"{made.line.place} makes another `{owner}` in {of_loop}: `{method}` is compiled for each"
            " instance anew, and its program stays"
        )
    if made.kind == "shape":
        return (
            f"{made.line.place} makes an array of another size in {of_loop}: each new shape is compiled anew,"
            " in the functions that are given it as well, and JAX keeps every program in host RAM"
        )
    if made.kind == "body":
        return (
            f"{made.line.place} gives `{made.name}` another function in {of_loop}: outside of jit each is"
            " compiled, and its program stays"
        )
    if made.kind == "sampler":
        return (
            f"{made.line.place} makes another `{made.name}` in {of_loop}: its run traces and compiles the"
            " model anew, and the program stays"
        )
    if made.kind == "eager":
        return (
            f"what {of_loop} traces anew: `{made.name}` runs outside of jit there, and {made.line.place}"
            " gives the library another lambda each time, so that what it compiles with it is compiled again"
        )
    if made.kind == "derivative":
        return (
            f"what {of_loop} traces anew: {made.line.place} takes the derivative of a library's function"
            " outside of jit, and what the library compiles on the way (solvers, loops of XLA), with a"
            " function of its own each time, stays"
        )
    if made.kind == "second":
        return (
            f"what {of_loop} traces anew: {made.line.place} takes the second derivative of a jitted function"
            " outside of jit, and some releases of JAX compile what they trace for it in each call, and keep"
            " it"
        )
    return (
        f"{made.line.place} makes and compiles another function in {of_loop}, which keeps what it closes"
        " over: its program stays as long as the function, in early releases of JAX until the end"
    )


_LOOPS = regex(r"\s*(?:>>> )?(?:async )?(?:for|while)\b|.*\bfor \w+ in\b")


def _remedies(made: Anew) -> tuple[Remedy, ...]:
    if made.kind == "arrays":
        return (_without_list(made),)
    if made.kind == "weights":
        return (_IN_A_PROCESS if made.changes else _LOADED_ONCE,)
    if made.kind == "loader":
        return (_ONE_LOADER, _FEWER_WAITING)
    if made.kind == "static":
        return (NO_STATIC, _CLEAR)
    if made.kind == "instance":
        return (_one_instance(made), _CLEAR)
    if made.kind == "shape":
        return (_FEW_SHAPES, _CLEAR_SHAPES)
    if made.kind == "body":
        return (_one_body(made), _CLEAR)
    if made.kind == "sampler":
        return (_one_sampler(made), _CLEAR)
    if made.kind == "eager":
        return (_jitted_once(made), _CLEAR)
    if made.kind == "second":
        return (_jitted_derivative(made),)
    if made.kind == "derivative":
        return (_jitted_derivative(made), _SEE_WHAT_IS_COMPILED)
    return (_above_the_loop(made), _CLEAR)


def _without_list(made: Anew) -> Remedy:
    return Remedy(
        f"let go of `{made.name}`, and of the name that goes over it, before the next array is made, or keep"
        " numbers of it alone",
        f"del {made.name}   # or: print(len(jax.live_arrays()))",
        slug="keep-numbers",
    )


def _above_the_loop(made: Anew) -> Remedy:
    code = made.line.text.strip()
    given = ", and give it what changes from turn to turn as an argument" if made.changes else ""
    fits = not made.changes and not code.startswith(("@", "def ")) and len(code) <= _LONGEST
    return Remedy(
        f"make the function once, above the loop on {made.loop.place}{given}",
        f"{code}   # above the loop" if fits else None,
        slug="compile-once",
    )


def _jitted_once(made: Anew) -> Remedy:
    return Remedy(
        f"put what the turn computes with `{made.name}` into one jitted function above the loop on"
        f" {made.loop.place}, and give it what changes as arguments: it is traced once then, lambda and all",
        slug="compile-once",
    )


def _one_sampler(made: Anew) -> Remedy:
    code = (
        "update = jax.jit(svi.update)   # above the loop; state = svi.init(key, x, y); update(state, x, y)"
        if made.name == "SVI"
        else "mcmc = MCMC(NUTS(model), jit_model_args=True, ...)   # above the loop; then mcmc.run(key, x)"
    )
    return Remedy(
        f"make one `{made.name}` above the loop on {made.loop.place}, and give it data of one shape as"
        " arguments: it is compiled once then",
        code,
        slug="compile-once",
    )


def _jitted_derivative(made: Anew) -> Remedy:
    return Remedy(
        f"jit the derivative once, above the loop on {made.loop.place}, and call that in each turn, with what"
        " changes as arguments: it is traced and compiled once then",
        f"derivative = jax.jit({made.name}(f))   # above the loop; then derivative(params)",
        slug="compile-once",
    )


_SEE_WHAT_IS_COMPILED = Remedy(
    "where the library cannot be jitted: see whether something is compiled in each turn, and drop the"
    " programs now and then",
    "jax.config.update('jax_log_compiles', True)   # jax.clear_caches() after every hundred turns",
    slug="start-anew",
)


def _one_instance(made: Anew) -> Remedy:
    owner, _, method = made.name.partition(".")
    return Remedy(
        f"compile once for all: make one `{owner}` above the loop on {made.loop.place}, or `{method}` a"
        " jitted function of the module, and give it what differs (weights, states, data) as arguments",
        f"{method} = jax.jit({method})   # of the module: {method}(params, data)",
        slug="compile-once",
    )


_LOADED_ONCE = Remedy(
    "read the weights once, above the loop: where each turn needs them anew, let go of those before first."
    " What rises over the first turns and stays then is room that the process keeps for itself",
    "del params; jax.clear_caches()   # before the next are read",
    slug="make-once",
)
_IN_A_PROCESS = Remedy(
    "let go of the weights before, or do each in a process of its own, whose end frees everything",
    "del params; jax.clear_caches()   # before the next are read",
    slug="own-process",
)
_CLEAR = Remedy(
    "or, where each turn needs a function of its own: let go of it, and drop what was compiled, before the"
    " next; or do each in a process of its own",
    "jax.clear_caches()   # at the end of each turn, or of each hundred",
    slug="start-anew",
)
_FEW_SHAPES = Remedy(
    "make few sizes of it: pad to the next of some lengths, and mask what was added",
    "m = -(-n // 512) * 512; x = jnp.zeros((400, m)).at[:, :n].set(a)   # a and n: NumPy's, n given to f",
    slug="one-shape-of-jax",
)
_CLEAR_SHAPES = Remedy(
    "or drop the programs of earlier sizes now and then, or compute with NumPy what is so small",
    "jax.clear_caches()   # every hundred turns",
    slug="start-anew",
)
_CODE_OF_ONE_BODY = {
    "scan": "run = jax.jit(lambda c, xs: {name}(body, c, xs))   # above the loop",
    "while_loop": "run = jax.jit(lambda c: {name}(test, body, c))   # above the loop",
    "fori_loop": "run = jax.jit(lambda n, c: {name}(0, n, body, c))   # above the loop",
    "switch": "{name}(i, (f0, f1), x, y)   # f0 and f1: defined above the loop",
    "cond": "{name}(p, f0, f1, x, y)   # f0 and f1: defined above the loop",
    "odeint": "{name}(f, y0, t, a, b)   # f(y, t, a, b): defined above the loop",
    "minimize": "{name}(f, x0, args=(a, b), method='BFGS')   # f: defined above the loop",
}
"""With what changes given as an argument instead of being closed over."""


def _one_body(made: Anew) -> Remedy:
    code = _CODE_OF_ONE_BODY.get(made.name.rpartition(".")[2])
    where = f"above the loop on {made.loop.place}"
    if not _LOOPS.match(made.loop.text):
        where = "outside of what is called again"
    return Remedy(
        f"define that function once, {where}, and give it what changes as"
        " arguments instead of closing over it; or jit the function around it",
        code.format(name=made.name) if code else None,
        slug="compile-once",
    )


_ONE_LOADER = Remedy(
    "make the loader once, above the loop of epochs, and go over it in each, or close it at the end of each",
    "loader = pl.MpDeviceLoader(loader, device)   # once; a ParallelLoader: para_loader.close()",
    slug="make-once",
)
_FEWER_WAITING = Remedy(
    "or let fewer batches wait in its queues",
    "pl.MpDeviceLoader(loader, device, loader_prefetch_size=2, device_prefetch_size=1)",
    slug="fewer-batches-ahead",
)
