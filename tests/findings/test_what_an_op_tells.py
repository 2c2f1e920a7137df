"""An op's own name and an allocator's go before what sizes and words look like."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
RAISED = f"jaxlib.xla_extension.XlaRuntimeError: {ASKED}"


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def square(op: str) -> Report:
    return explained(
        f"{RAISED} 10000000000 bytes.",
        "BufferAssignment stats:",
        "     preallocated temp allocation:    9.31GiB",
        "Peak buffers:",
        "\tBuffer 1:",
        "\t\tSize: 9.31GiB",
        f'\t\tOperator: op_name="jit(pca)/{op}" source_file="/home/u/pca.py" source_line=9',
        "\t\tXLA Label: custom-call",
        "\t\tShape: f32[50000,50000]",
        "\t\t==========================",
    )


@pytest.mark.parametrize(
    ("op", "first"),
    [
        ("svd[compute_uv=True full_matrices=False]", "short-side-first"),
        ("jit(svd)/svd", "short-side-first"),
        ("sub", "in-blocks"),
        ("svd_rows/mul", "in-blocks"),
    ],
)
def test_the_square_of_an_svd_is_no_pair_of_rows(op: str, first: str) -> None:
    report = square(op)
    assert slugs(report)[0] == first
    assert ("factor of the SVD" in report.verdict) == (first != "in-blocks")


@pytest.mark.parametrize(
    ("pool", "said"), [("xla_gpu_host_bfc", "pinned host RAM"), ("GPU_0_bfc", "2,000 draws")]
)
def test_a_pool_of_the_host_holds_no_draws_of_the_device(pool: str, said: str) -> None:
    report = explained(
        "numpyro with jax on a GPU, MCMC of num_samples=2000, num_chains=4",
        f"W bfc_allocator.cc:501] Allocator ({pool}) ran out of memory trying to allocate 7.45GiB (rounded"
        " to 8000000000)requested by op",
        f"jax.errors.JaxRuntimeError: {ASKED} 8000000000 bytes.",
    )
    assert said in report.verdict
    assert ("fewer-draws" in slugs(report)) == (pool == "GPU_0_bfc")


def test_a_scatter_by_rows_is_no_graph() -> None:
    told = "Our projector runs out of memory on an A100 when it is vmapped over 64 volumes (jax)."
    rays = explained(told, f"{RAISED} 25769803776 bytes.", "    out = out.at[row_ids, col_ids].add(vals)")
    assert "adjacency" not in rays.verdict
    nodes = explained("jax", f"{RAISED} 25769803776 bytes.", "    A = A.at[senders, receivers].add(1)")
    assert "adjacency" in nodes.verdict
