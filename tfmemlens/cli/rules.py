"""List the rules that findings come from, or print one rule's page."""

from __future__ import annotations

import argparse

from tfmemlens import findings
from tfmemlens.errors import UsageError

EXAMPLES = """examples:
  tfmemlens rules
  tfmemlens rules layout-optimizer-copies"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the rule whose page to print")


def run(args: argparse.Namespace) -> int:
    import difflib
    import inspect

    rules = findings.rules()
    if args.name is None:
        width = max(map(len, rules))
        for slug, rule in rules.items():
            print(f"{slug:{width}}  {(rule.__doc__ or '').splitlines()[0]}")
        return 0
    slug = args.name.strip().lower().replace("_", "-")
    if slug not in rules:
        near = difflib.get_close_matches(slug, rules, 1)
        raise UsageError(
            f"there is no rule {args.name!r}",
            f"did you mean {near[0]}?" if near else "`tfmemlens rules` lists them all",
        )
    print(f"{slug}\n\n{inspect.cleandoc(rules[slug].__doc__ or '')}")
    return 0
