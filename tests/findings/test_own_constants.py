"""The constant of the program that makes a side of the failed tensor: by its value and by its use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support import own_constant
from tfmemlens.findings.support.actions import _with_the_constant
from tfmemlens.knowledge.program_constants import ProgramConstants
from tfmemlens.model.finding import Action, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.report import Report
from tfmemlens.readers.program import read_program

LAGS = """\
import tensorflow as tf
SERIES_PER_STEP = 4
MAX_LAG, WIDTH = 96, 160
KINDS = 48
WINGS = 96


class Lagged(tf.keras.layers.Layer):
    def __init__(self, most, **kw):
        super().__init__(**kw)
        self.most = most

    def call(self, x):
        parts = []
        for lag in range(self.most):
            parts.append(shifted(x, lag))
        return tf.stack(parts, axis=1)


def shifted(x, lag):
    return tf.pad(x, [[0, 0], [lag, 0]])[:, :WIDTH]


def scores(x):
    return tf.keras.layers.Dense(KINDS, name="kind")(x)


def loss(x, kinds):
    return scores(x) * tf.one_hot(kinds, KINDS)


net = Lagged(most=MAX_LAG, name="lagged")
"""


def program(code: str) -> Program:
    lines = tuple(
        Line(number, text, "lag.py") for number, text in enumerate(code.splitlines(), 1) if text.strip()
    )
    return read_program(lines)


def found(code: str, shape: tuple[int, ...], *starts: str, batch: int | None = None) -> str | None:
    constant = own_constant._found(program(code), shape, starts, batch)
    return constant.name if constant else None


def test_the_constants_of_a_line_are_reached_through_loops_attributes_and_arguments() -> None:
    reached = ProgramConstants(program(LAGS)).at_line("lag.py", 17)
    assert [each.constant.name for each in reached] == ["MAX_LAG", "WIDTH"], "the nearest first"
    assert [each.constant.name for each in ProgramConstants(program(LAGS)).of_layer("kind")] == ["KINDS"]


def test_a_name_that_is_set_twice_is_no_constant() -> None:
    twice = LAGS + "KINDS = 3\n"
    assert "KINDS" not in ProgramConstants(program(twice)).constants


@pytest.mark.parametrize(
    ("shape", "start", "name"),
    [
        ((4, 96, 160, 24), "/home/me/lag.py:17", "MAX_LAG"),  # WINGS has that value, and no use here
        ((4, 96, 160, 24), "lagged", "MAX_LAG"),
        ((4, 160, 24), "lag.py:17", "WIDTH"),
        ((4, 95, 24), "lag.py:17", None),
        ((96, 160), "lag.py:25", None),
        ((4, 300, 48), "lag.py:25", None),  # the kinds that the task tells apart
        ((4, 96, 160, 24), "other.py:17", None),
    ],
)
def test_a_constant_is_named_by_value_and_use(shape: tuple[int, ...], start: str, name: str | None) -> None:
    assert found(LAGS, shape, start) == name


FLAT = """\
BATCH, FRAMES, LABELS = 8, 100, 24
PIECES = 2_000
scores = tf.reshape(x, [BATCH * FRAMES * LABELS * PIECES])
"""


def test_a_flat_tensor_is_a_product_of_constants_in_one_way_only() -> None:
    assert found(FLAT, (8 * 100 * 24 * 2000,), "lag.py:3") == "PIECES"
    assert found(FLAT, (8 * 100 * 24 * 1999,), "lag.py:3") is None
    twice = FLAT.replace("PIECES]", "PIECES * MORE]") + "MORE = 2000\n"
    assert found(twice, (8 * 100 * 24 * 2000,), "lag.py:3") is None


DRAWN = """\
NEGATIVES = 500
HISTORY = 12
rows = tf.gather(table, tf.random.uniform([n, NEGATIVES], 0, 9, tf.int32) + HISTORY)
"""


def test_most_rows_of_a_sample_come_from_one_constant() -> None:
    constant = own_constant._found(program(DRAWN), (64 * 513, 96), ["lag.py:3"], 64)
    assert constant is not None and constant.name == "NEGATIVES"
    assert constant.says == "32,832 rows are 64 samples x 513, of which 500 are `NEGATIVES`"
    assert constant.part == pytest.approx(500 / 513)
    assert found(DRAWN, (64 * 700, 96), "lag.py:3", batch=64) is None, "most would be others"
    assert found(DRAWN, (64 * 513, 96), "lag.py:3") is None, "nobody knows the batch"


def explained(tmp_path: Path, shape: str, extra: str = "") -> Report:
    code = tmp_path / "lag.py"
    code.write_text(LAGS + extra)
    log = tmp_path / "log.txt"
    frames = (
        'Traceback (most recent call last):\n  File "lag.py", line 17, in call\n'
        "    return tf.stack(parts, axis=1)\n"
    )
    log.write_text(frames + oom(shape, "Pack"))
    return pipeline.explain([str(log), str(code)])


def test_it_is_advised_with_what_is_left(tmp_path: Path) -> None:
    report = explained(tmp_path, "4,96,1600,2400")
    (advised,) = [each.remedy for each in report.actions if each.remedy.slug == "lower-constant"]
    assert advised.text.startswith("lower `MAX_LAG` (line 3 of lag.py): 96 -> 48; it is the 96 of")
    assert "then takes 2.75 GiB instead of 5.49 GiB" in advised.text
    assert advised.saves_bytes == 4 * 48 * 1600 * 2400 * 4


@pytest.mark.parametrize(
    ("rule", "headline", "first"),
    [
        ("memory-shortage", "10 MiB short", "lower-constant"),
        ("kept-by-a-loop", "`parts` keeps every result", "lower-constant"),  # the failing line joins them
        ("kept-by-a-loop", "`history` keeps every result", "keep-numbers"),
        ("held-by-python", "`net.lagged.history` holds 4 tensors", "keep-numbers"),
        ("held-by-python", "`net.lagged.parts` holds 4 tensors", "lower-constant"),
    ],
)
def test_what_grows_elsewhere_is_ended_first(tmp_path: Path, rule: str, headline: str, first: str) -> None:
    case = explained(tmp_path, "4,96,1600,2400").case
    growing = Finding(Severity.CAUSE, headline, "explained", rule=rule)
    actions = [
        Action(Remedy("keep numbers", slug="keep-numbers"), ()),
        Action(Remedy("lower it", slug="lower-constant"), ()),
    ]
    told = _with_the_constant(case, [growing], actions)
    assert told[0].remedy.slug == first
    assert len(told) == 2


def test_what_leaves_nothing_of_the_tensor_goes_before(tmp_path: Path) -> None:
    case = explained(tmp_path, "4,96,1600,2400").case
    actions = [
        Action(Remedy("look it up", slug="look-up-by-index"), ()),
        Action(Remedy("lower it", slug="lower-constant"), ()),
    ]
    assert _with_the_constant(case, [], actions) == actions


PHOTOS = """\
import numpy as np
import tensorflow as tf
PHOTO = 128
BATCH = 16
photos = np.zeros((220, PHOTO, PHOTO, 1), "float32")
"""


def _of_photos(tmp_path: Path, call: str, shape: str = "220,128,128,32") -> list[str | None]:
    code, log = tmp_path / "photos.py", tmp_path / "photos.log"
    code.write_text(PHOTOS + call + "\n")
    number = len(code.read_text().splitlines())
    frames = (
        f'Traceback (most recent call last):\n  File "photos.py", line {number}, in <module>\n    {call}\n'
    )
    log.write_text(frames + oom(shape, "model/full_res/Conv2D"))
    report = pipeline.explain([str(log), str(code)])
    return [action.remedy.text for action in report.actions]


@pytest.mark.parametrize(
    ("call", "shape", "lowers"),
    [
        ("probabilities = model.predict(photos, batch_size=len(photos))", "220,128,128,32", False),
        ("model.fit(photos, photos, batch_size=len(photos))", "220,128,128,32", True),
        ("probabilities = model.predict(photos, batch_size=2)", "2,128,128,3200", True),
    ],
)
def test_fewer_samples_of_a_prediction_go_before_smaller_ones(
    tmp_path: Path, call: str, shape: str, lowers: bool
) -> None:
    """Near misses: a training, and two samples at once."""
    texts = _of_photos(tmp_path, call, shape)
    assert any("lower `PHOTO`" in (text or "") for text in texts) is lowers
