"""Which of several lists of a loop holds the blocks of a dump, by the shapes that the code makes."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.pages import explained
from tests.findings.test_retraced_code import program
from tfmemlens.findings.support.kept_blocks import _batch
from tfmemlens.knowledge.keras_program.appended import appended
from tfmemlens.model.finding import Finding
from tfmemlens.model.tensor import TensorType

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
CODE = """
seen = tf.keras.Input((96,), dtype="int32")
h = tf.keras.layers.Embedding(700, 160)(seen)
net = tf.keras.Model(seen, [tf.keras.layers.Dense(30)(h), h])
@tf.function
def advance(batch):
    maps, state = net(batch)
    return maps, state
all_maps, all_states = [], []
for step in range(500):
    maps, state = advance(next(batches))
    all_maps.append(maps)
    all_states.append(state)
    if step % 10 == 0:
        print("step", step)
mean = tf.reduce_mean(tf.stack(all_maps))
"""
STATES, SCORES = 32 * 96 * 160 * 4, 32 * 96 * 30 * 4
STEPS = "step 0\nstep 10\nstep 20\n"


def loop(code: str, *blocks: tuple[int, int]) -> Finding | None:
    text = (
        code
        + STEPS
        + dump_by_size(STATES, 100, *blocks, allocator=HOST)
        + oom("32,96,160", "AddV2", on=CPU, by=HOST)
    )
    return next((each for each in explained(text).findings if each.rule == "kept-by-a-loop"), None)


def test_what_a_loop_appends_has_the_shape_that_the_model_gives() -> None:
    found = appended(program(CODE))
    assert [(line.text.strip(), each.shape) for line, each in found.items()] == [
        ("all_maps.append(maps)", (None, 96, 30)),
        ("all_states.append(state)", (None, 96, 160)),
    ]


def test_the_larger_blocks_are_of_the_list_whose_shape_they_have() -> None:
    found = loop(CODE, (40, STATES), (39, SCORES))
    assert found and found.headline.startswith("`all_states` (line 13) keeps [32,96,160] float32 (1.88 MiB)")
    assert "40 blocks of that size are in use, and 39 of 360.0 KiB in `all_maps` (line 12)" in found.headline
    assert found.explains == 40 * STATES + 39 * SCORES
    assert found.remedies[1].text.startswith("of `all_maps` (line 12), too: ")


def test_blocks_of_other_sizes_name_every_list_of_the_loop() -> None:
    found = loop(CODE, (40, 3 * MIB), (39, MIB))
    assert found and "or `all_states` (line 13), which the loop fills, too" in found.headline


@pytest.mark.parametrize(
    ("sizes", "batch"),
    [
        ((STATES, SCORES), 32),
        ((STATES,), None),  # one shape alone fits by chance
        ((STATES, 2 * SCORES), None),  # of two batches
        ((MIB, 3 * MIB), None),
    ],
)
def test_one_batch_makes_two_of_the_sizes(sizes: tuple[int, ...], batch: int | None) -> None:
    kept = [TensorType((None, 96, 160), "float32"), TensorType((None, 96, 30), "float32")]
    assert _batch(kept, dict.fromkeys(sizes, 9)) == batch
