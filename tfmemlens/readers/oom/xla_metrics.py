"""The counts of PyTorch/XLA's metrics report (`met.metrics_report()`): how often programs were compiled, and
how often they ran.
"""

from __future__ import annotations

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.rules import LineRule

METRIC = LineRule(
    r"\A\W*Metric: (?P<name>CompileTime|XrtCompile|ExecuteTime|XrtExecute)\s*\Z",
    "Metric: CompileTime",
    "Metric: XrtExecute",
    needs="Metric: ",
)
SAMPLES = LineRule(
    r"\A\s*TotalSamples: (?P<count>\d{1,12})\s*\Z", "  TotalSamples: 172", needs="TotalSamples"
)
_COMPILES = ("CompileTime", "XrtCompile")
_MOST, _LEAST = 0.5, 8
"""Of the executions: so many compilations are more than those of a few shapes at the start."""


class XlaMetrics:
    """Collects them; takes no line for itself."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._compiled: list[tuple[int, Line]] = []
        self._executed = 0

    def observe(self, line: Line) -> None:
        """Note a metric's name, and the count below it."""
        if match := METRIC.search(line.text):
            self._name = match["name"]
        elif self._name and (match := SAMPLES.search(line.text)):
            if self._name in _COMPILES:
                self._compiled.append((int(match["count"]), line))
            else:
                self._executed = int(match["count"])
            self._name = None

    def value(self) -> tuple[str, Line] | None:
        """What the counts say, and the line of the compilations."""
        if not self._compiled:
            return None
        (first, _), (last, line) = self._compiled[0], self._compiled[-1]
        if not self._executed and last == first:
            return None
        again = (
            ": graphs are compiled anew from step to step, as where shapes or numbers in them change; each"
            " compilation takes time and host RAM"
        )
        if not self._executed:
            told = f"{first:,} compilations in one report and {last:,} in a later one"
            return f"XLA counts {told}{again}", line
        often = last >= _LEAST and last > _MOST * self._executed
        return f"XLA counts {last:,} compilations of {self._executed:,} runs{again if often else ''}", line
