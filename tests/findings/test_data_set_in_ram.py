"""What all samples of a data set take as one array, where a text states their count and shape."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained

KILLED = "Your session crashed after using all available RAM.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "I load 40000 images of 224x224x3 with np.load.\n",
            "40,000 images of 224 x 224 x 3 take about 5.6 GiB",
        ),
        (
            "I load 12k pictures (512x512) into NumPy.\n",
            "12,000 pictures of 512 x 512 x 3 take about 8.8 GiB",
        ),
        ("40,000 grayscale x-ray images, 512 x 512\n", "40,000 images of 512 x 512 x 1 take about 9.8 GiB"),
        ("X_train has shape (25000, 256, 256, 3)\n", "[25000,256,256,3] take about 4.6 GiB"),
        ("I have 1.2m samples of (300, 64)\n", "1,200,000 samples of 300 x 64 take about 21 GiB"),
    ],
)
def test_a_set_is_counted_as_one_array(text: str, said: str) -> None:
    report = explained(text + KILLED)
    assert said in report.verdict
    assert report.findings[0].rule == "data-set-in-ram"
    assert {"map-the-file", "narrow-array"} <= {action.remedy.slug for action in report.actions}


@pytest.mark.parametrize(
    "text",
    [
        "I load 400 images of 224x224x3 with np.load.\n",  # too few to fill anything
        "I load 2000 images of 64x64x3 with np.load.\n",  # 94 MiB in float32
        "40000 images of 224x224x3, train = datagen.flow_from_directory('data')\n",  # read in parts
        "agent = Agent(sess, hidden_layers_sizes=[512, 1024, 2048, 1024, 512])\n",  # a number for each layer
        "mlp_units = [1024, 512, 512, 256]\n",
        "The kernels are 512x512x3, at step 40000\n",  # no count of samples
        "",
    ],
)
def test_other_sizes_are_not(text: str) -> None:
    assert "data-set-in-ram" not in {each.rule for each in explained(text + KILLED).findings}


def test_a_request_with_a_size_is_explained_by_it() -> None:
    text = (
        "I load 40000 images of 224x224x3.\nnumpy.core._exceptions.MemoryError: Unable to allocate 44.9 GiB"
        " for an array with shape (40000, 224, 224, 3) and data type float64\n"
    )
    assert "data-set-in-ram" not in {each.rule for each in explained(text).findings}


def test_the_float64_of_a_division_is_twice_float32() -> None:
    report = explained("I load 40000 images of 224x224x3.\n" + KILLED)
    (action,) = (each for each in report.actions if each.remedy.slug == "narrow-array")
    assert "(about 45 GiB)" in action.remedy.text and "22 GiB as float32" in report.verdict


_LIST = (
    "X = []\n"
    "for name in os.listdir('train'):\n"
    "    img = cv2.imread(os.path.join('train', name))\n"
    "    img = cv2.resize(img, (IMG_SIZE, IMG_SIZE))\n"
    "    X.append(img)\n"
    "X = np.array(X)\n"
)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("IMG_SIZE = 512\n", "There are 9000 images.\n", "9,000 images of 512 x 512 x 3 (line 5 adds"),
        ("IMG_SIZE = 224\n", "It is about 28.7k training pictures.\n", "28,700 pictures of 224 x 224 x 3"),
        ("IMG_SIZE = 512\n", "There are 9000 grayscale images.\n", "9,000 images of 512 x 512 x"),
    ],
)
def test_images_that_code_collects_are_counted(before: str, after: str, said: str) -> None:
    report = explained(before + _LIST + after + KILLED)
    assert said in report.verdict
    assert "image_dataset_from_directory" in (report.actions[0].remedy.code or "")


@pytest.mark.parametrize(
    ("before", "code", "after"),
    [
        ("IMG_SIZE = 512\n", _LIST, "There are 90 images.\n"),
        ("IMG_SIZE = 512\n", _LIST, "There are two kinds.\n"),
        ("", _LIST, "There are 9000 images.\n"),
        ("IMG_SIZE = 512\n", _LIST.replace("append(img)", "append(feature)"), "There are 9000 images.\n"),
        ("IMG_SIZE = 512\n", _LIST.replace("X.append(img)", "yield img"), "There are 9000 images.\n"),
    ],
)
def test_images_that_no_list_holds_are_not(before: str, code: str, after: str) -> None:
    assert "x 512 x 3" not in explained(before + code + after + KILLED).verdict


def test_an_array_that_is_made_of_floats_is_counted_as_such() -> None:
    text = (
        "IMG_SIZE = 512\n" + _LIST.replace("array(X)", "array(X, dtype='float32')") + "We have 9000 images.\n"
    )
    assert "take about 26 GiB as float32" in explained(text + KILLED).verdict
