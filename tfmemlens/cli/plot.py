"""Draw the live curve of a traced step, its largest layers and the lives of its largest tensors."""

from __future__ import annotations

import argparse

from tfmemlens import pipeline
from tfmemlens.cli import _options
from tfmemlens.errors import UnreadableInput, UsageError

EXAMPLES = """examples:
  tfmemlens plot run_metadata.pb -o peak.png
  tfmemlens plot trace.xplane.pb --by layer -o peak.svg
exit status: 0 drawn, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", nargs="+", help="a traced step, as for `tfmemlens profile`")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to draw: .png, .svg or .pdf")
    parser.add_argument("--by", choices=("kind", "layer"), default="kind", help="what the curve is stacked by (default kind)")
    parser.add_argument("--at", metavar="TIME|NODE", help="mark this moment instead of the peak")
    _options.add_choice(parser)
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    captured = pipeline.timelines(args.input, _options.hints(args), device=args.device)
    if not captured.timelines:
        raise UnreadableInput("there is no memory timeline to draw", "; ".join(note.text for note in captured.notes) or "record a step with FULL_TRACE")
    sheet = pipeline.plot(captured, by=args.by, at=args.at)
    try:
        sheet.savefig(args.output, dpi=120)
    except ValueError as error:
        raise UsageError(str(error), "end the file's name in .png, .svg or .pdf") from None
    except OSError as error:
        raise UsageError(f"{args.output} cannot be written: {error.strerror or error}", "check the folder and its permissions") from None
    return 0
