"""The message does not say OOM, but it is one.

What it means: a copy to a full GPU ends in `Dst tensor is not initialized`, a kernel launch in `Internal: out
of memory`, the driver in CUDA_ERROR_OUT_OF_MEMORY, an elementwise kernel in `failed to allocate memory`, one
of DirectML's in `OOM when allocating a buffer`. None of these carries the list of tensors.
When it fires: the failure is one of these.
What to do: treat it as an OOM. Look at what else runs on the device, then at the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.first_streams_refused import first_stream
from tfmemlens.findings.support import (
    beside_the_pool,
    code_snippets,
    device_users,
    own_gpu,
    part_for_jax,
    remedies,
)
from tfmemlens.findings.support.beside_the_pool import CODE, GRAPHS, KERNEL
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.driver import of_context
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_ram.gone import lost_device
from tfmemlens.findings.support.named_sizes import stated_length
from tfmemlens.findings.support.other_programs import less_on_the_device
from tfmemlens.findings.support.part_for_jax import Part
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import batch_that_runs, full_device
from tfmemlens.findings.support.rows import failures, is_constant_of_graph, tensor_text
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_name,
    framework_of,
    situation,
)
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import PYTORCH_ALONE, DeviceUse, SoftWarning, Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, human_size
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "no bytes: it says what the message means"
GENERAL = True

_ENDED = "ended with code 0"
_SMALL_BYTES = 256 * MIB
"""A request that a device has room for, unless it is full."""
_MEANING = {
    RequestKind.COPY: "the device was full when a tensor was to be copied to it",
    RequestKind.DRIVER: "the driver had no memory left to give",
}


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request and moment.incident
        failed = moment.request.failed
        meaning = _meaning(case, moment, failed)
        if meaning is None or of_context(moment) or first_stream(case, moment) or lost_device(case, moment):
            continue  # the rules of a device that was only being made, or is gone, tell of it
        if case.capture.surroundings.shows(PYTORCH_ALONE):
            continue
        of_pool = failed.kind is RequestKind.DRIVER and failed.size is not None
        size = f" ({human_size(failed.size)} asked)" if failed.size else ""
        if failed.shape is not None and not is_constant_of_graph(failed):
            size = f" ({tensor_text(moment)})"
        full = _filled_by_itself(case, _own_pool(case, moment)) or _of_ranks(case, failed)
        full = (
            full
            or _of_page_cache(case, failed)
            or _of_jax(case, moment, failed)
            or _piled_up(case, moment)
            or _beside_warnings(case, moment)
            or _of_labels(case, failed)
        )
        alone = "" if full else _open_end(case, moment)
        yield Finding(
            severity=Severity.CAUSE,
            headline=alone or f"an out-of-memory error in disguise: {meaning}{size}{full}",
            because=alone or f"{meaning}{size}, an out-of-memory error in disguise{full}",
            evidence=(Evidence("the message", failed.line),),
            detail=_of_pool(moment) if of_pool else "",
            remedies=() if _ENDED in alone else tuple(_remedies(case, moment, of_pool)),
            moment=index,
        )


def _one_hot_labels(case: Case, failed: FailedRequest) -> Line | None:
    """The line that makes rows of labels for all samples at once, where fit is given them and a copy of
    unknown size failed.
    """
    if failed.kind is not RequestKind.COPY or failed.shape or failed.size:
        return None
    lines = code_lines(case.capture.surroundings)
    for line in lines:
        made = _CATEGORICAL.search(line.text)
        given = (
            name for each in lines for fit in _FIT.finditer(each.text) for name in _NAMES.findall(fit[0])
        )
        if made and made["name"] in given:
            return line
    return None


_CATEGORICAL = regex(r"\b(?P<name>[A-Za-z_]\w{0,40})\s*=\s*(?:\w+\.){0,3}to_categorical\(")
_FIT, _NAMES = regex(r"\.fit\([^#]*"), regex(r"\w+")


def _of_labels(case: Case, failed: FailedRequest) -> str:
    line = _one_hot_labels(case, failed)
    if line is None:
        return ""
    return (
        f"; most likely it is the one-hot labels of all samples ({line.place}), a number for each class and"
        " sample, which fit copies whole before its first batch"
    )


_INTEGER_LABELS = Remedy(
    "leave the labels as integers, and take the sparse loss: one number for each sample",
    "model.compile(loss='sparse_categorical_crossentropy', ...)   # without to_categorical",
    slug="sparse-labels",
)


def _meaning(case: Case, moment: Moment, failed: FailedRequest) -> str | None:
    """What the message means; None for one that says itself what it is. Two kernels' messages name neither
    tensor nor allocator.
    """
    if _of_directml(failed):
        return "a kernel of DirectML got no memory for a buffer of its own"
    if _of_nccl(failed):
        if line := case.capture.surroundings.shows("jax: buffers of collectives"):
            return f"{_of_collectives(line)}, which lie outside {framework_name(case)}'s pool"
        where = f"for its buffers, which lie outside {framework_name(case)}'s pool"
        if failed.line and "may be unrelated" in failed.line.text:
            unsure = " (its last note may be of another failure)"
            return f"most likely NCCL got no memory {where}{unsure}"
        return f"NCCL got no memory {where}"
    if _of_constant(failed) and failed.size and failed.size.bytes < _SMALL_BYTES:
        return (
            "so small a constant of a compiled program finds no room only where the device is full already,"
            " by this process or by another"
        )
    if _of_constant(failed):
        return "a value that the compiled program holds as a constant found no room on the device"
    if is_constant_of_graph(failed):
        return "most likely a constant or a first value in the graph found no room on its device"
    if failed.kind is RequestKind.TENSOR:
        return (
            "an elementwise kernel got no memory for its output"
            if failed.line and "failed to allocate memory" in failed.line.text
            else None
        )
    if refused := beside_the_pool.refused(case, moment):
        return refused
    return _beside_room(case, failed) or _on_a_board(case, failed) or _MEANING.get(failed.kind)


def _on_a_board(case: Case, failed: FailedRequest) -> str:
    """What the driver's refusal means where GPU and CPU have one RAM."""
    where = board(case) if failed.kind is RequestKind.DRIVER else None
    if where is None:
        return ""
    at = f" ({where[1].place})" if where[1] else ""
    return (
        f"the driver had no memory left to give (GPU and CPU share the RAM of this {where[0]}{at}, of which"
        " programs and cached files hold a part)"
    )


_ROOM = 0.8
"""Share of the pool that is in use at most, where its room is worth naming."""


def _beside_room(case: Case, failed: FailedRequest) -> str:
    """What a refused copy means where the map of the pool shows that much of it is free."""
    if failed.kind is not RequestKind.COPY or failed.shape is not None or failed.size:
        return ""
    states = (moment.incident.state for moment in case.moments if moment.incident and moment.request)
    used = next((state.occupied for state in states if state.occupied is not None), None)
    if used is None or used > _ROOM:
        return ""
    return (
        f"a tensor to be copied to the device found no room, although only about {round(100 * used)} % of the"
        " pool was in use: most likely it is larger than the rest, as a whole array is"
    )


def _of_page_cache(case: Case, failed: FailedRequest) -> str:
    """That what files left in RAM is named, where the driver had nothing: one memory may serve both."""
    line = case.capture.surroundings.shows("page cache") if failed.kind is RequestKind.DRIVER else None
    if line is None:
        return ""
    return f"; {line.place} names the page cache: where CPU and GPU share one memory, it counts as taken"


_DROP_IT = Remedy(
    "let go of the page cache before the program starts, and read large files past it (direct I/O) meanwhile",
    "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; free -h",
    slug="drop-the-cache",
)


def _piled_up(case: Case, moment: Moment) -> str:
    """Why there is no room for a program's code: many programs, where it went well before or the text's own
    code makes them.
    """
    if beside_the_pool.wanted(case, moment) != CODE or not _pile_up(case):
        return ""
    line = _went_well(case)
    before = f"it went well before ({line.place}), so " if line else ""
    return (
        f"; {before}most likely programs that are compiled anew in each turn pile up beside JAX's pool: each"
        " new jitted function, lambda or method of a new object is another one"
    )


def _pile_up(case: Case) -> bool:
    return _went_well(case) is not None or next(_made_anew(case), None) is not None


def _went_well(case: Case) -> Line | None:
    return next(filter(None, map(case.capture.surroundings.shows, _WELL_BEFORE)), None)


def _made_anew(case: Case) -> Iterator[Grower]:
    if not case.capture.surroundings.program():
        return
    from tfmemlens.findings.support.made_anew import growers  # reads trees

    yield from growers(case)


_WELL_BEFORE = (
    "many runs before",
    "failing late",
    "growing in words",
    "again at each model",
    "again at each trial",
)


def _of_collectives(line: Line) -> str:
    """Of how much, where the line says it."""
    size = _COLLECTIVE.search(line.text)
    much = f" of {human(int(size['size']))}" if size else ""
    return f"NCCL got no memory for buffers{much} of collective operations ({line.place})"


_COLLECTIVE = regex(r"collective of size: (?P<size>\d{1,15})")


def _of_directml(failed: FailedRequest) -> bool:
    return failed.line is not None and "OOM when allocating a buffer" in failed.line.text


def _of_constant(failed: FailedRequest) -> bool:
    return failed.line is not None and "for new constant" in failed.line.text


def _of_nccl(failed: FailedRequest) -> bool:
    """NCCL makes buffers for each pair of devices, with the driver, when a communicator starts."""
    return failed.kind is RequestKind.DRIVER and failed.line is not None and "NCCL" in failed.line.text


def _of_pool(moment: Moment) -> str:
    times = moment.incident.occurrences if moment.incident else 1
    again = f", here {times} times," if times > 1 else ""
    return (
        f"This is TensorFlow's pool asking the driver for a region, no tensor. It asks{again} for 90 % of the"
        " size after each refusal and goes on with what it gets: by itself such a line ends no run. Who"
        " holds the rest of the device is the question."
    )


def _own_pool(case: Case, moment: Moment) -> DeviceUse | None:
    """A device that `nvidia-smi` shows full, and nobody there but the program: its own pool took it."""
    told = case.capture.surroundings
    grows = told.setting("allow_growth")
    failed = moment.request.failed if moment.request else None
    if framework_of(case) != TENSORFLOW or failed is None or failed.kind is not RequestKind.DRIVER:
        return None
    if (grows and grows[0] == "True") or device_users.strangers(case, moment) or _has_several(case):
        return None
    return full_device(case)


def _filled_by_itself(case: Case, use: DeviceUse | None) -> str:
    """Who most likely filled a device of which a table shows hardly anything left."""
    if use is None or use.used is None or use.total is None:
        return ""
    full = f"; {use.line.place} shows {human(use.used.bytes)} of {human(use.total.bytes)} in use"
    if several := case.capture.surroundings.shows("side by side"):
        return f"{full}, most likely by what the text runs on it side by side ({several.place})"
    return f"{full}, most likely by TensorFlow's own pool, which takes nearly all of a GPU at its start"


def _of_ranks(case: Case, failed: FailedRequest) -> str:
    """What ranks or worker processes have to do with it, where the driver itself had nothing left."""
    if suspended := _suspended(case, failed):
        return f"; most likely the program that is suspended ({suspended.place}) still holds the GPU"
    if (line := _workers(case)) and failed.kind is RequestKind.DRIVER:
        return (
            f"; most likely the worker processes ({line.place}) ask for it: each starts a TensorFlow of its"
            " own as soon as it computes something, and the training holds nearly all of the GPU"
        )
    return own_gpu.why(case) if failed.kind is RequestKind.DRIVER and not _of_nccl(failed) else ""


def _suspended(case: Case, failed: FailedRequest) -> Line | None:
    """The line that tells of a program that was suspended, which keeps what it has of the GPU."""
    line = case.capture.surroundings.shows("suspended")
    return line if failed.kind is RequestKind.DRIVER and not _of_nccl(failed) else None


_END_THE_SUSPENDED = Remedy(
    "a program that is suspended keeps its GPU memory: end it (it goes on from its last checkpoint later),"
    " or let this one compute on the CPU meanwhile",
    "kill %1   # or: CUDA_VISIBLE_DEVICES=-1 python evaluate.py",
    slug="end-the-suspended",
)


def _taken_by_jax(case: Case, failed: FailedRequest) -> Part | None:
    """A part of the GPU that leaves the driver hardly any, which JAX is told to take at once."""
    told = case.capture.surroundings
    part, at_once = part_for_jax.stated(told), told.setting("XLA_PYTHON_CLIENT_PREALLOCATE")
    of_driver = failed.kind is RequestKind.DRIVER and not _of_nccl(failed)
    if part is None or framework_of(case) != JAX or not of_driver or part.above_all:
        return None
    in_vain = _fraction_in_vain(case) or (at_once and at_once[0] == "False")
    return None if in_vain or part.value < _NEARLY_ALL else part


_NEARLY_ALL = 0.85


def _of_jax(case: Case, moment: Moment, failed: FailedRequest) -> str:
    """That JAX is told to take nearly all of the GPU, where the text states it."""
    part = _taken_by_jax(case, failed)
    if part is None:
        return ""
    anew = " of each new length or shape" if beside_the_pool.wanted(case, moment) == GRAPHS else ""
    return (
        f"; most likely since JAX is told to take {part.words} at its start ({part.line.place}): compiled"
        f" programs{anew}, their code and graphs of launches lie outside its pool"
    )


_OF_WORKERS = regex(r"(?i)\bworkers?\b|\.predict\(|__getitem__")


def _workers(case: Case) -> Line | None:
    """The line that starts processes which read data, where the text says that these fail or compute."""
    told = case.capture.surroundings
    line = told.shows("worker processes")
    if line is None or framework_of(case) != TENSORFLOW:
        return None
    return line if _OF_WORKERS.search(line.text) or _reads_with_tensorflow(told) else None


def _reads_with_tensorflow(told: Surroundings) -> bool:
    """Whether a generator of the quoted code computes with TensorFlow, and so each worker that runs it."""
    if not told.program():
        return False
    from tfmemlens.findings.support.whole_arrays import generators_that_compute  # reads trees

    return any(True for _ in generators_that_compute(told.program()))


_THREADS = Remedy(
    "read with threads, or keep TensorFlow out of what the workers run: compute features once before the"
    " training, or in the model; else hide the GPU from the workers",
    "model.fit(data, workers=4, use_multiprocessing=False)",
    slug="fewer-workers",
)


def _has_several(case: Case) -> bool:
    """Whether a table lists more than one process on a device."""
    return any(len(use.processes) > 1 for use in case.capture.surroundings.device_uses)


_OF_COLLECTIVES = (
    Remedy(
        "let collectives take their buffers from JAX's pool instead of NCCL's memory beside it",
        "export XLA_FLAGS=--xla_gpu_enable_nccl_user_buffers=false   # compare XLA_FLAGS with the run that"
        " worked",
        slug="collectives-in-the-pool",
    ),
    Remedy(
        "or let fewer parameters be gathered by one operation: XLA joins all-gathers up to a size",
        "export XLA_FLAGS=--xla_gpu_all_gather_combine_threshold_bytes=134217728",
        slug="smaller-collectives",
    ),
)


def _fraction_in_vain(case: Case) -> bool:
    """Whether the text says that other parts of the GPU for JAX made no difference."""
    line = case.capture.surroundings.shows("jax: a setting in vain")
    return line is not None and "MEM_FRACTION" in line.text


def _smaller_fraction(case: Case, who: str = "NCCL") -> Remedy:
    """A smaller part of the GPU for JAX: NCCL and the driver take their own from what is left."""
    part = part_for_jax.stated(case.capture.surroundings)
    now = f"it is told to take {part.words} now" if part else "it takes 75 % unless told otherwise"
    smaller = _HALF if part is None and who != "NCCL" else part_for_jax.below(part)
    return Remedy(
        f"leave {who} room: let JAX take a smaller part of each GPU at start ({now})",
        f"export XLA_PYTHON_CLIENT_MEM_FRACTION={smaller}",
        slug="smaller-fraction",
    )


_HALF = ".50"
"""On a small GPU a twentieth of it is less than code and graphs of one program."""


def _remedies(case: Case, moment: Moment, of_pool: bool) -> Iterator[Remedy]:
    assert moment.request
    small = moment.request.failed.size and moment.request.failed.size.bytes < _SMALL_BYTES
    if _of_constant(moment.request.failed) and not small:
        yield Remedy(
            "pass large arrays to the compiled function as arguments: one that it merely uses from outside"
            " becomes a constant of the program",
            slug="pass-as-argument",
        )
        return
    if is_constant_of_graph(moment.request.failed):
        yield Remedy(
            "a smaller batch does not help: make this tensor smaller, or keep it out of the graph (feed a"
            " data set, or read it with tf.data)",
            slug="data-out-of-the-graph",
        )
        return
    if _of_page_cache(case, moment.request.failed):
        yield _DROP_IT
    if _one_hot_labels(case, moment.request.failed):
        yield _INTEGER_LABELS
    of_directml = _of_directml(moment.request.failed)
    if _of_nccl(moment.request.failed) and framework_of(case) == JAX:
        collective = case.capture.surroundings.shows("jax: buffers of collectives") is not None
        if collective:
            yield from _OF_COLLECTIVES
        if not _fraction_in_vain(case):
            yield _smaller_fraction(case)
        if collective:
            yield from remedies.offered(case, moment, "smaller-batch")
            return
    if case.capture.surroundings.shows("converting a model"):
        yield Remedy(
            "a model is converted without a GPU: save it, and convert it in a process of its own that sees"
            " none (a notebook keeps what its kernel holds of the GPU until that ends)",
            "CUDA_VISIBLE_DEVICES=-1 python convert.py",
            slug="convert-on-the-cpu",
        )
    if _suspended(case, moment.request.failed):
        yield _END_THE_SUSPENDED
    if _workers(case) and moment.request.failed.kind is RequestKind.DRIVER:
        yield _THREADS
        return
    if _own_pool(case, moment):
        yield from _of_own_pool(case)
        return
    if _of_nccl(moment.request.failed) and framework_of(case) == TENSORFLOW:
        yield from (each for each in _of_own_pool(case, of_nccl=True) if each.slug != "fewer-processes")
        yield Remedy(
            "see whether another process holds one of the devices", "nvidia-smi", slug="see-device-users"
        )
        return
    if framework_of(case) == JAX and (clears := _clears_backends(case)):
        yield Remedy(
            f"leave `clear_backends()` out ({clears.place}): the backend that is made next asks for a pool of"
            " its own, and the earlier one is not given back. To free arrays delete them, or begin a process",
            "del a; jax.clear_caches()   # arrays and programs; the pool stays, and is used again",
            slug="without-clearing",
        )
    if of_directml and _is_filled(moment):
        yield _OF_DIRECTML
        return
    if beside_the_pool.wanted(case, moment) == CODE and _pile_up(case):
        made = next(_made_anew(case), None)
        yield from made.remedies if made else _FEWER_PROGRAMS
        yield from _room_for_the_driver(case)
        return
    if beside_the_pool.wanted(case, moment) or _taken_by_jax(case, moment.request.failed):
        yield from _of_the_driver(case, moment)
        return
    shared = bool(_of_ranks(case, moment.request.failed)) and not _suspended(case, moment.request.failed)
    if shared:
        yield from own_gpu.one_for_each(case)
    in_a_step = moment.request.failed.kind is RequestKind.TENSOR and remedies.in_a_network(moment)
    users = Remedy(
        f"{'' if in_a_step or shared else 'first '}see whether another process holds the device",
        None if of_directml else "nvidia-smi",
        slug="see-device-users",
    )
    given = _given(moment.request)
    if in_a_step and not shared and _NOTEBOOK.match(moment.request.failed.source or ""):
        users = _of_earlier_cells(given)
    on_board = of_pool is False and board(case) is not None
    helps = None if shared else case.capture.surroundings.shows("a smaller batch helps")
    if helps:
        yield batch_that_runs(helps)
    elif not shared:
        yield from less_on_the_device(case, situation(case, moment).program)
    if on_board:
        users = replace(users, text="see which programs hold the RAM that the GPU shares")
    elif not in_a_step:
        yield users
    elif length := stated_length(case.capture.surroundings):
        yield remedies.shorter(length)
    of_model = moment.request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT)
    if of_model and moment.request.failed.shape is not None:
        yield Remedy(
            "this is a constant or a weight's first value, so a smaller batch does not help here: make this"
            " layer or other layers smaller",
            slug="smaller-model",
        )
    elif not (of_pool or helps) and not _of_nccl(moment.request.failed):
        yield from remedies.offered(case, moment, "smaller-batch")
    if in_a_step and _in_float32(given) < _MUCH:
        yield users
    if of_model and _copied_in_training(moment):
        yield _SMALLER_STEP
    elif not (of_directml or of_model) and _of_full_pool(case, moment):
        yield _LESS_AT_ONCE
    elif not (of_directml or helps):
        yield Remedy(
            f"let {framework_name(case)} grow its pool instead of taking all at start, so that the driver"
            f" and other libraries find memory{_BY_PJRT if framework_of(case) == TORCH_XLA else ''}",
            code_snippets.growth(case.api),
            slug="growth",
        )
    if on_board:
        yield users


_BY_PJRT = " (PJRT_ALLOCATOR_PREALLOCATE=false; the variables of JAX's client are not read)"


_NOTEBOOK = regex(r"(?:the )?[Cc]ell\b|In ?\[|<ipython-input|/content/|/kaggle/|/tmp/ipykernel_")
_FLOAT_BYTES, _LITTLE, _MUCH = 4, 512 * MIB, 4096 * MIB


def _of_earlier_cells(given: tuple[int | None, ...]) -> Remedy:
    """A notebook's kernel keeps what its cells made; a small input says that it was full before."""
    size = _in_float32(given)
    little = f": {format_shape(given)} is only {human(size)} in float32" if 0 < size < _LITTLE else ""
    return Remedy(
        "restart the kernel, and run only the cells that this one needs: models and tensors of earlier cells"
        f" stay in the pool until then{little}; nvidia-smi shows other processes",
        "nvidia-smi",
        slug="see-device-users",
    )


def _given(request: Request) -> tuple[int | None, ...]:
    """The largest shape that the failing layer was called with; empty where none is told."""
    shapes = [each.shape for each in request.failed.arguments if each.shape and all(each.shape)]
    return max(shapes, key=_in_float32, default=())


def _in_float32(shape: tuple[int | None, ...]) -> int:
    return _FLOAT_BYTES * math.prod(side or 1 for side in shape) if shape else 0


def _of_the_driver(case: Case, moment: Moment) -> Iterator[Remedy]:
    """Room beside the pool, and less that has to lie there."""
    wanted = beside_the_pool.wanted(case, moment)
    graphs = (beside_the_pool.fewer_graphs(case, moment),) if wanted == GRAPHS else ()
    if beside_the_pool.alive(moment):
        yield from graphs
    yield from _room_for_the_driver(case)
    if not beside_the_pool.alive(moment):
        yield from graphs
    yield Remedy("see whether another process holds the device", "nvidia-smi", slug="see-device-users")
    if wanted in (CODE, KERNEL):
        yield beside_the_pool.LESS_CODE


def _room_for_the_driver(case: Case) -> Iterator[Remedy]:
    """A smaller part for JAX; not where other parts made no difference."""
    told = case.capture.surroundings
    if _fraction_in_vain(case):
        return
    grows = told.setting("XLA_PYTHON_CLIENT_PREALLOCATE")
    if grows and grows[0] == "False" and part_for_jax.stated(told) is None:
        yield Remedy(
            "leave the driver room: a pool that grows may come to 75 % of the GPU unless a smaller part is"
            f" set ({grows[1].place})",
            f"export {part_for_jax.VARIABLE}=.60",
            slug="smaller-fraction",
        )
        return
    yield _smaller_fraction(case, "the driver")


_FEWER_PROGRAMS = (
    Remedy(
        "compile once: jit functions of the module, above the loop, and give them weights and all that"
        " changes as arguments, instead of functions that each new object or turn makes and jits. Lines of"
        " this log after the first turns say what is compiled anew",
        "jax.config.update('jax_log_compiles', True)",
        slug="compile-once",
    ),
    Remedy(
        "or drop what was compiled now and then, or do each part of the work in a process of its own, which"
        " frees it all; a smaller pool for JAX only lets more of them fit",
        "del model; jax.clear_caches()   # every hundred turns",
        slug="start-anew",
    ),
)
_FILLED = 0.9
_OF_DIRECTML = Remedy(
    "this process itself fills its pool: if it trains, take a smaller batch; else smaller inputs (images,"
    " sequences), fewer at a time, or a smaller model",
    slug="smaller-input",
)


def _is_filled(moment: Moment) -> bool:
    """Whether the process's own tensors fill the limit of its pool."""
    books = moment.balance
    return bool(books.in_use and books.limit and books.in_use.bytes >= _FILLED * books.limit.bytes)


def _copied_in_training(moment: Moment) -> bool:
    """Whether a weight that is read found no room in a step of Keras's training: the step filled the device,
    and that from its pool, which a pool that grows leaves as full.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.COPY or failed.shape is not None:
        return False
    return any(frame.name in _TRAINS for frame in failed.frames)


_TRAINS = frozenset({"fit", "fit_generator", "train_on_batch"})
_SMALLER_STEP = Remedy(
    "then train with a smaller batch, or smaller inputs: the weight that found no room is small as a rule,"
    " and what a step makes of its batch fills the device",
    slug="smaller-batch",
)
_LESS_AT_ONCE = Remedy(
    "give it less at once: fewer or smaller images (rows, sequences), or in smaller parts",
    slug="smaller-input",
)


def _refused(case: Case, moment: Moment) -> SoftWarning | None:
    """The smallest request that a full pool refused with a warning, beside a driver without more."""
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    of_driver = failed is not None and failed.kind is RequestKind.DRIVER and failed.size is not None
    if not of_driver or framework_of(case) != TENSORFLOW:
        return None
    small = [each for each in told.soft_warnings if each.size.bytes <= _SMALL_BYTES]
    return min(small, key=lambda each: each.size.bytes, default=None)


def _beside_warnings(case: Case, moment: Moment) -> str:
    """What warnings of a pool that goes on say of it, and that they are all where nothing tells of an end."""
    least = _refused(case, moment)
    if least is None:
        return ""
    full = f"; the pool is full: {human_size(least.size)} found no room ({least.line.place})"
    if _tells_an_end(case):
        return full
    return f"{full}, by its own words no failure; whether the run ended, and how, is not in this text"


def _tells_an_end(case: Case) -> bool:
    """Whether the text says in any way that a run ended."""
    told = case.capture.surroundings
    ended = (told.raised, told.crash, told.kernel_died, told.ends, any(map(told.shows, _ENDS)))
    return any(ended) or len(case.moments) > 1


def _ended_in_the_title(case: Case) -> Line | None:
    """The title that says that the run ended, where no other line of the text does."""
    told = case.capture.surroundings
    said = told.shows("ended in words")
    others = (told.raised, told.crash, told.kernel_died, told.ends, *map(told.shows, _ENDS[1:]))
    return said if said and said.number == 1 and not any(others) and len(case.moments) == 1 else None


def _open_end(case: Case, moment: Moment) -> str:
    """What a region means that the driver refused the pool, where nothing says that a run ended."""
    failed = moment.request.failed if moment.request else None
    asked = failed.size if failed and failed.kind is RequestKind.DRIVER else None
    of_region = failed is not None and failed.line is not None and _OF_A_REGION in failed.line.text
    title = _ended_in_the_title(case)
    if asked is None or not of_region or framework_of(case) not in (TENSORFLOW, JAX):
        return ""
    if title is None and _tells_an_end(case):
        return ""
    lines = moment.incident.tellings if moment.incident else ()
    sizes = [int(match["bytes"]) for line in lines if (match := _REFUSED_BYTES.search(line.text))]
    if min([asked.bytes, *sizes]) <= _SMALL_BYTES:
        return ""  # so little that the device is full
    if (well := _ended_well(case, moment)) and title is None:
        return (
            f"the driver refused the pool a region of {human_size(asked)}; that is no failure: the program"
            f" went on with what it had, and {_ENDED} ({well.place})"
        )
    end = "whether one ended, and how, is not in this text"
    if title:
        end = f"{title.place} tells of an end, and its message is not in this text"
    return (
        f"the driver refused the pool a region of {human_size(asked)}; less is asked for then, so by itself"
        f" this line ends no run: {end}"
    )


def _ended_well(case: Case, moment: Moment) -> Line | None:
    """The line behind the message that says that the program ended without an error."""
    told, lines = case.capture.surroundings, moment.incident.tellings if moment.incident else ()
    well = told.shows(_ENDED)
    return well if well and not any(line.number > well.number for line in lines) else None


_OF_A_REGION = "from device"
_REFUSED_BYTES = regex(r"\((?P<bytes>\d{1,18}) bytes\) from device")
_ENDS = ("ended in words", "killed in words", "raising an exception", "hanging in words")


def _of_full_pool(case: Case, moment: Moment) -> bool:
    """Whether TensorFlow's own pool was asked and is full, which a pool that grows is as well."""
    assert moment.request
    if _refused(case, moment):
        return True
    of_pool = moment.request.failed.kind in (RequestKind.TENSOR, RequestKind.COPY)
    return of_pool and framework_of(case) == TENSORFLOW


def _of_own_pool(case: Case, *, of_nccl: bool = False) -> Iterator[Remedy]:
    """Leave some of the device to the driver, to NCCL and to other processes of the program."""
    helps = case.capture.surroundings.shows("growth helps")
    known = f" (with that it works, by {helps.place})" if helps else ""
    yield Remedy(
        "let TensorFlow grow its pool in every process, from its very start, so that the driver"
        f"{' and NCCL find' if of_nccl else ' finds'} memory{known}",
        code_snippets.growth(case.api),
        slug="growth",
    )
    yield Remedy(
        "or give the pool a limit below the whole GPU",
        code_snippets.limit(case.api),
        slug="smaller-fraction",
    )
    yield Remedy(
        "start one process for each GPU of a machine; where several must share one, their limits together"
        " have to stay below it: each takes some hundred MiB beside its pool",
        slug="fewer-processes",
    )


_CLEARS_BACKENDS = regex(r"\A\s*[\w.]*\bclear_backends\(\)\s*(?:#.*)?\Z")


def _clears_backends(case: Case) -> Line | None:
    """The line of code that lets JAX forget its devices, whose pools stay with the process."""
    code = code_lines(case.capture.surroundings)
    return next((line for line in code if _CLEARS_BACKENDS.search(line.text)), None)
