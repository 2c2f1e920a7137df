"""`tfmemlens schema` prints the contract that every JSON document keeps, with all its fields."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.renderers.report_schema import closed
from tfmemlens import renderers
from tfmemlens.cli.main import main
from tfmemlens.cli.schema import schema_names, schema_text

JSON = Path(renderers.__file__).parent / "json"
CONTRACT = r"tfmemlens\.[a-z-]+/\d+"
OF_FLEET = {"fleet-scan", "fleet-top", "fleet-diff"}
"""Their documents are held against them beside the tests of these commands, which need more packages."""
UNET = "sample_traces/oom_log/1.10-founding-question-unet.txt"
LENET = "sample_traces/run_metadata/1.15-lenet.pb"
DOCUMENTS = {
    "report": [
        ["explain", UNET, "--json"],
        ["profile", LENET, "--json"],
        ["fit", LENET, "--limit", "1GiB", "--json"],
        ["layout", "sample_traces/layout/2.21-unet-founding-question.after.pb.gz", "--json"],
    ],
    "diff": [["diff", LENET, "sample_traces/run_metadata/1.15-unet.pb.gz", "--json"]],
    "convolution": [
        ["conv", "--input", "200x321x481x1", "--kernel", "135x135x3", "--padding", "valid", "--json"]
    ],
    "steps": [["profile", STEPS, "--list", "--json"] for STEPS in ("sample_traces/tfevents", LENET)],
}


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    main(list(command))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("name", schema_names())
def test_the_schema_is_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "schema", name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == schema["properties"]["schema"]["const"]


def test_every_file_of_the_folder_is_a_schema() -> None:
    """There is no list to edit: the command prints what is shipped, and every document has one."""
    shipped = {file.stem for file in (JSON / "schemas").iterdir()}
    assert set(schema_names()) == shipped
    kept = {json.loads(schema_text(name))["$id"] for name in shipped}
    printed = {
        text for file in JSON.rglob("*.py") for text in re.findall(CONTRACT, file.read_text(encoding="utf-8"))
    }
    assert printed == kept
    assert set(DOCUMENTS) | OF_FLEET == shipped


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, command) for name, commands in DOCUMENTS.items() for command in commands],
    ids=str,
)
def test_it_describes_every_field_that_is_printed(
    name: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    schema = closed(printed(capsys, "schema", name))
    jsonschema.Draft202012Validator(schema).validate(printed(capsys, *command))


def test_a_field_that_nobody_described_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    schema = closed(printed(capsys, "schema", "report"))
    document = printed(capsys, "explain", UNET, "--json")
    document["findings"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        jsonschema.Draft202012Validator(schema).validate(document)
