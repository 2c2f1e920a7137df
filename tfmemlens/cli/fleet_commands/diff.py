"""Tell which signatures of failures are new since a date, for an alert.

New is a signature of failures since --after that no failure before --before has. A side without any input is
no evidence: nothing scanned before means that nothing can be called new, nothing scanned since that nothing
can be called calm; the exit status says so.
"""

from __future__ import annotations

import argparse

from tfmemlens.cli import _options
from tfmemlens.cli.fleet_commands import _groups

EXAMPLES = """examples:
  tfmemlens fleet diff failures --after 2026-11-20
  tfmemlens fleet diff failures --after 1d --json         # the last day of the data, against all before
  tfmemlens fleet diff failures --before 2026-11-01 --after 2026-11-20    # leaves a roll-out between them out
exit status: 0 nothing is new, 1 a signature is new, 3 undecided (one side is empty), 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="what `tfmemlens fleet scan` wrote")
    parser.add_argument(
        "--after", metavar="DATE|7d", required=True, help="failures from then on: 2026-11-20, 7d, 12h"
    )
    parser.add_argument(
        "--before", metavar="DATE|7d", help="are compared with failures before then (default: as --after)"
    )
    _groups.add_arguments(parser, "new_causes")
    _options.add_storage(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet import answers
    from tfmemlens.fleet.sources import Folder

    folder = Folder(args.folder, _options.storage(args))
    causes = answers.compare(folder, args.after, args.before, _groups.most(args))
    _options.show(causes, args, "new_causes")
    return 3 if not causes.decided else int(bool(causes.new))
