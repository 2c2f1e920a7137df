"""Say which op forces each copy that Grappler's layout pass makes, what the copies cost, and which edit ends them."""

from __future__ import annotations

import argparse

from tfmemlens import pipeline
from tfmemlens.cli import _options

EXAMPLES = """examples:
  tfmemlens layout run_metadata.pb                    # traced with output_partition_graphs=True
  tfmemlens layout after.pb --json
exit status: 0 shown, 1 no copies, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", help="GraphDef, MetaGraphDef, SavedModel (binary, text, .gz or folder), or a RunMetadata with partition graphs")
    _options.add_hints(parser)
    _options.add_view(parser)


def run(args: argparse.Namespace) -> int:
    report = pipeline.layout(args.graph, _options.hints(args))
    _options.show(report, args)
    return 0 if report.case.layout and report.case.layout.copies else 1
