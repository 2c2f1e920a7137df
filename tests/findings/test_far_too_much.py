"""Requests that are many times a device, and remedies that one card has no use for."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

ASKED = "import jax\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate {size} bytes.\n"
BUFFER = """BufferAssignment OOM Debugging.
Peak buffers:
    Buffer 1:
        Size: 1.69GiB
        Operator: op_name="{op}(train_step)/jit(main)/jvp(Model)/mul"
        XLA Label: fusion
        Shape: f32[{shape}]
        ==========================
"""


def advice(size: int, op: str = "pmap", shape: str = "1,256,3072,577") -> str:
    page = explained(ASKED.format(size=size) + BUFFER.format(op=op, shape=shape))
    texts = (action.remedy.text for action in page.actions)
    return next((text for text in texts if "the batch" in text), "")


def test_many_times_a_large_card_is_no_matter_of_half() -> None:
    told = advice(427182260224)
    assert told.startswith("lower the batch to an eighth of it or less (256 per device, as [1,256,3072,577]")
    assert "reads, -> at most 51): half of the request is still 198.92 GiB" in told and "(a guess:" in told


@pytest.mark.parametrize(("op", "shape"), [("jit", "1,256,3072,577"), ("pmap", "8,256,3072,577")])
def test_a_batch_that_no_shape_tells_is_no_number(op: str, shape: str) -> None:
    assert advice(427182260224, op, shape).startswith("lower the batch to an eighth of it or less: half")


def test_half_is_advised_where_it_may_fit() -> None:
    assert advice(70 * 2**30).startswith("halve the batch")


def test_half_that_few_cards_hold_says_what_is_left() -> None:
    told = advice(120 * 2**30, "jit")
    assert told.startswith(
        "lower the batch to an eighth of it or less: half of the request is still 60.00 GiB"
    )
    assert "a card of 16.00 GiB" in told


WEIGHTS = """# OOM
{device}
import jax
Traceback (most recent call last):
  File "/home/me/model.py", line 277, in __init__
    self.state = self.init_state(jnp.array(key), x)
"""


@pytest.mark.parametrize(
    ("device", "sharded"),
    [
        ("- GTX 1080 (8GiB)", False),
        ("- 4 GTX 1080 (8GiB)", True),
        ("- A100 (40GB)", True),
        ("", True),
    ],
)
def test_one_card_has_no_other_to_share_with(device: str, sharded: bool) -> None:
    text = WEIGHTS.format(device=device) + ASKED.format(size=134217728)
    assert ("shard-arguments" in offered(text)) is sharded
