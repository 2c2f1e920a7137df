"""Graphs of predictions.py's forty-seventh set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def turbans(tf, batch):
    """A language model of 35 words after Zaremba: two LSTMs with dropout between, gradients clipped."""
    words, width, length = 10000, 400, 35
    tokens = tf.placeholder(tf.int32, [None, length], "tokens")
    following = tf.placeholder(tf.int32, [None, length], "following")
    start = tf.random_uniform_initializer(-0.05, 0.05)
    with tf.variable_scope("model", initializer=start):
        table = tf.get_variable("embedding", [words, width])
        x = tf.nn.dropout(tf.nn.embedding_lookup(table, tokens), rate=0.35)
        cells = []
        for _ in range(2):
            cell = tf.nn.rnn_cell.LSTMCell(width, forget_bias=0.0)
            cells.append(tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.65))
        x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
        x = tf.reshape(x, [-1, width])
        weights = tf.get_variable("softmax_w", [width, words])
        bias = tf.get_variable("softmax_b", [words])
        logits = tf.matmul(x, weights) + bias
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits))
    rng = np.random.RandomState(1)
    feed = {tokens: rng.randint(0, words, (batch, length)).astype("int32"),
            following: rng.randint(0, words, (batch, length)).astype("int32")}
    return loss, feed, True


def croissants(tf, batch):
    """DeepFM for clicks: a factorization machine and a deep net share the vectors of 39 fields."""
    features, fields, width = 250000, 39, 16
    ids = tf.placeholder(tf.int32, [None, fields], "ids")
    amounts = tf.placeholder(tf.float32, [None, fields], "amounts")
    clicked = tf.placeholder(tf.float32, [None], "clicked")
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    first = tf.get_variable("first", [features], initializer=tf.zeros_initializer())
    second = tf.get_variable("second", [features, width], initializer=tf.random_normal_initializer(stddev=0.01))
    linear = tf.reduce_sum(tf.nn.embedding_lookup(first, ids) * amounts, 1)
    vectors = tf.nn.embedding_lookup(second, ids) * tf.expand_dims(amounts, 2)
    of_sums = tf.square(tf.reduce_sum(vectors, 1))
    of_squares = tf.reduce_sum(tf.square(vectors), 1)
    pairs = 0.5 * tf.reduce_sum(of_sums - of_squares, 1)
    deep = tf.reshape(vectors, [-1, fields * width])
    for units in (400, 400, 200):
        deep = tf.layers.dense(deep, units, tf.nn.relu)
        deep = tf.nn.dropout(deep, rate=0.3)
    deep = tf.squeeze(tf.layers.dense(deep, 1), 1)
    logits = bias + linear + pairs + deep
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=logits))
    rng = np.random.RandomState(2)
    feed = {ids: rng.randint(0, features, (batch, fields)).astype("int32"),
            amounts: rng.rand(batch, fields).astype("float32"),
            clicked: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def axolotls(tf, batch):
    """A small BERT that sorts pairs of sentences into three, with its masks and segments."""
    words, length, width, heads, depth = 30522, 128, 256, 4, 4
    ids = tf.placeholder(tf.int32, [None, length], "ids")
    mask = tf.placeholder(tf.int32, [None, length], "mask")
    segments = tf.placeholder(tf.int32, [None, length], "segments")
    labels = tf.placeholder(tf.int32, [None], "labels")
    start = tf.truncated_normal_initializer(stddev=0.02)

    def gelu(x):
        return x * 0.5 * (1.0 + tf.erf(x / np.sqrt(2.0)))

    def norm(x, name):
        with tf.variable_scope(name):
            gamma = tf.get_variable("gamma", [width], initializer=tf.ones_initializer())
            beta = tf.get_variable("beta", [width], initializer=tf.zeros_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def dense(x, units, name, activation=None):
        return tf.layers.dense(x, units, activation, kernel_initializer=start, name=name)

    with tf.variable_scope("embeddings"):
        table = tf.get_variable("words", [words, width], initializer=start)
        kinds = tf.get_variable("segments", [2, width], initializer=start)
        places = tf.get_variable("places", [512, width], initializer=start)
        x = tf.nn.embedding_lookup(table, ids)
        x += tf.reshape(tf.matmul(tf.one_hot(tf.reshape(segments, [-1]), 2), kinds), [-1, length, width])
        x += tf.expand_dims(places[:length], 0)
        x = tf.nn.dropout(norm(x, "norm"), rate=0.1)
    hidden = (1.0 - tf.cast(mask[:, tf.newaxis, tf.newaxis, :], tf.float32)) * -10000.0

    def split(y):
        return tf.transpose(tf.reshape(y, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    for n in range(depth):
        with tf.variable_scope("layer_%d" % n):
            q, k, v = [split(dense(x, width, name)) for name in ("query", "key", "value")]
            scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(width // heads) + hidden
            shares = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
            y = tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [-1, length, width])
            y = tf.nn.dropout(dense(y, width, "output"), rate=0.1)
            x = norm(x + y, "norm_1")
            y = dense(x, 4 * width, "inner", gelu)
            y = tf.nn.dropout(dense(y, width, "outer"), rate=0.1)
            x = norm(x + y, "norm_2")
    first = dense(x[:, 0], width, "pooler", tf.tanh)
    logits = dense(tf.nn.dropout(first, rate=0.1), 3, "classifier")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    rng = np.random.RandomState(3)
    lengths = rng.randint(20, length + 1, (batch, 1))
    feed = {ids: rng.randint(0, words, (batch, length)).astype("int32"),
            mask: (np.arange(length)[None] < lengths).astype("int32"),
            segments: (np.arange(length)[None] > lengths // 2).astype("int32"),
            labels: rng.randint(0, 3, batch).astype("int32")}
    return loss, feed, True


def mackintoshes(tf, batch):
    """Shapes of point clouds by convolutions over the edges to each point's 16 nearest (DGCNN)."""
    count, near, classes = 512, 16, 40
    points = tf.placeholder(tf.float32, [None, count, 3], "points")
    labels = tf.placeholder(tf.int32, [None], "labels")

    def edges(x):
        width = x.shape[-1].value
        inner = -2.0 * tf.matmul(x, x, transpose_b=True)
        squares = tf.reduce_sum(tf.square(x), -1, keepdims=True)
        distances = squares + inner + tf.transpose(squares, [0, 2, 1])
        _, nearest = tf.nn.top_k(-distances, near)
        offsets = tf.reshape(tf.range(tf.shape(x)[0]) * count, [-1, 1, 1])
        others = tf.gather(tf.reshape(x, [-1, width]), nearest + offsets)
        centres = tf.tile(tf.expand_dims(x, 2), [1, 1, near, 1])
        return tf.concat([centres, others - centres], -1)

    def conv(x, units):
        x = tf.layers.conv2d(x, units, 1, use_bias=False)
        return tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True))

    levels, x = [], points
    for units in (48, 64, 96):
        x = tf.reduce_max(conv(edges(x), units), 2)
        levels.append(x)
    x = tf.expand_dims(tf.concat(levels, -1), 2)
    x = tf.squeeze(conv(x, 512), 2)
    x = tf.concat([tf.reduce_max(x, 1), tf.reduce_mean(x, 1)], -1)
    x = tf.layers.dropout(tf.layers.dense(x, 256, tf.nn.leaky_relu), 0.5, training=True)
    logits = tf.layers.dense(x, classes)
    loss = tf.losses.softmax_cross_entropy(tf.one_hot(labels, classes), logits, label_smoothing=0.2)
    rng = np.random.RandomState(4)
    feed = {points: rng.randn(batch, count, 3).astype("float32"),
            labels: rng.randint(0, classes, batch).astype("int32")}
    return loss, feed, False


def platypuses(tf, batch):
    """A variational autoencoder that paints faces of 64 by 64."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    x = image
    for filters in (48, 96, 192, 256):
        x = tf.layers.conv2d(x, filters, 4, 2, "same", activation=tf.nn.leaky_relu)
    x = tf.layers.flatten(x)
    mean = tf.layers.dense(x, 128, name="mean")
    spread = tf.layers.dense(x, 128, name="log_variance")
    z = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    x = tf.layers.dense(z, 4 * 4 * 256, tf.nn.relu)
    x = tf.reshape(x, [-1, 4, 4, 256])
    for filters in (192, 96, 48):
        x = tf.layers.conv2d_transpose(x, filters, 4, 2, "same", use_bias=False)
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    logits = tf.layers.conv2d_transpose(x, 3, 4, 2, "same")
    likeness = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits), [1, 2, 3])
    divergence = -0.5 * tf.reduce_sum(1.0 + spread - tf.square(mean) - tf.exp(spread), 1)
    loss = tf.reduce_mean(likeness + divergence)
    rng = np.random.RandomState(5)
    return loss, {image: rng.rand(batch, 64, 64, 3).astype("float32")}, False


def quagmires(tf, batch):
    """Proximal policy optimization on arcade games: clipped policy, clipped value and entropy."""
    moves = 9
    frames = tf.placeholder(tf.uint8, [None, 84, 84, 4], "frames")
    taken = tf.placeholder(tf.int32, [None], "taken")
    advantages = tf.placeholder(tf.float32, [None], "advantages")
    returns = tf.placeholder(tf.float32, [None], "returns")
    old_losses = tf.placeholder(tf.float32, [None], "old_losses")
    old_values = tf.placeholder(tf.float32, [None], "old_values")
    start = tf.orthogonal_initializer(np.sqrt(2.0))
    x = tf.cast(frames, tf.float32) / 255.0
    x = tf.layers.conv2d(x, 32, 8, 4, activation=tf.nn.relu, kernel_initializer=start)
    x = tf.layers.conv2d(x, 64, 4, 2, activation=tf.nn.relu, kernel_initializer=start)
    x = tf.layers.conv2d(x, 64, 3, 1, activation=tf.nn.relu, kernel_initializer=start)
    x = tf.layers.dense(tf.layers.flatten(x), 512, tf.nn.relu, kernel_initializer=start)
    logits = tf.layers.dense(x, moves, kernel_initializer=tf.orthogonal_initializer(0.01), name="policy")
    values = tf.squeeze(tf.layers.dense(x, 1, name="value"), 1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=taken, logits=logits)
    ratio = tf.exp(old_losses - losses)
    policy = tf.reduce_mean(tf.maximum(-advantages * ratio,
                                       -advantages * tf.clip_by_value(ratio, 0.9, 1.1)))
    near = old_values + tf.clip_by_value(values - old_values, -0.1, 0.1)
    value = 0.5 * tf.reduce_mean(tf.maximum(tf.square(values - returns), tf.square(near - returns)))
    shares = tf.nn.softmax(logits)
    entropy = -tf.reduce_mean(tf.reduce_sum(shares * tf.nn.log_softmax(logits), 1))
    loss = policy + 0.5 * value - 0.01 * entropy
    rng = np.random.RandomState(6)
    feed = {frames: rng.randint(0, 256, (batch, 84, 84, 4)).astype("uint8"),
            taken: rng.randint(0, moves, batch).astype("int32"),
            advantages: rng.randn(batch).astype("float32"),
            returns: rng.randn(batch).astype("float32"),
            old_losses: rng.rand(batch).astype("float32") + 1.5,
            old_values: rng.randn(batch).astype("float32")}
    return loss, feed, True


def rickshaws(tf, batch):
    """The road under a wheel at each of 1,024 moments of six sensors, by gated dilated convolutions."""
    length, classes, width = 1024, 11, 40
    signal = tf.placeholder(tf.float32, [None, length, 6], "signal")
    labels = tf.placeholder(tf.int32, [None, length], "labels")

    def causal(x, filters, size, rate, name):
        x = tf.pad(x, [[0, 0], [(size - 1) * rate, 0], [0, 0]])
        return tf.layers.conv1d(x, filters, size, dilation_rate=rate, name=name)

    x = causal(signal, width, 2, 1, "start")
    skips = []
    rates = [1, 2, 4, 8, 16, 32, 64, 128]
    for n, rate in enumerate(rates):
        with tf.variable_scope("block_%d" % n):
            both = causal(x, 2 * width, 2, rate, "gated")
            inner, gate = tf.split(both, 2, -1)
            y = tf.tanh(inner) * tf.sigmoid(gate)
            skips.append(tf.layers.conv1d(y, 64, 1, name="skip"))
            if n + 1 < len(rates):
                x = x + tf.layers.conv1d(y, width, 1, name="residual")
    x = tf.nn.relu(tf.add_n(skips))
    x = tf.layers.conv1d(x, 64, 1, activation=tf.nn.relu)
    logits = tf.layers.conv1d(x, classes, 1)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    rng = np.random.RandomState(7)
    feed = {signal: rng.randn(batch, length, 6).astype("float32"),
            labels: rng.randint(0, classes, (batch, length)).astype("int32")}
    return loss, feed, False
