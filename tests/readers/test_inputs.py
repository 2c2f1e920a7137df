"""Whatever a user names or pipes is read, or refused in one clear sentence."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import ROOT, SAMPLES
from tfmemlens import pipeline, renderers
from tfmemlens.cli.main import main
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.page import Card
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.gathering import inputs, opening, traced_steps

LOG = SAMPLES / "oom_log" / "1.15-im2col.txt"
TRACE = SAMPLES / "run_metadata" / "1.15-lenet.pb"
TEXT = LOG.read_text(encoding="utf-8")
COMMAND = [sys.executable, "-m", "tfmemlens"]


def shape_of(*sources: object) -> object:
    request = pipeline.explain([str(source) for source in sources]).case.moments[0].request
    assert request
    return request.failed.shape


def run(*args: str, data: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *args],
        input=data,
        capture_output=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, **env},
        check=False,
    )


def test_a_gzipped_log(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(TEXT.encode()))
    assert shape_of(file) == (1, 65536, 576)


def test_a_cut_gzip_gives_what_comes_before_the_cut(tmp_path: Path) -> None:
    whole = gzip.compress(
        (TEXT + "".join(f"line {number * 7919 % 10007}\n" for number in range(50000))).encode()
    )
    file = tmp_path / "log.gz"
    file.write_bytes(whole[: len(whole) // 2])
    assert shape_of(file) == (1, 65536, 576)


def test_a_notebook(tmp_path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "source": "fit()",
            "outputs": [{"output_type": "error", "traceback": TEXT.split("\n")}],
        }
    ]
    file = tmp_path / "train.ipynb"
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    assert shape_of(file) == (1, 65536, 576)


@pytest.mark.parametrize(
    "cells",
    [
        [{"outputs": [3, {"data": 4}, {"text": [TEXT]}]}],
        ["", 3, {"outputs": {}}, {"outputs": [{"data": {"text/plain": TEXT}}]}],
        [{"source": 5, "outputs": [{"traceback": {}}, {"traceback": [TEXT, 6]}]}],
    ],
)
def test_what_is_odd_in_a_notebook_hides_nothing_else(tmp_path: Path, cells: list[Any]) -> None:
    for notebook in ({"cells": cells}, {"worksheets": [7, {"cells": cells}]}):
        file = tmp_path / "train.ipynb"
        file.write_text(json.dumps(notebook), encoding="utf-8")
        assert shape_of(file) == (1, 65536, 576)


def test_a_notebook_without_cells_is_read_as_the_text_that_it_is(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_text(json.dumps({"cells": {"a": TEXT.splitlines()}}, indent=1), encoding="utf-8")
    assert shape_of(file) == (1, 65536, 576)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
def test_an_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(TEXT.encode(encoding, "replace"))
    assert shape_of(file) == (1, 65536, 576)


def test_a_directory_and_a_glob_of_rank_logs(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"rank-{rank}.txt").write_text(
            f"starting\n{TEXT}" if rank == 1 else "starting\nstep 1\n", encoding="utf-8"
        )
    assert shape_of(tmp_path) == shape_of(tmp_path / "rank-*.txt") == (1, 65536, 576)


def test_one_unreadable_file_among_many_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 40)
    report = pipeline.explain(tmp_path)
    assert report.case.moments
    assert any("b.bin" in note.text for note in report.case.capture.notes)


@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 16, b"\x1f\x8bnot gzip at all"])
def test_nothing_readable_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    try:
        assert not pipeline.explain(file).case.moments
    except UnreadableInput as problem:
        assert "\n" not in problem.sentence


def test_a_missing_path_says_so() -> None:
    with pytest.raises(UnreadableInput, match="does not exist"):
        pipeline.explain("no/such/train.log")


def test_pasted_text_needs_no_file() -> None:
    assert shape_of(
        "OOM when allocating tensor with shape[1,65536,576] and type float on /device:GPU:0 by allocator"
        " GPU_0_bfc"
    ) == (1, 65536, 576)


@pytest.mark.whole
def test_a_big_log_keeps_its_failure_wherever_it_stands(tmp_path: Path) -> None:
    """Above 16 MiB only the surroundings of failures are parsed."""
    filler = "step 100 loss 0.25 images/sec 312.5 learning_rate 0.001\n" * 400_000
    for place, text in {
        "end": filler + TEXT,
        "start": TEXT + filler,
        "middle": filler + TEXT + filler,
    }.items():
        file = tmp_path / f"{place}.log"
        file.write_text(text, encoding="utf-8")
        assert shape_of(file) == (1, 65536, 576), place


def test_a_big_pipe(tmp_path: Path) -> None:
    data = b"step 100 loss 0.25 images/sec 312.5 learning_rate 0.001\n" * 400_000 + TEXT.encode()
    done = run("explain", "-", data=data)
    assert done.returncode == 0
    assert b"[1,65536,576]" in done.stdout


def test_exit_statuses() -> None:
    assert run("explain", str(LOG)).returncode == 0
    assert run("explain", "-", data=b"epoch 1 loss 0.3\n").returncode == 1
    assert run("explain", "no-such-file").returncode == 2
    assert run("explain", "--input-shape", "2xbig", str(LOG)).returncode == 2
    assert run("nonsense").returncode == 2


def test_errors_are_one_line_with_a_hint_and_no_traceback() -> None:
    done = run("explain", "no-such-file")
    assert b"Traceback" not in done.stderr
    assert b"hint: " in done.stderr
    assert not done.stdout


def test_a_reader_that_stops_early_is_no_error() -> None:
    process = subprocess.Popen(
        [*COMMAND, "explain", str(LOG), "--top", "50"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in complaint


def test_ascii_only_terminals_get_ascii() -> None:
    done = run("explain", str(LOG), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_colour_is_asked_for_or_absent() -> None:
    assert b"\x1b[" not in run("explain", str(LOG), NO_COLOR="1").stdout
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    forced = subprocess.run(
        [*COMMAND, "explain", str(LOG)],
        capture_output=True,
        cwd=ROOT,
        env={**env, "FORCE_COLOR": "1"},
        check=False,
    )
    assert b"\x1b[" in forced.stdout


def test_the_catalogue_and_a_page_of_it() -> None:
    assert b"fragmented-free-memory" in run("rules").stdout
    assert b"contiguous" in run("rules", "fragmented-free-memory").stdout
    assert run("rules", "no-such-rule").returncode == 2


def test_completion_and_version() -> None:
    assert b"tfmemlens" in run("completion", "bash").stdout
    fish = run("completion", "fish").stdout.decode().splitlines()
    within = "complete -c tfmemlens -n '__fish_seen_subcommand_from explain'"
    assert f"{within} -l json -d" in "\n".join(fish)
    assert any(line.startswith(f"{within} -l by -x -a 'layer kind") for line in fish)
    assert any(line.startswith(f"{within} -l top -r") for line in fish)
    assert any(
        line.startswith("complete -c tfmemlens -n __fish_use_subcommand -f -a explain") for line in fish
    )
    assert all(line.count("'") % 2 == line.count("\\'") % 2 for line in fish)
    assert run("--version").returncode == 0


def test_a_web_page_in_place_of_a_trace_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "run_metadata.pb"
    file.write_text(
        "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>Not"
        " Found</h1></body></html>\n",
        encoding="utf-8",
    )
    assert any("is a web page" in note.text for note in pipeline.timelines(str(file)).notes)
    file.write_text(
        "<html><pre>OOM when allocating tensor with shape[8,8] and type float on GPU:0</pre></html>\n",
        encoding="utf-8",
    )
    assert not any("is a web page" in note.text for note in pipeline.explain(str(file)).case.capture.notes)


OWN = ("page", "card", "card in a page", "comparison", "card of a comparison", "short card")


@cache
def _own_pages() -> dict[str, str]:
    """What tfmemlens writes for a browser: pages and cards, of reports and of comparisons."""
    report, changed = tfmemlens.explain(LOG), tfmemlens.diff(TRACE, TRACE)
    return {
        "page": report.to_html(),
        "card": report._repr_html_(),
        "card in a page": f"<!DOCTYPE html>\n<html><body>{report._repr_html_()}</body></html>",
        "comparison": changed.to_html(),
        "card of a comparison": changed._repr_html_(),
        "short card": renderers.render(Card(report), "card", "html"),
    }


@pytest.mark.parametrize("kind", OWN)
def test_what_tfmemlens_wrote_is_no_log(kind: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.html"
    saved.write_text(_own_pages()[kind], encoding="utf-8")
    for read in (pipeline.explain, pipeline.timelines):
        with pytest.raises(UnreadableInput, match=r"saved\.html is a page that tfmemlens wrote") as refused:
            read(str(saved))
        assert (str(LOG) in refused.value.hint) is ("comparison" not in kind)


def test_beside_logs_what_tfmemlens_wrote_is_passed_over(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "train.log")
    alone = pipeline.explain(str(tmp_path))
    for kind, text in _own_pages().items():
        (tmp_path / f"{kind}.html").write_text(text, encoding="utf-8")
    beside = pipeline.explain(str(tmp_path))
    assert len(beside.case.moments) == len(alone.case.moments)
    assert beside.verdict == alone.verdict and beside.case.capture.notes == alone.case.capture.notes
    (tmp_path / "train.log").unlink()
    with pytest.raises(UnreadableInput):
        pipeline.explain(str(tmp_path / "page.html"))
    only = pipeline.explain(str(tmp_path))
    assert not only.case.moments and "is a page that tfmemlens wrote" in only.case.capture.notes[0].text


def test_a_directory_where_a_file_is_wanted_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="is a directory\n  hint: name a file in it"):
        opening.open_input(inputs.Input(str(tmp_path)))


def _paths(folder: Path) -> list[Path]:
    for name in ("a.log", "b.log"):
        (folder / name).write_text(TEXT if name == "b.log" else "starting\n", encoding="utf-8")
    return [folder / "a.log", folder / "b.log"]


GATHERED = {
    "a generator": lambda paths: (path for path in paths),
    "a set": set,
    "a frozenset of texts": lambda paths: frozenset(map(str, paths)),
    "a tuple of both": lambda paths: (str(paths[0]), paths[1]),
    "an iterator": iter,
    "keys": dict.fromkeys,
    "a generator with a paste": lambda paths: (each for each in (paths[0], TEXT)),
}


@pytest.mark.parametrize("form", GATHERED)
def test_paths_may_come_in_any_form(form: str, tmp_path: Path) -> None:
    paths = _paths(tmp_path)
    assert tfmemlens.explain(GATHERED[form](paths)).case.moments[0].request.failed.shape == (1, 65536, 576)
    sources = pipeline.capture(GATHERED[form](paths)).source.path.split(", ")
    assert len(sources) == 2
    assert sources[0] == str(paths[0])


@pytest.mark.parametrize("form", ["a generator", "a set", "an iterator"])
def test_traces_and_steps_may_come_in_any_form(form: str) -> None:
    paths = [SAMPLES / "run_metadata" / "1.15-lenet.pb", SAMPLES / "run_metadata" / "1.15-conv3d.pb"]
    alone = max(tfmemlens.read(path).peak_bytes for path in paths)
    assert tfmemlens.read(GATHERED[form](paths)).peak_bytes == alone
    assert len(traced_steps.find_all(GATHERED[form](paths))) == 2


def test_an_empty_generator_is_refused_in_one_sentence() -> None:
    with pytest.raises(UnreadableInput, match="nothing to read"):
        pipeline.explain(path for path in ())


@pytest.mark.parametrize("zipped", [False, True])
def test_a_named_pipe_is_read_as_a_stream(zipped: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    raw = gzip.compress(TEXT.encode()) if zipped else TEXT.encode()
    writer = threading.Thread(target=pipe.write_bytes, args=(raw,))
    writer.start()
    assert shape_of(pipe) == (1, 65536, 576)
    writer.join()


def test_a_pipe_in_a_directory_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "control")
    (tmp_path / "train.log").write_text(TEXT, encoding="utf-8")
    assert shape_of(tmp_path) == (1, 65536, 576)
    assert not traced_steps.find_all(tmp_path)


def test_a_process_substitution() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tfmemlens explain <(cat {LOG}) --json"],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["incidents"][0]["request"]["shape"] == [1, 65536, 576]


@pytest.mark.parametrize("count", [0, 1, 999_999, 1_000_000, 1_000_001, 5_000_000])
def test_an_archive_is_unzipped_to_the_last_byte(count: int, tmp_path: Path) -> None:
    raw = b"x" * count
    (tmp_path / "log.gz").write_bytes(gzip.compress(raw[: count // 3]) + gzip.compress(raw[count // 3 :]))
    with (opened := opening.open_input(inputs.Input(str(tmp_path / "log.gz")))).file:
        assert opened.all() == raw


def test_an_archive_without_end_is_read_to_a_told_limit(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT.encode() + bytes(20_000_000)))
    source = inputs.Input(str(tmp_path / "log.gz"))
    with opening.limited(1 << 20), (opened := opening.open_input(source)).file:
        assert (opened.size, len(opened.all())) == (1 << 20, 1 << 20)
    assert "only the first 1.00 MiB were read; --limit-read SIZE reads more" in opened.notes[0].text
    with opening.limited(len(TEXT.encode()) + 20_000_000), (opened := opening.open_input(source)).file:
        assert not opened.notes


@pytest.mark.parametrize("command", ["explain", "profile"])
def test_the_limit_is_told_with_the_answer(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT.encode() + b"step 1\n" * 10_000))
    arguments = [command, str(tmp_path / "log.gz"), "--full"]
    main([*arguments, "--limit-read", "64KiB"])
    said = " ".join(capsys.readouterr().out.split())
    assert "only the first 64.0 KiB were read; --limit-read SIZE reads more" in said
    assert command == "profile" or "[1,65536,576]" in said.replace(" ", "")
    main([*arguments, "--limit-read", "64MiB"])
    assert "only the first" not in capsys.readouterr().out


def test_a_limit_that_was_reached_is_told_where_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(bytes(3 << 20)))
    told = "only the first 1[.]00 MiB were read"
    with opening.limited(1 << 20), pytest.raises(UnreadableInput, match=told):
        pipeline.explain(tmp_path / "log.gz")


def test_a_document_that_is_parsed_as_one_has_a_limit(tmp_path: Path) -> None:
    (sample,) = (SAMPLES / "memory_profile").glob("*.json.gz")
    with opening.limited(1000), pytest.raises(UnreadableInput, match=r"damaged.* only the first 1000 B"):
        pipeline.explain(sample)
    whole = tmp_path / "memory_profile.json"
    whole.write_bytes(gzip.decompress(sample.read_bytes()))
    with opening.limited(1000), pytest.raises(UnreadableInput, match="are read up to 1000 B"):
        pipeline.explain(whole)


def test_a_big_text_of_two_bytes_a_character_is_searched(tmp_path: Path) -> None:
    """100 MB of it, decoded as a whole, took two minutes."""
    text = "step 1 of 9\n" * 1_000_000 + TEXT + "\nstep 2 of 9" * 1000
    (tmp_path / "train.log").write_text(text, encoding="utf-16")
    assert shape_of(tmp_path / "train.log") == (1, 65536, 576)


def test_of_blank_lines_in_a_row_few_are_read_and_all_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("\n" * 1000 + "a\r\r\rb\n" + "\r" * 1000 + "c", encoding="utf-8")
    with (opened := opening.open_input(inputs.Input(str(file)))).file:
        lines, _ = texts.text_lines(opened)
        found = list(lines)
    assert [line for line in found if line[1]] == [(1001, "a"), (1001, "b"), (1002, "c")]
    assert len(found) < 25


def test_zeros_alone_are_no_text_of_two_bytes_a_character(tmp_path: Path) -> None:
    """A disk that was full, or a bomb: read as UTF-16 it took 90 s and 2.3 GiB for 512 MiB."""
    (tmp_path / "log.gz").write_bytes(gzip.compress(bytes(40 << 20)))
    with pytest.raises(UnreadableInput, match="is binary"):
        pipeline.explain(tmp_path / "log.gz")
