"""Say which op forces each copy of Grappler's layout pass, what they cost, and which edit ends them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfmemlens.cli import _options
from tfmemlens.errors import UsageError
from tfmemlens.model.report import Report
from tfmemlens.values import replace

EXAMPLES = """examples:
  tfmemlens layout run_metadata.pb                       # after the pass: output_partition_graphs=True
  tfmemlens layout graph.meta --gpu P100 --batch 16      # before it: the real pass is run, without a GPU
  tfmemlens layout graph.meta --python /envs/tf1.10/bin/python --try batch-norm-training --try pass-off
  tfmemlens layout --print-exporter > export_graph.py    # then: python export_graph.py train.py
  tfmemlens layout evidence                              # what `tfmemlens run --trace --out evidence` kept
  tfmemlens layout after.pb --json
exit status: 0 shown, 1 no copies, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "graph",
        nargs="?",
        help=(
            "GraphDef, MetaGraphDef, SavedModel (binary, text, .gz or folder), or a RunMetadata with"
            " partition graphs, or the folder of a recorded run"
        ),
    )
    group = parser.add_argument_group("running the pass (needs a Python with TensorFlow 1.5 or newer)")
    group.add_argument(
        "--gpu",
        default="sm_61",
        metavar="NAME",
        help="the GPU to run it for: sm_61, 7.0, P100, T4, V100, A100, H100 (default sm_61)",
    )
    group.add_argument(
        "--fetch",
        action="append",
        default=[],
        metavar="NODE",
        help="what is fetched; default: the training op",
    )
    group.add_argument(
        "--python",
        default=sys.executable,
        metavar="PATH",
        help="the interpreter that has TensorFlow; default: this one",
    )
    group.add_argument(
        "--try",
        action="append",
        default=[],
        dest="tries",
        metavar="REMEDY",
        help="edit the graph, run the pass again, compare: see below",
    )
    group.add_argument(
        "--passes",
        choices=("default", "layout"),
        default="default",
        help="all passes that a session runs (default), or the layout pass alone",
    )
    group.add_argument(
        "--print-exporter",
        action="store_true",
        help="print a script that writes the graph of a training script, for old Pythons, too",
    )
    _options.add_hints(parser)
    _options.add_full(parser)
    _options.add_top(parser)
    _options.add_form(parser, "report")
    from tfmemlens.recording.grappler import TRIES

    parser.epilog = (
        EXAMPLES + "\n\nremedies to try:\n" + "\n".join(f"  {slug:24}{text}" for slug, text in TRIES.items())
    )


def run(args: argparse.Namespace) -> int:
    if args.print_exporter:
        from tfmemlens.recording import export_graph

        sys.stdout.write(Path(export_graph.__file__).read_text(encoding="utf-8"))
        return 0
    if args.graph is None:
        raise UsageError(
            "name a graph",
            "or get one: tfmemlens layout --print-exporter > export_graph.py; python export_graph.py"
            " train.py",
        )
    report = _report(args)
    _options.show(report, args)
    return 0 if report.case.layout and report.case.layout.copies else 1


def _report(args: argparse.Namespace) -> Report:
    from tfmemlens.recording import grappler
    from tfmemlens.use_cases.layout import examine_graph

    options = grappler.LayoutPassOptions(
        args.gpu, tuple(args.fetch), args.python, tuple(args.tries), args.passes
    )
    hints = replace(_options.hints(args), graph=None)  # here it is what is read, and stands beside nothing
    return examine_graph(args.graph, options, hints)
