"""Graphs of predictions.py's thirty-sixth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def cathedrals(tf, batch):
    """Churches by their style: a residual net with batch norms, its weights held small."""
    photos = tf.placeholder(tf.float32, [None, 80, 80, 3], "photos")
    styles = tf.placeholder(tf.int32, [None], "styles")
    small = tf.contrib.layers.l2_regularizer(1e-4)

    def unit(y, width, stride=1):
        y = tf.layers.conv2d(y, width, 3, strides=stride, padding="same", use_bias=False, kernel_regularizer=small)
        return tf.layers.batch_normalization(y, training=True)

    y = tf.nn.relu(unit(photos, 24, 2))
    for width, stride in ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        side = y
        if stride > 1:
            side = tf.layers.conv2d(y, width, 1, strides=stride, padding="same", kernel_regularizer=small)
        z = tf.nn.relu(unit(y, width, stride))
        y = tf.nn.relu(unit(z, width) + side)
    y = tf.reduce_mean(y, [1, 2])
    y = tf.layers.dropout(y, 0.3, training=True)
    logits = tf.layers.dense(y, 25)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=styles, logits=logits))
    loss += tf.losses.get_regularization_loss()
    feed = {photos: np.random.rand(batch, 80, 80, 3).astype("float32"),
            styles: np.random.randint(0, 25, batch).astype("int32")}
    return loss, feed, False


def lemurs(tf, batch):
    """Names in field notes: cells both ways over the words, and a chain over their tags."""
    words = tf.placeholder(tf.int32, [None, 60], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    tags = tf.placeholder(tf.int32, [None, 60], "tags")
    table = tf.get_variable("table", [20000, 100], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    y = tf.nn.dropout(tf.nn.embedding_lookup(table, words), keep_prob=0.7)
    ahead, back = tf.nn.rnn_cell.LSTMCell(160), tf.nn.rnn_cell.LSTMCell(160)
    both, _ = tf.nn.bidirectional_dynamic_rnn(ahead, back, y, sequence_length=lengths, dtype=tf.float32)
    y = tf.nn.dropout(tf.concat(both, -1), keep_prob=0.7)
    y = tf.layers.dense(y, 100, activation=tf.nn.tanh)
    scores = tf.layers.dense(y, 9)
    likely, _ = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths)
    loss = -tf.reduce_mean(likely)
    feed = {words: np.random.randint(0, 20000, (batch, 60)).astype("int32"),
            lengths: np.random.randint(20, 61, batch).astype("int32"),
            tags: np.random.randint(0, 9, (batch, 60)).astype("int32")}
    return loss, feed, True
