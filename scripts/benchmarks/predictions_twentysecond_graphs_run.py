"""Graphs of predictions.py's twenty-second set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def dragons(tf, batch):
    """Scales of a skin to a species: split filters ever farther apart, norms over the batch, ways past."""
    x = tf.placeholder(tf.float32, [None, 72, 72, 3], "skin")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 40, 5, strides=2, padding="same", use_bias=False)
    for apart in (1, 2, 4, 2, 1):
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        z = tf.layers.separable_conv2d(z, 40, 3, dilation_rate=apart, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        y = y + tf.layers.conv2d(z, 40, 1)
    y = tf.layers.average_pooling2d(tf.nn.relu(y), 4, 4)
    y = tf.layers.dropout(tf.layers.dense(tf.layers.flatten(y), 200, tf.nn.relu), 0.4, training=True)
    logits = tf.layers.dense(y, 48)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss, {x: np.random.rand(batch, 72, 72, 3), labels: np.random.randint(0, 48, batch)}, True


def embers(tf, batch):
    """Pictures of heat to a spread of codes, one drawn from it, and back: a variational autoencoder."""
    x = tf.placeholder(tf.float32, [None, 48, 48, 1], "heat")
    y = x
    for width in (24, 48, 72):
        y = tf.layers.conv2d(y, width, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.dense(tf.layers.flatten(y), 256, tf.nn.leaky_relu)
    mean, spread = tf.layers.dense(y, 32), tf.layers.dense(y, 32)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(code, 6 * 6 * 72, tf.nn.leaky_relu), [-1, 6, 6, 72])
    for width in (48, 24, 16):
        y = tf.layers.conv2d_transpose(y, width, 4, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.conv2d(y, 1, 3, padding="same")
    apart = tf.reduce_mean(tf.reduce_sum(tf.square(y - x), [1, 2, 3]))
    divergence = -0.5 * tf.reduce_mean(tf.reduce_sum(1.0 + spread - tf.square(mean) - tf.exp(spread), 1))
    return apart + divergence, {x: np.random.rand(batch, 48, 48, 1)}, False


def jargon(tf, batch):
    """A word from those around it and the page it stands on: two tables, a few wrong words drawn."""
    around = tf.placeholder(tf.int32, [None, 8], "around")
    page = tf.placeholder(tf.int32, [None], "page")
    word = tf.placeholder(tf.int64, [None, 1], "word")
    words = tf.get_variable("words", [30000, 128])
    pages = tf.get_variable("pages", [8000, 64])
    y = tf.reduce_mean(tf.nn.embedding_lookup(words, around), 1)
    y = tf.concat([y, tf.nn.embedding_lookup(pages, page)], 1)
    weights = tf.get_variable("weights", [30000, 192])
    biases = tf.get_variable("biases", [30000], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights, biases, word, y, 256, 30000))
    feed = {
        around: np.random.randint(0, 30000, (batch, 8)),
        page: np.random.randint(0, 8000, batch),
        word: np.random.randint(0, 30000, (batch, 1)),
    }
    return loss, feed, True
