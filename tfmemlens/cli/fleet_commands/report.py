"""Write one HTML page about the failures of a scan: causes, days, hosts, and what the logs say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfmemlens import renderers
from tfmemlens.cli import _options, _output
from tfmemlens.escaping import visible
from tfmemlens.units import human

EXAMPLES = """examples:
  tfmemlens fleet report failures -o fleet.html           # one file, works offline, at most 4 MiB
  tfmemlens fleet report s3://logs/failures -o week.html --since 7d
exit status: 0 written, 1 written and there is no failure, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="what `tfmemlens fleet scan` wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="where to write the page; - is standard output"
    )
    parser.add_argument(
        "--since", metavar="DATE|7d", help="only failures from then on (default all): 2026-11-20, 7d, 12h"
    )
    _options.add_storage(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet.overview import overview
    from tfmemlens.fleet.sources import Folder

    content = overview(Folder(args.folder, _options.storage(args)), args.since)
    _output.write(renderers.render(content, "fleet", "html"), args.output)
    if args.output != "-":
        size = human(Path(args.output).stat().st_size)
        print(f"{visible(args.output)} ({size})", file=sys.stderr)
    return 0 if content.ranking.groups else 1
