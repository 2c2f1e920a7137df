"""`%load_ext tfmemlens`: the magics `%memlens` and `%%memlens` of IPython and Jupyter.

    %memlens train.log --limit 11GiB      explain a file; without one the last traceback
    r = %memlens train.log                the same as a value
    %%memlens --batch 32                  run this cell, and explain its failure for memory

A cell that fails under `%%memlens` fails as without it, so that what stands below is not run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from typing import Any, NoReturn

from tfmemlens.api import cells, explain
from tfmemlens.api.answers import Explanation
from tfmemlens.errors import TfmemlensError, UsageError
from tfmemlens.recording.beside.kept_log import KeptLog
from tfmemlens.recording.in_program import text_of
from tfmemlens.recording.printed import Printed

NAME = "memlens"


class SaidAlready(Exception):
    """Ends a cell with one line: what went wrong stands above."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints of it."""
        return [str(self)]


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext tfmemlens`."""

    def memlens(line: str, cell: str | None = None) -> Explanation | None:
        """Explain why memory ran out.

        %memlens FILE …     explain logs, traces or models; without one the last traceback
        %%memlens           run the cell, and explain its failure with all that it printed

        Options: --batch N, --limit 11GiB, --input-shape 2x720x1280x9, --trace FILE.
        """
        try:
            if cell is None:
                return _explained(shell, line)
            _run(shell, line, cell)
            return None
        except TfmemlensError as problem:
            raise SaidAlready(f"tfmemlens: {problem}") from None
        except ValueError as problem:
            raise SaidAlready(f"tfmemlens: {problem}") from None

    shell.register_magic_function(memlens, "line_cell", NAME)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext tfmemlens`."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(NAME, None)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "%memlens FILE --batch N --limit 11GiB --input-shape 2x720x1280x9")


def _options(line: str) -> dict[str, Any]:
    """The files, and the options as `explain` takes them. Raises UsageError."""
    parser = _Parser(NAME, add_help=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--trace", action="append", default=[])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--limit")
    parser.add_argument("--input-shape")
    return vars(parser.parse_args(shlex.split(line)))


def _explained(shell: Any, line: str) -> Explanation:
    options = _options(line)
    files = options.pop("files") or [_last_traceback()]
    return _shown(shell, explain(files, **options))


def _run(shell: Any, line: str, cell: str) -> None:
    options = _options(line)
    if options.pop("files"):
        raise UsageError("%%memlens runs a cell, and reads no file", "%memlens FILE explains a file")
    with tempfile.TemporaryDirectory(prefix="tfmemlens-") as folder:
        log = KeptLog(os.path.join(folder, "cell.txt"))
        with Printed(log):
            result = shell.run_cell(cell, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            log.flush()
            log.add(2, text_of(error).encode("utf-8", "replace"))
        log.close()
        if error is None:
            return
        text = log.text()
    name = type(error).__name__
    try:
        report = explain(text, **options)
    except TfmemlensError:
        _fail_as_before(error, name)
    if not report.case.capture.incidents:
        _fail_as_before(error, name)
    _shown(shell, report, now=True)
    _fail_as_before(error, f"{name}, explained above")


def _fail_as_before(error: BaseException, said: str) -> NoReturn:
    """End the cell with the error that it has shown already, of which IPython then prints a line. It shows
    an error of syntax in its own way, which would be the whole once more.
    """
    if isinstance(error, SyntaxError):
        raise SaidAlready(said) from error
    error._render_traceback_ = lambda: [said]  # type: ignore[attr-defined]
    raise error


def _last_traceback() -> str:
    """What Python said last. Raises UsageError where nothing has failed."""
    error = getattr(sys, "last_value", None)
    if error is None:
        raise UsageError("nothing has failed yet", "%memlens FILE explains a file")
    return text_of(error)


def _shown(shell: Any, report: Explanation, now: bool = False) -> Explanation:
    """A notebook shows the value of a cell as a card; a terminal prints the page."""
    if getattr(shell, "kernel", None) is None:
        print(report)  # noqa: T201 - what a magic in a terminal is for
    elif now:
        cells.show(report)
    return report
