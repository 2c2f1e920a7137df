"""Say how large a batch fits, from one measured step, and what each change would buy."""

from __future__ import annotations

import argparse
import sys

from tfmemlens.cli import _options
from tfmemlens.model.settings import StepSettings
from tfmemlens.values import replace

EXAMPLES = """examples:
  tfmemlens fit run_metadata.pb --limit 11GiB         # the largest batch, and what each remedy would buy
  tfmemlens fit small.pb large.pb --limit 11GiB       # two steps at different batches: one checks the other
  tfmemlens fit step.xplane.pb --batch 32 --limit 8GiB
  tfmemlens fit oom.txt --batch 64                    # from an OOM report: an upper bound
  tfmemlens fit model.keras --batch 32 --limit 8GiB   # from a prediction; a MetaGraph with --fetch
  tfmemlens fit model.keras --limit 300MiB --measure --python ~/tf/bin/python   # by real steps on the CPU
exit status: 0 shown; 2 unreadable, usage, too much is not known for a prediction, or the inputs contradict
  each other or the answer"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        help=(
            "a traced step (RunMetadata, XSpace, tfevents), more of them to check with, a log with an OOM"
            " report, a model or a graph"
        ),
    )
    parser.add_argument(
        "--device", metavar="NAME", help="only devices whose name contains this, such as GPU:1"
    )
    parser.add_argument("--tag", help="of several traced steps in an event file, the one with this tag")
    parser.add_argument("--step", type=int, metavar="N", help="of several traced steps, this one")
    _options.add_fetch(parser)
    parser.add_argument(
        "--optimizer",
        metavar="NAME",
        help="of a model: the optimizer it is trained with (default: the model's own, else adam)",
    )
    parser.add_argument(
        "--sequence",
        type=_options.count,
        metavar="N",
        help="of a model: length of the sequence, where it leaves that open",
    )
    _options.add_samples(parser)
    _options.add_conditions(parser)
    _options.add_hints(parser)
    group = parser.add_argument_group("try it")
    group.add_argument(
        "--measure",
        action="store_true",
        help=(
            "of a model, with --limit: run real steps of some batches in TensorFlow on the CPU, under that"
            " very limit, each in a process of its own (at most 24), the largest in three"
        ),
    )
    group.add_argument(
        "--python",
        metavar="PATH",
        help="for --measure: the Python that has TensorFlow 2.6 or newer (default: this one)",
    )
    group.add_argument(
        "--seconds",
        type=_options.count,
        default=300,
        metavar="N",
        help="for --measure: how long it may take (default 300)",
    )
    _options.add_full(parser)
    _options.add_form(parser, "report")


def _beforehand(args: argparse.Namespace) -> str:
    """What `--measure` is about to do, before it takes its time."""
    from tfmemlens.recording.try_batches import MOST_TRIALS

    where = args.python or "this Python"
    return (
        f"running steps of some batches in {where} under --limit: at most {MOST_TRIALS} processes, about"
        f" {args.seconds} seconds (--seconds)"
    )


def run(args: argparse.Namespace) -> int:
    from tfmemlens.use_cases.fit import fit_report
    from tfmemlens.use_cases.measured_fit import measured_report

    hints = replace(_options.hints(args), tag=args.tag, step=args.step)
    settings = StepSettings(
        batch=hints.batch or 1,
        optimizer=args.optimizer,
        sequence=args.sequence,
        samples=args.samples,
        **_options.conditions(args),
    )
    if args.measure:
        if hints.limit_bytes:
            print(f"tfmemlens: {_beforehand(args)}", file=sys.stderr, flush=True)
        report = measured_report(args.input, hints, settings, args.python, args.seconds)
    else:
        report = fit_report(args.input, hints, args.device, args.fetch, settings)
    _options.show(report, args)
    return 0
