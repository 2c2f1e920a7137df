"""Print the JSON schema that `--json` keeps: of the report, `diff`, `conv`, or a command of `fleet`."""

from __future__ import annotations

import argparse
from importlib import resources

NAMES = ("report", "diff", "convolution", "fleet-scan", "fleet-top", "fleet-diff")
EXAMPLES = """examples:
  tfmemlens schema                     # explain, profile, estimate, fit, layout
  tfmemlens schema diff > diff.schema.json
  tfmemlens schema fleet-top           # fleet top; likewise fleet-scan, fleet-diff"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        choices=NAMES,
        default="report",
        help=f"which document: {', '.join(NAMES)} (default report)",
    )


def run(args: argparse.Namespace) -> int:
    print(schema_text(args.name), end="")
    return 0


def schema_text(name: str) -> str:
    """The schema of one document as JSON text, as it is shipped with the package."""
    return (resources.files("tfmemlens.renderers.json") / "schemas" / f"{name}.json").read_text(
        encoding="utf-8"
    )
