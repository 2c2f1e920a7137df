"""What quoted JAX code makes, read from its syntax trees: arrays that a jitted function uses without being
given them, matrices of derivatives, what scans stack, arrays that are made whole before they are sharded.

A program is read where no traceback shows the line that failed; what it makes is a guess, and is said so.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import TypeVar

from tfmemlens.findings.support.jax_code.changes import (
    HESSIAN_PRODUCTS,
    RECOMPUTED_STEPS,
    ROWS_OF_DERIVATIVES,
    SCAN_OF_BLOCKS,
)
from tfmemlens.findings.support.jax_products import forward_first
from tfmemlens.findings.support.jax_stack import LEAST_BYTES, MadeByLine
from tfmemlens.findings.support.main_buffers import of_a_whole_graph
from tfmemlens.findings.support.situation import JAX
from tfmemlens.findings.support.stacked_states import stacked_state
from tfmemlens.knowledge.jax_arrays import arrays_of
from tfmemlens.knowledge.tree_values import dotted, last_name
from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

_Node = TypeVar("_Node", bound=ast.AST)

_MAKES_ARRAYS = frozenset(
    "array asarray device_put load zeros ones full empty random rand randn normal uniform randint eye arange"
    " repeat tile concatenate stack loadtxt memmap read_hdf fetch_openml".split()
)
_HESSIANS = frozenset({"hessian", "filter_hessian"})
_DERIVATIVES = _HESSIANS | {"jacfwd", "jacrev", "jacobian", "filter_jacfwd", "filter_jacrev"}
"""Of JAX, and of Equinox, whose functions take a model as it is."""
_SUMS_OF_EDGES = frozenset({"segment_sum", "segment_max", "segment_mean", "segment_softmax"})
_GRADIENTS = frozenset({"grad", "value_and_grad", "filter_grad", "filter_value_and_grad", "vjp"})
_RECOMPUTES = frozenset({"checkpoint", "remat", "filter_checkpoint"})
_SHARDINGS = frozenset({"NamedSharding", "PositionalSharding"})
_MIN_CONSTANT_ELEMENTS = 1 << 16
"""Elements: a constant of fewer is a table or a mask."""


def made_by_program(
    told: Surroundings, need: int | None = None, *, counted: bool = False
) -> MadeByLine | None:
    """What the quoted code makes that is most likely too large; None where nothing in it says so, or where
    the array is known to be small beside the bytes that were asked for, or beside any device where those are
    not told. Of one program whose need is `counted`, other programs that are kept are no cause.
    """
    program = list(told.program())
    for reading in _READINGS:
        if counted and reading is _many_shapes:
            continue
        made = reading(program)
        if made and not (reading is _captured and made.line and _is_small_beside(program, made, need)):
            return _by_rows(program, made, need) if reading is _derivative and need else made
    return None


def _by_rows(program: list[Statement], made: MadeByLine, need: int) -> MadeByLine:
    """The same with what one row takes, where the request is a whole number of rows."""
    for each in arrays_of(Program(tuple(program))).derived:
        rows = each.by if each.kind in ("jacfwd", "hessian") else each.given
        if rows >= _LEAST_ROWS and need % rows == 0 and need // rows >= each.given * _FLOAT:
            row = need // rows
            what = f"{made.what}: the request is {rows:,} x {human(row)}, to the byte, so one row takes that"
            return replace(made, what=what)
    return made


_FLOAT = 4
_LEAST_PART = 0.1
_LEAST_CONSTANT = 128 * MIB
_COMPILED_IN_A_LOOP = "each iteration of the loop compiles it anew"


def captured_by_program(told: Surroundings, least: int) -> MadeByLine | None:
    """An array of so many bytes that a compiled function uses without being given it."""
    program = list(told.program())
    made = _captured(program)
    name = made.what.partition("the array `")[2].partition("`")[0] if made else ""
    stated = (
        _stated_elements(node.value)
        for _, node in _nodes(program, ast.Assign)
        if isinstance(node.value, ast.Call) and name in map(last_name, node.targets)
    )
    return made if _FLOAT * max(stated, default=0) >= least else None


def _stated_elements(call: ast.Call) -> int:
    """The product of the sizes that a call of an array states in figures."""
    shapes = [each for each in call.args if isinstance(each, ast.Tuple)]
    sizes = [part.value for each in shapes for part in each.elts if isinstance(part, ast.Constant)]
    return math.prod(each for each in sizes if isinstance(each, int)) if sizes else 0


def derivatives_by_program(told: Surroundings) -> MadeByLine | None:
    """What the program's Hessian or Jacobian makes; None without one."""
    return _derivative(list(told.program()))


def _is_small_beside(program: list[Statement], made: MadeByLine, need: int | None) -> bool:
    """Whether the constant is known, and next to nothing of the request; where that is not known, of a
    device: programs that a loop compiles anew may hold many of a small one.
    """
    name = made.what.partition("the array `")[2].partition("`")[0]
    lines = [line for each, line in _arrays(program) if each == name]
    held = [each.array.bytes for each in arrays_of(Program(tuple(program))).arrays if each.line in lines]
    if need is None:
        return bool(held and max(held) < _LEAST_CONSTANT) and _COMPILED_IN_A_LOOP not in made.what
    return bool(held and max(held) < _LEAST_PART * need)


def stacked_by_program(
    told: Surroundings, *, within: bool = False, function: str | None = None
) -> MadeByLine | None:
    """What its scans stack or vmap makes, which is less sure: many programs have one that is small. Of what a
    compiled step calls `within` it, only a scan whose gradient keeps every step. Where the `function` that is
    compiled is known, only what it can reach.
    """
    program = list(told.program())
    reached = list(reached_by(function, program))
    graded = any(last_name(node.func) in _GRADIENTS for _, node in _nodes(program, ast.Call))
    scanned = _scanned(reached, graded)
    if within:
        kept = scanned and any(each.slug == RECOMPUTED_STEPS.slug for each in scanned.remedies)
        return scanned if kept else None
    return scanned or _vmapped(reached)


def rows_of_edges(told: Surroundings, *, function: str | None = None) -> MadeByLine | None:
    """A row for each edge of a graph, of which a gradient keeps what every layer makes: rows are gathered by
    the ends of edges in a function that sums them for the nodes again.
    """
    program = list(told.program())
    reached = list(reached_by(function, program))
    if not any(last_name(node.func) in _GRADIENTS for _, node in _nodes(reached, ast.Call)):
        return None
    for statement, made in _nodes(reached, ast.FunctionDef):
        calls = [node for node in ast.walk(made) if isinstance(node, ast.Call)]
        given = {each.arg for each in made.args.args}
        ends = {
            last_name(call.args[1])
            for call in calls
            if last_name(call.func) in _SUMS_OF_EDGES and len(call.args) > 1
        }
        for node in ast.walk(made):
            if isinstance(node, ast.Subscript) and ends & given and last_name(node.slice) in given:
                return _of_edges(statement.line_of(node), ast.unparse(node))
    return None


def _of_edges(line: Line, gathers: str) -> MadeByLine:
    return MadeByLine(
        f"the graph of a network on graphs: `{gathers}` ({line.place}) makes a row for each of its edges at"
        " once, and the gradient keeps what every layer makes of them",
        of_a_whole_graph(JAX),
        line=line,
    )


def reached_by(function: str | None, program: list[Statement]) -> Iterator[Statement]:
    """The statements whose functions, classes and names a function uses, itself, in what it calls or in what
    it is given (`step(net, x)` of `net = Net()`); all of them where it is not in the program.
    """
    made = {id(statement): _defined(statement.node) for statement in program}
    if not any(function in names for names in made.values()):
        yield from program
        return
    wanted: set[str | None] = {function, *_given_classes(function, program)}
    grown = True
    while grown:
        used = {
            name
            for statement in program
            if made[id(statement)] & wanted
            for node in statement.nodes
            if (name := last_name(node))
        }
        grown = not used <= wanted
        wanted |= used
    yield from (statement for statement in program if made[id(statement)] & wanted)


def _given_classes(function: str | None, program: list[Statement]) -> set[str]:
    """The program's classes of which a call of the function is given an instance by name."""
    classes = {node.name for _, node in _nodes(program, ast.ClassDef)}
    given = {
        argument.id
        for _, call in _nodes(program, ast.Call)
        if last_name(call.func) == function
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
    return {
        last_name(node.value.func)
        for _, node in _nodes(program, ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in classes
        if given & set(map(last_name, node.targets))
    }


def _defined(root: ast.AST) -> set[str | None]:
    """The functions, classes and names that a statement makes."""
    names: set[str | None] = set()
    for node in ast.walk(root):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    if isinstance(root, ast.Assign):
        names |= {target.id for target in root.targets if isinstance(target, ast.Name)}
    return names


def gradients_by_program(told: Surroundings, need: int) -> MadeByLine | None:
    """Gradients of single examples: `vmap(grad(loss), in_axes=(None, 0, 0))` makes those of all weights once
    for each example; so does the vmap of a function that takes the gradient by what it is not given.
    """
    program = list(told.program()) if need >= LEAST_BYTES else []
    graded = {
        target.id
        for _, node in _nodes(program, ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in _GRADIENTS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for statement, node in _nodes(program, ast.Call):
        if last_name(node.func) not in ("vmap", "filter_vmap") or not node.args:
            continue
        inner = node.args[0]
        of_gradient = isinstance(inner, ast.Call) and last_name(inner.func) in _GRADIENTS
        shared = any(
            word.arg == "in_axes" and isinstance(word.value, ast.Tuple) and _is_none(word.value.elts[0])
            for word in node.keywords
            if not isinstance(word.value, ast.Tuple) or word.value.elts
        )
        if shared and (of_gradient or (isinstance(inner, ast.Name) and inner.id in graded)):
            return _of_each_example(program, statement.line_of(node), need, told.sizes)
        if _grades_a_free_name(program, inner):
            return _of_each_example(program, statement.line_of(node), need, told.sizes)
    return None


def _grades_a_free_name(program: list[Statement], mapped: ast.expr) -> bool:
    """Whether a function takes a gradient, in the place of the first argument, by a name that it is not given
    and does not make: the weights, which all rows share.
    """
    name = mapped.id if isinstance(mapped, ast.Name) else None
    function: ast.AST | None = mapped if isinstance(mapped, ast.Lambda) else None
    for _, node in _nodes(program, ast.FunctionDef):
        function = node if node.name == name else function
    if not isinstance(function, ast.FunctionDef | ast.Lambda):
        return False
    own = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    own |= {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Call)
        and last_name(each.func.func) in _GRADIENTS
        and len(each.func.args) == 1
        and all(word.arg == "has_aux" for word in each.func.keywords)
        and bool(each.args)
        and isinstance(each.args[0], ast.Name)
        and each.args[0].id not in own
        for each in ast.walk(function)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


_PARTS = 16


def _counted(sizes: Iterable[StatedSize], need: int) -> str:
    """The stated numbers of examples and of parameters that are most of the request, in words."""
    numbers = {each.sizes[0] for each in sizes if len(each.sizes) == 1}
    pairs = [
        (few, many)
        for few, many in combinations(sorted(numbers), 2)
        if few >= _PARTS and 0 <= need - few * many * _FLOAT <= _LITTLE_BESIDE * need
    ]
    if len(pairs) != 1:
        return ""
    few, many = pairs[0]
    return f": {few:,} x {many:,} float32 are {human(few * many * _FLOAT)} of the {human(need)}"


_LITTLE_BESIDE = 0.1


def _of_each_example(
    program: list[Statement], line: Line, need: int, sizes: Iterable[StatedSize] = ()
) -> MadeByLine:
    names = arrays_of(Program(tuple(program))).names
    batches = [(size, name) for size, name in names.items() if "batch" in name.lower() and size >= _PARTS]
    size, name = batches[0] if len(batches) == 1 else (0, "")
    every = f" each of {size:,} examples ({name})" if size else " each example"
    part = f"{size // _PARTS} of {size} examples" if size else f"a {_PARTS}th of the examples"
    return MadeByLine(
        f"the vmap over a gradient of {line.place} makes the gradients of all weights once for{every}, before"
        f" anything adds them up{_counted(sizes, need)}",
        (
            Remedy(
                f"take {part} at a time, and clip and add up within each part: about {human(need // _PARTS)}"
                " instead of all (jax.checkpoint does not help: what is large are the gradients)",
                "total, _ = jax.lax.scan(add_part, zeros_like_params, parts)   # xs: batch in parts",
                slug="in-blocks",
            ),
        ),
        line=line,
        rules_out=("recompute", "recompute-body", "gradient-checkpointing"),
    )


def _vmapped(program: list[Statement]) -> MadeByLine | None:
    """A function that vmap runs for all rows at once; a vmap within a vmap runs it for all pairs."""
    calls = [
        (statement, node)
        for statement, node in _nodes(program, ast.Call)
        if last_name(node.func) in ("vmap", "filter_vmap") and node.args
    ]
    if not calls:
        return None
    inner = [
        each
        for each in calls
        if any(isinstance(part, ast.Call) and part in [node for _, node in calls] for part in each[1].args)
    ]
    statement, node = (inner or calls)[-1]
    given = node.args[0]
    name = f"`{given.id}`" if isinstance(given, ast.Name) else "its function"
    pairs = " for every pair of rows" if inner else " for all rows"
    physics = last_name(given) == "step" and ast.unparse(given).startswith("mjx.")
    name = "`mjx.step`" if physics else name
    rows = _rows(program)
    if not physics and _is_differentiated(program, node):
        return _vmapped_under_a_gradient(statement.line_of(node), name, pairs)
    if not physics and (drawn := _drawn_before(program, node)):
        return _vmapped_over_draws(statement.line_of(node), name, pairs, drawn)
    some, many = "len(xs) // 8", "an eighth"
    if rows is not None:
        some = str(_ROWS_AT_ONCE if rows > 4 * _ROWS_AT_ONCE else max(rows // 4, 1))
        many = f"{some} rows"
    what = (
        "the contacts that may occur, with their constraints, exist"
        if physics
        else "what it makes for one of them, copies that .at[] makes included, exists"
    )
    return MadeByLine(
        f"the vmap of {statement.line_of(node).place} runs {name}{pairs} at once: {what} for each",
        (
            *(_FEWER_CONTACTS if physics else ()),
            Remedy(
                "run it for some rows at a time" + ("" if physics else ", and reduce each part at once"),
                f"y = jax.lax.map(f, xs, batch_size={some})   # vmap over {many} at a time",
                slug="in-blocks",
            ),
        ),
        line=statement.line_of(node),
    )


_DRAWS = frozenset("normal uniform truncated_normal bernoulli rademacher laplace gumbel choice".split())
_DEEPEST = 4


def _drawn_before(program: list[Statement], vmap: ast.Call) -> Line | None:
    """The line that draws the rows which a vmap is given, all at once, itself or by what is computed of it in
    the same function: `noise = jax.random.normal(key, (rows, n))`.
    """
    given = next((call.args for _, call in _nodes(program, ast.Call) if call.func is vmap), [])
    around = [
        each for _, each in _nodes(program, ast.FunctionDef) if any(part is vmap for part in ast.walk(each))
    ]
    within = {id(part) for part in ast.walk(around[-1])} if around else None
    values = {
        target.id: (node.value, statement.line_of(node))
        for statement, node in _nodes(program, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and (within is None or id(node) in within)
    }
    names = {part.id for each in given for part in ast.walk(each) if isinstance(part, ast.Name)}
    for _ in range(_DEEPEST):
        found = [values[name] for name in sorted(names) if name in values]
        for value, line in found:
            if any(_draws_rows(part) for part in ast.walk(value)):
                return line
        names = {part.id for value, _ in found for part in ast.walk(value) if isinstance(part, ast.Name)}
    return None


def _draws_rows(node: ast.AST) -> bool:
    """Whether it draws an array of two dimensions and more: `jax.random.normal(key, (rows, n))`."""
    if (
        not isinstance(node, ast.Call)
        or last_name(node.func) not in _DRAWS
        or "random" not in ast.unparse(node.func)
    ):
        return False
    shapes = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "shape")]
    return any(isinstance(each, ast.Tuple) and len(each.elts) > 1 for each in shapes)


def _vmapped_over_draws(line: Line, name: str, pairs: str, drawn: Line) -> MadeByLine:
    """What is mapped exists whole before the vmap: fewer rows at a time in it leave that as it is."""
    return MadeByLine(
        f"{drawn.place} draws numbers for all rows at once, and the vmap of {line.place} runs {name}{pairs}"
        " on them: fewer rows at a time in the vmap alone leave what is drawn as it is",
        (
            Remedy(
                "draw each row within the function that is mapped, from a key of its own, and run some rows"
                " at a time; what is needed again later is drawn again from the same key",
                "y = jax.lax.map(lambda key: f(x, key), jax.random.split(key, n),"
                f" batch_size={_ROWS_AT_ONCE})   # f draws",
                slug="in-blocks",
            ),
        ),
        line=drawn,
    )


_GRADIENT_OF_PARTS = (
    Remedy(
        "take the gradient for some of the examples (points) at a time, and add the parts up",
        "grads, _ = jax.lax.scan(add_gradient_of, zeros_like_params, parts)   # of a mean: / len(parts)",
        slug="in-blocks",
    ),
    Remedy(
        "or go through them in blocks that the backward pass computes again (jax.checkpoint inside vmap alone"
        " computes all of them at once again)",
        "r = jax.lax.map(jax.checkpoint(lambda x: residual(params, x)), points, batch_size=2000)",
        slug="recompute-body",
    ),
)
_LAPLACIAN = Remedy(
    "or compute only the second derivatives that are used: a Laplacian is the sum over axes of a derivative"
    " of a derivative along the axis",
    "d2 = lambda e: jax.jvp(lambda x: jax.jvp(u, (x,), (e,))[1], (x,), (e,))[1]   # sum over jnp.eye(d)",
    slug="hessian-products",
)


def _vmapped_under_a_gradient(line: Line, name: str, pairs: str) -> MadeByLine:
    """Parts of what a gradient goes through are kept all the same: the gradient itself is taken in parts."""
    return MadeByLine(
        f"the vmap of {line.place} runs {name}{pairs} at once, and the gradient that is taken of it keeps"
        " what each of them needs",
        (
            Remedy(
                "take the gradient for some of the rows at a time, and add the parts up: a part of the vmap"
                " alone is kept all the same",
                "total = jax.tree.map(jnp.add, total, grads)   # of xs[i : i + n], for each part",
                slug="in-blocks",
            ),
            Remedy(
                "or go through them in blocks that the backward pass computes again (jax.checkpoint inside"
                " vmap alone computes all of them at once again)",
                "ys = jax.lax.map(jax.checkpoint(f), xs, batch_size=256)",
                slug="recompute-body",
            ),
        ),
        line=line,
    )


def _is_differentiated(program: list[Statement], call: ast.Call) -> bool:
    """Whether a gradient is taken of a function in which this call stands."""
    names = {
        each.name
        for _, each in _nodes(program, ast.FunctionDef)
        if any(part is call for part in ast.walk(each))
    }
    return bool(names & set(_differentiated(program)))


def _differentiated(program: list[Statement]) -> Iterator[str]:
    """Names of functions that a gradient is taken of."""
    for _, node in _nodes(program, ast.Call):
        if last_name(node.func) in _GRADIENTS and node.args and isinstance(node.args[0], ast.Name):
            yield node.args[0].id


def _inner_steps(program: list[Statement]) -> MadeByLine | None:
    """A loop of gradient steps in a function that a gradient is taken of, itself or by what calls it."""
    functions = {node.name: (statement, node) for statement, node in _nodes(program, ast.FunctionDef)}
    reached = set(_differentiated(program))
    for _ in functions:
        reached |= {
            last_name(call.func)
            for name in reached & functions.keys()
            for call in ast.walk(functions[name][1])
            if isinstance(call, ast.Call) and last_name(call.func) in functions
        }
    for name in sorted(reached & functions.keys()):
        statement, function = functions[name]
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and _takes_gradients(loop):
                return _of_inner_steps(program, statement.line_of(loop), loop)
    return None


def _takes_gradients(loop: ast.For) -> bool:
    """Whether a turn computes a gradient: `jax.grad(loss)(params, x)`."""
    called = (each.func for each in ast.walk(loop) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Call) and last_name(each.func) in _GRADIENTS for each in called)


def _of_inner_steps(program: list[Statement], line: Line, loop: ast.For) -> MadeByLine:
    mapped = next(
        (
            statement.line_of(node)
            for statement, node in _nodes(program, ast.Call)
            if last_name(node.func) == "vmap"
        ),
        None,
    )
    rows = f", for all rows of the vmap of {mapped.place} at once" if mapped else ""
    return MadeByLine(
        f"a gradient goes through the gradient steps of the loop over `{ast.unparse(loop.iter)}`"
        f" ({line.place}), and keeps what each of them needs{rows}",
        (*((_FEWER_TASKS,) if mapped else ()), _FEWER_INNER_STEPS, _INNER_STEPS_AGAIN),
        line=line,
    )


_FEWER_TASKS = Remedy(
    "take the outer gradient for fewer rows (tasks) at a time, and add the parts up",
    "total = jax.tree.map(jnp.add, total, grads)   # of xs[i : i + n], for each part",
    slug="in-blocks",
)
_FEWER_INNER_STEPS = Remedy(
    "make fewer inner steps, or take their gradients as constants (first order): then none of them is kept",
    "g = jax.lax.stop_gradient(g)   # g: the gradient of an inner step",
    slug="fewer-turns",
)
_INNER_STEPS_AGAIN = Remedy(
    "or let the backward pass compute each inner step again: its weights are kept, and one step at a time",
    "step = jax.checkpoint(step)   # one turn of the loop as a function",
    slug="recompute-body",
)
_ROWS_AT_ONCE = 256
_FEWER_CONTACTS = (
    Remedy(
        "let fewer pairs of shapes collide, and give boxes or capsules in the place of meshes: MJX makes room"
        " for every contact that the model allows, in each environment, whether it occurs or not",
        "# in the XML: contype=0 conaffinity=0 for what never touches, and <pair> for what does",
        slug="fewer-contacts",
    ),
)


def _rows(program: list[Statement]) -> int | None:
    """How many rows there are, by the largest number of keys that a program splits off."""
    counts = [
        node.args[1].value
        for _, node in _nodes(program, ast.Call)
        if last_name(node.func) == "split" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant)
    ]
    most = max((count for count in counts if isinstance(count, int)), default=None)
    return most if most and most >= _LEAST_ROWS else None


_LEAST_ROWS = 16
"""Fewer keys are for the parts of a model, and no rows."""


def _captured(program: list[Statement]) -> MadeByLine | None:
    """A function that is compiled with an array of the scope around it: the array becomes a constant."""
    arrays = dict(_arrays(program))
    sizes = {each.line: each.array.bytes for each in arrays_of(Program(tuple(program))).arrays}
    functions = {node.name: node for _, node in _nodes(program, ast.FunctionDef)}
    for statement, node, inside in _compiled(program, functions):
        held = [free for free in _free(inside) if free in arrays]
        if not held:
            continue
        name = max(held, key=lambda each: sizes.get(arrays[each], 0))
        line, again = statement.line_of(node), _in_a_loop(statement.node, node)
        what = (
            f"the function that {line.place} compiles uses the array `{name}`"
            f" ({arrays[name].place}) without being given it, so that all of it becomes a constant of the"
            " program, beside the array itself"
        )
        if again:
            what += f"; {_COMPILED_IN_A_LOOP}, and JAX keeps every program"
        return MadeByLine(
            what,
            (
                Remedy(
                    "pass the array to the jitted function as an argument"
                    + (", and compile it once, before the loop" if again else ""),
                    f"f = jax.jit(f)   # def f(..., {name}): called as f(x, {name})",
                    slug="pass-as-argument",
                ),
            ),
            line=line,
        )
    return None


def _compiled(
    program: list[Statement], functions: dict[str, ast.FunctionDef]
) -> Iterator[tuple[Statement, ast.AST, ast.Lambda | ast.FunctionDef]]:
    """What `jax.jit(f)` or `@jax.jit` compiles: the statement, where it stands, and the function."""
    for statement, node in _nodes(program, ast.Call):
        given = node.args[0] if last_name(node.func) == "jit" and node.args else None
        inside = functions.get(given.id) if isinstance(given, ast.Name) else given
        if isinstance(inside, ast.Lambda | ast.FunctionDef):
            yield statement, node, inside
    for statement, function in _nodes(program, ast.FunctionDef):
        if any(last_name(part) == "jit" for each in function.decorator_list for part in ast.walk(each)):
            yield statement, function, function


def _many_shapes(program: list[Statement]) -> MadeByLine | None:
    """A loop that gives a compiled function another shape in each of its turns."""
    found = next(iter(arrays_of(Program(tuple(program))).reshaped), None)
    if found is None:
        return None
    return MadeByLine(
        f"the compiled function that {found.line.place} calls gets another shape in each turn of the loop"
        f" ({' then '.join(map(format_shape, found.shapes))}): each is compiled anew, and JAX keeps every"
        " program",
        (
            Remedy(
                "pad the arrays to a few shapes",
                "n = -(-len(x) // 512) * 512; x = jnp.pad(x, ((0, n - len(x)), (0, 0)))   # multiples of 512",
                slug="one-shape-of-jax",
            ),
            Remedy("or drop the compiled programs now and then", "jax.clear_caches()", slug="start-anew"),
        ),
        line=found.line,
    )


def _derivative(program: list[Statement]) -> MadeByLine | None:
    """`jacfwd(jacrev(f))`, also by way of a name."""
    made_of: dict[str, str] = {}
    best: tuple[bool, Line, ast.Call] | None = None
    own = {node.name for _, node in _nodes(program, ast.FunctionDef)}
    for statement, node in _nodes(program, ast.Call):
        kind = last_name(node.func)
        if kind not in _DERIVATIVES or not node.args:
            continue
        if isinstance(node.func, ast.Name) and kind in own:
            continue  # a function of the program's own by that name
        inner = node.args[0]
        second = kind in _HESSIANS or (isinstance(inner, ast.Call) and last_name(inner.func) in _DERIVATIVES)
        second = second or (isinstance(inner, ast.Name) and made_of.get(inner.id) in _DERIVATIVES)
        for target in _targets(statement.node, node):
            made_of[target] = kind
        if best is None or (second and not best[0]):
            best = second, statement.line_of(node), node
    if best is None:
        return None
    second, line, call = best
    if mapped := _mapped_over(program, call):
        return _for_each_example(program, mapped, line, second)
    if turned := _wrong_way(program, second):
        return turned
    matrix = "Hessian" if second else "Jacobian"
    return MadeByLine(
        f"all rows of the {matrix} of {line.place} are computed at once: every intermediate value"
        " of the function then exists once for each number that it is differentiated by",
        (
            ROWS_OF_DERIVATIVES,
            HESSIAN_PRODUCTS
            if second
            else replace(HESSIAN_PRODUCTS, code="y, pull = jax.vjp(f, x); row = pull(v)"),
        ),
        line=line,
    )


_MANY_MORE = 4
"""So many times as many inputs as outputs, or outputs as inputs: the other way is the shorter."""


def _wrong_way(program: list[Statement], second: bool) -> MadeByLine | None:
    """`jacfwd` of a function that gives few numbers of many, or `jacrev` of one that gives many of few."""
    for each in () if second else arrays_of(Program(tuple(program))).derived:
        fewer, more = sorted((each.given, each.by))
        forward = each.kind == "jacfwd" and each.by == more
        backward = each.kind in ("jacrev", "jacobian") and each.given == more
        if each.second or more < _MANY_MORE * fewer or not (forward or backward):
            continue
        passes = f"one forward pass for each of its {more:,} inputs" if forward else ""
        passes = passes or f"one backward pass for each of the {more:,} numbers that it gives"
        whole = human(4 * more * more)
        return MadeByLine(
            f"`{each.kind}` (called on {each.line.place}) runs {passes}, all at once: its unit vectors alone"
            f" are {more:,} x {more:,} numbers ({whole} in float32), and whatever the function makes exists"
            f" {more:,} times, where {'it gives' if forward else 'its inputs are'}"
            f" {fewer:,} number{'s' if fewer > 1 else ''}",
            (_other_way(forward, fewer, more),),
            line=each.line,
            explains=4 * more * more,
        )
    return None


def _other_way(forward: bool, fewer: int, more: int) -> Remedy:
    if forward and fewer == 1:
        return Remedy(
            "take its gradient: one backward pass for all of them, and an array as large as the input",
            "g = jax.grad(f)(x)   # of a function that gives one number",
            slug="backward-derivatives",
        )
    if forward:
        return Remedy(
            f"go backward: {fewer:,} passes instead of {more:,}",
            "J = jax.jit(jax.jacrev(f))(x)   # jacfwd is for more outputs than inputs",
            slug="backward-derivatives",
        )
    return Remedy(
        f"go forward: {fewer:,} passes instead of {more:,}",
        "J = jax.jit(jax.jacfwd(f))(x)   # jacrev is for more inputs than outputs",
        slug="forward-derivatives",
    )


def _mapped_over(program: list[Statement], call: ast.Call) -> tuple[Line, str] | None:
    """The line of a vmap that goes over a function in which this call stands, and that function's name."""

    def holds(node: ast.AST) -> bool:
        return any(part is call for part in ast.walk(node))

    names = {each.name for _, each in _nodes(program, ast.FunctionDef) if holds(each)}
    for _, assigned in _nodes(program, ast.Assign):
        if isinstance(assigned.value, ast.Lambda) and holds(assigned.value):
            names.update(each.id for each in assigned.targets if isinstance(each, ast.Name))
    for statement, node in _nodes(program, ast.Call):
        inner = node.args[0] if last_name(node.func) == "vmap" and node.args else None
        if isinstance(inner, ast.Name) and inner.id in names:
            return statement.line_of(node), inner.id
        if inner is not None and holds(inner):
            return statement.line_of(node), "per_example"
    return None


def _for_each_example(
    program: list[Statement], mapped: tuple[Line, str], line: Line, second: bool
) -> MadeByLine:
    """A matrix of derivatives for each of the examples that vmap goes over at once."""
    over, name = mapped
    matrix = "Hessian" if second else "Jacobian"
    at = "" if over == line else f" of {line.place}"
    maps = (node for each, node in _nodes(program, ast.Call) if each.line_of(node) == over)
    if any(last_name(node.func) == "vmap" and _is_differentiated(program, node) for node in maps):
        return MadeByLine(
            f"the vmap of {over.place} makes the whole {matrix}{at} for every example at once, and the"
            " gradient that is taken of it keeps what each of them needs",
            (*_GRADIENT_OF_PARTS, *((_LAPLACIAN,) if second else ())),
            line=over,
        )
    return MadeByLine(
        f"the vmap of {over.place} makes the whole {matrix}{at} for every example at once",
        (
            Remedy(
                "go through the examples in blocks, and reduce each block's matrices before the next",
                f"out = jax.lax.map(lambda x: reduce({name}(x)), xs, batch_size=16)",
                slug="in-blocks",
            ),
            Remedy(
                "or take products with vectors, which never make the matrix",
                "y, pull = jax.vjp(f, x); row = pull(v)",
                slug="hessian-products",
            ),
        ),
        line=over,
    )


def _scanned(program: list[Statement], graded: bool) -> MadeByLine | None:
    """A scan whose stacked results are used, or one in code that takes a gradient."""
    for statement, node in _nodes(program, ast.Call):
        if last_name(node.func) != "scan" or not node.args:
            continue
        line = statement.line_of(node)
        targets = _pair(statement.node, node)
        stacked = len(targets) == 2 and targets[1] not in ("", "_", "None")
        again = any(
            last_name(each) in _RECOMPUTES for each in ast.walk(node) if isinstance(each, ast.Attribute)
        )
        if graded:
            recomputed = again or _is_recomputed(program)
            forward = forward_first(arrays_of(Program(tuple(program))))
            return MadeByLine(
                f"the gradient keeps what each step of the scan of {line.place} needs for the backward pass,"
                " stacked over all steps"
                + (
                    " (with jax.checkpoint around a step it still keeps every step's carry)"
                    if recomputed
                    else ""
                ),
                (
                    *((forward,) if forward else ()),
                    *(() if recomputed or not forward else (_recomputed(node),)),
                    SCAN_OF_BLOCKS,
                    *(() if recomputed or forward else (_recomputed(node),)),
                ),
                line=line,
            )
        if stacked:
            return MadeByLine(
                f"the scan of {line.place} stacks `{targets[1]}`, one row for each of its steps, before"
                " anything reduces it",
                (
                    Remedy(
                        "reduce inside the body: return the sum or the last value, or None, instead of a row"
                        " for each step",
                        "carry, sums = jax.lax.scan(lambda c, x: (step(c, x), step(c, x).sum()), c, xs)",
                        slug="stack-less",
                    ),
                    Remedy("or scan over fewer steps at a time, and reduce each part", slug="in-blocks"),
                ),
                line=line,
            )
    return None


def _recomputed(scan: ast.Call) -> Remedy:
    """The steps computed again, with the name of the scan's own body where it has one."""
    body = scan.args[0]
    if not isinstance(body, ast.Name) or RECOMPUTED_STEPS.code is None:
        return RECOMPUTED_STEPS
    code = RECOMPUTED_STEPS.code.replace("checkpoint(body)", f"checkpoint({body.id})")
    return replace(RECOMPUTED_STEPS, code=code)


def _whole_before_sharded(program: list[Statement]) -> MadeByLine | None:
    """`device_put(jnp.zeros(...), sharding)`: the first device makes all of it."""
    arrays = dict(_arrays(program, of_jax=True))
    for statement, node in _nodes(program, ast.Call):
        if last_name(node.func) != "device_put" or len(node.args) < 2:
            continue
        given, where = node.args[:2]
        if not any(
            last_name(each) in _SHARDINGS
            for each in ast.walk(where)
            if isinstance(each, ast.Name | ast.Attribute)
        ):
            continue
        made = isinstance(given, ast.Call) and _first(given.func) in ("jnp", "jax")
        made = made or (isinstance(given, ast.Name) and given.id in arrays)
        if made:
            line = statement.line_of(node)
            return MadeByLine(
                f"{line.place} shards an array that is made before, whole, on one device: that device"
                " must hold all of it first",
                (
                    Remedy(
                        "let each device make its own part: create the array inside jit, with the sharding",
                        "x = jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=sharding)()",
                        slug="shard-arguments",
                    ),
                ),
                line=line,
            )
    return None


_READINGS: tuple[Callable[[list[Statement]], MadeByLine | None], ...] = (
    _whole_before_sharded,
    _captured,
    _derivative,
    _inner_steps,
    _many_shapes,
    stacked_state,
)
"""The surest first."""


def _nodes(program: list[Statement], kind: type[_Node]) -> Iterator[tuple[Statement, _Node]]:
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, kind):
                yield statement, node


def _arrays(program: list[Statement], *, of_jax: bool = False) -> Iterator[tuple[str, Line]]:
    """Names that are assigned a new array of some size, outside of what is compiled."""
    for statement, node in _nodes(program, ast.Assign):
        value = node.value
        if not isinstance(value, ast.Call) or last_name(value.func) not in _MAKES_ARRAYS:
            continue
        if of_jax and _first(value.func) not in ("jnp", "jax"):
            continue
        if _is_small(value):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.line_of(node)


def _is_small(call: ast.Call) -> bool:
    """Whether figures, which it states alone, make it a table or a mask."""
    sizes = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
    names = [each for each in ast.walk(call) if isinstance(each, ast.Name)]
    figures = [size for size in sizes if isinstance(size, int) and size > 1]
    only_figures = len(names) == 1  # the module's own name
    return only_figures and math.prod(figures[:8]) < _MIN_CONSTANT_ELEMENTS


def _free(function: ast.Lambda | ast.FunctionDef) -> list[str]:
    """Names that a function reads and does not make."""
    arguments = function.args
    own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names = [each for each in ast.walk(function) if isinstance(each, ast.Name)]
    own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return [each.id for each in names if isinstance(each.ctx, ast.Load) and each.id not in own]


def _in_a_loop(root: ast.AST, node: ast.AST) -> bool:
    """Whether a loop stands around a node, within the same statement."""
    loops = [each for each in ast.walk(root) if isinstance(each, ast.For | ast.While)]
    return any(node in list(ast.walk(loop)) for loop in loops)


def _targets(root: ast.AST, call: ast.Call) -> list[str]:
    return [
        target.id
        for each in ast.walk(root)
        if isinstance(each, ast.Assign) and each.value is call
        for target in each.targets
        if isinstance(target, ast.Name)
    ]


def _pair(root: ast.AST, call: ast.Call) -> list[str]:
    """The names that a call's results are given: `carry, ys`."""
    for each in ast.walk(root):
        if isinstance(each, ast.Assign) and each.value is call and isinstance(each.targets[0], ast.Tuple):
            return [part.id if isinstance(part, ast.Name) else "" for part in each.targets[0].elts]
    return []


def _is_recomputed(program: list[Statement]) -> bool:
    """Whether a function of the code is decorated with jax.checkpoint or jax.remat."""
    return any(
        last_name(decorator) in _RECOMPUTES
        for _, node in _nodes(program, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _first(node: ast.expr) -> str:
    """`jnp` of `jnp.fft.fft`."""
    return dotted(node).partition(".")[0]
