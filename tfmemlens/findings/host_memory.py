"""Host RAM ran out, not GPU memory.

What it means: the allocator `cpu` (or `mklcpu`) is host RAM; `gpu_host_bfc` and `cuda_host_bfc` are pinned
host RAM for transfers. A GPU with more memory changes nothing;
the input pipeline, a data set in memory, ops placed on the
CPU or the process limit (ulimit, cgroup) do.
When it fires: the failing device is a CPU, the allocator is a host allocator, or the message names host
or pinned memory.
What to do: see which ops run on the CPU and why; shrink shuffle buffers and prefetching; check the
container's memory limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfmemlens.findings.support import code_snippets, remedies, steps_of_torch_xla
from tfmemlens.findings.support.board import board, what_helps
from tfmemlens.findings.support.compiling import (
    compiled_then,
    compiler_of,
    less_ram_to_compile,
    less_to_compile,
)
from tfmemlens.findings.support.contrasted import contrasted, without
from tfmemlens.findings.support.grounds import tell
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_causes import SAVED_BY_ONE, on_the_host
from tfmemlens.findings.support.jax_code.changes import WAIT_FOR_EACH_CALL
from tfmemlens.findings.support.kills import (
    another_program,
    by_the_machine,
    driver_at_fault,
    own_limit,
    surely_for_memory,
    told_for_memory,
    was_killed,
)
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import (
    BESIDE_THE_HEAP,
    BOUND_THE_SAVE,
    OF_NATIVE,
    PREDICTORS_OF_DJL,
    ROOM_FOR_TWO,
    SHARD_THE_DATA,
)
from tfmemlens.findings.support.rise_with import rise_with
from tfmemlens.findings.support.rows import (
    failures,
    on_host,
    tensor_text,
    waits_for_another,
    words_of_a_client,
)
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_name,
    framework_of,
    on_windows,
    situation,
)
from tfmemlens.findings.support.told_again import (
    SHUFFLE_NAMES,
    SMALLER_SHUFFLE,
    WITHOUT_CACHE,
    data_in_parts,
)
from tfmemlens.findings.support.told_mechanism import OF_JOINED_OUTPUTS
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.findings.support.what_grows import THREADS, grower
from tfmemlens.findings.support.which_memory import HOST
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human_size
from tfmemlens.values import replace

BASIS = Basis.FIGURES
EXPLAINS = "the request"
HEDGED = (Severity.FACTOR, Severity.NOTE)

_OF_DATA = regex(
    r"Iterator|Dataset|for the batch of component|_dataset_op|FIFOQueue|input_producer|shuffle_batch"
)
"""Ops of an input pipeline, which run on the CPU wherever the model does."""
_SMALL_BYTES, _ELEMENT_BYTES = 16 * MIB, 128 * MIB
"""What has room wherever there is any: an array, and what a pipeline's function makes of one element."""
_ON_THE_CPU = "runs on the CPU"
"""Words of messages at the start that tell of a GPU that is not used."""
_LATE_EPOCH = 3
"""The first may be spared, since caches still fill, and the second by what malloc keeps for later."""
_SLABS = (
    Remedy(
        "if a convolution with a large kernel runs on the CPU: before TensorFlow 1.14 its forward pass packs"
        " slabs that no report shows; size them",
        "tfmemlens conv --input NxHxWxC --kernel KHxKWxFILTERS --tf 1.10 --threads 8",
        slug="size-the-slabs",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if not on_host(moment):
            continue
        assert moment.request
        failed = moment.request.failed
        said = failed.line.text if failed.line else ""
        pinned = _pinned(failed)
        what = "pinned host RAM (which the GPU can copy from)" if pinned else "host RAM"
        because = f"this is {what}, not GPU memory"
        if was_killed(moment):
            limit = case.capture.surroundings.setting("container_memory")
            who = "the machine, its container or its job" if surely_for_memory(moment) else ""
            who = "the machine" if by_the_machine(moment) else who
            whose, in_words = own_limit(moment), told_for_memory(case)
            if limit:
                who = f"the container or job, whose limit is {limit[0]} ({limit[1].place}),"
            because = (
                f"{who} had no host RAM left, and the process was killed"
                if surely_for_memory(moment)
                else f"most likely {who or 'the machine or its container'} had no host RAM left"
            )
            if in_words and not surely_for_memory(moment):
                because = f"{in_words.place} says that RAM ran out, and the process was killed"
            if whose and not limit:
                of_what = "virtual memory" if _OF_ADDRESSES in said else "host RAM"
                because = (
                    f"{whose} reached its own limit of {of_what}, whatever the machine had left, and the"
                    " process was killed"
                )
            filling = None if another_program(moment) else _filling(case, moment)
            if filling:
                because += f"; the input pipeline was filling its {filling[0]} ({filling[1].place})"
            if _large_in_a_step(case) and not another_program(moment):
                because += f"; {_last_large(case).rpartition('; ')[2]}, while steps ran"
            if large := _one_large(case, moment):
                because += large.words
            line = _saving(case, moment)
            if line and framework_of(case) == TORCH_XLA:
                because += (
                    f"; {line.place} says that it was while a checkpoint is saved: each process that saves"
                    " copies weights and the optimizer's state from its device to host RAM first"
                )
            elif line:
                because += (
                    f"; {line.place} says that it was while a checkpoint is saved: JAX copies its part of the"
                    " state to the host for that, and the writer copies it again"
                )
            if line := _compiling(case, moment):
                because += (
                    f"; {line.place} tells of compiling, or of a first call, which compiles: that takes host"
                    " RAM, the more operations the program has"
                )
            if line := _folding(case, moment):
                because += (
                    f"; XLA was computing a large constant while it compiled ({line.place}): most likely an"
                    " array that the jitted function uses from outside, copied several times in host RAM"
                )
            elif line := _resuming(case, moment):
                because += (
                    f"; {line.place} says that it is when a run is resumed: most likely the state that the"
                    " program makes first and the one that it reads are then in host RAM at once"
                )
            if epoch := _late(case, moment):
                because += (
                    f"; it ran {epoch - 1} epochs before, so something grows, most likely: a larger limit"
                    " only delays the end"
                )
            elif (grows := case.capture.surroundings.shows("growing in words")) and not _compiling(
                case, moment
            ):
                because += f"; {grows.place} says that it grows: a larger limit only delays the end"
            if other := another_program(moment):
                because = f"the machine had none left, and the kernel killed {other}, not the training"
            elif rises := rise_with(case):
                because += f"; {rises.words}"
            elif shown := _of_its_data(case) or _in_the_code(case, moment):
                because += f"; most likely {shown.what}"
        elif waits_for_another(moment):
            asked = f" for {human_size(failed.size)}" if failed.size else ""
            kind = ", most likely of host RAM" if words_of_a_client(case, moment) else ""
            because = (
                f"JAX runs ahead of Python, so an earlier call asked{asked}{kind}; this line only"
                " waits for its result"
            )
        elif _JIT_SESSION in said:
            because = (
                "the compiler found no room for a new program's code: as a rule many programs are kept, one"
                " for each new shape or function, and the system's limit of memory maps is met before its RAM"
                " is full"
            )
        elif compiler := compiler_of(failed):
            because = (
                f"the compiler got no more of it ({compiler}): XLA was compiling a program, before it"
                " computed anything; what it needs grows with the program and its constants;"
                " the GPU's memory and settings play no part"
            )
        elif words_of_a_client(case, moment):
            because = "most likely host RAM, not GPU memory (JAX's message on the CPU has these words)"
        elif moment.incident and moment.incident.compiler and failed.size:
            because = f"a compiled program asked for {human_size(failed.size)} at once"
        elif "paging file" in said:
            because = "Windows could promise no more of it: RAM and paging file together are its limit"
        elif failed.pipeline:
            because = "a function of the input pipeline (tf.data) got no host RAM"
            if _is_small(failed):
                because += f" for one element: so little fails only where RAM is full already{_why(case)}"
        elif "for the batch of component" in said:
            because = "the input pipeline could not get host RAM for one batch of the data set"
        elif failed.shape is not None and failed.kind is RequestKind.HOST:
            at = f" at {failed.source}" if failed.source else ""
            because = f"Python requested an array {tensor_text(moment)}{at}"
            if _joins(failed):
                because = (
                    f"predict joins the outputs of all batches into one array {tensor_text(moment)}, beside"
                    " the parts, which are as large together"
                )
            if remedies.has_a_wrong_size(moment.request):
                because += ": no machine has so much, so a size is wrong"
            if _is_small(failed):
                because += ": so small an array fails only where RAM is full already"
        elif failed.kind is RequestKind.HOST and pinned:
            size = f" {human_size(failed.size)}" if failed.size else " memory"
            because = f"the GPU's driver could not pin{size} of it for copies to and from the GPU"
            if driver_at_fault(moment):
                because = (
                    "its error is not that of a lack of memory, and so little has room anywhere: most likely"
                    " the driver or the GPU's context is in a bad state (an error above, a sleep of the"
                    " machine), or the GPU is full"
                )
            if grows := case.capture.surroundings.shows("growing in words"):
                because += f"; {grows.place} says that RAM grows"
            if (shown := contrasted(case)) and grows:
                because += f": most likely {shown.what}"
            if free := case.capture.surroundings.shows("enough RAM in words"):
                because += (
                    f"; {free.place} says that RAM was free, so most likely what may be pinned has a limit of"
                    " its own (WSL, a container, locked memory)"
                )
        elif failed.kind is RequestKind.HOST:
            because = (
                f"a request of {human_size(failed.size)} was refused" if failed.size else _last_large(case)
            )
        of_pool = pinned and _is_dump(moment)
        if of_pool:
            because = (
                "this is TensorFlow's pool of pinned host RAM, which the GPU copies from, and no GPU's memory"
            )
        if _is_pool_of_jax(failed):
            because = (
                "this is XLA's pool of pinned host RAM, 64 GB unless it is told otherwise, and neither the"
                " GPU's memory nor all of the machine's RAM"
            )
        because += _shared_with_the_gpu(case)
        restores = pinned_for_a_restore(moment)
        if restores:
            because += "; it was to hold what a checkpoint restores, before any batch"
        by = f": the allocator is `{failed.allocator}`" if failed.allocator else ""
        of_host = failed.kind is RequestKind.HOST or failed.pipeline
        yield Finding(
            severity=Severity.CAUSE
            if of_host or _is_pool_of_jax(failed) or of_pool or restores
            else Severity.NOTE,
            headline=because + by,
            because=because,
            explains=_explained(moment.request, of_host),
            evidence=(Evidence("the message", failed.line), *_large(case, failed.kind)),
            detail=_LADDER if pinned and failed.kind is RequestKind.HOST else "",
            remedies=tuple(_all_remedies(case, moment, pinned, said)),
            moment=index,
            rules_out=_ruled_out(case, moment),
        )


def _ruled_out(case: Case, moment: Moment) -> tuple[str, ...]:
    """Advice for another cause than the one that is said."""
    if moment.request and _is_pool_of_jax(moment.request.failed):
        return _IN_PARTS
    if moment.request and compiler_of(moment.request.failed):
        return (*_IN_PARTS, "map-the-file", "smaller-prediction-batch", "smaller-evaluation-batch")
    return _BY_STEPS if was_killed(moment) and rise_with(case) else ()


_IN_PARTS = ("in-blocks", "in-pieces", "smaller-batch", "reduce-parts")
_BY_STEPS = ("compare-shapes", "what-runs-then", "keep-numbers", "find-the-growth")
"""Advice for what grows from step to step."""


def _in_the_code(case: Case, moment: Moment) -> Grower | None:
    """What the quoted code, or the words, of a program of JAX or PyTorch/XLA show to fill host RAM."""
    if not was_killed(moment) or another_program(moment) or _compiling(case, moment):
        return None
    if _saving(case, moment) or _of_its_data(case):
        return None
    found = grower(case) if case.capture.surroundings.shows("growing in words") else None
    return found if found and _is_shown(case, found) else on_the_host(case)


def _is_shown(case: Case, found: Grower) -> bool:
    """Whether the code shows that it grows, or its writer's own test."""
    aside = without(case)
    return found.sure or bool(aside and aside[1] == found.line)


def _of_its_data(case: Case) -> Grower | None:
    """The cause that the text shows by other data with which all goes well."""
    told, shown = case.capture.surroundings, contrasted(case)
    of_data = [told.shows(f"fails with {more}") for more in ("larger samples", "more data")]
    return shown if shown and shown.line in of_data else None


_JIT_SESSION = "JIT session error"
_MEMORY_ERROR = regex(r"(?<!OutOf)MemoryError")
"""Python's own; Ray calls a worker that it killed OutOfMemoryError."""
_FEWER_PROGRAMS = (
    Remedy(
        "let fewer programs be compiled: pad inputs (graphs, sequences) to a few sizes, and make jitted"
        " functions once, outside of loops; let go of those of earlier shapes",
        "jax.clear_caches()   # jax.config.update('jax_log_compiles', True) counts them",
        slug="fewer-programs",
    ),
    Remedy(
        "raise the limit of memory maps of a process",
        "sysctl vm.max_map_count=1000000   # wc -l /proc/PID/maps tells how many it has",
        slug="more-memory-maps",
    ),
)
_FILLS = regex(r"\b(?:np|numpy)\.(?P<call>zeros|ones|empty)\((?!.*dtype)")


def _explained(request: Request, of_host: bool) -> int | None:
    """The request, where it surely was one of host RAM."""
    if of_host:
        return request.failed.tensor_bytes
    return request.needed_bytes if _is_pool_of_jax(request.failed) else None


def _all_remedies(case: Case, moment: Moment, pinned: bool, said: str) -> Iterator[Remedy]:
    if moment.request and _is_pool_of_jax(moment.request.failed):
        yield _MORE_PINNED
    elif pinned and _is_dump(moment):
        yield from _OF_THE_POOL
    elif pinned and driver_at_fault(moment):
        yield from _OF_THE_DRIVER
    elif pinned:
        yield from _remedies_of_pinned(case)
    else:
        yield from _remedies(case, moment, said)


_LADDER = (
    "Pinned memory is host RAM that the system may not move, so the GPU is in use. After a refusal TensorFlow"
    " may ask for less; by itself such a line need not end the run."
)


def _is_dump(moment: Moment) -> bool:
    """Whether an allocator's dump is all that tells of the failure."""
    return moment.request is not None and moment.request.failed.kind is RequestKind.DUMP


def _joins(failed: FailedRequest) -> bool:
    """Whether Keras's predict was joining what it had computed, and took no data any more."""
    names = [frame.name for frame in failed.frames]
    if failed.kind is not RequestKind.HOST or failed.shape is None or not _PREDICTS.intersection(names):
        return False
    reads = any(_READS.search(frame.place) for frame in failed.frames)
    return not reads and any(_JOINS.search(f"{frame.name} {frame.text}") for frame in failed.frames[-4:])


_PREDICTS = frozenset({"predict", "predict_generator", "predict_loop", "_predict_loop"})
_READS = regex(r"data_adapter|array_data|data_handler|data_utils")
_JOINS = regex(r"concat|map_structure_up_to|\bfinalize\b|\bvstack\b")


def _why(case: Case) -> str:
    """What most likely filled it: buffers that the quoted pipeline has, or what grows, where it went well
    for a while.
    """
    told = case.capture.surroundings
    line = next((line for line in told.code if len(_in_code((line,))) > 1), None)
    if line is not None:
        return f"; most likely what {line.place} lets wait: {', '.join(_in_code((line,)))}"
    if late := told.shows("failing late") or told.shows("growing in words"):
        return f"; it went well for a while ({late.place}), so most likely what the loader keeps grows"
    return ""


def _is_small(failed: FailedRequest) -> bool:
    """Whether an array of this size has room wherever there is any."""
    least = _ELEMENT_BYTES if failed.pipeline else _SMALL_BYTES
    return failed.tensor_bytes is not None and failed.tensor_bytes < least


def pinned_for_a_restore(moment: Moment) -> bool:
    """Whether pinned host RAM was to hold what a checkpoint restores, which no batch has a part in."""
    failed = moment.request.failed if moment.request else None
    if failed is None or not on_host(moment) or not _pinned(failed):
        return False
    return bool(_RESTORES.search(failed.node or failed.op or ""))


_RESTORES = regex(r"(?:\A|/)Restore(?:V2|Slice)?(?:_\d+)?\Z")


def _pinned(failed: FailedRequest) -> bool:
    """Whether the driver was to pin host RAM: `on host` are the words of its own function for that."""
    said = failed.line.text if failed.line else ""
    return "host_bfc" in (failed.allocator or "") or "pinned" in said or "bytes on host" in said


_OF_THE_DRIVER = (
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


_MORE_PINNED = Remedy(
    "give JAX's client more of it, as far as the host has RAM, or keep less in pinned host memory (offloaded"
    " activations, weights or moments; bfloat16)",
    "export XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB=128",
    slug="more-pinned-memory",
)


_OF_THE_POOL = (
    Remedy(
        "let less lie in it at once: what is fed, fetched or computed on the CPU for the GPU goes through it,"
        " so take smaller pieces of the large tensors that the dump lists",
        slug="smaller-pipeline",
    ),
    Remedy(
        "or give it more, where the machine has the RAM: TensorFlow sets its limit by itself",
        "export TF_GPU_HOST_MEM_LIMIT_IN_MB=131072   # and TF_CUDA_HOST_MEM_LIMIT_IN_MB for old releases",
        slug="larger-host-pool",
    ),
)


def _is_pool_of_jax(failed: FailedRequest) -> bool:
    """Whether XLA's pool of pinned memory is full, which has a limit of its own."""
    return (failed.allocator or "").startswith("xla_gpu_host")


def _remedies_of_pinned(case: Case) -> Iterator[Remedy]:
    if (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2":
        yield remedies.MORE_FOR_WSL
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
            f" copy to the GPU (smaller batches, {_buffers(case)})",
            slug="smaller-pipeline",
        )
    yield Remedy(
        "check the limit of the container or job, and of locked memory",
        "ulimit -l",
        slug="container-limit",
    )


def _large(case: Case, kind: RequestKind) -> Iterator[Evidence]:
    """The largest request that TensorFlow warned of beforehand."""
    large = case.capture.surroundings.large_host_requests
    if large and kind is RequestKind.HOST:
        size, line = max(large, key=lambda request: request[0].bytes)
        yield Evidence(f"before it TensorFlow requested {human_size(size)} at once", line)


def _saving(case: Case, moment: Moment) -> Line | None:
    """Where the text says that JAX was saving when the process was killed."""
    if framework_of(case) not in (JAX, TORCH_XLA) or not was_killed(moment) or another_program(moment):
        return None
    return case.capture.surroundings.shows("saving in words")


_FEWER_SAVED = Remedy(
    "keep one save in flight: let each end before the next begins, and save a smaller state (no copy of an"
    " average, 16 bits) or from more hosts, of which each copies its part",
    "manager.wait_until_finished()   # Orbax: before the next save()",
    slug="one-checkpoint-at-a-time",
)


def _compiling(case: Case, moment: Moment) -> Line | None:
    """Where the text says that a program was being compiled when the process was killed."""
    told = case.capture.surroundings
    reads = told.pipeline_buffers or told.progress or told.steps
    return compiled_then(case) if was_killed(moment) and not (reads or another_program(moment)) else None


_JAVA_CALLS = regex(r"\.runner\(\)|\bTensors?\.create\(|\.(?:tensor|scalar|vector)Of\(")


def _calls_java(case: Case) -> bool:
    """Whether the text quotes Java that makes tensors: nothing but its own calls of close frees them."""
    program = case.capture.surroundings.setting("program")
    return program is not None and program[0] == "Java" and bool(_JAVA_CALLS.search(program[1].text))


def _filling(case: Case, moment: Moment) -> tuple[str, Line] | None:
    """What the input pipeline filled when the process was killed: steps that follow show that it was full."""
    told, failed = case.capture.surroundings, moment.request.failed.line if moment.request else None
    running = [each.line for each in told.progress if each.step] + [line for _, line in told.steps]
    for what, line in reversed(told.pipeline_buffers):
        near = failed is not None and failed.source == line.source and line.number < failed.number
        if near and not any(line.number < each.number for each in running):
            return ("shuffle buffer" if "shuffle" in what else what), line
    return None


def _large_in_a_step(case: Case) -> Line | None:
    """The line of a large request that was warned of while steps were running: its second and later ones
    make no data set, which is converted once.
    """
    large = case.capture.surroundings.large_host_requests
    running = [line for size, line in large if case.capture.surroundings.progress_before(line)]
    return running[-1] if len(running) > 1 else None


_LARGE_ALONE = 4 * GIB
"""One tensor that fills many machines."""
_LEAST_STATED, _LEAST_OF_INDICES = 1000, 100_000


class _Large(NamedTuple):
    """One large request right before a kill, and a number of the program's that it is a multiple of."""

    words: str
    stated: tuple[int, Line] | None


def _one_large(case: Case, moment: Moment) -> _Large | None:
    """The last large request of host RAM before the process was killed, where no step ran meanwhile."""
    told, failed = case.capture.surroundings, moment.request.failed.line if moment.request else None
    if not was_killed(moment) or another_program(moment) or not told.large_host_requests or failed is None:
        return None
    size, line = told.large_host_requests[-1]
    later = [each.line.number for each in told.progress] + [each.number for _, each in told.steps]
    after = line.source == failed.source and line.number < failed.number
    if size.bytes < _LARGE_ALONE or not after or any(line.number < at < failed.number for at in later):
        return None
    stated = _stated_factor(told, size.bytes)
    by = f", {stated[0]:,} of {stated[1].place} times another number" if stated else ""
    words = f"; right before it one tensor of {human_size(size)} was asked for ({line.place}{by})"
    return _Large(words, stated)


def _stated_factor(told: Surroundings, size: int) -> tuple[int, Line] | None:
    """The largest number of the quoted code of which the bytes are a multiple; of one-hot rows it may be one
    more than that.
    """
    code = {line.number for line in told.code}
    numbers = {
        (number, stated.line)
        for stated in told.sizes
        for number in stated.sizes
        if stated.line.number in code and number >= _LEAST_STATED
    }
    fits = [
        (number, line)
        for number, line in numbers
        if not size % number or (number >= _LEAST_OF_INDICES and not size % (number - 1))
    ]
    return max(fits, key=lambda each: each[0], default=None)


def _of_one_large(found: _Large) -> Remedy:
    """What to look at first."""
    if found.stated:
        number, line = found.stated
        return Remedy(
            f"see whether {number:,} in `{line.text.strip()[:_LONGEST_LINE]}` ({line.place}) is the number"
            " that is meant there: the tensor grows with it",
            slug="find-the-size",
        )
    return Remedy(
        "find what makes one tensor of this size, from the shapes of what the last calls are given, and make"
        " that smaller or go through it in parts",
        slug="find-the-size",
    )


_LONGEST_LINE = 80


def _last_large(case: Case) -> str:
    """What a message without a figure most likely was about: the last large request that was warned of."""
    large = case.capture.surroundings.large_host_requests
    if not large:
        return "the message does not say how much was requested"
    size, line = large[-1]
    times = sum(size == other for other, _ in large)
    many = f", the last of {times} of this size" if times > 1 else ""
    return (
        f"its message states no amount; before it TensorFlow requested {human_size(size)} at once"
        f" ({line.place}{many})"
    )


def _remedies(case: Case, moment: Moment, said: str) -> Iterator[Remedy]:
    assert moment.request
    failed = moment.request.failed
    if _JIT_SESSION in said:
        yield from _FEWER_PROGRAMS
        return
    if remedies.has_a_wrong_size(moment.request):
        yield remedies.WRONG_SIZE
        return
    if compiler_of(failed):
        yield from less_ram_to_compile()
        return
    serving = situation(case, moment).program == "TensorFlow Serving"
    if serving and case.capture.surroundings.shows("reloading models"):
        yield ROOM_FOR_TWO
    elif serving:
        yield from _room_for_cuda(case, moment)
        yield from _bounded_queue(case)
        yield remedies.smaller_requests(case)
    if was_killed(moment) and _shared_with_the_gpu(case):
        yield from _beside_the_pool(case)
    grows = case.capture.surroundings.shows("growing in words")
    unexplained, fallback = False, None
    of_array = failed.kind is RequestKind.HOST and (failed.shape is not None or _MEMORY_ERROR.search(said))
    if of_array:
        if failed.dtype == "float64" and failed.tensor_bytes and not _is_small(failed) and not _joins(failed):
            fills = _FILLS.search(failed.source_text or "")
            yield Remedy(
                "build it in float32 from the start: half of float64; a later conversion needs both"
                + ("; zeros and ones of one-hot vectors fit in bool, an eighth" if fills else ""),
                f"x = np.{fills['call']}(shape, dtype=np.float32)"
                if fills
                else "x = np.asarray(x, dtype=np.float32)",
                failed.tensor_bytes // 2,
                Certainty.EXACT,
                slug="narrow-array",
            )
        yield from _of_an_array(case, failed)
    elif "paging file" in said:
        yield Remedy(
            "start fewer worker processes: on Windows each loads TensorFlow's libraries anew, and all of them"
            " count against RAM and paging file together",
            slug="fewer-workers",
        )
        yield Remedy(
            "or let Windows have a larger paging file (System > Advanced > Performance > Virtual memory)",
            slug="larger-paging-file",
        )
        return
    elif "Errno 12]" in said and case.capture.surroundings.shows("worker processes"):
        yield _FEWER_FORKS
    elif "Out of host memory" in said:
        yield _MORE_PINNED
    elif waits_for_another(moment):
        yield WAIT_FOR_EACH_CALL
    elif "bad_alloc" in said and grows:
        yield from _of_growth(case)
    else:
        unexplained = not grows and _no_gpu_shown(case, moment, said)
        fallback = _fallback(case) if unexplained else None
        if fallback:
            yield fallback
    if large := _one_large(case, moment):
        yield _of_one_large(large)
    if was_killed(moment) and not another_program(moment):
        if rises := rise_with(case):
            yield from rises.remedies(case)
            return
        if _folding(case, moment):
            yield _AS_ARGUMENT
            return
        if _resuming(case, moment):
            yield from _INTO_SHAPES
            return
        if shown := _of_its_data(case):
            yield from shown.remedies
    in_code = _in_the_code(case, moment)
    if in_code:
        yield from in_code.remedies
    if was_killed(moment) and not another_program(moment) and (filling := _filling(case, moment)):
        yield from (SMALLER_SHUFFLE, SHUFFLE_NAMES) if "shuffle" in filling[0] else (WITHOUT_CACHE,)
    on_board = board(case) if was_killed(moment) or "bad_alloc" in said else None
    if on_board:
        yield from what_helps(on_board[0], _converts_for_tensorrt(case))
    if other := another_program(moment):
        yield Remedy(
            f"give {other.partition(' ')[0]} a smaller heap or cache, or a machine of its own; or the machine"
            " more RAM",
            slug="room-for-others",
        )
    in_a_notebook = "available RAM" in said and framework_of(case) == TENSORFLOW
    if in_a_notebook:
        yield data_in_parts(case)
    loads = was_killed(moment) and not in_a_notebook and _loads_samples(case)
    if loads:
        yield data_in_parts(case)
    if was_killed(moment) and case.capture.surroundings.shows("several ranks"):
        if not (surely_for_memory(moment) or told_for_memory(case) or grows):
            yield _KERNEL_LOG
        yield SHARD_THE_DATA
    converts = was_killed(moment) and case.capture.surroundings.shows("converting a model") is not None
    if converts:
        yield _CONVERT_IN_PARTS
    limit = case.capture.surroundings.setting("container_memory")
    sampling = was_killed(moment) and (
        case.capture.surroundings.shows("sampling") or case.api.library == "NumPyro"
    )
    native = _of_native(case, moment)
    yield from native
    if in_code:
        grows = None  # what grows is said
    elif was_killed(moment) and not (native or _compiling(case, moment)) and (grows or _late(case, moment)):
        yield from _of_growth(case) if grows else (find_what_grows(case, of_host=True),)
    saving = _saving(case, moment)
    if saving:
        yield from (SAVED_BY_ONE,) if framework_of(case) == TORCH_XLA else (BOUND_THE_SAVE, _FEWER_SAVED)
    compiling = _compiling(case, moment)
    if compiling and not surely_for_memory(moment):
        yield _KERNEL_LOG
    if compiling:
        yield from less_to_compile(case)
    steps = was_killed(moment) and not (compiling or in_code) and framework_of(case) == TORCH_XLA
    if steps:
        yield from steps_of_torch_xla.remedies(case, grows=bool(grows), of_host=True)
    if _OF_ADDRESSES in said:
        yield _NO_VIRTUAL_CHECK
    limited = was_killed(moment) and bool(limit or own_limit(moment)) and not another_program(moment)
    if limited and not (grows or native or in_code) and not any(_room_for_cuda(case, moment)):
        yield _a_larger_limit(own_limit(moment), limit[0] if limit else None, moment)
    if "for the batch of component" in said:
        yield Remedy(
            "make what a batch holds smaller: fewer samples in it, smaller images, or narrower values (uint8"
            " until the model converts them)",
            slug="smaller-batch",
        )
    stated = case.capture.surroundings.setting("batch_size")
    if "bad_alloc" in said and stated and int(stated[0]) > 1 and not serving:
        half = int(stated[0]) // 2
        yield Remedy(f"a smaller batch: {stated[0]} -> {half}", slug="smaller-batch")
    if moment.incident and moment.incident.compiler:
        yield from remedies.offered(case, moment, "smaller-batch", "recompute")
    elif was_killed(moment) and (line := _large_in_a_step(case)):
        yield Remedy(
            "a smaller batch, or smaller samples: the training step itself asked for this much"
            f" ({line.place})",
            slug="smaller-batch",
        )
        yield from _less_in_the_pipeline(case)
    elif sampling and not in_code:
        yield _FEWER_DRAWS
    elif (
        not (compiling or steps or saving or in_code or large)
        and not ((of_array and not _is_small(failed)) or serving or loads or _of_network(moment))
        and _reads_data(case, moment)
        and situation(case, moment).program in _NATIVE
    ):
        yield _LESS_IN_A_CALL
    elif (
        not (compiling or steps or saving or in_code or large)
        and not ((of_array and not _is_small(failed)) or serving or loads or _of_network(moment))
        and _reads_data(case, moment)
    ):
        yield from _less_in_the_pipeline(case)
    if was_killed(moment) and (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2":
        yield remedies.MORE_FOR_WSL
    elif "low on resource: memory" in said:
        yield _EVICTED
    elif by_the_machine(moment) and not on_board and not another_program(moment):
        yield _MORE_RAM
    elif not (limited or on_board or in_a_notebook or _of_network(moment)) and on_windows(case):
        yield _MORE_TO_COMMIT
    elif not (limited or on_board or in_a_notebook or _of_network(moment)):
        yield Remedy(
            "check the limit of the container or job (cgroup, ulimit -v, Slurm --mem)", slug="container-limit"
        )
    if not (
        of_array
        or sampling
        or serving
        or on_board
        or compiling
        or steps
        or saving
        or loads
        or in_code
        or converts
        or large
        or _of_network(moment)
        or _reads_data(case, moment)
    ):
        yield from _at_a_stage(case)
    if limited and (grows or native or in_code):
        larger = _a_larger_limit(own_limit(moment), limit[0] if limit else None, moment)
        yield replace(larger, text=f"{larger.text}, which only delays the end where memory grows")
    if was_killed(moment) and not (compiling or surely_for_memory(moment)):
        yield _KERNEL_LOG
    if unexplained and not (fallback or on_board):
        yield from _device_seen(case, moment)
    if "bad_alloc" in said and not serving:
        yield from _SLABS


_LEAST_FOR_CUDA = 4 * GIB


def _room_for_cuda(case: Case, moment: Moment) -> Iterator[Remedy]:
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


def _bounded_queue(case: Case) -> Iterator[Remedy]:
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


def _resuming(case: Case, moment: Moment) -> Line | None:
    """Where the text says that it is killed when a run is resumed, and a fresh one is not."""
    if framework_of(case) != JAX or not was_killed(moment) or another_program(moment):
        return None
    return case.capture.surroundings.shows("jax: resuming")


_INTO_SHAPES = (
    Remedy(
        "restore into shapes and shardings, and make no fresh state beside what is read; what is offloaded to"
        " the host counts as well",
        "shapes = jax.eval_shape(create_state, key); state = checkpointer.restore(path, shapes)",
        slug="restore-into-shapes",
    ),
    Remedy(
        "or let the processes of a host restore one after another, and bound what each reads at a time",
        slug="bound-checkpoint",
    ),
)


def _folding(case: Case, moment: Moment) -> Line | None:
    """Where XLA said, before the kill, that it computes a large constant."""
    failed = moment.request.failed.line if moment.request else None
    told = case.capture.surroundings
    lines = [line for what, line in told.startup if _CONSTANT in what]
    lines += [line for what, _, line in told.harmless if _CONSTANT in what]
    return next((line for line in lines if failed and line.number < failed.number), None)


_CONSTANT = "XLA computes a large constant"
_AS_ARGUMENT = Remedy(
    "pass large arrays to the jitted function as arguments: one that it merely uses from outside becomes a"
    " constant of the program, which XLA copies and folds while it compiles",
    "@jax.jit\ndef step(a, x): ...   # step(a, x) instead of a function that closes over `a`",
    slug="pass-as-argument",
)


def _names_data(case: Case) -> bool:
    """Whether the text speaks of what reads data."""
    told = case.capture.surroundings
    facts = ("queueing samples", "worker processes", "loading samples", "before training", "reading files")
    return bool(told.pipeline_buffers or any(map(told.shows, facts)) or told.large_host_requests)


def _at_a_stage(case: Case) -> Iterator[Remedy]:
    """What to do where nothing tells what took the RAM: of XLA's programs, whose text names no input
    pipeline, at which of their stages it goes.
    """
    if framework_of(case) in (JAX, TORCH_XLA) and not _names_data(case):
        yield Remedy(
            "print the program's RAM after each of its stages (data read, weights made or restored, the first"
            " call, which compiles, a save or an evaluation): that at which it jumps is the one to change",
            "print(psutil.Process().memory_info().rss >> 20, 'MiB')",
            slug="tell-which",
        )
    else:
        yield from _less_in_the_pipeline(case, "if it trains: ")


def _less_in_the_pipeline(case: Case, unless: str = "") -> Iterator[Remedy]:
    """Less in the buffers of an input pipeline, unless the text quotes a program and names none: then what
    tells where the memory goes. A program in another language has no such pipeline.
    """
    told = case.capture.surroundings
    if situation(case).program:
        return
    if _buffers(case) == "worker processes" and told.shows("worker processes"):
        return  # said in other words
    if told.shows("an input pipeline") or told.pipeline_buffers or len(told.code) < _A_PROGRAM:
        text = f"{unless}shrink what the input pipeline holds: {_buffers(case)}"
        yield Remedy(text, slug="smaller-pipeline")
    else:
        yield tell(case, HOST)


def _beside_the_pool(case: Case) -> Iterator[Remedy]:
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


def _converts_for_tensorrt(case: Case) -> bool:
    """Whether the program makes an engine of TensorRT, as far as a setting or its name tells."""
    told = case.capture.surroundings
    named = (told.shows("ended in words"), told.shows("killed in words"), *told.code)
    return bool(told.setting("max_workspace_size_bytes")) or any(
        _OF_TENSORRT.search(line.text) for line in named if line
    )


_OF_TENSORRT = regex(r"(?i)(?:\b|_)(?:trt|tensorrt)(?:\b|_)")
_A_PROGRAM = 3
"""Lines of code that show what a program does."""


def _of_native(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """What helps a program in another language against native memory that its own runtime does not count."""
    told, program = case.capture.surroundings, situation(case, moment).program or ""
    heap = (BESIDE_THE_HEAP,) if told.shows("a Java heap") and was_killed(moment) else ()
    if any("newPredictor(" in line.text for line in (*told.code, *code_lines(told))):
        return (PREDICTORS_OF_DJL,)
    grows = told.shows("growing in words") or told.shows("reloading models") or _calls_java(case)
    return (*OF_NATIVE.get(program, ()), *heap) if grows else ()


_CONVERT_IN_PARTS = Remedy(
    "a conversion holds the weights several times (as read, as constants of a graph, as bytes of the result):"
    " take a machine with four times the model's RAM, add swap, or convert a smaller model or its parts",
    "sudo fallocate -l 32G /swap && sudo chmod 600 /swap && sudo mkswap /swap && sudo swapon /swap",
    slug="more-ram",
)
_NATIVE = ("C++", "C#", "Java")
"""Programs that read no data with tf.data."""
_LESS_IN_A_CALL = Remedy(
    "run fewer or smaller inputs in one call, and fewer calls side by side; free the tensors that a call"
    " returned before the next one",
    slug="smaller-input",
)
_KERNEL_LOG = Remedy(
    "make sure that it was memory: the kernel logs whom it kills",
    "dmesg -T | grep -i 'killed process'",
    slug="read-the-kernel-log",
)
_OF_ADDRESSES = "virtual memory used"
"""What YARN counted: addresses that a process reserved."""
_NO_VIRTUAL_CHECK = Remedy(
    "YARN counted virtual memory, addresses that are reserved and mostly no RAM, of which TensorFlow, Java"
    " and CUDA take many: let it check RAM alone, or allow more of them for each GiB",
    "yarn.nodemanager.vmem-check-enabled=false   # in yarn-site.xml; or vmem-pmem-ratio=5",
    slug="raise-container-limit",
)
_EVICTED = Remedy(
    "the node ran out, and Kubernetes evicted the pod: request the RAM that it needs, so that it is put on a"
    " node which has as much left",
    "resources: {requests: {memory: 32Gi}, limits: {memory: 32Gi}}   # kubectl top pod says what it takes",
    slug="raise-container-limit",
)
_MORE_RAM = Remedy(
    "it was the whole machine's RAM: end other programs, add swap, or run this on a machine with more RAM",
    "free -h; swapon --show",
    slug="more-ram",
)
_MORE_TO_COMMIT = Remedy(
    "see how much all programs have committed (Task Manager > Performance > Memory: Committed): where that is"
    " near its limit, end other programs or let Windows have a larger paging file",
    slug="larger-paging-file",
)
_FEWER_DRAWS = Remedy(
    "keep fewer draws (thinning, fewer sites), and go through them in parts when they are transformed or"
    " summed up afterwards: else all chains, draws and sites exist at once",
    slug="fewer-draws",
)
_COMMANDS = {
    "the executor's container": "--conf spark.executor.memoryOverhead=4g   # old: spark.yarn.executor...",
    "the batch job": "#SBATCH --mem=SIZE   # seff JOBID, or sacct -j JOBID -o MaxRSS, say what it took",
    "the container": "docker run --memory=SIZE ...   # Kubernetes: resources.limits.memory",
}


def _a_larger_limit(whose: str | None, limit: str | None, moment: Moment) -> Remedy:
    """The first thing to do where a limit was met that somebody set: above what was held, as far as told."""
    now, code = f" ({limit})" if limit else "", _COMMANDS.get(whose or "")
    if limit and _OF_KUBERNETES.search(limit):
        code = "resources: {limits: {memory: SIZEi}}   # of the pod's container"
    state = moment.incident.state if moment.incident else None
    known = [size.bytes for size in (state.in_use, state.limit) if size] if state else []
    if limit and (figure := _FIGURE.match(limit)):
        known.append(int(float(figure["many"]) * _POWERS[figure["unit"].upper()]))
    more = math.ceil(1.2 * max(known, default=0) / GIB)
    beyond = False
    if state and state.in_use and state.limit and state.in_use.bytes > state.limit.bytes:
        beyond = True
        now = f" ({human_size(state.limit)}; it held {human_size(state.in_use)})"
    if code and more:
        unit, least = ("G", 128) if "SBATCH" in code else ("G" if "SIZEi" in code else "g", 64)
        code = code.replace("SIZE", f"{more if beyond else max(more, least)}{unit}")
    return Remedy(
        f"raise the limit of {whose or 'the container or job'}{now}",
        code,
        slug="raise-container-limit",
    )


_OF_KUBERNETES = regex(r"\d ?[KMG]i\Z")
"""How Kubernetes writes a limit."""
_FIGURE = regex(r"(?P<many>\d{1,7}(?:\.\d+)?) ?(?P<unit>[KMGTkmgt])")
_POWERS = {"K": 1 << 10, "M": MIB, "G": GIB, "T": 1 << 40}


_FEWER_FORKS = Remedy(
    "start fewer worker processes, or threads instead, and start them before data are loaded: for each fork"
    " the system must promise as much again as the program holds",
    "model.fit(data, workers=2, use_multiprocessing=False)   # fit_generator, too",
    slug="fewer-workers",
)
_MAP_THE_FILE = Remedy(
    "do not hold the whole data set as one array: read it in batches, or map the file",
    "x = np.load('x.npy', mmap_mode='r')",
    slug="map-the-file",
)


_OF_WEIGHTS = ("glorot_uniform", "he_normal", "add_weight", "random_uniform_variable", "sharedX", "build")
_FEWER_WEIGHTS = Remedy(
    "what asks is a layer that makes its weights, inputs x units of them: fewer units there, or smaller maps"
    " before it (pooling, strides), and see that its input has the sides that you meant",
    "model.summary()   # before this layer",
    slug="smaller-model",
)


def _of_an_array(case: Case, failed: FailedRequest) -> Iterator[Remedy]:
    """What helps where Python found no room: where no array is named, what the words say of the cause."""
    told = case.capture.surroundings
    if failed.shape is None and told.shows("worker processes"):
        yield THREADS
        return
    if failed.shape is None and any(frame.name in _OF_WEIGHTS for frame in failed.frames):
        yield _FEWER_WEIGHTS
        return
    if failed.shape is None and (told.shows("growing in words") or told.shows("kept in words")):
        yield from _of_growth(case)
        return
    if _joins(failed):
        yield from OF_JOINED_OUTPUTS
    elif not (failed.pipeline and _is_small(failed)):
        yield _MAP_THE_FILE
    elif told.shows("failing late") and not any(_in_code((line,)) for line in told.code):
        yield find_what_grows(case, of_host=True)


def _of_growth(case: Case) -> Iterator[Remedy]:
    """What helps where words say that it grows: what they name, else to find it."""
    grown = grower(case)
    yield from grown.remedies if grown else (find_what_grows(case, of_host=True),)


def _loads_samples(case: Case) -> bool:
    """Whether the text shows samples being read one after another, or says that it fails before training."""
    told = case.capture.surroundings
    return bool(told.shows("loading samples") or told.shows("before training"))


def _reads_data(case: Case, moment: Moment) -> bool:
    """Whether an input pipeline may be what holds the RAM; of a killed process something must show that it
    trains.
    """
    told = case.capture.surroundings
    trains = bool(told.shows("training") or told.steps or told.progress or told.pipeline_buffers)
    trains = trains or told.shows("queueing samples") is not None
    return not was_killed(moment) or trains or bool(told.large_host_requests and board(case) is None)


def _late(case: Case, moment: Moment) -> int | None:
    """The epoch in which it was killed, where several went well before it: each reads the same data."""
    line = moment.request.failed.line if moment.request else None
    at = case.capture.surroundings.progress_before(line)
    return at.epoch if at and at.epoch and at.epoch >= _LATE_EPOCH else None


def _shared_with_the_gpu(case: Case) -> str:
    """Of machines whose GPU has no memory of its own."""
    platform = case.capture.surroundings.setting("platform")
    return "; on a Jetson the GPU uses the same RAM" if platform and platform[0] == "Jetson" else ""


def _of_network(moment: Moment) -> bool:
    """Whether a tensor of the program's own was refused: neither its input pipeline nor the machine's limits
    are to blame then, unless something says so.
    """
    failed = moment.request.failed if moment.request else None
    return bool(failed and failed.kind is RequestKind.TENSOR and failed.shape is not None) and not (
        failed is not None and (failed.pipeline or "Iterator" in (failed.node or failed.op or ""))
    )


def _no_gpu_shown(case: Case, moment: Moment, said: str) -> bool:
    """Whether nothing tells why host RAM is used where a GPU may have been expected."""
    assert moment.request
    failed, told = moment.request.failed, case.capture.surroundings
    return not (
        told.devices
        or told.shows("without a GPU")
        or failed.pipeline
        or was_killed(moment)
        or situation(case, moment).program == "TensorFlow Serving"
        or _OF_DATA.search(f"{failed.node} {failed.kernel} {said}")
    )


def _fallback(case: Case) -> Remedy | None:
    """The first thing to do where the log says that no GPU is used."""
    line = next((line for what, line in case.capture.surroundings.startup if _ON_THE_CPU in what), None)
    if line is None:
        return None
    return Remedy(
        f"{line.place} says that {framework_name(case)} runs on the CPU: if the machine has a GPU, install"
        " the build for it",
        'pip install -U "jax[cuda12]"',
        slug="mend-the-gpu-build",
    )


def _device_seen(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What to look at where a GPU may have been expected, of a request that no op of the program made."""
    if not _of_network(moment):
        yield Remedy(
            f"if you expected a GPU: check that {framework_name(case)} sees it",
            code_snippets.devices(case.api),
            slug="check-the-device",
        )


_BUFFERS = {
    ".shuffle(": "shuffle(buffer_size)",
    ".prefetch(": "prefetch",
    ".cache(": "cache()",
    "workers": "worker processes",
    "max_queue_size": "worker processes",
    "use_multiprocessing": "worker processes",
}
"""What holds samples in host RAM, by what shows it in code."""


def _in_code(code: Iterable[Line]) -> list[str]:
    """Which of them lines of code show."""
    shown = [words for word, words in _BUFFERS.items() if any(word in line.text for line in code)]
    return list(dict.fromkeys(shown))


def _buffers(case: Case) -> str:
    """What an input pipeline holds, in the framework's words."""
    if framework_of(case) == TENSORFLOW:
        if queue := case.capture.surroundings.shows("queueing samples"):
            return f"capacity and min_after_dequeue of its queue ({queue.place}), images as uint8 until then"
        code = case.capture.surroundings.code
        shown = _in_code(code)
        known = shown if len(code) >= _A_PROGRAM or len(shown) > 1 else []
        return ", ".join(known or dict.fromkeys(_BUFFERS.values()))
    return "shuffling buffers, prefetched batches, worker processes"
