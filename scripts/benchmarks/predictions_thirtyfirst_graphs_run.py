"""Graphs of predictions.py's thirty-first set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def meringues(tf, batch):
    """Sweets told apart by a photo: separable filters, norms of the batch, short ways past."""
    x = tf.placeholder(tf.float32, [None, 80, 80, 3], "sweets")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 3, strides=2, padding="same", use_bias=False)
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
    for width in (64, 96, 160):
        past = tf.layers.conv2d(y, width, 1, strides=2, padding="same", use_bias=False)
        past = tf.layers.batch_normalization(past, training=True)
        y = tf.layers.separable_conv2d(y, width, 3, padding="same", use_bias=False)
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        y = tf.layers.separable_conv2d(y, width, 3, strides=2, padding="same", use_bias=False)
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True) + past)
    y = tf.layers.dropout(tf.reduce_mean(y, [1, 2]), 0.3, training=True)
    logits = tf.layers.dense(y, 52)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss, {x: np.random.rand(batch, 80, 80, 3), labels: np.random.randint(0, 52, batch)}, True


def notaries(tf, batch):
    """Deeds by their letters: filters of four lengths, the strongest answer of each, then a gate past."""
    letters = tf.placeholder(tf.int32, [None, 240], "letters")
    labels = tf.placeholder(tf.float32, [None, 14], "labels")
    table = tf.get_variable("table", [120, 32])
    y = tf.nn.embedding_lookup(table, letters)
    parts = []
    for size, width in ((2, 64), (3, 96), (5, 128), (7, 128)):
        z = tf.layers.conv1d(y, width, size, activation=tf.nn.tanh)
        parts.append(tf.reduce_max(z, 1))
    y = tf.concat(parts, 1)
    for _ in range(2):
        gate = tf.layers.dense(y, 416, tf.nn.sigmoid, bias_initializer=tf.constant_initializer(-2.0))
        y = gate * tf.layers.dense(y, 416, tf.nn.relu) + (1.0 - gate) * y
    logits = tf.layers.dense(tf.layers.dropout(y, 0.5, training=True), 14)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    feed = {letters: np.random.randint(0, 120, (batch, 240)), labels: np.random.randint(0, 2, (batch, 14))}
    return loss, feed, True


def sombreros(tf, batch):
    """Long rows folded to a cloud of codes, one drawn at random, and the rows told again."""
    x = tf.placeholder(tf.float32, [None, 1800], "rows")
    y = tf.nn.softplus(tf.layers.dense(x, 900))
    y = tf.nn.softplus(tf.layers.dense(y, 450))
    mean, spread = tf.layers.dense(y, 60), tf.layers.dense(y, 60)
    y = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.nn.softplus(tf.layers.dense(y, 450))
    y = tf.nn.softplus(tf.layers.dense(y, 900))
    told = tf.layers.dense(y, 1800)
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    loss = tf.reduce_mean(tf.squared_difference(told, x)) + 0.01 * apart
    return loss, {x: np.random.rand(batch, 1800)}, False
