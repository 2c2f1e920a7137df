"""A defect of ours: the library raises, only the command line apologises."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.errors import DEBUG_VARIABLE

LOG = str(SAMPLES / "oom_log" / "1.15-unet-report.txt")


@pytest.fixture(autouse=True)
def _defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise KeyError("no such thing")

    monkeypatch.setattr(pipeline, "report", broken)


def test_the_library_raises() -> None:
    with pytest.raises(KeyError):
        pipeline.explain(LOG)


@pytest.mark.parametrize("value", [None, "", "0"])
def test_the_command_line_apologises(
    value: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(DEBUG_VARIABLE, value)
    assert main(["explain", LOG]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tfmemlens: sorry, this is a defect of tfmemlens: KeyError in pipeline.py, line ")
    assert "no such thing" in said
    assert "hint: please report this line" in said
    assert "Traceback" not in said


def test_the_traceback_is_there_for_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    with pytest.raises(KeyError):
        main(["explain", LOG])
