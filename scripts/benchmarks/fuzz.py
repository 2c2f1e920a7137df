"""Feed many damaged logs to the whole pipeline: fuzz.py [COUNT] [SEED] [--files] [--keep FOLDER]. Prints each
input that raised; says how many ran.

With --files the inputs are files of every format and pieces of them, damaged byte by byte, retyped, spliced
with another format's and recoded; each may be refused with a hint, and none may raise anything else, or take
more than two seconds of the processor for a megabyte. An input that makes the program execute a line that no
earlier one did (Python 3.12), or say something new, is damaged further; with --keep these are kept in a
folder, and so is each input that failed, and the next run goes on with them.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests import fuzzing
from tests.test_properties import check
from tfmemlens import pipeline, renderers
from tfmemlens.errors import TfmemlensError
from tfmemlens.model.report import Report
from tfmemlens.renderers.json import report as report_document
from tfmemlens.renderers.markdown import report as markdown
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.view import View
from tfmemlens.use_cases.page import page_of

SECONDS_A_MEGABYTE = 2.0
"""Of the processor: the clock on the wall belongs to all that run beside this."""
HANGS = 30
"""Seconds of the processor after which an input is given up."""
MOST_BYTES = ((0.7, 1 << 9), (0.9, 1 << 10), (0.97, 1 << 11), (0.997, 1 << 15), (1.0, 1 << 20))
"""Most inputs are small, so that many run: (up to which share of them, bytes)."""
_SAID_EVERY = 60.0


class Lines:
    """Counts the lines of the package that nothing had executed before."""

    def __init__(self) -> None:
        self.count = 0
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring:
            self._disable = monitoring.DISABLE
            monitoring.use_tool_id(monitoring.COVERAGE_ID, "fuzz")
            monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, self._line)
            monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)

    def _line(self, code: Any, line: int) -> Any:
        del line
        self.count += "tfmemlens/" in code.co_filename
        return self._disable


class Corpus:
    """Inputs that were new in something, in memory and perhaps in a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.inputs: list[bytes] = []
        self.said: set[str] = set()
        if folder:
            (folder / "failed").mkdir(parents=True, exist_ok=True)
            self.inputs = [path.read_bytes() for path in sorted(folder.glob("*.in"))]

    def keep(self, raw: bytes) -> None:
        """To be damaged further."""
        self.inputs.append(raw)
        self._write("", raw)

    def failed(self, raw: bytes) -> None:
        """For who mends it."""
        self._write("failed", raw)

    def _write(self, where: str, raw: bytes) -> None:
        if self.folder:
            (self.folder / where / f"{hashlib.sha1(raw).hexdigest()[:16]}.in").write_bytes(raw)


@contextmanager
def given_up() -> Iterator[None]:
    """What runs within is ended by a TimeoutError where it hangs."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {HANGS} s of the processor")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_file(path: Path, rng: random.Random) -> set[str]:
    """A report that renderers show, or an error of ours; what it says: formats, rules, errors."""
    try:
        report = pipeline.timelines(path) if rng.random() < 0.05 else pipeline.explain(path)
    except TfmemlensError as refused:
        return {f"refused: {type(refused).__name__} {refused.hint}"[:80]}
    if not isinstance(report, Report):
        report = pipeline.report(report)
    assert terminal.render(report, View())
    chance = rng.randrange(40)
    if chance < 2:
        assert terminal.render(report, View(full=True, all_moments=True, width=60, unicode=False))
    elif chance < 4:
        assert report_document.render(report)
    elif chance < 6:
        assert markdown.render(report, View())
    elif chance == 6:
        assert renderers.render(page_of([report]), "page", "html")
    formats = "+".join(report.case.capture.source.formats)
    return {formats, *(f"{formats} {finding.rule} {finding.severity}" for finding in report.findings)}


def damaged(rng: random.Random, seeds: list[bytes], corpus: list[bytes]) -> bytes:
    """An input of the samples, or one that was new in something, after accidents."""
    parent = rng.choice(corpus if corpus and rng.random() < 0.6 else seeds)
    kind = rng.random()
    if kind < 0.4:
        raw = fuzzing.retyped(parent, rng, seeds)
    elif kind < 0.55 and b"\0" not in parent:
        raw = fuzzing.mutated(parent.decode("utf-8", "replace"), rng).encode("utf-8", "surrogatepass")
    else:
        raw = fuzzing.damaged(parent, rng, seeds)
    size = rng.random()
    return raw[: next(most for share, most in MOST_BYTES if size <= share)]


def seeds() -> list[bytes]:
    """Small samples of each format and ending, and pieces of them."""
    rng = random.Random(0)
    whole = fuzzing.files()
    cut = [fuzzing.pieces(raw, rng) for raw in whole for _ in range(6)]
    return cut + [raw for raw in whole if len(raw) <= 1 << 12]


def files(count: int, seed: str, keep: Path | None) -> int:
    """Damaged files of all formats."""
    lines, corpus, failures = Lines(), Corpus(keep), Counter[str]()
    first, slowest, over, begun, said_at = seeds(), 0.0, 0, time.process_time(), time.monotonic()
    known = list(corpus.inputs)
    number = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "input"
        while number < count:
            rng = random.Random(f"{seed}-{number}")
            warming = number < len(first) + len(known)
            if warming:
                raw = (first + known)[number]
            else:
                raw = damaged(rng, first, corpus.inputs)
            number += 1
            path.write_bytes(raw)
            before, start = lines.count, time.process_time()
            try:
                with given_up():
                    new = check_file(path, rng) - corpus.said
            except (Exception, RecursionError, MemoryError) as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                problem = f"{type(error).__name__} in {where.name}:{where.lineno}"
                failures[problem] += 1
                if failures[problem] == 1:
                    corpus.failed(raw)
                    print(f"{seed}-{number}: {problem}: {error}"[:300], flush=True)
                continue
            took = time.process_time() - start
            corpus.said |= new
            if (new or lines.count > before) and not warming:
                corpus.keep(raw)
            if took > SECONDS_A_MEGABYTE * max(len(raw) / 1e6, 1):
                over += 1
                corpus.failed(raw)
                print(f"{seed}-{number}: {took:.1f} s of the processor for {len(raw):,} bytes", flush=True)
            slowest = max(slowest, took)
            if time.monotonic() - said_at > _SAID_EVERY or number == count:
                said_at = time.monotonic()
                print(
                    f"{number:,} files, {failures.total()} failures at {len(failures)} places,"
                    f" {over} too slow, {len(corpus.inputs)} inputs kept, {lines.count:,} lines executed,"
                    f" {len(corpus.said)} answers, slowest {slowest:.2f} s,"
                    f" {time.process_time() - begun:.0f} s of the processor",
                    flush=True,
                )
    return bool(failures) or bool(over)


def texts(count: int, seed: str) -> int:
    """Damaged logs, whose books are balanced, too."""
    bodies, failures, slowest = fuzzing.bodies(), 0, 0.0
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        text = (
            fuzzing.soup(rng)
            if rng.random() < 0.3
            else fuzzing.mutated(rng.choice(bodies), rng, most_lines=120)
        )
        start = time.process_time()
        try:
            check(text)
        except Exception as error:
            failures += 1
            print(f"input {seed}-{number}: {type(error).__name__}: {error}", flush=True)
        slowest = max(slowest, time.process_time() - start)
    print(f"{count} inputs, {failures} failures, the slowest took {slowest:.2f} s")
    return bool(failures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100_000)
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("--files", action="store_true", help="damage files of every format")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where what was new is kept")
    args = parser.parse_args()
    sys.exit(files(args.count, args.seed, args.keep) if args.files else texts(args.count, args.seed))
