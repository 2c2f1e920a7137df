"""The list of live tensors was not printed; with it, tfmemlens could name the layers.

What it means: TensorFlow can append all live allocations of the step to the error, but only when asked to,
and only in graph mode.
When it fires: the failure carries TensorFlow's hint instead of a list, or a dump without names is all there
is, and no traced step is beside it.
What to do: switch it on where this TensorFlow can; in eager mode, tf.function and Keras 2.2+ record a profile
instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import attributed, failures
from tfmemlens.model.case import Case, FrontEnd, Moment
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind


def _by_bfc(moment: Moment) -> bool:
    """Whether a BFC allocator failed, as far as is known: others write no dump."""
    failed = moment.request.failed if moment.request else None
    return failed is None or failed.allocator is None or "bfc" in failed.allocator.lower()


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        incident = moment.incident
        if (
            case.capture.timelines
            or incident is None
            or incident.holders
            or attributed(moment)
            or incident.request.kind not in (RequestKind.TENSOR, RequestKind.DUMP)
        ):
            continue
        of_jax = case.api.front_end is FrontEnd.JAX
        code = None if of_jax else code_snippets.enable_report(case.api)
        if of_jax:
            remedy = Remedy(
                "save who holds the device, by line of code, before the step that fails; tfmemlens reads the"
                " file",
                code_snippets.profile_memory(case.api),
            )
        elif code:
            remedy = Remedy("print the list of live tensors with the next failure, and paste it here", code)
        else:
            why = (
                "TensorFlow before 1.5 cannot"
                if case.api.newest < (1, 5)
                else "tf.function, eager mode and Keras cannot"
            )
            hinted = " (TensorFlow's hint misleads)" if incident.hint else ""
            remedy = Remedy(
                f"{why} print the list of live tensors{hinted}; record the memory of one good step at a"
                " smaller batch instead",
                code_snippets.profile_memory(case.api),
            )
        more = (
            ()
            if case.api.newest < (2, 1)
            or (case.api.front_end is FrontEnd.SESSION and case.api.oldest < (2, 0))
            or "memory-dump" in case.capture.source.formats
            or not _by_bfc(moment)
            or of_jax
            else (
                Remedy(
                    "or let BFC write its state to a file at each failure, which tfmemlens reads",
                    "export TF_BFC_MEMORY_DUMP=/tmp/bfc",
                ),
            )
        )
        yield Finding(
            severity=Severity.NOTE,
            headline="which of your layers hold the memory is not in this input",
            evidence=(Evidence("TensorFlow's hint", incident.hint),) if incident.hint else (),
            remedies=(remedy, *more),
            moment=index,
        )
