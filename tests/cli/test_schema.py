"""`tfmemlens schema` prints the contract that every JSON document keeps, with all its fields."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.renderers.report_schema import closed
from tfmemlens.cli.main import main
from tfmemlens.cli.schema import NAMES

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
}


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    main(list(command))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_is_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "schema", name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == schema["properties"]["schema"]["const"]


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
