"""Graphs of predictions.py's seventh set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def crossed(tf, labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def radios(tf, batch):
    """Convolutions and pools in one dimension over a raw signal."""
    x = tf.placeholder(tf.float32, [None, 2048, 2], "signal")
    labels = tf.placeholder(tf.int32, [None], "station")
    y = x
    for width in (32, 64, 96):
        y = tf.layers.conv1d(y, width, 9, padding="same", activation=tf.nn.relu)
        y = tf.layers.max_pooling1d(y, 4, 4)
    y = tf.layers.dense(tf.layers.flatten(y), 128, tf.nn.relu)
    feed = {x: np.random.rand(batch, 2048, 2), labels: np.random.randint(0, 11, batch)}
    return crossed(tf, labels, tf.layers.dense(y, 11)), feed, False


def leagues(tf, batch):
    """A factorisation machine over ten numbers of 50,000 features, half the square less the squares."""
    ids = tf.placeholder(tf.int32, [None, 10], "ids")
    won = tf.placeholder(tf.float32, [None], "won")
    vectors = tf.nn.embedding_lookup(tf.get_variable("vectors", [50000, 48]), ids)
    weights = tf.nn.embedding_lookup(tf.get_variable("weights", [50000, 1]), ids)
    both = tf.square(tf.reduce_sum(vectors, 1)) - tf.reduce_sum(tf.square(vectors), 1)
    logits = 0.5 * tf.reduce_sum(both, 1) + tf.reduce_sum(weights, [1, 2])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=won, logits=logits))
    feed = {ids: np.random.randint(0, 50000, (batch, 10)), won: np.random.randint(0, 2, batch)}
    return loss, feed, False


def forums(tf, batch):
    """A transformer with heads and its own normalisation; the table serves as the output, too."""
    words = tf.placeholder(tf.int32, [None, 41], "words")
    table = tf.get_variable("table", [9000, 128])
    y = tf.nn.embedding_lookup(table, words[:, :-1]) + tf.get_variable("places", [40, 128])

    def norm(x, name):
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-6) * tf.get_variable(name, [128])

    def heads(x):
        return tf.transpose(tf.reshape(tf.layers.dense(x, 128), [-1, 40, 4, 32]), [0, 2, 1, 3])

    for number in range(2):
        z = norm(y, "first_%d" % number)
        scores = tf.nn.softmax(tf.matmul(heads(z), heads(z), transpose_b=True) / 5.7)
        z = tf.reshape(tf.transpose(tf.matmul(scores, heads(z)), [0, 2, 1, 3]), [-1, 40, 128])
        y = y + tf.layers.dense(z, 128)
        y = y + tf.layers.dense(tf.layers.dense(norm(y, "second_%d" % number), 512, tf.nn.relu), 128)
    logits = tf.matmul(tf.reshape(y, [-1, 128]), table, transpose_b=True)
    loss = crossed(tf, tf.reshape(words[:, 1:], [-1]), logits)
    return loss, {words: np.random.randint(0, 9000, (batch, 41))}, True


def palettes(tf, batch):
    """Down by strides, up by the nearest pixel, joined: two colours for each grey pixel."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 1], "grey")
    target = tf.placeholder(tf.float32, [None, 64, 64, 2], "colour")
    kept, y = [], x
    for width in (32, 64, 96):
        y = tf.layers.conv2d(y, width, 3, strides=2, padding="same")
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        kept.append(y)
    for width, side, skip in ((64, 16, kept[1]), (32, 32, kept[0])):
        y = tf.concat([tf.image.resize_nearest_neighbor(y, [side, side]), skip], 3)
        y = tf.layers.conv2d(y, width, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d(tf.image.resize_nearest_neighbor(y, [64, 64]), 2, 3, padding="same")
    feed = {x: np.random.rand(batch, 64, 64, 1), target: np.random.rand(batch, 64, 64, 2)}
    return tf.losses.mean_squared_error(target, tf.nn.tanh(y)), feed, False


def siblings(tf, batch):
    """Two pictures through the same variables; near or apart by a margin."""
    first = tf.placeholder(tf.float32, [None, 48, 48, 1], "first")
    second = tf.placeholder(tf.float32, [None, 48, 48, 1], "second")
    same = tf.placeholder(tf.float32, [None], "same")

    def seen(x):
        with tf.variable_scope("eye", reuse=tf.AUTO_REUSE):
            for number, width in enumerate((24, 48)):
                x = tf.layers.conv2d(x, width, 5, activation=tf.nn.relu, name="conv_%d" % number)
                x = tf.layers.max_pooling2d(x, 2, 2)
            return tf.layers.dense(tf.layers.flatten(x), 128, name="code")

    far = tf.reduce_sum(tf.squared_difference(seen(first), seen(second)), 1)
    apart = tf.square(tf.maximum(0.0, 1.0 - tf.sqrt(far + 1e-6)))
    loss = tf.reduce_mean(same * far + (1 - same) * apart)
    feed = {first: np.random.rand(batch, 48, 48, 1), second: np.random.rand(batch, 48, 48, 1)}
    return loss, {**feed, same: np.random.randint(0, 2, batch)}, False


def fonts(tf, batch):
    """A variational autoencoder: convolutions down, a draw, transposed ones up."""
    x = tf.placeholder(tf.float32, [None, 32, 32, 1], "glyph")
    y = tf.layers.conv2d(x, 48, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d(y, 96, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.dense(tf.layers.flatten(y), 256, tf.nn.relu)
    mean, log = tf.layers.dense(y, 32), tf.layers.dense(y, 32)
    drawn = mean + tf.exp(0.5 * log) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(drawn, 8 * 8 * 96, tf.nn.relu), [-1, 8, 8, 96])
    y = tf.layers.conv2d_transpose(y, 48, 4, strides=2, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d_transpose(y, 1, 4, strides=2, padding="same")
    told = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y), [1, 2, 3])
    hidden = -0.5 * tf.reduce_sum(1 + log - tf.square(mean) - tf.exp(log), 1)
    return tf.reduce_mean(told + hidden), {x: np.random.rand(batch, 32, 32, 1)}, False


def cartoons(tf, batch):
    """Separable convolutions with leaky units and dropout."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 3], "frame")
    labels = tf.placeholder(tf.int32, [None], "who")
    y = tf.layers.conv2d(x, 24, 3, strides=2, padding="same", activation=tf.nn.leaky_relu)
    for width in (48, 96, 128):
        y = tf.layers.separable_conv2d(y, width, 3, padding="same", activation=tf.nn.leaky_relu)
        y = tf.layers.average_pooling2d(y, 2, 2)
    y = tf.layers.dropout(tf.reduce_max(y, [1, 2]), 0.4, training=True)
    feed = {x: np.random.rand(batch, 64, 64, 3), labels: np.random.randint(0, 50, batch)}
    return crossed(tf, labels, tf.layers.dense(y, 50)), feed, False


def queries(tf, batch):
    """What was asked and what was opened, with 256 drawn ones of 30,000 to tell it from."""
    words = tf.placeholder(tf.int32, [None, 16], "words")
    opened = tf.placeholder(tf.int64, [None, 1], "opened")
    y = tf.reduce_sum(tf.nn.embedding_lookup(tf.get_variable("words", [20000, 64]), words), 1)
    y = tf.layers.dense(tf.layers.dense(y, 256, tf.nn.relu), 64)
    weights, biases = tf.get_variable("pages", [30000, 64]), tf.get_variable("biases", [30000])
    loss = tf.nn.sampled_softmax_loss(weights, biases, opened, y, 256, 30000)
    feed = {words: np.random.randint(0, 20000, (batch, 16)), opened: np.random.randint(0, 30000, (batch, 1))}
    return tf.reduce_mean(loss), feed, False


def ovens(tf, batch):
    """Two GRUs above one another in a loop, the last states to a forecast."""
    x = tf.placeholder(tf.float32, [None, 50, 8], "heat")
    target = tf.placeholder(tf.float32, [None, 10], "ahead")
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(96) for _ in range(2)])
    _, states = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.losses.huber_loss(target, tf.layers.dense(tf.concat(states, 1), 10))
    return loss, {x: np.random.rand(batch, 50, 8), target: np.random.rand(batch, 10)}, True
