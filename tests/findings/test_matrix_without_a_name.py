"""A matrix that a sentence alone tells of: a weight by its shape or by the summary, or nothing."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.finding import Finding

ALONE = "ResourceExhaustedError: OOM when allocating tensor with shape[{}] and type float"
SUMMARY = """
Layer (type)                    Output Shape         Param #     Connected to
input_4 (InputLayer)            (None, 100)          0
words (Embedding)               (None, 100, 200)     34232800    input_4[0][0]
conv1d_4 (Conv1D)               (None, 99, 32)       12832       words[0][0]
"""


def found(text: str) -> list[Finding]:
    return [each for each in explained(text).findings if each.rule == "matrix-without-a-name"]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("25088,4096", "a map of 7 x 7 with 512 channels): 392.00 MiB"),
        ("320000,512", "most likely the kernel of a fully connected layer behind Flatten"),
        ("171163,200", "a fully connected layer), or so many rows given to one call: 130.59 MiB"),
        ("2304,384", ""),  # 3.38 MiB: it fails for what else is held
        ("65536,512", ""),  # a power of two may be positions of a batch
        ("99991,512", ""),
        ("4096,25088", ""),
        ("512,25088,4", ""),
    ],
)
def test_the_shape_tells_a_weight_where_it_can(shape: str, said: str) -> None:
    told = found(ALONE.format(shape))
    assert bool(told) is bool(said)
    assert said in (told[0].because if told else "")


def test_rows_that_are_a_batch_of_positions_are_no_weight() -> None:
    assert found("batch_size=512\n" + ALONE.format("262144,800")) == []  # 512 positions of each
    assert found("batch_size=32\n" + ALONE.format("320000,512"))  # 10,000 would be many


def test_a_named_op_says_more_than_the_shape() -> None:
    assert found(ALONE.format("25088,4096") + "\n\t [[{{node dense_3/MatMul}}]]") == []
    assert found("net.py:19: in build\n" + ALONE.format("25088,4096"))


def test_without_a_type_the_bytes_are_those_of_float32() -> None:
    text = (
        "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[18432,3072]"
    )
    told = found(text)[0]
    assert "216.00 MiB in float32" in told.because
    assert told.remedies[1].saves_bytes is None


def test_half_the_units_save_half_the_matrix() -> None:
    narrower = found(ALONE.format("25088,2048"))[0].remedies[1]
    assert narrower.slug == "narrower-layer" and narrower.saves_bytes == 98 << 20
    assert "2,048 -> 1,024" in narrower.text


def test_the_layer_is_found_by_its_parameters() -> None:
    look = found(ALONE.format("25088,2048"))[0].remedies[2]
    assert "51,380,224 parameters, or 51,382,272 with a bias" in look.text


def test_a_row_of_the_summary_is_proof() -> None:
    told = found(ALONE.format("171164,200") + SUMMARY)[0]
    assert "as many numbers as the weights of `words` (line 4)" in told.because
    assert [each.slug for each in told.remedies] == ["smaller-vocabulary"]
    assert "a weight (" in found(ALONE.format("171100,200") + SUMMARY)[0].because


def test_all_layers_with_as_many_parameters_are_named() -> None:
    row = "words (Embedding)               (None, 100, 200)     34232800    input_4[0][0]\n"
    twice = SUMMARY.replace(row, row + row.replace("words", "label"))
    assert "one of `words`, `label`" in found(ALONE.format("171164,200") + twice)[0].because


def test_rows_of_a_summary_of_one_width_are_lines_of_their_own() -> None:
    padded = "\n".join(line.ljust(100) for line in SUMMARY.splitlines())
    rows = explained(ALONE.format("171164,200") + padded).case.capture.surroundings.summary
    assert [row[:3] for row in rows] == [
        ("input_4", "InputLayer", 0),
        ("words", "Embedding", 34_232_800),
        ("conv1d_4", "Conv1D", 12_832),
    ]


CODE = """
```python
step = {step}
for i in range(0, len(lines), step):
    out.append(encoder(lines[i : i + step]))
```
"""


def test_without_a_layer_the_first_action_tells_a_weight_from_rows() -> None:
    slugs = [each.slug for each in found(ALONE.format("171163,200"))[0].remedies]
    assert slugs == ["find-the-layer", "narrower-layer", "smaller-vocabulary"]
    table = ALONE.format("171163,200") + "\nx = Embedding(len(words), 200)(x)\n"
    told = found(table)[0]
    assert "most likely a weight: an embedding table" in told.because


@pytest.mark.parametrize(
    ("step", "said"),
    [(50_000, "50,000 -> 1,000, so that this takes 48.83 MiB"), (8, "here 320,001 a text on average")],
)
def test_texts_that_are_turned_into_vectors_give_a_row_for_each_word(step: int, said: str) -> None:
    text = "I embed all sentences of a corpus\n" + ALONE.format("2560008,250") + CODE.format(step=step)
    told = found(text)[0]
    assert f"2,560,008 words (tokens) of the {step:,} texts of one call" in told.because
    assert said in told.remedies[0].text


def test_texts_of_a_training_or_beside_a_table_are_no_such_rows() -> None:
    text = "I embed all sentences of a corpus\n" + ALONE.format("2560008,250")
    assert "words (tokens) of all texts of one call" in found(text)[0].because
    for more in ("\nmodel.fit(x, y)\n", "\nx = Embedding(n, 250)(x)\n"):
        assert "tokens" not in found(text + more)[0].because
