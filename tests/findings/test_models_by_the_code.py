"""Models that a loop makes and keeps are counted by the code: many small ones are no large layer."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.model.report import Report

MIB = 1 << 20
CODE = """
import tensorflow as tf
from tensorflow.keras import layers

def net():
    model = tf.keras.Sequential([
        layers.Input((2048,)),
        layers.Dense({units}, name="wide"),
        layers.Dense(1, name="last"),
    ])
    model.compile(optimizer="adam", loss="mse")
    return model

{keeps} = []
for fold in range({folds}):
    model = net()
    model.fit(x, y, batch_size=50)
    {keeps}.append({what})
"""
FULL = dump_by_size(400 * 1024, 600, (12, 48 * MIB), (3, 8 * MIB), allocator="cpu")


def report(units: int = 8192, folds: int = 5, what: str = "model") -> Report:
    keeps = "models" if what == "model" else "scores"
    return pipeline.explain(CODE.format(units=units, folds=folds, what=what, keeps=keeps) + FULL)


def test_kept_models_are_counted_with_their_slots() -> None:
    """64 MiB of weights, three times with Adam's slots, and five of them: more than the 600 MiB."""
    told = report()
    first = told.findings[0]
    assert first.rule == "models-kept" and first.explains == 600 * MIB
    assert "64 MiB of weights each, 190 MiB with Adam's slots; the 5 of the loop 960 MiB" in told.verdict
    assert told.actions[0].remedy.slug == "drop-models"
    assert not [each for each in told.findings if each.rule == "account-of-the-code"]


@pytest.mark.parametrize(
    ("after", "stored"),
    [
        ("top = models[best]\n", True),
        ("for each in models: print(each)\n", False),
        ("models[0] = None\n", False),
        ("", False),
    ],
)
def test_weights_that_are_used_later_go_to_a_file(after: str, stored: bool) -> None:
    told = pipeline.explain(CODE.format(units=8192, folds=5, what="model", keeps="models") + after + FULL)
    assert told.actions[0].remedy.slug == "drop-models"
    assert ("its weights in a file" in told.actions[0].remedy.text) is stored


@pytest.mark.parametrize(
    ("units", "folds", "what", "counted"),
    [
        (8192, 5, "model", True),
        (8192, 2, "model", False),  # two models are none too many
        (64, 5, "model", False),  # little of the limit
        (8192, 5, "float(score)", False),  # only numbers are kept
    ],
)
def test_when_kept_models_are_counted(units: int, folds: int, what: str, counted: bool) -> None:
    kept = [each for each in report(units, folds, what).findings if each.rule == "models-kept"]
    assert bool(kept and kept[0].explains) is counted


FOLDS_OF_DATA = CODE.replace("range({folds})", "folds_of(x)")


@pytest.mark.parametrize(
    ("what", "dump", "explains"),
    [
        ("model", FULL, 12 * 48 * MIB),  # more than a weight, its gradient and two slots; 3 blocks are none
        ("model", dump_by_size(400 * 1024, 600, (4, 130 * MIB), (9, MIB), allocator="cpu"), None),
        ("float(score)", FULL, None),
    ],
)
def test_equal_blocks_tell_of_models_whose_number_the_code_does_not_tell(
    what: str, dump: str, explains: int | None
) -> None:
    keeps = "models" if what == "model" else "scores"
    told = pipeline.explain(FOLDS_OF_DATA.format(units=8192, what=what, keeps=keeps) + dump)
    kept = [each for each in told.findings if each.rule == "models-kept"]
    assert (kept[0].explains if kept else None) == explains
    assert not explains or told.actions[0].remedy.slug == "drop-models"


def test_a_weight_of_which_a_loop_keeps_many_is_not_all_of_one_model() -> None:
    """The kernel, 48 MiB, is held twelve times: four of them are the one model's, and it is no cause."""
    code = FOLDS_OF_DATA.format(units=6144, what="model", keeps="models")
    told = pipeline.explain(code + dump_by_size(48 * MIB, 700, (12, 48 * MIB), (3, 8 * MIB), allocator="cpu"))
    weight = next(each for each in told.findings if each.rule == "made-by-the-code")
    assert weight.explains == (4 + 1) * 48 * MIB and "which a loop keeps" in weight.headline
    assert told.findings[0].rule == "models-kept"


def beside_results(first: str, made: str) -> Report:
    """Models of folds in one list, and something else of each fold in another above it."""
    code = FOLDS_OF_DATA.format(units=8192, what="model", keeps="models").replace(
        "    models.append(model)", f"    {made}\n    {first}\n    models.append(model)"
    )
    return pipeline.explain(f"firsts = []\n{code}{FULL}")


@pytest.mark.parametrize(
    ("first", "made"),
    [
        ("firsts.append(quality)", "loss, quality = model.evaluate(x, y)"),
        ("firsts.append(quality[1])", "quality = model.evaluate(x, y)"),
        ("firsts.append(model.evaluate(x, y))", ""),
        ("firsts.append(kappa)", "kappa = agreement(model, x)"),  # of a size that nobody knows
    ],
)
def test_figures_of_a_fold_weigh_less_than_its_model(first: str, made: str) -> None:
    told = beside_results(first, made)
    assert told.findings[0].rule == "models-kept" and "`models`" in told.verdict
    assert "kept-by-a-loop" not in [each.rule for each in told.findings]
    assert told.actions[0].remedy.slug == "drop-models"


def test_results_of_folds_without_a_list_of_models_are_still_told() -> None:
    code = FOLDS_OF_DATA.format(units=8192, what="maps", keeps="scores").replace(
        "    scores.append", "    maps = model(x)\n    scores.append"
    )
    assert "`scores`" in pipeline.explain(code + FULL).verdict


ENSEMBLE = """
import tensorflow as tf
from tensorflow.keras import layers

class Block(layers.Layer):
    def __init__(self, width, **kw):
        super().__init__(**kw)
        self.fc = layers.Dense(width)
    def call(self, x):
        return x + self.fc(x)

def net():
    x = x_in = tf.keras.Input((64,))
    x = layers.Dense(2048, name="stem")(x)
    for _ in range(3):
        x = Block(2048)(x)
    model = tf.keras.Model(x_in, layers.Dense(1, name="last")(x))
    model.compile(optimizer="adam", loss="mse")
    return model

class Ensemble:
    def __init__(self):
        self.models = []
    def fit(self, x, y):
        for i in range(5):
            model = net()
            model.fit(x, y, batch_size=50)
            self.models.append(model)
    def all(self, x):
        {asks}

Ensemble().fit(x, y)
"""


@pytest.mark.parametrize(
    ("asks", "later"),
    [
        ("return np.stack([m.predict(x) for m in self.models])", True),
        ("return np.stack([m(x) for m in self.models])", True),
        ("return [m.name for m in self.models]", False),
    ],
)
def test_models_of_several_blocks_are_counted_whole(asks: str, later: bool) -> None:
    """Three blocks of 16 MiB and a stem of 512 KiB: 49 MiB each, and five of them."""
    full = dump_by_size(16 * MIB, 600, (36, 16 * MIB), (3, 8 * MIB), allocator="cpu")
    told = pipeline.explain(ENSEMBLE.format(asks=asks) + full)
    assert "49 MiB of weights each" in told.verdict and "the 5 of the loop" in told.verdict
    remedy = told.actions[0].remedy
    assert remedy.slug == "drop-models"
    assert ("load one file after another into one model" in remedy.text) is later
    assert ("only its figures" in remedy.text) is not later
