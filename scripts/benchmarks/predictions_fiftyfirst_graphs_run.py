"""Graphs of predictions.py's fifty-first set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def weirs(tf, batch):
    """Next words of river reports: two stacked LSTM layers unrolled by dynamic_rnn."""
    vocabulary, steps, units = 9000, 35, 200
    words = tf.placeholder(tf.int32, [None, steps], "words")
    following = tf.placeholder(tf.int32, [None, steps], "following")
    table = tf.get_variable("table", [vocabulary, units], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, words), rate=0.2)
    cells = []
    for _ in range(2):
        cell = tf.nn.rnn_cell.LSTMCell(units, name="basic_lstm_cell")
        cells.append(tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8))
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    flat = tf.reshape(outputs, [-1, units])
    w = tf.get_variable("softmax_w", [units, vocabulary])
    b = tf.get_variable("softmax_b", [vocabulary], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(flat, w, b)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits)
    loss = tf.reduce_mean(losses)
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, vocabulary, (batch, steps)).astype("int32"),
            following: rng.randint(0, vocabulary, (batch, steps)).astype("int32")}
    return loss, feed, True


def yaks(tf, batch):
    """Subjects of travellers' letters: bidirectional GRUs over padded words, pooled by attention."""
    vocabulary, steps, units, classes = 40000, 100, 96, 14
    words = tf.placeholder(tf.int32, [None, steps], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    subject = tf.placeholder(tf.int32, [None], "subject")
    with tf.variable_scope("embedding"):
        table = tf.get_variable("table", [vocabulary, 64], initializer=tf.random_normal_initializer(stddev=0.05))
        x = tf.nn.embedding_lookup(table, words)
    with tf.variable_scope("encoder"):
        forward = tf.nn.rnn_cell.GRUCell(units)
        backward = tf.nn.rnn_cell.GRUCell(units)
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(forward, backward, x, sequence_length=lengths, dtype=tf.float32)
        h = tf.concat(outputs, 2)
    with tf.variable_scope("attention"):
        u = tf.layers.dense(h, 96, activation=tf.tanh)
        scores = tf.squeeze(tf.layers.dense(u, 1, use_bias=False), 2)
        mask = tf.sequence_mask(lengths, steps, dtype=tf.float32)
        weights = tf.nn.softmax(scores + (mask - 1.0) * 1e9)
        pooled = tf.reduce_sum(h * tf.expand_dims(weights, 2), 1)
    pooled = tf.nn.dropout(pooled, rate=0.4)
    logits = tf.layers.dense(pooled, classes)
    loss = tf.losses.sparse_softmax_cross_entropy(subject, logits)
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, vocabulary, (batch, steps)).astype("int32"),
            lengths: rng.randint(20, steps + 1, batch).astype("int32"),
            subject: rng.randint(0, classes, batch).astype("int32")}
    return loss, feed, True


def plumes(tf, batch):
    """Smoke drifting over a grid: a convolutional GRU written as a while loop over the frames."""
    steps, size, channels, hidden = 10, 40, 2, 24
    frames = tf.placeholder(tf.float32, [None, steps, size, size, channels], "frames")
    target = tf.placeholder(tf.float32, [None, size, size, 1], "target")
    gate_w = tf.get_variable("gate_w", [3, 3, channels + hidden, 2 * hidden])
    gate_b = tf.get_variable("gate_b", [2 * hidden], initializer=tf.ones_initializer())
    new_w = tf.get_variable("new_w", [3, 3, channels + hidden, hidden])
    new_b = tf.get_variable("new_b", [hidden], initializer=tf.zeros_initializer())
    inputs = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(frames, [1, 0, 2, 3, 4]))
    start = tf.zeros(tf.stack([tf.shape(frames)[0], size, size, hidden]))
    start.set_shape([None, size, size, hidden])

    def step(time, state):
        x = inputs.read(time)
        x.set_shape([None, size, size, channels])
        both = tf.nn.conv2d(tf.concat([x, state], 3), gate_w, strides=[1, 1, 1, 1], padding="SAME")
        reset, update = tf.split(tf.sigmoid(tf.nn.bias_add(both, gate_b)), 2, axis=3)
        new = tf.nn.conv2d(tf.concat([x, reset * state], 3), new_w, strides=[1, 1, 1, 1], padding="SAME")
        new = tf.tanh(tf.nn.bias_add(new, new_b))
        return time + 1, update * state + (1.0 - update) * new

    _, state = tf.while_loop(lambda time, state: time < steps, step, [tf.constant(0), start])
    x = tf.layers.conv2d(state, 32, 3, padding="same", activation=tf.nn.relu)
    density = tf.layers.conv2d(x, 1, 1)
    loss = tf.reduce_mean(tf.square(density - target))
    rng = np.random.RandomState(3)
    feed = {frames: rng.rand(batch, steps, size, size, channels).astype("float32"),
            target: rng.rand(batch, size, size, 1).astype("float32")}
    return loss, feed, False


def slippers(tf, batch):
    """Shoes by kind: a residual net with batch normalization and weight decay."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    kind = tf.placeholder(tf.int32, [None], "kind")
    decay = tf.keras.regularizers.l2(1e-4)

    def conv(x, filters, size, strides=1):
        x = tf.layers.conv2d(x, filters, size, strides, "same", use_bias=False, kernel_regularizer=decay,
                             kernel_initializer=tf.variance_scaling_initializer(2.0))
        return tf.layers.batch_normalization(x, training=True)

    x = tf.nn.relu(conv(image, 32, 3))
    x = tf.layers.max_pooling2d(x, 2, 2)
    for filters, strides in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        short = x
        if strides > 1:
            short = conv(x, filters, 1, strides)
        y = tf.nn.relu(conv(x, filters, 3, strides))
        x = tf.nn.relu(conv(y, filters, 3) + short)
    x = tf.reduce_mean(x, [1, 2])
    logits = tf.layers.dense(x, 21)
    loss = tf.losses.sparse_softmax_cross_entropy(kind, logits) + tf.losses.get_regularization_loss()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.identity(loss)
    rng = np.random.RandomState(3)
    feed = {image: rng.rand(batch, 64, 64, 3).astype("float32"),
            kind: rng.randint(0, 21, batch).astype("int32")}
    return loss, feed, False


def tundras(tf, batch):
    """Land cover from six satellite bands: dilated convolutions with upsampled skips."""
    classes = 8
    bands = tf.placeholder(tf.float32, [None, 96, 96, 6], "bands")
    cover = tf.placeholder(tf.int32, [None, 96, 96], "cover")

    def conv(x, filters, size=3, rate=1):
        return tf.layers.conv2d(x, filters, size, padding="same", dilation_rate=rate, activation=tf.nn.relu)

    x = conv(conv(bands, 24), 24)
    skip = x
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = conv(conv(x, 48), 48)
    middle = x
    x = tf.layers.max_pooling2d(x, 2, 2)
    branches = [conv(x, 48, 1)] + [conv(x, 48, 3, rate) for rate in (2, 4, 6)]
    pooled = conv(tf.reduce_mean(x, [1, 2], keepdims=True), 48, 1)
    branches.append(tf.image.resize_bilinear(pooled, [24, 24]))
    x = conv(tf.concat(branches, 3), 96, 1)
    x = tf.nn.dropout(x, rate=0.3)
    x = tf.layers.conv2d_transpose(x, 48, 4, 2, "same", activation=tf.nn.relu)
    x = conv(tf.concat([x, middle], 3), 48)
    x = tf.image.resize_bilinear(x, [96, 96])
    x = conv(tf.concat([x, skip], 3), 24)
    logits = tf.layers.conv2d(x, classes, 1)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=cover, logits=logits))
    rng = np.random.RandomState(3)
    feed = {bands: rng.rand(batch, 96, 96, 6).astype("float32"),
            cover: rng.randint(0, classes, (batch, 96, 96)).astype("int32")}
    return loss, feed, False


def vests(tf, batch):
    """Chance of a sale in a clothes shop: a DeepFM over 24 hashed fields in one large table."""
    fields, buckets, width = 24, 500000, 16
    ids = tf.placeholder(tf.int32, [None, fields], "ids")
    values = tf.placeholder(tf.float32, [None, fields], "values")
    sold = tf.placeholder(tf.float32, [None], "sold")
    table = tf.get_variable("factors", [buckets, width], initializer=tf.random_normal_initializer(stddev=0.01))
    linear = tf.get_variable("linear", [buckets, 1], initializer=tf.zeros_initializer())
    weights = tf.squeeze(tf.nn.embedding_lookup(linear, ids), 2)
    first = tf.reduce_sum(weights * values, 1)
    vectors = tf.nn.embedding_lookup(table, ids) * tf.expand_dims(values, 2)
    second = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(vectors, 1)) - tf.reduce_sum(tf.square(vectors), 1), 1)
    x = tf.reshape(vectors, [-1, fields * width])
    for units in (400, 400, 200):
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
        x = tf.nn.dropout(x, rate=0.2)
    deep = tf.squeeze(tf.layers.dense(x, 1), 1)
    logit = first + second + deep
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=sold, logits=logit))
    rng = np.random.RandomState(3)
    feed = {ids: rng.randint(0, buckets, (batch, fields)).astype("int32"),
            values: rng.rand(batch, fields).astype("float32"),
            sold: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def wafers(tf, batch):
    """Pictures of silicon wafers encoded and rebuilt: a convolutional variational autoencoder."""
    size, latent = 96, 64
    image = tf.placeholder(tf.float32, [None, size, size, 1], "image")
    x = image
    for filters in (32, 64, 128):
        x = tf.layers.conv2d(x, filters, 4, 2, "same")
        x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True), 0.2)
    x = tf.layers.dense(tf.layers.flatten(x), 256, activation=tf.nn.relu)
    mean = tf.layers.dense(x, latent)
    log_variance = tf.layers.dense(x, latent)
    z = mean + tf.exp(0.5 * log_variance) * tf.random_normal(tf.shape(mean))
    x = tf.layers.dense(z, 12 * 12 * 128, activation=tf.nn.relu)
    x = tf.reshape(x, [-1, 12, 12, 128])
    for filters in (64, 32):
        x = tf.layers.conv2d_transpose(x, filters, 4, 2, "same")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    logits = tf.layers.conv2d_transpose(x, 1, 4, 2, "same")
    rebuilt = tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits)
    rebuilt = tf.reduce_sum(rebuilt, [1, 2, 3])
    divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
    loss = tf.reduce_mean(rebuilt + divergence)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.identity(loss)
    rng = np.random.RandomState(3)
    feed = {image: rng.rand(batch, size, size, 1).astype("float32")}
    return loss, feed, False


def zeniths(tf, batch):
    """Kinds of variable stars from light curves: a transformer encoder written out by hand."""
    steps, width, heads, classes = 256, 64, 4, 8
    curve = tf.placeholder(tf.float32, [None, steps, 4], "curve")
    star = tf.placeholder(tf.int32, [None], "star")

    def normalize(x, name):
        with tf.variable_scope(name):
            gain = tf.get_variable("gain", [width], initializer=tf.ones_initializer())
            shift = tf.get_variable("shift", [width], initializer=tf.zeros_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return (x - mean) * tf.rsqrt(variance + 1e-6) * gain + shift

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, steps, heads, width // heads]), [0, 2, 1, 3])

    x = tf.layers.dense(curve, width)
    x += tf.get_variable("places", [steps, width], initializer=tf.random_normal_initializer(stddev=0.02))
    for block in range(3):
        with tf.variable_scope("block%d" % block):
            h = normalize(x, "first")
            query, key, value = [split(tf.layers.dense(h, width, use_bias=False, name=name))
                                 for name in ("query", "key", "value")]
            scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(width // heads).astype("float32")
            weights = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
            h = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, steps, width])
            x += tf.layers.dense(h, width, name="out")
            h = normalize(x, "second")
            h = tf.layers.dense(h, 4 * width, activation=tf.nn.relu, name="wide")
            x += tf.layers.dense(h, width, name="narrow")
    x = tf.reduce_mean(normalize(x, "last"), 1)
    logits = tf.layers.dense(x, classes)
    loss = tf.losses.sparse_softmax_cross_entropy(star, logits)
    rng = np.random.RandomState(3)
    feed = {curve: rng.randn(batch, steps, 4).astype("float32"),
            star: rng.randint(0, classes, batch).astype("int32")}
    return loss, feed, True
