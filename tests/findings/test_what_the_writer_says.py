"""What the text itself says decides before rules speak: its writer's own tests, what must stay, and the
setting behind a side of the tensor.
"""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support.own_knob import knob
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def first(text: str) -> str:
    return explained(text).actions[0].remedy.text


MAPS = oom("32,64,64,512", "net/conv/Relu")


@pytest.mark.parametrize(
    "says",
    [
        "With jit_compile=True GPU memory climbs until it crashes; with jit_compile=False it stays flat.",
        "It runs fine with jit_compile=False. With jit_compile=True:",
    ],
)
def test_the_value_with_which_it_is_fine_comes_first(says: str) -> None:
    told = explained(f"{says}\n{MAPS}")
    assert told.actions[0].remedy.text.startswith("keep `jit_compile=False`, with which it is fine (line 1)")
    assert ("jit_compile", "False") not in [each[:2] for each in told.case.capture.surroundings.settings]


@pytest.mark.parametrize(
    "says",
    [
        "With jit_compile=True it runs out of memory, and with jit_compile=False it fails as well.",
        "With jit_compile=True it runs fine, and with jit_compile=False it runs fine.",
        "With batch_size=64 it fails, with batch_size=8 it runs fine.",
    ],
)
def test_no_test_is_told_of_values_that_are_alike_or_of_sizes(says: str) -> None:
    assert "tests-of-the-writer" not in {each.rule for each in explained(f"{says}\n{MAPS}").findings}


def test_growth_with_one_value_is_growth_and_no_matter_of_the_batch() -> None:
    text = (
        "I train with batch_size=256. With device_name='cpu' it uses 1.5 GB and stays there. If I set"
        " device_name='gpu' the process gets larger and larger, until the RAM is full."
    )
    told = explained(text)
    assert told.actions[0].remedy.text.startswith("keep `device_name='cpu'`")
    assert "smaller-batch" not in offered(text)
    assert "grows" in told.verdict


LIST = "kept = []\nfor x, y in data:\n    out = net(x)\n    kept.append((out, gradients))\n"


def test_this_line_is_the_one_that_the_sentence_before_describes() -> None:
    says = (
        "With the line that appends the gradients it runs out of GPU memory. Without this line it runs fine."
    )
    told = explained(f"I use tensorflow. {says}\n\n{LIST}")
    assert "`kept.append((out, gradients))` (line 6)" in told.verdict
    assert told.actions[0].remedy.slug == "keep-numbers"


def test_where_it_does_not_happen_comes_first_beside_a_message() -> None:
    text = f"With keras.layers.GRU there is no OOM, the other layer fails.\n{MAPS}"
    assert "With keras.layers.GRU there is no OOM" in first(text)
    assert "GRU" not in first(f"I use keras.layers.GRU and get an OOM.\n{MAPS}")


@pytest.mark.parametrize(
    ("says", "release"),
    [
        ("In TF 2.0 I train it without any problem. With TF 2.1 the same:", "2.0"),
        ("Trained with TF 2.2 and TF 2.3 without trouble. After upgrading to 2.4:", "2.3"),
    ],
)
def test_a_release_that_worked_comes_first(says: str, release: str) -> None:
    assert first(f"{says}\n{MAPS}").startswith(f"use tensorflow {release}, which the text says works")


def test_nobody_is_sent_back_to_tensorflow_1() -> None:
    says = "In TF 1.14 I train it without any problem. With TF 2.1 the same:"
    assert "1.14" not in first(f"{says}\n{MAPS}")


def test_what_must_stay_goes_last_or_out() -> None:
    assert offered(f"batch_size = 32\n{MAPS}")[0] == "smaller-batch"
    must = f"batch_size = 32\nI need the batch of 32 for the batch norm.\n{MAPS}"
    told = explained(must).actions
    assert [each.remedy.slug for each in told].index("smaller-batch") == len(told) - 1
    assert told[-1].remedy.text.endswith("though line 2 says that it must stay")
    image = "[image: 1024]\n" + oom("1,256,1024,1021", "net/conv/Relu")
    assert "smaller-input" in offered(image)
    assert "smaller-input" not in offered(f"The images cannot be made smaller.\n{image}")


@pytest.mark.parametrize(
    ("line", "shape", "says"),
    [
        ("RESOLUTION = 512", (4, 8, 4096, 4096), "4,096 are 64 x 64 positions of an image, 512 / 8 each way"),
        ("IMG_SIZE: 64", (32, 4, 4096, 4096), "4,096 are 64 x 64 positions of an image"),
        ("IMG_SHAPES: [512, 512, 3]", (16, 513, 513, 32), "513 x 513 is 512 x 512"),
        ("memory = dict(type='replay', capacity=20000)", (20000, 160, 120, 6), "it is the 20,000"),
        ("x has (1, 160, 160, 3)", (76800, 76800), "76,800 is 160 x 160 x 3, an image in one row"),
    ],
)
def test_a_setting_behind_a_side_is_found(line: str, shape: tuple[int, ...], says: str) -> None:
    found = knob(shape, explained(f"{line}\n{MAPS}").case.capture.surroundings)
    assert found and found.says.startswith(says) and found.line.number == 1


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("IMG = 512", (32, 128, 256, 256)),  # a map of that image
        ("chunk = 1000", (1000, 12, 256, 256)),  # the batch
        ("EPOCHS = 20000", (20000, 160)),
        ("we have 20000 samples", (20000, 160)),
        ("a = 512", (32, 512, 38, 38)),  # a power of two may be there by chance
        ("low = 300\nhigh = 300", (32, 300, 300)),  # two names
    ],
)
def test_no_setting_is_named_by_chance(line: str, shape: tuple[int, ...]) -> None:
    assert knob(shape, explained(f"{line}\n{MAPS}").case.capture.surroundings) is None


def test_the_new_value_leaves_room_on_the_device() -> None:
    """8.58 GiB on 8 GB: a half takes more than half of the device, a quarter does not."""
    text = "GTX 1080 8GB\nmemory = dict(type='replay', capacity=20000)\n" + oom(
        "20000,160,120,6", "replay/state"
    )
    assert first(text).startswith("lower `capacity` (line 2: 20,000 -> 5,000)")


def test_what_multiplies_all_pixels_is_left_out_first() -> None:
    text = (
        "my inputs are (1, 160, 160, 3)\ngen = ImageDataGenerator(\n    zca_whitening=True,\n"
        "    rotation_range=15)\ngen.fit(x)\nMemoryError: Unable to allocate 22.0 GiB for an array with shape"
        " (76800, 76800) and data type float32"
    )
    assert first(text).startswith("leave out `zca_whitening=True` (line 3)")


def test_the_default_of_keras_3_is_named_where_keras_2_needed_less() -> None:
    text = "With Keras 2 it took 5 GB. Since we moved to Keras 3 memory runs out with the tensorflow backend."
    assert "jit_compile=False" in (explained(text).actions[0].remedy.code or "")
    assert "tests-of-the-writer" not in {
        each.rule for each in explained("I use Keras 3 and memory runs out").findings
    }


def test_the_batch_that_works_is_told_by_whichever_rule() -> None:
    text = "batch 6 fits but the paper uses more\ntrain_batch_size=32, training\n" + oom(
        "32,16,512,512", "bert/layer_1/attention/Softmax"
    )
    smaller = next(each.remedy for each in explained(text).actions if each.remedy.slug == "smaller-batch")
    assert smaller.text.startswith("take the batch of 6 that works (line 1)")


def test_a_batch_on_both_sides_of_a_matrix_counts_twice() -> None:
    text = "ds = ds.batch(32768)\n" + oom("32768,32768", "retrieval/MatMul")
    smaller = next(
        each.remedy.text for each in explained(text).actions if each.remedy.slug == "smaller-batch"
    )
    assert "32,768 -> 16,384" in smaller and "a quarter" in smaller


def test_an_own_pool_that_is_full_sends_nobody_to_look_for_others() -> None:
    text = (
        "ResourceExhaustedError: failed to allocate memory [Op:AddV2]\n"
        "2022-02-14 17:03:18.784699: I tensorflow/core/common_runtime/bfc_allocator.cc:1086] Stats: \n"
        "Limit:                      4161208320\nInUse:                      3833331200\n"
    )
    told = explained(text).actions
    others = [index for index, each in enumerate(told) if each.remedy.slug == "see-device-users"]
    assert not others or (others == [len(told) - 1] and "most likely none does" in told[-1].remedy.text)


def test_adam_comes_first_where_plain_descent_fits() -> None:
    text = "It fits with plain SGD, with Adam I get the OOM at the first step.\n" + MAPS
    assert explained(text).actions[0].remedy.slug == "less-optimizer-state"


def test_what_is_turned_off_may_be_explained_in_brackets() -> None:
    text = (
        "I use TensorFlow. When I turn off eager execution (disable_eager_execution()) memory stays flat,"
        " with it the RAM grows each epoch."
    )
    assert "`eager execution`" in first(text)


def test_a_size_that_must_stay_leaves_patches_and_puts_the_rest_back() -> None:
    image = oom("1,64,2048,2048", "unet/conv/Relu")
    kept = f"We have to keep the input at 2048x2048.\n{image}"
    assert "line 1 says that the size must stay: train on patches" in first(kept)
    crop = 'python train.py --train_crop_size="769,769" --train_batch_size=4\n' + oom(
        "4,728,49,49", "net/conv/Relu"
    )
    assert "lower `train_crop_size`" in first(crop)
    assert "lower `train_crop_size`" not in first(f"{crop}\nBut I would like to use 769.")


def test_a_release_in_brackets_behind_an_upgrade_is_read() -> None:
    text = f"After `pip install -U tensorflow` (2.4.1 -> 2.5.0) I can train only half of the batch.\n{MAPS}"
    assert first(text).startswith("use tensorflow 2.4.1")


def test_a_batch_of_one_beside_scores_of_four_samples_did_not_reach_the_program() -> None:
    text = (
        "ResourceExhaustedError although batch_size = 1, one V100 32GB, TF 1.15\n"
        + "python train.py --param_overrides=batch_size=1\n"
    )
    assert "begins with 4, so the batch of 1 of line 1" in first(
        text + oom("4,16,2048,2048", "enc/attention/Softmax")
    )
    assert "did not reach" not in first(text + oom("1,16,2048,2048", "enc/attention/Softmax"))


@pytest.mark.parametrize(
    ("below", "ended"),
    [
        ("## Workaround\n\n```bash\nexport XLA_PYTHON_CLIENT_PREALLOCATE=false\n```", True),
        ("**Fix:**\nXLA_PYTHON_CLIENT_MEM_FRACTION=0.5", True),
        ("## Workaround\n\nNone so far.\nexport XLA_PYTHON_CLIENT_PREALLOCATE=false", False),
        ("## Environment\n\nexport XLA_PYTHON_CLIENT_PREALLOCATE=false", False),
        ("## Solution\n\n\n\n\n\nexport XLA_PYTHON_CLIENT_PREALLOCATE=false", False),
    ],
)
def test_a_setting_below_a_heading_that_says_it_helps_ended_it(below: str, ended: bool) -> None:
    failed = "XlaRuntimeError: INTERNAL: solver.cc:71: operation hipGetLastError() failed: out of memory"
    report = pipeline.explain(f"I use jax on ROCm.\n{failed}\n\n{below}\n")
    assert (report.actions[0].remedy.slug == "what-ended-it") is ended
