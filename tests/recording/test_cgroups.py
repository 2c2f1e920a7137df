"""What the kernel says of the memory of a control group, in both of its versions."""

from __future__ import annotations

from pathlib import Path

from tfmemlens.recording.beside import cgroups


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def reading(root: Path, membership: str) -> cgroups.MemoryGroup | None:
    (root / "membership").write_text(membership)
    return cgroups.read(str(root), str(root / "membership"))


def test_version_2(tmp_path: Path) -> None:
    events = "low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 0\n"
    group(tmp_path / "jobs" / "a", memory__events=events, memory__max="1048576\n", memory__peak="1048000\n")
    assert reading(tmp_path, "0::/jobs/a\n") == cgroups.MemoryGroup(
        str(tmp_path / "jobs/a"), 2, 1 << 20, 1048000
    )


def test_version_1_without_a_limit(tmp_path: Path) -> None:
    group(
        tmp_path / "memory" / "job",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        memory__limit_in_bytes="9223372036854771712\n",
        memory__max_usage_in_bytes="4096\n",
    )
    found = reading(tmp_path, "5:cpu:/job\n4:memory:/job\n0::/\n")
    assert found == cgroups.MemoryGroup(str(tmp_path / "memory/job"), 3, None, 4096)


def test_a_container_sees_only_the_end_of_the_path(tmp_path: Path) -> None:
    group(tmp_path, memory__events="oom_kill 1\n", memory__max="max\n")
    found = reading(tmp_path, "0::/docker/0123\n")
    assert found is not None
    assert (found.oom_kills, found.limit_bytes, found.peak_bytes) == (1, None, None)


def test_no_group_is_none(tmp_path: Path) -> None:
    assert reading(tmp_path, "0::/\n") is None
    assert reading(tmp_path, "") is None
