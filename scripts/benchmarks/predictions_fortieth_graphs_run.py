"""Graphs of predictions.py's fortieth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def almoners(tf, batch):
    """A word of an alms roll out of the words around it, against a few wrong ones drawn by rank."""
    around = tf.placeholder(tf.int32, [None, 6], "around")
    word = tf.placeholder(tf.int32, [None, 1], "word")
    near = tf.get_variable("near", [36000, 144], initializer=tf.random_uniform_initializer(-1.0, 1.0))
    far = tf.get_variable("far", [36000, 144], initializer=tf.truncated_normal_initializer(stddev=0.08))
    bias = tf.get_variable("bias", [36000], initializer=tf.zeros_initializer())
    x = tf.reduce_mean(tf.nn.embedding_lookup(near, around), axis=1)
    loss = tf.reduce_mean(tf.nn.nce_loss(far, bias, word, x, num_sampled=96, num_classes=36000))
    rng = np.random.RandomState(3)
    feed = {
        around: rng.randint(0, 36000, (batch, 6)).astype("int32"),
        word: rng.randint(0, 36000, (batch, 1)).astype("int32"),
    }
    return loss, feed, False


def burrows(tf, batch):
    """Calls of animals put into words: a decoder that looks back over a both-way encoder at every step."""
    calls = tf.placeholder(tf.int32, [None, 32], "calls")
    words = tf.placeholder(tf.int32, [None, 25], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    with tf.variable_scope("encoder"):
        table = tf.get_variable("table", [7000, 128])
        x = tf.nn.embedding_lookup(table, calls)
        (a, b), (last_a, last_b) = tf.nn.bidirectional_dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(88), tf.nn.rnn_cell.GRUCell(88), x, sequence_length=lengths, dtype=tf.float32)
        memory = tf.concat([a, b], axis=2)
        last = tf.concat([last_a, last_b], axis=1)
    with tf.variable_scope("decoder"):
        table = tf.get_variable("table", [5200, 128])
        x = tf.nn.embedding_lookup(table, words[:, :-1])
        look = tf.contrib.seq2seq.BahdanauAttention(144, memory, memory_sequence_length=lengths)
        cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(176), look, attention_layer_size=144)
        rows = tf.shape(calls)[0]
        state = cell.zero_state(rows, tf.float32).clone(cell_state=last)
        helper = tf.contrib.seq2seq.TrainingHelper(x, tf.fill([rows], 24))
        decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state, tf.layers.Dense(5200, use_bias=False))
        outs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder)
    loss = tf.contrib.seq2seq.sequence_loss(outs.rnn_output, words[:, 1:], tf.ones([rows, 24]))
    rng = np.random.RandomState(5)
    feed = {
        calls: rng.randint(0, 7000, (batch, 32)).astype("int32"),
        words: rng.randint(0, 5200, (batch, 25)).astype("int32"),
        lengths: rng.randint(12, 33, (batch,)).astype("int32"),
    }
    return loss, feed, True


def calipers(tf, batch):
    """Will a tool be clicked on: pairs of fields by a factorization, and a deep net over the same vectors."""
    fields = tf.placeholder(tf.int32, [None, 26], "fields")
    numbers = tf.placeholder(tf.float32, [None, 13], "numbers")
    clicked = tf.placeholder(tf.float32, [None], "clicked")
    vectors = tf.get_variable("vectors", [260000, 18], initializer=tf.random_normal_initializer(stddev=0.01))
    single = tf.get_variable("single", [260000], initializer=tf.zeros_initializer())
    v = tf.nn.embedding_lookup(vectors, fields)
    first = tf.reduce_sum(tf.nn.embedding_lookup(single, fields), axis=1)
    total = tf.square(tf.reduce_sum(v, axis=1))
    second = 0.5 * tf.reduce_sum(total - tf.reduce_sum(tf.square(v), axis=1), axis=1)
    x = tf.concat([tf.reshape(v, [-1, 26 * 18]), tf.log1p(numbers)], axis=1)
    for i, width in enumerate((360, 240, 120)):
        x = tf.layers.dense(x, width, name="deep%d" % i)
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
    deep = tf.squeeze(tf.layers.dense(x, 1, name="deep_out"), 1)
    scores = first + second + deep
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=scores))
    rng = np.random.RandomState(9)
    feed = {
        fields: rng.randint(0, 260000, (batch, 26)).astype("int32"),
        numbers: rng.rand(batch, 13).astype("float32"),
        clicked: rng.randint(0, 2, (batch,)).astype("float32"),
    }
    return loss, feed, False


def catapults(tf, batch):
    """What a throw is worth, from four screens of a game: a net that learns, and an older self it is held to."""
    before = tf.placeholder(tf.uint8, [None, 84, 84, 4], "before")
    after = tf.placeholder(tf.uint8, [None, 84, 84, 4], "after")
    action = tf.placeholder(tf.int32, [None], "action")
    reward = tf.placeholder(tf.float32, [None], "reward")
    over = tf.placeholder(tf.float32, [None], "over")

    def worth(screens, name, reuse=False, trainable=True):
        with tf.variable_scope(name, reuse=reuse):
            x = tf.cast(screens, tf.float32) / 255.0
            for i, (width, size, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1))):
                x = tf.layers.conv2d(
                    x, width, size, strides=stride, activation=tf.nn.relu, trainable=trainable, name="conv%d" % i)
            x = tf.layers.flatten(x)
            a = tf.layers.dense(x, 512, activation=tf.nn.relu, trainable=trainable, name="gain")
            a = tf.layers.dense(a, 9, trainable=trainable, name="gains")
            b = tf.layers.dense(x, 512, activation=tf.nn.relu, trainable=trainable, name="state")
            b = tf.layers.dense(b, 1, trainable=trainable, name="states")
            return b + a - tf.reduce_mean(a, axis=1, keepdims=True)

    now = worth(before, "online")
    choice = tf.argmax(worth(after, "online", reuse=True), axis=1)
    later = worth(after, "older", trainable=False)
    later = tf.reduce_sum(later * tf.one_hot(choice, 9), axis=1)
    goal = tf.stop_gradient(reward + 0.99 * (1.0 - over) * later)
    got = tf.reduce_sum(now * tf.one_hot(action, 9), axis=1)
    loss = tf.losses.huber_loss(goal, got)
    rng = np.random.RandomState(13)
    feed = {
        before: rng.randint(0, 256, (batch, 84, 84, 4)).astype("uint8"),
        after: rng.randint(0, 256, (batch, 84, 84, 4)).astype("uint8"),
        action: rng.randint(0, 9, (batch,)).astype("int32"),
        reward: rng.randn(batch).astype("float32"),
        over: rng.randint(0, 2, (batch,)).astype("float32"),
    }
    return loss, feed, False


def emus(tf, batch):
    """Birds that do not fly, by a plain deep stack of convolutions with local normalization at its foot."""
    slim = tf.contrib.slim
    bird = tf.placeholder(tf.float32, [None, 64, 64, 3], "bird")
    kind = tf.placeholder(tf.int32, [None], "kind")
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected], activation_fn=tf.nn.relu,
        weights_regularizer=slim.l2_regularizer(5e-4), biases_initializer=tf.constant_initializer(0.1)):
        x = slim.conv2d(bird, 32, [5, 5], scope="foot")
        x = tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
        x = slim.max_pool2d(x, [2, 2], scope="pool1")
        x = slim.repeat(x, 2, slim.conv2d, 64, [3, 3], scope="second")
        x = slim.max_pool2d(x, [2, 2], scope="pool2")
        x = slim.repeat(x, 3, slim.conv2d, 128, [3, 3], scope="third")
        x = slim.max_pool2d(x, [2, 2], scope="pool3")
        x = slim.flatten(x)
        x = slim.fully_connected(x, 384, scope="full")
        x = slim.dropout(x, 0.5, is_training=True, scope="drop")
        scores = slim.fully_connected(x, 48, activation_fn=None, scope="scores")
    loss = tf.losses.sparse_softmax_cross_entropy(kind, scores)
    loss += tf.losses.get_regularization_loss()
    rng = np.random.RandomState(17)
    feed = {
        bird: rng.rand(batch, 64, 64, 3).astype("float32"),
        kind: rng.randint(0, 48, (batch,)).astype("int32"),
    }
    return loss, feed, False


def fathoms(tf, batch):
    """The next sign of a ship's log: a projected LSTM with peepholes, its loop written by hand."""
    signs = tf.placeholder(tf.int32, [None, 100], "signs")
    units, small, kinds = 256, 112, 180
    table = tf.get_variable("table", [kinds, 64])
    kernel = tf.get_variable("kernel", [64 + small, 4 * units])
    bias = tf.get_variable("bias", [4 * units], initializer=tf.zeros_initializer())
    peep = tf.get_variable("peep", [3, units], initializer=tf.zeros_initializer())
    project = tf.get_variable("project", [units, small])
    x = tf.transpose(tf.nn.embedding_lookup(table, signs[:, :-1]), [1, 0, 2])
    rows = tf.shape(signs)[0]
    source = tf.TensorArray(tf.float32, 99).unstack(x)
    target = tf.TensorArray(tf.float32, 99)

    def body(t, c, h, target):
        gates = tf.matmul(tf.concat([source.read(t), h], axis=1), kernel) + bias
        i, f, g, o = tf.split(gates, 4, axis=1)
        i = tf.sigmoid(i + peep[0] * c)
        f = tf.sigmoid(f + 1.0 + peep[1] * c)
        c = f * c + i * tf.tanh(g)
        o = tf.sigmoid(o + peep[2] * c)
        h = tf.matmul(o * tf.tanh(c), project)
        return t + 1, c, h, target.write(t, h)

    _, _, _, target = tf.while_loop(
        lambda t, c, h, target: t < 99, body,
        [tf.constant(0), tf.zeros([rows, units]), tf.zeros([rows, small]), target], parallel_iterations=8)
    y = tf.reshape(target.stack(), [-1, small])
    scores = tf.layers.dense(y, kinds, name="scores")
    after = tf.reshape(tf.transpose(signs[:, 1:]), [-1])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=after, logits=scores))
    rng = np.random.RandomState(19)
    feed = {signs: rng.randint(0, kinds, (batch, 100)).astype("int32")}
    return loss, feed, True


def glades(tf, batch):
    """Words hidden in a walker's notes, and whether one note follows the other, by attention over both."""
    ids = tf.placeholder(tf.int32, [None, 96], "ids")
    sides = tf.placeholder(tf.int32, [None, 96], "sides")
    mask = tf.placeholder(tf.float32, [None, 96], "mask")
    spots = tf.placeholder(tf.int32, [None, 14], "spots")
    hidden = tf.placeholder(tf.int32, [None, 14], "hidden")
    follows = tf.placeholder(tf.int32, [None], "follows")
    d, h, start = 128, 4, tf.truncated_normal_initializer(stddev=0.02)

    def dense(x, width, name, act=None):
        return tf.layers.dense(x, width, activation=act, kernel_initializer=start, name=name)

    def norm(x, name):
        return tf.contrib.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1, scope=name)

    def gelu(x):
        return x * 0.5 * (1.0 + tf.erf(x / np.sqrt(2.0).astype("float32")))

    table = tf.get_variable("table", [18000, d], initializer=start)
    places = tf.get_variable("places", [96, d], initializer=start)
    kinds = tf.get_variable("kinds", [2, d], initializer=start)
    x = tf.gather(table, ids) + places
    x += tf.reshape(tf.matmul(tf.one_hot(tf.reshape(sides, [-1]), 2), kinds), [-1, 96, d])
    x = tf.nn.dropout(norm(x, "norm"), rate=0.1)
    away = (1.0 - mask[:, None, None, :]) * -10000.0
    for i in range(2):
        with tf.variable_scope("layer%d" % i):
            q, k, v = [
                tf.transpose(tf.reshape(dense(x, d, name), [-1, 96, h, d // h]), [0, 2, 1, 3])
                for name in ("query", "key", "value")]
            score = tf.matmul(q, k, transpose_b=True) / float(np.sqrt(d // h)) + away
            y = tf.matmul(tf.nn.dropout(tf.nn.softmax(score), rate=0.1), v)
            y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [-1, 96, d])
            x = norm(x + tf.nn.dropout(dense(y, d, "mix"), rate=0.1), "norm1")
            y = dense(dense(x, 4 * d, "wide", gelu), d, "back")
            x = norm(x + tf.nn.dropout(y, rate=0.1), "norm2")
    rows = tf.shape(ids)[0]
    flat = tf.reshape(spots + tf.range(rows)[:, None] * 96, [-1])
    picked = tf.gather(tf.reshape(x, [-1, d]), flat)
    picked = norm(dense(picked, d, "turn", gelu), "turn_norm")
    bias = tf.get_variable("bias", [18000], initializer=tf.zeros_initializer())
    logs = tf.nn.log_softmax(tf.matmul(picked, table, transpose_b=True) + bias)
    one = tf.one_hot(tf.reshape(hidden, [-1]), 18000)
    loss = -tf.reduce_mean(tf.reduce_sum(logs * one, axis=1))
    pooled = dense(x[:, 0], d, "pool", tf.tanh)
    loss += tf.losses.sparse_softmax_cross_entropy(follows, dense(pooled, 2, "pair"))
    rng = np.random.RandomState(23)
    feed = {
        ids: rng.randint(0, 18000, (batch, 96)).astype("int32"),
        sides: rng.randint(0, 2, (batch, 96)).astype("int32"),
        mask: rng.randint(0, 2, (batch, 96)).astype("float32"),
        spots: rng.randint(0, 96, (batch, 14)).astype("int32"),
        hidden: rng.randint(0, 18000, (batch, 14)).astype("int32"),
        follows: rng.randint(0, 2, (batch,)).astype("int32"),
    }
    return loss, feed, False


def jalopies(tf, batch):
    """Rust within scanned cars: residual stages in three dimensions, scored by how far two bodies overlap."""
    scan = tf.placeholder(tf.float32, [None, 16, 40, 40, 2], "scan")
    rust = tf.placeholder(tf.float32, [None, 16, 40, 40, 1], "rust")

    def prelu(x, name):
        a = tf.get_variable(name, [x.shape[-1].value], initializer=tf.constant_initializer(0.1))
        return tf.maximum(x, 0.0) + a * tf.minimum(x, 0.0)

    def stage(x, back, width, depth, name):
        with tf.variable_scope(name):
            y = x if back is None else tf.concat([x, back], axis=4)
            for i in range(depth):
                y = tf.layers.conv3d(y, width, 3, padding="same", name="conv%d" % i)
                y = y + x if i == depth - 1 else y
                y = prelu(y, "prelu%d" % i)
            return y

    def down(x, width, name):
        with tf.variable_scope(name):
            return prelu(tf.layers.conv3d(x, width, 2, strides=2, name="conv"), "prelu")

    def up(x, width, name):
        with tf.variable_scope(name):
            return prelu(tf.layers.conv3d_transpose(x, width, 2, strides=2, use_bias=False, name="conv"), "prelu")

    x = tf.tile(scan, [1, 1, 1, 1, 5])
    a = stage(x, None, 10, 1, "a")
    b = stage(down(a, 20, "down_a"), None, 20, 2, "b")
    c = stage(down(b, 40, "down_b"), None, 40, 2, "c")
    x = stage(up(c, 20, "up_b"), b, 20, 2, "d")
    x = stage(up(x, 10, "up_a"), a, 10, 1, "e")
    out = tf.sigmoid(tf.layers.conv3d(x, 1, 1, name="out"))
    axes = [1, 2, 3, 4]
    over = tf.reduce_sum(out * rust, axes)
    both = tf.reduce_sum(tf.square(out), axes) + tf.reduce_sum(tf.square(rust), axes)
    loss = 1.0 - tf.reduce_mean((2.0 * over + 1.0) / (both + 1.0))
    rng = np.random.RandomState(29)
    feed = {
        scan: rng.randn(batch, 16, 40, 40, 2).astype("float32"),
        rust: rng.randint(0, 2, (batch, 16, 40, 40, 1)).astype("float32"),
    }
    return loss, feed, False


def locusts(tf, batch):
    """Songs of swarms written down: recurrent layers both ways, and a loss that finds where each sound falls."""
    song = tf.placeholder(tf.float32, [None, 120, 26], "song")
    heard = tf.placeholder(tf.int32, [None, 24], "heard")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    x = tf.layers.dense(song, 96, activation=tf.nn.relu6, name="enter")
    for i in range(2):
        cells = [tf.nn.rnn_cell.LSTMCell(104, num_proj=72, use_peepholes=True) for _ in range(2)]
        pair, _ = tf.nn.bidirectional_dynamic_rnn(
            cells[0], cells[1], x, sequence_length=lengths, dtype=tf.float32, scope="both%d" % i)
        x = tf.concat(pair, axis=2)
    scores = tf.transpose(tf.layers.dense(x, 40, name="scores"), [1, 0, 2])
    places = tf.where(tf.not_equal(heard, -1))
    sparse = tf.SparseTensor(places, tf.gather_nd(heard, places), tf.shape(heard, out_type=tf.int64))
    loss = tf.reduce_mean(tf.nn.ctc_loss(sparse, scores, lengths))
    rng = np.random.RandomState(31)
    written = rng.randint(0, 39, (batch, 24))
    written[:, 18:][rng.rand(batch, 6) < 2.0 * np.linspace(0.1, 0.5, 6)] = -1
    written.sort(axis=1)
    feed = {
        song: rng.randn(batch, 120, 26).astype("float32"),
        heard: written[:, ::-1].astype("int32"),
        lengths: rng.randint(70, 121, (batch,)).astype("int32"),
    }
    return loss, feed, True


def mermaids(tf, batch):
    """Tails drawn out of noise: a critic held to slopes of one, and a painter its gradient reaches reversed."""
    tail = tf.placeholder(tf.float32, [None, 64, 64, 3], "tail")
    noise = tf.placeholder(tf.float32, [None, 80], "noise")
    blend = tf.placeholder(tf.float32, [None, 1, 1, 1], "blend")

    def critic(x):
        with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
            for i, width in enumerate((40, 80, 160)):
                x = tf.layers.conv2d(x, width, 5, strides=2, padding="same", name="conv%d" % i)
                x = tf.nn.leaky_relu(x)
            return tf.layers.dense(tf.layers.flatten(x), 1, name="score")

    with tf.variable_scope("painter"):
        x = tf.layers.dense(noise, 8 * 8 * 128, name="enter")
        x = tf.nn.relu(tf.reshape(x, [-1, 8, 8, 128]))
        for i, width in enumerate((96, 48)):
            x = tf.layers.conv2d_transpose(x, width, 4, strides=2, padding="same", name="up%d" % i)
            x = tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
        drawn = tf.layers.conv2d_transpose(x, 3, 4, strides=2, padding="same", activation=tf.tanh, name="last")
    flipped = 2.0 * tf.stop_gradient(drawn) - drawn
    mixed = tf.stop_gradient(blend * tail + (1.0 - blend) * drawn)
    slope = tf.gradients(critic(mixed), mixed)[0]
    slope = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=[1, 2, 3]) + 1e-8)
    loss = tf.reduce_mean(critic(flipped)) - tf.reduce_mean(critic(tail))
    loss += 10.0 * tf.reduce_mean(tf.square(slope - 1.0))
    rng = np.random.RandomState(37)
    feed = {
        tail: rng.uniform(-1, 1, (batch, 64, 64, 3)).astype("float32"),
        noise: rng.randn(batch, 80).astype("float32"),
        blend: rng.rand(batch, 1, 1, 1).astype("float32"),
    }
    return loss, feed, False


def moorings(tf, batch):
    """Boats at a quay, as boxes on a grid: fine squares are folded into the depth of the coarse ones."""
    quay = tf.placeholder(tf.float32, [None, 128, 128, 3], "quay")
    truth = tf.placeholder(tf.float32, [None, 8, 8, 5, 5], "truth")
    kinds = tf.placeholder(tf.int32, [None, 8, 8, 5], "kinds")

    def conv(x, width, size, name):
        x = tf.layers.conv2d(x, width, size, padding="same", use_bias=False, name=name)
        x = tf.layers.batch_normalization(x, training=True, name=name + "_norm")
        return tf.nn.leaky_relu(x, 0.1)

    x = quay
    for i, width in enumerate((12, 24, 48)):
        x = conv(x, width, 3, "conv%d" % i)
        x = tf.layers.max_pooling2d(x, 2, 2)
    x = conv(conv(conv(x, 96, 3, "a"), 48, 1, "b"), 96, 3, "c")
    fine = tf.space_to_depth(conv(x, 24, 1, "fine"), 2)
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = conv(conv(x, 192, 3, "d"), 192, 3, "e")
    x = conv(tf.concat([fine, x], axis=3), 192, 3, "f")
    out = tf.reshape(tf.layers.conv2d(x, 5 * (5 + 8), 1, name="out"), [-1, 8, 8, 5, 13])
    anchors = tf.constant([[0.6, 0.7], [1.2, 1.5], [2.2, 3.1], [3.4, 1.8], [5.0, 5.0]])
    there = truth[..., 4]
    spot = tf.sigmoid(out[..., :2])
    size = tf.exp(tf.minimum(out[..., 2:4], 4.0)) * anchors
    loss = tf.reduce_sum(there[..., None] * tf.square(spot - truth[..., :2]))
    loss += tf.reduce_sum(there[..., None] * tf.square(tf.sqrt(size) - tf.sqrt(truth[..., 2:4])))
    sure = tf.nn.sigmoid_cross_entropy_with_logits(labels=there, logits=out[..., 4])
    loss += tf.reduce_sum(sure * (there * 4.0 + 0.5))
    kind = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=out[..., 5:])
    loss += tf.reduce_sum(there * kind)
    loss /= tf.cast(tf.shape(quay)[0], tf.float32)
    rng = np.random.RandomState(41)
    boxes = rng.rand(batch, 8, 8, 5, 5).astype("float32")
    boxes[..., 4] = boxes[..., 4] > 0.9
    feed = {
        quay: rng.rand(batch, 128, 128, 3).astype("float32"),
        truth: boxes,
        kinds: rng.randint(0, 8, (batch, 8, 8, 5)).astype("int32"),
    }
    return loss, feed, False
