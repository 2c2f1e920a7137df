"""Predict what a step of a model will need, before it runs: layer by layer, and at its peak."""

from __future__ import annotations

import argparse

from tfmemlens import pipeline
from tfmemlens.cli import _options
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Fits
from tfmemlens.model.settings import DEVICES, DTYPES, MODES, StepSettings
from tfmemlens.model.tensor import parse_shape
from tfmemlens.units import parse_limit

EXAMPLES = """examples:
  tfmemlens estimate model.keras --batch 64 --optimizer adam
  tfmemlens estimate architecture.json --batch 8 --input-shape 224x224x3 --limit 8GiB
  tfmemlens estimate model.h5 --batch 32 --sequence 512 --mode inference --json
  tfmemlens estimate saved_model/ --batch 32 --csv > layers.csv
  tfmemlens estimate train.meta --fetch train_op --batch 32              # a MetaGraph or GraphDef, op by op
  tfmemlens estimate model.keras --tensorflow --python ~/tf/bin/python   # by TensorFlow's training graph
  tfmemlens estimate my_models:build --batch 16 --python ~/tf/bin/python # a function that returns a model
exit status: 0 predicted, and fits even at the upper end; 1 not even the lower end of the peak fits;
  3 undecided; 2 unreadable, usage, or too much is not known for a prediction"""
_STATUS = {None: 0, Fits.YES: 0, Fits.NO: 1, Fits.UNDECIDED: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        help=(
            "a .keras file, an architecture JSON, an H5 file, a SavedModel folder, module:function, or a"
            " GraphDef or MetaGraph"
        ),
    )
    parser.add_argument(
        "--batch", type=_options.count, default=32, metavar="N", help="batch size (default 32)"
    )
    parser.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="224x224x3",
        help=(
            "sizes of the input without the batch; NAME=SIZES for one of several, repeatable; in a graph also"
            " with its first size, where that is not the batch"
        ),
    )
    parser.add_argument(
        "--sequence",
        type=_options.count,
        metavar="N",
        help="length of the sequence, where the model leaves it open",
    )
    _options.add_samples(parser)
    parser.add_argument(
        "--optimizer",
        metavar="NAME",
        help=(
            "sgd, momentum, adam, adamw, rmsprop, adagrad, adafactor, … (default: the model's own, else adam)"
        ),
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, help="dtype policy of all layers (default: the model's own)"
    )
    parser.add_argument("--mode", choices=MODES, default="training", help="what is run (default training)")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where (default cpu)")
    parser.add_argument("--limit", metavar="8GiB", help="memory of the device")
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="for module:function and --tensorflow: the Python that has TensorFlow (default: this one)",
    )
    parser.add_argument(
        "--tensorflow",
        action="store_true",
        help="let TensorFlow make the training graph of a Keras model, and predict from its ops",
    )
    _options.add_limit_read(parser)
    _options.add_conditions(parser)
    _options.add_fetch(parser)
    _options.add_view(parser, "report", "layers")


def run(args: argparse.Namespace) -> int:
    report = pipeline.report(_captured(args))
    _options.show(report, args, "report", "layers")
    return _STATUS[report.fits]


def _captured(args: argparse.Namespace) -> Capture:
    from tfmemlens.use_cases import estimate

    settings = _settings(args)
    if args.tensorflow:
        return estimate.estimate_with_tensorflow(args.model, settings, args.python)
    if args.fetch:
        return estimate.estimate_graph(args.model, settings, args.fetch)
    return estimate.estimate_file(args.model, settings, args.python)


def _settings(args: argparse.Namespace) -> StepSettings:
    try:
        inputs = dict(map(_sizes, args.input_shape))
        limit = parse_limit(args.limit) if args.limit else None
    except ValueError as problem:
        raise UsageError(str(problem), "shapes look like 224x224x3, sizes like 8GiB") from None
    return StepSettings(
        args.batch,
        args.optimizer,
        args.dtype,
        args.mode == "training",
        args.device,
        limit,
        inputs,
        sequence=args.sequence,
        samples=args.samples,
        **_options.conditions(args),
    )


def _sizes(text: str) -> tuple[str, tuple[int | None, ...]]:
    """`224x224x3` for every input, `image=224x224x3` for one."""
    name, _, shape = text.rpartition("=")
    return name, parse_shape(shape)
