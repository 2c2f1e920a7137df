"""A server's log, whose lines have the stamp of a process and of a logger, under the heading of a report."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

STAMP = "(EngineCore pid=4711) ERROR 02-11 10:20:30 [core.py:77] "
LOG = (
    'Traceback (most recent call last):\n  File "/opt/vllm/worker.py", line 12, in run\n    out = step(x)\n'
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 70.00M of"
    " 64.00M vmem. Exceeded vmem capacity by 6.00M.\n\nProgram vmem requirement 70.00M:\n    scoped        "
    "   70.00M\n\n  Largest program allocations in vmem:\n\n  1. Size: 32.00M\n     Operator:"
    ' op_name="jit(step)/my_kernel/pallas_call"\n     Shape: bf16[8,2048,1024]{2,1,0:T(16,128)(2,1)}\n'
    "     Allocation type: scoped\n     ==========================\n"
)
STAMPED = "".join(f"{STAMP}{line}\n" for line in LOG.splitlines())


@pytest.mark.parametrize(
    "heading", ["[Bug]: VMEM OOM on one chip", "VMEM OOM on one chip", "[bug][help] VMEM OOM on one chip"]
)
@pytest.mark.parametrize("log", [LOG, STAMPED])
def test_the_heading_of_a_report_says_less_than_its_log(heading: str, log: str) -> None:
    page = explained(f"{heading}\n\n{log}")
    assert "needs about 70.00 MiB" in page.verdict
    assert offered(f"{heading}\n\n{log}")[0] == "smaller-kernel-blocks"
    assert "tokens" in page.actions[0].remedy.text  # the server is named in the log alone


def test_a_message_in_brackets_is_no_label() -> None:
    assert "did not" not in explained(f"[ERROR] VMEM OOM\n{LOG}").verdict


def test_no_limit_is_set_below_one_that_nobody_stated() -> None:
    code = [each.remedy.code or "" for each in explained("JAX on a TPU: VMEM OOM in my model\n").actions]
    assert all("vmem_limit_kib=..." in each for each in code if "vmem_limit_kib" in each)
    assert any("vmem_limit_kib" in each for each in code)
