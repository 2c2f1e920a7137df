"""Graphs of predictions.py's fifty-third set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def quarterdecks(tf, batch):
    """A language model of ships' logs: two layers of LSTM by dynamic_rnn and a sampled softmax."""
    vocabulary, length, units = 20000, 40, 256
    words = tf.placeholder(tf.int32, [None, length], "words")
    following = tf.placeholder(tf.int32, [None, length], "following")
    table = tf.get_variable("table", [vocabulary, 192], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, words), rate=0.2)
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(units), output_keep_prob=0.8) for _ in range(2)]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    flat = tf.reshape(outputs, [-1, units])
    weights = tf.get_variable("softmax_w", [vocabulary, units])
    biases = tf.get_variable("softmax_b", [vocabulary], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights, biases, tf.reshape(following, [-1, 1]), flat,
                                                     num_sampled=1024, num_classes=vocabulary))
    rng = np.random.RandomState(3)
    feed = {words: rng.randint(0, 3000, (batch, length)), following: rng.randint(0, 3000, (batch, length))}
    return loss, feed, True


def nectars(tf, batch):
    """Spoken orders: a bidirectional GRU over true lengths gives the slots, and attention over it the intent."""
    length = 50
    words = tf.placeholder(tf.int32, [None, length], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    slots = tf.placeholder(tf.int32, [None, length], "slots")
    intent = tf.placeholder(tf.int32, [None], "intent")
    table = tf.get_variable("embedding", [15000, 160])
    x = tf.nn.embedding_lookup(table, words)
    with tf.variable_scope("encoder"):
        (ahead, back), _ = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(192), tf.nn.rnn_cell.GRUCell(192), x,
                                                           sequence_length=lengths, dtype=tf.float32)
    states = tf.concat([ahead, back], axis=2)
    mask = tf.sequence_mask(lengths, length, dtype=tf.float32)
    score = tf.squeeze(tf.layers.dense(tf.layers.dense(states, 128, tf.nn.tanh), 1, use_bias=False), 2)
    alpha = tf.nn.softmax(score + (1.0 - mask) * -1e9)
    context = tf.reduce_sum(states * tf.expand_dims(alpha, 2), axis=1)
    intents = tf.layers.dense(context, 26)
    gate = tf.sigmoid(tf.layers.dense(context, 384))
    tags = tf.layers.dense(states * tf.expand_dims(gate, 1), 122)
    slot_loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=slots, logits=tags)
    slot_loss = tf.reduce_sum(slot_loss * mask) / tf.reduce_sum(mask)
    intent_loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=intent, logits=intents))
    rng = np.random.RandomState(5)
    feed = {words: rng.randint(0, 3000, (batch, length)), lengths: rng.randint(8, length + 1, (batch,)),
            slots: rng.randint(0, 122, (batch, length)), intent: rng.randint(0, 26, (batch,))}
    return slot_loss + intent_loss, feed, True


def oases(tf, batch):
    """Trips recommended by a factorization machine with a deep side (DeepFM) over ten fields in one table."""
    fields, features, size = 10, 400000, 24
    keys = tf.placeholder(tf.int32, [None, fields], "keys")
    values = tf.placeholder(tf.float32, [None, fields], "values")
    label = tf.placeholder(tf.float32, [None], "label")
    table = tf.get_variable("factors", [features, size], initializer=tf.random_normal_initializer(0.0, 0.01))
    linear = tf.get_variable("linear", [features, 1], initializer=tf.zeros_initializer())
    weight = tf.expand_dims(values, 2)
    v = tf.nn.embedding_lookup(table, keys) * weight
    first = tf.reduce_sum(tf.nn.embedding_lookup(linear, keys) * weight, axis=[1, 2])
    second = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(v, 1)) - tf.reduce_sum(tf.square(v), 1), axis=1)
    x = tf.reshape(v, [-1, fields * size])
    for units in (400, 400, 200):
        x = tf.layers.dense(x, units, tf.nn.relu, kernel_regularizer=tf.keras.regularizers.l2(1e-5))
        x = tf.nn.dropout(x, rate=0.3)
    logits = first + second + tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits))
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    rng = np.random.RandomState(7)
    feed = {keys: rng.randint(0, 3000, (batch, fields)), values: rng.rand(batch, fields).astype("float32"),
            label: rng.randint(0, 2, (batch,)).astype("float32")}
    return loss, feed, False


def teals(tf, batch):
    """Ducks sorted by a residual net of bottlenecks with squeeze and excitation."""
    image = tf.placeholder(tf.float32, [None, 80, 80, 3], "image")
    label = tf.placeholder(tf.int64, [None], "label")

    def conv_bn(x, filters, size, stride=1, relu=True):
        x = tf.layers.conv2d(x, filters, size, stride, padding="same", use_bias=False,
                             kernel_initializer=tf.variance_scaling_initializer(2.0))
        x = tf.layers.batch_normalization(x, momentum=0.9, training=True)
        return tf.nn.relu(x) if relu else x

    def bottleneck(x, filters, stride):
        y = conv_bn(x, filters, 1)
        y = conv_bn(y, filters, 3, stride)
        y = conv_bn(y, 4 * filters, 1, relu=False)
        squeeze = tf.reduce_mean(y, axis=[1, 2], keepdims=True)
        squeeze = tf.layers.dense(squeeze, filters // 2, tf.nn.relu)
        y = y * tf.layers.dense(squeeze, 4 * filters, tf.nn.sigmoid)
        if stride > 1 or x.shape[-1] != 4 * filters:
            x = conv_bn(x, 4 * filters, 1, stride, relu=False)
        return tf.nn.relu(x + y)

    x = conv_bn(image, 32, 3, 2)
    for filters, blocks, stride in ((24, 2, 1), (48, 2, 2), (96, 3, 2)):
        for i in range(blocks):
            x = bottleneck(x, filters, stride if i == 0 else 1)
    logits = tf.layers.dense(tf.reduce_mean(x, axis=[1, 2]), 50)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.identity(loss)
    rng = np.random.RandomState(11)
    feed = {image: rng.rand(batch, 80, 80, 3).astype("float32"), label: rng.randint(0, 50, (batch,))}
    return loss, feed, False


def vipers(tf, batch):
    """A variational autoencoder of scale patterns: strided convolutions down, transposed ones up."""
    image = tf.placeholder(tf.float32, [None, 64, 64, 3], "image")
    x = image
    for filters in (32, 64, 128, 256):
        x = tf.layers.conv2d(x, filters, 4, 2, padding="same", activation=tf.nn.leaky_relu)
    x = tf.layers.flatten(x)
    mean = tf.layers.dense(x, 100)
    log_variance = tf.layers.dense(x, 100)
    z = mean + tf.exp(0.5 * log_variance) * tf.random_normal(tf.shape(mean))
    y = tf.reshape(tf.layers.dense(z, 4 * 4 * 256, tf.nn.relu), [-1, 4, 4, 256])
    for filters in (128, 64, 32):
        y = tf.layers.conv2d_transpose(y, filters, 5, 2, padding="same", activation=tf.nn.relu)
    logits = tf.layers.conv2d_transpose(y, 3, 5, 2, padding="same")
    rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits), axis=[1, 2, 3])
    divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1)
    loss = tf.reduce_mean(rebuilt + divergence)
    rng = np.random.RandomState(13)
    return loss, {image: rng.rand(batch, 64, 64, 3).astype("float32")}, False


def trouts(tf, batch):
    """Translation by a transformer written by hand: three layers each side, a causal mask and smoothed labels."""
    vocabulary, length, width, heads = 10000, 48, 192, 6
    source = tf.placeholder(tf.int32, [None, length], "source")
    target = tf.placeholder(tf.int32, [None, length], "target")
    answer = tf.placeholder(tf.int32, [None, length], "answer")
    table = tf.get_variable("pieces", [vocabulary, width], initializer=tf.random_normal_initializer(0.0, width ** -0.5))
    places = tf.get_variable("places", [length, width], initializer=tf.random_normal_initializer(0.0, 0.02))

    def norm(x, name):
        with tf.variable_scope(name):
            gain = tf.get_variable("gain", [width], initializer=tf.ones_initializer())
            bias = tf.get_variable("bias", [width], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-6) * gain + bias

    def split(x):
        return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    def attend(x, memory, mask=None):
        q, k, v = (split(tf.layers.dense(t, width, use_bias=False)) for t in (x, memory, memory))
        scores = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5
        if mask is not None:
            scores += mask
        weights = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
        joined = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, length, width])
        return tf.nn.dropout(tf.layers.dense(joined, width, use_bias=False), rate=0.1)

    def forward(x):
        return tf.nn.dropout(tf.layers.dense(tf.layers.dense(x, 4 * width, tf.nn.relu), width), rate=0.1)

    x = tf.nn.embedding_lookup(table, source) * width ** 0.5 + places
    y = tf.nn.embedding_lookup(table, target) * width ** 0.5 + places
    for i in range(3):
        h = norm(x, "encoder_%d_a" % i)
        x += attend(h, h)
        x += forward(norm(x, "encoder_%d_b" % i))
    x = norm(x, "encoder_end")
    mask = (1.0 - tf.linalg.band_part(tf.ones([length, length]), -1, 0)) * -1e9
    for i in range(3):
        h = norm(y, "decoder_%d_a" % i)
        y += attend(h, h, mask)
        y += attend(norm(y, "decoder_%d_b" % i), x)
        y += forward(norm(y, "decoder_%d_c" % i))
    y = norm(y, "decoder_end")
    logits = tf.matmul(tf.reshape(y, [-1, width]), table, transpose_b=True)
    wanted = tf.one_hot(tf.reshape(answer, [-1]), vocabulary, on_value=0.9, off_value=0.1 / vocabulary)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=wanted, logits=logits))
    rng = np.random.RandomState(17)
    feed = {p: rng.randint(0, 3000, (batch, length)) for p in (source, target, answer)}
    return loss, feed, True


def redwoods(tf, batch):
    """Crowns of trees in aerial pictures: dilated convolutions, a pyramid of pools and bilinear upsampling."""
    image = tf.placeholder(tf.float32, [None, 128, 128, 4], "image")
    mask = tf.placeholder(tf.int32, [None, 128, 128], "mask")
    x = tf.layers.conv2d(image, 32, 3, 2, padding="same", activation=tf.nn.relu)
    low = tf.layers.conv2d(x, 48, 3, 1, padding="same", activation=tf.nn.relu)
    x = tf.layers.conv2d(low, 96, 3, 2, padding="same", activation=tf.nn.relu)
    for rate in (1, 2, 4, 8):
        y = tf.layers.conv2d(x, 96, 3, padding="same", dilation_rate=rate, activation=tf.nn.relu)
        y = tf.layers.conv2d(y, 96, 1)
        x = tf.nn.relu(x + y)
    parts = [x]
    for pool in (4, 8, 16):
        p = tf.layers.average_pooling2d(x, pool, pool)
        p = tf.layers.conv2d(p, 32, 1, activation=tf.nn.relu)
        parts.append(tf.image.resize_bilinear(p, [32, 32], align_corners=True))
    x = tf.layers.conv2d(tf.concat(parts, axis=3), 96, 3, padding="same", activation=tf.nn.relu)
    x = tf.image.resize_bilinear(x, [64, 64], align_corners=True)
    x = tf.layers.conv2d(tf.concat([x, low], axis=3), 64, 3, padding="same", activation=tf.nn.relu)
    logits = tf.image.resize_bilinear(tf.layers.conv2d(x, 7, 1), [128, 128], align_corners=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=mask, logits=logits))
    rng = np.random.RandomState(19)
    feed = {image: rng.rand(batch, 128, 128, 4).astype("float32"), mask: rng.randint(0, 7, (batch, 128, 128))}
    return loss, feed, False
