"""What calls of the API return: the program's own values, which show, write and print themselves."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tfmemlens.errors import UsageError
from tfmemlens.escaping import visible
from tfmemlens.model.convolution import ConvolutionReport
from tfmemlens.model.difference import Difference
from tfmemlens.model.report import Report
from tfmemlens.values import fields

if TYPE_CHECKING:
    import pandas

_LONGEST_VERDICT = 200
_MOST_ROWS = 20_000
"""Of a page that a card carries: a notebook keeps it with each output."""


class Answer:
    """How all answers show, write and print themselves: `subject` is what renderers call their content."""

    subject = "report"
    verdict: str

    def __repr__(self) -> str:
        verdict = visible(self.verdict)
        cut = verdict if len(verdict) <= _LONGEST_VERDICT else f"{verdict[: _LONGEST_VERDICT - 1]}…"
        return f"<{type(self).__name__}: {cut}>"

    def __str__(self) -> str:
        return self._rendered("terminal")

    def _repr_html_(self) -> str:
        from tfmemlens import renderers
        from tfmemlens.model.page import Card

        page = getattr(self, "to_html", None)
        return renderers.render(Card(str(self), page() if page else None), "card", "html")

    def to_json(self) -> str:
        """The answer as JSON text, as `--json` prints it; `tfmemlens schema` prints its schema."""
        return self._rendered("json")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the answer to a file, in the form that the end of its name asks for: `.txt` (the page of the
        terminal) or `.json`; reports and comparisons as `.html`, reports as `.md`, too. An existing file is
        replaced.

        Raises UsageError (a TfmemlensError) for another ending, OSError where the file cannot be written.
        """
        forms = self._forms()
        suffix = Path(fspath(path)).suffix.lower()
        if suffix not in forms:
            raise UsageError(
                f"{fspath(path)} ends in no form that can be written", f"one of {', '.join(sorted(forms))}"
            )
        Path(path).write_bytes(self._rendered(forms[suffix]).encode("utf-8", "replace"))

    def _forms(self) -> dict[str, str]:
        """The form that each ending asks for."""
        from tfmemlens import renderers

        shown = renderers.forms(self.subject)
        known = (".html", ".json", ".md", ".txt")
        return {room.SUFFIX: form for form, room in shown.items() if room.SUFFIX in known}

    def _rendered(self, form: str) -> str:
        from tfmemlens import renderers

        return renderers.render(self, self.subject, form)


class Explanation(Answer, Report):
    """A report on one input. `verdict` (str), `findings`, `actions` (what to do, best first) and `case` (all
    that is known) are values; `print` shows the page of the terminal, a notebook a card.
    """

    @classmethod
    def of(cls, report: Report) -> Explanation:
        """The report with its ways to be shown."""
        return cls(**{each.name: getattr(report, each.name) for each in fields(Report)})

    def to_html(self) -> str:
        """The whole page as text, as `tfmemlens report` writes it: one HTML document that needs no
        network.
        """
        return self._rendered("html")

    def to_markdown(self) -> str:
        """The answer as Markdown, to paste into an issue."""
        return self._rendered("markdown")

    def _forms(self) -> dict[str, str]:
        return {**super()._forms(), ".html": "html"}

    def _rendered(self, form: str) -> str:
        if form != "html":
            return super()._rendered(form)
        from tfmemlens import renderers
        from tfmemlens.use_cases.page import page_of

        return renderers.render(page_of([self]), "page", "html")

    def _repr_html_(self) -> str:
        from tfmemlens import renderers
        from tfmemlens.model.page import Card

        small = sum(map(_rows, self.case.moments)) <= _MOST_ROWS
        return renderers.render(Card(self, self.to_html() if small else None), "card", "html")


def _rows(moment: object) -> int:
    timeline = getattr(moment, "timeline", None)
    return len(timeline.table) if timeline else 0


class Comparison(Answer, Difference):
    """What changed from one input to another: `before`, `after` (their totals), `kinds`, `layers` and
    `allocations` (the largest changes first), `change_bytes` and `verdict`.
    """

    subject = "difference"

    @classmethod
    def of(cls, difference: Difference) -> Comparison:
        """The difference with its ways to be shown."""
        return cls(**{each.name: getattr(difference, each.name) for each in fields(Difference)})

    def to_html(self) -> str:
        """The whole page as text: one HTML document that needs no network."""
        return self._rendered("html")

    def to_frame(self, by: str = "layer") -> pandas.DataFrame:
        """The changes by `layer`, `kind` or `allocation`, a row each, the largest first, indexed by the newer
        name: `before_bytes`, `after_bytes`, `change_bytes` (int64) and `state` (`new`, `gone`, `grew`,
        `shrank`, `same`). Raises UsageError for another `by`.
        """
        import pandas

        items = {"layer": self.layers, "kind": self.kinds, "allocation": self.allocations}.get(by)
        if items is None:
            raise UsageError(f"{by!r} is nothing to compare by", "one of layer, kind, allocation")
        names = ("before_bytes", "after_bytes", "change_bytes")
        frame = pandas.DataFrame(
            {name: [getattr(item, name) for item in items] for name in names},
            index=pandas.Index([item.name for item in items], name=by, dtype="object"),
            dtype="int64",
        )
        frame["state"] = [item.state for item in items]
        return frame


class Sizing(Answer, ConvolutionReport):
    """What a convolution takes: `output_bytes`, `forward`, `backward_filter` and `backward_input` (each with
    `temporary_bytes` and the formula behind it), `alternatives` and `verdict`.
    """

    subject = "convolution"

    @classmethod
    def of(cls, report: ConvolutionReport) -> Sizing:
        """The report with its ways to be shown."""
        return cls(**{each.name: getattr(report, each.name) for each in fields(ConvolutionReport)})

    def to_frame(self) -> pandas.DataFrame:
        """The same convolution with other kernels and batches, a row each: `kernel` (a tuple), `batch`, and
        bytes of the output, the patch matrix and each pass (NaN where nothing honest can be said).
        """
        import pandas

        names = [each.name for each in fields(type(self.table[0]))] if self.table else []
        return pandas.DataFrame({name: [getattr(row, name) for row in self.table] for name in names})
