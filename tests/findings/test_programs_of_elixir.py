"""Programs of Elixir's EXLA: their pool has a configuration of its own, and no Python runs them."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

POOL = "11:12:13.141 [info] XLA backend allocating 9663676416 bytes on device 0 for BFCAllocator.\n"
HANDLE = (
    "11:12:13.151 [error] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    "11:12:13.151 [error] Memory usage: 314572800 bytes free, 10737418240 bytes total.\n"
)
FULL = (
    "11:12:13.141 [info] Sum Total of in-use chunks: 8.00GiB\n"
    "11:12:13.141 [info] Stats:\nLimit:                      8589934592\n"
    "InUse:                      8589934080\nMaxInUse:                   8589934080\n"
    "NumAllocs:                        4321\nMaxAllocSize:               134217728\n"
)


@pytest.mark.parametrize(
    "line",
    ["Elixir 1.16.1", "    (exla 0.9.1) lib/exla/executable.ex:18: EXLA.Executable.run/3", "in Livebook"],
)
def test_a_handle_without_room_asks_for_a_smaller_pool_of_exla(line: str) -> None:
    text = f"{line}\n{POOL}{HANDLE}"
    report = explained(text)
    assert "the pool took 9.00 GiB when it started (line 2)" in report.verdict
    assert "300.00 MiB of 10.00 GiB was free then (line 4)" in report.verdict
    assert offered(text)[:2] == ["pool-of-exla", "see-device-users"]
    assert not any("tf." in (each.remedy.code or "") for each in report.actions)


def test_a_pool_with_a_setting_is_given_no_other() -> None:
    text = f"Elixir 1.16.1\nconfig :exla, :clients, cuda: [platform: :cuda, preallocate: false]\n{HANDLE}"
    assert not {"pool-of-exla", "growth"} & set(offered(text))


def test_a_program_of_jax_has_its_own_variable() -> None:
    text = f"import jax\n{POOL}{HANDLE}"
    assert "pool-of-exla" not in offered(text) and "growth" in offered(text)


@pytest.mark.parametrize(
    ("words", "late"), [("It fails in the second training epoch.", True), ("It fails at once.", False)]
)
def test_a_full_pool_asks_for_less_and_for_what_is_left_of_a_round(words: str, late: bool) -> None:
    text = f"With Bumblebee.Text in Livebook. {words}\n{FULL}"
    slugs = offered(text)
    assert slugs[0] == "smaller-batch"
    assert ("free-tensors-of-exla" in slugs) is late


def test_a_pool_with_room_is_not_said_to_be_full() -> None:
    text = f"In Livebook.\n{FULL.replace('InUse:                      8589934080', 'InUse:    4294967296')}"
    assert "the pool was full" not in explained(text).verdict
