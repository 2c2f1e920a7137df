"""Blocks in even steps fill the memory: every version of a tensor that a loop makes longer.

What it means: `past = tf.concat([past, x], 1)` in a loop makes a new tensor in each turn, larger than the
last by `x`. Where a gradient is taken, or anything else keeps them, all versions are alive at once, and what
they hold grows with the square of the turns. No block is large, and no two are alike.
When it fires: no report names owners, and at least 24 sizes of a dump, each of a few blocks, lie an equal
step of 1 KiB or more apart and hold three tenths of what is in use.
What to do: write each turn's part into a TensorArray, or keep a fixed number of rows; or fewer turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.program_lines import file_lines
from tfmemlens.findings.support.rows import all_in_use, attributed, device_limit, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent
from tfmemlens.values import dataclass

BASIS = Basis.MEASURED
EXPLAINS = "the blocks that lie equal steps apart"

_LEAST_STEP, _FEWEST, _LEAST_SHARE = 1024, 24, 0.3
_FEW = 4
"""Blocks of one size: a loop may make several tensors in each turn."""
_JOINS = regex(
    r"\A(?P<indent>\s*)(?P<name>[A-Za-z_]\w{0,40})\s*=\s*(?:[\w.]{0,30}\.)?"
    r"(?:concat|concatenate|hstack|vstack)\(\s*(?:\w{1,10}\s*=\s*)?[\[(](?P<joined>[^\])]{0,120})"
)
_NAMES = regex(r"\w+")
_LOOP = regex(r"\A(?P<indent>\s*)(?:async\s+)?(?:for|while)\b.*:\s*(?:#.*)?\Z")


@dataclass(frozen=True, slots=True)
class Stairs:
    """Blocks of which each is as much larger than the one before."""

    rows: tuple[Allocation, ...]
    """The smallest first."""
    step: int

    @property
    def bytes(self) -> int:
        """What all of them hold."""
        return sum(row.total_bytes for row in self.rows)

    @property
    def count(self) -> int:
        """How many blocks they are."""
        return sum(row.count for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Grown:
    """A line that joins a tensor to itself, and the loop around it."""

    name: str
    line: Line
    loop: Line


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        stairs = None if attributed(moment) else stairs_of(list(moment.attribution.table))
        if stairs is None or stairs.bytes < _LEAST_SHARE * all_in_use(moment):
            continue
        grown = _grown(case)
        first, last = stairs.rows[0], stairs.rows[-1]
        what = (
            f"about {stairs.count} blocks of {human(first.size_bytes)} to {human(last.size_bytes)} in equal"
            f" steps of {human(stairs.step)} hold {human(stairs.bytes)}, {_share(case, moment, stairs)}"
        )
        versions = (
            f"every `{grown.name}` that `{grown.line.text.strip()}` ({grown.line.place}) makes longer, turn"
            f" by turn of the loop of {grown.loop.place}"
            if grown
            else "every version of a tensor that each turn of a loop makes longer"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: most likely {versions}",
            because=f"{what}: most likely {versions}",
            explains=stairs.bytes,
            evidence=(
                *((Evidence("what grows", grown.line), Evidence("the loop", grown.loop)) if grown else ()),
                Evidence(f"the largest: {human(last.size_bytes)}", last.line),
                Evidence("the request", request.failed.line),
            ),
            detail="A dump has no names; that these are versions of one tensor is likely, not proved.",
            remedies=(*_remedies(grown), *remedies.offered(case, moment, "smaller-batch")),
            moment=index,
        )


def stairs_of(table: Sequence[Allocation]) -> Stairs | None:
    """The blocks that lie an equal step apart, where these are many: the step that most neighbours have."""
    rows = sorted((row for row in table if row.count <= _FEW), key=lambda row: row.size_bytes)
    sizes = [row.size_bytes for row in rows]
    apart = [larger - smaller for smaller, larger in pairwise(sizes)]
    between = Counter(each for each in apart if each >= _LEAST_STEP)
    if not between:
        return None
    known = set(sizes)
    step = max(between, key=lambda each: (between[each], -each))

    def on_it(size: int) -> bool:
        return size >= step and not known.isdisjoint((size - step, size + step))

    stairs = tuple(row for row in rows if on_it(row.size_bytes))
    return Stairs(stairs, step) if between[step] >= _FEWEST else None


def _share(case: Case, moment: Moment, stairs: Stairs) -> str:
    limit = device_limit(case, moment)
    if limit and limit.bytes:
        return f"{percent(stairs.bytes, limit.bytes)} of the limit"
    return f"{percent(stairs.bytes, all_in_use(moment))} of what is in use"


def _grown(case: Case) -> _Grown | None:
    """The one line of the program that joins a tensor to itself in a loop."""
    found: dict[str, _Grown] = {}
    loops: list[tuple[int, Line]] = []
    for line in file_lines(case.capture.surroundings):
        if loop := _LOOP.match(line.text):
            loops = [each for each in loops if each[0] < len(loop["indent"])]
            loops.append((len(loop["indent"]), line))
        joins = _JOINS.match(line.text)
        if joins is None or joins["name"] not in _NAMES.findall(joins["joined"]):
            continue
        depth = len(joins["indent"])
        around = [loop for of, loop in loops if of < depth and loop.source == line.source]
        if around:
            found.setdefault(line.text.strip(), _Grown(joins["name"], line, around[-1]))
    return next(iter(found.values())) if len(found) == 1 else None


def _remedies(grown: _Grown | None) -> Iterator[Remedy]:
    name = grown.name if grown else "past"
    what = f"`{name}`" if grown else "the tensor"
    yield Remedy(
        f"let {what} have a fixed size: keep the last rows alone, or let a TensorArray have each turn's part",
        f"{name} = tf.concat([{name}[:, 1:], x[:, None]], 1)   # or: ta = ta.write(t, x)",
        slug="ring-buffer",
    )
    yield Remedy(
        "or fewer turns: half as many hold a quarter, for each version is as long as the turns before it",
        slug="fewer-steps",
    )
