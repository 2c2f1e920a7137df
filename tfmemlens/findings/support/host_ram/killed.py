"""What a process was doing when it was killed for host RAM."""

from __future__ import annotations

from tfmemlens.findings.support.compiling import (
    compiled_then,
)
from tfmemlens.findings.support.contrasted import contrasted, without
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_causes import on_the_host
from tfmemlens.findings.support.host_ram.replay import of_an_agent
from tfmemlens.findings.support.kills import (
    another_program,
    was_killed,
)
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import (
    JAX,
    TORCH_XLA,
    framework_of,
)
from tfmemlens.findings.support.told_again import trials_of_autokeras
from tfmemlens.findings.support.what_grows import grower
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_LATE_EPOCH = 3
"""The first may be spared, since caches still fill, and the second by what malloc keeps for later."""


def in_the_code(case: Case, moment: Moment) -> Grower | None:
    """What the quoted code, or the words, of a program of JAX or PyTorch/XLA show to fill host RAM."""
    if not was_killed(moment) or another_program(moment) or being_compiled(case, moment):
        return None
    if being_saved(case, moment) or of_its_data(case):
        return None
    if (agent := of_an_agent(case)) is not None:
        return agent
    found = grower(case) if case.capture.surroundings.shows("growing in words") else None
    return found if found and _is_shown(case, found) else on_the_host(case)


def _is_shown(case: Case, found: Grower) -> bool:
    """Whether the code shows that it grows, or its writer's own test."""
    aside = without(case)
    return found.sure or bool(aside and aside[1] == found.line)


def of_its_data(case: Case) -> Grower | None:
    """The cause that the text shows by other data with which all goes well, or by how many models it trains
    in this process.
    """
    told, shown = case.capture.surroundings, contrasted(case)
    of_data = [told.shows(f"fails with {more}") for more in ("larger samples", "more data")]
    return shown if shown and shown.line in of_data else trials_of_autokeras(case)


def being_saved(case: Case, moment: Moment) -> Line | None:
    """Where the text says that JAX was saving when the process was killed."""
    if framework_of(case) not in (JAX, TORCH_XLA) or not was_killed(moment) or another_program(moment):
        return None
    return case.capture.surroundings.shows("saving in words")


FEWER_SAVED = Remedy(
    "keep one save in flight: let each end before the next begins, and save a smaller state (no copy of an"
    " average, 16 bits) or from more hosts, of which each copies its part",
    "manager.wait_until_finished()   # Orbax: before the next save()",
    slug="one-checkpoint-at-a-time",
)


_TO_HOST = regex(r"\A[^#]*(?:\bdevice_get\(|\btree(?:\.|_)map\(\s*(?:np|numpy|onp)\.(?:as)?array\b)")
_WRITES_IT = regex(
    r"\A[^#]*(?P<call>\bpickle\.dumps?|\bcloudpickle\.dumps?|\bjoblib\.dump|\bdill\.dumps?|\bnp\.savez?\w*"
    r"|\bto_bytes|\bmsgpack_serialize|\btorch\.save|\bsafetensors\.\w+\.save_file)\("
)
_ONE_AFTER_ANOTHER = regex(r"\A\s*for\b[^#]*\b(?:leaves|flatten|items)\b")
_AS_BYTES = regex(r"dumps|to_bytes|msgpack")


def saved_by_hand(case: Case) -> tuple[str, Line] | None:
    """What brings a whole state to the host, and with which call it is written, where no checkpointer is."""
    code = code_lines(case.capture.surroundings)
    brings = next((line for line in code if _TO_HOST.search(line.text)), None)
    writes = next((match for line in code if (match := _WRITES_IT.search(line.text))), None)
    if brings is None or writes is None or framework_of(case) != JAX:
        return None
    if any(_ONE_AFTER_ANOTHER.search(line.text) or _CHECKPOINTER.search(line.text) for line in code):
        return None
    again = ", which makes it bytes once more" if _AS_BYTES.search(writes["call"]) else ""
    what = (
        f"{brings.place} brings the whole state, the parts of all devices, into the RAM of this one process"
        f" before `{writes['call']}` writes it{again}"
    )
    return what, brings


_CHECKPOINTER = regex(r"\borbax\b|\bocp\.|CheckpointManager|tensorstore")
WRITTEN_IN_PARTS = (
    Remedy(
        "bring one array at a time to the host, as a copy, and write it before the next: RAM then holds the"
        " largest alone (a sharded array that is read itself keeps what was read in host RAM)",
        "for path, leaf in jax.tree_util.tree_leaves_with_path(state):\n"
        "    np.save(f'{jax.tree_util.keystr(path)}.npy', jax.device_get(jnp.copy(leaf)))",
        slug="in-pieces",
    ),
    Remedy(
        "or let Orbax write it, each device's part by itself, with a limit to what is in flight",
        "ocp.Checkpointer(ocp.StandardCheckpointHandler(save_concurrent_gb=8)).save(path, state)",
        slug="bound-checkpoint",
    ),
)


def being_compiled(case: Case, moment: Moment) -> Line | None:
    """Where the text says that a program was being compiled when the process was killed."""
    told = case.capture.surroundings
    reads = told.pipeline_buffers or told.progress or told.steps
    return compiled_then(case) if was_killed(moment) and not (reads or another_program(moment)) else None


def being_resumed(case: Case, moment: Moment) -> Line | None:
    """Where the text says that it is killed when a run is resumed, and a fresh one is not."""
    if framework_of(case) != JAX or not was_killed(moment) or another_program(moment):
        return None
    return case.capture.surroundings.shows("jax: resuming")


INTO_SHAPES = (
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


AS_ARGUMENT = Remedy(
    "pass large arrays to the jitted function as arguments: one that it merely uses from outside becomes a"
    " constant of the program, which XLA copies and folds while it compiles",
    "@jax.jit\ndef step(a, x): ...   # step(a, x) instead of a function that closes over `a`",
    slug="pass-as-argument",
)
KERNEL_LOG = Remedy(
    "make sure that it was memory: the kernel logs whom it kills",
    "dmesg -T | grep -i 'killed process'",
    slug="read-the-kernel-log",
)


def late_epoch(case: Case, moment: Moment) -> int | None:
    """The epoch in which it was killed, where several went well before it: each reads the same data."""
    line = moment.request.failed.line if moment.request else None
    at = case.capture.surroundings.progress_before(line)
    return at.epoch if at and at.epoch and at.epoch >= _LATE_EPOCH else None
