"""Which deliberate errors do the tests miss? mutants.py [--count 200] [--seed 1] [--only FOLDER ...] [--list]

Each mutant is one small change of one line of the package: a comparison, a boundary, an operator, a constant,
a condition or a branch. The whole suite runs once, to see which test executes which line (`covering.py`,
which keeps it: a second sample starts at once). Each mutant is then made in a scratch copy of the checkout,
and only tests that execute its line run on it, in one process: quick ones that execute little first, and some
that execute much. A mutant that none of them notices survives and is printed. One that runs out of time
counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import covering

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
_CLOSEST, _SPREAD = 45, 15
"""So many tests that execute little beside the line, and so many of the others."""
_CHECKS = ("strict", "frozen", "slots")
"""Arguments that only refuse errors of our own: without them nothing changes."""
_COPIED = (
    "tfmemlens",
    "tests",
    "sample_traces",
    "sample_models",
    "scripts",
    "setup.cfg",
    "README.md",
    "pyproject.toml",
)
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*",
    ast.LShift: ">>",
    ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file whose text from one position to another is replaced."""

    file: str
    line: int
    start: int
    end: int
    text: str
    kind: str

    def applied(self, source: bytes) -> bytes:
        """The file's text with the error in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, docstrings and annotations left alone."""
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    raw = source.encode()

    def place(node: ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column

    def text(node: ast.expr) -> str:
        start, end = place(node)
        return raw[start:end].decode()

    def replaced(node: ast.expr, new: str, kind: str) -> Mutant:
        return Mutant(file, node.lineno, *place(node), f"({new})", kind)

    for node in _expressions(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            new = f"{text(node.left)} {_COMPARISONS[type(node.ops[0])]} {text(node.comparators[0])}"
            yield replaced(node, new, "comparison")
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            if (
                not isinstance(node.left, ast.JoinedStr)
                and not _is_text(node.left)
                and not _is_text(node.right)
            ):
                new = f"({text(node.left)}) {_OPERATORS[type(node.op)]} ({text(node.right)})"
                yield replaced(node, new, "operator")
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            yield replaced(node, f" {word} ".join(f"({text(value)})" for value in node.values), "and/or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield replaced(node, text(node.operand), "not")
        elif isinstance(node, ast.IfExp):
            new = f"({text(node.orelse)}) if ({text(node.test)}) else ({text(node.body)})"
            yield replaced(node, new, "branches")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield replaced(node, _other_constant(node.value), "constant")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _other_constant(value: object) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) else repr(float(str(value)) / 2 or 0.5)


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that run: annotations and the parts of f-strings are left out."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.keyword) and node.arg in _CHECKS:
            continue
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            waiting += [
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)
            ]


def sample(count: int, seed: int, only: list[str]) -> list[Mutant]:
    """So many mutants, drawn evenly over the packages."""
    drawn: list[Mutant] = []
    for number, stage in enumerate(only):
        pool: list[Mutant] = []
        for path in sorted((ROOT / "tfmemlens" / stage).rglob("*.py")):
            pool += mutants_of(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        pool.sort(key=lambda mutant: (mutant.file, mutant.start, mutant.end))
        share = count // len(only) + (number < count % len(only))
        drawn += random.Random(f"{seed}-{stage}").sample(pool, min(share, len(pool)))
    return drawn


def executed_with(file: str, source: str, line: int) -> dict[str, set[int]]:
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
        path.relative_to(ROOT).as_posix(): _using(path.read_text(encoding="utf-8"), names)
        for path in (ROOT / "tfmemlens").rglob("*.py")
    }
    users[file] |= own
    if any(users.values()):
        return users
    return {file: {each for node in ast.walk(tree) if _is_function(node) for each in _body(node)}}


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


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


def tests_of(mutant: Mutant, coverage: covering.Coverage) -> list[str]:
    """The tests to run on it, the closest first."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    tests = set()
    for file, lines in executed_with(mutant.file, source, mutant.line).items():
        tests |= coverage.tests_of(file, lines)
    ordered = coverage.ordered(tests)
    others = ordered[_CLOSEST:]
    step = max(-(-len(others) // _SPREAD), 1)
    return ordered[:_CLOSEST] + others[step - 1 :: step]


def judge(mutant: Mutant, copy: Path, tests: list[str], timeout: float) -> str:
    """`survived`, `noticed`, `timeout`, or `unrun` where no test executes it."""
    if not tests:
        return "unrun"
    file = copy / mutant.file
    source = file.read_bytes()
    file.write_bytes(mutant.applied(source))
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        run = subprocess.run(command, cwd=copy, capture_output=True, timeout=timeout, env=_environment(copy))
        return "noticed" if run.returncode else "survived"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        file.write_bytes(source)


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


def shown(mutant: Mutant) -> str:
    """Place, kind, and the line as the mutant has it."""
    source = (ROOT / mutant.file).read_bytes()
    line = mutant.applied(source).decode().split("\n")[mutant.line - 1].strip()
    return f"{mutant.file}:{mutant.line} {mutant.kind}: {line[:140]}"


def copied(folder: Path) -> Path:
    """A scratch copy of what the tests need."""
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
    parser.add_argument("--only", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for the tests of one mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    args = parser.parse_args()
    drawn = sample(args.count, args.seed, args.only)
    if args.list:
        print("\n".join(map(shown, drawn)))
        return 0
    outcomes, missed = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy = copied(Path(scratch))
        coverage = covering.measured(copy, CACHE)
        for number, mutant in enumerate(drawn, 1):
            start = time.perf_counter()
            tests = tests_of(mutant, coverage)
            outcome = judge(mutant, copy, tests, args.timeout)
            outcomes[outcome] += 1
            missed[Path(mutant.file).parts[1]] += outcome in ("survived", "unrun")
            took = time.perf_counter() - start
            print(f"{number:4} {outcome:8} {len(tests):2} tests {took:4.0f} s  {shown(mutant)}", flush=True)
    share = missed.total() / max(len(drawn), 1)
    print(f"{len(drawn)} mutants, {missed.total()} survived ({share:.0%}): {dict(outcomes)}; {dict(missed)}")
    return share > 0.1


if __name__ == "__main__":
    sys.exit(main())
