"""Every plug-in keeps its contract: a module with a docstring page and the right functions."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest

from tfmemlens import cli, discovery, findings, pipeline, renderers
from tfmemlens.cli import _options, main
from tfmemlens.model.finding import Basis

RULES = findings.rules()
COMMANDS = discovery.plugins(cli, "add_arguments", "run")
SUBJECTS = (
    *"report layers difference convolution steps page card curve allocations tab budgets".split(),
    *"causes new_causes fleet fleet_scan".split(),
)
RENDERERS = {
    f"{form} {subject}": (room, discovery.member(room, subject))
    for subject in SUBJECTS
    for form, room in renderers.forms(subject).items()
}


@pytest.mark.parametrize("slug", RULES)
def test_a_rule_documents_itself(slug: str) -> None:
    page = RULES[slug].__doc__ or ""
    first, blank, *rest = page.split("\n")
    assert first.endswith(".")
    assert not blank
    for part in ("What it means:", "When it fires:", "What to do:"):
        assert any(line.startswith(part) for line in rest), f"{slug} lacks «{part}»"


@pytest.mark.parametrize("slug", RULES)
def test_a_rule_says_what_ranks_it(slug: str) -> None:
    assert RULES[slug].BASIS in Basis
    assert RULES[slug].EXPLAINS.strip(" .") == RULES[slug].EXPLAINS
    assert RULES[slug].EXPLAINS


@pytest.mark.parametrize("slug", COMMANDS)
def test_a_command_says_what_it_is_for(slug: str) -> None:
    assert (COMMANDS[slug].__doc__ or "").split("\n")[0].endswith(".")


@pytest.mark.parametrize("slug", RENDERERS)
def test_a_renderer_keeps_its_contract(slug: str) -> None:
    room, module = RENDERERS[slug]
    assert room.SUFFIX.startswith(".")
    assert (room.__doc__ or "").strip()
    assert list(inspect.signature(module.render).parameters)[1:] == ["view"]
    assert set(room.OPTIONS) <= {subject for subject in SUBJECTS if discovery.folders(renderers, subject)}


def test_every_form_is_reached() -> None:
    """By an option, as what a terminal prints, by `export`, or as the page of `report`."""
    folders = {each.name for each in Path(renderers.__path__[0]).iterdir() if (each / "__init__.py").exists()}
    rooms = {name.split()[0] for name in RENDERERS}
    assert {room.replace("-", "_") for room in rooms} == folders - {"pictures"}
    asked = {form for subject in SUBJECTS for form in renderers.options(subject)}
    assert rooms - asked - set(renderers.viewers(*SUBJECTS)) == {renderers.DEFAULT}
    assert set(renderers.forms("page")) == {"html"}


def test_a_new_form_needs_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder in `renderers`: `explain` has an option for it, and prints it."""
    folder = tmp_path / "shout"
    folder.mkdir()
    (folder / "__init__.py").write_text("'Loud.'\nSUFFIX = '.txt'\nOPTIONS = {'report': 'print it loud'}\n")
    (folder / "report.py").write_text("def render(report, view):\n    return report.verdict.upper()\n")
    monkeypatch.setattr(renderers, "__path__", [*renderers.__path__, str(tmp_path)])
    arguments = main.parser("explain").parse_args(["explain", "no memory", "--shout"])
    assert _options.render(pipeline.explain("no memory\n"), arguments, "report").isupper()


def test_helpers_are_no_plug_ins() -> None:
    assert not [slug for slug in RULES if slug.startswith("-")]
    assert {"layout-optimizer-copies", "memory-shortage", "fragmented-free-memory"} <= set(RULES)


def test_a_module_without_the_functions_is_no_plug_in() -> None:
    assert "units" not in discovery.plugins(_package(), "check")


def _package() -> ModuleType:
    import tfmemlens

    return tfmemlens
