"""A message that names a file of a checkpoint alone: the node tells whether it was read or written."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

MESSAGE = "W op_kernel.cc:1198] Resource exhausted: /srv/nets/n240/weights.data-00000-of-00001\n"
NODE = "\t [[Node: {0} = {1}[dtypes=[DT_FLOAT]](_arg_save/Const_0_0, save/tensor_names)]]\n"


@pytest.mark.parametrize(
    "node",
    [
        NODE.format("save_1/RestoreV2", "RestoreV2"),
        NODE.format("save/RestoreV2_6", "RestoreV2"),
        "\t [[{{node save/RestoreV2}}]]\n",
    ],
)
def test_a_node_that_restores_reads(node: str) -> None:
    report = pipeline.explain(MESSAGE + node)
    assert "a checkpoint could not be read (line 2" in report.verdict
    assert "open" in report.verdict
    first = report.actions[0].remedy
    assert first.slug == "more-open-files"
    assert "df -h" not in (first.code or "")


@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        MESSAGE + NODE.format("save/SaveV2", "SaveV2"),
        MESSAGE + NODE.format("save/ShardedFilename", "ShardedFilename"),
        MESSAGE + "step 1\n" * 5 + NODE.format("save/RestoreV2", "RestoreV2"),
        MESSAGE.replace("-00001\n", "-00001.tempstate12345\n") + NODE.format("restored/mul", "Mul"),
    ],
)
def test_any_other_node_leaves_the_disk_in_question(text: str) -> None:
    report = pipeline.explain(text)
    assert "could not be written" in report.verdict
    assert "df -h" in (report.actions[0].remedy.code or "")
