"""A Python program that lies beside its log: what it makes, keeps and sets. Of a failure it tells where it is
read alone and a comment quotes the message.
"""

from __future__ import annotations

from functools import partial

from tfmemlens.model.capture import Capture, Hints, Holds, Source, Surroundings
from tfmemlens.model.incident import Incident
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.readers import dispatch
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.oom.pasted_output import pasted_output

HOLDS = Holds.SURROUNDINGS
COMPANIONS = (".py",)
LARGEST = 1 << 20
"""A longer file is generated, or no program of a user's."""
_COMMENT = regex(r"\s*#")
_IMPORTS = regex(r"(?m)^(?:import|from) +[\w.]+")
_FROM_CODE = ("settings", "purposes", "libraries", "clipping", "stores", "one_tape", "over_time")
"""What a line of code shows wherever it stands; the rest, such as figures and readings, only a log tells."""
_CHOSEN_AT_LAST = frozenset({"batch_size"})
"""What a program states more than once, or lets its command line state: the failed shapes tell it."""
_ADVICE = (
    "{name} is a program, and no log of it: `tfmemlens run -- python {name}` runs it and explains its failure"
)


def sniff(sample: Sample) -> Confidence:
    """A whole text that is Python and imports something; one that is read alone and has a run's output pasted
    into it is that run's log, with the program below it.
    """
    if not sample.text or sample.opened.size > LARGEST or not _IMPORTS.search(_decoded(sample.text)):
        return Confidence.NO
    if not sample.opened.label and pasted_output(_decoded(sample.opened.all())):
        return Confidence.NO
    return Confidence.CERTAIN if is_program(sample.opened) else Confidence.NO


def is_program(opened: Opened) -> bool:
    """Whether the whole of it parses."""
    return bool(_program(_lines(opened)))


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """What its code shows; strings that look like messages of a failure are none, and comments of a program
    beside a log tell of other runs.
    """
    text = dispatch.read_text(opened, hints)
    surroundings = text.surroundings
    told = {name: getattr(surroundings, name) for name in _FROM_CODE}
    told["settings"] = tuple(each for each in surroundings.settings if each[0] not in _CHOSEN_AT_LAST)
    return Capture(
        Source(opened.path),
        incidents=() if opened.label else tuple(filter(_in_a_comment, text.incidents)),
        surroundings=Surroundings(**told, program=partial(_program, _lines(opened))),
        notes=() if opened.label else (ReadNote(_ADVICE.format(name=opened.name)),),
    )


def _in_a_comment(incident: Incident) -> bool:
    """Whether its message stands in a comment, with a size or a shape."""
    line = incident.request.line
    stated = incident.request.size or incident.request.shape
    return bool(line and stated and _COMMENT.match(line.text))


def _lines(opened: Opened) -> tuple[Line, ...]:
    texts_of_it = enumerate(_decoded(opened.all()).splitlines(), 1)
    return tuple(Line(number, text, opened.label) for number, text in texts_of_it)


def _decoded(content: bytes) -> str:
    return content.decode(texts.encoding_of(content[:4096]), "replace")


def _program(lines: tuple[Line, ...]) -> Program:
    from tfmemlens.readers.program import read_file

    return read_file(lines)
