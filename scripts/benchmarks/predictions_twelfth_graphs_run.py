"""Graphs of predictions.py's twelfth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def quays(tf, batch):
    """Residual convolutions with batch normalisation, a kind for each picture."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 3], "quay")
    labels = tf.placeholder(tf.int32, [None], "kind")
    y = tf.layers.conv2d(x, 24, 3, padding="same", use_bias=False)
    for width in (32, 64):
        y = tf.layers.conv2d(y, width, 3, strides=2, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        y = y + tf.layers.conv2d(z, width, 3, padding="same", use_bias=False)
    logits = tf.layers.dense(tf.reduce_mean(tf.nn.relu(y), [1, 2]), 14)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 64, 64, 3), labels: np.random.randint(0, 14, batch)}, False


def seasons(tf, batch):
    """A loop of an LSTM over readings, forecasts at each hour."""
    x = tf.placeholder(tf.float32, [None, 72, 20], "readings")
    target = tf.placeholder(tf.float32, [None, 72, 6], "ahead")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(128), x, dtype=tf.float32)
    y = tf.layers.dense(tf.layers.dense(outputs, 96, tf.nn.relu), 6)
    feed = {x: np.random.rand(batch, 72, 20), target: np.random.rand(batch, 72, 6)}
    return tf.losses.mean_squared_error(target, y), feed, True
