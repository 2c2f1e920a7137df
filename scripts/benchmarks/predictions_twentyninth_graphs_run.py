"""Graphs of predictions.py's twenty-ninth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def pistons(tf, batch):
    """The next word of a text: two cells of an LSTM stacked, one table in and one great layer out."""
    words = tf.placeholder(tf.int32, [None, 35], "words")
    follow = tf.placeholder(tf.int32, [None, 35], "follow")
    table = tf.get_variable("table", [8000, 160])
    y = tf.nn.dropout(tf.nn.embedding_lookup(table, words), keep_prob=0.8)
    cells = [tf.nn.rnn_cell.BasicLSTMCell(160, forget_bias=1.0) for _ in range(2)]
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), y, dtype=tf.float32)
    logits = tf.layers.dense(tf.reshape(y, [-1, 160]), 8000)
    loss = tf.losses.sparse_softmax_cross_entropy(tf.reshape(follow, [-1]), logits)
    feed = {words: np.random.randint(0, 8000, (batch, 35)), follow: np.random.randint(0, 8000, (batch, 35))}
    return loss, feed, True


def orioles(tf, batch):
    """Pictures folded to a cloud of small codes, one drawn from it, and opened again."""
    x = tf.placeholder(tf.float32, [None, 32, 32, 3], "birds")
    y = x
    for width in (32, 64, 96):
        y = tf.layers.conv2d(y, width, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.dense(tf.layers.flatten(y), 256, tf.nn.leaky_relu)
    mean, spread = tf.layers.dense(y, 48), tf.layers.dense(y, 48)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.layers.dense(code, 4 * 4 * 96, tf.nn.leaky_relu)
    y = tf.reshape(y, [-1, 4, 4, 96])
    for width in (64, 32):
        y = tf.layers.conv2d_transpose(y, width, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.conv2d_transpose(y, 3, 4, strides=2, padding="same", activation=tf.nn.sigmoid)
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    return tf.losses.mean_squared_error(x, y) + 0.01 * apart, {x: np.random.rand(batch, 32, 32, 3)}, False


def scooters(tf, batch):
    """A street to a kind: steps with ways past and norms over the batch, weights held small by a second loss."""
    x = tf.placeholder(tf.float32, [None, 72, 72, 3], "street")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 7, strides=2, padding="same", use_bias=False)
    for width, strides in ((32, 1), (64, 2), (64, 1), (128, 2)):
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        past = y if strides == 1 else tf.layers.conv2d(z, width, 1, strides=strides, use_bias=False)
        z = tf.layers.conv2d(z, width, 3, strides=strides, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        y = past + tf.layers.conv2d(z, width, 3, padding="same", use_bias=False)
    y = tf.reduce_mean(tf.nn.relu(tf.layers.batch_normalization(y, training=True)), [1, 2])
    logits = tf.layers.dense(tf.layers.dropout(y, 0.4, training=True), 25)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    return loss, {x: np.random.rand(batch, 72, 72, 3), labels: np.random.randint(0, 25, batch)}, True
