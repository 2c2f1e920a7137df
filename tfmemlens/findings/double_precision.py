"""The failing tensor is in float64, which takes twice what float32 does.

What it means: NumPy's arrays are float64 unless told otherwise, and a model that is built with `floatx` or an
array of float64 computes in it throughout. Few models gain anything from it.
When it fires: the failing tensor is float64 and has at least 1 MiB; or it is smaller, and what a layer
computes on a device that is full: then most likely the whole net is in float64.
What to do: convert the data to float32 where it enters the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, all_in_use, attributed, place, requests, tensor_text
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.units import MIB, human

BASIS = Basis.MEASURED
EXPLAINS = "half of the failing tensor, and of held tensors of the same size; of a whole net half of all"

_FULL = 0.9
"""Of the limit in use, for a net in float64 to be what filled the device."""
_LEAST_BYTES = 16 << 10
"""A smaller tensor in float64 may be a sum, a score or a schedule of its own."""
_CAST, _OF_KERAS = "x = x.astype('float32')", "tf.keras.backend.set_floatx('float32')"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed, need = request.failed, request.failed.tensor_bytes or 0
        if failed.dtype != "float64" or failed.kind is not RequestKind.TENSOR:
            continue
        if need < MIB:
            if _of_a_net(moment, request, need):
                yield _whole_net(case, moment, failed, index)
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{place(moment) or 'the failing op'} computes in float64: in float32 the tensor takes"
            f" {human(need // 2)}",
            because=f"it is float64, and in float32 it would take {human(need // 2)}",
            explains=alike(moment) // 2,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=(_in_float32(case, request.failed, need // 2, Certainty.EXACT),),
            moment=index,
        )


def _in_float32(case: Case, failed: FailedRequest, saves: int, certainty: Certainty) -> Remedy:
    """Where data enter, and where Keras is seen, its floatx, too."""
    told = case.capture.surroundings
    keras = told.shows("naming Keras") or told.shows("fitting") or failed.keras_layer
    of_keras = ", and leave Keras's floatx at float32" if keras else ""
    return Remedy(
        f"compute in float32: convert the data where it enters the program{of_keras}",
        f"{_CAST}; {_OF_KERAS}" if keras else _CAST,
        saves,
        certainty,
        slug="single-precision",
    )


def _of_a_net(moment: Moment, request: Request, need: int) -> bool:
    """Whether it is what a layer computes, on a device that is full of chunks without names."""
    limit = moment.balance.limit
    computed = request.owner.kind in (Kind.ACTIVATION, Kind.GRADIENT) and bool(request.owner.layer)
    full = limit is not None and all_in_use(moment) >= _FULL * limit.bytes
    return need >= _LEAST_BYTES and computed and full and not attributed(moment)


def _whole_net(case: Case, moment: Moment, failed: FailedRequest, index: int) -> Finding:
    whole = all_in_use(moment)
    what = f"{place(moment)} computes in float64, as the whole net then most likely does"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: in float32 half of {human(whole)}",
        because=f"{what}; in float32 the {human(whole)} in use would be about half",
        explains=whole // 2,
        basis=Basis.NAME,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(_in_float32(case, failed, whole // 2, Certainty.ESTIMATE),),
        moment=index,
    )
