"""Plot memory over time, the largest layers and tensor lifetimes of a traced step."""

from __future__ import annotations

import argparse

from tfmemlens import pipeline
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UnreadableInput

EXAMPLES = """examples:
  tfmemlens plot run_metadata.pb -o peak.png
  tfmemlens plot trace.xplane.pb --by layer -o peak.svg
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
    _options.add_choice(parser)
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    from tfmemlens.use_cases.plot import plot

    captured = pipeline.timelines(args.input, _options.hints(args), device=args.device)
    if not captured.timelines:
        raise UnreadableInput(
            "there is no memory timeline to draw", captured.reasons("record a step with FULL_TRACE")
        )
    _output.draw(plot(captured, by=args.by, at=args.at), args.output)
    return 0
