"""Graphs of predictions.py's thirtieth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def igloos(tf, batch):
    """A picture to a cloud of codes and back: strides down, strides up, a draw at random between."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 3], "snow")
    y = x
    for width in (32, 64, 96):
        y = tf.nn.leaky_relu(tf.layers.conv2d(y, width, 4, strides=2, padding="same"))
    y = tf.layers.flatten(y)
    mean, spread = tf.layers.dense(y, 64), tf.layers.dense(y, 64)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(code, 8 * 8 * 96, tf.nn.relu), [-1, 8, 8, 96])
    for width in (64, 32, 16):
        y = tf.layers.conv2d_transpose(y, width, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d(y, 3, 3, padding="same")
    apart = -0.5 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread))
    loss = tf.losses.mean_squared_error(x, y) + 0.01 * apart
    return loss, {x: np.random.rand(batch, 64, 64, 3)}, False


def jodhpurs(tf, batch):
    """Each word's tag, read both ways by long memories over letters' and words' tables."""
    words = tf.placeholder(tf.int32, [None, 40], "words")
    letters = tf.placeholder(tf.int32, [None, 40, 10], "letters")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    tags = tf.placeholder(tf.int32, [None, 40], "tags")
    a = tf.nn.embedding_lookup(tf.get_variable("wordtable", [12000, 100]), words)
    b = tf.nn.embedding_lookup(tf.get_variable("lettertable", [90, 24]), letters)
    b = tf.layers.conv1d(tf.reshape(b, [-1, 10, 24]), 32, 3, padding="same", activation=tf.nn.relu)
    b = tf.reshape(tf.reduce_max(b, 1), [-1, 40, 32])
    y = tf.nn.dropout(tf.concat([a, b], -1), 0.8)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(96), tf.nn.rnn_cell.LSTMCell(96), y, sequence_length=lengths, dtype=tf.float32
    )
    logits = tf.layers.dense(tf.layers.dense(tf.concat(outputs, -1), 96, tf.nn.tanh), 18)
    mask = tf.sequence_mask(lengths, 40, dtype=tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
    loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    feed = {
        words: np.random.randint(0, 12000, (batch, 40)),
        letters: np.random.randint(0, 90, (batch, 40, 10)),
        lengths: np.random.randint(5, 41, batch),
        tags: np.random.randint(0, 18, (batch, 40)),
    }
    return loss, feed, True


def lintels(tf, batch):
    """A stone's picture among sixty kinds: norms by the batch, short ways past, weights held small."""
    x = tf.placeholder(tf.float32, [None, 80, 80, 3], "stone")
    labels = tf.placeholder(tf.int64, [None], "labels")
    held = tf.contrib.layers.l2_regularizer(1e-4)

    def step(y, width, strides=1):
        y = tf.layers.conv2d(
            y, width, 3, strides=strides, padding="same", use_bias=False, kernel_regularizer=held
        )
        return tf.layers.batch_normalization(y, training=True)

    y = tf.nn.relu(step(x, 24, 2))
    for width, strides in ((32, 1), (64, 2), (96, 2)):
        past = tf.layers.conv2d(y, width, 1, strides=strides, kernel_regularizer=held)
        y = tf.nn.relu(past + step(tf.nn.relu(step(y, width, strides)), width))
    y = tf.layers.dropout(tf.reduce_mean(y, [1, 2]), 0.3, training=True)
    logits = tf.layers.dense(y, 60, kernel_regularizer=held)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + tf.losses.get_regularization_loss()
    return loss, {x: np.random.rand(batch, 80, 80, 3), labels: np.random.randint(0, 60, batch)}, True
