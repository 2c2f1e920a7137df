"""What the bytes of arguments and results tell beside the one result that was refused."""

from __future__ import annotations

import pytest

from tests.readers.test_tuned_kernels import BEYOND, EMPTY, NAMED, REFUSED
from tfmemlens import pipeline
from tfmemlens.model.report import Report


def refused(need: int, given: int) -> str:
    size = f"{need / 2**30:.2f}GiB"
    return "\n".join(
        [
            "import jax",
            BEYOND.format(given=given),
            "W1127 22:08:17.7 3928 bfc_allocator.cc:598] Allocator (GPU_0_bfc) ran out of memory trying to"
            f" allocate {size} (rounded to {need}) from the lower end requested by op",
            f"jax.errors.JaxRuntimeError: {REFUSED.format(size=size)}{NAMED}{EMPTY}",
        ]
    )


def explained(text: str) -> Report:
    return pipeline.explain(text)


def slugs(text: str) -> list[str]:
    return [remedy.slug for finding in explained(text).findings for remedy in finding.remedies]


@pytest.mark.parametrize(
    ("need", "given", "told", "first"),
    [
        (48000**2 * 4, 48000**2 * 4 + 8 * 48000, "two vectors of 48,000 numbers", "compare-shapes"),
        (
            48000**2 * 4,
            48000**2 * 4 + 8 * 48000 + 4,
            "arguments and other results 375.0 KiB together",
            "in-blocks",
        ),
        (2702278656, 5407896104, "given and returned anew without being donated", "donate-buffers"),
        (2702278656, 6007896104, "its arguments and results alone are 5.60 GiB", "list-arguments"),
    ],
)
def test_what_the_bytes_tell(need: int, given: int, told: str, first: str) -> None:
    text = refused(need, given)
    assert told in explained(text).verdict
    assert slugs(text)[0] == first


def test_an_operation_by_itself_donates_nothing() -> None:
    text = refused(2702278656, 5407896104).replace(NAMED, "")
    assert "donate-buffers" not in slugs(text)


def test_what_a_list_keeps_is_named() -> None:
    request = refused(135562496, 135562496 * 3).partition("\n")[2].partition("\n")[2]
    text = f"import jax\nfor x in xs:\n    maps = encode(x)\n    kept.append(maps)\n\n{request}"
    codes = [remedy.code or "" for finding in explained(text).findings for remedy in finding.remedies]
    assert not any("result)" in code for code in codes)


def test_shapes_that_do_not_fit_are_no_matter_of_batches() -> None:
    text = refused(48000**2 * 4, 48000**2 * 4 + 8 * 48000) + "\nloss = evaluate(state, x)\n"
    assert not {"smaller-evaluation-batch", "smaller-batch", "keep-numbers"} & set(slugs(text))
