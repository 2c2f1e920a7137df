"""An array that is closed over and shall be sharded; and what the number of a list's first entry tells."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

CLOSED = """With JAX on 8 GPUs this runs out of GPU memory:

out = jax.jit(lambda: table{})()
"""


def test_an_array_that_is_to_be_sharded_is_put_in_shards_and_not_passed() -> None:
    text = CLOSED.format(", out_shardings=shardings")
    report = explained(text)
    assert "lies whole on each device before it is cut into shards" in report.verdict
    assert offered(text)[:2] == ["pass-as-argument", "restore-sharded"]
    assert report.actions[0].remedy.code == "table = jax.device_put(table, shardings)"


def test_one_that_is_not_is_passed_as_an_argument() -> None:
    text = CLOSED.format("")
    assert "pass-as-argument" in offered(text) and "restore-sharded" not in offered(text)


def test_shards_that_a_program_computes_with_are_passed_as_arguments() -> None:
    text = (
        "With JAX and NamedSharding(mesh, P('x')) my step closes over params, and runs out of GPU memory.\n"
    )
    assert "pass-as-argument" in offered(text) and "restore-sharded" not in offered(text)


ENTRY = """jax
  {number}. Size: 256.00M
     Operator: op_name="pmap(step)/net/dense"
     Shape: f32[{rows},{width}]{{1,0:T(8,128)}}
     Unpadded size: 256.00M
     XLA label: %fusion.11 = (f32[{rows},{width}]{{1,0:T(8,128)}}) fusion(f32[8]{{0}} %a)
     Allocation type: HLO temp
     ==========================
"""


@pytest.mark.parametrize(
    ("number", "says"), [(12, "the 12th, so the first 12 take 3.00 GiB or more"), (1, "")]
)
def test_the_number_of_the_first_entry_bounds_what_stood_above_it(number: int, says: str) -> None:
    verdict = explained(ENTRY.format(number=number, rows=131072, width=512)).verdict
    assert says in verdict
    assert ("or more" in verdict) is bool(says)


@pytest.mark.parametrize(("rows", "width", "many"), [(131072, 512, True), (4096, 16384, False)])
def test_more_rows_than_a_batch_has_ask_for_shorter_sequences(rows: int, width: int, many: bool) -> None:
    slugs = offered(ENTRY.format(number=12, rows=rows, width=width))
    assert ("shorter-sequences" in slugs) is many


@pytest.mark.parametrize(
    ("number", "written"), [(2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")]
)
def test_ordinals(number: int, written: str) -> None:
    from tfmemlens.findings.support.xla_arena.facts import ordinal

    assert ordinal(number) == written
