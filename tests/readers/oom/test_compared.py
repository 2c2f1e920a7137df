"""What a post compares in its own words."""

import pytest

from tfmemlens.model.capture import ComparedWays
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.contrasts import ContrastCollector


def _compared(*lines: str) -> ComparedWays | None:
    collector = ContrastCollector()
    for number, text in enumerate(lines, 1):
        collector.observe(Line(number, text))
    return collector.compared()


@pytest.mark.parametrize(
    ("works", "fails", "lines"),
    [
        (
            "If I use the Euclidean metric everything works fine.",
            "However, if I use a different metric, I run out of memory.",
            ("If I use the Euclidean metric everything works fine. However, if I use a different metric, I"
             " run out of memory.",),
        ),
        (
            "when we use the eager loader all works fine,",
            "but when we use the lazy one RAM keeps growing.",
            ("Here when we use the eager loader all works fine, but when we use the lazy one RAM keeps"
             " growing.",),
        ),
        ("with swish", "using mish units", ("RAM went up when using mish units, instead of swish.",)),
        (
            "and `Brent` used just 200 MB.",
            "Here `Powell` caused an out of memory error",
            ("Here `Powell` caused an out of memory error and `Brent` used just 200 MB.",),
        ),
    ],
)  # fmt: skip
def test_two_ways_are_compared(works: str, fails: str, lines: tuple[str, ...]) -> None:
    found = _compared(*lines)
    assert found is not None
    assert works.strip(" ,") in f"Here {found.works}"
    assert found.fails.strip(" ,") in fails or fails.strip(" ,") in found.fails


def test_the_one_number_that_is_larger_where_it_fails_is_named() -> None:
    found = _compared(
        "With 60 files and validate on 4 it runs fine.", "With 40 files and validate on 20 it is OOM."
    )
    assert found is not None
    assert found.larger == "validate on 4 -> 20"


def test_the_line_of_code_that_differs_is_found() -> None:
    found = _compared(
        "This works:", "```python", "s = solver(", "    x, y, size=8", ")", "```",
        "This runs out of memory:", "```python", "s = solver(", "    x, y, metric=Angle(), size=8",
        ")", "```",
    )  # fmt: skip
    assert found is not None
    assert found.code == Line(10, "    x, y, metric=Angle(), size=8")
    assert (found.works_line.number, found.fails_line.number) == (1, 7)


@pytest.mark.parametrize(
    "lines",
    [
        ("It trained fine at first with my data.", "With my data it ran out of memory at night."),
        ("Training works fine with my images.", "When I save with h5py it runs out of memory."),
        ("# With A it works", "# With B it runs out of memory"),
        ("With a batch of 8 it works.", "With a batch of 16 I get an OOM."),
        ("Does it work with A?", "With B it runs out of memory."),
        ("The examples work.", "Others get killed no matter how I run them."),
        ("I used a test with one chain, which works.", "I tried to pinpoint the leak using a profiler."),
        (
            "I ran it using an L4 and get OOM errors.",
            "XLA has some guards that attempt to keep constant folding from taking too long, if it can.",
        ),
        ("With A there is a constant increase.", "With B it runs out of memory."),
    ],
)
def test_what_is_no_comparison(lines: tuple[str, ...]) -> None:
    assert _compared(*lines) is None


def test_a_constant_use_of_memory_works() -> None:
    found = _compared("With A memory stays constant.", "With B it runs out of memory.")
    assert found is not None and "constant" in found.works


def test_a_number_of_things_is_named_by_them_and_by_no_conjunction() -> None:
    found = _compared(
        "With one server and 4 workers it runs fine.", "With one server and 16 workers in 17 hosts it is OOM."
    )
    assert found is not None
    assert found.larger == "worker 4 -> 16"


def test_a_number_of_epochs_is_no_size() -> None:
    found = _compared("With swish and 4 epochs it runs fine.", "With mish and 16 epochs it is OOM.")
    assert found is None or not found.larger
