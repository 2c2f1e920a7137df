"""A MemoryError at a line that makes an array: what its sides and its type tell."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained


def failing(line: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "rnn.py", line 152, in embed\n    {line}\nMemoryError\n'
    )


def test_one_hot_rows_are_made_of_indices() -> None:
    report = explained(failing("data = np.zeros((len(data_), len(vocab)))"))
    assert "one array of `len(data_)` x `len(vocab)` numbers was to be made" in report.verdict
    first, second = (each.remedy for each in report.actions[:2])
    assert first.text.startswith("keep the indices") and second.slug == "narrow-array"


def test_a_type_that_is_given_is_not_advised() -> None:
    line = "X = np.zeros((len(sentences), maxlen, len(chars)), dtype=np.bool)"
    slugs = [
        each.remedy.slug for each in explained(f"it fails on this line:\n\n{line}\n\nMemoryError\n").actions
    ]
    assert slugs[0] == "map-the-file" and "narrow-array" not in slugs


def test_sides_that_the_text_states_are_computed() -> None:
    line = "x = np.zeros((docs, longest, width), dtype=np.float32)"
    text = f"docs = 400000\nlongest = 100\nwidth = 300\n{failing(line)}"
    assert "400,000 x 100 x 300 as float32 are 45 GiB" in explained(text).verdict


@pytest.mark.parametrize("line", ["x = np.zeros(10)", "x = load(path)", "x = np.zeros((3, 4))"])
def test_other_lines_are_not(line: str) -> None:
    assert "was to be made" not in explained(failing(line)).verdict


def test_a_batch_goes_before_images_where_there_is_one_to_halve() -> None:
    text = f"IMG_SHAPES: [256,256,3]\nBATCH_SIZE: 16\n{oom('16,257,257,32', 'net/xconv2/Conv2D')}"
    assert explained(text).actions[0].remedy.text.startswith("halve the batch")
    one = f"IMG_SHAPES: [1024,1024,3]\nBATCH_SIZE: 1\n{oom('1,1025,1025,32', 'net/xconv2/Conv2D')}"
    assert not explained(one).actions[0].remedy.text.startswith("halve the batch")
