"""Which TPU is the writer's, what of a TPU's program is largest, and what lies on the chip without a name."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.knowledge.tpu_memory import named

LEDGER = """Total hbm usage >= 9.50G:
    reserved        530.00M
    program           8.98G
    arguments            {arguments}

Program hbm requirement 8.98G:
    global           241.0K
    HLO temp          {temporaries} (100.0% utilization: Unpadded (1.0G) Padded (1.0G))
"""
SPILL = """Size: {size}
     XLA label: register allocator spill slots call depth 2
     Allocation type: scoped
     ==========================

Size: 1.00M
     Operator: op_name="jit(run)/jit(attend)/RPA-bq_32/pallas_call" source_file="attend.py" source_line=5
     Shape: bf16[2,32,32,1,2,128]{{5,4,3,2,1,0:T(2,128)(2,1)}}
     Allocation type: scoped
"""


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        ("I am using v2.8 TPU. TPU v3.8 is generally not available, however, both have 8 cores", "v2"),
        ("It works on v4-8, but on v3-8 it fails", "v3"),
        ("on v3-8 it fails, while it works on v4-8", "v3"),
        ("we run it on a v5litepod-16", "v5litepod"),
        ("device_kind='TPU v5 lite'", "v5e"),
        ("XLA backend: TPU v3.8", "v3"),
    ],
)
def test_of_several_generations_the_writers_own_is_taken(text: str, generation: str) -> None:
    found = named(text)
    assert found and found[0] == generation


@pytest.mark.parametrize("text", ["TF 2.8 on a TPU", "tensorflow v2.8 TPU", "TPUs are fast", "v8 engine"])
def test_a_release_of_a_library_is_no_generation(text: str) -> None:
    assert named(text) is None


def test_the_own_tpu_is_taken_from_a_later_line() -> None:
    ledger = LEDGER.format(arguments="0B", temporaries="8.97G")
    text = f"TPU v3-8 has more.\nI am using a v2-8 TPU for this.\n{ledger}"
    assert "one core of a TPU v2 has 8 GiB" in explained(text).verdict
    enough = explained(text.replace("a v2-8", "a v4-8")).verdict
    assert "TPU v4 has" not in enough


def test_the_largest_part_that_the_ledger_states_is_named() -> None:
    verdict = explained(LEDGER.format(arguments="0B", temporaries="8.97G")).verdict
    assert "8.97 GiB of it are its temporaries" in verdict
    verdict = explained(LEDGER.format(arguments="0B", temporaries="4.00G")).verdict
    assert "of it are its temporaries" not in verdict
    verdict = explained(LEDGER.format(arguments="1.00G", temporaries="8.97G")).verdict
    assert "beside arguments of about 1.00 GiB" in verdict


def test_registers_that_were_spilled_are_part_of_a_list_and_name_no_kernel() -> None:
    page = explained(SPILL.format(size="50.23M"))
    assert (
        "too small for those of the kernel RPA-bq_32; the largest part is no tile: 50.23 MiB" in page.verdict
    )
    assert "a part is no tile: 512.0 KiB" in explained(SPILL.format(size="512.00K")).verdict


@pytest.mark.parametrize("text", ["Size: 7.00G\nof the model", "Size: 7.00G\n\nXLA label: fusion"])
def test_a_size_alone_begins_no_list(text: str) -> None:
    assert "TPU program" not in explained(f"The checkpoint\n{text}\n").verdict
