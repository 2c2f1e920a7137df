"""A failed step's blocks by a recorded step that ran: in which sizes, at which moment, and what proves it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders import ALLOCATOR, DEVICE, timeline
from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.attribution import attribute
from tfmemlens.attribution.moments.as_in_a_step import ResizedStep, claims_of_step, resized
from tfmemlens.attribution.moments.claims import Claim
from tfmemlens.attribution.moments.counted import with_counted
from tfmemlens.model.allocation import BEFORE, Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.incident import FailedRequest, Incident, RequestKind
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace


def made(node: str, shape: tuple[int, ...], start: float, end: float, purpose: str = "output") -> Allocation:
    size = 4
    for each in shape:
        size *= each
    return Allocation(
        node, size, None, DEVICE, ALLOCATOR, size, start_micros=start, end_micros=end, shape=shape,
        dtype="float32", purpose=purpose,
    )  # fmt: skip


STEP = timeline(
    made("enc/MatMul", (32, 512), 1, 9),
    made("enc/Relu", (32, 1024), 2, 4),
    made("dec/MatMul", (32, 2048), 5, 8),
    made("enc/late", (32, 640), 8.5, 9),
)
FAILED = Incident(FailedRequest(device=DEVICE))
REQUEST = FailedRequest(RequestKind.TENSOR, node="dec/MatMul", shape=(96, 2048), allocator=ALLOCATOR)


@pytest.mark.parametrize("failed_step", [True, False])
def test_a_record_of_the_step_that_failed_is_no_step_that_ran(failed_step: bool) -> None:
    """It names the blocks all the same."""
    read = pipeline.explain(oom("32,2048", "dec/MatMul")).case.capture
    live = LiveModel((), (), failed_step=failed_step)
    case = attribute(replace(read, timelines=(STEP,), live_model=live))
    assert [moment.timeline is None for moment in case.moments] == [True] + [False] * (not failed_step)
    assert bool(case.capture.timelines) is not failed_step


def told(request: FailedRequest = REQUEST, model: LiveModel | None = None) -> list[Claim]:
    return [*claims_of_step([STEP], request, model)]


def alive(claims: list[Claim]) -> Iterator[tuple[str, tuple[int | None, ...] | None]]:
    return ((claim.name, claim.tensor.shape) for claim in claims if not claim.exact)


def test_what_was_alive_when_the_same_op_asked_in_the_sizes_of_the_request() -> None:
    assert [*alive(told())] == [("enc/MatMul", (96, 512)), ("dec/MatMul", (96, 2048))]


def test_another_op_gives_the_peak_and_the_batch_is_what_the_program_says() -> None:
    model = LiveModel((), (), batch=32, failed_batch=64)
    other = replace(REQUEST, node="Mul", shape=(3, 4))
    assert [*alive(told(other, model))] == [("enc/MatMul", (64, 512)), ("dec/MatMul", (64, 2048))]


def test_what_the_step_makes_at_other_times_needs_a_block_of_just_its_size() -> None:
    assert {(claim.name, claim.tensor.shape) for claim in told() if claim.exact} == {
        ("enc/Relu", (96, 1024)),
        ("enc/late", (96, 640)),
    }


def test_a_type_that_two_layers_make_at_other_times_is_nobodys() -> None:
    step = timeline(
        made("dec/MatMul", (32, 2048), 1, 2), made("a/Relu", (32, 640), 3, 4), made("b/Relu", (32, 640), 4, 5)
    )
    assert [claim.name for claim in claims_of_step([step], REQUEST, None)] == ["dec/MatMul"]


def test_of_several_tensors_of_an_op_the_one_in_the_failed_shape_tells_the_moment() -> None:
    """The gradient of a pooling makes the indices, too, in half of the sides."""
    step = timeline(
        made("pool/MaxPoolGrad", (8, 64, 64, 16), 1, 9),
        made("enc/Relu", (8, 64, 64, 24), 0.5, 9),
        made("pool/MaxPoolGrad", (8, 32, 32, 16), 2, 3, "temp"),
    )
    for batch in (8, 16):
        request = replace(REQUEST, node="pool/MaxPoolGrad", shape=(batch, 64, 64, 16))
        claims = claims_of_step([step], request, LiveModel((), (), batch=8, failed_batch=batch))
        assert ("enc/Relu", (batch, 64, 64, 24)) in [*alive([*claims])]


def test_a_later_step_that_ends_with_the_failure_tells_no_other_sizes() -> None:
    """Its op had asked for its buffers alone."""
    step = timeline(
        made("enc/Relu", (8, 64, 64, 24), 1, 9), made("pool/MaxPoolGrad", (8, 32, 32, 16), 2, 3, "temp")
    )
    request = replace(REQUEST, node="pool/MaxPoolGrad", shape=(8, 64, 64, 16))
    model = LiveModel((), (), until_failure=True)
    claims = [*claims_of_step([step], request, model, step.curve[0])]
    assert claims[0].block_bytes == 8 * 64 * 64 * 24 * 4
    assert {claim.tensor.shape for claim in claims if claim.name == "enc/Relu"} == {(8, 64, 64, 24)}


@pytest.mark.parametrize("positions, side", [(280 * 280, 280), (280 * 281, 232)])
def test_a_matrix_of_patches_tells_the_sides_of_square_pictures(positions: int, side: int) -> None:
    step = timeline(
        made("enc/Relu", (8, 232, 232, 24), 1, 9), made("dec/Conv2DBackpropInput", (8, 232, 232, 16), 2, 4)
    )
    request = replace(REQUEST, node="dec/Conv2DBackpropInput", shape=(1, positions, 144))
    assert [*alive([*claims_of_step([step], request, None)])] == [
        ("enc/Relu", (8, side, side, 24)),
        ("dec/Conv2DBackpropInput", (8, side, side, 16)),
    ]


def test_a_step_that_is_itself_the_one_that_failed_has_the_blocks() -> None:
    """At the last moment at which so much was in use, whatever the peak was before."""
    asked = 32 * 512 * 4
    step = timeline(
        made("enc/random", (32, 1024), 1, 2),
        replace(made("enc/MatMul", (32, 512), 3, 9), size_bytes=asked + 4096),
        made("enc/Relu", (32, 512), 8, 9),
    )
    failed = LiveModel((), (), failed_step=True)
    first, *others = claims_of_step([step], REQUEST, failed, asked + 4096)
    assert (first.name, first.block_bytes, first.exact) == ("enc/MatMul", asked + 4096, True)
    assert not any(claim.block_bytes for claim in others)
    assert not any(claim.block_bytes for claim in claims_of_step([step], REQUEST, failed))
    ran = claims_of_step([step], REQUEST, LiveModel((), ()), asked + 4096)
    assert not any(claim.block_bytes for claim in ran)


def test_a_record_has_the_size_of_its_block_whatever_the_tensor_asked_for() -> None:
    dump = Attribution(AllocationTable.of([Allocation(None, size) for size in (4096, 5120)]), [NOBODY] * 2)
    claim = Claim("enc/MatMul", replace(NOBODY, layer="enc"), TensorType((1024,), "float32"), 1, True, 5120)
    found = with_counted(dump, Capture(Source("-")), FAILED, [claim])
    assert found is not None
    assert [owner.layer for owner in found.owners] == [None, "enc"]


def test_a_constant_that_grappler_folded_is_known_by_what_it_asks_for() -> None:
    folded = Allocation(
        "gradient_tape/hop/zeros_like",
        9216,
        "Const",
        DEVICE,
        ALLOCATOR,
        8192,
        start_micros=1,
        end_micros=None,
    )
    without_size = replace(folded, requested_bytes=None)
    (claim,) = claims_of_step([timeline(folded)], REQUEST, None)
    assert (claim.bytes, claim.owner.kind, claim.owner.layer) == (8192, Kind.CONSTANT, "hop")
    assert not [*claims_of_step([timeline(without_size)], REQUEST, None)]
    assert not [*claims_of_step([timeline(replace(folded, op="Relu"))], REQUEST, None)]


def test_what_a_predicted_forward_pass_keeps_may_have_been_there_before() -> None:
    step = timeline(
        made("dec/MatMul", (96, 2048), 1, 9), made("enc/MatMul", (96, 512), 2, 9),
        made("gradients/enc/MatMul_grad/MatMul", (96, 640), 3, 9),
    )  # fmt: skip
    assert [name for name, _ in alive([*claims_of_step([step], REQUEST, None)])] == ["dec/MatMul"]
    predicted = replace(step, predicted=True)
    assert [name for name, _ in alive([*claims_of_step([predicted], REQUEST, None)])] == [
        "dec/MatMul", "enc/MatMul",
    ]  # fmt: skip


def test_a_kernel_is_no_picture() -> None:
    step = timeline(
        made("dec/Relu", (8, 232, 232, 24), 1, 9), made("dec/Conv2DBackpropFilter", (3, 3, 3, 24), 2, 4)
    )
    request = replace(REQUEST, node="dec/Conv2DBackpropFilter", shape=(1, 280 * 280, 27))
    first = next(claims_of_step([step], request, None))
    assert (first.name, first.tensor.shape) == ("dec/Relu", (8, 280, 280, 24))


def test_another_allocators_step_and_what_stood_before_it_tell_nothing() -> None:
    assert not [*claims_of_step([STEP], replace(REQUEST, allocator="GPU_1_bfc"), None)]
    before = timeline(made("enc/MatMul", (32, 2048), 0, 9, BEFORE))
    assert not [*claims_of_step([before], REQUEST, None)]


def test_a_block_of_no_such_size_stays_nameless() -> None:
    blocks = [Allocation(None, 96 * 512 * 4), Allocation(None, 96 * 512 * 4 * 3)]
    dump = Attribution(AllocationTable.of(blocks), [NOBODY] * 2)
    found = with_counted(dump, Capture(Source("-")), FAILED, told())
    assert found is not None
    assert [owner.layer for owner in found.owners] == ["enc", None]


@pytest.mark.parametrize(
    "shape, sizes, expected",
    [
        ((32, 512), ResizedStep({32: 96}), (96, 512)),
        ((512, 32), ResizedStep({32: 96}), (512, 96)),
        ((32, 32), ResizedStep({32: 96}), (96, 32)),  # a batch, and as many channels
        ((640, 512), ResizedStep({32: 96}), (1920, 512)),  # 20 words a sentence, flat
        ((40, 512), ResizedStep({4: 12}), (40, 512)),  # many sizes are multiples of 4
        ((None, 7), ResizedStep({32: 96}), (None, 7)),
        ((4, 64, 64, 64), ResizedStep({}, {64: 96}), (4, 96, 96, 64)),  # a picture, and as many channels
        ((4, 32, 32, 128), ResizedStep({}, {64: 102}), (4, 51, 51, 128)),  # pooled once
        ((4, 16, 16, 64), ResizedStep({}, {64: 102}), (4, 26, 26, 64)),  # twice, as SAME rounds
        ((4, 8, 128, 128), ResizedStep({4: 6}, {128: 200}), (6, 8, 200, 200)),  # scores of all pairs of words
        ((64, 300), ResizedStep({}, {300: 500}), (64, 500)),
    ],
)
def test_sizes_of_the_step_that_failed(
    shape: tuple[int | None, ...], sizes: ResizedStep, expected: tuple[int | None, ...]
) -> None:
    assert resized(shape, sizes) == expected


@pytest.mark.parametrize(
    ("node", "claimed"),
    [("net/pool/MaxPool", False), ("gradient_tape/net/pool/MaxPool/MaxPoolGrad", True), ("MaxPool", False)],
)
def test_before_the_backward_pass_nothing_is_of_it(node: str, claimed: bool) -> None:
    later = made("gradient_tape/net/conv/Conv2D/Conv2DBackpropInput", (32, 640), 5, 6)
    step = timeline(made(node, (32, 2048), 1, 2), later)
    request = replace(REQUEST, node=node, shape=(32, 2048))
    found = [claim.name for claim in claims_of_step([step], request, None)]
    assert (later.node in found) is claimed


@pytest.mark.parametrize(
    ("shape", "new"),
    [
        ((24, 1, 393, 64), (24, 1, 42000, 64)),  # before a pool that halves, of an odd length
        ((24, 392, 64), (24, 42000, 64)),
        ((24, 1, 98, 64), (24, 1, 10500, 64)),
        ((24, 256, 64), (24, 256, 64)),  # no multiple
        ((24, 395, 64), (24, 395, 64)),
        ((24, 64, 392), (24, 64, 392)),  # channels
    ],
)
def test_what_a_pool_made_shorter_grows_with_it(shape: tuple[int, ...], new: tuple[int, ...]) -> None:
    assert resized(shape, ResizedStep(sides={196: 21000})) == new


def test_a_weights_gradient_has_the_weights_shape_whatever_the_batch() -> None:
    """A kernel with as many rows as the recorded step had samples is no batch."""
    step = timeline(
        made("gradients/enc/MatMul_grad/MatMul_1", (32, 512), 1, 9),
        made("gradients/enc/MatMul_grad/MatMul", (32, 512), 1, 9),
        made("dec/MatMul", (32, 2048), 2, 8),
    )
    kernel = LiveVariable("enc/kernel", "enc", Kind.PARAMETER, TensorType((32, 512), "float32"))
    model = LiveModel((), (), variables=(kernel,))
    found = dict(alive([*claims_of_step([step], REQUEST, model)]))
    assert found["gradients/enc/MatMul_grad/MatMul_1"] == (32, 512)
    assert found["gradients/enc/MatMul_grad/MatMul"] == (96, 512)


@pytest.mark.parametrize(
    "before, after, shape, found",
    [
        ((8, 256, 3), (8, 512, 3), (256, 256, 6), (512, 512, 6)),
        ((8, 256, 3), (8, 512, 3), (8, 256, 64), (8, 512, 64)),
        ((8, 256, 3), (8, 512, 3), (8, 256), (8, 256)),  # as wide as a weight
        ((8, 256, 3), (8, 512), (256, 256, 6), (256, 256, 6)),
        ((8, 12, 3), (8, 24, 3), (12, 12, 6), (12, 12, 6)),  # too small a number
        ((8, 256, 256), (8, 512, 300), (256, 256, 6), (256, 256, 6)),  # one of two
        ((96, 96, 3), (96, 128, 3), (96, 96, 6), (96, 96, 6)),  # the batch has it, too
    ],
)
def test_a_length_that_was_fed_stands_in_all_that_is_made_of_it(
    before: tuple[int, ...], after: tuple[int, ...], shape: tuple[int, ...], found: tuple[int, ...]
) -> None:
    step = timeline(made("map/concat", shape, 1, 9), made("dec/MatMul", (32, 2048), 2, 8))
    kernel = LiveVariable("enc/kernel", "enc", Kind.PARAMETER, TensorType((6, 256), "float32"))
    model = LiveModel(
        (), (), variables=(kernel,), inputs=(TensorType(before, "float32"),), batch=before[0],
        fed=(("clouds", TensorType(after, "float32")),),
    )  # fmt: skip
    request = replace(REQUEST, shape=(32, 2048))
    assert dict(alive([*claims_of_step([step], request, model)]))["map/concat"] == found
