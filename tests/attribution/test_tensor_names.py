"""Which tensor is behind a printed size: figures worked by hand from a shape, and the nearest misses."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.attribution.moments.tensors import name_tensors
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Naming
from tfmemlens.model.incident import FailedRequest
from tfmemlens.units import MIB
from tfmemlens.values import replace

LAYER = Owner("net/conv", Kind.ACTIVATION, Phase.FORWARD)
OTHER = replace(LAYER, layer="net/other")
IMAGE = Hints(input_shape=(4, 64, 48, 3))
MAP = FailedRequest(shape=(8, 32, 32, 64), dtype="float32")
"""2 MiB: its grid may have come from up to 256 x 256, and be halved to 2 x 2."""
Shape = tuple[int, ...]


def namings(
    *rows: Allocation | int,
    request: FailedRequest | None = None,
    hints: Hints | None = None,
    asking: Owner = LAYER,
    owners: tuple[Owner, ...] = (),
) -> list[Naming | None]:
    """What each row may be; a number is a row of so many bytes."""
    table = [Allocation("net/conv/Conv2D", row) if isinstance(row, int) else row for row in rows]
    attribution = Attribution(AllocationTable.of(table), owners or (LAYER,) * len(table))
    return list(name_tensors(attribution, request or FailedRequest(), asking, hints or Hints()))


def shapes(naming: Naming | None) -> list[Shape]:
    assert naming is not None
    return [candidate.tensor.shape or () for candidate in naming.candidates]


def of_map(size: int, **changed: Any) -> list[Shape]:
    (found,) = namings(size, request=replace(MAP, **changed))
    return shapes(found) if found else []


class TestFromTheInput:
    def test_the_input_itself(self) -> None:
        (found,) = namings(4 * 64 * 48 * 3 * 4, hints=IMAGE)
        assert shapes(found) == [(4, 64, 48, 3)]
        assert found is not None and found.reason == "--input-shape"
        assert found.best.tensor.dtype == "float32"

    def test_channels_double_where_the_image_is_halved(self) -> None:
        """Most have 32 channels: nets of 32 have 64 at half the sides, 128 at a quarter."""
        sizes = [4 * 64 * 48 * channels * 4 for channels in (32, 32, 32, 64, 3)]
        found = namings(*sizes, 4 * 32 * 24 * 64 * 4, 4 * 16 * 12 * 128 * 4, hints=IMAGE)
        assert shapes(found[0]) == [(4, 64, 48, 32), (4, 32, 24, 128)]
        assert shapes(found[5])[0] == (4, 32, 24, 64)
        assert shapes(found[6])[0] == (4, 16, 12, 128)
        assert shapes(found[4]) == [(4, 64, 48, 3), (4, 8, 6, 192)]  # the input, rather than 48 at a quarter

    def test_eight_channels_are_the_least_that_a_net_doubles(self) -> None:
        found = namings(*[4 * 64 * 48 * 8 * 4] * 3, 4 * 32 * 24 * 16 * 4, hints=IMAGE)
        assert shapes(found[3])[0] == (4, 32, 24, 16)

    def test_sides_are_halved_upwards(self) -> None:
        hints = Hints(input_shape=(256, 33, 17, 3))
        sizes = [256 * 33 * 17 * 64 * 4, 256 * 17 * 9 * 128 * 4, 256 * 9 * 5 * 256 * 4]
        found = namings(*sizes, hints=hints)
        assert [shapes(each)[0] for each in found] == [
            (256, 33, 17, 64), (256, 17, 9, 128), (256, 9, 5, 256),
        ]  # fmt: skip

    def test_an_image_is_halved_while_two_pixels_are_left(self) -> None:
        hints = Hints(input_shape=(256, 8, 8, 3))
        assert shapes(namings(256 * 2 * 2 * 512 * 4, hints=hints)[0]) == [(256, 8, 8, 32), (256, 4, 4, 128)]
        # 80 channels of 2 x 2 are 20 of 4 x 4 and 5 of 8 x 8; those of one pixel are nothing
        assert shapes(namings(256 * 2 * 2 * 80 * 4, hints=hints)[0]) == [(256, 2, 2, 80)]
        assert namings(256 * 1 * 1 * 80 * 4, hints=hints) == [None]
        assert namings(2048 * 2 * 2 * 80 * 4, hints=Hints(input_shape=(2048, 3, 3, 7))) == [None]

    def test_an_image_is_halved_five_times_at_most(self) -> None:
        hints = Hints(input_shape=(16, 512, 512, 3))
        assert shapes(namings(16 * 16 * 16 * 80 * 4, hints=hints)[0]) == [(16, 16, 16, 80)]
        assert namings(16 * 8 * 8 * 80 * 4, hints=hints) == [None]

    def test_a_sequence_stays_as_long_as_it_is(self) -> None:
        assert namings(246_528, hints=Hints(input_shape=(16, 100, 77))) == [None]  # 16 x 50 x 77 floats

    @pytest.mark.parametrize(
        "hints, shape",
        [
            (Hints(input_shape=(None, 64, 48, 3), batch=4), (4, 64, 48, 3)),
            (Hints(input_shape=(None, 128, 96, 3)), (1, 128, 96, 3)),
            (Hints(input_shape=(4, 64, 48, 3), batch=9), (4, 64, 48, 3)),
            (Hints(input_shape=(128, 300)), (128, 300)),
            (Hints(input_shape=(16, 100, 77)), (16, 100, 77)),
        ],
    )
    def test_open_sides_are_the_batch(self, hints: Hints, shape: Shape) -> None:
        size = 4
        for side in shape:
            size *= side
        assert shapes(namings(-(-size // 256) * 256, hints=hints)[0])[0] == shape

    def test_one_side_is_no_input(self) -> None:
        assert namings(MIB, hints=Hints(input_shape=(64,))) == [None]

    def test_the_type_is_that_of_the_failing_tensor_where_it_is_a_float(self) -> None:
        half = FailedRequest(shape=(2,), dtype="float16")
        (found,) = namings(4 * 64 * 48 * 3 * 2, hints=IMAGE, request=half)
        assert found is not None and (found.best.tensor.shape, found.best.tensor.dtype) == (
            (4, 64, 48, 3), "float16",
        )  # fmt: skip
        whole = replace(half, dtype="int16")
        assert shapes(namings(4 * 64 * 48 * 3 * 4, hints=IMAGE, request=whole)[0]) == [(4, 64, 48, 3)]


class TestFigures:
    def test_small_rows_tell_nothing(self) -> None:
        """1 x 64 x 64 x 4 floats are 64 KiB; 1 x 60 x 68 x 4 are one chunk less."""
        assert namings(65_536, hints=Hints(input_shape=(1, 64, 64, 4))) != [None]
        assert namings(65_280, hints=Hints(input_shape=(1, 60, 68, 4))) == [None]

    def test_a_chunk_is_rounded_up_to_256(self) -> None:
        hints = Hints(input_shape=(1, 129, 129, 1))
        (found,) = namings(66_816, hints=hints)
        assert found is not None
        assert (found.best.tensor.shape, found.best.slack_bytes) == ((1, 129, 129, 1), 66_816 - 66_564)
        assert namings(66_564, hints=hints) == [None]

    @pytest.mark.parametrize("error, slack", [(183, None), (184, 436), (435, 436), (436, 0)])
    def test_a_printed_figure_may_be_off_by_its_error(self, error: int, slack: int | None) -> None:
        row = Allocation("net/conv/Conv2D", 67_000, error_bytes=error)
        (found,) = namings(row, hints=Hints(input_shape=(1, 129, 129, 1)))
        assert (found.best.slack_bytes if found else None) == slack

    def test_a_row_without_a_name_or_an_anchor_is_nobodys(self) -> None:
        assert namings(Allocation(None, 4 * 64 * 48 * 3 * 4), hints=IMAGE) == [None]
        assert namings(4 * 64 * 48 * 3 * 4) == [None]

    def test_a_stated_shape_counts(self) -> None:
        row = Allocation("a", 4096, shape=(1000,), dtype="float32")
        (found,) = namings(row, hints=IMAGE)
        assert found is not None and found.reason == "the input states it"
        assert (shapes(found), found.best.slack_bytes) == ([(1000,)], 96)
        assert namings(replace(row, shape=(None, 10)), hints=IMAGE) == [None]
        (empty,) = namings(replace(row, shape=(0,)), hints=IMAGE)
        assert empty is not None and empty.best.slack_bytes == 4096


class TestFromTheFailingTensor:
    def test_its_own_size(self) -> None:
        assert of_map(2 * MIB)[0] == (8, 32, 32, 64)
        (found,) = namings(2 * MIB, request=MAP)
        assert found is not None and found.reason == "the failing tensor"

    def test_smaller_and_larger_maps_around_it(self) -> None:
        assert of_map(MIB) == [(8, 16, 16, 128), (8, 32, 32, 32)]
        assert of_map(4 * MIB) == [(8, 64, 64, 32), (8, 32, 32, 128)]
        assert of_map(16 * MIB) == [(8, 256, 256, 8), (8, 128, 128, 32)]

    def test_it_is_doubled_three_times_at_most(self) -> None:
        """Of 2048 channels there are no tensors beyond."""
        assert of_map(8 * 256 * 256 * 2048 * 4) == [(8, 256, 256, 2048)]
        assert of_map(8 * 512 * 512 * 1024 * 4) == []

    def test_its_channels_count_beside_those_of_the_input(self) -> None:
        """16 channels at half of its sides, rather than 64 at the fifth halving of the input."""
        found = namings(
            8 * 16 * 16 * 16 * 4, request=replace(MAP, shape=(8, 32, 32, 8)), hints=Hints((8, 256, 256, 3))
        )[0]
        assert found is not None and found.reason == "the failing tensor"
        assert shapes(found)[0] == (8, 16, 16, 16)

    @pytest.mark.parametrize(
        "changed, shape",
        [
            ({"shape": (8, 64, 32, 32)}, (8, 32, 32, 64)),
            ({"shape": (8, 28, 40, 40)}, (8, 28, 40, 40)),  # 28 rows are as likely as 28 channels
            ({"shape": (8, 28, 40, 40), "attributes": (("data_format", '"NCHW"'),)}, (8, 40, 40, 28)),
            ({"shape": (8, 40, 24, 40)}, (8, 40, 24, 40)),
            ({"shape": (8, 40, 40, 40)}, (8, 40, 40, 40)),
            ({"shape": (8, 8, 40, 40, 40)}, (8, 8, 40, 40, 40)),
            ({"shape": (8, 300, 40)}, (8, 300, 40)),
            ({"shape": (80, 300)}, (80, 300)),
        ],
    )
    def test_channels_may_stand_first(self, changed: dict[str, Any], shape: Shape) -> None:
        size = 4
        for side in shape:
            size *= side
        assert of_map(-(-size // 256) * 256, **changed)[0] == shape

    @pytest.mark.parametrize(
        "changed",
        [
            {"shape": (8,)},
            {"shape": (2, 2, 2, 8, 32, 64)},
            {"shape": (8, 0, 32, 64)},
            {"shape": (8, None, 32, 64)},
            {"shape": None},
            {"dtype": "int32"},
        ],
    )
    def test_what_tells_nothing_of_activations(self, changed: dict[str, Any]) -> None:
        assert of_map(2 * MIB, **changed) == []

    def test_without_a_type_it_is_float(self) -> None:
        assert of_map(2 * MIB, dtype=None)[0] == (8, 32, 32, 64)

    @pytest.mark.parametrize(
        "asking",
        [
            replace(LAYER, kind=Kind.WORKSPACE),
            replace(LAYER, kind=Kind.PARAMETER),
            replace(LAYER, kind=Kind.OPTIMIZER_SLOT),
            replace(LAYER, phase=Phase.OPTIMIZER),
        ],
    )
    def test_weights_and_buffers_tell_nothing_of_activations(self, asking: Owner) -> None:
        assert namings(2 * MIB, request=MAP, asking=asking) == [None]

    def test_gradients_do(self) -> None:
        asking = replace(LAYER, kind=Kind.GRADIENT, phase=Phase.GRADIENT)
        assert namings(2 * MIB, request=MAP, asking=asking) != [None]

    @pytest.mark.parametrize("width, named", [(77, True), (4096, True), (5001, True)])
    def test_rows_of_a_matrix_have_any_width(self, width: int, named: bool) -> None:
        (found,) = namings(512 * width * 4, request=FailedRequest(shape=(512, 1000), dtype="float32"))
        assert (shapes(found) == [(512, width)]) is named

    @pytest.mark.parametrize(
        "channels, usual",
        [(2, True), (4, True), (5, False), (8, True), (12, False), (16, True), (24, False), (48, True),
         (2048, True), (2064, False)],
    )  # fmt: skip
    def test_channels_are_those_that_people_choose(self, channels: int, usual: bool) -> None:
        """At 3 x 3 pixels nothing is halved or doubled to another usual number."""
        hints = Hints(input_shape=(2048, 3, 3, 7))
        (found,) = namings(2048 * 9 * channels * 4, hints=hints)
        assert (found is not None) is usual


class TestFromTheBatch:
    def test_the_batch_parts_what_the_failing_tensor_tells(self) -> None:
        same, other = (namings(2 * MIB, request=MAP, hints=Hints(batch=batch))[0] for batch in (8, 4))
        assert same is not None and same.reason == "the failing tensor"
        assert other is not None and other.reason == "--batch and usual image sizes"

    def test_usual_images(self) -> None:
        (found,) = namings(10 * 321 * 481 * 64 * 4, hints=Hints(batch=10))
        assert shapes(found) == [(10, 321, 481, 64)]

    @pytest.mark.parametrize(
        "grid",
        [(720, 1280), (1080, 1920), (480, 640), (360, 640), (240, 320), (321, 481), (600, 800), (768, 1024),
         (1024, 2048), (512, 1024)],
    )  # fmt: skip
    def test_every_usual_image(self, grid: tuple[int, int]) -> None:
        (found,) = namings(4 * grid[0] * grid[1] * 64 * 4, hints=Hints(batch=4))
        assert shapes(found)[0] == (4, *grid, 64)
        assert found is not None and found.best.slack_bytes == 0

    @pytest.mark.parametrize("channels", [64, 32, 128, 256, 512, 16, 3])
    def test_usual_channels(self, channels: int) -> None:
        (found,) = namings(64 * 1 * 101 * 101 * channels * 4, hints=Hints(batch=64))
        assert (64, 101, 101, channels) in shapes(found)

    def test_three_of_many_are_enough(self) -> None:
        (found,) = namings(4 * 1024 * 2048 * 64 * 4, hints=Hints(batch=4))
        assert shapes(found) == [(4, 1024, 2048, 64), (4, 2048, 2048, 32), (4, 1024, 1024, 128)]

    def test_squares_of_usual_channels_three_at_most(self) -> None:
        hints = Hints(batch=2)
        (found,) = namings(2 * 100 * 100 * 64 * 4, hints=hints)
        assert shapes(found) == [(2, 100, 100, 64), (2, 50, 50, 256), (2, 200, 200, 16)]
        (more,) = namings(2 * 64 * 64 * 64 * 4, hints=hints)
        assert shapes(more) == [(2, 64, 64, 64), (2, 32, 32, 256), (2, 128, 128, 16)]

    @pytest.mark.parametrize("more, error, named", [(255, 0, True), (256, 0, False), (256, 256, True)])
    def test_a_chunk_exceeds_its_tensor_by_less_than_its_alignment(
        self, more: int, error: int, named: bool
    ) -> None:
        row = Allocation("a", 2 * 100 * 100 * 64 * 4 + more, error_bytes=error)
        (found,) = namings(row, hints=Hints(batch=2))
        assert (found is not None and (2, 100, 100, 64) in shapes(found)) is named

    def test_nothing_usual_is_nothing(self) -> None:
        assert namings(2 * 10_007 * 64 * 4, hints=Hints(batch=2)) == [None]


class TestChunksLargerThanTheirTensor:
    B = 8 * 32 * 32 * 64 * 4

    def test_the_layers_own_tensor(self) -> None:
        found = namings(self.B, self.B + 256, request=MAP)[1]
        assert found is not None and found.reason == "a chunk larger than the layer's own tensor"
        assert (shapes(found), found.best.slack_bytes) == ([(8, 32, 32, 64)], 256)

    def test_another_layers_as_far_as_a_tenth(self) -> None:
        """2 MiB are 0.9 of 2,330,169 bytes."""
        owners = (LAYER, OTHER)
        near, far = (namings(self.B, size, request=MAP, owners=owners)[1] for size in (2_330_112, 2_330_368))
        assert near is not None and near.reason == "the nearest tensor below the chunk's size"
        assert (shapes(near), near.best.slack_bytes) == ([(8, 32, 32, 64)], 232_960)
        assert far is None
        assert namings(self.B, 2_330_368, request=MAP)[1] is not None  # its own layer's may be larger

    def test_the_nearest_of_several(self) -> None:
        owners = (LAYER, LAYER, OTHER)
        found = namings(
            self.B, self.B + 32_768 * 2 * 8, self.B + 32_768 * 16 + 256, request=MAP, owners=owners
        )
        assert shapes(found[1])[0] == (8, 32, 32, 80)
        assert found[2] is not None and shapes(found[2]) == [(8, 32, 32, 80)]

    def test_a_chunk_twice_as_large_would_have_been_split(self) -> None:
        """2048 channels are the most: twice as many at full resolution are no tensor's."""
        hints = Hints(input_shape=(1, 32, 32, 3))
        whole = 32 * 32 * 2048 * 4
        assert namings(whole, 2 * whole - 256, hints=hints)[1] is not None
        assert namings(whole, 2 * whole, hints=hints)[1] is None
        assert namings(whole, Allocation("a", 2 * whole - 256, error_bytes=256), hints=hints)[1] is None
        assert namings(whole, whole - 256, hints=hints)[1] is None
        assert namings(whole, Allocation("a", whole - 256, error_bytes=255), hints=hints)[1] is None
        assert namings(whole, Allocation("a", whole - 256, error_bytes=256), hints=hints)[1] is not None

    def test_a_chunk_of_128_mib_more_would_have_been_split(self) -> None:
        hints = Hints(input_shape=(256, 16, 16, 3))
        whole = 256 * 16 * 16 * 2048 * 4
        assert whole == 512 * MIB
        assert namings(whole, whole + 128 * MIB - 256, hints=hints)[1] is not None
        assert namings(whole, whole + 128 * MIB, hints=hints)[1] is None

    def test_the_copy_of_an_input_is_not_the_layers_own(self) -> None:
        copies = replace(LAYER, copy_of="input")
        size = 2_330_368
        assert namings(self.B, size, request=MAP, owners=(copies, LAYER))[1] is None
        outputs = replace(LAYER, copy_of="output")
        assert namings(self.B, size, request=MAP, owners=(outputs, LAYER))[1] is not None
        nobodys = (NOBODY, NOBODY)
        assert namings(self.B, size, request=MAP, owners=nobodys)[1] is None
