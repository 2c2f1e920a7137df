"""Nothing from the input commands a terminal, a sheet or a document."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tfmemlens import api, renderers
from tfmemlens.cli.main import main
from tfmemlens.escaping import in_json, inert, visible
from tfmemlens.model.report import Report
from tfmemlens.renderers.terminal._blocks import as_text, columns, paragraph, shorten, styled
from tfmemlens.renderers.view import View

COMMANDS = [
    "\x1bc",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnol",
    "a\u2028b",
    "\ufdd0red\ufdd1",
    "\x00",
]
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef]")
LOG = (SAMPLES / "oom_log" / "1.13-unet-report.txt").read_text(encoding="utf-8")


def test_a_command_is_written_out() -> None:
    assert visible("a\x1b[2Jb") == r"a\x1b[2Jb"
    assert visible("\u202eabc\u2069") == r"\u202eabc\u2069"
    assert visible("plain, größer, 長い, 🙂") == "plain, größer, 長い, 🙂"


@given(st.text())
def test_twice_is_once(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert not _UNSAFE.search(visible(text))


@given(st.text(), st.booleans())
def test_only_our_own_styles_reach_the_terminal(text: str, color: bool) -> None:
    lines = [
        styled(text, "red", color),
        f"  {styled(text, 'color-71', color)} {text}",
        shorten(text, 9),
        *paragraph(text, 20),
        *columns([[text, "x"]]),
    ]
    page = as_text(lines, View(color=color))
    ours = re.sub("\x1b\\[(?:0|31|38;5;71)m", "", page) if color else page
    assert not _UNSAFE.search(ours.replace("\n", ""))


@cache
def commanding(command: str) -> Report:
    return api.explain(LOG.replace("shared_model", f"shared{command}model"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["terminal", "markdown", "json", "speedscope"])
@pytest.mark.parametrize("full", [False, True])
def test_no_name_of_a_log_commands(command: str, form: str, full: bool) -> None:
    page = renderers.render(commanding(command), "report", form, View(full=full))
    assert not _UNSAFE.search(page.replace("\n", ""))


@given(st.text())
def test_a_json_text_commands_nothing_and_says_the_same(text: str) -> None:
    written = in_json(json.dumps([text], indent=1, ensure_ascii=False))
    assert json.loads(written) == [text]
    assert not _UNSAFE.search(written.replace("\n", ""))


@pytest.mark.parametrize("command", ["\x1bc", "\u202egnol"])
def test_no_name_of_a_file_commands(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"train{command}.log"
    file.write_text(LOG, encoding="utf-8")
    assert main(["explain", str(file)]) == 0
    assert main(["explain", f"{file}x"]) == 2
    said = capsys.readouterr()
    assert not _UNSAFE.search((said.out + said.err).replace("\n", ""))


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("=1+1", "'=1+1"), ("@sum", "'@sum"), ("-x", "'-x"), ("+x", "'+x"), ("conv/x", "conv/x"), ("", "")],
)
def test_a_cell_is_no_formula(cell: str, shown: str) -> None:
    assert inert(cell) == shown


def test_profile_writes_inert_cells_unless_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.pb"
    source = (SAMPLES / "run_metadata" / "1.10-lenet.pb").read_bytes()
    trace.write_bytes(source.replace(b"conv1/Conv2D", b"=onv1/Conv2D"))
    nodes = {}
    for options in ([], ["--csv-raw"]):
        assert main(["profile", str(trace), "--csv", "-", *options]) == 0
        rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
        nodes[len(options)] = {row["node"] for row in rows}
    assert "'=onv1/Conv2D" in nodes[0] and "=onv1/Conv2D" not in nodes[0]
    assert "=onv1/Conv2D" in nodes[1]
