"""Which tests execute a line of the package? Asked of coverage, one test file after another, and kept.

What a test file executes is kept under the hash of what it depends on: the package, what tests share, and the
file itself. So an interrupted run goes on where it stopped, and a new test costs only its own file.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_LEFT_OUT = "not browser and not tensorflow and not node"
"""Tests that run the program outside of this process, where nothing sees which lines they execute."""
_GOLDEN = "test_verdicts.py"
"""Executes nearly all for every sample, and tells of an error only that something changed."""
_SETTINGS = "[run]\nsource = tfmemlens\nrelative_files = True\n"
_LIMIT_SECONDS = 1200.0
_UNTIMED_SECONDS = 1.0


@dataclass
class Coverage:
    """For each test its seconds, and for each file of the package the lines that each test executes."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: Counter[str] = field(default_factory=Counter)
    """How many lines of the package a test executes: the fewer, the closer it is to each of them."""
    bits: dict[str, list[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(list))
    """A test, and a bit for each line of this file, as coverage's `numbits` has them."""

    def tests_of(self, file: str, lines: Iterable[int]) -> set[str]:
        """The tests that execute one of these lines."""
        wanted = list(lines)
        return {
            test
            for test, bits in self.bits.get(file, ())
            if any(line // 8 < len(bits) and bits[line // 8] >> line % 8 & 1 for line in wanted)
        }

    def ordered(self, tests: Iterable[str]) -> list[str]:
        """Quick tests that execute little first."""
        return sorted(tests, key=lambda test: (self.lines[test] * (0.02 + self.seconds[test]), test))


def measured(copy: Path, cache: Path) -> Coverage:
    """What the tests of this checkout execute; runs those of which nothing is kept. Nothing of a test that
    fails counts.
    """
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "settings").write_text(_SETTINGS)
    python = sorted((copy / "tests").rglob("*.py"))
    files = [file for file in python if file.name.startswith("test_") and file.name != _GOLDEN]
    helpers = [file for file in python if not file.name.startswith("test_")]
    shared = _hash([*(copy / "tfmemlens").rglob("*.py"), *helpers], copy)
    coverage = Coverage()
    for file in files:
        name = file.relative_to(copy).as_posix()
        stem = cache / f"{name.removesuffix('.py').replace('/', '-')}-{_hash([file], copy, shared)[:16]}"
        if not stem.with_suffix(".xml").exists():
            _run(copy, name, cache, stem)
        if stem.with_suffix(".xml").exists():
            _add(coverage, name, stem)
    return coverage


def _hash(files: Iterable[Path], root: Path, start: str = "") -> str:
    whole = hashlib.sha256(start.encode())
    for file in sorted(files):
        whole.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def _run(copy: Path, name: str, cache: Path, stem: Path) -> None:
    """Write the lines and the seconds of one file's tests; nothing where they take too long."""
    data, report = stem.with_suffix(".data"), stem.with_suffix(".part")
    command = [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", _LEFT_OUT, name),
        *("--cov", f"--cov-config={cache / 'settings'}", "--cov-context=test", "--cov-report="),
        *(f"--junitxml={report}", "-o", "junit_family=xunit1"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "COVERAGE_FILE": str(data)}
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        print(f"{name}: left out, it takes more than {_LIMIT_SECONDS:.0f} s")
        return
    if report.exists():
        report.rename(stem.with_suffix(".xml"))
    print(f"{name}: {''.join((run.stdout + run.stderr).splitlines()[-1:])}", flush=True)


def _add(coverage: Coverage, name: str, stem: Path) -> None:
    passed = {}
    for case in ElementTree.parse(stem.with_suffix(".xml")).iter("testcase"):
        if case.find("failure") is None and case.find("error") is None and case.find("skipped") is None:
            within = case.get("classname", "").removeprefix(name.removesuffix(".py").replace("/", "."))
            test = f"{name}{within.replace('.', '::')}::{case.get('name')}"
            passed[test] = float(case.get("time") or _UNTIMED_SECONDS)
    coverage.seconds.update(passed)
    data = stem.with_suffix(".data")
    if not data.exists():
        return
    with sqlite3.connect(data) as rows:
        together: dict[tuple[str, str], int] = defaultdict(int)
        for file, context, bits in rows.execute(
            "select path, context, numbits from line_bits join file on file.id = file_id"
            " join context on context.id = context_id"
        ):
            test = context.rpartition("|")[0]
            if test in passed:
                together[file, test] |= int.from_bytes(bits, "little")
    rows.close()
    for (file, test), lines in together.items():
        coverage.bits[file].append((test, lines.to_bytes(lines.bit_length() // 8 + 1, "little")))
        coverage.lines[test] += lines.bit_count()
