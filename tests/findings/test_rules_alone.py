"""Rules on cases of a few values: where each begins, what it says it explains, and what it advises."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_support import asked, case, exactly, held
from tfmemlens.findings import (
    changed_batch,
    dense_kernel_gradient,
    device_statistics,
    growing_concatenation,
    held_by_python,
    memory_shortage,
    one_chunk_dominates,
    repeated_sets,
    retraced_functions,
    rising_readings,
    whole_set_in_one_batch,
)
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Certainty, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import HeldTensors, Holder
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import KIB, MIB
from tfmemlens.values import replace

NOBODY = Owner(None, Kind.UNATTRIBUTED, Phase.NONE)


def only(found: Any) -> Finding:
    (finding,) = found
    assert isinstance(finding, Finding)
    return finding


def chunks(*sizes: tuple[int, int], request: Any = None, books: Balance = Balance()) -> Moment:
    """Nameless chunks: (bytes, how many)."""
    table = AllocationTable.of([Allocation(None, size, count=count) for size, count in sizes])
    return Moment(Attribution(table, [NOBODY] * len(sizes)), books, request=request)


# ------------------------------------------------------------------ readings that rise


def readings(*sizes: int) -> tuple[tuple[int, Line], ...]:
    return tuple((size * MIB, Line(10 * (at + 1), "")) for at, size in enumerate(sizes))


def test_three_readings_that_rise() -> None:
    found = only(rising_readings.check(case(readings=readings(100, 130, 180))))
    assert found.headline == (
        "memory in use rose from 100.00 MiB to 180.00 MiB over 3 readings, about 40.00 MiB from one to the"
        " next: something keeps tensors"
    )
    assert found.explains == 80 * MIB and found.severity is Severity.FACTOR
    assert [each.line.number for each in found.evidence if each.line] == [10, 30]
    assert found.remedies[0].code == "losses.append(loss.numpy())   # a loss: float(loss)"
    at = held(request=asked())
    assert only(rising_readings.check(case(at, readings=readings(100, 130, 180)))).severity is Severity.CAUSE


@pytest.mark.parametrize("sizes", [(100, 130), (100, 130, 130), (100, 90, 180), (), (100, 130, 120)])
def test_readings_that_tell_nothing(sizes: tuple[int, ...]) -> None:
    assert not list(rising_readings.check(case(readings=readings(*sizes))))


def test_a_list_that_stores_results_is_named() -> None:
    told = case(readings=readings(1, 2, 3), stores=("outputs", Line(7, "outputs.append(y)")))
    found = only(rising_readings.check(told))
    assert "most likely the list `outputs`, which keeps results" in found.headline
    assert [each.line.number for each in found.evidence if each.line] == [10, 30, 7]
    assert (found.remedies[0].code or "").startswith("outputs.append(result.numpy())")


@pytest.mark.parametrize(
    "steps, grown",
    [((4, 6, 8), 160), ((1, 2, 3), 120), ((0, 1, 2), 80), ((8, 9, 10), 180), ((4, 4, 8), 80), ((4, 6), 80)],
)
def test_what_was_added_before_the_first_reading_counts_where_steps_are_told(
    steps: tuple[int, ...], grown: int
) -> None:
    """80 MiB over the steps between, as much for each step before, no more than is in use."""
    lines = tuple((step, Line(10 * (at + 1), "")) for at, step in enumerate(steps))
    found = only(rising_readings.check(case(readings=readings(100, 130, 180), steps=lines)))
    assert found.explains == grown * MIB


# ------------------------------------------------------------------ figures of a device alone


@pytest.mark.parametrize(
    "in_use, peak, said, slugs",
    [
        (
            900,
            None,
            "arrays that are alive fill 90 % of it, whatever runs next",
            ["record-a-step", "smaller-batch"],
        ),
        (899, 899, "101.00 MiB were never used, so this device did not run full", []),
        (400, 900, "nearly full, with 500.00 MiB of temporaries", ["smaller-batch", "record-a-step"]),
        (450, 900, "nearly full, mostly with 450.00 MiB of arrays", ["record-a-step", "smaller-batch"]),
        (400, 899, "101.00 MiB were never used", []),
        (400, None, "600.00 MiB were never used", []),
    ],
)
def test_a_device_by_its_figures(in_use: int, peak: int | None, said: str, slugs: list[str]) -> None:
    books = Balance(
        limit=exactly(1000 * MIB),
        in_use=exactly(in_use * MIB),
        peak=None if peak is None else exactly(peak * MIB),
    )
    moment = held(request=asked(kind=RequestKind.PROFILE), books=books)
    found = only(device_statistics.check(case(moment)))
    assert said in found.headline and found.explains == in_use * MIB
    assert [remedy.slug for remedy in found.remedies] == slugs
    named = held(("a", 1, Kind.ACTIVATION), request=asked(kind=RequestKind.PROFILE), books=books)
    assert not list(device_statistics.check(case(named)))
    assert not list(device_statistics.check(case(held(request=asked(), books=books))))
    assert not list(device_statistics.check(case(replace(moment, balance=replace(books, limit=exactly(0))))))


# ------------------------------------------------------------------ chunks without names


@pytest.mark.parametrize(
    "sizes, need, fires",
    [
        (((100, 1), (100, 1)), 50, True),
        (((100, 1), (100, 1), (1, 1)), 50, False),
        (((100, 1), (100, 1)), 51, True),
        (((100, 2),), 50, False),
        (((16, 1),), 8, True),
        (((15, 1),), 4, False),
    ],
)
def test_one_chunk_holds_half_of_all(sizes: tuple[tuple[int, int], ...], need: int, fires: bool) -> None:
    moment = chunks(*((size * MIB, count) for size, count in sizes), request=asked(need * MIB))
    assert bool(list(one_chunk_dominates.check(case(moment)))) is fires


def test_a_second_tensor_as_large() -> None:
    again = only(one_chunk_dominates.check(case(chunks((100 * MIB, 1), request=asked(80 * MIB)))))
    assert "one tensor of 50.00 MiB to 100.00 MiB, and a second one as large was requested" in again.headline
    assert again.explains == 100 * MIB
    shaped = asked(80 * MIB, shape=(20, MIB), dtype="float32")
    assert not list(one_chunk_dominates.check(case(chunks((100 * MIB, 1), request=shaped))))
    small = asked(50 * MIB, shape=(50, MIB // 4), dtype="float32")
    assert list(one_chunk_dominates.check(case(chunks((100 * MIB, 1), request=small))))


@pytest.mark.parametrize(
    ("name", "kind", "count", "size", "block", "named"),
    [
        ("frames", "variable", 1, 80, 100, True),
        ("frames", "variable", 1, 40, 100, False),  # too small for the block
        ("frames", "variable", 1, 80, 90, False),  # counted for another block
        ("frames", "variable", 2, 80, 100, False),
        ("frames", "list", 1, 80, 100, False),  # in a container: there may be more
        (None, "variable", 1, 80, 100, False),
    ],
)
def test_the_variable_that_holds_the_one_large_block(
    name: str | None, kind: str, count: int, size: int, block: int, named: bool
) -> None:
    moment = chunks((100 * MIB, 1), request=asked(20 * MIB))
    counted = AllocationTable.of([Allocation("held", block * MIB)])
    owners = [Owner(name, Kind.HELD, Phase.NONE)]
    made = case(replace(moment, counted=Attribution(counted, owners)))
    made = replace(made, capture=replace(made.capture, living=living((name, kind, count, size * MIB))))
    found = only(one_chunk_dominates.check(made))
    told = "`frames` (train.py:41), [2,3] float32, holds 80.00 MiB in a block of 100.00 MiB, 100 % of what"
    assert found.headline.startswith(told) is named and found.explains == 100 * MIB
    assert (found.remedies[0].text.startswith("make `frames` for a part of its rows")) is named


def test_sets_of_chunks_that_are_there_often() -> None:
    update = replace(asked(4 * MIB), owner=Owner(None, Kind.UNATTRIBUTED, Phase.OPTIMIZER))
    found = only(repeated_sets.check(case(chunks((4 * MIB, 10), (MIB, 11), (256, 500), request=update))))
    assert (
        "about 10 copies of one set of tensors (4.00 MiB and 1.00 MiB) are in use, 100 % of all"
        in found.headline
    )
    assert found.explains == 51 * MIB
    assert [each.fact for each in found.evidence[:2]] == ["10 x 4.00 MiB", "11 x 1.00 MiB"]


@pytest.mark.parametrize(
    "sizes, fires",
    [
        (((4 * MIB, 5), (MIB, 5)), True),
        (((4 * MIB, 4), (MIB, 4)), False),
        (((4 * MIB, 10), (MIB, 21)), True),
        (((4 * MIB, 10), (MIB, 41)), True),
        (((4 * MIB, 10), (MIB, 42)), False),
        (((4 * MIB, 10), (MIB, 25)), False),
        (((4 * MIB, 10),), False),
        (((4 * MIB, 10), (256 * KIB, 10)), True),
        (((4 * MIB, 10), (256 * KIB - 1, 10)), False),
        (((4 * MIB, 10), (MIB, 10), (50 * MIB, 1)), True),
        (((4 * MIB, 10), (MIB, 10), (51 * MIB, 1)), False),
        (((5 * MIB, 10), (MIB, 10)), False),
    ],
)
def test_which_chunks_are_a_set(sizes: tuple[tuple[int, int], ...], fires: bool) -> None:
    """Five of 256 KiB at least, in whole multiples give or take one, half of all; one of them failed."""
    update = replace(asked(4 * MIB), owner=Owner(None, Kind.UNATTRIBUTED, Phase.OPTIMIZER))
    assert bool(list(repeated_sets.check(case(chunks(*sizes, request=update))))) is fires


@pytest.mark.parametrize(
    "node, number", [("adam_3/x", "`adam_3`"), ("adam_2/x", ""), ("a/model_12", "`model_12`"), ("x", "")]
)
def test_the_fourth_of_a_name(node: str, number: str) -> None:
    assert repeated_sets._number(asked(node=node)) == number


# ------------------------------------------------------------------ the whole data set


@pytest.mark.parametrize(
    "facts, fires",
    [
        ({"shape": (2000, 64, 64, 4)}, True),
        ({"shape": (1999, 64, 64, 4)}, False),
        ({"shape": (2048, 32, 32, 8)}, True),
        ({"shape": (2047, 32, 32, 8)}, False),
        ({"shape": (4096, 1, 64, 64)}, False),
        ({"shape": (4096, 8, 4, 1024)}, False),
        ({"shape": (4096, 33, 1, 1024)}, True),
        ({"shape": (4096, 32, 1, 1024)}, False),
        ({"shape": (4096, 64, 64)}, False),
        ({"shape": (2000, 64, 64, 4), "op": "Fill"}, False),
        ({"shape": (2000, 64, 64, 4), "op": "SpaceToBatchND"}, False),
        ({"shape": (64, MIB), "op": "_EagerConst"}, True),
        ({"shape": (63, MIB), "op": "_EagerConst"}, False),
        ({"op": "_EagerConst"}, True),
        ({"shape": (2000, 64, 64, 4), "kind": RequestKind.HOST}, False),
    ],
)
def test_a_whole_set_at_once(facts: dict[str, Any], fires: bool) -> None:
    moment = held(request=asked(dtype="float32", **facts))
    assert bool(list(whole_set_in_one_batch.check(case(moment)))) is fires


def test_a_hundred_samples_instead_of_all() -> None:
    moment = held(request=asked(dtype="float32", shape=(2000, 64, 64, 4)))
    found = only(whole_set_in_one_batch.check(case(moment)))
    assert found.explains == 2000 * 64 * KIB
    (remedy,) = found.remedies
    assert remedy.text == "go in batches: with 100 samples this tensor takes 6.25 MiB"
    assert (remedy.saves_bytes, remedy.certainty) == (1900 * 64 * KIB, Certainty.EXACT)


# ------------------------------------------------------------------ functions traced again and again

WARNING = "WARNING:tensorflow:5 out of the last 5 calls to <function train.<locals>.step at 0x7f> triggered"


def retraced(times: int, moment: Moment) -> Finding | None:
    return next(iter(retraced_functions.check(case(moment, retraced=(times, Line(3, WARNING))))), None)


@pytest.mark.parametrize(
    "times, count, size, explained",
    [
        (1, 20, MIB, None),  # one warning proves no traces left behind
        (3, 7, MIB, 6 * MIB),
        (3, 6, MIB, None),
        (3, 7, 16 * KIB, 6 * 16 * KIB),
        (3, 7, 16 * KIB - 1, None),
    ],
)
def test_chunks_that_traces_left(times: int, count: int, size: int, explained: int | None) -> None:
    found = retraced(times, chunks((size, count), request=asked(line=Line(9, ""))))
    assert found is not None and found.explains == explained
    assert found.severity is (Severity.CAUSE if explained else Severity.FACTOR)
    assert found.headline.startswith("the tf.function `step` is traced again and again")
    said = f"({times} warnings, at least {4 + times} tracings)" if times > 1 else "(a warning)"
    assert said in found.headline
    assert [remedy.slug for remedy in found.remedies] == [
        "one-signature",
        *(["pass-arrays"] if explained else []),
    ]


@pytest.mark.parametrize("mine, left", [(3, True), (4, False)])
def test_blocks_that_the_step_itself_makes_are_no_traces(mine: int, left: bool) -> None:
    """Half of those of one size, as the program recorded its step."""
    moment = chunks((MIB, 8), request=asked(line=Line(9, "")))
    owners = [replace(NOBODY, layer="net", kind=Kind.GRADIENT), replace(NOBODY, layer="old", kind=Kind.HELD)]
    table = AllocationTable.of([Allocation("x", MIB, count=mine), Allocation("y", MIB, count=8 - mine)])
    found = retraced(3, replace(moment, counted=Attribution(table, owners)))
    assert found is not None and bool(found.explains) is left


def test_traces_hold_three_tenths_at_least() -> None:
    """Nine of ten chunks beyond one trace's: 9 MiB of 30 are three tenths."""
    for other, explained in ((20, 9 * MIB), (21, None)):
        found = retraced(2, chunks((MIB, 10), (other * MIB, 1), request=asked(line=Line(9, ""))))
        assert found is not None and found.explains == explained


def test_a_warning_behind_the_failure_explains_nothing() -> None:
    assert retraced(3, chunks((MIB, 7), request=asked(line=Line(2, "")))) is None
    assert retraced(3, chunks((MIB, 7), request=asked(line=Line(3, "")))) is not None


# ------------------------------------------------------------------ another batch


@pytest.mark.parametrize(
    "first, stated, fires",
    [(32, 64, False), (64, 32, False), (48, 32, True), (1, 32, False), (48, 1, False), (33, 32, True)],
)
def test_another_batch_than_stated(first: int, stated: int, fires: bool) -> None:
    moment = held(request=asked(shape=(first, 8, 8, 3), dtype="float32"))
    assert bool(list(changed_batch.check(case(moment, hints=Hints(batch=stated))))) is fires
    logged = case(moment, settings=(("batch_size", str(stated), Line(5, "")),))
    assert bool(list(changed_batch.check(logged))) is fires
    flat = held(request=asked(shape=(first, 8, 3), dtype="float32"))
    assert not list(changed_batch.check(case(flat, hints=Hints(batch=stated))))


def test_a_node_that_fails_with_several_shapes() -> None:
    def failing(*shape: int | None, node: str = "a/MatMul") -> Moment:
        return held(request=asked(shape=shape, dtype="float32", node=node, line=Line(1, "")))

    found = only(changed_batch.check(case(failing(8, 100), failing(8, 300), failing(8, 200))))
    assert "[8,100] and [8,300] and [8,200]" in found.headline and found.explains == 8 * 200 * 4
    assert len(found.evidence) == 2
    assert not list(changed_batch.check(case(failing(8, 100), failing(8, 100))))
    assert not list(changed_batch.check(case(failing(8, 100), failing(8, 100, 2))))
    assert not list(changed_batch.check(case(failing(8, 100), failing(8, 300, node="b"))))
    assert not list(changed_batch.check(case(failing(8), failing(9))))
    assert only(changed_batch.check(case(failing(8, 100), failing(8, None)))).explains is None


# ------------------------------------------------------------------ too little was free


@pytest.mark.parametrize(
    "missing, severity", [(50, Severity.CAUSE), (49, Severity.FACTOR), (500, Severity.CAUSE)]
)
def test_a_shortage_of_a_twentieth_is_a_cause(missing: int, severity: Severity) -> None:
    books = Balance(
        limit=exactly(1000), free=exactly(100 - missing), in_use=exactly(900), requested=100, missing=missing
    )
    moment = held(request=asked(100), books=books)
    found = only(memory_shortage.check(case(moment)))
    assert (found.explains, found.severity) == (missing, severity)
    assert found.headline.startswith(f"{missing} B short: 100 B was requested")
    assert not list(memory_shortage.check(case(replace(moment, balance=replace(books, requested=1001)))))
    assert list(memory_shortage.check(case(replace(moment, balance=replace(books, requested=1000)))))
    assert not list(memory_shortage.check(case(replace(moment, balance=replace(books, missing=None)))))


# ------------------------------------------------------------------ a dense layer's kernel


def test_a_kernel_behind_a_flattened_image() -> None:
    """25,088 inputs are 7 x 7 x 512; with gradient and Adam's slots the kernel is there four times."""
    request = asked(shape=(25_088, 4096), dtype="float32", node="fc1/kernel/Initializer/random_uniform")
    found = only(
        dense_kernel_gradient.check(
            case(held(request=replace(request, owner=Owner("fc1", Kind.PARAMETER, Phase.NONE))))
        )
    )
    need = 25_088 * 4096 * 4
    assert found.headline.startswith("a fully connected kernel of 25,088 x 4,096 = 392.00 MiB;")
    assert found.headline.endswith("1.53 GiB") and found.explains == need
    assert "a flattened 7x7 map of 512 channels" in found.detail
    users, pooled, narrower = found.remedies
    assert users.slug == "see-device-users"  # 392 MiB, before any step
    assert (pooled.slug, pooled.saves_bytes) == ("pool-first", 4 * need)
    assert (narrower.slug, narrower.saves_bytes) == ("narrower-layer", 2 * need)
    assert "4,096 -> 2,048" in narrower.text


# ------------------------------------------------------------------ what Python holds


def living(*parts: tuple[str | None, str, int, int]) -> tuple[HeldTensors, ...]:
    """Tensors of one type that a container holds: (its name, its class, how many, bytes)."""
    tensor = TensorType((2, 3), "float32")
    return tuple(
        HeldTensors(tensor, count, size, (Holder(name, kind, count, size, "/x/train.py", 41),))
        for name, kind, count, size in parts
    )


def of_python(moment: Moment, *parts: tuple[str | None, str, int, int]) -> list[Finding]:
    made = case(moment)
    return list(held_by_python.check(replace(made, capture=replace(made.capture, living=living(*parts)))))


@pytest.mark.parametrize(
    "name, kind, shape, framework, code",
    [
        ("scores", "list", (8, 3), "tensorflow", None),
        ("self.bank", "list", (8, 3), "jax", None),
        ("losses", "list", (), "tensorflow", "losses.append(float(loss))"),
        ("losses", "list", (1,), "jax", "losses.append(float(loss))"),
        ("by_step", "dict", (2,), "tensorflow", None),
        ("bank[3]", "list", (2,), "tensorflow", None),
    ],
)
def test_the_code_keeps_a_number_where_the_tensors_were(
    name: str, kind: str, shape: tuple[int, ...], framework: str, code: str
) -> None:
    group: Any = Made(tensor=Made(shape=shape))
    assert held_by_python._kept(name, (group, Holder(name, kind, 3, 300)), framework) == code


@pytest.mark.parametrize(("name", "of_weights"), [("ensemble", True), ("params", True), ("outputs", False)])
def test_of_weights_no_number_takes_the_place(name: str, of_weights: bool) -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    remedy = only(of_python(moment, (name, "list", 9, 5 * MIB))).remedies[0]
    assert remedy.slug == ("keep-on-host" if of_weights else "keep-numbers")
    assert ("holds weights" in remedy.text) is of_weights


def test_the_name_that_holds_most() -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    found = only(
        of_python(moment, ("a", "list", 9, MIB), ("b", "list", 2, 2 * MIB), ("b", "dict", 5, 3 * MIB))
    )
    assert found.headline == "`b` (train.py:41) holds 5 tensors, 3.00 MiB: 30 % of what was in use"
    assert found.explains == 3 * MIB and found.remedies[0].saves_bytes == 3 * MIB
    assert [each.fact for each in found.evidence] == ["5 x [2,3] float32 in a dict at `b`, 3.00 MiB"]


@pytest.mark.parametrize("name", ["load()", "load()[\u2026]"])
def test_what_a_function_remembers_is_told_by_its_name(name: str) -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    found = only(of_python(moment, (name, "tuple", 9, 5 * MIB)))
    assert found.because == "the cache of `load` (train.py:41) holds 9 tensors, 5.00 MiB"
    assert found.remedies[0].text.startswith("cache no results of `load`")
    assert (found.remedies[0].code or "").startswith("load.cache_clear()")


def of_shapes(*shapes: tuple[int, ...]) -> list[Finding]:
    """What is told of one dict that holds one tensor of each shape, all of 512 KiB, in 10 MiB in use."""
    held_ones = tuple(
        HeldTensors(
            TensorType(shape, "float32"),
            1,
            512 * KIB,
            (Holder("a.bank", "dict", 1, 512 * KIB, "/x/t.py", 4),),
        )
        for shape in shapes
    )
    made = case(held(request=asked(), books=Balance(in_use=exactly(10 * MIB))))
    return list(held_by_python.check(replace(made, capture=replace(made.capture, living=held_ones))))


def test_a_cache_that_is_keyed_by_a_length_holds_many_types() -> None:
    found = only(of_shapes(*((size, size, 24) for size in range(120, 128))))
    assert found.because == "`a.bank` (t.py:4) holds 8 tensors, 4.00 MiB, which differ in one length"
    assert only(of_shapes(*((4, size) for size in range(120, 129)))).explains == 9 * 512 * KIB


@pytest.mark.parametrize(
    "shapes",
    [
        [(size, size, 24) for size in range(120, 127)],  # too few
        [(size, 2 * size) for size in range(120, 130)],  # kernels of layers
        [(3, 3, size, 64 + size // 128) for size in range(120, 130)],
    ],
)
def test_types_that_differ_in_more_are_a_state(shapes: list[tuple[int, ...]]) -> None:
    assert not of_shapes(*shapes)


def test_a_few_arrays_of_several_types_are_a_state() -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    state = [("buffer", "dict", 1, 5 * MIB), ("buffer", "dict", 2, 2 * MIB)]
    assert not of_python(moment, *state)
    assert "`a` " in only(of_python(moment, *state, ("a", "list", 3, MIB))).headline
    assert not of_python(moment, *state, ("buffer", "dict", 3, MIB - 1))


@pytest.mark.parametrize(
    "parts, device, framework, text, code",
    [
        ([((), 3)], "GPU", "jax", "keep numbers in `a`, not tensors", "a.append(float(loss))"),
        ([((8, 3), 3)], "GPU", "jax", "keep what is in `a` on the host", "a.append(jax.device_get(x))"),
        ([((8, 3), 3)], "GPU", "tensorflow", "keep what is in `a` on the host", "a.append(x.numpy())"),
        ([((8, 3), 3)], "CPU", "jax", "keep in `a` only what is read later", None),
        ([((8, 3), 3), ((4,), 3)], "GPU", "jax", "if the 3 sets in `a` are copies of weights", None),
        (
            [((8, 3), 3), ((4,), 5)],
            "GPU",
            "jax",
            "keep what is in `a` on the host",
            "a.append(jax.device_get(x))",
        ),
        (
            [((8, 3), 3), ((), 3)],  # results and their losses are no sets of arrays
            "GPU",
            "jax",
            "keep what is in `a` on the host",
            "a.append(jax.device_get(x))",
        ),
    ],
)
def test_where_what_is_kept_belongs(
    parts: list[tuple[tuple[int, ...], int]], device: str, framework: str, text: str, code: str | None
) -> None:
    each: Any = [
        (Made(tensor=Made(shape=shape), arrays=False), Holder("a", "list", count, MIB))
        for shape, count in parts
    ]
    remedy = held_by_python._remedy("a", each, framework, device == "CPU", frozenset())
    assert remedy.text.startswith(text) and remedy.code == code


def of_arrays(moment: Moment, shown: int | None = None) -> list[Finding]:
    """Ten of NumPy's in `bank`, 5 MiB, which refers to `shown` bytes of them."""
    (group,) = living(("bank", "list", 10, 5 * MIB))
    (holder,) = group.holders
    group = replace(group, holders=(replace(holder, shown_bytes=shown),), arrays=True)
    made = case(moment)
    return list(held_by_python.check(replace(made, capture=replace(made.capture, living=(group,)))))


def test_arrays_of_a_session_are_called_arrays_and_are_reduced() -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    found = only(of_arrays(moment))
    assert found.because == "`bank` (train.py:41) holds 10 arrays, 5.00 MiB"
    assert found.remedies[0].slug == "reduce-parts"
    assert "NumPy makes no copy" in found.detail


@pytest.mark.parametrize(("shown", "copied"), [(MIB, True), (2 * MIB, True), (4 * MIB, False)])
def test_small_parts_of_arrays_are_copied(shown: int, copied: bool) -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    found = only(of_arrays(moment, shown))
    remedy = found.remedies[0]
    assert (remedy.slug == "copies-of-parts") is copied
    assert ("refers to" in found.headline) is copied
    assert remedy.saves_bytes == 5 * MIB - copied * shown


@pytest.mark.parametrize(
    ("device", "allocator", "there"),
    [
        ("/device:GPU:0", None, False),
        (None, "GPU_0_bfc", False),
        ("/device:CPU:0", None, True),
        (None, "bfc_cpu_allocator_for_gpu", True),
        (None, "gpu_host_bfc", True),
        (None, None, True),
    ],
)
def test_arrays_fill_no_accelerator(device: str | None, allocator: str | None, there: bool) -> None:
    moment = held(request=asked(device=device, allocator=allocator), books=Balance(in_use=exactly(10 * MIB)))
    assert bool(of_arrays(moment)) is there


@pytest.mark.parametrize("shapes, sets", [([(8, 3), (4,)], True), ([(8, 3), (5,)], False)])
def test_sets_are_of_weights_where_the_program_has_weights_of_these_types(
    shapes: list[tuple[int, ...]], sets: bool
) -> None:
    weights = frozenset(TensorType(shape, "float32") for shape in ((8, 3), (4,), (9,)))
    each: Any = [
        (Made(tensor=TensorType(shape, "float32"), arrays=False), Holder("a", "list", 3, MIB))
        for shape in shapes
    ]
    remedy = held_by_python._remedy("a", each, "tensorflow", True, weights)
    assert ("copies of weights" in remedy.text) is sets


@pytest.mark.parametrize(
    "part, fires",
    [
        (("a", "list", 3, MIB), True),
        (("a", "list", 2, MIB), False),
        (("a", "list", 3, MIB - 1), False),
        (("a", "variable", 3, MIB), False),
        ((None, "list", 3, MIB), False),
    ],
)
def test_three_tensors_and_a_tenth_of_all(part: tuple[str | None, str, int, int], fires: bool) -> None:
    moment = held(request=asked(), books=Balance(in_use=exactly(10 * MIB)))
    assert bool(of_python(moment, part)) is fires


@pytest.mark.parametrize(
    "rows, in_use, limit, said",
    [
        ((("x", 20 * MIB, Kind.ACTIVATION),), 10, 40, "25 % of what was in use"),
        ((), 10, 40, "50 % of what was in use"),
        ((), None, 40, "12 % of the limit"),
        ((), None, None, "100 % of all tensors that Python held"),
    ],
)
def test_what_a_container_is_a_share_of(rows: Any, in_use: int | None, limit: int | None, said: str) -> None:
    sizes = [None if each is None else exactly(each * MIB) for each in (in_use, limit)]
    moment = held(*rows, request=asked(), books=Balance(in_use=sizes[0], limit=sizes[1]))
    assert only(of_python(moment, ("a", "list", 5, 5 * MIB))).headline.endswith(said)


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("maps[\u2026]", True),
        ("maps[\u2026][\u2026]", True),  # a list that Keras tracks holds its own
        ("maps[3]", False),
        ("maps.first[\u2026]", False),
        ("maps", False),
    ],
)
def test_a_place_in_a_container_that_is_counted_whole(name: str, inside: bool) -> None:
    assert held_by_python._within(name, "maps") is inside


@pytest.mark.parametrize(
    ("joined", "more", "owner", "mebibytes", "grows"),
    [
        ("[rows, self.bank], axis=0)", "", "net.bank", 60, True),
        ("[rows, self.bank], axis=0)", "self.bank = self.bank[:4096]", "net.bank", 60, False),
        ("[rows, self.bank], axis=0)[:4096]", "", "net.bank", 60, False),
        ("[rows, self.bank], axis=0)", "", "net.shelf", 60, False),
        ("[rows, self.bank], axis=0)", "", "net.bank", 10, False),
        ("[rows, self.other], axis=0)", "", "net.bank", 60, False),
    ],
)
def test_another_line_joins_a_tensor_to_itself(
    joined: str, more: str, owner: str, mebibytes: int, grows: bool
) -> None:
    """Where the record of what was alive shows it with a fifth of what is in use, and no line cuts it."""
    made = case(chunks((100 * MIB, 1), request=asked(20 * MIB)))
    code = tuple(
        Line(number, text, "train.py")
        for number, text in enumerate((f"self.bank = tf.concat({joined}", more), 1)
        if text
    )
    surroundings = replace(made.capture.surroundings, code=code)
    held = living((owner, "Net", 1, mebibytes * MIB))
    made = replace(made, capture=replace(made.capture, surroundings=surroundings, living=held))
    found_now = list(growing_concatenation.check(made))
    assert [each.headline.startswith("`self.bank` (") for each in found_now] == [True] * grows
    assert all("smaller-batch" in each.rules_out for each in found_now)
