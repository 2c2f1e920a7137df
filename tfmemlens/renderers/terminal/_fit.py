"""The page of `tfmemlens fit`: the answer, the peak at other batches, what grows, what each change would
buy.
"""

from __future__ import annotations

from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import BatchPrediction, Fit
from tfmemlens.renderers import savings
from tfmemlens.renderers.terminal._blocks import columns, display_width, heading, paragraph, with_texts
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent


def page(fit: Fit, view: View) -> list[str]:
    """Everything below the verdict."""
    ran = heading("batches that were tried", view) + tried(fit) if fit.tried else []
    if not fit.predictions:
        return ran
    return (
        ran
        + heading(f"what grows, at batch {fit.reported_batch}", view)
        + _parts(fit, view)
        + heading("the peak at other batches", view)
        + peaks(fit, view.width)
        + _checks(fit, view)
        + _remedies(fit, view)
    )


def _parts(fit: Fit, view: View) -> list[str]:
    grown = fit.per_sample_bytes * fit.reported_batch
    whole = grown + fit.fixed_bytes
    rows = [
        ["with the batch", human(grown), percent(grown, whole), f"{human(fit.per_sample_bytes)} per sample"],
        [
            "not at all",
            human(fit.fixed_bytes),
            percent(fit.fixed_bytes, whole),
            "weights, slots, their gradients, patches",
        ],
    ]
    if fit.pixel_bytes:
        rows.append(
            [
                "with the image",
                human(fit.pixel_bytes),
                percent(fit.pixel_bytes, whole),
                "height x width; most of it is in the batch, too",
            ]
        )
    if fit.sequence_bytes:
        rows.append(
            [
                "with the length",
                human(fit.sequence_bytes),
                percent(fit.sequence_bytes, whole),
                "most of it is in the batch, too",
            ]
        )
    lines = with_texts(rows, view.width, frozenset({1, 2}))
    holds = (
        f"; {fit.constraint} {'hold' if _plural(fit.constraint) else 'holds'} most"
        + (f", next {fit.runner_up}" if fit.runner_up else "")
        if fit.constraint
        else ""
    )
    how = "died" if fit.certainty is Certainty.BOUND else "was measured"
    how = "was predicted" if fit.predicted else how
    return lines + paragraph(
        f"The step {how} at batch {fit.batch}, as {_BATCH_SOURCES.get(fit.batch_source, fit.batch_source)}"
        f" says{holds}.",
        view.width,
        "  ",
    )


def _plural(what: str) -> bool:
    return what.endswith("s") and not what.startswith("what")


_BATCH_SOURCES = {
    "the graph's inputs": "the first dimension of the graph's inputs",
    "the commonest leading dimension": "the commonest first dimension of its tensors",
}


def peaks(fit: Fit, width: int) -> list[str]:
    """A line for each batch; with one space between its cells where two leave no room."""
    rows = []
    for each in fit.predictions:
        measured = each.measured_bytes is not None
        if fit.certainty is Certainty.BOUND:
            mark = "at least, as it died" if measured else "at least"
        else:
            mark = "measured" if measured else f"{human(each.low_bytes)} to {human(each.high_bytes)}"
        rows.append([f"batch {each.batch}", human(each.bytes), mark, _fits(fit, each)])
    lines = columns(rows, right=frozenset({1}))
    wide = max(map(display_width, lines), default=0) > width
    return columns(rows, right=frozenset({1}), gap=" ", indent=" ") if wide else lines


def _fits(fit: Fit, at: BatchPrediction) -> str:
    """Whether a batch fits the limit: that it does is said where the upper end of its bar does, too."""
    if fit.limit_bytes is None:
        return ""
    if at.batch > (fit.largest_batch or 0):
        return "does not fit"
    most = at.high_bytes if at.measured_bytes is None else at.measured_bytes
    return "may fit" if fit.certainty is Certainty.BOUND or most > fit.limit_bytes else "fits"


def tried(fit: Fit) -> list[str]:
    """A line for each batch that was run, the smallest first."""
    rows, seen = [], fit.tried.tried if fit.tried else ()
    for batch in sorted({each.batch for each in seen}):
        times = [each for each in seen if each.batch == batch]
        peak = max((each.peak_bytes or 0 for each in times), default=0)
        ran = sum(each.ran for each in times)
        rows.append([f"batch {batch}", human(peak) if peak else "", _ran(ran, len(times))])
    return columns(rows, right=frozenset({1}))


def _ran(ran: int, of: int) -> str:
    """How often steps of a batch ran."""
    if of == 1:
        return "ran" if ran else "did not run"
    return f"ran in {ran} of {of} processes" + ("" if ran == of else ": take a smaller one")


def _checks(fit: Fit, view: View) -> list[str]:
    if not fit.checks:
        return []
    return heading("checked against other steps", view) + columns(
        [_check(each) for each in fit.checks], right=frozenset({1, 2, 3})
    )


def _check(check: BatchPrediction) -> list[str]:
    error = check.error or 0.0
    return [
        f"batch {check.batch}",
        f"predicted {human(check.bytes)}",
        f"measured {human(check.measured_bytes or 0)}",
        f"{100 * error:+.1f} %",
    ]


def _remedies(fit: Fit, view: View) -> list[str]:
    if not fit.savings:
        return []
    lines = heading("what a change would buy", view)
    for each in fit.savings:
        most = "at most " if fit.certainty is Certainty.BOUND else ""
        batch = "" if each.largest_batch is None else f"; largest batch then {most}{each.largest_batch}"
        lines += paragraph(
            f"{each.text}: {savings.of_saving(each)} at batch {fit.batch}{batch}",
            view.width,
            "    ",
            "  ",
        )
    return lines
