"""Graphs of predictions.py's twenty-eighth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def fountains(tf, batch):
    """A picture to a cloud of codes and, from one drawn at random out of it, back to the picture."""
    x = tf.placeholder(tf.float32, [None, 56, 56, 3], "spray")
    y = tf.layers.conv2d(x, 32, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.conv2d(y, 64, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.conv2d(y, 96, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.flatten(y)
    mean, spread = tf.layers.dense(y, 80), tf.layers.dense(y, 80)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(code, 7 * 7 * 96, tf.nn.relu), [-1, 7, 7, 96])
    y = tf.layers.conv2d_transpose(y, 64, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d_transpose(y, 32, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d_transpose(y, 3, 4, strides=2, padding="same", activation=tf.nn.sigmoid)
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    return tf.losses.mean_squared_error(x, y) + 0.01 * apart, {x: np.random.rand(batch, 56, 56, 3)}, False


def lawns(tf, batch):
    """Will it be clicked? One weight and one row for every code, all pairs of rows, deep layers too."""
    codes = tf.placeholder(tf.int32, [None, 32], "codes")
    clicked = tf.placeholder(tf.float32, [None, 1], "clicked")
    weights = tf.get_variable("weights", [90000, 1])
    rows = tf.get_variable("rows", [90000, 24])
    first = tf.reduce_sum(tf.nn.embedding_lookup(weights, codes), 1)
    y = tf.nn.embedding_lookup(rows, codes)
    pairs = tf.square(tf.reduce_sum(y, 1)) - tf.reduce_sum(tf.square(y), 1)
    deep = tf.reshape(y, [-1, 32 * 24])
    for width in (400, 400, 200):
        deep = tf.nn.dropout(tf.layers.dense(deep, width, tf.nn.relu), 0.8)
    logits = first + 0.5 * tf.reduce_sum(pairs, 1, keepdims=True) + tf.layers.dense(deep, 1)
    loss = tf.losses.sigmoid_cross_entropy(clicked, logits)
    feed = {codes: np.random.randint(0, 90000, (batch, 32)), clicked: np.random.randint(0, 2, (batch, 1))}
    return loss, feed, True


def lions(tf, batch):
    """The kind of each word: two cells with a memory read a line both ways, then a layer for every word."""
    words = tf.placeholder(tf.int32, [None, 40], "words")
    kinds = tf.placeholder(tf.int64, [None, 40], "kinds")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    table = tf.get_variable("table", [14000, 120])
    y = tf.nn.embedding_lookup(table, words)
    ahead, back = tf.nn.rnn_cell.LSTMCell(112), tf.nn.rnn_cell.LSTMCell(112)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(ahead, back, y, sequence_length=lengths, dtype=tf.float32)
    y = tf.layers.dense(tf.concat(outputs, -1), 128, tf.nn.tanh)
    logits = tf.layers.dense(y, 45)
    mask = tf.sequence_mask(lengths, 40, tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy(kinds, logits, mask)
    feed = {
        words: np.random.randint(0, 14000, (batch, 40)),
        kinds: np.random.randint(0, 45, (batch, 40)),
        lengths: np.random.randint(8, 41, batch),
    }
    return loss, feed, True
