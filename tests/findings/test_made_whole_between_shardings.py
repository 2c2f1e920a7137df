"""The partitioner's warning says which array is made whole, and where its sharding has to come from."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

WARNED = (
    "spmd_partitioner.cc:613] [spmd] Involuntary full rematerialization. The compiler was not able to go from"
    " sharding {{{}}} to {{devices=[8,1]<=[8]}} without doing a full rematerialization of the tensor for HLO"
    " operation: %p.3 = bf16[32001,8192]{{1,0}} parameter(3)\n"
)
ASKED = "jaxlib XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes.\n"


@pytest.mark.parametrize(
    ("sharding", "need", "said", "slug"),
    [
        ("devices=[1,8]<=[8]", 32001 * 8192 * 2, "the request to the byte", "shard-arguments"),
        ("maximal device=0", 2 * 32001 * 8192 * 2, "[32001,8192] bfloat16, 500.02 MiB", "restore-sharded"),
    ],
)
def test_the_array_and_its_way_are_named(sharding: str, need: int, said: str, slug: str) -> None:
    report = pipeline.explain("import jax\n" + WARNED.format(sharding) + ASKED.format(need))
    found = next(each for each in report.findings if each.rule == "made-whole-between-shardings")
    assert said in found.because and found.remedies[0].slug == slug


@pytest.mark.parametrize(("times", "named"), [(19, True), (21, False)])
def test_an_array_of_less_than_a_twentieth_is_not_what_fills_it(times: int, named: bool) -> None:
    text = "import jax\n" + WARNED.format("devices=[1,8]<=[8]") + ASKED.format(times * 32001 * 8192 * 2)
    rules = [each.rule for each in pipeline.explain(text).findings]
    assert ("made-whole-between-shardings" in rules) is named
