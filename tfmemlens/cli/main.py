"""`tfmemlens`: pick the command, run it, turn our own errors into a sentence and an exit status.

The library lets its own defects raise; here, and beside a program that runs under watch, they become an
apology, unless TFMEMLENS_DEBUG=1 is set.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, NoReturn

import tfmemlens
from tfmemlens import cli, discovery, progress
from tfmemlens.errors import TfmemlensError, UsageError, apology
from tfmemlens.escaping import visible

OVERVIEW = ("-h", "--help", "--version")
"""What is answered without importing a command."""
EXAMPLES = """to begin with:
  tfmemlens explain train.log                            a run that failed: a log, a notebook, pasted text
  tfmemlens profile logdir                               a traced step: what holds memory, and when
  tfmemlens fit run_metadata.pb --limit 11GiB            the largest batch
  tfmemlens report train.log                             report.html, a page to send to a colleague
`tfmemlens COMMAND --help` shows more"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    _open_closed_streams()
    try:
        words = sys.argv[1:] if argv is None else argv
        if not words:
            overview().print_help(sys.stderr)
            return 2
        _check_command(words[0])
        args = (overview() if words[0] in OVERVIEW else parser(words[0])).parse_args(words)
        with progress.shown(sys.stderr, wanted=sys.stdout.isatty() and getattr(args, "form", "") != "json"):
            return _run(args)
    except TfmemlensError as problem:
        print(f"tfmemlens: {_told(problem)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough: `tfmemlens explain log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as defect:
        print(f"tfmemlens: {_told(apology(defect))}", file=sys.stderr)
        return 2


def _open_closed_streams() -> None:
    """A caller may have closed them (`>&-`): a file that is opened next must not take their numbers."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        name = ("stdin", "stdout", "stderr")[number]
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def _run(args: argparse.Namespace) -> int:
    """The command's exit status."""
    if not getattr(args, "limit_read", None):
        return int(args.run(args))
    from tfmemlens import pipeline

    with pipeline.limited(args.limit_read):
        return int(args.run(args))


def _told(problem: TfmemlensError) -> str:
    """The sentence and the hint; a file's name in them commands no terminal."""
    lines = (visible(line) for line in str(problem).split("\n"))
    return "\n".join(lines)


class _Missing(UsageError):
    """An argument that a command needs is not there: a mistyped option may be why."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence, as our own failures do, instead of listing every option first."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """What a command does not know is refused here, where its own help can be named."""
        try:
            known, rest = super().parse_known_args(args, namespace)
        except _Missing as problem:
            # From here on it is an answer: the parser of all commands leaves it alone.
            for word in self._unknown(args):
                self._refuse(word)
            raise UsageError(problem.sentence, problem.hint) from None
        if rest:
            self._refuse(rest[0])
        return known, rest

    def _unknown(self, words: Iterable[str]) -> list[str]:
        """The words that look like long options and that no option begins with."""
        options = re.findall(r"--[\w-]+", self.format_usage())
        before = itertools.takewhile(lambda word: word != "--", words)
        long = [word for word in before if word.startswith("--")]
        return [word for word in long if not any(each.startswith(word.partition("=")[0]) for each in options)]

    def _refuse(self, word: str) -> NoReturn:
        if not word.startswith("-"):
            written = word.endswith((".html", ".json", ".csv", ".md")) and "-o FILE" in self.format_usage()
            where = f"`-o {word}` says where to write; " if written else ""
            raise UsageError(
                f"{self.prog} has no use for {word!r}", f"{where}`{self.prog} --help` shows what it takes"
            )
        option = word.partition("=")[0]
        near = nearest(option, re.findall(r"--[\w-]+", self.format_usage()))
        advice = f"did you mean {near}? " if near else ""
        raise UsageError(
            f"{self.prog} has no option {option}", f"{advice}`{self.prog} --help` shows all options"
        )

    def error(self, message: str) -> NoReturn:
        match = re.fullmatch(r"(argument \S+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        choices = re.findall(r"[\w-]+", match[3]) if match else []
        near = nearest(match[2], choices) if match else ""
        kind = _Missing if "are required:" in message else UsageError
        raise kind(message, f"did you mean {near}?" if near else f"`{self.prog} --help` shows all options")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was most likely meant; empty where none comes near."""
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known))), "")


def _check_command(word: str) -> None:
    """Raises UsageError for what is no command: a slip of the finger, an option of none, or a file."""
    known = discovery.names(cli)
    if word in OVERVIEW or word in known:
        return
    if word.startswith("-"):
        raise UsageError(
            f"a command comes first, not {word}",
            "tfmemlens explain -" if word == "-" else "`tfmemlens --help` lists the commands",
        )
    if os.path.exists(word):
        raise UsageError(f"{word} is a file, not a command", f"tfmemlens explain {word}")
    near = nearest(word, known)
    raise UsageError(
        f"there is no command {word!r}", f"did you mean {near}?" if near else f"one of {', '.join(known)}"
    )


def overview() -> argparse.ArgumentParser:
    """The command line with the names and summaries of its commands, none of which is imported."""
    root, commands = _root()
    for name in discovery.names(cli):
        commands.add_parser(name, help=_summary(discovery.documentation(cli, name)))
    return root


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole command line, made of the commands that there are; for one command, just that one: the others
    take a while to import.
    """
    root, commands = _root()
    add_commands(commands, cli, only)
    return root


def add_commands(
    commands: argparse._SubParsersAction[Any], package: ModuleType, only: str | None = None
) -> None:
    """Add the commands that a package holds, one a module; of them that one alone, if it is among them."""
    for name, module in discovery.plugins(package, "add_arguments", "run", only=only).items():
        doc = (module.__doc__ or "").strip()
        sub = commands.add_parser(
            name,
            help=_summary(doc),
            description=_wrapped(doc),
            epilog=getattr(module, "EXAMPLES", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(run=module.run)
        module.add_arguments(sub)


def _root() -> tuple[argparse.ArgumentParser, argparse._SubParsersAction[_Parser]]:
    """The command line before it has commands, and where they are added."""
    root = _Parser(
        "tfmemlens",
        description="Why did TensorFlow run out of memory, which of your layers holds it, and what helps?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"tfmemlens {tfmemlens.__version__}")
    return root, root.add_subparsers(title="commands", metavar="COMMAND")


def _summary(doc: str) -> str:
    return doc.split("\n")[0]


def _wrapped(doc: str) -> str:
    width = max(shutil.get_terminal_size().columns - 2, 20)
    return "\n\n".join(textwrap.fill(" ".join(part.split()), width) for part in doc.split("\n\n"))
