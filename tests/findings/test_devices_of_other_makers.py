"""Devices that are no GPU of NVIDIA's: Apple's through Metal, Tenstorrent's; errors that name no program."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

TIMED_OUT = (
    "Error: command buffer exited with error status.\n\tError:\n\t(null)\n"
    "\tCaused GPU {0} Error (0000000{1}:kIOGPUCommandBufferCallbackError{0})\n    name = Apple M2\n"
)


@pytest.mark.parametrize(("kind", "code"), [("Timeout", 2), ("Hang", 3)])
def test_a_command_buffer_that_metal_ended_is_no_line_of_javascript(kind: str, code: int) -> None:
    page = explained(f"I train with jax-metal 0.1.\n{TIMED_OUT.format(kind, code)}")
    assert page.verdict.startswith("No out-of-memory message: Apple's GPU did not finish")
    assert offered("I train with jax-metal 0.1.\n" + TIMED_OUT.format(kind, code)) == ["smaller-input"]


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        ("Error: the device was lost", "a program that does not say its name"),
        ("Error: Unable to create a texture of this size in WebGL2", "JavaScript"),
        ("Error: failed at backend_webgl.js:41", "JavaScript"),
        ("Uncaught (in promise) Error: no backend", "JavaScript"),
    ],
)
def test_an_error_is_javascripts_where_something_shows_it(line: str, whose: str) -> None:
    assert f"a line of {whose}" in explained(f"It ends like this:\n{line}\n").verdict


BANKS = (
    "Out of Memory: Not enough space to allocate {} B DRAM buffer across 8 banks, where each bank needs to"
    " store {} B, but bank size is only 1073741824 B\n"
)


@pytest.mark.parametrize(
    ("each", "why"), [(33554432, "most of it was in use"), (2147483648, "more than one has")]
)
def test_a_buffer_over_the_banks_of_a_device(each: int, why: str) -> None:
    text = f"Tests of JAX models fail.\n{BANKS.format(8 * each, each)}"
    assert why in explained(text).verdict
    assert "8 banks of 1.00 GiB (DRAM, 8.00 GiB in all)" in explained(text).verdict
    assert offered(text) == ["smaller-model"]
    assert "PREALLOCATE" not in " ".join(action.remedy.code or "" for action in explained(text).actions)
