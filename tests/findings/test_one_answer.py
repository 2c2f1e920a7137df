"""What a page says once: sizes, remedies that no cause rules out, blocks that a weight explains."""

from __future__ import annotations

import pytest

from tests.answers import explained
from tests.findings.logs import CPU, MIB, dump, oom
from tfmemlens.findings.memory_shortage import _is_small_part
from tfmemlens.findings.support import code_snippets
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.model.report import Report


def slugs(report: Report) -> list[str | None]:
    return [action.remedy.slug for action in report.actions]


def test_a_size_that_the_sentence_has_is_not_said_again() -> None:
    report = explained(dump(900, 500, 10) + oom("900,512,512", "net/mul/Mul"))
    assert report.verdict.count("900.00 MiB") == 1
    assert "this one tensor is larger than the device's limit of 500.00 MiB" in report.verdict


@pytest.mark.parametrize(
    ("node", "searched"), [("UnsortedSegmentSum/pfor", False), ("net/segment/UnsortedSegmentSum", True)]
)
def test_who_vectorises_a_loop_need_not_search_for_a_length(node: str, searched: bool) -> None:
    report = explained(dump(1024, 500, 10, op=node) + oom("268435456", node))
    assert any("what makes a vector" in action.remedy.text for action in report.actions) is searched


@pytest.mark.parametrize(
    ("node", "rows", "advised"),
    [("Fill", "300000,64", False), ("net/conv/Conv2D", "64,56,56,256", True)],
)
def test_where_no_smaller_batch_helps_none_is_advised(node: str, rows: str, advised: bool) -> None:
    text = dump(80, 700, 690, op=node) + oom(rows, node, on=CPU, by="cpu")
    text += '  File "/lib/keras/optimizers/optimizer.py", line 3, in build\n' if not advised else ""
    report = explained(text + "model.fit(x, y, batch_size=64)\n")
    assert "a smaller batch does not help" not in report.verdict or "smaller-batch" not in slugs(report)
    assert ("smaller-batch" in slugs(report)) is advised


@pytest.mark.parametrize(
    ("blocks", "small"),
    [
        ((12, 64, 60, 50), True),  # larger ones that no weight of 12 MiB has
        ((12, 12, 12, 14), False),  # most are as large as the weight
        ((12, 20, 22, 23), False),  # larger, and each may be one that was not split
    ],
)
def test_blocks_that_no_weight_explains(blocks: tuple[int, ...], small: bool) -> None:
    rows = "\n".join(f"1 Chunks of size {size * MIB} totalling {size}.00MiB" for size in blocks)
    whole = sum(blocks)
    text = dump(12, whole + 3, whole).replace(f"1 Chunks of size {whole * MIB} totalling {whole}.00MiB", rows)
    moment = explained(text + oom("3072,1024", "Adam/Adam/update/AssignAddVariableOp")).case.moments[0]
    assert moment.request and _is_small_part(moment, moment.request) is small


@pytest.mark.parametrize(
    ("front_end", "oldest", "code"),
    [
        (FrontEnd.KERAS, (2, 16), "optimizer = keras.optimizers.Adam(..., gradient_accumulation_steps=4)"),
        (FrontEnd.KERAS, (2, 11), None),  # Keras 2 has none
        (FrontEnd.FUNCTION, (2, 16), None),
    ],
)
def test_how_gradients_are_accumulated(
    front_end: FrontEnd, oldest: tuple[int, int], code: str | None
) -> None:
    api = Api(oldest=oldest, newest=(2, 21), front_end=front_end)
    assert code_snippets.accumulate(api, 4) == code
