"""Graphs of predictions.py's twenty-fifth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def violets(tf, batch):
    """A picture to its kind by short ways past, norms over the batch, weights held small."""
    x = tf.placeholder(tf.float32, [None, 72, 72, 3], "leaf")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 24, 5, strides=2, padding="same", use_bias=False)
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
    for width, strides in ((24, 1), (48, 2), (48, 1), (96, 2)):
        z = tf.layers.conv2d(y, width, 3, strides=strides, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        z = tf.layers.conv2d(z, width, 3, padding="same", use_bias=False)
        z = tf.layers.batch_normalization(z, training=True)
        if strides > 1:
            y = tf.layers.conv2d(y, width, 1, strides=strides, use_bias=False)
        y = tf.nn.relu(y + z)
    logits = tf.layers.dense(tf.reduce_mean(y, [1, 2]), 38)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if len(v.shape) == 4])
    return loss, {x: np.random.rand(batch, 72, 72, 3), labels: np.random.randint(0, 38, batch)}, True


def stools(tf, batch):
    """A wide row to a cloud of codes, a code drawn from it, and the row again; two terms of loss."""
    x = tf.placeholder(tf.float32, [None, 3000], "row")
    y = x
    for width in (640, 320):
        y = tf.layers.dense(y, width, tf.nn.softplus)
    mean, spread = tf.layers.dense(y, 40), tf.layers.dense(y, 40)
    y = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    for width in (320, 640):
        y = tf.layers.dense(y, width, tf.nn.softplus)
    y = tf.layers.dense(y, 3000, tf.nn.sigmoid)
    far = 0.5 * tf.reduce_mean(tf.square(mean) + tf.exp(spread) - spread - 1.0)
    return tf.losses.mean_squared_error(x, y) + 0.01 * far, {x: np.random.rand(batch, 3000)}, False


def warblers(tf, batch):
    """Sound frame by frame: filters first, cells of memory both ways, a kind for every frame."""
    x = tf.placeholder(tf.float32, [None, 80, 40], "frames")
    labels = tf.placeholder(tf.int64, [None, 80], "labels")
    y = tf.layers.conv1d(x, 96, 5, padding="same", activation=tf.nn.relu)
    y = tf.layers.dropout(y, 0.2, training=True)
    ahead, back = tf.nn.rnn_cell.LSTMCell(112), tf.nn.rnn_cell.LSTMCell(112)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(ahead, back, y, dtype=tf.float32)
    y = tf.layers.dense(tf.concat(outputs, -1), 96, tf.nn.tanh)
    logits = tf.layers.dense(y, 48)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 80, 40), labels: np.random.randint(0, 48, (batch, 80))}, True
