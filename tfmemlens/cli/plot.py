"""Plot memory over time, the largest layers and tensor lifetimes of a traced step."""

from __future__ import annotations

import argparse
import re

from tfmemlens import pipeline
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.series import Sheet
from tfmemlens.renderers.pictures.curve import PANELS

EXAMPLES = """examples:
  tfmemlens plot run_metadata.pb -o peak.png
  tfmemlens plot trace.xplane.pb --by layer -o peak.svg
  tfmemlens plot run_metadata.pb --panel curve --size 3.5x2.5 --title '' -o figure1.pdf    # for a paper
exit status: 0 drawn, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", nargs="+", help="a traced step, as for `tfmemlens profile`")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to draw: .png, .svg or .pdf"
    )
    parser.add_argument(
        "--by", choices=("kind", "layer"), default="kind", help="what the curve is stacked by (default kind)"
    )
    parser.add_argument("--at", metavar="TIME|NODE", help="mark this moment instead of the peak")
    group = parser.add_argument_group("the sheet")
    group.add_argument(
        "--panel",
        action="append",
        choices=PANELS,
        default=[],
        help="what to draw, repeatable, from top to bottom (default: all three)",
    )
    group.add_argument("--size", type=_inches, metavar="7x4", help="width and height in inches")
    group.add_argument(
        "--dpi",
        type=_options.count,
        default=_output.DOTS_AN_INCH,
        metavar="N",
        help=f"dots an inch of a .png (default {_output.DOTS_AN_INCH})",
    )
    group.add_argument("--title", metavar="TEXT", help="instead of the verdict; '' for none")
    _options.add_choice(parser)
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.use_cases.plot import plot
    from tfmemlens.use_cases.traced_step import in_program_order

    captured = in_program_order(pipeline.timelines(args.input, _options.hints(args), device=args.device))
    if not captured.timelines:
        raise UnreadableInput(
            "there is no memory timeline to draw", captured.reasons("record a step with FULL_TRACE")
        )
    sheet = Sheet(tuple(dict.fromkeys(args.panel)), args.size, args.title)
    _output.draw(plot(captured, args.by, args.at, sheet), args.output, args.dpi)
    return 0


def _inches(text: str) -> tuple[float, float]:
    """`7x4` as two numbers, for argparse."""
    match = re.fullmatch(r"\s*(\d{1,3}(?:\.\d+)?)\s*[x×]\s*(\d{1,3}(?:\.\d+)?)\s*", text)
    if not match or not (1 <= float(match[1]) <= 100 and 1 <= float(match[2]) <= 100):
        raise argparse.ArgumentTypeError(f"{text} is no size in inches: write 7x4")
    return float(match[1]), float(match[2])
