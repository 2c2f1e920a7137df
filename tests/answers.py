"""What the program makes of a file, worked out once for all tests that ask: reports are frozen values."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tfmemlens import pipeline
from tfmemlens.attribution.layout_pass.copies import study
from tfmemlens.model.graph import Graph
from tfmemlens.model.layout import LayoutStudy
from tfmemlens.model.report import Report
from tfmemlens.readers.formats.graph_file import read_graph


@cache
def explained(path: Path) -> Report:
    """The report on a sample."""
    return pipeline.explain(path)


@cache
def graph_of(path: Path) -> Graph:
    """The graph in a file."""
    return read_graph(path)


@cache
def studied(path: Path) -> LayoutStudy:
    """The layout pass's copies in a graph; none where the pass left nothing."""
    return study(graph_of(path)) or LayoutStudy(())
