"""Advice against the card: weights that no batch makes fit, batches of a prediction, a limit in pieces."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, MIB, oom
from tests.findings.test_what_is_no_batch import explained, slugs

TUNED = "model = TFGPT2LMHeadModel.from_pretrained('gpt2-xl')   # {weights} params\nmodel.fit(x)\n"
SLOT = oom("1600,6400", "Adam/Adam/update/mul")


@pytest.mark.parametrize(
    ("card", "weights", "severity"),
    [("3090", "1.56B", "cause"), ("A6000", "1.56B", "factor"), ("3090", "0.12B", None)],
)
def test_weights_with_gradient_and_slots_are_set_against_the_card(
    card: str, weights: str, severity: str | None
) -> None:
    report = explained(f"on an RTX {card}\n{TUNED.format(weights=weights)}{SLOT}")
    told = [each.severity.value for each in report.findings if each.rule == "weights-beyond-device"]
    assert told == ([severity] if severity else [])
    assert (report.actions[0].remedy.slug == "freeze-weights") is (severity == "cause")


@pytest.mark.parametrize("said", ["we use LoRA (rank = 8)", "opt = tf.keras.optimizers.SGD(0.1)"])
def test_who_trains_a_part_or_keeps_less_is_told_nothing_of_it(said: str) -> None:
    text = f"on an RTX 3090\nx = 1  # {said}\n{said}\n{TUNED.format(weights='1.56B')}{SLOT}"
    assert "weights-beyond-device" not in [finding.rule for finding in explained(text).findings]


def test_a_table_of_a_model_of_ones_own_stays_the_cause() -> None:
    text = f"Total params: 1,203,281,153\non a T4\n{oom('9000000,128', 'Adam/Adam/update/mul_2')}"
    assert "9,000,000" in explained(text).verdict and "freeze-weights" not in slugs(text)


PREDICTION = "masks = unet.predict(x_test, batch_size={batch})\n{oom} [Op:__inference_predict_function_28]\n"


@pytest.mark.parametrize(
    ("shape", "card", "begin"),
    [
        ("300,32,1024,1024", "", 16),  # 128 MiB each: 2 GiB
        ("300,32,1024,1024", "on an RTX 3090", 16),  # an eighth of 24 GiB: 24
        ("300,32,1024,1024", "on a GTX 1070", 8),
        ("300,32,64,64", "on a GTX 1070", 75),  # a quarter of the batch
        ("2500,64,112,112", "", 100),  # as the rule of whole sets says
    ],
)
def test_a_batch_of_a_prediction_fits_the_card(shape: str, card: str, begin: int) -> None:
    batch = shape.partition(",")[0]
    text = f"{card}\n{PREDICTION.format(batch=batch, oom=oom(shape, 'unet/enc1/Conv2D').rstrip())}"
    found = [action.remedy.code for action in explained(text).actions if action.remedy.code]
    assert any(f"model.predict(x, batch_size={begin})" in each for each in found)


def test_a_prediction_of_many_goes_in_smaller_batches_before_smaller_images() -> None:
    shape = "x_test.shape: (300, 1024, 1024, 3)\n"
    text = shape + PREDICTION.format(batch=300, oom=oom("300,32,1024,1024", "unet/enc1/Conv2D").rstrip())
    assert "smaller-input" not in slugs(text)
    assert "smaller-input" in slugs(shape + "model.fit(x)\n" + oom("16,32,1024,1024", "unet/enc1/Conv2D"))


def test_the_length_of_the_text_is_lowered_in_its_own_spelling() -> None:
    text = "enc = tokenizer(texts, max_length={})\nmodel.fit(enc)\n" + oom(
        "32,12,512,512", "bert/attention/self/Softmax"
    )
    told, other = explained(text.format(512)).actions[0].remedy, explained(text.format(256)).actions
    assert "lower `max_length` (line 1: 512 -> 256): this matrix" in told.text
    assert "lower `max_length`" not in " ".join(action.remedy.text for action in other)


def full(pool: int, limit: int, wanted: int = 1024, in_use: int = 11000) -> str:
    rows = {"Limit": limit * MIB, "InUse": in_use * MIB, "MaxInUse": limit * MIB, "NumAllocs": 99}
    figures = "".join(f"{name + ':':<16}{value:>22}\n" for name, value in rows.items())
    return (
        f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {wanted}.00MiB (rounded to"
        f" {wanted * MIB})requested by op net/MatMul\nCurrent allocation summary follows.\n"
        f"total_region_allocated_bytes_: {pool * MIB} memory_limit_: {limit * MIB} available bytes:"
        f" {(limit - pool) * MIB} curr_region_allocation_bytes_: {2 * limit * MIB}\nStats: \n{figures}"
        f"MaxAllocSize: {GPU and MIB}\n"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (full(15000, 15000), True),  # 4000 MiB were free in the pool, and 1024 refused
        (full(13000, 15000), False),  # the pool might have grown
        (full(15000, 15000, wanted=5000), False),  # more than was free
    ],
)
def test_the_refusal_itself_shows_that_the_pieces_were_too_small(text: str, found: bool) -> None:
    assert ("not in one block of 1.00 GiB" in explained(text).verdict) is found
