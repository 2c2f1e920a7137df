"""Bytes out of storage: compressed, in archives, cut, damaged, and of a storage that fails."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.needed import fleet
from tfmemlens.fleet import opening, sources
from tfmemlens.fleet.opening import GoneError, RefusedError, StorageError

pytestmark = fleet

TEXT = "".join(f"step {number} loss {random.Random(number).random()}\n" for number in range(4000)).encode()
NO_LIMIT = 1 << 30


def zstd(raw: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(raw)


def tar(members: dict[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, raw in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    return whole.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return whole.getvalue()


def contents(file: Path, raw: bytes, limit: int = NO_LIMIT) -> list[tuple[str, bytes, str]]:
    """What a file holds: name, bytes, damage."""
    file.write_bytes(raw)
    (listed,) = sources.find([str(file)], {}).inputs
    found = []
    for entry in opening.entries(listed, {}, limit):
        found.append((entry.source.removeprefix(str(file)), entry.stream.read(), entry.damage()))
    return found


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda raw: raw,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstd,
    "gzip twice": lambda raw: gzip.compress(gzip.compress(raw)),
    "two gzip files": lambda raw: gzip.compress(raw[:1000]) + gzip.compress(raw[1000:]),
    "two zstandard files": lambda raw: zstd(raw[:1000]) + zstd(raw[1000:]),
}


@pytest.mark.parametrize("how", PACKED)
def test_what_is_compressed_is_known_by_its_bytes(how: str, tmp_path: Path) -> None:
    assert contents(tmp_path / "log", PACKED[how](TEXT)) == [("", TEXT, "")]


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda raw: lzma.compress(raw, preset=0), zstd, lambda raw: bz2.compress(raw, 1)],
    ids=["gzip", "xz", "zstandard", "bzip2"],
)
def test_what_is_cut_is_read_as_far_as_it_goes(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    text = b"".join(bytes(random.Random(seed).choices(b"abcdef \n", k=1 << 17)) for seed in range(4))
    packed = pack(text)
    ((_, raw, damage),) = contents(tmp_path / "log", packed[: len(packed) * 2 // 3])
    assert text.startswith(raw)
    assert len(raw) > len(text) // 4
    assert damage.startswith("damaged after ")


@pytest.mark.parametrize("pack", [lambda raw: raw, gzip.compress, lzma.compress, bz2.compress, zstd])
def test_members_of_a_tar(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    raw = pack(tar({"a/1.log": TEXT, "2.log.gz": gzip.compress(b"two"), "a/._1.log": b"x", "3": b""}))
    assert contents(tmp_path / "t", raw) == [
        ("!/a/1.log", TEXT, ""),
        ("!/2.log.gz", b"two", ""),
        ("!/3", b"", ""),
    ]


def test_a_cut_tar_gives_its_first_members(tmp_path: Path) -> None:
    found = contents(tmp_path / "t", tar({"1": b"one", "2": TEXT})[:50_000])
    assert [name for name, _, _ in found] == ["!/1", "!/2", ""]
    assert found[0][1:] == (b"one", "")
    assert TEXT.startswith(found[1][1])
    assert len(found[1][1]) > 40_000
    assert found[1][2].startswith("damaged after ")
    assert found[2][1:] == (b"", found[2][2])
    assert found[2][2].startswith("damaged: ")


def test_members_of_a_zip(tmp_path: Path) -> None:
    raw = zipped({"a/1.log": TEXT, "2.gz": gzip.compress(b"two"), "__MACOSX/._x": b"x"})
    assert contents(tmp_path / "z", raw) == [("!/a/1.log", TEXT, ""), ("!/2.gz", b"two", "")]


def test_archives_in_archives(tmp_path: Path) -> None:
    inner = tar({"0.log": b"zero", "1.log.zst": zstd(b"one")})
    whole = tar({"a.tar.gz": gzip.compress(inner), "b.zip": zipped({"2.log": b"two"}), "3.log": b"three"})
    expected = [
        ("!/a.tar.gz!/0.log", b"zero", ""),
        ("!/a.tar.gz!/1.log.zst", b"one", ""),
        ("!/b.zip!/2.log", b"two", ""),
        ("!/3.log", b"three", ""),
    ]
    assert contents(tmp_path / "t", zstd(whole)) == expected
    assert contents(tmp_path / "z", zipped({"t.tar": whole}))[-1] == ("!/t.tar!/3.log", b"three", "")
    assert contents(tmp_path / "g", gzip.compress(zipped({"2.log": TEXT}))) == [("!/2.log", TEXT, "")]
    deep = zipped({"c.zip": zipped({"b.zip": zipped({"a.log": b"x"})})})
    ((name, raw, _),) = contents(tmp_path / "d", deep)
    assert (name, raw[:2]) == ("!/c.zip!/b.zip", b"PK"), "what lies deeper is not opened"


def test_a_damaged_archive_in_one_is_said_of_it(tmp_path: Path) -> None:
    whole = tar({"a.zip": zipped({"0.log": TEXT})[:-90], "1.log": b"one"})
    found = contents(tmp_path / "t", whole)
    assert [name for name, _, _ in found] == ["!/a.zip", "!/1.log"]
    assert found[0][2].startswith("damaged: ") and found[1][1:] == (b"one", "")


def test_a_keras_model_is_no_archive_of_logs(tmp_path: Path) -> None:
    raw = zipped({"config.json": b"{}", "metadata.json": b"{}", "model.weights.h5": b"x"})
    assert contents(tmp_path / "z", raw) == [("", raw, "")]


def test_damaged_zips(tmp_path: Path) -> None:
    raw = zipped({"1": b"one", "2": TEXT})
    ((name, content, damage),) = contents(tmp_path / "z", raw[:-200])
    assert (name, content, damage.partition(":")[0]) == ("", b"", "damaged")
    middle = raw.index(b"2", 60) + 50
    found = contents(tmp_path / "z", raw[:middle] + b"\0" * 200 + raw[middle + 200 :])
    assert found[0] == ("!/1", b"one", "")
    assert found[1][2].startswith("damaged after ")
    secret = bytearray(zipped({"1": b"one"}))
    for header, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        secret[secret.index(header) + place] |= 1
    assert contents(tmp_path / "z", bytes(secret)) == [("!/1", b"", "encrypted")]


def test_no_more_than_the_limit_is_unpacked(tmp_path: Path) -> None:
    ((_, raw, damage),) = contents(tmp_path / "log", gzip.compress(TEXT), 5000)
    assert raw == TEXT[:5000]
    assert "--limit-content" in damage
    ((_, raw, damage),) = contents(tmp_path / "log", gzip.compress(TEXT), len(TEXT))
    assert (raw, damage) == (TEXT, "")


class Flaky(io.BytesIO):
    """A file of a storage that fails at a place, or ends before it should."""

    def __init__(self, raw: bytes, fails_at: int | None = None, size: int | None = None) -> None:
        super().__init__(raw)
        self.fails_at, self.size = fails_at, size

    def read(self, count: int | None = -1, /) -> bytes:
        if self.fails_at is not None and self.tell() >= self.fails_at:
            raise ConnectionResetError("503 SlowDown")
        return super().read(min(count or 0, 100))


@pytest.mark.parametrize(
    "file", [Flaky(TEXT, fails_at=1000, size=len(TEXT)), Flaky(TEXT[:1000], size=len(TEXT))]
)
def test_a_storage_that_fails_is_an_error_of_its_own(file: Any, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"503 SlowDown|cut after 1,000 of"):
        io.BufferedReader(opening._Stored(file, file.size)).read()


def test_a_log_that_grows_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    grown = Flaky(TEXT + b"more", size=len(TEXT))
    assert io.BufferedReader(opening._Stored(grown, len(TEXT))).read() == TEXT


def test_what_is_gone_needs_no_other_attempt(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("x")
    (listed,) = sources.find([str(file)], {}).inputs
    assert opening.is_now(listed, {})
    file.write_text("xy")
    assert not opening.is_now(listed, {})
    file.unlink()
    assert not opening.is_now(listed, {})
    with pytest.raises(GoneError, match="FileNotFoundError"):
        list(opening.entries(listed, {}, NO_LIMIT))


@pytest.mark.parametrize(
    "problem, told",
    [
        (PermissionError("closed"), RefusedError),
        (FileNotFoundError("closed"), GoneError),
        (IsADirectoryError("closed"), GoneError),
        (OSError("closed"), StorageError),
    ],
)
def test_a_file_that_is_closed_may_be_open_in_the_next_scan(problem: OSError, told: type[Exception]) -> None:
    def ask() -> None:
        raise problem

    with pytest.raises(told, match=f"{type(problem).__name__}: closed"):
        opening._ask(ask)


def test_a_small_file_elsewhere_is_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/x/log", TEXT)
    (listed,) = sources.find(["memory://x/*"], {}).inputs
    assert (listed.source, listed.size) == ("memory:///x/log", len(TEXT))
    with opening.stored(listed, {}) as stream:
        assert stream.read() == TEXT
    monkeypatch.setattr(memory, "cat_file", lambda path: TEXT[:10])
    with pytest.raises(StorageError, match="cut after 10 of"):
        opening.stored(listed, {})


@pytest.mark.parametrize(
    ("raw", "packed"),
    [(gzip.compress(b"x"), True), (tar({"1": b"x"}), True), (zipped({}), False), (TEXT, False)],
    ids=["gzip", "tar", "zip", "text"],
)
def test_what_is_packed(raw: bytes, packed: bool) -> None:
    assert opening.is_packed(raw[:1000]) is packed


def test_a_lack_of_memory_is_no_error_of_the_storage() -> None:
    def ask() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        opening._ask(ask)
