"""What README shows is what the program prints: every line with a figure in it stands on a page that a test
keeps.
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import GOLDEN, ROOT, SAMPLES

README = (ROOT / "README.md").read_text(encoding="utf-8").split("\n")
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
QUOTED = [
    line.strip()
    for line in README
    if line.startswith("    ") and re.search(r"\d[KMG]iB| [KMG]iB|\d %", line) and "tfmemlens" not in line
]
COMMANDS = sorted({found[1] for line in README if (found := re.match(r"    tfmemlens (\w+)", line))})


@pytest.fixture(scope="module")
def pages() -> str:
    """All golden pages, and the log at README's top."""
    found = [*sorted(GOLDEN.glob("*/**/*.txt")), SAMPLES / "oom_log" / "1.10-founding-question-unet.txt"]
    return "\n".join(line.strip() for path in found for line in path.read_text(encoding="utf-8").split("\n"))


@pytest.mark.parametrize("line", QUOTED)
def test_a_quoted_line_stands_on_a_page(line: str, pages: str) -> None:
    assert f"\n{line}\n" in pages, (
        "README quotes what no golden page says any more: quote the page as it is now"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_exists(command: str) -> None:
    assert (ROOT / "tfmemlens" / "cli" / f"{command}.py").exists()


@pytest.mark.parametrize(
    "path",
    sorted(set(re.findall(r"`((?:tests|scripts|sample_traces|tfmemlens)/[\w/.-]*[\w/])(?: [^`]*)?`", DOCS))),
)
def test_a_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


ORIGINS = (SAMPLES / "README.md").read_text(encoding="utf-8")
KINDS = set(re.findall(r"^\| `(\w+)/[\w.-]+` \|", ORIGINS, re.MULTILINE))
LISTED = {name for name in re.findall(r"`(\w+/[\w.-]+)`", ORIGINS) if name.split("/")[0] in KINDS}
HELD = {
    f"{kind}/{path.name}"
    for kind in KINDS
    for path in (SAMPLES / kind).iterdir()
    if ".truth." not in path.name
}


def test_every_sample_tells_its_origin() -> None:
    assert {
        name for name in HELD if not any(name == listed or name.startswith(f"{listed}.") for listed in LISTED)
    } == set()


def test_every_origin_has_its_sample() -> None:
    assert {
        listed
        for listed in LISTED
        if not any(name == listed or name.startswith(f"{listed}.") for name in HELD)
    } == set()
