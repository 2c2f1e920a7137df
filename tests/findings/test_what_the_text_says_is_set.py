"""What the text says was tried, or is set now, comes before what helps most programs."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_texts_of_strangers import explained, first, statistics

KERNEL = "ResourceExhaustedError: OOM when allocating tensor with shape[3,3,256,512]\n"
SLOT = "\t [[Node: block4/conv2/weights/Momentum/Assign = Assign[T=DT_FLOAT]]]\n"


def batch(text: str) -> str:
    """What is advised of the batch, if anything."""
    said = [each.remedy.text for each in explained(text).actions if each.remedy.slug == "smaller-batch"]
    return said[0] if said else ""


def test_a_batch_that_did_not_reach_the_program_is_told() -> None:
    failed = oom("16,64,64,32")
    said = batch(f"{failed}I lowered batch_size from 16 to 4, same message\n")
    assert said.startswith("the message still begins with 16, so the 4 of line")
    assert "still begins" not in batch(f"{failed}I lowered batch_size from 64 to 16, same message\n")
    assert "still begins" not in batch(f"{failed}I lowered batch_size from 16 to 32, same message\n")


def test_a_batch_of_one_in_words_is_not_halved() -> None:
    failed = oom("1,160,208,192,13", "training/Adam/gradients/lambda_2/Sum_grad/Tile")
    assert "halve" not in batch(f"{failed}All parameters are the defaults (batch 1).\n")
    assert "halve" in batch(f"{oom('8,64,64,32')}All parameters are the defaults (batch 1).\nbatch_size=8\n")


@pytest.mark.parametrize("whose", ["a second notebook was still open", "another process is on the same GPU"])
def test_another_process_that_the_text_names_is_ended_first(whose: str) -> None:
    found = explained(f"{KERNEL}{SLOT}Edit: {whose} on this card.\n")
    assert found.actions[0].remedy.text.startswith("end the other process that line 3 names")
    alone = explained(f"{KERNEL}{SLOT}Edit: a second GPU was still free.\n")
    assert not alone.actions[0].remedy.text.startswith("end the")


def test_the_cap_of_a_text_is_its_writers_limit() -> None:
    dump = statistics(6 << 30, 5 << 30)
    found = explained(f"I cap the card at 6144 but it falls over\n{dump}")
    assert found.findings[0].rule == "limit-of-your-own"
    assert first(f"I cap the card at 6144 but it falls over\n{dump}") == "raise-own-limit"
    assert explained(f"I cap the card at 8192\n{dump}").findings[0].rule != "limit-of-your-own"
    assert explained(f"I cap the card at 6144 W\n{dump}").findings[0].rule != "limit-of-your-own"
