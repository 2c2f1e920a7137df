"""Programs that others wrote: their own settings for batch, images, lengths and boxes are named."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tests.findings.test_what_is_no_batch import explained

API = "python train.py --pipeline_config_path=training/faster_rcnn_inception_v2_pets.config\n"
MAP = oom("4,160,42,64", "x/block17_2/Conv2D")


def texts(text: str) -> list[str]:
    return [action.remedy.text for action in explained(text).actions]


def said(text: str, words: str) -> bool:
    return any(words in told for told in texts(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (API + MAP, "image_resizer"),
        (oom("4,160,42,64", "FirstStageFeatureExtractor/block17_2/Conv2D"), "image_resizer"),
        ("IMAGES_PER_GPU = 2\n" + oom("2,256,256,256", "fpn/Conv2D"), "IMAGE_MAX_DIM"),
        ("flow --model cfg/yolo.cfg --train\n" + oom("16,416,416,32", "1-leaky"), "multiples of 32"),
        ("t2t-trainer --model=transformer\n" + oom("4096,2048", "t/body/ffn/Relu"), "max_length"),
        ("python run_squad.py --do_train\n" + oom("32,384,3072", "bert/layer_3/Gelu"), "--max_seq_length"),
        ("DeepSpeech.py is used\n" + oom("5745,4,2048", "tower_0/bw/Relu"), "longest clips"),
        ("I use stardist\n" + oom("1,64,400,400,32", "unet/conv/Relu"), "n_tiles"),
    ],
)
def test_its_own_setting_is_named(text: str, words: str) -> None:
    assert said(text, words)


@pytest.mark.parametrize(
    "text",
    [
        MAP,
        API + oom("3,3,512,512", "x/weights/Initializer/random_uniform"),
        API + oom("4,160,42,64", "x/Adam/update_w/ApplyAdam"),
    ],
)
def test_neither_of_another_program_nor_of_a_weight(text: str) -> None:
    assert not said(text, "image_resizer")


def test_the_batch_is_told_with_its_setting_and_no_code_is_to_be_written() -> None:
    told = next(text for text in texts("batch_size: 4\n" + API + MAP) if "halve" in text)
    assert "(4 -> 2) (`batch_size` of `train_config` in the pipeline's config)" in told
    assert "accumulation" not in told


def test_an_image_as_it_was_read_is_no_map_of_a_layer() -> None:
    text = API + oom("1,5095,3729,3", "ToFloat", on=CPU, by="cpu")
    assert said(text, "image files themselves") and said(text, "queue_capacity")
    assert not said(text, "image_resizer")
    assert "training keeps one and more" not in explained(text).verdict
    assert not said(API + oom("1,5095,3729,3", "ToFloat"), "queue_capacity")


@pytest.mark.parametrize(
    ("shape", "boxes"),
    [("500,17,17,4032", True), ("300,7,7,2048", True), ("512,17,17,256", False), ("500,20,20,96", False)],
)
def test_many_small_square_maps_of_the_api_are_boxes(shape: str, boxes: bool) -> None:
    text = (
        f"I use the object_detection_tutorial\nOOM when allocating tensor with shape[{shape}] and type float"
    )
    assert (
        said(text + " on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc", "proposals")
        is boxes
    )


def test_what_tells_more_comes_after_what_changes_something() -> None:
    slugs = [action.remedy.slug for action in explained(API + MAP).actions]
    assert slugs.index("tool-image-size") < slugs.index("read-the-log")


VGG = oom("25088,4096", "vgg_16/fc6/weights/Initializer/random_uniform/RandomUniform")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (VGG, "no step has run yet"),
        (oom("65536,2048", "net/fc1/kernel/Initializer/random_uniform/RandomUniform"), "no step has run yet"),
        (oom("65536,2048", "gradients/net/fc1/MatMul_grad/MatMul_1"), "pool before the layer"),
        (
            oom("65536,8192", "net/fc1/kernel/Initializer/random_uniform/RandomUniform"),
            "pool before the layer",
        ),
        (VGG.replace("Initializer/random_uniform/RandomUniform", "Momentum/Assign"), "it is the first fully"),
    ],
)
def test_first_values_that_find_no_room_ask_who_holds_the_gpu(text: str, first: str) -> None:
    assert texts(text)[0].startswith(first)
    assert not (text == VGG and said(text, "pool before the layer"))


def test_a_batch_of_few_tokens_is_made_no_smaller() -> None:
    run = 'Why is there OOM?\nt2t-trainer --model=transformer --hparams="batch_size={}" --schedule={}\n'
    few = explained(run.format(8, "continuous_train_and_eval"))
    assert "no smaller batch" in few.verdict
    assert [each.remedy.slug for each in few.actions[:2]] == ["own-process", "tool-sample-length"]
    alone = explained(run.format(8, "train"))
    assert alone.actions[0].remedy.slug == "tool-sample-length"
    many = explained(run.format(4096, "continuous_train_and_eval"))
    assert "4096 -> 2048" in many.actions[0].remedy.text
