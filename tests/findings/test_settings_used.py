"""The asker's own figures in what is advised: a length, a server's cap, a product that the request is."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, oom
from tests.findings.test_what_is_no_batch import explained, slugs

GELU = (
    "Node: 'bert/layer_4/intermediate/Gelu/Erf'\nfailed to allocate memory\n"
    "\t [[{{node bert/layer_4/intermediate/Gelu/Erf}}]] [Op:__inference_train_function_28]\n"
)


def test_an_op_of_a_step_gets_the_length_before_another_process() -> None:
    text = f"enc = tokenizer(texts, max_length=512)\nmodel.fit(ds.batch(64))\n{GELU}"
    assert slugs(text)[:3] == ["shorter-sequences", "smaller-batch", "see-device-users"]
    assert "shorter-sequences" not in slugs(text.replace("max_length=512", "seed=512"))


XLA_WORDS = (
    "Out of memory while trying to allocate {bytes} bytes.\n"
    "\t [[{{{{node {node}}}}}]] [Op:__inference_one_step_on_iterator_9]\n"
)
SIZES = "image size is 160x192x160, batch_size = 2, 64 filters\nmodel.fit(ds)\n"


def test_a_request_of_an_op_is_the_product_of_stated_sizes() -> None:
    told = explained(SIZES + XLA_WORDS.format(bytes=2516582400, node="net/conv3d_1/convolution"))
    assert "64 (`filters`) x 2 (`batch_size`) x 160 x 192 x 160 in float32" in told.verdict
    assert "without-xla" not in [action.remedy.slug for action in told.actions]


@pytest.mark.parametrize(
    ("node", "size"),
    [("net/conv3d_1/convolution", 2516582400 - 4096), ("StatefulPartitionedCall", 2516582400)],
)
def test_another_figure_or_a_compiled_call_is_not(node: str, size: int) -> None:
    assert "to the byte" not in explained(SIZES + XLA_WORDS.format(bytes=size, node=node)).verdict


def test_a_compiled_step_is_still_told_as_one_block() -> None:
    near = explained(SIZES + XLA_WORDS.format(bytes=2516582400, node="StatefulPartitionedCall"))
    assert "an op of the graph asked for it" not in near.verdict


SERVER = "Running gRPC ModelServer at 0.0.0.0:8500 ...\n"


@pytest.mark.parametrize(("cap", "most"), [("max_batch_size { value: 512 }", 128), ("", 128)])
def test_a_server_is_told_below_its_own_cap(cap: str, most: int) -> None:
    actions = explained(f"{cap}\n{SERVER}{oom('512,64,150,150')}").actions
    told = next(action.remedy for action in actions if action.remedy.slug == "smaller-requests")
    assert f"value: {most} " in (told.code or "") and ("(here 512, line 1)" in told.text) is bool(cap)


LARGE = "Allocation of 3221225472 exceeds 10% of free system memory.\n"
KILLED = "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"


def test_large_requests_of_a_step_before_the_kill_speak_for_its_batch() -> None:
    told = explained(f"Epoch 1/5\n{LARGE}{LARGE}{KILLED}")
    assert "3.00 GiB at once (line 3, the last of 2 of this size), while steps ran" in told.verdict
    assert told.actions[0].remedy.slug == "smaller-batch"
    assert "smaller-batch" not in slugs(f"{LARGE}{LARGE}Epoch 1/5\n{KILLED}")
    assert "smaller-batch" not in slugs(f"Epoch 1/5\n{LARGE}{KILLED}")


def chunks(count: int, size: int) -> str:
    head = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00MiB (rounded to"
        f" {4 * MIB})requested by op AddV2\n"
    )
    rows = "".join(f"InUse at {0x7F0000000000 + n:x} of size {size} next {n}\n" for n in range(count))
    return f"{head}{rows}Sum Total of in-use chunks: 1.98GiB\n"


def test_of_a_part_of_a_dump_shares_are_of_that_part() -> None:
    assert "100 %" not in explained(chunks(180, 4 * MIB)).verdict  # of 1.98 GiB they are a third
    whole = chunks(180, 4 * MIB).replace("1.98GiB", "720.00MiB")
    assert "100 % of what is in use" in explained(whole).verdict


def test_who_waits_for_a_batch_is_not_told_to_cut_its_operands() -> None:
    text = (
        "Allocator (cuda_host_bfc) ran out of memory trying to allocate 8.00GiB (rounded to 8589934592)"
        "requested by op IteratorGetNext\nStats: \nLimit:     68719476736\nInUse:     62277025792\n"
    )
    assert "in-pieces" not in slugs(text) and "smaller-pipeline" in slugs(text)
    assert "in-pieces" in slugs(text.replace("IteratorGetNext", "Mul").replace("cuda_host", "GPU_0"))


def test_a_request_above_the_device_without_a_shape_is_told_in_numbers() -> None:
    text = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 18.63GiB (rounded to"
        " 20000000000)requested by op Mul\nStats: \nLimit:     15680143360\nInUse:     12593408\n"
    )
    assert "it asks for 5,000,000,000 numbers" in explained(text).actions[0].remedy.text
