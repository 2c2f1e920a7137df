"""Snapshots for PyTorch's memory_viz: structure, figures, and PyTorch's own reader where it is installed."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens.cli.main import main
from tfmemlens.renderers.memory_viz._placing import Placing

LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
TRACES = [LENET, SAMPLES / "xspace" / "2.21-function.xplane.pb", SAMPLES / "log_memory" / "2.21-lenet.log.gz"]


def snapshot(trace: Path, folder: Path) -> dict[str, Any]:
    target = folder / "memory.pickle"
    assert main(["export", str(trace), "--format", "memory-viz", "-o", str(target)]) == 0
    found: dict[str, Any] = pickle.loads(target.read_bytes())
    return found


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name)
def test_played_forward_it_has_the_peak_of_the_trace(trace: Path, tmp_path: Path) -> None:
    known, found = tfmemlens.read(trace), snapshot(trace, tmp_path)
    (segment, *_), (events, *_) = found["segments"], found["device_traces"]
    held = segment["active_size"]
    alive = {block["address"]: block["size"] for block in segment["blocks"] if block["state"] != "inactive"}
    highest = held
    for event in reversed(events):  # from the state at the end back to the beginning, as the page plays it
        if event["action"] == "alloc":
            assert alive.pop(event["addr"]) == event["size"]
            held -= event["size"]
        elif event["action"] == "free_completed":
            assert event["addr"] not in alive
            alive[event["addr"]] = event["size"]
            held += event["size"]
        highest = max(highest, held)
    assert highest == known.peak_bytes
    assert held == known.main.baseline_bytes or trace is not LENET
    times = [event["time_us"] for event in events]
    assert times == sorted(times)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name)
def test_the_blocks_fill_their_segment(trace: Path, tmp_path: Path) -> None:
    found = snapshot(trace, tmp_path)
    assert len(found["segments"]) == len(found["device_traces"])
    for segment in found["segments"]:
        end = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == end
            end += block["size"]
        assert end == segment["address"] + segment["total_size"]


def test_frames_tell_op_node_layer_and_kind(tmp_path: Path) -> None:
    events = snapshot(LENET, tmp_path)["device_traces"][0]
    frames = next(event["frames"] for event in events if event["frames"][2]["name"] == "activation")
    assert [frame["filename"] for frame in frames[1:]] == ["layer", "kind"]
    known = tfmemlens.read(LENET).allocations
    (row,) = known[known["node"] == frames[0]["filename"]].to_dict("records")[:1]
    assert (frames[1]["name"], frames[2]["name"]) == (row["layer"], row["kind"])


def test_a_pool_hands_out_each_byte_once() -> None:
    rng, placing, taken = random.Random(3), Placing(4096), {}
    for _ in range(3000):
        if taken and rng.random() < 0.5:
            address = rng.choice(list(taken))
            placing.give(address, taken.pop(address))
        else:
            size = rng.randrange(1, 50) * 256
            taken[placing.take(size)] = size
        places = sorted(taken.items())
        assert all(start + size <= after for (start, size), (after, _) in pairwise(places))
    for address, size in taken.items():
        placing.give(address, size)
    whole = placing.end - placing.start
    assert placing.take(whole) == placing.start


def test_a_failure_has_no_time_axis(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(SAMPLES / "oom_log" / "1.15-im2col.txt"), "--format", "memory-viz"]) == 2
    assert "memory-viz needs a time axis" in capsys.readouterr().err


def test_pytorch_reads_it(tmp_path: Path) -> None:
    viewer = pytest.importorskip("torch.cuda._memory_viz", reason="PyTorch is not installed")
    found = snapshot(LENET, tmp_path)
    assert "1 segments" in viewer.segsum(found) or "segments: 1" in viewer.segsum(found)
    assert "free_completed" in viewer.trace(found) or "= alloc" in viewer.trace(found)
    assert "application/octet-stream" in viewer.trace_plot(found) or "<script" in viewer.trace_plot(found)
