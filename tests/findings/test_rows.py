"""What rules ask of a moment's rows and request: error bars, the device's limit, whose program it is."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import asked, case, held
from tfmemlens.findings.support import rows
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Balance
from tfmemlens.model.incident import CompilerMemory, FailedRequest, Frame, HolderBlock, Incident, RequestKind
from tfmemlens.units import Size
from tfmemlens.values import replace

exactly = Size.exactly


def test_a_printed_size_lies_between_its_error_bars() -> None:
    assert rows.size_of(Allocation("a", 100, error_bytes=7)) == Size(100, 93, 107)


@pytest.mark.parametrize("count, words", [(0, "0 blocks"), (1, "1 block"), (2, "2 blocks")])
def test_blocks_are_counted(count: int, words: str) -> None:
    assert rows.of_blocks(count) == words


@pytest.mark.parametrize(
    "uses, named, limit",
    [
        ([9], [], 9),
        ([9, 8], [], None),
        ([9, 8], [7], 7),
        ([], [7], 7),
        ([9], [7], 9),
        ([0], [7], 7),
        ([], [], None),
    ],
)
def test_only_where_one_device_is_shown_is_it_this_one(
    uses: list[int], named: list[int], limit: int | None
) -> None:
    moment = held(request=asked())
    told: Any = {"device_uses": tuple(Made(total=exactly(each)) for each in uses)}
    told["named_devices"] = tuple(Made(total=exactly(each)) for each in named)
    assert rows.device_limit(case(moment, **told), moment) == (exactly(limit) if limit else None)


@pytest.mark.parametrize(
    "largest, growable, fragmented",
    [(0, None, True), (0, 0, True), (0, 1, False), (None, 0, True), (None, 1, False), (None, None, False)],
)
def test_a_request_of_a_byte_has_no_room_where_no_piece_is_left(
    largest: int | None, growable: int | None, fragmented: bool
) -> None:
    sizes = [None if each is None else exactly(each) for each in (largest, growable)]
    books = Balance(requested=1, free=exactly(2), largest_free_chunk=sizes[0], growable=sizes[1])
    assert rows.is_fragmented(books) is fragmented


def failed(compiler: CompilerMemory | None = None, listed: bool = False, **facts: Any) -> Any:
    """A moment of a failure with this account of the compiler."""
    request = asked(**facts)
    holders = (HolderBlock(None, None, held().attribution.table),) if listed else ()
    incident = Incident(request.failed, compiler=compiler, holders=holders)
    return held(request=request, incident=incident)


@pytest.mark.parametrize(
    "moment, program",
    [
        (failed(), False),
        (failed(executable="jit_step"), True),
        (failed(CompilerMemory()), False),
        (failed(listed=True), False),
        (failed(CompilerMemory(), listed=True), True),
        (failed(CompilerMemory(capacity=exactly(5))), True),
        (failed(CompilerMemory(reduced_to=exactly(5))), True),
        (failed(CompilerMemory(sections=(("temp", exactly(5), at(1)),))), True),
        (held(), False),
        (replace(failed(CompilerMemory(), listed=True), request=None), True),
        (held(request=asked(executable="jit_step")), True),
    ],
)
def test_a_failure_is_a_programs_where_its_name_or_its_parts_are_told(moment: Any, program: bool) -> None:
    assert rows.of_a_program(moment) is program


@pytest.mark.parametrize(
    "text, buffer, waits",
    [
        ("Attempting to allocate 5G. That was not possible for a device buffer", True, False),
        ("Error dispatching computation: RESOURCE_EXHAUSTED", False, True),
        ("RESOURCE_EXHAUSTED: Out of memory", False, False),
        (None, False, False),
    ],
)
def test_what_the_words_of_a_failure_tell(text: str | None, buffer: bool, waits: bool) -> None:
    moment = held(request=asked(line=text and at(1, text)))
    assert (rows.is_buffer(moment), rows.waits_for_another(moment)) == (buffer, waits)
    assert not rows.is_buffer(held()) and not rows.waits_for_another(held())


@pytest.mark.parametrize(
    "place, name, waits",
    [
        ("lib/jax/_src/array.py:623", "_value", True),
        ("lib/jax/_src/array.py:300", "__float__", False),
        ("train.py:3", "_value", False),
    ],
)
def test_reading_a_result_waits_for_what_made_it(place: str, name: str, waits: bool) -> None:
    words = at(1, "RESOURCE_EXHAUSTED: Out of memory allocating 2097545536 bytes.")
    moment = held(request=asked(line=words, frames=(Frame(place, "x", name),)))
    assert rows.waits_for_another(moment) is waits


@pytest.mark.parametrize(
    "kind, text, setting, client",
    [
        (RequestKind.HOST, "Out of memory allocating 5 bytes.", "batch_size", True),
        (RequestKind.HOST, "Out of memory allocating 5 bytes.", "jax.devices", False),
        (RequestKind.HOST, "Out of memory", "batch_size", False),
        (RequestKind.XLA, "Out of memory allocating 5 bytes.", "batch_size", False),
        (RequestKind.HOST, None, "batch_size", False),
    ],
)
def test_words_of_the_client_of_the_cpu(
    kind: RequestKind, text: str | None, setting: str, client: bool
) -> None:
    moment = held(request=asked(kind=kind, line=text and at(1, text)))
    told = case(moment, settings=((setting, "5", at(2)),))
    assert rows.words_of_a_client(told, moment) is client


def test_what_is_held_and_what_is_in_use() -> None:
    listed = held(("a/x", 60, rows.Kind.ACTIVATION), books=Balance(outside_report=exactly(5)))
    assert (rows.held(listed), rows.all_in_use(listed)) == (65, 65)
    more = replace(listed, balance=replace(listed.balance, in_use=exactly(70)))
    assert (rows.held(more), rows.all_in_use(more)) == (65, 70)
    assert rows.held(replace(listed, balance=Balance())) == 60


def test_a_list_without_its_largest_buffers_is_cut() -> None:
    assert rows.cut_list(failed(CompilerMemory(cut=True)))
    assert (
        not rows.cut_list(failed(CompilerMemory()))
        and not rows.cut_list(failed())
        and not rows.cut_list(held())
    )


@pytest.mark.parametrize(
    "text, constant", [("Cannot parse tensor from proto: dtype", True), ("OOM", False), (None, False)]
)
def test_a_constant_of_the_graph(text: str | None, constant: bool) -> None:
    assert rows.is_constant_of_graph(FailedRequest(line=text and at(1, text))) is constant  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words, told", [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_words_in_a_row(words: list[str], told: str) -> None:
    assert rows.enumerated(words) == told
