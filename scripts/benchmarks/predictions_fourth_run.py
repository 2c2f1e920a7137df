"""Models of predictions.py's fourth set: written after the misses of the third had been mended. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def satellites(case):
    """Eleven bands, a gate for channels and one for places, a label for each of twenty kinds."""
    x = keras.Input((64, 64, 11), name="bands")
    y = x
    for width in (32, 48, 64):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        gate = L.Dense(width, activation="sigmoid")(L.Dense(8, activation="relu")(L.GlobalAveragePooling2D()(y)))
        y = L.Multiply()([y, L.Reshape((1, 1, width))(gate)])
        y = L.Multiply()([y, L.Conv2D(1, 7, padding="same", activation="sigmoid")(y)])
        y = L.MaxPooling2D()(y)
    return keras.Model(x, L.Dense(20, activation="sigmoid")(L.Flatten()(y))), {"loss": "binary_crossentropy"}


def chords(case):
    """A spectrogram through convolutions in time, then a bidirectional LSTM."""
    x = keras.Input((100, 84), name="spectrum")
    y = L.Dropout(0.2)(L.Conv1D(96, 5, padding="same", activation="relu")(x))
    y = L.Bidirectional(L.LSTM(64, return_sequences=True))(y)
    return keras.Model(x, L.TimeDistributed(L.Dense(25, activation="softmax"))(y)), {"classes": 25}


def chemistry(case):
    """A molecule's letters through a transformer with one token in front, to five numbers."""
    x = keras.Input((72,), dtype="int32", name="letters")
    y = L.Embedding(64, 112)(x)
    for _ in range(3):
        z = L.MultiHeadAttention(4, 28, dropout=0.1)(y, y)
        y = L.LayerNormalization(epsilon=1e-6)(L.Add()([y, z]))
        z = L.Dense(112)(L.Dropout(0.1)(L.Dense(448, activation="relu")(y)))
        y = L.LayerNormalization(epsilon=1e-6)(L.Add()([y, z]))
    y = L.GlobalMaxPooling1D()(y)
    return keras.Model(x, L.Dense(5)(L.Dense(64, activation="tanh")(y))), {"loss": "huber", "highs": {"letters": 64}}


def depth(case):
    """A picture to a map of depth at three resolutions."""
    x = keras.Input((64, 96, 3), name="view")
    skips, y = [], x
    for width in (24, 40, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same")(y)
        y = L.Activation("swish")(L.BatchNormalization()(y))
        skips.append(y)
    maps = []
    for number, width in enumerate((40, 24)):
        y = L.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu")(y)
        y = L.Concatenate()([y, skips[1 - number]])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        maps.append(L.Conv2D(1, 3, padding="same", name="depth_%d" % number)(y))
    y = L.UpSampling2D(interpolation="bilinear")(y)
    maps.append(L.Conv2D(1, 3, padding="same", name="depth_2")(L.Conv2D(16, 3, padding="same", activation="relu")(y)))
    return keras.Model(x, maps), {
        "losses": {"depth_0": "mae", "depth_1": "mae", "depth_2": "mae"},
        "metrics": {"depth_2": ["mse"]},
    }


def sessions(case):
    """What was clicked, by a GRU, and the next of many things."""
    x = keras.Input((20,), dtype="int32", name="things")
    y = L.GRU(128)(L.Dropout(0.2)(L.Embedding(16000, 64)(x)))
    return keras.Model(x, L.Dense(16000)(y)), {"classes": 16000, "logits": True}


def wings(case):
    """A physics surrogate: many narrow layers with skips, all outputs at once."""
    x = keras.Input((40,), name="state")
    y = L.Dense(700, activation="tanh")(x)
    for _ in range(5):
        z = L.Dense(700, activation="tanh")(L.LayerNormalization()(y))
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(300)(y)), {"loss": "mse"}


def wheat(case):
    """Inverted residuals: wide, depthwise, narrow."""
    x = keras.Input((72, 72, 3), name="leaf")
    y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)))
    for width, stride in ((24, 1), (32, 2), (32, 1), (48, 2)):
        z = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(4 * y.shape[-1], 1, use_bias=False)(y)))
        z = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(z)
        z = L.ReLU(6.0)(L.BatchNormalization()(z))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        y = L.Add()([y, z]) if stride == 1 and y.shape[-1] == width else z
    return keras.Model(x, L.Dense(14, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 14}


def proteins(case):
    """Pairs of residues from outer sums of a sequence, through 2-D convolutions."""
    x = keras.Input((56, 24), name="residues")
    y = L.Conv1D(32, 5, padding="same", activation="relu")(x)
    rows, columns = L.Reshape((56, 1, 32))(y), L.Reshape((1, 56, 32))(y)
    z = L.Add()([rows, columns])
    for dilation in (1, 2):
        w = L.Conv2D(32, 3, padding="same", dilation_rate=dilation, activation="elu")(z)
        z = L.Add()([z, L.Dropout(0.1)(w)])
    return keras.Model(x, L.Conv2D(12, 1, activation="softmax")(z)), {"classes": 12}


def news(case):
    """Titles and readers: one encoder for twelve titles, another for the candidate."""
    title = keras.Input((16,), dtype="int32")
    y = L.Embedding(8000, 72)(title)
    y = L.GlobalAveragePooling1D()(L.MultiHeadAttention(3, 24)(y, y))
    encoder = keras.Model(title, L.Dense(72, activation="tanh")(y), name="titles")
    seen, wanted = keras.Input((12, 16), dtype="int32", name="seen"), keras.Input((16,), dtype="int32", name="wanted")
    reader = L.GRU(72)(L.TimeDistributed(encoder)(seen))
    return keras.Model([seen, wanted], L.Dot(axes=1)([reader, encoder(wanted)])), {"loss": "mse"}


def organs(case):
    """A volume's three planes through one 2-D net, and a class each."""
    x = keras.Input((48, 48, 6), name="planes")
    y = L.Conv2D(36, 3, padding="same")(x)
    for width in (36, 72):
        z = L.Conv2D(width, 3, padding="same")(L.LeakyReLU()(L.GroupNormalization(6)(y)))
        z = L.Conv2D(width, 3, padding="same")(L.LeakyReLU()(L.GroupNormalization(6)(z)))
        y = L.AveragePooling2D(2)(L.Add()([z, L.Conv2D(width, 1)(y)]))
    y = L.GlobalAveragePooling2D()(y)
    ends = [L.Dense(4, activation="softmax", name="organ_%d" % number)(y) for number in range(3)]
    return keras.Model(x, ends), {
        "losses": {"organ_%d" % number: "sparse_categorical_crossentropy" for number in range(3)},
        "classes": 4,
        "metrics": {"organ_0": ["accuracy"]},
    }


def bursts(case):
    """A burst of frames: 3-D convolutions below, 2-D above."""
    x = keras.Input((8, 32, 32, 2), name="burst")
    y = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    y = L.MaxPooling3D((2, 2, 2))(y)
    y = L.Conv3D(24, (4, 3, 3), padding="valid", activation="relu")(y)
    y = L.Reshape((14, 14, 24))(y)
    y = L.Dense(80, activation="relu")(L.Flatten()(L.Conv2D(32, 3, activation="relu")(y)))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}


def insurance(case):
    """Numbers and nine tables, side by side in a wide and a deep part, with normalisation."""
    numbers = keras.Input((30,), name="numbers")
    inputs, parts = [numbers], [L.BatchNormalization()(numbers)]
    for place in range(9):
        x = keras.Input((1,), dtype="int32", name="kind_%d" % place)
        inputs.append(x)
        parts.append(L.Flatten()(L.Embedding(3000 + 500 * place, 12)(x)))
    y = L.Concatenate()(parts)
    for width in (512, 256):
        y = L.Dropout(0.1)(L.PReLU()(L.BatchNormalization()(L.Dense(width)(y))))
    return keras.Model(inputs, L.Dense(1, activation="softplus")(y)), {"loss": "poisson"}


class Mixture(L.Layer):
    """Experts, weighted by a gate."""

    def __init__(self, experts, width, **options):
        super().__init__(**options)
        self.experts, self.width = experts, width

    def build(self, shape):
        self.kernels = self.add_weight(name="kernels", shape=(self.experts, int(shape[-1]), self.width))
        self.gate = self.add_weight(name="gate", shape=(int(shape[-1]), self.experts))
        super().build(shape)

    def call(self, inputs):
        weights = tf.nn.softmax(tf.matmul(inputs, self.gate))
        each = tf.nn.relu(tf.einsum("bi,eio->beo", inputs, self.kernels))
        return tf.einsum("beo,be->bo", each, weights)


def experts(case):
    """Layers of the user's own: a mixture of experts."""
    x = keras.Input((96,), name="features")
    y = Mixture(8, 256)(x)
    y = Mixture(6, 256)(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(y)), {"classes": 10}


class Reader(keras.Model):
    """Words, a GRU and a loss of its own step, with gradients clipped together."""

    def __init__(self):
        super().__init__()
        self.table, self.memory, self.end = L.Embedding(5000, 64), L.GRU(96, return_sequences=True), L.Dense(5000)

    def call(self, inputs):
        return self.end(self.memory(self.table(tf.cast(inputs, tf.int32))))

    def train_step(self, data):
        words, following = data
        with tf.GradientTape() as tape:
            scores = self(words)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=scores))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm([tf.convert_to_tensor(each) for each in gradients], 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


def reader(case):
    """Subclassed, with a train_step that clips."""
    model = Reader()
    model(tf.zeros((1, 24)))
    model.compile(case["make_optimizer"]())
    return model, {"compiled": True, "classes": 5000, "inputs": {"words": (24,)}, "targets": (24,)}


class Autoencoder(keras.Model):
    """Two nested nets, never told as a graph of layers."""

    def __init__(self):
        super().__init__()
        self.down = [L.Conv2D(width, 3, strides=2, padding="same", activation="relu") for width in (32, 64)]
        self.up = [L.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu") for width in (48, 24)]
        self.last = L.Conv2D(3, 3, padding="same", activation="sigmoid")

    def call(self, inputs):
        y = inputs
        for layer in self.down + self.up:
            y = layer(y)
        return self.last(y)


def frames(case):
    """A subclassed autoencoder with a compiled loss."""
    return Autoencoder(), {"loss": "mae", "inputs": {"frames": (48, 48, 3)}, "targets": (48, 48, 3)}
