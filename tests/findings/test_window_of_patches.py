"""The window of extract_patches, by the name that the program has for it."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline

FAILED = oom("32,121,121,675").partition("\n")[0] + " [Op:ExtractImagePatches]\n"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("WINDOW = 15", "WINDOW"),
        ("python run.py --window 15 --batch 32", "--window"),
        ("python run.py --patch-size=15", "--patch-size"),
        ("p = tf.image.extract_patches(x, sizes=[1, 15, 15, 1], strides=[1, 2, 2, 1])", "sizes"),
    ],
)
def test_the_text_states_the_window(said: str, name: str) -> None:
    report = pipeline.explain(f"{said}\n{FAILED}")
    assert "15 x 15 pixels of 3 channels" in report.verdict and "225 copies" in report.verdict
    smaller = next(action.remedy for action in report.actions if action.remedy.slug == "smaller-window")
    named = name.removeprefix("--").replace("-", "_")
    assert named in smaller.text.replace("-", "_") and "15 -> 7" in smaller.text


@pytest.mark.parametrize("said", ["batch = 15", "WINDOW = 16", "--epochs 15", "My card has 15 GB"])
def test_other_numbers_are_no_window(said: str) -> None:
    report = pipeline.explain(f"{said}\n{FAILED}")
    assert "15 x 15" not in report.verdict
    assert all(action.remedy.slug != "smaller-window" for action in report.actions)
