"""Print the JSON schema that `--json` keeps: of the report, `diff`, `conv`, or a command of `fleet`."""

from __future__ import annotations

import argparse
from importlib import resources

PACKAGE, FOLDER = "tfmemlens.renderers.json", "schemas"
SUFFIX = ".json"
EXAMPLES = """examples:
  tfmemlens schema                     # explain, profile, estimate, fit, layout
  tfmemlens schema diff > diff.schema.json
  tfmemlens schema steps               # profile --list
  tfmemlens schema fleet-top           # fleet top; likewise fleet-scan, fleet-diff"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = schema_names()
    parser.add_argument(
        "name",
        nargs="?",
        choices=names,
        default="report",
        help=f"which document: {', '.join(names)} (default report)",
    )


def run(args: argparse.Namespace) -> int:
    print(schema_text(args.name), end="")
    return 0


def schema_names() -> list[str]:
    """The documents that have a schema: each is a file in the folder that is shipped with the package."""
    files = (file.name for file in (resources.files(PACKAGE) / FOLDER).iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))


def schema_text(name: str) -> str:
    """The schema of one document as JSON text, as it is shipped with the package."""
    return (resources.files(PACKAGE) / FOLDER / f"{name}{SUFFIX}").read_text(encoding="utf-8")
