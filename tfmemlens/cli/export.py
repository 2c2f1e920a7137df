"""Write a traced step or a failure for other viewers: Perfetto, speedscope, PyTorch's memory_viz."""

from __future__ import annotations

import argparse

from tfmemlens import pipeline, renderers
from tfmemlens.cli import _options, _output
from tfmemlens.use_cases.export import SUBJECTS, export
from tfmemlens.use_cases.traced_step import in_program_order

EXAMPLES = """examples:
  tfmemlens export run_metadata.pb --format chrome-trace -o memory.json   # open in ui.perfetto.dev
  tfmemlens export train.log --format speedscope -o memory.speedscope.json  # open in www.speedscope.app
  tfmemlens export run_metadata.pb --format memory-viz -o memory.pickle   # open in pytorch.org/memory_viz
exit status: 0 written, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", nargs="+", help="a traced step, or for speedscope also a log")
    parser.add_argument("--format", choices=tuple(renderers.viewers(*SUBJECTS)), required=True)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write (default: standard output)"
    )
    _options.add_choice(parser)
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    captured = pipeline.timelines(args.input, _options.hints(args), device=args.device)
    _output.write(export(in_program_order(captured), args.format), args.output)
    return 0
