"""Models of predictions.py's fifteenth set: kinds of net that no set before has, for peaks, limits and the
largest batch. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def alders(case):
    """Fine and coarse maps side by side; in each stage either tells the other what it sees."""
    x = keras.Input((48, 48, 3), name="bark")
    fine = L.Conv2D(20, 3, strides=2, padding="same", activation="relu")(x)
    coarse = L.Conv2D(20, 3, padding="same", activation="relu")(L.AveragePooling2D()(fine))
    for width in (24, 28):
        to_fine = L.UpSampling2D()(L.Conv2D(width, 3, padding="same")(coarse))
        to_coarse = L.Conv2D(width, 3, padding="same")(L.AveragePooling2D()(fine))
        fine = L.ReLU()(L.Add()([L.Conv2D(width, 3, padding="same")(fine), to_fine]))
        coarse = L.ReLU()(L.Add()([L.Conv2D(width, 3, padding="same")(coarse), to_coarse]))
    y = L.Concatenate()([L.GlobalAveragePooling2D()(fine), L.GlobalMaxPooling2D()(coarse)])
    return keras.Model(x, L.Dense(16, activation="softmax")(y)), {"classes": 16}


def birches(case):
    """A loop without a loop: the steps of a GRU over readings are written out, one after the other."""
    x = keras.Input((16, 24), name="rings")
    y = L.GRU(96, unroll=True, return_sequences=True)(L.TimeDistributed(L.Dense(64, activation="tanh"))(x))
    y = L.GRU(64, unroll=True)(y)
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}


def cedars(case):
    """A sound from its spectrum: rows are made longer, and dilated filters of two lengths are averaged."""
    x = keras.Input((40, 32), name="spectrum")
    y = L.Conv1D(64, 7, padding="same")(x)
    for width, times in ((48, 4), (32, 4)):
        y = L.Conv1DTranspose(width, 2 * times, strides=times, padding="same")(L.LeakyReLU()(y))
        sides = []
        for size in (3, 7):
            z = L.Conv1D(width, size, dilation_rate=2, padding="same")(L.LeakyReLU()(y))
            sides.append(L.Add()([y, L.Conv1D(width, size, padding="same")(L.LeakyReLU()(z))]))
        y = L.Average()(sides)
    return keras.Model(x, L.Conv1D(1, 7, padding="same", activation="tanh")(y)), {"loss": "mse"}


def elms(case):
    """The channels in four parts: each part's filters read the part before as well."""
    x = keras.Input((40, 40, 3), name="leaf")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(2):
        parts = [L.Conv2D(12, 1, activation="relu")(y) for _ in range(4)]
        seen = [parts[0]]
        for part in parts[1:]:
            read = part if len(seen) == 1 else L.Add()([part, seen[-1]])
            seen.append(L.Conv2D(12, 3, padding="same", activation="relu")(read))
        y = L.ReLU()(L.Add()([y, L.BatchNormalization()(L.Conv2D(32, 1)(L.Concatenate()(seen)))]))
    return keras.Model(x, L.Dense(11, activation="softmax")(L.Flatten()(L.MaxPooling2D()(y)))), {
        "classes": 11
    }


def firs(case):
    """Words with several questions to one key, and a product of two ways in the place of one."""
    x = keras.Input((64,), dtype="int32", name="words")
    y = L.Embedding(2500, 80)(x)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.GroupQueryAttention(20, 4, 2)(z, z, use_causal_mask=True)])
        z = L.LayerNormalization()(y)
        z = L.Multiply()([L.Dense(160, activation="silu")(z), L.Dense(160)(z)])
        y = L.Add()([y, L.Dense(80)(z)])
    return keras.Model(x, L.Dense(2500)(y)), {"classes": 2500, "logits": True, "highs": {"words": 2500}}


def hollies(case):
    """A few points of many: distances to what is learnt, then what each of them adds, by a wide softmax."""
    x = keras.Input((96, 12), name="berries")
    y = L.Dense(96, activation="relu")(x)
    shares = L.Softmax(axis=1)(L.Dense(24)(y))
    seen = L.Dot(axes=(1, 1))([shares, y])
    y = L.Dense(192, activation="relu")(L.UnitNormalization()(seen))
    y = L.Dropout(0.3)(L.Dense(256, activation="relu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(20, activation="softmax")(y)), {"classes": 20}


def larches(case):
    """Sentences of a text: words are read both ways in each, then the sentences, each weighed."""
    x = keras.Input((6, 14), dtype="int32", name="text")
    words = keras.Input((14,), dtype="int32")
    read = L.Bidirectional(L.GRU(32, return_sequences=True))(L.Embedding(2000, 48)(words))
    one = keras.Model(words, L.GlobalAveragePooling1D()(L.Dense(64, activation="tanh")(read)))
    y = L.GRU(48, return_sequences=True)(L.TimeDistributed(one)(x))
    y = L.Dot(axes=1)([L.Softmax(axis=1)(L.Dense(1)(y)), y])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.Flatten()(y))), {
        "classes": 5,
        "highs": {"text": 2000},
    }


def maples(case):
    """The rim of a picture is cut and put on again; kernels see far, by channel, and a wide layer mixes."""
    x = keras.Input((44, 44, 3), name="sap")
    y = L.PReLU(shared_axes=[1, 2])(L.Conv2D(24, 3, strides=2, padding="same")(x))
    for _ in range(2):
        z = L.ZeroPadding2D(3)(y)
        z = L.DepthwiseConv2D(7)(z)
        z = L.Conv2D(24, 1)(L.Conv2D(72, 1, activation="gelu")(L.GroupNormalization(4)(z)))
        y = L.Add()([y, z])
    y = L.Cropping2D(3)(y)
    return keras.Model(x, L.Dense(8, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 8}


def rowans(case):
    """Pairs of rows are set against each other, and a picture of how alike they are is read."""
    left, right = (
        keras.Input((40,), dtype="int32", name="left"),
        keras.Input((40,), dtype="int32", name="right"),
    )
    table = L.Embedding(3000, 48)
    alike = L.Dot(axes=(2, 2), normalize=True)([table(left), table(right)])
    y = L.Reshape((40, 40, 1))(alike)
    for width in (16, 32):
        y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.Dense(96, activation="relu")(L.Flatten()(y))
    facts = {"loss": "binary_crossentropy", "highs": {"left": 3000, "right": 3000}}
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(y)), facts


def yews(case):
    """Wide rows whose layers are each measured and made even, beside a straight way; four numbers."""
    x = keras.Input((120,), name="soil")
    y = L.Dense(384, activation="swish")(L.GaussianNoise(0.1)(x))
    for rate in (0.1, 0.2):
        z = L.BatchNormalization()(L.Dense(384, activation="swish")(y))
        z = L.AlphaDropout(rate)(L.Dense(384)(z))
        y = L.Maximum()([y, z])
    return keras.Model(x, L.Add()([L.Dense(4)(y), L.Dense(4)(x)])), {"loss": "huber"}


class Walnut(keras.Model):
    """Two nets of one picture: one sees it whole, one the middle; what they say is multiplied."""

    def __init__(self):
        super().__init__()
        self.far = [L.Conv2D(width, 3, strides=2, padding="same", activation="relu") for width in (24, 40)]
        self.near = [L.Conv2D(width, 3, padding="same", activation="relu") for width in (24, 40)]
        self.pool, self.told = L.GlobalAveragePooling2D(), L.Dense(12)

    def call(self, x):
        y, z = x, x[:, 12:36, 12:36]
        for far, near in zip(self.far, self.near):
            y, z = far(y), near(z)
        return self.told(self.pool(y) * self.pool(z))


def walnuts(case):
    """A glance and a look, subclassed."""
    return Walnut(), {"classes": 12, "logits": True, "inputs": {"walnuts": (48, 48, 3)}, "targets": ()}


class Willow(keras.Model):
    """A row, its running sums and its differences, each through layers of its own."""

    def __init__(self):
        super().__init__()
        self.sides = [L.Dense(160, activation="relu") for _ in range(3)]
        self.mixed, self.told = L.Dense(192, activation="relu"), L.Dense(1)

    def call(self, x):
        views = (x, tf.cumsum(x, axis=1), x - tf.roll(x, 1, axis=1))
        y = tf.add_n([side(view) for side, view in zip(self.sides, views)])
        return self.told(tf.reduce_max(self.mixed(y), axis=1))


def willows(case):
    """Three views of a row, subclassed."""
    return Willow(), {"loss": "mse", "inputs": {"willows": (48, 20)}, "targets": (1,)}
