"""Graphs of predictions.py's thirty-ninth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def saxophones(tf, batch):
    """The next note of a solo by two stacked LSTMs, with a mask over the rests at its end."""
    notes = tf.placeholder(tf.int32, [None, 36], "notes")
    after = tf.placeholder(tf.int32, [None, 36], "after")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    with tf.variable_scope("solo"):
        table = tf.get_variable("table", [4000, 112], initializer=tf.random_uniform_initializer(-0.1, 0.1))
        x = tf.nn.embedding_lookup(table, notes)
        cells = []
        for units in (144, 112):
            cell = tf.nn.rnn_cell.LSTMCell(units)
            cells.append(tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8))
        x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, sequence_length=lengths, dtype=tf.float32)
        scores = tf.layers.dense(x, 4000, name="scores")
    mask = tf.sequence_mask(lengths, 36, dtype=tf.float32)
    loss = tf.contrib.seq2seq.sequence_loss(scores, after, mask)
    rng = np.random.RandomState(7)
    feed = {
        notes: rng.randint(0, 3000, (batch, 36)).astype("int32"),
        after: rng.randint(0, 3000, (batch, 36)).astype("int32"),
        lengths: rng.randint(18, 37, (batch,)).astype("int32"),
    }
    return loss, feed, True


def toboggans(tf, batch):
    """How steep a slope is at each point of its photograph: down by residual blocks, up by transposed ones."""
    slope = tf.placeholder(tf.float32, [None, 96, 96, 3], "slope")
    steep = tf.placeholder(tf.float32, [None, 96, 96, 1], "steep")

    def block(x, width, stride, name):
        with tf.variable_scope(name):
            short = tf.layers.conv2d(x, width, 1, strides=stride, use_bias=False, name="short")
            y = tf.layers.conv2d(x, width, 3, strides=stride, padding="same", use_bias=False, name="one")
            y = tf.nn.relu(tf.layers.batch_normalization(y, training=True, name="norm"))
            y = tf.layers.separable_conv2d(y, width, 3, padding="same", name="two")
            return tf.nn.relu(short + y)

    x = tf.layers.conv2d(slope, 16, 5, padding="same", activation=tf.nn.relu, name="stem")
    top = x
    x = block(x, 24, 2, "half")
    mid = x
    x = block(x, 48, 2, "quarter")
    x = block(x, 64, 2, "eighth")
    x = tf.layers.conv2d_transpose(x, 48, 2, strides=2, activation=tf.nn.relu, name="up1")
    x = tf.layers.conv2d_transpose(x, 24, 2, strides=2, activation=tf.nn.relu, name="up2")
    x = tf.concat([x, mid], axis=3)
    x = tf.layers.conv2d(x, 24, 3, padding="same", activation=tf.nn.elu, name="join")
    x = tf.image.resize_bilinear(x, [96, 96])
    x = tf.concat([x, top], axis=3)
    x = tf.layers.conv2d(x, 12, 3, padding="same", activation=tf.nn.relu, name="last")
    out = tf.layers.conv2d(x, 1, 1, name="out")
    loss = tf.losses.huber_loss(steep, out)
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    rng = np.random.RandomState(11)
    feed = {
        slope: rng.rand(batch, 96, 96, 3).astype("float32"),
        steep: rng.rand(batch, 96, 96, 1).astype("float32"),
    }
    return loss, feed, False
