"""What a compiled program's account says of its parts: which is largest, what the arguments are, what
donating them buys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, jax_lines, part_for_jax, remedies
from tfmemlens.findings.support.rows import Row, device_limit, of_kind, rows, total
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.incident import NOTHING, CompilerMemory, ProgramValue
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human, human_size
from tfmemlens.values import replace

_LEAST_CONSTANT = 256 * MIB
"""Smaller constants are tables and masks."""
_NO_DEVICE = 1024 * GIB
_LEAST_GAIN = 0.02
"""Of the request: less is not worth a change."""
_ASSIGNED = regex(
    r"(?:\A|[:;]\s)\s*(?P<name>[A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_][\w.]*){0,3})\s*(?::[^=:]+)?=(?!=)"
)
"""The array that a line of code assigns: `h` of `h = f(x)`, `q, k` of `for x in xs: q, k = f(x)`."""
_MIN_SHARE = 0.2
_MAX_CODE = 60
_MOST = 0.5
"""A part of the whole that decides what helps."""


def mostly_of_a_layer(moment: Moment, compiler: CompilerMemory) -> str:
    """The layer that holds most of the temporaries at the worst instruction, as a clause; empty where the
    account has no schedule, or a layer of less than a fifth. Results lie beside them: a gradient that is
    given back would count twice.
    """
    if compiler.schedule is None:
        return ""
    held: dict[str, int] = {}
    whole, lines = 0, {value.label.partition(":")[0] for value in compiler.values if value.label}
    for row in _no_results(moment):
        whole += row.allocation.total_bytes
        if (
            row.owner.layer and row.owner.layer.partition(":")[0] not in lines
        ):  # mostly_made_at tells of lines
            held[row.owner.layer] = held.get(row.owner.layer, 0) + row.allocation.total_bytes
    layer = max(held, key=lambda each: held[each], default=None)
    if layer is None or held[layer] < _MIN_SHARE * whole:
        return ""
    return f"; `{layer}` holds most of them, {human(held[layer])}"


def _no_results(moment: Moment) -> list[Row]:
    return [row for row in rows(moment) if row.allocation.purpose != "maybe_live_out"]


def mostly_made_at(moment: Moment, compiler: CompilerMemory) -> str:
    """The user's line that makes most of the temporaries at the worst instruction, as a clause; empty where
    no line makes a fifth.
    """
    counted = _no_results(moment)
    value, held = next(iter(_by_line(counted, compiler, gradients=False)), (None, 0))
    if value is None or not value.place or held < _MIN_SHARE * total(counted):
        return ""
    return f"; {_line_of(value)} makes {human(held)} of them"


def _line_of(value: ProgramValue) -> str:
    """A line by the array that it assigns, else as it stands with the function that it stands in, as far as
    these are known.
    """
    place = os.path.basename(value.place or "")
    assigned = _ASSIGNED.search(value.text or "")
    if assigned:
        return f"the line of `{assigned['name']}` ({place})"
    function = (value.function or "").rpartition(".")[2]  # `fit.<locals>.body`
    told = f"{place} in `{function}`" if function.isidentifier() else place
    code = (value.text or "").removeprefix("return ").strip()
    if code and len(code) <= _MAX_CODE and "`" not in code:
        return f"`{code}` ({told})"
    return told


def made_at(moment: Moment, compiler: CompilerMemory) -> list[tuple[ProgramValue, int]]:
    """One value for each line of the user's with the bytes of all that it made and that live at the worst
    instruction, the most first. A gradient counts for none: its line is that of what it is derived through.
    """
    return _by_line(rows(moment), compiler, gradients=False)


def gradients_through(moment: Moment) -> str:
    """The user's line that most of the gradients at the worst instruction are derived through, as a clause;
    empty where that is no half of them.
    """
    compiler = moment.incident.compiler if moment.incident else None
    found = _by_line(rows(moment), compiler, gradients=True) if compiler is not None else []
    value, held = next(iter(found), (None, 0))
    if value is None or held < _MOST * total(of_kind(moment, Kind.GRADIENT)):
        return ""
    return f", {human(held)} of them derived through {_line_of(value)}"


def _by_line(counted: list[Row], compiler: CompilerMemory, gradients: bool) -> list[tuple[ProgramValue, int]]:
    """One value for each line with the bytes of all that it made; or of the gradients that have it."""
    known = {(value.node, value.size_bytes): value for value in reversed(compiler.values) if value.place}
    first: dict[str, ProgramValue] = {}
    held: dict[str, int] = {}
    for row in counted:
        value = known.get((row.allocation.node or "", row.allocation.size_bytes))
        if value is not None and value.place and (row.owner.phase is Phase.GRADIENT) is gradients:
            first.setdefault(value.place, value)
            held[value.place] = held.get(value.place, 0) + row.allocation.total_bytes
    return [(first[place], held[place]) for place in sorted(held, key=lambda each: -held[each])]


def donatable_bytes(compiler: CompilerMemory) -> int | None:
    """What donated arguments save at most: the results that could lie in their place and do not. None where
    the account does not tell.
    """
    arguments, results, shared = compiler.arguments, compiler.results, compiler.shared_bytes
    if any(part is not None and not part.bytes for part in (arguments, results)):
        return 0
    if arguments is None or results is None or shared is None:
        return None
    return max(min(arguments.bytes, results.bytes) - shared, 0)


def is_anothers_program(case: Case, moment: Moment) -> bool:
    """Whether the text shows no training, no batch and no code of its own: most likely it runs a tool."""
    told = case.capture.surroundings
    if told.code or remedies.batch_of(case, moment) or situation(case, moment).training:
        return False
    return not any(map(told.shows, ("training", "training in words", "jax: a gradient")))


def gives_no_state_back(compiler: CompilerMemory) -> bool:
    """Whether what the program returns is far more than what it is given."""
    given, results = compiler.arguments, compiler.results
    return bool(given and results and results.bytes > _MANY_TIMES * given.bytes)


_MANY_TIMES = 4


def a_larger_device(case: Case, moment: Moment, compiler: CompilerMemory) -> Remedy | None:
    """The answer to what device the program needs, where it needs more than the one that it has."""
    asked, needs = case.capture.surroundings.shows("asked: hardware"), whole(compiler) or compiler.reduced_to
    limit = device_limit(case, moment) or compiler.goal
    if asked is None or needs is None or limit is None or needs.low <= limit.high:
        return None
    part = round(needs.bytes / part_for_jax.USUAL)
    return Remedy(
        f"as it is, the program needs a device with more than {human_size(needs)} ({asked.place} asks):"
        f" {human(part)} or more with the 75 % that JAX takes unless it is told otherwise, beside what else"
        " is held; else make less in one call",
        slug="larger-device",
    )


def could_donate(case: Case, moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether donated buffers can save anything: as the account says, else only where a training step shows,
    which returns the state that it is given.
    """
    if is_one_op(moment, compiler) or by_itself(moment):
        return False
    saves = donatable_bytes(compiler)
    asked = moment.request.needed_bytes if moment.request else None
    if saves is not None:
        smaller = min(part.bytes for part in (compiler.arguments, compiler.results) if part) if saves else 0
        return saves > max(_MOST * smaller, _LEAST_GAIN * (asked or 0))
    making = jax_lines.made_at(case, moment)
    return situation(case, moment).training is True and not making


_OF_A_CALL = regex(r"jit\((\w{1,60})\)/(?:jit\(main\)/)?(\w{1,60})\Z")


def is_one_op(moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether the program is one operation that ran by itself: by its account, or where its results are the
    most of it and all names in its list are `jit(f)/op` of one function and one op.
    """
    if compiler.one_operation:
        return True
    names = {
        row.allocation.node for row in rows(moment) if row.allocation.node and "/" in row.allocation.node
    }
    parts = {(match[1], match[2]) for name in names if (match := _OF_A_CALL.match(name))}
    given = bool(compiler.arguments) and not made_of_nothing(compiler)
    alone = len(parts) == len(names) == 1 and not by_itself(moment)
    return alone and given and mostly_results(compiler)


_BY_ITSELF = regex(
    r"\Ajit\(_?(?P<name>dot|matmul|einsum|tensordot|inner|outer|dot_general|concatenate|stack|take|where"
    r"|repeat|tile|conv_general_dilated|logsumexp|softmax|log_softmax|cumsum|sort|argsort)\)/"
)


def by_itself(moment: Moment) -> str | None:
    """The function of jax.numpy that the whole program is: it was called outside of jit, and is no step."""
    named = [row.allocation.node for row in rows(moment) if row.allocation.node]
    found = [_BY_ITSELF.match(node) for node in named if node.startswith("jit(")]
    names = {match["name"] if match else None for match in found}
    return names.pop() if len(names) == 1 else None


def in_one_program(name: str) -> Remedy:
    """A function of jax.numpy's as a part of a larger program, which need not hold what it gives."""
    return Remedy(
        f"jit the call round it: `{name}` ran by itself, so its whole result has to exist; within one program"
        " with what reads it (a loss, an argmax, the last position) it need not",
        "y = jax.jit(f)(params, x)   # f: the model's apply and what is made of its output",
        slug="compile-the-call",
    )


def of_one_op(moment: Moment, compiler: CompilerMemory) -> str:
    """What one operation needs, with the shape that its list gives the result."""
    assert compiler.results and compiler.arguments
    made = next(
        (
            row.allocation
            for row in rows(moment)
            if row.allocation.purpose != "parameter" and row.allocation.shape
        ),
        None,
    )
    shape = f"{format_shape(made.shape)} {made.dtype or ''}".rstrip() + ", " if made and made.shape else ""
    return (
        f"one operation ran by itself, and its result ({shape}{human_size(compiler.results)}) is made"
        " beside what"
        f" it is given ({human_size(compiler.arguments)})"
    )


_BY_A_LIBRARY = Remedy(
    "ask for fewer draws, paths or chains at a time: PyMC computes all that one call asks for at once,"
    " and the"
    " first dimensions of the array count them",
    slug="fewer-draws",
)


def for_one_op(case: Case, moment: Moment) -> Iterator[Remedy]:
    """Smaller results, or fewer of them at once; whoever uses a library does not write the operation."""
    table = moment.attribution.table
    if case.api.library == "PyMC":
        yield _BY_A_LIBRARY
    if len(table) and "float64" in table.dtype:
        yield Remedy(
            "compute in float32: half of this",
            "jax.config.update('jax_enable_x64', False)",
            slug="single-precision-jax",
        )
    if case.api.library == "PyMC":
        return
    yield Remedy(
        "work on blocks of its rows, and reduce each block before the next",
        "parts = [f(x[i : i + 1024]).sum(0) for i in range(0, len(x), 1024)]",
        slug="in-blocks",
    )
    yield Remedy(
        "put the operations before and after it into one jitted function: results that only the next one"
        " reads need not exist",
        "y = jax.jit(f)(x)",
        slug="compile-the-call",
    )


def undonated(compiler: CompilerMemory) -> bool:
    """Whether results that could lie in the arguments' place are a large part of the program; only where its
    account counts them.
    """
    if compiler.one_operation:
        return False
    saves, whole = donatable_bytes(compiler), compiler.section("total")
    parts, needed = (compiler.arguments, compiler.results), compiler.needed
    if whole is None and needed and needed.high >= sum(part.bytes for part in parts if part):
        whole = needed  # a TPU's account: the results are counted only where there is room for both
    return bool(saves and whole and saves > _MIN_SHARE * whole.bytes)


def of_undonated(compiler: CompilerMemory, asked: Size | None = None) -> str:
    """`33.51 GiB of it are results, made beside arguments …`; with the whole, where less was asked for."""
    assert compiler.results and compiler.arguments
    total = compiler.section("total")
    of_all = asked is not None and total is not None and total.bytes > asked.bytes
    whole_program = f"the whole program needs {human_size(total)}, and " if of_all and total else ""
    return (
        f"{whole_program}{human_size(compiler.results)} of it are results, made beside arguments of"
        f" {human_size(compiler.arguments)}: a state (weights and optimizer, or a buffer) that is given back"
        " and not donated, so that it exists twice"
    )


def donate(case: Case, compiler: CompilerMemory) -> Remedy:
    """Let a step's results lie where the state that it was given lay."""
    saves = donatable_bytes(compiler) or None
    return Remedy(
        "donate the state that the step returns anew (weights, optimizer state), so that the results take its"
        " place; the old arrays cannot be used afterwards",
        donating(case.capture.surroundings.program()) or code_snippets.donate(case.api),
        saves,
        Certainty.BOUND if saves else None,
        slug="donate-buffers",
    )


def replaces_its_state(case: Case) -> bool:
    """Whether the quoted program calls a step that gives its state back anew, and donates nothing."""
    told = case.capture.surroundings
    program = told.program()
    donates = any("donate" in line.text for line in told.code)
    return bool(program) and not donates and any(True for _ in _replacing(program))


def donate_state(case: Case) -> Remedy:
    """The same where the compiler says nothing of the program's results."""
    return Remedy(
        "donate the state that the step returns anew: without that the old and the new one are both there in"
        " each step",
        donating(case.capture.surroundings.program()) or code_snippets.donate(case.api),
        slug="donate-buffers",
    )


_WRAPS = frozenset({"jit", "pmap", "pjit"})
_LONGEST_CODE = 100


def donating(program: Program) -> str | None:
    """The user's own jit or pmap with the state donated that its calls replace: `state, l = step(state, x)`
    gives argument 0 back. None where the text quotes no such pair.
    """
    if not program:
        return None
    import ast  # only where there is code

    for call in _replacing(program):
        name, places = call
        donated = f"donate_argnums=({', '.join(map(str, places))}{',' if len(places) == 1 else ''})"
        for node in (each for statement in program for each in statement.nodes):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                wrap = node.value
                words = {word.arg for word in wrap.keywords}
                if ast.unparse(node.targets[0]) == name and _last(ast.unparse(wrap.func)) in _WRAPS:
                    code = f"{ast.unparse(node)[:-1]}, {donated})"
                    new = "donate_argnums" not in words and len(code) <= _LONGEST_CODE
                    return code if new else None
            if isinstance(node, ast.FunctionDef) and node.name == name:
                for each in node.decorator_list:
                    if _last(ast.unparse(each)) in _WRAPS:
                        code = f"@functools.partial({ast.unparse(each)}, {donated})"
                        return f"{code}   # above def {name}"
    return None


def _replacing(program: Program) -> Iterator[tuple[str, list[int]]]:
    """Calls whose results take the names of their arguments: the function, and which arguments."""
    import ast

    for node in (each for statement in program for each in statement.nodes):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            targets = {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
            places = [
                place
                for place, each in enumerate(node.value.args)
                if isinstance(each, ast.Name) and each.id in targets
            ]
            if places and isinstance(node.value.func, ast.Name):
                yield node.value.func.id, places


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def alias(compiler: CompilerMemory) -> Remedy:
    """PyTorch/XLA lets updated tensors take the place of the old ones, unless something prevents it."""
    return Remedy(
        "let updated weights and optimizer state take the old ones' place: the program's results share"
        " nothing with its arguments. Update in place, within the step, and keep aliasing switched on",
        "export XLA_ENABLE_PARAM_ALIASING=1   # the default; one graph for backward and optimizer.step()",
        donatable_bytes(compiler),
        Certainty.BOUND,
        slug="alias-arguments",
    )


def mostly_arguments(compiler: CompilerMemory) -> bool:
    """Whether the program's arguments are more than half of what it needs, or more than the device has."""
    arguments, whole = compiler.arguments, compiler.needed or compiler.section("total")
    if arguments is None or not arguments.bytes:
        return False
    if compiler.capacity and arguments.bytes > compiler.capacity.bytes:
        return True
    if whole is None:
        return compiler.temporaries is not None and arguments.bytes > compiler.temporaries.bytes
    return arguments.bytes > _MOST * whole.bytes


def of_temporaries(compiler: CompilerMemory) -> str | None:
    """That temporaries are most of what the program needs, with what it is given beside them; None where they
    are not, or where the account does not tell.
    """
    temporaries, needed = compiler.temporaries, compiler.needed or compiler.section("total")
    if temporaries is None or needed is None or temporaries.bytes <= _MOST * needed.bytes:
        return None
    given = compiler.arguments
    beside = ""
    if given is not None:
        beside = f", beside arguments of {human_size(given)}" if given.bytes else ""
    return (
        f"{human_size(temporaries)} of it are its temporaries (activations, gradients, copies), which XLA"
        f" allocates as one block{beside}"
    )


def whole(compiler: CompilerMemory) -> Size | None:
    """All that the program needs at once, as its account says."""
    return compiler.section("total") or compiler.needed


def mostly_results(compiler: CompilerMemory) -> bool:
    """Whether results are the largest part of the program, and no state that is given back."""
    results, total = compiler.results, whole(compiler)
    if results is None or total is None or results.bytes < _LEAST_CONSTANT:
        return False
    others = (compiler.arguments, compiler.temporaries, compiler.constants)
    return all(part is None or part.bytes < results.bytes for part in others) and not undonated(compiler)


_NEXT_TO_NOTHING = MIB


def made_of_nothing(compiler: CompilerMemory) -> bool:
    """Whether its results, the largest part, are made from next to nothing, as weights are from a key: what
    it is given and its constants are known, and no data among them.
    """
    given, constants = compiler.arguments, compiler.constants
    known = given is not None and constants is not None and mostly_results(compiler)
    return bool(known and max(part.bytes for part in (given, constants) if part) < _NEXT_TO_NOTHING)


def runs_from_a_key(moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether a program that is given keys alone does more than make weights: a line that trains or simulates
    called it, or its temporaries are no scratch of random numbers.
    """
    if not made_of_nothing(compiler):
        return False
    failed = moment.request.failed if moment.request else None
    results, temporaries = compiler.results, compiler.temporaries
    much = bool(results and temporaries and temporaries.bytes > _MOST * results.bytes)
    return much or bool(_RUNS.search((failed.source_text if failed else None) or ""))


_RUNS = regex(r"\b\w*(?:train|rollout|simulat|episode|evolve)\w*\(\s*\w*(?:rng|key|seed)", re.IGNORECASE)
_FEWER_DRAWS = Remedy(
    "if they are draws or paths: fewer in one call, and bring each call's results to the host",
    slug="fewer-draws",
)


def for_initial_weights(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What makes new weights less, which have no batch; of a sampler, fewer draws first; of a program that
    learns from a buffer, and whose largest array has as many rows as it takes steps, that buffer.
    """
    if replayed := _replay_of_steps(case, moment):
        yield replayed
        return
    samples = case.capture.surroundings.shows("sampling") or case.api.library in ("NumPyro", "PyMC")
    if samples:
        yield _FEWER_DRAWS
    yield Remedy(
        "if these are new weights: make them in 16 bits, or take a smaller model of the family; a program"
        " that loads trained ones needs no random ones first",
        "model, params = FlaxModel.from_pretrained(name, dtype=jnp.float16, _do_init=False)   # Flax",
        slug="narrow-weights",
    )
    yield Remedy(
        "or make them sharded over several devices, inside jit",
        "params = jax.jit(init, out_shardings=shardings)(key)",
        slug="shard-arguments",
    )
    if not samples:
        yield _FEWER_DRAWS


_LEAST_TRANSITIONS = 10_000


def _replay_of_steps(case: Case, moment: Moment) -> Remedy | None:
    """A smaller replay buffer, where a number that the text states is a side of the largest array."""
    told = case.capture.surroundings
    largest = next(iter(rows(moment, lambda row: bool(row.allocation.shape))), None)
    shape = largest.allocation.shape if largest else None
    if shape is None or told.shows("learning from a buffer") is None:
        return None
    from tfmemlens.findings.support.jax_told import smaller_replay  # reads trees

    stated = next(
        (each for each in told.sizes if each.sizes[0] >= _LEAST_TRANSITIONS and each.sizes[0] in shape), None
    )
    if stated is None:
        return None
    name = f"`{stated.name}`" if stated.name else "a number that the text states"
    helps = smaller_replay(told)
    return replace(
        helps,
        text=f"{name}, {stated.sizes[0]:,} ({stated.line.place}), is a side of its largest array: most likely"
        f" the replay buffer. {helps.text[0].upper()}{helps.text[1:]}",
    )


def of_results(compiler: CompilerMemory, of_a_run: bool = False) -> str:
    """`9.64 GiB are results, more than the 4.44 GiB of its temporaries`."""
    assert compiler.results
    if of_a_run:
        given = human_size(compiler.arguments) if compiler.arguments else "nothing"
        return (
            f"its largest part are its results, {human_size(compiler.results)}, made from arguments of"
            f" {given}: most likely a whole run, which returns what each step and each seed gives (metrics,"
            " states, a replay buffer)"
        )
    if made_of_nothing(compiler):
        given = human_size(compiler.arguments) if compiler.arguments else "nothing"
        return (
            f"its largest part are its results, {human_size(compiler.results)}, made from arguments of"
            f" {given}: most likely new weights, or draws from a key"
        )
    beside = (
        f", more than its temporaries ({human_size(compiler.temporaries)})" if compiler.temporaries else ""
    )
    return f"its largest part are its results, {human_size(compiler.results)}{beside}"


def against_device(compiler: CompilerMemory, limit: Size | None) -> str:
    """` (the device has 12 GiB)`, where the program alone is larger than that."""
    total = whole(compiler)
    if total is None or limit is None or total.low <= limit.high:
        return ""
    return f"; the whole program needs {human_size(total)}, more than the device has ({human_size(limit)})"


def beside_its_arena(compiler: CompilerMemory, limit: Size | None) -> str:
    """What the whole program needs, where the request is its arena alone, and the larger of what it is given
    and returns, where that is a good part of it.
    """
    total, arena = whole(compiler), compiler.temporaries
    if total is None or arena is None or total.bytes <= arena.bytes:
        return against_device(compiler, limit)
    results, given = compiler.results or NOTHING, compiler.arguments or NOTHING
    new = max(results.bytes - (compiler.shared_bytes or 0), 0)
    part = ""
    if new >= max(given.bytes, _GOOD_PART * total.bytes):
        part = f", {human(new)} of it results, which lie there whole until it ends"
    elif given.bytes >= _GOOD_PART * total.bytes:
        part = f", {human_size(given)} of it what it is given"
    more = against_device(compiler, limit)
    if more or not part:
        return f"{more}{part}" if more else ""
    return f"; the whole program needs {human_size(total)}{part}"


_GOOD_PART = 0.2


def returns_much(compiler: CompilerMemory) -> bool:
    """Whether what it returns, beside what it is given, is a good part of the whole."""
    total, results = whole(compiler), compiler.results
    new = results.bytes - (compiler.shared_bytes or 0) if results else 0
    return total is not None and new >= max(_GOOD_PART * total.bytes, _LEAST_CONSTANT)


def return_less(compiler: CompilerMemory, own_step: bool = True) -> Remedy:
    """Results of a compiled function are whole arrays. Its code is for a step of one's own: who runs
    another's program sets how much it makes in one call.
    """
    return Remedy(
        "return less: reduce inside the compiled function (means, the last step), or run fewer steps, members"
        " or samples in one call, and bring each call's results to the host",
        "return jax.tree.map(lambda m: m.mean(0), metrics)   # not one row for every step"
        if own_step
        else None,
        compiler.results.bytes if compiler.results else None,
        Certainty.BOUND,
        slug="return-less",
    )


def beyond_any_device(compiler: CompilerMemory) -> bool:
    """Whether what a program is given and returns is more than any device has, so that a shape is wrong."""
    given = compiler.arguments_and_results
    return given is not None and given.low > _NO_DEVICE


def right_shapes(vectorises: bool) -> Iterator[Remedy]:
    """What finds the shape that is wrong; nothing about batches, of which none would fit."""
    yield Remedy(
        "print the shapes that are given and returned, without memory: the largest is the mistake",
        "print(jax.eval_shape(f, *args))   # and jax.tree.map(jnp.shape, args)",
        slug="list-arguments",
    )
    if vectorises:
        yield Remedy(
            "let vmap map the arguments alone that have a row for each element, and share the others whole",
            "jax.vmap(f, in_axes=(0, None))   # None: a table that all rows read",
            slug="compare-shapes",
        )


def of_what_is_given(compiler: CompilerMemory) -> str:
    """`its arguments and results alone are 7.92 GiB, more than the 5.82 GiB that XLA may use: …`."""
    assert compiler.arguments_and_results and compiler.goal
    if beyond_any_device(compiler):
        return (
            f"its arguments and results alone are {human_size(compiler.arguments_and_results)}, which no"
            " device has: most likely a shape is a mistake, as where vmap repeats for each row an array that"
            " all rows share"
        )
    return (
        f"its arguments and results alone are {human_size(compiler.arguments_and_results)}, more than the"
        f" {human_size(compiler.goal)} that XLA may use here, so that smaller temporaries do not help"
    )


def less_given(training: bool | None) -> Iterator[Remedy]:
    """What makes arguments and results less, where nobody says what they are."""
    yield Remedy(
        "find the largest argument and result: an optimizer's state, a replay buffer or data set that is"
        " given, what is given and returned anew without donation, or results stacked for every step",
        "jax.tree.map(lambda x: x.size * x.dtype.itemsize, (args, jax.eval_shape(f, *args)))   # bytes",
        slug="list-arguments",
    )
    yield Remedy(
        "return less: reduce inside the compiled function, or run fewer steps, members or samples in one"
        " call, and bring each call's results to the host",
        "return carry, metrics.mean()   # in the scan's body, instead of one row for every step",
        slug="return-less",
    )
    what = "weights, optimizer state, data" if training else "weights, data"
    yield Remedy(f"or shard them over several devices ({what})", slug="shard-arguments")


def mostly_constants(compiler: CompilerMemory) -> bool:
    """Whether more than half of the program are constants, which no batch changes."""
    constants = compiler.constants
    if constants is None or constants.bytes < _LEAST_CONSTANT:
        return False
    parts = (compiler.arguments, compiler.results, compiler.temporaries, constants)
    whole = compiler.section("total") or compiler.needed
    return constants.bytes > _MOST * (whole.bytes if whole else sum(part.bytes for part in parts if part))


def of_constants(compiler: CompilerMemory) -> str:
    """`7.32 GiB of the program are constants, …`."""
    assert compiler.constants
    return (
        f"{human_size(compiler.constants)} of the program are constants: an array that the jitted function"
        " uses without being given it, most likely a data set, is built into the program"
    )


def without_constants() -> Iterator[Remedy]:
    """Let the array be no part of the program."""
    yield Remedy(
        "pass the array to the jitted function as an argument: it then is no part of the program, and is not"
        " copied when it is compiled",
        "def step(params, opt_state, data, idx): x = data[idx]   # not a global `data`",
        slug="pass-as-argument",
    )
    yield Remedy(
        "or keep the data set in NumPy on the host, in its own dtype, and give the step one batch at a time",
        "step(params, opt_state, data[idx])   # data a NumPy array: the index is taken on the host",
        slug="one-batch-to-the-device",
    )


def what_arguments_are(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """What the arguments most likely are, by what is returned, listed, or run."""
    arguments, results = compiler.arguments, compiler.results
    inputs, weights = (total(of_kind(moment, kind)) for kind in (Kind.INPUT, Kind.PARAMETER))
    if arguments and results and results.bytes > 0.9 * arguments.bytes:
        return "returned anew, so most likely weights and optimizer state"
    if inputs > weights:
        return "mostly the data that it is given"
    if arguments and results and results.bytes > 0.1 * arguments.bytes:
        return f"{human_size(results)} of them returned anew, as a step does with weights and optimizer state"
    if arguments and results and results.bytes < 0.1 * arguments.bytes:
        return "hardly any of it returned: weights that it only reads, or data"
    if situation(case, moment).training:
        return "weights, optimizer state and the batch"
    return "weights and data"


def of_arguments(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """`12.25 GiB are its arguments (weights, optimizer state and the batch)`."""
    assert compiler.arguments
    what = what_arguments_are(case, moment, compiler)
    return f"{human_size(compiler.arguments)} of it are its arguments ({what})"


def arguments_do_not_fit(compiler: CompilerMemory) -> bool:
    """Whether what it is given is more than the device has, whatever else it needs."""
    given, capacity = compiler.arguments, compiler.capacity
    return bool(given and capacity and given.bytes > capacity.bytes)


def living_results(compiler: CompilerMemory) -> int:
    """The bytes that the program returns beside its arguments, where these are most of what it keeps; else
    nothing.
    """
    results, given, shared = compiler.results, compiler.arguments, compiler.section("shared")
    new = results.bytes - (shared.bytes if shared else 0) if results else 0
    return new if new >= _LEAST_CONSTANT and new >= 2 * (given.bytes if given else 0) else 0


def of_living_results(compiler: CompilerMemory) -> str:
    """`; this program alone returns 5.06 GiB, …`, where these are most of what it keeps."""
    new, shared = living_results(compiler), compiler.section("shared")
    if not new or compiler.results is None:
        return ""
    beside = f", all but {human_size(shared)} of it beside its arguments" if shared and shared.bytes else ""
    program = "the program that the text accounts for" if shared else "this program alone"
    return (
        f"; {program} returns {human_size(compiler.results)}{beside}, which stays as long as Python refers to"
        " it"
    )


FEWER_RESULTS = Remedy(
    "find why so much leaves the program: all that still lives when a step ends is its result, such as"
    " outputs and losses in a list, gradients, or several steps that no mark_step ended; keep numbers"
    " (loss.item()), and shard what has to stay",
    slug="return-less",
)


def smaller_arguments(case: Case, moment: Moment, compiler: CompilerMemory) -> Iterator[Remedy]:
    """What makes them less: another optimizer where one may be among them, more devices; a smaller batch only
    where temporaries or data are among what does not fit.
    """
    returned = (
        compiler.results is None or compiler.results.bytes > 0.1 * (compiler.arguments or NOTHING).bytes
    )
    if returned:
        yield from remedies.offered(case, moment, "lighter-optimizer")
    yield Remedy(
        "shard the arguments over several devices (weights, optimizer state), or keep weights in 16 bits"
        if returned
        else "shard what it is given (weights, data) over several devices: each then holds its part",
        slug="shard-arguments",
    )
    if not arguments_do_not_fit(compiler):
        yield from remedies.offered(case, moment, "smaller-batch", "recompute")
