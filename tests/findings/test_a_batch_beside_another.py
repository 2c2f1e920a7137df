"""One line that says which batch goes well and which do not; what a first size is beside that."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.switches import settings


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("text", "works", "failed"),
    [
        (".batch(96); // a small one like 12 is ok, but 24, 48, 96 oom", "12", "24, 48, 96"),
        ("batch size 16 works, 32 fails", "16", "32"),
        ("batchsize 8 runs, but 16 or 32 not enough", "8", "16 or 32"),
    ],
)
def test_both_batches_are_read(text: str, works: str, failed: str) -> None:
    shown = list(settings(text))
    assert ("working_batch", works) in shown and ("failed_batch", failed) in shown


@pytest.mark.parametrize("text", ["batch 2 is ok but 3 epochs error later", "the batch norm v2 works"])
def test_other_numbers_are_no_batches(text: str) -> None:
    assert not [name for name, _ in settings(text) if name in ("working_batch", "failed_batch")]


IN_NODE = "node_modules/@tensorflow/tfjs-node-gpu\nawait model.fitDataset(data);\n"


def test_a_batch_that_works_is_what_a_program_of_javascript_takes() -> None:
    report = explained(IN_NODE + ".batch(96); // 12 is ok, but 24, 48 oom\n" + oom("160,96,56,56", "a/b"))
    first = report.actions[0].remedy
    assert first.slug == "smaller-batch" and "the batch of 12 that works (line 3)" in first.text
    assert "tidy" not in [each.remedy.slug for each in report.actions]
    without = explained(IN_NODE + oom("160,96,56,56", "a/b"))
    assert "tidy" in [each.remedy.slug for each in without.actions]


def test_a_first_size_beside_the_batch_counts_no_pieces() -> None:
    beside = explained("batch_size=96\n" + oom("160,96,56,56"))
    assert "counts pieces" not in " ".join(each.remedy.text for each in beside.actions)
    assert "find-the-feed" not in [each.remedy.slug for each in beside.actions]
    other = explained("batch_size=96\n" + oom("160,56,56,64"))
    assert "counts pieces" in " ".join(each.remedy.text for each in other.actions)
