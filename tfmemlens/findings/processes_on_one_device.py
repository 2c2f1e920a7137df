"""Several processes use one GPU, and each takes most of it at its start.

What it means: JAX takes 75 % of a GPU's memory when it first uses it (older versions 90 %), and TensorFlow
nearly all, whatever the program needs. The second process on the same GPU finds a quarter of it, the third
next to nothing. Each may fit alone.
When it fires: a request failed on a GPU, or words alone say that memory ran out, and the text says that
several processes use the device: two notebooks, `pytest -n 8`, a traceback that begins in a pool's worker, a
pool of workers in code (of JAX's: TensorFlow's programs prepare data with them), actors of a policy, a
loop of background jobs. Of TensorFlow, whose dumps tell what it got, a factor where the
allocator had a limit.
What to do: end those that are not needed; else give each a part of its own, or let each take memory as
needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, device_users, part_for_jax
from tfmemlens.findings.support.contrasted import WHAT_ENDED_IT
from tfmemlens.findings.support.own_tasks import share_one
from tfmemlens.findings.support.rows import device_limit, on_host, requests
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_name, framework_of, situation
from tfmemlens.knowledge.device_names import TPU
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import Size, human

BASIS = Basis.NAME
EXPLAINS = "half of the device; all of the request where the device is not known"

_FRACTION, _PREALLOCATE = part_for_jax.VARIABLE, "XLA_PYTHON_CLIENT_PREALLOCATE"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    worker = told.shows("in a worker process") if case.moments else None
    sharing = share_one(case) or worker
    framework = framework_of(case)
    if sharing is None or framework not in (JAX, TENSORFLOW):
        return
    of_tensorflow = framework == TENSORFLOW
    if of_tensorflow and _PREPARES.search(sharing.text):
        return
    if not case.moments:
        yield from _in_words(case, sharing)
    for index, moment, request in requests(case):
        limit = device_limit(case, moment)
        need = request.needed_bytes
        if on_host(moment) or situation(case, moment).device == TPU:
            continue
        if need is not None and limit and need > limit.high:
            continue  # it would not fit alone
        alone = told.alone if of_tensorflow else None
        because = f"{sharing.place} tells of several processes on one GPU: {each_takes(case)}"
        if sharing == worker:
            because = (
                f"it failed in a worker process ({sharing.place}), beside others of its pool or the process"
                f" that started it: {each_takes(case)}"
            )
        if alone:
            because = f"it goes well alone ({alone.place}), and {because}"
        yield Finding(
            severity=Severity.FACTOR if of_tensorflow and moment.balance.limit else Severity.CAUSE,
            headline=because,
            because=because,
            explains=limit.bytes // 2 if limit else need,
            evidence=(Evidence("several processes", sharing), *_shown(case, moment)),
            remedies=(*_off_the_device(sharing), *parts(case, sharing)),
            moment=index,
        )


def _in_words(case: Case, sharing: Line) -> Iterator[Finding]:
    """The same where words alone say that memory ran out, and not that it was the host's."""
    told = case.capture.surroundings
    said = told.shows("running short")
    elsewhere = told.foreign or told.without_figures or told.elsewhere or told.shows("host RAM in words")
    if said is None or elsewhere or told.shows("growing in words"):
        return
    cure = _cure_of_the_text(case, said)
    takes = _TAKES_ALL if cure else each_takes(case)
    shared = f"{sharing.place} tells of several processes on one GPU: {takes}"
    own = Remedy(
        "let each of them take memory as needed, the one that starts first among them, as"
        f" {cure.place if cure else ''} does; what one once took it keeps until it ends",
        slug=WHAT_ENDED_IT,
    )
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"the text says in words that memory ran out ({said.place}); {shared}",
        because=shared,
        evidence=(Evidence("what the text says", said), Evidence("several processes", sharing)),
        remedies=(*((own,) if cure else ()), *_off_the_device(sharing), *parts(case, sharing)),
    )


def _cure_of_the_text(case: Case, said: Line) -> Line | None:
    """The line below the words that lets TensorFlow take memory as needed, in a text that quotes no failure:
    it is what they advise, and no setting of a run that failed.
    """
    grows = case.capture.surroundings.setting("allow_growth")
    if grows is None or grows[0] != "True" or case.capture.surroundings.raised:
        return None
    below = grows[1].source == said.source and grows[1].number > said.number
    return grows[1] if below and framework_of(case) == TENSORFLOW else None


def _off_the_device(sharing: Line) -> Iterator[Remedy]:
    """Actors that play a game and compute little need no GPU."""
    if _ACTORS.search(sharing.text):
        yield Remedy(
            "let the actors compute on the CPU: only the learner needs the GPU",
            "CUDA_VISIBLE_DEVICES= python actor.py",
            slug="one-device-each",
        )
    elif _EVALUATION.search(sharing.text):
        yield Remedy(
            "do not evaluate beside the training on this GPU: evaluate from a checkpoint when it has ended,"
            " on another GPU, or on the CPU",
            "CUDA_VISIBLE_DEVICES=-1 python eval.py",
            slug="one-device-each",
        )


def each_takes(case: Case) -> str:
    """What every process takes of the device, as far as the text tells."""
    told = case.capture.surroundings
    if framework_of(case) == TENSORFLOW:
        return _each_takes_of_tensorflow(case)
    grows = told.setting(_PREALLOCATE)
    if grows and grows[0] == "False":
        return (
            "each keeps what it once took until it ends (`PREALLOCATE=false` only lets it start with less),"
            " so that most likely all of them together need more than it has"
        )
    if part := part_for_jax.stated(told):
        return (
            f"each takes {part.words} at its start (`{_FRACTION}`), and most likely the others hold what this"
            " one lacked"
        )
    return (
        "each takes 75 % of it at its start unless told otherwise (older versions 90 %), so that most likely"
        " the others hold what this one lacked"
    )


def _each_takes_of_tensorflow(case: Case) -> str:
    told = case.capture.surroundings
    grows, part = told.setting("allow_growth"), told.setting("per_process_gpu_memory_fraction")
    if grows and grows[0] == "True":
        return (
            "each keeps what it once took until it ends (`allow_growth` only lets it start with less), so"
            " that"
            " most likely all of them together need more than it has"
        )
    if part:
        return f"each may take {part[0]} of it, and most likely the others hold what this one lacked"
    return _TAKES_ALL


_TAKES_ALL = (
    "TensorFlow takes nearly all of it at its start unless told otherwise, so that most likely the others"
    " hold what this one lacked"
)


def _shown(case: Case, moment: Moment) -> Iterator[Evidence]:
    """Processes that a table of `nvidia-smi` names: this one may be among them."""
    uses = case.capture.surroundings.device_uses
    for use in uses if len(uses) == 1 else ():
        for process in use.processes:
            if process.used and process not in device_users.strangers(case, moment):
                yield Evidence(
                    f"nvidia-smi shows pid {process.pid} ({process.name}) with {human(process.used.bytes)}",
                    process.line,
                )


_PREPARES = regex(r"Pool\(|PoolExecutor\(")
_EVALUATION = regex(r"(?i)\beval(?:uat\w*)?\b")
_ACTORS = regex(r"(?i)\bactors?\b|a3c|impala|apex?-dqn|--num_cpu")
_WORKERS = regex(
    r"pytest|py\.test|\[gw\d|xargs|parallel|Pool|n_jobs|num_gpus|\b(?:workers|actors)\b|--num|a3c|impala"
    r"|_process_worker|in worker\b|apex|&|--ntasks|srun|mpirun|mpiexec"
)
"""What starts them together, so that none can be ended."""


_PARTS_OF_WHAT_IS_FREE = Remedy(
    "each has its part already: old releases of JAX count it of what is free when a process starts, so that"
    " later ones get less. Take a newer one, give the later ones a larger part, or let all take memory as"
    " needed; and leave some hundred MiB for the CUDA context of each",
    f"export {_PREALLOCATE}=false",
    slug="growth",
)


def _fraction(case: Case) -> str:
    """The part of each; of tasks whose number the text states, 85 % divided by their number."""
    line = case.capture.surroundings.shows("several tasks")
    match = _TASKS.search(line.text) if line else None
    if match is None:
        return f"export {_FRACTION}=.40   # of two processes; .10 of eight"
    part = math.floor(85 / int(match["tasks"])) / 100
    return f"export {_FRACTION}={part:.2f}".replace("=0.", "=.")


_TASKS = regex(r"(?:--ntasks(?:-per-(?:node|gpu))?[= ]|-np? )(?P<tasks>[1-9]\d{0,2})\b")


_SERVERS = regex(
    r"\b(?:gunicorn|uwsgi|uvicorn|hypercorn|waitress)\b[^\n]{0,80}?"
    r"(?:\s-w[ =]?|--workers[ =]|--processes[ =]|\s-p )(?P<many>[1-9]\d?)\b"
)
"""A server that starts so many workers of one program."""


def _limit_of_each(case: Case, sharing: Line | None) -> str:
    """The code that gives each process its part; of a server's workers, whose number is stated, with the part
    of one of them.
    """
    match = _SERVERS.search(sharing.text) if sharing else None
    card = device_limit(case, case.moments[0]) if case.moments else None
    room = Size.exactly(card.bytes * 9 // 10) if card else None  # each process has a context besides
    return code_snippets.limit(case.api, room, workers=int(match["many"]) if match else None)


def parts(case: Case, sharing: Line | None = None) -> Iterator[Remedy]:
    """A part of the GPU for each of several processes; those of a job are started together."""
    together = sharing is None or bool(_WORKERS.search(sharing.text) or _SERVERS.search(sharing.text))
    end = Remedy(
        "start fewer of them at a time"
        if together
        else "end the processes that you do not need (a notebook keeps its GPU memory until its kernel is"
        " shut down)",
        None if together else "nvidia-smi",
        slug="fewer-processes" if together else "see-device-users",
    )
    if part_for_jax.stated(case.capture.surroundings):
        yield _PARTS_OF_WHAT_IS_FREE
        yield end
        return
    if in_a_cluster(case):
        yield from of_a_cluster(case)
        return
    part = Remedy(
        f"give every process its part, less than one divided by their number, before {framework_name(case)}"
        " starts in it",
        _fraction(case) if framework_of(case) == JAX else _limit_of_each(case, sharing),
        slug="smaller-fraction",
    )
    yield from (part, end) if together else (end, part)
    yield Remedy(
        "or let every one of them take memory as needed, if all of them together fit",
        code_snippets.growth(case.api),
        slug="growth",
    )


def in_a_cluster(case: Case) -> bool:
    """Whether the processes are tasks of TensorFlow's own cluster, with a server each."""
    told = case.capture.surroundings
    return framework_of(case) == TENSORFLOW and told.shows("a task of a cluster") is not None


def of_a_cluster(case: Case) -> Iterator[Remedy]:
    """The same for tasks of one cluster, whose servers `tf.config` does not reach."""
    told = case.capture.surroundings
    yield Remedy(
        "give every task that computes on the GPU its part, less than one divided by their number, in the"
        " config of its server: `tf.config` and the session of another task do not reach it",
        code_snippets.of_a_server(case.api, part=True),
        slug="smaller-fraction",
    )
    yield Remedy(
        "hide the GPU from tasks that only keep variables: a parameter server takes nearly all of it as well",
        "CUDA_VISIBLE_DEVICES= python train.py --job_name=ps ...",
        slug="hide-the-gpu",
    )
    grows = told.setting("allow_growth")
    if not (grows and grows[0] == "True"):
        yield Remedy(
            "or let every one of them take memory as needed, if all of them together fit",
            code_snippets.of_a_server(case.api, part=False),
            slug="growth",
        )
