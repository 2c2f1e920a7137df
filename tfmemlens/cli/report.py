"""Write one HTML page that anybody can open: what happened, where every byte is, when, and what would help."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfmemlens import pipeline
from tfmemlens.cli import _options
from tfmemlens.errors import UsageError

EXAMPLES = """examples:
  tfmemlens report train.log -o report.html
  tfmemlens report run_metadata.pb -o report.html         # a traced step: any instant of it can be looked at
  tfmemlens report before.pb after.pb -o report.html      # a tab for each, and a comparison
  tfmemlens report train.log run_metadata.pb --together -o report.html   # one run: its failure and a traced step
  tfmemlens report model.keras --batch 64 -o report.html  # a prediction; beside a trace it is compared with it
exit status: 0 written, 1 written and no memory figures found, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="+", help="logs, dumps, traces, saved Keras models (predicted), directories or globs; each becomes a tab; - reads standard input"
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write the page; - is standard output")
    parser.add_argument("--together", action="store_true", help="read all inputs as one run, in one tab")
    parser.add_argument("--device", metavar="NAME", help="of traced steps only devices whose name contains this, such as GPU:1")
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    groups = [args.input] if args.together else [[each] for each in args.input]
    page = pipeline.page(groups, _options.hints(args), device=args.device)
    write(pipeline.html(page), args.output)
    return 0 if any(tab.report.case.moments or tab.report.findings for tab in page.tabs) else 1


def write(text: str, output: str) -> None:
    """To a file or to standard output, as UTF-8. Raises UsageError."""
    raw = text.encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(raw)
        return
    try:
        Path(output).write_bytes(raw)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}", "check the folder and its permissions") from None
