"""Pinned host RAM, which a GPU copies from: TensorFlow's pool of it, XLA's, and what the driver refuses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.board import RASPBERRY_PI, board
from tfmemlens.findings.support.host_ram.pipeline import named_buffers
from tfmemlens.findings.support.rows import (
    on_host,
)
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex

LADDER = (
    "Pinned memory is host RAM that the system may not move, so the GPU is in use. After a refusal TensorFlow"
    " may ask for less; by itself such a line need not end the run."
)


_ASKED = regex(r"\b(?:alloc|size:) ?(?P<bytes>\d{4,15})\b")
_A_TENTH_LESS = (0.89, 0.91)


def asks_for_less(case: Case, moment: Moment) -> str:
    """That each refusal is followed by a request of a tenth less, where the text shows no other end."""
    lines = moment.incident.tellings if moment.incident else ()
    asked = [int(match["bytes"]) for line in lines if (match := _ASKED.search(line.text))]
    sizes = list(dict.fromkeys(asked))
    low, high = _A_TENTH_LESS
    falls = len(sizes) > 1 and all(low < two / one < high for one, two in pairwise(sizes))
    told = case.capture.surroundings
    if not falls or len(case.moments) > 1 or told.ends or told.crash:
        return ""
    return (
        "; each refusal is followed by a request of a tenth less, and once one has room the run goes on: only"
        " what stands below the last of these lines tells whether it failed"
    )


def is_dump(moment: Moment) -> bool:
    """Whether an allocator's dump is all that tells of the failure."""
    return moment.request is not None and moment.request.failed.kind is RequestKind.DUMP


def pinned_for_a_restore(moment: Moment) -> bool:
    """Whether pinned host RAM was to hold what a checkpoint restores, which no batch has a part in."""
    failed = moment.request.failed if moment.request else None
    if failed is None or not on_host(moment) or not is_pinned(failed):
        return False
    return bool(_RESTORES.search(failed.node or failed.op or ""))


_RESTORES = regex(r"(?:\A|/)Restore(?:V2|Slice)?(?:_\d+)?\Z")


def is_pinned(failed: FailedRequest) -> bool:
    """Whether the driver was to pin host RAM: `on host` are the words of its own function for that."""
    said = failed.line.text if failed.line else ""
    return "host_bfc" in (failed.allocator or "") or "pinned" in said or "bytes on host" in said


OF_THE_DRIVER = (
    Remedy(
        "look for the first error above these lines: what the GPU refused or failed at before, and whether"
        " another process fills it",
        "nvidia-smi; dmesg | grep -i -E 'nvrm|xid'",
        slug="read-the-log",
    ),
    Remedy(
        "where it worked before and nothing changed: load the driver's module anew, or boot the machine",
        "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm   # with no program on the GPU",
        slug="reload-the-driver",
    ),
)
MORE_PINNED = Remedy(
    "give JAX's client more of it, as far as the host has RAM, or keep less in pinned host memory (offloaded"
    " activations, weights or moments; bfloat16)",
    "export XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB=128",
    slug="more-pinned-memory",
)
_LESS_IN_THE_POOL = Remedy(
    "let less lie in it at once: what is fed, fetched or computed on the CPU for the GPU goes through it,"
    " so take smaller pieces of the large tensors that the dump lists",
    slug="smaller-pipeline",
)
_NAMES_OF_ITS_LIMIT = ("TF_GPU_HOST_MEM_LIMIT_IN_MB", "TF_CUDA_HOST_MEM_LIMIT_IN_MB")


def is_pool_of_tensorflow(moment: Moment) -> bool:
    """Whether TensorFlow's own pool of pinned memory refused it, as a dump or its limit shows."""
    failed = moment.request.failed if moment.request else None
    if failed is None or not is_pinned(failed):
        return False
    return is_dump(moment) or bool(moment.balance.limit and moment.balance.limit.bytes)


def is_far_from_its_limit(moment: Moment) -> bool:
    """Whether half of the pool's limit was not in use, even with what was asked for: then no limit was met,
    and the machine pinned no more.
    """
    in_use, limit = moment.balance.in_use, moment.balance.limit
    need = (moment.request.needed_bytes if moment.request else None) or 0
    return in_use is not None and limit is not None and 2 * (in_use.bytes + need) < limit.bytes


_RAM_OF_THE_MACHINE = Remedy(
    "or see what RAM the machine has, what others hold of it, and the limits of the container or job and of"
    " locked memory: a larger limit of the pool does not help",
    "free -g; ulimit -l",
    slug="container-limit",
)


def remedies_of_the_pool(moment: Moment) -> tuple[Remedy, ...]:
    """Less in TensorFlow's pool of pinned memory, or more of it by the name that its limit has there."""
    assert moment.request
    failed = moment.request.failed
    if is_far_from_its_limit(moment):
        return _LESS_IN_THE_POOL, _RAM_OF_THE_MACHINE
    new, old = _NAMES_OF_ITS_LIMIT
    of_old = (failed.allocator or "").startswith("cuda")
    code = f"export {old}=131072" if of_old else f"export {new}=131072   # and {old} for old releases"
    more = "or give it more, where the machine has the RAM: TensorFlow sets its limit by itself"
    return _LESS_IN_THE_POOL, Remedy(more, code, slug="larger-host-pool")


def is_pool_of_jax(failed: FailedRequest) -> bool:
    """Whether XLA's pool of pinned memory is full, which has a limit of its own."""
    return (failed.allocator or "").startswith("xla_gpu_host")


def refused_by_the_driver(case: Case) -> bool:
    """Whether the driver itself would pin no more, so that the limit of no pool is what was met."""
    refused = (each.request.failed for each in case.moments if each.request)
    return any(each.kind is RequestKind.HOST and is_pinned(each) for each in refused)


def remedies_of_pinned(case: Case) -> Iterator[Remedy]:
    if (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2":
        yield remedies.MORE_FOR_WSL
    on_board = board(case)
    if on_board is not None and on_board[0] != RASPBERRY_PI:
        yield Remedy(
            f"let TensorFlow take memory as needed: on this board ({on_board[0]}) CPU and GPU share the RAM,"
            " and what its pool takes at start is missing for what the CPU is asked for",
            code_snippets.growth(case.api),
            slug="growth-on-a-board",
        )
    if case.capture.surroundings.shows("saving"):
        yield Remedy(
            "a checkpoint's arrays wait on the host until they are written: let each save end before the"
            " next, save less often, or copy them without pinned memory",
            "manager.wait_until_finished()   # Orbax: after save(); enable_pinned_host_transfer=False",
            slug="one-checkpoint-at-a-time",
        )
        yield Remedy("free host RAM: end other programs on the machine", slug="free-shared-ram")
    else:
        free = "free host RAM: end other programs on the machine, and "
        yield Remedy(
            f"{'' if case.capture.surroundings.shows('enough RAM in words') else free}let less wait for its"
            f" copy to the GPU (smaller batches, {named_buffers(case)})",
            slug="smaller-pipeline",
        )
    yield Remedy(
        "check the limit of the container or job, and of locked memory",
        "ulimit -l",
        slug="container-limit",
    )
