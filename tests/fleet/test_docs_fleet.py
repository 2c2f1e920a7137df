"""What docs/fleet.md shows of the tables and of other engines is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens.fleet import answers, schema

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
LOGS = ("1.15-unet-report.txt", "2.11-unet-layout.txt")


@pytest.mark.parametrize("name", schema.TABLES)
def test_the_tables_are_those_of_the_schema(name: str) -> None:
    assert schema.markdown(schema.TABLES[name]) in PAGE, "tfmemlens.fleet.schema.markdown(TABLE) prints it"


def recipe() -> Any:
    """The function that the page gives to Spark's `mapInPandas`."""
    (block,) = re.findall(r"```python\n(import re\n.*?)```", PAGE, re.S)
    place: dict[str, Any] = {}
    exec(block, place)
    return place["failures"]


def binary_files(folder: Path) -> Iterator[Any]:
    """What Spark's source `binaryFile` gives: one log a row, here in two batches and an empty one."""
    pandas = pytest.importorskip("pandas")
    files = sorted(folder.rglob("*.*"))
    for part in (files[:1], [], files[1:]):
        rows = [{"path": file.as_uri(), "content": bytearray(file.read_bytes())} for file in part]
        yield pandas.DataFrame(rows, columns=["path", "content"])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "vision" / "seg-31"
    folder.mkdir(parents=True)
    for name in LOGS:
        (folder / name).write_bytes((SAMPLES / "oom_log" / name).read_bytes())
    (folder / "fine.log").write_text("step 1\n")
    (folder / "broken.bin").write_bytes(bytes(range(256)) * 9)
    return tmp_path / "logs"


def test_sparks_recipe_makes_the_rows_of_the_table(logs: Path, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    frames = list(recipe()(binary_files(logs)))
    assert [list(frame.columns) for frame in frames] == [[each.name for each in schema.INCIDENTS]] * 3
    (tmp_path / "failures" / "incidents").mkdir(parents=True)
    for number, frame in enumerate(frames):
        table = pa.Table.from_pandas(frame, schema.arrow_schema(schema.INCIDENTS), preserve_index=False)
        pq.write_table(table, tmp_path / "failures" / "incidents" / f"part-{number}.snappy.parquet")
    ranking = answers.rank(tmp_path / "failures", "job")
    assert [(group.name, group.tally.failures) for group in ranking.groups] == [("vision/seg-31", 2)]
    assert ranking.whole.seconds_lost is None and ranking.read.inputs == 0
