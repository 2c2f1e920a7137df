"""A compiled program needs its temporary memory in one piece, and there is not enough.

What it means: XLA packs all temporaries of one executable into one arena and asks for it at once. The figure
in the message is that arena, no single tensor. When the compiler says that it could not reduce memory use any
further, no allocator setting helps.
When it fires: the failure is an XLA or TPU program that does not fit.
What to do: make the program smaller: batch, recomputation (`jax.checkpoint`, `tf.recompute_grad`), sharding,
donated buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import device_limit, quote, requests, rows
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import CompilerMemory, RequestKind
from tfmemlens.units import MIB, Size, human, human_size


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        compiler = moment.incident.compiler if moment.incident else None
        if failed.kind not in (RequestKind.XLA, RequestKind.TPU) or compiler is None:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=_headline(case, moment, compiler),
            because=_because(moment, compiler, failed.size),
            bytes=failed.size.bytes if failed.size else None,
            weight=0.4,
            evidence=tuple(_evidence(moment, compiler)),
            detail="The figure covers one executable only: arrays that other code keeps alive come on top.",
            remedies=tuple(_remedies(case, moment, compiler)),
            moment=index,
        )


def _headline(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    assert moment.request
    size = moment.request.failed.size
    limit = device_limit(case, moment)
    if compiler.capacity and compiler.needed:
        space = _on_chip(moment)
        where = f" of {space}, memory on the chip," if space else ""
        return (
            f"the compiled program needs {human_size(compiler.needed)}{where} of"
            f" {human_size(compiler.capacity).removeprefix('about ')}: {_over(compiler)} too much"
        )
    if space := _on_chip(moment):
        name = moment.request.failed.executable
        kernel = f"a kernel ({name})" if name else "a kernel"
        return f"{kernel} does not fit {space}, memory on the chip"
    if compiler.free and size:
        what = (
            f"loading {moment.request.failed.executable}" if moment.request.failed.executable else "a buffer"
        )
        return f"{what} asks for {human_size(size)}, and {human_size(compiler.free)} was free"
    of = f" on a device with {human_size(limit)}" if limit else ""
    return f"one XLA executable asks for {human_size(size) if size else 'its arena'} in one piece{of}"


def _over(compiler: CompilerMemory) -> str:
    """By how much it does not fit, in the compiler's own figure where it gives one."""
    if compiler.excess:
        return human_size(compiler.excess)
    assert compiler.needed and compiler.capacity
    return f"about {human(max(compiler.needed.bytes - compiler.capacity.bytes, 0))}"


def _on_chip(moment: Moment) -> str | None:
    """The name of a TPU core's own small memory, where that ran out rather than HBM."""
    space = moment.request.failed.allocator if moment.request else None
    return space if space in ("vmem", "smem", "cmem", "sflag", "imem") else None


def _because(moment: Moment, compiler: CompilerMemory, size: Size | None) -> str:
    if compiler.reduced_to and compiler.goal:
        return (
            f"even after rematerialisation it needs {human_size(compiler.reduced_to)}, and"
            f" {human_size(compiler.goal)} was the goal, so no allocator flag can help"
        )
    if compiler.capacity and compiler.needed:
        if space := _on_chip(moment):
            return (
                f"a TPU core has {human_size(compiler.capacity)} of {space}, which holds the tiles that a"
                f" kernel works on, {_over(compiler)} too little"
            )
        return f"the device has {human_size(compiler.capacity)}, {_over(compiler)} too little"
    if space := _on_chip(moment):
        return f"the {space} of a TPU core, which holds the tiles that a kernel works on, is too small for it"
    if compiler.free:
        return (
            f"only {human_size(compiler.free)} was free on the device: arrays and programs that are kept"
            " alive hold the rest"
        )
    if size and size.bytes < 256 * MIB:
        return (
            "so small a request fails only where the device is full already: arrays kept alive by earlier"
            " steps or by other code, or another process"
        )
    return "XLA wants all temporaries of the program in one piece"


def _evidence(moment: Moment, compiler: CompilerMemory) -> Iterator[Evidence]:
    assert moment.request
    if moment.request.failed.line:
        yield Evidence("the message", moment.request.failed.line)
    if compiler.reduced_to and compiler.reduced_line:
        was = f" (from {human_size(compiler.reduced_from)})" if compiler.reduced_from else ""
        yield Evidence(
            f"the compiler already reduced it to {human_size(compiler.reduced_to)}{was}",
            compiler.reduced_line,
        )
    for name, size, line in compiler.sections:
        if name in (
            "TensorCore",
            "SparseCore",
            "preallocated temp",
            "HLO temp",
            "parameter",
            "arguments",
            "program",
            "total",
        ):
            yield Evidence(f"{name}: {human_size(size)}", line)
    for row in rows(moment)[:3]:
        yield quote(row)


def _remedies(case: Case, moment: Moment, compiler: CompilerMemory) -> Iterator[Remedy]:
    if space := _on_chip(moment):
        yield Remedy(
            "make the kernel's blocks smaller (Pallas: block shapes, number of buffers), or what it keeps per"
            " sequence: shorter sequences, fewer pages",
            slug="smaller-kernel-blocks",
        )
        if space == "vmem":
            yield Remedy(
                "give kernels more of it, if the core has more",
                "export LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=65536",
                slug="larger-vmem",
            )
        return
    if compiler.free:
        yield Remedy(
            "let go of arrays and programs of earlier steps: drop references to them, or give buffers back",
            "del x; jax.clear_caches()   # x.delete()",
            slug="drop-references",
        )
    yield from remedies.offered(case, moment, "smaller-batch", "recompute")
    yield Remedy(
        "give input buffers back to the program",
        "jax.jit(step, donate_argnums=(0, 1))",
        slug="donate-buffers",
    )
    if not compiler.reduced_to:
        yield Remedy(
            "JAX takes 75 to 90 % of the device at start; the arena must fit into that in one piece",
            "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95",
            slug="larger-pool",
        )
    if not len(moment.attribution.table):
        yield remedies.name_the_buffers()
    yield Remedy(
        "run this step without XLA: each op then has its own tensors, freed one by one, and the error names"
        " the op",
        "model.compile(..., jit_compile=False)   # @tf.function(jit_compile=False)",
        slug="without-xla",
    )
    arguments = compiler.section("parameter") or compiler.section("arguments")
    temporaries = compiler.section("preallocated temp") or compiler.section("HLO temp")
    if arguments and temporaries and arguments.bytes > temporaries.bytes:
        yield Remedy(
            "most of it are the program's arguments (weights, optimizer state): shard them over devices, or"
            " use a lighter optimizer",
            saves_bytes=None,
            slug="shard-arguments",
        )
