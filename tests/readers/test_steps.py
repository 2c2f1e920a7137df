"""Log directories: which steps are in them, which one is taken, several hosts."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.readers.gathering import traced_steps

LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
XPLANE = SAMPLES / "xspace" / "2.11-function.xplane.pb"


def put(source: Path, target: Path, written: float = 1_000_000.0) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    os.utime(target, (written, written))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A log directory as users have it: event files, dumps by hand, two profiler runs, and much that is no
    trace.
    """
    put(
        SAMPLES / "tfevents" / "1.15-tagged-steps.tfevents", tmp_path / "train" / "events.out.tfevents.1.host"
    )
    put(LENET, tmp_path / "run_metadata_9.pb", 3_000.0)
    put(SAMPLES / "run_metadata" / "1.15-conv3d.pb", tmp_path / "run_metadata_10.pb", 2_000.0)
    put(SAMPLES / "chrome_trace" / "1.15-profiler-hook.timeline.json", tmp_path / "timeline-500.json")
    for date in ("2026_11_20_10_00_00", "2026_11_22_10_00_00"):
        put(XPLANE, tmp_path / "plugins" / "profile" / date / "worker0.xplane.pb")
        put(
            SAMPLES / "xspace" / "2.21-function.xplane.pb",
            tmp_path / "plugins" / "profile" / date / "worker1.xplane.pb",
        )
    (tmp_path / "checkpoint").write_text("model_checkpoint_path: x", encoding="utf-8")
    (tmp_path / "model.ckpt-10.data-00000-of-00001").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "train.log").write_text("step 1 loss 0.1\n", encoding="utf-8")
    (tmp_path / "empty.pb").write_bytes(b"")
    return tmp_path


def test_every_step_is_found_in_order_of_time(logdir: Path) -> None:
    found = traced_steps.find(logdir)
    assert [(step.format, step.tag, step.step, len(step.paths)) for step in found] == [
        ("run-metadata", "run_metadata_9", 9, 1),
        ("run-metadata", "run_metadata_10", 10, 1),
        ("chrome-trace", "timeline-500", 500, 1),
        ("xspace", "2026_11_20_10_00_00", None, 2),
        ("tfevents", "step000", 0, 1),
        ("tfevents", "step001", 1, 1),
        ("tfevents", "step002", 2, 1),
        ("xspace", "2026_11_22_10_00_00", None, 2),
    ]


def test_the_newest_is_taken_and_the_others_are_named(logdir: Path) -> None:
    found = pipeline.timelines(logdir)
    assert "2026_11_22_10_00_00" in found.source.path
    assert any("traced steps; this is 2026_11_22_10_00_00" in note.text for note in found.notes)


def test_hosts_of_one_run_are_one_step_and_told_apart(logdir: Path) -> None:
    found = pipeline.timelines(logdir, Hints(tag="2026_11_20_10_00_00"))
    assert sorted(timeline.device for timeline in found.timelines) == [
        "worker0 /host:CPU",
        "worker1 /host:CPU",
    ]


@pytest.mark.parametrize(
    ("hints", "name"),
    [
        (Hints(step=9), "run_metadata_9.pb"),
        (Hints(step=1), "events.out.tfevents.1.host"),
        (Hints(tag="run_metadata_10"), "run_metadata_10.pb"),
    ],
)
def test_a_step_or_a_tag_chooses(logdir: Path, hints: Hints, name: str) -> None:
    assert Path(pipeline.timelines(logdir, hints).source.path).name == name


def test_a_step_of_an_event_file_is_the_one_of_the_folder(logdir: Path) -> None:
    alone = tfmemlens.read(SAMPLES / "tfevents" / "1.15-tagged-steps.tfevents", step=1)
    assert tfmemlens.read(logdir, step=1).peak_bytes == alone.peak_bytes


def test_numbers_count_more_than_dates_of_copies(logdir: Path) -> None:
    shutil.rmtree(logdir / "plugins")
    shutil.rmtree(logdir / "train")
    assert Path(pipeline.timelines(logdir).source.path).name == "run_metadata_10.pb"


def test_what_has_allocations_goes_before_what_has_only_ops(logdir: Path) -> None:
    put(LENET, logdir / "run_metadata_500.pb", 1_000.0)
    assert Path(pipeline.timelines(logdir, Hints(step=500)).source.path).name == "run_metadata_500.pb"


def test_a_step_that_is_not_there_is_a_usage_error(logdir: Path) -> None:
    with pytest.raises(UsageError, match="no traced step with step 77") as caught:
        pipeline.timelines(logdir, Hints(step=77))
    assert "run_metadata_9 (step 9)" in caught.value.hint


def test_the_list(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(logdir), "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert "and 1 more" in next(line for line in lines if "2026-11-22 10:00:00" in line)
    assert main(["profile", str(logdir), "--list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tfmemlens.steps/1"
    assert {step["tag"] for step in document["steps"]} >= {"step002", "run_metadata_9"}


def test_a_folder_without_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    assert main(["profile", str(tmp_path), "--list"]) == 1
    assert "no traced step" in capsys.readouterr().out
    assert main(["profile", str(tmp_path)]) == 1


def test_a_zipped_event_file_is_listed(tmp_path: Path) -> None:
    raw = (SAMPLES / "tfevents" / "1.15-tagged-steps.tfevents").read_bytes()
    (tmp_path / "events.gz").write_bytes(gzip.compress(raw))
    assert [step.tag for step in traced_steps.find(tmp_path)] == ["step000", "step001", "step002"]


def test_steps_inside_logs_and_profiles_are_listed() -> None:
    assert [step.step for step in traced_steps.find(SAMPLES / "log_memory" / "1.15-lenet.log.gz")] == [
        1,
        2,
        3,
    ]
    assert [step.step for step in traced_steps.find(SAMPLES / "tfprof" / "1.15-lenet.profile.gz")] == [2, 3]


def test_a_page_of_several_hosts_names_the_other_allocators(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(logdir), "--full"]) == 0
    page = capsys.readouterr().out
    assert "BESIDES: 1 ALLOCATOR\n  --all shows it whole\n" in page
    assert "on bfc_cpu_allocator_for_gpu of worker" in page
    assert main(["profile", str(logdir), "--all"]) == 0
    assert "allocator 2 of 2" in capsys.readouterr().out
    assert main(["profile", str(logdir), "--markdown", "--all"]) == 0


def test_explain_reads_the_logs_of_a_folder_and_one_of_its_steps(logdir: Path) -> None:
    shutil.copy(SAMPLES / "oom_log" / "1.15-unet-report.txt", logdir / "train.err")
    found = pipeline.capture(logdir)
    assert found.incidents
    assert len(found.timelines) == 2


def test_a_graph_alone_says_what_it_is_good_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tfmemlens.schema import parse

    file = tmp_path / "graph.pb"
    file.write_bytes(parse("RunMetadata", LENET.read_bytes()).partition_graphs[0].SerializeToString())
    assert main(["profile", str(file), "--full"]) == 1
    page = capsys.readouterr().out
    assert "No memory figures are in this trace." in page
    assert "--graph" in page


def test_a_log_that_speaks_of_memory_late_is_still_found(tmp_path: Path) -> None:
    text = gzip.decompress((SAMPLES / "log_memory" / "1.15-lenet.log.gz").read_bytes()).decode()
    file = tmp_path / "train.log"
    file.write_text(
        "2026-01-01 00:00:00.000000: I tensorflow/core/x.cc:1] chatter\n" * 4000 + text, encoding="utf-8"
    )
    assert (
        pipeline.timelines(file).timelines[0].peak_bytes
        == pipeline.timelines(SAMPLES / "log_memory" / "1.15-lenet.log.gz").timelines[0].peak_bytes
    )
    assert [step.step for step in traced_steps.find(tmp_path)] == [1, 2, 3]


def test_what_the_profiler_made_of_a_run_is_the_same_step(tmp_path: Path) -> None:
    run = tmp_path / "plugins" / "profile" / "2026_11_20_10_00_00"
    put(XPLANE, run / "host.xplane.pb")
    put(SAMPLES / "chrome_trace" / "2.4-profiler.trace.json.gz", run / "host.trace.json.gz")
    put(
        SAMPLES / "memory_profile" / "2.4-function.memory_profile.json.gz",
        run / "host.memory_profile.json.gz",
    )
    (run / "host.overview_page.pb").write_bytes(bytes(range(256)))
    assert [step.format for step in traced_steps.find(tmp_path)] == ["xspace"]
    assert not pipeline.capture(tmp_path).notes


def test_where_the_newest_step_is_cut_the_one_before_is_shown(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "run_metadata" / "2.21-inference.pb", tmp_path / "a.pb")
    whole = (SAMPLES / "xspace" / "2.21-function.xplane.pb").read_bytes()
    (tmp_path / "b.xplane.pb").write_bytes(whole[:3000])
    found = pipeline.timelines(str(tmp_path))
    assert found.timelines[0].peak_bytes == pipeline.timelines(str(tmp_path / "a.pb")).timelines[0].peak_bytes
    assert any("b.xplane.pb tells nothing of memory; this is a.pb" in note.text for note in found.notes)
    assert any("cut off" in note.text for note in pipeline.timelines(str(tmp_path / "b.xplane.pb")).notes)
