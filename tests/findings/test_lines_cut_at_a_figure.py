"""An allocator's line that ends in its figure: whether it is a failure stood behind that."""

from __future__ import annotations

from tests.findings.pages import explained, first, offered

_LINE = (
    "2024-02-01 10:00:00.100000: W external/local_tsl/tsl/framework/bfc_allocator.cc:296] Allocator"
    " (GPU_0_bfc) ran out of memory trying to allocate {}"
)
_TRIAL = (
    "2024-02-01 10:00:00.000000: E external/local_xla/xla/service/slow_operation_alarm.cc:65] Trying"
    " algorithm eng0{} for conv (f32[64,64,3,3]{3,2,1,0}, u8[0]{0}) custom-call(f32[2,64,96,96]{3,2,1,0})"
    " is taking a while...\n"
)
_SAYS = "the allocator's line is cut"


def test_a_line_that_ends_in_its_figure_is_no_proof_of_a_failure() -> None:
    verdict = explained(_LINE.format("77.4") + "\n").verdict
    assert _SAYS in verdict and not verdict.startswith("Out of memory")


def test_beside_trials_of_algorithms_its_rest_comes_first() -> None:
    text = _TRIAL + _LINE.format("77.4")
    assert "beside trials of algorithms (line 1)" in explained(text).verdict
    assert "this is not a failure" in first(text) and "smaller-batch" not in offered(text)


def test_a_line_with_its_unit_is_a_request() -> None:
    for rest in ("77.4MiB", "77.4GiB with freed_by_count=0."):
        assert _SAYS not in explained(_TRIAL + _LINE.format(rest)).verdict
