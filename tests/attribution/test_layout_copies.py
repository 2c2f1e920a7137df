"""The copies of the real layout pass: each is found, and its cause is the right one because the copy vanishes
when the cause does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.answers import graph_of, studied
from tests.conftest import SAMPLES
from tfmemlens.knowledge.layout_causes import CAUSES
from tfmemlens.model.layout import LayoutCopy, LayoutStudy
from tfmemlens.recording.grappler import NATIVE

TRUTHS = sorted((SAMPLES / "layout").glob("*.truth.json"))


def truth_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def study_of(path: Path) -> LayoutStudy:
    return studied(after(path))


def after(path: Path) -> Path:
    """The graph that the pass left."""
    return Path(str(path).replace(".truth.json", ".after.pb.gz"))


def forced(test: Callable[[str, str, str], bool]) -> Callable[[LayoutCopy, Any], bool]:
    """Whether all that forces a copy (node, op, cause) passes a test."""

    def check(copy: LayoutCopy, ops: dict[str, str]) -> bool:
        return all(
            test(node, ops.get(node, ""), cause)
            for node, cause in ((copy.forced_by or "", copy.cause), *copy.also)
        )

    return check


ENDED_BY = {
    "batch-norm-training": forced(lambda node, op, cause: cause == "batch-norm-inference-mode"),
    "batch-norm-fused": forced(lambda node, op, cause: cause == "batch-norm-unfused"),
    "transposed-convolution": forced(
        lambda node, op, cause: op.startswith("Resize") and cause == "not-supported"
    ),
    "without-resize": forced(lambda node, op, cause: op.startswith("Resize") and cause == "not-supported"),
    "without-dropout": forced(lambda node, op, cause: cause == "random-source"),
    "relu": forced(
        lambda node, op, cause: (
            op.startswith("LeakyRelu") and cause in ("not-supported", "gradient-not-supported")
        )
    ),
    "without-softmax": forced(
        lambda node, op, cause: op == "Softmax" or node.removeprefix("gradients/").startswith("Reshape")
    ),
    "static-rank": forced(lambda node, op, cause: cause == "unknown-rank"),
    "slice": forced(lambda node, op, cause: op == "StridedSliceGrad" and cause == "gradient-not-supported"),
    "apply-gradients": forced(lambda node, op, cause: cause == "fetched"),
    "without-local-norm": forced(lambda node, op, cause: "lrn" in node or "fold" in node),
    "data-format-nchw": lambda copy, ops: not copy.causes & set(NATIVE),
    "data-format-nhwc": lambda copy, ops: not copy.causes & set(NATIVE),
}
"""For each edit of a model the copies that it must end. The softmax of 1.10 stands between two reshapes."""
COUNTED = [
    path for path in TRUTHS if "layout-pass-alone" not in path.name and "plain-inference" not in path.name
]
"""The pass alone leaves dead ends and copies for each reader, which an edit ends along with its own; an
unfused norm in inference mode gets others instead.
"""


def test_there_are_samples() -> None:
    assert len(TRUTHS) > 70
    assert {truth_of(path)["tf"] for path in TRUTHS} == {"1.5.0", "1.10.1", "1.15.5", "2.21.0"}


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_every_inserted_node_is_found(path: Path) -> None:
    truth, found = truth_of(path)["inserted"], study_of(path)
    nodes = {copy.node: copy for copy in (*found.copies, *found.helpers)}
    assert set(nodes) == set(truth)
    for name, facts in truth.items():
        copy = nodes[name]
        assert copy.op == facts["op"]
        assert copy.cause in CAUSES
        assert list(copy.consumers) == [] or sorted(copy.consumers) == facts["consumers"]
        assert copy.producer == facts["producer"]
        if facts["bytes"] is not None and facts["op"] == "Transpose":
            assert copy.tensor.bytes == facts["bytes"]
            assert list(copy.tensor.shape or ()) == facts["shape"]
            assert copy.tensor.dtype == facts["dtype"]
            assert copy.direction in name


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_copies_vanish_with_their_cause(path: Path) -> None:
    """Each remedy was applied to the model and the pass run again: so many copies are left, and none of those
    that were to go.
    """
    found = study_of(path)
    ops = {node.name: node.op for node in graph_of(after(path))}
    for slug, remedy in truth_of(path)["remedies"].items():
        if not found.copies:  # the pass gave up on the graph, or its direction is the other one
            continue
        gone = {copy.node for copy in found.copies if ENDED_BY[slug](copy, ops)}
        came = 1 if "fed-target" in path.name else 0  # of a target whose rank is known, one copy is made
        assert len(found.copies) - len(gone) + came == remedy["copies"], slug
        if slug != "without-local-norm":  # which numbers its ops anew
            assert not gone & set(remedy["left"]), slug


@pytest.mark.parametrize(("version", "before", "after"), [("1.10", 45, 9), ("1.15", 45, 9), ("2.21", 57, 9)])
def test_the_founding_question(version: str, before: int, after: int) -> None:
    """As written the net has so many copies; what batch normalisation forces goes with training=True."""
    path = SAMPLES / "layout" / f"{version}-unet-founding-question.truth.json"
    found = study_of(path)
    norm = next(cause for cause in found.causes if cause.slug == "batch-norm-inference-mode")
    assert (len(found.copies), len(found.copies) - len(norm.copies)) == (before, after)
    assert truth_of(path)["remedies"]["batch-norm-training"]["copies"] == after
    layers = {copy.source_layer or "" for copy in norm.copies}
    assert {f"shared_model/unet_{index:02}" for index in range(12)} <= {
        layer.removesuffix("/batch_normalization") for layer in layers
    }
    assert all("FusedBatchNormGrad" in (copy.forced_op or "") for copy in norm.copies)
    first = next(copy for copy in found.copies if copy.node.startswith("shared_model/unet_01/BiasAdd-"))
    assert (first.tensor.shape, first.tensor.bytes, first.retained, first.direction) == (
        (2, 720, 1280, 64),
        471859200,
        True,
        "NCHWToNHWC",
    )
