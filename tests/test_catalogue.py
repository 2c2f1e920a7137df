"""Every plug-in keeps its contract: a module with a docstring page and the right functions."""

from __future__ import annotations

from types import ModuleType

import pytest

from tfmemlens import cli, discovery, findings, renderers
from tfmemlens.renderers import export

RULES = findings.rules()
COMMANDS = discovery.plugins(cli, "add_arguments", "run")
RENDERERS = {
    f"{room.__name__}.{slug}": module
    for room in (renderers, export)
    for slug, module in discovery.plugins(room, "render").items()
}


@pytest.mark.parametrize("slug", RULES)
def test_a_rule_documents_itself(slug: str) -> None:
    page = RULES[slug].__doc__ or ""
    first, blank, *rest = page.split("\n")
    assert first.endswith(".")
    assert not blank
    for part in ("What it means:", "When it fires:", "What to do:"):
        assert any(line.startswith(part) for line in rest), f"{slug} lacks «{part}»"


@pytest.mark.parametrize("slug", COMMANDS)
def test_a_command_says_what_it_is_for(slug: str) -> None:
    assert (COMMANDS[slug].__doc__ or "").split("\n")[0].endswith(".")


@pytest.mark.parametrize("slug", RENDERERS)
def test_a_renderer_names_its_suffix(slug: str) -> None:
    assert RENDERERS[slug].SUFFIX.startswith(".")


def test_helpers_are_no_plug_ins() -> None:
    assert not [slug for slug in RULES if slug.startswith("-")]
    assert {"layout-optimizer-copies", "memory-shortage", "fragmented-free-memory"} <= set(RULES)


def test_a_module_without_the_functions_is_no_plug_in() -> None:
    assert "units" not in discovery.plugins(_package(), "check")


def _package() -> ModuleType:
    import tfmemlens

    return tfmemlens
