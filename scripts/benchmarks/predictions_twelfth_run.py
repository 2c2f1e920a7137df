"""Models of predictions.py's twelfth set, for peaks, for the smallest limit and for the largest batch: of every
kind, and with steps of some hundred megabytes, written by one who knew the code. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def weavers(case):
    """A sentence to a sentence: both directions are read, and each word written looks back."""
    x = keras.Input((36,), dtype="int32", name="read")
    z = keras.Input((30,), dtype="int32", name="written")
    y = L.Bidirectional(L.GRU(80, return_sequences=True))(L.Embedding(4000, 96)(x))
    w = L.GRU(160, return_sequences=True)(L.Embedding(3000, 96)(z))
    w = L.Concatenate()([w, L.Attention()([w, y])])
    w = L.Dense(160, activation="tanh")(w)
    facts = {"classes": 3000, "highs": {"read": 4000, "written": 3000}}
    return keras.Model([x, z], L.Dense(3000, activation="softmax")(w)), facts


def beehives(case):
    """Two grids of cells, each with kinds and boxes; the coarse one is added to the fine one."""
    x = keras.Input((96, 96, 3), name="hive")
    y, kept = x, []
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        kept.append(y)
    coarse = L.Conv2D(64, 1)(kept[2])
    fine = L.Add()([L.UpSampling2D(2)(coarse), L.Conv2D(64, 1)(kept[1])])
    outs = []
    for name, each in (("fine", fine), ("coarse", coarse)):
        each = L.Conv2D(64, 3, padding="same", activation="relu")(each)
        outs.append(L.Conv2D(6, 3, padding="same", activation="softmax", name=name + "_kinds")(each))
        outs.append(L.Conv2D(4, 3, padding="same", name=name + "_boxes")(each))
    kinds = "sparse_categorical_crossentropy"
    losses = {"fine_kinds": kinds, "fine_boxes": "mse", "coarse_kinds": kinds, "coarse_boxes": "mse"}
    return keras.Model(x, outs), {"losses": losses, "outs": {"fine_kinds": 6, "coarse_kinds": 6}}


def harbours(case):
    """A long recording: gated dilated convolutions, whose skips are summed."""
    x = keras.Input((1500, 2), name="sound")
    y = L.Conv1D(32, 7, padding="same")(x)
    skips = []
    for rate in (1, 2, 4, 8):
        a = L.Conv1D(32, 3, dilation_rate=rate, padding="causal", activation="tanh")(y)
        b = L.Conv1D(32, 3, dilation_rate=rate, padding="causal", activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(32, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.AveragePooling1D(4)(L.ReLU()(L.Add()(skips)))
    y = L.GlobalAveragePooling1D()(L.Conv1D(64, 3, activation="relu")(y))
    return keras.Model(x, L.Dense(20, activation="softmax")(y)), {"classes": 20}


def glaciers(case):
    """Volumes, with a residual block at each of two sizes."""
    x = keras.Input((20, 28, 28, 2), name="ice")
    y = L.Conv3D(12, 3, padding="same", activation="relu")(x)
    for width in (24, 40):
        y = L.Conv3D(width, 3, strides=2, padding="same")(y)
        z = L.Conv3D(width, 3, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
        y = L.ReLU()(L.Add()([y, z]))
    y = L.Dense(32, activation="relu")(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse"}


def orbits(case):
    """Bodies and which of them pull at each other: three rounds of messages along a matrix."""
    bodies = keras.Input((48, 12), name="bodies")
    pulls = keras.Input((48, 48), name="pulls")
    y = L.Dense(96, activation="relu")(bodies)
    for _ in range(3):
        told = L.Dot((2, 1))([pulls, L.Dense(96)(y)])
        y = L.LayerNormalization()(L.Add()([y, L.Dense(96, activation="relu")(told)]))
    far = L.Dense(3, name="move")(y)
    kind = L.Dense(9, activation="softmax", name="sort")(L.GlobalMaxPooling1D()(y))
    facts = {"losses": {"move": "mse", "sort": "sparse_categorical_crossentropy"}, "outs": {"sort": 9}}
    return keras.Model([bodies, pulls], [far, kind]), facts


def pottery(case):
    """A base of inverted bottlenecks that does not learn, and a head that does."""
    x = keras.Input((80, 80, 3))
    y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)))
    for width in (24, 32, 48):
        z = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(4 * width, 1, use_bias=False)(y)))
        z = L.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(z)
        y = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(L.ReLU(6.0)(z)))
    base = keras.Model(x, y, name="base")
    base.trainable = False
    x = keras.Input((80, 80, 3), name="pot")
    y = L.Conv2D(128, 3, padding="same", activation="relu")(base(x, training=False))
    y = L.Dropout(0.3)(L.Dense(256, activation="relu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}


def tariffs(case):
    """Numbers and kinds of goods; a duty, a class of risk and a day are told."""
    numbers = keras.Input((120,), name="numbers")
    good = keras.Input((1,), dtype="int32", name="good")
    y = L.Concatenate()([numbers, L.Flatten()(L.Embedding(20000, 64)(good))])
    for width in (1024, 768, 512):
        y = L.Dropout(0.1)(L.Dense(width, activation="gelu")(y))
    outs = [
        L.Dense(1, name="duty")(L.Dense(256, activation="relu")(y)),
        L.Dense(5, activation="softmax", name="risk")(y),
        L.Dense(365, activation="softmax", name="day")(L.Dense(128, activation="relu")(y)),
    ]
    kinds = "sparse_categorical_crossentropy"
    facts = {"losses": {"duty": "mse", "risk": kinds, "day": kinds}, "outs": {"risk": 5, "day": 365}}
    return keras.Model([numbers, good], outs), {**facts, "highs": {"good": 20000}}


def chimneys(case):
    """A perceptron that computes in halves and keeps its weights whole."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    x = keras.Input((40, 64), name="smoke")
    y = L.Dense(192, activation="relu")(x)
    for _ in range(3):
        z = L.Dense(384, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(192)(z)])
    y = L.Dense(10, activation="softmax", dtype="float32")(L.GlobalAveragePooling1D()(y))
    keras.mixed_precision.set_global_policy("float32")
    return keras.Model(x, y), {"classes": 10}


def lanes(case):
    """A road told apart from what is not: three times down, three times up, with skips."""
    x = keras.Input((96, 96, 3), name="road")
    skips, y = [], x
    for width in (16, 24, 32):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        skips.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(48, 3, padding="same", activation="relu")(y)
    for width, skip in zip((32, 24, 16), reversed(skips)):
        y = L.Concatenate()([L.Conv2DTranspose(width, 2, strides=2)(y), skip])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 1, activation="softmax")(y)), {"classes": 3}


def sonnets(case):
    """The next word of a verse: three causal blocks, normalised before each part."""
    x = keras.Input((48,), dtype="int32", name="verse")
    y = L.Embedding(6000, 144)(x)
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 24)(z, z, use_causal_mask=True)])
        z = L.Dense(432, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(144)(z))])
    y = L.Dense(6000)(L.LayerNormalization()(y))
    return keras.Model(x, y), {"classes": 6000, "logits": True, "highs": {"verse": 6000}}


def fingers(case):
    """Two prints through one net with shrinking maps: of one hand or not."""
    x = keras.Input((64, 64, 1))
    y = x
    for width in (24, 48, 64):
        y = L.MaxPooling2D(2)(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    net = keras.Model(x, L.Dense(96, activation="tanh")(L.Flatten()(y)), name="print")
    a, b = keras.Input((64, 64, 1), name="left"), keras.Input((64, 64, 1), name="right")
    y = L.Concatenate()([L.Multiply()([net(a), net(b)]), L.Subtract()([net(a), net(b)])])
    y = L.Dense(1, activation="sigmoid")(L.Dense(64, activation="relu")(y))
    return keras.Model([a, b], y), {"loss": "binary_crossentropy"}


class Duel(keras.Model):
    """One net draws, the other tells drawn ones from real ones; both learn in one step."""

    def __init__(self, drawer, judge):
        super().__init__()
        self.drawer, self.judge = drawer, judge
        self.crossed = keras.losses.BinaryCrossentropy(from_logits=True)

    def compile(self, first, second):
        super().compile()
        self.first, self.second = first, second

    def call(self, x):
        return self.judge(x)

    def train_step(self, real):
        real = real[0] if isinstance(real, tuple) else real
        count = tf.shape(real)[0]
        drawn = self.drawer(tf.random.normal((count, 64)), training=True)
        both = tf.concat([real, drawn], 0)
        truth = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], 0)
        with tf.GradientTape() as tape:
            judged = self.crossed(truth, self.judge(both, training=True))
        weights = self.judge.trainable_variables
        self.first.apply_gradients(zip(tape.gradient(judged, weights), weights))
        with tf.GradientTape() as tape:
            drawn = self.drawer(tf.random.normal((count, 64)), training=True)
            fooled = self.crossed(tf.ones((count, 1)), self.judge(drawn, training=True))
        weights = self.drawer.trainable_variables
        self.second.apply_gradients(zip(tape.gradient(fooled, weights), weights))
        return {"judged": judged, "fooled": fooled}


def duels(case):
    """A GAN with a `train_step` of its own."""
    drawer = keras.Sequential(
        [
            keras.Input((64,)),
            L.Dense(8 * 8 * 96, activation="relu"),
            L.Reshape((8, 8, 96)),
            L.Conv2DTranspose(64, 4, strides=2, padding="same", activation="relu"),
            L.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu"),
            L.Conv2D(3, 3, padding="same", activation="tanh"),
        ]
    )
    judge = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            L.Conv2D(32, 4, strides=2, padding="same"),
            L.LeakyReLU(),
            L.Conv2D(64, 4, strides=2, padding="same"),
            L.LeakyReLU(),
            L.Flatten(),
            L.Dense(1),
        ]
    )
    model = Duel(drawer, judge)
    model.compile(case["make_optimizer"](), case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"duels": (32, 32, 3)}, "targets": None}


class Shuttle(keras.Model):
    """Residual blocks, subclassed."""

    def __init__(self, widths, kinds):
        super().__init__()
        self.begin = L.Conv2D(widths[0], 3, padding="same", use_bias=False)
        self.downs = [L.Conv2D(width, 3, strides=2, padding="same", use_bias=False) for width in widths]
        self.convs = [L.Conv2D(width, 3, padding="same", use_bias=False) for width in widths]
        self.norms = [L.BatchNormalization() for _ in range(2 * len(widths))]
        self.told = L.Dense(kinds)

    def call(self, x, training=False):
        y = self.begin(x)
        for place, (down, conv) in enumerate(zip(self.downs, self.convs)):
            y = down(tf.nn.relu(self.norms[2 * place](y, training=training)))
            y = y + conv(tf.nn.relu(self.norms[2 * place + 1](y, training=training)))
        return self.told(tf.reduce_mean(y, [1, 2]))


def shuttles(case):
    """A subclassed net of pictures."""
    facts = {"classes": 12, "logits": True, "inputs": {"shuttles": (56, 56, 3)}, "targets": ()}
    return Shuttle((24, 48, 72), 12), facts


class Mentor(keras.Model):
    """Learns from labels, and from what a greater net that stays as it is says."""

    def __init__(self, great, small):
        super().__init__()
        self.great, self.small = great, small
        self.great.trainable = False

    def call(self, x, training=False):
        return self.small(x, training=training)

    def train_step(self, data):
        x, y = data
        said = tf.nn.softmax(self.great(x, training=False) / 3.0)
        with tf.GradientTape() as tape:
            own = self.small(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, own, from_logits=True))
            loss += tf.reduce_mean(keras.losses.kl_divergence(said, tf.nn.softmax(own / 3.0)))
        weights = self.small.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def mentors(case):
    """Distillation with a `train_step` of its own."""

    def net(widths):
        parts = [L.Conv2D(width, 3, strides=2, padding="same", activation="relu") for width in widths]
        return keras.Sequential([keras.Input((64, 64, 3)), *parts, L.Flatten(), L.Dense(20)])

    model = Mentor(net((48, 96, 128)), net((32, 64)))
    model.compile(case["make_optimizer"](), loss=None)
    facts = {"compiled": True, "classes": 20, "inputs": {"mentors": (64, 64, 3)}, "targets": ()}
    return model, facts
