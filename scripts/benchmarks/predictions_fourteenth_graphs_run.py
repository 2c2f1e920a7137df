"""Graphs of predictions.py's fourteenth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def nectarines(tf, batch):
    """Blocks of two filters with norms, whose input is added; a class."""
    x = tf.placeholder(tf.float32, [None, 40, 40, 3], "peel")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 3, strides=2, padding="same")
    for _ in range(3):
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        z = tf.layers.conv2d(z, 32, 3, padding="same", activation=tf.nn.relu)
        y = y + tf.layers.conv2d(z, 32, 3, padding="same")
    logits = tf.layers.dense(tf.reduce_mean(y, [1, 2]), 12)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 40, 40, 3), labels: np.random.randint(0, 12, batch)}, False


def olives(tf, batch):
    """A row in which every place looks at every other, and a number is told."""
    x = tf.placeholder(tf.float32, [None, 64, 20], "grove")
    target = tf.placeholder(tf.float32, [None, 1], "target")
    y = tf.layers.dense(x, 64, tf.nn.relu)
    for _ in range(2):
        keys, values = tf.layers.dense(y, 64), tf.layers.dense(y, 64)
        weights = tf.nn.softmax(tf.matmul(tf.layers.dense(y, 64), keys, transpose_b=True) * 0.125)
        y = y + tf.matmul(weights, values)
        y = y + tf.layers.dense(tf.layers.dense(y, 192, tf.nn.relu), 64)
    loss = tf.losses.mean_squared_error(target, tf.layers.dense(tf.reduce_max(y, 1), 1))
    return loss, {x: np.random.rand(batch, 64, 20), target: np.random.rand(batch, 1)}, True
