"""A loop of the quoted code adds to a list, and keeps with it what each iteration made.

What it means: an array lives as long as Python can reach it. A list that stands outside the loop keeps one
result for each iteration, and the turn that fails is the first for which nothing is left.
When it fires: the text quotes a loop that adds something larger than a number to what was made outside it,
and the failure agrees: it is the line that failed, what is kept by then is a good part of the memory, the
figures that the program printed rise by as much, chunks of its size fill the dump (no more of them than the
loop can have added), or many turns went well.
Of a list that lives for one call it is the line that appends what is made of the list to something else.
Of several lists it is the one whose entries take the most. In host RAM also what left the device. Not where
the program recorded itself, and counted who holds what (`held-by-python`, `kept-by-a-tape`).
What to do: compute in the loop what is wanted in the end and keep that alone; or write the parts to disk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings import held_by_python
from tfmemlens.findings.support.growth import per_turn
from tfmemlens.findings.support.kept import loop_of_a_tape
from tfmemlens.findings.support.kept_blocks import sized_by_blocks
from tfmemlens.findings.support.kept_code import SMALL_BESIDE_CALLS, kept, largest
from tfmemlens.findings.support.kept_remedies import instead
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.rows import (
    Row,
    all_in_use,
    device_limit,
    holds_arrays,
    on_host,
    requests,
    rows,
)
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.stage import is_epoch
from tfmemlens.findings.support.taped import taped
from tfmemlens.findings.support.unlike_blocks import MANY_SIZES, unlike_blocks
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Phase
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

BASIS = Basis.NAME
EXPLAINS = "what is kept when it fails, where sizes and iterations are told; else XLA's request, or no bytes"

_A_GOOD_PART, _NEXT_TO_NOTHING = 0.25, 0.05
_MANY_STEPS = 10
_MANY_CHUNKS = 8
_SMALL_BYTES, _A_CROWD, _MOST_OF_ALL = 64 * MIB, 1000, 0.4
"""Blocks of less than a MiB each count from so many bytes on; or where a crowd of them is so much of all."""

_OF_OTHER_KEEPERS = (
    *("look-for-lists", "shuffle-files", "cache-to-file", "smaller-pipeline"),
    *("constant-shapes", "large-tensors-first", "batch-for-the-block", "look-between-steps"),
)
"""What is advised where nobody knows who keeps blocks of one size, or leaves holes between them."""
_OF_DATA_IN_RAM = ("map-the-file", "check-the-limit", "compare-rounds")
_OF_ONE_STEP = ("recompute", "donate-buffers", "what-runs-then", "ask-what-is-in-use")
"""What makes one step smaller, or asks who fills the device, where many steps went well and the code says."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if another_program(moment) or any(held_by_python.check(case)) or taped(case, moment):
            continue  # what the program itself counted needs no guess of what its code keeps
        candidates = _candidates(case, moment)
        for keeping in candidates:
            if keeping.model or (request.failed.creating and not on_host(moment)):
                break
            if _is_little(moment, keeping):
                continue
            proof = _proof(case, moment, request, keeping)
            if proof and not _too_small(case, keeping, proof[1]):
                words, held, sized = proof
                others = _beside(case, moment, keeping)
                words, held = _with_others(moment, keeping, others, words, held)
                found = _finding(case, index, moment, keeping, words, held or _alone(case, moment), sized)
                found = replace(found, remedies=_of_all(case, moment, found.remedies, others, words))
                yield _through_an_object(case, keeping, words, found)
                break


def _is_little(moment: Moment, keeping: Kept) -> bool:
    """Whether a dump shows the blocks of what is kept, and they are next to nothing of what is in use."""
    blocks = rows(moment, lambda row: row.allocation.size_bytes == keeping.each) if keeping.each else []
    many = sum(row.allocation.count for row in blocks)
    return many >= _MANY_CHUNKS and many * (keeping.each or 0) < _NEXT_TO_NOTHING * all_in_use(moment)


def _through_an_object(case: Case, keeping: Kept, words: str, found: Finding) -> Finding:
    """The same of a list that lives for one call or turn, where what is made of it is appended to something
    that outlasts it: that line keeps it.
    """
    if keeping.model or not keeping.container.isidentifier():
        return found
    from tfmemlens.findings.support.kept_through import kept_through

    through = kept_through(case.capture.surroundings.program(), keeping.container)
    if through is None:
        return found
    listed = f"`{keeping.container}` ({keeping.line.place})"
    within = "" if through.made == through.line else f", within what {through.made.place} makes of it"
    told = (
        f"`{through.container}` ({through.line.place}) keeps all of the list {listed} again and again{within}"
        f"{', ' if words.startswith('and ') else ': '}{words}"
    )
    return replace(
        found,
        headline=told,
        because=told,
        evidence=(
            Evidence("what outlasts the list", through.line),
            Evidence("the list goes into it", through.made),
            *found.evidence[:1],
        ),
        remedies=(
            Remedy(
                f"put into what goes to `{through.container}` no list of tensors ({through.made.place}): in"
                f" place of `{through.name}` only what is read of it later (a number, a mean, a norm), or"
                " nothing",
                slug="drop-results",
            ),
            Remedy(
                f"or write `{through.name}` to disk there, and keep the file's name",
                slug="parts-to-disk",
            ),
        ),
        rules_out=(*found.rules_out, "smaller-batch", "keep-numbers", "look-for-lists"),
    )


def _alone(case: Case, moment: Moment) -> int | None:
    """The request of XLA's, which nothing else explains where the code fills the device turn by turn."""
    request = moment.request
    if framework_of(case) not in (JAX, TORCH_XLA) or on_host(moment) or request is None:
        return None
    if not request.failed.of_xla or _turns(case) < _MANY_STEPS:
        return None
    return request.needed_bytes


def _beside(case: Case, moment: Moment, keeping: Kept) -> list[Kept]:
    """What else the same loop keeps of unknown size, or of a size that fills the dump with it."""
    many = max((row.allocation.count for row in rows(moment)[:1]), default=0)
    alike = [
        each
        for each in sized_by_blocks(case, moment, kept(case.capture.surroundings))
        if each.line_of_loop == keeping.line_of_loop
        and (each.each or not _too_many(each, many))
        and each.container != keeping.container
        and bool(each.each) is bool(keeping.each)
        and not (each.number or each.model or each.on_host or each.gradients or each.weights)
    ]
    return list({each.container: each for each in alike}.values())


def _with_others(
    moment: Moment, keeping: Kept, others: list[Kept], words: str, held: int | None
) -> tuple[str, int | None]:
    """The proof with what other lists of the same loop have: each with its blocks, or by name alone."""
    if not others or keeping.gradients or keeping.weights:
        return words, held
    counts = Counter[int]()
    for row in rows(moment):
        counts[row.allocation.size_bytes] += row.allocation.count
    if not keeping.each:
        names = ", ".join(f"`{each.container}` ({each.line.place})" for each in others[:_MOST_OTHERS])
        return f"{words}; or {names}, which the loop fills, too", held
    told = []
    least = _LITTLE * counts[keeping.each] * keeping.each
    for each in others:
        size = each.each or 0
        if counts[size] >= _MANY_CHUNKS and size != keeping.each and counts[size] * size >= least:
            told.append(f"{counts[size]} of {human(size)} in `{each.container}` ({each.line.place})")
            held = held + counts[size] * size if held else held
    return (f"{words}, and {', '.join(told)}" if told else words), held


_MOST_OTHERS, _LITTLE = 2, 0.05
"""Of what the first list keeps: another one with less is worth no word."""


def _of_all(
    case: Case, moment: Moment, remedies: tuple[Remedy, ...], others: list[Kept], told: str
) -> tuple[Remedy, ...]:
    """What to do with the other lists, behind the first remedy: one of them alone fills the device later."""
    again = [
        replace(first, text=f"of `{each.container}` ({each.line.place}), too: {first.text}", code=None)
        for each in others[:_MOST_OTHERS]
        if each.each
        and f"`{each.container}`" in told
        and (first := next(instead(case, moment, each, None), None))
    ]
    return (*remedies[:1], *again, *remedies[1:])


def _candidates(case: Case, moment: Moment) -> list[Kept]:
    """What keeps the most; where no size is told, all that may, in the order of the text."""
    taped = loop_of_a_tape(case, moment.request) if moment.request else None
    kept_there = [
        each
        for each in kept(case.capture.surroundings)
        if not (taped and taped.called and each.line_of_loop == taped.loop)
    ]  # what a layer's own loop adds to is one forward pass, which the tape keeps
    kept_there = sized_by_blocks(case, moment, kept_there)
    first = largest(kept_there, holds_arrays(moment))
    if first and not first.each and any(each.model for each in kept_there):
        return []  # models weigh more than what nobody knows the size of: models-kept tells of them
    if first is None or first.each or first.number:
        return [first] if first else []
    others = (each for each in kept_there if not (each.number or each.each or each.model or each.on_host))
    return [first, *(each for each in others if each is not first)]


def _proof(
    case: Case, moment: Moment, request: Request, keeping: Kept
) -> tuple[str, int | None, bool] | None:
    """What agrees with it: in words, the bytes that are kept, and whether sizes say so; None where nothing
    does.
    """
    turns = _epochs(case) if keeping.by_epochs else _turns(case)
    held = keeping.after(turns) * keeping.each if keeping.each and turns else None
    if chunks := _chunks(moment, request, keeping, turns):
        return chunks
    if any(_too_many(keeping, row.allocation.count) for row in rows(moment)[:1]):
        return None
    need = request.needed_bytes
    small = need is not None and need <= _SMALL_BYTES
    if keeping.by_calls:
        small = need is not None and need <= SMALL_BESIDE_CALLS
        entries = keeping.each is None or keeping.each >= MIB
        told = f"so small a request ({human(need or 0)}) fails only where memory is full"
        return (told, need, False) if small and entries and framework_of(case) == JAX else None
    if (risen := _risen(case, keeping)) is not None:
        return risen
    limit = device_limit(case, moment)
    whole = limit.bytes if limit and limit.bytes else None
    if held and keeping.each:
        if whole is not None and held < _A_GOOD_PART * whole:
            return None
        if held >= 256 * MIB:
            many = "" if keeping.every == 1 else f", of which every {keeping.every}th is kept"
            upto = "up to " if keeping.by_epochs else ""
            return f"{upto}{human(held)} after {turns:,} {_unit(keeping)}s{many}", held, True
    if not on_host(moment) and small and need is not None and _fills(keeping, whole):
        full = keeping.most * keeping.each if keeping.most and keeping.each else None
        full = min(full, whole) if full and whole else full
        return f"so small a request ({human(need)}) fails only where the device is full", full or None, False
    if keeping.line.text.strip() in _failing_lines(request):
        return "and this line is the one that failed", None, False
    failing = _failing_lines(request)
    if any(line.text.strip() in failing for line in keeping.made):
        next_one = need if need and keeping.each and need <= keeping.each else None
        return "and it failed where the next one of them is made", next_one, False
    if turns >= _MANY_STEPS:
        return f"it failed after {turns:,} {_unit(keeping)}s that went well", None, False
    if on_host(moment) and keeping.each:
        return "so host RAM fills with the iterations", None, False
    if need is None and not on_host(moment) and _went_well(case):
        return "and it failed after a while that went well", None, False
    return None


def _too_small(case: Case, keeping: Kept, held: int | None) -> bool:
    """Whether the program recorded that what the container holds is far less than what it is to explain."""
    own = (keeping.container, f"{keeping.container}[\u2026]")
    counted = [holder.bytes for each in case.capture.living for holder in each.holders if holder.name in own]
    return bool(counted and held) and sum(counted) < _A_GOOD_PART * (held or 0)


_LATER = regex(
    r"(?i)\b(?:at|in|during|after|around) (?:the )?epoch (?:[2-9]|[1-9]\d+)\b|\bafter \d+ epochs\b"
)


def _went_well(case: Case) -> bool:
    """Whether words tell of epochs, or of many steps or calls, before the failure."""
    told = case.capture.surroundings
    said = told.shows("running short")
    late = told.shows("failing late") or told.shows("many calls before")
    return late is not None or bool(said and _LATER.search(said.text))


def _fills(keeping: Kept, whole: int | None) -> bool:
    """Whether all entries that there may be are more than the device has; any number of them may be."""
    return bool(keeping.each) and (
        keeping.most is None or whole is None or keeping.most * (keeping.each or 0) > whole
    )


def _failing_lines(request: Request) -> set[str]:
    """The user's lines that the traceback quotes."""
    told = [request.failed.source_text or "", *(frame.text for frame in request.failed.frames)]
    return {text.strip() for text in told if text.strip()}


_MUCH = 0.2
"""Of what is in use: so much of one size is a part of what fills a device after many steps that went well."""


def _much_of_one_size(moment: Moment) -> Row | None:
    """The blocks of one size that hold most, where one larger block is the largest of all."""
    many = (row for row in rows(moment) if row.allocation.count >= _MANY_CHUNKS)
    most = next((row for row in many if row.allocation.size_bytes >= MIB), None)
    return most if most and most.allocation.total_bytes >= _MUCH * all_in_use(moment) else None


def _chunks(
    moment: Moment, request: Request, keeping: Kept, turns: int = 0
) -> tuple[str, int | None, bool] | None:
    """Chunks of the size of one entry that fill a dump."""
    if keeping.each is None:
        most = next(iter(rows(moment)), None)
        if most and most.allocation.count < _MANY_CHUNKS and turns >= _MANY_STEPS:
            most = _much_of_one_size(moment) or most
        size, many = (most.allocation.size_bytes, most.allocation.count) if most else (0, 0)
        blocks = [row.allocation for row in rows(moment)]
        unlike = unlike_blocks(blocks, all_in_use(moment)) if len(blocks) >= MANY_SIZES else None
        if unlike and not (_too_many(keeping, unlike.blocks) or request.owner.phase is Phase.GRADIENT):
            return f"most likely these are the {unlike.text()} that are in use", unlike.bytes, True
        most_of_all = many >= _A_CROWD and many * size >= _MOST_OF_ALL * all_in_use(moment)
        small = size < MIB and many * size < _SMALL_BYTES and not most_of_all
        if many < _MANY_CHUNKS or small or _too_many(keeping, many):
            return None
        others = _of_one_turn(moment, many, size) if _SEVERAL.match(keeping.value) else ()
        beside = "".join(f", {each.count} of {human(each.size_bytes)}" for each in others)
        likely = f"most likely these are the {many} blocks of {human(size)}{beside} that are in use"
        next_one = size if request.needed_bytes == size else 0
        held = many * size + sum(each.total_bytes for each in others) + next_one
        return likely + (", and the next one failed" if next_one else ""), held, True
    alike = rows(moment, lambda row: row.allocation.size_bytes == keeping.each)
    many = sum(row.allocation.count for row in alike)
    if many < _MANY_CHUNKS or _too_many(keeping, many):
        return None
    return f"{many} blocks of that size are in use", many * keeping.each, True


_SEVERAL = regex(r"[\[({]")
"""What is kept of a turn is a list, a tuple or a dictionary: it may have blocks of several sizes."""


def _of_one_turn(moment: Moment, many: int, size: int) -> list[Allocation]:
    """Blocks of other sizes that are about as many: what the same turns may have made beside them."""
    return [
        row.allocation
        for row in rows(moment)
        if row.allocation.size_bytes != size
        and row.allocation.count >= _MANY_CHUNKS
        and 2 * many <= 3 * row.allocation.count <= 6 * many
        and row.allocation.size_bytes >= MIB
    ]


def _too_many(keeping: Kept, blocks: int) -> bool:
    """Whether the container never has as many entries as there are blocks, even with a gradient of each."""
    entries = min((each for each in (keeping.turns, keeping.most) if each is not None), default=None)
    return entries is not None and blocks > 3 * max(entries, 1)


def _risen(case: Case, keeping: Kept) -> tuple[str, int | None, bool] | None:
    """Readings of the program's own that rise by what it keeps; entries of unknown size have what is left."""
    rate = per_turn(case.capture.surroundings)
    if rate is None or (not keeping.each and _is_a_number(keeping) and rate.bytes > _MOST_OF_A_NUMBER):
        return None
    each = rate.bytes * keeping.every
    if keeping.each and not 0.7 <= each / keeping.each <= 1.4:
        return None
    about = "" if keeping.each else f", about {human(each)} for each entry"
    return f"which is what the readings rise by: {human(rate.bytes * rate.turns)}{about}", rate.risen, True


def _is_a_number(keeping: Kept) -> bool:
    """Whether what is kept is one number by the call that gives it, which no reading rises by."""
    return _ONE_NUMBER.search(keeping.line.text) is not None


_ONE_NUMBER = regex(r"\.(?:evaluate|score)\(|\w{0,20}(?:accuracy|_score|_loss)\(")
_MOST_OF_A_NUMBER = MIB


def _unit(keeping: Kept) -> str:
    if keeping.by_calls:
        return "call"
    return "epoch" if keeping.by_epochs else "iteration"


def _epochs(case: Case) -> int:
    """How many epochs had begun, as the program's output counts them."""
    told = case.capture.surroundings
    bars = [each.epoch for each in told.progress if each.epoch]
    counted = [step for step, line in told.steps if is_epoch(line)]
    return max([*bars, *counted, *_epochs_in_words(told)], default=0)


_EPOCH_IN_WORDS = regex(
    r"(?i)\b(?:at|in|during|after|around|until) (?:the |about |around )?epoch (?:number |no\. |#)?"
    r"(?P<number>\d{1,6})\b"
    r"|\bafter (?:about |around |some |~)?(?P<many>\d{1,6}) epochs\b"
)


def _epochs_in_words(told: Surroundings) -> Iterator[int]:
    """The epoch that the sentence of the failure names."""
    for line in (told.shows("failing late"), told.shows("running short"), told.shows("ended in words")):
        if line and (match := _EPOCH_IN_WORDS.search(line.text)):
            yield int(match["number"] or match["many"])


def _turns(case: Case) -> int:
    told = case.capture.surroundings
    bars = [each.step for each in told.progress if each.step]
    steps = [step for step, line in told.steps if not is_epoch(line)]
    return max([*bars, *steps, _in_words(told)], default=0)


_COUNTED = regex(
    r"(?i)\b(?:step|iteration|batch|update)s? ?(?:number )?#?(?P<after>\d[\d,.]{0,9})"
    r"|(?P<before>\d[\d,.]{0,9})(?:st|nd|rd|th)? (?:training )?(?:step|iteration|batch|update)"
)


def _in_words(told: Surroundings) -> int:
    """How many turns went well, as the text says; 0 where it does not."""
    line = told.shows("always at one step") or told.shows("failing late")
    match = _COUNTED.search(line.text) if line else None
    digits = re.sub(r"\D", "", (match["after"] or match["before"])) if match else ""
    return int(digits or 0)


def _all_turns(case: Case) -> int | None:
    """How many turns the loop has, as a progress bar tells."""
    return max((each.steps for each in case.capture.surroundings.progress if each.steps), default=None)


def _finding(
    case: Case,
    index: int,
    moment: Moment,
    keeping: Kept,
    proof: str,
    held: int | None,
    sized: bool,
) -> Finding:
    where = " in host RAM" if on_host(moment) else " on the device"
    if sized and on_host(moment) and moment.balance.limit:
        where = ""  # the pool that the blocks lie in
    what = f"{keeping.shape} ({human(keeping.each)})" if keeping.each and keeping.shape else "every result"
    if keeping.gradients:
        what = "a whole set of gradients" + (f" ({human(keeping.each)})" if keeping.each else "")
    elif keeping.weights:
        what = "a copy of all weights" + (f" ({human(keeping.each)})" if keeping.each else "")
    if keeping.each and keeping.most:
        what += f", up to {human(keeping.each * keeping.most)} in {keeping.most:,} entries,"
    turn = _unit(keeping)
    times = f"each {turn}" if keeping.every == 1 else f"every {keeping.every}th {turn}"
    joint = ", " if proof.startswith("and ") else ": "
    likely = "most likely " if keeping.by_calls and not sized else ""
    keeps = f"{likely}`{keeping.container}` ({keeping.line.place}) keeps {what} of {times}"
    told = f"{keeps}{where}{joint}{proof}"
    of_xla = _alone(case, moment) is not None
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=held,
        basis=Basis.MEASURED if sized else Basis.NAME,
        evidence=(
            Evidence(f"the loop keeps `{keeping.value}`", keeping.line),
            Evidence("the loop", keeping.line_of_loop),
            *(Evidence(f"what `{keeping.container}` is for", line) for _, line in keeping.uses[:1]),
        ),
        remedies=tuple(instead(case, moment, keeping, _all_turns(case))),
        moment=index,
        of_code=True,
        rules_out=(
            *(_OF_DATA_IN_RAM if keeping.weights and sized else ()),
            *(("smaller-batch",) if keeping.gradients or keeping.weights or sized or of_xla else ()),
            *(_OF_ONE_STEP if of_xla else ()),
            *(_OF_OTHER_KEEPERS if sized else ()),
        ),
    )
