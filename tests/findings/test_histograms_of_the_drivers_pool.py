"""Rows of a histogram of the driver's own pool, whose head is cut and which several devices print at once."""

from __future__ import annotations

from tests.findings.pages import explained, offered

ROW = "E0505 05:05:05.{:06d} 1234{} {}_allocator.cc:73] {}, {}\n"
SMALL, LARGE = 524_288, 41_231_686_041


def rows(*lines: tuple[int, int, int], file: str = "gpu_cudamallocasync") -> str:
    text = "".join(
        ROW.format(number, thread, file, size, count) for number, (thread, size, count) in enumerate(lines)
    )
    return f"import jax\nRESOURCE_EXHAUSTED in our first step\n{text}"


def test_one_block_that_holds_nearly_all_is_found() -> None:
    text = rows((1, SMALL, 200), (2, SMALL, 200), (1, LARGE, 1), (2, LARGE, 1), (3, SMALL, 210))
    report = explained(text)
    assert "one block of 38.40 GiB, one array or all temporaries of one program of XLA's" in report.verdict
    assert offered(text)[0] == "read-the-analysis"


def test_devices_that_print_at_once_are_not_added_up() -> None:
    report = explained(rows((1, LARGE, 1), (2, LARGE, 1), (3, SMALL, 200), (4, SMALL, 210)))
    incident = report.case.moments[0].incident
    assert incident is not None
    assert [(each.size_bytes, each.count) for each in incident.size_classes] == [(LARGE, 1), (SMALL, 210)]


def test_pairs_of_numbers_of_another_file_are_none() -> None:
    assert "one block of" not in explained(rows((1, LARGE, 1), (2, SMALL, 200), file="other")).verdict
