"""Explain an out-of-memory failure, with the lines of the input that show it."""

from __future__ import annotations

import argparse
import sys

from tfmemlens import pipeline
from tfmemlens.cli import _options
from tfmemlens.model.finding import Severity

EXAMPLES = """examples:
  tfmemlens explain train.log
  python train.py 2>&1 | tfmemlens explain -
  tfmemlens explain oom.txt --input-shape 2x720x1280x9
  tfmemlens explain train.log --trace run_metadata.pb
  tfmemlens explain 'logs/rank-*.txt' --all
  tfmemlens explain train.log --json > report.json
exit status: 0 explained, 1 no out-of-memory found, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="*",
        default=["-"],
        help="logs, notebooks, dumps, directories or globs; - or nothing reads standard input",
    )
    parser.add_argument(
        "--trace",
        action="append",
        default=[],
        metavar="FILE",
        help="a traced step of the same model: its exact tensors stand beside the failure",
    )
    _options.add_model(parser)
    _options.add_hints(parser)
    _options.add_view(parser, "report")


def run(args: argparse.Namespace) -> int:
    if args.input == ["-"] and sys.stdin.isatty():
        print(
            "Paste the log, then press Ctrl-D (Ctrl-Z and Enter on Windows) on a line of its own.",
            file=sys.stderr,
        )
    report = pipeline.explain([*args.input, *args.trace], _options.hints(args))
    _options.show(report, args)
    explained = (
        report.case.moments
        or report.case.layout
        or any(finding.severity is not Severity.NOTE for finding in report.findings)
    )
    return 0 if explained else 1
