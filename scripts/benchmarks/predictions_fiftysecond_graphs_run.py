"""Graphs of predictions.py's fifty-second set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def ketches(tf, batch):
    """The mood of ship's log entries: two stacked LSTM cells under a mean over the words."""
    words = tf.placeholder(tf.int32, [None, 60], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    moods = tf.placeholder(tf.int32, [None], "moods")
    table = tf.get_variable("table", [20000, 128], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.embedding_lookup(table, words)
    cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(160) for _ in range(2)])
    x, _ = tf.nn.dynamic_rnn(cells, x, sequence_length=lengths, dtype=tf.float32)
    mask = tf.expand_dims(tf.sequence_mask(lengths, 60, dtype=tf.float32), 2)
    x = tf.reduce_sum(x * mask, 1) / tf.reduce_sum(mask, 1)
    x = tf.nn.dropout(x, rate=0.3)
    logits = tf.layers.dense(x, 6)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=moods, logits=logits))
    rng = np.random.RandomState(11)
    feed = {words: rng.randint(0, 3000, (batch, 60)), lengths: rng.randint(20, 61, batch), moods: rng.randint(0, 6, batch)}
    return loss, feed, True


def limpets(tf, batch):
    """Vectors of words by their neighbours, with noise-contrastive samples."""
    centres = tf.placeholder(tf.int32, [None, 4], "centres")
    targets = tf.placeholder(tf.int64, [None, 1], "targets")
    size, width = 60000, 150
    with tf.variable_scope("vectors"):
        table = tf.get_variable("inner", [size, width], initializer=tf.random_uniform_initializer(-1.0, 1.0))
        outer = tf.get_variable("outer", [size, width], initializer=tf.truncated_normal_initializer(stddev=width**-0.5))
        biases = tf.get_variable("biases", [size], initializer=tf.zeros_initializer())
    context = tf.reduce_mean(tf.nn.embedding_lookup(table, centres), 1)
    loss = tf.reduce_mean(tf.nn.nce_loss(outer, biases, targets, context, num_sampled=64, num_classes=size))
    rng = np.random.RandomState(12)
    return loss, {centres: rng.randint(0, 3000, (batch, 4)), targets: rng.randint(0, 3000, (batch, 1))}, False


def lorries(tf, batch):
    """Roads, lorries and the rest marked out by a fully convolutional net with skips."""
    image = tf.placeholder(tf.float32, [None, 128, 160, 3], "image")
    labels = tf.placeholder(tf.int32, [None, 128, 160], "labels")

    def conv(x, filters, strides=1, rate=1):
        x = tf.layers.conv2d(x, filters, 3, strides=strides, dilation_rate=rate, padding="same", use_bias=False)
        return tf.nn.relu(tf.layers.batch_normalization(x, training=True))

    x = conv(image, 24)
    x = low = conv(x, 32, 2)
    x = mid = conv(conv(x, 64, 2), 64)
    x = conv(conv(x, 128, 2), 128)
    x = tf.concat([x, conv(x, 64, rate=2), conv(x, 64, rate=4)], 3)
    x = tf.layers.conv2d(x, 96, 1, activation=tf.nn.relu)
    x = tf.image.resize_bilinear(x, [32, 40]) + tf.layers.conv2d(mid, 96, 1)
    x = tf.image.resize_bilinear(conv(x, 48), [64, 80]) + tf.layers.conv2d(low, 48, 1)
    x = tf.layers.conv2d(conv(x, 32), 9, 1)
    logits = tf.image.resize_bilinear(x, [128, 160])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    rng = np.random.RandomState(13)
    return loss, {image: rng.rand(batch, 128, 160, 3).astype("float32"), labels: rng.randint(0, 9, (batch, 128, 160))}, False


def macaws(tf, batch):
    """The next sample of squawks: gated dilated convolutions over raw sound, as WaveNet."""
    levels = tf.placeholder(tf.int32, [None, 4000], "levels")
    speaker = tf.placeholder(tf.int32, [None], "speaker")
    x = tf.one_hot(levels[:, :-1], 128)
    x = tf.layers.conv1d(x, 40, 1)
    birds = tf.get_variable("birds", [30, 16])
    bird = tf.expand_dims(tf.nn.embedding_lookup(birds, speaker), 1)
    skips = []
    for index in range(8):
        rate = 2 ** index
        with tf.variable_scope("layer_%d" % index):
            y = tf.pad(x, [[0, 0], [rate, 0], [0, 0]])
            y = tf.layers.conv1d(y, 80, 2, dilation_rate=rate) + tf.layers.dense(bird, 80, use_bias=False)
            y, gate = tf.split(y, 2, axis=2)
            y = tf.tanh(y) * tf.sigmoid(gate)
            skips.append(tf.layers.conv1d(y, 64, 1))
            if index < 7:
                x = x + tf.layers.conv1d(y, 40, 1)
    x = tf.nn.relu(tf.add_n(skips))
    x = tf.layers.conv1d(x, 96, 1, activation=tf.nn.relu)
    logits = tf.layers.conv1d(x, 128, 1)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=levels[:, 1:], logits=logits))
    rng = np.random.RandomState(14)
    return loss, {levels: rng.randint(0, 128, (batch, 4000)), speaker: rng.randint(0, 30, batch)}, True


def mallets(tf, batch):
    """Which tools a visitor clicks: factorization machine and deep part over shared tables."""
    sizes = [180000, 60000, 9000, 1200, 300, 40]
    fields = tf.placeholder(tf.int32, [None, len(sizes)], "fields")
    numbers = tf.placeholder(tf.float32, [None, 13], "numbers")
    clicked = tf.placeholder(tf.float32, [None], "clicked")
    vectors, linear = [], []
    for index, size in enumerate(sizes):
        with tf.variable_scope("field_%d" % index):
            table = tf.get_variable("table", [size, 16], initializer=tf.random_normal_initializer(stddev=0.01))
            weights = tf.get_variable("weights", [size, 1], initializer=tf.zeros_initializer())
        vectors.append(tf.nn.embedding_lookup(table, fields[:, index]))
        linear.append(tf.nn.embedding_lookup(weights, fields[:, index]))
    x = tf.stack(vectors, 1)
    pairs = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(x, 1)) - tf.reduce_sum(tf.square(x), 1), 1)
    deep = tf.concat([tf.reshape(x, [-1, 16 * len(sizes)]), numbers], 1)
    for units in (400, 400, 200):
        deep = tf.layers.dense(deep, units, activation=tf.nn.relu)
        deep = tf.nn.dropout(deep, rate=0.2)
    logits = tf.add_n(linear)[:, 0] + pairs + tf.layers.dense(deep, 1)[:, 0] + tf.layers.dense(numbers, 1)[:, 0]
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=logits))
    rng = np.random.RandomState(15)
    drawn = np.stack([rng.randint(0, min(size, 3000), batch) for size in sizes], 1)
    return loss, {fields: drawn, numbers: rng.rand(batch, 13).astype("float32"), clicked: rng.randint(0, 2, batch).astype("float32")}, False


def mangoes(tf, batch):
    """Pictures of fruit coded and drawn again by a convolutional variational autoencoder."""
    picture = tf.placeholder(tf.float32, [None, 64, 64, 3], "picture")
    x = picture
    for filters in (32, 64, 128, 192):
        x = tf.layers.conv2d(x, filters, 4, strides=2, padding="same")
        x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True))
    x = tf.layers.flatten(x)
    mean = tf.layers.dense(x, 64)
    spread = tf.layers.dense(x, 64)
    code = mean + tf.exp(0.5 * spread) * tf.random_normal(tf.shape(mean))
    x = tf.reshape(tf.layers.dense(code, 4 * 4 * 192, activation=tf.nn.relu), [-1, 4, 4, 192])
    for filters in (128, 64, 32):
        x = tf.layers.conv2d_transpose(x, filters, 4, strides=2, padding="same")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    drawn = tf.layers.conv2d_transpose(x, 3, 4, strides=2, padding="same")
    rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=picture, logits=drawn), [1, 2, 3])
    apart = -0.5 * tf.reduce_sum(1 + spread - tf.square(mean) - tf.exp(spread), 1)
    rng = np.random.RandomState(16)
    return tf.reduce_mean(rebuilt + apart), {picture: rng.rand(batch, 64, 64, 3).astype("float32")}, False


def meadowlarks(tf, batch):
    """Where the answer begins and ends in a passage: a small BERT with a head for spans."""
    length, width, heads = 128, 192, 4
    pieces = tf.placeholder(tf.int32, [None, length], "pieces")
    segments = tf.placeholder(tf.int32, [None, length], "segments")
    mask = tf.placeholder(tf.float32, [None, length], "mask")
    begins = tf.placeholder(tf.int32, [None], "begins")
    ends = tf.placeholder(tf.int32, [None], "ends")
    start = tf.truncated_normal_initializer(stddev=0.02)

    def normal(x, name):
        with tf.variable_scope(name):
            gain = tf.get_variable("gain", [width], initializer=tf.ones_initializer())
            shift = tf.get_variable("shift", [width], initializer=tf.zeros_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return (x - mean) * tf.rsqrt(variance + 1e-6) * gain + shift

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    table = tf.get_variable("pieces_table", [30522, width], initializer=start)
    x = tf.nn.embedding_lookup(table, pieces)
    kinds = tf.get_variable("segments_table", [2, width], initializer=start)
    x += tf.reshape(tf.matmul(tf.one_hot(tf.reshape(segments, [-1]), 2), kinds), [-1, length, width])
    x += tf.get_variable("places", [1, length, width], initializer=start)
    x = tf.nn.dropout(normal(x, "first"), rate=0.1)
    hide = (1.0 - tf.reshape(mask, [-1, 1, 1, length])) * -10000.0
    for index in range(4):
        with tf.variable_scope("layer_%d" % index):
            q, k, v = [split(tf.layers.dense(x, width, kernel_initializer=start)) for _ in range(3)]
            scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(width // heads) + hide
            weights = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
            y = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, length, width])
            y = tf.nn.dropout(tf.layers.dense(y, width, kernel_initializer=start), rate=0.1)
            x = normal(x + y, "after_attention")
            y = tf.layers.dense(x, 4 * width, kernel_initializer=start)
            y = y * 0.5 * (1.0 + tf.erf(y / np.sqrt(2.0)))
            y = tf.nn.dropout(tf.layers.dense(y, width, kernel_initializer=start), rate=0.1)
            x = normal(x + y, "after_dense")
    first, last = tf.unstack(tf.layers.dense(x, 2), axis=2)
    loss = 0.5 * (
        tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=begins, logits=first))
        + tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ends, logits=last))
    )
    rng = np.random.RandomState(17)
    feed = {pieces: rng.randint(0, 3000, (batch, length)), segments: rng.randint(0, 2, (batch, length)),
            mask: np.ones((batch, length), "float32"), begins: rng.randint(0, length, batch), ends: rng.randint(0, length, batch)}
    return loss, feed, True
