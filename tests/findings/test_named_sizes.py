"""What the sizes of a failed tensor are, by the numbers that the text names."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings.support.named_sizes import Meaning, in_words, meaning_of, named_sizes
from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.line import Line


def stated(**sizes: int | tuple[int, ...]) -> Surroundings:
    numbered = enumerate(sizes.items(), start=1)
    return Surroundings(
        sizes=tuple(
            StatedSize(name, size if isinstance(size, tuple) else (size,), Line(number, name))
            for number, (name, size) in numbered
        )
    )


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("batch_size", Meaning.BATCH),
        ("train_batch_size", Meaning.BATCH),
        ("bs", Meaning.BATCH),
        ("max_length", Meaning.LENGTH),
        ("maxlen", Meaning.LENGTH),
        ("max_seq_length", Meaning.LENGTH),
        ("vocab_size", Meaning.WORDS),
        ("image_size", Meaning.IMAGE),
        ("max_dimension", Meaning.IMAGE),
        ("batch-size", Meaning.BATCH),
        ("batch size", Meaning.BATCH),
        ("max-seq-length", Meaning.LENGTH),
        ("number of classes", Meaning.WORDS),
        ("hidden_dim", Meaning.OTHER),
        ("buffer_size", Meaning.OTHER),
        ("size_of_kernel", Meaning.OTHER),
    ],
)
def test_what_a_name_counts(name: str, meaning: Meaning) -> None:
    assert meaning_of(name) is meaning


@pytest.mark.parametrize(
    ("shape", "sizes", "words"),
    [
        (
            (64, 128, 768),
            {"batch_size": 64, "maxlen": 128},
            "64 is `batch_size` (line 1) and 128 is `maxlen` (line 2)",
        ),
        ((8, 512, 512, 32), {"input_shape": (512, 512, 3)}, "512 x 512 are `input_shape` (line 1)"),
        # strides halve the sides, all of them as often
        (
            (1, 375, 750, 1088),
            {"min_dimension": 1500, "max_dimension": 3000},
            "375 is 1500 (`min_dimension`, line 1) / 4 and 750 is 3000 (`max_dimension`, line 2) / 4",
        ),
        ((8, 113, 113, 32), {"image_size": 225}, "113 x 113 are 225 (`image_size`, line 1) / 2"),
        # a batch times a length, and a batch over several devices
        (
            (1536, 4096),
            {"batch": 4, "max_length": 384},
            "1536 is 4 (`batch`, line 1) x 384 (`max_length`, line 2)",
        ),
        (
            (128, 56, 56, 64),
            {"batch": 512, "devices": 4},
            "128 is 512 (`batch`, line 1) over 4 (`devices`, line 2)",
        ),
        # columns of data are steps where features stand behind them; of a matrix they are the features
        ((32, 512, 3072), {"x": (100_000, 512)}, "512 is the length in `x` (line 1)"),
        ((2048, 1024), {"x": (2048, 1024)}, ""),
        # numbers that mean something else, or that stand elsewhere, name nothing
        ((64, 128, 768), {"hidden": 768, "epochs": 64, "seed": 128}, ""),
        ((64, 128), {"image_size": 128}, ""),
        ((12, 12, 8), {"batch_size": 12}, "12 is `batch_size` (line 1)"),
        ((8, 12, 12), {"max_len": 12}, ""),
        ((32, 64, 64, 8), {"batch_size": 64}, ""),
        ((8, 113, 113, 32), {"image_size": 150}, ""),
        ((8, 80, 60, 32), {"image_size": 512}, ""),  # 32 channels are no side
        ((1536, 4096), {"batch": 4, "max_length": 384, "seq_len": 768, "batch_size": 2}, ""),
    ],
)  # fmt: skip
def test_which_sizes_are_named(
    shape: tuple[int, ...], sizes: dict[str, int | tuple[int, ...]], words: str
) -> None:
    named = named_sizes(shape, stated(**sizes))
    assert (in_words(named) if named else "") == words


def test_the_text_of_the_failure_itself_names_nothing() -> None:
    line = Line(1, "OOM when allocating tensor with shape[64,128,768]")
    assert not named_sizes((64, 128, 768), Surroundings(sizes=(StatedSize("maxlen", (128,), line),)))


BERT = "enc = tokenizer(texts, max_length=384)\nmodel.fit(ds, batch_size=16)\n"


def test_a_page_says_what_the_sizes_are_and_where_to_lower_them() -> None:
    told = explained(BERT + oom("16,384,4096", "bert/layer_3/intermediate/Gelu/Erf"))
    assert "16 is `batch_size` (line 2) and 384 is `max_length` (line 1)" in told.verdict
    assert "lower `max_length` (line 1: 384)" in told.actions[0].remedy.text


@pytest.mark.parametrize(
    "text",
    [
        BERT + oom("16,384", "bert/layer_3/intermediate/Gelu/Erf"),  # 24 KiB
        BERT + oom("16,4096,4096", "bert/layer_3/intermediate/Gelu/Erf"),  # only the batch
        BERT + oom("384,4096", "bert/position/embeddings/Initializer/random_uniform"),  # a weight
    ],
)
def test_where_little_is_named_the_page_says_no_such_thing(text: str) -> None:
    assert "`max_length` (line" not in explained(text).verdict


def test_a_tensor_that_is_large_alone_says_what_its_sizes_are() -> None:
    text = "IMG_SIZE = 600\nBATCH_SIZE = 32\n" + oom("32,300,300,192", "net/expand_conv/Conv2D")
    verdict = explained(text).verdict
    assert "alone takes 2.06 GiB; 32 is `BATCH_SIZE` (line 2) and 300 x 300 are 600 (`IMG_SIZE`" in verdict
    assert "; " not in explained(oom("32,300,300,192", "net/expand_conv/Conv2D")).verdict


@pytest.mark.parametrize("name", ["validation_steps", "train_steps", "min_words_seen"])
def test_a_count_of_batches_is_no_length(name: str) -> None:
    assert meaning_of(name) is not Meaning.LENGTH


@pytest.mark.parametrize("name", ["n_steps", "max_tokens", "num_frames", "frames", "my_num_words_kept"])
def test_a_count_of_steps_of_a_sample_is(name: str) -> None:
    assert meaning_of(name) is not Meaning.BATCH


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        # rows of attention and what each head is wide are no sides of an image
        ((64, 256, 8, 256), {"image_size": 1024}),
        ((64, 256, 8, 256), {"image_size": 256}),
    ],
)
def test_sides_of_an_image_stand_side_by_side(
    shape: tuple[int, ...], sizes: dict[str, int | tuple[int, ...]]
) -> None:
    assert not any(each.meaning is Meaning.IMAGE for each in named_sizes(shape, stated(**sizes)))


@pytest.mark.parametrize(
    ("says", "named"),
    [
        ("image: 1024", True),
        ("Patches per image: 1024", False),
        ("tokens in each image: 1024", False),
    ],
)
def test_what_is_counted_for_each_image_is_no_size_of_it(says: str, named: bool) -> None:
    text = f"{says}\n{oom('16,256,256,64', 'model/conv/Conv2D')}"
    assert ("1024 (`image`, line 1) / 4" in explained(text).verdict) is named


@pytest.mark.parametrize(("node", "named"), [("model/up/Conv2D", True), ("model/mha/einsum/Einsum", False)])
def test_products_of_matrices_have_no_sides(node: str, named: bool) -> None:
    text = f"image_size = 256\n{oom('32,8,256,256', node)}"
    assert ("`image_size` (line 1)" in explained(text).verdict) is named
