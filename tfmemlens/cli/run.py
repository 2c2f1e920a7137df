"""Run a program unchanged; if it runs out of memory, explain it below its traceback and keep the evidence.

Everything after the options is the command. Its input, output, signals and exit status pass through; nothing
is installed in its environment. A run that ends well leaves nothing behind, unless --out names a folder.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING

from tfmemlens.cli import _options
from tfmemlens.errors import UsageError, apology

if TYPE_CHECKING:  # nothing is read before the program has ended
    from tfmemlens.model.report import Report

EXAMPLES = """examples:
  tfmemlens run -- python train.py --batch 64
  tfmemlens run --trace -- python train.py                        # also steps, layers, who holds tensors
  tfmemlens run --out evidence -- mpirun -np 2 python train.py    # always keeps log.txt and run.json
  tfmemlens explain evidence                                      # the same page again, --full for all of it
exit status: the program's own, 128 + N when signal N killed it; 126 it cannot be run, 127 it does not exist,
2 usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="keep the bundle here whatever happens (default: ./tfmemlens-run-<time>, after a failure only)",
    )
    parser.add_argument(
        "--trace",
        metavar="N",
        nargs="?",
        const=0,
        type=_interval,
        help="let the program record itself: its layers and variables, each N-th step (default: as many as"
        " cost"
        " little), the tensors that Python holds when it fails",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments, after --")


def _interval(text: str) -> int:
    """Each how many steps. Raises ArgumentTypeError."""
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of steps; the program comes after --")


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command to run", "tfmemlens run -- python train.py")
    if os.name != "posix":
        raise UsageError(
            "tfmemlens run needs Linux or macOS", "python train.py > train.log 2>&1, then explain train.log"
        )
    from tfmemlens.use_cases import run as use_case

    try:
        outcome = use_case.run(command, args.out, args.trace is not None, args.trace or None)
    except OSError as error:
        return _not_started(command, error)
    lines = [f"tfmemlens: {problem}" for problem in outcome.problems]
    if outcome.report:
        lines = ["", _page(outcome.report), *lines]
    if outcome.folder and (outcome.report or outcome.problems):
        where = shlex.quote(args.out or os.path.relpath(outcome.folder))
        page = f", {where}/report.html" if os.path.exists(os.path.join(outcome.folder, "report.html")) else ""
        lines.append(f"tfmemlens: this is kept: `tfmemlens explain {where}`{page}")
    try:
        for line in lines:
            print(line, file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # the terminal was closed
    return outcome.exit_status


def _page(report: Report) -> str:
    """The short page; a defect of ours is no end of the user's program."""
    try:
        return _options.short_page(report, sys.stderr)
    except Exception as defect:
        return f"tfmemlens: {apology(defect)}"


def _not_started(command: list[str], error: OSError) -> int:
    """A shell's exit status, and what may be meant."""
    name = command[0]
    print(f"tfmemlens: {name} cannot be run: {error.strerror or error}", file=sys.stderr)
    script = f"tfmemlens run -- python {shlex.join(command)}" if name.endswith(".py") else ""
    if isinstance(error, FileNotFoundError):
        usual = "check the name and PATH; name the interpreter of your training environment"
    else:
        usual = "is it a program, and executable?"
    print(f"  hint: {script if script and os.path.exists(name) else usual}", file=sys.stderr)
    return 127 if isinstance(error, FileNotFoundError) else 126
