"""Graphs of predictions.py's twenty-third set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def turtles(tf, batch):
    """A picture to its kind: steps with short ways past, norms over the batch."""
    x = tf.placeholder(tf.float32, [None, 80, 80, 3], "shell")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 5, strides=2, padding="same", use_bias=False)
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
    for width, strides in ((32, 1), (64, 2), (128, 2)):
        z = tf.layers.conv2d(y, width, 3, strides=strides, padding="same", use_bias=False)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        z = tf.layers.conv2d(z, width, 3, padding="same", use_bias=False)
        z = tf.layers.batch_normalization(z, training=True)
        past = tf.layers.conv2d(y, width, 1, strides=strides, use_bias=False)
        y = tf.nn.relu(z + past)
    y = tf.layers.dropout(tf.reduce_mean(y, [1, 2]), 0.3, training=True)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(y, 33))
    return loss, {x: np.random.rand(batch, 80, 80, 3), labels: np.random.randint(0, 33, batch)}, True


def umbrellas(tf, batch):
    """Words near a word: two great tables, and only a few wrong words drawn for each step."""
    around = tf.placeholder(tf.int32, [None, 6], "around")
    labels = tf.placeholder(tf.int64, [None, 1], "labels")
    table = tf.get_variable("table", [40000, 128])
    weights = tf.get_variable("weights", [40000, 128])
    biases = tf.get_variable("biases", [40000], initializer=tf.zeros_initializer())
    y = tf.reduce_mean(tf.nn.embedding_lookup(table, around), 1)
    y = tf.layers.dense(y, 128, tf.nn.tanh)
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights, biases, labels, y, 512, 40000))
    feed = {around: np.random.randint(0, 40000, (batch, 6)), labels: np.random.randint(0, 40000, (batch, 1))}
    return loss, feed, True


def vases(tf, batch):
    """A solid pressed to a mean and a spread, a draw from them, and the solid built again."""
    x = tf.placeholder(tf.float32, [None, 24, 24, 24, 1], "solid")
    y = x
    for width in (16, 32, 48):
        y = tf.layers.conv3d(y, width, 3, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.dense(tf.layers.flatten(y), 256, tf.nn.leaky_relu)
    mean, spread = tf.layers.dense(y, 40), tf.layers.dense(y, 40)
    y = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(y, 27 * 48, tf.nn.leaky_relu), [-1, 3, 3, 3, 48])
    for width in (32, 16):
        y = tf.layers.conv3d_transpose(y, width, 3, strides=2, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.conv3d_transpose(y, 1, 3, strides=2, padding="same")
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    loss = tf.losses.mean_squared_error(x, y) + 0.01 * apart
    return loss, {x: np.random.rand(batch, 24, 24, 24, 1)}, False
