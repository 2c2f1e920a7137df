"""Which tests execute a line of the package? Each test file is run once with the interpreter's own monitoring
(Python 3.12), and what it executed is kept.

It is kept until that file of tests changes, or `afresh` is asked for: so an interrupted run goes on where
it stopped, and a new test costs only its own file. Where the package has changed since, lines are looked up
where they stood: a test that began to execute a line after that is not known to, and no mutant of that line
is tried on it; the figures err towards survivors.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import forks
import pytest

LEFT_OUT = "not browser and not tensorflow and not node"
"""Tests that run the program outside of this process, where nothing sees which lines they execute."""
GOLDEN_FIXTURES = ("golden", "golden_verdict")
"""What a test that compares a page, or an entry of the list of verdicts, asks for."""
_LIMIT_SECONDS = 600.0
_OVERHEAD_SECONDS = 0.02
PACKAGE = "tfmemlens"


@dataclass
class Coverage:
    """For each test its seconds, and for each file of the package the lines that each test executes."""

    seconds: dict[str, float] = field(default_factory=dict)
    golden: set[str] = field(default_factory=set)
    lines: dict[str, int] = field(default_factory=dict)
    """How many lines of the package a test executes: the fewer, the closer it is to each of them."""
    bits: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    """A test, and a bit for each line of this file."""

    def tests_of(self, file: str, lines: Iterable[int]) -> set[str]:
        """The tests that execute one of these lines."""
        wanted = sum(1 << line for line in set(lines))
        return {test for test, bits in self.bits.get(file, ()) if bits & wanted}

    def below(self, folder: str) -> set[str]:
        """The tests in a folder."""
        return {test for test in self.seconds if test.startswith(folder)}

    def cost(self, test: str) -> float:
        """Seconds of the processor that it takes, with what pytest needs for it."""
        return self.seconds[test] + _OVERHEAD_SECONDS

    def ordered(self, tests: Iterable[str]) -> list[str]:
        """Quick tests that execute little first."""
        return sorted(tests, key=lambda test: (self.lines[test] * self.cost(test), test))


class Recorder:
    """A plugin of pytest: for each test that passes, its seconds, whether it compares a golden file, and the
    lines of the package that it executed, a bit for each.
    """

    def __init__(self, root: Path) -> None:
        self.inside = f"{root / PACKAGE}/"
        self.root = root
        self.tests: dict[str, Any] = {}
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._failed = False
        self._monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - mypy reads this for 3.10
        self._monitoring.use_tool_id(self._monitoring.COVERAGE_ID, "mutants")
        self._monitoring.register_callback(
            self._monitoring.COVERAGE_ID, self._monitoring.events.LINE, self._line
        )

    def _line(self, code: Any, line: int) -> Any:
        if code.co_filename.startswith(self.inside):
            self._lines[code.co_filename].add(line)
        return self._monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch one test."""
        self._lines.clear()
        self._failed = False
        self._monitoring.restart_events()
        self._monitoring.set_events(self._monitoring.COVERAGE_ID, self._monitoring.events.LINE)
        start = time.process_time()
        result = yield
        took = time.process_time() - start
        self._monitoring.set_events(self._monitoring.COVERAGE_ID, 0)
        if not self._failed:
            lines = {
                Path(file).relative_to(self.root).as_posix(): hex(sum(1 << line for line in found))
                for file, found in self._lines.items()
            }
            self.tests[item.nodeid] = [round(took, 3), is_golden(item), lines]
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a test that fails or is skipped, nothing counts."""
        self._failed |= not report.passed


def is_golden(item: pytest.Item) -> bool:
    """Whether a test compares what the program says with a golden file."""
    return any(fixture in getattr(item, "fixturenames", ()) for fixture in GOLDEN_FIXTURES)


def measured(copy: Path, kept: Path, processes: int, afresh: bool = False) -> Coverage:
    """What the tests of this checkout execute; runs those of which nothing is kept. Nothing of a test that
    fails counts.
    """
    kept.mkdir(parents=True, exist_ok=True)
    sources = {
        path.relative_to(copy).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((copy / PACKAGE).rglob("*.py"))
    }
    state = hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]
    _write(kept / f"{state}.sources.gz", sources)
    records = {}
    for file in sorted((copy / "tests").rglob("test_*.py")):
        name = file.relative_to(copy).as_posix()
        content = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        records[name] = kept / f"{name.removesuffix('.py').replace('/', '-')}-{content}.gz"
    missing = [name for name, record in records.items() if afresh or not record.exists()]

    def record(name: str) -> int:
        recorder = Recorder(copy)
        pytest.main([*OPTIONS, "-m", LEFT_OUT, name], plugins=[recorder])
        _write(records[name], {"state": state, "tests": recorder.tests})
        return len(recorder.tests)

    for name, count in forks.each(missing, record, processes, lambda _: _LIMIT_SECONDS, kept / "log"):
        print(f"{name}:", "left out" if count is None else f"{count} tests", flush=True)
    coverage = Coverage()
    for path in records.values():
        if path.exists():
            _add(coverage, _read(path), kept, sources)
    return coverage


OPTIONS = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov")


def _write(path: Path, value: Any) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(json.dumps(value).encode(), 3))
    part.rename(path)


@cache
def _read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def _add(coverage: Coverage, record: Any, kept: Path, sources: dict[str, str]) -> None:
    then = _read(kept / f"{record['state']}.sources.gz")
    for test, (seconds, golden, lines) in record["tests"].items():
        coverage.seconds[test] = seconds
        coverage.lines[test] = 0
        if golden:
            coverage.golden.add(test)
        for file, digits in lines.items():
            bits = int(digits, 16)
            coverage.lines[test] += bits.bit_count()
            if file in sources:
                coverage.bits[file].append((test, _moved(bits, then[file], sources[file])))


def _moved(bits: int, then: str, now: str) -> int:
    """The same lines where they stand now."""
    if then == now:
        return bits
    moved = 0
    for old, line in _pairs(then, now):
        moved |= (bits >> old & 1) << line
    return moved


@cache
def _pairs(then: str, now: str) -> tuple[tuple[int, int], ...]:
    """Lines before and now, from 1; one of a changed piece stands for each line that replaced the piece."""
    pairs = []
    matcher = difflib.SequenceMatcher(None, then.split("\n"), now.split("\n"), autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            pairs += [(old + 1, old + 1 + new_start - start) for old in range(start, end)]
        else:
            pairs += [(old + 1, new + 1) for old in range(start, end) for new in range(new_start, new_end)]
    return tuple(pairs)
