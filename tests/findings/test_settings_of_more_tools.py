"""Programs that their users configure: first actions by their own names, and none that needs their code."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained


def texts(text: str) -> list[str]:
    return [action.remedy.text for action in explained(text).actions]


@pytest.mark.parametrize(
    ("told", "setting"),
    [
        ("deeplabcut.train_network(config_path, gputouse=0)", "pose_cfg.yaml"),
        ("python main.py --model_name=efficientdet-d1 --mode=train", "`--train_batch_size`"),
        ('  File "/a/baselines/baselines/ppo2/ppo2.py", line 203, in learn', "`nminibatches`"),
        ("'sched_args': {'minibatch_base': 128}", "`minibatch_base`"),
        ("my tfx pipeline, the Evaluator", "--tfxio_use_byte_size_batching"),
    ],
)
def test_the_batch_has_the_tools_own_name(told: str, setting: str) -> None:
    (first, *_) = texts(f"{told}\n{oom('8,79,209,512')}")
    assert setting in first


def test_images_are_made_smaller_first_where_the_batch_is_one() -> None:
    said = texts(f"deeplabcut.train_network(config_path), batch_size=1\n{oom('1,2048,70,124')}")
    assert said[0].startswith("the batch is 1 already: smaller images: `global_scale` in pose_cfg.yaml")
    assert sum("global_scale" in text for text in said) == 1
    assert not any("mixed precision" in text for text in said)


def test_others_than_its_users_get_no_setting_of_it() -> None:
    said = texts(f"my own network, batch_size=8\n{oom('8,79,209,512')}")
    assert not any("pose_cfg" in text or "train_batch_size" in text for text in said)


def test_attention_of_a_tool_is_not_rewritten() -> None:
    text = (
        f"gpt2.finetune(sess, 'corpus.txt', model_name='355M')\n{oom('1,16,1024,1024', 'model/h3/attn/Mul')}"
    )
    said = texts(text)
    assert said[0].startswith("a smaller model, or less of it: take the smaller one, '124M'")
    assert not any("blocks of queries" in each for each in said)


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ("1024,98,98", "halve the batch"),
        ("4,8,2048,2048", "halve the sequence length"),
        ("1000,12,256,256", "halve"),
    ],
)
def test_of_samples_and_lengths_the_larger_goes_first(shape: str, first: str) -> None:
    assert texts(oom(shape, "net/attention/dropout/random_uniform"))[0].startswith(first)


@pytest.mark.parametrize(
    ("shape", "asks"), [("256,4,84,84", True), ("64,56,56,256", False), ("8,3,4,4", False)]
)
def test_of_a_small_request_others_are_looked_for(shape: str, asks: bool) -> None:
    assert any(text.startswith("see what else holds the GPU") for text in texts(oom(shape))) is asks


def test_patches_of_a_library_begin_with_the_batch() -> None:
    node = "resnet_v1_50/conv1/ExtractImagePatches"
    said = texts(oom("16,112,112,147", node))
    assert said[0].startswith("halve the batch")
    assert any(text.startswith("if your own code makes the patches: ") for text in said)
    own = texts(
        f"y = tf.image.extract_patches(x, sizes, strides, rates, 'SAME')\n{oom('16,112,112,147', node)}"
    )
    assert own[0].startswith("use a convolution")


_EXPLAINER = "e = shap.DeepExplainer(net, some)\nimg_size = 300\n"
_IN_SHAP = "/opt/site-packages/shap/explainers/deep/deep_tf.py in run(self, out, inputs, X)\n"


def test_an_explainer_of_shap_is_given_a_smaller_background_set() -> None:
    said = texts(f"{_EXPLAINER}{_IN_SHAP}{oom('120,150,150,64')}")
    assert said[0].startswith("give the explainer a smaller background set")
    assert not any("halve the batch" in text or "lower `img_size`" in text for text in said)


def test_a_training_beside_an_explainer_keeps_its_batch() -> None:
    said = texts(f"{_EXPLAINER}net.fit(x, y, batch_size=120)\n{oom('120,150,150,64')}")
    assert not any("background set" in text for text in said)
    assert "background set" in texts(f"{_EXPLAINER}{oom('120,150,150,64')}")[0]
