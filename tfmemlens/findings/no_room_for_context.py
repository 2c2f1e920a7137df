"""The GPU had no room even for a CUDA context: the run had not begun.

What it means: before TensorFlow or JAX can ask for memory, the driver makes a context of a few hundred MiB on
the device. If that fails, other processes hold nearly all of it; model and batch play no part.
When it fires: the driver reports out of memory from a call that makes a context or starts CUDA. Where several
tasks of the same job tell of it, or the text says that several share the GPU, these are most likely the
others; in a process that reads data, the training that started it.
Several GPUs of one process fail so where it opens all that it sees, and only one is its own.
What to do: end the other processes, or choose another GPU; give each task of a job a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import processes_on_one_device
from tfmemlens.findings.support import device_users, of_tensorboard, own_tasks
from tfmemlens.findings.support.driver import of_context
from tfmemlens.findings.support.rows import failures
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import Frame
from tfmemlens.patterns import regex

BASIS = Basis.MEASURED
EXPLAINS = "no bytes: the driver states none"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if not of_context(moment):
            continue
        assert moment.request
        if viewer := of_tensorboard.told(case, moment):
            yield _of_a_viewer(moment.request, viewer, index)
            continue
        own = own_tasks.own_tasks(case, moment)
        if not own and len(full := _full_ones(moment)) > 1:
            yield _of_some(case, moment.request, full, index)
            continue
        if not own and (called := _in_a_worker(moment.request)):
            yield _of_workers(moment.request, called, index)
            continue
        who = "others hold it"
        if own:
            who = f"most likely {_TASKS} hold it ({own.place})"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the GPU had no room even for a CUDA context of a few hundred MiB: {who}",
            because=(
                f"not even a CUDA context of a few hundred MiB fitted: {own.place} shows that several tasks"
                f" of this job are started, and {processes_on_one_device.each_takes(case)}{_goes_on(case)}"
                if own
                else "not even a CUDA context of a few hundred MiB fitted, so others hold the GPU"
            ),
            evidence=(
                Evidence("the message", moment.request.failed.line),
                *((Evidence("several tasks", own),) if own else ()),
            ),
            remedies=tuple(processes_on_one_device.parts(case)) if own else tuple(_of_others(case)),
            moment=index,
            rules_out=_OF_OTHERS if own else (),
        )


def _of_a_viewer(request: Request, viewer: str, index: int) -> Finding:
    """TensorBoard, which was started beside what holds the GPU."""
    what = f"not even a CUDA context of a few hundred MiB fitted, so others hold the GPU{viewer}"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", request.failed.line),),
        remedies=(of_tensorboard.HIDE_IT, of_tensorboard.FOR_THE_TRAINING),
        moment=index,
        rules_out=(*_OF_OTHERS, "one-device-each", "smaller-batch", "smaller-fraction"),
    )


def _of_others(case: Case) -> Iterator[Remedy]:
    """What to do about others on the GPU; another GPU only where no table shows that there is none, and of a
    cluster's tasks a part for each.
    """
    users, another = _END_OTHERS
    yield users
    if processes_on_one_device.in_a_cluster(case):
        yield from processes_on_one_device.of_a_cluster(case)
    if not device_users.lists_one_alone(case):
        yield another


_ORDINAL = regex(r"\bdevice ordinal (?P<at>\d{1,3})\b|\bCUDA:(?P<of>\d{1,3})\b")


def _full_ones(moment: Moment) -> list[int]:
    """The numbers of the GPUs on which no context could be made."""
    tellings = moment.incident.tellings if moment.incident else ()
    found = filter(None, (_ORDINAL.search(line.text) for line in tellings))
    return sorted({int(each["at"] or each["of"]) for each in found})


def _of_some(case: Case, request: Request, full: list[int], index: int) -> Finding:
    """Of several GPUs that a process opens, whether they are its own or not."""
    free = [at for at in range(full[-1] + 1) if at not in full]
    named = f"GPUs {', '.join(map(str, full[:-1]))} and {full[-1]}"
    rest = f"; GPU {free[0]} is not among them" if len(free) == 1 else ""
    what = (
        f"{framework_name(case)} opens every GPU that it sees, and {named} had no room even for a CUDA"
        f" context: others hold them{rest}"
    )
    own = free[0] if len(free) == 1 else "N"
    which = "" if len(free) == 1 else "   # its number, by nvidia-smi or the batch system"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", request.failed.line),),
        remedies=(
            Remedy(
                "let the process see the GPU alone that is yours (that the batch system gave, or that is"
                " free), before it starts: the others need not be empty then",
                f"export CUDA_VISIBLE_DEVICES={own}{which}",
                slug="another-gpu",
            ),
            _END_OTHERS[0],
        ),
        moment=index,
        rules_out=("smaller-batch", "growth"),
    )


_OF_A_CHILD = regex(r"(?:multiprocessing|concurrent[\\/]futures)[\\/]\w+\.py\b")
"""A frame of a process that the program started."""


def _in_a_worker(request: Request) -> Frame | None:
    """The program's own line that began to compute in a process that reads its data."""
    frames = request.failed.frames
    started = next((at for at, each in enumerate(frames) if _OF_A_CHILD.search(each.place)), None)
    own = [each for each in frames[started:] if user_frame(each.place)] if started is not None else []
    return own[-1] if own else None


def _of_workers(request: Request, called: Frame, index: int) -> Finding:
    """Processes of the program's own: the one that trains holds the GPU, and each that reads starts anew."""
    what = (
        f"it failed in a process that reads data: {called.place} computes with TensorFlow there, so that each"
        " such process opens the GPU anew, which the training, most likely, holds nearly whole"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", request.failed.line),),
        remedies=(_WITHOUT_THE_GPU, _THREADS),
        moment=index,
        rules_out=(*_OF_OTHERS, "smaller-batch", "growth"),
    )


_WITHOUT_THE_GPU = Remedy(
    "let what reads the data call no op of TensorFlow: NumPy, PIL or OpenCV do the same on the CPU; or hide"
    " the GPU there before the first op",
    "tf.config.set_visible_devices([], 'GPU')   # in each worker, first of all",
    slug="keep-off-the-device",
)
_THREADS = Remedy(
    "or read with threads, which share the process's own GPU",
    "model.fit(data, workers=4, use_multiprocessing=False)   # or tf.data: map(..., num_parallel_calls=4)",
    slug="fewer-workers",
)
_TASKS = "tasks of the same job"
_OF_OTHERS = ("see-device-users", "another-gpu", "end-the-process")
_END_OTHERS = (
    Remedy(
        "see who holds the GPU, and end what you do not need (a notebook keeps its GPU memory until its"
        " kernel stops)",
        "nvidia-smi",
        slug="see-device-users",
    ),
    Remedy("or run on another GPU", "export CUDA_VISIBLE_DEVICES=1", slug="another-gpu"),
)


def _goes_on(case: Case) -> str:
    """That those that failed go on without the GPU, where JAX says so."""
    said = next((line for what, line in case.capture.surroundings.startup if _ON_THE_CPU in what), None)
    return f"; those without a GPU go on with the CPU, far slower ({said.place})" if said else ""


_ON_THE_CPU = "runs on the CPU"
