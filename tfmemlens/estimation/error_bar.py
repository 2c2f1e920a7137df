"""How wide a bar stays round a prediction, whatever it was made of."""

from __future__ import annotations

_NARROW = 0.20
"""Half the width, as a share of the prediction, up to which a bar stays as it was found."""
_KEPT_OF_WIDE = 0.77
"""Wide bars sum up doubts of which few come true at once. Of 404 cases of the thirtieth to the forty-third
set of scripts/benchmarks/predictions.py 83 bars were wider than a fifth; their truths used 50 to 63 % of
them at the 80th percentile, those of bars of 12 to 20 % between 52 and 98 %. Drawn in by this, three more of
the 404 lie outside.
"""


def drawn_in(below: float, above: float) -> tuple[float, float]:
    """The ends of a bar, as shares of the prediction, with what a wide one is too wide by taken off both."""
    half = (below + above) / 2
    if half <= _NARROW:
        return below, above
    kept = max(_NARROW, _KEPT_OF_WIDE * half) / half
    return below * kept, above * kept
