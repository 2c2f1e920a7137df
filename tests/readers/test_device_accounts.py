"""What JAX programs print of their devices: `memory_stats()`, sums of live arrays, and pprof's text."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

GIB = 1 << 30


def stats(in_use: float, peak: float, limit: float, *, lines: bool = False) -> str:
    figures = {
        "bytes_in_use": int(in_use * GIB),
        "bytes_limit": int(limit * GIB),
        "bytes_reservable_limit": None,
        "largest_free_block_bytes": 0,
        "num_allocs": 7,
        "peak_bytes_in_use": int(peak * GIB),
    }
    text = f"{figures}\n"
    return text.replace(", ", ",\n ") if lines else text


@pytest.mark.parametrize("lines", [False, True])
def test_statistics_are_an_account_of_the_device(lines: bool) -> None:
    report = pipeline.explain(stats(20, 21.5, 22, lines=lines))
    assert report.verdict == (
        "The device has 20.00 GiB of 22.00 GiB in use, 21.50 GiB at its peak: arrays that are alive fill 91 %"
        " of it, whatever runs next."
    )
    assert report.case.capture.source.framework == "jax"
    assert [action.remedy.slug for action in report.actions] == ["record-a-step", "smaller-batch"]


@pytest.mark.parametrize(
    ("figures", "said", "first"),
    [
        ((3, 21, 22), "with 18.00 GiB of temporaries and arrays that are gone", "smaller-batch"),
        ((15, 21, 22), "mostly with 15.00 GiB of arrays that are still alive", "record-a-step"),
        ((3, 5, 22), "17.00 GiB were never used", None),
    ],
)
def test_the_peak_tells_temporaries_from_arrays(
    figures: tuple[float, float, float], said: str, first: str | None
) -> None:
    report = pipeline.explain(stats(*figures))
    assert said in report.verdict
    assert next((action.remedy.slug for action in report.actions), None) == first


def test_statistics_above_a_failure_give_its_limit() -> None:
    failed = (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {30 * GIB} bytes.\n"
    )
    moment = pipeline.explain(stats(1, 1, 22) + failed).case.moments[0]
    assert moment.balance.limit and moment.balance.limit.bytes == 22 * GIB
    assert pipeline.explain("{'bytes_in_use': 5}\n" + failed).case.moments[0].balance.limit is None


def test_live_arrays_that_grow_are_a_leak() -> None:
    printed = "".join(f"step {step} live arrays: {step}, {step / 100:.2f} GiB\n" for step in (100, 200, 300))
    failed = (
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 4.00MiB (4194304B) on device 0\n"
    )
    report = pipeline.explain(f"import jax\n{printed}{failed}")
    assert "rising-readings" in [finding.rule for finding in report.findings]
    assert report.actions[0].remedy.slug in ("record-a-step", "keep-numbers")
    assert "larger-pool" not in [action.remedy.slug for action in report.actions]


TOP = """File:
Type: space
Showing nodes accounting for 11.86GB, 99.41% of 11.93GB total
      flat  flat%   sum%        cum   cum%
    6.44GB 53.98% 53.98%     6.44GB 53.98%  load_table
  512.00kB  0.01% 53.99%   512.00kB  0.01%  init (inline)
         0     0% 99.41%    11.86GB 99.41%  <module>
"""
TRACES = """Type: space
-----------+-------------------------------------------------------
     kind:  buffer
    device:  gpu:0
     4.00GB   apply_primitive
             load_features
             main
             <module>
-----------+-------------------------------------------------------
     kind:  buffer
    device:  gpu:1
      512MB   init_state
             <module>
"""


def tables(report: Report) -> list[list[tuple[str | None, int]]]:
    return [
        [(row.node, row.total_bytes) for row in moment.attribution.table] for moment in report.case.moments
    ]


def test_the_top_of_pprof_is_what_is_held() -> None:
    report = pipeline.explain(TOP)
    (rows,) = tables(report)
    assert [name for name, _ in rows] == ["load_table", "init"]
    assert rows[1][1] == 512 << 10
    assert report.case.capture.source.formats == ("device-memory-profile",)


def test_traces_of_pprof_are_named_after_the_user_s_functions() -> None:
    assert tables(pipeline.explain(TRACES)) == [[("load_features", 4 * GIB)], [("init_state", 512 << 20)]]


def test_a_profile_of_time_is_none_of_memory() -> None:
    assert not pipeline.explain(TRACES.replace("Type: space", "Type: cpu")).case.moments
