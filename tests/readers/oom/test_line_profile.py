"""The rows of memory_profiler's tables, and what stands around them."""

from __future__ import annotations

from tests.findings.pages import explained, first
from tfmemlens import pipeline
from tfmemlens.model.capture import ProfiledLine
from tfmemlens.units import MIB

HEAD = "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
TABLE = (
    f"{HEAD}=============================================================\n"
    "    14    388.0 MiB    388.0 MiB           1   @profile\n"
    "    15                                         def split():\n"
    "    16    713.0 MiB    325.0 MiB           1       key = jax.random.PRNGKey(220)\n"
    "    18   3754.0 MiB   3041.0 MiB          {times}       key, _ = jax.random.split(key, 2)\n"
    "\nSome words of prose.\n    20    999.0 MiB    100.0 MiB           1       no row any more\n"
)
OLD = (
    "Line #    Mem usage    Increment   Line Contents\n================================================\n"
    "    98    201.0 MiB    201.0 MiB       @profile\n"
    "   100    201.0 MiB      0.0 MiB           low = jnp.argmin(x)\n"
    "   101   6201.0 MiB   ->6000.0 MiB           y = jnp.exp(x[:, None] - x[None, :])\n"
)
PRELUDE = "Where does this RAM go on the CPU?\nimport jax\n{torch}\n"


def _rows(text: str) -> list[ProfiledLine]:
    return list(pipeline.explain(text).case.capture.surroundings.profiled)


def test_rows_of_the_table_without_the_functions_own() -> None:
    rows = _rows(PRELUDE.format(torch="") + TABLE.format(times=64))
    assert [(row.more // MIB, row.times, row.line.number) for row in rows] == [(325, 1, 8), (3041, 64, 9)]
    assert rows[1].code == "key, _ = jax.random.split(key, 2)" and rows[1].used == 3754 * MIB


def test_tables_of_older_releases_have_no_column_of_turns() -> None:
    rows = _rows(PRELUDE.format(torch="") + OLD)
    assert [(row.more // MIB, row.times) for row in rows] == [(0, 1), (6000, 1)]
    assert rows[1].code.startswith("y = jnp.exp(")


def test_rows_without_a_head_are_another_tools() -> None:
    assert not _rows(PRELUDE.format(torch="") + TABLE.format(times=1).removeprefix(HEAD))


def test_the_line_that_added_most_is_named() -> None:
    report = explained(PRELUDE.format(torch="") + TABLE.format(times=1))
    assert "`key, _ = jax.random.split(key, 2)` (line 9) added 2.97 GiB of the 3.29 GiB" in report.verdict
    assert report.actions[0].remedy.slug == "call-again"
    turns = explained(PRELUDE.format(torch="") + TABLE.format(times=64)).verdict
    assert "added 2.97 GiB in 64 turns" in turns


def test_pytorch_beside_jax_is_left_out_where_a_first_call_takes_it() -> None:
    text = "It happens on an A100 alone.\n" + PRELUDE + TABLE
    assert first(text.format(torch="import torch", times=1)).startswith("keep PyTorch out of processes")
    assert "keep PyTorch out" not in first(text.format(torch="import torch", times=64))
    assert "keep PyTorch out" not in first(text.format(torch="import flax", times=1))


def test_no_line_is_named_that_added_little_or_as_much_as_others() -> None:
    even = TABLE.replace("3041.0", "325.0").replace("3754.0", "1038.0")
    few = TABLE.replace("3041.0", " 41.0").replace("325.0", "  1.0")
    for table in (
        even.replace("    14 ", "    17    713.0 MiB    325.0 MiB           1  a = f()\n    14 "),
        few,
    ):
        assert "memory_profiler" not in explained(PRELUDE.format(torch="") + table.format(times=1)).verdict


def test_what_a_killed_process_made_on_that_line_is_the_cause() -> None:
    killed = explained(PRELUDE.format(torch="") + OLD + "\nKilled\n")
    assert "added 5.86 GiB" in killed.verdict and killed.actions[0].remedy.slug == "in-pieces"
    failed = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12362011728 bytes.\n"
    assert "memory_profiler" not in explained(PRELUDE.format(torch="") + OLD + failed).verdict
