"""Answers that few inputs bring about: chunks kept by a loop, a layer that holds most, room for an arena."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.findings import im2col_at_the_peak, kept_by_a_loop, request_larger_than_device
from tfmemlens.findings.support import batch_bound, program_account
from tfmemlens.model.incident import ProgramValue
from tfmemlens.units import IMPOSSIBLE, MIB, Size


def row(size: int, count: int = 1, layer: str | None = None, **named: Any) -> Any:
    held = Made(size_bytes=size, count=count, total_bytes=size * count, node=None, op=None, purpose=None)
    return Made(allocation=Made(**{**vars(held), **named}), owner=Made(layer=layer))


@pytest.mark.parametrize(
    "each, rows, need, found",
    [
        (None, [], None, None),
        (None, [(MIB, 99)], 5, 99 * MIB),
        (None, [(MIB, 99)], MIB, 100 * MIB),
        (None, [(MIB - 1, 64)], 5, None),
        (None, [(MIB - 1, 65)], 5, 65 * (MIB - 1)),  # small ones count where they are 64 MiB together
        (None, [(MIB, 1)], 5, None),
        (7, [(7, 90), (8, 5), (7, 9)], 5, 99 * 7),
        (7, [(7, 1), (8, 99)], 5, None),
        (7, [(7, kept_by_a_loop._MANY_CHUNKS)], 5, kept_by_a_loop._MANY_CHUNKS * 7),
        (7, [(7, kept_by_a_loop._MANY_CHUNKS - 1)], 5, None),
    ],
)
def test_chunks_of_the_size_of_an_entry(
    each: int | None, rows: list[tuple[int, int]], need: int | None, found: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    held = [row(size, count) for size, count in rows]
    monkeypatch.setattr(
        kept_by_a_loop,
        "rows",
        lambda moment, fits=lambda row: True: [one for one in held if fits(one)],
    )
    nobody: Any = Made()
    request: Any = Made(needed_bytes=need)
    entry: Any = Made(each=each, turns=None, most=None, value="x")
    told = kept_by_a_loop._chunks(nobody, request, entry)
    assert (told and told[1]) == found
    if told:
        assert told[2] is True
        assert ("the next one failed" in told[0]) is (each is None and need == MIB)


@pytest.mark.parametrize(
    "rows, clause",
    [
        ([(30, "a"), (20, "b"), (15, "b"), (35, None)], "; `b` holds most of them, 35 B"),
        ([(20, "a"), (80, None)], "; `a` holds most of them, 20 B"),
        ([(19, "a"), (81, None)], ""),
        ([(19, None)], ""),
        ([], ""),
    ],
)
def test_the_layer_that_holds_most(
    rows: list[tuple[int, str | None]], clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_account, "rows", lambda moment: [row(size, 1, layer) for size, layer in rows])
    nobody: Any = Made()
    compiler: Any = Made(schedule=1, values=())
    assert program_account.mostly_of_a_layer(nobody, compiler) == clause
    compiler.schedule = None
    assert program_account.mostly_of_a_layer(nobody, compiler) == ""


@pytest.mark.parametrize(
    "asked, limit, in_use, ratio, room",
    [
        (80, 100, None, None, None),
        (100, 100, None, None, None),
        (200, 100, None, 0.5, 100),
        (80, 100, 60, 0.5, 40),
        (40, 100, 60, None, None),
        (None, 100, 60, None, None),
        (80, None, 60, None, None),
    ],
)
def test_room_for_an_arena(
    asked: int | None, limit: int | None, in_use: int | None, ratio: float | None, room: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(batch_bound, "device_limit", lambda case, moment: limit and Size.exactly(limit))
    monkeypatch.setattr(batch_bound, "of_a_program", lambda moment: True)
    case: Any = Made()
    moment: Any = Made(
        request=Made(needed_bytes=asked),
        balance=Made(in_use=None if in_use is None else Size.exactly(in_use)),
    )
    found = batch_bound._of_arena(case, moment)
    assert (found is None) is (ratio is None)
    if found is not None:
        made = [getattr(found, name) for name in type(found).__slots__]
        assert made[0] == ratio and made[1] == asked and made[2] == room and made[3] == (in_use or 0)
    monkeypatch.setattr(batch_bound, "of_a_program", lambda moment: False)
    assert batch_bound._of_arena(case, moment) is None


def test_impossible_requests_have_no_count_of_numbers() -> None:
    most = IMPOSSIBLE
    assert request_larger_than_device._numbers(most) == ""
    assert (
        request_larger_than_device._numbers(most - 4) == f": in float32 it asks for {most // 4 - 1:,} numbers"
    )
    assert request_larger_than_device._asked(most).startswith("look for a dimension")
    assert request_larger_than_device._asked(4096).startswith("in float32 it asks for 1,024 numbers")


@pytest.mark.parametrize(
    "size, positions, volumes", [(1000, 5, 5), (999, 5, 4), (1000, None, 1000), (39, 5, 0)]
)
def test_as_many_volumes_as_fill_a_cache(
    size: int, positions: int | None, volumes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(im2col_at_the_peak, "_convolution", lambda layer, dtype: None)
    layer: Any = Made(weights=(1,) * 5, positions=positions, patch=10)
    assert im2col_at_the_peak._counts(layer, row(size), 4) == (volumes,)


@pytest.mark.parametrize(
    "text, function, told",
    [
        ("h = jnp.tanh(x @ w)", "cell", "the line of `h` (train.py:7)"),
        ("for w in layers: x = f(x, w)", "net", "the line of `x` (train.py:7)"),
        ("q, k, v = project(x)", None, "the line of `q, k, v` (train.py:7)"),
        ("self.cache: Array = f(x)", None, "the line of `self.cache` (train.py:7)"),
        (
            "return jnp.dot(x, w, precision=None)",
            "f.<locals>.body",
            "`jnp.dot(x, w, precision=None)` (train.py:7 in `body`)",
        ),
        ("if x == y: return f(a, b=2)", "<lambda>", "`if x == y: return f(a, b=2)` (train.py:7)"),
        (None, None, "train.py:7"),
    ],
)
def test_a_line_is_told_by_the_array_that_it_assigns(
    text: str | None, function: str | None, told: str
) -> None:
    value = ProgramValue("n", 1, "/home/me/train.py:7", text, function=function)
    assert program_account._line_of(value) == told
