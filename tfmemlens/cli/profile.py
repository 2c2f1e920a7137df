"""Show what holds memory at the peak of a traced step, by layer, exactly."""

from __future__ import annotations

import argparse
import shlex
import sys

from tfmemlens import pipeline, renderers
from tfmemlens.cli import _options, _output
from tfmemlens.errors import UsageError
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture
from tfmemlens.use_cases import traced_step

EXAMPLES = """examples:
  tfmemlens profile run_metadata.pb
  tfmemlens profile logdir/plugins/profile            # the TF2 profiler's folder
  tfmemlens profile logdir --list                     # the steps in it; --step or --tag choose one
  tfmemlens profile trace.pb --by kind --top 20
  tfmemlens profile trace.pb --at 12.5ms              # another moment than the peak; a node's name works, too
  tfmemlens profile trace.pb --csv allocations.csv
exit status: 0 shown, 1 no timeline found, 2 unreadable or usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="+", help="RunMetadata, StepStats, XSpace or tfevents files, or a folder with some"
    )
    parser.add_argument(
        "--at",
        metavar="TIME|NODE",
        help="this moment instead of the peak: `12.5ms` after the first allocation, or when a node allocates",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the traced steps of the files and folders, and read none"
    )
    parser.add_argument(
        "--csv", metavar="FILE", help="write every allocation of the step as CSV; - is standard output"
    )
    parser.add_argument(
        "--csv-raw",
        action="store_true",
        help="names in the CSV as they are, even where a sheet would take them for formulas",
    )
    parser.add_argument(
        "--parquet", metavar="FILE", help="write every allocation of the step as Parquet (needs pyarrow)"
    )
    _options.add_choice(parser)
    _options.add_hints(parser)
    _options.add_view(parser, "report")


@without_gc
def run(args: argparse.Namespace) -> int:
    if args.list:
        return _list(args)
    captured = pipeline.timelines(args.input, _options.hints(args), device=args.device)
    captured = traced_step.with_its_failure(captured, args.input, _options.hints(args))
    report = pipeline.report(captured, at=args.at)
    report = traced_step.of_a_failed_run(report, args.input, _options.hints(args))
    if args.csv or args.parquet:
        _write(captured, args)
    if args.csv != "-":
        _options.show(report, args)
    if captured.incidents and not captured.timelines:
        _tell_of_no_step(args)
    return 0 if captured.timelines else 1


def _tell_of_no_step(args: argparse.Namespace) -> None:
    """The page is of the failure: a program that fails in its first step leaves no other."""
    where = shlex.join(args.input)
    print(
        "tfmemlens: no step was recorded to its end, so this page is of the failure, as"
        f" `tfmemlens explain {where}` has it; a smaller batch that runs records one",
        file=sys.stderr,
    )


def _list(args: argparse.Namespace) -> int:
    steps = traced_step.list_steps(args.input)
    _options.show(steps, args, "steps")
    return 0 if steps else 1


def _write(captured: Capture, args: argparse.Namespace) -> None:
    frame = traced_step.allocations(captured)
    try:
        if args.csv:
            raw = args.csv_raw
            table = frame.to_csv(index=False) if raw else renderers.render(frame, "allocations", "csv")
            _output.write(table, args.csv)
        if args.parquet:
            with _output.writing(args.parquet):
                frame.to_parquet(args.parquet, index=False)
    except ImportError:
        raise UsageError(
            "writing Parquet needs a package that is not installed", "pip install pyarrow, or use --csv"
        ) from None
