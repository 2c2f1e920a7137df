"""Weights or optimizer state are put on every device whole, although there is a mesh of several.

What it means: `P()` names no axis, so each device holds a copy of all of it; the batch is sharded, and the
weights are not. Adam's state, made of weights that are replicated, is replicated, too.
When it fires: code of a JAX program places weights or state with `P()`, `replicate` or
`device_put_replicated`, and a request failed that no line explains. A cause where the program is mostly
arguments, or where weights, gradients and slots exceed the device; else a factor.
What to do: shard weights and state over the devices (FSDP).
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import jax_lines, program_account
from tfmemlens.findings.support.jax_stack import calls_program
from tfmemlens.findings.support.rows import device_limit, on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_weights import stated_weights
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the program's arguments, or weights, gradients and slots; else no bytes"


def check(case: Case) -> Iterator[Finding]:
    line = _placed_whole(case.capture.surroundings) if framework_of(case) == JAX else None
    if line is None:
        return
    for index, moment, request in requests(case):
        made = jax_lines.made_at(case, moment)
        if on_host(moment) or (made and "shard-arguments" in {each.slug for each in made.remedies}):
            continue  # said of that line
        if _shards_no_batch(case) and calls_program(request.failed.source_text):
            yield _of_the_batch(index, request.needed_bytes, line)
        explains = _explained(case, moment)
        because = (
            f"{line.place} gives weights or state no axis to be sharded over, so that every device"
            " holds all of them"
        )
        yield Finding(
            severity=Severity.CAUSE if explains else Severity.FACTOR,
            headline=because,
            because=because,
            explains=explains,
            evidence=(Evidence("where they are placed", line),),
            remedies=(jax_lines.OVER_DEVICES,),
            moment=index,
        )


def _placed_whole(told: Surroundings) -> Line | None:
    from tfmemlens.findings.support.placed_whole import placed_whole  # reads trees

    return placed_whole(told)


_PLACES = regex(r"\breplicate\(|device_put")
_SHARDS = regex(
    r"\bP(?:artitionSpec)?\(\s*[^)\s]|\bshard(?:_batch|_map)?\(|make_array_from|pmap|common_utils\.shard"
    r"|PositionalSharding|batch_sharding|data_sharding"
)


def _shards_no_batch(case: Case) -> bool:
    """Whether the code makes a mesh, and none of its lines names an axis of it for anything."""
    told = case.capture.surroundings
    return bool(told.shows("sharding")) and not any(_SHARDS.search(line.text) for line in told.code)


def _of_the_batch(index: int, need: int | None, line: Line) -> Finding:
    because = (
        "no line that the text shows shards the batch over the mesh, so that most likely every device"
        f" computes all of it, with all its activations ({line.place} puts the weights on all of them)"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=need,
        evidence=(Evidence("where the weights are placed", line),),
        remedies=(
            Remedy(
                "shard each batch over the devices before the step",
                "batch = jax.device_put(batch, NamedSharding(mesh, P('data')))",
                slug="shard-the-batch",
            ),
        ),
        moment=index,
    )


def _explained(case: Case, moment: Moment) -> int | None:
    """What the copies take of one device, where that decides; None where it may be little."""
    compiler = moment.incident.compiler if moment.incident else None
    if compiler and compiler.arguments and program_account.mostly_arguments(compiler):
        return compiler.arguments.bytes
    failed = moment.request.failed if moment.request else None
    if (
        compiler
        and compiler.free
        and failed
        and (not failed.source_text or _PLACES.search(failed.source_text))
    ):
        return compiler.free.bytes + (
            failed.size.bytes if failed.size else 0
        )  # it fails while they are placed
    weights, limit = stated_weights(case.capture.surroundings), device_limit(case, moment)
    return weights.trained_bytes if weights and limit and weights.trained_bytes > limit.high else None
