"""Lines that a terminal wrapped or chopped, and stamps that name processes: each at its edge."""

from __future__ import annotations

import pytest

from tfmemlens.readers.oom.cleaning import clean
from tfmemlens.readers.oom.prefixes import _tells_processes
from tfmemlens.readers.oom.wraps import LOST, PaneFrame, alike, chopped_at, with_loss, without_last_word


@pytest.mark.parametrize(
    "text, following, joined",
    [
        ("a bc", "de f", f"a {LOST} f"),
        ("a ", "de f", f"a {LOST} f"),
        ("a bc", "de", f"a {LOST} "),
        ("bc", "de f", f" {LOST} f"),
        ("bc ", " f", f"bc {LOST} f"),
        ("", " f", ""),
    ],
)
def test_words_beside_a_gap_are_none(text: str, following: str, joined: str) -> None:
    assert with_loss(text, following) == joined


def test_the_width_at_which_lines_were_cut() -> None:
    kinds = [letter * 60 for letter in "abcdefgh"]
    assert chopped_at([*kinds, "short"]) == 60
    assert chopped_at([line[:59] for line in kinds]) == 0
    assert chopped_at(kinds[:1] * 9) == 0
    assert chopped_at([]) == 0
    assert chopped_at([*kinds, "x" * 61]) == 0
    assert without_last_word("one two thr") == f"one two {LOST}"


@pytest.mark.parametrize(
    "frame, text, inside",
    [
        (PaneFrame(), " a  ", " a  "),
        (PaneFrame(padded=True), " a  ", " a"),
        (PaneFrame(boxed=True), "│ a b  │", "a b"),
        (PaneFrame(boxed=True), "│a b│", "a b"),
        (PaneFrame(boxed=True), "a b  ", "a b  "),
    ],
)
def test_what_stands_in_a_box(frame: PaneFrame, text: str, inside: str) -> None:
    assert frame.inside(text) == inside


@pytest.mark.parametrize(
    "values, tells",
    [
        (["0", "1"] * 3, True),
        (["0"] * 3 + ["1"] * 3, False),
        (["1"] * 3 + ["0"] * 3, True),
        (["0", "0", "1", "1", "0"], False),
        (["0", "0", "1", "1", "0", "1"], True),
        (["0"] * 9, False),
        (["0", "1", "2"] * 3, True),
        ([], False),
    ],
)
def test_numbers_that_come_again_and_again_are_processes(values: list[str], tells: bool) -> None:
    assert _tells_processes(values) is tells


def test_rows_that_differ_in_their_figures_begin_lines_of_their_own() -> None:
    row = "step {:04d} loss 0.4321 rss {:05d} MB gpu 2000 MB lr 0.001"
    rows = [row.format(at, 3 * at) for at in range(8)]
    assert [line.line.text for line in clean(enumerate(rows, 1))] == rows
    assert alike(rows[0], rows[1]) and not alike(rows[0], rows[0])
    assert not alike(rows[0], "step back and look at the loss of 3") and not alike(rows[0][:30], rows[1][:30])


@pytest.mark.parametrize(
    "row",
    [
        "{:4d}/6250 [=======>......................] - ETA: {:02d}s - loss: 0.5309 - accuracy: 0.1294",
        " {:4d}/9000 |######    | [12:{:02d}<23:41,  6.21it/s, loss=0.531]",
    ],
)
def test_bars_of_progress_are_lines_of_their_own_and_nothing_below_them_is_lost(row: str) -> None:
    rows = [row.format(at % 6250, at % 60) for at in range(20_100)]
    failed = "OOM when allocating tensor with shape[256,64,112,112] and type float"
    cleaned = [line.line.text for line in clean(enumerate([*rows, failed], 1))]
    assert len(cleaned) == len(rows) + 1 and cleaned[-1] == failed


def test_a_text_that_never_breaks_off_is_read_to_its_end() -> None:
    rows = [f"{chr(97 + at % 26) * 79}" for at in range(20_100)]
    cleaned = list(clean(enumerate([*rows, "OOM when allocating tensor with shape[3,4]"], 1)))
    assert sum(len(line.line.text) for line in cleaned) >= len(rows) * 79
    assert max(len(line.line.text) for line in cleaned) < 1 << 19
    assert cleaned[-1].line.text.endswith("shape[3,4]")
