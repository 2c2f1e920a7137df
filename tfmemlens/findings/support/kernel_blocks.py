"""Whose kernel it is that lacks memory on the chip, and the settings of its blocks that the text states."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.capture import LIBRARY_FRAME, StatedSize, Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_OF_BLOCKS = regex(
    r"(?i)(?!(?:num|n|max|total)_)(?=\w*(?:chunk|block|tile))(?:\w+_)?(?:chunk|block|tile)s?"
    r"(?:_?size)?(?:_?(?:q|k|kv|m|n|query|key))?\Z"
)
_LEAST, _MOST_NAMES = 32, 3
_LIBRARY = regex(r"(?:site|dist)-packages/(?P<name>\w{1,40})/")
_FRAMEWORKS = frozenset(
    {"jax", "jaxlib", "flax", "equinox", "haiku", "optax", "numpy", "absl", "torch", "torch_xla", "fiddle"}
)


def halved(sizes: Sequence[StatedSize], times: float) -> str:
    """The settings of blocks that the text states, each with half of it, or less where that is too much by
    more: `chunk_q` 2,048 -> 1,024 (line 4). Empty where it states none.
    """
    found = {
        each.name: (each.sizes[0], each.line)
        for each in sizes
        if len(each.sizes) == 1 and each.sizes[0] >= _LEAST and _OF_BLOCKS.match(each.name)
    }
    named = dict(list(found.items())[:_MOST_NAMES])
    part = next((part for part in (2, 4, 8) if named and part ** len(named) >= times), 8)
    lines = dict.fromkeys(line.place for _, line in named.values())
    said = " and ".join(f"`{name}` {size:,} -> {size // part:,}" for name, (size, _) in named.items())
    return f"{said} ({', '.join(lines)})" if said else ""


def of_a_library(told: Surroundings) -> tuple[str, Line] | None:
    """The library, neither JAX nor a framework on it, whose lines end the traceback."""
    line = told.shows(LIBRARY_FRAME)
    found = _LIBRARY.search(line.text) if line else None
    return (found["name"], line) if line and found and found["name"] not in _FRAMEWORKS else None


_FOLDS = regex(r"(?i)\balphafold[ _-]?3|\balphafold3|\baf3\b")
_OF_ALPHAFOLD = Remedy(
    "the kernel is most likely AlphaFold 3's own attention, whose blocks are made for GPUs with more memory"
    " on the chip: let XLA compute it, which is slower and gives the same",
    "python run_alphafold.py --flash_attention_implementation=xla ...",
    slug="another-implementation",
)


def another_of_the_library(told: Surroundings) -> Remedy | None:
    """What its user can do, who did not write the kernel."""
    folds = told.shows("structure prediction")
    if folds and _FOLDS.search(folds.text):
        return _OF_ALPHAFOLD
    found = of_a_library(told)
    if found is None:
        return None
    name, line = found
    return Remedy(
        f"the kernel is {name}'s ({line.place}): let this call take another implementation (many offer one of"
        f" plain XLA) or smaller blocks, by an argument of it, or take a newer release of {name}",
        f"pip install -U {name}   # its call, where it has the argument: implementation='xla'",
        slug="newer-release",
    )
