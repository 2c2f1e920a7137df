"""What code and remarks in a text show: one tape around micro-batches, models that stay; near misses."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, oom
from tests.findings.test_leaks import chunks
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


KERNEL = "Out of memory: Killed process 1402 (%s) total-vm:44816468kB, anon-rss:33218044kB\n"


@pytest.mark.parametrize(("name", "other"), [("java", True), ("python3", False), ("trainer", False)])
def test_whom_the_kernel_killed_is_named_where_it_trains_nothing(name: str, other: bool) -> None:
    assert (f"killed {name} (pid 1402), not the training" in verdict(KERNEL % name)) is other


EVALUATES = "Starting evaluation at 2019-01-17-08:55:02\n" + oom("720,4096,512", "lstm/CudnnRNN")


def test_both_batches_in_one_sentence() -> None:
    both = "train_input_fn uses .batch(64), eval uses .batch(4096)\n"
    assert "whose batch is 4096, in training 64" in verdict(EVALUATES + both)
    assert "in training 64" not in verdict(EVALUATES + "train_input_fn uses .batch(64)\n")


BATCH = "step %d batch shape %s\n"
LENGTHS = {
    "a clip of seven times the length": ("(32, 1688, 80)", "(32, 12304, 80)", True),
    "one of three times": ("(32, 1688, 80)", "(32, 5064, 80)", False),
    "more samples": ("(4, 1688, 80)", "(32, 1688, 80)", False),
    "larger images of another stage": ("(16, 64, 64, 3)", "(16, 128, 128, 3)", False),
}


@pytest.mark.parametrize(("before", "last", "fires"), LENGTHS.values(), ids=list(LENGTHS))
def test_two_batches_are_enough_where_one_is_much_longer(before: str, last: str, fires: bool) -> None:
    text = BATCH % (2712, before) + BATCH % (2713, last) + oom("32,4,3076,3076", "mhsa/softmax/Softmax")
    assert ("the one before was" in verdict(text)) is fires


STEP = "step %d of 20000\n"


@pytest.mark.parametrize(("step", "fires"), [(499, True), (505, True), (700, False), (5, False)])
def test_as_many_chunks_as_steps_are_a_leak(step: int, fires: bool) -> None:
    told = verdict(chunks((500, 512 << 10)) + STEP % step)
    assert (f"about as many as steps ({step})" in told) is fires


def test_batches_in_the_pinned_pool_wait_for_their_copy() -> None:
    log = chunks((12, 20 * MIB), op="IteratorGetNext")
    pinned = log.replace("bfc_cpu_allocator_for_gpu", "gpu_host_bfc")
    assert "pinned host RAM" in verdict(pinned) and "prefetch" in verdict(pinned)
    assert "prefetch" not in verdict(log) and "prefetch" not in verdict(
        pinned.replace("IteratorGetNext", "a/MatMul")
    )


def test_the_list_that_keeps_models_is_named() -> None:
    told = verdict(FAILED + "models alive: 41\n        REGISTRY.append(model)\n")
    assert "`REGISTRY` keeps them" in told
    assert "`losses`" not in verdict(FAILED + "models alive: 41\n        losses.append(loss)\n")
