"""A row of the table of idioms: what a line of a JAX program, or a frame of a library, makes, and what makes
less.
"""

from __future__ import annotations

import re
from enum import Enum

from tfmemlens.findings.support.jax_stack import LEAST_BYTES
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, field, replace


class Where(Enum):
    """Where a row's line may stand before it explains a request."""

    LINE = "it is the user's line that failed"
    WAY = "it is a line of the user's own on the way to the failure"
    CODE = "it is code that the text quotes"


@dataclass(frozen=True, slots=True)
class JaxIdiom:
    """What a line makes. `what` and the remedies may name groups of the pattern: `{list}`."""

    slug: str
    code: str
    """The pattern of the user's line; empty where frames of libraries alone tell."""
    what: str
    remedies: tuple[Remedy, ...]
    examples: tuple[str, ...]
    near: tuple[str, ...]
    """Lines that look alike and mean something else."""
    where: Where = Where.LINE
    frame: str = ""
    """The pattern of a library's frame, `path:line function`, that tells the same."""
    not_in: str = ""
    """The pattern of a library's frame within which it is something else."""
    no_square: bool = False
    """Whether it explains no matrix of each of many rows by each, which has other causes."""
    beside: str = ""
    """The pattern of a line that quoted code must hold as well."""
    least_bytes: int = LEAST_BYTES
    """The smallest request that it explains: 0 of what is made of many arrays."""
    of_gpus: bool = False
    """Whether it explains nothing on a TPU."""
    _code: re.Pattern[str] = field(init=False, repr=False, compare=False, default=regex(""))
    _frame: re.Pattern[str] = field(init=False, repr=False, compare=False, default=regex(""))

    def __post_init__(self) -> None:
        """The patterns, compiled when first asked."""
        object.__setattr__(self, "_code", regex(self.code))
        object.__setattr__(self, "_frame", regex(self.frame))

    def in_line(self, text: str) -> re.Match[str] | None:
        """Where a line of code shows it; of a sentence that says of one that it works, another one."""
        found = self._code.finditer(text) if self.code else iter(())
        return next((match for match in found if not _WENT_WELL.match(text, match.end())), None)

    def in_frame(self, frame: Frame) -> bool:
        """Whether a frame of a library shows it."""
        return bool(self.frame) and bool(self._frame.search(f"{frame.place} {frame.name}"))

    def told(self, match: re.Match[str] | None) -> tuple[str, tuple[Remedy, ...]]:
        """What it makes and what helps, with the pattern's groups."""
        groups = {name: text or "" for name, text in (match.groupdict() if match else {}).items()}
        return _filled(self.what, groups), tuple(
            replace(
                remedy,
                text=_filled(remedy.text, groups),
                code=_filled(remedy.code, groups) if remedy.code else None,
            )
            for remedy in self.remedies
        )


_WENT_WELL = regex(
    r"(?i)[`'\")\]]{0,3} ?(?:->|=>|:|is|was|[(,])? ?(?:works?|worked|ok(?:ay)?|fine|fits?|goes well|runs?)\b"
)


def _filled(text: str, groups: dict[str, str]) -> str:
    for name, value in groups.items():
        text = text.replace(f"{{{name}}}", value)
    return text
