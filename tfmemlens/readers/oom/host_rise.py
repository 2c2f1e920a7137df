"""What a run prints of its host RAM over time, beside what it does between two figures.

Trainers on hosts of TPUs and GPUs print their resident set, or their control group's, every few steps, and
say when they save, restore or evaluate. Which of these a rise goes with is for the findings to say.
"""

from __future__ import annotations

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule, RuleTable

READING = LineRule(
    r"(?i)\b(?:(?:host|cpu|process|proc|python|worker)_)?(?:ram|rss|mem)(?:_?used)?"
    r"(?:_(?P<unit>[mg]i?b))?\s?[=:]\s?(?P<figure>\d{1,7}(?:\.\d{1,6})?)(?(unit)\b| ?(?P<other>[mg]i?b)\b)",
    "[2712] global_step=2712, host_ram_used_gb=96.4, train/loss=0.1262",
    "worker-3 step 500 saved in 70.1s host_rss_gib=41.0",
    "step 500 rss=41.0GiB",
    needs=("ram", "rss", "mem"),
)
UNIT_FIRST = LineRule(
    r"(?i)\b(?:ram|rss|(?:host|cpu|process) mem(?:ory)?)(?: (?:used|usage|in use))? ?"
    r"[(\[](?P<unit>[mg]i?b)[)\]] ?[=:]? ?(?P<figure>\d{1,7}(?:\.\d{1,9})?)(?P<other>)(?![\d.])",
    "runner.py:240] After Initializing dataset: RAM USED (GB) 3.931410432",
    needs=("ram", "rss", "mem"),
)
OF_A_GROUP = LineRule(
    r"\bcurrent=(?P<figure>\d{1,7}(?:\.\d{1,6})?)(?P<unit>[MG]i?B)\b(?=.*\b(?:anon|limit)=)(?P<other>)",
    "probe.py:44] rank5 step 50 current=135.1GB anon=132.0GB file=0.2GB limit=400GB",
    needs="current=",
)
COLUMN = LineRule(
    r"(?i)\b(?:rss|host ram|host mem(?:ory)?)\b ?[(\[](?P<unit>[MG]i?B)[)\]]\s*\Z",
    " time   step   event                   worker rss (GiB)",
    needs=("rss", "host"),
)
"""The head of a table whose last column is the figure."""
_ROW = regex(r"\A\s*\S.*\s(?P<figure>\d{1,7}(?:\.\d{1,6})?)\s*\Z")
"""A row of it: ` 01:31    240  checkpoint begin         118`."""
_GAP = regex(r"\A\s*(?:\.{3}|\u2026|-+[\s-]*\Z)")
SAVES = LineRule(
    r"(?i)\bsaving (?:a |the )?(?:checkpoint|state|weights)|\bcheckpoint (?:begin|start|save|written)"
    r"|\b(?:step|ckpt|checkpoint) ?\d{1,9}:? (?:was )?(?:saved|written) (?:in|to|after)\b"
    r"|\bsaved (?:a |the )?(?:checkpoint|ckpt|state)\b",
    "checkpoint.py:245] Saving checkpoint at step 50 to gs://runs/a/step-50",
    " 01:31    240  checkpoint begin         118",
    "worker-3 step 500 saved in 70.1s host_rss_gib=41.0",
    "saved checkpoint of step 50",
    needs=("saving", "checkpoint", "saved", "written"),
)
EVALUATES = LineRule(
    r"(?i)\bevaluating (?:on|the|split)|\b(?:evaluation|validation) (?:begin|start)"
    r"|\b(?:running|starting) (?:evaluation|validation)|\bbefore (?:the )?(?:eval\b|evaluat|validat)",
    "runner.py:340] Before eval at step 1000: RAM USED (GB) 22.40",
    "spec.py:298] Evaluating on the training split.",
    needs=("evaluati", "validat", "before eval", "before the eval"),
)
_EVENTS = {"save": SAVES, "evaluation": EVALUATES}
_TABLE = RuleTable.of(READING, UNIT_FIRST, OF_A_GROUP, COLUMN, SAVES, EVALUATES)
_UNITS = {"mb": 10**6, "gb": 10**9, "mib": 1 << 20, "gib": 1 << 30}
_KEEP, _MOST_ROWS = 400, 60


class HostRise:
    """Collects figures and events, in the order of the text."""

    def __init__(self) -> None:
        self.readings: list[tuple[int, Line]] = []
        self.events: list[tuple[str, Line]] = []
        self._unit, self._rows = 0, 0
        """The unit of the table that is being read, and how many more rows it may have."""

    @property
    def in_table(self) -> bool:
        """Whether a table is being read, whose rows no word marks."""
        return self._rows > 0

    def observe(self, line: Line) -> None:
        """Note what the line says of either."""
        text = line.text
        if self._rows:
            match = _ROW.match(text)
            self._rows = self._rows - 1 if match or _GAP.match(text) else 0
            if match:
                self._add(float(match["figure"]) * self._unit, line)
        if len(text) > _LONGEST or not _TABLE.likely(text):
            return
        if match := COLUMN.search(text):
            self._unit, self._rows = _UNITS[match["unit"].lower()], _MOST_ROWS
        elif match := (READING.search(text) or UNIT_FIRST.search(text) or OF_A_GROUP.search(text)):
            unit = match["unit"] or match["other"]
            self._add(float(match["figure"]) * _UNITS[unit.lower()], line)
        for what, rule in _EVENTS.items():
            if rule.search(text) and len(self.events) < _KEEP:
                self.events.append((what, line))

    def _add(self, size: float, line: Line) -> None:
        if len(self.readings) < _KEEP:
            self.readings.append((round(size), line))


_LONGEST = 2000
