"""A list, a dictionary or an attribute of the program holds tensors that nothing needs any more.

What it means: a tensor stays as long as Python can reach it. A loss that is appended to a list keeps a
scalar, the predictions beside it a whole batch, and on each step one more.
When it fires: the program recorded itself (`run --trace`), and at the failure one container held three and
more tensors of one type, or eight and more that differ in one length alone, that make up a tenth of what was
in use or of the limit. Arrays that a session returned are TensorFlow's memory, too; a part of one keeps all
of it. Where the machine's RAM ran out, arrays of NumPy's own count, too, beside the RAM of the process.
What to do: keep numbers, not tensors: `float(loss)`; copy a part (`out[0].copy()`); bring what is larger to
the host, or to files where that is full; clear what is used up. Sets of weights are copies, or members that
are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.kept_remedies import instead
from tfmemlens.findings.support.rows import all_in_use, holds_arrays, on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.knowledge.kept_results import holds_weights
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.live_model import OF_A_DATA_SET, HeldTensors, Holder
from tfmemlens.model.tensor import TensorType, format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

BASIS = Basis.MEASURED
EXPLAINS = "the tensors that the container holds"

_LEAST_COUNT, _LEAST_SHARE, _MOST = 3, 0.1, 0.5
_LEAST_LENGTHS = 8
"""So many tensors that differ in one length are no state of something."""
_OF_THE_STEP = ("smaller-batch", "smaller-input", "look-for-lists")
"""What makes a step smaller, and leaves most of the memory where it is."""
_OF_A_DATA_SET = ("map-the-file", "smaller-pipeline")
"""What helps where one array, or an input pipeline, fills RAM."""
_OF_A_SESSION = " What a session returns is a tensor's own memory: NumPy makes no copy of it."
_MAX_EVIDENCE = 3
_Part = tuple[HeldTensors, Holder]
"""Tensors of one type, and the container that holds them."""
_PART = regex(r"[A-Za-z_][\w.]*(?:\[[^\[\]]{1,20}\])+")
"""What is kept of a result: `scores[0]`."""
_NAME = regex(r"[A-Za-z_][\w.]{0,30}")
"""A name that code may hold; `bank[3]` is a place within another."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, _ in list(requests(case))[:1]:
        named = _by_name(_living_there(case, moment))
        whole, of_what = _whole(moment, case)
        for name, parts in sorted(named.items(), key=lambda pair: -_bytes(pair[1])):
            many = [part for part in parts if part[1].count >= _LEAST_COUNT]
            of_lengths = _of_lengths(case, parts)
            if _bytes(of_lengths) > _bytes(many):
                many = of_lengths
            size = _bytes(many)
            if not whole or _bytes(parts) < _LEAST_SHARE * whole:
                break
            if size < _LEAST_SHARE * whole:
                continue  # a few arrays of several types: the state of something
            framework = framework_of(case)
            keeping = _in_code(case, name)
            of_numpy = any(group.own for group, _ in many)
            weights = holds_weights(name) and not of_numpy and not _computed(case, many)
            if part_of_each := _parts_alone(many, keeping):
                offered = part_of_each
            elif of_numpy and on_host(moment):
                offered = (_fewer_entries(name, many),)
            elif keeping and not weights:
                offered = _by_its_code(case, moment, keeping, size)
            else:
                remedy = (
                    _fewer_weights(name, framework)
                    if weights
                    else _remedy(name, many, framework, on_host(moment), _weights_of(case))
                )
                offered = (remedy,)
            place = keeping.line.place if keeping else many[0][1].place
            share, most = f"{percent(size, whole)} of {of_what}", size >= _MOST * whole
            others = (*_OF_THE_STEP, *(_OF_A_DATA_SET if of_numpy else ()))
            yield _finding(name, many, share, index, offered, place, others if most else ())
            break


def _of_lengths(case: Case, parts: list[_Part]) -> list[_Part]:
    """Tensors that differ in one length alone, as a cache has them that is keyed by it: `[241,241,24]` beside
    `[198,198,24]`; empty where they are fewer than eight. Weights of layers differ in more than one size.
    """
    kin: dict[tuple[str | None, int], list[_Part]] = {}
    weights = _weights_of(case)
    for part in parts:
        group, _ = part
        if _is_array(group) and group.tensor not in weights:
            kin.setdefault((group.tensor.dtype, len(group.tensor.shape or ())), []).append(part)
    alike = (each for each in kin.values() if len(each) >= _LEAST_LENGTHS and _differ_in_a_length(each))
    return max(alike, key=_bytes, default=[])


def _differ_in_a_length(parts: list[_Part]) -> bool:
    shapes = [group.tensor.shape or () for group, _ in parts]
    varying = [at for at, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1]
    return bool(varying) and all(len({shape[at] for at in varying}) == 1 for shape in shapes)


def _living_there(case: Case, moment: Moment) -> tuple[HeldTensors, ...]:
    """What may lie in the memory that ran out: an array of NumPy's is on no accelerator."""
    failed = moment.request.failed if moment.request else None
    where = (failed.device or failed.allocator) if failed else None
    arrays = case.capture.arrays if case.capture.resident_bytes and holds_arrays(moment) else ()
    return (*(each for each in case.capture.living if each.may_be_on(where)), *arrays)


def _parts_alone(parts: list[tuple[HeldTensors, Holder]], keeping: Kept | None) -> tuple[Remedy, ...]:
    """Copies of what is kept, where that is a small part of each array: a view keeps the whole."""
    shown = _shown(parts)
    if shown is None:
        return ()
    group, holder = parts[0]
    name, value = holder.name or "", keeping.value if keeping else "out[0]"
    code = f"{value}.copy()" if _PART.fullmatch(value) else "np.array(part)"
    return (
        Remedy(
            f"keep copies in `{name}`: it refers to a part of each array alone, and a view keeps all"
            f" {human(group.bytes // group.count)} of its array",
            f"{code}   # what `{name}` is to keep",
            saves_bytes=_bytes(parts) - shown,
            certainty=Certainty.BOUND,
            slug="copies-of-parts",
        ),
    )


def _in_code(case: Case, name: str) -> Kept | None:
    """The line of the program's code that adds to this container: `ledger` of `ledger[...]`, `self.maps` of
    `report.maps`, where one class alone has it.
    """
    same = [each for each in kept(case.capture.surroundings) if not (each.number or each.model)]
    found = next((each for each in same if name == each.container or _within(name, each.container)), None)
    if found or "." not in name:
        return found
    last = name.rpartition(".")[2]
    kept_there = ((each, each.container[len("self.") :]) for each in same if each.container[:5] == "self.")
    own = [each for each, attribute in kept_there if last == attribute or _within(last, attribute)]
    return own[0] if len({each.line for each in own}) == 1 else None


def _within(name: str, container: str) -> bool:
    """Whether it is a place in a container that is counted whole: `ledger[\u2026]`; a list that Keras tracks
    holds its own list.
    """
    return name.startswith(f"{container}[") and not name[len(container) :].replace("[\u2026]", "")


def _computed(case: Case, parts: list[tuple[HeldTensors, Holder]]) -> bool:
    """Whether the program's weights are known, and nothing here has the type of one: maps of attention that
    are called weights.
    """
    weights = _weights_of(case)
    return bool(weights) and not any(group.tensor in weights for group, _ in parts)


def _by_its_code(case: Case, moment: Moment, keeping: Kept, size: int) -> tuple[Remedy, ...]:
    """What the code that keeps them may do instead; the first of it saves what was counted."""
    first, *others = instead(case, moment, keeping, None)
    return (replace(first, saves_bytes=size, certainty=Certainty.BOUND), *others)


def _kept(
    name: str, part: tuple[HeldTensors, Holder], framework: str | None, host: bool = True
) -> str | None:
    """The number in the container's own place; where a device is full, the array on the host. Nobody knows
    which number could stand for an array that is read later.
    """
    group, holder = part
    kept = "float(loss)"
    if _is_array(group):
        if host:
            return None
        kept = "jax.device_get(x)" if framework == JAX else "x.numpy()"
    root = name.partition("[")[0]
    if name.endswith("[\u2026]") and _NAME.fullmatch(root):
        return f"x = {kept}   # keep this in {root}"
    named = name if _NAME.fullmatch(name) else "history"
    return f"{named}[key] = {kept}" if holder.kind == "dict" else f"{named}.append({kept})"


def _is_array(group: HeldTensors) -> bool:
    return math.prod(size or 1 for size in group.tensor.shape or ()) > 1


def _weights_of(case: Case) -> frozenset[TensorType]:
    """The types of the program's weights, as far as it described itself."""
    live = case.capture.live_model
    variables = live.variables if live else ()
    return frozenset(each.tensor for each in variables if each.kind is Kind.PARAMETER)


def _remedy(
    name: str,
    parts: list[tuple[HeldTensors, Holder]],
    framework: str | None,
    host: bool,
    weights: frozenset[TensorType],
) -> Remedy:
    """Numbers of scalars, arrays elsewhere; what an array is wanted for nobody knows. As many of several
    types may be sets of weights, if the program's own weights have these types.
    """
    if "()" in name:
        called = name.partition("()")[0]
        return Remedy(
            f"cache no results of `{called}` that lie on the device: leave its decorator out, or let it keep"
            " a few alone",
            f"{called}.cache_clear()   # or @functools.lru_cache(maxsize=4)",
            saves_bytes=_bytes(parts),
            certainty=Certainty.BOUND,
            slug="keep-numbers",
        )
    if parts[0][0].arrays:
        return Remedy(
            f"keep in `{name}` only what is read later of each array: numbers, or files; or clear it when it"
            " is used up",
            saves_bytes=_bytes(parts),
            certainty=Certainty.BOUND,
            slug="reduce-parts",
        )
    arrays = [part for part in parts if _is_array(part[0])]
    sets = {holder.count for _, holder in arrays}
    code = _kept(name, parts[0], framework, host)
    if len(arrays) > 1 and len(sets) == 1 and (not weights or {each.tensor for each, _ in arrays} <= weights):
        text = (
            f"if the {next(iter(sets))} sets in `{name}` are copies of weights: keep the best alone, on the"
            " host or in a file; if all are needed, as of an ensemble, work on fewer members at a time"
        )
        code = None
    elif not _is_array(parts[0][0]):
        text = f"keep numbers in `{name}`, not tensors, or clear it when they are used up"
    elif host:
        text = f"keep in `{name}` only what is read later: numbers, or files; or clear it when it is used up"
    else:
        text = (
            f"keep what is in `{name}` on the host, each as soon as it is made, or only numbers of it; or"
            " clear it when it is used up"
        )
    return Remedy(text, code, saves_bytes=_bytes(parts), certainty=Certainty.BOUND, slug="keep-numbers")


def _finding(
    name: str,
    parts: list[tuple[HeldTensors, Holder]],
    share: str,
    index: int,
    offered: tuple[Remedy, ...],
    at: str,
    ruled_out: tuple[str, ...],
) -> Finding:
    size, count = _bytes(parts), sum(holder.count for _, holder in parts)
    place = f" ({at})" if at else ""
    called, _, within = name.partition("()")
    whose = f"the cache of `{called}`" if within or name.endswith("()") else f"`{name}`"
    differ = ", which differ in one length" if count < _LEAST_COUNT * len(parts) else ""
    arrays = all(group.arrays for group, _ in parts)
    returned = arrays and not any(group.own for group, _ in parts)
    what = f"{whose}{place} holds {count} {'arrays' if arrays else 'tensors'}, {human(size)}{differ}"
    if arrays and (shown := _shown(parts)):
        what += f", for the {human(shown)} that it refers to"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: {share}",
        because=what,
        explains=size,
        evidence=tuple(
            Evidence(
                f"{holder.count} x {format_shape(group.tensor.shape)} {group.tensor.dtype} in a {holder.kind}"
                f" at `{name}`, {human(holder.bytes)}",
                holder.line,
            )
            for group, holder in parts[:_MAX_EVIDENCE]
        ),
        detail="Counted by Python's own collector when the program failed or memory was nearly full; each"
        f" tensor once, under the shortest name that leads to it.{_OF_A_SESSION if returned else ''}",
        remedies=offered,
        moment=index,
        rules_out=ruled_out,
    )


def _fewer_entries(name: str, parts: list[_Part]) -> Remedy:
    """Half of what a buffer of NumPy's arrays holds, or numbers of fewer bytes."""
    root = name.partition("[")[0]
    dtype = parts[0][0].tensor.dtype or ""
    smaller = {"float64": "float32 is a half", "float32": "uint8 is a quarter", "int64": "int32 is a half"}
    text = f"let `{root}` keep half as many entries"
    if dtype in smaller:
        text += f", or each in fewer bytes, where its numbers allow that ({smaller[dtype]} of {dtype})"
    return Remedy(
        f"{text}; or write what is older to files",
        saves_bytes=_bytes(parts) // 2,
        certainty=Certainty.BOUND,
        slug="fewer-entries",
    )


def _shown(parts: list[tuple[HeldTensors, Holder]]) -> int | None:
    """What a container refers to, where that is less than half of what it holds."""
    shown = sum(holder.bytes if holder.shown_bytes is None else holder.shown_bytes for _, holder in parts)
    return shown if 2 * shown <= _bytes(parts) else None


def _fewer_weights(name: str, framework: str | None) -> Remedy:
    """Of weights no number can take the place: those that are not needed now belong on the host."""
    code = "kept = jax.device_get(params)" if framework == JAX else "kept = model.get_weights()"
    return Remedy(
        f"`{name}` holds weights, by its name: keep on the device those that are computed with now, and"
        " copies of the others on the host; of an average keep the running sum alone",
        f"{code}   # NumPy arrays",
        slug="keep-on-host",
    )


def _by_name(living: tuple[HeldTensors, ...]) -> dict[str, list[tuple[HeldTensors, Holder]]]:
    """What each name holds, the largest part first. Variables alone are no containers."""
    named: dict[str, list[tuple[HeldTensors, Holder]]] = {}
    for group in living:
        for holder in group.holders:
            if holder.name and holder.kind not in ("variable", OF_A_DATA_SET):
                named.setdefault(holder.name, []).append((group, holder))
    return {
        name: sorted(parts, key=lambda part: (-part[1].bytes, part[1].name or ""))
        for name, parts in named.items()
    }


def _bytes(parts: list[tuple[HeldTensors, Holder]]) -> int:
    return sum(holder.bytes for _, holder in parts)


def _whole(moment: Moment, case: Case) -> tuple[int, str]:
    """What was in use, and how it is called; where nobody says, the limit or all that Python held."""
    balance = moment.balance
    if in_use := all_in_use(moment):
        return in_use, "what was in use"
    if balance.limit:
        return balance.limit.bytes, "the limit"
    if case.capture.resident_bytes and holds_arrays(moment):
        return case.capture.resident_bytes, "the process's RAM"
    return sum(group.bytes for group in case.capture.living), "all tensors that Python held"
