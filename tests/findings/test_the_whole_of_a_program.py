"""What a listing says of the whole program, where the request is its temporaries alone."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.renderers.terminal import report as terminal

LISTING = """{said}
XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {asked} bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    {given}
              constant allocation:    1.2KiB
        maybe_live_out allocation:    {results}
     preallocated temp allocation:    {temporaries}
                 total allocation:    {total}
Peak buffers:
	Buffer 1:
		Size: 6.00GiB
		Operator: op_name="jit(f)/jit(main)/while/body/{name}" source_file="/a/b.py" source_line=3
		XLA Label: fusion
		Shape: bf16[{shape}]
		==========================
"""
WEATHER = "GraphCast, 0.25 degrees"
GIB = 1 << 30


def explained(
    said: str, results: str, total: str, name: str = "mesh_gnn/concatenate", given: str = "900.00MiB"
) -> Report:
    asked, shape = 14 * GIB, "3145728,1024"
    values = {"said": said, "results": results, "total": total, "name": name, "given": given}
    return pipeline.explain(LISTING.format(asked=asked, temporaries="14.00GiB", shape=shape, **values))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_the_bar_is_of_the_whole_program() -> None:
    page = terminal.render(explained(WEATHER, "12.00GiB", "26.88GiB"))
    assert "needed 26.88 GiB" in page and "in buffers that are not listed 20.88 GiB" in page


@pytest.mark.parametrize(
    ("results", "total", "first", "said"),
    [
        ("12.00GiB", "26.88GiB", "fewer-steps-at-once", "12.00 GiB of it results"),
        ("92.00MiB", "14.97GiB", "coarser-grid", ""),
    ],
)
def test_a_rollout_that_is_kept_is_cut_first(results: str, total: str, first: str, said: str) -> None:
    report = explained(WEATHER, results, total)
    assert slugs(report)[0] == first
    assert ("the whole program needs" in report.verdict) is bool(said) and said in report.verdict


def test_what_is_given_is_named_where_it_is_the_larger_part() -> None:
    report = explained("jax", "90.00MiB", "24.09GiB", given="10.00GiB")
    assert "the whole program needs about 24.09 GiB, about 10.00 GiB of it what it is given" in report.verdict
    alone = explained("jax", "90.00MiB", "15.00GiB")
    assert "of it what it is given" not in alone.verdict


@pytest.mark.parametrize(("gpu", "larger"), [("A10G 24GB", False), ("V100 32GB", True), ("A100 80GB", False)])
def test_a_larger_part_of_the_gpu_where_the_whole_has_room_in_it(gpu: str, larger: bool) -> None:
    found = slugs(explained(f"{WEATHER} on an {gpu}", "12.00GiB", "26.88GiB"))
    assert (found[0] == "larger-pool") is larger


def test_a_state_given_back_is_told_beside_the_whole() -> None:
    report = explained("import flax", "8.05GiB", "30.10GiB", "transpose(jvp(ViT))/dot", given="8.05GiB")
    assert "the whole program needs about 30.10 GiB, and about 8.05 GiB of it are results" in report.verdict


def test_scopes_of_an_operation_are_nothing_that_was_tried() -> None:
    name = "jit(<unnamed wrapped function>)/remat/mesh_gnn/dot"
    assert "tried or in use" not in explained(WEATHER, "92.00MiB", "14.97GiB", name).verdict
    told = explained(f"{WEATHER}. We used remat already, same error.", "92.00MiB", "14.97GiB", name)
    assert "tried or in use already: recomputing (line 1)" in told.verdict
