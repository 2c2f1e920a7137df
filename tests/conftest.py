"""Fixtures that many tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from tests import goldens, groups, tiers
from tfmemlens.errors import DEBUG_VARIABLE
from tfmemlens.estimation import conditions

# No test fails because a machine is busy, and a run repeats the one before; `--hypothesis-profile=random`
# does not.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.load_profile("repeatable")

os.environ.setdefault(DEBUG_VARIABLE, "1")  # a defect fails a test with its traceback, not with an apology

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_traces"
GOLDEN = goldens.GOLDEN


@pytest.fixture(autouse=True)
def _one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions are for the machine that they run on, and tests for one and the same."""
    monkeypatch.setattr(conditions, "this_machine", lambda: conditions.Machine(4, 32 << 20))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden pages anew; review the diff as you would review prose",
    )
    parser.addoption("--fast", action="store_true", help="a selection of the tests, for while you edit")
    parser.addoption(
        "--require", action="append", default=[], choices=groups.HOW, help="fail when nothing of a group ran"
    )
    parser.addoption("--slow", action="store_true", help="also what the suite asks of a few samples only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, left = tiers.select(items, fast=config.getoption("--fast"), slow=config.getoption("--slow"))
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # a worker of xdist tells the one that started it
    config.pluginmanager.register(groups.Groups(config.getoption("--require")))
    if config.getoption("--update-golden"):
        config.pluginmanager.register(goldens.Changes(SAMPLES))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a page with its golden file."""

    def compare(name: str, page: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            old = file.read_text(encoding="utf-8") if file.exists() else ""
            if old != page:
                request.node.user_properties.append((goldens.PAGE, (name, old, page)))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page, encoding="utf-8")
        assert file.exists(), f"no golden file {name}; run with --update-golden and read what it writes"
        assert page == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def golden_verdict(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare what is concluded from a sample with its entry in the list."""

    def compare(name: str, entry: str) -> None:
        if request.config.getoption("--update-golden"):
            request.node.user_properties.append((goldens.VERDICT, (name, entry)))
        else:
            assert entry == goldens.verdicts().get(name), "if it is meant, run with --update-golden"

    return compare


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are named relative to the repository, as a user names them."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def signals_as_a_terminal_has_them() -> Iterator[None]:
    """What starts the tests may ignore some, as nohup does, and all that it starts would ignore them, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
