"""Weights of a checkpoint that is brought into another form: no step trains, and no device is needed."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.jax_stack import MadeByLine
from tfmemlens.findings.support.stated_weights import StatedWeights
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import replace

_CONVERTS = "jax: converting weights"
_RAM = regex(
    r"(?i)\b(?:(?:CPU|host|system|main|machine(?:'s)?) (?:memory|RAM)|RAM)\b"
    r"(?: (?:is|was|fixed|limited|only|of|to|at|about)\b){0,3}[ (:=~]{0,3}"
    r"(?P<after>\d{1,5}) ?(?P<of>[GT])i?B\b"
    r"|(?P<before>\d{1,5}) ?(?P<unit>[GT])i?B (?:of )?(?:(?:CPU|host|system|main) (?:memory|RAM)|RAM)\b"
)
_BYTES = {"G": 10**9, "T": 10**12}
_IN_PARTS = Remedy(
    "let the tool read and write tensor by tensor, where it or a newer release can: it then never holds all"
    " (MaxText's to_maxtext: `--lazy_load_tensors=true`)",
    slug="convert-tensor-by-tensor",
)
_IN_SHARDS = Remedy(
    "let each process read its own part of the checkpoint, straight to where it stays, and not the whole of"
    " it first: abstract shapes with shardings tell what to read",
    "state = checkpointer.restore(path, abstract)   # abstract: jax.ShapeDtypeStruct with a sharding each",
    slug="restore-sharded",
)
_ON_A_CPU = Remedy(
    "convert in host RAM, on a machine that has it: a conversion computes next to nothing, and the device has"
    " no part in it",
    "JAX_PLATFORMS=cpu python CONVERT.py ...",
    slug="on-the-cpu",
)


def converting(told: Surroundings) -> Line | None:
    """The line that tells that a checkpoint is brought into another form, where nothing trains."""
    trains = told.shows("training") or told.shows("fitting") or told.shows("jax: a gradient")
    return None if trains else told.shows(_CONVERTS)


def in_host_ram(told: Surroundings, weights: StatedWeights) -> Grower | None:
    """Weights that fill host RAM: sharding over devices and fewer trained weights save none of it."""
    said = told.shows("host RAM in words")
    if said is None:
        return None
    half = weights.bytes // 2
    takes = f"{weights.text} take {human(half)} in 16 bits and {human(weights.bytes)} in 32"
    beyond = _beyond(half, said, weights.line)
    if converting(told):
        what = f"the weights, which a conversion that reads them whole holds in host RAM: {takes}"
        return Grower(f"{what} ({weights.line.place}){beyond}", weights.line, tuple(_converted(weights)))
    what = f"the weights, in each process that reads them whole: {takes} ({weights.line.place}){beyond}"
    return Grower(what, weights.line, (_IN_SHARDS, _more_ram(weights)))


def _converted(weights: StatedWeights) -> Iterator[Remedy]:
    yield _IN_PARTS
    yield _more_ram(weights)


def _more_ram(weights: StatedWeights) -> Remedy:
    return Remedy(
        f"or take a machine with RAM for all of them and for copies beside them, {human(weights.bytes)} or"
        " more (cloud machines with much memory need no accelerator for it); swap on a fast disk does it"
        " slowly",
        slug="more-ram",
    )


def _beyond(need: int, *lines: Line) -> str:
    """That the RAM that the text states is less than that."""
    for line in lines:
        match = _RAM.search(line.text)
        if match is None:
            continue
        amount, unit = match["after"] or match["before"], (match["of"] or match["unit"]).upper()
        if int(amount) * _BYTES[unit] < need:
            return f", more than the {amount} {unit}B of RAM that the text states ({line.place})"
    return ""


def of_a_conversion(made: MadeByLine, weights: StatedWeights) -> MadeByLine:
    """What a line makes for a conversion: nothing of a training, and the CPU will do."""
    what = made.what.replace(_OF_A_TRAINING, "")
    size = f"{human(weights.bytes // 2)} in 16 bits, {human(weights.bytes)} in 32"
    return replace(
        made,
        what=f"{what}; it converts a model of {weights.text}: {size}",
        remedies=(_ON_A_CPU, *made.remedies),
    )


_OF_A_TRAINING = ", and most likely what the optimizer keeps of them"
