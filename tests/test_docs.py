"""Docs say what is true: their commands run, their answers stand in the pages, Python's examples are
doctests.
"""

from __future__ import annotations

import argparse
import doctest
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import ROOT
from tfmemlens.cli import main
from tfmemlens.cli.rules import document
from tfmemlens.cli.schema import schema_text

PAGES = sorted((ROOT / "docs").glob("*.md"))
RULES = ROOT / "docs" / "rules.md"
README_LINES = 120


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of a language."""
    yield from re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def sessions() -> Iterator[Any]:
    """Each command of the consoles, with the lines that it is said to print."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, *lines = part.rstrip("\n").split("\n")
                yield pytest.param(command, lines, id=f"{page.stem}: {command[:60]}")


def commands() -> Iterator[str]:
    """The commands that stand in README and in blocks for a shell; what is piped into them is not ours."""
    texts = [block for page in PAGES for block in blocks(page, "sh")]
    texts.append("\n".join(re.findall(r"^    (tfmemlens .*)", (ROOT / "README.md").read_text("utf-8"), re.M)))
    for line in "\n".join(texts).split("\n"):
        found = re.search(r"(?:^|\| )tfmemlens ([^#|>]*)", line)
        if found:
            yield found[1].strip()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples, in which an example may write."""
    for name in ("sample_traces", "sample_models"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "lines"), sessions())
def test_a_session_goes_as_it_is_shown(
    command: str, lines: list[str], elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = shlex.split(command)
    assert program == "tfmemlens"
    assert main.main(words) == 0
    printed = iter(capsys.readouterr().out.split("\n"))
    for line in lines:
        assert line == "..." or any(line == each.rstrip() for each in printed), (
            f"it does not print {line!r}, or not in this order"
        )


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_a_command_has_the_options_that_are_shown(command: str) -> None:
    words = shlex.split(command)
    args = main.parser(words[0]).parse_args(words)
    assert isinstance(args, argparse.Namespace)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if list(blocks(page, "pycon"))], ids=lambda p: p.stem
)
def test_pythons_examples_are_true(page: Path, elsewhere: Path) -> None:
    text = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {"tfmemlens": tfmemlens}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    told: list[str] = []
    runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#([\w-]*))?\)", page.read_text(encoding="utf-8")):
        file, anchor = target
        if file.startswith("http"):
            continue
        there = (page.parent / file) if file else page
        assert there.exists(), file
        if anchor:
            titles = re.findall(r"^#+ (.*)", there.read_text(encoding="utf-8"), re.M)
            anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            assert anchor in anchors, f"{file}#{anchor}"


def test_the_rules_are_those_that_there_are(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        RULES.write_text(document(), encoding="utf-8")
    assert RULES.read_text(encoding="utf-8") == document(), "tfmemlens rules --markdown > docs/rules.md"


def test_the_schema_page_names_every_field() -> None:
    page = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    for name in json.loads(schema_text("report"))["properties"]:
        assert f"`{name}`" in page


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split("\n")) <= README_LINES


def test_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"(docs/{page.name})" not in text] == []
