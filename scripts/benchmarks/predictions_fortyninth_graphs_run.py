"""Graphs of predictions.py's forty-ninth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def opals(tf, batch):
    """A word language model of two LSTMs, clipped."""
    words = tf.placeholder(tf.int32, [None, 40], "words")
    after = tf.placeholder(tf.int32, [None, 40], "after")
    table = tf.get_variable("table", [10000, 200])
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, words), rate=0.2)
    cells = [tf.nn.rnn_cell.BasicLSTMCell(200) for _ in range(2)]
    x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    logits = tf.layers.dense(tf.reshape(x, [-1, 200]), 10000)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(after, [-1]), logits=logits))
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, 3000, (batch, 40)), after: rng.randint(0, 3000, (batch, 40))}
    return loss, feed, True


def parlours(tf, batch):
    """Wide and deep: crossed tables beside a tower of dense layers."""
    ids = tf.placeholder(tf.int32, [None, 6], "ids")
    numbers = tf.placeholder(tf.float32, [None, 20], "numbers")
    bought = tf.placeholder(tf.float32, [None], "bought")
    wide = tf.get_variable("wide", [200000, 1])
    deep = tf.get_variable("deep", [60000, 32])
    linear = tf.reduce_sum(tf.nn.embedding_lookup(wide, ids), axis=[1, 2])
    x = tf.reshape(tf.nn.embedding_lookup(deep, ids), [-1, 6 * 32])
    x = tf.concat([x, numbers], 1)
    for units in (512, 256, 128):
        x = tf.layers.dense(x, units, tf.nn.relu)
    logit = linear + tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=bought, logits=logit))
    rng = np.random.RandomState(3)
    feed = {ids: rng.randint(0, 3000, (batch, 6)), numbers: rng.rand(batch, 20).astype("float32"),
            bought: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def stirrups(tf, batch):
    """A variational autoencoder of pictures, 64 by 64."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    x = image
    for filters in (32, 64, 128):
        x = tf.layers.conv2d(x, filters, 4, 2, "same", activation=tf.nn.leaky_relu)
    x = tf.layers.flatten(x)
    mean, spread = tf.layers.dense(x, 64), tf.layers.dense(x, 64)
    z = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(z, 8 * 8 * 128, tf.nn.relu), [-1, 8, 8, 128])
    for filters in (64, 32):
        y = tf.layers.conv2d_transpose(y, filters, 4, 2, "same", activation=tf.nn.relu)
    y = tf.layers.conv2d_transpose(y, 3, 4, 2, "same")
    near = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=y), axis=[1, 2, 3])
    kl = -0.5 * tf.reduce_sum(1 + spread - tf.square(mean) - tf.exp(spread), axis=1)
    rng = np.random.RandomState(3)
    return tf.reduce_mean(near + kl), {image: rng.rand(batch, 64, 64, 3).astype("float32")}, False


def sandbanks(tf, batch):
    """A hand-written transformer encoder that sorts short texts."""
    words = tf.placeholder(tf.int32, [None, 80], "words")
    label = tf.placeholder(tf.int32, [None], "label")
    width, heads = 128, 4
    x = tf.nn.embedding_lookup(tf.get_variable("table", [24000, width]), words)
    x = x + tf.get_variable("places", [80, width])

    def norm(x, name):
        with tf.variable_scope(name):
            mean, var = tf.nn.moments(x, [-1], keep_dims=True)
            scale = tf.get_variable("scale", [width], initializer=tf.ones_initializer())
            shift = tf.get_variable("shift", [width], initializer=tf.zeros_initializer())
            return (x - mean) * tf.rsqrt(var + 1e-6) * scale + shift

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, 80, heads, width // heads]), [0, 2, 1, 3])

    for i in range(3):
        q, k, v = [split(tf.layers.dense(x, width)) for _ in range(3)]
        w = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(width / heads).astype("float32"))
        w = tf.nn.dropout(w, rate=0.1)
        y = tf.reshape(tf.transpose(tf.matmul(w, v), [0, 2, 1, 3]), [-1, 80, width])
        x = norm(x + tf.layers.dense(y, width), "a%d" % i)
        x = norm(x + tf.layers.dense(tf.layers.dense(x, 512, tf.nn.relu), width), "b%d" % i)
    logits = tf.layers.dense(tf.reduce_mean(x, 1), 20)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    rng = np.random.RandomState(3)
    return loss, {words: rng.randint(0, 3000, (batch, 80)), label: rng.randint(0, 20, batch)}, True


def verandas(tf, batch):
    """Traffic on a road network: graph convolutions each hour, then a GRU."""
    flow = tf.placeholder(tf.float32, [None, 12, 100, 2], "flow")
    then = tf.placeholder(tf.float32, [None, 100], "then")
    rng = np.random.RandomState(3)
    near = rng.rand(100, 100).astype("float32")
    near = tf.constant(near / near.sum(1, keepdims=True))
    x = flow
    for units in (32, 32):
        mixed = tf.einsum("ij,btjc->btic", near, x)
        x = tf.layers.dense(tf.concat([x, mixed], -1), units, tf.nn.relu)
    x = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [-1, 12, 32])
    _, last = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(64), x, dtype=tf.float32)
    guess = tf.reshape(tf.layers.dense(last, 1), [-1, 100])
    loss = tf.reduce_mean(tf.abs(guess - then))
    return loss, {flow: rng.rand(batch, 12, 100, 2).astype("float32"), then: rng.rand(batch, 100).astype("float32")}, True


def racecourses(tf, batch):
    """A residual classifier with batch norm for aerial tiles."""
    image = tf.placeholder(tf.float32, [None, 96, 96, 3], "image")
    label = tf.placeholder(tf.int32, [None], "label")
    x = tf.layers.conv2d(image, 32, 3, 2, "same", use_bias=False)
    for filters, stride in ((32, 1), (64, 2), (128, 2), (256, 2)):
        y = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
        short = tf.layers.conv2d(y, filters, 1, stride, use_bias=False)
        y = tf.layers.conv2d(y, filters, 3, stride, "same", use_bias=False)
        y = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        x = short + tf.layers.conv2d(y, filters, 3, 1, "same", use_bias=False)
    x = tf.reduce_mean(tf.nn.relu(tf.layers.batch_normalization(x, training=True)), [1, 2])
    loss = tf.losses.sparse_softmax_cross_entropy(label, tf.layers.dense(x, 30))
    rng = np.random.RandomState(3)
    return loss, {image: rng.rand(batch, 96, 96, 3).astype("float32"), label: rng.randint(0, 30, batch)}, False


def orators(tf, batch):
    """Spoken commands from raw sound by strided one-dimensional convolutions."""
    sound = tf.placeholder(tf.float32, [None, 8000, 1], "sound")
    label = tf.placeholder(tf.int32, [None], "label")
    x = sound
    for filters, size, stride in ((48, 40, 4), (64, 9, 2), (96, 9, 2), (128, 5, 2)):
        x = tf.layers.conv1d(x, filters, size, stride, "same", activation=tf.nn.relu)
        x = tf.layers.max_pooling1d(x, 2, 2)
    x = tf.layers.dropout(tf.layers.flatten(x), 0.3, training=True)
    x = tf.layers.dense(x, 256, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(label, tf.layers.dense(x, 35))
    rng = np.random.RandomState(3)
    return loss, {sound: rng.randn(batch, 8000, 1).astype("float32"), label: rng.randint(0, 35, batch)}, False
