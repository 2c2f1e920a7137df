"""What the figures of a failure leave out, said plainly."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.attribution.moments.curves import of_curve
from tfmemlens.model.case import Balance
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.units import human, human_size


def omissions(incident: Incident, books: Balance) -> tuple[str, ...]:
    """Sentences, each about one thing that is not in the table."""
    return tuple(_omissions(incident, books))


def _omissions(incident: Incident, books: Balance) -> Iterator[str]:
    if incident.compiler:
        yield from _of_compiler(incident)
    elif incident.request.kind is RequestKind.PROFILE:
        yield from _of_profile()
    elif incident.holders:
        yield from _of_report(incident, books)
    elif incident.chunks or incident.size_classes:
        yield "The dump has chunk sizes but no names: it cannot say which layer holds a chunk."
        if incident.chunks and not incident.chunks.complete:
            yield "Part of the chunk list is missing from this input, so sums over chunks are lower bounds."
    listed = sum(entry.count * entry.size_bytes for entry in incident.size_classes)
    if (
        incident.state.in_use
        and incident.size_classes
        and not incident.holders
        and listed < 0.9 * incident.state.in_use.low
    ):
        yield (
            f"The list of sizes was cut where it was pasted: it covers {human(listed)} of the"
            f" {human_size(incident.state.in_use)} in use."
        )
    if incident.request.kind is RequestKind.DUMP and incident.request.line is None and incident.chunks:
        yield (
            "A MemoryDump states neither the limit nor the request that failed; the log of the same run has"
            " both."
        )
    elif (
        incident.request.kind in (RequestKind.TENSOR, RequestKind.DUMP)
        and not incident.compiler
        and books.limit is None
    ):
        yield (
            "No `Stats:` block or dump is in this input, so limit, free memory and fragmentation cannot be"
            " judged."
        )


def _of_report(incident: Incident, books: Balance) -> Iterator[str]:
    yield (
        "The list covers what this step allocated and still holds. Weights and optimizer slots from earlier"
        " steps, constants, running ops, received tensors, the failed request itself, cuDNN workspaces and"
        " other processes are not in it."
    )
    if books.outside_report is not None and books.outside_report.bytes:
        yield f"Here {human_size(books.outside_report)} were in use outside the list."
    if not books.total.exact and books.total.bytes:
        yield (
            "TensorFlow rounds the sizes it prints: the sum is exact to within"
            f" {human(books.total.error_bytes)}."
        )
    if any(block.cut for block in incident.holders):
        yield "The list was cut where it was pasted; more nodes held memory."
    if any(
        block.allocator and incident.request.allocator and block.allocator != incident.request.allocator
        for block in incident.holders
    ):
        yield "Some blocks are of another allocator than the one that failed."


def _of_profile() -> Iterator[str]:
    yield "A profile says what was held when it was saved: temporaries of programs that ran before are gone."
    yield "It knows no limit of the device: how near it was to full cannot be said."


def _of_compiler(incident: Incident) -> Iterator[str]:
    if incident.request.kind is RequestKind.PROGRAM:
        yield "This is one program: arrays that other programs or the framework keep alive come on top."
        if incident.compiler and incident.compiler.schedule:
            yield from of_curve(incident.compiler.schedule)
        else:
            yield "These figures have no order, so no curve of the program is drawn."
    elif incident.compiler and incident.compiler.cut:
        yield (
            "The first, largest buffers of the list are missing from this input: shares and sums are of the"
            " rest."
        )
    elif incident.holders:
        yield (
            "XLA lists its largest buffers only (15, on TPU 20), of one moment and without an order; smaller"
            " ones and other executables come on top."
        )
    else:
        yield "This message has no list of buffers, so nothing can be said about layers."
