"""What a cause that a text only tells of stands on, and what may be said of it: the one place that decides
whether a guess is "most likely" or one of several that fit.

A text that quotes no message tells what its writer noticed. What the code shows, what works beside what
fails, what is told of the failure itself, and growth beside something that grows, each carries a claim. That
a thing is mentioned does not: most programs that fail have large images, a strategy or environments. A
mention is worded as one of the causes that fit, with what tells them apart, and the first thing to do is
good whichever it is; unless the text rules the others out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from tfmemlens.findings.support.contrasted import contrasted
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, on_a_mac, situation
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.findings.support.which_memory import DEVICE, HOST, RAN_OUT, UNSAID
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace


class Ground(Enum):
    """The kind of evidence that a cause told in words has."""

    CODE = "a line of the program, or figures and settings that the text states"
    CONTRAST = "what works beside what fails"
    OF_THE_FAILURE = "words that tell it of the failure itself"
    WITH_GROWTH = "growth that is told, and something that grows"
    MENTION = "words that mention it"


CARRIES = {
    Ground.CODE: True,
    Ground.CONTRAST: True,
    Ground.OF_THE_FAILURE: True,
    Ground.WITH_GROWTH: True,
    Ground.MENTION: False,
}
"""Whether evidence of the kind alone makes a cause the most likely one."""
MENTIONS = frozenset(
    (
        "training under a strategy",
        "replaying",
        "worker processes",
        "a set as tensors",
        "a gradient penalty",
        "second-order gradients",
        "training quantised",
        "recurrent convolutions",
        "many time steps",
        "volumes",
        "large images",
        "a transformer",
        "environments",
        "jax: compiling",
        "jax: pmap",
    )
)
"""Facts that many programs have which fail for another reason: told elsewhere than in the sentence of the
failure they carry nothing. Any other fact is told with the failure, or names what takes the memory.
"""
_GROWS = ("growing in words", "kept in words", "many runs before")


class _Other(NamedTuple):
    """A cause that fits any failure told in words, unless the text rules it out."""

    what: str
    memories: tuple[str, ...]
    unless: tuple[str, ...]
    """Facts beside which it does not fit, or is told already."""
    remedies: tuple[str, ...]
    """What would help against it: where the text says that this did not, it is ruled out."""


_LATER = ("failing late", "many runs before", *_GROWS)
OTHERS = (
    _Other(
        "one step that is too large (its batch, one sample, the model)",
        (DEVICE, UNSAID),
        _LATER,
        ("smaller-batch",),
    ),
    _Other(
        "data that are read or converted whole", (HOST, UNSAID), _LATER, ("map-the-file", "data-on-the-host")
    ),
    _Other(
        "something that is kept from step to step",
        (HOST, DEVICE, UNSAID),
        (
            "before training",
            "before any step",
            "dying while it starts",
            "at its first call",
            "a peak before the first step",
        ),
        ("keep-numbers", "look-for-lists"),
    ),
    _Other(
        "another process that holds a part of the device",
        (DEVICE,),
        ("held by an earlier run", "on a phone", "growing in words"),
        ("see-device-users",),
    ),
)
_MOST = 3
"""Causes that one sentence names."""
_OF_A_DEVICE = (
    "tell these apart before anything is changed: look at the memory before the program starts, at its first"
    " steps, and later. Much in use before the start means another process; full at the first step, a step or"
    " the model that is too large; higher with each step, something that is kept"
)
_OF_RAM = (
    "tell these apart before anything is changed: look at the program's RAM before its first step and at"
    " later ones. Full before the first step means what is read or converted; higher with each step,"
    " something that is kept; a jump late, what is done there (a validation, a save)"
)
_OF_A_START = (
    "print the program's RAM after each thing that it does before its first step, and change that at which it"
    " jumps: weights of a checkpoint that every process reads whole (restore them in shards), data that are"
    " read or converted whole (read them as a stream), or a program that is compiled"
)
_RSS_OF_A_START = "print(psutil.Process().memory_info().rss >> 20)   # MiB, after imports, data, weights"
_BYTES_OF = {
    TENSORFLOW: "nvidia-smi; print(tf.config.experimental.get_memory_info('GPU:0'))   # each step; TF 2.5+",
    JAX: "print(jax.local_devices()[0].memory_stats()['bytes_in_use'])   # each step; before: nvidia-smi",
    TORCH_XLA: "print(xm.get_memory_info(xm.xla_device()))   # each step",
}
_COUNTS_BYTES = (2, 5)
"""The first TensorFlow that tells what its pool holds."""
_RSS = "print(psutil.Process().memory_info().rss >> 20)   # MiB, each step; from outside: top"
_PLACE = regex(r" \(line \d+\)\Z")


class Guess(NamedTuple):
    """What may be said of a cause, and what to do."""

    words: str
    remedies: tuple[Remedy, ...]
    sure: bool
    """Whether it is said to be the most likely one."""


def ground(case: Case, found: Grower) -> Ground:
    """What the cause stands on."""
    told = case.capture.surroundings
    of_code = found.line in (*told.code, *code_lines(told)) and not RAN_OUT.search(found.line.text)
    if found.sure or not found.fact or of_code:
        return Ground.CODE
    if found == contrasted(case):
        return Ground.CONTRAST
    if found.fact not in MENTIONS or _told_with_the_failure(found):
        return Ground.OF_THE_FAILURE
    return Ground.WITH_GROWTH if any(map(told.shows, _GROWS)) else Ground.MENTION


def _told_with_the_failure(found: Grower) -> bool:
    """Whether one sentence tells of the failure and of the thing: all of a line that has no other, else the
    sentence that has a word of it.
    """
    sentences = [each for each in _SENTENCE.split(found.line.text) if each.strip()]
    failing = [each.lower() for each in sentences if RAN_OUT.search(each) or _FITS_NOT.search(each)]
    if not failing or len(sentences) == 1:
        return bool(failing)
    words = {word[:_STEM].lower() for word in _WORD.findall(f"{found.fact} {found.what}")} - _COMMON
    return any(word in each for word in words for each in failing)


_FITS_NOT = regex(r"(?i)(?:\bnot|n['\u2019]t) fit\b")
_SENTENCE = regex(r"(?<=[.!?])\s+")
_WORD = regex(r"[A-Za-z]{6,}")
_STEM = 6
_COMMON = frozenset(("train", "traini", "memory", "device", "layers", "backwa", "thing", "before", "batche"))
"""Beginnings of words that any failure is told with."""


def claim(case: Case, found: Iterable[Grower], where: str) -> Guess | None:
    """What may be said of the causes, of which the most particular comes first: that it is the most likely,
    or which of several it may be.
    """
    causes = _different(found)
    if not causes:
        return None
    first = next((each for each in causes if CARRIES[ground(case, each)]), causes[0])
    others = [other for other in _others(case, where) if not _same(other, causes)]
    if CARRIES[ground(case, first)] or not (others or causes[1:]):
        return Guess(f"most likely {first.what}", first.remedies, sure=True)
    named = [each.what for each in causes[: _MOST - 1]]
    named += [other.what for other in others][: _MOST - len(named)]
    remedies = [
        replace(remedy, text=f"if it is {_short(each.what)}: {remedy.text}")
        for each in causes[: _MOST - 1]
        for remedy in each.remedies[:1]
    ]
    words = f"what took it is not proven here; {_one_of(named)}"
    return Guess(words, (tell(case, where), *remedies), sure=False)


def unknown(case: Case, where: str) -> Guess | None:
    """What may be said where the text names no cause at all."""
    if early := before_any_step(case, where):
        words = f"it was before any step ({early.place}), so it is what is loaded, read or compiled by then"
        return Guess(words, (tell(case, where),), sure=False)
    named = [other.what for other in _others(case, where)][:_MOST]
    if len(named) < 2:
        return None
    words = f"what took it is not said: {_one_of(named)}"
    return Guess(words, (tell(case, where),), sure=False)


def _one_of(named: Sequence[str]) -> str:
    """`it may be A, B, or C`."""
    return f"it may be {', '.join(named[:-1])}, or {named[-1]}"


def tell(case: Case, where: str) -> Remedy:
    """What tells the causes apart, whichever it is."""
    of_python = not situation(case).program
    if before_any_step(case, where):
        return Remedy(_OF_A_START, _RSS_OF_A_START if of_python else None, slug="tell-which")
    if where == HOST or on_a_mac(case):  # a Mac's GPU uses its RAM
        return Remedy(_OF_RAM, _RSS if of_python else None, slug="tell-which")
    framework = framework_of(case)
    code = _BYTES_OF.get(framework or "") if of_python else None
    if framework == TENSORFLOW and case.api.newest < _COUNTS_BYTES:
        code = None  # nvidia-smi shows the pool, which takes all of a GPU at once
    return Remedy(_OF_A_DEVICE, code, slug="tell-which")


def before_any_step(case: Case, where: str) -> Line | None:
    """The line that says that host RAM ran out before anything was computed in steps."""
    return case.capture.surroundings.shows("before any step") if where == HOST else None


def _others(case: Case, where: str) -> Iterator[_Other]:
    told, excluded = case.capture.surroundings, ruled_out(case)
    for other in OTHERS:
        if where in other.memories and not (
            any(map(told.shows, other.unless)) or set(other.remedies) & excluded
        ):
            yield other


def _same(other: _Other, causes: Iterable[Grower]) -> bool:
    """Whether what is named already is of this kind: its remedies say so."""
    slugs = {remedy.slug for each in causes for remedy in each.remedies}
    return bool(slugs & set(other.remedies))


def _different(found: Iterable[Grower]) -> list[Grower]:
    """Each cause once, the first in its words."""
    known: dict[str, Grower] = {}
    for each in found:
        slug = each.remedies[0].slug if each.remedies else each.what
        known.setdefault(slug, each)
        if len(known) == _MOST:
            break
    return list(known.values())


def _short(what: str) -> str:
    """The cause without its line and what is said of it besides."""
    return _PLACE.sub("", what).partition(",")[0]
