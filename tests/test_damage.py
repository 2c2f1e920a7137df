"""Samples through manglings give the same facts: every mangling on some samples and some manglings on every
sample; each on each with `--slow`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.mangling import MANGLERS
from tfmemlens import pipeline
from tfmemlens.renderers.json.report import document

LOGS = sorted(path for path in (SAMPLES / "oom_log").glob("*") if path.name.endswith((".txt", ".txt.gz")))
MANGLINGS = [name for name in MANGLERS if name != "as it was"]
MANGLED_IN_EVERY_WAY = {
    "1.10-founding-question-unet",  # the rows of the report on OOM alone
    "1.10-unet-report",  # the report, the dump and the exception before 1.15
    "1.15-im2col",  # the dump with chunks' ends
    "1.15-two-root-errors",
    "2.4-fragmentation",  # the dump after 2.1
    "2.11-mirrored",  # several devices
    "2.11-xla-jit",  # XLA's list
    "2.21-layer-exception",
}
"""One sample of each wording goes through all."""
WAYS_FOR_EACH = 2
"""Every other sample goes through so many manglings, each sample through the next ones."""


def name_of(path: Path) -> str:
    return path.name.split(".txt")[0]


def matrix() -> list[Any]:
    """Every sample with every mangling; those beyond the suite are marked."""
    cases = []
    for row, sample in enumerate(LOGS):
        for column, mangling in enumerate(MANGLINGS):
            in_suite = (
                name_of(sample) in MANGLED_IN_EVERY_WAY
                or (column - row * WAYS_FOR_EACH) % len(MANGLINGS) < WAYS_FOR_EACH
            )
            marks = () if in_suite else (pytest.mark.slow,)
            cases.append(pytest.param(sample, mangling, id=f"{name_of(sample)}-{mangling}", marks=marks))
    return cases


def facts(path: Path) -> list[Any]:
    """What must survive: each failed request, the allocator's figures, who holds how much."""
    said = document(pipeline.explain(path))
    drop = ("line", "byte", "source", "file")
    return [
        [
            {key: value for key, value in incident["request"].items() if key not in drop},
            incident["allocator"],
            incident["holders"],
        ]
        for incident in said["incidents"]
    ]


@cache
def lines_of(sample: Path) -> list[str]:
    raw = sample.read_bytes()
    return (gzip.decompress(raw) if sample.suffix == ".gz" else raw).decode("utf-8", "replace").split("\n")


@pytest.fixture(scope="module")
def plain_facts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], list[Any]]:
    """The facts of a sample as it was, worked out once for all manglings of it."""
    plain = tmp_path_factory.mktemp("plain") / "plain.txt"

    @cache
    def of(sample: Path) -> list[Any]:
        plain.write_bytes(MANGLERS["as it was"](lines_of(sample)))
        return facts(plain)

    return of


@pytest.mark.parametrize(("sample", "mangling"), matrix())
def test_a_mangled_log_says_the_same(
    sample: Path, mangling: str, tmp_path: Path, plain_facts: Callable[[Path], list[Any]]
) -> None:
    mangled = tmp_path / "mangled.txt"
    mangled.write_bytes(MANGLERS[mangling](lines_of(sample)))
    assert facts(mangled) == plain_facts(sample)
