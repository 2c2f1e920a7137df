"""Tables of budgets, of a fit and of a comparison, to the letter."""

from __future__ import annotations

import pytest

from tfmemlens import renderers
from tfmemlens.model.budget import Budget
from tfmemlens.model.difference import ComparedItem
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import BatchPrediction, Fit
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.renderers.terminal import _fit, difference
from tfmemlens.renderers.view import View
from tfmemlens.units import GIB, KIB, MIB

WIDE = View(width=80)
BUDGETS = (
    Budget("peak", 8 * GIB, 7 * GIB, 7 * GIB),
    Budget("encoder/*", 64 * MIB, 70 * MIB, 80 * MIB, "3 layers"),
    Budget("head", MIB, KIB, None),
)


def test_budgets_as_a_table() -> None:
    assert renderers.render(BUDGETS, "budgets").splitlines() == [
        "  within     peak                     7.00 GiB   of 8.00 GiB",
        "  OVER       encoder/*  70.00 MiB to 80.00 MiB  of 64.00 MiB  3 layers",
        "  undecided  head             at least 1.0 KiB   of 1.00 MiB",
    ]


def test_budgets_as_junit() -> None:
    case, end = '  <testcase classname="tfmemlens.check"', "</testcase>"
    lines = renderers.render(BUDGETS, "budgets", "junit").splitlines()
    assert lines[1:] == [
        '<testsuite name="tfmemlens" tests="3" failures="1" errors="1">',
        f'{case} name="peak"/>',
        f'{case} name="encoder/*"><failure message="needs 70.00 MiB to 80.00 MiB of 64.00 MiB: 3 layers"/>'
        + end,
        f'{case} name="head"><error message="needs at least 1.0 KiB of 1.00 MiB"/>{end}',
        "</testsuite>",
    ]


def test_budgets_as_annotations() -> None:
    assert renderers.render(BUDGETS, "budgets", "github").splitlines() == [
        "::error title=tfmemlens::encoder/* needs 70.00 MiB to 80.00 MiB of 64.00 MiB",
        "::warning title=tfmemlens::head needs at least 1.0 KiB of 1.00 MiB",
    ]


# ------------------------------------------------------------------ what changed


def item(before: int | None, after: int | None, name: str = "net/a", was: str | None = None) -> ComparedItem:
    return ComparedItem(
        None if before is None else was or name, None if after is None else name, before or 0, after or 0
    )


@pytest.mark.parametrize(
    "change, cells",
    [
        (item(MIB, 3 * MIB), ["+2.00", "MiB", "1.00", "MiB", "->", "3.00", "MiB", "net/a"]),
        (item(3 * MIB, MIB), ["-2.00", "MiB", "3.00", "MiB", "->", "1.00", "MiB", "net/a"]),
        (item(None, MIB), ["+1.00", "MiB", "-", "->", "1.00", "MiB", "net/a"]),
        (item(MIB, None), ["-1.00", "MiB", "1.00", "MiB", "->", "-", "net/a"]),
        (
            item(0, MIB, was="net/b"),
            ["+1.00", "MiB", "0", "B", "->", "1.00", "MiB", "net/a", "(was", "net/b)"],
        ),
        (
            item(0, MIB, name=""),
            ["+1.00", "MiB", "0", "B", "->", "1.00", "MiB", "(no", "layer", "in", "the", "name)"],
        ),
    ],
)
def test_a_row_of_what_changed(change: ComparedItem, cells: list[str]) -> None:
    (_, heading, line) = difference._table("by layer", (change,), WIDE)
    assert heading == "BY LAYER" and line.split() == cells


def test_only_what_changed_is_shown_and_so_many_rows() -> None:
    changes = (item(MIB, MIB), item(0, 5 * MIB, "a"), item(0, 2 * MIB, "b"), item(2 * MIB, 0, "c"))
    lines = difference._table("by layer", changes, View(width=80, top=1))
    assert lines[2].endswith("a") and lines[3] == "  … 2 more with 0 B"
    assert len(difference._table("by layer", changes, View(width=80, top=3))) == 5
    assert difference._table("by layer", changes[:1], WIDE) == []


@pytest.mark.parametrize("width, length", [(80, 50), (70, 40), (50, 20), (42, 12), (30, 12)])
def test_a_name_has_what_the_figures_leave(width: int, length: int) -> None:
    (*_, line) = difference._table("by layer", (item(0, MIB, "n" * 90),), View(width=width))
    assert len(line.split()[-1]) == length


# ------------------------------------------------------------------ a fit

FIT = Fit(
    8, "--batch", 100 * MIB, 16, fixed_bytes=20 * MIB, per_sample_bytes=5 * MIB, limit_bytes=100 * MIB,
    largest_batch=16, constraint="activations", runner_up="weights", pixel_bytes=50 * MIB,
    sequence_bytes=25 * MIB,
    savings=(
        Saving("x", SavingBasis.REPLAY, 123_456_789, 0, 0, Certainty.ESTIMATE, "do so", 8, 31),
        Saving("y", SavingBasis.LIST, 123_456_789, 0, 0, Certainty.ESTIMATE, "or so", 8),
    ),
    predictions=(
        BatchPrediction(8, 60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB),
        BatchPrediction(16, 100 * MIB, 94 * MIB, 106 * MIB),
        BatchPrediction(17, 105 * MIB, 99 * MIB, 111 * MIB),
    ),
    checks=(BatchPrediction(4, 110 * MIB, 0, 0, 100 * MIB), BatchPrediction(4, 99 * MIB, 0, 0, 100 * MIB)),
)  # fmt: skip


def test_a_fit_page() -> None:
    lines = [" ".join(line.split()) for line in _fit.page(FIT, View(width=100))]
    assert lines == [
        "", "WHAT GROWS, AT BATCH 16",
        "with the batch 80.00 MiB 80 % 5.00 MiB per sample",
        "not at all 20.00 MiB 20 % weights, slots, their gradients, patches",
        "with the image 50.00 MiB 50 % height x width; most of it is in the batch, too",
        "with the length 25.00 MiB 25 % most of it is in the batch, too",
        "The step was measured at batch 8, as --batch says; activations hold most, next weights.",
        "", "THE PEAK AT OTHER BATCHES",
        "batch 8 60.00 MiB measured fits",
        "batch 16 100.00 MiB 94.00 MiB to 106.00 MiB may fit",
        "batch 17 105.00 MiB 99.00 MiB to 111.00 MiB does not fit",
        "", "CHECKED AGAINST OTHER STEPS",
        "batch 4 predicted 110.00 MiB measured 100.00 MiB +10.0 %",
        "batch 4 predicted 99.00 MiB measured 100.00 MiB -1.0 %",
        "", "WHAT A CHANGE WOULD BUY",
        "do so: saves about 118 MiB at batch 8; largest batch then 31",
        "or so: saves about 120 MiB at batch 8",
    ]  # fmt: skip


def test_a_fit_of_a_failure_bounds() -> None:
    from tfmemlens.values import replace

    bound = replace(FIT, certainty=Certainty.BOUND, constraint="the workspace", runner_up=None, pixel_bytes=0,
                    sequence_bytes=0, checks=())  # fmt: skip
    text = "\n".join(" ".join(line.split()) for line in _fit.page(bound, WIDE))
    assert "The step died at batch 8, as --batch says; the workspace holds most." in text
    assert "batch 8 60.00 MiB at least, as it died may fit" in text
    assert "batch 17 105.00 MiB at least does not fit" in text
    assert "largest batch then at most 31" in text
    assert "image" not in text and "length" not in text and "CHECKED" not in text
    predicted = replace(
        FIT, predicted=True, constraint=None, limit_bytes=None, savings=(), batch_source="the graph's inputs"
    )
    text = "\n".join(" ".join(line.split()) for line in _fit.page(predicted, WIDE))
    said = "The step was predicted at batch 8, as the first dimension of the graph's inputs says."
    assert said in text.replace("\n", " ")
    assert "fit" not in text.split("OTHER BATCHES")[1] and "BUY" not in text


@pytest.mark.parametrize(
    "what, plural",
    [
        ("activations", True),
        ("the workspace", False),
        ("what has no name", False),
        ("what are so many layers", False),
    ],
)
def test_one_or_many(what: str, plural: bool) -> None:
    assert _fit._plural(what) is plural
