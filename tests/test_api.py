"""What `import tfmemlens` offers, and how its answers show themselves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens.errors import UsageError
from tfmemlens.model.attribution import Kind

LOG = SAMPLES / "oom_log" / "1.15-unet-report.txt"
LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
UNET = SAMPLES / "run_metadata" / "1.15-unet.pb.gz"
KERAS = "sample_models/files-2.21/small.keras"
LONG_REPR = 2500
NAMES = {"conv", "diff", "estimate", "explain", "fit", "layout", "profile", "read"}


def test_the_package_shows_its_api_and_nothing_else() -> None:
    others = {"TfmemlensError", "__version__", "fleet", "keras", "session_hook", "trace_step", "watch"}
    assert set(dir(tfmemlens)) == NAMES | others == set(tfmemlens.__all__)
    assert all(callable(getattr(tfmemlens, name)) for name in NAMES)


def test_the_import_stays_cheap() -> None:
    code = "import sys, tfmemlens; dir(tfmemlens); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {name for name in run.stdout.split() if name.startswith("tfmemlens")}
    assert ours == {"tfmemlens", "tfmemlens.errors"}


def values(root: Any, depth: int) -> list[Any]:
    """What a user reaches from an answer by attributes and indices."""
    found = [root]
    if depth:
        names = [name for name in dir(root) if not name.startswith("_")] if not _is_plain(root) else []
        inner = [getattr(root, name, None) for name in names]
        inner = [each for each in inner if not callable(each) and not _is_plain(each)]
        inner += [each[0] for each in inner if isinstance(each, tuple | list) and each]
        found += [value for each in inner for value in values(each, depth - 1)]
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bytes | int | float | Kind) or value is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: tfmemlens.explain(LOG),
        lambda: tfmemlens.estimate(KERAS, batch=4, threads=2),
        lambda: tfmemlens.read(LENET),
        lambda: tfmemlens.read(LENET).peak,
        lambda: tfmemlens.diff(LENET, UNET),
        lambda: tfmemlens.conv("8x32x32x3", "5x5x16"),
    ],
    ids=["explain", "estimate", "read", "peak", "diff", "conv"],
)
def test_no_value_prints_a_book(make: Any) -> None:
    answer = make()
    assert len(repr(answer)) < 300
    for value in values(answer, 2):
        if type(value).__module__.startswith("tfmemlens"):
            assert len(repr(value)) < LONG_REPR, type(value)


def test_an_answer_is_written_in_the_form_that_its_name_asks_for(tmp_path: Path) -> None:
    report = tfmemlens.explain(LOG)
    for name, part in {
        "a.html": "<!doctype html>",
        "a.md": "**Out of memory",
        "a.txt": "DO THIS FIRST",
        "a.json": '"schema": "tfmemlens.report/1"',
    }.items():
        report.save(tmp_path / name)
        assert part in (tmp_path / name).read_text(encoding="utf-8")
    assert report.to_markdown() == (tmp_path / "a.md").read_text(encoding="utf-8")
    assert report.to_html() == (tmp_path / "a.html").read_text(encoding="utf-8")
    tfmemlens.read(LENET).save(tmp_path / "trace.HTML")
    assert (tmp_path / "trace.HTML").stat().st_size > 50_000
    with pytest.raises(UsageError, match="ends in no form") as problem:
        report.save(tmp_path / "a.docx")
    assert problem.value.hint == "one of .html, .json, .md, .txt"


def test_comparisons_and_convolutions_are_written_too(tmp_path: Path) -> None:
    change, sizing = tfmemlens.diff(LENET, UNET), tfmemlens.conv((8, 32, 32, 3), (5, 5, 16), threads=2)
    change.save(tmp_path / "change.html")
    assert "<!doctype html>" in (tmp_path / "change.html").read_text(encoding="utf-8")
    assert json.loads(change.to_json())["change_bytes"] == change.change_bytes
    assert json.loads(sizing.to_json())
    with pytest.raises(UsageError):
        sizing.save(tmp_path / "sizing.html")
    assert sizing.to_frame().loc[0, "output_bytes"] > 0
    frame = change.to_frame("kind")
    assert frame["change_bytes"].sum() == change.change_bytes
    assert set(frame["state"]) <= {"new", "gone", "grew", "shrank", "same"}
    with pytest.raises(UsageError):
        change.to_frame("colour")


def test_answers_can_be_compared() -> None:
    by_path = tfmemlens.diff(LENET, UNET)
    assert tfmemlens.diff(tfmemlens.read(LENET), tfmemlens.profile(UNET)) == by_path


@pytest.mark.parametrize("name", ["explain", "read", "estimate", "fit"])
def test_a_missing_file_is_pythons_own_error_too(name: str, tmp_path: Path) -> None:
    missing = tmp_path / "nothing.pb"
    with pytest.raises(FileNotFoundError) as problem:
        getattr(tfmemlens, name)(missing)
    assert isinstance(problem.value, tfmemlens.TfmemlensError)
    assert problem.value.filename == str(missing)
    assert "does not exist\n  hint: " in str(problem.value)


def test_a_missing_graph_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tfmemlens.read(LENET, graph=tmp_path / "nothing.meta")


@pytest.mark.parametrize("limit", ["1GiB", 1 << 30, "1073741824", "1024 MiB"])
def test_sizes_are_texts_or_bytes(limit: Any) -> None:
    report = tfmemlens.profile(LENET, limit=limit)
    assert report.case.moments[0].balance.limit.bytes == 1 << 30
    assert tfmemlens.fit(LENET, limit=limit).fit.limit_bytes == 1 << 30


@pytest.mark.parametrize("limit", [11, "much", -5, True])
def test_a_size_that_is_none_is_a_value_error(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"size|of what"):
        tfmemlens.explain(LOG, limit=limit)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_card_says_what_the_short_page_says() -> None:
    report = tfmemlens.explain(LOG)
    card = report._repr_html_()
    elements = _Elements()
    elements.feed(card)
    assert elements.tags == {"div", "span", "button"}
    assert elements.attributes == {"style", "type", "data-page", "data-tfmemlens", "onclick"}
    first = report.actions[0].remedy.text
    said = re.sub(r"<[^>]*>", "", card)
    for text in (report.verdict, first, "DO THIS FIRST", "activation 368.99 MiB", "limit 400.00 MiB"):
        assert escape(text.replace("`", "")) in said
    assert len(card) < 100_000


def test_a_name_from_the_input_runs_nothing_in_the_card() -> None:
    text = LOG.read_text(encoding="utf-8").replace("unet_01", "<img src=x onerror=alert(1)>\x1bc\u202e")
    card = tfmemlens.explain(text)._repr_html_()
    assert "<img" not in card
    assert "\x1b" not in card and "\u202e" not in card


def test_a_comparison_and_a_convolution_show_themselves() -> None:
    changed = tfmemlens.diff(UNET, LENET)
    card = changed._repr_html_()
    lines = [line.strip() for line in re.sub(r"<[^>]*>", "", card).splitlines()]
    assert any(line.startswith(escape(changed.verdict[:40])) for line in lines)
    assert "Open the whole page" in card and "\\x0a" not in card
    sizing = tfmemlens.conv((8, 32, 32, 3), (5, 5, 16), tf="1.15", threads=2)
    card = sizing._repr_html_()
    assert card.startswith("<div style=") and "512.0 KiB" in card
    assert "Open the whole page" not in card, "there is none"


def test_names_in_a_card_are_code() -> None:
    report = tfmemlens.explain(SAMPLES / "oom_log" / "2.21-fragmentation.txt")
    assert "`Fill`" in report.verdict
    card = report._repr_html_()
    assert "`" not in card
    assert re.search(r"in <span style=\"[^\"]*monospace[^\"]*\">Fill</span> of <span", card)


@pytest.mark.parametrize(
    "make", [lambda: tfmemlens.fit(UNET, limit="1GiB"), lambda: tfmemlens.read(LENET)], ids=["fit", "read"]
)
def test_other_answers_have_cards_too(make: Any) -> None:
    card = make()._repr_html_()
    assert "Open the whole page" in card
    assert "<pre" not in card and "\\x0a" not in card
