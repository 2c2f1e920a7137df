"""Check a traced or a predicted step against budgets, for continuous integration.

A prediction is within a budget only with the upper end of its error bar, and over it only with the lower end.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tfmemlens import progress, renderers
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UsageError
from tfmemlens.model.case import Fits
from tfmemlens.units import parse_limit

EXAMPLES = """examples:
  tfmemlens check evidence/ --max-peak 8GiB                             # a bundle of `tfmemlens run --trace`
  tfmemlens check step.pb --max-layer 'encoder/*=1GiB' --max-layer 'head=64MiB'
  tfmemlens check new.pb --baseline old.pb --max-growth 3%
  tfmemlens check model.keras --batch 64 --max-peak 8GiB --junit memory.xml
exit status: 0 all within, 1 one is over, 3 undecided (the limit lies inside the bar, or only a lower bound is
  known), 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    forms = renderers.options("budgets")
    parser.add_argument("input", help="a traced step, a bundle, or a model")
    parser.add_argument("--max-peak", type=_options.size, metavar="8GiB", help="the most that may be in use")
    parser.add_argument(
        "--max-layer",
        action="append",
        type=_layer,
        default=[],
        metavar="'encoder/*=1GiB'",
        help="the most that layers with such names may hold together at the peak; repeatable",
    )
    parser.add_argument("--baseline", metavar="FILE", help="an earlier step to compare the peak with")
    parser.add_argument(
        "--max-growth",
        type=_share,
        metavar="3%",
        help="how much more than the baseline's is allowed (default 0)",
    )
    parser.add_argument(
        "--junit", metavar="FILE", help="write the results as JUnit XML; - is standard output"
    )
    parser.add_argument(
        "--github",
        action="store_true",
        help=forms["github"],
    )
    _options.add_hints(parser)


def run(args: argparse.Namespace) -> int:
    if args.max_growth is not None and not args.baseline:
        raise UsageError("--max-growth needs a --baseline", "tfmemlens check new.pb --baseline old.pb")
    if args.max_peak is None and not args.max_layer and not args.baseline:
        raise UsageError("no budget is given", "--max-peak 8GiB, --max-layer or --baseline")
    from tfmemlens.use_cases import check

    hints = _options.hints(args)
    report = check.measured(args.input, hints)
    before = (args.baseline, check.measured(args.baseline, hints)) if args.baseline else None
    budgets = check.budgets(report, args.max_peak, args.max_layer, before, args.max_growth or 0.0)
    if args.junit:
        _output.write(renderers.render(budgets, "budgets", "junit"), args.junit)
    progress.done()
    if args.junit != "-":
        print(renderers.render(budgets, "budgets"), end="")
        for condition in check.conditions(report):
            print(f"Note: {condition}")
    if args.github or os.environ.get("GITHUB_ACTIONS") == "true":
        print(renderers.render(budgets, "budgets", "github"), end="")
    status = _status([budget.fits for budget in budgets])
    if status == 1:
        print(f"tfmemlens: `tfmemlens profile {args.input}` shows what holds it", file=sys.stderr)
    return status


def _status(answers: Sequence[Fits]) -> int:
    if Fits.NO in answers:
        return 1
    return 3 if Fits.UNDECIDED in answers else 0


def _layer(text: str) -> tuple[str, int]:
    """`encoder/*=1GiB`. Raises ArgumentTypeError."""
    name, _, size = text.rpartition("=")
    try:
        if name:
            return name, parse_limit(size)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no layer and size, such as 'encoder/*=1GiB'")


def _share(text: str) -> float:
    """`3%` or `0.03` as a share. Raises ArgumentTypeError."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if number != text.strip() else 1)
    except ValueError:
        share = float("nan")
    if not 0 <= share < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no growth such as 3%")
    return share
