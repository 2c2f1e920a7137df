"""Models of predictions.py's seventh set that TensorFlow has to trace: layers of the user's own, subclassed
models, training steps of their own. As predictions_seventh_run.py.
"""

import numpy as np
import tensorflow as tf

keras = tf.keras
L = keras.layers


class Norm(L.Layer):
    """Divides by the root of the mean square."""

    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(int(shape[-1]),), initializer="ones")
        super().build(shape)

    def call(self, x):
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * self.scale


class Rotating(L.Layer):
    """Causal attention whose queries and keys are turned by their place."""

    def __init__(self, heads, width, **options):
        super().__init__(**options)
        self.heads, self.width = heads, width
        self.ask, self.answer = (
            L.Dense(3 * heads * width, use_bias=False),
            L.Dense(heads * width, use_bias=False),
        )

    def build(self, shape):
        self.ask.build(shape)
        self.answer.build(tuple(shape[:-1]) + (self.heads * self.width,))
        super().build(shape)

    def turned(self, x):
        length, half = tf.shape(x)[2], self.width // 2
        rate = 10000.0 ** (-tf.range(half, dtype=tf.float32) / half)
        angle = tf.cast(tf.range(length), tf.float32)[:, None] * rate[None]
        a, b = tf.split(x, 2, -1)
        return tf.concat([a * tf.cos(angle) - b * tf.sin(angle), a * tf.sin(angle) + b * tf.cos(angle)], -1)

    def call(self, x):
        length = tf.shape(x)[1]
        parts = tf.reshape(self.ask(x), [-1, length, 3, self.heads, self.width])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(self.turned(q), self.turned(k), transpose_b=True) / self.width**0.5
        below = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
        y = tf.matmul(tf.nn.softmax(scores - 1e9 * (1 - below)), v)
        return self.answer(tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [-1, length, self.heads * self.width]))


class Tied(keras.Model):
    """A small language model whose output uses the table of its input."""

    def __init__(self, words, width):
        super().__init__()
        self.table = L.Embedding(words, width)
        self.looks = [Rotating(4, width // 4) for _ in range(3)]
        self.norms = [Norm() for _ in range(7)]
        self.gates = [L.Dense(3 * width, activation="swish", use_bias=False) for _ in range(3)]
        self.values = [L.Dense(3 * width, use_bias=False) for _ in range(3)]
        self.backs = [L.Dense(width, use_bias=False) for _ in range(3)]

    def call(self, words, training=False):
        y = self.table(tf.cast(words, tf.int32))
        for i in range(3):
            y = y + self.looks[i](self.norms[2 * i](y))
            z = self.norms[2 * i + 1](y)
            y = y + self.backs[i](self.gates[i](z) * self.values[i](z))
        weights = self.table.embeddings
        return tf.matmul(self.norms[6](y), tf.convert_to_tensor(weights), transpose_b=True)


def novels(case):
    """Subclassed language model, 14,000 words, weights of input and output shared."""
    facts = {"classes": 14000, "logits": True, "words": 14000, "inputs": {"novels": (40,)}, "targets": (40,)}
    return Tied(14000, 128), facts


class Mix(L.Layer):
    """Mixes places and channels by two Fourier transforms."""

    def call(self, x):
        return tf.math.real(tf.signal.fft2d(tf.cast(x, tf.complex64)))


def briefs(case):
    """A layer of the user's own with Fourier transforms instead of attention."""
    x = keras.Input((64,), dtype="int32", name="words")
    y = L.Embedding(9000, 128)(x)
    for _ in range(3):
        y = L.LayerNormalization()(L.Add()([y, Mix()(y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(128)(L.Dense(512, activation="gelu")(y))]))
    return keras.Model(x, L.Dense(15, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 15}


class Edges(L.Layer):
    """Each point and its nearest ones through a perceptron; the greatest stays."""

    def __init__(self, width, near, **options):
        super().__init__(**options)
        self.near, self.dense = near, L.Dense(width, activation="relu")

    def build(self, shape):
        self.dense.build(tuple(shape[:-1]) + (2 * int(shape[-1]),))
        super().build(shape)

    def call(self, x):
        square = tf.reduce_sum(tf.square(x), -1)
        far = square[:, :, None] - 2 * tf.matmul(x, x, transpose_b=True) + square[:, None]
        _, places = tf.math.top_k(-far, self.near)
        around = tf.gather(x, places, batch_dims=1)
        centre = tf.repeat(x[:, :, None], self.near, 2)
        return tf.reduce_max(self.dense(tf.concat([centre, around - centre], -1)), 2)


def statues(case):
    """Points and their neighbours, found anew at each of two levels."""
    x = keras.Input((128, 3), name="points")
    a = Edges(48, 12)(x)
    b = Edges(64, 12)(a)
    y = L.GlobalMaxPooling1D()(L.Dense(256, activation="relu")(L.Concatenate()([a, b])))
    return keras.Model(x, L.Dense(20, activation="softmax")(L.Dropout(0.3)(y))), {"classes": 20}


class Asked(L.Layer):
    """Vectors that are learnt, one set for each sample."""

    def __init__(self, count, width, **options):
        super().__init__(**options)
        self.count, self.width = count, width

    def build(self, shape):
        self.vectors = self.add_weight(name="vectors", shape=(self.count, self.width))
        super().build(shape)

    def call(self, x):
        return tf.tile(self.vectors[None], [tf.shape(x)[0], 1, 1])


def parking(case):
    """Boxes from vectors that look at a picture's places."""
    x = keras.Input((96, 96, 3), name="lot")
    y = x
    for width in (24, 48, 96):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same")(y)))
    y = L.Reshape((144, 96))(y)
    y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 24)(y, y)]))
    z = Asked(30, 96)(y)
    for _ in range(2):
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, z)]))
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, y)]))
        z = L.LayerNormalization()(L.Add()([z, L.Dense(96)(L.Dense(256, activation="relu")(z))]))
    ends = [
        L.Dense(3, activation="softmax", name="kinds")(z),
        L.Dense(4, activation="sigmoid", name="boxes")(z),
    ]
    losses = {"kinds": "sparse_categorical_crossentropy", "boxes": "mae"}
    return keras.Model(x, ends), {"losses": losses, "outs": {"kinds": 3, "boxes": None}}


class Facades(keras.Model):
    """A drawing to a front: a net that paints, one that judges patches of both, and the distance."""

    def __init__(self, painter, judge):
        super().__init__()
        self.painter, self.judge = painter, judge

    def call(self, x):
        return self.painter(x)

    def compile(self, first, second):
        super().compile(optimizer=first)
        self.second = second
        self.optimizer.build(self.painter.trainable_variables)
        self.second.build(self.judge.trainable_variables)

    def train_step(self, data):
        x, y = data
        cross = tf.nn.sigmoid_cross_entropy_with_logits
        with tf.GradientTape(persistent=True) as tape:
            made = self.painter(x, training=True)
            true = self.judge(tf.concat([x, y], -1), training=True)
            false = self.judge(tf.concat([x, made], -1), training=True)
            lost = tf.reduce_mean(cross(tf.ones_like(true), true) + cross(tf.zeros_like(false), false))
            total = tf.reduce_mean(cross(tf.ones_like(false), false)) + 100 * tf.reduce_mean(tf.abs(y - made))
        for loss, weights, optimizer in (
            (total, self.painter.trainable_variables, self.optimizer),
            (lost, self.judge.trainable_variables, self.second),
        ):
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"total": total, "lost": lost}


def facades(case):
    """A GAN from picture to picture, one persistent tape for both."""
    x = keras.Input((64, 64, 3))
    y, kept = x, []
    for width in (32, 64, 128):
        y = L.LeakyReLU()(L.BatchNormalization()(L.Conv2D(width, 4, strides=2, padding="same")(y)))
        kept.append(y)
    for width, skip in ((64, kept[1]), (32, kept[0])):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y)))
        y = L.Concatenate()([y, skip])
    painter = keras.Model(x, L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(y))
    pair = keras.Input((64, 64, 6))
    y = pair
    for width in (48, 96):
        y = L.LeakyReLU()(L.Conv2D(width, 4, strides=2, padding="same")(y))
    model = Facades(painter, keras.Model(pair, L.Conv2D(1, 4, padding="same")(y)))
    model.compile(case["make_optimizer"](), case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"facades": (64, 64, 3)}, "targets": (64, 64, 3)}


class Codes(L.Layer):
    """The nearest of a set of vectors, straight through for the gradient; its loss is added."""

    def __init__(self, count, width, **options):
        super().__init__(**options)
        self.count, self.width = count, width

    def build(self, shape):
        self.codes = self.add_weight(name="codes", shape=(self.width, self.count))
        super().build(shape)

    def call(self, x):
        flat = tf.reshape(x, [-1, self.width])
        far = (
            tf.reduce_sum(flat**2, 1, keepdims=True) + tf.reduce_sum(self.codes**2, 0) - 2 * flat @ self.codes
        )
        one = tf.one_hot(tf.argmin(far, 1), self.count)
        near = tf.reshape(tf.matmul(one, self.codes, transpose_b=True), tf.shape(x))
        self.add_loss(0.25 * tf.reduce_mean((tf.stop_gradient(near) - x) ** 2))
        self.add_loss(tf.reduce_mean((near - tf.stop_gradient(x)) ** 2))
        return x + tf.stop_gradient(near - x)


def mosaics(case):
    """Pictures by codes from a book of 512."""
    x = keras.Input((48, 48, 3), name="mosaic")
    y = x
    for width in (48, 96):
        y = L.Conv2D(width, 4, strides=2, padding="same", activation="relu")(y)
    y = Codes(512, 32)(L.Conv2D(32, 1)(y))
    for width in (96, 48):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mse"}


def squash(x):
    size = tf.reduce_sum(tf.square(x), -1, keepdims=True)
    return x * size / (1 + size) / tf.sqrt(size + 1e-8)


class Capsules(L.Layer):
    """Vectors vote for vectors above, three rounds."""

    def __init__(self, count, width, **options):
        super().__init__(**options)
        self.count, self.width = count, width

    def build(self, shape):
        sizes = (int(shape[1]), self.count, self.width, int(shape[2]))
        self.kernel = self.add_weight(name="kernel", shape=sizes, initializer="glorot_uniform")
        super().build(shape)

    def call(self, x):
        votes = tf.einsum("bid,icwd->bicw", x, self.kernel)
        logits = tf.zeros_like(votes[..., 0])
        for number in range(3):
            said = squash(tf.einsum("bic,bicw->bcw", tf.nn.softmax(logits, 2), votes))
            if number < 2:
                logits = logits + tf.einsum("bicw,bcw->bic", votes, said)
        return tf.sqrt(tf.reduce_sum(tf.square(said), -1) + 1e-8)


def toys(case):
    """Capsules above two convolutions."""
    x = keras.Input((28, 28, 1), name="toy")
    y = L.Conv2D(64, 9, activation="relu")(x)
    y = L.Conv2D(64, 9, strides=2, activation="relu")(y)
    y = Capsules(10, 16)(L.Reshape((36 * 8, 8))(y))
    return keras.Model(x, y), {"loss": "mse"}


class Herds(keras.Model):
    """Learns what a slow average of itself says of another view."""

    def __init__(self, fast, slow, guess):
        super().__init__()
        self.fast, self.slow, self.guess = fast, slow, guess
        self.slow.trainable = False

    def call(self, x):
        return self.fast(x)

    def compile(self, optimizer):
        super().compile(optimizer=optimizer)
        self.optimizer.build(self.fast.trainable_variables + self.guess.trainable_variables)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        a = tf.image.random_brightness(x, 0.4)
        b = tf.image.flip_left_right(x)
        weights = self.fast.trainable_variables + self.guess.trainable_variables
        with tf.GradientTape() as tape:
            said = tf.math.l2_normalize(self.guess(self.fast(a, training=True), training=True), -1)
            meant = tf.math.l2_normalize(self.slow(b, training=False), -1)
            loss = tf.reduce_mean(2 - 2 * tf.reduce_sum(said * tf.stop_gradient(meant), -1))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for old, new in zip(self.slow.weights, self.fast.weights):
            old.assign(0.99 * old + 0.01 * new)
        return {"loss": loss}


def herds(case):
    """Two views, a fast and a slow net."""

    def net():
        x = keras.Input((40, 40, 3))
        y = x
        for width in (32, 64, 128):
            y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same")(y)))
        return keras.Model(x, L.Dense(256)(L.Flatten()(y)))

    guess = keras.Sequential([keras.Input((256,)), L.Dense(512, activation="relu"), L.Dense(256)])
    model = Herds(net(), net(), guess)
    model.compile(case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"herds": (40, 40, 3)}, "targets": None}


class Planets(keras.Model):
    """Eight steps of Runge and Kutta through a net for the slope."""

    def __init__(self):
        super().__init__()
        self.first, self.second = L.Dense(512, activation="tanh"), L.Dense(256)
        self.begin, self.end = L.Dense(256), L.Dense(12)

    def slope(self, y):
        return self.second(self.first(y))

    def call(self, x, training=False):
        y, step = self.begin(x), 0.125
        for _ in range(8):
            a = self.slope(y)
            b = self.slope(y + step / 2 * a)
            c = self.slope(y + step / 2 * b)
            y = y + step / 6 * (a + 2 * b + 2 * c + self.slope(y + step * c))
        return self.end(y)


def planets(case):
    """Subclassed: a differential equation."""
    return Planets(), {"loss": "mse", "inputs": {"planets": (60,)}, "targets": (12,)}


class Leaky(L.Layer):
    """A cell whose units look only at themselves."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = self.state_size = self.output_size = units

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(int(shape[-1]), self.units))
        self.own = self.add_weight(name="own", shape=(self.units,))
        super().build(shape)

    def call(self, x, states):
        y = tf.nn.relu(tf.matmul(x, self.kernel) + self.own * states[0])
        return y, [y]


def tremors(case):
    """Two recurrent layers with a cell of the user's own."""
    x = keras.Input((80, 12), name="tremor")
    y = L.RNN(Leaky(160), return_sequences=True)(x)
    y = L.RNN(Leaky(160))(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(5, activation="softmax")(y)), {"classes": 5}


class Masked(L.Layer):
    """A convolution that sees only what is above and to the left."""

    def __init__(self, width, size, centre, **options):
        super().__init__(**options)
        self.width, self.size, self.centre = width, size, centre

    def build(self, shape):
        side, below = self.size, int(shape[-1])
        self.kernel = self.add_weight(name="kernel", shape=(side, side, below, self.width))
        self.seen = np.zeros((side, side, 1, 1), "float32")
        self.seen[: side // 2] = 1
        self.seen[side // 2, : side // 2 + int(self.centre)] = 1
        super().build(shape)

    def call(self, x):
        return tf.nn.conv2d(x, self.kernel * self.seen, 1, "SAME")


def quilts(case):
    """One pixel after the other: masked convolutions with residuals, 32 shades."""
    x = keras.Input((32, 32, 1), name="quilt")
    y = L.ReLU()(Masked(64, 7, False)(x))
    for _ in range(4):
        z = L.Conv2D(32, 1, activation="relu")(y)
        y = L.Add()([y, L.Conv2D(64, 1)(L.ReLU()(Masked(32, 3, True)(z)))])
    y = L.Conv2D(128, 1, activation="relu")(L.ReLU()(y))
    return keras.Model(x, L.Conv2D(32, 1)(y)), {"classes": 32, "logits": True}


class Plaques(keras.Model):
    """Letters on a sign by convolutions and a GRU, with the loss of connectionist alignment."""

    def __init__(self):
        super().__init__()
        self.nets = [L.Conv2D(width, 3, padding="same", activation="relu") for width in (32, 64)]
        self.pools = [L.MaxPooling2D(2) for _ in range(2)]
        self.read, self.end = L.Bidirectional(L.GRU(96, return_sequences=True)), L.Dense(40)

    def call(self, x, training=False):
        for net, pool in zip(self.nets, self.pools):
            x = pool(net(x))
        y = tf.transpose(x, [0, 2, 1, 3])
        return self.end(self.read(tf.reshape(y, [-1, 32, 8 * 64])))

    def compile(self, optimizer):
        super().compile(optimizer=optimizer)

    def train_step(self, data):
        x, y = data
        count = tf.shape(x)[0]
        with tf.GradientTape() as tape:
            said = tf.transpose(self(x, training=True), [1, 0, 2])
            lost = tf.nn.ctc_loss(y, said, tf.fill([count], 10), tf.fill([count], 32), blank_index=39)
            loss = tf.reduce_mean(lost)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def plaques(case):
    """Subclassed, with CTC in its train_step."""
    model = Plaques()
    model(tf.zeros([1, 32, 128, 1]))
    model.compile(case["make_optimizer"]())
    facts = {"compiled": True, "classes": 38, "inputs": {"plaques": (32, 128, 1)}, "targets": (10,)}
    return model, facts
