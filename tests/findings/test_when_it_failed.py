"""When a run failed: in validation, at the first step of a stage, at its longest batch, or for growth."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.growth import steadily
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report

BAR = "250/250 ━━━━━━━━━━━━━━━━━━━━ 91s 366ms/step - loss: 0.44"
FIT = "model.fit(train.batch(4), validation_data=val.batch(64))\n"
BOTH = oom("64,128,128,32", "net/conv/Relu").replace("\n\t", " [Op:__inference_one_step_on_iterator_91]\n\t")
KILLED = "./run.sh: line 4:  5512 Killed                  python train.py\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def rules(text: str) -> set[str]:
    return {finding.rule for finding in explained(text).findings}


def slugs(text: str) -> list[str]:
    return [action.remedy.slug or "" for action in explained(text).actions]


def test_after_the_last_step_of_an_epoch_validation_runs() -> None:
    report = explained(f"Epoch 1/9\n{BAR}\n{FIT}{BOTH}")
    assert "in evaluation, whose batch is 64, in training 4" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-evaluation-batch"
    assert (report.actions[0].remedy.code or "").endswith("batch(4)")


@pytest.mark.parametrize(
    "before",
    [
        f"{BAR} - val_loss: 0.51\n",
        f"{BAR}\nEpoch 2/9\n",
        "249/250 ━━━━━━━━━━━━━━━━━━━━ 0s 366ms/step - loss: 0.44\n",
    ],
)
def test_elsewhere_in_an_epoch_it_trains(before: str) -> None:
    assert "failed-in-evaluation" not in rules(f"Epoch 1/9\n{before}{FIT}{BOTH}")


STAGED = "Epoch 1/2\nEpoch 2/2\n{}\nEpoch 1/9\n{}"


@pytest.mark.parametrize(
    ("line", "fewer"),
    [
        ("base.trainable = True", True),
        ("=== stage 2: unfreeze all layers ===", True),
        ("--- Phase 2 ---", False),
    ],
)
def test_the_first_step_of_a_stage_is_no_growth(line: str, fewer: bool) -> None:
    text = STAGED.format(line, oom("32,64,64,64"))
    assert "first-step-of-a-stage" in rules(text) and "growth-between-steps" not in rules(text)
    assert ("fewer-trained-layers" in slugs(text)) is fewer


@pytest.mark.parametrize(
    "text",
    [
        STAGED.format("base.trainable = False", oom("32,64,64,64")),
        STAGED.format(
            "base.trainable = True", " 9/250 [>.............................]\n" + oom("32,64,64,64")
        ),
        "base.trainable = True\nEpoch 1/9\n" + oom("32,64,64,64"),
    ],
)
def test_what_is_no_first_step_of_a_stage(text: str) -> None:
    assert "first-step-of-a-stage" not in rules(text)


def test_a_counter_that_begins_again_is_told_as_that() -> None:
    assert "another round" in explained(STAGED.format("Fold 2", oom("32,64,64,64"))).verdict
    assert "another round" not in explained("Epoch 1/9\nEpoch 2/9\n" + oom("32,64,64,64")).verdict


@pytest.mark.parametrize(("last", "grows"), [(3, False), (9, False), (10, True), (4000, True)])
def test_after_few_steps_nothing_is_said_of_growth(last: int, grows: bool) -> None:
    steps = "".join(f"global step {step}: loss = 4.1\n" for step in (1, 2, last))
    assert ("growth-between-steps" in rules(steps + oom("32,64,64,64"))) is grows


def lengths(*told: str) -> str:
    return "".join(f"iter {step * 10} seq_len={length} loss 4.1\n" for step, length in enumerate(told, 1))


@pytest.mark.parametrize(
    ("told", "fires"),
    [
        (("128", "512", "256", "384", "2048"), True),
        (("128", "512", "256", "384", "512"), False),
        (("128", "512", "256", "384", "600"), False),
        (("128", "512", "2048"), False),
        (("100", "200", "300", "400", "800"), False),
        (("(16, 128)", "(16, 512)", "(16, 64)", "(16, 256)", "(16, 4096)"), True),
    ],
)
def test_the_longest_batch_is_told(told: tuple[str, ...], fires: bool) -> None:
    assert ("longest-batch" in rules(lengths(*told) + oom("32,64,64,64"))) is fires


@pytest.mark.parametrize(
    ("figures", "grows"),
    [
        ((1, 2, 3), True),
        ((1, 2), False),
        ((3, 2, 1), False),
        ((10, 100, 101, 102), False),
        ((10, 12, 14, 13, 16, 19), True),
        ((10, 12, 14, 19, 16, 12), False),
        ((10, 11, 10, 11, 10, 11), False),
    ],
)
def test_what_goes_on_rising(figures: tuple[int, ...], grows: bool) -> None:
    line = Line(1, "", "")
    assert steadily([(figure, line) for figure in figures]) is grows


@pytest.mark.parametrize(
    "line",
    [
        "epoch 0{} loss 1.2 gpu mem current {}.10 GiB peak 20.40 GiB",
        "fold {} done, vram={}.2G",
        "[{}] GPU memory usage: {}.2/24.0 GB",
    ],
)
def test_a_programs_own_readings_of_the_device(line: str) -> None:
    text = "".join(line.format(turn, 3 + turn * 4) + "\n" for turn in range(1, 5)) + oom("8,64,64,64")
    assert "memory in use rose" in explained(text).verdict
    for words in ("gpu mem", "vram", "GPU mem", " peak"):
        text = text.replace(words, " lr")
    assert "rose" not in explained(text).verdict


@pytest.mark.parametrize(
    "line", ["walk {} host_rss={}.6GB gpu=3GB", "[{}] RAM used: {}.1 / 64.0 GB", "{} VmRSS: {}000000 kB"]
)
def test_a_programs_own_readings_of_host_ram(line: str) -> None:
    readings = "".join(line.format(turn, 3 + turn * 4) + "\n" for turn in range(1, 5))
    assert "host RAM in use rose" in explained(readings + KILLED).verdict
    assert "rose" not in explained(readings + oom("8,64,64,64")).verdict


def test_traces_are_what_most_likely_grows_in_host_ram() -> None:
    warned = "6 out of the last 6 calls to <function f at 0x7f> triggered tf.function retracing.\n"
    readings = "".join(f"walk {turn} rss={turn * 4}.6GB\n" for turn in range(1, 5))
    assert "traces of `f`" in explained(warned + readings + KILLED).verdict
    assert slugs(warned + readings + KILLED)[0] == "one-signature"


@pytest.mark.parametrize(
    ("second", "leaks"), [("2200, numBytes: 9922888704", True), ("2000, numBytes: 9922888704", False)]
)
def test_tensors_that_node_never_disposes_of(second: str, leaks: bool) -> None:
    text = (
        "tf.memory() = { numTensors: 2000, numBytes: 9340015616 }\n"
        f"tf.memory() = {{ numTensors: {second} }}\n"
        f"Error: OOM when allocating tensor with shape[32,48,48,64] and type float on {GPU} by allocator"
        " GPU_0_bfc\n"
        "    at Object.kernelFunc (/app/node_modules/@tensorflow/tfjs-node-gpu/dist/Relu.js:33:24)\n"
    )
    assert ("never disposed of" in explained(text).verdict) is leaks


REFUSED_BY_JAX = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes."
    " [executable_name='jit_step']\n"
)


@pytest.mark.parametrize(("need", "shapes"), [(4_000_000, False), (40_000_000_000, True)])
def test_a_full_device_is_no_longer_batch_of_jax(need: int, shapes: bool) -> None:
    steps = "".join(f"step {step} loss 0.1 draws {step}\n" for step in range(0, 325, 25))
    report = pipeline.explain(f"import jax\n{steps}{REFUSED_BY_JAX.format(need)}")
    slugs = [remedy.slug for finding in report.findings for remedy in finding.remedies]
    assert ("compare-shapes" in slugs) is shapes and "keep-numbers" in slugs


@pytest.mark.parametrize(
    "before",
    [
        "It fails at about the 10th step of the first epoch.\nEpoch 1/30\n 10/50 [==>....] - loss: 4.1\n",
        "After step 40 of my first epoch it stops.\nEpoch 1/5\n 40/90 [==>....] - loss: 4.1\n",
    ],
)
def test_a_step_of_the_first_epoch_is_no_second_round(before: str) -> None:
    report = explained(before + oom("32,64,64,64"))
    assert "another round" not in report.verdict and "growth-between-steps" not in rules(
        before + oom("32,64,64,64")
    )


@pytest.mark.parametrize(
    ("node", "fixed"),
    [("ema/AssignMovingAvg_3/sub_1", True), ("dense/kernel/Adam/Assign", True), ("net/conv/Relu", False)],
)
def test_no_batch_explains_a_failing_weight(node: str, fixed: bool) -> None:
    steps = "".join(f"step {step}, loss = 0.4\n" for step in (700, 710))
    text = steps + oom("2304,384", node)
    growth = [each for each in explained(text).findings if each.rule == "growth-between-steps"]
    assert any("this batch was bigger" in str(each.because) for each in growth) is not fixed
    assert ("compare-shapes" in slugs(text)) is not fixed
