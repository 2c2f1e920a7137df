"""Ranks of one machine that must not share a GPU: how each gets its own, and who goes round it."""

from __future__ import annotations

from tfmemlens.findings.support import part_for_jax
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, has_one_card
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_OF_PROCESS = regex(r"set_visible_devices|CUDA_VISIBLE_DEVICES")
_OF_SESSION = regex(r"\bvisible_device_list\b")
_MAKES_ALL = regex(
    r"\b(?P<call>list_local_devices|is_gpu_available|gpu_device_name)\(\s*(?!\s*(?:session_)?config)"
)
"""What makes a device of each GPU, with its pool, to tell which there are."""


TWO_GPUS = "chose different GPUs"
ONE_CONFIGURATION = Remedy(
    "give all sessions of a process one configuration, and make it before anything makes a session or lists"
    " devices (an estimator's RunConfig, a hook, list_local_devices(), Keras's own session); or show each"
    " process its GPU alone, from outside",
    "CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK python train.py   # for each rank",
    slug="one-device-each",
)


def mapped_twice(case: Case) -> Line | None:
    """The line that says that sessions of one process chose different GPUs for the same device."""
    return next((line for what, line in case.capture.surroundings.elsewhere if TWO_GPUS in what), None)


def started_as_ranks(case: Case) -> Line | None:
    """The line that tells of several processes of one program, each with a GPU to take; of JAX's only where
    the text tells of one GPU.
    """
    alone = framework_of(case) == TENSORFLOW or (framework_of(case) == JAX and has_one_card(case))
    return case.capture.surroundings.shows("several ranks") if alone else None


def pinned(case: Case) -> Line | None:
    """The line that gives the sessions of one configuration the GPU of their rank."""
    return next(
        (line for line in code_lines(case.capture.surroundings) if _OF_SESSION.search(line.text)), None
    )


def makes_all(case: Case) -> tuple[str, Line] | None:
    """The call of quoted code that makes devices of all GPUs to list them, before a session chooses one."""
    chosen = pinned(case)
    for line in code_lines(case.capture.surroundings):
        match = _MAKES_ALL.search(line.text)
        if match and (chosen is None or line.number < chosen.number):
            return match["call"], line
    return None


def uses_sessions(case: Case) -> bool:
    """Whether devices are set by a session's configuration."""
    code = case.capture.surroundings.code
    return case.api.is_tf1 or any("ConfigProto(" in line.text for line in code)


def one_for_each(case: Case) -> tuple[Remedy, ...]:
    """What gives each rank a GPU of its own, as far as the program does not do it already."""
    lines = code_lines(case.capture.surroundings)
    if framework_of(case) == JAX:
        return () if part_for_jax.stated(case.capture.surroundings) else (_part_of_each(case),)
    if mapped_twice(case):
        return (ONE_CONFIGURATION,)
    if any(_OF_PROCESS.search(line.text) for line in lines):
        return ()
    if makes := makes_all(case):
        call, listed = makes
        return (
            Remedy(
                f"leave `{call}()` out ({listed.place}): in each rank it makes a device of every GPU, with"
                " nearly all of its memory, before one is chosen; or show each process its GPU alone, from"
                " outside",
                "CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK python train.py   # for each rank",
                slug="one-device-each",
            ),
        )
    if many := actors(case):
        return (_shared_by_actors(case, many),)
    if line := pinned(case):
        return (
            Remedy(
                f"give every session of a rank the configuration of {line.place}: one that is made without"
                " it, such as that of a barrier, a broadcast, an evaluation or Keras's own, takes memory of"
                " all GPUs; or show each process its GPU alone, from outside",
                "CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK python train.py   # for each rank",
                slug="one-device-each",
            ),
        )
    return (pin(case),)


_ACTORS = regex(r"\bnum_cpu ?= ?(?P<many>[2-9]|\d{2,3})\b|\bMPI (?:process|rank)(?:es|s)?\b")


def actors(case: Case) -> int | None:
    """How many processes an agent's program starts for its environments, whatever GPUs there are; 2 where
    nobody says.
    """
    matches = [_ACTORS.search(line.text) for line in code_lines(case.capture.surroundings)]
    line = started_as_ranks(case)
    match = next(filter(None, (*matches, _ACTORS.search(line.text) if line else None)), None)
    return max(int(match["many"] or 2), 2) if match else None


def _shared_by_actors(case: Case, many: int) -> Remedy:
    """How processes that each need little of a GPU share it."""
    part = f"{_OF_THE_GPU / many:.2f}"
    code = f"config = tf.ConfigProto(); config.gpu_options.per_process_gpu_memory_fraction = {part}"
    return Remedy(
        "let each process take its part of the GPU alone, in the configuration of its session (each takes"
        " nearly all of it unless told otherwise), hide the GPU from all but one, or start fewer",
        code if uses_sessions(case) else None,
        slug="one-device-each",
    )


_RANKS = regex(r"\s(?:-np?|--ntasks(?:-per-node)?)[ =](?P<many>\d{1,3})\b")
_OF_THE_GPU = 0.8
"""What the ranks may share: the driver and MPI's own buffers need the rest."""


def _part_of_each(case: Case) -> Remedy:
    """How ranks of JAX share a GPU."""
    line = started_as_ranks(case)
    match = _RANKS.search(line.text) if line else None
    many = max(int(match["many"]), 2) if match else 2
    part = f"{_OF_THE_GPU / many:.2f}".lstrip("0")
    return Remedy(
        f"let each of the {many} ranks take its part alone: JAX takes 75 % of the GPU for the first that"
        " starts, and MPI and the driver need some outside of it",
        f"export {part_for_jax.VARIABLE}={part}   # or XLA_PYTHON_CLIENT_PREALLOCATE=false; for each rank",
        slug="one-device-each",
    )


_OF_RAY = regex(r"\bpid=\d")
"""How Ray names the tasks whose output it shows."""


def pin(case: Case) -> Remedy:
    """How a program gives each of its ranks a GPU."""
    if any(_OF_RAY.search(rank) for rank in case.capture.surroundings.ranks):
        return Remedy(
            "let Ray give each task or trial a GPU of its own, and run no more at once than there are GPUs; a"
            " task that asks for a part (num_gpus=0.25) has to limit its memory itself",
            "@ray.remote(num_gpus=1)   # Tune: tune.with_resources(train, {'gpu': 1})",
            slug="one-device-each",
        )
    return Remedy(
        "let each rank see the GPU of its local rank only, before TensorFlow starts, and start no more ranks"
        " on a machine than it has GPUs",
        "config.gpu_options.visible_device_list = str(hvd.local_rank())   # of every session"
        if uses_sessions(case)
        else "tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')",
        slug="one-device-each",
    )


def why(case: Case) -> str:
    """What ranks have to do with a driver that has nothing left."""
    line = started_as_ranks(case)
    if line is None or not one_for_each(case):
        return ""
    if twice := mapped_twice(case):
        return (
            f"; {twice.place} says what the run ends of: sessions of one process chose different GPUs, so"
            f" that ranks ({line.place}) take memory of each other's"
        )
    if makes := makes_all(case):
        took = f"`{makes[0]}()` ({makes[1].place}) takes memory of all GPUs in each"
    elif pinned(case):
        took = "a session without their configuration took more"
    else:
        took = "each takes memory of the same GPU"
        if not code_lines(case.capture.surroundings):
            return f"; {line.place} tells of several ranks: see whether {took}, or one needs more than it has"
    return f"; {line.place} tells of several ranks: most likely {took}"
