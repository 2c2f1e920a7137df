"""A sampler's request is a number of values for each chain and draw: the draws that it keeps until it ends.

What it means: NumPyro and its like hold every draw of every site of all chains on the device until the run is
over. Twice the draws take twice the memory, whatever the model's own step needs.
When it fires: a request of JAX's, of a program that samples, is a multiple of its stated chains and draws to
the byte (of its draws, where no chains are stated), and this can hardly be chance; not where it is a square
matrix to the byte, nor where a pool of the host's memory ran out.
What to do: draw in parts that go on from one another, and bring each to the host; keep each tenth draw, and
fewer sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tfmemlens.findings.support.rows import lists_buffers, on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_sizes import SQUARE_DTYPES, odd_part, stated_square
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, square_side
from tfmemlens.values import dataclass

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_DRAWS = regex(r"(?i)\A(?:(?:num(?:ber)?|n|nb)_?)?(?:samples|draws|iterations?|iter)\Z")
_CHAINS = regex(r"(?i)\A(?:(?:num(?:ber)?|n|nb)_?)?chains?\Z")
_LEAST_BYTES = 256 * MIB
_TELLING = 100
"""A multiple of a number with as much in odd factors is one by chance once in a hundred times."""
_LEAST_REST = 8
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class _Kept:
    """The draws that a request is for."""

    draws: StatedSize
    chains: StatedSize | None
    values: int
    """How many numbers each draw has."""

    @property
    def count(self) -> int:
        """Draws of all chains."""
        return self.draws.sizes[0] * (self.chains.sizes[0] if self.chains else 1)


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != JAX or not _samples(case):
        return
    for index, moment, request in list(requests(case))[:1]:
        kept = None if lists_buffers(moment) or on_host(moment) else _kept(case, request.needed_bytes)
        if kept is None:
            continue
        many = f"{kept.draws.sizes[0]:,} draws"
        if kept.chains:
            many = f"{kept.chains.sizes[0]:,} chains x {many}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the request is {many} x {kept.values:,} numbers in float32, to the byte",
            because=f"to the byte it is {many} x {kept.values:,} numbers in float32, so most likely the draws"
            " of all sites, which stay on the device until the run ends",
            explains=request.needed_bytes,
            evidence=(
                Evidence("the draws", kept.draws.line),
                *((Evidence("the chains", kept.chains.line),) if kept.chains else ()),
            ),
            remedies=_remedies(case, kept),
            moment=index,
        )


def _samples(case: Case) -> bool:
    return case.api.library == "NumPyro" or case.capture.surroundings.shows("sampling") is not None


def _kept(case: Case, need: int | None) -> _Kept | None:
    """The most draws that the request is a multiple of, with the chains where that holds, too."""
    sizes = case.capture.surroundings.sizes
    if need is None or need < _LEAST_BYTES or need % _FLOAT_BYTES or _is_square(need, sizes):
        return None
    numbers = [each for each in sizes if len(each.sizes) == 1]
    draws = [each for each in numbers if _DRAWS.match(each.name)]
    chains = [each for each in numbers if _CHAINS.match(each.name) and each.sizes[0] > 1]
    found = [
        _Kept(of, within, need // (_FLOAT_BYTES * count))
        for of, within in product(draws, (*chains, None))
        if (count := of.sizes[0] * (within.sizes[0] if within else 1))
        and odd_part(count) >= _TELLING
        and need % (_FLOAT_BYTES * count) == 0
        and need // (_FLOAT_BYTES * count) >= _LEAST_REST
    ]
    return max(found, key=lambda kept: kept.count, default=None)


def _is_square(need: int, sizes: Sequence[StatedSize]) -> bool:
    """Whether it is a matrix of each of many rows by each, which tells more than a multiple of the draws:
    round numbers meet in a square by chance.
    """
    sides = (square_side(need, item) for item, _ in SQUARE_DTYPES)
    return stated_square(need, sizes) is not None or any(side and side % _ROUND for side in sides)


_ROUND = 100
_IN_PARTS = (
    "mcmc.post_warmup_state = mcmc.last_state   # after each part; then: mcmc.run(mcmc.last_state.rng_key)"
)


def _remedies(case: Case, kept: _Kept) -> tuple[Remedy, ...]:
    numpyro = case.api.library == "NumPyro"
    part = human(_FLOAT_BYTES * kept.values * max(kept.count // 10, 1))
    return (
        Remedy(
            f"draw in parts, say a tenth of the draws at a time ({part}), bring each part to the host,"
            " and go on"
            " from the state that it ended with",
            _IN_PARTS if numpyro else "parts.append(jax.device_get(samples))",
            slug="fewer-draws",
        ),
        Remedy(
            "or keep each tenth draw only (thinning), which loses little where draws are correlated",
            f"MCMC(kernel, num_samples={kept.draws.sizes[0]}, thinning=10, ...)" if numpyro else None,
            slug="thin-draws",
        ),
        Remedy(
            "keep fewer sites: what is computed from others (numpyro.deterministic) can be computed"
            " afterwards,"
            " in batches of draws"
            if numpyro
            else "keep fewer values of each draw: what follows from others can be computed afterwards",
            slug="return-less",
        ),
    )
