"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import Any, TextIO

from tfmemlens import progress, renderers
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.model.tensor import parse_shape
from tfmemlens.renderers.view import View
from tfmemlens.units import parse_limit
from tfmemlens.values import replace


def count(text: str) -> int:
    """A whole number of 1 or more, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of 1 or more")
    return int(text)


def whole(text: str) -> int:
    """A whole number, 0 included, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no whole number")
    return int(text)


def seconds(text: str) -> float:
    """A time of more than nothing, for argparse."""
    try:
        if 0 < (number := float(text)) < float("inf"):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is no number of seconds")


def size(text: str) -> int:
    """A size such as 8GiB in bytes, for argparse."""
    try:
        if (count := parse_limit(text)) > 0:
            return count
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is no size such as 8GiB")


def add_limit_read(parser: argparse.ArgumentParser) -> None:
    """How much is read of what could go on without end."""
    parser.add_argument(
        "--limit-read",
        type=size,
        metavar="SIZE",
        help="read this much of an archive or a stream (default 4GiB), or of one JSON document (128MiB)",
    )


def add_storage(group: argparse._ActionsContainer) -> None:
    """Options for the storage behind a URL."""
    group.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for fsspec, such as anon=true or endpoint_url=http://minio:9000; repeatable",
    )


def storage(args: argparse.Namespace) -> dict[str, Any]:
    """These options by their names. Raises UsageError."""
    options: dict[str, Any] = {}
    for text in args.storage_option:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UsageError(f"--storage-option {text!r} has no value", "--storage-option anon=true")
        options[name] = {"true": True, "false": False}.get(value.lower(), value)
    return options


def add_hints(parser: argparse.ArgumentParser) -> None:
    """What the user knows and the log does not say, and how much of it is read."""
    add_limit_read(parser)
    group = parser.add_argument_group("what you know of the run")
    group.add_argument(
        "--input-shape",
        metavar="2x720x1280x9",
        help="shape of one input batch: names the tensor behind each figure",
    )
    group.add_argument("--batch", type=count, metavar="N", help="batch size")
    group.add_argument("--limit", metavar="11GiB", help="memory of the device; 11G and 11GB mean the same")


def add_fetch(parser: argparse.ArgumentParser) -> None:
    """What a step of a graph computes."""
    parser.add_argument(
        "--fetch",
        action="append",
        default=[],
        metavar="NAME",
        help="of a graph: what the step computes, such as train_op; repeatable",
    )


def add_samples(parser: argparse.ArgumentParser) -> None:
    """How much data `fit(x, y)` of Keras is given."""
    parser.add_argument(
        "--samples",
        type=count,
        metavar="N",
        help=(
            "samples in the arrays that are given to fit(x, y), which copies them whole (default: no arrays,"
            " the step alone)"
        ),
    )


def add_conditions(parser: argparse.ArgumentParser) -> None:
    """Under which conditions a step runs that is predicted."""
    group = parser.add_argument_group("where it runs")
    group.add_argument(
        "--threads", type=count, metavar="N", help="threads of TensorFlow (default: as this machine has)"
    )
    group.add_argument(
        "--l3",
        metavar="32MiB",
        help=(
            "L3 cache of the machine that is asked about, which the buffers of Conv3D follow (`getconf"
            " LEVEL3_CACHE_SIZE`; default: what a trace tells, else this machine's)"
        ),
    )
    group.add_argument(
        "--onednn",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether oneDNN computes on the CPU (default: TF_ENABLE_ONEDNN_OPTS, else both are in the bar)",
    )
    group.add_argument(
        "--jit",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether XLA compiles the step (default: as the model was compiled)",
    )


def conditions(args: argparse.Namespace) -> dict[str, Any]:
    """These conditions as fields of StepSettings. Raises UsageError."""
    try:
        l3_bytes = parse_limit(args.l3) if args.l3 else None
    except ValueError as problem:
        raise UsageError(f"--l3: {problem}", "sizes look like 32MiB") from None
    return {"workers": args.threads, "l3_bytes": l3_bytes, "onednn": args.onednn, "jit": args.jit}


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Which step, which device, and the graph of the model."""
    group = parser.add_argument_group("which step")
    group.add_argument(
        "--device", metavar="NAME", help="only devices whose name contains this, such as GPU:1"
    )
    group.add_argument("--tag", help="of several traced steps the one with this tag, file name or run folder")
    group.add_argument("--step", type=int, metavar="N", help="of several traced steps, this one")
    group.add_argument(
        "--graph",
        metavar="FILE",
        help=(
            "the model's graph, where the trace has none: GraphDef, MetaGraphDef (.meta), SavedModel, .pbtxt;"
            " adds op types and shapes"
        ),
    )
    add_model(group)


def add_model(group: argparse._ActionsContainer) -> None:
    """The file with the model's own names."""
    group.add_argument(
        "--model",
        metavar="FILE",
        help=(
            "the model's file (.keras, .h5, SavedModel, architecture JSON): rows get the names of its layers,"
            " what stood before the step those of its variables"
        ),
    )


def add_view(parser: argparse.ArgumentParser, *subjects: str) -> None:
    """How much to print, grouped by what, and these subjects in which form."""
    group = parser.add_argument_group("tables")
    add_full(group)
    add_top(group)
    group.add_argument(
        "--by",
        choices=("layer", "kind", "scope", "op", "node", "phase", "device"),
        help="group the table by this (default layer)",
    )
    group.add_argument(
        "--all",
        action="store_true",
        help="show every failure and every allocator, not only the one that matters most",
    )
    add_form(parser, *subjects)


def add_full(group: argparse._ActionsContainer) -> None:
    """Everything instead of one screen."""
    group.add_argument(
        "--full",
        action="store_true",
        help="print everything: all findings with their evidence, all tables (--all, --by and --top imply"
        " it)",
    )


def add_top(group: argparse._ActionsContainer) -> None:
    """How many rows a table has, where not as many as by default."""
    group.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"rows per table (default {View().top})",
    )


def add_form(
    parser: argparse.ArgumentParser, *subjects: str, group: str | None = "output"
) -> argparse._ActionsContainer:
    """As what to print these subjects: an option for each form that has one. Returns the group."""
    within = parser.add_argument_group(group) if group else parser
    exclusive = within.add_mutually_exclusive_group()
    for subject in subjects:
        for form, text in renderers.options(subject).items():
            exclusive.add_argument(
                f"--{form}",
                action="store_const",
                dest="form",
                const=form,
                default=renderers.DEFAULT,
                help=text,
            )
    return within


def hints(args: argparse.Namespace) -> Hints:
    """The hints as a value. Raises UsageError."""
    try:
        shape = parse_shape(args.input_shape) if args.input_shape else None
        limit = parse_limit(args.limit) if args.limit else None
    except ValueError as problem:
        raise UsageError(str(problem), "shapes look like 2x720x1280x9, sizes like 11GiB") from None
    tag, step, graph, model = (getattr(args, name, None) for name in ("tag", "step", "graph", "model"))
    return Hints(shape, args.batch, limit, tag=tag, step=step, graph=graph, model=model)


def render(content: Any, args: argparse.Namespace, *subjects: str) -> str:
    """The content in the form that was asked for, as the first of these subjects that the form shows; in the
    form of a terminal where it shows none.
    """
    asked: str = args.form
    form, subject = next(
        ((asked, subject) for subject in subjects if asked in renderers.forms(subject)),
        (renderers.DEFAULT, subjects[0]),
    )
    chosen = view(args) if form == renderers.DEFAULT else _asked(args)
    return renderers.render(content, subject, form, chosen)


def show(content: Any, args: argparse.Namespace, *subjects: str) -> None:
    """Print a report, or the content of these subjects, in the form that was asked for."""
    text = render(content, args, *(subjects or ("report",)))
    progress.done()
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError:
        sys.stdout.write(text.encode("ascii", "replace").decode())


def view(args: argparse.Namespace) -> View:
    """Colour only on a terminal and never against NO_COLOR; drawing letters only where the encoding has
    them.
    """
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    shown = _on(sys.stdout)
    return replace(_asked(args), width=shown.width, color=shown.color or forced, unicode=shown.unicode)


def short_page(report: Any, stream: TextIO) -> str:
    """One screen on a report, for a stream that belongs to somebody's program."""
    return renderers.render(report, "report", renderers.DEFAULT, _on(stream)).rstrip("\n")


def _on(stream: TextIO) -> View:
    """The width, colour and letters that a stream bears; 80 columns where it is no terminal."""
    plain = View(unicode=_can_draw(stream))
    if not stream.isatty():
        return plain
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return replace(plain, width=min(max(shutil.get_terminal_size().columns, 60), 160), color=color)


def _asked(args: argparse.Namespace) -> View:
    """What the command lets the user choose; a view's own defaults for the rest."""
    chosen = {
        field: getattr(args, option)
        for option, field in (("top", "top"), ("by", "by"), ("all", "all_moments"))
        if getattr(args, option, None) is not None
    }
    full = bool(getattr(args, "full", False) or chosen.get("by") or "top" in chosen)
    return View(**chosen, full=full)


def _can_draw(stream: TextIO) -> bool:
    try:
        "█▓…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
