"""What code and remarks in a text show: one tape around micro-batches, models that stay; near misses."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline

FAILED = oom("8,2304,3072", "vit/block/Gelu")


def verdict(text: str) -> str:
    return pipeline.explain(text).verdict


AROUND = """    with tf.GradientTape() as tape:
        total = 0.
        for i in range(ACC):
            p = model(xs[i], training=True)
            total += loss_fn(ys[i], p) / ACC
    grads = tape.gradient(total, weights)
"""
INSIDE = """    for i in range(ACC):
        with tf.GradientTape() as tape:
            p = model(xs[i], training=True)
            loss = loss_fn(ys[i], p) / ACC
        grads = tape.gradient(loss, weights)
"""
WITHIN = """    with tf.GradientTape(persistent=True) as tape:
        for x in micro_batches:
            loss = loss_fn(model(x))
            grads = tape.gradient(loss, weights)
"""
TAPES = {
    "the tape around the loop": (AROUND, True),
    "with other names": (AROUND.replace("range(ACC)", "range(accum_steps)").replace("tape", "t"), True),
    "the tape inside the loop": (INSIDE, False),
    "gradients inside the loop": (WITHIN, False),
    "a loop over the steps of a sequence": (AROUND.replace("range(ACC)", "range(time_steps)"), False),
    "a loop over what was computed": (AROUND.replace("model(xs[i], training=True)", "outputs[i]"), False),
}


@pytest.mark.parametrize(("code", "fires"), TAPES.values(), ids=list(TAPES))
def test_one_tape_around_all_micro_batches(code: str, fires: bool) -> None:
    assert ("one tape" in verdict(code + FAILED)) is fires


def test_who_keeps_all_micro_batches_is_not_told_to_accumulate() -> None:
    findings = pipeline.explain(AROUND + FAILED).findings
    texts = " ".join(remedy.text for each in findings for remedy in each.remedies)
    assert "tape inside the loop" in texts and "halve the batch" not in texts


MODELS = {
    "models that the program counts": ("models alive: 41  gpu current: 15.21 GB\n", True),
    "two of them, as a teacher and its student": ("models alive: 2\n", False),
    "it passes alone": ("`pytest -k tiny` alone: passes\n", True),
    "it passes in isolation": ("That test passes in isolation.\n", True),
    "it does not": ("That test never passes in isolation.\n", False),
    "a part of the model that fits": ("The encoder alone fits, and works on its own.\n", False),
    "a sentence of something else": ("It is not alone. The build passes.\n", False),
}


@pytest.mark.parametrize(("text", "fires"), MODELS.values(), ids=list(MODELS))
def test_what_ran_before_is_still_held(text: str, fires: bool) -> None:
    told = verdict(FAILED + text)
    assert ("models are alive at once" in told or "it goes well alone" in told) is fires


def test_the_list_that_keeps_models_is_named() -> None:
    told = verdict(FAILED + "models alive: 41\n        REGISTRY.append(model)\n")
    assert "`REGISTRY` keeps them" in told
    assert "`losses`" not in verdict(FAILED + "models alive: 41\n        losses.append(loss)\n")
