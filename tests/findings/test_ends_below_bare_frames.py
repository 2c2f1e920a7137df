"""How a run ended: errors below frames without code, names that are taken, pools near their limit."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

WARNED = "Allocation of 411041792 exceeds 10% of free system memory.\n"
FRAME = '  File "h5py/h5d.pyx", line 138, in h5py.h5d.create\n'
TAKEN = "ValueError: Unable to create dataset (name already exists)\n"


@pytest.mark.parametrize("frame", [FRAME, f"{FRAME}    dsid = make(group)\n", ""])
def test_an_error_below_a_frame_is_the_end(frame: str) -> None:
    verdict = explained(f"{WARNED}Epoch 1/2\nTraceback (most recent call last):\n{frame}{TAKEN}").verdict
    assert "ended in an error of Python" in verdict


def test_code_below_a_frame_is_no_end() -> None:
    code = "    raise ValueError: never()\n"
    verdict = explained(f"{WARNED}Traceback (most recent call last):\n{FRAME}{code}").verdict
    assert "ended in an error" not in verdict


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (TAKEN, True),
        ("ValueError: Unable to create group (name already exists)\n", True),
        ("ValueError: Unable to open group\n", False),
        ("ValueError: the layer's name already exists\n", False),
    ],
)
def test_two_weights_of_one_name(line: str, names: bool) -> None:
    report = explained(WARNED + line)
    assert ("one name" in report.actions[0].remedy.text) is names


GAVE = (
    "2024-05-02 11:00:14.992311: W tensorflow/core/common_runtime/bfc_allocator.cc:314] Garbage collection:"
    " deallocate free memory regions (i.e., allocations) so that we can re-allocate a larger region\n"
)
STEP = "938/938 [====] - 12s 11ms/step - loss: 0.1\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GAVE + STEP, True),
        (WARNED + GAVE + STEP, True),
        (WARNED + STEP, False),
        (f"{GAVE}{TAKEN}", False),
        (f"{GAVE}{STEP}Killed\n", False),
        (f"{GAVE}OOM when allocating tensor with shape[64,512,512,64]\n", False),
    ],
)
def test_a_pool_that_gave_regions_back(text: str, named: bool) -> None:
    report = explained(text)
    assert ("gave free regions back" in report.verdict) is named


def test_a_run_that_goes_on_keeps_its_batch() -> None:
    assert offered(WARNED + GAVE + STEP) == []
