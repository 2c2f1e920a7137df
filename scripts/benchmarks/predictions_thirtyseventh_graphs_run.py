"""Graphs of predictions.py's thirty-seventh set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def pantries(tf, batch):
    """Which shelf a shopping note belongs to: words, two memories that meet, and a weighted mean."""
    words = tf.placeholder(tf.int32, [None, 48], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    shelf = tf.placeholder(tf.int32, [None], "shelf")
    table = tf.get_variable("table", [16000, 80], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.embedding_lookup(table, words)
    x = tf.nn.dropout(x, rate=0.2)
    ahead = tf.nn.rnn_cell.LSTMCell(96)
    back = tf.nn.rnn_cell.LSTMCell(96)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(ahead, back, x, sequence_length=lengths, dtype=tf.float32)
    x = tf.concat(outputs, axis=2)
    scores = tf.layers.dense(tf.layers.dense(x, 64, tf.nn.tanh), 1, use_bias=False)
    note = tf.reduce_sum(tf.nn.softmax(scores, axis=1) * x, axis=1)
    hidden = tf.layers.dense(note, 128, tf.nn.relu)
    logits = tf.layers.dense(hidden, 50)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=shelf, logits=logits))
    rng = np.random.RandomState(5)
    feed = {
        words: rng.randint(0, 3000, (batch, 48)).astype("int32"),
        lengths: rng.randint(8, 49, (batch,)).astype("int32"),
        shelf: rng.randint(0, 50, (batch,)).astype("int32"),
    }
    return loss, feed, True


def jungles(tf, batch):
    """Trees from above: strided and separable filters with batch norms, and a decay on the kernels."""
    tile = tf.placeholder(tf.float32, [None, 72, 72, 4], "tile")
    tree = tf.placeholder(tf.int32, [None], "tree")
    decay = tf.contrib.layers.l2_regularizer(1e-4)

    def normal(x):
        return tf.nn.relu(tf.layers.batch_normalization(x, training=True, momentum=0.95))

    x = normal(tf.layers.conv2d(tile, 24, 3, padding="same", use_bias=False, kernel_regularizer=decay))
    x = tf.layers.max_pooling2d(x, 2, 2)
    for width in (48, 96, 128):
        short = tf.layers.conv2d(x, width, 1, strides=2, padding="same", use_bias=False, kernel_regularizer=decay)
        y = normal(tf.layers.separable_conv2d(x, width, 3, padding="same", use_bias=False))
        y = tf.layers.separable_conv2d(y, width, 3, strides=2, padding="same", use_bias=False)
        y = tf.layers.batch_normalization(y, training=True, momentum=0.95)
        x = tf.nn.relu(short + y)
    x = tf.reduce_mean(x, axis=[1, 2])
    x = tf.layers.dropout(x, 0.4, training=True)
    logits = tf.layers.dense(x, 33, kernel_regularizer=decay)
    loss = tf.losses.sparse_softmax_cross_entropy(tree, logits)
    loss = loss + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    rng = np.random.RandomState(6)
    feed = {
        tile: rng.rand(batch, 72, 72, 4).astype("float32"),
        tree: rng.randint(0, 33, (batch,)).astype("int32"),
    }
    return loss, feed, False
