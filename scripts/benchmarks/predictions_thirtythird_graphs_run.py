"""Graphs of predictions.py's thirty-third set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def isotopes(tf, batch):
    """Peaks of a spectrum named: 1-D residual filters with batch norms, a dense layer, and weights that decay."""
    spectrum = tf.placeholder(tf.float32, [None, 1024, 1], "spectrum")
    label = tf.placeholder(tf.int64, [None], "label")
    x = tf.layers.conv1d(spectrum, 32, 7, padding="same", activation=tf.nn.relu)
    for filters in (32, 64, 96):
        short = tf.layers.conv1d(x, filters, 1, padding="same", use_bias=False)
        y = tf.layers.conv1d(x, filters, 5, padding="same", use_bias=False)
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        y = tf.layers.conv1d(y, filters, 5, padding="same", use_bias=False)
        y = tf.layers.batch_normalization(y, training=True)
        x = tf.nn.relu(short + y)
        x = tf.layers.max_pooling1d(x, 2, 2)
    x = tf.layers.conv1d(x, 16, 1, activation=tf.nn.relu)
    x = tf.layers.flatten(x)
    x = tf.layers.dense(x, 256, activation=tf.nn.relu)
    x = tf.layers.dropout(x, 0.5, training=True)
    logits = tf.layers.dense(x, 45)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    loss += 1e-4 * decay
    feed = {spectrum: np.random.rand(batch, 1024, 1).astype(np.float32),
            label: np.random.randint(0, 45, batch)}
    return loss, feed, False


def mariners(tf, batch):
    """Logs of ships tagged word by word: letters' filters beside words' vectors, cells both ways, and a chain of tags."""
    words = tf.placeholder(tf.int32, [None, 40], "words")
    letters = tf.placeholder(tf.int32, [None, 40, 12], "letters")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    tags = tf.placeholder(tf.int32, [None, 40], "tags")
    word_table = tf.get_variable("word_table", [20000, 100])
    letter_table = tf.get_variable("letter_table", [90, 24])
    vectors = tf.nn.embedding_lookup(word_table, words)
    spelled = tf.nn.embedding_lookup(letter_table, letters)
    spelled = tf.reshape(spelled, [-1, 12, 24])
    spelled = tf.layers.conv1d(spelled, 48, 3, padding="same", activation=tf.nn.relu)
    spelled = tf.reshape(tf.reduce_max(spelled, axis=1), [-1, 40, 48])
    x = tf.nn.dropout(tf.concat([vectors, spelled], axis=-1), keep_prob=0.6)
    forward, backward = tf.contrib.rnn.LSTMBlockCell(128), tf.contrib.rnn.LSTMBlockCell(128)
    (ahead, back), _ = tf.nn.bidirectional_dynamic_rnn(forward, backward, x, sequence_length=lengths, dtype=tf.float32)
    x = tf.nn.dropout(tf.concat([ahead, back], axis=-1), keep_prob=0.6)
    scores = tf.layers.dense(x, 17)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths)
    loss = tf.reduce_mean(-likelihood)
    feed = {words: np.random.randint(0, 20000, (batch, 40)),
            letters: np.random.randint(0, 90, (batch, 40, 12)),
            lengths: np.random.randint(10, 41, batch),
            tags: np.random.randint(0, 17, (batch, 40))}
    return loss, feed, True


def tugboats(tf, batch):
    """Grey harbour pictures coloured: strided filters down, transposed ones up, short cuts, and a smooth penalty."""
    grey = tf.placeholder(tf.float32, [None, 80, 80, 1], "grey")
    colour = tf.placeholder(tf.float32, [None, 80, 80, 2], "colour")

    def norm(x):
        return tf.nn.leaky_relu(tf.contrib.layers.instance_norm(x), 0.2)

    with tf.variable_scope("down"):
        first = norm(tf.layers.conv2d(grey, 24, 3, padding="same"))
        second = norm(tf.layers.conv2d(first, 48, 4, strides=2, padding="same"))
        third = norm(tf.layers.conv2d(second, 96, 4, strides=2, padding="same"))
    with tf.variable_scope("middle"):
        x = third
        for _ in range(2):
            y = norm(tf.layers.conv2d(x, 96, 3, padding="same"))
            x = x + tf.layers.conv2d(y, 96, 3, padding="same")
    with tf.variable_scope("up"):
        x = norm(tf.layers.conv2d_transpose(x, 48, 4, strides=2, padding="same"))
        x = tf.concat([x, second], axis=-1)
        x = norm(tf.layers.conv2d_transpose(x, 24, 4, strides=2, padding="same"))
        x = tf.concat([x, first], axis=-1)
        guess = tf.layers.conv2d(x, 2, 3, padding="same", activation=tf.nn.tanh)
    loss = tf.losses.huber_loss(colour, guess)
    loss += 0.01 * tf.reduce_mean(tf.abs(guess[:, 1:] - guess[:, :-1]))
    feed = {grey: np.random.rand(batch, 80, 80, 1).astype(np.float32),
            colour: np.random.uniform(-1, 1, (batch, 80, 80, 2)).astype(np.float32)}
    return loss, feed, True
