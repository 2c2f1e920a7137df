"""Lines that sentences name: with their file, wherever several files were given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.test_what_code_shows import AROUND, FAILED
from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.patterns import regex

PACKAGE = Path(__file__).parents[2] / "tfmemlens"
_BARE = regex(r"\bline\"?\s*(?:f\")? ?\{[^}]*\.number\}")
"""`line {line.number}` in a sentence, which of two files is either's."""


@pytest.mark.parametrize("path", sorted((PACKAGE / "findings").rglob("*.py")), ids=lambda path: path.stem)
def test_no_sentence_names_a_line_without_its_file(path: Path) -> None:
    assert not _BARE.search(path.read_text(encoding="utf-8")), "write {line.place}"


def test_a_line_of_one_text_is_named_by_its_number() -> None:
    assert "one tape (line 1) is around the loop over micro-batches (line 3)" in said(
        pipeline.explain(AROUND + FAILED)
    )


def test_a_line_of_two_files_is_named_with_its_file(tmp_path: Path) -> None:
    log, other = tmp_path / "train.log", tmp_path / "other.log"
    log.write_text(AROUND + FAILED, encoding="utf-8")
    other.write_text("step 3 loss 0.2\n", encoding="utf-8")
    assert "one tape (line 1 of train.log) is around" in said(pipeline.explain([log, other]))


def said(report: Report) -> str:
    return " ".join(finding.headline for finding in report.findings)
