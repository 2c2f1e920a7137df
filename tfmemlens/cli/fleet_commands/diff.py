"""Tell which signatures of failures are new since a date, for an alert.

New is a signature of failures since --after that no failure before --before has. A side without any input is no
evidence: nothing scanned before means that nothing can be called new, nothing scanned since that nothing can be called
calm; the exit status says so.
"""

from __future__ import annotations

import argparse

from tfmemlens.cli import _options

EXAMPLES = """examples:
  tfmemlens fleet diff failures --after 2026-11-20
  tfmemlens fleet diff failures --after 1d --json         # the last day that the data cover, against all before it
  tfmemlens fleet diff failures --before 2026-11-01 --after 2026-11-20    # leaves a roll-out between them out
exit status: 0 nothing is new, 1 a signature is new, 3 undecided (one side has no inputs), 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="what `tfmemlens fleet scan` wrote")
    parser.add_argument(
        "--after", metavar="DATE|7d", required=True, help="failures from then on: 2026-11-20, 7d, 12h"
    )
    parser.add_argument(
        "--before", metavar="DATE|7d", help="are compared with failures before then (default: as --after)"
    )
    parser.add_argument(
        "--full", action="store_true", help="print of each example what happened and what to try, too"
    )
    parser.add_argument(
        "--top",
        dest="limit",
        type=_options.count,
        metavar="N",
        help="so many groups (default 8; all with --json)",
    )
    _options.add_form(parser, "new_causes", group=None)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet import answers

    limit = args.limit or (None if args.form == "json" else _options.view(args).top)
    found = answers.compare(args.folder, args.after, args.before, limit)
    _options.show(found, args, "new_causes")
    return 3 if not found.decided else int(bool(found.new))
