"""Many jobs' failures as one table: scan their logs, rank the causes, draw them, tell what is new."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  tfmemlens fleet scan 's3://logs/jobs/**/*.log' -o failures --job-pattern 'jobs/(?P<job>[^/]+)/'
  tfmemlens fleet top failures --since 7d                 # the causes, by the jobs that they hit
  tfmemlens fleet top failures --by host
  tfmemlens fleet report failures -o fleet.html           # a page to send to a colleague
  tfmemlens fleet diff failures --after 2026-11-20        # for an alert: exit status 1 when a cause is new
`tfmemlens fleet COMMAND --help` shows more"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tfmemlens.cli import fleet_commands
    from tfmemlens.cli.main import add_commands

    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_commands(commands, fleet_commands)


def run(args: argparse.Namespace) -> int:
    """Each command under `fleet` has its own; argparse does not come here."""
    raise NotImplementedError(args)
