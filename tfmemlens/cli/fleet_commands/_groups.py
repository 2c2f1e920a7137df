"""How many groups a command prints, and how much of each."""

from __future__ import annotations

import argparse

from tfmemlens.cli import _options

_ON_ONE_SCREEN = 7
"""Two lines each, beside what stands above and below them."""


def add_arguments(parser: argparse.ArgumentParser, document: str) -> None:
    """`--full`, `--top` and the forms of this document."""
    parser.add_argument(
        "--full", action="store_true", help="print of each example what happened and what to try, too"
    )
    parser.add_argument(
        "--top",
        dest="limit",
        type=_options.count,
        metavar="N",
        help=f"so many groups (default {_ON_ONE_SCREEN}; all with --json)",
    )
    _options.add_form(parser, document, group=None)


def most(args: argparse.Namespace) -> int | None:
    """How many groups are asked for, None for all of them."""
    return args.limit or (None if args.form == "json" else _ON_ONE_SCREEN)
