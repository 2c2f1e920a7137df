"""Reading a family of names once gives what reading each name gives: on every name of every sample, and on
any numbering.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.attribution.names.owner_cache import owner_like

TRACES = sorted(
    path
    for folder in ("run_metadata", "xspace")
    for path in (SAMPLES / folder).glob("*.pb*")
    if "no-memory" not in path.name
)
LOGS = sorted((SAMPLES / "oom_log").glob("*.txt"))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_traces(trace: Path) -> None:
    found = pipeline.capture(trace)
    names = {
        (name, op)
        for timeline in found.timelines
        for name, op in zip(timeline.table.node, timeline.table.op, strict=True)
        if name
    }
    names |= {(node.name, node.op) for node in found.graph or ()}
    assert names or not found.timelines
    for name, op in names:
        assert owner_like(name, op) == owner_of(name, op), name


def test_logs() -> None:
    names = {
        name
        for log in LOGS
        for name in re.findall(
            r" from (\S+)$", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
        )
    }
    assert len(names) > 100
    for name in names:
        assert owner_like(name) == owner_of(name), name


PARTS = st.sampled_from(
    "gradients training Adam while lstm cell MatMul MatMul_grad Conv2D dense kernel body replica Relu tower"
    " read m cond then PartitionedCall".split()
)
NAMES = st.lists(
    st.tuples(PARTS, st.sampled_from(["", "_0", "_1", "_2", "_01", "_12", "_1_2", "_3_grad"])),
    min_size=1,
    max_size=7,
)


@given(NAMES)
def test_any_name(parts: list[tuple[str, str]]) -> None:
    name = "/".join(part + number for part, number in parts)
    assert owner_like(name) == owner_of(name)
