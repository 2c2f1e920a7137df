"""The formulas against what TensorFlow 1.10 to 2.21 really took: the saved table of
scripts/benchmarks/convolution.py.
"""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES

TABLE = SAMPLES / "convolution" / "measured.csv"


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "convolution_benchmark", ROOT / "scripts" / "benchmarks" / "convolution.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCHMARK = _benchmark()
with TABLE.open(newline="", encoding="utf-8") as saved:
    LINES: list[dict[str, Any]] = [*csv.DictReader(saved)]


def _name(line: dict[str, Any]) -> str:
    return "-".join(
        line[part]
        for part in (
            "tf",
            "onednn",
            "kind",
            "input",
            "kernel",
            "strides",
            "padding",
            "dtype",
            "threads",
            "part",
        )
    )


@pytest.mark.parametrize("line", LINES, ids=_name)
def test_the_formula_agrees_with_the_run(line: dict[str, Any]) -> None:
    how, expected, found, agrees = BENCHMARK.verdict(line)
    assert agrees, f"{how}: predicted {expected}, measured {found}"


def test_the_output_has_the_predicted_size() -> None:
    from tfmemlens.knowledge.convolution.sizes import output_bytes, patch_matrix_bytes

    for line in LINES:
        if line["part"] == "forward" and line["output_bytes"]:
            conv = BENCHMARK.convolution_of(line)
            expected = patch_matrix_bytes(conv) if line["kind"] == "patches" else output_bytes(conv)
            assert expected == int(line["output_bytes"]), _name(line)


def test_the_table_covers_what_it_should() -> None:
    configurations = {
        tuple(
            line[part]
            for part in ("kind", "input", "kernel", "strides", "dilations", "padding", "dtype", "threads")
        )
        for line in LINES
    }
    assert len(configurations) >= 60
    assert {line["tf"] for line in LINES} == {
        "1.10.1",
        "1.11.0",
        "1.12.3",
        "1.13.2",
        "1.14.0",
        "1.15.5",
        "2.21.0",
    }
    judged = Counter(BENCHMARK.verdict(line)[0] for line in LINES)
    assert judged["exactly"] >= 300
    assert judged["resident set"] >= 60
