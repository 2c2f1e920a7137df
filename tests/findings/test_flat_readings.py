"""Figures that stay flat against words of growth, and a few blocks of a dump that explain no full device."""

from __future__ import annotations

from tfmemlens import pipeline

WORDS = "Keras: memory leak in predict, called in a loop\n"
GPU = "Keras: GPU memory grows when predict is called in a loop\n"


def measured(*sizes: float) -> str:
    pairs = zip(sizes, (sizes[0], *sizes), strict=False)
    return "".join(
        f"peak memory: {size:.2f} MiB, increment: {max(size - old, 0):.2f} MiB\n" for size, old in pairs
    )


FLAT, RISING = (900, 2100, 2100.2, 2100.2, 2100.3, 2100.3), (900, 1200, 1500, 1800, 2100, 2400)


def test_figures_that_stay_say_more_than_words() -> None:
    verdict = pipeline.explain(WORDS + measured(*FLAT)).verdict
    assert verdict.startswith("No failure is told: line 1 speaks of growth; what it prints stays flat")


def test_figures_that_rise_or_are_few_or_of_another_memory_deny_nothing() -> None:
    for text in (WORDS + measured(*RISING), WORDS + measured(*FLAT[:3]), GPU + measured(*FLAT)):
        assert "No failure" not in pipeline.explain(text).verdict


def in_use(*sizes: int) -> str:
    head = "2021-01-01 00:00:00.000001: I tensorflow/core/common_runtime/bfc_allocator.cc:950]"
    rows = (f"{head} InUse at 8{index}0000000 of size {size} next 89" for index, size in enumerate(sizes))
    return "\n".join((*rows, f"{head}      Summary of in-use Chunks by size: ", ""))


def test_a_small_part_of_a_dump_names_no_cause() -> None:
    verdict = pipeline.explain(in_use(90_000_128, 60_000_000)).verdict
    assert "holds" not in verdict and "tells neither" in verdict
    assert "one block of 4.66 GiB" in pipeline.explain(in_use(5_000_000_000, 60_000_000)).verdict
