"""Graphs of predictions.py's thirty-second set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def doves(tf, batch):
    """The mood of a letter: words read both ways by two layers of cells, weighed, and summed."""
    words = tf.placeholder(tf.int32, [None, 50], "words")
    mood = tf.placeholder(tf.int32, [None], "mood")
    table = tf.get_variable("table", [12000, 100])
    y = tf.nn.embedding_lookup(table, words)
    for layer in range(2):
        with tf.variable_scope("layer%d" % layer):
            ahead = tf.nn.rnn_cell.LSTMCell(96)
            back = tf.nn.rnn_cell.LSTMCell(96)
            y, _ = tf.nn.bidirectional_dynamic_rnn(ahead, back, y, dtype=tf.float32)
            y = tf.concat(y, -1)
    weight = tf.nn.softmax(tf.layers.dense(tf.layers.dense(y, 64, activation=tf.nn.tanh), 1), axis=1)
    y = tf.reduce_sum(weight * y, axis=1)
    y = tf.nn.dropout(y, keep_prob=0.7)
    logits = tf.layers.dense(y, 6)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=mood, logits=logits))
    feed = {
        words: np.random.randint(0, 3000, (batch, 50)).astype("int32"),
        mood: np.random.randint(0, 6, (batch,)).astype("int32"),
    }
    return loss, feed, True


def gardens(tf, batch):
    """Colours for grey photographs of gardens: down by strides, up by transposed filters, the way down kept."""
    grey = tf.placeholder(tf.float32, [None, 128, 128, 1], "grey")
    colours = tf.placeholder(tf.float32, [None, 128, 128, 2], "colours")
    y, kept = tf.layers.conv2d(grey, 16, 3, padding="same", activation=tf.nn.relu), []
    for width in (32, 64, 128):
        kept.append(y)
        y = tf.layers.conv2d(y, width, 3, strides=2, padding="same", use_bias=False)
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        y = tf.layers.conv2d(y, width, 3, padding="same", activation=tf.nn.relu)
    for width in (64, 32, 16):
        y = tf.layers.conv2d_transpose(y, width, 4, strides=2, padding="same")
        y = tf.nn.relu(tf.contrib.layers.instance_norm(y))
        y = tf.concat([y, kept.pop()], 3)
    y = tf.layers.conv2d(y, 16, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d(y, 2, 1, activation=tf.nn.tanh)
    loss = tf.reduce_mean(tf.abs(y - colours))
    feed = {
        grey: np.random.rand(batch, 128, 128, 1).astype("float32"),
        colours: np.random.rand(batch, 128, 128, 2).astype("float32"),
    }
    return loss, feed, False


def knapsacks(tf, batch):
    """The next thing a hiker will buy: attention over the last purchases, a sampled softmax over the shop."""
    bought = tf.placeholder(tf.int32, [None, 32], "bought")
    buys = tf.placeholder(tf.int64, [None, 1], "buys")
    goods = tf.get_variable("goods", [40000, 64], initializer=tf.contrib.layers.xavier_initializer())
    places = tf.get_variable("places", [32, 64])
    y = tf.nn.embedding_lookup(goods, bought) + places
    for layer in range(2):
        with tf.variable_scope("block%d" % layer):
            q, k, v = (tf.layers.dense(y, 64, use_bias=False, name=name) for name in ("q", "k", "v"))
            near = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8.0)
            y = tf.contrib.layers.layer_norm(y + tf.matmul(tf.nn.dropout(near, keep_prob=0.9), v), begin_norm_axis=-1)
            z = tf.layers.dense(tf.layers.dense(y, 128, activation=tf.nn.relu, name="wide"), 64, name="narrow")
            y = tf.contrib.layers.layer_norm(y + z, begin_norm_axis=-1)
    y = tf.layers.dense(tf.reduce_mean(y, axis=1), 64, activation=tf.nn.elu)
    weights = tf.get_variable("shop", [40000, 64])
    biases = tf.get_variable("shop_bias", [40000], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights, biases, buys, y, 512, 40000))
    feed = {
        bought: np.random.randint(0, 3000, (batch, 32)).astype("int32"),
        buys: np.random.randint(0, 3000, (batch, 1)).astype("int64"),
    }
    return loss, feed, True
