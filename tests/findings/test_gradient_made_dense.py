"""Which lines make the sparse gradient of a table dense, and of which table."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

LOG = """table = tf.keras.layers.Embedding({rows}, 64)
{more}
g = {taken}
Traceback (most recent call last):
  File "run.py", line 9, in step
    {line}
tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__Mul}} OOM when\
 allocating tensor with shape[300000,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by\
 allocator GPU_0_bfc [Op:Mul]
"""


@pytest.mark.parametrize(
    ("line", "rows", "more", "taken", "told"),
    [
        ("g = [tf.convert_to_tensor(x) * s for x in g]", "300_000", "", "tape.gradient(loss, vs)", True),
        ("g = [f(x.values) * s for x in g]", "300_000", "", "tape.gradient(loss, vs)", False),
        ("g = [tf.convert_to_tensor(x) * s for x in g]", "400_000", "", "tape.gradient(loss, vs)", False),
        ("g = [tf.convert_to_tensor(x) * s for x in g]", "300_000", "", "read(path)", False),
        (
            "g = [tf.convert_to_tensor(x) * s for x in g]",
            "300_000",
            "other = tf.keras.layers.Embedding(300_000, 64)",
            "tape.gradient(loss, vs)",
            False,  # of which of them nobody knows
        ),
    ],
)
def test_the_line_and_its_table(line: str, rows: str, more: str, taken: str, told: bool) -> None:
    found = explained(LOG.format(line=line, rows=rows, more=more, taken=taken))
    assert ("makes the gradient of the table of line 1 dense" in found.verdict) is told
    assert (found.actions[0].remedy.slug == "keep-the-slices") is told
