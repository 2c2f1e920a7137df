"""What a scan of many logs did, in a few lines; while it runs, in one."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.escaping import visible
from tfmemlens.model.scan_summary import ScanSummary
from tfmemlens.renderers.view import View
from tfmemlens.units import human

_WIDTH = 24
_NO_FAILURE, _UNREADABLE = "no failure", "unreadable"


def render(summary: ScanSummary, view: View = View()) -> str:
    """The whole account: what was there, what was read, what came of it, what went wrong."""
    del view
    return "".join(f"{visible(line)}\n" for line in _lines(summary))


def _lines(summary: ScanSummary) -> Iterator[str]:
    left_out = [
        f"{count:,} {why}"
        for count, why in (
            (summary.unchanged, "unchanged since they were read"),
            (summary.too_old, "too old"),
        )
        if count
    ]
    listed = f"{_count(summary.listed, 'file')} listed"
    yield f"{listed}, {', '.join(left_out)}" if left_out else listed
    if summary.saved_inputs:
        yield (
            f"kept from a scan that was cut short: {_count(summary.saved_inputs, 'input')},"
            f" {_count(summary.saved_incidents, 'incident')}"
        )
    if summary.to_read:
        took = f" in {duration(summary.seconds)}" if summary.seconds else ""
        yield f"{summary.files:,} of {_count(summary.to_read, 'file')} read ({human(summary.bytes)}){took}"
    yield (
        f"{_count(summary.incidents, 'incident')} in {_count(summary.inputs['read'], 'input')};"
        f" {summary.inputs[_NO_FAILURE]:,} without a failure, {summary.inputs[_UNREADABLE]:,} unreadable"
    )
    for ending, count in summary.ended.most_common():
        yield f"  {count:,} of those without ended otherwise: {ending}"
    for source, reason in summary.unreadable:
        yield f"  unreadable: {source}: {reason}"
    more = summary.inputs[_UNREADABLE] - len(summary.unreadable)
    if more > 0:
        yield f"  and {more:,} more: the table inputs has them all"
    for problem in summary.problems:
        yield f"  {problem}"
    if summary.retries:
        yield f"the storage was asked again {summary.retries:,}×"
    if summary.repeated_tasks:
        yield f"{_count(summary.repeated_tasks, 'task')} repeated, since a worker was lost"
    if summary.stopped:
        yield f"stopped: {summary.stopped}; what was read is kept, the same command reads the rest"
    yield f"tables: {summary.out}/incidents, {summary.out}/inputs"


def progress_line(summary: ScanSummary) -> str:
    """`[####----]  17%  3,400 of 20,000 files, 170 MiB, 102 incidents, 2 min left`."""
    full = int(summary.share * _WIDTH)
    left = "" if summary.seconds_left is None else f", {duration(summary.seconds_left)} left"
    return (
        f"[{'#' * full}{'-' * (_WIDTH - full)}] {summary.share:4.0%}"
        f"  {summary.files:,} of {_count(summary.to_read, 'file')}, {human(summary.bytes)},"
        f" {_count(summary.found, 'incident')}{left}"
    )


def duration(seconds: float) -> str:
    """`40 s`, `7 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
