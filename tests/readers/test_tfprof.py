"""tfprof's profiles against the allocator's own peak: exact where records are kept, else a lower bound;
several steps, damage.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.model.timeline import CurveSource
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.schema import message, parse

PROFILES = sorted((SAMPLES / "tfprof").glob("*.profile.gz"))
LENET = SAMPLES / "tfprof" / "1.15-lenet.profile.gz"


def peak_and_truth(profile: Path) -> tuple[int, int | None]:
    truth = json.loads(
        profile.with_name(profile.name.split(".profile")[0] + ".truth.json").read_text(encoding="utf-8")
    )
    return pipeline.capture(profile).timelines[0].peak_bytes, truth.get("max_in_use_bytes")


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.name.split(".profile")[0])
def test_the_peak_never_exceeds_the_allocators_own(profile: Path) -> None:
    peak, truth = peak_and_truth(profile)
    if truth is not None:
        assert (0.99 if "gpu-name" in profile.name else 0.7) * truth < peak <= truth


def test_records_of_a_gpu_allocator_are_used() -> None:
    timeline = pipeline.capture(SAMPLES / "tfprof" / "2.11-lenet-gpu-name.profile.gz").timelines[0]
    assert timeline.curve_source is CurveSource.RECORDS
    assert timeline.allocator == "GPU_0_bfc"
    assert timeline.baseline_confidence == 1.0


def test_scratch_memory_and_variables_are_in_it_and_the_graph_too() -> None:
    found = pipeline.capture(LENET)
    report = pipeline.report(found)
    kinds = {str(group.name): group.total_bytes for group in report.case.moments[0].attribution.by("kind")}
    assert kinds["workspace"] == 22579200  # temp_memory_size of Conv2DBackpropFilter
    assert found.graph
    assert found.graph.nodes["conv1/Relu"].op in ("Relu", "_FusedConv2D")
    assert {layer.layer: layer.parameters for layer in report.case.layers}["conv2"] == 51264


def test_steps_are_listed_and_chosen() -> None:
    assert "2 traced steps; this is step 3" in pipeline.capture(LENET).notes[0].text
    assert not pipeline.capture(LENET, Hints(step=2)).notes
    with pytest.raises(UsageError, match="no step 7"):
        pipeline.capture(LENET, Hints(step=7))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_profile_shows_what_could_be_read(tmp_path: Path, share: float) -> None:
    raw = gzip.decompress(LENET.read_bytes())
    file = tmp_path / "profile_3"
    file.write_bytes(raw[: int(share * len(raw))])
    found = pipeline.capture(file)
    assert any("cut" in note.text for note in found.notes)
    assert found.timelines


def test_a_profile_without_a_step_says_what_to_do(tmp_path: Path) -> None:
    profile = parse("ProfileProto", gzip.decompress(LENET.read_bytes()))
    for node in profile.nodes.values():
        node.execs.clear()
    file = tmp_path / "profile_0"
    file.write_bytes(profile.SerializeToString())
    assert "no executed step" in pipeline.capture(file).notes[0].text


def test_a_map_of_something_else_is_not_taken_for_one(tmp_path: Path) -> None:
    other = message("XSpace")()
    other.planes.add(id=3, name="/host:CPU")
    file = tmp_path / "x.pb"
    file.write_bytes(other.SerializeToString())
    assert pipeline.capture(file).source.formats == ("xspace",)
    file.write_bytes(b"\x0a\x08\x08\x01\x12\x04\x0a\x02\x00\x01")
    with pytest.raises(UnreadableInput):
        pipeline.capture(file)


def backwards(raw: bytes) -> bytes:
    """The same profile with the nodes of its map in the opposite order."""
    entries, at = [], 0
    while at < len(raw) and raw[at] == 0x0A:
        length, start = varint(raw, at + 1)
        entries.append(raw[at : start + length])
        at = start + length
    return b"".join(reversed(entries)) + raw[at:]


@pytest.mark.whole
def test_the_order_of_a_map_does_not_matter(tmp_path: Path) -> None:
    """Protobuf's implementations hand out maps in orders of their own; the one in Python keeps the file's."""
    raw = gzip.decompress(LENET.read_bytes())
    assert backwards(raw) != raw
    pages = []
    for content in (raw, backwards(raw)):
        (tmp_path / "profile_3").write_bytes(content)
        command = [sys.executable, "-m", "tfmemlens", "profile", str(tmp_path / "profile_3")]
        pages.append(
            subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
            ).stdout
        )
    assert pages[0] == pages[1]
