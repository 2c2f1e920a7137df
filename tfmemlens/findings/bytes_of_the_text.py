"""The request has bytes and no shape, and numbers of the text multiply to it.

What it means: some kernels of TensorFlow say how many bytes they asked for and nothing else. 1,310,720,000
bytes beside `vocab 32000, batch 128, maxlen 80` are one number in float32 for each word, sample and position.
When it fires: a failed request of a program of TensorFlow states bytes and no shape, and exactly one product
of numbers of the text is the same, to the byte.
What to do: lower the number that is meant to be lowered: the batch, a length.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.stated_sizes import Product, as_product
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_TYPES = ((4, "float32"), (2, "16 bits"))
_BATCH = regex(r"(?i)batch|\bbs\b|samples")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed
        if framework_of(case) != TENSORFLOW or on_host(moment) or failed.kind is not RequestKind.TENSOR:
            continue
        if failed.shape is not None or failed.size is None:
            continue
        stated = case.capture.surroundings.sizes
        product = as_product(failed.size.bytes, stated, items=_TYPES)
        if product is None:
            continue
        what = f"that is, to the byte, {product.text}, by the numbers of the text"
        line = next((each.line for each in stated if (each.name, each.sizes) in product.parts), None)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=failed.size.bytes,
            evidence=(
                Evidence("the message", failed.line),
                *((Evidence("its numbers", line),) if line else ()),
            ),
            remedies=tuple(_remedies(product)),
            moment=index,
        )


def _remedies(product: Product) -> Iterator[Remedy]:
    batch = next((name for name, sizes in product.parts if len(sizes) == 1 and _BATCH.search(name)), None)
    if batch:
        yield Remedy(
            f"halve `{batch}`: this tensor and others of the step halve, too; where the loss keeps several as"
            " large, take a quarter",
            slug="smaller-batch",
        )
    others = [f"`{name}`" for name, sizes in product.parts if name and name != batch]
    if others:
        yield Remedy(
            f"or lower {' or '.join(others)}: it is as large as their product",
            slug="smaller-input",
        )
