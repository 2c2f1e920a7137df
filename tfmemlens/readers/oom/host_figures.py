"""What tools say of the host's RAM at one moment: `free`, `top`, Docker, Slurm, Ray, Dask, the kernel.

Each figure is what was in use, and what there was or what was allowed; whoever printed it is named, since a
machine's RAM is no container's limit.
"""

from __future__ import annotations

import re

from tfmemlens.model.capture import HostUse
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule, RuleTable
from tfmemlens.units import Size, parse_size

_SIZE = r"[\d.]+ ?(?:[kKMGT]i?[bB]?)"
RULES = {
    "the cgroup": LineRule(
        r"memory: usage (?P<used>\d+kB), limit (?P<total>\d+kB)",
        "[Tue Mar  9 12:51:51 2022] memory: usage 16777216kB, limit 16777216kB, failcnt 812",
        needs="memory: usage",
    ),
    "Dask": LineRule(
        rf"Process memory: +(?P<used>{_SIZE}) -- Worker memory limit: +(?P<total>{_SIZE})",
        "Worker is at 81% memory usage. Pausing worker.  Process memory: 3.25 GiB -- Worker memory limit:"
        " 4.00 GiB",
        needs="Worker memory limit",
    ),
    "docker stats": LineRule(
        rf"(?:\s|\A)(?P<used>{_SIZE}) / (?P<total>{_SIZE})\s+[\d.]+%",
        "3f2c1a9b7d10   trainer   101.2%    7.912GiB / 8GiB       98.90%    1.2MB / 3kB   12GB / 0B     42",
        needs="B / ",
    ),
    "Ray": LineRule(
        rf"was running was (?P<used>{_SIZE}) / (?P<total>{_SIZE})",
        "Memory on the node (IP: 10.0.0.4) where the task was running was 59.31GB / 62.00GB (0.956613), which"
        " exceeds the memory usage threshold of 0.95.",
        needs="was running was",
    ),
    "Ray's monitor": LineRule(
        r"of the memory on node \S{1,120} is used \((?P<used>[\d.]+) / (?P<total>[\d.]+) (?P<unit>GB)\)",
        "RayOutOfMemoryError: More than 95% of the memory on node n1 is used (30.47 / 31.3 GB).",
        needs="of the memory on node",
    ),
    "free": LineRule(
        r"\A\s*Mem: +(?P<total>[\d.]+[KMGT]i?) +(?P<used>[\d.]+[KMGT]i?)\s",
        "Mem:           15Gi        14Gi       183Mi       1.0Mi       712Mi       402Mi",
        needs="Mem:",
    ),
    "top": LineRule(
        r"(?P<unit>[KMG]i?B) Mem ?: *(?P<total>[\d.]+)[ +]total,.*?(?P<used>[\d.]+)[ +]used",
        "MiB Mem :  31881.9 total,    212.4 free,  31102.1 used,    567.4 buff/cache",
        needs="B Mem",
    ),
}
SEFF = {
    "used": LineRule(
        rf"\A\s*Memory Utilized: +(?P<size>{_SIZE})", "Memory Utilized: 31.82 GB", needs="Memory Utilized"
    ),
    "total": LineRule(
        rf"\A\s*Memory Efficiency: +[\d.]+% of (?P<size>{_SIZE})",
        "Memory Efficiency: 99.44% of 32.00 GB",
        needs="Memory Efficiency",
    ),
}
"""Slurm's own summary of a job, on two lines."""
SACCT = LineRule(r"\A\s*JobID\b.*\bMaxRSS\b", "JobID      State     MaxRSS     ReqMem", needs="MaxRSS")
_OF_THE_HOST = RuleTable.of(SACCT, *RULES.values(), *SEFF.values())
_VALUE = regex(r"(?<!\S)(\d+(?:\.\d+)?[KMGT])[nc]?(?!\S)")
_KEEP = 50


class HostFigures:
    """Collects them, in the order of the text."""

    def __init__(self) -> None:
        self.found: list[HostUse] = []
        self._seff: dict[str, Size] = {}
        self._columns: list[str] = []
        """The columns of `sacct` that hold sizes, in its order."""

    def observe(self, line: Line) -> None:
        """Note what the line says of the host."""
        text = line.text
        if self._columns and text.strip():
            self._row(text, line)
        if not _OF_THE_HOST.likely(text):
            return
        if SACCT.search(text):
            self._columns = [name for name in text.split() if name in ("MaxRSS", "ReqMem")]
        for what, rule in RULES.items():
            if match := rule.search(text):
                unit = match.groupdict().get("unit") or ""
                self._add(what, _size(match["used"] + unit), _size(match["total"] + unit), line)
                return
        for name, rule in SEFF.items():
            if match := rule.search(text):
                self._seff[name] = _size(match["size"])
                if "used" in self._seff and "total" in self._seff:
                    self._add("seff", self._seff["used"], self._seff["total"], line)

    def _row(self, text: str, line: Line) -> None:
        sizes = _VALUE.findall(text)
        if len(sizes) != len(self._columns):
            return  # an empty column: nobody can tell whose the others are
        row = dict(zip(self._columns, map(_size, sizes), strict=True))
        self._add("sacct", row["MaxRSS"], row.get("ReqMem"), line)

    def _add(self, what: str, used: Size, total: Size | None, line: Line) -> None:
        if len(self.found) < _KEEP:
            self.found.append(HostUse(what, used, total, line))


def _size(text: str) -> Size:
    """`14Gi`, `31.82 GB`, `33350412K`, `16777216kB`: all of these mean powers of 1024."""
    match = re.match(r"([\d.]+) ?([a-zA-Z])", text)
    assert match
    return parse_size(f"{match[1].rstrip('.')}{match[2].upper()}iB")
