"""Dumps of the first releases, dumps with one large block, and requests too small to be the cause: what is
advised fits the release and the way the program runs, and something to change is always beside it.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

BIN = (
    "I tensorflow/core/common_runtime/bfc_allocator.cc:643] Bin ({size}): \tTotal Chunks: 0, Chunks in use: 0"
    " 0B allocated for chunks. 0B client-requested for chunks. 0B in use in bin. 0B client-requested in use"
    " in bin.\n"
)
OLD_BINS = "".join(BIN.format(size=1 << at) for at in range(8, 14))
NEW_BINS = OLD_BINS.replace("in use: 0 0B", "in use: 0. 0B").replace(" 0B client-requested for chunks.", "")
TITLE = (
    "# bfc_allocator.cc:275] Ran out of memory trying to allocate 392.00MiB. See logs for memory state.\n\n"
)


def test_the_first_bins_tell_the_first_releases() -> None:
    old, new = explained(OLD_BINS), explained(NEW_BINS)
    assert old.case.api.newest == (1, 3) and new.case.api.oldest == (1, 4)
    assert not {"list-tensors", "dump-file"} & set(offered(OLD_BINS))
    assert "smaller-batch" in offered(OLD_BINS)
    assert "tfmemlens run" not in " ".join(f"{each.remedy.text}{each.remedy.code}" for each in old.actions)


def test_a_title_names_the_request_of_the_dump_below_it() -> None:
    assert "about 392.00 MiB" in explained(TITLE + OLD_BINS).verdict
    another = "Bin for 512.00MiB was 512.00MiB, Chunk State: \n"
    assert "512.00 MiB" in explained(TITLE + OLD_BINS + another).verdict  # the dump names its own


AT = "2019-09-04 10:04:11: I tensorflow/core/common_runtime/bfc_allocator.cc:8"
LARGE = (
    f"{{head}}{AT}12] 4 Chunks of size 67108864 totalling 256.00MiB\n"
    f"{AT}12] 1 Chunks of size 5262336000 totalling 4.90GiB\n{AT}16] Sum Total of in-use chunks: 5.72GiB\n"
    f"{AT}24] Stats: \nLimit:                 {{limit}}\nInUse:                  6142981376\n"
    "MaxInUse:               7216919808\n"
)


def test_one_block_among_small_ones_is_one_tensor() -> None:
    report = explained(LARGE.format(head="", limit=10979036365))
    assert "one block of 4.90 GiB, one tensor, holds 86 %" in report.verdict
    assert "most likely a second one as large was asked for (a guess)" in report.verdict
    full = explained(LARGE.format(head="", limit=6200000000))
    assert "one tensor, holds" in full.verdict and "a second one" not in full.verdict


@pytest.mark.parametrize("head", ["", "# Keras callback error\n"])
def test_no_session_is_advised_where_none_is_known(head: str) -> None:
    text = LARGE.format(head=head, limit=10979036365).replace(
        "5262336000 totalling 4.90GiB", "67108000 totalling 64.00MiB"
    )
    assert "sess.run" not in " ".join(each.remedy.code or "" for each in explained(text).actions)


LONE = (
    "{told}\ntensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor of"
    " shape [4096] and type float\n"
)


@pytest.mark.parametrize("told", ["the server has four GPUs", "服务器是四显卡的", "we have 4 GTX 1080 Ti"])
def test_a_small_request_on_a_machine_with_several_gpus(told: str) -> None:
    first, second, *_ = explained(LONE.format(told=told)).actions
    assert first.remedy.slug == "smaller-batch" and second.remedy.slug == "see-device-users"
    assert "take another of the GPUs (line 1)" in second.remedy.text


@pytest.mark.parametrize("told", ["the server has a GPU", "the GTX 1080 has 8 GB", "TF 2.4 GPU"])
def test_one_gpu_has_no_other(told: str) -> None:
    _, second, *_ = explained(LONE.format(told=told)).actions
    assert second.remedy.slug == "see-device-users" and "another of the GPUs" not in second.remedy.text
