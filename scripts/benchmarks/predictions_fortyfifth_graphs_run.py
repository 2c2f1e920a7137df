"""Graphs of predictions.py's forty-fifth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def doublets(tf, batch):
    """DeepFM on 26 hashed categories and 13 numbers of an advert's showing."""
    buckets, fields, size = 400000, 26, 16
    ids = tf.placeholder(tf.int32, [None, fields], "ids")
    numbers = tf.placeholder(tf.float32, [None, 13], "numbers")
    label = tf.placeholder(tf.float32, [None], "label")
    linear = tf.get_variable("linear", [buckets, 1], initializer=tf.zeros_initializer())
    table = tf.get_variable("table", [buckets, size], initializer=tf.random_normal_initializer(stddev=0.01))
    first = tf.reduce_sum(tf.nn.embedding_lookup(linear, ids), axis=[1, 2])
    vectors = tf.nn.embedding_lookup(table, ids)
    summed = tf.reduce_sum(vectors, axis=1)
    second = 0.5 * tf.reduce_sum(tf.square(summed) - tf.reduce_sum(tf.square(vectors), axis=1), axis=1)
    x = tf.concat([tf.reshape(vectors, [-1, fields * size]), numbers], axis=1)
    for k, units in enumerate((400, 400, 200)):
        x = tf.layers.dense(x, units, tf.nn.relu, name="deep_%d" % k)
    deep = tf.squeeze(tf.layers.dense(x, 1, name="deep_out"), axis=1)
    logits = first + second + deep + tf.squeeze(tf.layers.dense(numbers, 1, name="wide"), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits))
    loss += 1e-5 * (tf.nn.l2_loss(vectors))
    rng = np.random.RandomState(3)
    feed = {ids: rng.randint(0, buckets, (batch, fields)), numbers: rng.rand(batch, 13).astype("float32"),
            label: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def hassocks(tf, batch):
    """A word-level language model of two LSTM layers with dropout, unrolled by dynamic_rnn."""
    steps, hidden, vocabulary = 30, 320, 10000
    words = tf.placeholder(tf.int32, [None, steps], "words")
    following = tf.placeholder(tf.int32, [None, steps], "following")
    table = tf.get_variable("table", [vocabulary, hidden], initializer=tf.random_uniform_initializer(-0.05, 0.05))
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, words), keep_prob=0.7)
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(hidden, forget_bias=0.0), output_keep_prob=0.7)
             for _ in range(2)]
    x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    w = tf.get_variable("softmax_w", [hidden, vocabulary])
    b = tf.get_variable("softmax_b", [vocabulary], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(tf.reshape(x, [-1, hidden]), w, b)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits)
    loss = tf.reduce_mean(losses)
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, vocabulary, (batch, steps)), following: rng.randint(0, vocabulary, (batch, steps))}
    return loss, feed, True


def jerkins(tf, batch):
    """Kim's convolutional sentence classifier with filters of three widths."""
    length, vocabulary, size = 64, 50000, 128
    words = tf.placeholder(tf.int32, [None, length], "words")
    label = tf.placeholder(tf.int32, [None], "label")
    table = tf.Variable(tf.random_uniform([vocabulary, size], -1.0, 1.0), name="table")
    x = tf.expand_dims(tf.nn.embedding_lookup(table, words), -1)
    pooled = []
    for width in (3, 4, 5):
        with tf.variable_scope("conv_%d" % width):
            kernel = tf.get_variable("kernel", [width, size, 1, 128],
                                     initializer=tf.truncated_normal_initializer(stddev=0.1))
            bias = tf.get_variable("bias", [128], initializer=tf.constant_initializer(0.1))
            y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "VALID"), bias))
            pooled.append(tf.nn.max_pool(y, [1, length - width + 1, 1, 1], [1, 1, 1, 1], "VALID"))
    x = tf.reshape(tf.concat(pooled, 3), [-1, 3 * 128])
    x = tf.nn.dropout(x, keep_prob=0.5)
    logits = tf.layers.dense(x, 20, name="topics")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, vocabulary, (batch, length)), label: rng.randint(0, 20, batch)}
    return loss, feed, False


def lodestones(tf, batch):
    """A convolutional variational autoencoder of 64 by 64 pictures."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    x = image
    for k, filters in enumerate((32, 64, 128, 256)):
        x = tf.layers.conv2d(x, filters, 4, 2, "same", activation=tf.nn.leaky_relu, name="down_%d" % k)
    x = tf.layers.flatten(x)
    mean = tf.layers.dense(x, 128, name="mean")
    logvar = tf.layers.dense(x, 128, name="logvar")
    z = mean + tf.exp(0.5 * logvar) * tf.random_normal(tf.shape(mean))
    x = tf.layers.dense(z, 4 * 4 * 256, tf.nn.relu, name="grow")
    x = tf.reshape(x, [-1, 4, 4, 256])
    for k, filters in enumerate((128, 64, 32)):
        x = tf.layers.conv2d_transpose(x, filters, 4, 2, "same", activation=tf.nn.relu, name="up_%d" % k)
    logits = tf.layers.conv2d_transpose(x, 3, 4, 2, "same", name="paint")
    likeness = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits), axis=[1, 2, 3])
    spread = -0.5 * tf.reduce_sum(1.0 + logvar - tf.square(mean) - tf.exp(logvar), axis=1)
    loss = tf.reduce_mean(likeness + spread)
    rng = np.random.RandomState(3)
    return loss, {image: rng.rand(batch, 64, 64, 3).astype("float32")}, False


def quoits(tf, batch):
    """A gated dilated causal net that forecasts eight sensors one step ahead at each time."""
    length, sensors, width = 512, 8, 48
    past = tf.placeholder(tf.float32, [None, length, sensors], "past")
    following = tf.placeholder(tf.float32, [None, length, sensors], "following")
    x = tf.layers.dense(past, width, name="enter")
    skips = []
    for k in range(7):
        rate = 2 ** k
        with tf.variable_scope("block_%d" % k):
            padded = tf.pad(x, [[0, 0], [rate, 0], [0, 0]])
            y = tf.layers.conv1d(padded, 2 * width, 2, dilation_rate=rate, name="dilated")
            signal, gate = tf.split(y, 2, axis=2)
            y = tf.tanh(signal) * tf.sigmoid(gate)
            skips.append(tf.layers.conv1d(y, width, 1, name="skip"))
            x = x + tf.layers.conv1d(y, width, 1, name="residual")
    x = tf.nn.relu(tf.add_n(skips))
    x = tf.layers.conv1d(x, 64, 1, activation=tf.nn.relu, name="head")
    forecast = tf.layers.conv1d(x, sensors, 1, name="forecast")
    loss = tf.losses.huber_loss(following, forecast)
    rng = np.random.RandomState(3)
    feed = {past: rng.rand(batch, length, sensors).astype("float32"),
            following: rng.rand(batch, length, sensors).astype("float32")}
    return loss, feed, True


def sorrels(tf, batch):
    """Self-attentive sequential recommendation with one sampled negative for each step."""
    items, length, size, heads = 60000, 50, 64, 2
    history = tf.placeholder(tf.int32, [None, length], "history")
    bought = tf.placeholder(tf.int32, [None, length], "bought")
    skipped = tf.placeholder(tf.int32, [None, length], "skipped")
    table = tf.get_variable("items", [items, size], initializer=tf.random_normal_initializer(stddev=0.02))
    places = tf.get_variable("places", [length, size], initializer=tf.random_normal_initializer(stddev=0.02))

    def normalised(x, name):
        with tf.variable_scope(name):
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            gamma = tf.get_variable("gamma", [size], initializer=tf.ones_initializer())
            beta = tf.get_variable("beta", [size], initializer=tf.zeros_initializer())
            return gamma * (x - mean) / tf.sqrt(variance + 1e-8) + beta

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, length, heads, size // heads]), [0, 2, 1, 3])

    real = tf.expand_dims(tf.cast(tf.not_equal(history, 0), tf.float32), -1)
    x = tf.nn.embedding_lookup(table, history) * (size ** 0.5) + places
    x = tf.nn.dropout(x, keep_prob=0.8) * real
    causal = tf.constant(np.tril(np.ones((length, length), "float32")))
    for k in range(2):
        with tf.variable_scope("block_%d" % k):
            y = normalised(x, "before")
            q = split(tf.layers.dense(y, size, name="q"))
            keys = split(tf.layers.dense(x, size, name="k"))
            v = split(tf.layers.dense(x, size, name="v"))
            scores = tf.matmul(q, keys, transpose_b=True) / (size // heads) ** 0.5
            scores = scores * causal - 1e9 * (1.0 - causal)
            seen = tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), keep_prob=0.8), v)
            seen = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [-1, length, size])
            x = normalised(y + seen, "middle")
            y = tf.layers.dense(x, size, tf.nn.relu, name="inner")
            y = tf.nn.dropout(tf.layers.dense(y, size, name="outer"), keep_prob=0.8)
            x = (x + y) * real
    x = normalised(x, "last")
    good = tf.reduce_sum(x * tf.nn.embedding_lookup(table, bought), -1)
    bad = tf.reduce_sum(x * tf.nn.embedding_lookup(table, skipped), -1)
    mask = tf.cast(tf.not_equal(bought, 0), tf.float32)
    losses = -tf.log(tf.sigmoid(good) + 1e-24) - tf.log(1.0 - tf.sigmoid(bad) + 1e-24)
    loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    rng = np.random.RandomState(3)
    feed = {one: rng.randint(1, items, (batch, length)) for one in (history, bought, skipped)}
    return loss, feed, False


def truffles(tf, batch):
    """A SchNet that learns a molecule's energy and dipole from distances between its atoms."""
    atoms, size, centres = 28, 64, 48
    kinds = tf.placeholder(tf.int32, [None, atoms], "kinds")
    places = tf.placeholder(tf.float32, [None, atoms, 3], "places")
    energy = tf.placeholder(tf.float32, [None], "energy")
    dipole = tf.placeholder(tf.float32, [None], "dipole")

    def softplus(x):
        return tf.nn.softplus(x) - np.float32(np.log(2.0))

    between = tf.expand_dims(places, 2) - tf.expand_dims(places, 1)
    distance = tf.sqrt(tf.reduce_sum(tf.square(between), -1, keepdims=True) + 1e-8)
    grid = tf.constant(np.linspace(0.0, 6.0, centres).astype("float32"))
    spread = tf.exp(-10.0 * tf.square(distance - grid))
    x = tf.nn.embedding_lookup(tf.get_variable("kinds_table", [20, size]), kinds)
    for k in range(3):
        with tf.variable_scope("interaction_%d" % k):
            filters = tf.layers.dense(spread, size, softplus, name="filter_1")
            filters = tf.layers.dense(filters, size, softplus, name="filter_2")
            y = tf.layers.dense(x, size, use_bias=False, name="enter")
            y = tf.reduce_sum(tf.expand_dims(y, 1) * filters, axis=2)
            y = tf.layers.dense(y, size, softplus, name="middle")
            x = x + tf.layers.dense(y, size, name="leave")
    losses = []
    for name, target in (("energy", energy), ("dipole", dipole)):
        with tf.variable_scope(name):
            y = tf.layers.dense(tf.layers.dense(x, 32, softplus, name="inner"), 1, name="outer")
            losses.append(tf.losses.mean_squared_error(target, tf.reduce_sum(y, axis=[1, 2])))
    loss = losses[0] + 0.1 * losses[1]
    rng = np.random.RandomState(3)
    feed = {kinds: rng.randint(0, 20, (batch, atoms)), places: 4 * rng.rand(batch, atoms, 3).astype("float32"),
            energy: rng.rand(batch).astype("float32"), dipole: rng.rand(batch).astype("float32")}
    return loss, feed, False
