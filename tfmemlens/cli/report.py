"""Write one HTML page that anybody can open: what happened, where every byte is, what would help."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tfmemlens import renderers
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UsageError
from tfmemlens.escaping import visible
from tfmemlens.units import human

EXAMPLES = """examples:
  tfmemlens report train.log --open                       # writes report.html here
  tfmemlens report run_metadata.pb -o report.html         # a traced step: any instant of it can be looked at
  tfmemlens report before.pb after.pb -o report.html      # a tab for each, and a comparison
  tfmemlens report train.log run_metadata.pb --together -o report.html  # one run: failure and step
  tfmemlens report model.keras --batch 64 -o report.html  # a prediction; beside a trace compared
exit status: 0 written, 1 written and no memory figures found, 2 unreadable or usage"""
PAGE = "report.html"
"""What the page is called where nobody gives it a name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        help=(
            "logs, dumps, traces, saved Keras models (predicted), directories or globs; each becomes a tab; -"
            " reads standard input"
        ),
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=(
            f"where to write the page (default: {PAGE} in this folder, unless that is a file of yours); - is"
            " standard output"
        ),
    )
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--together", action="store_true", help="read all inputs as one run, in one tab")
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="of traced steps only devices whose name contains this, such as GPU:1",
    )
    _options.add_model(parser)
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.use_cases.page import build_page

    output = args.output or _own_name()
    groups = [args.input] if args.together else [[each] for each in args.input]
    content = build_page(groups, _options.hints(args), device=args.device)
    _output.write(renderers.render(content, "page", "html"), output)
    if output != "-":
        _tell(Path(output), args.open)
    if any(tab.report.case.moments or tab.report.findings for tab in content.tabs):
        return 0
    print(
        f"tfmemlens: no memory figures were found in {', '.join(args.input)}; the page says so",
        file=sys.stderr,
    )
    return 1


def _own_name() -> str:
    """The file's name where none was given. Raises UsageError where another file has it."""
    from tfmemlens.use_cases.page import is_own_page

    if os.path.lexists(PAGE) and not is_own_page(PAGE):
        raise UsageError(
            f"{PAGE} is here already, and tfmemlens did not write it", "name another file with -o FILE"
        )
    return PAGE


def _tell(page: Path, open_it: bool) -> None:
    """Where the page is, and how large; `open_it` shows it."""
    print(f"{visible(str(page))} ({human(page.stat().st_size)})", file=sys.stderr)
    if open_it:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            raise UsageError("no browser could be started", f"open {page} in a browser")
