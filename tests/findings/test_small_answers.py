"""Small questions that rules ask of one request or one compiled program, each at its edge."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.findings import (
    cut_dump,
    made_by_the_code,
    matrix_without_a_name,
    request_alone,
    request_larger_than_device,
    whole_set_in_one_batch,
)
from tfmemlens.findings.support import phase, program_account, samples, weights
from tfmemlens.findings.support.situation import JAX, TENSORFLOW
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.knowledge.device_names import GPU
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import GIB, MIB, Size
from tfmemlens.what_if.one_tensor import of_tensor

exactly = Size.exactly


def request(shape: tuple[int | None, ...] | None = None, **given: Any) -> Any:
    """A failed request; `batch`, `fixed` and the needed bytes are told, all else is the failure's."""
    own = {name: given.pop(name, default) for name, default in (("batch", None), ("fixed", False))}
    needed = given.pop("needed", None)
    owner = Made(phase=given.pop("phase", Phase.NONE), kind=given.pop("kind_held", Kind.UNATTRIBUTED))
    failed = {
        "op": None, "node": None, "shape": shape, "attributes": (), "source_text": None, "frames": (),
        "kind": RequestKind.TENSOR, "updating": False, "creating": None, "size": None, "allocator": None,
        "keras_layer": None, "kernel": None, **given,
    }  # fmt: skip
    return Made(failed=Made(**failed), owner=owner, needed_bytes=needed, **own)


# ------------------------------------------------------------------ a request alone


@pytest.mark.parametrize(
    "shape, given, weight",
    [
        ((3, 3, 64, 128), {"op": "Mul"}, True),
        ((3, 3, 64, 128), {"op": "Conv2D"}, False),
        ((3, 3, 64, 128), {"node": "Fill"}, True),
        ((3, 3, 64, 128), {"op": "Mul", "batch": 3}, False),
        ((100_000, 64), {"op": "Mul"}, True),
        ((99_999, 64), {"op": "Mul"}, False),
        ((100_000, 62), {"op": "Mul"}, False),
        ((100_000, 63), {"op": "Mul"}, False),
        ((100_000, 64, 2), {"op": "Mul"}, False),
        ((None, 64), {"op": "Mul"}, False),
        (None, {"op": "Mul"}, False),
    ],
)
def test_an_op_that_makes_weights_asks_for_the_shape_of_one(
    shape: Any, given: dict[str, Any], weight: bool
) -> None:
    assert request_alone.is_weight(request(shape, **given)) is weight


@pytest.mark.parametrize(
    "shape, sides",
    [
        ((1, 1000, 1000, 3), (1000, 1000)),
        ((1, 999, 1000, 3), None),
        ((1, 3, 1200, 1000), (1200, 1000)),
        ((1, 256, 4000, 3), (256, 4000)),
        ((1, 255, 4000, 3), None),
        ((1, 4000, 255, 3), None),
        ((1, 2000, 1000, 1000), (1000, 1000)),
        ((1, 2000, 1000, 999), (2000, 1000)),
        ((1, 600, 2000, 2001), (2000, 2001)),
        ((2, 1000, 1000, 3), None),
        ((1, 1000, 1000), None),
        ((1, None, 1000, 3), None),
        (None, None),
    ],
)
def test_one_large_image(shape: Any, sides: tuple[int, int] | None) -> None:
    assert samples.alone(request(shape)) == sides


@pytest.mark.parametrize(
    "shape, given, words",
    [
        ((3, 3, 4, 8), {"node": "a/Conv2DBackpropFilter"}, "the gradient of a kernel"),
        ((3, 3, 4, 8), {"node": "a/Conv2D"}, ""),
        (
            (8, 8),
            {"node": "a/MatMul_grad/MatMul_1", "attributes": (("transpose_a", "true"),)},
            "the gradient of a weight",
        ),
        ((8, 8), {"node": "a/MatMul_grad/MatMul_1", "attributes": (("transpose_a", "false"),)}, ""),
        ((8, 8), {"node": "a/MatMul_grad/MatMul", "attributes": (("transpose_a", "true"),)}, ""),
        ((3, 3, 64, 128), {"op": "Mul"}, "by its shape a convolution's kernel"),
        ((100_000, 64), {"op": "Mul"}, "by its shape a table or a kernel"),
        ((1, 1000, 1200, 3), {}, "one image, map or volume of 1,000 x 1,200, at a batch of 1"),
        (None, {}, ""),
    ],
)
def test_what_a_name_or_a_shape_tells(shape: Any, given: dict[str, Any], words: str) -> None:
    found = request_alone._known_of(request(shape, **given))
    assert found.startswith(words) and bool(found) is bool(words)


@pytest.mark.parametrize(
    "shape, given, halved",
    [
        ((64, 30, 20), {}, 32),
        ((2, 30, 20), {}, 1),
        ((1, 30, 20), {}, None),
        ((1024, 30, 20), {}, 512),
        ((1025, 30, 20), {}, None),
        ((64, 30), {}, None),
        ((64, 30, 4), {}, None),
        ((64, 30, 5), {}, 32),
        ((64, 30, 20, 4), {}, 32),
        ((64, None, 20), {}, None),
        (None, {}, None),
        ((64, 30, 20), {"fixed": True}, None),
        ((3, 3, 64, 128), {}, None),
        ((65, 30, 20), {}, 32),
    ],
)
def test_if_the_first_dimension_is_the_batch(
    shape: Any, given: dict[str, Any], halved: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Made(framework=TENSORFLOW, program=None)
    monkeypatch.setattr(request_alone, "situation", lambda case, moment: run)
    case: Any = Made()
    moment: Any = Made(request=request(shape, **given))

    def told() -> list[str]:
        return [each.text for each in request_alone._if_it_is_the_batch(case, moment)]

    found = told()
    assert len(found) == (halved is not None)
    if halved is not None:
        assert f"halve it ({shape[0]} -> {halved})" in found[0]
        run.program = "a server"
        assert told() == []
        run.program, run.framework = None, "jax"
        assert told() == []


# ------------------------------------------------------------------ a device that was full before


@pytest.mark.parametrize(
    "given, limit, full",
    [
        ({"needed": 32 * MIB}, None, True),
        ({"needed": 32 * MIB + 1}, None, False),
        ({"needed": 100}, 2000, True),
        ({"needed": 101}, 2000, False),
        ({"needed": None}, None, False),
        ({"needed": 5, "updating": True}, None, False),
        ({"needed": 5, "phase": Phase.OPTIMIZER}, None, False),
        ({"needed": 5, "phase": Phase.GRADIENT}, None, False),
        ({"needed": 5, "phase": Phase.FORWARD}, None, True),
    ],
)
def test_so_small_a_weight_was_refused_by_a_full_device(
    given: dict[str, Any], limit: int | None, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "on_host", lambda moment: moment.host)
    monkeypatch.setattr(weights, "device_limit", lambda case, moment: limit and exactly(limit))
    case: Any = Made()
    moment: Any = Made(request=request(**given), balance=Made(in_use=None), host=False)
    assert weights.finds_a_full_device(case, moment) is full
    for changed in ({"host": True}, {"balance": Made(in_use=exactly(1))}, {"request": None}):
        assert not weights.finds_a_full_device(case, Made(**{**vars(moment), **changed}))  # type: ignore[arg-type]


# ------------------------------------------------------------------ compiled programs


def program(**given: int | None) -> Any:
    names = ("arguments", "results", "temporaries", "constants", "needed", "total")
    sizes = {name: None if given.get(name) is None else exactly(int(given[name] or 0)) for name in names}
    total = sizes.pop("total")
    return Made(**sizes, section=lambda name: total if name == "total" else None)


@pytest.mark.parametrize(
    "given, mostly",
    [
        ({"results": 256 * MIB, "total": GIB}, True),
        ({"results": 256 * MIB - 1, "total": GIB}, False),
        ({"results": 256 * MIB, "needed": GIB}, True),
        ({"results": 256 * MIB}, False),
        ({"total": GIB}, False),
        ({"results": 300 * MIB, "total": GIB, "temporaries": 300 * MIB - 1}, True),
        ({"results": 300 * MIB, "total": GIB, "temporaries": 300 * MIB}, False),
        ({"results": 300 * MIB, "total": GIB, "arguments": 300 * MIB}, False),
        ({"results": 300 * MIB, "total": GIB, "constants": 300 * MIB}, False),
    ],
)
def test_results_are_the_largest_part(
    given: dict[str, int], mostly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_account, "undonated", lambda compiler: False)
    assert program_account.mostly_results(program(**given)) is mostly
    monkeypatch.setattr(program_account, "undonated", lambda compiler: True)
    assert not program_account.mostly_results(program(**given))


@pytest.mark.parametrize(
    "given, mostly",
    [
        ({"constants": 300 * MIB, "total": 600 * MIB}, False),
        ({"constants": 301 * MIB, "total": 600 * MIB}, True),
        ({"constants": 301 * MIB, "needed": 600 * MIB}, True),
        ({"constants": 301 * MIB, "arguments": 299 * MIB}, True),
        ({"constants": 301 * MIB, "arguments": 200 * MIB, "results": 101 * MIB}, False),
        ({"constants": 256 * MIB - 1}, False),
        ({"constants": 256 * MIB}, True),
        ({}, False),
    ],
)
def test_constants_are_more_than_half(given: dict[str, int], mostly: bool) -> None:
    assert program_account.mostly_constants(program(**given)) is mostly


def test_a_program_against_its_device() -> None:
    of = program_account.against_device
    assert of(program(total=3 * GIB), exactly(2 * GIB)).startswith("; the whole program needs 3.00 GiB")
    assert of(program(total=2 * GIB), exactly(2 * GIB)) == of(program(), exactly(1)) == ""
    assert of(program(total=2 * GIB), None) == ""
    assert program_account.of_results(program(results=GIB)) == "its largest part are its results, 1.00 GiB"
    assert program_account.of_results(program(results=GIB, temporaries=MIB)).endswith(
        "1.00 GiB, more than its temporaries (1.00 MiB)"
    )
    assert program_account.return_less(program(results=7)).saves_bytes == 7
    assert program_account.return_less(program()).saves_bytes is None


@pytest.mark.parametrize(
    "size, limit, modest",
    [
        (4 * GIB - 1, None, True),
        (4 * GIB, None, False),
        (249, 1000, True),
        (250, 1000, False),
        (None, None, False),
    ],
)
def test_a_request_that_is_no_large_part_of_a_device(
    size: int | None, limit: int | None, modest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "device_limit", lambda case, moment: limit and exactly(limit))
    case: Any = Made()
    moment: Any = Made(request=request(size=None if size is None else exactly(size)))
    assert facts.is_modest(case, moment) is modest
    moment.request = None
    assert not facts.is_modest(case, moment)


@pytest.mark.parametrize(
    "changed, unknown",
    [
        ({}, True),
        ({"size": None}, False),
        ({"framework": "tensorflow"}, False),
        ({"of_program": True}, False),
        ({"in_use": 1}, False),
        ({"readings": ((1, None),)}, False),
        ({"limit": 1000, "size": 950}, True),
        ({"limit": 1000, "size": 951}, False),
        ({"elsewhere": ("evaluation", None)}, False),
    ],
)
def test_nothing_tells_what_jax_held(
    changed: dict[str, Any], unknown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "size": 100, "framework": JAX, "of_program": False, "in_use": None,
        "readings": (), "limit": None, "elsewhere": None, **changed,
    }  # fmt: skip
    limit = given["limit"] and exactly(given["limit"])
    for name, value in (
        ("framework_of", given["framework"]),
        ("other_than_training", given["elsewhere"]),
        ("device_limit", limit),
    ):
        monkeypatch.setattr(facts, name, lambda *_, value=value: value)
    monkeypatch.setattr(facts, "of_a_program", lambda moment: given["of_program"])
    case: Any = Made(capture=Made(surroundings=Made(readings=given["readings"])))
    size = given["size"] and exactly(given["size"])
    moment: Any = Made(request=request(size=size), balance=Made(in_use=given["in_use"]))
    assert facts.may_be_what_was_held(case, moment) is unknown
    moment.request = None
    assert not facts.may_be_what_was_held(case, moment)


@pytest.mark.parametrize(
    "count, given, much",
    [
        (26, {"total": 100}, True),
        (25, {"total": 100}, False),
        (26, {"needed": 100}, True),
        (26, {}, False),
    ],
)
def test_buffers_worth_a_change(count: int, given: dict[str, int], much: bool) -> None:
    buffers: Any = Made(bytes=count)
    assert facts.are_much(buffers, program(**given)) is much


# ------------------------------------------------------------------ other rules


@pytest.mark.parametrize(
    "given, copied",
    [
        ({"op": "_EagerConst"}, True),
        ({"node": "_EagerConst"}, True),
        ({"op": "GatherV2", "kind": RequestKind.COPY}, True),
        ({"op": "GatherV2"}, False),
        ({"op": "Mul", "kind": RequestKind.COPY}, False),
        ({"op": "_EagerConst", "source_text": "m.load_weights(f)"}, False),
        ({"node": "Placeholder", "kind": RequestKind.COPY, "ran": "EVALUATION"}, True),
        ({"node": "Placeholder", "kind": RequestKind.COPY, "ran": "PREDICTION"}, True),
        ({"node": "Placeholder", "kind": RequestKind.COPY, "ran": "other"}, False),
        ({"node": "Placeholder", "kind": RequestKind.COPY}, False),
        ({"node": "Mul", "kind": RequestKind.COPY, "ran": "EVALUATION"}, False),
    ],
)
def test_an_array_that_is_copied_as_it_is(
    given: dict[str, Any], copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = given.pop("ran", None)
    told = ran and (getattr(whole_set_in_one_batch, ran, ran), None)
    monkeypatch.setattr(whole_set_in_one_batch, "other_than_training", lambda case, request: told)
    case: Any = Made(capture=Made(surroundings=Made(code=())))
    assert whole_set_in_one_batch.copies_an_array(case, request(**given)) is copied


def test_a_split_is_shown_by_any_line() -> None:
    case: Any = Made(capture=Made(surroundings=Made(code=())))
    split, plain = "m.fit(x, y, validation_split=.1)", "m.fit(x, y)"
    assert whole_set_in_one_batch._splits(case, request(source_text=split).failed)
    assert whole_set_in_one_batch._splits(case, request(frames=(Made(text=split),)).failed)
    assert not whole_set_in_one_batch._splits(case, request(source_text=plain).failed)
    case.capture.surroundings.code = (Made(text=split),)
    assert whole_set_in_one_batch._splits(case, request().failed)


def test_weights_are_loaded_by_one_of_the_last_twelve_frames() -> None:
    load, plain = Made(name="load_weights", text=""), Made(name="f", text="g()")
    assert phase.is_loading(request(frames=(load, *[plain] * 11)))
    assert not phase.is_loading(request(frames=(load, *[plain] * 12)))
    assert phase.is_loading(request(frames=(Made(name="f", text="m.load_weights(p)"),)))
    assert phase.is_loading(request(source_text="m.load_weights(p)"))
    assert not phase.is_loading(request())


@pytest.mark.parametrize(
    "rows, units, batch, like",
    [
        (200_000, 64, None, True),
        (200_000, 62, None, False),
        (200_000, 70, None, True),
        (200_000, 63, None, False),
        (200_000, 64, 200_000, False),
    ],
)
def test_a_width_that_somebody_chose(rows: int, units: int, batch: int | None, like: bool) -> None:
    assert matrix_without_a_name._like_a_weight(rows, units, batch) is like


@pytest.mark.parametrize(
    "changed, idle",
    [
        ({}, True),
        ({"in_use": 21}, False),
        ({"in_use": None}, False),
        ({"limit": None}, False),
        ({"limit": 0}, False),
        ({"host": True}, False),
        ({"allocator": "cuda_host_bfc"}, False),
        ({"allocator": "GPU_0_bfc"}, True),
        ({"device": "cpu"}, False),
        ({"device": None}, True),
        ({"needed": 7}, False),
    ],
)
def test_a_pool_of_which_next_to_nothing_was_in_use(
    changed: dict[str, Any], idle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"in_use": 20, "limit": 1000, "host": False, "allocator": None, "device": GPU, "needed": None, **changed}  # fmt: skip  # noqa: E501
    sizes = {name: None if given[name] is None else exactly(given[name]) for name in ("in_use", "limit")}
    monkeypatch.setattr(cut_dump, "on_host", lambda moment: given["host"])
    monkeypatch.setattr(cut_dump, "situation", lambda case, moment: Made(device=given["device"]))
    case: Any = Made()
    moment: Any = Made(incident=Made(state=Made(**sizes)))
    asked = request(allocator=given["allocator"], needed=given["needed"])
    assert cut_dump._is_idle(case, moment, asked) is idle
    assert not cut_dump._is_idle(case, Made(incident=None), asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "adam, limit, words",
    [
        (True, 39, "four such tensors live, 40 B, more than the limit of 39 B, whatever the batch"),
        (True, 40, "four such tensors live, 40 B of 40 B, whatever the batch"),
        (False, 39, "; no batch changes it"),
        (True, None, "; no batch changes it"),
    ],
)
def test_what_adam_keeps_of_a_weight(
    adam: bool, limit: int | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_by_the_code, "_adam", lambda case, request: adam)
    monkeypatch.setattr(made_by_the_code, "device_limit", lambda case, moment: limit and exactly(limit))
    monkeypatch.setattr(made_by_the_code, "_untrained", lambda case, made: False)
    nobody: Any = None
    assert made_by_the_code._in_training(nobody, Made(request=request()), Made(bytes=10), 1).endswith(words)


@pytest.mark.parametrize(
    "shape, need, limit, words",
    [
        ((7,), 100, 10, "find what makes a vector of 7 numbers"),
        ((8, 5), 100, 50, "make its first dimension smaller, 8 -> 4: the tensor then takes 48 B"),
        ((8, 5), 101, 50, "make its first dimension smaller, 8 -> 2: the tensor then takes 24 B"),
        ((8, 5), 1000, 50, "make its first dimension smaller, 8 -> 1: the tensor then takes 125 B"),
    ],
)
def test_a_first_dimension_that_fits(
    shape: tuple[int, ...], need: int, limit: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_larger_than_device, "batch_bound", lambda case, moment: None)
    monkeypatch.setattr(request_larger_than_device.remedies, "batch_of", lambda case, moment: None)
    case: Any = Made(moments=(Made(request=request(shape)),), of_tensor=of_tensor)
    found = next(iter(request_larger_than_device._dimension_remedies(case, 0, need, limit)))
    assert found.text.startswith(words)
