"""Random damage to real logs, and text of their vocabulary that never was a log."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "sample_traces" / "oom_log"
WORDS = (
    "OOM when allocating tensor with shape[", "64,28,28,128]", " and type float on ",
    "/job:localhost/replica:0/task:0/device:GPU:0", " by allocator GPU_0_bfc",
    "\n\t [[{{node a/b_1/Conv2D}}]]", "\nCurrent usage from device: ", ", allocator: GPU_0_bfc\n",
    "  450.14MiB from a/b/c\n", "  Remaining 4 nodes with 1.2KiB\n",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)",
    "\nStats: \n", "Limit: 99\n", "InUse: 100\n", "Chunk at 0x1 of size 256\n",
    "Free at 7f next 18446744073709551615 of size 99999999999999999999\n",
    "1 Chunks of size 0 totalling 0B\n", "Sum Total of in-use chunks: 1.00GiB\n", "\x1b[31m", "\r", "\x00",
    "‮", "😀",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12 bytes.\n",
    "Peak buffers:\n\tBuffer 1:\n\t\tSize: 3.15GiB\n", "  1. Size: 32.00G\n     Unpadded size: 1.00G\n",
    "Total hbm usage >= 42.26G:\n", "Dst tensor is not initialized.", "[1,0]<stderr>:", "> ", "-1", "0",
    "999999999999", "[[", "]]", "(0) Resource exhausted: ", "2 root error(s) found.\n", "\n",
)  # fmt: skip


def bodies() -> list[str]:
    """All sample logs as text."""
    found = []
    for path in sorted(SAMPLES.glob("*.txt*")):
        raw = path.read_bytes()
        found.append((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace"))
    return found


def files(most_bytes: int = 1 << 20) -> list[bytes]:
    """The bytes of one small sample of each format and ending."""
    kinds: dict[tuple[str, str], bytes] = {}
    for path in sorted(SAMPLES.parent.rglob("*")):
        if path.is_file() and path.name != "README.md" and path.stat().st_size <= most_bytes:
            kinds.setdefault((path.parent.name, "".join(path.suffixes[-2:])), path.read_bytes())
    return list(kinds.values())


def damaged(raw: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """A file after accidents that text and binary formats have in common; a compressed one may be unpacked
    first.
    """
    if rng.random() < 0.7:
        raw = _unpacked(raw)
    for _ in range(rng.randrange(1, 5)):
        accident, at = rng.randrange(9), rng.randrange(len(raw) + 1)
        end = min(at + rng.choice([1, 8, 300, 5000]), len(raw))
        if accident == 0:
            raw = raw[:at]
        elif accident == 1:
            raw = raw[:at] + rng.randbytes(end - at) + raw[end:]
        elif accident == 2:
            raw = raw[:at] + raw[end:]
        elif accident == 3:
            raw = raw[:at] + raw[at:end] * rng.randrange(2, 5) + raw[end:]
        elif accident == 4:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            raw = raw[:at] + other[start : start + rng.choice([100, 20_000])] + raw[at:]
        elif accident == 5:
            raw = re.sub(rb"\d+", lambda _: b"9" * rng.choice([19, 21, 400]), raw[at:], count=3)
        elif accident == 6 and len(raw) < 100_000:
            raw = raw.decode("latin-1").encode(rng.choice(["utf-16", "utf-16-be", "utf-8-sig", "utf-32"]))
        elif accident == 7:
            raw = bytes(byte ^ (1 << rng.randrange(8)) if rng.random() < 0.002 else byte for byte in raw)
        else:
            raw = raw[:at] + b"\xff" * 9 + raw[at:]
    return raw


FIGURES = (
    b"0", b"-1", b"1e400", b"NaN", b"-Infinity", b"0.0000001", b"2147483648", b"9223372036854775808",
    b"18446744073709551615", b"18446744073709551616", b"9" * 400, b"1." + b"0" * 400 + b"1", b"0x", b"1_000",
    b"\xd9\xa3", b"\xc2\xb2", b"",
)  # fmt: skip
"""What may stand where a figure was: no number, not a number, more than any counter holds, other digits."""
VALUES = (
    b"null", b"true", b"[]", b"{}", b'""', b"-0", b"1e999", b'{"name":', b"[" * 3000, b'{"a":' * 3000,
    b'"\\ud800"', b'"\\u202e\\u001b[2J"', b"[null]", b"[[]]", b'"9"',
)  # fmt: skip
"""What may stand where a value of JSON was."""
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\btrue\b|\bfalse\b|\bnull\b')
_FIGURE = re.compile(rb"\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


def pieces(raw: bytes, rng: random.Random, most: int = 700) -> bytes:
    """A start, or lines from anywhere, of what a file holds."""
    raw = _unpacked(raw)
    if len(raw) <= most or rng.random() < 0.5:
        return raw[:most]
    at = raw.rfind(b"\n", 0, rng.randrange(len(raw) - most // 2)) + 1
    return raw[at : at + most]


def _unpacked(raw: bytes) -> bytes:
    """What an archive holds, where it is whole."""
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        return raw


def retyped(raw: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """A file whose figures, values, words and lengths say something else while its form is kept."""
    for _ in range(rng.randrange(1, 4)):
        accident, other = rng.randrange(7), rng.choice(others)
        if accident == 0:
            raw = _exchanged(raw, rng, _FIGURE, FIGURES)
        elif accident == 1:
            raw = _exchanged(raw, rng, _VALUE, VALUES)
        elif accident == 2:
            raw = _exchanged(raw, rng, _WORD, _WORD.findall(other) or FIGURES)
        elif accident == 3:  # lines of two formats in turn
            mine, theirs = raw.split(b"\n"), other.split(b"\n")
            at, start = rng.randrange(len(mine) + 1), rng.randrange(len(theirs))
            mine[at:at] = theirs[start : start + rng.choice([1, 3, 10])]
            raw = b"\n".join(mine)
        elif accident == 4 and raw:  # a length or a tag of protobuf
            at = rng.randrange(len(raw))
            told = rng.choice(
                [b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x0a\x02\x0a\x00"]
            )
            raw = raw[:at] + told + raw[at + 1 :]
        elif accident == 5:
            lines = raw.split(b"\n")
            at = rng.randrange(len(lines))
            lines[at] = (
                rng.choice([b"  ", b"> ", b"[1,0]<stderr>:", b"2026-01-01T00:00:00Z ", b'"']) + lines[at]
            )
            raw = b"\n".join(lines) if rng.random() < 0.8 else b"\r".join(lines)
        elif accident == 6 and rng.random() < 0.2:
            raw = gzip.compress(raw, 1)
    return raw


def _exchanged(raw: bytes, rng: random.Random, what: re.Pattern[bytes], into: Sequence[bytes]) -> bytes:
    """One to three of the places that a pattern finds say something else."""
    found = list(what.finditer(raw[:20_000]))
    for match in sorted(
        rng.sample(found, min(len(found), rng.randrange(1, 4))), key=lambda match: -match.start()
    ):
        raw = raw[: match.start()] + rng.choice(into) + raw[match.end() :]
    return raw


def soup(rng: random.Random) -> str:
    """Words of the vocabulary in random order."""
    return "".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 60)))


def mutated(body: str, rng: random.Random, most_lines: int = 400) -> str:
    """A piece of a real log after a few accidents."""
    lines = body.split("\n")
    if len(lines) > most_lines:
        start = rng.randrange(len(lines) - most_lines)
        lines = lines[start : start + most_lines]
    for _ in range(rng.randrange(1, 6)):
        accident, at = rng.randrange(12), rng.randrange(len(lines))
        if accident == 0:
            del lines[at : at + rng.randrange(1, 20)]
        elif accident == 1:
            lines[at:at] = lines[at : at + 5] * rng.randrange(1, 4)
        elif accident == 2:
            lines[at] = "".join(letter for letter in lines[at] if rng.random() > 0.1)
        elif accident == 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        elif accident == 4:
            lines.insert(at, soup(rng))
        elif accident == 5:
            lines[at] = lines[at] + lines[(at + 1) % len(lines)]
        elif accident == 6:
            rng.shuffle(lines)
        elif accident == 9:
            lines[at] = re.sub(
                r"\d+", lambda _: "9" * rng.choice([19, 21, 400]), lines[at], count=rng.randrange(1, 4)
            )
        elif accident == 10:
            lines[at] = lines[at].replace(" ", rng.choice(["\x1b[2J", "\u202e", "\x9b", "\ufdd0", "\t"]))
        elif accident == 11:
            words = lines[at].split() or ["step"]
            repeated = rng.choice(words) + rng.choice(["", " ", ", ", "1 "])
            lines[at] = repeated * (rng.choice([100, 20_000]) // len(repeated)) + lines[at]
        elif accident == 7:
            lines = [line for line in lines if rng.random() > 0.3]
        else:
            lines[at] = "".join(
                chr(rng.randrange(1, 0x2FFF)) if rng.random() < 0.05 else letter for letter in lines[at]
            )
        lines = lines or [""]
    return "\n".join(lines)
