"""A text that says that it is the prediction that fails gets nothing of a training."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, offered
from tfmemlens.renderers import run_facts

_VOLUME = oom("1,32,48,512,512", "unet/conv3d_9/Conv3D")
_IMAGE = oom("1,32,1024,1024", "net/conv_1/Conv2D")


@pytest.mark.parametrize(
    "said",
    [
        "I get this error when simply running model.predict:",
        "Out of memory when I call `predict` on a large image",
        "It crashes while executing predict",
        "OOM during the prediction",
        "OOM while running inference on a scan",
    ],
)
def test_words_of_a_prediction_are_read(said: str) -> None:
    report = explained(f"{said}\n\n{_IMAGE}")
    assert "training" not in report.verdict
    assert "fewer-channels" not in offered(f"{said}\n\n{_IMAGE}")


@pytest.mark.parametrize(
    ("said", "trains"),
    [
        (
            "OOM error during the prediction, after training a model that went well.",
            True,
        ),  # one sentence of both
        ("OOM error during the prediction. I keep a model from after training.", False),
        (
            "This is about prediction. In prediction it is fast. After training it stays.",
            True,
        ),  # nothing failed
    ],
)
def test_words_of_a_training_beside_it(said: str, trains: bool) -> None:
    assert ("training" in explained(f"{said}\n\n{_IMAGE}").verdict) is trains


def test_a_gradient_is_no_prediction() -> None:
    node = "gradient_tape/net/conv_1/Conv2D/Conv2DBackpropInput"
    assert "training" in explained("OOM when running model.predict\n" + oom("1,32,1024,1024", node)).verdict


def test_a_program_with_tiles_predicts_in_them() -> None:
    text = f"I use stardist. OOM in the prediction notebook.\n\n{_VOLUME}"
    assert "n_tiles" in explained(text).actions[0].remedy.text
    assert "smaller-prediction-batch" not in offered(text)  # which says the same again


def test_a_net_of_csbdeep_is_known_by_its_layers() -> None:
    text = "I get OOM when running model.predict\n" + oom("1,32,1024,1024", "down_level_0_no_0/convolution")
    assert "n_tiles" in explained(text).actions[0].remedy.text
    other = "I get OOM when running model.predict\n" + oom("1,32,1024,1024", "down_level/convolution")
    assert "n_tiles" not in explained(other).actions[0].remedy.text


@pytest.mark.parametrize(
    ("setting", "shown"),
    [("train_batch_size = 3", False), ("trained with a batch_size = 3", False), ("batch_size = 3", True)],
)
def test_the_batch_of_the_training_is_none_of_a_prediction(setting: str, shown: bool) -> None:
    report = explained(f"OOM during the prediction\n\n{setting}\n\n{_IMAGE}")
    told = dict(run_facts.facts(report, report.case.moments[0]))
    assert bool(told.get("settings")) is shown


@pytest.mark.parametrize(
    ("said", "predicts"),
    [
        ("Could you add the argument n_tiles to the plugin?", True),
        ("I set n_tiles, but it fails while training my model.", False),
        ("Could you add an argument for tiles?", False),
    ],
)
def test_who_asks_for_tiles_predicts(said: str, predicts: bool) -> None:
    report = explained(f"{said}\n\n{_VOLUME}")
    assert ("training" not in report.verdict) is predicts
    assert ("n_tiles" in report.actions[0].remedy.text) is predicts


def test_without_a_shape_its_tiles_are_what_to_lower() -> None:
    text = (
        "ResourceExhaustedError                    Traceback (most recent call last)\n"
        "Cell In[4], line 2\n      1 x = load()\n----> 2 labels, more = net.predict_instances(x)\n\n"
        "ResourceExhaustedError: Graph execution error:\n"
    )
    assert offered(text) == ["smaller-prediction-batch", "read-the-log"]
