"""The driver gave TensorFlow's or JAX's pool less than it asked for, and the run went on.

What it means: BFC asks the driver for a region, and after each refusal for 90 % of the size. So a ladder of
refusals at the start ends no run; it says that something else held part of the device, or that the pool was
to be the whole of it, of which the driver and a desktop keep some. A first request of a TiB and more follows
a figure of free memory that no GPU has, which the driver told: it says nothing of others.
Pinned host RAM and unified memory are asked for in the same way.
When it fires: the log has such refusals, steps follow them, and nothing failed, or a kernel did; or the first
request that was refused is of a TiB and more, whatever follows.
What to do: ask for a smaller part where nearly all was asked for; take releases that match where the figure
is no GPU's; else see who holds the device, before a larger batch needs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import code_snippets, part_for_jax
from tfmemlens.findings.support.last_line import WHERE_IT_STANDS, ended_after
from tfmemlens.findings.support.part_for_jax import Part
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.units import Size, human_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"

Refusal = tuple[Size, Line]


_NEARLY_ALL = 0.9
"""Of a GPU: more of it is seldom free, whoever else is there."""


def check(case: Case) -> Iterator[Finding]:
    yield from _by_a_wrong_figure(case)
    told = case.capture.surroundings
    if case.moments or not told.refusals:
        return
    if told.elsewhere or _ended(told):
        yield _beside_what_ended_it(told)
        return
    of_pool = [each for each in told.refusals if _OF_A_REGION in each[1].text]
    if of_pool:
        yield _of_pool(case, of_pool)
    else:
        yield _of_the_host(told)


def _ended(told: Surroundings) -> bool:
    """Whether another line, or the words, say that the run ended or stands still all the same."""
    in_words = any(map(told.shows, ("ended in words", "killed in words", "hanging in words")))
    return bool(told.crash or told.kernel_died or in_words or ended_after(told, told.refusals[-1][1]))


_OF_A_REGION = "from device"
_UNIFIED = "unified memory"


def _largest(refused: Sequence[Refusal]) -> Refusal:
    return max(refused, key=lambda refusal: refusal[0].bytes)


def _times(refused: Sequence[Refusal]) -> str:
    return f" ({len(refused)} refusals, each for less)" if len(refused) > 1 else ""


def _beside_what_ended_it(told: Surroundings) -> Finding:
    """The refusals of a text in which a line of another kind says what failed."""
    size, line = _largest(told.refusals)
    what = "unified memory" if _UNIFIED in line.text else "pinned host RAM"
    if _OF_A_REGION in line.text:
        what = "a region of the pool"
    hangs, others = told.shows("hanging in words"), told.elsewhere or told.crash or told.kernel_died
    ended = None if others or ended_after(told, told.refusals[-1][1]) else told.shows("ended in words")
    other, remedies = "", tuple[Remedy, ...]()
    if hangs and not others:
        other, remedies = (
            f"; that the program stands still ({hangs.place}) most likely has another reason",
            (WHERE_IT_STANDS,),
        )
    elif ended:
        other, remedies = (
            f"; {ended.place} tells of an end, and its message is not in this text",
            (_THE_REST,),
        )
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"not what failed: the driver refused {human_size(size)} of {what}{_times(told.refusals)}; after"
            f" a refusal less is asked for, and by itself such a line ends no run{other}"
        ),
        evidence=(Evidence("the largest refusal", line),),
        remedies=remedies,
    )


_THE_REST = Remedy(
    "explain the whole output: what it prints last says how it ended",
    "python -X faulthandler train.py 2>&1 | tee train.log; tfmemlens explain train.log",
    slug="read-the-log",
)


def _of_the_host(told: Surroundings) -> Finding:
    """The driver would not pin so much host RAM: the pool for copies got by with less."""
    size, line = _largest(told.refusals)
    on = _went_on(told, told.refusals[-1][1])
    what = "give so much unified memory" if _UNIFIED in line.text else "pin so much host RAM"
    return Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure: the GPU's driver would not {what}: {human_size(size)}{_times(told.refusals)}; less"
            f" was asked for, and the run went on{_at(on)}"
        ),
        evidence=(
            Evidence("the largest refusal", line),
            *((Evidence("the run goes on", on),) if on else ()),
        ),
        remedies=(_NOTHING_TO_DO,),
    )


_NOTHING_TO_DO = Remedy(
    "nothing has to be done while it runs. If it ends later, the last lines of its log tell why: explain"
    " those, not these",
    slug="read-the-log",
)


def _went_on(told: Surroundings, refusal: Line) -> Line | None:
    """The first line below a refusal that shows steps or a later stage of the run."""
    lines = [*(line for _, line in told.steps), *(each.line for each in told.progress)]
    lines += [line for line in (told.shows("logging on"),) if line]
    below = [line for line in lines if line.source == refusal.source and line.number > refusal.number]
    return min(below, key=lambda line: line.number, default=None)


def _at(line: Line | None) -> str:
    return f" ({line.place})" if line else ""


def _of_pool(case: Case, refused: Sequence[Refusal]) -> Finding:
    size, line = _largest(refused)
    asked = _asked_for_all(case)
    on = _went_on(case.capture.surroundings, refused[-1][1])
    why = "most likely something else holds part of the GPU"
    if size.bytes >= _NO_GPU:
        why = (
            "no GPU has so much memory, so the driver told a wrong figure of what is free, which says nothing"
            " of the model or of other programs"
        )
    elif asked:
        why = (
            f"JAX is told to take {asked.words} ({asked.line.place}), of which the driver and a desktop keep"
            " some"
        )
    return Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure: the driver refused the pool {human_size(size)}{_times(refused)}, and the run went"
            f" on with less{_at(on)}; {why}"
        ),
        evidence=(
            Evidence("the largest refusal", line),
            *((Evidence("the part that JAX is to take", asked.line),) if asked else ()),
            *((Evidence("the run goes on", on),) if on else ()),
        ),
        remedies=tuple(_of_a_wrong_figure(case, line) if size.bytes >= _NO_GPU else _remedies(case, asked)),
    )


_NO_GPU = 1 << 40
"""More than any GPU has."""


def asks_by_a_wrong_figure(request: Request) -> bool:
    """Whether the driver refused a pool that is larger than any GPU: no op's tensor is asked of it."""
    size = request.failed.size if request.failed.kind is RequestKind.DRIVER else None
    return size is not None and size.bytes >= _NO_GPU


def _by_a_wrong_figure(case: Case) -> Iterator[Finding]:
    """The same where nothing tells that the run went on."""
    for index, _, request in list(requests(case))[:1]:
        line = request.failed.line
        if line is None or not asks_by_a_wrong_figure(request):
            continue
        why = (
            f"this is {framework_name(case)}'s pool, which asks for what the driver says is free, and"
            f" for 9/10"
            " of it after each refusal: no GPU has so much, so the driver told a wrong figure, which says"
            " nothing of the model"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=why,
            because=why,
            explains=request.needed_bytes,
            evidence=(Evidence("the request", line),),
            remedies=tuple(_of_a_wrong_figure(case, line)),
            moment=index,
            rules_out=("see-device-users",),
        )


def _of_a_wrong_figure(case: Case, line: Line) -> Iterator[Remedy]:
    """What helps where the pool asks by a figure that no GPU has."""
    driver, look = ("ROCm", "rocminfo | head -3; pip list") if "HIP" in line.text else ("the driver", None)
    yield Remedy(
        f"nothing of the model has to change. Compare the release of {driver} on this machine with the one"
        f" that this {framework_name(case)} was built for: most likely they do not match",
        look,
        slug="matching-driver",
    )
    yield Remedy(
        f"or let {framework_name(case)} take memory as needed, so that it does not ask by this figure",
        code_snippets.growth(case.api),
        slug="growth",
    )


def _asked_for_all(case: Case) -> Part | None:
    """The setting that lets JAX ask for nearly all of a GPU; None where it is not set so."""
    part = part_for_jax.stated(case.capture.surroundings)
    return part if part and framework_of(case) == JAX and part.value >= _NEARLY_ALL else None


def _remedies(case: Case, asked: Part | None) -> Iterator[Remedy]:
    if asked:
        yield Remedy(
            "nothing has to be done: the pool is what was left. To be rid of the lines, set a smaller part"
            " before JAX starts (75 % unless told otherwise)",
            f"export {part_for_jax.VARIABLE}=.75",
            slug="smaller-fraction",
        )
    else:
        yield Remedy(
            "nothing has to be done: the pool is what was left. Should a larger batch need the rest, see who"
            " holds the device, and end what you do not need",
            "nvidia-smi",
            slug="see-device-users",
        )
    yield Remedy(
        f"or let {framework_name(case)} take memory as needed, to be rid of the lines",
        code_snippets.growth(case.api),
        slug="growth",
    )
