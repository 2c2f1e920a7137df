"""A dump's blocks by the owners that the program counted: who takes which, and that the books balance."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.claims import Claim
from tfmemlens.attribution.moments.counted import with_counted, with_holders
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Phase
from tfmemlens.model.capture import Capture, Source, Surroundings
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import ChunkMap, FailedRequest, Incident
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import (
    OF_A_CALL,
    OF_A_DATA_SET,
    HeldTensors,
    Holder,
    KeptConstant,
    LiveModel,
    LiveVariable,
    OpPlace,
    TracedFunction,
)
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import MIB
from tfmemlens.values import replace

FLOATS = MIB // 4
FAILURE = Incident(FailedRequest(device="/device:CPU:0"))


def kind_of(count: int) -> TensorType:
    return TensorType((count, FLOATS), "float32")


def dump(*blocks: tuple[int, int]) -> Attribution:
    """Blocks of so many MiB, so often."""
    rows = [Allocation(None, size * MIB, count=count) for size, count in blocks]
    return Attribution(AllocationTable.of(rows), [NOBODY] * len(rows))


def held(mebibytes: int, *holders: tuple[str | None, int]) -> HeldTensors:
    tensor = kind_of(mebibytes)
    parts = tuple(Holder(name, "list", count, count * mebibytes * MIB) for name, count in holders)
    count = sum(part.count for part in parts)
    return HeldTensors(tensor, count, count * mebibytes * MIB, parts)


def weights(name: str, mebibytes: int, device: str = "CPU:0") -> LiveVariable:
    return LiveVariable(f"{name}/kernel", name, Kind.PARAMETER, kind_of(mebibytes), device)


def counted(
    blocks: Attribution,
    *living: HeldTensors,
    model: LiveModel | None = None,
    failure: Incident = FAILURE,
    told: Surroundings = Surroundings(),
    graph: Graph | None = None,
) -> dict[tuple[str | None, str], int]:
    """MiB by owner and kind."""
    capture = Capture(Source("-"), surroundings=told, living=living, live_model=model, graph=graph)
    found = with_counted(blocks, capture, failure)
    if found is None:
        return {}
    assert found.table.total_bytes == blocks.table.total_bytes
    sums: dict[tuple[str | None, str], int] = {}
    for row, owner in zip(found.table, found.owners, strict=True):
        key = owner.layer, owner.kind.value
        sums[key] = sums.get(key, 0) + row.total_bytes // MIB
    return sums


def test_a_list_owns_the_blocks_of_its_size_and_no_more() -> None:
    found = counted(dump((8, 5), (3, 1)), held(8, ("history", 4)))
    assert found == {
        ("history", "held-by-python"): 32,
        (None, "unattributed"): 11,
    }


def test_what_no_name_leads_to_is_the_batch_or_of_the_one_layer_that_is_as_wide() -> None:
    table = LiveVariable("up/kernel", "up", Kind.PARAMETER, TensorType((9, FLOATS, 2), "float32"))
    classes = (("up", "Conv1DTranspose"), ("flat", "Conv1D"))
    model = LiveModel((), classes, (table,), inputs=(kind_of(8),))
    found = counted(dump((8, 3), (4, 1)), held(8, (None, 3)), held(4, ("history", 1)), model=model)
    assert found == {
        (None, "input"): 8,
        ("up", "held-by-python"): 16,
        ("history", "held-by-python"): 4,
    }
    other = replace(model, layers=(("up", "Conv1D"),))  # reads as many numbers, and makes two
    assert counted(dump((8, 3)), held(8, (None, 3)), model=other) == {
        (None, "input"): 8,
        (None, "held-by-python"): 16,
    }


def test_what_is_counted_beyond_what_is_in_use_is_not_drawn() -> None:
    """Such as tensors on another device."""
    assert counted(dump((8, 2)), held(8, ("history", 40))) == {("history", "held-by-python"): 16}


def test_a_larger_block_below_twice_the_size_is_taken_where_none_fits() -> None:
    found = counted(dump((8, 1), (15, 1), (16, 1)), held(8, ("history", 3)))
    assert found == {("history", "held-by-python"): 23, (None, "unattributed"): 16}


def asked_for(*chunks: tuple[int, int | None]) -> Incident:
    """A failure whose dump says what blocks of so many MiB were asked for, in MiB."""
    sizes = [size * MIB for size, _ in chunks]
    asked = [None if each is None else each * MIB for _, each in chunks]
    return replace(FAILURE, chunks=ChunkMap([0] * len(chunks), sizes, [True] * len(chunks), (), asked))


def test_what_a_dump_says_of_a_block_decides_whatever_its_size() -> None:
    """BFC cuts nothing off the last block of a region below 128 MiB of rest."""
    blocks = dump((8, 1), (15, 1), (20, 1))
    failure = asked_for((8, 7), (15, 13), (20, 8))
    history = held(8, ("history", 3))
    assert counted(blocks, history, failure=failure) == {
        ("history", "held-by-python"): 20, (None, "unattributed"): 23,
    }  # fmt: skip
    batch = LiveModel((), (), inputs=(kind_of(8),))
    assert counted(blocks, model=batch, failure=failure)[None, "input"] == 20
    part = asked_for((8, None), (15, 13), (20, 8))
    assert counted(blocks, history, failure=part) == {
        ("history", "held-by-python"): 23, (None, "unattributed"): 20,
    }  # fmt: skip


def test_a_variable_that_grew_has_the_block_of_its_value() -> None:
    grown = replace(weights("bank", 8), tensor=TensorType((None, FLOATS), "float32"), now=kind_of(8))
    assert counted(dump((8, 1)), model=LiveModel((), (), (grown,))) == {("bank", "parameter"): 8}
    unknown = replace(grown, now=None)
    assert counted(dump((8, 1)), model=LiveModel((), (), (unknown,))) == {}


def test_many_blocks_of_one_element_are_a_buffers_of_the_pipeline() -> None:
    failed = replace(FAILURE, request=FailedRequest(shape=(2, FLOATS), dtype="float32", pipeline=True))
    line = Line(7, "data = data.map(decode).shuffle(2_000)")
    code = Surroundings(code=(line,))
    assert counted(dump((2, 16), (3, 20)), failure=failed, told=code) == {
        ("shuffle(2_000)", "input"): 32, (None, "unattributed"): 60,
    }  # fmt: skip
    assert counted(dump((2, 15)), failure=failed, told=code) == {}
    assert counted(dump((2, 16)), failure=failed) == {(None, "input"): 32}
    of_net = replace(failed, request=replace(failed.request, pipeline=False))
    assert counted(dump((2, 16)), failure=of_net, told=code) == {}


def test_a_gradient_that_the_failed_step_recorded_goes_before_a_weight_of_its_size() -> None:
    model = LiveModel((), (), (weights("table", 9), weights("head", 2)))
    passing = replace(NOBODY, kind=Kind.WORKSPACE, phase=Phase.OPTIMIZER)
    made = [Claim("step/adam/UnsortedSegmentSum", passing, kind_of(9), exact=True, block_bytes=9 * MIB)]
    blocks, capture = dump((9, 1), (12, 1)), Capture(Source("-"), live_model=model)
    found = with_counted(blocks, capture, FAILURE, made)
    assert found is not None
    owners = {row.size_bytes // MIB: owner for row, owner in zip(found.table, found.owners, strict=True)}
    assert (owners[9].layer, owners[9].kind) == ("table", Kind.GRADIENT)
    assert (owners[12].layer, owners[12].kind) == ("table", Kind.PARAMETER)
    kept = [replace(made[0], owner=replace(passing, kind=Kind.ACTIVATION, phase=Phase.FORWARD))]
    found = with_counted(dump((9, 1)), capture, FAILURE, kept)
    assert found is not None and found.owners[0].kind is Kind.PARAMETER


def test_a_variable_of_a_function_that_may_be_the_models_own_comes_last() -> None:
    read = KeptConstant("train_loop/41", kind_of(9), 9 * MIB, 9 * MIB, "", is_variable=True)
    model = LiveModel((), (), (weights("table", 9),), constants=(read,))
    assert counted(dump((9, 1)), model=model) == {("table", "parameter"): 9}
    assert counted(dump((9, 2)), model=model) == {("table", "parameter"): 9, ("train_loop", "parameter"): 9}
    made = Claim("net/Mul", replace(NOBODY, layer="net", kind=Kind.ACTIVATION), kind_of(9))
    found = with_counted(dump((9, 2)), Capture(Source("-"), live_model=model), FAILURE, [made])
    assert found is not None and {owner.layer for owner in found.owners} == {"table", "net"}


def queued(shape: tuple[int, ...], capacity: int) -> Graph:
    told = {"capacity": capacity, "component_types": ("float32", "int32"), "shapes": (shape, ())}
    queue = Node("read/pool/random_shuffle_queue", "RandomShuffleQueueV2", attributes=told)
    return Graph({queue.name: queue})


def test_a_queue_of_the_graph_owns_blocks_of_its_elements_as_many_as_it_takes() -> None:
    of_pool = {("read/pool (queue)", "input"): 60}
    assert counted(dump((2, 30)), graph=queued((2, FLOATS), 900)) == of_pool
    assert counted(dump((3, 20)), graph=queued((2, FLOATS), 900)) == of_pool  # in larger blocks
    assert counted(dump((2, 40)), graph=queued((2, FLOATS), 30)) == {**of_pool, (None, "unattributed"): 20}
    assert counted(dump((4, 30)), graph=queued((2, FLOATS), 900)) == {}
    assert counted(dump((2, 12)), graph=queued((2, FLOATS), 900)) == {}  # a step may have as many
    on_gpu = replace(FAILURE, request=FailedRequest(device="/device:GPU:0"))
    assert counted(dump((2, 30)), graph=queued((2, FLOATS), 900), failure=on_gpu) == {}


def test_a_sample_of_the_batch_is_an_element_where_a_buffer_is_known() -> None:
    batch = TensorType((64, 2, FLOATS), "float32")
    model = LiveModel((), (), inputs=(batch,), ahead=True)
    filled = Surroundings(pipeline_buffers=(("shuffle(500)", Line(3, "Filling up shuffle buffer")),))
    assert counted(dump((2, 40)), model=model, told=filled) == {("shuffle(500)", "input"): 80}
    assert counted(dump((2, 40)), model=model) == {}
    assert counted(dump((2, 40)), model=replace(model, ahead=False), told=filled) == {}


def test_a_block_that_fits_another_goes_to_that() -> None:
    model = LiveModel((), (), (weights("wide", 15),))
    found = counted(dump((8, 1), (15, 1)), held(8, ("history", 2)), model=model)
    assert found == {("history", "held-by-python"): 8, ("wide", "parameter"): 15}


def test_a_variable_of_another_device_owns_nothing() -> None:
    model = LiveModel((), (), (weights("wide", 8, "GPU:0"),))
    assert counted(dump((8, 1)), model=model) == {}


def test_what_no_name_leads_to_is_the_functions_that_has_room_for_one_in_each_trace() -> None:
    model = LiveModel((), (), functions=(TracedFunction("step", 3, 24 * MIB),))
    found = counted(dump((8, 5)), held(8, (None, 4)), model=model)
    assert found == {
        ("step", "constant"): 24,
        (None, "held-by-python"): 8,
        (None, "unattributed"): 8,
    }
    of_variables = LiveModel((), (), functions=(TracedFunction("step", 3, 24 * MIB, 1 * MIB),))
    assert ("step", "constant") not in counted(dump((8, 5)), held(8, (None, 4)), model=of_variables)
    few = LiveModel((), (), functions=(TracedFunction("step", 3, 23 * MIB),))
    assert counted(dump((8, 5)), held(8, (None, 4)), model=few) == {
        (None, "held-by-python"): 32,
        (None, "unattributed"): 8,
    }


def test_a_batch_takes_a_block_of_its_size_alone() -> None:
    model = LiveModel((), (), inputs=(kind_of(8),), ahead=True)
    assert counted(dump((8, 3)), model=model) == {(None, "input"): 16, (None, "unattributed"): 8}
    assert counted(dump((9, 3)), model=model) == {}


def test_a_functions_constant_goes_by_the_functions_name() -> None:
    kept = KeptConstant("step/Const", kind_of(8), 8 * MIB, 8 * MIB, "", 2)
    model = LiveModel((), (), constants=(kept,))
    assert counted(dump((8, 3)), model=model) == {("step", "constant"): 16, (None, "unattributed"): 8}


def test_rows_with_a_name_and_small_ones_stay() -> None:
    rows = [Allocation("Conv2D", 8 * MIB), Allocation(None, 256, count=9)]
    blocks = Attribution(AllocationTable.of(rows), [NOBODY, NOBODY])
    assert with_counted(blocks, Capture(Source("-"), living=(held(8, ("history", 1)),)), FAILURE) is None


def test_tensors_of_a_step_go_by_the_list_that_holds_most_of_their_type() -> None:
    rows = [
        Allocation("EagerTensor", 8 * MIB, shape=(8, FLOATS), dtype="float32"),
        Allocation("EagerTensor", 4 * MIB, shape=(4, FLOATS), dtype="float32"),
        Allocation("Relu", 8 * MIB, shape=(8, FLOATS), dtype="float32"),
    ]
    step = Attribution(AllocationTable.of(rows), [NOBODY] * 3)
    living = (held(8, ("history", 3), (None, 2)), held(4, ("history", 2), ("other", 1), (None, 1)))
    named = with_holders(step, living)
    assert [owner.layer for owner in named.owners] == ["history", None, None]
    assert with_holders(step, ()) is step


def test_a_models_input_layer_tells_the_batch_where_no_call_did() -> None:
    given = FailedRequest(shape=(8, 7), device="/device:CPU:0")
    model = LiveModel((), (("image", "InputLayer"), ("conv", "Conv2D")), (), (("image", (None, FLOATS)),))
    failure = Incident(given)
    assert counted(dump((8, 2)), model=model, failure=failure) == {
        (None, "input"): 8,
        (None, "unattributed"): 8,
    }
    ahead = replace(model, ahead=True)
    assert counted(dump((8, 2)), model=ahead, failure=failure) == {(None, "input"): 16}
    told = replace(model, inputs=(kind_of(3),))
    assert counted(dump((8, 2)), model=told, failure=failure) == {}
    for other in ((("image", "Dense"),), (("conv", "Conv2D"),)):
        assert counted(dump((8, 2)), model=replace(model, layers=other), failure=failure) == {}
    closed = replace(model, outputs=(("image", (None, None, FLOATS)),))
    assert counted(dump((8, 2)), model=closed, failure=failure) == {}


def test_rows_of_larger_tensors_have_those_whole() -> None:
    """Forty rows of 1 MiB that a list keeps are of five tensors of eight; four of these blocks are enough."""
    rows = held(1, ("features", 40))
    assert counted(dump((8, 5), (3, 2)), rows) == {
        ("features", "held-by-python"): 40,
        (None, "unattributed"): 6,
    }
    assert counted(dump((8, 4)), rows) == {("features", "held-by-python"): 32}


def test_near_miss_too_few_blocks_or_rows_are_no_rows_of_larger_tensors() -> None:
    assert ("features", "held-by-python") not in counted(dump((8, 3), (3, 9)), held(1, ("features", 40)))
    assert ("features", "held-by-python") not in counted(dump((8, 1)), held(1, ("features", 8)))


def test_what_has_blocks_of_its_own_size_takes_no_larger_ones() -> None:
    assert counted(dump((1, 40), (8, 5)), held(1, ("features", 40))) == {
        ("features", "held-by-python"): 40,
        (None, "unattributed"): 40,
    }


def test_whole_batches_are_what_prefetch_keeps_where_it_has_room() -> None:
    def code(room: int) -> Surroundings:
        lines = (f"READY = {room}", "ds = ds.batch(2).prefetch(READY)")
        return Surroundings(code=tuple(Line(number, text) for number, text in enumerate(lines, 1)))

    net = LiveModel(
        ("net",),
        (("photo", "InputLayer"), ("flat", "Flatten")),
        outputs=(("photo", (None, FLOATS)), ("flat", (None, FLOATS))),
    )
    waiting = dump((2, 40), (3, 5))
    assert counted(waiting, model=net, told=code(100)) == {
        ("prefetch(READY)", "input"): 80,
        (None, "unattributed"): 15,
    }
    assert not counted(waiting, model=net, told=code(20))
    assert not counted(waiting, model=net)
    assert not counted(waiting, model=replace(net, outputs=net.outputs[1:]), told=code(100))
    assert not counted(dump((2, 12), (3, 5)), model=net, told=code(100))
    step = replace(net, outputs=(), inputs=(kind_of(2),))
    assert counted(waiting, model=step, told=code(100))["prefetch(READY)", "input"] == 78


def test_a_few_whole_batches_wait_where_a_dump_says_that_just_so_much_was_asked_for() -> None:
    """In blocks of whatever size, and of the batch that failed; `AUTOTUNE` has room for any number."""
    model = LiveModel((), (), inputs=(kind_of(2),), batch=2, failed_batch=8, ahead=True)
    blocks, failure = dump((8, 1), (11, 1), (13, 1), (14, 1)), asked_for((8, 8), (11, 8), (13, 8), (14, 8))
    for room in ("4", "tf.data.AUTOTUNE"):
        told = Surroundings(code=(Line(1, f"ds = ds.batch(n).prefetch({room})"),))
        assert counted(blocks, model=model, failure=failure, told=told) == {
            (None, "input"): 19, (f"prefetch({room})", "input"): 27,
        }  # fmt: skip
        assert not counted(dump((11, 3)), model=model, told=told)


def test_a_sample_is_an_element_of_what_the_code_shuffles_where_a_dump_says_what_was_asked_for() -> None:
    model = LiveModel((), (), inputs=(TensorType((64, 2, FLOATS), "float32"),), ahead=True)
    told = Surroundings(code=(Line(1, "ds = ds.shuffle(32).batch(64)"),))
    blocks, asked = [(2, 10), (3, 8)], [(2, 2)] * 10 + [(3, 2)] * 8
    failure = asked_for(*asked)
    assert counted(dump(*blocks), model=model, failure=failure, told=told) == {("shuffle(32)", "input"): 44}
    assert counted(dump((2, 18)), model=model, told=told) == {}


def test_a_tensor_of_a_call_goes_by_its_line_and_not_by_a_weight_as_wide() -> None:
    made = Holder(None, OF_A_CALL, 1, 8 * MIB, "train.py", 20, call="encode")
    living = HeldTensors(kind_of(8), 1, 8 * MIB, (made,))
    model = LiveModel((), (), (weights("wide", 2),))
    assert counted(dump((8, 1)), living, model=model) == {("encode (train.py:20)", "activation"): 8}
    top = replace(living, holders=(replace(made, call=None),))
    assert counted(dump((8, 1)), top, model=model) == {("train.py:20", "activation"): 8}
    of_data = replace(living, holders=(replace(made, kind=OF_A_DATA_SET),))
    assert counted(dump((8, 1)), of_data) == {("encode (train.py:20)", "input"): 8}


@pytest.mark.parametrize(
    ("node", "block", "layer"),
    [
        ("Cast_1", 10, "update_state (own.py:8)"),
        ("veil/Cast", 10, "veil"),
        ("gradient_tape/net/veil/Cast", 10, "veil"),  # in the model's scope
        ("net/veil/Mul", 10, None),
        ("Cast_1", 40, None),  # as wide as the result
        ("Cast_1", 11, None),
    ],
)
def test_what_a_failed_cast_reads_is_there(node: str, block: int, layer: str | None) -> None:
    shape = (10, MIB)
    failure = Incident(
        FailedRequest(
            node=node, shape=shape, dtype="float32", source="/home/net/own.py:8", device="/device:CPU:0"
        )
    )
    places = (OpPlace("update_state", "own.py", 8, ("Greater",)),)
    net = LiveModel(("net",), (("veil", "Dense"),), places=places)
    found = counted(dump((block, 1), (3, 1)), model=net, failure=failure)
    assert found == ({(layer, "activation"): 10, (None, "unattributed"): 3} if layer else {})


def test_what_the_run_that_failed_was_given_goes_by_its_placeholder() -> None:
    """In a block of its size, else in a larger one; what a traced step was given before is gone."""
    fed = (("signal", kind_of(8)), ("net/Placeholder_1", kind_of(3)))
    model = LiveModel((), (), inputs=(kind_of(4),), fed=fed, places=(OpPlace("", "net.py", 7, ("x",)),))
    assert counted(dump((8, 2), (5, 1), (4, 1)), model=model) == {
        ("signal", "input"): 8,
        ("net/Placeholder_1", "input"): 4,
        (None, "unattributed"): 13,
    }
    unnamed = replace(model, fed=(("Placeholder", kind_of(8)),))
    assert counted(dump((8, 1)), model=unnamed) == {("Placeholder", "input"): 8}
    told = replace(unnamed, places=(OpPlace("build", "net.py", 7, ("Placeholder",)),))
    assert counted(dump((8, 1)), model=told) == {("build (net.py:7)", "input"): 8}


def turns(mebibytes: int, count: int, name: str = "while/mul", kind: Kind = Kind.LOOP_STACK) -> list[Claim]:
    return [Claim(name, replace(NOBODY, layer="cell", kind=kind), kind_of(mebibytes))] * count


def more_of(blocks: Attribution, *claims: Claim) -> dict[tuple[str | None, int], int]:
    """How many blocks of so many MiB each owner has."""
    found = with_counted(blocks, Capture(Source("-")), FAILURE, claims)
    assert found is not None and found.table.total_bytes == blocks.table.total_bytes
    sums: dict[tuple[str | None, int], int] = {}
    for row, owner in zip(found.table, found.owners, strict=True):
        key = owner.layer, row.size_bytes // MIB
        sums[key] = sums.get(key, 0) + row.count
    return sums


def test_a_loop_of_more_turns_has_as_many_blocks_more() -> None:
    """Of a type whose blocks are partly larger as many as of the other."""
    claims = [*turns(8, 20), *turns(4, 20)]
    assert more_of(dump((8, 50), (5, 20), (4, 30), (3, 9)), *claims) == {
        ("cell", 8): 50,
        ("cell", 5): 20,
        ("cell", 4): 30,
        (None, 3): 9,
    }


def test_near_miss_few_turns_or_what_no_loop_keeps_are_no_more_than_counted() -> None:
    assert more_of(dump((8, 50)), *turns(8, 12)) == {("cell", 8): 12, (None, 8): 38}
    assert more_of(dump((8, 50)), *turns(8, 20, kind=Kind.ACTIVATION)) == {("cell", 8): 20, (None, 8): 30}
    assert more_of(dump((8, 19)), *turns(8, 20)) == {("cell", 8): 19}
