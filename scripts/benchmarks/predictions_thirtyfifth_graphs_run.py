"""Graphs of predictions.py's thirty-fifth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def tapirs(tf, batch):
    """The mood of a letter: filters over words, then an LSTM over what they found, rolled out as it goes."""
    words = tf.placeholder(tf.int32, [None, 90], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    moods = tf.placeholder(tf.int64, [None], "moods")
    table = tf.get_variable("table", [9000, 100], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.embedding_lookup(table, words)
    x = tf.layers.conv1d(x, 128, 5, padding="same", activation=tf.nn.relu)
    x = tf.nn.dropout(x, 0.8)
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(128), output_keep_prob=0.8)
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    score = tf.nn.softmax(tf.layers.dense(tf.layers.dense(outputs, 64, tf.nn.tanh), 1), axis=1)
    read = tf.concat([tf.reduce_sum(outputs * score, axis=1), state.h], axis=1)
    logits = tf.layers.dense(read, 6)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=moods, logits=logits))
    rng = np.random.RandomState(4)
    feed = {words: rng.randint(0, 3000, (batch, 90)).astype(np.int32),
            lengths: rng.randint(30, 91, (batch,)).astype(np.int32),
            moods: rng.randint(0, 6, (batch,)).astype(np.int64)}
    return loss, feed, True


def wizards(tf, batch):
    """Cleans a stained picture: down by strides, up by transposed filters, and the stain taken off at the end."""
    stained = tf.placeholder(tf.float32, [None, 80, 80, 3], "stained")
    clean = tf.placeholder(tf.float32, [None, 80, 80, 3], "clean")
    x, kept = stained, []
    for width in (20, 40, 64):
        x = tf.layers.conv2d(x, width, 3, padding="same", use_bias=False)
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
        kept.append(x)
        x = tf.layers.conv2d(x, width, 3, strides=2, padding="same", activation=tf.nn.leaky_relu)
    for width in (64, 40, 20):
        x = tf.layers.conv2d_transpose(x, width, 3, strides=2, padding="same")
        x = tf.nn.elu(x + kept.pop())
    stain = tf.layers.conv2d(x, 3, 3, padding="same")
    loss = tf.reduce_mean(tf.abs(stained - stain - clean)) + 1e-4 * tf.add_n(
        [tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    rng = np.random.RandomState(9)
    feed = {stained: rng.rand(batch, 80, 80, 3).astype(np.float32),
            clean: rng.rand(batch, 80, 80, 3).astype(np.float32)}
    return loss, feed, False
