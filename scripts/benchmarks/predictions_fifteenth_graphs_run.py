"""Graphs of predictions.py's fifteenth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def ivies(tf, batch):
    """Narrow filters before wide ones of two sizes, joined; a class."""
    x = tf.placeholder(tf.float32, [None, 44, 44, 3], "wall")
    labels = tf.placeholder(tf.int64, [None], "labels")
    y = tf.layers.conv2d(x, 32, 3, strides=2, padding="same", activation=tf.nn.relu)
    for width in (12, 20):
        narrow = tf.layers.conv2d(y, width, 1, activation=tf.nn.relu)
        sides = [
            tf.layers.conv2d(narrow, 2 * width, size, padding="same", activation=tf.nn.relu)
            for size in (1, 3)
        ]
        y = tf.layers.max_pooling2d(tf.concat(sides, -1), 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(y), 15)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 44, 44, 3), labels: np.random.randint(0, 15, batch)}, True


def gingkos(tf, batch):
    """Two tables, whose rows meet in every pair of places; a number."""
    left = tf.placeholder(tf.int32, [None, 20], "left")
    right = tf.placeholder(tf.int32, [None, 20], "right")
    target = tf.placeholder(tf.float32, [None, 1], "target")
    tables = [tf.get_variable(name, [4000, 48]) for name in ("first", "second")]
    a, b = tf.nn.embedding_lookup(tables[0], left), tf.nn.embedding_lookup(tables[1], right)
    y = tf.nn.tanh(tf.expand_dims(a, 2) + tf.expand_dims(b, 1))
    y = tf.layers.dense(tf.reduce_mean(tf.layers.dense(y, 32, tf.nn.relu), [1, 2]), 1)
    words = [np.random.randint(0, 4000, (batch, 20)) for _ in range(2)]
    return (
        tf.losses.mean_squared_error(target, y),
        {left: words[0], right: words[1], target: np.random.rand(batch, 1)},
        False,
    )
