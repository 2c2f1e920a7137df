"""Every sample through every mangling gives the same facts."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.mangling import MANGLERS
from tfmemlens import pipeline
from tfmemlens.renderers.json.report_document import document

LOGS = sorted(path for path in (SAMPLES / "oom_log").glob("*") if path.name.endswith((".txt", ".txt.gz")))


def text_of(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def facts(path: Path) -> list[Any]:
    """What must survive: each failed request, the allocator's figures, who holds how much."""
    found = document(pipeline.explain(path))
    drop = ("line", "byte", "source", "file")
    return [
        [
            {key: value for key, value in incident["request"].items() if key not in drop},
            incident["allocator"],
            incident["holders"],
        ]
        for incident in found["incidents"]
    ]


@pytest.mark.parametrize("mangling", [name for name in MANGLERS if name != "as it was"])
@pytest.mark.parametrize("sample", LOGS, ids=lambda path: path.name.split(".txt")[0])
def test_a_mangled_log_says_the_same(sample: Path, mangling: str, tmp_path: Path) -> None:
    lines = text_of(sample).split("\n")
    plain, mangled = tmp_path / "plain.txt", tmp_path / "mangled.txt"
    plain.write_bytes(MANGLERS["as it was"](lines))
    mangled.write_bytes(MANGLERS[mangling](lines))
    assert facts(mangled) == facts(plain)
