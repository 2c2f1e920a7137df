"""A table that is put together anew in each step, and a router's tensor of all tokens and slots."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tests.findings.pages import explained, offered
from tfmemlens.findings.setting_of_this_size import _is_the_width_of_a_finished_model
from tfmemlens.findings.support.own_forms import OwnConstant
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line

MIB = 1 << 20
TABLE = """
import tensorflow as tf
table = tf.get_variable("table", shape=[330001, 96])
{line}
x = tf.nn.embedding_lookup(table, ids)
train = tf.train.AdagradOptimizer(0.1).minimize(loss)
"""
PADDED = "table = tf.concat((tf.zeros(shape=[1, 96]), table[1:, :]), 0)"
GRADIENT = "gradients/item_embeddings/strided_slice_grad/StridedSliceGrad"


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in explained(text).findings if each.rule == rule), None)


def of_table(line: str, node: str, shape: str = "330001,96") -> str:
    size = 330001 * 96 * 4
    held = dump_by_size(size, 500, (2, 128 * MIB), (1, size), (1, 110 * MIB), allocator="cpu")
    return TABLE.format(line=line) + held + oom(shape, node)


@pytest.mark.parametrize(
    ("line", "node", "shape", "told"),
    [
        (PADDED, GRADIENT, "330001,96", True),
        ("table = tf.concat([table[:-1], tf.zeros([1, 96])], axis=0)", GRADIENT, "330001,96", True),
        (PADDED, "item_embeddings/table/Initializer/random_uniform", "330001,96", False),
        (PADDED, GRADIENT, "128,96", False),  # rows of a batch
        ("both = tf.concat((table, other), 0)", GRADIENT, "330001,96", False),
    ],
)
def test_a_row_of_zeros_in_front_of_a_table(line: str, node: str, shape: str, told: bool) -> None:
    text = of_table(line, node, shape)
    assert (found(text, "table-rebuilt-each-step") is not None) is told
    assert (offered(text)[0] == "mask-the-padding") is told
    if told:
        assert "line 4 puts the table together anew" in explained(text).verdict


ROUTER = """
import tensorflow as tf
num_experts, d_model = 16, 64
capacity = int(2.0 * tokens / num_experts)
dispatch += mask
model.fit(x, y, batch_size=24)
"""


@pytest.mark.parametrize(
    ("code", "shape", "told"),
    [
        (ROUTER, "3072,16,768", True),
        (ROUTER, "3072,12,768", False),  # no such number of experts
        (ROUTER, "128,16,768", False),  # few tokens
        (ROUTER, "3072,16", False),
        (ROUTER.replace("num_experts", "channels"), "3072,16,768", False),
        (ROUTER.replace("capacity", "size").replace("dispatch", "total"), "3072,16,768", False),
    ],
)
def test_all_tokens_with_all_slots(code: str, shape: str, told: bool) -> None:
    text = code + oom(shape, "moe0/router/mul_8")
    finding = found(text, "experts-and-capacity")
    assert (finding is not None) is told
    if finding:
        need = 3072 * 16 * 768 * 4
        assert "3,072 tokens with each of 768 slots of 16 experts (`num_experts`" in (finding.because or "")
        groups = next(each for each in finding.remedies if each.slug == "route-in-groups")
        assert groups.saves_bytes == need - need // 8 and "18.00 MiB" in groups.text


TILED = """
import tensorflow as tf
keys = tf.repeat(memory, BEAM, axis=1)
{more}
"""


@pytest.mark.parametrize(
    ("more", "shape", "value", "spared"),
    [
        ("print(keys)", "80,8,400,256", 256, True),
        ("print(keys)", "80,8,400,256", 80, False),  # what is given at once
        ("print(keys)", "256,400,256", 256, False),  # the same number counts samples
        ("with tf.GradientTape() as tape: loss = f(keys)", "80,8,400,256", 256, False),
    ],
)
def test_the_width_of_a_model_that_does_not_train_stays(
    more: str, shape: str, value: int, spared: bool
) -> None:
    case = explained(TILED.format(more=more) + oom(shape, "Tile")).case
    request, own = case.moments[0].request, OwnConstant("MEM", value, Line(4, "MEM = 256"), "", "")
    assert request
    assert _is_the_width_of_a_finished_model(case, case.moments[0], request, own) is spared
