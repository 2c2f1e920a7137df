"""What terminals, loggers, mailers and web pages do to a log; each takes lines and gives the bytes of a
file.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

Mangler = Callable[[list[str]], bytes]


def _text(lines: list[str]) -> bytes:
    return "\n".join(lines).encode()


def prefixed(prefix: str) -> Mangler:
    return lambda lines: _text([prefix + line for line in lines])


def wrapped(width: int) -> Mangler:
    """A terminal that breaks at a column, in the middle of words and numbers; what is copied from it has no
    escape codes.
    """
    return lambda lines: _text(
        [line[at : at + width] for line in map(_seen, lines) for at in range(0, max(len(line), 1), width)]
    )


def _seen(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)


def _docker(lines: list[str]) -> bytes:
    return _text(
        [
            f"I0309 12:51:51.{index % 1000:06d} 140505975940928 run_docker.py:247] {line.strip()}"
            for index, line in enumerate(lines)
        ]
    )


def _ray(lines: list[str]) -> bytes:
    return _text(
        [f"{index + 71}[2m[36m(MeshHostWorker pid=489)[0m {line}" for index, line in enumerate(lines)]
    )


def _ansi(lines: list[str]) -> bytes:
    return _text([f"\x1b[31m{line[:7]}\x1b[0m\x1b[1m{line[7:]}\x1b[0m\x1b[K" for line in lines])


def _progress(lines: list[str]) -> bytes:
    """A bar that ended without a newline before every stamped line."""
    return _text(
        [
            f" 12/100 [==>.......] - ETA: 12s - loss: 7711.7482{line}" if re.match(r"20\d\d-", line) else line
            for line in lines
        ]
    )


def _ranks(lines: list[str]) -> bytes:
    """Two processes print the same at the same time."""
    return _text([f"[1,{rank}]<stderr>:{line}" for line in lines for rank in (0, 1)])


def _notebook(lines: list[str]) -> bytes:
    half = len(lines) // 2
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": [line + "\n" for line in lines[:half]]},
        {"output_type": "error", "ename": "ResourceExhaustedError", "evalue": "", "traceback": lines[half:]},
    ]
    return json.dumps(
        {
            "cells": [{"cell_type": "code", "source": ["train()"], "outputs": outputs, "metadata": {}}],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ).encode()


MANGLERS: dict[str, Mangler] = {
    "as it was": _text,
    "crlf": lambda lines: "\r\n".join(lines).encode(),
    "utf-16": lambda lines: "\n".join(lines).encode("utf-16"),
    "utf-8 bom": lambda lines: b"\xef\xbb\xbf" + _text(lines),
    "stray bytes": lambda lines: b"\xff\xfe\xfa broken \x80\x81\n"[2:] + _text(lines) + b"\n\x80\x99",
    "mail quote": prefixed("> "),
    "double quote": prefixed("> > "),
    "code block by four spaces": prefixed("    "),
    "fence": lambda lines: _text(["Here is my log, please help:", "```bash", *lines, "```", "thanks"]),
    "comment marks": prefixed("# "),
    "html entities": lambda lines: _text([html.escape(line) for line in lines]),
    "html page": (
        lambda lines: (
            "<html><body><pre>" + "<br/>\n".join(html.escape(line) for line in lines) + "</pre></body></html>"
        ).encode()
    ),
    "lost indentation": lambda lines: _text([line.strip() for line in lines]),
    "mpirun": prefixed("[1,15]<stderr>:"),
    "docker runner": _docker,
    "ray": _ray,
    "kubernetes": prefixed("2022-03-09T12:51:51.361123456Z stderr F "),
    "github actions": prefixed("2022-03-09T12:51:51.3611234Z "),
    "docker compose": prefixed("worker_1  | "),
    "srun -l": prefixed("3: "),
    "python logging": prefixed("2022-03-09 12:51:51,361 - trainer - ERROR - "),
    "airflow": prefixed("[2020-05-12 10:00:00,123] {bash_operator.py:128} INFO - "),
    "one letter": prefixed("E "),
    "colours": _ansi,
    "progress bars": _progress,
    "wrapped at 105": wrapped(105),
    "wrapped at 80": wrapped(80),
    "wrapped at 222": wrapped(222),
    "two ranks": _ranks,
    "notebook": _notebook,
    "told twice": lambda lines: _text(
        [
            *lines,
            "",
            "During handling of the above exception, another exception occurred:",
            "",
            *[line for line in lines if not re.match(r"20\d\d-|[IWEF]\d{4} ", line)],
        ]
    ),
}
