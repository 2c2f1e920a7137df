"""`tfmemlens.read(path)`: a traced step as tables, for Python code and notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.report import Report
from tfmemlens.model.timeline import Timeline
from tfmemlens.use_cases import traced_step

if TYPE_CHECKING:
    import pandas


class Trace:
    """One traced step. Bytes are the allocator's (chunks); times are microseconds of the trace's clock, or
    after the first allocation where a method says so.
    """

    def __init__(self, capture: Capture) -> None:
        """Raises UnreadableInput when the capture holds no timeline."""
        if not capture.timelines:
            hint = capture.reasons("record a step with FULL_TRACE or the TF2 profiler")
            raise UnreadableInput(f"{capture.source.path} holds no memory timeline", hint)
        self.capture = capture

    @property
    def main(self) -> Timeline:
        """The timeline with the highest peak; `capture.timelines` has all."""
        return max(self.capture.timelines, key=lambda timeline: timeline.peak_bytes)

    @property
    def peak(self) -> Report:
        """The peak as a report: `trace.peak.verdict`, `trace.peak.findings`, `trace.peak.to_frame()`."""
        return pipeline.report(self.capture)

    @property
    def peak_bytes(self) -> int:
        """The most that was in use at once, what stood before the step included."""
        return self.main.peak_bytes

    @property
    def allocations(self) -> pandas.DataFrame:
        """Every allocation of the step: node, op, device, allocator, size_bytes, requested_bytes,
        start_micros, end_micros (NaN: outlives the step), shape, dtype, layer, kind, phase.
        """
        return traced_step.allocations(self.capture)

    def timeline(self) -> pandas.DataFrame:
        """The live curve of the main allocator: `micros` after the first allocation (float64), `bytes` in use
        after that event (int64), `node` that allocated or was freed.
        """
        import pandas

        main = self.main
        times, _, rows = main.events
        origin, nodes = times[0] if times else 0.0, main.table.node
        frame = pandas.DataFrame(
            {
                "micros": [time - origin for time in times],
                "bytes": list(main.curve),
                "node": [nodes[row] for row in rows],
            }
        )
        return frame.astype({"micros": "float64", "bytes": "int64"})

    def at(self, when: float | str) -> pandas.DataFrame:
        """Who is alive at a moment: microseconds after the first allocation, a text such as "12.5ms", or a
        node's name. Columns as in `Report.to_frame()`.
        """
        return pipeline.report(self.capture, at=_moment(when)).to_frame()

    def by(self, key: str, when: float | str | None = None) -> pandas.DataFrame:
        """What lives at the peak (or `when`) by `layer`, `kind`, `scope`, `op`, `node`, `phase` or `device`:
        that key and `bytes` (int64), largest first.
        """
        import pandas

        case = pipeline.case(self.capture, at=None if when is None else _moment(when))
        groups = case.moments[0].attribution.by(key)
        return pandas.DataFrame(
            {key: [group.name for group in groups], "bytes": [group.total_bytes for group in groups]}
        ).astype({"bytes": "int64"})

    def layers(self) -> pandas.DataFrame:
        """The model: layer, parameters, formula, parameter_bytes, slot_bytes, output (its largest output's
        type as text).
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

    def _repr_html_(self) -> str:
        from html import escape

        from tfmemlens import renderers

        text = renderers.render(self.peak, "report")
        return f"<pre style='white-space:pre-wrap'>{escape(text)}</pre>"


def _moment(when: float | str) -> str:
    """Microseconds as the text that a user would type."""
    return when if isinstance(when, str) else f"{when:f}us"


def read(
    source: str | PathLike[str] | Iterable[str | PathLike[str]] | Any,
    *,
    tag: str | None = None,
    step: int | None = None,
    graph: str | PathLike[str] | None = None,
) -> Trace:
    """Read a traced step: a RunMetadata, StepStats, XSpace or tfevents file, a folder with some, or
    TensorFlow's own RunMetadata object.

    `tag` or `step` choose among several steps of an event file or a log directory, the newest without them;
    `graph` is a file with the model's graph (GraphDef, MetaGraphDef, SavedModel, .pbtxt) for a trace that has
    none. Raises UnreadableInput (a TfmemlensError) when there is nothing to read.
    """
    if hasattr(source, "step_stats") and hasattr(source, "partition_graphs"):
        return Trace(traced_step.of_run_metadata(source, graph))
    return Trace(
        pipeline.timelines(source, Hints(tag=tag, step=step, graph=None if graph is None else fspath(graph)))
    )
