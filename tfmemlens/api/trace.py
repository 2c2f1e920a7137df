"""A traced step as tables and pictures, for Python code and notebooks."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from tfmemlens import pipeline
from tfmemlens.api.answers import Explanation
from tfmemlens.errors import UnreadableInput
from tfmemlens.escaping import visible
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Case
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import as_bytes, human
from tfmemlens.use_cases import traced_step
from tfmemlens.values import replace

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Trace:
    """One traced step, as `tfmemlens.read` returns it. Sizes are bytes, as the allocator handed them out
    (chunks); times are microseconds after the first allocation of the allocator with the highest peak.

    >>> trace = tfmemlens.read("sample_traces/run_metadata/1.15-lenet.pb")
    >>> trace
    <Trace of 1.15-lenet.pb: peak 99.16 MiB on bfc_cpu_allocator_for_gpu, 59 events>
    >>> curve = trace.timeline()
    >>> int(curve["bytes"].max()) == trace.peak_bytes
    True
    >>> curve.join(trace.allocations, on="allocation")[["bytes", "node", "kind"]].head(2)
              bytes        node        kind
    micros
    0.0    68269568  conv1/Relu  activation
    755.0  68294656       pool1  activation
    """

    def __init__(self, capture: Capture) -> None:
        """Raises UnreadableInput when the capture holds no timeline."""
        if not capture.timelines:
            hint = capture.reasons("record a step with FULL_TRACE or the TF2 profiler")
            raise UnreadableInput(f"{capture.source.path} holds no memory timeline", hint)
        self.capture = capture

    @cached_property
    def main(self) -> Timeline:
        """The timeline with the highest peak; `capture.timelines` has all."""
        return max(self.capture.timelines, key=lambda timeline: timeline.peak_bytes)

    @property
    def peak_bytes(self) -> int:
        """The most that was in use at once, what stood before the step included."""
        return self.main.peak_bytes

    @cached_property
    def peak(self) -> Explanation:
        """The peak as a report: `trace.peak.verdict`, `trace.peak.findings`, `trace.peak.to_frame()`."""
        return self.report()

    @property
    def case(self) -> Case:
        """Who held what at the peak, without findings."""
        return pipeline.case(self.capture)

    def report(self, at: float | str | None = None, limit: int | str | None = None) -> Explanation:
        """The report on the peak, or on another moment: microseconds, a text such as "12.5ms", or the name of
        a node. `limit` is the device's memory, in bytes or as "11GiB". Raises UsageError for a moment that is
        none, ValueError for a malformed size.
        """
        capture = self.capture
        if limit is not None:
            capture = replace(capture, hints=replace(capture.hints, limit_bytes=as_bytes(limit)))
        return Explanation.of(pipeline.report(capture, at=_moment(at)))

    @property
    def allocations(self) -> pandas.DataFrame:
        """Every allocation of the step, a row each: node, op, device, allocator, size_bytes, requested_bytes,
        start_micros, end_micros (float64; NaN: outlives the step), shape (a tuple, None inside where a size
        is unknown), dtype, layer, kind, phase. `timeline().join(allocations, on="allocation")` says of each
        event which one it was.
        """
        return self._on_our_clock(traced_step.allocations(self.capture)).rename_axis("allocation")

    def timeline(self) -> pandas.DataFrame:
        """The live curve of the main allocator, a row for each allocation and each free, indexed by `micros`
        (float64; of a log without a clock the line): `bytes` in use after it, `allocation` (the row of
        `allocations` that began or ended), and a column for each kind with its bytes, which add up to
        `bytes` (all int64).
        """
        frame = traced_step.curve(self.capture, self.main)
        frame["micros"] -= self._origin
        return frame.set_index("micros")

    def at(self, when: float | str) -> pandas.DataFrame:
        """Who is alive at a moment: microseconds, a text such as "12.5ms", or a node's name. Columns as in
        `Report.to_frame()`. Raises UsageError for a moment that is none.
        """
        return self._on_our_clock(self.report(when).to_frame())

    def by(self, key: str, when: float | str | None = None) -> pandas.DataFrame:
        """What lives at the peak (or `when`) by `layer`, `kind`, `scope`, `op`, `node`, `phase` or `device`:
        `bytes` (int64), largest first, indexed by that key. Raises UsageError for a moment that is none.
        """
        import pandas

        case = pipeline.case(self.capture, at=_moment(when))
        groups = case.moments[0].attribution.by(key)
        names = pandas.Index([group.name for group in groups], name=key, dtype="object")
        return pandas.DataFrame({"bytes": [group.total_bytes for group in groups]}, names, dtype="int64")

    def layers(self) -> pandas.DataFrame:
        """The model, a row each layer: layer, parameters (count), formula, parameter_bytes, slot_bytes,
        output (its largest output's type as text).
        """
        import pandas

        rows = pipeline.case(self.capture).layers
        names = ("layer", "parameters", "formula", "parameter_bytes", "slot_bytes")
        return pandas.DataFrame(
            {
                **{name: [getattr(row, name) for row in rows] for name in names},
                "output": [str(row.outputs[0]) if row.outputs else None for row in rows],
            }
        )

    def plot(
        self, ax: Axes | None = None, *, by: str = "kind", at: float | str | None = None
    ) -> Figure | Axes:
        """Draw memory over time, stacked by `kind` or `layer`, the peak (or `at`) marked: on matplotlib's
        `ax`, which is returned; without one a sheet with the largest layers and tensor lifetimes, too, which
        notebooks show and `figure.savefig` writes. Raises UsageError for a moment that is none.
        """
        from tfmemlens.use_cases.plot import plot, plot_on

        moment = _moment(at)
        if ax is None:
            return plot(self.capture, by, moment)
        plot_on(ax, self.capture, by, moment)
        return ax

    def to_html(self) -> str:
        """The whole page on the step as text: one HTML document that needs no network."""
        return self.peak.to_html()

    def to_markdown(self) -> str:
        """The report on the peak as Markdown, to paste into an issue."""
        return self.peak.to_markdown()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report on the peak to a file, as `Explanation.save` does."""
        self.peak.save(path)

    def __repr__(self) -> str:
        main = self.main
        place = f"{human(main.peak_bytes)} on {main.allocator}, {len(main.curve):,} events"
        return f"<Trace of {visible(self._name)[-80:]}: peak {visible(place)[:160]}>"

    def _repr_html_(self) -> str:
        return self.peak._repr_html_()

    def _on_our_clock(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        for name in ("start_micros", "end_micros"):
            frame[name] = frame[name].astype("float64") - self._origin
        return frame

    @property
    def _name(self) -> str:
        return self.capture.source.path.replace("\\", "/").rpartition("/")[2]

    @property
    def _origin(self) -> float:
        """When the first allocation was, on the trace's clock."""
        times: Any = self.main.events[0]
        return times[0] if times else 0.0


def _moment(when: float | str | None) -> str | None:
    """Microseconds as the text that a user would type."""
    return when if when is None or isinstance(when, str) else f"{when:f}us"
