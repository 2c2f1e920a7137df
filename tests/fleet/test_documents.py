"""What `--json` of the fleet's commands prints keeps the schemas of `tfmemlens schema`, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.fleet.made import at, failure, log, write
from tests.fleet.needed import fleet
from tests.fleet.test_scan import Here
from tests.renderers.report_schema import closed
from tfmemlens import renderers
from tfmemlens.cli.main import main
from tfmemlens.cli.schema import schema_text

pytestmark = fleet


def printed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    assert main(["fleet", *words, "--json"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def check(document: dict[str, Any], name: str) -> None:
    jsonschema.Draft202012Validator(closed(json.loads(schema_text(name)))).validate(document)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    rows = [
        failure(f"{number}.log", signature=f"s{number % 3}", time=at(-number), job="a" if number else None)
        for number in range(20)
    ]
    rows += [failure("undated.log", line=None), failure("new.log", signature="s9", time=at(0))]
    inputs = [log(row["source"], row["time"], row["time"]) for row in rows]
    return write(tmp_path / "failures", rows, [*inputs, log("x.log", status="unreadable", incidents=0)])


@pytest.mark.parametrize(
    "words", [(), ("--since", "3d"), ("--by", "host"), ("--by", "job", "--top", "1")], ids=str
)
def test_top(folder: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "top", folder, *words)
    check(document, "fleet-top")
    assert document["groups"]


def test_top_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "top", write(tmp_path / "failures", [], [log("a.log")]), status=1)
    check(document, "fleet-top")
    assert (document["trend"], document["start"], document["groups"]) == (None, None, [])


def test_diff(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "diff", folder, "--after", "1d", status=1)
    check(document, "fleet-diff")
    assert [group["name"] for group in document["new"]] == ["s9"]
    check(printed(capsys, "diff", folder, "--after", "2031-01-01", status=3), "fleet-diff")


def test_scan(tmp_path: Path) -> None:
    from tfmemlens.fleet.scanning import scan

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("step 1\nSegmentation fault\n")
    (tmp_path / "logs" / "b.log").write_bytes(b"\x1f\x8b" + bytes(50))
    first, second = (
        json.loads(
            renderers.render(
                scan(str(tmp_path / "logs"), str(tmp_path / "out"), Here()), "fleet_scan", "json"
            )
        )
        for _ in range(2)
    )
    check(first, "fleet-scan")
    check(second, "fleet-scan")
    assert first["inputs"] == {"no failure": 1, "unreadable": 1}
    assert first["ended_otherwise"] == {"the process crashed": 1}
    assert first["unreadable"] and second["unchanged"] == 2


def test_an_unknown_field_is_seen(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "top", folder)
    document["groups"][0]["example"]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        check(document, "fleet-top")
