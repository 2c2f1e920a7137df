"""Rank the failures of a scan: jobs hit, hours lost, trend, one example each.

A job's retries and ranks count as one job. Hours lost are the time that the logs of its failed runs cover,
ranks side by side counted once. A length of time such as 7d counts back from how far the data reach.
"""

from __future__ import annotations

import argparse

from tfmemlens.cli import _options
from tfmemlens.cli.fleet_commands import _groups

EXAMPLES = """examples:
  tfmemlens fleet top failures
  tfmemlens fleet top failures --by host --since 7d       # the trend compares with the 7 days before
  tfmemlens fleet top failures --full --top 30            # what each example says, and what to try
  tfmemlens fleet top failures --json > causes.json
exit status: 0 shown, 1 no failure in the period, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tfmemlens.fleet.questions import BY

    parser.add_argument("folder", metavar="DIR", help="what `tfmemlens fleet scan` wrote")
    parser.add_argument(
        "--by",
        dest="column",
        choices=BY,
        default=BY[0],
        help="group by this (default signature); version: with framework",
    )
    parser.add_argument(
        "--since", metavar="DATE|7d", help="only failures from then on (default all): 2026-11-20, 7d, 12h"
    )
    _groups.add_arguments(parser, "causes")
    _options.add_storage(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet import answers
    from tfmemlens.fleet.sources import Folder

    ranking = answers.rank(
        Folder(args.folder, _options.storage(args)), args.column, args.since, _groups.most(args)
    )
    _options.show(ranking, args, "causes")
    return 0 if ranking.groups else 1
