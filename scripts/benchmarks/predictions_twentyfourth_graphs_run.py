"""Graphs of predictions.py's twenty-fourth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def crowns(tf, batch):
    """Teeth on a film: convolutions with short ways past and norms of the batch; one kind for each film."""
    x = tf.placeholder(tf.float32, [None, 80, 80, 1], "film")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 24, 5, strides=2, padding="same", use_bias=False)
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
    for width, strides in ((24, 1), (48, 2), (48, 1), (96, 2)):
        z = tf.layers.conv2d(y, width, 3, strides=strides, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        z = tf.layers.conv2d(z, width, 3, padding="same", use_bias=False)
        z = tf.layers.batch_normalization(z, training=True)
        past = y if strides == 1 else tf.layers.conv2d(y, width, 1, strides=strides, use_bias=False)
        y = tf.nn.relu(z + past)
    y = tf.layers.dropout(tf.reduce_mean(y, [1, 2]), 0.4, training=True)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(y, 32))
    return loss, {x: np.random.rand(batch, 80, 80, 1), labels: np.random.randint(0, 32, batch)}, True


def gossip(tf, batch):
    """Short messages of a forum: filters of four lengths over words, the best of each, a gate, a topic."""
    words = tf.placeholder(tf.int32, [None, 64], "words")
    labels = tf.placeholder(tf.int64, [None], "labels")
    table = tf.get_variable("table", [20000, 128])
    y = tf.nn.embedding_lookup(table, words)
    best = []
    for size in (2, 3, 4, 6):
        z = tf.layers.conv1d(y, 112, size, activation=tf.nn.relu)
        best.append(tf.reduce_max(z, 1))
    y = tf.concat(best, 1)
    gate = tf.layers.dense(y, 448, tf.nn.sigmoid)
    y = gate * tf.layers.dense(y, 448, tf.nn.relu) + (1.0 - gate) * y
    logits = tf.layers.dense(tf.nn.dropout(y, 0.5), 60)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss += 1e-4 * tf.nn.l2_loss(table)
    return loss, {words: np.random.randint(0, 20000, (batch, 64)), labels: np.random.randint(0, 60, batch)}, True


def lockets(tf, batch):
    """Spectra of stars through a chance code: a mean and a spread, noise between, and the way back."""
    x = tf.placeholder(tf.float32, [None, 3600], "spectrum")
    y = tf.layers.dense(x, 800, tf.nn.elu)
    y = tf.layers.dense(y, 320, tf.nn.elu)
    mean, spread = tf.layers.dense(y, 32), tf.layers.dense(y, 32)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.layers.dense(code, 320, tf.nn.elu)
    y = tf.layers.dense(y, 800, tf.nn.elu)
    back = tf.layers.dense(y, 3600)
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    loss = tf.losses.mean_squared_error(x, back) + 0.01 * apart
    return loss, {x: np.random.rand(batch, 3600)}, False
