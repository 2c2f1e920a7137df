"""Bytes that are a product of numbers of the text, to the byte."""

import pytest

from tests.findings.test_near_misses import _PAIRS
from tfmemlens import pipeline
from tfmemlens.findings import bytes_of_the_text, ended_after_a_warning, pairs_by_the_line
from tfmemlens.model.case import Case
from tfmemlens.readers.formats import oom_log

ASKED = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Ran out of GPU memory when allocating"
    " {bytes} bytes for \n"
    "\t [[{{{{node loss/xent}}}} = SoftmaxCrossEntropyWithLogits[T=DT_FLOAT, _device="
    '"/job:localhost/replica:0/task:0/device:GPU:0"](loss/Reshape, loss/Reshape_1)]]\n{numbers}\n'
)


def case(text: str) -> Case:
    return pipeline.case(oom_log.read_lines(list(enumerate(text.splitlines(), 1))))


def test_bytes_without_a_shape_are_told_by_the_numbers_of_the_text() -> None:
    numbers = "vocab_size 21000, batch_size 96, max_len 70"
    text = ASKED.format(bytes=21000 * 96 * 70 * 4, numbers=numbers)
    (seen,) = bytes_of_the_text.check(case(text))
    assert "21,000 (`vocab_size`)" in seen.because and "float32" in seen.because
    assert [each.slug for each in seen.remedies] == ["smaller-batch", "smaller-input"]
    assert "halve `batch_size`" in seen.remedies[0].text
    near = ASKED.format(bytes=21000 * 96 * 70 * 4 + 4, numbers=numbers)
    assert not list(bytes_of_the_text.check(case(near)))
    assert not list(bytes_of_the_text.check(case(text.replace("96", "48"))))


ENDED = """tcmalloc: large alloc {bytes} bytes == 0x5ab0c0000 @  0x7f8 0x7f9
the session of Colab then crashes, it has used all RAM.
scans = np.array([load_img(p, target_size=(288, 352)) for p in paths])   # 5100 scans
"""


def test_a_large_request_is_told_by_the_numbers_of_the_text() -> None:
    text = ENDED.format(bytes=5100 * 288 * 352 * 3 * 4)
    (seen,) = ended_after_a_warning.check(case(text))
    assert (
        "5,100 (`scans`) x 288 x 352 x 3" in seen.headline and "from_tensor_slices" in seen.remedies[0].code
    )
    (seen,) = ended_after_a_warning.check(case(ENDED.format(bytes=5100 * 288 * 352 * 3 * 4 + 8)))
    assert "to the byte" not in seen.headline


@pytest.mark.parametrize(
    "line, fires",
    [
        ("feats[:, tf.newaxis, :] - feats[tf.newaxis, :, :]", True),
        ("tf.expand_dims(feats, 1) - tf.expand_dims(feats, 0)", True),
        ("feats[:, None] * feats[None]", True),
        ("feats[:, None, :] - means[None, :, :]", False),  # of another array nothing is stated
        ("feats - tf.reduce_mean(feats)", False),
    ],
)
def test_pairs_of_rows_by_the_failing_line(line: str, fires: bool) -> None:
    found = list(pairs_by_the_line.check(case(_PAIRS.format(line=line, rows=5000))))
    assert bool(found) is fires
    if found:
        assert "[5000,5000,96] takes 8.94 GiB" in found[0].because
