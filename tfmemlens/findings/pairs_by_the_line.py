"""The failing line sets every row against every row, and the text states how many rows there are.

What it means: `z[:, None, :] - z[None, :, :]` of 6000 rows with 128 numbers makes 6000 x 6000 x 128 of them,
which no message need say: newer releases of TensorFlow report an elementwise op without its shape.
When it fires: a message of TensorFlow's has neither shape nor bytes, the failing line adds an axis to the
same array in two places, and the text states the array's shape; all pairs take a GiB or more.
What to do: a product of matrices gives squared distances without that tensor; else go in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

BASIS = Basis.SHAPE
EXPLAINS = "all pairs, in float32"

_NEW = r"(?:None|tf\.newaxis|np\.newaxis)"
_PAIRS = regex(
    rf"(?<![\w.])(?P<name>[A-Za-z_]\w{{0,40}})\[:, ?{_NEW}(?:, ?:)?\] ?[-+*/] ?"
    rf"(?P=name)\[{_NEW}(?:, ?:){{0,2}}\]"
    r"|expand_dims\((?P<other>[A-Za-z_]\w{0,40}), ?(?:axis ?= ?)?1\) ?[-+*/] ?"
    r"(?:tf\.)?expand_dims\((?P=other), ?(?:axis ?= ?)?0\)"
)
_FLOAT32 = 4
_DISTANCES = "sq = tf.reduce_sum(z * z, 1); d2 = sq[:, None] + sq - 2 * tf.matmul(z, z, transpose_b=True)"


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, _, request in list(requests(case))[:1]:
        failed = request.failed
        match = _PAIRS.search(failed.source_text or "")
        if match is None or failed.shape is not None or failed.size is not None:
            continue
        name = match["name"] or match["other"]
        stated = _stated(case, name)
        if stated is None:
            continue
        rows, width = stated.sizes
        need = rows * rows * width * _FLOAT32
        if need < GIB:
            continue
        what = (
            f"{failed.source or 'the failing line'} sets every row of `{name}` against every row:"
            f" [{rows},{rows},{width}] takes {human(need)} in float32, by the shape that {stated.line.place}"
            " states"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need,
            evidence=(Evidence("the message", failed.line), Evidence("the shape", stated.line)),
            remedies=(
                Remedy(
                    "if squared distances are meant: a product of matrices gives them without that tensor"
                    f" ({human(rows * rows * _FLOAT32)} for all pairs)",
                    _DISTANCES.replace("z", name) if name.isidentifier() else _DISTANCES,
                    slug="matrix-product",
                ),
                Remedy(
                    "else go through the rows in blocks of some hundred, and reduce each block at once",
                    slug="in-blocks",
                ),
            ),
            moment=index,
            rules_out=("smaller-input", "see-device-users"),
        )


def _stated(case: Case, name: str) -> StatedSize | None:
    """The size of two dimensions that the text states of the array: by its name, or in words about it."""
    for each in case.capture.surroundings.sizes:
        if len(each.sizes) == 2 and (
            each.name in (name, f"{name}.shape")
            or each.line.text.strip().startswith((f"{name} ", f"`{name}`"))
        ):
            return each
    return None
