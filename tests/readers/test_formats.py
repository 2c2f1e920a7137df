"""The contract of formats: a module in the folder is enough, and a text may hold several."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.capture import Hints, Holds
from tfmemlens.readers import catalogue, dispatch, formats
from tfmemlens.readers.contract import Confidence
from tfmemlens.readers.gathering import inputs, opening, traced_steps

OOM = (SAMPLES / "oom_log" / "1.15-im2col.txt").read_text(encoding="utf-8")
SHARED_LOG = SAMPLES / "log_memory" / "1.15-lenet.log.gz"
STEP_FORMAT = '''
"""A format that nobody else has."""

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Holds, Source
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.contract import Confidence, ListedStep

HOLDS = Holds.ALLOCATIONS
SUFFIXES = (".dummy",)
COMPANIONS = (".dummylock",)


def sniff(sample):
    return Confidence.CERTAIN if sample.text.startswith(b"DUMMY") else Confidence.NO


def steps(opened):
    return (ListedStep(None, number, 1_000.0 + number) for number in (4, 5))


def read(opened, hints):
    lines = opened.all().split()[1:]
    rows = [Allocation("node", int(size), start_micros=0.0, end_micros=1.0) for size in lines]
    found = (Timeline("", "dummy", AllocationTable.of(rows)),) if rows else ()
    return Capture(Source(opened.path, ("dummy-steps",)), timelines=found)
'''
LINE_FORMAT = '''
"""Lines of a monitor that stand in a log."""

from tfmemlens.model.capture import Capture, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.contract import Confidence

HOLDS = Holds.SURROUNDINGS
SHARED = True


def sniff(sample):
    return Confidence.CERTAIN if sample.mentions(b"monitor says") else Confidence.NO


def takes(text):
    return text.startswith("monitor says")


def read(opened, hints):
    return Capture(Source(opened.path, ("monitor",)), notes=(ReadNote("the monitor spoke"),))
'''


def drop(name: str, code: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Put one file into the folder of formats, and touch nothing else."""
    (folder / name).write_text(code, encoding="utf-8")
    patch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    patch.delitem(__import__("sys").modules, f"{formats.__name__}.{name.removesuffix('.py')}", raising=False)


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for inputs, with one format that holds steps dropped in."""
    (tmp_path / "plugins").mkdir()
    drop("dummy_steps.py", STEP_FORMAT, tmp_path / "plugins", monkeypatch)
    (tmp_path / "inputs").mkdir()
    return tmp_path / "inputs"


def test_a_dropped_format_is_read(plugged: Path) -> None:
    (plugged / "run.dummy").write_text("DUMMY 100 200\n", encoding="utf-8")
    assert pipeline.timelines(plugged / "run.dummy").timelines[0].peak_bytes == 300


def test_a_dropped_format_s_steps_are_listed_and_chosen(plugged: Path) -> None:
    (plugged / "run.dummy").write_text("DUMMY 100\n", encoding="utf-8")
    (plugged / "run.dummylock").write_text("held\n", encoding="utf-8")
    (plugged / "train.log").write_text(OOM, encoding="utf-8")
    found = traced_steps.find(plugged)
    assert [(step.format, step.tag, step.step, step.time) for step in found] == [
        ("dummy-steps", "run", 4, 1004.0),
        ("dummy-steps", "run", 5, 1005.0),
    ]
    assert pipeline.timelines(plugged).source.formats == ("dummy-steps",)
    assert [Path(each.path).name for each in inputs.resolve(plugged)] == ["run.dummy", "train.log"]
    assert len(pipeline.capture(plugged).incidents) == 1


def test_a_dropped_format_goes_before_one_that_holds_less(plugged: Path) -> None:
    (plugged / "timeline.json").write_bytes(
        (SAMPLES / "chrome_trace" / "1.15-profiler-hook.timeline.json").read_bytes()
    )
    (plugged / "run.dummy").write_text("DUMMY 100\n", encoding="utf-8")
    assert pipeline.timelines(plugged).source.formats == ("dummy-steps",)


def test_the_verdict_knows_a_dropped_format_as_a_trace(plugged: Path) -> None:
    (plugged / "run.dummy").write_text("DUMMY\n", encoding="utf-8")
    assert pipeline.explain(plugged / "run.dummy").verdict == "No memory figures are in this trace."
    (plugged / "other.txt").write_text("nothing\n", encoding="utf-8")
    assert pipeline.explain(plugged / "other.txt").verdict == "No out-of-memory message was found."


@pytest.mark.parametrize("place", ["above", "below", "alone"])
def test_a_dropped_format_does_not_hide_what_stands_beside_it(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop("monitor.py", LINE_FORMAT, tmp_path, monkeypatch)
    words = "monitor says RESOURCE_EXHAUSTED, allocations\n"
    text = {"above": words + OOM, "below": OOM + words, "alone": words}[place]
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    found = pipeline.capture(tmp_path / "train.log")
    assert [note.text for note in found.notes] == ["the monitor spoke"]
    assert len(found.incidents) == (place != "alone")
    assert found.source.formats[-1] == "monitor"


def test_a_log_of_allocations_keeps_the_failure_wherever_it_stands(tmp_path: Path) -> None:
    log = gzip.decompress(SHARED_LOG.read_bytes()).decode()
    for name, text in {"above": OOM + log, "below": log + OOM}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        found = pipeline.capture(tmp_path / name)
        assert found.incidents[0].request.shape == (1, 65536, 576)
        assert found.timelines[0].peak_bytes == pipeline.capture(SHARED_LOG).timelines[0].peak_bytes
        assert found.source.formats[:2] == ("log-memory", "oom-sentence")
        assert not any("__LOG_MEMORY__" in note.line.text for note in found.notes if note.line)


def test_every_format_keeps_the_contract() -> None:
    for slug, module in {**catalogue.formats(), **catalogue.models()}.items():
        assert isinstance(module.HOLDS, Holds), slug
        assert (module.__doc__ or "").strip(), slug
        assert not hasattr(module, "takes") or module.SHARED, slug
        for suffix in getattr(module, "SUFFIXES", ()):
            assert suffix.startswith("."), slug
        for ending in getattr(module, "COMPANIONS", ()):
            assert "." in ending, f"{slug}: a whole name, or an ending from its dot on"


@pytest.mark.parametrize("room", ["run_metadata", "tfevents", "xspace", "tfprof", "log_memory"])
def test_each_sample_is_known_by_its_own_format_alone(room: str) -> None:
    for path in sorted((SAMPLES / room).iterdir()):
        if path.name.endswith((".truth.json", ".md", ".origin.txt")):
            continue
        with (opened := opening.open_input(inputs.Input(str(path)))).file:
            sure = [
                match.slug for match in dispatch.recognise(opened) if match.confidence >= Confidence.LIKELY
            ]
        assert sure == [room.replace("_", "-")], path


def test_a_step_in_a_file_of_several_is_read_by_its_number() -> None:
    peaks = {pipeline.timelines(SHARED_LOG, Hints(step=step)).timelines[0].peak_bytes for step in (1, 2)}
    assert len(peaks) == 2
