"""What docs/fleet.md shows of the tables and of other engines is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.fleet.made import failure, write
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


def code(beginning: str) -> str:
    """The block of Python on the page that begins so."""
    (block,) = (each for each in re.findall(r"```python\n(.*?)```", PAGE, re.S) if each.startswith(beginning))
    return str(block)


def failures_of() -> Any:
    """The function that the page gives to Ray's `map_batches`."""
    function = code("import ray\n").partition("\nlogs = ")[0].replace("import ray\n", "")
    place: dict[str, Any] = {}
    exec(function, place)
    return place["failures_of"]


def test_rays_recipe_makes_the_table_whatever_a_batch_holds(logs: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    files = sorted(logs.rglob("*.*"))
    batches = [files[:1], [], files[1:]]
    tables = [
        failures_of()(pa.table({"path": list(map(str, part)), "bytes": [file.read_bytes() for file in part]}))
        for part in batches
    ]
    expected = schema.arrow_schema(schema.INCIDENTS)
    assert [table.schema for table in tables] == [expected] * len(batches)
    assert all(table.schema.equals(expected, check_metadata=True) for table in tables)
    assert sum(map(len, tables)) == 2


@pytest.mark.slow
def test_ray_runs_it(logs: Path, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="pip install ray[data]")
    words = code("import ray\n").replace("s3://logs/jobs/", str(logs))
    words = words.replace("failures/incidents", str(tmp_path / "failures" / "incidents"))
    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}})
    try:
        exec(words, {"__name__": "recipe"})
    finally:
        ray.shutdown()
    assert answers.rank(tmp_path / "failures").whole.failures == 2


def test_duckdb_counts_as_the_page_says(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    rows = [
        failure(f"{n}.log", host=f"h{n % 2}", kinds={"activation": n}, report='{"verdict": "v"}')
        for n in range(5)
    ]
    folder = write(tmp_path / "failures", rows)
    (query,) = re.findall(r'duckdb\.sql\("(.*?)"\)', PAGE)
    assert duckdb.sql(query.replace("failures/", f"{folder}/")).fetchall() == [("h0", 3), ("h1", 2)]
    held = "SELECT sum(kinds['activation']), any_value(json_extract_string(report, '$.verdict'))"
    assert duckdb.sql(f"{held} FROM '{folder}/incidents/*.parquet'").fetchall() == [(10, "v")]
