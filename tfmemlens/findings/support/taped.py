"""What an open gradient tape held at the failure, as the program counted it, and in which of its layers."""

from __future__ import annotations

from collections.abc import Iterable

from tfmemlens.findings.support.rows import all_in_use, enumerated
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.live_model import HeldTensors, Holder
from tfmemlens.units import human
from tfmemlens.values import dataclass

_LEAST_SHARE = 1 / 3
"""Of what was in use."""
_MOST_LAYERS, _LEAST_OF_A_LAYER, _NEARLY_ALL = 3, 0.1, 0.9
_AGAIN = 3
"""A layer that was called so often is called in a loop: a pair of inputs calls one twice."""


@dataclass(frozen=True, slots=True)
class Taped:
    """Tensors that the tape alone leads to."""

    parts: tuple[tuple[HeldTensors, Holder], ...]
    bytes: int
    """No more than is in use: views of one buffer count as tensors."""
    layers: tuple[tuple[str, int, int], ...]
    """(layer, its bytes, how often it was called), the most bytes first, of the scopes that are known."""
    again: bool | None
    """Whether most was made in layers that were called again and again; None where no scope is known."""

    @property
    def place(self) -> str:
        """` of train.py:40`, the line that opens it, where the program's frames lead to it."""
        known = next((holder.place for _, holder in self.parts if holder.place), "")
        return f" of {known}" if known else ""

    @property
    def in_words(self) -> str:
        """What the tape keeps: of which layers, where they are known."""
        least = _LEAST_OF_A_LAYER * self.bytes
        most = [each for each in self.layers[:_MOST_LAYERS] if each[1] >= least]
        told = [_layer(*each) for each in most]
        what = f"the gradient tape{self.place} keeps {human(self.bytes)}"
        if not told:
            return f"{what} for its backward pass"
        if len(told) == 1 and most[0][1] >= _NEARLY_ALL * self.bytes:
            layer, size, calls = most[0]
            return f"the gradient tape{self.place} keeps {human(size)} of `{layer}`{_called(calls)}"
        return f"{what}, most of {enumerated(told)}"


def taped(case: Case, moment: Moment) -> Taped | None:
    """What it holds where that is a good part of what was in use."""
    parts = [(group, each) for group in case.capture.living for each in group.holders if each.is_tape]
    in_use = all_in_use(moment) or 0
    size = min(sum(holder.bytes for _, holder in parts), in_use)
    if not in_use or size < _LEAST_SHARE * in_use:
        return None
    holders = [holder for _, holder in parts]
    layers = tuple(_layers(moment, holders))
    size = min(max(size, sum(mine for _, mine, _ in layers)), in_use)
    return Taped(tuple(parts), size, layers, _again(holders))


def keeps_one_pass(case: Case, moment: Moment) -> bool:
    """Whether it keeps the outputs of layers that were called once each."""
    held = taped(case, moment)
    return held is not None and held.again is False


def _layers(moment: Moment, holders: list[Holder]) -> Iterable[tuple[str, int, int]]:
    """By the blocks that their tensors take."""
    scopes = {each.scope: max(each.calls, 1) for each in sorted(holders, key=lambda each: each.calls)}
    held: dict[str, int] = {}
    for group in moment.counted.by("layer") if moment.counted else ():
        size = sum(size for kind, size in group.kinds if kind in (Kind.ACTIVATION, Kind.GRADIENT))
        if group.name is not None and size and any(_within(scope, group.name) for scope in scopes):
            held[group.name] = size
    for layer, size in sorted(held.items(), key=lambda pair: -pair[1]):
        yield layer, size, max(calls for scope, calls in scopes.items() if _within(scope, layer))


def _within(scope: str | None, layer: str) -> bool:
    return f"/{layer}/" in f"/{scope or ''}/"


def _again(holders: list[Holder]) -> bool | None:
    scoped = [each for each in holders if each.scope]
    if not scoped:
        return None
    again = sum(each.bytes for each in scoped if each.calls >= _AGAIN)
    return 2 * again >= sum(each.bytes for each in scoped)


def _layer(layer: str, size: int, calls: int) -> str:
    return f"`{layer}` ({human(size)}{_called(calls, ', ')})"


def _called(calls: int, before: str = " in ") -> str:
    return f"{before}{calls:,} calls" if calls >= _AGAIN else ""
