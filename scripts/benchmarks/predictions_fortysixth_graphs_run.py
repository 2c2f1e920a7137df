"""Graphs of predictions.py's forty-sixth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def radiographs(tf, batch):
    """Fourteen findings in a chest picture: a small DenseNet and a weighted sigmoid loss."""
    image = tf.placeholder(tf.float32, [None, 128, 128, 1], "image")
    findings = tf.placeholder(tf.float32, [None, 14], "findings")

    def composite(x, filters, kernel):
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
        return tf.layers.conv2d(x, filters, kernel, padding="same", use_bias=False)

    x = tf.layers.conv2d(image, 32, 7, strides=2, padding="same", use_bias=False)
    x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    x = tf.layers.max_pooling2d(x, 3, 2, padding="same")
    for i, layers in enumerate((4, 6, 6)):
        with tf.variable_scope("dense%d" % i):
            for _ in range(layers):
                y = composite(composite(x, 64, 1), 16, 3)
                x = tf.concat([x, y], 3)
            if i < 2:
                x = composite(x, int(x.shape[3]) // 2, 1)
                x = tf.layers.average_pooling2d(x, 2, 2)
    x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    x = tf.reduce_mean(x, [1, 2])
    logits = tf.layers.dense(x, 14)
    loss = tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(targets=findings, logits=logits, pos_weight=4.0))
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    rng = np.random.RandomState(1)
    feed = {image: rng.rand(batch, 128, 128, 1).astype("float32"),
            findings: (rng.rand(batch, 14) < 0.2).astype("float32")}
    return loss, feed, False


def phonemes(tf, batch):
    """Phonemes from filter banks: convolutions, two bidirectional LSTMs and the CTC loss."""
    banks = tf.placeholder(tf.float32, [None, 240, 40], "banks")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    labels = tf.placeholder(tf.int32, [None, 24], "labels")
    x = tf.layers.conv1d(banks, 128, 5, strides=2, padding="same", activation=tf.nn.relu)
    x = tf.layers.conv1d(x, 128, 5, padding="same", activation=tf.nn.relu)
    for i in range(2):
        forward = tf.nn.rnn_cell.LSTMCell(160)
        backward = tf.nn.rnn_cell.LSTMCell(160)
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(forward, backward, x, sequence_length=lengths,
                                                     dtype=tf.float32, scope="birnn%d" % i)
        x = tf.concat(outputs, 2)
    logits = tf.layers.dense(x, 62)
    where = tf.where(tf.greater(labels, 0))
    sparse = tf.SparseTensor(where, tf.gather_nd(labels, where), tf.shape(labels, out_type=tf.int64))
    losses = tf.nn.ctc_loss(labels=sparse, inputs=tf.transpose(logits, [1, 0, 2]), sequence_length=lengths)
    loss = tf.reduce_mean(losses)
    rng = np.random.RandomState(2)
    feed = {banks: rng.randn(batch, 240, 40).astype("float32"),
            lengths: rng.randint(90, 121, batch).astype("int32"),
            labels: rng.randint(1, 61, (batch, 24)).astype("int32")}
    return loss, feed, True


def sonars(tf, batch):
    """Kinds of vessels from a hydrophone: a log-mel front end in the graph, convolutions and two GRUs."""
    sound = tf.placeholder(tf.float32, [None, 32000], "sound")
    kind = tf.placeholder(tf.int32, [None], "kind")
    spectrum = tf.abs(tf.signal.stft(sound, frame_length=512, frame_step=256, fft_length=512))
    mel = tf.signal.linear_to_mel_weight_matrix(64, 257, 16000, 20.0, 8000.0)
    x = tf.tensordot(spectrum, mel, 1)
    x.set_shape([None, 124, 64])
    x = tf.expand_dims(tf.log(x + 1e-6), 3)
    for filters in (32, 64, 64):
        x = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False)
        x = tf.nn.elu(tf.layers.batch_normalization(x, training=True))
        x = tf.layers.max_pooling2d(x, (1, 4) if filters == 32 else (2, 2), (1, 4) if filters == 32 else (2, 2))
    x = tf.reshape(x, [-1, 31, 4 * 64])
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(128), output_keep_prob=0.8) for _ in range(2)]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    scores = tf.nn.softmax(tf.layers.dense(outputs, 1), axis=1)
    x = tf.reduce_sum(scores * outputs, 1)
    logits = tf.layers.dense(x, 9)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kind, logits=logits))
    rng = np.random.RandomState(3)
    feed = {sound: rng.randn(batch, 32000).astype("float32"), kind: rng.randint(0, 9, batch).astype("int32")}
    return loss, feed, False


def puppets(tf, batch):
    """Faces of puppets: a conditional variational autoencoder with a convolutional decoder."""
    face = tf.placeholder(tf.float32, [None, 80, 80, 3], "face")
    traits = tf.placeholder(tf.float32, [None, 20], "traits")
    with tf.variable_scope("encoder"):
        x = face
        for filters in (32, 64, 128, 192):
            x = tf.layers.conv2d(x, filters, 4, strides=2, padding="same")
            x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True))
        x = tf.concat([tf.layers.flatten(x), traits], 1)
        mean = tf.layers.dense(x, 128)
        logvar = tf.layers.dense(x, 128)
    z = mean + tf.exp(0.5 * logvar) * tf.random_normal(tf.shape(mean))
    with tf.variable_scope("decoder"):
        x = tf.layers.dense(tf.concat([z, traits], 1), 5 * 5 * 192, activation=tf.nn.relu)
        x = tf.reshape(x, [-1, 5, 5, 192])
        for filters in (128, 64, 32):
            x = tf.layers.conv2d_transpose(x, filters, 4, strides=2, padding="same")
            x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True))
        logits = tf.layers.conv2d_transpose(x, 3, 4, strides=2, padding="same")
    rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=face, logits=logits), [1, 2, 3])
    divergence = -0.5 * tf.reduce_sum(1 + logvar - tf.square(mean) - tf.exp(logvar), 1)
    loss = tf.reduce_mean(rebuilt + divergence)
    rng = np.random.RandomState(4)
    feed = {face: rng.rand(batch, 80, 80, 3).astype("float32"),
            traits: rng.randint(0, 2, (batch, 20)).astype("float32")}
    return loss, feed, False


def orthophotos(tf, batch):
    """Roads and roofs in four bands: dilated convolutions, a bilinear decoder and weighted pixels."""
    bands = tf.placeholder(tf.float32, [None, 128, 128, 4], "bands")
    cover = tf.placeholder(tf.int32, [None, 128, 128], "cover")
    weight = tf.placeholder(tf.float32, [None, 128, 128], "weight")

    def convolve(x, filters, name, size=3, stride=1, rate=1, relu=True):
        with tf.variable_scope(name):
            kernel = tf.get_variable("kernel", [size, size, int(x.shape[3]), filters],
                                     initializer=tf.glorot_uniform_initializer())
            bias = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
            x = tf.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME", dilations=[1, 1, 1, 1]) if rate == 1 \
                else tf.nn.atrous_conv2d(x, kernel, rate, "SAME")
            x = tf.nn.bias_add(x, bias)
            return tf.nn.relu(x) if relu else x

    x = convolve(bands, 24, "c1")
    x = early = convolve(x, 24, "c2")
    x = convolve(x, 48, "c3", stride=2)
    x = middle = convolve(x, 48, "c4")
    x = convolve(x, 96, "c5", stride=2)
    for i, rate in enumerate((1, 2, 4, 8)):
        x = x + convolve(x, 96, "d%d" % i, rate=rate)
    x = tf.image.resize_bilinear(x, [64, 64])
    x = convolve(tf.concat([x, middle], 3), 48, "u1")
    x = tf.image.resize_bilinear(x, [128, 128])
    x = convolve(tf.concat([x, early], 3), 24, "u2")
    logits = convolve(x, 6, "logits", size=1, relu=False)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=cover, logits=logits)
    loss = tf.reduce_sum(losses * weight) / (tf.reduce_sum(weight) + 1e-6)
    rng = np.random.RandomState(5)
    feed = {bands: rng.rand(batch, 128, 128, 4).astype("float32"),
            cover: rng.randint(0, 6, (batch, 128, 128)).astype("int32"),
            weight: rng.rand(batch, 128, 128).astype("float32")}
    return loss, feed, False


def marketplaces(tf, batch):
    """Clicks on offers: a DeepFM over one large table of hashed features and dense numbers."""
    fields, width, rows = 26, 16, 400000
    ids = tf.placeholder(tf.int32, [None, fields], "ids")
    numbers = tf.placeholder(tf.float32, [None, 13], "numbers")
    click = tf.placeholder(tf.float32, [None], "click")
    table = tf.get_variable("table", [rows, width], initializer=tf.random_normal_initializer(stddev=0.01))
    linear = tf.get_variable("linear", [rows, 1], initializer=tf.zeros_initializer())
    vectors = tf.nn.embedding_lookup(table, ids)
    first = tf.reduce_sum(tf.nn.embedding_lookup(linear, ids), [1, 2]) + tf.layers.dense(numbers, 1)[:, 0]
    total = tf.reduce_sum(vectors, 1)
    second = 0.5 * tf.reduce_sum(tf.square(total) - tf.reduce_sum(tf.square(vectors), 1), 1)
    x = tf.concat([tf.reshape(vectors, [-1, fields * width]), tf.log1p(numbers)], 1)
    for units in (400, 400, 200):
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
        x = tf.nn.dropout(x, keep_prob=0.8)
    logits = first + second + tf.layers.dense(x, 1)[:, 0]
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=click, logits=logits))
    rng = np.random.RandomState(6)
    feed = {ids: rng.randint(0, rows, (batch, fields)).astype("int32"),
            numbers: rng.rand(batch, 13).astype("float32"),
            click: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False


def proverbs(tf, batch):
    """The next word of a proverb: a causal transformer whose table is its output layer too."""
    words, length, width, heads = 12000, 64, 160, 4
    ids = tf.placeholder(tf.int32, [None, length], "ids")
    after = tf.placeholder(tf.int32, [None, length], "after")
    table = tf.get_variable("table", [words, width], initializer=tf.random_normal_initializer(stddev=0.02))
    places = tf.get_variable("places", [length, width], initializer=tf.random_normal_initializer(stddev=0.02))
    x = tf.nn.embedding_lookup(table, ids) + places
    future = (1.0 - tf.matrix_band_part(tf.ones([length, length]), -1, 0)) * -1e9

    def normal(x, name):
        with tf.variable_scope(name):
            scale = tf.get_variable("scale", [width], initializer=tf.ones_initializer())
            shift = tf.get_variable("shift", [width], initializer=tf.zeros_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return (x - mean) * tf.rsqrt(variance + 1e-5) * scale + shift

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    for i in range(4):
        with tf.variable_scope("block%d" % i):
            y = normal(x, "n1")
            q, k, v = [split(part) for part in tf.split(tf.layers.dense(y, 3 * width), 3, 2)]
            scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(width // heads) + future
            shares = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
            y = tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [-1, length, width])
            x = x + tf.nn.dropout(tf.layers.dense(y, width), rate=0.1)
            y = tf.layers.dense(normal(x, "n2"), 4 * width)
            y = 0.5 * y * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * tf.pow(y, 3))))
            x = x + tf.nn.dropout(tf.layers.dense(y, width), rate=0.1)
    x = tf.reshape(normal(x, "last"), [-1, width])
    logits = tf.matmul(x, table, transpose_b=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(after, [-1]), logits=logits))
    rng = np.random.RandomState(7)
    text = rng.randint(0, words, (batch, length + 1)).astype("int32")
    return loss, {ids: text[:, :-1], after: text[:, 1:]}, True


def buzzards(tf, batch):
    """Birds of prey from a drone: a single-shot detector at three scales with hard negatives mined."""
    image = tf.placeholder(tf.float32, [None, 160, 160, 3], "image")
    anchors = 4 * (20 * 20 + 10 * 10 + 5 * 5)
    kinds = tf.placeholder(tf.int32, [None, anchors], "kinds")
    boxes = tf.placeholder(tf.float32, [None, anchors, 4], "boxes")
    x, levels = image, []
    for i, filters in enumerate((24, 48, 96, 160, 192)):
        x = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False)
        x = tf.nn.relu6(tf.layers.batch_normalization(x, training=True, fused=True))
        x = tf.layers.conv2d(x, filters, 3, strides=2, padding="same", use_bias=False)
        x = tf.nn.relu6(tf.layers.batch_normalization(x, training=True, fused=True))
        if i >= 2:
            levels.append(x)
    scores, places = [], []
    for level in levels:
        scores.append(tf.reshape(tf.layers.conv2d(level, 4 * 6, 3, padding="same"), [tf.shape(level)[0], -1, 6]))
        places.append(tf.reshape(tf.layers.conv2d(level, 4 * 4, 3, padding="same"), [tf.shape(level)[0], -1, 4]))
    scores, places = tf.concat(scores, 1), tf.concat(places, 1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=scores)
    found = tf.cast(tf.greater(kinds, 0), tf.float32)
    hard, _ = tf.nn.top_k(losses * (1.0 - found), k=200)
    count = tf.maximum(tf.reduce_sum(found), 1.0)
    difference = tf.abs(places - boxes)
    smooth = tf.where(difference < 1.0, 0.5 * tf.square(difference), difference - 0.5)
    loss = (tf.reduce_sum(losses * found) + tf.reduce_sum(hard)
            + tf.reduce_sum(tf.reduce_sum(smooth, 2) * found)) / count
    rng = np.random.RandomState(8)
    feed = {image: rng.rand(batch, 160, 160, 3).astype("float32"),
            kinds: (rng.randint(1, 6, (batch, anchors)) * (rng.rand(batch, anchors) < 0.03)).astype("int32"),
            boxes: rng.randn(batch, anchors, 4).astype("float32")}
    return loss, feed, True
