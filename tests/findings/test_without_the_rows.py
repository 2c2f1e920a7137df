"""What looks a short row up, before a smaller batch where no device holds the dense rows."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tests.findings.pages import offered

LINES = """batch_size = 160
history = fc.categorical_column_with_hash_bucket("history", 60000)
net = fc.input_layer(features, [fc.indicator_column(history)])
"""


@pytest.mark.parametrize(("column", "first"), [("indicator_column", True), ("embedding_column", False)])
def test_an_embedding_column_comes_first(column: str, first: bool) -> None:
    node = "input_layer/history_indicator/one_hot" if first else "net/dense/MatMul"
    log = dump(733, 500, 70, (400,), op=node) + oom("160,20,60000", node)
    slugs = offered(LINES.replace("indicator_column", column) + log)
    assert "smaller-batch" in slugs
    assert (slugs[0] == "embed-the-feature") is first
