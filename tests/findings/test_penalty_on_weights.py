"""An L2 penalty on a whole table: no batch, and no gradient of a lookup."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained

RULE = "penalty-on-weights"


@pytest.mark.parametrize(
    ("shape", "node", "fires"),
    [
        ("300000,64", "gradients/L2Loss_grad/mul", True),
        ("300000,64", "ads/embeddings/Regularizer/Square", True),
        ("300000,64", "L2Loss_3", True),
        ("4999,640", "gradients/L2Loss_grad/mul", False),  # few rows
        ("5000,6400", "gradients/L2Loss_grad/mul", False),  # wider than it is long
        ("20000,64", "gradients/L2Loss_grad/mul", False),  # 4.9 MiB
        ("300000,64", "gradients/Mean_grad/mul", False),
        ("32,300,64,64", "gradients/L2Loss_grad/mul", False),  # a reconstruction
    ],
)
def test_it_fires_for_tables_under_a_penalty(shape: str, node: str, fires: bool) -> None:
    report = explained(oom(shape, node))
    assert (RULE in {each.rule for each in report.findings}) is fires
    if fires:
        assert report.findings[0].rule == RULE
        slugs = [action.remedy.slug for action in report.actions]
        assert slugs[0] == "penalty-on-rows" and "smaller-batch" not in slugs


def test_it_saves_at_most_the_tensor() -> None:
    report = explained(oom("300000,64", "gradients/L2Loss_grad/mul"))
    assert report.actions[0].remedy.saves_bytes == 300_000 * 64 * 4


SHOP = """
import tensorflow as tf
ids = tf.keras.Input((), dtype="int32")
goods = tf.keras.layers.Embedding(250_000, 72, {})(ids)
net = tf.keras.Model(ids, tf.keras.layers.Dense(1)(goods))
net.compile("adagrad", "mse")
net.fit(x, y, batch_size=128)
"""
PENALTY = "embeddings_regularizer=tf.keras.regularizers.l2(1e-5)"
OF_2_11 = "TensorFlow version: 2.11.0\n"


@pytest.mark.parametrize(
    ("keyword", "node", "told"),
    [
        (PENALTY, "AddN_1/inputs_1", True),
        (PENALTY, "AddN", True),
        ("embeddings_regularizer=None", "AddN_1/inputs_1", False),
        ("embeddings_initializer='zeros'", "AddN_1/inputs_1", False),
        (PENALTY, "model/dense/MatMul", False),
    ],
)
def test_a_regulariser_of_the_programs_table(keyword: str, node: str, told: bool) -> None:
    report = explained(OF_2_11 + SHOP.format(keyword) + oom("250000,72", node))
    assert (RULE in {each.rule for each in report.findings}) is told
    if told:
        assert "`embeddings_regularizer` of the table 250,000 x 72 (line 5)" in report.verdict
        slugs = [action.remedy.slug for action in report.actions]
        assert slugs[0] == "penalty-on-rows" and not {"smaller-batch", "lower-constant"} & {*slugs}


def test_keras_3_makes_it_dense_without_a_regulariser() -> None:
    text = "TensorFlow version: 2.17.0\n" + SHOP.format(PENALTY) + oom("250000,72", "AddN_1/inputs_1")
    assert RULE not in {each.rule for each in explained(text).findings}


FACTORS = """
import tensorflow.compat.v1 as tf
goods = tf.get_variable("goods", [250_000, 72])
rows = tf.nn.embedding_lookup(goods, ids)
loss = bpr + 1e-6 * {}
step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
"""


@pytest.mark.parametrize(
    ("penalty", "told"),
    [
        ("tf.nn.l2_loss(goods)", True),
        ("tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])", True),
        ("tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if 'w' in v.name])", False),
        ("tf.nn.l2_loss(rows)", False),
    ],
)
def test_a_loss_that_reads_the_whole_table_makes_its_gradient_dense(penalty: str, told: bool) -> None:
    report = explained(FACTORS.format(penalty) + oom("250000,72", "gradients/AddN/inputs_1"))
    found = [each for each in report.findings if each.rule == RULE]
    assert bool(found) is told
    if told:
        assert "`l2_loss` of the table 250,000 x 72 (line 5)" in found[0].headline
        assert "give `l2_loss` what the lookup returned" in report.actions[0].remedy.text
        assert "dense-embedding-gradient" not in {each.rule for each in report.findings}


STORE = """
import tensorflow as tf
class Towers(tf.keras.Model):
    def __init__(self, a):
        super().__init__()
        self.goods = self.add_weight(name="goods", shape=[a.goods, a.width])
    def call(self, ids):
        return {}
"""


@pytest.mark.parametrize(
    ("read", "op"),
    [
        ("tf.gather(tf.nn.l2_normalize(self.goods, axis=1), ids)", "l2_normalize"),
        ("tf.gather(self.goods, ids) + tf.nn.l2_loss(self.goods)", "l2_loss"),
        ("tf.nn.l2_normalize(tf.gather(self.goods, ids), axis=1)", None),
        ("tf.matmul(ids, tf.nn.l2_normalize(self.goods, axis=1))", None),  # nothing is looked up
        ("tf.gather(self.goods, ids) + tf.nn.l2_loss(self.goods) + tf.nn.l2_loss(self.goods)", None),
    ],
)
def test_an_op_that_reads_a_table_of_unknown_size_whole(read: str, op: str | None) -> None:
    text = OF_2_11 + STORE.format(read) + oom("410000,64", "gradient_tape/towers/Mul_2")
    report = explained(text)
    found = [each for each in report.findings if each.rule == RULE]
    assert bool(found) is (op is not None)
    if op:
        assert f"`{op}` of the table 410,000 x 64 (line 9)" in report.verdict
        assert ("look the rows up first" in report.actions[0].remedy.text) is (op == "l2_normalize")


def test_the_update_of_such_a_table_is_no_large_table_alone() -> None:
    text = OF_2_11 + STORE.format("tf.gather(self.goods, ids) + tf.nn.l2_loss(self.goods)")
    report = explained(text + oom("410000,64", "Adagrad/Adagrad/update_1/mul_2"))
    assert report.actions[0].remedy.slug == "penalty-on-rows"
