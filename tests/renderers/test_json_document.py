"""The JSON document keeps its contract on every sample, and its sums agree with each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.answers import explained
from tests.conftest import SAMPLES
from tests.renderers.report_schema import REPORT, validate
from tfmemlens.cli.main import main
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.renderers.json import report as report_document

INPUTS = sorted(
    path
    for folder in ("oom_log", "memory_dump", "xla_dump", "run_metadata", "xspace")
    for path in (SAMPLES / folder).glob("*")
    if path.suffix in (".txt", ".gz", ".pb")
)


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report_document.render(explained(path)))
    return found


@pytest.mark.parametrize("sample", INPUTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_contract_holds(sample: Path) -> None:
    found = document(sample)
    validate(found, REPORT)
    total = sum(row["bytes"] for row in found["allocations"])
    assert sum(found["kinds"].values()) == total
    assert sum(layer["total_bytes"] for layer in found["layers"]) == total
    for layer in found["layers"]:
        assert sum(layer["kinds"].values()) == layer["total_bytes"]
    for peak in found["peaks"]:
        assert peak["baseline_bytes"] <= peak["bytes"]
    if found["peaks"] and not found["incidents"]:
        assert total == max(peak["bytes"] for peak in found["peaks"])
    for incident in found["incidents"]:
        request, holders = incident["request"], incident["holders"]
        assert request["tensor_bytes"] in (
            None,
            tensor_bytes(tuple(request["shape"] or ()), request["dtype"]),
        )
        assert (
            request["rounded_bytes"] is None
            or request["tensor_bytes"] is None
            or request["rounded_bytes"] >= request["tensor_bytes"]
        )
        assert holders["total_bytes"] in (
            None,
            (holders["listed_bytes"] or 0) + (holders["unlisted_bytes"] or 0),
        )


def test_the_schema_can_fail() -> None:
    found = document(SAMPLES / "oom_log" / "1.15-im2col.txt")
    found["incidents"][0]["request"]["tensor_bytes"] = "144 MiB"
    with pytest.raises(jsonschema.ValidationError):
        validate(found, REPORT)


@pytest.mark.parametrize("name", ["1.15-im2col", "2.11-unet-layout", "2.21-layer-exception"])
def test_markdown_reads_well(
    name: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", f"sample_traces/oom_log/{name}.txt", "--markdown"]) == 0
    golden(f"markdown/{name}.md", capsys.readouterr().out)
