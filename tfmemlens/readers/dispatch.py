"""Which formats an input is of, and what they say of it together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source, Surroundings
from tfmemlens.readers import catalogue
from tfmemlens.readers.bytes import own_pages, texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import fields, replace


class Match(NamedTuple):
    """A format that an input may be of."""

    confidence: Confidence
    slug: str
    module: ModuleType

    @property
    def shared(self) -> bool:
        """Whether other formats may stand in the same text."""
        return getattr(self.module, "SHARED", False)

    @property
    def quoted(self) -> bool:
        """Whether people quote it within a post, whose words are read, too."""
        return getattr(self.module, "QUOTED", False)

    @property
    def holds(self) -> Holds:
        """What it can tell of memory."""
        known: Holds = self.module.HOLDS
        return known


def recognise(opened: Opened) -> list[Match]:
    """The formats that an input may be of, the surest first. What looks binary is a text with holes in it if
    no format knows it and it speaks of memory.
    """
    head = opened.head()
    is_text = opened.is_text or not texts.looks_binary(head)
    matches = _matches(Sample(opened, head, is_text))
    if not matches and not is_text and texts.speaks_of_memory(opened):
        matches = _matches(Sample(opened, head, is_text=True))
    return matches


def _matches(sample: Sample) -> list[Match]:
    """Models are asked last: what ran tells more than what may run."""
    matches = _asked(sample, catalogue.formats())
    if not matches or matches[0].confidence < Confidence.LIKELY:
        models = _asked(sample, catalogue.models())
        matches = sorted([*models, *matches], key=lambda match: -match.confidence)
    return [match for match in matches if match.confidence > Confidence.IF_TOLD]


def _asked(sample: Sample, modules: dict[str, ModuleType]) -> list[Match]:
    matches = [Match(module.sniff(sample), slug, module) for slug, module in modules.items()]
    return sorted((match for match in matches if match.confidence), key=lambda match: -match.confidence)


def read(opened: Opened, hints: Hints) -> Capture:
    """What all formats that the input is of say together. Raises UnreadableInput, UsageError."""
    if not opened.size:
        raise _nothing_in(opened)
    own_pages.refuse(opened.head(), "standard input" if opened.path == "-" else opened.path)
    try:
        return _read(opened, recognise(opened), hints)
    except UnreadableInput as problem:  # what was left out may be why
        left_out = "".join(f"; {note.text}" for note in opened.notes)
        raise UnreadableInput(problem.sentence + left_out, problem.hint) from None


def _nothing_in(opened: Opened) -> UnreadableInput:
    place = Path(opened.path)
    if not opened.is_text and place.is_file() and place.stat().st_size:
        return UnreadableInput(
            f"{opened.path} is damaged: nothing of it can be unzipped", "copy the file again, in binary mode"
        )
    name = "standard input" if opened.path == "-" else opened.path
    return UnreadableInput(f"{name} is empty", "was the log flushed before the process died?")


def read_text(opened: Opened, hints: Hints) -> Capture:
    """The same of a text that was taken out of something: no format that needs an input for itself."""
    matches = _asked(Sample(opened, opened.head(), is_text=True), catalogue.formats())
    return _read(opened, [match for match in matches if match.shared], hints)


def read_model(opened: Opened) -> Capture | None:
    """The model that the user says an input is, None if it is none. Raises UnreadableInput, MissingExtra."""
    sample = Sample(opened, opened.head(), is_text=False)
    surest = next(iter(_asked(sample, catalogue.models())), None)
    capture: Capture | None = surest.module.read(opened, Hints()) if surest else None
    return capture


def _read(opened: Opened, matches: list[Match], hints: Hints) -> Capture:
    if not matches:
        raise UnreadableInput(
            f"{opened.path} is binary, and none of the formats that tfmemlens knows",
            "it reads logs, MemoryDump, RunMetadata, tfevents, XSpace and tfprof files",
        )
    parts = _parts(matches)
    captures = []
    for part in parts:
        others = [each.module for each in parts if each is not part]
        opened.taken = tuple(module.takes for module in others if hasattr(module, "takes"))
        capture: Capture = part.module.read(opened, hints)
        source = replace(capture.source, holds=part.holds)
        captures.append(replace(capture, source=source))
    whole = one_of(captures)
    return replace(whole, notes=(*opened.notes, *whole.notes))


def _parts(matches: list[Match]) -> list[Match]:
    """The formats that read: one alone, or all that share the text, what tells most first."""
    if not matches[0].shared:
        return matches[:1]
    sharing = [match for match in matches if match.shared]
    sure = [match for match in sharing if match.confidence >= Confidence.LIKELY]
    if not any(match.holds > Holds.SURROUNDINGS for match in sure) or any(match.quoted for match in sure):
        sure = sharing
    return sorted(sure, key=lambda match: -match.holds)


def one_of(captures: list[Capture]) -> Capture:
    """What several formats say of one text as one capture."""
    if len(captures) == 1:
        return captures[0]
    sources = [capture.source for capture in captures]
    source = Source(
        sources[0].path,
        tuple(dict.fromkeys(name for each in sources for name in each.formats)),
        next((each.framework for each in sources if each.framework), None),
        next((each.version for each in sources if each.version), None),
        any(each.by_bytes for each in sources),
        max(each.holds for each in sources),
    )
    return Capture(
        source,
        incidents=tuple(incident for capture in captures for incident in capture.incidents),
        timelines=tuple(timeline for capture in captures for timeline in capture.timelines),
        graph=next((capture.graph for capture in captures if capture.graph), None),
        with_types=next((capture.with_types for capture in captures if capture.with_types), None),
        surroundings=_surroundings(capture.surroundings for capture in captures),
        notes=tuple(note for capture in captures for note in capture.notes),
    )


def _surroundings(parts: Iterable[Surroundings]) -> Surroundings:
    """Of each fact what the first says that says anything."""
    told: dict[str, Any] = {}
    for part in parts:
        for field in fields(Surroundings):
            told[field.name] = told.get(field.name) or getattr(part, field.name)
    return Surroundings(**told)
