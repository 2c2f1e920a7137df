"""Who limits host RAM (a container, a job, a server, the machine), and what a larger limit is."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.kills import (
    was_killed,
)
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human_size

_LEAST_FOR_CUDA = 4 * GIB
_MOST_TO_DOUBLE = 64 * GIB
"""A limit below this is doubled, and a larger one raised by a fifth."""


def room_for_cuda(case: Case, moment: Moment) -> Iterator[Remedy]:
    """A larger limit, where a server for GPUs was killed within one that CUDA's libraries nearly fill."""
    told = case.capture.surroundings
    limit, program = told.setting("container_memory"), told.setting("program")
    figure = _FIGURE.match(limit[0]) if limit and was_killed(moment) else None
    if figure is None or program is None or "gpu" not in program[1].text.lower():
        return
    if float(figure["many"]) * _POWERS[figure["unit"].upper()] <= _LEAST_FOR_CUDA:
        yield Remedy(
            "raise the limit of the container: with a GPU the server loads CUDA's libraries into host RAM,"
            " some gigabytes before any model, at the first request at the latest",
            "resources: {limits: {memory: 8Gi}}   # requests, too",
            slug="raise-container-limit",
        )


_LONG_QUEUE = 1000


def bounded_queue(case: Case) -> Iterator[Remedy]:
    """Where a server lets requests without number wait in its RAM."""
    stated = case.capture.surroundings.setting("max_enqueued_batches")
    if stated and int(stated[0]) > _LONG_QUEUE:
        yield Remedy(
            f"let fewer batches wait: with max_enqueued_batches of {int(stated[0]):,} ({stated[1].place})"
            " requests that come faster than they are served pile up in RAM; with a bound the surplus is"
            " refused, and clients try again after a pause",
            "max_enqueued_batches { value: 100 }   # --batching_parameters_file",
            slug="bound-requests",
        )


def beside_the_pool(case: Case) -> Iterator[Remedy]:
    """A smaller pool, where TensorFlow has much of the RAM: with half of what it took, as far as it says."""
    limit = next((each.limit for each in case.capture.surroundings.devices if each.limit), None)
    if limit and limit.bytes < GIB:
        return
    yield Remedy(
        "the GPU's pool is a part of the same RAM: let TensorFlow take less of it, close the desktop and what"
        " an earlier run left, or add swap",
        code_snippets.limit(case.api, limit or Size.exactly(4 * GIB)),
        slug="room-beside-the-pool",
    )


OF_ADDRESSES = "virtual memory used"
"""What YARN counted: addresses that a process reserved."""
NO_VIRTUAL_CHECK = Remedy(
    "YARN counted virtual memory, addresses that are reserved and mostly no RAM, of which TensorFlow, Java"
    " and CUDA take many: let it check RAM alone, or allow more of them for each GiB",
    "yarn.nodemanager.vmem-check-enabled=false   # in yarn-site.xml; or vmem-pmem-ratio=5",
    slug="raise-container-limit",
)
EVICTED = Remedy(
    "the node ran out, and Kubernetes evicted the pod: request the RAM that it needs, so that it is put on a"
    " node which has as much left",
    "resources: {requests: {memory: 32Gi}, limits: {memory: 32Gi}}   # kubectl top pod says what it takes",
    slug="raise-container-limit",
)
MORE_RAM = Remedy(
    "it was the whole machine's RAM: end other programs, add swap, or run this on a machine with more RAM",
    "free -h; swapon --show",
    slug="more-ram",
)
MORE_TO_COMMIT = Remedy(
    "see how much all programs have committed (Task Manager > Performance > Memory: Committed): where that is"
    " near its limit, end other programs or let Windows have a larger paging file",
    slug="larger-paging-file",
)
POD_ENDED = Remedy(
    "see why the pod ended, and its limit: the reason OOMKilled means that its own limit of RAM was met,"
    " Evicted that the node ran out, Error with a failed probe in the events neither",
    "kubectl describe pod NAME   # Last State, Limits, Events; kubectl logs NAME --previous",
    slug="read-the-kernel-log",
)
ROOM_FOR_THE_POD = Remedy(
    "where it was OOMKilled, raise the limit above what the program takes at its peak",
    "kubectl top pod NAME   # what it takes; then resources.limits.memory",
    slug="raise-container-limit",
)


def of_a_pod(case: Case) -> bool:
    """Whether the text tells of Kubernetes, and of no batch system besides."""
    return case.capture.surroundings.shows("in Kubernetes") is not None


_COMMANDS = {
    "the executor's container": "--conf spark.executor.memoryOverhead=4g   # old: spark.yarn.executor...",
    "the batch job": "#SBATCH --mem=SIZE   # seff JOBID, or sacct -j JOBID -o MaxRSS, say what it took",
    "the container": "docker run --memory=SIZE ...   # Kubernetes: resources.limits.memory",
}


_OF_LSF = regex(r"\bTERM_MEMLIMIT\b|\bLSF\b|#BSUB\b")
_FOR_LSF = '#BSUB -R "rusage[mem=SIZE]"   # and -M SIZE, for each slot; Max Memory says what it took'


def a_larger_limit(whose: str | None, limit: str | None, moment: Moment, kubernetes: bool = False) -> Remedy:
    """The first thing to do where a limit was met that somebody set: above what was held, as far as told."""
    now, code = f" ({limit})" if limit else "", _COMMANDS.get(whose or "")
    if limit and _OF_KUBERNETES.search(limit):
        code = "resources: {limits: {memory: SIZEi}}   # of the pod's container"
    elif kubernetes and code and "docker" in code:
        code = _OF_A_POD
    line = moment.request.failed.line if moment.request else None
    if code and "SBATCH" in code and line and _OF_LSF.search(line.text):
        code = _FOR_LSF
    state = moment.incident.state if moment.incident else None
    known = [size.bytes for size in (state.in_use, state.limit) if size] if state else []
    if limit and (figure := _FIGURE.match(limit)):
        known.append(int(float(figure["many"]) * _POWERS[figure["unit"].upper()]))
    more = math.ceil(1.2 * max(known, default=0) / GIB)
    beyond = False
    if state and state.in_use and state.limit and state.in_use.bytes > state.limit.bytes:
        beyond = True
        now = f" ({human_size(state.limit)}; it held {human_size(state.in_use)})"
    if code == _OF_A_POD and not more:
        code = ROOM_FOR_THE_POD.code
    if code and more:
        unit = "G" if "SBATCH" in code or "BSUB" in code or "SIZEi" in code else "g"
        twice = math.ceil(2 * max(known) / GIB)
        little = max(known) < _MOST_TO_DOUBLE and not beyond
        code = code.replace("SIZE", f"{twice if little else more}{unit}")
    return Remedy(
        f"raise the limit of {whose or 'the container or job'}{now}",
        code,
        slug="raise-container-limit",
    )


_OF_A_POD = (
    "kubectl set resources deployment NAME --limits=memory=SIZEi   # resources.limits.memory; kubectl top pod"
)
_OF_KUBERNETES = regex(r"\d ?[KMG]i\Z")
"""How Kubernetes writes a limit."""
_FIGURE = regex(r"(?P<many>\d{1,7}(?:\.\d+)?) ?(?P<unit>[KMGTkmgt])")
_POWERS = {"K": 1 << 10, "M": MIB, "G": GIB, "T": 1 << 40}
FEWER_FORKS = Remedy(
    "start fewer worker processes, or threads instead, and start them before data are loaded: for each fork"
    " the system must promise as much again as the program holds",
    "model.fit(data, workers=2, use_multiprocessing=False)   # fit_generator, too",
    slug="fewer-workers",
)


def shared_with_the_gpu(case: Case) -> str:
    """Of machines whose GPU has no memory of its own."""
    platform = case.capture.surroundings.setting("platform")
    return "; on a Jetson the GPU uses the same RAM" if platform and platform[0] == "Jetson" else ""
