"""A program that was killed leaves no traceback: its bundle has the script, the kernel's source the op."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.gathering import program_files
from tfmemlens.use_cases import run

LINE = "margin = tf.expand_dims(bad, 1) - tf.expand_dims(good, 0)"
LOG = (
    "Allocator (cpu) ran out of memory trying to allocate 614.11MiB (rounded to 643941888)\n"
    "BFCAllocator dump for cpu\n     Summary of in-use Chunks by size: \n4 Chunks of size 7680 totalling"
    " 30.0KiB\nSum Total of in-use chunks: 30.0KiB\nStats: \nLimit:   629145600\nInUse:   188416\n"
    "op_kernel.cc:1651] OP_REQUIRES failed at {kernel}:82 : Resource exhausted: OOM when allocating tensor"
    " with shape[10169,15831] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator"
    " cpu\n"
)


def bundle(folder: Path, kernel: str, *lines: str) -> str:
    (folder / "log.txt").write_text(LOG.format(kernel=kernel), encoding="utf-8")
    program = folder / program_files.FOLDER
    program.mkdir()
    (program / "auc.py").write_text("import tensorflow as tf\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("kernel", "lines", "pairs", "named"),
    [
        ("cwise_ops_common.cc", [LINE], True, True),
        ("cwise_ops_common.cc", [LINE, LINE.replace("margin", "other")], True, False),  # which of two?
        ("cwise_ops_common.cc", ["x = 1"], True, False),
        ("matmul_op.cc", [LINE], False, False),
    ],
)
def test_pairs_by_the_kernel_and_the_script(
    tmp_path: Path, kernel: str, lines: list[str], pairs: bool, named: bool
) -> None:
    report = pipeline.explain(bundle(tmp_path, kernel, *lines))
    assert ("combines every pair of 10,169 and 15,831 rows" in report.verdict) is pairs
    assert (f"most likely `{LINE}`, line 2 of auc.py" in report.verdict) is named
    assert (report.actions[0].remedy.slug == "in-blocks") is pairs


@pytest.mark.parametrize(
    ("command", "kept"), [(["python", "auc.py"], True), (["python", "-m", "auc"], False)]
)
def test_the_script_of_a_killed_program_is_kept(tmp_path: Path, command: list[str], kept: bool) -> None:
    (tmp_path / "auc.py").write_text("import tensorflow\n", encoding="utf-8")
    folder = tmp_path / "bundle"
    folder.mkdir()
    run._keep_script(str(folder), {"working_folder": str(tmp_path), "command": command})
    assert (folder / program_files.FOLDER / "auc.py").exists() is kept
