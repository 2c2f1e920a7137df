"""Graphs of predictions.py's forty-eighth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def conv(tf, x, width, size=3, strides=1, act=None, **more):
    return tf.layers.conv2d(x, width, size, strides, "same", activation=act, **more)


def garnets(tf, batch):
    """Super-resolution of pictures by residual blocks and a sub-pixel layer."""
    small = tf.placeholder(tf.float32, [None, 48, 48, 3], "small")
    large = tf.placeholder(tf.float32, [None, 96, 96, 3], "large")
    x = head = conv(tf, small, 48)
    for _ in range(5):
        y = conv(tf, x, 48, act=tf.nn.relu)
        x = x + 0.1 * conv(tf, y, 48)
    x = conv(tf, x, 48) + head
    x = tf.depth_to_space(conv(tf, x, 128), 2)
    loss = tf.reduce_mean(tf.abs(conv(tf, x, 3) - large))
    rng = np.random.RandomState(1)
    feed = {small: rng.rand(batch, 48, 48, 3).astype("float32"), large: rng.rand(batch, 96, 96, 3).astype("float32")}
    return loss, feed, False


def gimlets(tf, batch):
    """VoxNet-like classifier of occupancy grids."""
    grid = tf.placeholder(tf.float32, [None, 32, 32, 32, 1], "grid")
    label = tf.placeholder(tf.int32, [None], "label")
    x = tf.layers.conv3d(grid, 32, 5, 2, "same", activation=tf.nn.leaky_relu)
    x = tf.layers.conv3d(x, 48, 3, 1, "same", activation=tf.nn.leaky_relu)
    x = tf.layers.conv3d(x, 64, 3, 1, "same", activation=tf.nn.leaky_relu)
    x = tf.layers.max_pooling3d(x, 2, 2)
    x = tf.layers.dropout(tf.layers.flatten(x), 0.4, training=True)
    x = tf.layers.dense(x, 128, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(label, tf.layers.dense(x, 40))
    rng = np.random.RandomState(2)
    feed = {grid: rng.rand(batch, 32, 32, 32, 1).astype("float32"), label: rng.randint(0, 40, batch)}
    return loss, feed, False


def griddles(tf, batch):
    """Acoustic model of stacked LSTM cells that labels every frame with a phone."""
    frames = tf.placeholder(tf.float32, [None, 80, 40], "frames")
    phones = tf.placeholder(tf.int32, [None, 80], "phones")
    cells = [tf.nn.rnn_cell.LSTMCell(192) for _ in range(2)]
    x = tf.layers.conv1d(frames, 128, 5, padding="same", activation=tf.nn.relu)
    x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    logits = tf.layers.dense(x, 61)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=phones, logits=logits))
    rng = np.random.RandomState(3)
    feed = {frames: rng.rand(batch, 80, 40).astype("float32"), phones: rng.randint(0, 61, (batch, 80))}
    return loss, feed, True


def haddocks(tf, batch):
    """Inception-like classifier of fish with batch normalization."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    label = tf.placeholder(tf.int32, [None], "label")

    def unit(x, width, size, strides=1):
        x = conv(tf, x, width, size, strides, use_bias=False)
        return tf.nn.relu(tf.layers.batch_normalization(x, training=True))

    x = unit(unit(image, 32, 3, 2), 48, 3)
    for width in (24, 32, 48):
        a = unit(x, width, 1)
        b = unit(unit(x, width, 1), width, 3)
        c = unit(unit(unit(x, width // 2, 1), width, 3), width, 3)
        d = unit(tf.layers.average_pooling2d(x, 3, 1, "same"), width, 1)
        x = tf.layers.max_pooling2d(tf.concat([a, b, c, d], -1), 2, 2)
    logits = tf.layers.dense(tf.reduce_mean(x, [1, 2]), 30)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    rng = np.random.RandomState(4)
    feed = {image: rng.rand(batch, 64, 64, 3).astype("float32"), label: rng.randint(0, 30, batch)}
    return loss, feed, False


def hatchets(tf, batch):
    """Convolutional variational autoencoder of grey pictures."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 1], "image")
    x = image
    for width in (32, 64, 128):
        x = conv(tf, x, width, 4, 2, tf.nn.relu)
    x = tf.layers.flatten(x)
    mean, logvar = tf.layers.dense(x, 64), tf.layers.dense(x, 64)
    z = mean + tf.exp(0.5 * logvar) * tf.random_normal(tf.shape(mean))
    x = tf.reshape(tf.layers.dense(z, 8 * 8 * 128, tf.nn.relu), [-1, 8, 8, 128])
    for width in (64, 32):
        x = tf.layers.conv2d_transpose(x, width, 4, 2, "same", activation=tf.nn.relu)
    logits = tf.layers.conv2d_transpose(x, 1, 4, 2, "same")
    rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits), [1, 2, 3])
    kl = -0.5 * tf.reduce_sum(1 + logvar - tf.square(mean) - tf.exp(logvar), 1)
    rng = np.random.RandomState(5)
    return tf.reduce_mean(rebuilt + kl), {image: rng.rand(batch, 64, 64, 1).astype("float32")}, False


def jonquils(tf, batch):
    """Factorization machine with a deep part over tables of gardeners, plants and shops."""
    sizes = (60000, 30000, 2000)
    ids = tf.placeholder(tf.int32, [None, 3], "ids")
    bought = tf.placeholder(tf.float32, [None], "bought")
    parts, wide = [], 0.0
    for i, size in enumerate(sizes):
        table = tf.get_variable("table%d" % i, [size, 48], initializer=tf.random_normal_initializer(stddev=0.05))
        weight = tf.get_variable("weight%d" % i, [size], initializer=tf.zeros_initializer())
        parts.append(tf.nn.embedding_lookup(table, ids[:, i]))
        wide += tf.nn.embedding_lookup(weight, ids[:, i])
    stacked = tf.stack(parts, 1)
    pairs = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(stacked, 1)) - tf.reduce_sum(tf.square(stacked), 1), 1)
    x = tf.concat(parts, 1)
    for width in (256, 128):
        x = tf.layers.dense(x, width, tf.nn.relu)
    logits = wide + pairs + tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=bought, logits=logits))
    rng = np.random.RandomState(6)
    feed = {ids: rng.randint(0, 2000, (batch, 3)), bought: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def lanyards(tf, batch):
    """Transformer encoder that sorts letters to a helpdesk by topic."""
    words = tf.placeholder(tf.int32, [None, 96], "words")
    topic = tf.placeholder(tf.int32, [None], "topic")
    table = tf.get_variable("table", [25000, 128])
    places = tf.get_variable("places", [96, 128])
    x = tf.nn.embedding_lookup(table, words) + places

    def norm(x, name):
        mean, var = tf.nn.moments(x, [-1], keep_dims=True)
        scale = tf.get_variable(name, [128], initializer=tf.ones_initializer())
        return (x - mean) * tf.rsqrt(var + 1e-6) * scale

    def heads(x):
        return tf.transpose(tf.reshape(tf.layers.dense(x, 128), [-1, 96, 4, 32]), [0, 2, 1, 3])

    for i in range(3):
        q, k, v = heads(x), heads(x), heads(x)
        share = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(32.0))
        y = tf.transpose(tf.matmul(tf.nn.dropout(share, rate=0.1), v), [0, 2, 1, 3])
        x = norm(x + tf.layers.dense(tf.reshape(y, [-1, 96, 128]), 128), "a%d" % i)
        x = norm(x + tf.layers.dense(tf.layers.dense(x, 512, tf.nn.relu), 128), "b%d" % i)
    loss = tf.losses.sparse_softmax_cross_entropy(topic, tf.layers.dense(x[:, 0], 20))
    rng = np.random.RandomState(7)
    feed = {words: rng.randint(0, 3000, (batch, 96)), topic: rng.randint(0, 20, batch)}
    return loss, feed, True


def lecterns(tf, batch):
    """Two-frame depth estimator with an encoder, skips and resized features."""
    left = tf.placeholder(tf.float32, [None, 96, 128, 3], "left")
    right = tf.placeholder(tf.float32, [None, 96, 128, 3], "right")
    depth = tf.placeholder(tf.float32, [None, 96, 128, 1], "depth")
    x = tf.concat([left, right], -1)
    skips = []
    for width in (24, 48, 96, 160):
        x = conv(tf, x, width, act=tf.nn.elu)
        skips.append(x)
        x = conv(tf, x, width, 3, 2, tf.nn.elu)
    for width, skip in zip((96, 64, 32, 16), skips[::-1]):
        x = tf.image.resize_nearest_neighbor(x, skip.shape.as_list()[1:3])
        x = conv(tf, tf.concat([x, skip], -1), width, act=tf.nn.elu)
    guess = tf.nn.sigmoid(conv(tf, x, 1))
    rough = tf.reduce_mean(tf.abs(guess[:, 1:] - guess[:, :-1])) + tf.reduce_mean(tf.abs(guess[:, :, 1:] - guess[:, :, :-1]))
    loss = tf.reduce_mean(tf.abs(guess - depth)) + 0.1 * rough
    rng = np.random.RandomState(8)
    feed = {p: rng.rand(batch, 96, 128, c).astype("float32") for p, c in ((left, 3), (right, 3), (depth, 1))}
    return loss, feed, False
