"""Graphs of predictions.py's forty-first set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def oatmeals(tf, batch):
    """Words by the company they keep and the recipe they stand in, against words drawn at random."""
    around = tf.placeholder(tf.int32, [None, 8], "around")
    recipe = tf.placeholder(tf.int32, [None], "recipe")
    middle = tf.placeholder(tf.int64, [None, 1], "middle")
    small = tf.random_uniform_initializer(-0.05, 0.05)
    with tf.variable_scope("kitchen"):
        words = tf.get_variable("words", [50000, 128], initializer=small)
        recipes = tf.get_variable("recipes", [20000, 128], initializer=small)
        weights = tf.get_variable("weights", [50000, 256], initializer=small)
        shifts = tf.get_variable("shifts", [50000], initializer=tf.zeros_initializer())
        near = tf.reduce_mean(tf.nn.embedding_lookup(words, around), axis=1)
        x = tf.concat([near, tf.nn.embedding_lookup(recipes, recipe)], axis=1)
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(
        weights=weights, biases=shifts, labels=middle, inputs=x, num_sampled=512, num_classes=50000))
    rng = np.random.RandomState(3)
    feed = {
        around: rng.randint(0, 50000, (batch, 8)).astype("int32"),
        recipe: rng.randint(0, 20000, (batch,)).astype("int32"),
        middle: rng.randint(0, 50000, (batch, 1)).astype("int64"),
    }
    return loss, feed, False


def radiators(tf, batch):
    """Makes of radiator: windows of three sizes side by side, answers normalized among neighbours."""
    photo = tf.placeholder(tf.float32, [None, 112, 112, 3], "photo")
    make = tf.placeholder(tf.int32, [None], "make")

    def conv(x, width, size, name, stride=1):
        return tf.layers.conv2d(x, width, size, strides=stride, padding="same", activation=tf.nn.relu, name=name)

    def inception(x, widths, name):
        one, three, five, pool = widths
        with tf.variable_scope(name):
            a = conv(x, one, 1, "a")
            b = conv(conv(x, three // 2, 1, "b1"), three, 3, "b2")
            c = conv(conv(x, five // 2, 1, "c1"), five, 5, "c2")
            d = conv(tf.layers.max_pooling2d(x, 3, 1, padding="same"), pool, 1, "d")
            return tf.concat([a, b, c, d], axis=3)

    def scores(x, name):
        with tf.variable_scope(name):
            x = tf.layers.flatten(tf.layers.average_pooling2d(conv(x, 48, 1, "squeeze"), 2, 2))
            x = tf.nn.dropout(tf.layers.dense(x, 192, activation=tf.nn.relu, name="hidden"), rate=0.4)
            return tf.layers.dense(x, 45, name="out")

    x = conv(photo, 32, 7, "stem", 2)
    x = tf.layers.max_pooling2d(x, 3, 2, padding="same")
    x = tf.nn.lrn(x, depth_radius=4, bias=1.0, alpha=1e-4, beta=0.75)
    x = conv(x, 96, 3, "stem2")
    x = tf.nn.lrn(x, depth_radius=4, bias=1.0, alpha=1e-4, beta=0.75)
    x = inception(x, (32, 64, 24, 24), "mix1")
    x = inception(x, (48, 80, 32, 32), "mix2")
    x = tf.layers.max_pooling2d(x, 3, 2, padding="same")
    early = scores(x, "early")
    x = inception(x, (64, 112, 40, 40), "mix3")
    x = inception(x, (96, 160, 48, 48), "mix4")
    late = scores(x, "late")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=make, logits=late))
    loss += 0.3 * tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=make, logits=early))
    rng = np.random.RandomState(5)
    feed = {
        photo: rng.rand(batch, 112, 112, 3).astype("float32"),
        make: rng.randint(0, 45, (batch,)).astype("int32"),
    }
    return loss, feed, False


def ramparts(tf, batch):
    """Orders from the wall put into another tongue: LSTMs both ways, and one that attends as it writes."""
    order = tf.placeholder(tf.int32, [None, 30], "order")
    said = tf.placeholder(tf.int32, [None, 26], "said")
    after = tf.placeholder(tf.int32, [None, 26], "after")
    long_order = tf.placeholder(tf.int32, [None], "long_order")
    long_said = tf.placeholder(tf.int32, [None], "long_said")
    with tf.variable_scope("read"):
        table = tf.get_variable("table", [7000, 96])
        x = tf.nn.embedding_lookup(table, order)
        x, states = tf.nn.bidirectional_dynamic_rnn(
            tf.nn.rnn_cell.LSTMCell(80), tf.nn.rnn_cell.LSTMCell(80), x,
            sequence_length=long_order, dtype=tf.float32)
        memory = tf.concat(x, axis=2)
        state = tf.nn.rnn_cell.LSTMStateTuple(
            tf.concat([states[0].c, states[1].c], 1), tf.concat([states[0].h, states[1].h], 1))
    with tf.variable_scope("write"):
        table = tf.get_variable("table", [6000, 96])
        z = tf.nn.embedding_lookup(table, said)
        attention = tf.contrib.seq2seq.BahdanauAttention(128, memory, memory_sequence_length=long_order)
        cell = tf.contrib.seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.LSTMCell(160), attention, attention_layer_size=128)
        start = cell.zero_state(tf.shape(order)[0], tf.float32).clone(cell_state=state)
        helper = tf.contrib.seq2seq.TrainingHelper(z, long_said)
        decoder = tf.contrib.seq2seq.BasicDecoder(
            cell, helper, start, output_layer=tf.layers.Dense(6000, use_bias=False))
        out, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, impute_finished=True)
    scores = out.rnn_output
    steps = tf.shape(scores)[1]
    mask = tf.sequence_mask(long_said, steps, dtype=tf.float32)
    loss = tf.contrib.seq2seq.sequence_loss(scores, after[:, :steps], mask)
    rng = np.random.RandomState(13)
    long = rng.randint(12, 27, (batch,)).astype("int32")
    long[0] = 26
    feed = {
        order: rng.randint(0, 7000, (batch, 30)).astype("int32"),
        said: rng.randint(0, 6000, (batch, 26)).astype("int32"),
        after: rng.randint(0, 6000, (batch, 26)).astype("int32"),
        long_order: rng.randint(10, 31, (batch,)).astype("int32"),
        long_said: long,
    }
    return loss, feed, True


def sawmills(tf, batch):
    """Hours before a saw goes blunt: a loop written by hand with one gate and a leaking memory."""
    sensors = tf.placeholder(tf.float32, [None, 70, 20], "sensors")
    hours = tf.placeholder(tf.float32, [None, 70], "hours")
    units = 176
    with tf.variable_scope("loop"):
        into = tf.layers.dense(sensors, 2 * units, name="into")
        back = tf.get_variable("back", [units, 2 * units], initializer=tf.orthogonal_initializer())
        leak = tf.get_variable("leak", [units], initializer=tf.constant_initializer(0.9))
        rows = tf.TensorArray(tf.float32, 70).unstack(tf.transpose(into, [1, 0, 2]))
        kept = tf.TensorArray(tf.float32, 70)
        zeros = tf.zeros([tf.shape(sensors)[0], units])

        def body(t, h, slow, kept):
            gate, fresh = tf.split(rows.read(t) + tf.matmul(h, back), 2, axis=1)
            gate = tf.sigmoid(gate)
            h = gate * h + (1.0 - gate) * tf.tanh(fresh + slow)
            slow = leak * slow + (1.0 - leak) * h
            return t + 1, h, slow, kept.write(t, tf.concat([h, slow], 1))

        _, _, _, kept = tf.while_loop(lambda t, *_: t < 70, body, [0, zeros, zeros, kept], parallel_iterations=8)
        x = tf.transpose(kept.stack(), [1, 0, 2])
        x.set_shape([None, 70, 2 * units])
    x = tf.contrib.layers.layer_norm(x, begin_norm_axis=2)
    x = tf.layers.dense(x, 96, activation=tf.nn.selu, name="hidden")
    x = tf.squeeze(tf.layers.dense(x, 1, activation=tf.nn.softplus, name="out"), axis=2)
    loss = tf.reduce_mean(tf.log(tf.cosh(x - hours)))
    rng = np.random.RandomState(17)
    feed = {
        sensors: rng.randn(batch, 70, 20).astype("float32"),
        hours: rng.rand(batch, 70).astype("float32"),
    }
    return loss, feed, True


def teaspoons(tf, batch):
    """Letters from speech of any pace: convolutions over the sound, GRUs both ways, alignments summed."""
    sound = tf.placeholder(tf.float32, [None, 180, 40], "sound")
    letters = tf.placeholder(tf.int32, [None, 24], "letters")
    frames = tf.placeholder(tf.int32, [None], "frames")
    x = tf.expand_dims(sound, 3)
    x = tf.layers.conv2d(x, 24, [11, 5], padding="same", use_bias=False, name="conv1")
    x = tf.minimum(tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm1")), 20.0)
    x = tf.layers.conv2d(x, 32, [7, 5], strides=[2, 2], padding="same", use_bias=False, name="conv2")
    x = tf.minimum(tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm2")), 20.0)
    x = tf.reshape(x, [-1, 90, 20 * 32])
    for layer in range(2):
        with tf.variable_scope("both%d" % layer):
            x, _ = tf.nn.bidirectional_dynamic_rnn(
                tf.nn.rnn_cell.GRUCell(88), tf.nn.rnn_cell.GRUCell(88), x,
                sequence_length=frames, dtype=tf.float32)
            x = tf.concat(x, axis=2)
    scores = tf.layers.dense(x, 29, name="scores")
    target = tf.contrib.layers.dense_to_sparse(letters, eos_token=0)
    loss = tf.reduce_mean(tf.nn.ctc_loss(
        target, tf.transpose(scores, [1, 0, 2]), frames, ignore_longer_outputs_than_inputs=True))
    rng = np.random.RandomState(19)
    text = rng.randint(1, 28, (batch, 24)).astype("int32")
    text[:, 18:] *= rng.randint(0, 2, (batch, 1)).astype("int32")
    feed = {
        sound: rng.randn(batch, 180, 40).astype("float32"),
        letters: text,
        frames: rng.randint(60, 91, (batch,)).astype("int32"),
    }
    return loss, feed, True


def terraces(tf, batch):
    """Names in a deed: letters convolved into words, LSTMs both ways, and the best path of tags."""
    words = tf.placeholder(tf.int32, [None, 36], "words")
    chars = tf.placeholder(tf.int32, [None, 36, 14], "chars")
    tags = tf.placeholder(tf.int32, [None, 36], "tags")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    with tf.variable_scope("deed"):
        x = tf.nn.embedding_lookup(tf.get_variable("words", [50000, 100]), words)
        y = tf.nn.embedding_lookup(tf.get_variable("chars", [120, 32]), chars)
        y = tf.reshape(y, [-1, 14, 32])
        y = tf.layers.conv1d(y, 64, 3, padding="same", activation=tf.nn.tanh, name="spell")
        y = tf.reshape(tf.reduce_max(y, axis=1), [-1, 36, 64])
        x = tf.nn.dropout(tf.concat([x, y], axis=2), rate=0.4)
        x, _ = tf.nn.bidirectional_dynamic_rnn(
            tf.nn.rnn_cell.LSTMCell(112, use_peepholes=True), tf.nn.rnn_cell.LSTMCell(112, use_peepholes=True), x,
            sequence_length=lengths, dtype=tf.float32)
        x = tf.nn.dropout(tf.concat(x, axis=2), rate=0.4)
        scores = tf.layers.dense(x, 19, name="scores")
    likely, _ = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths)
    loss = tf.reduce_mean(-likely)
    rng = np.random.RandomState(23)
    feed = {
        words: rng.randint(0, 50000, (batch, 36)).astype("int32"),
        chars: rng.randint(0, 120, (batch, 36, 14)).astype("int32"),
        tags: rng.randint(0, 19, (batch, 36)).astype("int32"),
        lengths: rng.randint(9, 37, (batch,)).astype("int32"),
    }
    return loss, feed, True


def yoghurts(tf, batch):
    """Labels for pots, drawn and judged: the judge also pays for how steep its own judgement is."""
    real = tf.placeholder(tf.float32, [None, 48, 48, 3], "real")
    seed = tf.placeholder(tf.float32, [None, 64], "seed")

    def draw(z):
        with tf.variable_scope("draw"):
            x = tf.layers.dense(z, 6 * 6 * 160, use_bias=False, name="grow")
            x = tf.reshape(x, [-1, 6, 6, 160])
            for number, width in enumerate((96, 64, 32)):
                x = tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm%d" % number))
                x = tf.layers.conv2d_transpose(
                    x, width, 4, strides=2, padding="same", use_bias=False, name="up%d" % number)
            x = tf.nn.relu(tf.layers.batch_normalization(x, training=True, name="norm3"))
            return tf.layers.conv2d(x, 3, 3, padding="same", activation=tf.nn.tanh, name="ink")

    def judge(x):
        with tf.variable_scope("judge", reuse=tf.AUTO_REUSE):
            for number, width in enumerate((40, 80, 160)):
                x = tf.layers.conv2d(x, width, 5, strides=2, padding="same", name="down%d" % number)
                x = tf.nn.leaky_relu(x, 0.2)
            return tf.layers.dense(tf.layers.flatten(x), 1, name="mark")

    drawn = draw(seed)
    still = tf.stop_gradient(drawn)
    blend = tf.random_uniform([tf.shape(real)[0], 1, 1, 1])
    between = blend * real + (1.0 - blend) * still
    slope = tf.gradients(judge(between), between)[0]
    steep = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=[1, 2, 3]) + 1e-8)
    loss = tf.reduce_mean(judge(still)) - tf.reduce_mean(judge(real))
    loss += 10.0 * tf.reduce_mean(tf.square(steep - 1.0))
    loss -= tf.reduce_mean(judge(drawn))
    rng = np.random.RandomState(29)
    feed = {
        real: rng.uniform(-1, 1, (batch, 48, 48, 3)).astype("float32"),
        seed: rng.randn(batch, 64).astype("float32"),
    }
    return loss, feed, False
