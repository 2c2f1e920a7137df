"""The allocator's state at a failure, without the request that failed.

What it means: a `MemoryDump` file or a dump whose head is missing shows every chunk, but not what was asked
for. Whether memory was short or scattered then depends on the size of the request: anything larger than the
largest free block needs the pool to grow.
When it fires: a dump, and no size of any request.
What to do: read it together with the log of the same run, which names the request: `tfmemlens explain
train.log dump_GPU_0_bfc.…`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import of_blocks, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human_size

BASIS = Basis.FIGURES
EXPLAINS = "the free bytes where they are scattered, else what is in use"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        books, state = moment.balance, moment.incident.state if moment.incident else None
        if (
            request.needed_bytes is not None
            or state is None
            or books.in_use is None
            or books.pool is None
            or books.largest_free_chunk is None
        ):
            continue
        scattered = bool(
            books.free
            and books.free.bytes >= 0.2 * books.pool.bytes
            and books.largest_free_chunk.bytes <= 0.5 * books.free.bytes
        )
        pieces = f" in {of_blocks(state.free_chunks)}" if state.free_chunks else ""
        shape = (
            f"{human_size(books.free)} of it free{pieces}, the largest {human_size(books.largest_free_chunk)}"
            if books.free
            else "none of it free"
        )
        remedies = [
            Remedy(
                "read it together with the run's log, which names what was requested",
                "tfmemlens explain train.log memory_dump_file",
                slug="read-with-log",
            )
        ]
        if scattered:
            remedies.append(
                Remedy(
                    "give all steps the same few shapes (pad inputs, or bucket them by length), so that a"
                    " freed block fits the next step",
                    slug="constant-shapes",
                )
            )
        yield Finding(
            severity=Severity.CAUSE if scattered else Severity.FACTOR,
            headline=(
                f"the pool has {human_size(books.pool)}, {shape}: a larger request fails unless the pool can"
                " still grow"
            ),
            because=(
                f"the pool of {human_size(books.pool)} is scattered, {shape}"
                if scattered
                else f"the pool of {human_size(books.pool)} has {human_size(books.in_use)} in use, {shape}"
            ),
            explains=books.free.bytes if scattered and books.free else books.in_use.bytes,
            evidence=(Evidence(f"in use: {human_size(books.in_use)}", state.line_of("in_use")),),
            remedies=tuple(remedies),
            moment=index,
        )
