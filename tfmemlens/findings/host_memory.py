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

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, remedies, steps_of_torch_xla
from tfmemlens.findings.support.batch_that_matters import makes_the_model
from tfmemlens.findings.support.board import board, what_helps
from tfmemlens.findings.support.compiling import (
    being_folded,
    compiler_of,
    less_ram_to_compile,
    less_to_compile,
    refused_within_jax,
    why_within_jax,
    within_jax,
)
from tfmemlens.findings.support.contrasted import contrasted
from tfmemlens.findings.support.grounds import tell
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_causes import SAVED_BY_ONE, is_of_a_restore
from tfmemlens.findings.support.host_ram.arrays import (
    FILLS,
    MEMORY_ERROR,
    characters,
    is_small,
    joins_outputs,
    of_a_grid,
    of_an_array,
    of_growth,
    reads_one_sample,
)
from tfmemlens.findings.support.host_ram.experiences import experiences
from tfmemlens.findings.support.host_ram.gone import lost_device
from tfmemlens.findings.support.host_ram.killed import (
    AS_ARGUMENT,
    FEWER_SAVED,
    INTO_SHAPES,
    KERNEL_LOG,
    WRITTEN_IN_PARTS,
    being_compiled,
    being_resumed,
    being_saved,
    in_the_code,
    late_epoch,
    of_its_data,
    saved_by_hand,
)
from tfmemlens.findings.support.host_ram.large_requests import (
    large_before,
    large_in_a_step,
    last_large,
    of_libraries,
    of_one_large,
    one_large,
    why_without_sense,
    without_sense,
)
from tfmemlens.findings.support.host_ram.limits import (
    EVICTED,
    FEWER_FORKS,
    MORE_RAM,
    MORE_TO_COMMIT,
    NO_VIRTUAL_CHECK,
    OF_ADDRESSES,
    POD_ENDED,
    ROOM_FOR_THE_POD,
    a_larger_limit,
    beside_the_pool,
    bounded_queue,
    of_a_pod,
    room_for_cuda,
    shared_with_the_gpu,
)
from tfmemlens.findings.support.host_ram.logged import logged
from tfmemlens.findings.support.host_ram.new_array import made_by_a_line
from tfmemlens.findings.support.host_ram.no_lack import OTHER_SERVER, no_lack, refused_a_server
from tfmemlens.findings.support.host_ram.pinned import (
    LADDER,
    MORE_PINNED,
    OF_THE_DRIVER,
    asks_for_less,
    is_far_from_its_limit,
    is_pinned,
    is_pool_of_jax,
    is_pool_of_tensorflow,
    pinned_for_a_restore,
    refused_by_the_driver,
    remedies_of_pinned,
    remedies_of_the_pool,
)
from tfmemlens.findings.support.host_ram.pipeline import (
    at_a_stage,
    being_filled,
    buffers_shown,
    learns,
    less_in_the_pipeline,
    loads_samples,
    names_a_pipeline,
    only_infers,
    reads_data,
)
from tfmemlens.findings.support.jax_code.changes import WAIT_FOR_EACH_CALL
from tfmemlens.findings.support.kills import (
    another_program,
    by_the_machine,
    driver_at_fault,
    own_limit,
    surely_for_memory,
    told_for_memory,
    used_all,
    was_killed,
)
from tfmemlens.findings.support.last_drop import is_last_drop
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import (
    BESIDE_THE_HEAP,
    BOUND_THE_SAVE,
    OF_NATIVE,
    PREDICTORS_OF_DJL,
    ROOM_FOR_TWO,
    SHARD_THE_DATA,
    SMALLER_QUEUES,
)
from tfmemlens.findings.support.ram_of_tools import ram_of_a_tool
from tfmemlens.findings.support.rise_with import left_by_each_save, of_each_save, rise_with
from tfmemlens.findings.support.rows import (
    failures,
    on_host,
    tensor_text,
    waits_for_another,
    words_of_a_client,
)
from tfmemlens.findings.support.situation import (
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
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.findings.support.which_memory import HOST
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human_size
from tfmemlens.values import replace

BASIS = Basis.FIGURES
EXPLAINS = "the request"
HEDGED = (Severity.FACTOR, Severity.NOTE)
_OF_DATA = regex(
    r"Iterator|Dataset|for the batch of component|_dataset_op|FIFOQueue|input_producer|shuffle_batch"
)
"""Ops of an input pipeline, which run on the CPU wherever the model does."""
_ON_THE_CPU = "runs on the CPU"
"""Words of messages at the start that tell of a GPU that is not used."""
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
        if not on_host(moment) or lost_device(case, moment):
            continue
        assert moment.request
        failed = moment.request.failed
        said = failed.line.text if failed.line else ""
        pinned = is_pinned(failed)
        what = "pinned host RAM (which the GPU can copy from)" if pinned else "host RAM"
        because = (
            _why_killed(case, moment, said) if was_killed(moment) else _why_refused(case, moment, pinned)
        )
        because = because or f"this is {what}, not GPU memory"
        if listed := logged(failed):
            because += f"; {listed.words}"
        elif kept := experiences(case, moment):
            because += f"; {kept.words}"
        if ram := _of_a_tool(case, moment):
            because += f"; {'it holds ' if was_killed(moment) else ''}most likely {ram.what}"
        if bug := no_lack(case, moment):
            because = bug.words
        of_pool = is_pool_of_tensorflow(moment)
        if of_pool:
            because = (
                "this is TensorFlow's pool of pinned host RAM, which the GPU copies from, and no GPU's memory"
            )
            if is_far_from_its_limit(moment):
                because += "; its limit was not met: most likely the machine had no more RAM to pin"
        if of_pool and failed.kind is RequestKind.TENSOR:  # the verdict says which memory it is
            because = "what is fed, fetched, swapped out of loops or computed on the CPU for the GPU fills it"
        if is_pool_of_jax(failed):
            because = (
                "this is XLA's pool of pinned host RAM, 64 GB unless it is told otherwise, and neither the"
                " GPU's memory nor all of the machine's RAM"
            )
            if refused_by_the_driver(case):
                because = (
                    "this is XLA's pool of pinned host RAM, not the GPU's memory, and it could not grow: the"
                    " driver pinned no more for it"
                )
        because += shared_with_the_gpu(case) + _without_a_pool(case, moment)
        restores = pinned_for_a_restore(moment)
        if restores:
            because += "; it was to hold what a checkpoint restores, before any batch"
        by = f": the allocator is `{failed.allocator}`" if failed.allocator else ""
        of_host = failed.kind is RequestKind.HOST or failed.pipeline
        yield Finding(
            severity=Severity.CAUSE
            if of_host or is_pool_of_jax(failed) or of_pool or restores
            else Severity.NOTE,
            headline=because + by,
            because=because,
            explains=_explained(moment.request, of_host),
            evidence=(Evidence("the message", failed.line), *large_before(case, failed.kind)),
            detail=LADDER if pinned and failed.kind is RequestKind.HOST else "",
            remedies=tuple(_all_remedies(case, moment, pinned, said)),
            moment=index,
            rules_out=_ruled_out(case, moment),
        )


_MORE_FOR_A_FUNCTION = Remedy(
    "give the function more memory, with which its share of a CPU grows: where the maximum stays below what"
    " it may use then, it had too little",
    "aws lambda update-function-configuration --function-name NAME --memory-size 2048",
    slug="container-limit",
)
_OF_THE_POOL = (
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
)


def _without_a_pool(case: Case, moment: Moment) -> str:
    """That a setting of the text is of JAX's pool for GPUs, as a clause, where the program ran on the CPU."""
    device = moment.request.failed.device if moment.request else None
    told = case.capture.surroundings
    line = next((found[1] for name in _OF_THE_POOL if (found := told.setting(name))), None)
    if line is None or "CPU" not in (device or ""):
        return ""
    return f"; what {line.place} sets is of JAX's pool for GPUs, and on the CPU there is no such pool"


def _why_killed(case: Case, moment: Moment, said: str) -> str:
    """Who had no host RAM left, and what filled it, as far as the text tells."""
    if used_all(moment):
        return (
            "that alone does not say that it was killed, which has a line of its own (`signal: killed`,"
            " `Runtime.OutOfMemory`): what caches its files counts as well, and a call may run out of time"
        )
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
        of_what = "virtual memory" if OF_ADDRESSES in said else "host RAM"
        because = (
            f"{whose} reached its own limit of {of_what}, whatever the machine had left, and the"
            " process was killed"
        )
    filling = None if another_program(moment) else being_filled(case, moment)
    if filling:
        because += f"; the input pipeline was filling its {filling[0]} ({filling[1].place})"
    if large_in_a_step(case) and not another_program(moment):
        because += f"; {last_large(case).rpartition('; ')[2]}, while steps ran"
    if large := one_large(case, moment):
        because += large.words
    if (at := case.capture.surroundings.shows("ended at a stage")) and (stage := _STAGE.search(at.text)):
        because += f'; {at.place} says when: "{stage[0].strip()}"'
    line = being_saved(case, moment)
    if line and framework_of(case) == TORCH_XLA:
        because += (
            f"; {line.place} says that it was while a checkpoint is saved: each process that saves"
            " copies weights and the optimizer's state from its device to host RAM first"
        )
    elif line and left_by_each_save(case) == line:
        because += f"; {line.place} says that something of each save of a checkpoint stays"
    elif line and (by_hand := saved_by_hand(case)):
        because += f"; {by_hand[0]}"
    elif line:
        because += (
            f"; {line.place} says that it was while a checkpoint is saved: JAX copies its part of the"
            " state to the host for that, and the writer copies it again"
        )
    compiling = being_compiled(case, moment)
    if compiling:
        because += (
            f"; {compiling.place} tells of compiling, or of a first call, which compiles: that takes host"
            " RAM, the more operations the program has"
        )
    if line := being_folded(case, moment):
        because += (
            f"; XLA was computing a large constant while it compiled ({line.place}): most likely an"
            " array that the jitted function uses from outside, copied several times in host RAM"
        )
    elif line := being_resumed(case, moment):
        because += (
            f"; {line.place} says that it is when a run is resumed: most likely the state that the"
            " program makes first and the one that it reads are then in host RAM at once"
        )
    if epoch := late_epoch(case, moment):
        because += (
            f"; it ran {epoch - 1} epochs before, so something grows, most likely: a larger limit"
            " only delays the end"
        )
    elif (
        (grows := case.capture.surroundings.shows("growing in words"))
        and not compiling
        and not is_of_a_restore(grows)
    ):
        because += f"; {grows.place} says that it grows: a larger limit only delays the end"
    if other := another_program(moment):
        because = f"the machine had none left, and the kernel killed {other}, not the training"
    elif rises := rise_with(case):
        because += f"; {rises.words}"
    elif shown := of_its_data(case) or in_the_code(case, moment):
        because += f"; most likely {shown.what}"
    return because


_STAGE = regex(r"(?i)\b(?:upon|when|once|as soon as|right after) [^.,;\n]{3,80}")


def _why_refused(case: Case, moment: Moment, pinned: bool) -> str:
    """What asked for host RAM and got none, or nothing where that is all that is known."""
    assert moment.request
    failed = moment.request.failed
    said = failed.line.text if failed.line else ""
    because = ""
    if died := _client_that_died(case, failed):
        because = f"{died.place} says that it is the client that fails, and not the server"
    elif waits_for_another(moment):
        asked = f" for {human_size(failed.size)}" if failed.size else ""
        kind = ", most likely of host RAM" if words_of_a_client(case, moment) else ""
        because = (
            f"JAX runs ahead of Python, so an earlier call asked{asked}{kind}; this line only"
            " waits for its result"
        )
    elif _NEW_CODE.search(said):
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
    elif refused_within_jax(case, failed):
        because = why_within_jax(case, failed)
    elif words_of_a_client(case, moment):
        because = "most likely host RAM, not GPU memory (JAX's message on the CPU has these words)"
    elif moment.incident and moment.incident.compiler and failed.size:
        because = f"a compiled program asked for {human_size(failed.size)} at once"
    elif "paging file" in said:
        because = "Windows could promise no more of it: RAM and paging file together are its limit"
    elif failed.pipeline:
        because = "a function of the input pipeline (tf.data) got no host RAM"
        if is_small(failed):
            because += f" for one element: so little fails only where RAM is full already{_why(case)}"
    elif "for the batch of component" in said:
        because = "the input pipeline could not get host RAM for one batch of the data set"
    elif failed.shape is not None and failed.kind is RequestKind.HOST:
        at = f" at {failed.source}" if failed.source else ""
        because = f"Python requested an array {tensor_text(moment)}{at}"
        if joins_outputs(failed):
            because = (
                f"predict joins the outputs of all batches into one array {tensor_text(moment)}, beside"
                " the parts, which are as large together"
            )
        if remedies.has_a_wrong_size(moment.request):
            because += ": no machine has so much, so a size is wrong"
        if is_small(failed):
            because += ": so small an array fails only where RAM is full already"
        if letters := characters(failed):
            because += f": NumPy gives each text room for {letters:,} characters, the longest one's"
    elif failed.kind is RequestKind.HOST and pinned:
        size = f" {human_size(failed.size)}" if failed.size else " memory"
        because = f"the GPU's driver could not pin{size} of it for copies to and from the GPU"
        if driver_at_fault(moment):
            because = (
                "its error is not that of a lack of memory, and so little has room anywhere: most likely"
                " the driver or the GPU's context is in a bad state (an error above, a sleep of the"
                " machine), or the GPU is full"
            )
        because += asks_for_less(case, moment)
        if grows := case.capture.surroundings.shows("growing in words"):
            because += f"; {grows.place} says that RAM grows"
        if (shown := contrasted(case)) and grows:
            because += f": most likely {shown.what}"
        if free := case.capture.surroundings.shows("enough RAM in words"):
            because += (
                f"; {free.place} says that RAM was free, so most likely what may be pinned has a limit of"
                " its own (WSL, a container, locked memory)"
            )
    elif senseless := without_sense(case, moment):
        because = why_without_sense(senseless)
    elif refused_a_server(case, moment):
        because = "it was full, or a size came out wrong; the message states no amount"
    elif failed.kind is RequestKind.HOST:
        because = f"a request of {human_size(failed.size)} was refused" if failed.size else last_large(case)
        made = made_by_a_line(failed, case.capture.surroundings) if MEMORY_ERROR.search(said) else None
        if made and not failed.size:
            because = f"one array of {made.named} numbers was to be made{made.words}"
        if (frame := reads_one_sample(failed)) and not failed.size:
            because += f"; one sample was being read (`{frame.name}`)"
        if evaluated := case.capture.surroundings.evaluating:
            because = f"it was in an evaluation ({evaluated.place}), beside what the training holds"
        grows = case.capture.surroundings.shows("growing in words")
        if grows and not (failed.size or made or frame or evaluated) and not is_of_a_restore(grows):
            because += f"; {grows.place} says that it grows: a larger limit only delays the end"
    return because


def _ruled_out(case: Case, moment: Moment) -> tuple[str, ...]:
    """Advice for another cause than the one that is said."""
    if moment.request and is_pool_of_jax(moment.request.failed):
        return _IN_PARTS
    if moment.request and compiler_of(moment.request.failed):
        return (*_IN_PARTS, "map-the-file", "smaller-prediction-batch", "smaller-evaluation-batch")
    return _BY_STEPS if was_killed(moment) and rise_with(case) else ()


_IN_PARTS = ("in-blocks", "in-pieces", "smaller-batch", "reduce-parts")
_BY_STEPS = ("compare-shapes", "what-runs-then", "keep-numbers", "find-the-growth")
"""Advice for what grows from step to step."""
_NEW_CODE = regex(
    r"JIT session error|LLVM compilation error|releaseMappedMemory failed|Failed to materialize symbols"
)
"""Words of LLVM where it gets no memory for the code of a program that it just compiled for the CPU."""
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


def _explained(request: Request, of_host: bool) -> int | None:
    """The request, where it surely was one of host RAM."""
    if of_host:
        return request.failed.tensor_bytes
    return request.needed_bytes if is_pool_of_jax(request.failed) else None


def _all_remedies(case: Case, moment: Moment, pinned: bool, said: str) -> Iterator[Remedy]:
    of_jax = moment.request is not None and is_pool_of_jax(moment.request.failed)
    if of_jax and not refused_by_the_driver(case):
        yield MORE_PINNED
    elif of_jax:
        yield from remedies_of_pinned(case)
    elif moment.request and is_pool_of_tensorflow(moment):
        yield from remedies_of_the_pool(moment)
    elif pinned and driver_at_fault(moment):
        yield from OF_THE_DRIVER
    elif pinned:
        yield from remedies_of_pinned(case)
    else:
        yield from _remedies(case, moment, said)
        if _is_the_last_drop(case, moment):
            yield find_what_grows(case, of_host=True)


def _is_the_last_drop(case: Case, moment: Moment) -> bool:
    """Whether so small a tensor failed on a CPU, after steps went well, that its RAM was full before."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.TENSOR or moment.balance.in_use:
        return False
    went = case.capture.surroundings.progress_before(failed.line)
    return went is not None and is_last_drop(failed.tensor_bytes)


def _why(case: Case) -> str:
    """What most likely filled it: buffers that the quoted pipeline has, or what grows, where it went well
    for a while.
    """
    told = case.capture.surroundings
    line = next((line for line in told.code if len(buffers_shown((line,))) > 1), None)
    if line is not None:
        return f"; most likely what {line.place} lets wait: {', '.join(buffers_shown((line,)))}"
    if late := told.shows("failing late") or told.shows("growing in words"):
        return f"; it went well for a while ({late.place}), so most likely what the loader keeps grows"
    return ""


_JAVA_CALLS = regex(r"\.runner\(\)|\bTensors?\.create\(|\.(?:tensor|scalar|vector)Of\(")


def _calls_java(case: Case) -> bool:
    """Whether the text quotes Java that makes tensors: nothing but its own calls of close frees them."""
    program = case.capture.surroundings.setting("program")
    return program is not None and program[0] == "Java" and bool(_JAVA_CALLS.search(program[1].text))


_LOADER_WORKERS = "fewer-loader-workers"
_NO_WORKERS = regex(r"\bnum_workers\s?=\s?0\b")


def _fewer_loader_workers(case: Case) -> Remedy:
    """Of PyTorch's DataLoader, whose worker was ended."""
    several = case.capture.surroundings.shows("several cores")
    times = f", and each of the processes ({several.place}) starts as many" if several else ""
    return Remedy(
        f"let fewer workers load data: each holds a copy of what the data set keeps and the batches that it"
        f" has ready{times}. With none an error of the data set itself is shown; in a container its shared"
        " memory (/dev/shm) may be what is too small",
        "DataLoader(data, num_workers=0)   # then 1, 2; in Docker: --shm-size=8g",
        slug=_LOADER_WORKERS,
    )


def _remedies(case: Case, moment: Moment, said: str) -> Iterator[Remedy]:
    assert moment.request
    failed = moment.request.failed
    if _NEW_CODE.search(said):
        yield from _FEWER_PROGRAMS
        return
    if remedies.has_a_wrong_size(moment.request):
        yield remedies.WRONG_SIZE
        return
    if without_sense(case, moment):
        yield from of_libraries(case)
        return
    if compiler_of(failed):
        yield from less_ram_to_compile()
        return
    if refused_within_jax(case, failed):
        yield from within_jax(case)
        return
    if bug := no_lack(case, moment):
        yield bug.remedy
        return
    if ram := _of_a_tool(case, moment):
        yield from ram.remedies
        if was_killed(moment) and not surely_for_memory(moment):
            yield KERNEL_LOG
        return
    if _client_that_died(case, failed):
        yield from _OF_A_CLIENT
        return
    if was_killed(moment) and case.capture.surroundings.shows("building an image"):
        yield from _of_a_build(case, said)
        return
    if listed := logged(failed):
        yield listed.remedy
    elif kept := experiences(case, moment):
        yield kept.remedy
        if kept.shown:
            return
    serving = situation(case, moment).program == "TensorFlow Serving"
    if serving and case.capture.surroundings.shows("reloading models"):
        yield ROOM_FOR_TWO
    elif serving:
        yield from room_for_cuda(case, moment)
        yield from bounded_queue(case)
        yield from _of_a_server(case)
    if was_killed(moment) and shared_with_the_gpu(case):
        yield from beside_the_pool(case)
    grows = case.capture.surroundings.shows("growing in words")
    unexplained, fallback = False, None
    of_array = failed.kind is RequestKind.HOST and (failed.shape is not None or MEMORY_ERROR.search(said))
    if of_array and not is_small(failed) and (grid := of_a_grid(failed)):
        yield grid
        return
    if of_array:
        if (
            failed.dtype == "float64"
            and failed.tensor_bytes
            and not is_small(failed)
            and not joins_outputs(failed)
        ):
            fills = FILLS.search(failed.source_text or "")
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
        yield from of_an_array(case, failed)
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
        yield FEWER_FORKS
    elif "Out of host memory" in said:
        yield MORE_PINNED
    elif waits_for_another(moment):
        yield WAIT_FOR_EACH_CALL
    elif grows and ("bad_alloc" in said or "Errno 12]" in said):
        yield from of_growth(case)
    else:
        unexplained = not grows and _no_gpu_shown(case, moment, said)
        fallback = _fallback(case) if unexplained else None
        if fallback:
            yield fallback
    evaluated = case.capture.surroundings.evaluating if failed.kind is RequestKind.HOST else None
    if evaluated:
        yield _EVALUATE_APART
    if large := one_large(case, moment):
        yield of_one_large(large)
    if was_killed(moment) and not another_program(moment):
        if rises := rise_with(case):
            yield from rises.remedies(case)
            return
        if left_by_each_save(case):
            yield from of_each_save()
            return
        if being_folded(case, moment):
            yield AS_ARGUMENT
            return
        if being_resumed(case, moment):
            yield from INTO_SHAPES
            return
        known = [
            each
            for shown in (of_its_data(case), in_the_code(case, moment))
            if shown
            for each in shown.remedies
        ]
        alone = any(_NO_WORKERS.search(line.text) for line in code_lines(case.capture.surroundings))
        if "DataLoader worker" in said and not alone and _LOADER_WORKERS not in [each.slug for each in known]:
            yield _fewer_loader_workers(case)
        if shown := of_its_data(case):
            yield from shown.remedies
    stage = makes_the_model(case, moment)
    if stage:
        yield _room_for_the_model(stage)
    in_code = in_the_code(case, moment)
    if in_code:
        yield from in_code.remedies
    if was_killed(moment) and not another_program(moment) and (filling := being_filled(case, moment)):
        yield from _less_to_shuffle(case, filling[1]) if "shuffle" in filling[0] else (WITHOUT_CACHE,)
    on_board = board(case) if was_killed(moment) or "bad_alloc" in said else None
    if on_board:
        yield from what_helps(on_board[0], _converts_for_tensorrt(case))
    large_images = case.capture.surroundings.shows("large images")
    if was_killed(moment) and large_images and _ENDS.search(large_images.text):
        yield _IN_TILES
    if other := another_program(moment):
        yield Remedy(
            f"give {other.partition(' ')[0]} a smaller heap or cache, or a machine of its own; or the machine"
            " more RAM",
            slug="room-for-others",
        )
    if "available RAM" in said and only_infers(case):
        yield _LARGER_RUNTIME
    in_a_notebook = "available RAM" in said and framework_of(case) == TENSORFLOW
    if in_a_notebook:
        yield data_in_parts(case)
    loads = was_killed(moment) and not in_a_notebook and loads_samples(case)
    if loads:
        yield data_in_parts(case)
    if was_killed(moment) and case.capture.surroundings.shows("several ranks"):
        if not (surely_for_memory(moment) or told_for_memory(case) or grows):
            yield KERNEL_LOG
        if learns(case):
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
    compiling = being_compiled(case, moment)
    if in_code:
        grows = None  # what grows is said
    elif was_killed(moment) and not (native or compiling) and (grows or late_epoch(case, moment)):
        yield from of_growth(case) if grows else (find_what_grows(case, of_host=True),)
    saving = being_saved(case, moment)
    if saving:
        yield from _less_of_a_save(case)
    if compiling and not surely_for_memory(moment):
        yield KERNEL_LOG
    if compiling:
        yield from less_to_compile(case)
    steps = was_killed(moment) and not (compiling or in_code) and framework_of(case) == TORCH_XLA
    if steps:
        yield from steps_of_torch_xla.remedies(case, grows=bool(grows), of_host=True)
    if OF_ADDRESSES in said:
        yield NO_VIRTUAL_CHECK
    limited = was_killed(moment) and bool(limit or own_limit(moment)) and not another_program(moment)
    at_most = case.capture.surroundings.shows("a limit at its most")
    if limited and at_most and not (grows or native or in_code):
        yield find_what_grows(case, of_host=True)
    elif limited and not (grows or native or in_code) and not any(room_for_cuda(case, moment)):
        yield a_larger_limit(own_limit(moment), limit[0] if limit else None, moment, of_a_pod(case))
    if "for the batch of component" in said:
        yield Remedy(
            "make what a batch holds smaller: fewer samples in it, smaller images, or narrower values (uint8"
            " until the model converts them)",
            slug="smaller-batch",
        )
    of_what = (compiling, steps, saving, in_code, large, evaluated, of_array, serving, loads, sampling)
    unseen = was_killed(moment) and not (any(of_what) or names_a_pipeline(case) or _of_network(moment))
    unseen = unseen and reads_data(case, moment) and situation(case, moment).program not in _NATIVE
    stated = case.capture.surroundings.setting("batch_size")
    if "bad_alloc" in said and stated and int(stated[0]) > 1 and not serving:
        half = int(stated[0]) // 2
        yield Remedy(f"a smaller batch: {stated[0]} -> {half}", slug="smaller-batch")
    if moment.incident and moment.incident.compiler:
        yield from remedies.offered(case, moment, "smaller-batch", "recompute")
    elif was_killed(moment) and (line := large_in_a_step(case)):
        yield Remedy(
            "a smaller batch, or smaller samples: the training step itself asked for this much"
            f" ({line.place})",
            slug="smaller-batch",
        )
        yield from less_in_the_pipeline(case)
    elif sampling and not in_code:
        yield _FEWER_DRAWS
    elif unseen:
        pass  # the limit and who ended it come first, and then what tells the causes apart
    elif (
        not (compiling or steps or saving or in_code or large or evaluated)
        and not ((of_array and not is_small(failed)) or serving or loads or _of_network(moment))
        and reads_data(case, moment)
        and situation(case, moment).program in _NATIVE
    ):
        yield _LESS_IN_A_CALL
    elif (
        not (compiling or steps or saving or in_code or large or evaluated)
        and not ((of_array and not is_small(failed)) or serving or loads or _of_network(moment))
        and reads_data(case, moment)
    ):
        yield from less_in_the_pipeline(case)
    if was_killed(moment) and (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2":
        yield remedies.MORE_FOR_WSL
    elif "Max Memory Used" in said:
        yield _MORE_FOR_A_FUNCTION
    elif "low on resource: memory" in said:
        yield EVICTED
    elif by_the_machine(moment) and not on_board and not another_program(moment):
        yield MORE_RAM
    elif not (limited or on_board or in_a_notebook or _of_network(moment)) and on_windows(case):
        yield MORE_TO_COMMIT
    elif of_a_pod(case) and was_killed(moment) and not (limited or on_board or another_program(moment)):
        yield from (POD_ENDED, ROOM_FOR_THE_POD)
    elif "available RAM" in said and not (limited or in_a_notebook or only_infers(case)):
        yield _LARGER_RUNTIME
    elif "notebook tried to allocate" in said:
        yield _LESS_ON_KAGGLE
    elif not (limited or on_board or in_a_notebook or _of_network(moment)):
        yield Remedy(
            "check the limit of the container or job (cgroup, ulimit -v, Slurm --mem)", slug="container-limit"
        )
    if not (
        of_array
        or evaluated
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
        or reads_data(case, moment)
    ):
        yield from at_a_stage(case)
    if limited and not at_most and (grows or native or in_code):
        larger = a_larger_limit(own_limit(moment), limit[0] if limit else None, moment, of_a_pod(case))
        yield replace(larger, text=f"{larger.text}, which only delays the end where memory grows")
    sure = surely_for_memory(moment) or used_all(moment)
    if was_killed(moment) and not (compiling or sure or of_a_pod(case)):
        yield KERNEL_LOG
    if unseen:
        yield tell(case, HOST)
    if unexplained and not (fallback or on_board):
        yield from _device_seen(case, moment)
    if refused_a_server(case, moment):
        yield OTHER_SERVER
    if serving and case.capture.surroundings.shows("a served call"):
        yield remedies.smaller_requests(case)
    if "bad_alloc" in said and not serving and stage is None:
        yield from _SLABS


def _less_of_a_save(case: Case) -> Iterator[Remedy]:
    """What makes a save hold less of the host's RAM, by what writes it."""
    if framework_of(case) == TORCH_XLA:
        yield SAVED_BY_ONE
    elif saved_by_hand(case):
        yield from WRITTEN_IN_PARTS
    else:
        yield from (BOUND_THE_SAVE, FEWER_SAVED)


def _room_for_the_model(stage: Line) -> Remedy:
    return Remedy(
        f"it ended while the model was made or loaded ({stage.place}), before any batch: see how much RAM and"
        " swap is free before it starts, end other programs, and add swap or take a machine with more RAM",
        "free -h",
        slug="more-ram",
    )


def _client_that_died(case: Case, failed: FailedRequest) -> Line | None:
    """The line that says that it was the client of a server which got no host RAM."""
    said = failed.line.text if failed.line else ""
    serving = situation(case).program == "TensorFlow Serving"
    return case.capture.surroundings.shows("the client died") if serving and "bad_alloc" in said else None


_OF_A_CLIENT = (
    Remedy(
        "look at the client's process: how much RAM it holds as it builds the request, and its limit (cgroup,"
        " ulimit -v); the server's log says whether the request came there at all",
        slug="watch-the-client",
    ),
    Remedy("send fewer examples in a request, several requests for a large batch", slug="smaller-requests"),
)


_COMPILES = regex(r"\b(?:bazel|bazelisk|make|cmake|ninja)\b")


def _of_a_build(case: Case, said: str) -> Iterator[Remedy]:
    """What helps a command of an image's build that was killed."""
    if _COMPILES.search(said):
        yield remedies.FEWER_COMPILERS
    on_wsl = (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2"
    yield _RAM_FOR_A_BUILD_ON_WSL if on_wsl else _RAM_FOR_A_BUILD
    yield KERNEL_LOG


_RAM_FOR_A_BUILD = Remedy(
    "give what builds the image more RAM and swap, and build again (Docker Desktop: Settings > Resources), or"
    " build it on a machine with more; where the command starts several jobs, let it start fewer",
    slug="ram-for-the-build",
)
_RAM_FOR_A_BUILD_ON_WSL = Remedy(
    "give WSL2 more RAM and swap in %UserProfile%\\.wslconfig (it has only a part of the machine's), restart"
    " it and build again, or build the image on a machine with more",
    "[wsl2]\nmemory=24GB\nswap=32GB   # then: wsl --shutdown",
    slug="ram-for-the-build",
)


_LESS_ON_KAGGLE = Remedy(
    "Kaggle's machines have a fixed RAM, and no setting gives a notebook more: hold less at once (files read"
    " in parts, fewer columns and rows, float32 or 16 bits instead of float64, weights loaded in 16 bits),"
    " and delete each step's copies before the next",
    "import gc; del big; gc.collect()   # the session's bar of RAM shows which cell it is",
    slug="results-in-parts",
)
_LARGER_RUNTIME = Remedy(
    "take a runtime with more RAM (Colab: Runtime > Change runtime type > High-RAM, which a paid plan does"
    " not switch on by itself; then disconnect and delete the old one), or a smaller model; and drop each"
    " copy of the weights that is not needed any more, as that in RAM once they are on the device",
    slug="more-ram",
)


def _of_a_server(case: Case) -> Iterator[Remedy]:
    """What helps a server first: smaller requests where much is asked of it at once; the room for the model
    where nothing tells of a request. A single small call says nothing against the requests.
    """
    told = case.capture.surroundings
    if told.shows("many served calls"):
        yield remedies.smaller_requests(case)
    elif not told.shows("a served call"):
        yield _WHILE_IT_LOADS


def _of_a_tool(case: Case, moment: Moment) -> Grower | None:
    """What fills RAM in a well-known program that was killed, or was refused an array of it."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.HOST or is_pinned(failed):
        return None
    return None if another_program(moment) else ram_of_a_tool(case)


_ENDS = regex(r"(?i)\bkill|\bcrash|\bOOM|\bmemory\b")
_IN_TILES = Remedy(
    "go through such large images in tiles, or make them smaller: where the model computes on the CPU,"
    " the maps"
    " of a whole image lie in host RAM, many channels of its size for each layer",
    slug="smaller-input",
)
_WHILE_IT_LOADS = Remedy(
    "see whether it ends before the log says that the server runs: then the model itself finds no room, so"
    " give the container more, or load one model and one version. If it ends at a request, send fewer"
    " examples in each",
    "docker logs SERVER | grep -E 'Successfully loaded|Running gRPC|Exporting HTTP'; docker stats",
    slug="watch-it-load",
)
_OF_SO_MANY = regex(r"\b\d+ of (?P<all>\d+)\b")


def _less_to_shuffle(case: Case, line: Line) -> Iterator[Remedy]:
    """What makes the buffer smaller, with its size where the line tells it; a tool has it in its settings."""
    match = _OF_SO_MANY.search(line.text)
    size = f" than the {match['all']} of {line.place}" if match else ""
    if case.capture.surroundings.shows("using a tool"):
        yield replace(
            SMALLER_QUEUES,
            text=f"set a smaller shuffle buffer{size} in its configuration: so many elements lie in RAM at"
            " once, beside its queues, readers that run side by side and prefetched batches",
        )
        return
    smaller = SMALLER_SHUFFLE.text.replace("a smaller buffer_size", f"a smaller buffer_size{size}", 1)
    yield from (replace(SMALLER_SHUFFLE, text=smaller), SHUFFLE_NAMES)


def _converts_for_tensorrt(case: Case) -> bool:
    """Whether the program makes an engine of TensorRT, as far as a setting or its name tells."""
    told = case.capture.surroundings
    named = (told.shows("ended in words"), told.shows("killed in words"), *told.code)
    return bool(told.setting("max_workspace_size_bytes")) or any(
        _OF_TENSORRT.search(line.text) for line in named if line
    )


_OF_TENSORRT = regex(r"(?i)(?:\b|_)(?:trt|tensorrt)(?:\b|_)")


def _of_native(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """What helps a program in another language against native memory that its own runtime does not count."""
    told, program = case.capture.surroundings, situation(case, moment).program or ""
    heap = (BESIDE_THE_HEAP,) if told.shows("a Java heap") and was_killed(moment) else ()
    if any("newPredictor(" in line.text for line in (*told.code, *code_lines(told))):
        return (PREDICTORS_OF_DJL,)
    grows = told.shows("growing in words") or told.shows("reloading models") or _calls_java(case)
    native = OF_NATIVE.get(program, ())
    if told.shows("reloading models") and was_killed(moment):
        return (*native[1:], *heap, *native[:1])  # what is there twice for a while, before what may stay
    return (*native, *heap) if grows else ()


_CONVERT_IN_PARTS = Remedy(
    "a conversion holds the weights several times (as read, as constants of a graph, as bytes of the result):"
    " take a machine with four times the model's RAM, add swap, or convert a smaller model or its parts",
    "sudo fallocate -l 32G /swap && sudo chmod 600 /swap && sudo mkswap /swap && sudo swapon /swap",
    slug="more-ram",
)
_EVALUATE_APART = Remedy(
    "evaluate in a process of its own, from the checkpoint that was saved last: an Estimator builds another"
    " graph, session and input pipeline for it beside those of the training; or evaluate on less, and more"
    " seldom",
    "--mode=eval   # beside or after --mode=train; tensor2tensor: --schedule=train, then t2t-eval",
    slug="own-process",
)
_NATIVE = ("C++", "C#", "Java")
"""Programs that read no data with tf.data."""
_LESS_IN_A_CALL = Remedy(
    "run fewer or smaller inputs in one call, and fewer calls side by side; free the tensors that a call"
    " returned before the next one",
    slug="smaller-input",
)
_FEWER_DRAWS = Remedy(
    "keep fewer draws (thinning, fewer sites), and go through them in parts when they are transformed or"
    " summed up afterwards: else all chains, draws and sites exist at once",
    slug="fewer-draws",
)


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
        or told.shows("a GPU named")
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
