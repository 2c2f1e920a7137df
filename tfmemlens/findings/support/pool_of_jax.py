"""What a text tells of JAX's pool: that it is seen full, that a setting does nothing, and why that may be.

JAX asks for 75 % of a GPU (early releases 90 %) at its first computation, and gives nothing back until the
process ends. Its variables are read once, when that happens: a fraction is between 0 and 1, more only with
unified memory; `!export` of a notebook sets them for a shell of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import part_for_jax
from tfmemlens.findings.support.part_for_jax import Part
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.knowledge.gpu_memory import least_bytes
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_VARIABLE = "XLA_PYTHON_CLIENT_"
_IMPORTS = regex(r"\A\s*(?:import|from) (?:jax|flax|haiku|optax|equinox|numpyro|brax|chex|distrax)\b")
_SETS = regex(r"\A[^#]*\bos\.(?:environ|putenv)\b[^#]*\bXLA_PYTHON_CLIENT_")
_TIMES = 10
"""From here on a value was meant as per cent; a smaller one may be some times the GPU (unified memory)."""
FAILING = regex(r"(?i)\bOOM|\bout of\b|exhaust|\berror|\bcrash|\bkill|\bfail|\binsufficient")

_OF_THE_HOST = regex(r"(?i)\b(?:host|CPU|system|main) (?:RAM|memory)\b|\bRAM\b")

BEFORE_JAX = Remedy(
    "let JAX take memory as needed, or a part of it: set this in the shell, or at the top of the program,"
    " before the first import of jax, also of a library that imports it. It is read once, and a fraction is"
    " between 0 and 1",
    "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or XLA_PYTHON_CLIENT_MEM_FRACTION=.10",
    slug="set-before-import",
)
UNTIL_ITS_END = Remedy(
    "memory goes back to the GPU when the process ends: do this part in a process of its own, or let JAX give"
    " back what it frees, which is slower",
    "export XLA_PYTHON_CLIENT_ALLOCATOR=platform",
    slug="end-the-process",
)
LOOK_INSIDE = Remedy(
    "see what arrays really take: nvidia-smi shows the pool",
    "print(jax.local_devices()[0].memory_stats()['bytes_in_use'] >> 20, 'MiB')",
    slug="see-real-use",
)


def told_of_the_pool(case: Case) -> Line | None:
    """The line that tells of it, where it comes before every failure that words tell, and no message stands
    there.
    """
    told = case.capture.surroundings
    if framework_of(case) != JAX or case.moments or told.foreign or told.elsewhere or told.without_figures:
        return None
    in_vain, takes = told.shows("jax: a setting in vain"), told.shows("taking the whole GPU")
    named = any(name.startswith(_VARIABLE) for name, _, _ in told.settings) or in_vain
    line = in_vain or takes or told.shows("jax: preallocating")
    if line is None and takes_as_needed(told) and not what_is_wrong(told):
        return None  # what is seen in use is no pool's
    if line is None and named and (much := told.shows("much memory in words")):
        line = None if FAILING.search(much.text) or _OF_THE_HOST.search(much.text) else much
    line = line or (None if told.raised else as_large_as_a_pool(told) or _told_as_a_part(told))
    before = [each for each in failures(told) if line and each.number <= line.number]
    return None if before else line


def takes_as_needed(told: Surroundings) -> Line | None:
    """The line that has JAX take memory as needed already."""
    stated = told.setting("XLA_PYTHON_CLIENT_PREALLOCATE")
    return stated[1] if stated and stated[0].lower() in ("false", "0") else None


_OF_A_POOL = ((0.74, 0.785), (0.895, 0.93))
"""The part of a GPU that a table shows where JAX took 75 % of it, or 90, with a context beside it."""


def as_large_as_a_pool(told: Surroundings) -> Line | None:
    """The line of a table that shows just what JAX takes by itself, full or empty."""
    for use in told.device_uses:
        part = use.used.bytes / use.total.bytes if use.used and use.total and use.total.bytes else 0
        if any(low <= part <= high for low, high in _OF_A_POOL):
            return use.line
    return None


_PART = regex(
    r"(?<![\w./])(?P<used>\d{1,3}(?:\.\d{1,2})?) ?(?:GB|GiB|G) ?(?:/|of|out of) ?"
    r"(?P<whole>\d{1,3}(?:\.\d{1,2})?) ?(?:GB|GiB|G)\b"
)
_A_GPU = regex(r"(?i)\bGPUs?\b|\bVRAM\b|\bnvidia-smi\b|\bnvitop\b")
_BY_ITSELF = 0.75
_ROUNDED = 0.02
"""How far a figure may be from JAX's part of it: a person rounds, and a GPU has a little less than its name
says.
"""


def _told_as_a_part(told: Surroundings) -> Line | None:
    """The line whose words give what is in use of a GPU and the whole, as just the part that JAX takes; not
    where one of its pairs is no such part.
    """
    line = told.shows("part of a GPU in use")
    if line is None or not (least_bytes(line.text) or _A_GPU.search(line.text)):
        return None
    pairs = [(float(match["used"]), float(match["whole"])) for match in _PART.finditer(line.text)]
    fits = all(abs(used - _BY_ITSELF * whole) <= _ROUNDED * whole + _HALF for used, whole in pairs)
    return line if pairs and fits and min(whole for _, whole in pairs) >= _LEAST_GPU else None


def as_its_part(told: Surroundings, line: Line) -> str:
    """` (18 of 24 GB in line 3 are that part)`, where the line says so."""
    match = _PART.search(line.text) if line == _told_as_a_part(told) else None
    return f" ({match['used']} of {match['whole']} GB, {line.place}, are that part)" if match else ""


_HALF, _LEAST_GPU = 0.25, 8


def failures(told: Surroundings) -> Iterator[Line]:
    """The lines whose words tell of a failure."""
    for name in ("running short", "growing in words", "killed in words"):
        line = told.shows(name)
        if line and (name != "running short" or FAILING.search(line.text)):
            yield line


def what_is_wrong(told: Surroundings) -> tuple[str, Line] | None:
    """What is wrong about a setting, as a clause, with its line; None where nothing shows."""
    unified = told.shows("unified memory refused") or told.setting("TF_FORCE_UNIFIED_MEMORY")
    for part in part_for_jax.every(told):
        if part.above_all and not unified:
            meant = f" ({part.value / 100:g} for {part.written} %)" if part.value >= _TIMES else ""
            has_to = f"a part between 0 and 1{meant}"
            return (
                f"{part.line.place} gives {part_for_jax.VARIABLE}={part.written}, which has to be {has_to}",
                part.line,
            )
    if shell := told.shows("jax: set in a shell of its own"):
        return (
            f"{shell.place} sets it for a shell of its own (`!export`), not for the notebook's process",
            shell,
        )
    if late := _set_after_import(told):
        return f"{late.place} sets it after an import of jax", late
    growth = told.shows("growth of TensorFlow")
    if growth and _told_as_a_part(told):
        return f"what {growth.place} names is TensorFlow's switch, which JAX does not read", growth
    return None


def _set_after_import(told: Surroundings) -> Line | None:
    sets, imports = _sets_and_imports(told)
    return sets if sets and imports and imports.number < sets.number else told.shows(_AFTER)


def _sets_and_imports(told: Surroundings) -> tuple[Line | None, Line | None]:
    """The first lines of code that set a variable, and that import JAX or what imports it."""
    code = code_lines(told)
    sets = next((line for line in code if _SETS.search(line.text)), None)
    return sets, next((line for line in code if _IMPORTS.match(line.text)), None)


_AFTER = "jax: set after the import"


def _set_rightly(told: Surroundings) -> Line | None:
    """The line that sets it where it counts: above the imports, or before the program in the shell."""
    sets, imports = _sets_and_imports(told)
    if sets and imports and imports.number > sets.number:
        return sets
    return next((line for line in told.code if _BEFORE_PYTHON.search(line.text)), None)


_BEFORE_PYTHON = regex(r"\bXLA_PYTHON_CLIENT_\w{1,20}=\S{1,12} (?:\w+=\S+ )*python")


def as_a_ceiling(told: Surroundings) -> tuple[Part, Line] | None:
    """The part that is set below what JAX takes by itself, with the line that tells of a failure at or below
    it: all that JAX allocates has to fit in that part.
    """
    part = part_for_jax.stated(told)
    if part is None or part.value >= part_for_jax.USUAL:
        return None
    below = (each for each in failures(told) if each.number >= part.line.number)
    line = next((each for each in below if not _OF_THE_HOST.search(each.text)), None)
    return (part, line) if line else None


def remedies(told: Surroundings) -> Iterator[Remedy]:
    """What helps there: it is set where it counts, or seen what is really used."""
    if ceiling := as_a_ceiling(told):
        yield Remedy(
            f"let JAX have more than {ceiling[0].words}, where no other program needs the rest: the part is"
            " the most that it may take, not only what it takes at start",
            f"export {part_for_jax.VARIABLE}=.90   # or without it: 75 %",
            slug="raise-own-limit",
        )
    right = None if what_is_wrong(told) else _set_rightly(told)
    if right and told.shows("jax: a setting in vain"):
        yield LOOK_INSIDE
        yield Remedy(
            f"{right.place} sets it where it counts: take another release of jax and jaxlib, and compare; a"
            " context of CUDA takes some hundred MiB whatever is set",
            "pip install -U jax jaxlib",
            slug="newer-release",
        )
        return
    yield BEFORE_JAX
    if told.shows("kept in words"):
        yield UNTIL_ITS_END
    yield LOOK_INSIDE
