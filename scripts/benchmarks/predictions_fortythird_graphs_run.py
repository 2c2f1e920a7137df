"""Graphs of predictions.py's forty-third set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def undertows(tf, batch):
    """Rip currents outlined from a cliff: a U whose sides are added, by overlap and by points that weigh unlike."""
    sea = tf.placeholder(tf.float32, [None, 112, 112, 3], "sea")
    rip = tf.placeholder(tf.float32, [None, 112, 112, 1], "rip")

    def twice(x, width, name):
        with tf.variable_scope(name):
            for i in range(2):
                x = tf.layers.conv2d(x, width, 3, padding="same", use_bias=False, name="conv%d" % i)
                x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
            return x

    x = sea
    sides = []
    for i, width in enumerate((12, 20, 40, 64)):
        if i:
            x = tf.layers.max_pooling2d(x, 2, 2)
        x = twice(x, width, "down%d" % i)
        sides.append(x)
    x = sides.pop()
    x = tf.layers.dropout(x, 0.3, training=True)
    for i, width in enumerate((40, 20, 12)):
        side = sides.pop()
        x = tf.image.resize_nearest_neighbor(x, side.shape.as_list()[1:3])
        x = tf.layers.conv2d(x, width, 2, padding="same", name="fit%d" % i) + side
        x = twice(x, width, "up%d" % i)
    out = tf.layers.conv2d(x, 1, 1, name="out")
    points = tf.nn.weighted_cross_entropy_with_logits(rip, out, pos_weight=4.0)
    chance = tf.sigmoid(out)
    both = tf.reduce_sum(chance * rip, [1, 2, 3])
    either = tf.reduce_sum(chance + rip, [1, 2, 3])
    loss = tf.reduce_mean(points) + 1.0 - tf.reduce_mean((2.0 * both + 1.0) / (either + 1.0))
    rng = np.random.RandomState(3)
    feed = {
        sea: rng.rand(batch, 112, 112, 3).astype("float32"),
        rip: (rng.rand(batch, 112, 112, 1) > 0.85).astype("float32"),
    }
    return loss, feed, False


def vinegars(tf, batch):
    """Labels for bottles drawn from chance: a critic whose slope is kept near one, and the painter it scolds."""
    chance = tf.placeholder(tf.float32, [None, 72], "chance")
    label = tf.placeholder(tf.float32, [None, 48, 48, 3], "label")
    share = tf.placeholder(tf.float32, [None, 1, 1, 1], "share")

    def paint(z):
        with tf.variable_scope("painter"):
            x = tf.layers.dense(z, 6 * 6 * 128, name="start")
            x = tf.nn.relu(tf.reshape(x, [-1, 6, 6, 128]))
            for i, width in enumerate((96, 56, 32)):
                x = tf.layers.conv2d_transpose(x, width, 4, strides=2, padding="same", name="up%d" % i)
                x = tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % i))
            return tf.layers.conv2d(x, 3, 3, padding="same", activation=tf.nn.tanh, name="out")

    def judge(x):
        with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
            for i, width in enumerate((32, 56, 96)):
                x = tf.layers.conv2d(x, width, 5, strides=2, padding="same", name="down%d" % i)
                x = tf.nn.leaky_relu(x, 0.2)
            return tf.layers.dense(tf.layers.flatten(x), 1, name="worth")

    fake = paint(chance)
    between = share * label + (1.0 - share) * tf.stop_gradient(fake)
    slope = tf.gradients(judge(between), between)[0]
    steep = tf.sqrt(tf.reduce_sum(tf.square(slope), [1, 2, 3]) + 1e-8)
    critic = tf.reduce_mean(judge(tf.stop_gradient(fake))) - tf.reduce_mean(judge(label))
    loss = critic + 10.0 * tf.reduce_mean(tf.square(steep - 1.0)) - 0.1 * tf.reduce_mean(judge(fake))
    rng = np.random.RandomState(5)
    feed = {
        chance: rng.randn(batch, 72).astype("float32"),
        label: rng.uniform(-1, 1, (batch, 48, 48, 3)).astype("float32"),
        share: rng.rand(batch, 1, 1, 1).astype("float32"),
    }
    return loss, feed, False


def wagtails(tf, batch):
    """The next sighting a watcher enters, out of very many, against a handful drawn by how common they are."""
    seen = tf.placeholder(tf.int32, [None, 40], "seen")
    long = tf.placeholder(tf.int32, [None], "long")
    place = tf.placeholder(tf.int32, [None], "place")
    about = tf.placeholder(tf.float32, [None, 18], "about")
    next_one = tf.placeholder(tf.int64, [None, 1], "next_one")
    with tf.variable_scope("tables"):
        table = tf.get_variable("seen", [70000, 48], initializer=tf.random_normal_initializer(stddev=0.05))
        spots = tf.get_variable("spots", [3000, 24], initializer=tf.random_normal_initializer(stddev=0.05))
        out = tf.get_variable("out", [70000, 64], initializer=tf.random_normal_initializer(stddev=0.05))
        lean = tf.get_variable("lean", [70000], initializer=tf.zeros_initializer(), trainable=False)
    mask = tf.expand_dims(tf.sequence_mask(long, 40, dtype=tf.float32), 2)
    past = tf.nn.embedding_lookup(table, seen) * mask
    past = tf.reduce_sum(past, 1) / tf.maximum(tf.reduce_sum(mask, 1), 1.0)
    x = tf.concat([past, tf.nn.embedding_lookup(spots, place), about, tf.square(about)], axis=1)
    for i, width in enumerate((384, 192)):
        x = tf.layers.dense(x, width, activation=tf.nn.relu, name="dense%d" % i)
        x = tf.layers.dropout(x, 0.2, training=True)
    x = tf.nn.l2_normalize(tf.layers.dense(x, 64, name="watcher"), 1) * 8.0
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(
        weights=out, biases=lean, labels=next_one, inputs=x, num_sampled=1500, num_classes=70000))
    rng = np.random.RandomState(19)
    feed = {
        seen: rng.randint(0, 70000, (batch, 40)).astype("int32"),
        long: rng.randint(1, 41, (batch,)).astype("int32"),
        place: rng.randint(0, 3000, (batch,)).astype("int32"),
        about: rng.rand(batch, 18).astype("float32"),
        next_one: rng.randint(0, 70000, (batch, 1)).astype("int64"),
    }
    return loss, feed, False


def walkways(tf, batch):
    """The surface underfoot by a residual net with narrow middles, and weights that are asked to stay small."""
    ground = tf.placeholder(tf.float32, [None, 80, 80, 3], "ground")
    surface = tf.placeholder(tf.int32, [None], "surface")
    small = tf.contrib.layers.l2_regularizer(1e-4)

    def conv(x, width, size, stride=1, act=True, name=None):
        with tf.variable_scope(name):
            x = tf.layers.conv2d(x, width, size, strides=stride, padding="same", use_bias=False,
                                 kernel_initializer=tf.variance_scaling_initializer(2.0),
                                 kernel_regularizer=small, name="conv")
            x = tf.layers.batch_normalization(x, training=True, fused=True, momentum=0.9, name="norm")
            return tf.nn.relu(x) if act else x

    x = conv(ground, 32, 5, 2, name="stem")
    for stage, (width, blocks) in enumerate(((24, 2), (40, 3), (72, 3))):
        for block in range(blocks):
            with tf.variable_scope("stage%d_%d" % (stage, block)):
                stride = 2 if stage and not block else 1
                short = x if block else conv(x, 4 * width, 1, stride, act=False, name="short")
                y = conv(x, width, 1, name="one")
                y = conv(y, width, 3, stride, name="two")
                y = conv(y, 4 * width, 1, act=False, name="three")
                x = tf.nn.relu(short + y)
    x = tf.reduce_mean(x, [1, 2])
    scores = tf.layers.dense(x, 23, kernel_regularizer=small, name="scores")
    wanted = 0.9 * tf.one_hot(surface, 23) + 0.1 / 23
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient(wanted), logits=scores))
    loss += tf.losses.get_regularization_loss()
    rng = np.random.RandomState(23)
    feed = {
        ground: rng.rand(batch, 80, 80, 3).astype("float32"),
        surface: rng.randint(0, 23, (batch,)).astype("int32"),
    }
    return loss, feed, False


def weevils(tf, batch):
    """Beetles in a trap as boxes at three scales, of the empty ones only those that fooled the net most."""
    trap = tf.placeholder(tf.float32, [None, 128, 128, 3], "trap")
    count = (16 * 16 + 8 * 8 + 4 * 4) * 4
    kind = tf.placeholder(tf.int32, [None, count], "kind")
    box = tf.placeholder(tf.float32, [None, count, 4], "box")

    def conv(x, width, stride, name):
        x = tf.layers.conv2d(x, width, 3, strides=stride, padding="same", name=name)
        return tf.nn.relu6(x)

    x = conv(trap, 20, 2, "a1")
    x = conv(x, 32, 1, "a2")
    x = conv(x, 48, 2, "b1")
    x = conv(x, 48, 1, "b2")
    x = conv(x, 80, 2, "c1")
    x = conv(x, 80, 1, "c2")
    scale = tf.get_variable("scale", [80], initializer=tf.constant_initializer(10.0))
    levels = [tf.nn.l2_normalize(x, 3) * scale]
    x = conv(x, 112, 2, "d1")
    x = conv(x, 112, 1, "d2")
    levels.append(x)
    x = tf.layers.conv2d(x, 56, 1, activation=tf.nn.relu6, name="e0")
    levels.append(conv(x, 112, 2, "e1"))
    scores, shifts = [], []
    for i, level in enumerate(levels):
        s = tf.layers.conv2d(level, 4 * 6, 3, padding="same", name="score%d" % i)
        b = tf.layers.conv2d(level, 4 * 4, 3, padding="same", name="shift%d" % i)
        scores.append(tf.reshape(s, [-1, level.shape[1].value * level.shape[2].value * 4, 6]))
        shifts.append(tf.reshape(b, [-1, level.shape[1].value * level.shape[2].value * 4, 4]))
    scores, shifts = tf.concat(scores, 1), tf.concat(shifts, 1)
    full = tf.cast(tf.greater(kind, 0), tf.float32)
    wrong = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kind, logits=scores)
    worst, _ = tf.nn.top_k(wrong * (1.0 - full), k=120, sorted=False)
    gap = tf.abs(shifts - box)
    smooth = tf.where(gap < 1.0, 0.5 * tf.square(gap), gap - 0.5)
    total = tf.reduce_sum(wrong * full) + tf.reduce_sum(worst) + tf.reduce_sum(smooth * tf.expand_dims(full, 2))
    loss = total / tf.maximum(tf.reduce_sum(full), 1.0)
    rng = np.random.RandomState(29)
    some = rng.rand(batch, count) < 0.03
    feed = {
        trap: rng.rand(batch, 128, 128, 3).astype("float32"),
        kind: (some * rng.randint(1, 6, (batch, count))).astype("int32"),
        box: rng.randn(batch, count, 4).astype("float32"),
    }
    return loss, feed, False


def yodellers(tf, batch):
    """Who answers whom across a valley: singers hear their neighbours for seven rounds of one gated step."""
    singers = tf.placeholder(tf.int32, [None, 48], "singers")
    hears = tf.placeholder(tf.float32, [None, 3, 48, 48], "hears")
    answer = tf.placeholder(tf.float32, [None, 48, 48], "answer")
    width = 64
    with tf.variable_scope("valley"):
        table = tf.get_variable("table", [400, width])
        roads = tf.get_variable("roads", [3, width, width])
        gates = tf.get_variable("gates", [2 * width, 2 * width])
        tilt = tf.get_variable("tilt", [2 * width], initializer=tf.ones_initializer())
        fresh = tf.get_variable("fresh", [2 * width, width])
    first = tf.nn.embedding_lookup(table, singers)

    def heard(state):
        flat = tf.reshape(state, [-1, width])
        total = tf.zeros_like(state)
        for kind in range(3):
            sent = tf.reshape(tf.matmul(flat, roads[kind]), tf.shape(state))
            total += tf.matmul(hears[:, kind], sent)
        return total

    def step(turn, state):
        news = heard(state)
        both = tf.reshape(tf.concat([news, state], 2), [-1, 2 * width])
        reset, keep = tf.split(tf.sigmoid(tf.matmul(both, gates) + tf.expand_dims(tilt, 0)), 2, axis=1)
        old = tf.reshape(state, [-1, width])
        new = tf.tanh(tf.matmul(tf.concat([tf.reshape(news, [-1, width]), reset * old], 1), fresh))
        new = tf.reshape(keep * old + (1.0 - keep) * new, tf.shape(state))
        new.set_shape([None, 48, width])
        return turn + 1, new

    _, last = tf.while_loop(lambda turn, state: turn < 7, step, [tf.constant(0), first])
    x = tf.concat([first, last], 2)
    call = tf.layers.dense(x, 56, activation=tf.nn.tanh, name="call")
    reply = tf.layers.dense(x, 56, activation=tf.nn.tanh, name="reply")
    scores = tf.matmul(call, reply, transpose_b=True)
    pair = tf.layers.dense(tf.expand_dims(call, 2) + tf.expand_dims(reply, 1), 24, activation=tf.nn.relu, name="pair")
    scores += tf.squeeze(tf.layers.dense(pair, 1, name="score"), 3)
    loss = tf.losses.sigmoid_cross_entropy(answer, scores)
    rng = np.random.RandomState(31)
    feed = {
        singers: rng.randint(0, 400, (batch, 48)).astype("int32"),
        hears: (rng.rand(batch, 3, 48, 48) < 0.06).astype("float32"),
        answer: (rng.rand(batch, 48, 48) < 0.1).astype("float32"),
    }
    return loss, feed, True


def zinnias(tf, batch):
    """The full spectrum of a voice from its few bands: a bank of kernels, highways, then a GRU both ways."""
    bands = tf.placeholder(tf.float32, [None, 110, 80], "bands")
    full = tf.placeholder(tf.float32, [None, 110, 513], "full")
    with tf.variable_scope("bank"):
        parts = []
        for size in range(1, 7):
            y = tf.layers.conv1d(bands, 64, size, padding="same", use_bias=False, name="conv%d" % size)
            parts.append(tf.nn.relu(tf.layers.batch_normalization(y, training=True, name="norm%d" % size)))
        x = tf.concat(parts, axis=2)
        x = tf.layers.max_pooling1d(x, 2, 1, padding="same")
        x = tf.layers.conv1d(x, 128, 3, padding="same", activation=tf.nn.relu, name="one")
        x = tf.layers.conv1d(x, 80, 3, padding="same", name="two") + bands
    x = tf.layers.dense(x, 96, name="into")
    for i in range(3):
        with tf.variable_scope("highway%d" % i):
            new = tf.layers.dense(x, 96, activation=tf.nn.relu, name="new")
            gate = tf.layers.dense(x, 96, activation=tf.nn.sigmoid,
                                   bias_initializer=tf.constant_initializer(-1.0), name="gate")
            x = new * gate + x * (1.0 - gate)
    pair, _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(96), tf.nn.rnn_cell.GRUCell(96), x, dtype=tf.float32)
    out = tf.layers.dense(tf.concat(pair, 2), 513, name="out")
    gap = tf.abs(out - full)
    loss = 0.5 * tf.reduce_mean(gap) + 0.5 * tf.reduce_mean(gap[:, :, :100])
    rng = np.random.RandomState(37)
    feed = {
        bands: rng.randn(batch, 110, 80).astype("float32"),
        full: rng.randn(batch, 110, 513).astype("float32"),
    }
    return loss, feed, True
