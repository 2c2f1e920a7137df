"""Host RAM that ran out while a program was compiled: it holds operations then, and no data yet."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex


def compiled_then(case: Case) -> Line | None:
    """Where the text says that it was compiling, or, of a program of XLA's, at a function's first call."""
    told = case.capture.surroundings
    first = told.shows("at its first call") if framework_of(case) in (JAX, TORCH_XLA) else None
    return told.shows("compiling in words") or first


def less_to_compile(case: Case) -> Iterator[Remedy]:
    """Fewer operations in one program."""
    if framework_of(case) == TORCH_XLA:
        yield Remedy(
            "compile less at once: end the graph more often, so that no program holds several steps",
            "xm.mark_step()   # torch_xla.sync() in newer versions",
            slug="mark-step",
        )
    elif framework_of(case) == JAX:
        yield Remedy(
            "let loops of Python within the function (over time steps, layers) be loops of XLA: else each"
            " turn is compiled, again for the gradient, and arrays of several turns may exist at once",
            "state, ys = jax.lax.scan(step, state, xs)   # for: for x in xs: state = step(state, x)",
            slug="roll-loops",
        )
        yield Remedy(
            "count what is compiled, with few steps and with many: if it grows with them, loops are unrolled",
            "print(str(jax.make_jaxpr(jax.grad(f))(x)).count('\\n'))",
            slug="count-operations",
        )


_COMPILES = regex(r"\A(?:backend_compile\w*|_?compile_and_\w+|compile_or_get_cached|_?cached_compilation)\Z")
_CALLS = regex(r"\b(?:backend|client)\.compile(?:_and_load)?\(")


def compiler_of(failed: FailedRequest) -> str:
    """The frame of JAX's that the traceback ends in where host RAM ran out in XLA's compiler, in back quotes;
    empty where it ends elsewhere, and for an array of Python's, which is no compiler's.
    """
    if failed.kind is not RequestKind.HOST or failed.shape is not None:
        return ""
    last = failed.frames[-1] if failed.frames else None
    return f"`{last.name}`" if last and (_COMPILES.match(last.name) or _CALLS.search(last.text)) else ""


_NATIVE = regex(r"\bMemoryError: (?:std::)?bad[ _]alloc")


def refused_within_jax(case: Case, failed: FailedRequest) -> bool:
    """Whether C++ below JAX got no host RAM, as its own words tell: no array of NumPy's has them, so that it
    is in the compiler or in a program that runs on the CPU.
    """
    of_python = failed.kind is not RequestKind.HOST or failed.shape is not None
    if of_python or failed.line is None or framework_of(case) != JAX:
        return False
    return _NATIVE.search(failed.line.text) is not None


def why_within_jax(case: Case, failed: FailedRequest) -> str:
    """Where it was refused, in words."""
    told = case.capture.surroundings.shows("compiling in words")
    then = f"; {told.place} speaks of compiling, so most likely it was XLA's compiler" if told else ""
    here = f" in `{failed.source_text.strip()}`" if failed.source_text else ""
    return f"C++ code below JAX{here} got no more of it (`bad_alloc`), no array of Python's{then}"


def within_jax(case: Case) -> Iterator[Remedy]:
    """Less to compile, and how to tell the compiler from the run."""
    if case.capture.surroundings.shows("compiling in words"):
        yield from less_to_compile(case)
        yield Remedy(
            "jit one step and not the loop over all of them; or only the parts of it that take the time",
            slug="compile-less",
        )
        return
    yield Remedy(
        "tell the compiler from the run: compile it alone, and watch the process's RAM meanwhile",
        "compiled = jax.jit(f).lower(*args).compile()   # fails here: fewer operations; else: less data",
        slug="compile-alone",
    )
    yield from less_to_compile(case)


def compiles_then(failed: FailedRequest | None) -> str:
    """The frame of JAX's compiler that a GPU's request ended in: no step ran then; empty where none is."""
    last = failed.frames[-1] if failed and failed.frames and failed.kind is RequestKind.XLA else None
    return last.name if last and (_COMPILES.match(last.name) or _CALLS.search(last.text)) else ""


WITHOUT_TRIALS = Remedy(
    "if the device is not full before it: let XLA try out no algorithms, which takes memory of its own beside"
    " what is held; the program itself may still be too large then",
    "export XLA_FLAGS=--xla_gpu_autotune_level=0",
    slug="default-algorithm",
)


def less_ram_to_compile() -> Iterator[Remedy]:
    """A larger machine for the compiler, or a smaller program."""
    yield Remedy(
        "compile on a machine with more RAM, or add swap: keep the program with JAX's persistent cache, which"
        " a machine with the same GPU and releases then loads; see how much is taken, and whether a limit of"
        " the job or container (ulimit -v, cgroup) is what is met",
        "jax.config.update('jax_compilation_cache_dir', '/shared/jax_cache')   # watch: free -h -s 5",
        slug="more-ram",
    )
    yield Remedy(
        "or give it a smaller program: a smaller model or coarser grid, loops of XLA (lax.scan) in place of"
        " loops of Python, and large arrays as arguments, since those that a function closes over become"
        " constants that the compiler copies",
        slug="smaller-model",
    )


_CONSTANT = "XLA computes a large constant"


def being_folded(case: Case, moment: Moment) -> Line | None:
    """Where XLA said, before the failure, that it computes a large constant."""
    failed = moment.request.failed.line if moment.request else None
    told = case.capture.surroundings
    lines = [line for what, line in told.startup if _CONSTANT in what]
    lines += [line for what, _, line in told.harmless if _CONSTANT in what]
    return next((line for line in lines if failed and line.number < failed.number), None)
