"""Say what changed between two inputs: what grew, what vanished, by layer and kind."""

from __future__ import annotations

import argparse
import re
import sys

from tfmemlens import renderers
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UsageError
from tfmemlens.model.difference import Difference
from tfmemlens.units import human, parse_limit

EXAMPLES = """examples:
  tfmemlens diff before.pb after.pb
  tfmemlens diff before.pb after.pb --html -o diff.html
  tfmemlens diff main.pb branch.pb --fail-above 5%      # in CI: exit status 1 when the peak grows by more
  tfmemlens diff main.pb branch.pb --fail-above 64MiB --json
exit status: 0 compared, 1 grew by more than --fail-above, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", help="a traced step, a log, a dump")
    parser.add_argument("after", help="another one of the same model")
    parser.add_argument(
        "--fail-above",
        metavar="5%|64MiB",
        help="exit with status 1 when the total grows by more than this share or size",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="of traced steps only devices whose name contains this"
    )
    _options.add_full(parser)
    _options.add_top(parser)
    _options.add_form(parser, "difference", group=None)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write (default: standard output)"
    )
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    allowed = _allowed(args.fail_above)
    from tfmemlens.use_cases import difference, page

    hints = _options.hints(args)
    if args.form == "html":  # both inputs stand behind their comparison
        content = page.comparison_page(args.before, args.after, hints, args.device)
        changes, text = content.differences[0], renderers.render(content, "page", "html")
    else:
        changes = difference.difference(args.before, args.after, hints, args.device)
        text = _options.render(changes, args, "difference")
    _output.write(text, args.output)
    if not _exceeds(changes, allowed):
        return 0
    grew = human(changes.change_bytes)
    print(f"tfmemlens: {grew} more than before, which is above {args.fail_above}", file=sys.stderr)
    return 1


def _allowed(text: str | None) -> float | int | None:
    """A share (float) or bytes (int). Raises UsageError."""
    if text is None:
        return None
    if match := re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*", text):
        return float(match[1]) / 100
    try:
        return parse_limit(text) if text.strip() != "0" else 0
    except ValueError:
        raise UsageError(
            f"{text!r} is neither a share nor a size", "write --fail-above 5% or --fail-above 64MiB"
        ) from None


def _exceeds(changes: Difference, allowed: float | int | None) -> bool:
    if allowed is None:
        return False
    return changes.change_bytes > (
        allowed if isinstance(allowed, int) else allowed * changes.before.total_bytes
    )
