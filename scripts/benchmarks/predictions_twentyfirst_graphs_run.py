"""Graphs of predictions.py's twenty-first set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def tailors(tf, batch):
    """A picture drawn anew from a narrow middle, halves kept and joined on the way up."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 3], "cloth")
    target = tf.placeholder(tf.float32, [None, 64, 64, 1], "seams")
    y, across = x, []
    for width in (16, 32, 64):
        y = tf.layers.conv2d(y, width, 3, padding="same", activation=tf.nn.relu)
        across.append(y)
        y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.conv2d(y, 96, 3, padding="same", activation=tf.nn.relu)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = tf.layers.conv2d_transpose(y, width, 2, strides=2)
        y = tf.layers.conv2d(tf.concat([y, other], -1), width, 3, padding="same", activation=tf.nn.relu)
    logits = tf.layers.conv2d(y, 1, 1)
    loss = tf.losses.sigmoid_cross_entropy(target, logits)
    marks = np.random.randint(0, 2, (batch, 64, 64, 1))
    return loss, {x: np.random.rand(batch, 64, 64, 3), target: marks}, True


def wells(tf, batch):
    """Words of a text read by a cell of gates step after step; a kind for the whole."""
    words = tf.placeholder(tf.int32, [None, 50], "words")
    labels = tf.placeholder(tf.int64, [None], "labels")
    table = tf.get_variable("table", [16000, 100])
    y = tf.nn.embedding_lookup(table, words)
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(144), y, dtype=tf.float32)
    scores = tf.nn.softmax(tf.layers.dense(tf.layers.dense(outputs, 64, tf.nn.tanh), 1), axis=1)
    y = tf.reduce_sum(scores * outputs, 1)
    logits = tf.layers.dense(tf.layers.dense(y, 96, tf.nn.relu), 20)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {words: np.random.randint(0, 16000, (batch, 50)), labels: np.random.randint(0, 20, batch)}, True


def gliders(tf, batch):
    """A state and a deed to what each is worth: wide dense layers, two critics, the lesser one kept."""
    state = tf.placeholder(tf.float32, [None, 120], "state")
    deed = tf.placeholder(tf.float32, [None, 16], "deed")
    worth = tf.placeholder(tf.float32, [None, 1], "worth")
    critics = []
    for _ in range(2):
        y = tf.concat([state, deed], 1)
        for width in (1024, 768, 512):
            y = tf.layers.dense(y, width, tf.nn.elu)
        critics.append(tf.layers.dense(y, 1))
    least = tf.minimum(critics[0], critics[1])
    loss = sum(tf.losses.huber_loss(worth, y) for y in critics) + 0.1 * tf.reduce_mean(tf.square(least))
    feed = {state: np.random.rand(batch, 120), deed: np.random.rand(batch, 16), worth: np.random.rand(batch, 1)}
    return loss, feed, False


def shawls(tf, batch):
    """Rows of a loom's sensors: one-dimensional steps with short ways past, norms by hand, heads that attend."""
    x = tf.placeholder(tf.float32, [None, 256, 8], "threads")
    target = tf.placeholder(tf.float32, [None, 6], "faults")
    y = tf.layers.conv1d(x, 64, 5, strides=2, padding="same", activation=tf.nn.relu)
    for _ in range(3):
        mean, variance = tf.nn.moments(y, [-1], keep_dims=True)
        z = (y - mean) * tf.rsqrt(variance + 1e-5)
        z = tf.layers.conv1d(z, 96, 5, padding="same", activation=tf.nn.relu)
        y = y + tf.layers.conv1d(z, 64, 1)
    asks, keys, values = (tf.layers.dense(y, 64) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(asks, keys, transpose_b=True) / 8.0)
    y = tf.reduce_max(y + tf.matmul(weights, values), 1)
    y = tf.layers.dense(tf.layers.dense(y, 48, tf.nn.relu), 6)
    feed = {x: np.random.rand(batch, 256, 8), target: np.random.rand(batch, 6)}
    return tf.losses.mean_squared_error(target, y), feed, False
