"""TensorFlow takes nearly all of a GPU when it starts, which is no failure.

What it means: unless told otherwise TensorFlow reserves nearly all memory of every GPU that it sees, and
deals it out itself. `nvidia-smi` shows what is reserved, the same for a large model and for none.
When it fires: the text says that all of a GPU's memory is taken, or more than expected, or just the part that
JAX takes by itself, and quotes no failure; or of the same GPU nearly all was free at one start, and hardly
any at a later one.
What to do: let the pool grow, or give it a limit, where others need the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, pool_of_jax
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation
from tfmemlens.knowledge.gpu_memory import least_bytes
from tfmemlens.model.capture import DeviceInfo, DeviceUse, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

BASIS = Basis.NAME
_OF_JAX = (
    "no failure is quoted: JAX reserves 75 % of a GPU at its first computation (projects often set 90 %),"
    " whatever the program needs, and deals it out itself; an import may compute already"
)
_LOOK_AT_JAX = Remedy(
    "to see what it really uses, or where others need the rest, let JAX take memory as needed, or a smaller"
    " part (XLA_PYTHON_CLIENT_MEM_FRACTION=.3), before it is imported",
    "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
    slug="see-real-use",
)
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if pool := pool_of_jax.told_of_the_pool(case):
        yield _of_jax(told, pool)
        return
    if server := by_a_server(case):
        yield _of_a_server(server)
        return
    if imported := at_import(case):
        yield _at_import(case, imported)
        return
    if starts := before_and_after(case):
        yield _of_two_starts(*starts)
        return
    line = told.shows("taking the whole GPU")
    if case.moments or told.foreign or told.elsewhere or told.without_figures:
        return
    if told.shows("running short") or told.shows("growing in words"):
        return
    no_pool = told.shows("without a GPU") or pool_of_jax.takes_as_needed(told)
    no_pool = no_pool if framework_of(case) == JAX else None
    if line is None and (more := told.shows("more than expected")) and not no_pool:
        yield _more_than_expected(case, more)
    if line is None or framework_of(case) != TENSORFLOW or told.shows("a GPU unused"):
        return
    serving = situation(case).program == "TensorFlow Serving"
    what = (
        "no failure: TensorFlow reserves nearly all of a GPU's memory when it starts, whatever the model"
        " needs, so what nvidia-smi shows is not what the model uses"
    )
    grow = Remedy(
        "where other programs need the rest: let the server take memory as needed (the variable"
        " TF_FORCE_GPU_ALLOW_GROWTH=true), or a part of it (its flag"
        " --per_process_gpu_memory_fraction=0.3)"
        if serving
        else "where other programs need the rest: let TensorFlow take memory as needed",
        None if serving else code_snippets.growth(case.api),
        slug="growth",
    )
    yield _no_failure(what, line, grow)


def at_import(case: Case) -> Line | None:
    """The line that says that a GPU is filled as soon as something is imported, where nothing fails."""
    told = case.capture.surroundings
    line = told.shows("filled at import")
    if line is None or case.moments or told.foreign or told.elsewhere or told.without_figures or told.raised:
        return None
    if any(map(told.shows, ("growing in words", "killed in words", "ended in words", "host RAM in words"))):
        return None
    if not (told.shows("GPU memory named") or told.shows("a GPU named") or told.named_devices):
        return None
    short = told.shows("running short")
    return None if short and (short.number != line.number or pool_of_jax.FAILING.search(short.text)) else line


_OF_A_GPU = regex(r"(?<![\w.])(?P<size>\d{1,3}(?:\.\d{1,2})?) ?(?:GB|GiB|G)\b")
_PARTS = ((0.70, 0.80, "75 % of it, as JAX takes"), (0.85, 1.0, "nearly all of it, as TensorFlow takes"))
"""What a framework takes of a GPU at its start, by the part that is taken."""


def _at_import(case: Case, line: Line) -> Finding:
    """Of an import that fills a GPU: what is imported makes an array, and the framework takes its pool."""
    known = "JAX takes 75 % of a GPU (projects often set 90 %), TensorFlow nearly all of it,"
    what = (
        f"no failure is told: {_whose(case) or known} when the first array is made, whatever the program"
        f" needs, and an import may make one already ({line.place})"
    )
    look = Remedy(
        "to see what is really needed, or where others need the rest, let it take memory as needed: set this"
        " before the program starts",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false TF_FORCE_GPU_ALLOW_GROWTH=true",
        slug="growth",
    )
    return _no_failure(what, line, look)


def _whose(case: Case) -> str:
    """`60 GB of a GPU with 80 are 75 % of it, as JAX takes`, where the text states both."""
    told = case.capture.surroundings
    named = ("filled at import", "GPU memory named", "a GPU named", "asked: normal")
    for each in filter(None, map(told.shows, named)):
        whole = least_bytes(each.text)
        for match in _OF_A_GPU.finditer(each.text) if whole else ():
            part = float(match["size"]) * GIB / (whole or 1)
            says = next((says for low, high, says in _PARTS if low <= part <= high), None)
            if says:
                return f"{match[0]} of this GPU are {says}"
    return ""


def by_a_server(case: Case) -> DeviceUse | None:
    """A GPU that a table shows nearly full beside TensorFlow Serving, where the text tells of other servers
    or programs that find no room there, or asks why, and no message of a failure stands there.
    """
    told = case.capture.surroundings
    if case.moments or situation(case).program != "TensorFlow Serving" or told.foreign or told.elsewhere:
        return None
    if told.setting("per_process_gpu_memory_fraction") or told.setting("allow_growth"):
        return None
    short = told.shows("running short")
    if told.shows("growing in words") or told.shows("host RAM in words"):
        return None
    if short and not _STARTS.search(short.text):
        return None  # it ran out while it served
    uses = [use for use in told.device_uses if use.used and use.total and use.total.bytes]
    return next(
        (use for use in uses if use.used and use.total and use.used.bytes >= _NEARLY_ALL * use.total.bytes),
        None,
    )


def before_and_after(case: Case) -> tuple[DeviceInfo, DeviceInfo] | None:
    """A GPU of which nearly all is free at one start of TensorFlow, and next to nothing at a later one, where
    the text quotes no failure. Two GPUs that are told of in one start have names of their own.
    """
    told = case.capture.surroundings
    if case.moments or told.foreign or told.elsewhere or told.raised:
        return None
    if told.shows("growing in words") or told.shows("several GPUs named"):
        return None
    known = [each for each in told.devices if each.total and each.total.bytes and each.free and each.line]
    for first, later in itertools.pairwise(known):
        if first.total != later.total or (first.bus or later.bus or later.model):
            continue
        if _part_free(first) >= _NEARLY_ALL and _part_free(later) <= 1 - _NEARLY_ALL:
            return first, later
    return None


_GROWTH_IN_SESSIONS = (
    "config = tf.ConfigProto(); config.gpu_options.allow_growth = True\n"
    "keras.backend.set_session(tf.Session(config=config))   # before load_model"
)
"""Lines of free memory at the start are TensorFlow 1's."""


def _part_free(device: DeviceInfo) -> float:
    return device.free.bytes / device.total.bytes if device.free and device.total else 0


def _of_two_starts(first: DeviceInfo, later: DeviceInfo) -> Finding:
    """What the first process took by itself, whatever its model needs."""
    assert first.free and first.total and later.free and first.line and later.line
    what = (
        f"{human(first.free.bytes)} of {human(first.total.bytes)} are free at the first start"
        f" ({first.line.place}), and {human(later.free.bytes)} at a later one ({later.line.place}): most"
        " likely TensorFlow's own pool, which takes nearly all of a GPU in each process, however small the"
        " model, and leaves a second process nothing"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("free at first", first.line), Evidence("free later", later.line)),
        remedies=(
            Remedy(
                "let each process take memory as needed, before it loads its model; or give each a part of"
                " the GPU (per_process_gpu_memory_fraction=0.4)",
                _GROWTH_IN_SESSIONS,
                slug="growth",
            ),
            Remedy(
                "or load all models in one process (one session in TensorFlow 1): they share its pool",
                slug="one-process-for-all",
            ),
        ),
    )


_STARTS = regex(
    r"(?i)\b(?:start|launch|boot|load)\w*|\bcome up\b|\b(?:second|third|other|another|two|three|several|more)"
    r" (?:\w+ ){0,3}(?:containers?|servers?|instances?|pods?|replicas?|models?)\b"
)
_NEARLY_ALL = 0.85


def _of_a_server(use: DeviceUse) -> Finding:
    """What a server takes by itself, whatever its models need, and how several share a GPU."""
    shows = f"{human(use.used.bytes)} of {human(use.total.bytes)}" if use.used and use.total else "the GPU"
    what = (
        f"no failure of the model: TensorFlow Serving reserves nearly all of a GPU at its start unless told"
        f" otherwise ({use.line.place}: {shows}), whatever its models need, so a second server on this GPU"
        f" finds"
        " nothing"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what is in use", use.line),),
        remedies=(
            Remedy(
                "give each server its part of the GPU, the parts of all together below 1 (flags stand behind"
                " the image of `docker run`)",
                "tensorflow_model_server ... --per_process_gpu_memory_fraction=0.3",
                slug="part-of-a-server",
            ),
            Remedy(
                "or let it take memory as needed: it keeps what it took, and nothing bounds it then",
                "docker run -e TF_FORCE_GPU_ALLOW_GROWTH=true ...",
                slug="growth-at-first",
            ),
            Remedy(
                "or let one server hold all models: they share its pool",
                "tensorflow_model_server --model_config_file=/models/models.config   # a list of models",
                slug="one-server-for-all",
            ),
        ),
    )


def _of_jax(told: Surroundings, line: Line) -> Finding:
    """Of a text that tells of JAX's pool or of its settings before anything failed."""
    wrong = pool_of_jax.what_is_wrong(told)
    kept = " and keeps it until the process ends" if told.shows("kept in words") else ""
    ceiling = pool_of_jax.as_a_ceiling(told)
    failed = next(pool_of_jax.failures(told), None)
    fails = ", and no failure is told" if failed is None else ""
    what = (
        f"JAX's pool ({line.place}){fails}: JAX reserves 75 % of a GPU at its first"
        f" computation (early releases and some projects 90 %), whatever the program needs{kept}"
        f"{pool_of_jax.as_its_part(told, line)}"
    )
    if wrong:
        what += f"; {wrong[0]}"
    if ceiling:
        part, short = ceiling
        what += (
            f"; {part.line.place} lets it have {part.words}, which is a ceiling: what needs more fails"
            f" ({short.place}), whatever else of the GPU is free"
        )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=tuple(
            Evidence(fact, each)
            for each, fact in {
                line: "what the text says",
                **({wrong[1]: "the setting"} if wrong else {}),
            }.items()
        ),
        remedies=tuple(pool_of_jax.remedies(told)),
    )


_DONATE = Remedy(
    "where arrays themselves take more in a training step: give the old state's memory to the new one, else"
    " both are there during the update",
    "step = jax.jit(step, donate_argnums=0)   # Flax NNX: nnx.jit(step, donate_argnums=...)",
    slug="donate-buffers",
)


def _no_failure(what: str, line: Line, *remedies: Remedy) -> Finding:
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=remedies,
    )


def _more_than_expected(case: Case, line: Line) -> Finding:
    """Of a text that compares what a tool shows with what was promised."""
    if framework_of(case) == JAX:
        trains = case.capture.surroundings.shows("training in words")
        return _no_failure(_OF_JAX, line, _LOOK_AT_JAX, *((_DONATE,) if trains else ()))
    what = (
        "no failure is quoted, and what nvidia-smi shows need not be what the program uses: JAX takes 75 % of"
        " a GPU when it starts (projects often set 90 %), TensorFlow nearly all of it"
    )
    look = Remedy(
        "see what it really uses: let it take memory as needed, and look again. Where it fails on a"
        " smaller GPU under JAX, let it take more than 75 % (XLA_PYTHON_CLIENT_MEM_FRACTION=.90)",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false TF_FORCE_GPU_ALLOW_GROWTH=true   # for the look",
        slug="growth",
    )
    return _no_failure(what, line, look)
