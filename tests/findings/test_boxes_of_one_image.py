"""Boxes that are cut out of one image: its first dimension counts no boxes."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline

SLICE = "train/gradients/roi_pool_2/strided_slice_31_grad/StridedSliceGrad"


def test_the_gradient_of_a_slice_is_as_large_as_its_map() -> None:
    report = pipeline.explain(oom("1,300,500,256", node=SLICE))
    assert "each slice has a gradient as large as the whole map" in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[0] == "fewer-boxes"
    assert "smaller-batch" not in slugs


@pytest.mark.parametrize(
    "node", ["roi_pool_2/crop/CropAndResize", "net/strided_slice_31_grad/StridedSliceGrad"]
)
def test_one_image_is_no_number_of_boxes(node: str) -> None:
    report = pipeline.explain(oom("1,300,500,256", node=node))
    assert "1 boxes" not in report.verdict
    assert "each slice has a gradient" not in report.verdict


def test_many_crops_are_counted() -> None:
    report = pipeline.explain(oom("900,14,14,1024", node="roi/CropAndResize"))
    assert "900 boxes" in report.verdict


def test_boxes_halve_no_batch_where_nothing_trains() -> None:
    text = "Faster R-CNN on a camera: ResourceExhaustedError: OOM when allocating tensor with shape[{}]"
    slugs = [action.remedy.slug for action in pipeline.explain(text.format("300,1024,14,14")).actions]
    assert "fewer-boxes" in slugs
    assert "smaller-batch" not in slugs
    maps = [action.remedy.slug for action in pipeline.explain(text.format("300,64,112,112")).actions]
    assert "smaller-batch" in maps
