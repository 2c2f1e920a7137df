"""Graphs of predictions.py's twenty-seventh set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def marimbas(tf, batch):
    """Sounds as pictures, residual steps with norms, a kind for each."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 1], "sound")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 24, 3, padding="same")
    for width in (24, 48, 96):
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        z = tf.layers.conv2d(z, width, 3, padding="same", activation=tf.nn.relu)
        z = tf.layers.conv2d(z, width, 3, padding="same")
        y = tf.layers.average_pooling2d(z + tf.layers.conv2d(y, width, 1), 2, 2)
    logits = tf.layers.dense(tf.reduce_mean(tf.nn.relu(y), [1, 2]), 15)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss, {x: np.random.rand(batch, 64, 64, 1), labels: np.random.randint(0, 15, batch)}, True


def ploughs(tf, batch):
    """Soil's readings over a season: two LSTM cells, one over the other, to a yield."""
    x = tf.placeholder(tf.float32, [None, 60, 12], "soil")
    target = tf.placeholder(tf.float32, [None, 1], "crop")
    cells = [tf.nn.rnn_cell.LSTMCell(width) for width in (128, 96)]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    y = tf.layers.dense(tf.layers.dense(outputs[:, -1], 64, tf.nn.relu), 1)
    feed = {x: np.random.rand(batch, 60, 12), target: np.random.rand(batch, 1)}
    return tf.losses.mean_squared_error(target, y), feed, False


def ziggurats(tf, batch):
    """Rows folded step by step to a drawn code and back: a variational autoencoder."""
    x = tf.placeholder(tf.float32, [None, 2048], "row")
    y = x
    for width in (768, 384):
        y = tf.layers.dense(y, width, tf.nn.relu)
    mean, spread = tf.layers.dense(y, 32), tf.layers.dense(y, 32)
    y = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    for width in (384, 768):
        y = tf.layers.dense(y, width, tf.nn.relu)
    again = tf.losses.sigmoid_cross_entropy(x, tf.layers.dense(y, 2048))
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    return again + 0.01 * apart, {x: np.random.rand(batch, 2048)}, False
