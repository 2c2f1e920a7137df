"""`tfmemlens`: pick the command, run it, turn our own errors into a sentence and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import tfmemlens
from tfmemlens import cli, discovery, progress
from tfmemlens.errors import TfmemlensError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        words = sys.argv[1:] if argv is None else argv
        args = parser(words[0] if words else None).parse_args(words)
        with progress.shown(sys.stderr, wanted=sys.stdout.isatty() and not getattr(args, "json", False)):
            return int(args.run(args))
    except TfmemlensError as problem:
        print(f"tfmemlens: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough: `tfmemlens explain log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole command line, made of the commands that there are; for one command, just that one: the others take a while to import."""
    root = argparse.ArgumentParser("tfmemlens", description="Why did TensorFlow run out of memory, which of your layers holds it, and what helps?")
    root.add_argument("--version", action="version", version=f"tfmemlens {tfmemlens.__version__}")
    commands = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in discovery.plugins(cli, "add_arguments", "run", only=only).items():
        doc = (module.__doc__ or "").strip()
        sub = commands.add_parser(
            name, help=doc.split("\n")[0], description=doc, epilog=getattr(module, "EXAMPLES", None), formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return root
