"""JAX says only how many bytes it asked for; the user's failing line says what they are for.

What it means: outside of a compiled step JAX runs one call at a time, so the last line of the user's own code
made the array. A line that pairs all rows, spreads labels over classes or keeps every draw explains a large
request by itself; so do the frames of the libraries below it, which make weights, slots or derivatives.
When it fires: a request of JAX's of 64 MiB or more, and the failing line holds such a call; where the line
states a shape, only if this shape has the request's bytes. Weights and slots of any size, where the traceback
goes through their making.
What to do: make the call itself smaller: blocks of rows, matrix products, labels instead of one-hot rows;
weights in 16 bits, or sharded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import jax_lines
from tfmemlens.findings.support.attention_levels import levels, without_level
from tfmemlens.findings.support.jax_stack import MadeByLine
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.findings.support.servers import A_SERVER
from tfmemlens.findings.support.situation import JAX, framework_of, has_one_card
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human, human_size

BASIS = Basis.NAME
EXPLAINS = "the request"


_SHARDED_FROM_THE_START = Remedy(
    "make weights and optimizer state inside jit, sharded from the start: no device then holds all of them",
    "state = jax.jit(init, out_shardings=shardings)(key)   # shardings of jax.eval_shape(init, key)",
    slug="shard-arguments",
)


_PART = regex(r"(?i)\blora\b|\badapters?\b|\bfrozen\b|\bfreez\w+")
_PARTED = regex(r"multi_transform|masked\(|set_to_zero|eqx\.partition|nnx\.(?:LoRAParam|All|Not)|wrt\s*=")
_MOMENTS_OF_A_PART = Remedy(
    "give the optimizer the trained part alone: its moments then are of that part",
    "opt_state = tx.init(lora_params)   # or optax.multi_transform with set_to_zero() for the rest",
    slug="low-rank-tuning",
)


def _trains_a_part(case: Case) -> Line | None:
    """The line that says that only a part of the weights is trained, where no code makes it so."""
    code = case.capture.surroundings.code
    if any(_PARTED.search(line.text) for line in code):
        return None
    return next((line for line in code if _PART.search(line.text)), None)


_SITE = regex(r"\b(?:numpyro\.|pm\.)?[dD]eterministic\(\s*['\"](?P<name>\w{1,60})['\"]")


def _kept_site(case: Case, what: str) -> str:
    """The one deterministic site of the program, as a clause, where draws of all sites are kept."""
    if "deterministic ones too" not in what:
        return ""
    code = code_lines(case.capture.surroundings)
    sites = {match["name"]: line for line in code if (match := _SITE.search(line.text))}
    name, line = next(iter(sites.items()), ("", None))
    return f"; the only deterministic one is `{name}` ({line.place})" if line and len(sites) == 1 else ""


_OF_MADE_WEIGHTS = {"smaller-model", "smaller-moments", "small-init"}
"""Remedies that tell that weights or their slots are made, rather than data."""


_READ = regex(r"\btotal bytes: (?P<size>\d{1,5}(?:\.\d{1,2})?) (?P<unit>[KMGT]iB)\)")
_UNITS = {"KiB": 1 << 10, "MiB": MIB, "GiB": GIB, "TiB": 1 << 40}
_TIMES_OF_STATE = 3
"""The weights, and two moments of each."""
_TRAIN_A_PART = Remedy(
    "train a part of the weights (LoRA, frozen layers), and let only these have moments: take the program's"
    " own configuration for that, where it has one",
    "tx = optax.multi_transform({'train': optax.adamw(1e-4), 'freeze': optax.set_to_zero()}, labels)",
    slug="low-rank-tuning",
)


def _state_of_read_weights(case: Case) -> tuple[int, Line] | None:
    """What weights of a checkpoint, which was read just before, take with Adam's moments; and the line that
    tells how large it is.
    """
    line = case.capture.surroundings.shows("jax: a checkpoint read")
    match = _READ.search(line.text) if line else None
    if line is None or match is None or _trains_a_part(case):
        return None
    return int(float(match["size"]) * _UNITS[match["unit"]]) * _TIMES_OF_STATE, line


def _of_state_alone(case: Case, moment: Moment) -> str:
    """What XLA reckons for a program that makes a state, where what it is given and returns leaves it less
    than nothing; as so many times the checkpoint that was read, where one was.
    """
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is None or compiler.reduced_to is None or not compiler.goal or compiler.goal.bytes >= 0:
        return ""
    read = _state_of_read_weights(case)
    weights = read[0] / _TIMES_OF_STATE if read else 0
    times = round(compiler.reduced_to.bytes / weights) if weights else 0
    near = times > 1 and abs(compiler.reduced_to.bytes / weights - times) <= _NEAR * times
    many = (
        f" ({times} times the {human(round(weights))} of the checkpoint, {read[1].place})"
        if read and near
        else ""
    )
    return (
        f"; XLA reckons {human_size(compiler.reduced_to)} for it{many}, and what it is given and returns is"
        " by itself more than one device may take"
    )


_NEAR = 0.03


def _is_sharded_afterwards(case: Case) -> bool:
    """Whether the text shows arrays to be sharded, and none to be made so."""
    told = case.capture.surroundings
    made = told.shows("making sharded")
    if made and "_constraint(" in made.text and not any("jit" in line.text for line in told.code):
        made = None  # a constraint outside of jit is put on what exists
    return bool(told.shows("sharding")) and not made


def _beside_the_fact(case: Case, moment: Moment, what: str) -> str:
    """A guess from the code stands behind what the compiler says of the program, never in its place; what it
    says of all that is given and returned such a guess tells itself.
    """
    compiler = moment.incident.compiler if moment.incident else None
    given = compiler.arguments_and_results if compiler else None
    fact = facts.short_of_its_goal(case, moment, compiler) if compiler and not given else None
    return f"{fact}; {what}" if fact and what.startswith("most likely ") else what


def _fails_from(case: Case, whole: Line, text: str | None) -> bool:
    """Whether the line that failed is this one or stands below it, and nothing shows who else has the
    device.
    """
    told = case.capture.surroundings
    below = (line.text.strip() for line in code_lines(told) if line.number >= whole.number)
    return bool(text) and (text or "").strip() in below and not told.device_uses


_COPIES = "copies all of it to every device"
_COPIED_ON_ONE = (
    "the line copies all of it to every device: on one GPU that is a second set of weights beside the first"
)
_NO_COPY = Remedy(
    "leave the copying out where there is one GPU (jit instead of pmap), or load the first set in host RAM",
    "with jax.default_device(jax.devices('cpu')[0]): params = load()   # then: jax.device_put(params)",
    slug="without-copies",
)


def _fewer_maps(case: Case, shape: tuple[int, ...]) -> Iterator[Remedy]:
    """The setting that lists the maps with attention, where scores over all positions of one are made."""
    square = len(shape) > _OF_A_MATRIX and shape[-1] == shape[-2]
    listed = levels(case, shape[-1]) if square else None
    if listed is not None:
        yield without_level(listed, math.isqrt(shape[-1]), None)


_OF_A_MATRIX = 2


def _of_a_server(case: Case, made: MadeByLine) -> bool:
    """Whether it is the cache of a server, which generates for nobody's list of prompts."""
    generates = any(each.slug == "smaller-generation" for each in made.remedies)
    return generates and case.capture.surroundings.shows(A_SERVER) is not None


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != JAX:
        return
    from tfmemlens.findings.support.placed_whole import placed_whole  # reads trees

    for index, moment, request in requests(case):
        made = jax_lines.made_at(case, moment)
        of_pinned = (request.failed.allocator or "").startswith("xla_gpu_host")
        if made is None or of_pinned or facts.on_chip(moment) or _of_a_server(case, made):
            continue  # a kernel's own memory on the chip holds none of a program's arrays
        if made.line is None and facts.operand_of_a_trial(case, moment):
            continue  # the message names the array
        what, remedies = made.what, made.remedies
        slugs = {each.slug for each in remedies}
        if _COPIES in what and has_one_card(case):
            what, remedies = _COPIED_ON_ONE, (_NO_COPY, *remedies)
        what += _kept_site(case, what)
        remedies = (*_fewer_maps(case, made.shape), *remedies)
        made_whole = "shard-arguments" in slugs and slugs & _OF_MADE_WEIGHTS
        whole = placed_whole(case.capture.surroundings) if made_whole else None
        if whole:
            what = (
                f"{whole.place} gives weights or state no axis to be sharded over, so every device"
                f" holds all of them; {what}"
            )
            remedies = (
                jax_lines.OVER_DEVICES,
                *(each for each in remedies if each.slug != "shard-arguments"),
            )
        elif made_whole and _is_sharded_afterwards(case):
            what += "; all of it is made on one device, and the code shards it only afterwards"
            others = (each for each in remedies if each.slug != "shard-arguments")
            remedies = (_SHARDED_FROM_THE_START, *others)
        if "smaller-moments" in slugs and (lora := _trains_a_part(case)):
            remedies = (_MOMENTS_OF_A_PART, *remedies)
            what += f"; {lora.place} says that a part of them is trained, and all of them get moments"
        state = _state_of_read_weights(case) if "smaller-moments" in slugs else None
        limit = device_limit(case, moment)
        if state and limit and state[0] > limit.bytes:
            what += (
                f"; the checkpoint that was read has {human(state[0] // _TIMES_OF_STATE)} ({state[1].place}):"
                f" with them {human(state[0])}, more than the device has"
            )
            remedies = (_TRAIN_A_PART, *remedies)
        else:
            state = None
        alone = _of_state_alone(case, moment) if "smaller-moments" in slugs else ""
        if alone and not state:
            what += alone
            remedies = (*remedies, _TRAIN_A_PART)
        what = _beside_the_fact(case, moment, what)
        at = f" at {request.failed.source}" if request.failed.source and not made.line else ""
        quoted = (Evidence("the code", made.line),) if made.line else ()
        explains = state[0] if state else made.explains or request.needed_bytes
        if whole and limit and _fails_from(case, whole, request.failed.source_text):
            explains = limit.bytes  # no step has run: such copies are all that fills it
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}{at}",
            because=what,
            explains=explains,
            evidence=(*quoted, Evidence("the message", request.failed.line)),
            remedies=remedies,
            moment=index,
            basis=made.basis,
            rules_out=made.rules_out,
        )
