"""Most of the device was not available to this process at all.

What it means: another process (a forgotten notebook, a second training, the display, a second rank on the
same GPU) or a setting holds the device, and TensorFlow's pool is only what was left. The model itself may
well fit.
When it fires: TensorFlow logged little free memory at start; or its limit is a small part of the device; or
the driver refused allocations while the pool was nearly empty; or the pool holds almost nothing, as its
figures or the map at the end of the dump show, while a small request fails; or an `nvidia-smi` table in the
log lists others with a tenth of the device or more.
What to do: look at `nvidia-smi`, end the other process, pin each rank to its own GPU, check
`per_process_gpu_memory_fraction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfmemlens.findings import processes_on_one_device
from tfmemlens.findings.support import code_snippets, device_users, of_tensorboard, own_gpu, remedies
from tfmemlens.findings.support.board import RASPBERRY_PI, board, what_helps
from tfmemlens.findings.support.libraries import of_handle
from tfmemlens.findings.support.many_alike import piled_up
from tfmemlens.findings.support.rows import device_limit, failures, on_host
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.knowledge.gpu_memory import least_bytes, shares_ram
from tfmemlens.model.capture import DeviceInfo
from tfmemlens.model.case import Case, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human, human_size, percent

BASIS = Basis.MEASURED
EXPLAINS = "what TensorFlow could not get of the device"

_OF_THE_PROGRAM = (
    "smaller-batch",
    "recompute",
    "donate-buffers",
    "in-pieces",
    "smaller-evaluation-batch",
    "smaller-prediction-batch",
    "larger-pool",
    "mixed-precision",
    "smaller-model",
    "smaller-vocabulary",
    "narrower-layer",
    "pool-first",
)
"""What makes a program smaller, which is not to blame where nothing of the pool was in use."""
_OF_THE_POOL = (RequestKind.TENSOR, RequestKind.DUMP, RequestKind.XLA)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if on_host(moment):
            continue
        proof = list(_proof(case, moment))
        if not proof:
            continue
        _, first = proof[0]
        shared = board(case)
        shared = shared if shared and shared[0] != RASPBERRY_PI else None
        also = (
            f" (CPU and GPU of this board, {shared[0]}, share its RAM)" if shared else _of_failed_ranks(case)
        )
        also += of_tensorboard.told(case, moment)
        yield Finding(
            severity=Severity.CAUSE,
            headline=first.fact[:1].upper() + first.fact[1:] + also,
            because=first.fact + also,
            explains=max(size for size, _ in proof) or None,
            evidence=tuple(evidence for _, evidence in proof),
            remedies=_what_helps(case, moment, shared[0] if shared else None),
            moment=index,
            rules_out=_OF_THE_PROGRAM
            if _is_empty(moment) or device_users.hold_nearly_all(case, moment) or any(_hidden(case))
            else (),
        )


def _what_helps(case: Case, moment: Moment, shared: str | None) -> tuple[Remedy, ...]:
    """What helps against others on the device; TensorBoard needs none, and of a board CPU and GPU share the
    RAM.
    """
    if of_tensorboard.told(case, moment):
        return (of_tensorboard.HIDE_IT, of_tensorboard.FOR_THE_TRAINING)
    if shared:
        return _on_a_board(case, moment, shared)
    return (
        *((_FIND_IT,) if any(_hidden(case)) else ()),
        *_hide(case),
        *_pin(case),
        *_end(case, moment),
        *(() if any(_of_other_ranks(case)) else (_SEE_USERS,)),
        *_each_its_own(case),
        Remedy(
            f"let {framework_name(case)} take memory as needed: this lowers no need, but leaves room"
            " for the other process",
            code_snippets.of_a_server(case.api, part=False)
            if processes_on_one_device.in_a_cluster(case)
            else code_snippets.growth(case.api),
            slug="growth",
        ),
    )


_SEE_USERS = Remedy(
    "see who holds the device, and end what you do not need (a notebook keeps its GPU memory until its kernel"
    " stops)",
    "nvidia-smi",
    slug="see-device-users",
)


def _on_a_board(case: Case, moment: Moment, name: str) -> tuple[Remedy, ...]:
    """Where one RAM is the CPU's and the GPU's no other GPU and no smaller pool gives more of it."""
    free, *others = what_helps(name)
    return (free, *remedies.offered(case, moment, "smaller-input"), *others)


def _hide(case: Case) -> Iterator[Remedy]:
    """Keep TensorFlow, which only reads data here, off the GPU that JAX needs."""
    if _of_tensorflow(case):
        yield Remedy(
            "hide the GPUs from TensorFlow before it reads the first element: JAX's programs use it for input"
            " data only",
            "tf.config.set_visible_devices([], 'GPU')   # before tfds.load and tf.data",
            slug="tensorflow-off-the-gpu",
        )


_CONFIG = regex(r"\b(?:ConfigProto|GPUOptions|RunConfig|Session)\(")
_PINNED = regex(r"visible_device_list|set_visible_devices|CUDA_VISIBLE_DEVICES")


def _of_other_ranks(case: Case) -> Iterator[tuple[int, Evidence]]:
    """Ranks of one machine that opened the same card, where one of them got little of it."""
    told = case.capture.surroundings
    got = [(device.limit.bytes, rank, device) for rank, device in told.on_one_device if device.limit]
    if len(got) < 2:
        return
    least, rank, device = min(got, key=lambda each: each[0])
    each_all = min(got)[0] > 0.5 * max(got)[0]
    card = least_bytes(device.model)
    if each_all and (card is None or least < _MOST_OF_A_CARD * card or not any(map(of_handle, case.moments))):
        return  # cards of several machines have the same bus, too
    ranks = ", ".join(each for each, _ in told.on_one_device[:8])
    code = next((line for line in told.code if _CONFIG.search(line.text)), None)
    unpinned = code is not None and not any(_PINNED.search(line.text) for line in told.code)
    why = f"; {code.place} makes the session without visible_device_list" if code and unpinned else ""
    outcome = f"and rank {rank} got only {human(least)} of it"
    if each_all:
        outcome = f"and each is to take {human(least)} of it, of which the driver can give only one"
    yield (
        least if each_all else max(got)[0] - least,
        Evidence(
            f"{len(told.on_one_device)} ranks ({ranks}) opened the same GPU, pci bus id"
            f" {device.bus}, {outcome}{why}",
            device.line,
        ),
    )


_MOST_OF_A_CARD = 0.75
"""A part of a card that two processes cannot have."""


def _hidden(case: Case) -> Iterator[tuple[int, Evidence]]:
    """Memory of a GPU that is in use by a table without processes, while nothing runs, as the text says."""
    told = case.capture.surroundings
    idle = told.shows("full while nothing runs")
    for use in told.device_uses if idle else ():
        if use.used and use.total and not use.processes and use.used.bytes >= _MUCH * use.total.bytes:
            yield (
                use.used.bytes,
                Evidence(
                    f"{human(use.used.bytes)} of the GPU's {human(use.total.bytes)} are in use by a process"
                    " that nvidia-smi does not list",
                    use.line,
                ),
            )


_MUCH = 0.3
_FIND_IT = Remedy(
    "find the process that nvidia-smi does not list, and end it: one in a container, of another user, or left"
    " by a run that was stopped; where none is found, only a restart of the machine gives it back",
    "sudo fuser -v /dev/nvidia*   # then: kill PID",
    slug="end-the-process",
)


def _of_one_gpu_among_many(case: Case) -> Iterator[tuple[int, Evidence]]:
    """Several ranks and several GPUs, of which `nvidia-smi` shows one full and the others next to empty."""
    told = case.capture.surroundings
    uses = [use for use in told.device_uses if use.used and use.total and use.total.bytes]
    if len(uses) < 2 or told.shows("several ranks") is None:
        return
    shares = [use.used.bytes / use.total.bytes for use in uses if use.used and use.total]
    full = [use for use, share in zip(uses, shares, strict=True) if share >= _FULL]
    if len(full) != 1 or sum(share < _EMPTY for share in shares) != len(uses) - 1:
        return
    yield (
        full[0].used.bytes if full[0].used else 0,
        Evidence(
            f"nvidia-smi shows GPU {full[0].device} full and the {len(uses) - 1} others next to empty: all"
            " ranks compute on the same one",
            full[0].line,
        ),
    )


_FULL, _EMPTY = 0.85, 0.1


def _each_its_own(case: Case) -> Iterator[Remedy]:
    models = [device.model or "" for device in case.capture.surroundings.devices]
    if device_users.lists_one_alone(case) or (len(models) == 1 and _OF_A_LAPTOP.search(models[0])):
        return
    if not (any(_of_other_ranks(case)) or any(_of_one_gpu_among_many(case))) and len(_failed_ranks(case)) < 2:
        yield Remedy(
            f"with several processes, give each its own GPU before {framework_name(case)} starts;"
            f" inside, each"
            " calls its device number 0",
            "export CUDA_VISIBLE_DEVICES=$LOCAL_RANK   # or hvd.local_rank(), OMPI_COMM_WORLD_LOCAL_RANK,"
            " SLURM_LOCALID",
            slug="one-device-each",
        )


_OF_A_LAPTOP = regex(r"Laptop|Mobile|Max-Q")
"""In the name of a GPU that has no other beside it."""


def _failed_ranks(case: Case) -> list[str]:
    """The processes of one run that failed, by what stands before their lines."""
    told = (moment.incident.ranks for moment in case.moments if moment.incident)
    return list(dict.fromkeys(rank for ranks in told for rank in ranks))


def _of_failed_ranks(case: Case) -> str:
    """What several failing ranks add: each calls its GPU number 0, whether it is its own or not."""
    ranks = _failed_ranks(case)
    if len(ranks) < 2 or any(_of_other_ranks(case)):
        return ""
    return f"; {len(ranks)} ranks failed ({', '.join(ranks[:4])}), so most likely they share a GPU"


def _pin(case: Case) -> Iterator[Remedy]:
    """Give each rank a card of its own, where several opened one, or several failed."""
    several = any(_of_other_ranks(case)) or any(_of_one_gpu_among_many(case))
    if several or len(_failed_ranks(case)) > 1:
        yield own_gpu.pin(case)


def _of_tensorflow(case: Case) -> list[tuple[int, Evidence]]:
    """GPUs that TensorFlow made for itself in a program of JAX's."""
    grows = case.capture.surroundings.setting("allow_growth")
    if framework_of(case) != JAX or (grows and grows[0] == "True"):
        return []
    return [
        (
            device.limit.bytes,
            Evidence(
                f"TensorFlow, in the same process, made the GPU its own with {human(device.limit.bytes)}, and"
                " JAX gets what is left",
                device.line,
            ),
        )
        for device in case.capture.surroundings.devices
        if device.limit and device.limit.bytes and "GPU" in device.name.upper()
    ]


def _end(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What to do about processes that `nvidia-smi` named."""
    named, spare = device_users.to_end(case, moment), device_users.spare(case, moment)
    if spare and spare.used and spare.total:
        yield Remedy(
            f"run on GPU {spare.device}, which is nearly empty: {human(spare.used.bytes)} of"
            f" {human(spare.total.bytes)} in use",
            f"export CUDA_VISIBLE_DEVICES={spare.device}",
            slug="another-gpu",
        )
    if named:
        pids = " ".join(str(process.pid) for process in named)
        yield Remedy(
            f"end what holds the device, if it is yours and no longer needed: pid {pids.replace(' ', ', ')}",
            f"kill {pids}",
            slug="end-the-process",
        )
        if not spare and not device_users.lists_all(case, moment):
            yield Remedy(
                "or run on another GPU", "export CUDA_VISIBLE_DEVICES=1   # its number", slug="another-gpu"
            )


def _proof(case: Case, moment: Moment) -> Iterator[tuple[int, Evidence]]:
    """What shows that others hold the device, each with the bytes that TensorFlow could not get."""
    settings = {name: value for name, value, _ in case.capture.surroundings.settings}
    yield from _of_other_ranks(case)
    yield from _of_one_gpu_among_many(case)
    yield from _hidden(case)
    if shared := _of_tensorflow(case):
        yield from shared
        return
    devices = _of_the_failure(case, moment)
    for device in devices:
        if device.limit and not device.limit.bytes:
            yield (
                device.total.bytes if device.total else 0,
                Evidence(
                    "TensorFlow got no memory of the device at all: `memory_limit` is 0, or others hold it",
                    device.line,
                ),
            )
        if device.total and device.free and device.free.bytes < 0.6 * device.total.bytes:
            yield (
                device.total.bytes - device.free.bytes,
                Evidence(
                    f"only {human_size(device.free)} of the device's {human_size(device.total)} were free"
                    " when TensorFlow started",
                    device.line,
                ),
            )
        elif device.total and (evidence := _small_share(device, settings)):
            yield evidence
    incident, books = moment.incident, moment.balance
    limit = device_limit(case, moment)
    need = moment.request.needed_bytes if moment.request else None
    if (
        incident
        and books.in_use
        and limit
        and books.in_use.bytes < 0.05 * limit.bytes
        and need is not None
        and need < 0.5 * limit.bytes
    ):
        yield (
            limit.bytes - books.in_use.bytes,
            Evidence(
                f"only {human_size(books.in_use)} ({percent(books.in_use.bytes, limit.bytes)}) of the"
                f" {human_size(limit)} limit was in use: the device itself had no more to give",
                incident.state.line_of("in_use"),
            ),
        )
    elif incident and (empty := _is_empty_pool(case, incident, moment)):
        yield empty
    elif (
        books.limit
        and books.limit.bytes < GIB
        and "memory_limit" not in settings
        and (moment.request and "GPU" in (moment.request.failed.allocator or ""))
        and board(case) is None
        and not (piled_up(moment) and case.api.front_end is not FrontEnd.SESSION)
    ):
        yield (
            books.limit.bytes,
            Evidence(
                f"TensorFlow's limit on this GPU is only {human_size(books.limit)}: others had the rest"
                " before it started, or the program sets that limit",
                incident.state.line_of("limit") if incident else None,
            ),
        )
    of_pool = moment.request is not None and moment.request.failed.kind in _OF_THE_POOL
    if incident and books.pool and books.limit and books.refused and of_pool:
        yield (
            books.limit.bytes - books.pool.bytes,
            Evidence(
                f"TensorFlow's pool of {human_size(books.pool)} was refused its next region although"
                f" {human_size(books.limit)} is its limit: the device itself had no more to give",
                incident.state.line_of("pool") or incident.state.line_of("limit"),
            ),
        )
    if incident and incident.driver_failures:
        size, line = min(incident.driver_failures, key=lambda failure: failure[0].bytes)
        pool = books.pool or books.in_use
        if pool and limit and pool.bytes + size.bytes < 0.8 * limit.bytes:
            yield (
                limit.bytes - pool.bytes,
                Evidence(
                    f"the driver refused {human_size(size)} although TensorFlow's pool held only"
                    f" {human_size(pool)} of its {human_size(limit)} limit",
                    line,
                ),
            )
    yield from device_users.others(case, moment)
    whole = _as_a_library_says(case) if len(devices) == 1 else None
    for device in devices:
        if device.total is None and (evidence := _small_share(device, settings, whole)):
            yield evidence


_NUMBERED = regex(r"(?i)gpu:\d{1,3}\Z")


def _of_the_failure(case: Case, moment: Moment) -> tuple[DeviceInfo, ...]:
    """The GPU on which it failed, where the message and the log name it; else all."""
    devices = case.capture.surroundings.devices
    failed = _NUMBERED.search((moment.request.failed.device or "") if moment.request else "")
    if failed is None:
        return devices
    its = tuple(
        device
        for device in devices
        if (named := _NUMBERED.search(device.name)) and named[0].lower() == failed[0].lower()
    )
    return its or devices


def _is_empty(moment: Moment) -> bool:
    """Whether the map at the dump's end shows next to nothing of the pool in use."""
    occupied = moment.incident.state.occupied if moment.incident else None
    if occupied is None and moment.incident:
        used, whole = _of_the_chunks(moment.incident)
        occupied = used / whole if whole else None
    return occupied is not None and occupied <= _NEXT_TO_NOTHING


def _of_the_chunks(incident: Incident) -> tuple[int, int]:
    """Bytes in use and of all regions, where a dump lists each chunk of regions whose sizes it states."""
    chunks = incident.chunks
    if chunks is None or not chunks.regions or sum(chunks.size_bytes) != sum(chunks.regions):
        return 0, 0
    pairs = zip(chunks.size_bytes, chunks.in_use, strict=True)
    return sum(size for size, used in pairs if used), sum(chunks.regions)


_NEXT_TO_NOTHING = 0.05
"""Of the pool, by a map of a hundred cells."""
_LEAST_DEVICE = 3 * GIB
"""What every pool of a whole GPU has that these frameworks are used on."""


def _is_empty_pool(case: Case, incident: Incident, moment: Moment) -> tuple[int, Evidence] | None:
    """Next to nothing of the pool was in use, as the map at the dump's end shows, and a request that any
    whole GPU has room for did not fit: so the pool never got the GPU.

    A pool that grows takes regions of twice the size each time, so the longest free stretch of the map may
    go over several of which the largest is half: the request was larger than that.
    """
    failed, line = incident.request, incident.state.line_of("occupied")
    need = failed.size.bytes if failed.size else None
    limit = device_limit(case, moment)
    if not _is_empty(moment) or need is None or failed.kind not in _OF_THE_POOL:
        return None
    most = round(2 * need / (incident.state.free_run or 1)) if incident.state.occupied else need
    used, whole = _of_the_chunks(incident)
    if line is None and whole:
        if (
            need <= whole
            or "GPU" not in (failed.allocator or "GPU")
            or whole > _LEAST_DEVICE
            or (limit and whole > 0.5 * limit.bytes)
        ):
            return None
        return need, Evidence(
            f"the whole pool has {human(whole)}, of which {human(used)} were in use, and {human(need)} did"
            " not fit: others held the GPU when it was made, or a setting limits it",
            failed.line,
        )
    if "GPU" not in (failed.allocator or "GPU") or most > (0.5 * limit.bytes if limit else _LEAST_DEVICE):
        return None
    share = "next to nothing" if incident.state.occupied else "nothing"
    size = f"than about {human(most)}" if incident.state.occupied else "than that"
    return need, Evidence(
        f"{share} of the pool was in use, and {human(need)} still did not fit: the pool is smaller {size},"
        " because others held the GPU when it was made, or a setting limits it",
        line,
    )


_ALL_OF_IT = regex(r"(?P<free>\d{1,14}) bytes free, (?P<total>\d{9,14}) bytes total")


def _as_a_library_says(case: Case) -> tuple[int, str] | None:
    """The memory of the GPU, by the line in which cuDNN or cuBLAS could not start, and what was free then."""
    line = case.capture.surroundings.shows("memory free beside a library")
    match = _ALL_OF_IT.search(line.text) if line else None
    if line is None or match is None:
        return None
    return int(match["total"]), f"; {human(int(match['free']))} was free in the end ({line.place})"


_OF_NO_GPU = 256 * MIB
"""No GPU of its own memory that TensorFlow runs on has so little."""


def _small_share(
    device: DeviceInfo, settings: Mapping[str, str], stated: tuple[int, str] | None = None
) -> tuple[int, Evidence] | None:
    """TensorFlow got little of the device when it made it: less than 70 % of what the log says that it has,
    less than 40 % of what another line or the GPU's name says, or next to nothing of one whose size is not
    known, and no setting says so.
    """
    if device.limit is None or "per_process_gpu_memory_fraction" in settings or "memory_limit" in settings:
        return None
    if shares_ram(device.model):
        return None
    known = stated[0] if stated else least_bytes(device.model) or 0
    whole = device.total.bytes if device.total else known
    got = device.limit.bytes
    if not whole and device.model and 0 < got < _OF_NO_GPU:
        return got, Evidence(
            f"TensorFlow got only {human(got)} of this GPU ({device.model}): the rest was taken before it"
            " started",
            device.line,
        )
    part = _PART_OF_KNOWN if device.total else _PART_BY_NAME
    if not 0 < got < part * whole:
        return None
    limits = ", unless the program sets a limit" if got >= _PART_BY_NAME * whole else ""
    has = human(whole) if device.total or stated else f"{whole // GIB} GiB or more"
    name, free = f" ({device.model})" if device.model else "", stated[1] if stated else ""
    return whole - got, Evidence(
        f"TensorFlow got only {human(got)} of this GPU's {has}{name}: the rest was taken before it"
        f" started{free}{limits}",
        device.line,
    )


_PART_OF_KNOWN, _PART_BY_NAME = 0.7, 0.4
"""Of a GPU that nobody else uses TensorFlow gets nine tenths."""
