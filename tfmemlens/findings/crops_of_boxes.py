"""One image or mask for each detected box: as many as the detector may return, at the crop's full size.

What it means: the first dimension counts boxes, not samples. Masks that are pasted back into the whole image
have the image's height and width each.
When it fires: CropAndResize, or an op of masks and boxes, asks for a tensor [boxes, height, width, channels].
What to do: fewer boxes, smaller crops or images; paste masks one at a time, on the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_CROPS = regex(r"CropAndResize(?:_\d+)?\Z|roi_?align|roi_?pool", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if not shape or len(shape) != 4 or not all(shape) or need is None or need < 16 * MIB:
            continue
        if not _CROPS.search(request.failed.node or request.failed.op or ""):
            continue
        boxes, height, width, _ = (size or 1 for size in shape)
        what = f"{boxes:,} boxes are cut out or pasted back at {height} x {width} each"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {human(need)}",
            because=what,
            explains=alike(moment),
            evidence=(Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    f"keep fewer boxes, as proposals or as results: {boxes:,} -> {max(boxes // 2, 1):,}",
                    saves_bytes=need // 2,
                    certainty=Certainty.EXACT,
                    slug="fewer-boxes",
                ),
                Remedy(
                    "smaller images or crops: half the height and width make a quarter of this",
                    saves_bytes=need * 3 // 4,
                    certainty=Certainty.EXACT,
                    slug="smaller-input",
                ),
                Remedy("paste masks into the image one at a time, on the host", slug="masks-on-host"),
            ),
            moment=index,
        )
