"""Kernels that meet their limit of vmem, on TPUs whose cores have more or not."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

SCOPED = (
    "import jax\nfrom jax.experimental import pallas as pl\n\nout = pl.pallas_call(kernel, grid=(8,),"
    " in_specs=[pl.BlockSpec((1024, 2048), lambda i: (i, 0))])(x)\n\n{tpu}\n\njax.errors.JaxRuntimeError:"
    " RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for"
    " %custom-call.3 = f32[8,4096,2048]{{2,1,0:T(8,128)}} custom-call(%p0, %p1), custom_call_target="
    '"tpu_custom_call". Scoped allocation with size {size} and limit 16.00M exceeded scoped vmem limit by'
    " 1.02M.\n"
)


@pytest.mark.parametrize(
    ("tpu", "size", "slugs", "code", "said"),
    [
        (
            "It is a TPU v5e.",
            "34.02M",
            ["larger-vmem", "smaller-kernel-blocks"],
            "=40 << 20",
            "v5e has 128 MiB",
        ),
        (
            "It is a TPU v5p.",
            "60.02M",
            ["larger-vmem", "smaller-kernel-blocks"],
            "=64 << 20",
            "v5p has 64 MiB",
        ),
        ("It is a TPU v4.", "34.02M", ["smaller-kernel-blocks"], "", "v4 has 16 MiB"),
        ("No more is known.", "17.02M", ["larger-vmem", "smaller-kernel-blocks"], "=...", "may have more"),
        ("No more is known.", "34.02M", ["smaller-kernel-blocks", "larger-vmem"], "", "may have more"),
    ],
)
def test_what_the_core_of_this_tpu_has(tpu: str, size: str, slugs: list[str], code: str, said: str) -> None:
    report = pipeline.explain(SCOPED.format(tpu=tpu, size=size))
    kernel = [each.remedy for each in report.actions if each.remedy.slug in ("larger-vmem", slugs[0])]
    found = [each.remedy.slug for each in report.actions if each.remedy.slug in (*slugs, "larger-vmem")]
    assert found == slugs
    assert code in (kernel[0].code or "") and said in report.verdict
