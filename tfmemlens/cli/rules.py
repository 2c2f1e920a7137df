"""List the rules that findings come from, or print one rule's page."""

from __future__ import annotations

import argparse

from tfmemlens import findings
from tfmemlens.errors import UsageError
from tfmemlens.findings.support import ranking

EXAMPLES = """examples:
  tfmemlens rules
  tfmemlens rules layout-optimizer-copies
  tfmemlens rules --markdown > rules.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the rule whose page to print")
    parser.add_argument(
        "--markdown", action="store_true", help="print the pages of all rules as one document"
    )


def run(args: argparse.Namespace) -> int:
    import inspect

    from tfmemlens.cli.main import nearest

    rules = findings.rules()
    if args.markdown:
        print(document(), end="")
        return 0
    if args.name is None:
        width = max(map(len, rules))
        for slug, rule in rules.items():
            print(f"{slug:{width}}  {(rule.__doc__ or '').splitlines()[0]}")
            print(f"{'':{width}}  evidence: {rule.BASIS}; explains {rule.EXPLAINS}")
        print(f"\n{_order()}")
        return 0
    slug = args.name.strip().lower().replace("_", "-")
    if slug not in rules:
        near = nearest(slug, rules)
        raise UsageError(
            f"there is no rule {args.name!r}",
            f"did you mean {near}?" if near else "`tfmemlens rules` lists them all",
        )
    rule = rules[slug]
    print(f"{slug}\n\n{inspect.cleandoc(rule.__doc__ or '')}")
    print(f"What ranks it: evidence {rule.BASIS}; explains {rule.EXPLAINS}.")
    return 0


def document() -> str:
    """The pages of all rules as Markdown, which docs/rules.md is."""
    import inspect

    parts = [
        "# The rules",
        "Written by `tfmemlens rules --markdown`. Each finding comes from one of these rules; the"
        " JSON document"
        " names it in `rule`.",
        f"```text\n{_order()}\n```",
    ]
    for slug, rule in findings.rules().items():
        page = inspect.cleandoc(rule.__doc__ or "").replace("<", "&lt;")
        for title in ("What it means:", "When it fires:", "What to do:"):
            page = page.replace(f"\n{title}", f"\n\n**{title}**")
        ranked = f"**What ranks it:** evidence {rule.BASIS}; explains {rule.EXPLAINS}."
        parts.append(f"## {slug}\n\n{page.replace(chr(10) * 3, chr(10) * 2).strip()}\n\n{ranked}")
    return "\n\n".join(parts) + "\n"


def _order() -> str:
    """Why one finding stands above another."""
    kinds = [f"  {basis:8}  x {trust}  {ranking.MEANING[basis]}" for basis, trust in ranking.TRUST.items()]
    return "\n".join(
        (
            "Findings are ranked by severity, then by the share of the limit that they explain (of"
            " the request,",
            "where it alone exceeds the limit; without a limit, of all that is held), times the value"
            " of their",
            f"evidence. Whatever explains less than {ranking.LEAST_OF_A_CAUSE * 100:.0f} % is no cause.",
            "",
            *kinds,
        )
    )
