"""Graphs of predictions.py's twenty-sixth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def lagoons(tf, batch):
    """A picture sorted by steps with short ways past, halved in size at each new width."""
    x = tf.placeholder(tf.float32, [None, 56, 56, 3], "water")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 5, padding="same", activation=tf.nn.relu)
    for width in (32, 64, 96):
        z = tf.layers.conv2d(y, width, 3, strides=2, padding="same", activation=tf.nn.relu)
        z = tf.layers.conv2d(z, width, 3, padding="same")
        y = tf.nn.relu(z + tf.layers.conv2d(y, width, 1, strides=2, padding="same"))
    y = tf.layers.dense(tf.reduce_mean(y, [1, 2]), 128, tf.nn.relu)
    logits = tf.layers.dense(y, 26)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss, {x: np.random.rand(batch, 56, 56, 3), labels: np.random.randint(0, 26, batch)}, True


def lutes(tf, batch):
    """Notes to the next notes: an LSTM step after step, a choice at each."""
    notes = tf.placeholder(tf.int32, [None, 40], "notes")
    after = tf.placeholder(tf.int64, [None, 40], "after")
    table = tf.get_variable("table", [3000, 96])
    y = tf.nn.embedding_lookup(table, notes)
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(160), y, dtype=tf.float32)
    logits = tf.layers.dense(y, 3000)
    loss = tf.losses.sparse_softmax_cross_entropy(after, logits)
    feed = {notes: np.random.randint(0, 3000, (batch, 40)), after: np.random.randint(0, 3000, (batch, 40))}
    return loss, feed, True


def ladles(tf, batch):
    """Wide rows to a code with noise drawn in, and back: what is lost and how far the code strays."""
    x = tf.placeholder(tf.float32, [None, 3000], "dishes")
    noise = tf.placeholder(tf.float32, [None, 32], "noise")
    y = x
    for width in (768, 256):
        y = tf.layers.dense(y, width, tf.nn.relu)
    mean, spread = tf.layers.dense(y, 32), tf.layers.dense(y, 32)
    y = mean + noise * tf.exp(0.5 * spread)
    for width in (256, 768):
        y = tf.layers.dense(y, width, tf.nn.relu)
    y = tf.layers.dense(y, 3000)
    strays = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    loss = tf.losses.mean_squared_error(x, y) + 0.01 * strays
    return loss, {x: np.random.rand(batch, 3000), noise: np.random.randn(batch, 32)}, False
