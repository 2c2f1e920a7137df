"""Every sample: the verdict, and which rules fired in which order (tests/golden/verdicts.txt)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import goldens
from tests.answers import explained
from tests.conftest import SAMPLES
from tfmemlens.readers.formats import xla_dump

_NO_SAMPLES = (".truth.json", ".md", ".origin.txt", ".csv", *xla_dump.COMPANIONS)
INPUTS = [
    path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and not path.name.endswith(_NO_SAMPLES)
]


def name_of(path: Path) -> str:
    return path.relative_to(SAMPLES).as_posix()


@pytest.mark.parametrize("sample", INPUTS, ids=name_of)
def test_the_verdict_and_the_rules_are_those_of_the_list(
    sample: Path, golden_verdict: Callable[[str, str], None]
) -> None:
    golden_verdict(name_of(sample), goldens.entry_of(explained(sample)))


def test_the_list_has_every_sample_and_nothing_else(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        pytest.skip("the list is written at the end")
    assert set(goldens.verdicts()) == set(map(name_of, INPUTS))


def test_a_change_is_told_by_the_line() -> None:
    old = {"a": "    It ran out.\n    cause one\n    note two", "b": "    Same."}
    new = {"a": "    It ran out.\n    note two\n    cause one", "b": "    Same.", "c": "    New."}
    assert goldens.parsed(goldens.written(new)) == new
    assert goldens.changed(old, new) == ["a", "  + note two", "  - note two", "c", "  + New."]
    assert goldens.changed(new, new) == []


def test_the_lines_of_a_page_are_counted() -> None:
    assert goldens.counted("a\nb\nc", "a\nx\ny\nc") == (1, 2)
    assert goldens.counted("a", "a") == (0, 0)
