"""The failing tensor is in float64, which takes twice what float32 does.

What it means: NumPy's arrays are float64 unless told otherwise, and a model that is built with `floatx` or an
array of float64 computes in it throughout. Few models gain anything from it.
When it fires: the failing tensor is float64 and has at least 1 MiB.
What to do: convert the data to float32 where it enters the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import MIB, human

BASIS = Basis.MEASURED
EXPLAINS = "half of the failing tensor, and of held tensors of the same size"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed, need = request.failed, request.failed.tensor_bytes or 0
        if failed.dtype != "float64" or need < MIB or failed.kind is not RequestKind.TENSOR:
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{place(moment) or 'the failing op'} computes in float64: in float32 the tensor takes"
            f" {human(need // 2)}",
            because=f"it is float64, and in float32 it would take {human(need // 2)}",
            explains=alike(moment) // 2,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=(
                Remedy(
                    "compute in float32: convert the data where it enters the program, and leave Keras's"
                    " floatx at float32",
                    "x = x.astype('float32'); tf.keras.backend.set_floatx('float32')",
                    need // 2,
                    Certainty.EXACT,
                    slug="single-precision",
                ),
            ),
            moment=index,
        )
