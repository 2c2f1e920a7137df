"""What a text shows of its samples: a few that are far longer, texts in one array, one that is being read
when RAM runs out; and of searches whose trials share a process.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import text_bytes

LENGTHS = "TensorFlow on a GPU: ResourceExhaustedError, out of memory after one epoch. {}"
READS = """\
MemoryError
Traceback (most recent call last):
  File "model.py", line 1710, in data_generator
    use_mini_mask=config.USE_MINI_MASK)
  File "nucleus.py", line 238, in {name}
    mask = np.stack(mask, axis=-1)
"""
KILLED = """\
AutoKeras is killed
Out of memory: Killed process 9246 (python) total-vm:41532112kB, anon-rss:28066312kB, file-rss:0kB
import autokeras as ak
regressor = ak.StructuredDataRegressor(max_trials={trials})
regressor.fit(x=x, y=y)
"""
CHOSEN = """\
onmt-main --model_type Transformer --config toy.yaml --auto_config train --with_eval   # OpenNMT-tf
TensorFlow runs out of GPU memory when the summary is made.
train:
  batch_size: {batch}
"""


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def test_a_clip_far_longer_than_most_is_named() -> None:
    told = explained(LENGTHS.format("The longest clip is 147 seconds, most are below 15 seconds."))
    assert "the batch with the longest sample (147, where most have 15, line 1)" in told.verdict
    assert told.actions[0].remedy.text.startswith("leave out or split the samples")


@pytest.mark.parametrize(
    "said",
    ["The longest clip is 20 seconds, most are below 15 seconds.", "The longest clip is 147 seconds.", ""],
)
def test_lengths_alike_or_alone_tell_nothing(said: str) -> None:
    assert "longest sample" not in explained(LENGTHS.format(said)).verdict


@pytest.mark.parametrize("size", ["72.6 GiB for an ", ""])
def test_an_array_of_texts_has_the_size_of_its_longest(size: str) -> None:
    said = f"MemoryError: Unable to allocate {size}array with shape (18679895,) and data type <U1043"
    told = explained(said)
    assert "[18679895] <U1043 (72.58 GiB): NumPy gives each text room for 1,043 characters" in told.verdict
    assert told.actions[0].remedy.text.startswith("keep the texts as Python strings")


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("<U10", 40),
        ("|S20", 20),
        (">U1", 4),
        ("<f8", None),
        ("u8", None),
        ("<U", None),
        ("<U0", None),
        ("", None),
    ],
)
def test_the_bytes_of_a_text(dtype: str, size: int | None) -> None:
    assert text_bytes(dtype) == size


@pytest.mark.parametrize(
    ("name", "one"), [("load_mask", True), ("load_mask_of_all", True), ("prepare", True)]
)
def test_a_sample_that_is_read_is_no_whole_set(name: str, one: bool) -> None:
    told = explained(READS.format(name=name))
    assert ("one sample was being read" in told.verdict) is one
    assert told.actions[0].remedy.text.startswith("read fewer samples at once") is one


def test_a_function_that_reads_a_set_is_told_as_such() -> None:
    told = explained(READS.replace("data_generator", "main").format(name="load_all"))
    assert "one sample was being read" not in told.verdict
    assert told.actions[0].remedy.text.startswith("do not hold the whole data set")


@pytest.mark.parametrize(("trials", "many"), [(100, True), (3, False)])
def test_many_trials_of_a_killed_search_are_named(trials: int, many: bool) -> None:
    assert (f"`max_trials={trials}`" in explained(KILLED.format(trials=trials)).verdict) is many


@pytest.mark.parametrize(("batch", "chosen"), [(0, True), (3072, False)])
def test_a_batch_that_the_tool_chose_is_set_by_hand(batch: int, chosen: bool) -> None:
    told = explained(CHOSEN.format(batch=batch))
    assert any(action.remedy.text.startswith("set the batch yourself") for action in told.actions) is chosen
