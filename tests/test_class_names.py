"""A public class has a name of its own: who reads `Plan` need not ask which."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def homonyms(sources: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Of pairs of a file and its text: the public classes that stand more than once, each with its files."""
    files: dict[str, list[str]] = defaultdict(list)
    for file, source in sources:
        for name in classes(ast.parse(source)):
            files[name].append(file)
    return {name: where for name, where in files.items() if len(where) > 1}


def classes(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Its public classes; what a function defines is seen by nobody else."""
    for each in node.body:
        if isinstance(each, ast.ClassDef):
            if not each.name.startswith("_"):
                yield each.name
            yield from classes(each)


def test_no_two_public_classes_share_a_name() -> None:
    package = sorted((ROOT / "tfmemlens").rglob("*.py"))
    assert not homonyms((str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in package)


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (("class Plan: ...", "class Plan: ..."), ["Plan"]),
        (("class Plan:\n    class Part: ...", "class Part: ..."), ["Part"]),
        (("class Plan: ...", "class _Plan: ..."), []),
        (("class _Plan: ...", "class _Plan: ..."), []),
        (("class Plan: ...", "from plan import Plan"), []),
        (("class Plan: ...", "def plan():\n    class Plan: ..."), []),
    ],
)
def test_the_test_sees_them(sources: tuple[str, ...], names: list[str]) -> None:
    assert list(homonyms((f"{number}.py", source) for number, source in enumerate(sources))) == names
