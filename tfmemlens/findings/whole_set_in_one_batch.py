"""A whole data set went through the network at once.

What it means: the first dimension of the failing tensor is thousands of samples: an accuracy or prediction is computed over the whole
test set in one run, or a data set was turned into one tensor on the device.
When it fires: the failing tensor has at least 2,000 samples in its first dimension and image-like or wide dimensions behind it; or a
constant or a copy to the device carries a data set.
What to do: evaluate in batches; keep the data set on the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings._rows import failures, place, tensor_text
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

_SAMPLES = 2000


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed, owner = moment.request.failed, moment.request.owner
        shape, need = failed.shape, failed.tensor_bytes or 0
        copying = failed.op in ("_EagerConst", "_EagerConstant") or (failed.node or "").startswith("_EagerConst")
        images = bool(
            shape
            and len(shape) >= 4
            and all(shape)
            and (shape[0] or 0) >= _SAMPLES
            and need >= 64 * MIB
            and (shape[1] or 0) > 1
            and owner.phase is not Phase.OPTIMIZER
            and owner.kind not in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
            and math.prod(sorted(size or 1 for size in shape[1:])[:2]) > 32  # small maps in such numbers: an atrous convolution's pieces
            and "SpaceToBatch" not in f"{failed.node} {failed.op}"  # an atrous convolution deals one image out to many
        )
        if not images and not (copying and (need >= 256 * MIB or not shape)):
            continue
        samples = shape[0] if shape else None
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{f'{samples:,} samples' if samples else 'a whole array'} at once{f' at {place(moment)}' if place(moment) else ''}: {tensor_text(moment)}",
            because=f"{samples:,} samples went through the network at once" if samples else "a whole array is copied to the device as one tensor",
            bytes=need or None,
            weight=0.75,
            evidence=(Evidence(f"asked for: {tensor_text(moment)}", failed.line),),
            remedies=(
                Remedy(
                    f"go in batches: with 100 samples this tensor takes {human(need // samples * 100)}"
                    if samples and need
                    else "go in batches instead of passing the whole array",
                    "for start in range(0, len(x), 100): sess.run(accuracy, {x_: x[start:start + 100], ...})"
                    if case.api.is_tf1
                    else "model.predict(x, batch_size=100); dataset = tf.data.Dataset.from_tensor_slices(x).batch(100)",
                    need - need // samples * 100 if samples and need else None,
                    Certainty.EXACT if samples and need else None,
                ),
                *(
                    (
                        Remedy(
                            "keep the data on the host: build the data set under the CPU device, or feed from a generator",
                            "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)",
                        ),
                    )
                    if copying
                    else ()
                ),
            ),
            moment=index,
        )
