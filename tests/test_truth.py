"""What we say of a sample against what the run itself knew."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.answers import explained
from tests.conftest import SAMPLES
from tfmemlens.model.case import Moment

TRUTHS = sorted((SAMPLES / "oom_log").glob("*.truth.json"))
ELSEWHERE = {
    "2.4-xla-jit": "XLA asks for an arena, not for a tensor",
    "2.11-xla-jit": "XLA asks for an arena, not for a tensor",
    "2.21-xla-jit": "XLA asks for an arena, not for a tensor",
}


def log_of(truth: Path) -> Path:
    stem = truth.name.removesuffix(".truth.json")
    return next(
        path for path in (truth.with_name(f"{stem}.txt"), truth.with_name(f"{stem}.txt.gz")) if path.exists()
    )


def moments_of(truth: Path) -> tuple[Moment, ...]:
    return explained(log_of(truth)).case.moments


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_the_failing_request_is_the_one_that_the_run_knew(truth: Path) -> None:
    """Two ops may fail at once, so the truth may be any of the log's failures; its node is often the error
    object's own.
    """
    known = json.loads(truth.read_text(encoding="utf-8"))
    if (
        truth.name.removesuffix(".truth.json") in ELSEWHERE
        or not {"failing_shape", "failing_node"} & known.keys()
    ):
        return
    requests = [moment.request.failed for moment in moments_of(truth) if moment.request]
    if "failing_shape" in known and not any("conv_grad" in (request.kernel or "") for request in requests):
        assert tuple(known["failing_shape"]) in [request.shape for request in requests]
        assert known.get("failing_dtype", "float32") in [request.dtype for request in requests]
    if "failing_node" in known:
        assert any(
            known["failing_node"].endswith(request.node or "\n")
            or (request.node or "\n").endswith(known["failing_node"])
            for request in requests
        )


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_the_limit_is_the_one_that_was_set(truth: Path) -> None:
    known = json.loads(truth.read_text(encoding="utf-8"))
    stated = [moment.balance.limit for moment in moments_of(truth) if moment.balance.limit]
    if "limit_bytes" in known and stated:
        assert all(limit.may_be(known["limit_bytes"]) for limit in stated)


@pytest.mark.whole
def test_every_limit_that_a_log_states_is_found() -> None:
    """`Limit:` of the statistics, or `memory_limit_:` of the pool: nearly all of these logs have one."""
    texts = {
        truth: (
            gzip.decompress(log_of(truth).read_bytes()).decode()
            if log_of(truth).suffix == ".gz"
            else log_of(truth).read_text()
        )
        for truth in TRUTHS
    }
    stating = [
        truth for truth, text in texts.items() if re.search(r"(?m)\bLimit: +\d|memory_limit_: [1-9]", text)
    ]
    assert len(stating) > len(TRUTHS) // 2
    assert not [
        truth.name for truth in stating if not any(moment.balance.limit for moment in moments_of(truth))
    ]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_the_books_balance(truth: Path) -> None:
    for moment in moments_of(truth):
        books, table = moment.balance, moment.attribution.table
        for key in ("layer", "kind", "phase", "op", "node"):
            assert sum(group.total_bytes for group in moment.attribution.by(key)) == table.total_bytes
        if books.outside_report and books.in_use:
            whole = books.total + books.outside_report
            assert whole.low <= books.in_use.high and books.in_use.low <= max(whole.high, books.total.high)
        if books.limit and books.in_use and books.available:
            assert (
                abs(books.limit.bytes - books.in_use.bytes - books.available.bytes)
                <= books.limit.error_bytes + books.in_use.error_bytes + books.available.error_bytes
            )


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_the_users_layer_is_named_where_a_report_lists_it(truth: Path) -> None:
    layer = json.loads(truth.read_text(encoding="utf-8")).get("user_layer")
    named = [moment for moment in moments_of(truth) if moment.incident and moment.incident.holders]
    if not layer or not named:
        return
    text = (
        log_of(truth).read_text(encoding="utf-8", errors="replace") if log_of(truth).suffix == ".txt" else ""
    )
    if f" from {layer}/" not in text:
        return
    layers = {owner.layer for moment in named for owner in moment.attribution.owners if owner.layer}
    assert any(name == layer or name.startswith(f"{layer}/") for name in layers)


BY_TENSORFLOW = [path for path in TRUTHS if path.name[0].isdigit()]


@pytest.mark.parametrize("truth", BY_TENSORFLOW, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_the_version_that_wrote_the_log_is_among_those_named(truth: Path) -> None:
    """A warning that something `will be replaced by that in Tensorflow 2.0` states no version."""
    wrote = re.match(r"(\d+)\.(\d+)", truth.name)
    api = explained(log_of(truth)).case.api
    assert wrote and api.oldest <= (int(wrote[1]), int(wrote[2])) <= api.newest
