"""Print a completion script for bash, zsh or tcsh."""

from __future__ import annotations

import argparse

from tfmemlens.errors import MissingExtra

EXAMPLES = """examples:
  tfmemlens completion bash > ~/.local/share/bash-completion/completions/tfmemlens
  tfmemlens completion zsh > ~/.zfunc/_tfmemlens"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(args: argparse.Namespace) -> int:
    from tfmemlens.cli import main

    try:
        import shtab
    except ImportError:
        raise MissingExtra("completion scripts need the package shtab", "pip install shtab") from None
    print(shtab.complete(main.parser(), args.shell), end="")
    return 0
