"""The kernel of a dense layer, as XLA splits it for a product while `init` runs, is a weight."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

KERNEL = """\
E1127 23:07:54.12 6175 config_assigner.cc:536] Could not get config for HLO: %gemm.2 = f32[8,1,4096]{2,1,0} \
fusion(%a.7, %b.6), kind=kCustom, calls=
(parameter_0: f32[8,65536,1], parameter_1: f32[8,65536,4096]) -> f32[8,1,4096] {
}. Status: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.02GiB with allocator \
GPU_0_bfc on device 0.
Traceback (most recent call last):
  File "/home/kim/vae.py", line 76, in main
    params = vae.init(key, jnp.zeros((1, 256, 256, 1)), key)
  File "/home/kim/vae.py", line 24, in __call__
    x = nn.relu(nn.Dense(4096, name="summary")(x))
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.02GiB with \
allocator GPU_0_bfc on device 0.
"""


def test_a_split_kernel_is_a_weight() -> None:
    report = pipeline.explain(KERNEL)
    assert "the kernel [524288,4096] of `nn.Dense(4096, ...)`" in report.verdict
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[:2] == ["smaller-map", "narrower-layer"]
    assert not {"small-init", "smaller-batch"} & set(slugs)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-> f32[8,1,4096]", "-> f32[8,65536,4096]"),  # a value that the product makes
        ("nn.Dense(4096", "nn.Dense(1024"),
        ("vae.init(key, ", "vae.apply(params, "),
    ],
)
def test_what_is_no_kernel(old: str, new: str) -> None:
    assert "the kernel [" not in pipeline.explain(KERNEL.replace(old, new)).verdict


@pytest.mark.parametrize(
    ("example", "one"),
    [
        ("jnp.zeros((1, 256, 256, 1))", True),
        ("jnp.ones([1, 64])", True),
        ("jnp.zeros((16, 256, 256, 1))", False),
        ("x", False),
    ],
)
def test_an_example_of_one_sample_is_no_smaller_one(example: str, one: bool) -> None:
    text = KERNEL[KERNEL.index("Traceback") :].replace("jnp.zeros((1, 256, 256, 1))", example)
    slugs = [each.remedy.slug for each in pipeline.explain(text).actions]
    assert ("small-init" in slugs) is not one
    assert ("smaller-model" in slugs) is one
