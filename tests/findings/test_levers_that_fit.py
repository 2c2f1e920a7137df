"""Which change is named first: the one that this text allows and that makes up for what is missing."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.readers.oom import named_devices
from tfmemlens.units import GIB


def slugs(report: Report) -> list[str]:
    return [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize("model, first", [("gemma_7b_en", True), ("gemma_2b_en", False)])
def test_weights_that_do_not_fit_by_themselves_need_no_advice_on_training(model: str, first: bool) -> None:
    text = f'TF 2.15, one T4 GPU\nlm = keras_nlp.models.GemmaCausalLM.from_preset("{model}")\n'
    report = pipeline.explain(text + oom("3072,24576"))
    assert ("before anything is computed" in report.verdict) is first
    if first:
        assert slugs(report)[0] == "smaller-model"
        assert not {"freeze-weights", "lighter-optimizer", "smaller-batch"} & set(slugs(report))


def test_weights_in_fewer_bits_may_fit() -> None:
    text = (
        'TF 2.15, one T4 GPU\nkeras.config.set_floatx("bfloat16")\n'
        'lm = keras_nlp.models.GemmaCausalLM.from_preset("gemma_7b_en")\n'
    )
    assert "before anything is computed" not in pipeline.explain(text + oom("3072,24576")).verdict


@pytest.mark.parametrize(
    "text, gib",
    [
        ("aws p2.xlarge (1x K80, 61 GB RAM)", None),
        ("a Tesla K80 12 GB", 12),
        ("RTX 3070, 32 GB RAM", 8),
        ("my V100 32GB", 32),
    ],
)
def test_a_card_has_no_more_than_it_is_sold_with(text: str, gib: int | None) -> None:
    found = named_devices.named(Line(1, text))
    assert (found.total.bytes // GIB if found and found.total else None) == gib


def test_a_large_batch_goes_before_smaller_samples() -> None:
    text = "batch_size=512, input_shape=(224, 224, 3)\n" + oom("512,224,224,32")
    batch, image = (slugs(pipeline.explain(text)).index(each) for each in ("smaller-batch", "smaller-input"))
    assert batch < image


def test_another_model_is_not_advised_before_a_smaller_batch() -> None:
    text = "units = 256\nbatch_size = 2048\n" + oom("2048,160,256")
    report = pipeline.explain(text)
    assert slugs(report)[0] == "smaller-batch"
    assert not any("`units`" in each.remedy.text for each in report.actions)


def test_a_vectorised_convolution_has_images_and_outputs_in_one_dimension() -> None:
    text = "x holds 48 images\njac = tape.jacobian(sim, weights)\n"
    report = pipeline.explain(text + oom("110592,32,32,32", "loop_body/Conv2DBackpropInput/pfor"))
    assert "most likely 2,304, each with 48 images" in report.verdict
    unknown = pipeline.explain(oom("110592,32,32,32", "loop_body/Conv2DBackpropInput/pfor"))
    assert "outputs times images: 110,592 together" in unknown.verdict


def test_a_queue_of_a_server_without_bound_goes_first() -> None:
    text = (
        "tensorflow/serving:2.1.0, memory grows with every bunch of requests\n"
        "docker run --memory 12g -t tensorflow/serving\n max_enqueued_batches {{ value: {} }}\n"
        "OOMKilled true 137\n"
    )
    assert slugs(pipeline.explain(text.format(1000000)))[0] == "bound-requests"
    assert "bound-requests" not in slugs(pipeline.explain(text.format(100)))


def test_what_fit_returns_keeps_its_model() -> None:
    text = """models, hists = [], []
for k in range(5):
    model = build()
    h = model.fit(x, y)
    models.append(model)
    hists.append(h)
"""
    (drop,) = [
        each.remedy
        for each in pipeline.explain(text + oom("1600,3072")).actions
        if each.remedy.slug == "drop-models"
    ]
    assert "`h.history` instead of `h`" in drop.text


def test_a_bar_that_counts_bytes_is_no_step() -> None:
    text = "100%|##########| 556/556 [00:00<00:00, 991kB/s]\n" + oom("3072,24576")
    assert not pipeline.explain(text).case.capture.surroundings.progress
