"""The search for the largest batch that runs, and what it makes of models and of a trial's words: without
TensorFlow.
"""

from __future__ import annotations

import json
import os
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.try_batches import (
    MOST_BATCH,
    MOST_TRIALS,
    TIMES,
    array_of,
    compile_config,
    compiled,
    deserialized,
    heard,
    how_it_ended,
    losses_of,
    metrics_of,
    open_lengths,
    reach,
    rows_of_tables,
    search,
)

NEST = SimpleNamespace(nest=SimpleNamespace(flatten=list))
BFC = b"Allocator (cpu) ran out of memory trying to allocate 8.0KiB"


class Machine:
    """Batches up to `largest` run, but for those of a gap, at so many bytes a sample; `flaky` ones only the
    first time.
    """

    def __init__(
        self,
        largest: int,
        flaky: tuple[int, ...] = (),
        each: int = 10,
        fixed: int = 0,
        gap: range = range(0),
    ) -> None:
        self.largest, self.flaky, self.each, self.fixed, self.gap = largest, flaky, each, fixed, gap
        self.asked: list[int] = []

    def runs(self, batch: int) -> bool:
        return batch <= self.largest and batch not in self.gap

    def __call__(self, batch: int) -> dict[str, Any]:
        again = batch in self.asked
        self.asked.append(batch)
        if not self.runs(batch) or (again and batch in self.flaky):
            return {"ran": False}
        return {"ran": True, "peak": self.fixed + batch * self.each}


@pytest.mark.parametrize("largest", [1, 2, 3, 17, 45, 92, 100])
@pytest.mark.parametrize("start", [1, 32, 93, 400])
def test_the_largest_is_found_to_the_sample(largest: int, start: int) -> None:
    machine = Machine(largest)
    assert search(machine, start, largest * 10 + 5, MOST_BATCH) == "found"
    assert machine.asked.count(largest) == 3
    assert largest + 1 in machine.asked
    assert len(machine.asked) < 22


def test_many_samples_are_found_to_a_fiftieth() -> None:
    machine = Machine(12_345)
    assert search(machine, 9_000, 123_459, MOST_BATCH) == "found"
    low = max(batch for batch in machine.asked if batch <= 12_345)
    high = min(batch for batch in machine.asked if batch > 12_345)
    assert high - low <= low // 50


def test_none_runs() -> None:
    machine = Machine(0)
    assert search(machine, 8, 100, MOST_BATCH) == "found"
    assert machine.asked[-1] == 1


def test_a_batch_that_fails_the_second_time_does_not_count() -> None:
    machine = Machine(40, flaky=(40,))
    search(machine, 40, 405, MOST_BATCH)
    assert machine.asked.count(40) == 2
    assert machine.asked.count(39) == 3


def test_no_batch_is_larger_than_the_arrays() -> None:
    machine = Machine(500)
    assert search(machine, 100, 10**9, 120) == "found"
    assert machine.asked == [100, 120, 120, 120]


def test_the_search_begins_where_the_largest_likely_lies() -> None:
    machine = Machine(88)
    assert search(machine, 100, 880, MOST_BATCH, (80, 130)) == "found"
    assert machine.asked[:2] == [100, 80]
    assert len(machine.asked) < 20
    upwards = Machine(125, fixed=400)
    search(upwards, 100, 1_650, MOST_BATCH, (80, 110))
    assert upwards.asked[:3] == [100, 110, 125]  # the line of one peak leads further than is likely


def test_beyond_what_is_likely_a_quarter_more_is_tried() -> None:
    """A line through two peaks may lead anywhere."""
    machine = Machine(420, each=1)
    search(machine, 300, 10**6, MOST_BATCH, (250, 390))
    assert machine.asked[:3] == [300, 390, 487]
    unknown = Machine(420, each=1)
    search(unknown, 300, 10**6, MOST_BATCH)
    assert unknown.asked[:2] == [300, 600]


def test_a_batch_that_ran_once_leads_no_further_down_than_one_that_never_ran() -> None:
    machine = Machine(100, flaky=(100,))
    search(machine, 100, 1_001, MOST_BATCH)
    assert min(machine.asked) == 70


@pytest.mark.parametrize(
    "gap, largest, found",
    [
        (range(28, 32), 32, 32),  # 30 fails, too, and 32 is round
        (range(714, 730), 820, 820),
        (range(28, 40), 60, 27),  # nothing round is near enough above it
        (range(4, 5), 6, 3),  # of few samples a fifth is less than one
    ],
)
def test_a_larger_batch_than_one_that_failed(gap: range, largest: int, found: int) -> None:
    """A pool may serve it, since its tensors fit the gaps."""
    machine = Machine(largest, gap=gap)
    assert search(machine, gap[0], 10 * largest + 5, MOST_BATCH) == "found"
    often = {batch: machine.asked.count(batch) for batch in machine.asked if machine.runs(batch)}
    proven = max(batch for batch, times in often.items() if times == TIMES)
    assert found - found // 50 <= proven <= found


def test_a_larger_batch_that_ran_once_by_chance_does_not_count() -> None:
    machine = Machine(40, flaky=(30,), gap=range(28, 30))
    search(machine, 28, 405, MOST_BATCH)
    assert machine.asked.count(30) == 2
    assert machine.asked.count(27) == TIMES


def test_what_was_found_stays_when_the_time_ends() -> None:
    """Between the batches that are larger than one that failed, too."""
    asked: list[int] = []

    def attempt(batch: int) -> dict[str, Any]:
        asked.append(batch)
        if asked.count(27) == TIMES and batch > 28:
            return {"ran": None, "why": "time"}
        return {"ran": batch < 28, "peak": batch}

    assert search(attempt, 27, 1000, MOST_BATCH, (27, 28)) == "found"
    assert asked[-1] == 30


def test_trials_are_bounded() -> None:
    asked: list[int] = []

    def attempt(batch: int) -> dict[str, Any]:
        asked.append(batch)
        return {"ran": asked.count(batch) < 3, "peak": batch}

    assert search(attempt, 1 << 20, 1 << 21, MOST_BATCH) == "trials"
    assert len(asked) == MOST_TRIALS


@pytest.mark.parametrize(
    "status, said",
    [
        (11, "was ended by SIGSEGV"),
        (9, "was ended by SIGKILL (the machine's own memory ran out, most likely)"),
        (3 << 8, "ended with status 3 and without an answer"),
    ],
)
def test_how_a_process_ended(status: int, said: str) -> None:
    assert how_it_ended(status) == said


def test_what_cannot_be_tried_ends_it() -> None:
    assert search(lambda _: {"ran": None, "why": "time"}, 8, 100, MOST_BATCH) == "time"


def test_the_reach_is_a_line_through_two_peaks() -> None:
    assert reach({10: 100}, 200) == 20
    assert reach({10: 100, 20: 150}, 201) == 30
    assert reach({10: 100, 20: 100}, 100) == 21


def heard_of(words: bytes, answer: bytes = b"", seconds: float = 5) -> tuple[bytes, bool]:
    """What is heard of a process that says these words, answers so and ends."""
    reading, writing = os.pipe()
    hearing, saying = os.pipe()
    os.write(saying, words)
    if answer:
        os.write(writing, answer)
    os.close(writing)
    if seconds > 1:
        os.close(saying)
    found = heard(reading, hearing, time.monotonic() + seconds)
    for each in (reading, hearing, *([] if seconds > 1 else [saying])):
        os.close(each)
    return found


def test_an_allocator_that_gave_up_is_heard() -> None:
    refusal = BFC + b" (rounded to 8192)requested by op Relu\n"
    reading, writing = os.pipe()
    hearing, saying = os.pipe()
    os.write(saying, refusal)
    assert heard(reading, hearing, time.monotonic() + 5) == (b"", True)
    os.write(saying, BFC + b" with freed_by_count=0. The caller indicates that this is not a failure\n")
    os.close(saying)
    os.close(writing)
    assert heard(reading, hearing, time.monotonic() + 5) == (b"", False)
    os.close(reading)
    os.close(hearing)


def test_an_answer_and_an_end_without_one() -> None:
    assert heard_of(b"", b'{"ran": true}') == (b'{"ran": true}', False)
    assert heard_of(b"Killed\n") == (b"", False)


def test_a_trial_that_says_nothing_ends_with_the_time() -> None:
    reading, writing = os.pipe()
    hearing, saying = os.pipe()
    assert heard(reading, hearing, time.monotonic() + 0.05) == (b"", False)
    for each in (reading, writing, hearing, saying):
        os.close(each)


def dense(activation: str) -> Any:
    """A layer that ends a model."""
    return SimpleNamespace(name=f"of_{activation}", activation=SimpleNamespace(__name__=activation))


def test_a_loss_for_models_that_were_not_compiled() -> None:
    ends = [dense("softmax"), dense("linear")]
    model = SimpleNamespace(layers=ends, output_names=[each.name for each in ends])
    assert losses_of(model) == ["sparse_categorical_crossentropy", "mse"]
    assert losses_of(SimpleNamespace(layers=ends, output_names=["of_softmax"])) == losses_of(model)[0]
    assert losses_of(SimpleNamespace()) == "mse"
    softmax = type("Softmax", (), {"name": "softmax"})()
    assert losses_of(SimpleNamespace(layers=[softmax], output_names=["softmax"])) == losses_of(model)[0]


def test_how_a_file_was_compiled(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"compile_config": {"loss": "mse"}}))
    assert compile_config(str(tmp_path / "model.keras")) == {"loss": "mse"}
    (tmp_path / "model.json").write_text("{}")
    assert compile_config(str(tmp_path / "model.json")) == {}
    assert compile_config("my_models:build") == {}


def test_whole_inputs_stay_below_the_rows_of_their_table() -> None:
    words, other = SimpleNamespace(name="words"), SimpleNamespace(name="other")
    tables = [SimpleNamespace(input_dim=500, input=words), SimpleNamespace(input_dim=40, input="hidden")]
    model = SimpleNamespace(inputs=[other, words], layers=[*tables, SimpleNamespace(units=3)])
    assert rows_of_tables(NEST, model) == {None: 40, 1: 500}
    assert rows_of_tables(NEST, SimpleNamespace(inputs=[words], layers=[])) == {None: 2}


def test_open_lengths_are_filled_in() -> None:
    model = SimpleNamespace(inputs=[SimpleNamespace(shape=(None, None, 8)), SimpleNamespace(shape=(None, 4))])
    assert open_lengths(NEST, model, 50) == ["50x8", "4"]
    assert open_lengths(NEST, model, None) == []
    assert open_lengths(NEST, SimpleNamespace(inputs=None), 50) == ["50"]


def test_random_values_have_the_type_and_shape_that_is_asked_for() -> None:
    numpy = pytest.importorskip("numpy")
    draw = numpy.random.RandomState(1)
    whole = array_of(draw, SimpleNamespace(shape=(100, 3), dtype="int64"), 7)
    assert (whole.shape, str(whole.dtype), int(whole.max())) == ((100, 3), "int64", 6)
    parts = array_of(draw, SimpleNamespace(shape=(100,), dtype=SimpleNamespace(name="bfloat16")), 7)
    assert str(parts.dtype) == "float32"
    assert 0 <= parts.min() < parts.max() < 1
    assert {*array_of(draw, SimpleNamespace(shape=(50,), dtype="bool"), 7)} == {True, False}
    with pytest.raises(SystemExit, match="no random values can be made for an input of type string"):
        array_of(draw, SimpleNamespace(shape=(1,), dtype="string"), 7)


def test_what_a_file_tells_becomes_objects() -> None:
    kind = SimpleNamespace(deserialize=lambda told: f"a {told['class_name']}")
    sgd = {"class_name": "Custom>SGD", "config": {}}
    assert deserialized(kind, sgd) == "a Custom>SGD"
    assert deserialized(kind, {"out": sgd, "other": "mse"}) == {"out": "a Custom>SGD", "other": "mse"}
    assert deserialized(kind, [sgd, None]) == ["a Custom>SGD", None]
    assert deserialized(kind, None) is None


@pytest.mark.parametrize(
    "told, metrics",
    [
        (["accuracy"], ["accuracy"]),
        ({"a": ["mae"], "b": "mse"}, {"a": ["mae"], "b": "mse"}),
        (None, None),
        (
            [
                [
                    {
                        "class_name": "MeanMetricWrapper",
                        "config": {"name": "accuracy", "fn": "categorical_accuracy"},
                    }
                ]
            ],
            [["accuracy"]],
        ),
        ([{"class_name": "AUC", "config": {"name": "auc"}}, "acc"], ["an AUC", "acc"]),
        ([["acc", {"class_name": "Mine", "config": {"name": "mine"}}]], None),
    ],
)
def test_metrics_as_a_file_tells_them(told: Any, metrics: Any) -> None:
    def deserialize(each: dict[str, Any]) -> str:
        if each["class_name"] == "Mine":
            raise ValueError("Unknown metric function: Mine")
        return f"an {each['class_name']}"

    tf = SimpleNamespace(keras=SimpleNamespace(metrics=SimpleNamespace(deserialize=deserialize)))
    assert metrics_of(tf, told) == metrics


class Compiling:
    """A model that remembers how it was compiled."""

    optimizer: Any = None

    def compile(self, optimizer: Any, loss: Any, **rest: Any) -> None:
        self.optimizer, self.loss, self.rest = optimizer, loss, rest


@pytest.mark.parametrize(
    "asked, told, optimizer, loss, rest",
    [
        (None, {}, "made adam", "mse", {"metrics": None}),
        ("sgd", {}, "made sgd", "mse", {"metrics": None}),
        (
            None,
            {"optimizer": {"class_name": "SGD"}, "loss": "mae", "metrics": ["mse"], "jit_compile": True},
            "a SGD",
            "mae",
            {"metrics": ["mse"], "jit_compile": True},
        ),
        (
            "adamw",
            {"optimizer": {"class_name": "SGD"}, "loss": "mae"},
            "made adamw",
            "mae",
            {"metrics": None},
        ),
    ],
)
def test_a_model_is_compiled_as_its_file_says(
    asked: str | None,
    told: dict[str, Any],
    optimizer: str,
    loss: str,
    rest: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"compile_config": told}))
    building: Any = SimpleNamespace(
        load=lambda *_: Compiling(), make_optimizer=lambda _, name: f"made {name}"
    )
    monkeypatch.setitem(sys.modules, "trace_training_graph", building)
    kind = SimpleNamespace(deserialize=lambda each: f"a {each['class_name']}")
    tf = SimpleNamespace(keras=SimpleNamespace(optimizers=kind, losses=kind))
    args: Any = SimpleNamespace(model=str(tmp_path / "model.keras"), optimizer=asked)
    model = compiled(tf, args)
    assert (model.optimizer, model.loss, model.rest) == (optimizer, loss, rest)


def test_a_model_that_was_compiled_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Compiling()
    model.compile("its own", "its loss")
    building: Any = SimpleNamespace(load=lambda *_: model, make_optimizer=lambda _, name: f"made {name}")
    monkeypatch.setitem(sys.modules, "trace_training_graph", building)
    args: Any = SimpleNamespace(model="my_models:build", optimizer=None)
    assert compiled(SimpleNamespace(), args).optimizer == "its own"
    args.optimizer = "sgd"
    tf = SimpleNamespace(keras=SimpleNamespace(optimizers=None, losses=None))
    assert (compiled(tf, args).optimizer, model.loss) == ("made sgd", "its loss")
