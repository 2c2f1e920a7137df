"""The front door: pages, exit statuses, odd inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main

LOGS = sorted(
    path
    for folder in ("oom_log", "memory_dump", "xla_dump")
    for path in (SAMPLES / folder).glob("*")
    if path.suffix in (".txt", ".pb", ".gz")
)
HINTS = {"1.10-founding-question-unet": ["--input-shape", "2x720x1280x9"]}


@pytest.mark.parametrize("sample", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_explain_reads_well(
    sample: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = sample.relative_to(SAMPLES.parent)
    harmless = sample.stem.endswith("only-soft-warnings")
    assert main(["explain", str(path), *HINTS.get(sample.stem, []), "--full"]) == int(harmless)
    golden(f"explain/{sample.parent.name}/{sample.name.split('.txt')[0]}.txt", capsys.readouterr().out)


def test_a_text_without_an_oom_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "fine.log"
    log.write_text("step 1 loss 0.5\nstep 2 loss 0.4\n")
    assert main(["explain", str(log)]) == 1
    assert "No out-of-memory message" in capsys.readouterr().out


def test_a_missing_file_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such.log"]) == 2
    assert "does not exist" in capsys.readouterr().err
