"""Rows of one input: what `explain` says of it, with its place in the file, whatever the input is."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tfmemlens
from tests.conftest import ROOT
from tests.mangling import MANGLERS
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.fleet import flow, rows, schema
from tfmemlens.model.incident import Incident
from tfmemlens.readers.oom import words

LOGS = ROOT / "sample_traces" / "oom_log"
SAMPLES = sorted(LOGS.glob("*.txt"))
UNET = LOGS / "1.15-unet-layout.txt"
TWO = LOGS / "2.4-fragmentation.txt"
QUIET = b"".join(b"2024-05-01 10:00:%02d,000 INFO step %d loss 0.5\n" % (at % 60, at) for at in range(800))


def read(raw: bytes, **options: object) -> flow.ReadResult:
    return rows.read_bytes(io.BytesIO(raw), source="logs/a/train.log", **options)  # type: ignore[arg-type]


@cache
def failures_of(sample: Path) -> tuple[Incident, ...]:
    return words.failures(pipeline.capture(str(sample)))


def without_report(row: flow.Row) -> flow.Row:
    return {name: value for name, value in row.items() if name != "report"}


@pytest.mark.parametrize("sample", SAMPLES[::3], ids=lambda sample: sample.stem)
def test_a_row_for_each_failure_where_it_begins(sample: Path) -> None:
    raw = sample.read_bytes()
    failures = failures_of(sample)
    found = rows.incidents(sample)
    assert len(found) == len(failures)
    for row in found:
        assert list(row) == [column.name for column in schema.INCIDENTS]
        assert row["schema"] == schema.VERSION
        assert raw[: row["offset"]].count(b"\n") + 1 == row["line"]
        assert raw[row["offset"] - 1 : row["offset"]] in (b"", b"\n")
        document = json.loads(row["report"])
        assert [document["verdict"], len(document["incidents"])] == [row["verdict"], 1]
        assert document["incidents"][0]["occurrences"] == row["occurrences"]


def test_the_columns_of_a_failure() -> None:
    (row,) = rows.incidents(UNET, source="s3://b/vision/unet/1.log", team="vision", rank="3", zone="eu")
    document = json.loads(row["report"])
    told = document["incidents"][0]
    assert row["source"] == "s3://b/vision/unet/1.log"
    assert (row["team"], row["job"], row["rank"]) == ("vision", "s3://b/vision/unet", "3")
    assert row["labels"] == {"zone": "eu"}
    assert row["limit_bytes"] == told["allocator"]["limit_bytes"]
    assert row["largest_free_bytes"] == told["allocator"]["largest_free_chunk_bytes"]
    assert row["requested_bytes"] == told["request"]["rounded_bytes"]
    assert row["layer"] == told["request"]["layer"]
    assert row["rule"] == document["findings"][0]["rule"]
    assert row["action"] == document["actions"][0]["text"]
    assert row["saves_bytes"] == document["actions"][0]["saves_bytes"]
    assert row["kinds"] == document["kinds"]


def test_two_failures_of_a_log_are_two_documents_in_the_order_of_the_log() -> None:
    found = rows.incidents(TWO)
    assert [row["offset"] for row in found] == sorted(row["offset"] for row in found)
    assert len({row["report"] for row in found}) == len(found) == 2


def test_a_text_bytes_and_a_path_are_the_same() -> None:
    text = UNET.read_text(encoding="utf-8")
    ways = (UNET, str(UNET), text, text.encode())
    found = [rows.incidents(way, source="x", job="j") for way in ways]
    assert all(each == found[0] for each in found)


def test_a_log_without_failure_has_times_and_no_rows() -> None:
    result = read(QUIET)
    assert (result.status, result.reason, result.rows) == (schema.NO_FAILURE, None, [])
    assert f"{result.first_time} {result.last_time}" == "2024-05-01 10:00:00 2024-05-01 10:00:19"
    assert (result.size_read, result.lines) == (len(QUIET), 800)


def test_a_log_without_failure_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(pipeline, "report", parsed)
    monkeypatch.setattr("tfmemlens.readers.read", parsed)
    start = b"2024-05-01 10:00:00.0: I tensorflow/core/gpu_device.cc:1] Created device with 14000 MB memory\n"
    assert read(start + QUIET).status == schema.NO_FAILURE


def test_a_member_that_is_compressed_is_read() -> None:
    assert read(gzip.compress(UNET.read_bytes())).rows == read(UNET.read_bytes()).rows


def test_a_cut_archive_gives_what_stands_before_the_cut() -> None:
    whole = UNET.read_bytes()
    packed = gzip.compress(whole + random.Random(1).randbytes(1 << 16).hex().encode())
    result = read(packed[:-20_000])
    assert result.status == schema.READ and result.reason is not None and "damaged" in result.reason
    assert [row["signature"] for row in result.rows] == [row["signature"] for row in read(whole).rows]
    nothing = read(gzip.compress(QUIET)[:-20])
    assert nothing.status == schema.UNREADABLE and not nothing.rows


@pytest.mark.parametrize(
    ("raw", "status", "reason"),
    [
        (b"", schema.NO_FAILURE, "it is empty"),
        (bytes(range(256)) * 400, schema.UNREADABLE, "binary, of no format that tfmemlens knows"),
        (b"\x1f\x8b\x08\x00broken", schema.UNREADABLE, "damaged"),
        (b"\x00" * 5000 + UNET.read_bytes(), schema.READ, None),
    ],
    ids=["empty", "binary", "broken gzip", "holes"],
)
def test_what_is_no_log_does_not_raise(raw: bytes, status: str, reason: str | None) -> None:
    result = read(raw)
    assert result.status == status
    assert (result.reason is None) if reason is None else (reason in (result.reason or ""))


def test_a_trace_is_no_failure() -> None:
    result = read((ROOT / "sample_traces/run_metadata/1.15-lenet.pb").read_bytes())
    assert result.status == schema.NO_FAILURE and "run-metadata" in (result.reason or "")


def test_a_defect_of_ours_is_said_of_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise KeyError("slip")

    monkeypatch.setattr(pipeline, "report", defect)
    result = read(UNET.read_bytes())
    assert result.status == schema.UNREADABLE and "KeyError" in (result.reason or "")
    with pytest.raises(UnreadableInput):
        rows.incidents(UNET)


@pytest.mark.parametrize("mangler", sorted(MANGLERS))
def test_what_shippers_do_to_a_log_hides_no_failure(mangler: str) -> None:
    for sample in (UNET, LOGS / "2.21-unet-layout.txt", LOGS / "jax-0.10-attention.txt"):
        raw = MANGLERS[mangler](sample.read_text(encoding="utf-8").split("\n"))
        assert len(read(raw).rows) == len(failures_of(sample)), sample


def test_figures_and_letters_that_no_column_holds() -> None:
    text = f"OOM when allocating tensor with shape[{10**9},{10**9},{10**9}] and type float on /device:GPU:0\n"
    (row,) = read(text.encode() + b"\xed\xa0\x80 lone surrogate\n").rows
    assert row["requested_bytes"] is None
    row["report"].encode("utf-8")


def test_host_and_rank_come_from_the_text() -> None:
    line = "OOM when allocating tensor with shape[8,8] and type float on /device:GPU:0 by allocator GPU_0_bfc"
    (row,) = read(f"Jul  2 11:02:13 node17 trainer[41]: {line}\n".encode(), year=2018).rows
    assert (row["host"], str(row["time"])) == ("node17", "2018-07-02 11:02:13")
    (row,) = read("\n".join(f"[1,{rank}]<stderr>:{line}" for rank in (0, 1)).encode()).rows
    assert row["rank"] == "1,0, 1,1"


def test_incidents_needs_no_engine() -> None:
    code = (
        "import sys; from tfmemlens.fleet.rows import incidents; incidents(sys.argv[1]);"
        " print([name for name in ('dask', 'pyarrow', 'fsspec', 'pandas', 'numpy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, UNET], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("how", ["gzip", "bz2", "lzma", "zstandard"])
def test_what_is_compressed_is_read(how: str, tmp_path: Path) -> None:
    module = pytest.importorskip(how)
    raw = (ROOT / "sample_traces" / "oom_log" / "1.15-unet-report.txt").read_bytes()
    pack = module.ZstdCompressor().compress if how == "zstandard" else module.compress
    packed = gzip.compress(pack(raw))
    (expected,) = rows.incidents(raw, source="a")
    (tmp_path / "a.log").write_bytes(pack(raw))
    for given in (pack(raw), packed, tmp_path / "a.log"):
        (row,) = rows.incidents(given, source="a")
        assert (row["line"], row["signature"]) == (expected["line"], expected["signature"])
    with pytest.raises(UnreadableInput, match="damaged after"):
        rows.incidents(pack(raw)[:300])


def test_a_page_of_ours_among_logs_is_no_failure() -> None:
    report = tfmemlens.explain(UNET)
    for text in (report.to_html(), report._repr_html_()):
        for raw in (text.encode(), text.encode() + UNET.read_bytes() * 99):
            result = read(raw)
            assert (result.rows, result.status) == ([], schema.NO_FAILURE)
            assert result.reason == "a page that tfmemlens wrote"
