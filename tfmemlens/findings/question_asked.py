"""The text asks something that its failure answers.

What it means: a post ends in a question. Whether the memory of several GPUs adds up, whether host RAM or
Java's heap counts, whether the setting that TensorFlow's own message names would help, does not depend on
more than what stands there.
When it fires: a line asks one of these, and the failure is none where the answer would be another: of memory
that adds up where the text names several devices; of Java's heap and of host RAM where a GPU's memory ran
out; of fragmentation where nothing shows free memory in pieces.
What to do: as the answer says.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.pool_of_jax import UNTIL_ITS_END
from tfmemlens.findings.support.rows import is_fragmented, on_host
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "no bytes: it answers a question"

_ONE_EACH = Remedy(
    "compare both runs at the same batch for each GPU: a GPU that also draws the desktop, or that another"
    " program uses, has less room than its twin",
    "nvidia-smi",
    slug="see-device-users",
)
_PER_REPLICA = Remedy(
    "count the batch for one GPU: what does not fit on one GPU with its part of the batch fits on none; a"
    " model that is too large for one needs smaller layers, mixed precision or another GPU",
    "global_batch = batch_of_one_gpu * strategy.num_replicas_in_sync",
    slug="batch-per-replica",
)


_AT_THE_END = (
    "only with the end of the process: a session that is closed, a model that is deleted and clear_session()"
    " leave it with TensorFlow's pool, for the same process to use again"
)
_CHILD = Remedy(
    "do each piece of work in a process of its own that ends with it, or let one process that lives on serve"
    " all",
    "multiprocessing.Pool(1, maxtasksperchild=1)   # Celery: worker_max_tasks_per_child = 1",
    slug="own-process",
)
_WATCH = Remedy(
    "print what is in use at the end of each epoch: flat until the failure, it is another process or a larger"
    " step; rising, look for what is kept",
    "print(tf.config.experimental.get_memory_info('GPU:0')['current'] >> 20)   # TF 2.5+; nvidia-smi",
    slug="find-what-grows",
)


_BACK_IN_RAM = (
    "host RAM of a model comes back for certain only with the end of the process: del, gc.collect() and"
    " clear_session() free what nothing else holds (a library, a graph, a compiled function may), and of what"
    " is freed malloc keeps a part for the process"
)
_BACK_FROM_JAX = (
    "memory of a GPU comes back from JAX only with the end of the process: arrays that are deleted, and"
    " programs that clear_caches() or clear_backends() drop, leave it with JAX's pool, full or empty, for the"
    " same process to use again"
)


_BINDINGS = ("Go", "Java", "C#", "C++", "Node")
_GROWS_BY_ENVIRONMENT = (
    "TensorFlow takes nearly all of a GPU when it starts, in every language alike, whether it needs it or"
    " not: that much in use is no failure, and the environment turns it off"
)
_GROWTH_ANYWHERE = Remedy(
    "let the pool grow as needed: set the variable before the program starts; a session's options take the"
    " same as a serialised ConfigProto with gpu_options.allow_growth",
    "export TF_FORCE_GPU_ALLOW_GROWTH=true",
    slug="growth-at-first",
)


def check(case: Case) -> Iterator[Finding]:
    told, moment = case.capture.surroundings, case.moments[0] if case.moments else None
    if (line := told.shows("asked: pooling")) and _several(case, line):
        yield from _pooling(case, line)
    if framework_of(case) in (JAX, TORCH_XLA) and moment and _of_a_device(moment):
        yield from _of_xla(case, moment)
    if (line := told.shows("asked: a GPU")) and moment and framework_of(case) == JAX and on_host(moment):
        yield _answer(line, _of_the_cpu(moment), _SEE_DEVICES)
    if (line := told.shows("asked: fragmentation")) and moment and (said := _in_pieces(moment)):
        yield _answer(line, said)
    if (line := told.shows("asked: Java's heap")) and moment and _of_a_device(moment):
        yield _answer(
            line,
            "no: this is the GPU's memory, which lies outside of Java's heap; a larger heap gives it nothing",
        )
    if (line := told.shows("asked: growth")) and not moment and situation(case).program in _BINDINGS:
        answer = _answer(line, _GROWS_BY_ENVIRONMENT, _GROWTH_ANYWHERE)
        yield replace(answer, headline=_GROWS_BY_ENVIRONMENT, because=_GROWS_BY_ENVIRONMENT)
    if (line := told.shows("asked: giving back")) and framework_of(case) == TENSORFLOW:
        closed = told.shows("closing a session")
        kind = moment.request.failed.kind if moment and moment.request else None
        sure = (
            closed is not None and kind in (None, RequestKind.DRIVER) and not told.shows("host RAM in words")
        )
        of_ram = told.shows("host RAM named") and not (told.shows("a GPU named") or moment)
        if sure and of_ram:
            answer = _answer(line, _BACK_IN_RAM, _CHILD)
            yield replace(answer, severity=Severity.CAUSE, because=_BACK_IN_RAM, headline=_BACK_IN_RAM)
        sure = sure and not of_ram
        if sure or (moment and _of_a_device(moment)):
            answer = _answer(line, f"that it comes back {_AT_THE_END}", _CHILD)
            why = f"memory of a GPU comes back {_AT_THE_END}"
            yield replace(answer, severity=Severity.CAUSE, because=why, headline=why) if sure else answer
    if (
        (line := told.shows("asked: giving back"))
        and framework_of(case) == JAX
        and not case.moments
        and not told.shows("host RAM in words")
    ):
        answer = _answer(line, _BACK_FROM_JAX, UNTIL_ITS_END)
        yield replace(answer, severity=Severity.CAUSE, headline=_BACK_FROM_JAX, because=_BACK_FROM_JAX)
    if (line := told.shows("asked: ran before")) and moment and _of_a_device(moment):
        grows = told.setting("allow_growth")
        others = ", or, where the pool grows, another process has taken the rest of the GPU" if grows else ""
        need = moment.request.needed_bytes if moment.request else None
        what = (
            f"a step that went well so often ({line.place}) goes well again, unless it is larger (other"
            " shapes, a last batch, a validation) or something keeps more from step to step: lists,"
            f" histories, graphs{others}"
        )
        answer = _answer(line, what, _WATCH, severity=Severity.CAUSE)
        yield replace(answer, headline=what, because=what, explains=need)
    if moment and framework_of(case) == TENSORFLOW and _of_a_device(moment):
        yield from _of_a_gpu_in_use(case, moment)
    if (line := told.shows("asked: host RAM")) and moment and _of_a_device(moment):
        yield _answer(
            line,
            "no: a tensor of the GPU has to lie in the GPU's own memory. Host RAM (on Windows also `shared"
            " GPU memory`) does not add to it, whatever there is",
        )


_WHAT_CHANGED = Remedy(
    "see first what changed: another process, or an earlier notebook's kernel, that holds the GPU now (end"
    " it), or an input that is larger than those before",
    "nvidia-smi",
    slug="see-device-users",
)
_CHANGED = regex(r"(?i)\b(?:(?:up|down)(?:dat|grad)|chang|(?:re-?)?install|switch|migrat|mov(?:ed|ing) to)")
"""Words of what its writer changed himself."""
_MAKER = regex(r"(?i)nvidia|geforce|\b[GR]TX ?\d|quadro|\bMX ?\d{3}")


def _of_a_gpu_in_use(case: Case, moment: Moment) -> Iterator[Finding]:
    """What went well for long, and which of two GPUs it is that TensorFlow uses."""
    told = case.capture.surroundings
    intel = told.shows("an integrated GPU in use")
    device = (moment.request.failed.device or "") if moment.request else ""
    if intel and _MAKER.search(intel.text) and "DML" not in device:
        what = (
            "that TensorFlow's GPU:0 is the NVIDIA card: it sees GPUs with CUDA alone and numbers them by"
            " itself, whatever number Windows' Task Manager gives the other. Only a second NVIDIA"
            " card would be GPU:1"
        )
        yield _answer(intel, what)
    line = told.shows("worked for long")
    if line and not (told.shows("another release") or _CHANGED.search(line.text)):
        what = (
            f"it went well for long ({line.place}), so most likely something else holds the GPU now, or this"
            " input is larger"
        )
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(Evidence("what the text says", line),),
            remedies=() if told.device_uses or told.shows("ending others in vain") else (_WHAT_CHANGED,),
            moment=0,
        )


def _of_the_cpu(moment: Moment) -> str:
    """What the CPU's message says of a GPU."""
    need = moment.request.needed_bytes if moment.request else None
    fits = ""
    if need and need > _USUAL_GPU:
        fits = (
            f"; {human(need)} in one piece are more than most GPUs have, so it has to ask for less there, too"
        )
    return (
        "that JAX most likely computed on the CPU there, whose words the message has: where the machine has a"
        f" GPU, this is a jaxlib without CUDA, or a driver that it did not find{fits}"
    )


_USUAL_GPU = 24 * GIB
_SEE_DEVICES = Remedy(
    "see what JAX computes on, and install its build for CUDA where a GPU is missing",
    "python -c 'import jax; print(jax.devices())'   # pip install -U 'jax[cuda12]'",
    slug="check-the-device",
)


def _of_xla(case: Case, moment: Moment) -> Iterator[Finding]:
    """What is asked of JAX's pool, and of devices side by side."""
    told, framework = case.capture.surroundings, framework_of(case)
    line = None if told.shows("asked: pooling") else told.shows("asked: several devices")
    if line:
        yield _answer(line, _ONE_OF_MANY[framework or JAX])
    if (line := told.shows("asked: the pool")) and framework == JAX:
        need = moment.request.needed_bytes if moment.request else None
        asked = f": {human(need)} were to come out of it" if need else ""
        yield _answer(
            line,
            "that it does: what JAX takes at its start is the pool that all its arrays lie in. nvidia-smi"
            f" shows the pool, full or empty, and the request was one for a part of it{asked}",
        )


_ONE_OF_MANY = {
    JAX: "no: memory does not add up by itself. jit runs on one device unless its arrays are sharded; pmap"
    " and arrays without a sharding keep whole copies on every device, so each must hold what its own program"
    " needs",
    TORCH_XLA: "no: memory does not add up by itself. Each core holds whole weights and its own part of the"
    " batch, unless the model is sharded (FSDP, SPMD)",
}


_DEVICES = regex(
    r"(?i)\b(?:GPUs|cards|devices|replicas|both|strategy|\w*Strategy|horovod|multi[-_ ]?gpu\w*)\b"
)


def _several(case: Case, line: Line) -> bool:
    """Whether the question is of several devices: its line or another names them."""
    return _DEVICES.search(line.text) is not None or any(map(case.capture.surroundings.shows, _TOLD_SEVERAL))


_TOLD_SEVERAL = ("several GPUs named", "training under a strategy", "fails with several GPUs", "sharding")


def _pooling(case: Case, line: Line) -> Iterator[Finding]:
    framework = framework_of(case)
    if framework not in (TENSORFLOW, JAX):
        return
    what = (
        "no: memory does not add up. MirroredStrategy (multi_gpu_model, Horovod) keeps the whole model, its"
        " gradients and slots on every GPU and splits only the batch, so each GPU needs what one would need"
        " for its part of the batch"
        if framework == TENSORFLOW
        else "no: memory does not add up by itself. pmap keeps whole weights on every device; only arrays"
        " that are sharded (NamedSharding with an axis) lie in parts on several"
    )
    remedies = (_PER_REPLICA, _ONE_EACH) if framework == TENSORFLOW and not case.moments else ()
    yield _answer(line, what, *remedies, severity=Severity.NOTE if case.moments else Severity.FACTOR)


def _in_pieces(moment: Moment) -> str:
    """Whether memory is in pieces, as far as the failure tells; empty where the rule of that says it."""
    books = moment.balance
    if not _of_a_device(moment) or is_fragmented(books):
        return ""
    hint = "the sentence on fragmentation stands in every such message"
    if books.free is None and books.available is None:
        return f"no, as far as this text shows: {hint}, and no line tells of free memory in pieces"
    free = books.available or books.free
    return f"no: {hint}, and here only {human(free.bytes if free else 0)} was free in all"


def _of_a_device(moment: Moment) -> bool:
    request = moment.request
    return request is not None and request.failed.kind is not RequestKind.HOST and not on_host(moment)


def _answer(line: Line, what: str, *remedies: Remedy, severity: Severity = Severity.NOTE) -> Finding:
    headline = f"the answer to {line.place} is {what}"
    return Finding(
        severity=severity,
        headline=headline,
        because=headline,
        evidence=(Evidence("the question", line),),
        remedies=remedies,
        answers=True,
    )
