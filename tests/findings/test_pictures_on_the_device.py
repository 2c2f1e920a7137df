"""Blocks of a dump that are whole numbers of pictures of the text's size."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tests.findings.pages import explained

MIB = 1 << 20
ONE = 90 * 70 * 3 * 4
STATED = "experiment(height=90, width=70)\n"


def page(stated: str, *sizes: tuple[int, int], limit: int = 9000) -> str:
    held = sum(count * size for count, size in sizes)
    rest = (40, ((limit << 20) - held - MIB) // 40 // 256 * 256)
    return (
        stated
        + dump_by_size(32 * 64 * 62 * 62 * 4, limit, *sizes, rest)
        + oom("32,64,62,62", "model_1/conv2d_21/Conv2D")
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (page(STATED, (1, 51200 * ONE)), "1 x 3.60 GiB, just 51,200 pictures of 90 x 70 x 3 float32 each"),
        (page(STATED, (2, 25600 * ONE)), "2 x 1.80 GiB, just 25,600 pictures of 90 x 70 x 3 float32 each"),
        (
            page("IMG_SIZE = 90\n", (1, -(-102402 * 90 * 90 * 3 // 256) * 256)),
            "102,402 pictures of 90 x 90 x 3 uint8 each",
        ),
        (page(STATED, (1, 51200 * ONE + 256)), ""),
        (page(STATED, (6, 12800 * ONE)), ""),  # so many of a size are a network's
        (page(STATED, (1, 51200 * ONE), limit=40000), ""),  # a small part of it
        (page("", (1, 51200 * ONE)), ""),
        (page("IMG_SIZE = 64\n", (1, 81920 * 64 * 64 * 4)), ""),  # powers of two are anybody's
        (page("IMG_SIZE = 224\n", (1, 4096 * 224 * 224 * 3 * 4)), ""),  # [256,112,112,192] has as many
        (page("IMG_SIZE = 224\n", (1, 4111 * 224 * 224 * 3 * 4)), "just 4,111 pictures of 224 x 224 x 3"),
    ],
)
def test_they_are_named(text: str, told: str) -> None:
    found = explained(text)
    assert ("whole sets of pictures lie on the device" in found.verdict) is bool(told)
    assert told in found.verdict
    if told:
        assert found.actions[0].remedy.slug == "keep-off-the-device"
        assert not {"smaller-batch", "smaller-input"} & {each.remedy.slug for each in found.actions}
