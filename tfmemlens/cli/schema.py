"""Print the JSON schema that `--json` keeps: of the report, of `diff`, or of `conv`."""

from __future__ import annotations

import argparse
from importlib import resources

NAMES = ("report", "diff", "convolution")
EXAMPLES = """examples:
  tfmemlens schema                     # explain, profile, estimate, fit, layout
  tfmemlens schema diff > diff.schema.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        choices=NAMES,
        default="report",
        help="which document: report (the default), diff or convolution",
    )


def run(args: argparse.Namespace) -> int:
    print(schema_text(args.name), end="")
    return 0


def schema_text(name: str) -> str:
    """The schema of one document as JSON text, as it is shipped with the package."""
    return (resources.files("tfmemlens.renderers.json") / "schemas" / f"{name}.json").read_text(
        encoding="utf-8"
    )
