"""Graphs of predictions.py's forty-fourth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def sardines(tf, batch):
    """Super-resolution by four: residual blocks without normalization and two pixel shuffles."""
    small = tf.placeholder(tf.float32, [None, 32, 32, 3], "small")
    large = tf.placeholder(tf.float32, [None, 128, 128, 3], "large")
    x = head = tf.layers.conv2d(small, 48, 3, padding="same", name="head")
    for i in range(8):
        with tf.variable_scope("block%d" % i):
            y = tf.layers.conv2d(x, 48, 3, padding="same", activation=tf.nn.relu)
            y = tf.layers.conv2d(y, 48, 3, padding="same")
            x = x + 0.1 * y
    x = head + tf.layers.conv2d(x, 48, 3, padding="same", name="body")
    for i in range(2):
        x = tf.layers.conv2d(x, 4 * 32, 3, padding="same", name="up%d" % i)
        x = tf.nn.relu(tf.depth_to_space(x, 2))
    out = tf.layers.conv2d(x, 3, 3, padding="same", name="tail")
    loss = tf.reduce_mean(tf.abs(out - large), name="loss")
    rng = np.random.RandomState(1)
    feed = {small: rng.rand(batch, 32, 32, 3).astype("float32"), large: rng.rand(batch, 128, 128, 3).astype("float32")}
    return loss, feed, False


def bagpipes(tf, batch):
    """A variational autoencoder of mel spectrograms of single notes, conditioned on the instrument."""
    mel = tf.placeholder(tf.float32, [None, 128, 64, 1], "mel")
    instrument = tf.placeholder(tf.int32, [None], "instrument")
    x = mel
    with tf.variable_scope("encoder"):
        for i, filters in enumerate((32, 64, 96, 128)):
            x = tf.layers.conv2d(x, filters, 5, 2, padding="same", name="conv%d" % i)
            x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
        x = tf.layers.flatten(x)
        mean = tf.layers.dense(x, 64, name="mean")
        log_var = tf.layers.dense(x, 64, name="log_var")
    z = mean + tf.exp(0.5 * log_var) * tf.random_normal(tf.shape(mean), seed=5)
    kind = tf.one_hot(instrument, 16)
    with tf.variable_scope("decoder"):
        x = tf.layers.dense(tf.concat([z, kind], 1), 8 * 4 * 128, activation=tf.nn.relu)
        x = tf.reshape(x, [-1, 8, 4, 128])
        for i, filters in enumerate((96, 64, 32)):
            x = tf.layers.conv2d_transpose(x, filters, 5, 2, padding="same", name="up%d" % i)
            x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
        out = tf.layers.conv2d_transpose(x, 1, 5, 2, padding="same", name="out")
    rebuilt = tf.reduce_mean(tf.reduce_sum(tf.square(out - mel), axis=[1, 2, 3]))
    divergence = -0.5 * tf.reduce_mean(tf.reduce_sum(1.0 + log_var - tf.square(mean) - tf.exp(log_var), axis=1))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.add(rebuilt, 0.1 * divergence, name="loss")
    rng = np.random.RandomState(2)
    feed = {mel: rng.rand(batch, 128, 64, 1).astype("float32"), instrument: rng.randint(0, 16, batch).astype("int32")}
    return loss, feed, True


def hydrangeas(tf, batch):
    """Garden flowers by an Inception-ResNet of three small stages, with an auxiliary head and weight decay."""
    image = tf.placeholder(tf.float32, [None, 96, 96, 3], "image")
    label = tf.placeholder(tf.int32, [None], "label")
    decay = tf.keras.regularizers.l2(1e-4)

    def conv(x, filters, size, stride=1):
        x = tf.layers.conv2d(x, filters, size, stride, padding="same", use_bias=False, kernel_regularizer=decay)
        return tf.nn.relu(tf.layers.batch_normalization(x, training=True))

    def mixed(x):
        depth = x.get_shape().as_list()[-1]
        a = conv(x, depth // 4, 1)
        b = conv(conv(x, depth // 4, 1), depth // 4, 3)
        c = conv(conv(conv(x, depth // 8, 1), depth // 6, [1, 5]), depth // 4, [5, 1])
        y = tf.layers.conv2d(tf.concat([a, b, c], 3), depth, 1, kernel_regularizer=decay)
        return tf.nn.relu(x + 0.2 * y)

    def shrink(x, filters):
        a = tf.layers.max_pooling2d(x, 3, 2, padding="same")
        b = conv(x, filters, 3, 2)
        return tf.concat([a, b], 3)

    def answer(x):
        logits = tf.layers.dense(tf.layers.dropout(tf.reduce_mean(x, [1, 2]), 0.3, training=True), 102)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))

    x = conv(conv(image, 32, 3, 2), 64, 3)
    for _ in range(2):
        x = mixed(x)
    x = shrink(x, 64)
    for _ in range(3):
        x = mixed(x)
    side = answer(x)
    x = shrink(x, 128)
    for _ in range(2):
        x = mixed(x)
    loss = answer(x) + 0.3 * side
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.identity(loss, name="loss")
    rng = np.random.RandomState(3)
    feed = {image: rng.rand(batch, 96, 96, 3).astype("float32"), label: rng.randint(0, 102, batch).astype("int32")}
    return loss, feed, False


def stalactites(tf, batch):
    """Actions in short clips of cavers: a C3D-like net with factored space and time convolutions."""
    clip = tf.placeholder(tf.float32, [None, 12, 56, 56, 3], "clip")
    action = tf.placeholder(tf.int64, [None], "action")
    x = clip
    for i, (filters, pool) in enumerate(((24, (1, 2, 2)), (48, (2, 2, 2)), (96, (2, 2, 2)), (128, (3, 2, 2)))):
        with tf.variable_scope("stage%d" % i):
            x = tf.layers.conv3d(x, filters, (1, 3, 3), padding="same", activation=tf.nn.relu, name="space")
            x = tf.layers.conv3d(x, filters, (3, 1, 1), padding="same", activation=tf.nn.relu, name="time")
            x = tf.layers.max_pooling3d(x, pool, pool, padding="valid")
    x = tf.layers.flatten(x)
    x = tf.layers.dense(x, 512, activation=tf.nn.relu, name="fc")
    x = tf.nn.dropout(x, keep_prob=0.5)
    logits = tf.layers.dense(x, 51, name="logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=action, logits=logits), name="loss")
    rng = np.random.RandomState(4)
    feed = {clip: rng.rand(batch, 12, 56, 56, 3).astype("float32"), action: rng.randint(0, 51, batch).astype("int64")}
    return loss, feed, False


def oscilloscopes(tf, batch):
    """Phones of speech by frame: two bidirectional LSTM layers over stacked filter banks of various lengths."""
    frames = tf.placeholder(tf.float32, [None, 120, 80], "frames")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    phones = tf.placeholder(tf.int32, [None, 120], "phones")
    x = frames
    for i in range(2):
        with tf.variable_scope("layer%d" % i):
            cells = [tf.nn.rnn_cell.LSTMCell(192, num_proj=128, use_peepholes=True) for _ in range(2)]
            cells = [tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8) for cell in cells]
            outs, _ = tf.nn.bidirectional_dynamic_rnn(cells[0], cells[1], x, sequence_length=lengths, dtype=tf.float32)
            x = tf.concat(outs, 2)
    logits = tf.layers.dense(x, 48, name="logits")
    cost = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=phones, logits=logits)
    mask = tf.sequence_mask(lengths, 120, dtype=tf.float32)
    loss = tf.reduce_sum(cost * mask) / tf.reduce_sum(mask)
    rng = np.random.RandomState(5)
    feed = {
        frames: rng.randn(batch, 120, 80).astype("float32"),
        lengths: np.r_[120, rng.randint(70, 121, batch - 1)].astype("int32"),
        phones: rng.randint(0, 48, (batch, 120)).astype("int32"),
    }
    return loss, feed, True


def thickets(tf, batch):
    """A causal language model of four layers, its loss a sampled softmax over sixty thousand words."""
    vocabulary, width, heads, length = 60000, 160, 4, 80
    words = tf.placeholder(tf.int32, [None, length], "words")
    following = tf.placeholder(tf.int32, [None, length], "following")
    table = tf.get_variable("table", [vocabulary, width], initializer=tf.random_normal_initializer(stddev=0.02))
    places = tf.get_variable("places", [length, width], initializer=tf.random_normal_initializer(stddev=0.02))
    x = tf.nn.embedding_lookup(table, words) + places

    def norm(x, name):
        with tf.variable_scope(name):
            gain = tf.get_variable("gain", [width], initializer=tf.ones_initializer())
            bias = tf.get_variable("bias", [width], initializer=tf.zeros_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return (x - mean) * tf.rsqrt(variance + 1e-5) * gain + bias

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    mask = tf.matrix_band_part(tf.ones([length, length]), -1, 0)
    for i in range(4):
        with tf.variable_scope("layer%d" % i):
            q, k, v = tf.split(tf.layers.dense(norm(x, "before"), 3 * width, name="qkv"), 3, axis=2)
            scores = tf.matmul(split(q), split(k), transpose_b=True) * (width // heads) ** -0.5
            scores = scores * mask - 1e9 * (1.0 - mask)
            y = tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), keep_prob=0.9), split(v))
            y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [-1, length, width])
            x = x + tf.layers.dense(y, width, name="out")
            y = tf.layers.dense(norm(x, "between"), 4 * width, activation=tf.nn.relu, name="wide")
            x = x + tf.layers.dense(y, width, name="narrow")
    x = tf.reshape(norm(x, "after"), [-1, width])
    bias = tf.get_variable("word_bias", [vocabulary], initializer=tf.zeros_initializer())
    cost = tf.nn.sampled_softmax_loss(table, bias, tf.reshape(following, [-1, 1]), x, 1024, vocabulary)
    loss = tf.reduce_mean(cost, name="loss")
    rng = np.random.RandomState(6)
    text = rng.randint(0, vocabulary, (batch, length + 1)).astype("int32")
    return loss, {words: text[:, :-1], following: text[:, 1:]}, True


def carousels(tf, batch):
    """Which ride next? Two towers over visitors' histories and rides, scored against the others of the batch."""
    visitor = tf.placeholder(tf.int32, [None], "visitor")
    history = tf.placeholder(tf.int32, [None, 40], "history")
    weights = tf.placeholder(tf.float32, [None, 40], "weights")
    ride = tf.placeholder(tf.int32, [None], "ride")
    context = tf.placeholder(tf.float32, [None, 24], "context")
    visitors = tf.get_variable("visitors", [250000, 48], initializer=tf.random_uniform_initializer(-0.05, 0.05))
    rides = tf.get_variable("rides", [80000, 48], initializer=tf.random_uniform_initializer(-0.05, 0.05))
    seen = tf.nn.embedding_lookup(rides, history)
    attention = tf.layers.dense(tf.layers.dense(seen, 64, activation=tf.nn.tanh), 1)
    attention = tf.nn.softmax(tf.squeeze(attention, 2) + tf.log(weights + 1e-6))
    seen = tf.reduce_sum(seen * tf.expand_dims(attention, 2), 1)
    x = tf.concat([tf.nn.embedding_lookup(visitors, visitor), seen, context], 1)
    for i, units in enumerate((512, 256)):
        x = tf.layers.dense(x, units, activation=tf.nn.relu, name="visitor%d" % i)
    left = tf.nn.l2_normalize(tf.layers.dense(x, 64, name="left"), 1)
    y = tf.layers.dense(tf.nn.embedding_lookup(rides, ride), 256, activation=tf.nn.relu, name="ride0")
    right = tf.nn.l2_normalize(tf.layers.dense(y, 64, name="right"), 1)
    scores = tf.matmul(left, right, transpose_b=True) / 0.1
    labels = tf.range(tf.shape(scores)[0])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores), name="loss")
    rng = np.random.RandomState(7)
    feed = {
        visitor: rng.randint(0, 250000, batch).astype("int32"),
        history: rng.randint(0, 80000, (batch, 40)).astype("int32"),
        weights: rng.rand(batch, 40).astype("float32"),
        ride: rng.randint(0, 80000, batch).astype("int32"),
        context: rng.randn(batch, 24).astype("float32"),
    }
    return loss, feed, False
