"""`tfmemlens report`: every sample becomes one file that is whole, safe and small."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main
from tfmemlens.renderers.html import page as html
from tfmemlens.use_cases.page import build_page

FOLDERS = ("oom_log", "memory_dump", "xla_dump", "run_metadata", "xspace")
INPUTS = sorted(
    path
    for folder in FOLDERS
    for path in (SAMPLES / folder).glob("*")
    if path.suffix in (".txt", ".gz", ".pb")
)
LENET = "sample_traces/run_metadata/1.15-lenet.pb"


def figures(page: str) -> list[dict[str, Any]]:
    """What the browser will unpack, a document for each tab."""
    return [
        json.loads(gzip.decompress(base64.b64decode(found)))
        for found in re.findall(r'<script type="application/json">([^<]*)</script>', page)
    ]


def column(packed: Any) -> list[int]:
    if isinstance(packed, list):
        return packed
    if "v" in packed:
        return [packed["v"]] * packed["n"]
    last, found = 0, []
    for step in packed["d"]:
        last += step
        found.append(last)
    return found


@pytest.mark.parametrize("sample", INPUTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_sample_becomes_a_page(sample: Path) -> None:
    page = build_page([[sample]])
    text = html.render(page)
    assert len(text.encode()) < 400_000
    report = page.tabs[0].report
    assert report.findings or report.case.moments or "No memory figures" in text
    (found,) = figures(text)
    for moment, ledger, packed in zip(
        report.case.moments, page.tabs[0].ledgers, found["moments"], strict=True
    ):
        sizes, counts = column(packed["rows"]["size"]), column(packed["rows"]["count"])
        birth, life = column(packed["rows"]["birth"]), column(packed["rows"]["life"])
        shown = packed.get("peak", -1)
        alive = [row for row in range(len(sizes)) if birth[row] <= shown < birth[row] + life[row]]
        assert sum(sizes[row] * counts[row] for row in alive) == moment.attribution.table.total_bytes
        assert len(alive) == len(moment.attribution.table) == len(ledger.alive(shown))


def test_every_word_has_its_entry(tmp_path: Path) -> None:
    """Also one with an apostrophe, which HTML escapes."""
    target = tmp_path / "report.html"
    assert main(["report", "sample_traces/oom_log/2.11-unet-layout.txt", "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    linked = set(re.findall(r'href="#(term-[^"]*)"', text))
    assert "term-not-in-TensorFlows-list" in linked
    assert linked <= set(re.findall(r'id="(term-[^"]*)"', text))


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert main(["report", LENET, "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert not re.search(
        r"""(?:src|href)\s*=\s*["']?(?!["'#]|data:,)""",
        re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL),
    )
    assert "@import" not in text
    assert "url(" not in text


def test_our_script_stays_small() -> None:
    assert len(html.script().encode()) < 83_000


def test_several_inputs_are_tabs(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert main(["report", LENET, "sample_traces/oom_log/1.15-im2col.txt", "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert len(figures(text)) == 2
    assert text.count('role="tab"') >= 2
    assert (
        main(["report", LENET, "sample_traces/oom_log/1.15-im2col.txt", "--together", "-o", str(target)]) == 0
    )
    assert len(figures(target.read_text(encoding="utf-8"))) == 1


def test_without_a_name_the_page_is_report_html(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, step = (
        str(SAMPLES.resolve() / name) for name in ("oom_log/2.21-leak.txt", "run_metadata/1.15-lenet.pb")
    )
    monkeypatch.chdir(tmp_path)
    assert main(["report", log]) == 0
    first = Path("report.html").read_text("utf-8")
    assert first.startswith("<!doctype html>") and capsys.readouterr().err.startswith("report.html (")
    assert main(["report", step]) == 0
    assert Path("report.html").read_text("utf-8") != first


@pytest.mark.parametrize("found", ["file", "folder", "link"])
def test_what_tfmemlens_did_not_write_is_left_alone(
    found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(SAMPLES.resolve() / "oom_log/2.21-leak.txt")
    monkeypatch.chdir(tmp_path)
    page = Path("report.html")
    if found == "file":
        page.write_text("<!doctype html>\n<title>by hand, about tfmemlens</title>\n")
    elif found == "folder":
        page.mkdir()
    else:
        page.symlink_to("elsewhere.html")
    assert main(["report", log]) == 2
    said = capsys.readouterr().err
    assert "report.html is here already" in said and "hint: name another file with -o FILE" in said
    assert not Path("elsewhere.html").exists()
    if found == "file":
        assert "by hand" in page.read_text()
        assert main(["report", log, "-o", "report.html"]) == 0


@pytest.mark.parametrize(
    "arguments", [["no-such-file.pb", "-o", "x.html"], [LENET, "-o", "/no/such/folder/x.html"]]
)
def test_usage_errors_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *arguments]) == 2
    assert "hint: " in capsys.readouterr().err


def test_many_files_of_one_run_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "a-folder-whose-name-is-so-long-that-three-paths-fill-a-line-of-the-page"
    folder.mkdir()
    names = ["1.10-lenet.pb", "1.13-lenet.pb", "1.15-lenet.pb"]
    for name in names:
        shutil.copy(SAMPLES / "run_metadata" / name, folder)
    target = tmp_path / "report.html"
    assert main(["report", "--together", *(str(folder / name) for name in names), "-o", str(target)]) == 0
    source = re.search(r'<p class="source"><bdi title="([^"]*)">([^<]*)</bdi>', target.read_text("utf-8"))
    assert source
    assert source[2] == f"{folder}: 3 files"
    assert all(str(folder / name) in source[1] for name in names)


def test_a_page_without_memory_figures_is_status_1(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    (tmp_path / "calm.log").write_text("epoch 1\nepoch 2\n")
    assert main(["report", str(tmp_path / "calm.log"), "-o", str(target)]) == 1
    assert "No out-of-memory message" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("sample", "heading"),
    [
        ("xla_dump/2.21-jit-step-buffer-assignment.txt", "The program"),
        ("device_memory_profile/jax-0.10-training.prof", "The profile"),
        ("oom_log/2.21-leak.txt", "What failed"),
    ],
)
def test_what_did_not_fail_is_not_called_so(sample: str, heading: str) -> None:
    text = html.render(build_page([[SAMPLES / sample]]))
    told = {each for each in ("The program", "The profile", "What failed") if f"<h2>{each}</h2>" in text}
    assert told == {heading}
