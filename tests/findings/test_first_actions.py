"""What stands first can be done: the program's own line, a size, a command; no search and no double."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.answers import explained
from tests.findings.logs import oom
from tests.findings.test_edges_of_actions import advising, told_to
from tfmemlens import pipeline
from tfmemlens.findings.support import code_snippets
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.model.finding import Remedy

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "oom_log"


@pytest.mark.parametrize(
    ("sample", "slug"),
    [
        ("2.21-lenet-keras.txt", "smaller-batch"),  # few chunks are as large as the weight that failed
        ("2.11-adam-slots.txt", "smaller-model"),  # five of six are
        ("2.11-dataset-constant.txt", "in-batches"),
        ("2.11-layer-exception.txt", "smaller-batch"),  # its first dimension is the batch
        ("1.15-request-over-limit.txt", "in-blocks"),  # pairs of rows
        ("1.13-patches.txt", "smaller-batch"),
    ],
)
def test_the_first_action_of_a_sample(sample: str, slug: str) -> None:
    first = explained(SAMPLES / sample).actions[0].remedy
    assert first.slug == slug


def test_of_targets_against_predictions_the_shapes_come_first() -> None:
    code = '  File "train.py", line 7, in loss\n    return tf.reduce_mean(tf.square(y_true - y_pred))\n'
    limit = "I bfc_allocator.cc:1010] Limit:             1000000000\nInUse:              1000000\n"
    report = pipeline.explain(code + oom("60000,60000", "loss/sub") + limit)
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[0] == "one-shape" and not any(
        "first dimension" in each.remedy.text for each in report.actions
    )


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("shorter-sequences", "truncate", 1),
        ("smaller-vocabulary", "smaller-model", 1),
        ("narrower-layer", "smaller-model", 1),
        ("narrower-layer", "truncate", 2),
    ],
)
def test_one_way_to_make_a_thing_smaller(one: str, other: str, told: int) -> None:
    given = (advising(Remedy("a", slug=one)), advising(Remedy("b", slug=other)))
    assert told_to(*given) == ["a", "b"][:told]


@pytest.mark.parametrize(
    ("api", "code"),
    [
        (Api((2, 0)), "model.count_params()"),
        (Api((1, 5), (1, 12), FrontEnd.SESSION), " tf.global_variables()"),
        (Api((1, 15), (1, 15), FrontEnd.SESSION), "tf.compat.v1.global_variables()"),
        (Api((1, 15), (1, 15), FrontEnd.KERAS), "model.count_params()"),
        (Api(front_end=FrontEnd.JAX), "jax.tree.leaves"),
        (Api(front_end=FrontEnd.TORCH_XLA), None),
    ],
)
def test_how_much_the_weights_take_is_printed(api: Any, code: str | None) -> None:
    said = code_snippets.size_of_weights(api)
    assert said is None if code is None else code in (said or "")
