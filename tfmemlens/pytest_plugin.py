"""Pytest: `@pytest.mark.tf_memory("2GiB")` fails a test that needs more, `memory_trace` records one call.

The plugin is light: nothing is imported until a test asks for it, and TensorFlow is the tests' own.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

MARK = "tf_memory"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f'{MARK}(size): fail the test if its TensorFlow needs more than this ("2GiB")'
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record a marked test as one step, and compare."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        yield
        return
    from tfmemlens.recording import in_program

    allowed = _allowed(mark)
    _let_go_of_failed_tests()
    with tempfile.TemporaryDirectory(prefix="tfmemlens-") as folder:
        own = in_program.into(folder)
        with in_program.one_step(own):
            outcome: Any = yield
        if outcome.excinfo is None:
            problem = _problem(folder, allowed)
            if problem:
                outcome.force_exception(pytest.fail.Exception(problem, pytrace=False))


def _let_go_of_failed_tests() -> None:
    """The traceback of the last failure keeps the tensors of its frames, which are not this test's."""
    last = getattr(sys, "last_traceback", None)
    if last is not None:
        traceback.clear_frames(last)
        gc.collect()


def _allowed(mark: pytest.Mark) -> int:
    """The bytes that a marker states; a test fails by another one."""
    from tfmemlens.units import parse_limit

    try:
        (size,) = mark.args
        return parse_limit(str(size))
    except ValueError:
        given = ", ".join(map(repr, mark.args))
        problem = f'{MARK}({given}): it takes one size, as in @pytest.mark.{MARK}("2GiB")'
        raise pytest.fail.Exception(problem, pytrace=False) from None


def _problem(folder: str, allowed: int) -> str:
    """Why a recorded test fails: it needs more, or nobody can say; empty where it is within."""
    from tfmemlens import renderers
    from tfmemlens.errors import TfmemlensError
    from tfmemlens.units import human
    from tfmemlens.use_cases import check

    try:
        report = check.measured(folder)
    except TfmemlensError as problem:
        needs = "it must run TensorFlow, on a CPU with TF_CPU_ALLOCATOR_USE_BFC=1 set before the import"
        return f"{MARK}: the test's memory is not known: {problem.sentence}\n  hint: {needs}"
    (budget,) = check.budgets(report, max_peak=allowed)
    if budget.fits is check.Fits.YES:
        return ""
    what = f"{MARK}: the test needs {human(budget.low_bytes)}, more than {human(allowed)}"
    return f"{what}\n\n{renderers.render(report, 'report')}"


@pytest.fixture
def memory_trace() -> Callable[..., Any]:
    """Calls a function once and returns the call's profile: `memory_trace(step, batch).peak_bytes`."""
    from tfmemlens.api.recording import trace_step

    return trace_step
