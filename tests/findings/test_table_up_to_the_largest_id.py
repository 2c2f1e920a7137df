"""Tables whose rows are counted by the largest id."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

CODE = """import tensorflow as tf
n_loc = int(site.max()) + 1
def build(n_loc):
    return tf.keras.layers.Embedding(n_loc, 48, name="site")
model = build(n_loc)
"""


def told(code: str, shape: str = "2148153,48") -> Finding | None:
    report = pipeline.explain(code + oom(shape, "build/AddV2"))
    return next((each for each in report.findings if each.rule == "table-up-to-the-largest-id"), None)


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        ("n_loc = int(site.max()) + 1", "site"),
        ("n_loc = np.max(df['site']) + 1", "df['site']"),
        ("n_loc = max(sites) + 1", "sites"),
        ("n_loc = int(np.max(ids) + 1)", "ids"),
    ],
)
def test_rows_by_the_largest_id(line: str, ids: str) -> None:
    finding = told(CODE.replace("n_loc = int(site.max()) + 1", line))
    assert finding is not None
    assert "line 4" in finding.headline
    assert "2,148,153 rows" in finding.headline
    assert f"where `{ids}` has gaps" in finding.remedies[0].text


def test_the_largest_may_stand_in_the_call_itself() -> None:
    assert told("import tensorflow as tf\ne = tf.keras.layers.Embedding(ids.max() + 1, 48)\n") is not None


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        (CODE.replace("int(site.max()) + 1", "len(vocabulary)"), "2148153,48"),
        (CODE.replace("Embedding(n_loc, 48", "Embedding(rows, 48"), "2148153,48"),
        (CODE.replace("Embedding(n_loc, 48", "Dense(n_loc, 48"), "2148153,48"),
        (CODE, "9000,48"),  # few
        (CODE, "64,2148153,48"),
    ],
)
def test_tables_by_other_numbers(code: str, shape: str) -> None:
    assert told(code, shape) is None
