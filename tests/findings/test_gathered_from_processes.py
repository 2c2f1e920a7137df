"""A value that `device_put` compares between processes is gathered from all of them."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained

MESSAGE = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 76.17GiB"


@pytest.mark.parametrize(
    "named",
    [
        "Stack trace shows `multihost_utils.assert_equal -> process_allgather`.",
        '  File "jax/experimental/multihost_utils.py", line 132, in process_allgather',
    ],
)
def test_the_gathering_is_told_and_cured_by_parts(named: str) -> None:
    report = explained(f"x = jax.device_put(x, sharding)\n{named}\n{MESSAGE}\n")
    assert "gathered whole from all processes" in report.verdict
    assert report.actions[0].remedy.slug == "own-part-of-an-array"


@pytest.mark.parametrize("named", ["", "np.testing.assert_equal(a, b)", "all_gather of the weights"])
def test_nothing_else_is(named: str) -> None:
    report = explained(f"x = jax.device_put(x, sharding)\n{named}\n{MESSAGE}\n")
    assert "gathered whole" not in report.verdict
