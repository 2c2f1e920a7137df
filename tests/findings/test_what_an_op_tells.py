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


DIVIDED = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 614400000 bytes.",
    "BufferAssignment stats:",
    "             parameter allocation:  585.94MiB",
    "        maybe_live_out allocation:  585.94MiB",
    "     preallocated temp allocation:         0B",
    "                 total allocation:    1.14GiB",
    "Peak buffers:",
    "\tBuffer 1:",
    "\t\tSize: 585.94MiB",
    "\t\tEntry Parameter Subshape: f32[50000,32,32,3]",
    "\t\t==========================",
    "\tBuffer 2:",
    "\t\tSize: 585.94MiB",
    '\t\tOperator: op_type="div" op_name="jit(true_divide)/div" source_file="a.py" source_line=5',
    "\t\tXLA Label: fusion",
    "\t\tShape: f32[50000,32,32,3]",
    "\t\t==========================",
)


@pytest.mark.parametrize(
    ("code", "off"),
    [
        ("import tensorflow_datasets as tfds", True),
        ("import numpy as np", False),
        ("import tensorflow as tf\ntf.config.set_visible_devices([], 'GPU')", False),
    ],
)
def test_one_small_operation_meets_a_full_card(code: str, off: bool) -> None:
    report = explained("It fails on my 1080 Ti (11 GB):", "```python", "import jax", code, "```", *DIVIDED)
    assert "full already" in report.verdict
    assert ("tensorflow-off-the-gpu" in slugs(report)[:1]) == off == ("TensorFlow took it" in report.verdict)


def test_one_operation_that_is_a_third_of_a_card_is_not_small() -> None:
    report = explained("It fails on my card of 4 GB, a GTX 1650:", "import jax", *DIVIDED)
    assert "full already" not in report.verdict
