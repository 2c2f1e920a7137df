"""Graphs of predictions.py's thirteenth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def wedges(tf, batch):
    """Pictures through a narrow place and back, three times smaller and larger."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 3], "shot")
    y = x
    for width in (24, 32, 48):
        y = tf.layers.conv2d(y, width, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    for width in (32, 24, 3):
        y = tf.layers.conv2d_transpose(y, width, 4, strides=2, padding="same", activation=tf.nn.elu)
    return tf.losses.absolute_difference(x, y), {x: np.random.rand(batch, 64, 64, 3)}, False


def winches(tf, batch):
    """Words under filters of three lengths, the strongest of each; labels may be several."""
    words = tf.placeholder(tf.int32, [None, 80], "words")
    labels = tf.placeholder(tf.float32, [None, 30], "labels")
    table = tf.get_variable("table", [5000, 72])
    x = tf.nn.embedding_lookup(table, words)
    found = [tf.reduce_max(tf.layers.conv1d(x, 96, size, activation=tf.nn.relu), 1) for size in (3, 4, 5)]
    logits = tf.layers.dense(tf.layers.dropout(tf.concat(found, 1), 0.4, training=True), 30)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {words: np.random.randint(0, 5000, (batch, 80)), labels: np.random.rand(batch, 30)}, True
