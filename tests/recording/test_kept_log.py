"""A log of any length in bounded space."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmemlens.recording.beside import kept_log
from tfmemlens.recording.beside.kept_log import KeptLog


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    log = KeptLog(str(tmp_path / "log.txt"))
    log.add(1, b"one\ntw")
    log.add(1, b"o\n")
    assert log.close() == 0
    assert (tmp_path / "log.txt").read_bytes() == b"one\ntwo\n"


def test_lines_of_two_streams_do_not_tear_each_other(tmp_path: Path) -> None:
    log = KeptLog(str(tmp_path / "log.txt"))
    log.add(1, b"epoch 1: lo")
    log.add(2, b"warning\n")
    log.add(1, b"ss 0.5\nrest")
    log.close()
    assert (tmp_path / "log.txt").read_bytes() == b"warning\nepoch 1: loss 0.5\nrest"


def test_the_middle_goes_and_is_said(tmp_path: Path) -> None:
    log = KeptLog(str(tmp_path / "log.txt"), head_bytes=100, tail_bytes=600)
    lines = [b"line %05d\n" % number for number in range(1000)]
    for line in lines:
        log.add(1, line)
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 700
    dropped = log.close()
    text = (tmp_path / "log.txt").read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["log.txt"]
    assert text.startswith(b"line 00000\n")
    assert text.endswith(b"line 00998\nline 00999\n")
    notice = b"\n[tfmemlens run: %d bytes of the output are left out here]\n" % dropped
    assert len(text.replace(notice, b"")) == 11_000 - dropped < 701


def test_a_line_without_end_is_written_in_parts(tmp_path: Path) -> None:
    log = KeptLog(str(tmp_path / "log.txt"))
    log.add(1, b"x" * (kept_log._LONGEST_LINE + 1))
    assert (tmp_path / "log.txt").stat().st_size == kept_log._LONGEST_LINE + 1
    log.close()


def test_a_disk_that_takes_no_more_leaves_the_tail_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_log, "MEMORY_BYTES", 100)
    log = KeptLog("/dev/full" if Path("/dev/full").exists() else str(tmp_path / "none" / "log.txt"))
    for number in range(100):
        log.add(1, b"line %05d\n" % number)
    log.close()
    assert log.problem
    assert len(log.tail) <= 100
    assert log.tail.endswith(b"line 00098\nline 00099\n")


@pytest.mark.parametrize(
    ("written", "told"), [([], ""), ([b"no end"], "no end\n"), ([b"one\n", b"two\n"], "one\ntwo\n")]
)
def test_the_text_has_whole_lines(tmp_path: Path, written: list[bytes], told: str) -> None:
    log = KeptLog(str(tmp_path / "log.txt"))
    for data in written:
        log.add(2, data)
    log.close()
    assert log.text() == told


def test_the_text_of_a_log_that_no_disk_took_is_its_end(tmp_path: Path) -> None:
    log = KeptLog(str(tmp_path / "nowhere" / "log.txt"))
    log.add(2, b"from memory")
    log.close()
    assert log.problem
    assert log.text() == "from memory\n"
