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

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.applicability import applies
from tfmemlens.findings.support.rows import attributed, failures
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, only_infers
from tfmemlens.model.case import Case, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "no bytes"
GENERAL = 0.3
_RECORDED_NO_STEP = Remedy(
    "this run recorded itself, but no step of it ran to its end: run it the same way at a batch that"
    " fits, and its page says which layers hold the memory, and which batch fits",
    slug="record-a-step",
)
_PREDICTED = replace(
    _RECORDED_NO_STEP,
    text="this run recorded itself, but no step of it ran to its end: `tfmemlens fit` of its folder"
    " predicts which batch fits; run there, its page says which layers hold the memory",
)
_NAMED_NO_STEP = replace(
    _RECORDED_NO_STEP,
    text="to learn which batch fits: run it the same way at a smaller one; `tfmemlens fit` of its folder then"
    " tells",
)
_NAMED_AND_PREDICTED = replace(
    _RECORDED_NO_STEP, text="`tfmemlens fit` of this run's folder predicts which batch fits"
)


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
        yield Finding(
            severity=Severity.NOTE,
            headline="which batch fits is not in this input"
            if moment.is_counted
            else "which of your layers hold the memory is not in this input",
            evidence=(Evidence("TensorFlow's hint", incident.hint),) if incident.hint else (),
            remedies=tuple(_remedies(case, moment, incident)),
            moment=index,
        )


def _remedies(case: Case, moment: Moment, incident: Incident) -> Iterator[Remedy]:
    framework = framework_of(case)
    if framework != TENSORFLOW:
        yield (
            remedies.name_the_buffers()
            if framework != JAX
            else Remedy(
                "save who holds the device, by line of code, before the step that fails; tfmemlens reads the"
                " file",
                code_snippets.profile_memory(case.api),
                slug="record-a-step",
            )
        )
        return
    live = case.capture.live_model
    if moment.is_counted and live is not None:
        yield _NAMED_AND_PREDICTED if live.description else _NAMED_NO_STEP
        return
    code = None if _has_no_run(case, incident) else code_snippets.enable_report(case.api)
    if code:
        yield Remedy(
            "to see which layers hold the memory: let the next failure list its tensors"
            f"{_from(case, _LISTS)}, and explain that log",
            code,
            slug="list-tensors",
        )
    elif live is not None and case.capture.hints.model is None:
        yield _PREDICTED if live.description else _RECORDED_NO_STEP
    elif not only_infers(case):
        yield _record_a_step(case, incident)
    first = "or " if not only_infers(case) and applies("record-a-step", case, moment) else ""
    writes = case.api.newest > _WRITES  # whatever may be the first of them is most likely older
    in_session = case.api.front_end is FrontEnd.SESSION and case.api.oldest < (2, 0)
    if writes and not in_session and "memory-dump" not in case.capture.source.formats and _by_bfc(moment):
        yield Remedy(
            f"{first}let BFC write its state to a file at each failure{_from(case, _WRITES)}, which tfmemlens"
            " reads",
            "export TF_BFC_MEMORY_DUMP=/tmp/bfc",
            slug="dump-file",
        )


_LISTS, _WRITES = (1, 5), (2, 1)
"""The first releases that list tensors, and that write the file."""


def _from(case: Case, first: tuple[int, int]) -> str:
    """The first release that can, where the program's may be older."""
    return f" (TensorFlow {first[0]}.{first[1]} and newer)" if case.api.oldest < first else ""


_KERAS = regex(r"keras[/\\](?:src[/\\])?engine[/\\]training|keras[/\\]src[/\\]trainers")


def _has_no_run(case: Case, incident: Incident) -> bool:
    """Whether Keras's own loop ran the step, in which users have no `sess.run`; or whether nothing tells of
    sessions where the release may have none.
    """
    if any(_KERAS.search(frame.place) for frame in incident.request.frames):
        return True
    if case.api.front_end is not FrontEnd.UNKNOWN:
        return False
    return not case.api.is_tf1 or any(map(case.capture.surroundings.shows, ("naming Keras", "fitting")))


def _record_a_step(case: Case, incident: Incident) -> Remedy:
    if case.api.newest < _LISTS:
        return Remedy(
            "to see which layers hold the memory: trace one step by hand, at a batch that fits (TensorFlow"
            " 1.0 and newer; none before 1.5 lists live tensors)",
            code_snippets.profile_memory(case.api),
            slug="record-a-step",
        )
    open_ = case.api.front_end is FrontEnd.UNKNOWN and case.api.oldest < (2, 0)
    why = (
        "from TensorFlow 1.5 on, in sessions, Keras and tf.function alike"
        if open_
        else "tf.function, eager mode and Keras cannot list live tensors"
    )
    hinted = ", whatever TensorFlow's hint says" if incident.hint and not open_ else ""
    return Remedy(
        "to see which layers hold the memory: run it once more with `tfmemlens run --trace`, best at a"
        f" batch that fits ({why}{hinted})",
        f"tfmemlens run --trace -- python train.py\n# or by hand:\n{code_snippets.profile_memory(case.api)}",
        slug="record-a-step",
    )
