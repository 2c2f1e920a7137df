"""A row of the table of idioms: what a line of a TensorFlow program makes, and what would make less."""

from __future__ import annotations

import re
from enum import Enum

from tfmemlens.patterns import regex
from tfmemlens.values import dataclass


class Agreement(Enum):
    """How the text must agree with a line before the line explains a failure."""

    LINE = "it is the user's line that failed"
    WAY = "it is a line of the user's own on the way to the failure"
    NUMBER = "a number that it states is a size of what was asked for"
    OP = "the op that failed is of the kind that it makes"
    RAM = "host RAM ran out, and it keeps data there"
    TEXT = "the text quotes it"


class Of(Enum):
    """What was asked for, where a line explains it."""

    DATA = "no weight, no slot and no gradient of one"
    WEIGHT = "a weight, a slot or a gradient of one"
    ANY = "whatever it is"


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A change that fits the line; `tf1` is its code for sessions, where that differs."""

    slug: str
    text: str
    code: str | None = None
    tf1: str | None = None


@dataclass(frozen=True, slots=True)
class TensorFlowIdiom:
    """What a line makes, whose bytes that explains, and what would make less.

    `makes` and the texts of the advice may name the pattern's groups, the sizes of what was asked for
    (`{shape}`, `{first}`, `{second}`, `{last}`, `{samples}`: all but the last one), its bytes (`{bytes}`),
    the line's place (`{at}`), `{number}`: the figure that agrees, `{times}`: how often it is in the first
    size, and `{factors}`: the batch that the text states, times another stated number, where both make it.
    """

    slug: str
    code: re.Pattern[str]
    """What shows it in a line."""
    needs: tuple[str, ...]
    """Words of which the line holds one."""
    told: tuple[Agreement, ...]
    makes: str
    advice: tuple[CodeChange, ...]
    examples: tuple[str, ...]
    near: tuple[str, ...]
    """Lines that look alike and mean nothing."""
    of: Of = Of.DATA
    op: re.Pattern[str] | None = None
    """The failing node, op or layer: what `OP` asks for. Where `told` is without it, it must be so anyway."""
    ranks: tuple[int, ...] = ()
    """How many dimensions what was asked for may have; any where empty."""
    axis: int | None = None
    """The dimension that the number must be; any where None."""
    times: int = 0
    """Where it is set, the first dimension is this many times the number or more, and a whole multiple."""
    least_first: int = 0
    """The smallest first dimension that it explains."""
    least_bytes: int = 32 << 20
    """A smaller request failed for what was held beside it."""
    keeps: bool = False
    """Whether it keeps memory beside what was asked for, whose size then tells nothing."""
    unless: re.Pattern[str] | None = None
    """What another line of the text shows where this one is harmless."""
    runs: str | None = None
    """The method of a model that makes it, outside of every layer: one that ran instead (`fit`) did not."""
    also: tuple[str, ...] = ()
    """Remedies for any such run that help here, too: `smaller-batch`."""

    @property
    def rules_out(self) -> tuple[str, ...]:
        """Slugs of remedies that miss the point: whoever passes a whole set has no batch yet."""
        of_set = any(each.slug == "in-batches" for each in self.advice)
        if any(each.slug == "shorter-queue" for each in self.advice):
            return ("smaller-pipeline", "map-the-file")  # nothing is held whole
        return _OF_A_BATCH if of_set else ()

    def match(self, text: str) -> re.Match[str] | None:
        """Where the line shows it; not in a comment, nor where it is said to be gone."""
        if not any(word in text for word in self.needs):
            return None
        match = self.code.search(text)
        return None if match is None or _GONE.search(text, 0, match.start()) else match


_OF_A_BATCH = ("smaller-input", "smaller-batch", "lower-constant", "batch-for-the-block")
_GONE = regex(
    r"(?<!\w)#(?!\d)|(?i:\b(?:without|no|not|never|instead of|rather than|removed?|removing|dropped|tried"
    r"|try|consider|should|could|maybe|disabled?)\b(?:(?!\. )[^;()]){0,40}\Z)"
)
"""A comment, or words that say that a line is not there, or only an idea."""
