"""Which deliberate errors do the tests miss? mutants.py [--count 200] [--seed 1] [--only PART ...] [--list]

Each mutant is one small change of one line of the package: a comparison, a boundary, an operator, a constant,
a condition or a branch; `mutating.py` says what is left alone, and why. Each test file runs once, to see
which test executes which line (`covering.py`, which keeps it: a second sample starts at once). Then only
tests that execute a mutant's line run on it, in a fork of one process that has the libraries ready
(`forks.py`), until the first that fails: unit tests first, those that are quick and execute little before the
others; then those that compare golden pages and verdicts. Where they are too many, the closest run, those of
files that name the module before all others, and of the rest some spread over all (`_UNIT_SECONDS`,
`_GOLDEN_SECONDS`): the figures err towards survivors. Of a line that runs at the import, such as a value's
default, these are the tests of its part, too.

A test that fails without the error, too, notices nothing, and the mutant is judged again without it. A
mutant is `noticed` by a unit test, or by a `golden` page only, or it took too long (`timeout`, noticed
too); or it `survived`, or no test executes its line (`unrun`), which counts as survived. Tests that need a
browser, node or TensorFlow, and programs that tests start, see none of it. Needs Python 3.12 and what the
tests need.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.machinery
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import covering
import forks
import pytest
from mutating import Mutant, mutants_of

ROOT = Path(__file__).parent.parent.parent
CACHE = Path.home() / ".cache" / "tfmemlens" / "mutants"
STAGES = (
    "knowledge",
    "readers",
    "attribution",
    "findings",
    "what_if",
    "estimation",
    "renderers",
    "cli",
    "model",
)
_READY = ("google.protobuf", "h5py", "hypothesis", "jinja2", "jsonschema", "numpy", "pandas")
"""What tests and package import, imported once and not in every fork."""
_UNIT_SECONDS, _GOLDEN_SECONDS = 15.0, 10.0
"""Of the processor, for the tests of one mutant."""
_CLOSEST = 2 / 3
"""The share of it for the closest tests; the rest is for some of all others."""
_COPIED = (
    "tfmemlens",
    "tests",
    "sample_traces",
    "sample_models",
    "scripts",
    "docs",
    "setup.cfg",
    "pyproject.toml",
    "MANIFEST.in",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)


@dataclass(frozen=True)
class Trial:
    """A mutant, and the tests to run on it in this order."""

    mutant: Mutant
    tests: tuple[str, ...]
    seconds: float
    """Of the processor, which the tests take without the error."""


def sample(root: Path, count: int, seed: int, only: list[str]) -> list[Mutant]:
    """So many mutants, evenly over these parts of the package; shuffled: the first are a sample, too."""
    drawn: list[Mutant] = []
    for number, stage in enumerate(only):
        pool: list[Mutant] = []
        part = root / "tfmemlens" / stage
        for path in [part] if part.is_file() else sorted(part.rglob("*.py")):
            pool += mutants_of(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        pool.sort(key=lambda mutant: (mutant.file, mutant.start, mutant.end))
        share = count // len(only) + (number < count % len(only))
        drawn += random.Random(f"{seed}-{stage}").sample(pool, min(share, len(pool)))
    random.Random(seed).shuffle(drawn)
    return drawn


def executed_with(root: Path, file: str, source: str, line: int) -> dict[str, set[int]]:
    """Lines whose execution depends on this one: those of its statement; where that runs at the import, those
    in functions of the package that use the name which it defines, or else all functions of the module.
    """
    tree = ast.parse(source)
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in _lines(node)]
    statement = min(around, key=lambda node: len(_lines(node)))
    bodies = [node for node in around if _is_function(node) and line in _body(node)]
    if bodies:
        whole = not hasattr(statement, "body")
        return {file: set(_lines(statement)) if whole else {*_head(statement), line}}
    function = next((node for node in around if _is_function(node)), None)
    if function is not None:  # a default, a decorator
        return {file: set(_body(function))}
    own = {node.lineno for each in around for node in ast.walk(each) if isinstance(node, ast.Lambda)}
    names = {
        node.id for each in around for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not hasattr(each, "body")
    }  # fmt: skip
    users = {
        path.relative_to(root).as_posix(): _using(path.read_text(encoding="utf-8"), names)
        for path in (root / "tfmemlens").rglob("*.py")
    }
    users[file] |= own
    if any(users.values()):
        return users
    return {file: {each for node in ast.walk(tree) if _is_function(node) for each in _body(node)}}


def _lines(node: ast.stmt) -> range:
    decorators = getattr(node, "decorator_list", ())
    start = min((each.lineno for each in decorators), default=node.lineno)
    return range(start, (node.end_lineno or node.lineno) + 1)


def _head(node: ast.stmt) -> range:
    return range(node.lineno, getattr(node, "body")[0].lineno)  # noqa: B009


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _body(node: ast.AST) -> range:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)


def _using(source: str, names: set[str]) -> set[int]:
    if not any(name in source for name in names):
        return set()
    return {
        node.lineno
        for function in ast.walk(ast.parse(source)) if _is_function(function)
        for node in ast.walk(function)
        if (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
    }  # fmt: skip


def trial_of(root: Path, mutant: Mutant, coverage: covering.Coverage) -> Trial:
    """The tests to run on it: unit tests before golden ones, the closest first."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    executed = executed_with(root, mutant.file, source, mutant.line)
    tests = {test for file, lines in executed.items() for test in coverage.tests_of(file, lines)}
    if mutant.line not in executed.get(mutant.file, ()):  # it runs at the import: no line tells who sees it
        tests |= coverage.below(f"tests/{Path(mutant.file).parts[1]}/")
    naming = _naming(root, Path(mutant.file))
    units = _chosen(tests - coverage.golden, coverage, _UNIT_SECONDS, naming)
    goldens = _chosen(tests & coverage.golden, coverage, _GOLDEN_SECONDS, naming)
    return Trial(mutant, (*units, *goldens), sum(map(coverage.cost, (*units, *goldens))))


@cache
def _naming(root: Path, module: Path) -> frozenset[str]:
    """The files of tests that name a module, as it is imported or as the slug that it stands for."""
    name = module.parent.name if module.stem == "__init__" else module.stem
    named = re.compile(rf"\b{re.escape(name)}\b|\b{re.escape(name.replace('_', '-'))}\b")
    files = (path for path in (root / "tests").rglob("test_*.py") if named.search(path.read_text("utf-8")))
    return frozenset(path.relative_to(root).as_posix() for path in files)


def _chosen(
    tests: Iterable[str], coverage: covering.Coverage, seconds: float, naming: frozenset[str]
) -> list[str]:
    """The closest tests, and some of the others evenly, that together take no longer; at least one. Those of
    files that name the module are closer than any other.
    """
    ordered = sorted(coverage.ordered(tests), key=lambda test: test.partition("::")[0] not in naming)
    close = _within(ordered, coverage, seconds * _CLOSEST)
    others = ordered[len(close) :]
    whole = sum(map(coverage.cost, others))
    step = max(int(whole / (seconds * (1 - _CLOSEST))) + 1, 1)
    return close + _within(others[::-step], coverage, seconds * (1 - _CLOSEST))[::-1]


def _within(ordered: Sequence[str], coverage: covering.Coverage, seconds: float) -> list[str]:
    taken: list[str] = []
    for test in ordered:
        seconds -= coverage.cost(test)
        if taken and seconds < 0:
            break
        taken.append(test)
    return taken


class _Mutated(importlib.machinery.SourceFileLoader):
    """Loads one module of the package from a source of ours; nothing compiled stands for it."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self.source = source

    def path_stats(self, path: str) -> Any:
        """Refused, so that nothing compiled is looked for or written."""
        raise OSError(path)

    def get_data(self, path: str) -> bytes:
        """The source with the error."""
        return self.source if path == self.path else super().get_data(path)


class _Finder:
    """Finds that module, and no other."""

    def __init__(self, loader: _Mutated) -> None:
        self.loader = loader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where that module comes from."""
        del path, target
        if name != self.loader.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)


class _Selection:
    """A plugin of pytest: these tests in this order; notes the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {test: place for place, test in enumerate(tests)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select and sort."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place), key=lambda item: self.place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self.failed = self.failed or report.nodeid


def judged(trial: Trial, copy: Path, golden: set[str]) -> tuple[str, str]:
    """How it ended, and the test that noticed."""
    mutant = trial.mutant
    name = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    path = copy / mutant.file
    finder: Any = _Finder(_Mutated(name, str(path), mutant.applied(path.read_bytes())))
    sys.meta_path.insert(0, finder)
    selection = _Selection(trial.tests)
    files = list(dict.fromkeys(test.partition("::")[0] for test in trial.tests))
    status = pytest.main([*covering.OPTIONS, "-x", *files], plugins=[selection])
    if status == pytest.ExitCode.OK:
        return "survived", ""
    if selection.failed in golden:
        return "golden", selection.failed
    return "noticed", selection.failed or "the import"


def shown(mutant: Mutant, root: Path) -> str:
    """Place, kind, and the line as the mutant has it."""
    source = (root / mutant.file).read_bytes()
    line = mutant.applied(source).decode().split("\n")[mutant.line - 1].strip()
    return f"{mutant.file}:{mutant.line} {mutant.kind}: {line[:140]}"


def copied(folder: Path) -> Path:
    """A scratch copy of what the tests need, so that one may go on editing."""
    for name in _COPIED:
        origin = ROOT / name
        if origin.is_dir():
            shutil.copytree(origin, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif origin.exists():
            shutil.copy(origin, folder / name)
    return folder


def main() -> int:
    """Judge the sample and say how many survived."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", nargs="+", default=list(STAGES), help="folders or modules of the package, each as often"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--afresh", action="store_true", help="see anew which test executes which line")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    args = parser.parse_args()
    if args.list:
        print("\n".join(shown(mutant, ROOT) for mutant in sample(ROOT, args.count, args.seed, args.only)))
        return 0
    for name in _READY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy = copied(Path(scratch))
        drawn = sample(copy, args.count, args.seed, args.only)
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        coverage = covering.measured(copy, CACHE, args.processes, args.afresh)
        return report([trial_of(copy, mutant, coverage) for mutant in drawn], copy, coverage, args.processes)


def report(trials: list[Trial], copy: Path, coverage: covering.Coverage, processes: int) -> int:
    """Judge each, print it, and the sums at the end; 1 where more than a tenth survived."""
    outcomes, missed = Counter[str](), Counter[str]()

    def work(trial: Trial) -> tuple[str, str]:
        return judged(trial, copy, coverage.golden) if trial.tests else ("unrun", "")

    @cache
    def sound(test: str) -> bool:
        return "::" not in test or _passes(test, CACHE / "log")

    def ends(waiting: list[Trial]) -> Iterator[tuple[Trial, str, str]]:
        again = []
        for trial, end in forks.each(
            waiting, work, processes, lambda trial: 30 + 3 * trial.seconds, CACHE / "log"
        ):
            outcome, test = end or ("timeout", "")
            if sound(test):
                yield trial, outcome, test
            else:
                print(f"     fails without an error: {test}", flush=True)
                again.append(replace(trial, tests=tuple(each for each in trial.tests if each != test)))
        if again:
            yield from ends(again)

    for number, (trial, outcome, test) in enumerate(ends(trials), 1):
        outcomes[outcome] += 1
        missed[Path(trial.mutant.file).parts[1]] += outcome in ("survived", "unrun")
        print(f"{number:4} {outcome:8} {len(trial.tests):4} tests  {shown(trial.mutant, copy)}", flush=True)
        if outcome in ("noticed", "golden"):
            print(f"       {test}", flush=True)
    share = missed.total() / max(len(trials), 1)
    print(
        f"{len(trials)} mutants, {missed.total()} survived ({share:.0%}): {dict(outcomes)}; {dict(+missed)}"
    )
    return share > 0.1


def _passes(test: str, log: Path) -> bool:
    """Whether a test passes where nothing was changed: else it notices nothing."""

    def work(alone: str) -> bool:
        status = pytest.main([*covering.OPTIONS, alone.partition("::")[0]], plugins=[_Selection([alone])])
        return status == pytest.ExitCode.OK

    return all(passed for _, passed in forks.each([test], work, 1, lambda _: 120.0, log))


if __name__ == "__main__":
    sys.exit(main())
