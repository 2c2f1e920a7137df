"""All samples at once in a program of R."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

MESSAGE = "Resource exhausted: OOM when allocating tensor with shape[18764,16,80,80]\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize("code", ["o <- tf$GPUOptions(allow_growth = TRUE)\n", "k_set_session(s)\n"])
def test_code_of_r_gets_code_of_r(code: str) -> None:
    first = explained(code + MESSAGE).actions[0].remedy
    assert first.slug == "in-batches-of-r"
    assert "32L" in (first.code or "") and "range(" not in (first.code or "")


def test_python_keeps_python_s() -> None:
    first = explained("config = tf.GPUOptions(allow_growth=True)\n" + MESSAGE).actions[0].remedy
    assert first.slug == "in-batches"
