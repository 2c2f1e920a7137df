"""Logs that ended otherwise have no incident, and are not lost: their row says how."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.fleet.made import log, write
from tests.fleet.needed import fleet
from tests.fleet.test_scan import LOG, Here
from tfmemlens.cli.main import main
from tfmemlens.fleet import endings, ranges, rows, schema
from tfmemlens.readers.oom.other_failures import CRASH, ELSEWHERE, FOREIGN, KERNEL_DIED

QUIET = b"epoch 1 step 10 loss 0.31 exit criterion not met, memory 3 GiB of 8 used, kernel 3x3\n"
TORCH = (
    b"Traceback (most recent call last):\n"
    b"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total"
    b" capacity; 12.10 GiB already allocated; 1.20 GiB free; 13.50 GiB reserved in total by PyTorch)\n"
)
SMALL = ranges.Sizes(piece=1 << 10, longest=64 << 10, head=4 << 10, tail=16 << 10, block=8 << 10)


def ending(tail: bytes) -> str | None:
    return schema.ending(endings.reason(tail))


def test_a_quiet_end_tells_nothing() -> None:
    assert endings.reason(QUIET * 400) is None
    assert endings.reason(b"") is None


@pytest.mark.parametrize("name", [*FOREIGN, *ELSEWHERE])
def test_every_message_of_others_is_known(name: str) -> None:
    for example in ({**FOREIGN, **ELSEWHERE})[name].examples:
        told = ending(QUIET * 3 + example.encode() + b"\n" + QUIET)
        assert told, example
        if name in FOREIGN and "memory" in told:
            assert told.endswith(" ran out of memory")


def test_a_crash_and_a_dead_kernel() -> None:
    assert {ending(example.encode()) for example in KERNEL_DIED.examples} == {"the notebook's kernel died"}
    assert "the process crashed" in {ending(example.encode()) for example in CRASH.examples}
    assert ending(b"step 1\r\x1b[2KSegmentation fault (core dumped)\r\n") == "the process crashed"


def test_the_framework_comes_before_the_crash_that_follows() -> None:
    assert ending(TORCH + b"Aborted (core dumped)\n") == "PyTorch ran out of memory"


def test_only_the_end_counts() -> None:
    early = TORCH + QUIET * (endings.TAIL // len(QUIET) + 2)
    assert endings.reason(early) is None


def test_a_word_without_its_message_is_none() -> None:
    assert (
        endings.reason(b"429 steps, quota of samples, No spacing, 2GB, exit code 0, aborted: false\n") is None
    )


def test_the_row_of_an_input_says_it() -> None:
    result = rows.read_bytes(io.BytesIO(QUIET * 20 + TORCH), source="a.log")
    assert (result.rows, result.status) == ([], schema.NO_FAILURE)
    assert result.reason == "ended otherwise: PyTorch ran out of memory"
    failed = rows.read_bytes(io.BytesIO(LOG.read_bytes() + b"\nSegmentation fault\n"), source="a.log")
    assert (failed.status, failed.reason) == (schema.READ, None)


def test_a_log_in_ranges_says_it_once() -> None:
    raw = QUIET * 4000 + TORCH
    cut = ranges.ranges(len(raw), length=128 << 10, sizes=SMALL)
    parts = [ranges.read_range(io.BytesIO(raw), part, source="a", sizes=SMALL) for part in cut]
    assert [part.reason for part in parts] == [None] * (len(cut) - 1) + [endings.reason(TORCH)]
    assert len(cut) > 1
    whole = ranges.joined(parts)
    assert (whole.status, whole.reason) == (schema.NO_FAILURE, endings.reason(TORCH))


def test_parts_together() -> None:
    ended = f"{schema.ENDED}the process crashed"
    quiet, read, broken = ("no failure", None), ("read", None), ("unreadable", "cut")
    assert schema.together([quiet, ("no failure", ended)]) == ("no failure", ended)
    assert schema.together([read, ("no failure", ended)]) == ("read", None)
    assert schema.together([read, broken, quiet]) == ("read", "cut")
    assert schema.together([quiet, broken, broken]) == ("unreadable", "cut")


@pytest.mark.fleet
class TestTold:
    pytestmark = fleet

    def test_a_scan_counts_them(self, tmp_path: Path) -> None:
        from tfmemlens.fleet.scanning import scan
        from tfmemlens.renderers.terminal.fleet_scan import render

        for number in range(2):
            (tmp_path / f"{number}.log").write_bytes(QUIET + TORCH)
        (tmp_path / "2.log").write_bytes(QUIET)
        summary = scan(str(tmp_path / "*.log"), str(tmp_path / "out"), Here())
        assert dict(summary.ended) == {"PyTorch ran out of memory": 2}
        assert "  2 of those without ended otherwise: PyTorch ran out of memory\n" in render(summary)

    def test_top_tells_the_most_frequent(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        kinds = "aaaabbbccd"
        logs = [
            log(f"{n}.log", status="no failure", incidents=0, reason=f"{schema.ENDED}{kind}")
            for n, kind in enumerate(kinds)
        ]
        folder = write(tmp_path / "failures", [], [*logs, log("x", status="unreadable", reason="cut")])
        assert main(["fleet", "top", folder]) == 1
        text = " ".join(capsys.readouterr().out.split())
        assert "10 inputs ended otherwise: a (4), b (3), c (2), others (1)" in text
        assert main(["fleet", "top", folder, "--json"]) == 1
        document = json.loads(capsys.readouterr().out)
        assert list(document["ended_otherwise"].items()) == [("a", 4), ("b", 3), ("c", 2), ("d", 1)]
        page = tmp_path / "fleet.html"
        assert main(["fleet", "report", folder, "-o", str(page)]) == 1
        assert "10 inputs ended otherwise: a (4)" in page.read_text()
