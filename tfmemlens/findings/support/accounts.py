"""An account of all that a program makes, beside what says what the request is: the one adds to the other,
and never takes its place. So a page of a log with its program says no less than that of the log alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.finding import Basis, Finding, Severity

_HARDLY_MORE = 1.5
"""An account of less than this many times what the request's own finding explains is mostly that request."""
_OF_A_SHAPE = (Basis.MEASURED, Basis.TRACED, Basis.SHAPE)


def in_place(ranked: Sequence[Finding]) -> list[Finding]:
    """Ranked findings, an account that explains hardly more than what the request is behind that."""
    placed = list(ranked)
    for account in [each for each in ranked if each.account]:
        particular = what_is_asked(account, placed)
        if particular and (account.explains or 0) < _HARDLY_MORE * (particular.explains or 0):
            placed.remove(account)
            placed.insert(placed.index(particular) + 1, account)
    return placed


def what_is_asked(account: Finding, ranked: Sequence[Finding]) -> Finding | None:
    """The finding that says what the request is, which an account would go before."""
    after = ranked[ranked.index(account) + 1 :]
    return next(
        (
            each
            for each in after
            if each.moment == account.moment
            and each.severity is Severity.CAUSE
            and each.basis in _OF_A_SHAPE
            and each.because
            and each.explains
            and not each.account
        ),
        None,
    )
