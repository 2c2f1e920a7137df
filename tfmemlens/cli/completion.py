"""Print a completion script for bash, zsh, tcsh or fish."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tfmemlens.errors import MissingExtra

EXAMPLES = """examples:
  tfmemlens completion bash > ~/.local/share/bash-completion/completions/tfmemlens
  tfmemlens completion zsh > ~/.zfunc/_tfmemlens
  tfmemlens completion fish > ~/.config/fish/completions/tfmemlens.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish"))


def run(args: argparse.Namespace) -> int:
    from tfmemlens.cli import main

    if args.shell == "fish":
        print("\n".join(_fish(main.parser())))
        return 0
    try:
        import shtab
    except ImportError:
        raise MissingExtra("completion scripts need the package shtab", "pip install shtab") from None
    print(shtab.complete(main.parser(), args.shell), end="")
    return 0


def _fish(root: argparse.ArgumentParser) -> Iterator[str]:
    """A line for each command and each option, with its choices and its help."""
    (commands,) = (each for each in root._actions if isinstance(each, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in commands._choices_actions}
    for name, parser in commands.choices.items():
        yield f"complete -c {root.prog} -n __fish_use_subcommand -f -a {name} -d {_quoted(helps[name])}"
        within = f"complete -c {root.prog} -n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:
            words = [
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in action.option_strings
            ]
            if action.choices:
                words.append(f"-x -a {_quoted(' '.join(map(str, action.choices)))}")
            elif words and action.nargs != 0:
                words.append("-r")
            if words:
                yield " ".join([within, *words, f"-d {_quoted(action.help)}"])


def _quoted(text: str | None) -> str:
    """A text as one word of fish: between single quotes only these two letters need a backslash."""
    plain = " ".join((text or "").replace("%%", "%").split())
    return "'" + plain.replace("\\", "\\\\").replace("'", "\\'") + "'"
