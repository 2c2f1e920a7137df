"""What a setting of the program makes a library keep: the history of L-BFGS, a row for each step that a
solver of differential equations may take, results of a cached function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from tfmemlens.findings.support.jax_program import reached_by
from tfmemlens.findings.support.jax_stack import LEAST_BYTES, MadeByLine
from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.knowledge.tree_values import dotted
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.units import human, human_size
from tfmemlens.values import replace

_LBFGS = {"lbfgs": "memory_size", "scale_by_lbfgs": "memory_size", "LBFGS": "history_size"}
_USUAL_HISTORY = 10
_SOLVERS = frozenset({"diffeqsolve"})
_USUAL_STEPS = 4096
_FEWER_STEPS = 32
_ITEM = 4
_CACHES = frozenset({"lru_cache", "cache"})
_COMPILES = ("jit", "pmap")


def kept_by_settings(case: Case, moment: Moment, need: int, *, of_shape: bool = False) -> MadeByLine | None:
    """What a setting makes a library keep, where the request is so many of something, and arguments and
    results are what fills the device, or the request tells it by itself; with `of_shape` only where an axis
    of the array that was refused is as long as the setting says.
    """
    told = case.capture.surroundings
    program = list(told.program()) if need >= LEAST_BYTES and moment.request else []
    if not program or moment.request is None:
        return None
    function = (moment.request.failed.executable or "").removeprefix("jit_") or None
    reached = list(reached_by(function, program))
    numbers = {name: figure for name, (figure, _) in numbers_by_name(code_lines(told)).items()}
    compiler = moment.incident.compiler if moment.incident else None
    given = bool(compiler and compiler.arguments_and_results)
    axes = moment.request.failed.shape or ()

    def fits(many: int) -> bool:
        return many in axes if of_shape else _may_be(need, many, given)

    made = _history(reached, numbers, need, fits) or _saved(reached, numbers, need, fits)
    if made and compiler and compiler.arguments_and_results:
        whole = human_size(compiler.arguments_and_results)
        made = replace(made, what=f"{made.what}; all that is given and returned is {whole}")
    return made


def _calls(program: Sequence[Statement]) -> Iterator[tuple[Statement, ast.Call, str]]:
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.Call):
                yield statement, node, dotted(node.func).rpartition(".")[2]


def _setting(call: ast.Call, name: str, numbers: Mapping[str, int]) -> int | None:
    """A whole number that a call is given by this name, itself or by a name of the program."""
    value = next((each.value for each in call.keywords if each.arg == name), None)
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return value.value
    return numbers.get(value.id) if isinstance(value, ast.Name) else None


def _may_be(need: int, many: int, given: bool) -> bool:
    """Whether a request may be so many rows: a multiple, and one that is none by chance."""
    return need % (many * _ITEM) == 0 and (given or bool(many & (many - 1)))


def _history(
    program: Sequence[Statement], numbers: Mapping[str, int], need: int, fits: Callable[[int], bool]
) -> MadeByLine | None:
    """`optax.lbfgs(memory_size=120)`: two arrays of 120 rows as large as what is optimized."""
    for statement, call, name in _calls(program):
        setting = _LBFGS.get(name)
        many = _setting(call, setting, numbers) if setting else None
        if setting is None or many is None or many <= _USUAL_HISTORY or not fits(many):
            continue
        line = statement.line_of(call)
        less = 2 * need // many * _USUAL_HISTORY
        return MadeByLine(
            f"the state of `{name}({setting}={many})` ({line.place}): it keeps {many} changes of the values"
            f" and {many} of the gradients, each {human(need // many)}, {human(2 * need)} together from the"
            " start",
            (
                Remedy(
                    f"keep fewer: {many} -> {_USUAL_HISTORY} leaves {human(less)}",
                    f"{name}({setting}={_USUAL_HISTORY})",
                    slug="shorter-history",
                ),
                Remedy(
                    "and let a compiled step give the old state back, so that the new one takes its place",
                    "step = jax.jit(step, donate_argnums=(0, 1))   # values, state",
                    slug="donate-buffers",
                ),
            ),
            line=line,
        )
    return None


def _saved(
    program: Sequence[Statement], numbers: Mapping[str, int], need: int, fits: Callable[[int], bool]
) -> MadeByLine | None:
    """`SaveAt(steps=True)`: a row for each of `max_steps`, however few are taken."""
    calls = list(_calls(program))
    saves = next((each for each in calls if each[2] == "SaveAt" and _saves_steps(each[1])), None)
    solves = next((each for each in calls if each[2] in _SOLVERS), None)
    if saves is None or solves is None:
        return None
    many = _setting(solves[1], "max_steps", numbers)
    if many is None and not any(each.arg == "max_steps" for each in solves[1].keywords):
        many = _USUAL_STEPS
    if many is None or many < 2 * _FEWER_STEPS or not fits(many):
        return None
    line, fewer = saves[0].line_of(saves[1]), many // _FEWER_STEPS
    at = _place_of(solves, "max_steps")
    return MadeByLine(
        f"`SaveAt(steps=True)` ({line.place}) makes room for a row of every step that may be taken:"
        f" max_steps={many}{at} of {human(need // many)}, however few are taken",
        (
            Remedy(
                "save at the times that are needed",
                "diffrax.SaveAt(ts=jnp.linspace(t0, t1, 100))   # or SaveAt(t1=True): the last state alone",
                slug="stack-less",
            ),
            Remedy(
                f"or lower max_steps to little more than the steps that are taken: {many} -> {fewer} leaves"
                f" {human(need // many * fewer)}",
                f"diffrax.diffeqsolve(..., max_steps={fewer})",
                slug="fewer-steps",
            ),
        ),
        line=line,
    )


def _saves_steps(call: ast.Call) -> bool:
    return any(
        each.arg == "steps" and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in call.keywords
    )


def _place_of(call: tuple[Statement, ast.Call, str], name: str) -> str:
    """` (line 37)`, where a call states a setting."""
    statement, node, _ = call
    value = next((each.value for each in node.keywords if each.arg == name), None)
    return f" ({statement.line_of(value).place})" if value else ""


def cached_arrays(told: Surroundings) -> tuple[str, Line] | None:
    """A function of the program whose results `functools.lru_cache` keeps, where it returns what JAX or a
    compiled function of the program makes.
    """
    program = list(told.program())
    functions = [
        (statement, node)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef)
    ]
    compiled = {node.name for _, node in functions if _decorated(node, _COMPILES)}
    for statement, node in functions:
        cache = next((each for each in node.decorator_list if _called(each) in _CACHES), None)
        returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
        if cache is not None and node.args.args and any(_makes_arrays(each, compiled) for each in returned):
            return node.name, statement.line_of(cache)
    return None


def _called(decorator: ast.expr) -> str:
    """`lru_cache` of `@functools.lru_cache(maxsize=9)`."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(function).rpartition(".")[2]


def _decorated(node: ast.FunctionDef, names: Sequence[str]) -> bool:
    return any(
        dotted(part).rpartition(".")[2].endswith(tuple(names))
        for each in node.decorator_list
        for part in ast.walk(each)
        if isinstance(part, ast.Name | ast.Attribute)
    )


def _makes_arrays(value: ast.expr, compiled: set[str]) -> bool:
    """Whether what is returned calls JAX's NumPy or a compiled function; a function itself is no array."""
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    roots = (dotted(each.func) for each in parts if isinstance(each, ast.Call))
    return any(root.partition(".")[0] in ("jnp", *compiled) or root == "jax.device_put" for root in roots)


def without_cache(name: str, line: Line) -> Remedy:
    """What to do with such a cache."""
    return Remedy(
        f"take the cache off `{name}` ({line.place}), or keep a few results alone: it keeps every array that"
        " the function returned on the device, for each new set of arguments one more",
        "@lru_cache(maxsize=2)   # or cache on the host: jax.device_get(result)",
        slug="keep-numbers",
    )
