"""What a renderer may look at: the case, the ranked findings, the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.model.case import Case, Fits
from tfmemlens.model.finding import Action, Finding
from tfmemlens.model.fit import Fit
from tfmemlens.model.timeline import NeededLimit
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Report:
    """One input, explained."""

    case: Case
    findings: tuple[Finding, ...]
    verdict: str
    fit: Fit | None = None
    """How memory grows with the batch, where that was asked for."""
    actions: tuple[Action, ...] = ()
    """What to do, best first, each once."""

    @property
    def fits(self) -> Fits | None:
        """Whether a predicted step runs in the limit; None for a measurement and without a limit.

        YES where even the upper end of `needed_limit` fits, NO where not even the lower end of `error_bar`
        does. Of several devices the one that fits worst decides.
        """
        told = [moment.fits for moment in self.case.moments if moment.fits is not None]
        return next((each for each in (Fits.NO, Fits.UNDECIDED, Fits.YES) if each in told), None)

    @property
    def error_bar(self) -> tuple[int, int] | None:
        """Bytes between which the peak of a predicted step is expected; None for a measurement."""
        return self.case.moments[0].error_bar if self.case.moments else None

    @property
    def needed_limit(self) -> NeededLimit | None:
        """The limit that an allocator needs for a predicted step, and its upper end (`bytes`, `high_bytes`);
        None where it was not worked out: for a measurement, a GPU, a graph.
        """
        return self.case.moments[0].needed_limit if self.case.moments else None

    def to_frame(self) -> pandas.DataFrame:
        """The allocations of the moment that matters most, with layer, kind and phase, largest first.

        Columns as in `AllocationTable.to_frame()` plus `layer`, `kind`, `phase` and `total_bytes`; sizes in
        bytes, times in microseconds.
        """
        import pandas

        if not self.case.moments:
            return pandas.DataFrame(columns=["node", "layer", "kind", "phase", "total_bytes"])
        attribution = self.case.moments[0].attribution
        frame = attribution.table.to_frame()
        for name in ("layer", "kind", "phase"):
            frame[name] = [
                str(value) if (value := getattr(owner, name)) is not None else None
                for owner in attribution.owners
            ]
        frame["total_bytes"] = frame["size_bytes"] * frame["count"]
        return frame.sort_values("total_bytes", ascending=False, ignore_index=True)
