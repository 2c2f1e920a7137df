"""What was in use before a step: the allocator's own totals, sampled while the step ran, minus what the step
itself had allocated by then.

A sample is taken after the kernel returned and before the node's execution ended, and the inputs are freed
within that time. So a sample agrees with every baseline that some instant of this span gives, and the
baseline is the one that most samples agree with. A buffer from before the step that the step frees (a
variable gets a new buffer) has no record: from then on all samples agree on a lower figure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from tfmemlens.model.timeline import Timeline
from tfmemlens.values import dataclass

Sample = tuple[float, float, int]
"""(kernel returned, execution ended, bytes in use in between)"""
_MAX_SAMPLES = 4_000
"""Samples beyond which every n-th is asked."""
_LONGEST = 64
"""Events within one span beyond which a sample tells too little."""
_CERTAIN = 0.97
_LEVELS = 12
_CHANGE = 3.0
"""How many samples must disagree before the baseline is taken to have changed."""
_REPLACED = 0.5
"""The same where the step keeps a buffer of just this size: a variable got a new one."""
_RISE = 4 * _CHANGE
"""The same where it rises: somebody else allocates (input threads, another session), or it was no sample of
this step.
"""


@dataclass(frozen=True, slots=True)
class UseChange:
    """From `before_micros` to `after_micros` the baseline changed by so many bytes: negative where a buffer
    from before the step was freed.
    """

    before_micros: float
    after_micros: float
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """The figure before the step, the share of samples that agree, and how it changed."""

    size_bytes: int
    share: float
    changes: tuple[UseChange, ...] = ()


def of_samples(timeline: Timeline, samples: Sequence[Sample]) -> Baseline | None:
    """The baseline that the samples give under a timeline whose own baseline is 0; None without samples."""
    asked = sorted(samples[:: len(samples) // _MAX_SAMPLES + 1])
    options = [(sample, possible) for sample in asked if (possible := _options(timeline, sample))]
    if not options:
        return None
    votes = Counter(level for _, possible in options for level in possible)
    best, count = max(votes.items(), key=lambda item: (item[1], -item[0]))
    if count >= _CERTAIN * len(options):
        return Baseline(best, count / len(options))
    kept = _replacements(timeline)
    levels = _levels(votes, kept)
    path = _path(levels, [possible for _, possible in options], kept)
    agreed = sum(level in possible for level, (_, possible) in zip(path, options, strict=True))
    changes = [
        UseChange(options[at - 1][0][1], options[at][0][0], path[at] - path[at - 1])
        for at in range(1, len(path))
        if path[at] != path[at - 1]
    ]
    return Baseline(path[0], agreed / len(options), tuple(changes))


def _options(timeline: Timeline, sample: Sample) -> frozenset[int]:
    """The baselines that a sample agrees with."""
    times, curve = timeline.events[0], timeline.curve
    returned, ended, in_use = sample
    first, last = bisect_left(times, returned), bisect_right(times, ended)
    if last - first > _LONGEST:
        return frozenset()
    return frozenset(in_use - (curve[index - 1] if index else 0) for index in range(first, last + 1))


def _replacements(timeline: Timeline) -> list[int]:
    """Sizes of what the step allocates for good, in order: a variable's new buffer, whose old one goes."""
    table = timeline.table
    return sorted({size for size, end in zip(table.size_bytes, table.end_micros, strict=True) if end is None})


def _levels(votes: Counter[int], kept: Sequence[int]) -> list[int]:
    """The levels worth a try: those with most votes, and those that replacing variables leads to."""
    ranked = [level for level, _ in votes.most_common()]
    levels = ranked[:_LEVELS]
    for level in levels:  # grows while we walk
        if len(levels) < 2 * _LEVELS:
            levels += [
                below for below in ranked if below not in levels and _is_replacement(level - below, kept)
            ][:2]
    return levels


def _is_replacement(freed: int, kept: Sequence[int]) -> bool:
    """Whether a buffer of this size may have made way for one that the step keeps: BFC's chunks are up to
    twice the request.
    """
    return bisect_left(kept, 2 * freed) > bisect_right(kept, freed // 2)


def _path(levels: Sequence[int], options: Sequence[frozenset[int]], kept: Sequence[int]) -> list[int]:
    """The level at each sample: as few disagreements as possible, where a change of level costs as much as
    several (Viterbi's algorithm).
    """
    places = range(len(levels))
    prices = [[_price(there - here, kept) for there in levels] for here in levels]
    costs = [0.0] * len(levels)
    back: list[list[int]] = []
    for possible in options:
        came = [min(places, key=lambda here: costs[here] + prices[here][there]) for there in places]
        costs = [
            costs[here] + prices[here][there] + (levels[there] not in possible)
            for there, here in enumerate(came)
        ]
        back.append(came)
    at = min(places, key=costs.__getitem__)
    path = []
    for came in reversed(back):
        path.append(levels[at])
        at = came[at]
    return path[::-1]


def _price(change: int, kept: Sequence[int]) -> float:
    """What a change of the baseline costs, in samples that disagree."""
    if change >= 0:
        return _RISE if change else 0.0
    return _REPLACED if _is_replacement(-change, kept) else _CHANGE
