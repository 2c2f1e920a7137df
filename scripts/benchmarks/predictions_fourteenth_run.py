"""Models of predictions.py's fourteenth set: kinds of net that no set before has, for peaks, limits and the
largest batch. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def apricots(case):
    """Half of the features are made by filters, the other half cheaply of these, a channel at a time."""
    x = keras.Input((64, 64, 3), name="fruit")
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    for width in (16, 24, 40):
        made = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y)))
        cheap = L.DepthwiseConv2D(3, padding="same", use_bias=False)(made)
        y = L.Concatenate()([made, L.ReLU()(L.BatchNormalization()(cheap))])
        y = L.MaxPooling2D()(y)
    return keras.Model(x, L.Dense(14, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 14}


def brambles(case):
    """A picture of a line of print: its columns are read from both ends, and each gets a letter."""
    x = keras.Input((32, 96, 1), name="line")
    y = x
    for width in (24, 48):
        y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.Reshape((24, 8 * 48))(L.Permute((2, 1, 3))(y))
    y = L.Bidirectional(L.LSTM(64, return_sequences=True))(L.Dense(96, activation="relu")(y))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def cherries(case):
    """Long strips are pooled each way, and where they cross says what counts."""
    x = keras.Input((48, 48, 3), name="street")
    y = L.Conv2D(40, 3, padding="same", activation="relu")(x)
    for _ in range(2):
        across = L.Conv2D(40, 1)(L.AveragePooling2D((1, 48))(y))
        down = L.Conv2D(40, 1)(L.AveragePooling2D((48, 1))(y))
        gate = L.Multiply()([L.UpSampling2D((1, 48))(across), L.UpSampling2D((48, 1))(down)])
        y = L.Multiply()([y, L.Activation("sigmoid")(gate)])
        y = L.Conv2D(40, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(6, 1, activation="softmax")(y)), {"classes": 6}


def damsons(case):
    """A row of readings; each layer reads all that came before."""
    x = keras.Input((300, 4), name="current")
    y = L.Conv1D(32, 5, padding="same")(x)
    for _ in range(2):
        for _ in range(3):
            z = L.Conv1D(20, 5, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
            y = L.Concatenate()([y, z])
        y = L.AveragePooling1D(2)(L.Conv1D(40, 1)(y))
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 5}


def elders(case):
    """Pieces of a picture in halves (float16), each told by attention what the others show."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    x = keras.Input((48, 48, 3), name="leaf")
    y = L.Reshape((64, 72))(L.Conv2D(72, 6, strides=6)(x))
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(3, 24)(z, z)])
        z = L.Dense(216, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(72)(z)])
    y = L.Dense(17, activation="softmax", dtype="float32")(L.GlobalAveragePooling1D()(y))
    keras.mixed_precision.set_global_policy("float32")
    return keras.Model(x, y), {"classes": 17}


def figs(case):
    """Moving pictures: filters in space and in time by turns."""
    x = keras.Input((10, 32, 32, 3), name="clip")
    y = x
    for width in (16, 32):
        y = L.ReLU()(L.Conv3D(width, (1, 3, 3), strides=(1, 2, 2), padding="same")(y))
        y = L.ReLU()(L.BatchNormalization()(L.Conv3D(width, (3, 1, 1), padding="same")(y)))
    return keras.Model(x, L.Dense(8, activation="softmax")(L.GlobalAveragePooling3D()(y))), {"classes": 8}


def grapes(case):
    """Each number goes through a small net of its own, and a softmax says how much each counts."""
    x = keras.Input((24,), name="sales")
    weights = L.Dense(24, activation="softmax")(L.Dense(64, activation="elu")(x))
    seen = [L.Dense(48, activation="elu")(L.Dense(48)(x)) for _ in range(6)]
    y = L.Concatenate()([*seen, weights])
    for _ in range(2):
        z = L.Dense(312)(L.Dense(312, activation="elu")(y))
        y = L.LayerNormalization()(L.Add()([y, L.Multiply()([z, L.Dense(312, activation="sigmoid")(y)])]))
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse"}


def hazels(case):
    """A few filters that XLA compiles."""
    x = keras.Input((32, 32, 3), name="nut")
    y = x
    for width in (24, 48):
        y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.Flatten()(y))), {"classes": 10}


def junipers(case):
    """Attention without a softmax: the keys and values of a row meet first, the questions after."""
    x = keras.Input((120,), dtype="int32", name="notes")
    y = L.Embedding(1500, 64)(x)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        keys = L.Dense(64, activation="softplus")(z)
        met = L.Dot(axes=(1, 1))([keys, L.Dense(64)(z)])
        y = L.Add()([y, L.Dot(axes=(2, 1))([L.Dense(64, activation="softplus")(z), met])])
        y = L.Add()([y, L.Dense(64)(L.Dense(160, activation="relu")(L.LayerNormalization()(y)))])
    y = L.Dense(3, activation="softmax")(L.GlobalMaxPooling1D()(y))
    return keras.Model(x, y), {"classes": 3, "highs": {"notes": 1500}}


def kumquats(case):
    """Two answers of one picture: its mask, and how many there are."""
    x = keras.Input((56, 56, 3), name="tree")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    deep = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(y)
    deep = L.SpatialDropout2D(0.2)(L.Conv2D(48, 3, padding="same", activation="relu")(deep))
    count = L.Dense(1, name="count")(L.Dense(64, activation="relu")(L.GlobalAveragePooling2D()(deep)))
    y = L.Concatenate()([y, L.Conv2DTranspose(24, 4, strides=2, padding="same")(deep)])
    mask = L.Conv2D(1, 1, activation="sigmoid", name="mask")(L.Conv2D(24, 3, padding="same")(y))
    return keras.Model(x, [mask, count]), {"losses": {"mask": "binary_crossentropy", "count": "mse"}}


class Lemon(keras.Model):
    """One pair of filters, used five times on what it made; what came in is added each time."""

    def __init__(self):
        super().__init__()
        self.begin = L.Conv2D(32, 3, strides=2, padding="same")
        self.again = L.Conv2D(32, 3, padding="same", activation="relu")
        self.back = L.Conv2D(32, 3, padding="same")
        self.pool, self.told = L.GlobalAveragePooling2D(), L.Dense(9)

    def call(self, x):
        start = y = self.begin(x)
        for _ in range(5):
            y = tf.nn.relu(start + self.back(self.again(y)))
        return self.told(self.pool(y))


def lemons(case):
    """A loop of filters whose weights are shared, subclassed."""
    return Lemon(), {"classes": 9, "logits": True, "inputs": {"lemons": (40, 40, 3)}, "targets": ()}


class Medlar(keras.Model):
    """A row that is cut in two; each half moves the other, so that the net can be turned round."""

    def __init__(self):
        super().__init__()
        self.nets = [[L.Dense(256, activation="relu"), L.Dense(80)] for _ in range(6)]
        self.flat = [layer for net in self.nets for layer in net]
        self.told = L.Dense(1)

    def call(self, x):
        a, b = tf.split(x, 2, axis=-1)
        for first, second in self.nets:
            a, b = b, a + second(first(b))
        return self.told(tf.concat([a, b], -1))


def medlars(case):
    """Couplings, subclassed."""
    return Medlar(), {"loss": "mse", "inputs": {"medlars": (160,)}, "targets": (1,)}
