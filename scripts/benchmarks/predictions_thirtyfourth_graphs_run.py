"""Graphs of predictions.py's thirty-fourth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def harmonicas(tf, batch):
    """The next note of a tune: two LSTM cells unrolled by dynamic_rnn, a softmax over the scale."""
    notes = tf.placeholder(tf.int32, [None, 60], "notes")
    nexts = tf.placeholder(tf.int32, [None, 60], "nexts")
    table = tf.get_variable("table", [4000, 96])
    y = tf.nn.embedding_lookup(table, notes)
    y = tf.nn.dropout(y, keep_prob=0.9)
    cells = [tf.nn.rnn_cell.LSTMCell(width) for width in (160, 128)]
    cells = [tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8) for cell in cells]
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), y, dtype=tf.float32)
    flat = tf.reshape(y, [-1, 128])
    w = tf.get_variable("w", [128, 4000])
    b = tf.get_variable("b", [4000], initializer=tf.zeros_initializer())
    logits = tf.matmul(flat, w) + b
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(nexts, [-1]), logits=logits))
    rng = np.random.RandomState(5)
    feed = {notes: rng.randint(0, 3000, (batch, 60)).astype("int32"),
            nexts: rng.randint(0, 3000, (batch, 60)).astype("int32")}
    return loss, feed, True


def crocuses(tf, batch):
    """Spring meadows by aeroplane: residual tf.layers convolutions, batch norm, a weight penalty."""
    images = tf.placeholder(tf.float32, [None, 60, 60, 4], "images")
    labels = tf.placeholder(tf.int64, [None], "labels")
    penalty = tf.contrib.layers.l2_regularizer(1e-4)
    y = tf.layers.conv2d(images, 24, 5, strides=2, padding="same", kernel_regularizer=penalty)
    for width, stride in ((24, 1), (48, 2), (48, 1), (96, 2)):
        short = y
        if stride > 1:
            short = tf.layers.conv2d(y, width, 1, strides=stride, padding="same", kernel_regularizer=penalty)
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        z = tf.layers.conv2d(z, width, 3, strides=stride, padding="same", use_bias=False, kernel_regularizer=penalty)
        z = tf.nn.relu(tf.layers.batch_normalization(z, training=True))
        z = tf.layers.conv2d(z, width, 3, padding="same", use_bias=False, kernel_regularizer=penalty)
        y = short + z
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
    y = tf.reduce_mean(y, [1, 2])
    y = tf.layers.dropout(y, 0.4, training=True)
    logits = tf.layers.dense(y, 21)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + tf.losses.get_regularization_loss()
    rng = np.random.RandomState(8)
    feed = {images: rng.rand(batch, 60, 60, 4).astype("float32"),
            labels: rng.randint(0, 21, (batch,)).astype("int64")}
    return loss, feed, False
