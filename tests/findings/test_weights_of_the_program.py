"""Weights that quoted code makes, where they outweigh all outputs."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

MIB = 1 << 20
RULE, OUTPUTS = "weights-of-the-program", "outputs-of-the-program"
CODE = """
from tensorflow.keras import layers
image = layers.Input((64, 64, 3))
x = layers.Conv2D(16, 3, padding="same", name="thin")(image)
x = layers.Flatten()(x)
x = layers.Dense(256, name="code")(x)
model = keras.Model(image, x)
model.compile("adam", "mse")
model.fit(images, codes, batch_size=16)
"""
ASKED = "16,64,64,16"
KERNEL, BIAS, THIN = 65536 * 256 * 4, 256 * 4, (3 * 3 * 3 + 1) * 16 * 4


def found(text: str, rule: str = RULE) -> Finding | None:
    findings = pipeline.explain(text).findings
    return next((each for each in findings if each.rule == rule), None)


def test_weights_are_counted_with_gradients_and_slots() -> None:
    finding = found(CODE + oom(ASKED))
    assert finding and finding.because
    assert finding.explains == 4 * (KERNEL + BIAS + THIN)
    assert "take 256.01 MiB with gradients and Adam's slots, whatever the batch" in finding.because
    assert "100 % of it `code` (line " in finding.because and "[65536,256]" in finding.because
    assert "smaller-batch" in finding.rules_out
    assert found(CODE + oom(ASKED), OUTPUTS) is None


def test_an_optimizer_without_slots_keeps_two() -> None:
    finding = found(CODE.replace('"adam"', "optimizers.SGD(0.1)") + oom(ASKED))
    assert finding and finding.explains == 2 * (KERNEL + BIAS + THIN)


def test_a_flattened_map_is_to_be_pooled_first() -> None:
    finding = found(CODE + oom(ASKED))
    assert finding
    first, second = finding.remedies[:2]
    assert first.slug == "pool-first" and "reads 65,536 numbers" in first.text
    assert first.saves_bytes == 3 * KERNEL
    assert "256 -> 128" in second.text and second.saves_bytes == 2 * KERNEL


def test_a_layer_that_is_called_twice_has_its_weights_once() -> None:
    twice = CODE.replace(
        'x = layers.Dense(256, name="code")(x)',
        'code = layers.Dense(256, name="code")\nx = layers.Add()([code(x), code(x)])',
    )
    finding = found(twice + oom(ASKED))
    assert finding and finding.explains == 4 * (KERNEL + BIAS + THIN)


@pytest.mark.parametrize(
    "text",
    [
        oom(ASKED),  # no code
        CODE + oom("16,64,64,24"),  # no layer makes it
        CODE.replace(".fit(", ".predict(") + oom(ASKED),  # no gradients
        CODE.replace("Dense(256", "Dense(32") + oom(ASKED),  # 32 MiB
        CODE.replace(", batch_size=16", "") + oom("2000,64,64,16"),  # the outputs are larger
        CODE + oom("65536,256"),  # the kernel itself
        CODE + oom(ASKED) + report("450.00MiB from net/conv/Conv2D"),  # names are known
        CODE + dump(128, 16000, 15990) + oom(ASKED),  # a small part of what the device holds
    ],
)
def test_near_misses(text: str) -> None:
    assert found(text) is None


def test_outputs_that_outweigh_the_weights_are_told() -> None:
    text = CODE.replace(", batch_size=16", "") + oom("400,64,64,16")
    assert found(text) is None and found(text, OUTPUTS)
