"""JAX's device memory profile: who holds what, by the user's functions; damage says so."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.incident import RequestKind
from tfmemlens.readers.formats.device_memory_profile import samples

PROFILE = SAMPLES / "device_memory_profile" / "jax-0.10-training.prof"
MIB = 1 << 20


def held(path: Path) -> dict[str | None, int]:
    """Bytes by the stack that made them."""
    (incident,) = pipeline.capture(path).incidents
    (block,) = incident.holders
    totals: dict[str | None, int] = {}
    for row in block.table:
        totals[row.node] = totals.get(row.node, 0) + row.total_bytes
    return totals


def test_who_holds_what() -> None:
    """6 weights and 12 slots of 4 MiB, one batch of 8 MiB, three results of 4 bytes."""
    totals = held(PROFILE)
    assert totals["make_slots/<listcomp>"] == 48 * MIB
    assert totals["make_params/<listcomp>"] == 24 * MIB
    assert totals["make_batch"] == 8 * MIB
    assert sum(totals.values()) == 80 * MIB + 12


def test_it_is_no_failure_and_of_jax() -> None:
    capture = pipeline.capture(PROFILE)
    assert capture.source.framework == "jax"
    (incident,) = capture.incidents
    assert incident.request.kind is RequestKind.PROFILE
    assert not incident.fatal
    assert incident.state.in_use is not None and incident.state.in_use.bytes == 80 * MIB + 12


def test_the_evidence_is_the_user_s_line() -> None:
    (incident,) = pipeline.capture(PROFILE).incidents
    largest = max(incident.holders[0].table, key=lambda row: row.total_bytes)
    assert largest.line is not None
    assert largest.line.source.endswith("jax_memory_profile.py")
    assert largest.line.text == "in <listcomp>: zeros_like"


def test_unzipped_it_says_the_same(tmp_path: Path) -> None:
    plain = tmp_path / "plain.prof"
    plain.write_bytes(gzip.decompress(PROFILE.read_bytes()))
    assert held(plain) == held(PROFILE)


def test_a_cut_profile_says_so_or_that_nothing_is_left(tmp_path: Path) -> None:
    raw = gzip.decompress(PROFILE.read_bytes())
    _, whole = samples(raw)
    assert whole
    _, whole = samples(raw[: len(raw) - 3])
    assert not whole
    cut = tmp_path / "cut.prof"
    cut.write_bytes(raw[:20])
    with pytest.raises(UnreadableInput):
        pipeline.capture(cut)


def test_a_pprof_of_another_kind_is_none_of_ours(tmp_path: Path) -> None:
    raw = (
        gzip.decompress(PROFILE.read_bytes())
        .replace(b"space", b"nanos")
        .replace(b"allocations", b"millisecond")
    )
    other = tmp_path / "cpu.prof"
    other.write_bytes(raw)
    with pytest.raises(UnreadableInput):
        pipeline.capture(other)


@pytest.mark.parametrize("length", [b"\x7f", b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"])
def test_numbers_that_end_beyond_the_bytes_end_with_them(length: bytes) -> None:
    """A packed field whose length lies: its numbers are those that there are."""
    sample = b"\x12" + length + b"\x07\x09"
    (holding,), _ = samples(b"\x12" + bytes([len(sample)]) + sample)
    assert (holding.count, holding.size_bytes) == (7, 9)
