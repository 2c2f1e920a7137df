"""Fixtures that many tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("untimed", deadline=None)  # no test fails because a machine is busy
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_traces"
GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden pages anew; review the diff as you would review prose",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a page with its golden file."""

    def compare(name: str, page: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page, encoding="utf-8")
        assert file.exists(), f"no golden file {name}; run with --update-golden and read what it writes"
        assert page == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are named relative to the repository, as a user names them."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
