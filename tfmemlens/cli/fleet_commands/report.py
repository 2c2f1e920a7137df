"""Write one HTML page about the failures of a scan: causes, days, hosts, and what the logs behind them say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfmemlens import renderers
from tfmemlens.cli import _output
from tfmemlens.escaping import visible
from tfmemlens.units import human

EXAMPLES = """examples:
  tfmemlens fleet report failures -o fleet.html           # one file, works offline, at most 4 MiB
exit status: 0 written, 1 written and there is no failure, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="what `tfmemlens fleet scan` wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="where to write the page; - is standard output"
    )


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet.overview import overview

    content = overview(args.folder)
    _output.write(renderers.render(content, "fleet", "html"), args.output)
    if args.output != "-":
        size = human(Path(args.output).stat().st_size)
        print(f"{visible(args.output)} ({size})", file=sys.stderr)
    return 0 if content.ranking.groups else 1
