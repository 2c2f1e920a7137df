"""Graphs of predictions.py's fiftieth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def alchemists(tf, batch):
    """A language model of two stacked LSTMs with a full softmax over 10,000 words."""
    steps, vocabulary, width = 35, 10000, 256
    words = tf.placeholder(tf.int32, [None, steps], "words")
    following = tf.placeholder(tf.int32, [None, steps], "following")
    table = tf.get_variable("table", [vocabulary, width], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, words), rate=0.2)
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(width), output_keep_prob=0.8) for _ in range(2)]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    flat = tf.reshape(outputs, [-1, width])
    weights = tf.get_variable("softmax_w", [width, vocabulary])
    bias = tf.get_variable("softmax_b", [vocabulary], initializer=tf.zeros_initializer())
    logits = tf.matmul(flat, weights) + bias
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits)
    loss = tf.reduce_mean(losses)
    rng = np.random.RandomState(1)
    text = rng.randint(0, vocabulary, (batch, steps + 1)).astype("int32")
    return loss, {words: text[:, :-1], following: text[:, 1:]}, True


def metros(tf, batch):
    """Bidirectional GRUs over sensor readings of given lengths, a state for each moment."""
    steps, kinds = 120, 11
    readings = tf.placeholder(tf.float32, [None, steps, 20], "readings")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    states = tf.placeholder(tf.int32, [None, steps], "states")
    x = tf.layers.conv1d(readings, 64, 5, padding="same", activation=tf.nn.relu)
    for i in range(2):
        with tf.variable_scope("layer%d" % i):
            both, _ = tf.nn.bidirectional_dynamic_rnn(
                tf.nn.rnn_cell.GRUCell(96), tf.nn.rnn_cell.GRUCell(96), x, sequence_length=lengths, dtype=tf.float32)
            x = tf.concat(both, axis=-1)
    logits = tf.layers.dense(tf.layers.dense(x, 64, activation=tf.nn.tanh), kinds)
    mask = tf.sequence_mask(lengths, steps, dtype=tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=states, logits=logits)
    loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    rng = np.random.RandomState(2)
    feed = {readings: rng.randn(batch, steps, 20).astype("float32"),
            lengths: np.concatenate([[steps], rng.randint(60, steps + 1, batch - 1)]).astype("int32"),
            states: rng.randint(0, kinds, (batch, steps)).astype("int32")}
    return loss, feed, True


def mantises(tf, batch):
    """A listener that spells: convolutions over sound, then a loop of an LSTM attending to them for each letter."""
    frames, letters, alphabet, width = 200, 30, 40, 160
    sound = tf.placeholder(tf.float32, [None, frames, 40], "sound")
    spelled = tf.placeholder(tf.int32, [None, letters], "spelled")
    x = sound
    for filters in (96, width):
        x = tf.layers.conv1d(x, filters, 5, padding="same", activation=tf.nn.relu)
        x = tf.layers.max_pooling1d(x, 2, 2)
    memory = x
    keys = tf.layers.dense(memory, width, use_bias=False, name="keys")
    table = tf.get_variable("letters", [alphabet, 64])
    before = tf.nn.embedding_lookup(table, tf.pad(spelled[:, :-1], [[0, 0], [1, 0]]))
    inputs = tf.TensorArray(tf.float32, letters).unstack(tf.transpose(before, [1, 0, 2]))
    cell = tf.nn.rnn_cell.LSTMCell(width)
    query_w = tf.get_variable("query_w", [width, width])
    score_v = tf.get_variable("score_v", [width])
    n = tf.shape(sound)[0]

    def body(t, state, context, outputs):
        out, state = cell(tf.concat([inputs.read(t), context], axis=1), state)
        query = tf.expand_dims(tf.matmul(out, query_w), 1)
        scores = tf.reduce_sum(score_v * tf.tanh(keys + query), axis=2)
        context = tf.reduce_sum(tf.expand_dims(tf.nn.softmax(scores), 2) * memory, axis=1)
        outputs = outputs.write(t, tf.concat([out, context], axis=1))
        return t + 1, state, context, outputs

    start = (tf.constant(0), cell.zero_state(n, tf.float32), tf.zeros(tf.stack([n, width])),
             tf.TensorArray(tf.float32, letters))
    shapes = (tf.TensorShape([]), tf.nn.rnn_cell.LSTMStateTuple(tf.TensorShape([None, width]), tf.TensorShape([None, width])),
              tf.TensorShape([None, width]), tf.TensorShape(None))
    _, _, _, outputs = tf.while_loop(lambda t, *_: t < letters, body, start, shape_invariants=shapes)
    y = tf.transpose(outputs.stack(), [1, 0, 2])
    y.set_shape([None, letters, 2 * width])
    logits = tf.layers.dense(y, alphabet)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=spelled, logits=logits))
    rng = np.random.RandomState(3)
    feed = {sound: rng.randn(batch, frames, 40).astype("float32"),
            spelled: rng.randint(0, alphabet, (batch, letters)).astype("int32")}
    return loss, feed, True


def archers(tf, batch):
    """A pre-activation residual net with bottlenecks for small photographs, with weight decay."""
    image = tf.placeholder(tf.float32, [None, 80, 80, 3], "image")
    label = tf.placeholder(tf.int64, [None], "label")

    def norm(x):
        return tf.nn.relu(tf.layers.batch_normalization(x, momentum=0.99, training=True))

    def conv(x, filters, size, strides=1):
        return tf.layers.conv2d(x, filters, size, strides, padding="same", use_bias=False,
                                kernel_initializer=tf.variance_scaling_initializer(2.0))

    x = conv(image, 32, 3)
    for filters, blocks, strides in ((32, 2, 2), (64, 3, 2), (128, 3, 2)):
        for i in range(blocks):
            y = norm(x)
            stride = strides if i == 0 else 1
            short = conv(y, 4 * filters, 1, stride) if i == 0 else x
            y = norm(conv(y, filters, 1))
            y = norm(conv(y, filters, 3, stride))
            x = short + conv(y, 4 * filters, 1)
    x = tf.reduce_mean(norm(x), axis=[1, 2])
    logits = tf.layers.dense(x, 100)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    loss = loss + 1e-4 * decay
    rng = np.random.RandomState(4)
    feed = {image: rng.rand(batch, 80, 80, 3).astype("float32"), label: rng.randint(0, 100, batch).astype("int64")}
    return loss, feed, False


def ingots(tf, batch):
    """A fully convolutional net that finds flaws on castings, with skips and a soft overlap loss."""
    scan = tf.placeholder(tf.float32, [None, 128, 128, 1], "scan")
    flaw = tf.placeholder(tf.float32, [None, 128, 128, 1], "flaw")

    def conv(x, filters, strides=1, rate=1):
        x = tf.layers.conv2d(x, filters, 3, strides, padding="same", dilation_rate=rate)
        return tf.nn.leaky_relu(x, 0.1)

    a = conv(conv(scan, 16), 24)
    b = conv(conv(a, 48, 2), 48)
    c = conv(conv(b, 96, 2), 96)
    d = tf.concat([conv(c, 48, rate=r) for r in (1, 2, 4)], axis=3)
    d = tf.layers.dropout(d, 0.2, training=True)
    x = tf.layers.conv2d_transpose(d, 48, 3, 2, padding="same", activation=tf.nn.relu)
    x = conv(tf.concat([x, b], axis=3), 48)
    x = tf.image.resize_bilinear(x, [128, 128])
    x = conv(tf.concat([x, a], axis=3), 24)
    logits = tf.layers.conv2d(x, 1, 1)
    entropy = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=flaw, logits=logits))
    found = tf.sigmoid(logits)
    both = tf.reduce_sum(found * flaw, axis=[1, 2, 3])
    total = tf.reduce_sum(found + flaw, axis=[1, 2, 3])
    loss = entropy + tf.reduce_mean(1.0 - (2.0 * both + 1.0) / (total + 1.0))
    rng = np.random.RandomState(5)
    feed = {scan: rng.rand(batch, 128, 128, 1).astype("float32"),
            flaw: (rng.rand(batch, 128, 128, 1) > 0.9).astype("float32")}
    return loss, feed, False


def biplanes(tf, batch):
    """A transformer encoder that learns by guessing masked words, tied to a table of 40,000."""
    length, guesses, vocabulary, width, heads = 128, 20, 40000, 128, 4
    words = tf.placeholder(tf.int32, [None, length], "words")
    present = tf.placeholder(tf.float32, [None, length], "present")
    places = tf.placeholder(tf.int32, [None, guesses], "places")
    hidden = tf.placeholder(tf.int32, [None, guesses], "hidden")
    start = tf.truncated_normal_initializer(stddev=0.02)
    table = tf.get_variable("word_table", [vocabulary, width], initializer=start)
    position = tf.get_variable("position_table", [length, width], initializer=start)
    n = tf.shape(words)[0]

    def dense(x, units, activation=None):
        return tf.layers.dense(x, units, activation, kernel_initializer=start)

    def normalized(x):
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        scale = tf.Variable(tf.ones([width]), name="scale")
        shift = tf.Variable(tf.zeros([width]), name="shift")
        return (x - mean) * tf.rsqrt(variance + 1e-6) * scale + shift

    def gelu(x):
        return 0.5 * x * (1.0 + tf.erf(x / np.sqrt(2.0).astype("float32")))

    def split(x):
        return tf.transpose(tf.reshape(x, tf.stack([n, length, heads, width // heads])), [0, 2, 1, 3])

    x = tf.nn.dropout(normalized(tf.nn.embedding_lookup(table, words) + position), rate=0.1)
    absent = (1.0 - present[:, tf.newaxis, tf.newaxis, :]) * -10000.0
    for _ in range(4):
        q, k, v = (split(dense(x, width)) for _ in range(3))
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(width // heads).astype("float32") + absent
        weights = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1)
        y = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
        y = dense(tf.reshape(y, tf.stack([n, length, width])), width)
        x = normalized(x + tf.nn.dropout(y, rate=0.1))
        y = dense(dense(x, 512, gelu), width)
        x = normalized(x + tf.nn.dropout(y, rate=0.1))
    chosen = tf.batch_gather(x, places)
    chosen = normalized(dense(tf.reshape(chosen, [-1, width]), width, gelu))
    bias = tf.get_variable("word_bias", [vocabulary], initializer=tf.zeros_initializer())
    logits = tf.matmul(chosen, table, transpose_b=True) + bias
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(hidden, [-1]), logits=logits))
    rng = np.random.RandomState(6)
    feed = {words: rng.randint(0, vocabulary, (batch, length)).astype("int32"),
            present: np.ones((batch, length), "float32"),
            places: rng.randint(0, length, (batch, guesses)).astype("int32"),
            hidden: rng.randint(0, vocabulary, (batch, guesses)).astype("int32")}
    return loss, feed, True


def currants(tf, batch):
    """A factorization machine with a deep part over ten fields of a shop's orders."""
    sizes = [120000, 60000, 20000, 8000, 3000, 1000, 300, 100, 24, 7]
    width = 24
    fields = tf.placeholder(tf.int32, [None, len(sizes)], "fields")
    numbers = tf.placeholder(tf.float32, [None, 12], "numbers")
    bought = tf.placeholder(tf.float32, [None], "bought")
    vectors, linear = [], []
    for i, size in enumerate(sizes):
        table = tf.get_variable("table%d" % i, [size, width], initializer=tf.random_normal_initializer(stddev=0.01))
        first = tf.get_variable("first%d" % i, [size], initializer=tf.zeros_initializer())
        vectors.append(tf.nn.embedding_lookup(table, fields[:, i]))
        linear.append(tf.nn.embedding_lookup(first, fields[:, i]))
    stacked = tf.stack(vectors, axis=1)
    summed = tf.square(tf.reduce_sum(stacked, axis=1))
    pairs = 0.5 * tf.reduce_sum(summed - tf.reduce_sum(tf.square(stacked), axis=1), axis=1)
    x = tf.concat([tf.reshape(stacked, [-1, len(sizes) * width]), numbers], axis=1)
    for units in (400, 400, 200):
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
        x = tf.nn.dropout(x, rate=0.3)
    logits = tf.add_n(linear) + pairs + tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=bought, logits=logits))
    loss = loss + 1e-6 * tf.nn.l2_loss(stacked)
    rng = np.random.RandomState(7)
    feed = {fields: np.stack([rng.randint(0, size, batch) for size in sizes], axis=1).astype("int32"),
            numbers: rng.randn(batch, 12).astype("float32"),
            bought: rng.randint(0, 2, batch).astype("float32")}
    return loss, feed, False
