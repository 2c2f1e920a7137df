"""Models of predictions.py's fortieth set."""

import numpy as np
import tensorflow as tf

keras = tf.keras
L = keras.layers


def aphids(case):
    """Pests on leaves: attention within small windows, which slide by half at every second block."""
    def shifted(size, window, shift):
        part = np.zeros((size, size), "int64")
        cuts = [slice(0, -window), slice(-window, -shift), slice(-shift, None)]
        for i, a in enumerate(cuts):
            for j, b in enumerate(cuts):
                part[a, b] = 3 * i + j
        n = size // window
        part = part.reshape(n, window, n, window).transpose(0, 2, 1, 3).reshape(n * n, -1)
        return ((part[:, :, None] != part[:, None, :]) * -100.0).astype("float32")

    class WindowAttention(L.Layer):
        def __init__(self, size, width, heads, shift, window=4, **kw):
            super().__init__(**kw)
            self.size, self.width, self.heads, self.shift, self.window = size, width, heads, shift, window
            self.qkv = L.Dense(3 * width)
            self.out = L.Dense(width)
            self.hide = shifted(size, window, shift) if shift else None

        def build(self, shape):
            w = self.window
            self.table = self.add_weight(
                shape=((2 * w - 1) ** 2, self.heads), initializer="zeros", name="table")
            at = np.stack(np.meshgrid(np.arange(w), np.arange(w), indexing="ij")).reshape(2, -1)
            gap = at[:, :, None] - at[:, None, :] + w - 1
            self.pairs = gap[0] * (2 * w - 1) + gap[1]
            self.qkv.build((None, None, self.width))
            self.out.build((None, None, self.width))
            super().build(shape)

        def call(self, x):
            s, w, d, h = self.size, self.window, self.width, self.heads
            n = s // w
            if self.shift:
                x = tf.roll(x, [-self.shift, -self.shift], [1, 2])
            x = tf.reshape(x, [-1, n, w, n, w, d])
            x = tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, n * n, w * w, d])
            q, k, v = tf.split(self.qkv(x), 3, axis=-1)
            q, k, v = [tf.reshape(t, [-1, n * n, w * w, h, d // h]) for t in (q, k, v)]
            score = tf.einsum("bwqhd,bwkhd->bwhqk", q, k) * (d // h) ** -0.5
            bias = tf.gather(self.table, self.pairs.reshape(-1))
            score += tf.transpose(tf.reshape(bias, [w * w, w * w, h]), [2, 0, 1])
            if self.hide is not None:
                score += self.hide[:, None]
            x = tf.einsum("bwhqk,bwkhd->bwqhd", tf.nn.softmax(score), v)
            x = self.out(tf.reshape(x, [-1, n * n, w * w, d]))
            x = tf.transpose(tf.reshape(x, [-1, n, n, w, w, d]), [0, 1, 3, 2, 4, 5])
            x = tf.reshape(x, [-1, s, s, d])
            return tf.roll(x, [self.shift, self.shift], [1, 2]) if self.shift else x

    leaf = keras.Input((64, 64, 3), name="leaf")
    x = L.Conv2D(64, 4, strides=4)(leaf)
    x = L.LayerNormalization()(x)
    for size, width, heads in ((16, 64, 4), (8, 128, 8)):
        if size == 8:
            x = L.Reshape((8, 2, 8, 2, 64))(x)
            x = L.Permute((1, 3, 2, 4, 5))(x)
            x = L.Reshape((8, 8, 256))(x)
            x = L.Dense(128, use_bias=False)(L.LayerNormalization()(x))
        for shift in (0, 2):
            y = WindowAttention(size, width, heads, shift)(L.LayerNormalization()(x))
            x = L.Add()([x, y])
            y = L.Dense(4 * width, activation="gelu")(L.LayerNormalization()(x))
            x = L.Add()([x, L.Dense(width)(y)])
    x = L.GlobalAveragePooling2D()(L.LayerNormalization()(x))
    return keras.Model(leaf, L.Dense(50)(x)), {"classes": 50, "logits": True}


def belfries(case):
    """Strokes rung on bells: an alignment loss within the net over two both-way GRUs, and the tempo outside it."""
    class Aligned(L.Layer):
        def call(self, inputs):
            scores, strokes = inputs
            rows = tf.shape(scores)[0]
            lost = tf.nn.ctc_loss(
                labels=tf.cast(strokes, tf.int32), logits=scores,
                label_length=tf.fill([rows], 22), logit_length=tf.fill([rows], 130),
                logits_time_major=False, blank_index=31)
            self.add_loss(0.1 * tf.reduce_mean(lost))
            return scores

    rung = keras.Input((260, 40), name="rung")
    strokes = keras.Input((22,), dtype="int32", name="strokes")
    x = L.Conv1D(128, 11, strides=2, padding="same", use_bias=False)(rung)
    x = L.BatchNormalization()(x)
    x = L.ReLU(20.0)(x)
    for _ in range(2):
        x = L.Bidirectional(L.GRU(96, return_sequences=True), merge_mode="sum")(x)
        x = L.BatchNormalization()(x)
    scores = L.Dense(32)(x)
    scores = Aligned()([scores, strokes])
    pooled = L.GlobalAveragePooling1D()(L.Concatenate()([x, scores]))
    return keras.Model([rung, strokes], L.Dense(1)(pooled)), {"loss": "mse", "highs": {"strokes": 30}}


def buoys(case):
    """Will a mooring hold: attention among the columns of a table, each of them with words of its own."""
    sizes = {
        "harbour": 42000, "maker": 12500, "owner": 30000, "chain": 640, "paint": 90, "light": 24,
        "keeper": 5200, "bottom": 36, "month": 12, "ship": 17000, "flag": 210, "rope": 450,
    }
    columns = [keras.Input((1,), dtype="int32", name=name) for name in sizes]
    numbers = keras.Input((18,), name="numbers")
    x = [L.Embedding(size, 32)(column) for column, size in zip(columns, sizes.values())]
    x = L.Concatenate(axis=1)(x)
    for _ in range(3):
        y = L.MultiHeadAttention(4, 8)(x, x)
        x = L.LayerNormalization()(L.Add()([x, y]))
        y = L.Dense(96, activation="relu")(x)
        y = L.Dropout(0.1)(y)
        x = L.LayerNormalization()(L.Add()([x, L.Dense(32)(y)]))
    x = L.Concatenate()([L.Flatten()(x), L.LayerNormalization()(numbers)])
    x = L.Dense(320, activation="selu")(x)
    x = L.AlphaDropout(0.1)(x)
    x = L.Dense(80, activation="selu")(x)
    holds = L.Dense(1, activation="sigmoid")(x)
    return keras.Model(columns + [numbers], holds), {"loss": "binary_crossentropy", "highs": sizes}


def cartographers(case):
    """What each town on a map lives by: attention along the roads, several heads at a time."""
    class RoadAttention(L.Layer):
        def __init__(self, width, heads, **kw):
            super().__init__(**kw)
            self.width, self.heads = width, heads

        def build(self, shape):
            w, h = self.width, self.heads
            self.kernel = self.add_weight(
                shape=(shape[0][-1], h, w), initializer="glorot_uniform", name="kernel")
            self.here = self.add_weight(shape=(h, w), initializer="glorot_uniform", name="here")
            self.there = self.add_weight(shape=(h, w), initializer="glorot_uniform", name="there")

        def call(self, inputs):
            x, roads = inputs
            z = tf.einsum("bnf,fhw->bnhw", x, self.kernel)
            a = tf.einsum("bnhw,hw->bnh", z, self.here)
            b = tf.einsum("bnhw,hw->bnh", z, self.there)
            score = tf.nn.leaky_relu(a[:, :, None] + b[:, None, :], 0.2)
            score = tf.where(roads[..., None] > 0.7, score, -1e9)
            z = tf.einsum("bnmh,bmhw->bnhw", tf.nn.softmax(score, axis=2), z)
            return tf.reshape(z, [-1, x.shape[1], self.heads * self.width])

    towns = keras.Input((120, 24), name="towns")
    roads = keras.Input((120, 120), name="roads")
    x = towns
    for width, heads in ((16, 4), (16, 4), (24, 6)):
        y = RoadAttention(width, heads)([x, roads])
        y = L.ELU()(y)
        y = L.Dropout(0.2)(y)
        x = L.Concatenate()([L.Dense(48)(x), y])
    whole = L.RepeatVector(120)(L.GlobalMaxPooling1D()(x))
    x = L.Dense(96, activation="relu")(L.Concatenate()([x, whole]))
    return keras.Model([towns, roads], L.Dense(7, activation="softmax")(x)), {"classes": 7}


def corridors(case):
    """Doors and people in a passage: three levels read by one shared head, without any anchors."""
    class Scale(L.Layer):
        def build(self, shape):
            self.size = self.add_weight(shape=(), initializer="ones", name="size")

        def call(self, x):
            return tf.exp(tf.clip_by_value(x * self.size, -6.0, 6.0))

    def residual(x, width, stride):
        short = L.Conv2D(width, 1, strides=stride, use_bias=False)(x)
        y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("relu")(y)
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.Activation("relu")(L.Add()([short, y]))

    def trunk(name):
        layers = [keras.Input((None, None, 48))]
        for _ in range(2):
            layers += [L.Conv2D(48, 3, padding="same"), L.GroupNormalization(8), L.Activation("relu")]
        return keras.Sequential(layers, name=name)

    photo = keras.Input((128, 160, 3), name="passage")
    x = L.Conv2D(16, 7, strides=2, padding="same", activation="relu")(photo)
    x = residual(x, 24, 2)
    levels = []
    for width in (40, 64, 96):
        x = residual(x, width, 2)
        levels.append(L.Conv2D(48, 1)(x))
    for i in (1, 0):
        levels[i] = L.Add()([levels[i], L.UpSampling2D()(levels[i + 1])])
    kind_trunk, box_trunk = trunk("kind_trunk"), trunk("box_trunk")
    kind_out = L.Conv2D(11, 3, padding="same", name="kind_out")
    box_out = L.Conv2D(4, 3, padding="same", name="box_out")
    mid_out = L.Conv2D(1, 3, padding="same", name="mid_out")
    kinds, boxes, mids = [], [], []
    for level in levels:
        kinds.append(L.Reshape((-1, 11))(kind_out(kind_trunk(level))))
        h = box_trunk(level)
        boxes.append(L.Reshape((-1, 4))(Scale()(box_out(h))))
        mids.append(L.Reshape((-1, 1))(mid_out(h)))
    kinds = L.Softmax(name="kinds")(L.Concatenate(axis=1)(kinds))
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    mids = L.Activation("sigmoid", name="mids")(L.Concatenate(axis=1)(mids))
    return keras.Model(photo, [kinds, boxes, mids]), {
        "losses": {
            "kinds": "sparse_categorical_crossentropy", "boxes": "mean_absolute_error",
            "mids": "binary_crossentropy"},
        "outs": {"kinds": 11},
        "metrics": {"kinds": ["accuracy"]},
    }


def dowsers(case):
    """How water spreads in the ground: waves of the field, weighed one by one, between pointwise layers."""
    class Waves(L.Layer):
        def __init__(self, width, keep, **kw):
            super().__init__(**kw)
            self.width, self.keep = width, keep

        def build(self, shape):
            k, w, have = self.keep, self.width, shape[-1]
            start = keras.initializers.RandomNormal(stddev=1.0 / have)
            self.parts = [
                self.add_weight(shape=(have, w, k, k), initializer=start, name="part%d" % i) for i in range(4)]

        def call(self, x):
            k, rows, cols = self.keep, x.shape[1], x.shape[2]
            seen = tf.signal.rfft2d(tf.transpose(x, [0, 3, 1, 2]))
            low = tf.complex(self.parts[0], self.parts[1])
            high = tf.complex(self.parts[2], self.parts[3])
            top = tf.einsum("bixy,ioxy->boxy", seen[:, :, :k, :k], low)
            end = tf.einsum("bixy,ioxy->boxy", seen[:, :, -k:, :k], high)
            gap = [[0, 0], [0, 0], [0, rows - 2 * k], [0, 0]]
            both = tf.concat([tf.pad(top, gap), end], axis=2)
            both = tf.pad(both, [[0, 0], [0, 0], [0, 0], [0, cols // 2 + 1 - k]])
            return tf.transpose(tf.signal.irfft2d(both, [rows, cols]), [0, 2, 3, 1])

    ground = keras.Input((64, 64, 3), name="ground")
    x = L.Dense(24)(ground)
    for block in range(4):
        y = L.Add()([Waves(24, 12)(x), L.Conv2D(24, 1)(x)])
        x = L.Activation("gelu")(y) if block < 3 else y
    x = L.Dense(96, activation="gelu")(x)
    return keras.Model(ground, L.Dense(1)(x)), {"loss": "mean_squared_error"}


def dulcimers(case):
    """The tuning of strings from their raw sound: a spectrum with learned bands, then convolutions."""
    class Bands(L.Layer):
        def __init__(self, bands, **kw):
            super().__init__(**kw)
            self.bands = bands

        def build(self, shape):
            def filters(shape, dtype=None):
                top = np.linspace(0, 1, 257)[:, None]
                mids = np.linspace(0.01, 1, self.bands)[None] ** 1.7
                return tf.constant(np.maximum(0, 1 - np.abs(top - mids) * 30), dtype or tf.float32)

            self.kernel = self.add_weight(shape=(257, self.bands), initializer=filters, name="kernel")
            self.power = self.add_weight(shape=(self.bands,), initializer="ones", name="power")

        def call(self, x):
            seen = tf.signal.stft(x, 400, 160, fft_length=512)
            seen = tf.abs(seen)
            seen = tf.nn.relu(tf.matmul(seen, self.kernel)) + 1e-4
            return tf.pow(seen, 0.3 * tf.nn.softplus(self.power))[..., None]

    sound = keras.Input((16000,), name="sound")
    x = Bands(64)(sound)
    x = L.BatchNormalization(axis=2)(x)
    for width in (24, 48, 72):
        x = L.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
        s = L.Dense(width // 4, activation="relu")(L.GlobalAveragePooling2D()(x))
        s = L.Reshape((1, 1, width))(L.Dense(width, activation="sigmoid")(s))
        x = L.MaxPooling2D()(L.Multiply()([x, s]))
    x = L.Permute((2, 1, 3))(x)
    x = L.Conv2D(96, (8, 1), activation="relu")(x)
    x = L.Reshape((12, 96))(x)
    x = L.MultiHeadAttention(3, 32)(x, x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(sound, L.Dense(35, activation="softmax")(x)), {"classes": 35}


def estuaries(case):
    """Maps of silt for the hours to come, by recurrent layers whose gates are convolutions."""
    maps = keras.Input((8, 40, 40, 2), name="maps")
    x = L.ConvLSTM2D(20, 5, padding="same", return_sequences=True)(maps)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True, dropout=0.1)(x)
    x = L.LayerNormalization()(x)
    x = L.Conv3D(12, (3, 1, 1), padding="same", activation="tanh")(x)
    return keras.Model(maps, L.Conv3D(1, 3, padding="same", activation="softplus")(x)), {"loss": "poisson"}


def foundries(case):
    """The next word from a net in which each token is sent to two of eight experts, as far as they have room."""
    class Experts(L.Layer):
        def __init__(self, experts, hidden, room, **kw):
            super().__init__(**kw)
            self.experts, self.hidden, self.room = experts, hidden, room

        def build(self, shape):
            d, e, h = shape[-1], self.experts, self.hidden
            self.router = self.add_weight(shape=(d, e), initializer="glorot_uniform", name="router")
            self.up = self.add_weight(shape=(e, d, h), initializer="glorot_uniform", name="up")
            self.down = self.add_weight(shape=(e, h, d), initializer="glorot_uniform", name="down")

        def call(self, x):
            e, c = self.experts, self.room
            chance = tf.nn.softmax(tf.matmul(x, self.router))
            best, which = tf.math.top_k(chance, 2)
            best /= tf.reduce_sum(best, -1, keepdims=True)
            taken = tf.zeros_like(chance[:, :1])
            send = 0.0
            for i in range(2):
                choice = tf.one_hot(which[..., i], e)
                place = tf.cumsum(choice, axis=1, exclusive=True) + taken
                taken += tf.reduce_sum(choice, axis=1, keepdims=True)
                place = tf.cast(tf.reduce_sum(place * choice, -1), tf.int32)
                slot = tf.one_hot(place, c)
                send += tf.einsum("bt,bte,btc->btec", best[..., i], choice, slot)
                if not i:
                    share = tf.reduce_mean(choice, axis=[0, 1]) * tf.reduce_mean(chance, axis=[0, 1])
                    self.add_loss(0.01 * e * tf.reduce_sum(share))
            filled = tf.cast(send > 0, x.dtype)
            y = tf.einsum("btec,btd->becd", filled, x)
            y = tf.nn.gelu(tf.einsum("becd,edh->bech", y, self.up))
            y = tf.einsum("bech,ehd->becd", y, self.down)
            return tf.einsum("btec,becd->btd", send, y)

    words = keras.Input((64,), dtype="int32", name="words")
    x = L.Embedding(6000, 128)(words)
    for block in range(3):
        y = L.LayerNormalization()(x)
        y = L.MultiHeadAttention(8, 16)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization()(x)
        if block == 1:
            y = L.Dense(128)(L.Dense(384, activation="relu")(y))
        else:
            y = Experts(8, 320, 20)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization()(x)
    return keras.Model(words, L.Dense(6000, activation="softmax")(x)), {"classes": 6000, "highs": {"words": 6000}}


def gargoyles(case):
    """Stone faces from their sketches: one net draws them, and a judge that stands still looks at each patch."""
    def norm(x):
        return L.GroupNormalization(groups=-1)(x)

    seen = keras.Input((80, 80, 6), name="pair")
    j = seen
    for width in (32, 64, 96):
        j = L.Conv2D(width, 4, strides=2, padding="same")(j)
        j = L.LeakyReLU()(j)
    j = L.Conv2D(1, 3, padding="same", activation="sigmoid")(j)
    judge = keras.Model(seen, j, name="judge")
    judge.trainable = False

    sketch = keras.Input((80, 80, 3), name="sketch")
    x, sides = sketch, []
    for width in (24, 48, 96, 128):
        x = L.Conv2D(width, 4, strides=2, padding="same")(x)
        x = L.LeakyReLU()(norm(x) if width > 24 else x)
        sides.append(x)
    sides.pop()
    for width in (96, 48, 24):
        x = L.Conv2DTranspose(width, 4, strides=2, padding="same")(x)
        x = L.Activation("relu")(norm(x))
        x = L.Dropout(0.3)(x) if width > 24 else x
        x = L.Concatenate()([x, sides.pop()])
    face = L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh", name="face")(x)
    fooled = judge(L.Concatenate()([sketch, face]))
    return keras.Model(sketch, [face, fooled]), {
        "losses": {"face": "mean_absolute_error", "judge": "binary_crossentropy"}}


def goldsmiths(case):
    """What else a buyer of rings may like, from all that the buyer took: a wide net with a random middle."""
    class Draw(L.Layer):
        def call(self, inputs):
            mean, spread = inputs
            self.add_loss(-0.1 * tf.reduce_mean(1 + spread - tf.square(mean) - tf.exp(spread)))
            return mean + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(mean))

    class Buyers(keras.Model):
        def __init__(self):
            super().__init__(name="buyers")
            self.unit = L.UnitNormalization()
            self.drop = L.Dropout(0.5)
            self.enter = L.Dense(384, activation="tanh")
            self.mean = L.Dense(128)
            self.spread = L.Dense(128)
            self.draw = Draw()
            self.leave = L.Dense(384, activation="tanh")
            self.goods = L.Dense(11000, activation="softmax")

        def call(self, x, training=None):
            x = self.drop(self.unit(x), training=training)
            x = self.enter(x)
            x = self.draw([self.mean(x), self.spread(x)])
            return self.goods(self.leave(x))

    took = keras.Input((11000,), name="took")
    return keras.Model(took, Buyers()(took)), {"loss": "kl_divergence"}


def grasshoppers(case):
    """Which limb each point of a scanned insect is on: points turned by a small net, then shared layers."""
    class Turn(L.Layer):
        def call(self, inputs):
            x, turn = inputs
            k = x.shape[-1]
            turn = tf.reshape(turn, [-1, k, k]) + tf.eye(k)
            extra = tf.matmul(turn, turn, transpose_b=True) - tf.eye(k)
            self.add_loss(1e-3 * tf.reduce_mean(tf.reduce_sum(tf.square(extra), [1, 2])))
            return tf.matmul(x, turn)

    def shared(x, width):
        x = L.Conv1D(width, 1)(x)
        x = L.BatchNormalization()(x)
        return L.Activation("relu")(x)

    def turned(x, k):
        y = shared(shared(x, 48), 192)
        y = L.GlobalMaxPooling1D()(y)
        y = L.Dense(96, activation="relu")(y)
        y = L.Dense(k * k, kernel_initializer="zeros")(y)
        return Turn()([x, y])

    points = keras.Input((1024, 3), name="points")
    x = turned(points, 3)
    x = shared(x, 48)
    near = x = turned(x, 48)
    x = shared(shared(x, 96), 384)
    whole = L.RepeatVector(1024)(L.GlobalMaxPooling1D()(x))
    x = L.Concatenate()([near, whole])
    x = shared(shared(x, 192), 96)
    return keras.Model(points, L.Dense(9, activation="softmax")(x)), {"classes": 9}


def hermits(case):
    """Where in a page the answer begins and ends: page and question attend to each other, both ways."""
    class Meet(L.Layer):
        def build(self, shape):
            d = shape[0][-1]
            self.a = self.add_weight(shape=(d, 1), initializer="glorot_uniform", name="a")
            self.b = self.add_weight(shape=(d, 1), initializer="glorot_uniform", name="b")
            self.c = self.add_weight(shape=(d,), initializer="ones", name="c")

        def call(self, inputs):
            page, asked = inputs
            score = tf.matmul(page * self.c, asked, transpose_b=True)
            score += tf.matmul(page, self.a) + tf.transpose(tf.matmul(asked, self.b), [0, 2, 1])
            there = tf.matmul(tf.nn.softmax(score), asked)
            weight = tf.nn.softmax(tf.reduce_max(score, axis=2))[:, None]
            back = tf.matmul(weight, page)
            return tf.concat([page, there, page * there, page * back], axis=-1)

    page = keras.Input((150,), dtype="int32", name="page")
    asked = keras.Input((24,), dtype="int32", name="asked")
    table = L.Embedding(18000, 96)
    gate = L.Dense(96, activation="sigmoid", bias_initializer=keras.initializers.Constant(-1.0))
    side = L.Dense(96, activation="relu")
    reader = L.Bidirectional(L.LSTM(64, return_sequences=True))

    def read(ids):
        x = table(ids)
        g = gate(x)
        y = L.Multiply()([g, L.Subtract()([side(x), x])])
        return reader(L.Add()([x, y]))

    g = Meet()([read(page), read(asked)])
    m = L.Bidirectional(L.LSTM(64, return_sequences=True))(L.Dropout(0.2)(g))
    n = L.Bidirectional(L.LSTM(48, return_sequences=True))(m)
    outs = []
    for name, x in (("begin", m), ("end", n)):
        x = L.Dense(1)(L.Dropout(0.2)(L.Concatenate()([g, x])))
        outs.append(L.Softmax(name=name)(L.Reshape((150,))(x)))
    return keras.Model([page, asked], outs), {
        "losses": {"begin": "sparse_categorical_crossentropy", "end": "sparse_categorical_crossentropy"},
        "outs": {"begin": 150, "end": 150},
        "highs": {"page": 18000, "asked": 18000},
        "metrics": {"begin": ["accuracy"], "end": ["accuracy"]},
    }


def infernos(case):
    """Where a wood burns, at three sizes: sides of the U let through only what a gate allows."""
    def pair(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", activation="elu", kernel_initializer="he_uniform")(x)
        return x

    def gated(side, low, width):
        a = L.Conv2D(width, 2, strides=2, use_bias=False)(side)
        b = L.Conv2D(width, 1)(low)
        g = L.Activation("relu")(L.Add()([a, b]))
        g = L.Conv2D(1, 1, activation="sigmoid")(g)
        g = L.Conv2DTranspose(1, 2, strides=2, kernel_initializer="ones")(g)
        return L.Multiply()([side, g])

    wood = keras.Input((96, 96, 5), name="wood")
    sides, x = [], wood
    for width in (16, 32, 56):
        x = pair(x, width)
        sides.append(x)
        x = L.MaxPooling2D()(x)
    x = pair(x, 88)
    outs = []
    for width, name in ((56, "quarter"), (32, "half"), (16, "full")):
        side = gated(sides.pop(), x, width)
        x = L.Conv2DTranspose(width, 2, strides=2)(x)
        x = pair(L.Concatenate()([side, x]), width)
        outs.append(L.Conv2D(1, 1, activation="sigmoid", name=name)(x))
    return keras.Model(wood, outs), {
        "losses": {"quarter": "binary_crossentropy", "half": "binary_crossentropy", "full": "binary_crossentropy"}}


def jellyfish(case):
    """How a swimmer moves in a film: convolutions over each frame, then over time, by turns."""
    def split(x, width, stride):
        y = L.Conv3D(width + width // 2, (1, 3, 3), strides=(1, stride, stride), padding="same", use_bias=False)(x)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(y)
        return L.BatchNormalization()(y)

    film = keras.Input((12, 56, 56, 3), name="film")
    x = L.Conv3D(16, (1, 5, 5), strides=(1, 2, 2), padding="same")(film)
    x = L.Activation("relu")(x)
    have = 16
    for width, stride in ((24, 1), (24, 1), (40, 2), (40, 1), (64, 2)):
        y = L.Activation("relu")(split(x, width, stride))
        y = split(y, width, 1)
        if stride > 1 or width != have:
            x = L.Conv3D(width, 1, strides=(1, stride, stride), use_bias=False)(x)
            x = L.BatchNormalization()(x)
        x = L.Activation("relu")(L.Add()([x, y]))
        have = width
    x = L.TimeDistributed(L.GlobalAveragePooling2D())(x)
    x = L.GlobalMaxPooling1D()(L.Conv1D(96, 3, padding="same", activation="relu")(x))
    return keras.Model(film, L.Dense(21, activation="softmax")(x)), {"classes": 21}


def jugglers(case):
    """The tone of a long review: words make sentences and sentences the whole, each by weight."""
    class Weigh(L.Layer):
        def __init__(self, width, **kw):
            super().__init__(**kw)
            self.inner = L.Dense(width, activation="tanh")
            self.outer = L.Dense(1, use_bias=False)

        def call(self, x):
            w = tf.nn.softmax(self.outer(self.inner(x)), axis=1)
            return tf.reduce_sum(w * x, axis=1)

    words = keras.Input((22,), dtype="int32", name="words")
    x = L.Embedding(22000, 96)(words)
    x = L.SpatialDropout1D(0.1)(x)
    x = L.Bidirectional(L.GRU(56, return_sequences=True))(x)
    line = keras.Model(words, Weigh(80)(x), name="line")
    review = keras.Input((11, 22), dtype="int32", name="review")
    x = L.TimeDistributed(line)(review)
    x = L.Bidirectional(L.GRU(48, return_sequences=True))(x)
    x = Weigh(64)(x)
    return keras.Model(review, L.Dense(5, activation="softmax")(x)), {"classes": 5, "highs": {"review": 22000}}


def kennels(case):
    """The colour seen along a ray into a yard: a deep net of points, then light added up on the way."""
    class Along(L.Layer):
        def __init__(self, steps, waves, **kw):
            super().__init__(**kw)
            self.steps, self.waves = steps, waves

        def call(self, ray):
            start, way = ray[:, None, :3], ray[:, None, 3:]
            far = tf.reshape(tf.linspace(0.5, 4.0, self.steps), [1, self.steps, 1])
            at = start + far * way
            parts = [at]
            for i in range(self.waves):
                parts += [tf.sin(at * 2.0 ** i), tf.cos(at * 2.0 ** i)]
            return tf.concat(parts, axis=-1)

    class Render(L.Layer):
        def call(self, inputs):
            thick, colour = inputs
            stop = 1.0 - tf.exp(-tf.nn.relu(thick[..., 0]) * (3.5 / thick.shape[1]))
            through = tf.math.cumprod(1.0 - stop + 1e-6, axis=1, exclusive=True)
            return tf.reduce_sum((stop * through)[..., None] * colour, axis=1)

    ray = keras.Input((6,), name="ray")
    p = Along(32, 8)(ray)
    x = p
    for layer in range(7):
        x = L.Dense(128, activation="relu")(x)
        if layer == 3:
            x = L.Concatenate()([x, p])
    thick = L.Dense(1)(x)
    way = L.RepeatVector(32)(L.Dense(24, activation="relu")(ray))
    x = L.Concatenate()([L.Dense(128)(x), way])
    x = L.Dense(64, activation="relu")(x)
    colour = L.Dense(3, activation="sigmoid")(x)
    return keras.Model(ray, Render()([thick, colour])), {"loss": "mse"}


def labyrinths(case):
    """Which maze a walker is in, from the turns taken: a recurrent layer written out as a loop, both ways."""
    class Walk(L.Layer):
        def __init__(self, units, back=False, **kw):
            super().__init__(**kw)
            self.units, self.back = units, back

        def build(self, shape):
            u, d = self.units, shape[-1]
            self.wx = self.add_weight(shape=(d, 2 * u), initializer="glorot_uniform", name="wx")
            self.wf = self.add_weight(shape=(u, u), initializer="orthogonal", name="wf")
            self.wh = self.add_weight(shape=(u, u), initializer="orthogonal", name="wh")
            self.b = self.add_weight(shape=(2 * u,), initializer="zeros", name="b")

        def call(self, x):
            length, u = x.shape[1], self.units
            x = tf.transpose(tf.matmul(x, self.wx) + self.b, [1, 0, 2])
            if self.back:
                x = tf.reverse(x, [0])
            steps = tf.TensorArray(tf.float32, length, element_shape=(None, u))

            def body(t, h, steps):
                f, c = tf.split(x[t], 2, axis=-1)
                f = tf.sigmoid(f + tf.matmul(h, self.wf))
                c = tf.tanh(c + tf.matmul(f * h, self.wh))
                h = h + f * (c - h)
                return t + 1, h, steps.write(t, h)

            h = tf.zeros([tf.shape(x)[1], u])
            _, _, steps = tf.while_loop(
                lambda t, h, steps: t < length, body, (0, h, steps),
                shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, u]), None),
                maximum_iterations=length)
            y = steps.stack()
            y = tf.transpose(tf.reverse(y, [0]) if self.back else y, [1, 0, 2])
            return tf.ensure_shape(y, [None, length, u])

    turns = keras.Input((110, 20), name="turns")
    x = L.Dense(64, activation="relu")(turns)
    x = L.Concatenate()([Walk(112)(x), Walk(112, back=True)(x)])
    x = L.LayerNormalization()(x)
    x = Walk(96)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(turns, L.Dense(16, activation="softmax")(x)), {"classes": 16}


def llamas(case):
    """The next piece of a herder's tale: turned queries, few keys for many heads, gated layers."""
    class Root(L.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

        def call(self, x):
            return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * self.scale

    class Turned(L.Layer):
        def __init__(self, heads, few, size, **kw):
            super().__init__(**kw)
            self.heads, self.few, self.size = heads, few, size

        def build(self, shape):
            d, h, f, s = shape[-1], self.heads, self.few, self.size
            self.q = self.add_weight(shape=(d, h * s), initializer="glorot_uniform", name="q")
            self.k = self.add_weight(shape=(d, f * s), initializer="glorot_uniform", name="k")
            self.v = self.add_weight(shape=(d, f * s), initializer="glorot_uniform", name="v")
            self.o = self.add_weight(shape=(h * s, d), initializer="glorot_uniform", name="o")
            angle = np.arange(shape[1])[:, None] * 10000.0 ** (-np.arange(s // 2) / (s // 2))[None]
            self.cos = np.cos(angle)[:, None].astype("float32")
            self.sin = np.sin(angle)[:, None].astype("float32")
            self.hide = np.triu(np.full((shape[1], shape[1]), -1e9, "float32"), 1)

        def turn(self, x):
            a, b = tf.split(x, 2, axis=-1)
            return tf.concat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], axis=-1)

        def call(self, x):
            n, h, f, s = x.shape[1], self.heads, self.few, self.size
            q = self.turn(tf.reshape(tf.matmul(x, self.q), [-1, n, h, s]))
            k = self.turn(tf.reshape(tf.matmul(x, self.k), [-1, n, f, s]))
            v = tf.reshape(tf.matmul(x, self.v), [-1, n, f, s])
            k, v = tf.repeat(k, h // f, axis=2), tf.repeat(v, h // f, axis=2)
            score = tf.einsum("bqhs,bkhs->bhqk", q, k) * s ** -0.5 + self.hide
            y = tf.einsum("bhqk,bkhs->bqhs", tf.nn.softmax(score), v)
            return tf.matmul(tf.reshape(y, [-1, n, h * s]), self.o)

    tale = keras.Input((72,), dtype="int32", name="tale")
    x = L.Embedding(14000, 128)(tale)
    for _ in range(3):
        x = L.Add()([x, Turned(8, 2, 16)(Root()(x))])
        y = Root()(x)
        y = L.Multiply()([L.Dense(344, activation="swish", use_bias=False)(y), L.Dense(344, use_bias=False)(y)])
        x = L.Add()([x, L.Dense(128, use_bias=False)(y)])
    x = L.Dense(14000, use_bias=False)(Root()(x))
    return keras.Model(tale, x), {"classes": 14000, "logits": True, "highs": {"tale": 14000}}


def locomotives(case):
    """Loads of a railway a day ahead: what was, what is known to come, and three guesses for each hour."""
    def gate(x, back, width):
        x = L.Dropout(0.1)(x)
        x = L.Multiply()([L.Dense(width)(x), L.Dense(width, activation="sigmoid")(x)])
        return L.LayerNormalization()(L.Add()([x, back]))

    past = keras.Input((96, 14), name="past")
    plan = keras.Input((24, 7), name="plan")
    line = keras.Input((1,), dtype="int32", name="line")
    kind = L.Flatten()(L.Embedding(900, 128)(line))
    a = L.Dense(128)(past)
    b = L.Dense(128)(plan)
    start = [L.Dense(128, activation="tanh")(kind), L.Dense(128, activation="tanh")(kind)]
    x, h, c = L.LSTM(128, return_sequences=True, return_state=True)(a, initial_state=start)
    z = L.LSTM(128, return_sequences=True)(b, initial_state=[h, c])
    x = gate(x, a, 128)
    z = gate(z, b, 128)
    both = L.Concatenate(axis=1)([x, z])
    y = L.MultiHeadAttention(4, 32)(z, both)
    z = gate(y, z, 128)
    y = L.Dense(256, activation="elu")(z)
    z = gate(L.Dense(128)(y), z, 128)
    outs = [L.Dense(1, name=name)(z) for name in ("least", "likely", "most")]
    return keras.Model([past, plan, line], outs), {
        "losses": {"least": "mean_absolute_error", "likely": "mse", "most": "huber"},
        "highs": {"line": 900},
    }


def manatees(case):
    """Sea cows by their scars: a well-known small net, still up to its middle, under a new top."""
    base = keras.applications.MobileNetV2(
        input_shape=(112, 112, 3), alpha=0.75, include_top=False, weights=None)
    for layer in base.layers[:72]:
        layer.trainable = False
    scars = keras.Input((112, 112, 3), name="scars")
    x = L.Rescaling(2.0, offset=-1.0)(scars)
    x = base(x)
    a = L.GlobalAveragePooling2D()(x)
    b = L.GlobalMaxPooling2D()(x)
    x = L.Dense(256, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-4))(L.Concatenate()([a, b]))
    x = L.Dropout(0.4)(x)
    return keras.Model(scars, L.Dense(64, activation="softmax")(x)), {"classes": 64}


def marionettes(case):
    """Stage directions made short: an encoder and a decoder that share one table, with biases for distance."""
    class Table(L.Layer):
        def __init__(self, size, width, **kw):
            super().__init__(**kw)
            self.count, self.width = size, width

        def build(self, shape):
            self.table = self.add_weight(
                shape=(self.count, self.width), initializer=keras.initializers.RandomNormal(stddev=0.05), name="table")

        def call(self, x, leave=False):
            if leave:
                return tf.matmul(x * self.width ** -0.5, self.table, transpose_b=True)
            return tf.gather(self.table, x)

    class Root(L.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

        def call(self, x):
            return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * self.scale

    class Distant(L.Layer):
        def __init__(self, heads, size, causal, **kw):
            super().__init__(**kw)
            self.heads, self.size, self.causal = heads, size, causal
            self.maps = [L.Dense(heads * size, use_bias=False) for _ in range(3)]

        def build(self, shape):
            n = shape[1]
            gap = np.arange(n)[None] - np.arange(n)[:, None]
            near = np.sign(gap) * np.minimum(np.log2(1 + np.abs(gap)) * 2, 11).astype("int32") + 12
            self.near = near.astype("int32")
            self.hide = np.triu(np.full((n, n), -1e9, "float32"), 1)
            self.bias = self.add_weight(shape=(24, self.heads), initializer="zeros", name="bias")
            for one in self.maps:
                one.build(shape)
            self.out = self.add_weight(
                shape=(self.heads * self.size, shape[-1]), initializer="glorot_uniform", name="out")

        def call(self, x):
            n, h, s = x.shape[1], self.heads, self.size
            q, k, v = [tf.reshape(one(x), [-1, n, h, s]) for one in self.maps]
            score = tf.einsum("bqhs,bkhs->bhqk", q, k)
            score += tf.transpose(tf.gather(self.bias, self.near), [2, 0, 1])
            if self.causal:
                score += self.hide
            y = tf.einsum("bhqk,bkhs->bqhs", tf.nn.softmax(score), v)
            return tf.matmul(tf.reshape(y, [-1, n, h * s]), self.out)

    def gated(x):
        y = Root()(x)
        y = L.Multiply()([L.Dense(256, activation="gelu", use_bias=False)(y), L.Dense(256, use_bias=False)(y)])
        return L.Add()([x, L.Dense(112, use_bias=False)(L.Dropout(0.1)(y))])

    whole = keras.Input((56,), dtype="int32", name="whole")
    short = keras.Input((32,), dtype="int32", name="short")
    table = Table(11000, 112)
    x = table(whole)
    for _ in range(3):
        x = gated(L.Add()([x, Distant(7, 16, False)(Root()(x))]))
    x = Root()(x)
    z = table(short)
    for _ in range(2):
        z = L.Add()([z, Distant(7, 16, True)(Root()(z))])
        y = L.MultiHeadAttention(7, 16, use_bias=False)(Root()(z), x)
        z = gated(L.Add()([z, y]))
    words = table(Root()(z), leave=True)
    return keras.Model([whole, short], words), {
        "classes": 11000, "logits": True, "highs": {"whole": 11000, "short": 11000}}
