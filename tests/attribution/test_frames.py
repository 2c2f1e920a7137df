"""The live curve as a frame: what stood before and each event, by kind."""

from __future__ import annotations

from tests.builders import MIB, row, timeline
from tfmemlens.attribution import curve, frame
from tfmemlens.model.allocation import PERSISTENT, Allocation, AllocationTable
from tfmemlens.values import replace


def test_kinds_add_up_to_what_is_in_use() -> None:
    step = timeline(row("net/a/Relu", 4, 0, 3), row("gradients/b/mul", 2, 1, 2), baseline_mib=10)
    found = curve(step)
    assert found["bytes"].tolist() == [MIB * each for each in (14, 16, 14, 10)]
    assert found["micros"].tolist() == [0.0, 1000.0, 2000.0, 3000.0]
    assert found["allocation"].tolist() == [0, 1, 1, 0]
    kinds = found.columns[3:]
    assert found[list(kinds)].sum(axis=1).tolist() == found["bytes"].tolist()
    assert found["activation"].tolist() == [4 * MIB, 4 * MIB, 4 * MIB, 0]
    assert found["gradient"].tolist() == [0, 2 * MIB, 2 * MIB - 2 * MIB, 0]
    assert set(kinds) == {"activation", "gradient", "unattributed"}


def test_what_stood_counts_by_its_kind() -> None:
    standing = [Allocation(f"net/{name}", 3 * MIB, purpose=PERSISTENT) for name in ("v", "w")]
    step = replace(timeline(row("net/a/Relu", 4, 0, 3)), standing=AllocationTable.of(standing))
    step = replace(step, baseline_bytes=6 * MIB)
    found = curve(step)
    kinds = list(found.columns[3:])
    assert found[kinds].sum(axis=1).tolist() == [10 * MIB, 6 * MIB]
    assert sorted(found[kinds].iloc[-1].tolist()) == [0, 6 * MIB]
    assert curve(timeline(baseline_mib=1)).empty
    assert frame(step)["layer"].tolist() == ["net/a"]
