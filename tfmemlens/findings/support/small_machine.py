"""The RAM of the machine that a text names or states, where little of it is left for a training."""

from __future__ import annotations

from tfmemlens.findings.support.board import MAKE_SWAP
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.knowledge.machine_memory import machine
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB
from tfmemlens.values import dataclass

_FEW, _BEFORE = 4 * GIB, 30
"""TensorFlow alone takes some hundred MiB of RAM as soon as it is imported; and letters before a size."""
_STATED = regex(
    r"(?i)(?<![\w.])(?P<size>\d(?:\.\d)?) ?(?P<unit>[GM])i?B?(?: of)? (?:(?:system|host|DDR\d) )?RAM\b"
    r"|(?<!GPU )(?<!V)\bRAM ?(?::|=|is|of) ?(?P<size2>\d(?:\.\d)?) ?(?P<unit2>G)i?[Bo]?\b"
)
_OF_A_GPU = regex(
    r"(?i)\b(?:GPU|VRAM|video|graphics|card|GTX|RTX|Tesla|Titan|Quadro|[KPVTA]\d{2,4}\w?)\b|\b(?:free|left"
    r"|available|use[sd]?|using|takes?|needs?|consum\w*|fills?|more than|less than|up to|about|around"
    r"|each|every|per|process\w*|workers?|jobs?)\b"
)
"""What the RAM of a line may be of, or what is not all of it."""
_NOT_THIS = regex(r"(?i)\b(?:works?|worked|runs|fine|upgrad\w*|instead|other|switch\w*|mov(?:ed|ing))\b")


@dataclass(frozen=True, slots=True)
class SmallMachine:
    """A machine of little RAM."""

    name: str
    bytes: int
    line: Line

    @property
    def said(self) -> str:
        """Its RAM, as a clause: `t2.small (line 5) has 2 GB of RAM`."""
        size = f"{self.bytes / GIB:.2g}" if self.bytes >= GIB else "0.5"
        named = f"{self.name} ({self.line.place})" if self.name else f"the machine ({self.line.place})"
        return f"{named} has {size} GB of RAM"

    @property
    def remedy(self) -> Remedy:
        """What such a machine needs."""
        return Remedy(
            f"take a machine with more RAM: {self.said}, and TensorFlow or JAX alone takes some hundred MB of"
            " it before a model is built; else add swap on a fast disk, which is slow, and a smaller model",
            MAKE_SWAP,
            slug="more-ram",
        )


def small_machine(case: Case) -> SmallMachine | None:
    """The machine, where it has 4 GiB of RAM at most and the text does not say that all is well on it."""
    told = case.capture.surroundings
    named = told.shows("a machine named")
    if named and not _NOT_THIS.search(named.text) and (known := machine(named.text)):
        return SmallMachine(*known, named) if known[1] <= _FEW else None
    stated = told.shows("little RAM stated")
    match = _STATED.search(stated.text) if stated else None
    if stated is None or match is None or stated in code_lines(told):
        return None
    if _OF_A_GPU.search(stated.text[: match.start()][-_BEFORE:]):
        return None
    size = float(match["size"] or match["size2"])
    in_mib = (match["unit"] or match["unit2"]).upper() == "M"
    amount = int(size * GIB / 1024) if in_mib else int(size * GIB)
    return SmallMachine("", amount, stated) if GIB // 4 <= amount <= _FEW else None
