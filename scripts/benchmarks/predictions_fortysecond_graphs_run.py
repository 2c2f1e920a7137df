"""Graphs of predictions.py's forty-second set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def armouries(tf, batch):
    """Lists of arms into plain words: a decoder that now and then reads what it wrote itself."""
    listed = tf.placeholder(tf.int32, [None, 30], "listed")
    listed_len = tf.placeholder(tf.int32, [None], "listed_len")
    words = tf.placeholder(tf.int32, [None, 26], "words")
    after = tf.placeholder(tf.int32, [None, 26], "after")
    words_len = tf.placeholder(tf.int32, [None], "words_len")
    rnn, s2s = tf.nn.rnn_cell, tf.contrib.seq2seq
    with tf.variable_scope("reader"):
        table = tf.get_variable("table", [5000, 96])
        cell = rnn.MultiRNNCell([rnn.GRUCell(128), rnn.GRUCell(128)])
        seen, state = tf.nn.dynamic_rnn(
            cell, tf.nn.embedding_lookup(table, listed), sequence_length=listed_len, dtype=tf.float32)
    with tf.variable_scope("writer"):
        out_table = tf.get_variable("table", [6000, 96])
        looks = s2s.LuongAttention(128, seen, memory_sequence_length=listed_len, scale=True)
        cell = s2s.AttentionWrapper(rnn.GRUCell(128), looks, attention_layer_size=96)
        start = cell.zero_state(tf.shape(listed)[0], tf.float32).clone(cell_state=state[-1])
        helper = s2s.ScheduledEmbeddingTrainingHelper(
            tf.nn.embedding_lookup(out_table, words), words_len, out_table, tf.constant(0.15))
        decoder = s2s.BasicDecoder(cell, helper, start, output_layer=tf.layers.Dense(6000, use_bias=False))
        out, _, _ = s2s.dynamic_decode(decoder, swap_memory=False)
        scores = out.rnn_output
    steps = tf.reduce_max(words_len)
    mask = tf.sequence_mask(words_len, steps, dtype=tf.float32)
    loss = s2s.sequence_loss(scores, after[:, :steps], mask)
    rng = np.random.RandomState(21)
    feed = {
        listed: rng.randint(0, 5000, (batch, 30)).astype("int32"),
        listed_len: rng.randint(15, 31, (batch,)).astype("int32"),
        words: rng.randint(0, 6000, (batch, 26)).astype("int32"),
        after: rng.randint(0, 6000, (batch, 26)).astype("int32"),
        words_len: np.full((batch,), 26, "int32"),
    }
    return loss, feed, True


def bookings(tf, batch):
    """The inn a traveller will book: two towers, and the other inns of the batch as wrong answers."""
    stays = tf.placeholder(tf.int32, [None, 24], "stays")
    query = tf.placeholder(tf.int32, [None, 10], "query")
    inn = tf.placeholder(tf.int32, [None], "inn")
    traits = tf.placeholder(tf.float32, [None, 36], "traits")
    often = tf.placeholder(tf.float32, [None], "often")
    inns = tf.get_variable("inns", [50000, 64], initializer=tf.random_normal_initializer(stddev=0.05))
    words = tf.get_variable("words", [20000, 64], initializer=tf.random_normal_initializer(stddev=0.05))

    def tower(x, name):
        with tf.variable_scope(name):
            for depth, width in enumerate((256, 128)):
                x = tf.layers.dense(x, width, activation=tf.nn.relu, name="layer%d" % depth)
            return tf.nn.l2_normalize(tf.layers.dense(x, 64, name="top"), axis=1)

    known = tf.cast(tf.not_equal(stays, 0), tf.float32)
    past = tf.nn.embedding_lookup(inns, stays) * tf.expand_dims(known, 2)
    past = tf.reduce_sum(past, axis=1) / (1.0 + tf.reduce_sum(known, axis=1, keepdims=True))
    asked = tf.reduce_max(tf.nn.embedding_lookup(words, query), axis=1)
    who = tower(tf.concat([past, asked], axis=1), "traveller")
    what = tower(tf.concat([tf.nn.embedding_lookup(inns, inn), traits], axis=1), "house")
    scores = 20.0 * tf.matmul(who, what, transpose_b=True) - tf.log(often)
    labels = tf.range(tf.shape(inn)[0])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
    rng = np.random.RandomState(22)
    feed = {
        stays: rng.randint(0, 50000, (batch, 24)).astype("int32"),
        query: rng.randint(0, 20000, (batch, 10)).astype("int32"),
        inn: rng.randint(1, 50000, (batch,)).astype("int32"),
        traits: rng.rand(batch, 36).astype("float32"),
        often: rng.uniform(0.001, 0.1, (batch,)).astype("float32"),
    }
    return loss, feed, False


def catalysts(tf, batch):
    """The energy of a molecule: messages go along its bonds and each atom keeps what it needs of them."""
    atoms = tf.placeholder(tf.int32, [None], "atoms")
    ends = tf.placeholder(tf.int32, [None, 2], "ends")
    bonds = tf.placeholder(tf.int32, [None], "bonds")
    owner = tf.placeholder(tf.int32, [None], "owner")
    energy = tf.placeholder(tf.float32, [None, 3], "energy")
    width = 96
    x = tf.nn.embedding_lookup(tf.get_variable("kinds", [60, width]), atoms)
    bond = tf.nn.embedding_lookup(tf.get_variable("bonds_table", [8, 24]), bonds)
    first = x
    keep = tf.nn.rnn_cell.GRUCell(width, name="keep")
    for turn in range(4):
        with tf.variable_scope("message", reuse=turn > 0):
            pair = tf.concat([tf.gather(x, ends[:, 0]), tf.gather(x, ends[:, 1]), bond], axis=1)
            m = tf.layers.dense(pair, 128, activation=tf.nn.relu, name="one")
            m = tf.layers.dense(m, width, name="two")
        heard = tf.unsorted_segment_sum(m, ends[:, 1], tf.shape(atoms)[0])
        x, _ = keep(heard, x)
    both = tf.concat([x, first], axis=1)
    with tf.variable_scope("readout"):
        gate = tf.layers.dense(both, 128, activation=tf.sigmoid, name="gate")
        value = tf.layers.dense(both, 128, activation=tf.tanh, name="value")
        whole = tf.segment_sum(gate * value, owner)
        out = tf.layers.dense(whole, 3, name="out")
    loss = tf.losses.mean_squared_error(energy, out)
    rng = np.random.RandomState(23)
    n = batch * 18
    start = np.repeat(np.arange(batch) * 18, 40)
    pairs = np.stack([start + rng.randint(0, 18, start.shape), start + rng.randint(0, 18, start.shape)], axis=1)
    feed = {
        atoms: rng.randint(0, 60, (n,)).astype("int32"),
        ends: pairs.astype("int32"),
        bonds: rng.randint(0, 8, (batch * 40,)).astype("int32"),
        owner: np.repeat(np.arange(batch), 18).astype("int32"),
        energy: rng.randn(batch, 3).astype("float32"),
    }
    return loss, feed, False


def errands(tf, batch):
    """The order in which to run errands in a town: at each step a loop points at one of the places."""
    places = tf.placeholder(tf.float32, [None, 26, 2], "places")
    order = tf.placeholder(tf.int32, [None, 26], "order")
    units = 160
    with tf.variable_scope("town"):
        x = tf.layers.dense(places, 96, name="lift")
        memory, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(units), x, dtype=tf.float32)
    with tf.variable_scope("pointer"):
        keys = tf.layers.dense(memory, units, use_bias=False, name="keys")
        ask = tf.get_variable("ask", [units, units])
        vote = tf.get_variable("vote", [units])
        begin = tf.get_variable("begin", [1, 96])
        cell = tf.nn.rnn_cell.LSTMCell(units, name="walker")
        steps = tf.transpose(order)
        rows = tf.range(tf.shape(order)[0])

        def body(t, now, c, h, gone, total):
            out, new = cell(now, tf.nn.rnn_cell.LSTMStateTuple(c, h))
            scores = tf.reduce_sum(vote * tf.tanh(keys + tf.expand_dims(tf.matmul(out, ask), 1)), axis=2)
            scores -= 1e4 * gone
            goal = steps[t]
            total += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=goal, logits=scores))
            now = tf.gather_nd(x, tf.stack([rows, goal], axis=1))
            gone += tf.one_hot(goal, 26)
            return t + 1, now, new.c, new.h, gone, total

        now = tf.tile(begin, [tf.shape(order)[0], 1])
        gone = tf.zeros_like(places[:, :, 0])
        loop = tf.while_loop(
            lambda t, *_: t < 26, body, [tf.constant(0), now, state.c, state.h, gone, tf.constant(0.0)],
            parallel_iterations=4)
    loss = loop[-1] / 26.0
    rng = np.random.RandomState(24)
    feed = {
        places: rng.rand(batch, 26, 2).astype("float32"),
        order: np.stack([rng.permutation(26) for _ in range(batch)]).astype("int32"),
    }
    return loss, feed, True


def foremen(tf, batch):
    """Shouts on a building site written down: each layer of LSTMs reads two moments of the last as one."""
    frames = tf.placeholder(tf.float32, [None, 144, 40], "frames")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    letters = tf.placeholder(tf.int32, [None, 12], "letters")
    x, left, steps = frames, lengths, 144
    for depth, units in enumerate((96, 112, 112)):
        with tf.variable_scope("level%d" % depth):
            if depth:
                steps //= 2
                left = left // 2
                x = tf.reshape(x, [-1, steps, 2 * int(x.shape[2])])
            pair, _ = tf.nn.bidirectional_dynamic_rnn(
                tf.contrib.rnn.LSTMBlockCell(units), tf.contrib.rnn.LSTMBlockCell(units), x,
                sequence_length=left, dtype=tf.float32)
            x = tf.concat(pair, axis=2)
            x = tf.nn.dropout(x, rate=0.2)
    scores = tf.layers.dense(x, 41, name="scores")
    where = tf.where(tf.greater_equal(letters, 0))
    sparse = tf.SparseTensor(where, tf.gather_nd(letters, where), tf.cast(tf.shape(letters), tf.int64))
    loss = tf.reduce_mean(tf.nn.ctc_loss(sparse, tf.transpose(scores, [1, 0, 2]), left))
    rng = np.random.RandomState(25)
    feed = {
        frames: rng.randn(batch, 144, 40).astype("float32"),
        lengths: (4 * rng.randint(28, 37, (batch,))).astype("int32"),
        letters: rng.randint(0, 40, (batch, 12)).astype("int32"),
    }
    return loss, feed, True


def jackhammers(tf, batch):
    """Is a tool about to break: gates come from convolutions at once, and a loop only keeps the running sum."""
    signal = tf.placeholder(tf.float32, [None, 150, 14], "signal")
    fault = tf.placeholder(tf.int32, [None], "fault")

    def layer(x, units, name):
        with tf.variable_scope(name):
            value = tf.layers.conv1d(x, units, 3, padding="same", name="value")
            forget = tf.layers.conv1d(x, units, 3, padding="same", activation=tf.sigmoid, name="forget")
            carry = tf.layers.conv1d(x, units, 3, padding="same", activation=tf.sigmoid, name="carry")
            fresh = tf.transpose((1.0 - forget) * value, [1, 0, 2])
            forget = tf.transpose(forget, [1, 0, 2])
            kept = tf.TensorArray(tf.float32, 150)

            def body(t, c, kept):
                c = forget[t] * c + fresh[t]
                return t + 1, c, kept.write(t, c)

            _, _, kept = tf.while_loop(
                lambda t, c, kept: t < 150, body, [tf.constant(0), tf.zeros_like(fresh[0]), kept])
            cells = tf.transpose(kept.stack(), [1, 0, 2])
            cells.set_shape([None, 150, units])
            side = x if int(x.shape[2]) == units else tf.layers.dense(x, units, name="side")
            return carry * tf.tanh(cells) + (1.0 - carry) * side

    x = layer(signal, 64, "low")
    x = layer(x, 64, "middle")
    x = tf.contrib.layers.layer_norm(x, begin_norm_axis=2, scope="norm")
    weight = tf.nn.softmax(tf.layers.dense(x, 1, name="weight"), axis=1)
    x = tf.reduce_sum(weight * x, axis=1)
    scores = tf.layers.dense(x, 9, name="scores")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=fault, logits=scores))
    rng = np.random.RandomState(26)
    feed = {
        signal: rng.randn(batch, 150, 14).astype("float32"),
        fault: rng.randint(0, 9, (batch,)).astype("int32"),
    }
    return loss, feed, True


def moats(tf, batch):
    """What swims in given boxes of a picture: the features of each box are cut out and judged alone."""
    picture = tf.placeholder(tf.float32, [None, 128, 128, 3], "picture")
    boxes = tf.placeholder(tf.float32, [None, 4], "boxes")
    owner = tf.placeholder(tf.int32, [None], "owner")
    kind = tf.placeholder(tf.int32, [None], "kind")
    shift = tf.placeholder(tf.float32, [None, 4], "shift")
    x = picture
    with tf.variable_scope("body"):
        for depth, (width, stride) in enumerate(((24, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))):
            x = tf.layers.conv2d(x, width, 3, strides=stride, padding="same", use_bias=False, name="conv%d" % depth)
            x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, fused=True, training=True, name="norm%d" % depth))
    cut = tf.image.crop_and_resize(x, boxes, owner, [14, 14])
    cut = tf.nn.max_pool(cut, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.variable_scope("head"):
        y = tf.reshape(cut, [-1, 7 * 7 * 128])
        y = tf.layers.dense(y, 384, activation=tf.nn.relu, name="one")
        y = tf.nn.dropout(tf.layers.dense(y, 384, activation=tf.nn.relu, name="two"), keep_prob=0.5)
        scores = tf.layers.dense(y, 16, name="scores")
        moves = tf.reshape(tf.layers.dense(y, 64, name="moves"), [-1, 16, 4])
    loss = tf.losses.sparse_softmax_cross_entropy(kind, scores)
    own = tf.gather_nd(moves, tf.stack([tf.range(tf.shape(kind)[0]), kind], axis=1))
    real = tf.expand_dims(tf.cast(kind > 0, tf.float32), 1)
    loss += tf.losses.huber_loss(shift, own, weights=real)
    rng = np.random.RandomState(27)
    n = batch * 16
    corner = rng.uniform(0.0, 0.6, (n, 2))
    feed = {
        picture: rng.rand(batch, 128, 128, 3).astype("float32"),
        boxes: np.concatenate([corner, corner + rng.uniform(0.1, 0.4, (n, 2))], axis=1).astype("float32"),
        owner: np.repeat(np.arange(batch), 16).astype("int32"),
        kind: rng.randint(0, 16, (n,)).astype("int32"),
        shift: rng.randn(n, 4).astype("float32"),
    }
    return loss, feed, False
