"""A device memory profile says which functions made the arrays that are alive.

What it means: weights and Adam's two moments are three sets of the same size; what another function of the
program made and something still holds comes on top of them.
When it fires: the input holds JAX's device memory profile; of a failure beside it the profile is what the
device held, as far as both are of one run.
What to do: let go of what the program's own functions made, or bring it to the host; keep moments in 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.rows import Row, on_host, rows
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.MEASURED
EXPLAINS = "the arrays of the profile"

_OF_A_STATE = 3
_LEAST_BYTES = 64 * MIB
_LEAST_SHARE = 0.1


def check(case: Case) -> Iterator[Finding]:
    profiles = [(at, moment) for at, moment in enumerate(case.moments) if _is_profile(moment)]
    if not profiles:
        return
    at, profile = profiles[0]
    failures = [
        index for index, each in enumerate(case.moments) if not _is_profile(each) and not on_host(each)
    ]
    held = [row for row in rows(profile) if row.allocation.total_bytes >= _LEAST_BYTES]
    alike, own = _alike(held), _own(held)
    if not alike and (not failures or not own):
        return  # that there are arrays explains nothing
    total = profile.attribution.table.total_bytes
    parts = [
        *([f"{len(alike)} sets of {human(alike[0].allocation.total_bytes)}{_state(alike)}"] if alike else []),
        *(f"{human(row.allocation.total_bytes)} made in `{_function(row)}`" for row in own[:2]),
    ]
    what = f"{human(total)} of arrays" + (f": {', and '.join(parts)}" if parts else "")
    because = f"the memory profile beside it shows {what}" if failures else f"they are {', and '.join(parts)}"
    yield Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=total,
        evidence=tuple(
            Evidence(f"{_function(row)}: {human(row.allocation.total_bytes)}", row.allocation.line)
            for row in [*alike[:3], *own[:2]]
        ),
        remedies=tuple(_remedies(alike, own)),
        moment=failures[0] if failures else at,
    )


def _is_profile(moment: Moment) -> bool:
    return moment.request is not None and moment.request.failed.kind is RequestKind.PROFILE


def _alike(held: Sequence[Row]) -> list[Row]:
    """Rows whose sizes are the same as far as they are printed: three or more, the largest."""
    for row in held:
        size, error = row.allocation.total_bytes, row.allocation.error_bytes
        same = [
            each
            for each in held
            if abs(each.allocation.total_bytes - size) <= error + each.allocation.error_bytes
        ]
        if len(same) >= _OF_A_STATE:
            return same
    return []


def _own(held: Sequence[Row]) -> list[Row]:
    """What functions of the program's own made, beside what is alike; a tenth of the whole and more."""
    alike, whole = _alike(held), sum(row.allocation.total_bytes for row in held)
    return [
        row
        for row in held
        if row not in alike
        and " " in (row.allocation.node or "")
        and user_frame(row.allocation.node or "")
        and row.allocation.total_bytes >= _LEAST_SHARE * whole
    ]


_MAKES_STATE = regex(r"init|adam|scale_by|zeros_like|create|params|moment")


def _is_state(alike: Sequence[Row]) -> bool:
    """Whether three sets are most likely weights and two moments, by the functions that made them."""
    named = [row for row in alike if _MAKES_STATE.search(_function(row))]
    return len(alike) == _OF_A_STATE and len(named) >= _OF_A_STATE - 1


def _state(alike: Sequence[Row]) -> str:
    return " (most likely weights and Adam's two moments)" if _is_state(alike) else " of the same size"


def _function(row: Row) -> str:
    """`collect_logits` of `collect_logits /home/u/evaluate.py`."""
    return (row.allocation.node or "").split(" ")[0]


def _remedies(alike: Sequence[Row], own: Sequence[Row]) -> Iterator[Remedy]:
    if own:
        yield Remedy(
            f"bring to the host, or let go of, what `{_function(own[0])}` makes: it stays as long as"
            " something holds it",
            "kept.append(jax.device_get(result))   # or only a number of it: float(loss)",
            slug="keep-numbers",
        )
    if _is_state(alike):
        yield Remedy(
            "keep the first moments in 16 bits, or use an optimizer that keeps less (Adafactor, Lion, SGD)",
            "tx = optax.adamw(1e-3, mu_dtype=jnp.bfloat16)   # or optax.adafactor(1e-3)",
            slug="smaller-moments",
        )
