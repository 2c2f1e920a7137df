"""A table with a row for each user: nobody has fewer of them, so they are hashed."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tests.findings.pages import offered

MIB = 1 << 20
CODE = """
import tensorflow as tf
{name}, DIM = 1100000, 48
table = tf.get_variable("factors", [{name}, DIM])
train = tf.train.AdamOptimizer(0.1).minimize(loss)
"""


@pytest.mark.parametrize(
    ("name", "lowered"), [("N_USERS", False), ("NUM_ITEMS", False), ("BUCKETS", True), ("ROWS", True)]
)
def test_whether_a_number_is_lowered(name: str, lowered: bool) -> None:
    size = 1100000 * 48 * 4
    text = CODE.format(name=name) + dump_by_size(size, 700, (2, size), (1, 100 * MIB), allocator="cpu")
    told = offered(text + oom("1100000,48", "mf/factors/Initializer/random_normal"))
    assert ("lower-constant" in told) is lowered
    assert "smaller-vocabulary" in told
