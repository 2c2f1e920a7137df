"""Weights that are converted: host RAM holds them, no step trains, and no device has a part in it."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

CONVERTS = "The MaxText checkpoint conversion of a 100B model runs out of host RAM"


@pytest.mark.parametrize(("ram", "beyond"), [("150 GB", True), ("640 GB", False), ("1 TB", False)])
def test_the_weights_are_compared_with_the_ram_that_the_text_states(ram: str, beyond: bool) -> None:
    verdict = explained(f"{CONVERTS}, on a VM with {ram} of RAM.\n").verdict
    assert "about 100 billion weights take 186.26 GiB in 16 bits" in verdict
    assert (f"more than the {ram} of RAM that the text states" in verdict) is beyond


def test_memory_of_a_gpu_is_no_ram() -> None:
    verdict = explained(f"{CONVERTS}, beside a GPU with 40 GB memory.\n").verdict
    assert "of RAM that the text states" not in verdict


def test_a_conversion_in_host_ram_needs_no_shards_and_no_lighter_optimizer() -> None:
    slugs = offered(f"{CONVERTS}.\n")
    assert slugs[:2] == ["convert-tensor-by-tensor", "more-ram"]
    assert not {"shard-arguments", "less-optimizer-state"} & set(slugs)


def test_weights_on_a_device_that_trains_are_sharded_as_before() -> None:
    text = (
        "We train a 100B model in JAX on a TPU, and its HBM runs out of memory, after converting weights.\n"
    )
    slugs = offered(text)
    assert slugs[:2] == ["shard-arguments", "less-optimizer-state"]


STATE = """A {} GPT-NeoX-20B with jax:
XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 128.00MiB (134217728B)
 on device ordinal 0
  File "{}.py", line 12, in <module>
    state = init_state(key)
"""


@pytest.mark.parametrize(
    ("what", "script", "converts"), [("model of", "to_hf_weights", True), ("run of", "run", False)]
)
def test_a_state_that_a_conversion_makes_is_made_on_the_cpu(what: str, script: str, converts: bool) -> None:
    text = STATE.format(what, script)
    report = explained(text)
    assert ("on-the-cpu" in offered(text)) is converts
    assert ("Adam takes" in report.verdict) is not converts
