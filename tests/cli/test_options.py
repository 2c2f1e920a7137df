"""No option is idle: each changes what its command prints. And no command offers what it would not heed."""

from __future__ import annotations

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main

LOG = str(SAMPLES / "oom_log" / "1.10-founding-question-unet.txt")
AGAIN = str(SAMPLES / "oom_log" / "1.15-caught-and-again.txt")
TRACE = str(SAMPLES / "run_metadata" / "1.15-lenet.pb")
STEP = str(SAMPLES / "fit" / "1.15-lenet-b64.pb.gz")
EVENTS = str(next((SAMPLES / "tfevents").glob("1.15-tagged-steps*[!n]")))
GRAPH = str(SAMPLES / "layout" / "1.15-unet-founding-question.after.pb.gz")
MODEL = str(SAMPLES.parent / "sample_models" / "files-2.21" / "small.json")
CONV = "conv --input 8x32x32x16 --kernel 3x3x8 --threads 2 --tf 2.8"

OPTIONS = {
    f"explain {LOG}": (
        "--input-shape 2x720x1280x9",
        "--batch 3",
        "--limit 5GiB",
        "--top 2",
        "--by kind",
        "--json",
        "--markdown",
        f"--trace {TRACE}",
    ),
    f"explain {AGAIN}": ("--all",),
    f"profile {TRACE}": (
        "--at 3ms",
        "--list",
        "--device GPU",
        "--top 2",
        "--by kind",
        "--json",
        "--markdown",
        "--limit 1GiB",
    ),
    f"profile {EVENTS}": ("--tag batch-64", "--step 0"),
    f"fit {STEP} --limit 1GiB": ("--json", "--markdown", "--batch 2", "--device GPU"),
    f"layout {GRAPH}": ("--top 2", "--json", "--markdown"),
    f"estimate {MODEL} --batch 32": (
        "--optimizer sgd",
        "--dtype mixed_float16",
        "--mode inference",
        "--device gpu",
        "--limit 1GiB",
        "--input-shape 600",
    ),
    f"estimate {MODEL}": ("--batch 64", "--top 2", "--by kind", "--json", "--markdown", "--csv"),
    f"diff {TRACE} {STEP}": ("--json", "--html", "--top 2", "--device GPU"),
    f"export {TRACE} --format speedscope": ("--device GPU",),
    CONV: (
        "--padding valid",
        "--strides 2",
        "--dilations 2",
        "--dtype float16",
        "--tf 1.10",
        "--threads 4",
        "--device gpu",
        "--onednn",
        "--full",
        "--json",
    ),
}
_WITHOUT: dict[str, tuple[bytes, bytes]] = {}
"""What each command prints without an option."""
CASES = [(command, option) for command, options in OPTIONS.items() for option in options]


@pytest.mark.parametrize(
    ("command", "option"),
    CASES,
    ids=[f"{command.split()[0]} {option.split()[0]}" for command, option in CASES],
)
def test_an_option_has_an_effect(
    command: str, option: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    if command not in _WITHOUT:
        main(command.split())
        _WITHOUT[command] = capfdbinary.readouterr()
    main([*command.split(), *option.split()])
    assert capfdbinary.readouterr() != _WITHOUT[command]


@pytest.mark.parametrize(
    "words",
    [
        "fit x --by kind",
        "fit x --top 2",
        "layout x --by kind",
        "layout x --all",
        "diff x y --by kind",
        f"{CONV} --top 2",
    ],
)
def test_an_option_that_would_do_nothing_is_not_offered(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    assert "has no option" in capsys.readouterr().err


def test_a_limit_that_the_log_does_not_state_is_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", LOG, "--limit", "8GiB"]) == 0
    assert "limit 8.00 GiB" in capsys.readouterr().out
