"""What the bytes of a program's arguments and results tell beside one result that found no room: a result as
large as an argument, a result made of next to nothing, two vectors that make a square.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, jax_lines, program_account
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

_NEAR, _LITTLE = 0.02, 0.05
_ITEMS = (4, 8, 2)
_LEAST_SIDE = 1024
_RESULT_OF = regex(r"\A\s*(?P<name>\w+)\s*=\s*\w[\w.]*\(\s*(?P=name)\b")
"""`buffer = add(buffer, ...)`."""


def rest(moment: Moment, compiler: CompilerMemory) -> tuple[int, int] | None:
    """The bytes of the one result that was asked for, and of all else that is given and returned."""
    size = moment.request.failed.size if moment.request else None
    whole = compiler.arguments_and_results
    if size is None or whole is None or not size.exact or whole.bytes <= size.bytes:
        return None
    return size.bytes, whole.bytes - size.bytes


def vectors(moment: Moment, compiler: CompilerMemory) -> int | None:
    """How many numbers each of two vectors has that are the arguments, where the result is their square."""
    known = rest(moment, compiler)
    for item in _ITEMS if known else ():
        side = math.isqrt(known[0] // item) if known else 0
        if known and side >= _LEAST_SIDE and known == (side * side * item, 2 * side * item):
            return side
    return None


def because(moment: Moment, compiler: CompilerMemory) -> str | None:
    """What these bytes show; None where they show nothing."""
    known = rest(moment, compiler)
    if known is None or compiler.arguments_and_results is None:
        return None
    need, beside = known
    if side := vectors(moment, compiler):
        return (
            f"its arguments are {human(beside)}, two vectors of {side:,} numbers, and its result is"
            f" {side:,} x {side:,}: by mistake [{side},1] was most likely combined with [{side}]"
        )
    compiled = bool(moment.request and moment.request.failed.executable)
    if compiled and abs(beside - need) <= _NEAR * need:
        return (
            f"it is a result as large as what the program is given ({human(beside)}): most likely an array"
            " that is given and returned anew without being donated, so that it exists twice"
        )
    if 0 < beside <= _LITTLE * need:
        return f"one result has this size, and all arguments and other results {human(beside)} together"
    return None


def remedies(case: Case, moment: Moment, compiler: CompilerMemory) -> tuple[Remedy, ...] | None:
    """What helps against each of these; None where nothing is shown."""
    if side := vectors(moment, compiler):
        return (_equal_shapes(side),)
    if jax_lines.made_at(case, moment):
        return ()  # the rule of the line says it
    known = rest(moment, compiler)
    if known is None or because(moment, compiler) is None:
        return None
    if known[1] > _LITTLE * known[0]:
        return tuple(_donated(case))
    return (
        Remedy(
            "make it in parts, and reduce each part before the next; or return less: what is needed of it"
            " alone, reduced inside the compiled function",
            "y = jax.lax.map(lambda x: f(x).sum(0), xs, batch_size=16)   # x: one of many",
            slug="in-blocks",
        ),
    )


def _equal_shapes(side: int) -> Remedy:
    return Remedy(
        f"make the shapes equal: [{side}] with [{side}]; otherwise the value is wrong, too, at every batch",
        slug="compare-shapes",
    )


def _donated(case: Case) -> Iterator[Remedy]:
    """Donate the argument that a call gives back under its own name."""
    calls = _rebinding(case)
    at = "; ".join(f"`{name}` ({line.place})" for name, line in calls[:2])
    which = f" in the calls that give back what they take: {at}" if at else ""
    yield Remedy(
        f"donate the array{which}; the result then takes its place, and the old one is gone afterwards",
        program_account.donating(case.capture.surroundings.program()) or code_snippets.donate(case.api),
        slug="donate-buffers",
    )
    yield Remedy("or keep it below half of the device, or on the host in NumPy", slug="smaller-buffer")


def _rebinding(case: Case) -> list[tuple[str, Line]]:
    code = case.capture.surroundings.code
    found = ((match["name"], line) for line in code if (match := _RESULT_OF.search(line.text)))
    return list({name: (name, line) for name, line in found}.values())
