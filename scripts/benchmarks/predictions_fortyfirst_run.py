"""Models of predictions.py's forty-first set."""

import math

import tensorflow as tf

keras = tf.keras
L = keras.layers


def nuthatches(case):
    """Old spelling into new: a bidirectional encoder hands its state to an LSTM that attends."""
    old = keras.Input((34,), dtype="int32", name="old")
    new = keras.Input((32,), dtype="int32", name="new")
    x = L.Embedding(9000, 112)(old)
    x, fh, fc, bh, bc = L.Bidirectional(L.LSTM(96, return_sequences=True, return_state=True))(x)
    h = L.Concatenate()([fh, bh])
    c = L.Concatenate()([fc, bc])
    z = L.Embedding(8000, 112)(new)
    z = L.LSTM(192, return_sequences=True)(z, initial_state=[h, c])
    look = L.Attention(use_scale=True)([z, x])
    z = L.Concatenate()([z, look])
    z = L.Dense(192, activation="tanh")(z)
    z = L.Dropout(0.2)(z)
    return keras.Model([old, new], L.Dense(8000, activation="softmax")(z)), {
        "classes": 8000, "highs": {"old": 9000, "new": 8000}}


def oleanders(case):
    """Leaves by a net that splits its channels, works on one half and shuffles both together."""
    class Halve(L.Layer):
        def call(self, x):
            return tf.split(x, 2, axis=-1)

    class Shuffle(L.Layer):
        def call(self, x):
            high, wide, deep = x.shape[1:]
            x = tf.reshape(x, [-1, high, wide, 2, deep // 2])
            x = tf.transpose(x, [0, 1, 2, 4, 3])
            return tf.reshape(x, [-1, high, wide, deep])

    def point(x, width):
        x = L.Conv2D(width, 1, use_bias=False)(x)
        return L.ReLU()(L.BatchNormalization()(x))

    def depth(x, stride):
        x = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
        return L.BatchNormalization()(x)

    leaf = keras.Input((96, 96, 3), name="leaf")
    x = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(leaf)
    x = L.ReLU()(L.BatchNormalization()(x))
    for width, repeats in ((96, 3), (192, 5), (320, 2)):
        half = width // 2
        left = point(depth(x, 2), half)
        right = point(depth(point(x, half), 2), half)
        x = Shuffle()(L.Concatenate()([left, right]))
        for _ in range(repeats):
            left, right = Halve()(x)
            right = point(depth(point(right, half), 1), half)
            x = Shuffle()(L.Concatenate()([left, right]))
    x = point(x, 512)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(leaf, L.Dense(64, activation="softmax")(x)), {"classes": 64}


def peregrines(case):
    """Nests on cliffs as points: a map of centres, and the size and shift of each."""
    def residual(x, width, stride):
        y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride > 1:
            x = L.Conv2D(width, 1, strides=stride, use_bias=False)(x)
            x = L.BatchNormalization()(x)
        return L.ReLU()(L.Add()([x, y]))

    cliff = keras.Input((128, 128, 3), name="cliff")
    x = L.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(cliff)
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.MaxPooling2D(3, strides=2, padding="same")(x)
    x = residual(x, 32, 1)
    for width in (64, 128, 192):
        x = residual(residual(x, width, 2), width, 1)
    for width in (96, 64, 48):
        x = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.ReLU()(L.BatchNormalization()(x))
    outs = []
    for name, deep, last in (("centre", 10, "sigmoid"), ("size", 2, "softplus"), ("shift", 2, None)):
        y = L.Conv2D(48, 3, padding="same", activation="relu")(x)
        outs.append(L.Conv2D(deep, 1, activation=last, name=name)(y))
    return keras.Model(cliff, outs), {
        "losses": {"centre": "binary_crossentropy", "size": "mean_absolute_error", "shift": "mean_absolute_error"},
    }


def puffins(case):
    """Words left out of a page guessed again, the table of words read at both ends."""
    class Places(L.Layer):
        def build(self, shape):
            self.table = self.add_weight(name="table", shape=(shape[1], shape[2]), initializer="random_normal")

        def call(self, x):
            return x + self.table

    class Back(L.Layer):
        def __init__(self, words):
            super().__init__()
            self.words = words

        def build(self, shape):
            self.shift = self.add_weight(name="shift", shape=(self.words.input_dim,), initializer="zeros")

        def call(self, x):
            return tf.matmul(x, self.words.embeddings, transpose_b=True) + self.shift

    page = keras.Input((64,), dtype="int32", name="page")
    words = L.Embedding(20000, 144)
    x = Places()(words(page))
    x = L.Dropout(0.1)(L.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(4):
        y = L.MultiHeadAttention(6, 24, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
        y = L.Dense(144)(L.Dense(576, activation="gelu")(x))
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
    x = L.LayerNormalization(epsilon=1e-12)(L.Dense(144, activation="gelu")(x))
    return keras.Model(page, Back(words)(x)), {"classes": 20000, "logits": True, "highs": {"page": 20000}}


def quokkas(case):
    """Which burrow of a colony is lived in: heads that attend along the tunnels only."""
    class Along(L.Layer):
        def __init__(self, heads, width, joined):
            super().__init__()
            self.heads, self.width, self.joined = heads, width, joined

        def build(self, shapes):
            deep = shapes[0][-1]
            self.kernel = self.add_weight(name="kernel", shape=(deep, self.heads, self.width))
            self.to = self.add_weight(name="to", shape=(self.heads, self.width))
            self.fro = self.add_weight(name="fro", shape=(self.heads, self.width))

        def call(self, inputs):
            nodes, edges = inputs
            h = tf.einsum("bnd,dhw->bnhw", nodes, self.kernel)
            to = tf.transpose(tf.reduce_sum(h * self.to, -1), [0, 2, 1])
            fro = tf.transpose(tf.reduce_sum(h * self.fro, -1), [0, 2, 1])
            score = tf.nn.leaky_relu(to[:, :, :, None] + fro[:, :, None, :], 0.2)
            score += (1.0 - tf.cast(edges > 0.5, tf.float32))[:, None] * -1e9
            share = tf.nn.softmax(score)
            out = tf.einsum("bhnm,bmhw->bnhw", share, h)
            if self.joined:
                return tf.nn.elu(tf.reshape(out, [-1, nodes.shape[1], self.heads * self.width]))
            return tf.reduce_mean(out, 2)

    burrows = keras.Input((140, 40), name="burrows")
    tunnels = keras.Input((140, 140), name="tunnels")
    x = L.Dense(64, activation="relu")(burrows)
    x = L.Dropout(0.2)(x)
    for _ in range(2):
        x = Along(4, 24, True)([x, tunnels])
        x = L.Dropout(0.2)(x)
    x = Along(3, 7, False)([x, tunnels])
    return keras.Model([burrows, tunnels], x), {"classes": 7, "logits": True}


def rosaries(case):
    """The next thing put in a basket, out of everything in the shop, from a GRU over the visit."""
    visit = keras.Input((22,), dtype="int32", name="visit")
    hour = keras.Input((6,), name="hour")
    x = L.Embedding(40000, 96)(visit)
    x = L.SpatialDropout1D(0.1)(x)
    start = L.Dense(112, activation="tanh")(hour)
    x = L.GRU(112)(x, initial_state=start)
    x = L.Dropout(0.25)(x)
    x = L.Dense(96)(x)
    return keras.Model([visit, hour], L.Dense(40000)(x)), {
        "classes": 40000, "logits": True, "highs": {"visit": 40000}}


def salamanders(case):
    """Painted salamanders against photographed ones: a painter and the one judge of both."""
    judge = keras.Sequential([
        L.Conv2D(40, 5, strides=2, padding="same"),
        L.LeakyReLU(0.2),
        L.Conv2D(80, 5, strides=2, padding="same"),
        L.LeakyReLU(0.2),
        L.Dropout(0.3),
        L.Conv2D(160, 5, strides=2, padding="same"),
        L.LeakyReLU(0.2),
        L.Dropout(0.3),
        L.Flatten(),
        L.Dense(1),
    ], name="judge")
    whim = keras.Input((100,), name="whim")
    photo = keras.Input((64, 64, 3), name="photo")
    x = L.Dense(8 * 8 * 192, use_bias=False)(whim)
    x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    x = L.Reshape((8, 8, 192))(x)
    for width in (128, 64):
        x = L.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    painted = L.Conv2DTranspose(3, 5, strides=2, padding="same", activation="tanh")(x)
    false = L.Activation("linear", name="false")(judge(painted))
    true = L.Activation("sigmoid", name="true")(judge(photo))
    return keras.Model([whim, photo], [false, true]), {
        "losses": {"false": "mse", "true": "binary_crossentropy"},
    }


def seahorses(case):
    """Voices of a reef apart: strided gated convolutions down and up the wave, an LSTM beneath."""
    class Gated(L.Layer):
        def call(self, x):
            a, b = tf.split(x, 2, axis=-1)
            return a * tf.sigmoid(b)

    wave = keras.Input((16384, 2), name="wave")
    x, sides = wave, []
    for width in (32, 64, 128):
        x = L.Conv1D(width, 8, strides=4, padding="same", activation="relu")(x)
        x = Gated()(L.Conv1D(2 * width, 1)(x))
        sides.append(x)
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(x)
    x = L.Dense(128)(x)
    for width in (64, 32, None):
        x = L.Add()([x, sides.pop()])
        have = x.shape[-1]
        x = Gated()(L.Conv1D(2 * have, 3, padding="same")(x))
        if width:
            x = L.Conv1DTranspose(width, 8, strides=4, padding="same", activation="relu")(x)
        else:
            x = L.Conv1DTranspose(8, 8, strides=4, padding="same")(x)
    return keras.Model(wave, L.Reshape((16384, 4, 2))(x)), {"loss": "mae"}


def snorkels(case):
    """What a diver signals in a clip: convolutions first in space, then in time."""
    def apart(x, width, space=1, time=1):
        middle = int(width * 1.5)
        x = L.Conv3D(middle, (1, 3, 3), strides=(1, space, space), padding="same", use_bias=False)(x)
        x = L.ReLU()(L.BatchNormalization()(x))
        x = L.Conv3D(width, (3, 1, 1), strides=(time, 1, 1), padding="same", use_bias=False)(x)
        return L.BatchNormalization()(x)

    clip = keras.Input((12, 64, 64, 3), name="clip")
    x = L.Conv3D(20, (1, 5, 5), strides=(1, 2, 2), padding="same", use_bias=False)(clip)
    x = L.ReLU()(L.BatchNormalization()(x))
    for width, step in ((24, 1), (48, 2), (96, 2)):
        y = L.ReLU()(apart(x, width, step, step))
        y = apart(y, width)
        short = L.Conv3D(width, 1, strides=step, use_bias=False)(x)
        x = L.ReLU()(L.Add()([short, y]))
    x = L.GlobalAveragePooling3D()(x)
    x = L.Dropout(0.4)(x)
    return keras.Model(clip, L.Dense(25, activation="softmax")(x)), {"classes": 25}


def starlings(case):
    """The part of a flock each bird flies in: shared layers over points that first turn themselves."""
    class Turn(L.Layer):
        def __init__(self, size):
            super().__init__()
            self.size = size

        def build(self, shapes):
            deep = shapes[1][-1]
            self.kernel = self.add_weight(name="kernel", shape=(deep, self.size ** 2), initializer="zeros")

        def call(self, inputs):
            points, seen = inputs
            eye = tf.eye(self.size)
            turn = tf.reshape(tf.matmul(seen, self.kernel), [-1, self.size, self.size]) + eye
            bent = tf.matmul(turn, turn, transpose_b=True) - eye
            self.add_loss(0.001 * tf.reduce_mean(tf.square(bent)))
            return tf.matmul(points, turn)

    def shared(x, *widths):
        for width in widths:
            x = L.Conv1D(width, 1)(x)
            x = L.ReLU()(L.BatchNormalization(momentum=0.9)(x))
        return x

    def turned(x, size):
        y = L.GlobalMaxPooling1D()(shared(x, 48, 96, 256))
        y = L.Dense(128, activation="relu")(y)
        return Turn(size)([x, y])

    birds = keras.Input((1024, 3), name="birds")
    x = turned(birds, 3)
    x = near = shared(x, 48, 48)
    x = turned(x, 48)
    x = shared(x, 64, 128, 384)
    whole = L.RepeatVector(1024)(L.GlobalMaxPooling1D()(x))
    x = shared(L.Concatenate()([near, whole]), 192, 96)
    return keras.Model(birds, L.Conv1D(6, 1, activation="softmax")(x)), {"classes": 6}


def sunflowers(case):
    """The shelf a seed packet belongs on: attention, then two of eight experts for each word."""
    class Experts(L.Layer):
        def __init__(self, count, hidden):
            super().__init__()
            self.count, self.hidden = count, hidden

        def build(self, shape):
            deep = shape[-1]
            self.gate = self.add_weight(name="gate", shape=(deep, self.count))
            self.up = self.add_weight(name="up", shape=(self.count, deep, self.hidden))
            self.down = self.add_weight(name="down", shape=(self.count, self.hidden, deep))

        def call(self, x):
            chance = tf.nn.softmax(tf.einsum("btd,de->bte", x, self.gate))
            best, which = tf.math.top_k(chance, 2)
            best /= tf.reduce_sum(best, -1, keepdims=True)
            chosen = tf.one_hot(which, self.count)
            weight = tf.einsum("btk,btke->bte", best, chosen)
            load = tf.reduce_mean(tf.reduce_sum(chosen, 2), [0, 1])
            self.add_loss(0.01 * self.count * tf.reduce_sum(load * tf.reduce_mean(chance, [0, 1])))
            h = tf.nn.gelu(tf.einsum("btd,edh->beth", x, self.up))
            h = tf.einsum("beth,ehd->betd", h, self.down)
            return tf.einsum("betd,bte->btd", h, weight)

    class Block(keras.Model):
        def __init__(self):
            super().__init__()
            self.one, self.two = L.LayerNormalization(), L.LayerNormalization()
            self.look = L.MultiHeadAttention(4, 24)
            self.experts = Experts(8, 192)
            self.drop = L.Dropout(0.1)

        def call(self, x, training=None):
            y = self.one(x)
            x = x + self.drop(self.look(y, y), training=training)
            return x + self.drop(self.experts(self.two(x)), training=training)

    packet = keras.Input((72,), dtype="int32", name="packet")
    x = L.Embedding(16000, 96)(packet)
    x = L.Conv1D(96, 3, padding="same")(x)
    for _ in range(3):
        x = Block()(x)
    x = L.GlobalMaxPooling1D()(L.LayerNormalization()(x))
    return keras.Model(packet, L.Dense(50, activation="softmax")(x)), {
        "classes": 50, "highs": {"packet": 16000}}


def tarpaulins(case):
    """Roofs lost in a storm: a frozen mobile net read at two depths by a small head."""
    base = keras.applications.MobileNetV2(input_shape=(160, 160, 3), alpha=0.5, include_top=False, weights=None)
    base = keras.Model(base.input, [
        base.get_layer("block_3_expand_relu").output,
        base.get_layer("block_13_expand_relu").output,
    ], name="base")
    base.trainable = False
    roof = keras.Input((160, 160, 3), name="roof")
    fine, coarse = base(roof)
    x = L.Conv2D(96, 1, use_bias=False)(coarse)
    x = L.ReLU()(L.BatchNormalization()(x))
    pooled = L.GlobalAveragePooling2D(keepdims=True)(coarse)
    pooled = L.Conv2D(96, 1, activation="sigmoid")(pooled)
    x = L.Multiply()([x, pooled])
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    x = L.Add()([L.Conv2D(21, 1)(x), L.Conv2D(21, 1)(fine)])
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    return keras.Model(roof, L.Softmax()(x)), {"classes": 21}


def thermometers(case):
    """A day of warmth from the week before: blocks that each explain a part and pass on the rest."""
    class Trend(L.Layer):
        def __init__(self, degree, before, after):
            super().__init__()
            self.degree, self.before, self.after = degree, before, after

        def call(self, x):
            outs = []
            for part, steps in zip(tf.split(x, 2, axis=-1), (self.before, self.after)):
                t = tf.range(steps, dtype=tf.float32) / steps
                outs.append(tf.matmul(part, tf.stack([t ** p for p in range(self.degree)])))
            return outs

    week = keras.Input((168,), name="week")
    rest, total = week, None
    for number in range(9):
        x = rest
        for _ in range(4):
            x = L.Dense(448, activation="relu")(x)
        if number < 3:
            back, ahead = Trend(4, 168, 24)(L.Dense(8, use_bias=False)(x))
        else:
            back, ahead = L.Dense(168)(x), L.Dense(24)(x)
        rest = L.Subtract()([rest, back])
        total = ahead if total is None else L.Add()([total, ahead])
    return keras.Model(week, total), {"loss": "mean_absolute_error"}


def thunderstorms(case):
    """The radar of the next minutes: convolutional LSTMs over the last ones."""
    past = keras.Input((9, 36, 36, 1), name="past")
    x = L.ConvLSTM2D(20, 5, padding="same", return_sequences=True)(past)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(20, 3, padding="same", return_sequences=True)(x)
    x = L.BatchNormalization()(x)
    x = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    return keras.Model(past, L.Conv3D(1, 3, padding="same", activation="sigmoid")(x)), {
        "loss": "binary_crossentropy"}


def trombones(case):
    """One spoken command: a spectrogram made inside the net, convolutions, and a weighted mean of time."""
    class Mel(L.Layer):
        def call(self, x):
            x = tf.abs(tf.signal.stft(x, 400, 160, 512))
            mel = tf.signal.linear_to_mel_weight_matrix(64, 257, 16000, 60.0, 7600.0)
            return tf.math.log(tf.tensordot(x, mel, 1) + 1e-6)[..., None]

    class Weigh(L.Layer):
        def build(self, shape):
            self.ask = self.add_weight(name="ask", shape=(shape[-1], 1))

        def call(self, x):
            share = tf.nn.softmax(tf.tensordot(tf.tanh(x), self.ask, 1), axis=1)
            return tf.reduce_sum(share * x, 1)

    wave = keras.Input((16000,), name="wave")
    x = Mel()(wave)
    x = L.BatchNormalization()(x)
    for width, pool in ((24, (1, 2)), (40, (2, 2)), (64, (2, 2))):
        y = L.Conv2D(width, (5, 3), padding="same", use_bias=False)(x)
        y = L.Activation("swish")(L.BatchNormalization()(y))
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        x = L.Activation("swish")(L.Add()([L.Conv2D(width, 1)(x), y]))
        x = L.AveragePooling2D(pool)(x)
    x = L.Reshape((24, 8 * 64))(x)
    x = L.Dense(160, activation="relu")(x)
    x = Weigh()(x)
    return keras.Model(wave, L.Dense(35, activation="softmax")(x)), {"classes": 35}


def tweezers(case):
    """The grade of a jewel from a row of a table: each column a token, and one more that listens."""
    class Columns(L.Layer):
        def __init__(self, width):
            super().__init__()
            self.width = width

        def build(self, shape):
            self.scale = self.add_weight(name="scale", shape=(shape[1], self.width))
            self.shift = self.add_weight(name="shift", shape=(shape[1], self.width))
            self.listener = self.add_weight(name="listener", shape=(1, 1, self.width))

        def call(self, x):
            tokens = x[:, :, None] * self.scale + self.shift
            first = tf.tile(self.listener, [tf.shape(x)[0], 1, 1])
            return tf.concat([first, tokens], 1)

    class Halves(L.Layer):
        def call(self, x):
            a, b = tf.split(x, 2, axis=-1)
            return a * tf.nn.relu(b)

    class First(L.Layer):
        def call(self, x):
            return x[:, 0]

    measures = keras.Input((36,), name="measures")
    kinds = keras.Input((7,), dtype="int32", name="kinds")
    x = L.Concatenate(axis=1)([Columns(96)(measures), L.Embedding(3000, 96)(kinds)])
    for block in range(3):
        y = L.LayerNormalization()(x) if block else x
        y = L.MultiHeadAttention(8, 12, dropout=0.2)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization()(x)
        y = Halves()(L.Dense(256)(y))
        y = L.Dropout(0.1)(y)
        x = L.Add()([x, L.Dense(96)(y)])
    x = L.ReLU()(L.LayerNormalization()(First()(x)))
    return keras.Model([measures, kinds], L.Dense(5, activation="softmax")(x)), {
        "classes": 5, "highs": {"kinds": 3000}}


def viaducts(case):
    """A train followed from frame to frame: its picture is slid over the scene, channel by channel."""
    class Slide(L.Layer):
        def call(self, inputs):
            small, scene = inputs
            high, wide, deep = scene.shape[1:]
            kh, kw = small.shape[1:3]
            count = tf.shape(scene)[0]
            scene = tf.reshape(tf.transpose(scene, [1, 2, 0, 3]), [1, high, wide, count * deep])
            small = tf.reshape(tf.transpose(small, [1, 2, 0, 3]), [kh, kw, count * deep, 1])
            out = tf.nn.depthwise_conv2d(scene, small, [1, 1, 1, 1], "VALID")
            out = tf.reshape(out, [high - kh + 1, wide - kw + 1, count, deep])
            return tf.transpose(out, [2, 0, 1, 3])

    tower = keras.Sequential([
        keras.Input((None, None, 3)),
        L.Conv2D(32, 7, strides=2, padding="same", use_bias=False),
        L.BatchNormalization(),
        L.ReLU(),
        L.MaxPooling2D(2),
        L.Conv2D(64, 3, padding="same", use_bias=False),
        L.BatchNormalization(),
        L.ReLU(),
        L.Conv2D(96, 3, padding="same", use_bias=False),
        L.BatchNormalization(),
        L.ReLU(),
        L.Conv2D(96, 3, padding="same"),
    ], name="tower")
    train = keras.Input((48, 48, 3), name="train")
    scene = keras.Input((128, 128, 3), name="scene")
    a, b = tower(train), tower(scene)
    score = Slide()([L.Conv2D(64, 3)(a), L.Conv2D(64, 3)(b)])
    score = L.Conv2D(48, 1, activation="relu")(score)
    score = L.Conv2D(1, 1, activation="sigmoid", name="score")(score)
    box = Slide()([L.Conv2D(64, 3)(a), L.Conv2D(64, 3)(b)])
    box = L.Conv2D(48, 1, activation="relu")(box)
    box = L.Conv2D(4, 1, name="box")(box)
    return keras.Model([train, scene], [score, box]), {
        "losses": {"score": "binary_crossentropy", "box": "huber"},
    }


def waistcoats(case):
    """A garment put in words: a loop written by hand looks over the picture before each of them."""
    class Teller(L.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units

        def build(self, shapes):
            seen, read = shapes[0][-1], shapes[1][-1]
            n = self.units
            self.ask = self.add_weight(name="ask", shape=(n, n))
            self.keys = self.add_weight(name="keys", shape=(seen, n))
            self.vote = self.add_weight(name="vote", shape=(n, 1))
            self.gates = self.add_weight(name="gates", shape=(seen + read + n, 2 * n))
            self.fresh = self.add_weight(name="fresh", shape=(seen + read + n, n))

        def call(self, inputs):
            seen, read = inputs
            steps = read.shape[1]
            keys = tf.tensordot(seen, self.keys, 1)
            reads = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(read, [1, 0, 2]))
            told = tf.TensorArray(tf.float32, steps)
            h = tf.zeros([tf.shape(read)[0], self.units])

            def body(t, h, told):
                vote = tf.tensordot(tf.tanh(keys + tf.matmul(h, self.ask)[:, None]), self.vote, 1)
                look = tf.reduce_sum(tf.nn.softmax(vote, axis=1) * seen, 1)
                x = tf.concat([look, reads.read(t)], 1)
                r, z = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), self.gates)), 2, 1)
                fresh = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), self.fresh))
                h = z * h + (1.0 - z) * fresh
                return t + 1, h, told.write(t, h)

            _, _, told = tf.while_loop(lambda t, h, told: t < steps, body, (0, h, told))
            out = tf.transpose(told.stack(), [1, 0, 2])
            out.set_shape([None, steps, self.units])
            return out

    garment = keras.Input((96, 96, 3), name="garment")
    words = keras.Input((20,), dtype="int32", name="words")
    x = garment
    for width in (24, 48, 96, 128):
        x = L.Conv2D(width, 3, padding="same")(x)
        x = L.ELU()(L.BatchNormalization()(x))
        x = L.MaxPooling2D()(x)
    x = L.Reshape((36, 128))(x)
    y = L.Embedding(7000, 96)(words)
    y = Teller(160)([x, y])
    y = L.Dropout(0.3)(y)
    return keras.Model([garment, words], L.Dense(7000)(y)), {
        "classes": 7000, "logits": True, "highs": {"words": 7000}}


def wallabies(case):
    """Small pictures by way of a cloud of codes, its distance from a plain cloud paid for as well."""
    class Draw(L.Layer):
        def call(self, inputs):
            mean, spread = inputs
            near = -0.5 * (1.0 + spread - tf.square(mean) - tf.exp(spread))
            self.add_loss(0.001 * tf.reduce_mean(tf.reduce_sum(near, 1)))
            return mean + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(mean))

    photo = keras.Input((64, 64, 3), name="photo")
    x = photo
    for width in (32, 64, 128, 192):
        x = L.Conv2D(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.1)(L.BatchNormalization()(x))
    x = L.Flatten()(x)
    z = Draw()([L.Dense(96)(x), L.Dense(96)(x)])
    x = L.Dense(4 * 4 * 192, activation="relu")(z)
    x = L.Reshape((4, 4, 192))(x)
    for width in (128, 64, 32, 24):
        x = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.1)(L.BatchNormalization()(x))
    return keras.Model(photo, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x)), {
        "loss": "binary_crossentropy"}


def watermelons(case):
    """The noise in a picture at a given hour: a U with normalized groups and one look over everything."""
    class Hour(L.Layer):
        def call(self, t):
            rate = tf.exp(tf.range(32, dtype=tf.float32) * (-math.log(10000.0) / 31))
            angle = 1000.0 * t * rate
            return tf.concat([tf.sin(angle), tf.cos(angle)], -1)

    def block(x, width, hour):
        y = L.Activation("swish")(L.GroupNormalization(8)(x))
        y = L.Conv2D(width, 3, padding="same")(y)
        y = L.Add()([y, L.Reshape((1, 1, width))(L.Dense(width)(hour))])
        y = L.Activation("swish")(L.GroupNormalization(8)(y))
        y = L.Dropout(0.1)(y)
        y = L.Conv2D(width, 3, padding="same")(y)
        if x.shape[-1] != width:
            x = L.Conv2D(width, 1)(x)
        return L.Add()([x, y])

    noisy = keras.Input((32, 32, 3), name="noisy")
    time = keras.Input((1,), name="time")
    hour = L.Dense(128, activation="swish")(Hour()(time))
    hour = L.Dense(128, activation="swish")(hour)
    x = L.Conv2D(40, 3, padding="same")(noisy)
    sides = [x]
    for width in (40, 80):
        x = block(x, width, hour)
        sides.append(x)
        x = L.Conv2D(width, 3, strides=2, padding="same")(x)
        sides.append(x)
    x = block(x, 112, hour)
    y = L.Reshape((64, 112))(L.GroupNormalization(8)(x))
    y = L.MultiHeadAttention(4, 28)(y, y)
    x = L.Add()([x, L.Reshape((8, 8, 112))(y)])
    x = block(x, 112, hour)
    for width in (80, 40):
        x = block(L.Concatenate()([x, sides.pop()]), width, hour)
        x = L.UpSampling2D()(x)
        x = block(L.Concatenate()([x, sides.pop()]), width, hour)
    x = L.Concatenate()([x, sides.pop()])
    x = L.Activation("swish")(L.GroupNormalization(8)(x))
    return keras.Model([noisy, time], L.Conv2D(3, 3, padding="same")(x)), {"loss": "mse"}


def weathervanes(case):
    """The winds six hours on: layers that mix the long waves of a map of the air."""
    class Waves(L.Layer):
        def __init__(self, modes):
            super().__init__()
            self.modes = modes

        def build(self, shape):
            deep, m = shape[-1], self.modes
            self.real = self.add_weight(name="real", shape=(deep, deep, 2 * m, m))
            self.imag = self.add_weight(name="imag", shape=(deep, deep, 2 * m, m))

        def call(self, x):
            high, wide, deep = x.shape[1:]
            m = self.modes
            f = tf.signal.rfft2d(tf.transpose(x, [0, 3, 1, 2]))
            low = tf.concat([f[:, :, :m, :m], f[:, :, high - m:, :m]], 2)
            low = tf.einsum("bixy,ioxy->boxy", low, tf.complex(self.real, self.imag))
            low = tf.pad(low, [[0, 0], [0, 0], [0, 0], [0, wide // 2 + 1 - m]])
            gap = tf.zeros([tf.shape(x)[0], deep, high - 2 * m, wide // 2 + 1], tf.complex64)
            f = tf.concat([low[:, :, :m], gap, low[:, :, m:]], 2)
            x = tf.signal.irfft2d(f, [high, wide])
            return tf.transpose(tf.reshape(x, [-1, deep, high, wide]), [0, 2, 3, 1])

    air = keras.Input((48, 96, 6), name="air")
    x = L.Dense(24)(air)
    for number in range(4):
        y = L.Add()([Waves(10)(x), L.Conv2D(24, 1)(x)])
        x = L.Activation("gelu")(y) if number < 3 else y
    x = L.Dense(64, activation="gelu")(x)
    return keras.Model(air, L.Dense(6)(x)), {"loss": "mse"}


def wheelbarrows(case):
    """A click, a sale and the time on a page, by six experts whom each of the three weighs anew."""
    class Expert(keras.Model):
        def __init__(self):
            super().__init__()
            self.one = L.Dense(256, activation="relu")
            self.norm = L.BatchNormalization()
            self.two = L.Dense(128, activation="relu")

        def call(self, x, training=None):
            return self.two(self.norm(self.one(x), training=training))

    class Mix(L.Layer):
        def call(self, inputs):
            gate, experts = inputs
            return tf.reduce_sum(gate[:, :, None] * experts, 1)

    kinds = keras.Input((14,), dtype="int32", name="kinds")
    numbers = keras.Input((20,), name="numbers")
    x = L.Flatten()(L.Embedding(180000, 32)(kinds))
    x = L.Concatenate()([x, L.BatchNormalization()(numbers)])
    experts = [L.Reshape((1, 128))(Expert()(x)) for _ in range(6)]
    experts = L.Concatenate(axis=1)(experts)
    outs = []
    for name, last in (("click", "sigmoid"), ("sale", "sigmoid"), ("dwell", "softplus")):
        gate = L.Dense(6, activation="softmax")(x)
        y = L.Dense(64, activation="relu")(Mix()([gate, experts]))
        outs.append(L.Dense(1, activation=last, name=name)(y))
    return keras.Model([kinds, numbers], outs), {
        "losses": {"click": "binary_crossentropy", "sale": "binary_crossentropy", "dwell": "mse"},
        "highs": {"kinds": 180000},
    }


def whirlpools(case):
    """Ailments of a heart from twelve leads: long, middling and short kernels side by side."""
    beats = keras.Input((1000, 12), name="beats")
    x = kept = beats
    for number in range(6):
        thin = L.Conv1D(24, 1, use_bias=False)(x)
        parts = [L.Conv1D(24, size, padding="same", use_bias=False)(thin) for size in (39, 19, 9)]
        pooled = L.MaxPooling1D(3, strides=1, padding="same")(x)
        parts.append(L.Conv1D(24, 1, use_bias=False)(pooled))
        x = L.BatchNormalization()(L.Concatenate()(parts))
        x = L.Activation("relu")(x)
        if number % 3 == 2:
            short = L.BatchNormalization()(L.Conv1D(96, 1, use_bias=False)(kept))
            x = kept = L.Activation("relu")(L.Add()([x, short]))
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(beats, L.Dense(27, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def woodcocks(case):
    """Praise or blame in a review of a shoot: windows of several lengths over its words, then a highway."""
    class Highway(L.Layer):
        def __init__(self, width):
            super().__init__()
            self.change = L.Dense(width, activation="relu")
            self.carry = L.Dense(width, activation="sigmoid", bias_initializer="ones")

        def call(self, x):
            carry = self.carry(x)
            return carry * x + (1.0 - carry) * self.change(x)

    review = keras.Input((160,), dtype="int32", name="review")
    known = L.Embedding(32000, 112, trainable=False)(review)
    learnt = L.Embedding(32000, 64)(review)
    x = L.SpatialDropout1D(0.2)(L.Concatenate()([known, learnt]))
    parts = []
    for size in (2, 3, 4, 5):
        y = L.Conv1D(128, size, activation="relu")(x)
        parts.append(L.GlobalMaxPooling1D()(y))
    x = L.Concatenate()(parts)
    for _ in range(2):
        x = Highway(512)(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(review, L.Dense(2, activation="softmax")(x)), {"classes": 2, "highs": {"review": 32000}}
