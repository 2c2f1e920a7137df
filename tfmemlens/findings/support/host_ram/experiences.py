"""A replay buffer of reinforcement learning in host RAM: as large as its capacity, whatever the batch.

Some libraries make it whole at the start, others fill it until it is full. Its capacity is a setting of its
own, which each library calls by another name.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.host_ram.new_array import NewArray, new_array
from tfmemlens.findings.support.host_ram.replay import option_of_library, smaller_buffer
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.told_again import SMALLER_REPLAY, smaller_replay
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, Frame, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import rough
from tfmemlens.values import dataclass, replace

_NAMES_IT = regex(r"(?i)replay_?(?:buffer|memory)|\bexperience(?:s|_?replay)?\b")
_FACTS = ("replaying", "learning from a buffer")
_CAPACITY = regex(r"(?i)\A_?(?:\w*(?:replay|buffer|memory)_(?:size|capacity|length)|max_length|capacity)\Z")
_NO_CAPACITY = regex(r"(?i)init|start|min|warm|shuffle|batch")
_LEAST_ENTRIES, _INNERMOST, _LONGEST = 1000, 5, 60


@dataclass(frozen=True, slots=True)
class Experiences:
    """A replay buffer that took the RAM, or may have."""

    words: str
    remedy: Remedy
    shown: bool
    """Whether the failing lines make it, or the array has its form: else the text only speaks of one."""


def experiences(case: Case, moment: Moment) -> Experiences | None:
    """The replay buffer for which there was no host RAM; None where nothing speaks of one."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.HOST or another_program(moment):
        return None
    told = case.capture.surroundings
    frame = _makes(failed)
    line = next(filter(None, map(told.shows, _FACTS)), None)
    if frame is None and (line is None or told.shows("a small replay buffer")):
        return None
    shown = frame is not None or _has_the_form(failed)
    if not shown and failed.shape is not None:
        return None
    made = new_array(failed, told.sizes)
    stated = _capacity(case)
    where = f"`{_named(frame)}`" if frame else f"{line.place if line else ''}"
    if shown:
        words = (
            f"{'it was' if frame else 'most likely'} for the replay buffer ({where}), which is made for its"
            f" whole capacity at once{made.words if made else ''}; the batch plays no part in it"
        )
    else:
        words = f"it may be the replay buffer ({where}), which fills until its capacity, whatever the batch"
    return Experiences(words, _smaller(case, failed, made, stated), shown)


def _makes(failed: FailedRequest) -> Frame | None:
    """The innermost frame that makes the buffer, by its name or by its file's."""
    last = failed.frames[-_INNERMOST:]
    return next((each for each in reversed(last) if _NAMES_IT.search(f"{each.name} {each.text}")), None)


def _named(frame: Frame) -> str:
    """The function that makes it, or the code that calls it by name."""
    return frame.name if _NAMES_IT.search(frame.name) else frame.text.strip()[:_LONGEST]


def _has_the_form(failed: FailedRequest) -> bool:
    """Whether an array has many entries, each an observation."""
    shape = failed.shape or ()
    return len(shape) > 1 and (shape[0] or 0) >= _LEAST_ENTRIES


def _capacity(case: Case) -> tuple[str, int, Line] | None:
    """The largest capacity that the text states, by its name."""
    found = [
        (stated.name, stated.sizes[0], stated.line)
        for stated in case.capture.surroundings.sizes
        if len(stated.sizes) == 1
        and stated.sizes[0] >= _LEAST_ENTRIES
        and _CAPACITY.search(stated.name)
        and not _NO_CAPACITY.search(stated.name)
    ]
    return max(found, key=lambda each: each[1], default=None)


def _smaller(
    case: Case, failed: FailedRequest, made: NewArray | None, stated: tuple[str, int, Line] | None
) -> Remedy:
    """A smaller capacity, by the name that the text or the library has for it."""
    option, code = option_of_library(" ".join(_texts(case, failed))) or ("", None)
    remedy = replace(SMALLER_REPLAY, code=code or SMALLER_REPLAY.code)
    shape, told = failed.shape, case.capture.surroundings
    if shape is not None and all(shape):
        if found := smaller_buffer(case, failed):
            return found
        sides = [size for size in shape if size is not None]
        each = rough((failed.tensor_bytes or 0) // sides[0])
        set_by = f"; it is set by `{option}`" if option else ""
        text = (
            f"give the buffer fewer entries: each takes {each}, and {sides[0]:,} of them were asked for;"
            f" store observations small (scaled down, as uint8){set_by}"
        )
        return replace(remedy, text=text)
    if told.shows("replay capacity") and not (stated and made):
        return smaller_replay(told)
    if stated:
        name, count, line = stated
        whole = made.bytes if made and made.bytes and count in made.sizes else None
        tenth = f": {rough(whole // 10)} instead of {rough(whole)}" if whole else ""
        text = (
            f"lower `{name}` ({count:,}, {line.place}): a tenth of the entries takes a tenth of the"
            f" RAM{tenth}; a buffer in uint8 takes a quarter of one in float32"
        )
        return replace(remedy, text=text, code=code)
    return smaller_buffer(case, failed) or remedy


def _texts(case: Case, failed: FailedRequest) -> Iterator[str]:
    """What may name the library."""
    told = case.capture.surroundings
    yield failed.line.text if failed.line else ""
    yield from (f"{frame.place} {frame.name} {frame.text}" for frame in failed.frames)
    yield from (line.text for line in told.code)
    yield from (line.text for _, line in told.purposes)
