"""Models of predictions.py's fifth set: written before any code of that day was read or changed. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def ledger(case):
    """A causal transformer over 20,000 pieces of words."""
    x = keras.Input((40,), dtype="int32", name="pieces")
    y = L.Embedding(20000, 96)(x)
    for _ in range(2):
        z = L.MultiHeadAttention(4, 24)(L.LayerNormalization()(y), L.LayerNormalization()(y), use_causal_mask=True)
        y = L.Add()([y, z])
        z = L.Dense(96)(L.Dense(384, activation="gelu")(L.LayerNormalization()(y)))
        y = L.Add()([y, L.Dropout(0.1)(z)])
    return keras.Model(x, L.Dense(20000)(L.LayerNormalization()(y))), {"classes": 20000, "logits": True}


def subtitles(case):
    """LSTMs from one language to another, with additive attention between them."""
    heard = keras.Input((28,), dtype="int32", name="heard")
    said = keras.Input((20,), dtype="int32", name="said")
    memory, h, c = L.LSTM(128, return_sequences=True, return_state=True)(L.Embedding(7000, 80)(heard))
    y = L.LSTM(128, return_sequences=True)(L.Embedding(9000, 80)(said), initial_state=[h, c])
    y = L.Concatenate()([y, L.AdditiveAttention()([y, memory])])
    y = L.Dense(96, activation="tanh")(y)
    return keras.Model([heard, said], L.Dense(9000, activation="softmax")(y)), {"classes": 9000}


def postcards(case):
    """Encoder and decoder of a small transformer, 12,000 words on each side."""

    def ahead(y, width):
        z = L.Dense(width)(L.Dense(3 * width, activation="relu")(y))
        return L.LayerNormalization()(L.Add()([y, z]))

    a = keras.Input((24,), dtype="int32", name="source")
    b = keras.Input((24,), dtype="int32", name="target")
    y = L.Embedding(12000, 64)(a)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 16)(y, y)]))
        y = ahead(y, 64)
    z = L.Embedding(12000, 64)(b)
    for _ in range(2):
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 16)(z, z, use_causal_mask=True)]))
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 16)(z, y)]))
        z = ahead(z, 64)
    return keras.Model([a, b], L.Dense(12000, activation="softmax")(z)), {"classes": 12000}


def vibrations(case):
    """A residual net in one dimension with wide kernels."""
    x = keras.Input((1024, 3), name="axes")
    y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(32, 15, strides=2, padding="same", use_bias=False)(x)))
    for width, stride in ((32, 1), (64, 2), (96, 2)):
        z = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 7, strides=stride, padding="same")(y)))
        z = L.BatchNormalization()(L.Conv1D(width, 7, padding="same")(z))
        y = L.Activation("relu")(L.Add()([z, L.Conv1D(width, 1, strides=stride)(y)]))
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 9}


def lungs(case):
    """A shallow U-Net in three dimensions."""
    x = keras.Input((20, 20, 20, 1), name="scan")
    first = L.Conv3D(12, 3, padding="same", activation="relu")(L.Conv3D(12, 3, padding="same", activation="relu")(x))
    y = L.MaxPooling3D()(first)
    y = L.Conv3D(24, 3, padding="same", activation="relu")(L.Conv3D(24, 3, padding="same", activation="relu")(y))
    y = L.Concatenate()([L.UpSampling3D()(y), first])
    y = L.Conv3D(12, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv3D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def handwriting(case):
    """Two pages through one convolutional net: the same writer or not."""
    page = keras.Input((80, 60, 1))
    y = page
    for width in (24, 40, 56):
        y = L.Conv2D(width, 5, padding="same", activation="elu")(y)
        y = L.AveragePooling2D(2)(y)
    net = keras.Model(page, L.Dense(96)(L.Flatten()(y)), name="page")
    a, b = keras.Input((80, 60, 1), name="left"), keras.Input((80, 60, 1), name="right")
    y = L.Concatenate()([L.Subtract()([net(a), net(b)]), L.Multiply()([net(a), net(b)])])
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def traffic(case):
    """A road net: the same layers at each crossing, messages along a matrix, over time by a GRU."""
    signal, roads = keras.Input((90, 24), name="signal"), keras.Input((90, 90), name="roads")
    y = signal
    for width in (64, 64, 48):
        z = L.Dot(axes=(2, 1))([roads, L.Dense(width)(y)])
        y = L.LeakyReLU()(L.Add()([z, L.Dense(width)(y)]))
    y = L.GRU(64, return_sequences=True)(y)
    return keras.Model([signal, roads], L.Dense(3)(y)), {"loss": "mae"}


def crossings(case):
    """A detector: anchors at two scales, boxes and kinds joined over both."""
    x = keras.Input((96, 96, 3), name="street")
    y = x
    taken = []
    for width in (24, 48, 72, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
        taken.append(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        y = taken[-1]
    boxes, kinds = [], []
    for level in taken[-2:]:
        head = L.Conv2D(64, 3, padding="same", activation="relu")(level)
        boxes.append(L.Reshape((-1, 4))(L.Conv2D(6 * 4, 3, padding="same")(head)))
        kinds.append(L.Reshape((-1, 8))(L.Conv2D(6 * 8, 3, padding="same")(head)))
    ends = [L.Concatenate(axis=1, name="boxes")(boxes), L.Concatenate(axis=1, name="kinds")(kinds)]
    return keras.Model(x, ends), {
        "losses": {"boxes": "huber", "kinds": keras.losses.BinaryCrossentropy(from_logits=True)},
        "metrics": {"boxes": ["mae"]},
    }


def adverts(case):
    """DLRM: numbers below, tables beside, all pairs multiplied, a net on top."""
    numbers = keras.Input((16,), name="numbers")
    inputs, vectors = [numbers], [L.Dense(32, activation="relu")(L.Dense(128, activation="relu")(numbers))]
    for place in range(7):
        x = keras.Input((1,), dtype="int32", name="slot_%d" % place)
        inputs.append(x)
        vectors.append(L.Reshape((32,))(L.Embedding(4000 * (place + 1), 32)(x)))
    stacked = L.Concatenate(axis=1)([L.Reshape((1, 32))(each) for each in vectors])
    pairs = L.Flatten()(L.Dot(axes=2)([stacked, stacked]))
    y = L.Concatenate()([vectors[0], pairs])
    for width in (256, 128):
        y = L.Dense(width, activation="relu")(y)
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def invoices(case):
    """Words and a picture of a page to three answers."""
    words, page = keras.Input((60,), dtype="int32", name="words"), keras.Input((64, 48, 1), name="page")
    a = L.Bidirectional(L.GRU(48))(L.Embedding(6000, 48)(words))
    b = L.MaxPooling2D()(L.Conv2D(32, 3, activation="relu")(page))
    b = L.GlobalAveragePooling2D()(L.Conv2D(48, 3, activation="relu")(b))
    y = L.Dropout(0.3)(L.Dense(160, activation="relu")(L.Concatenate()([a, b])))
    ends = [
        L.Dense(40, activation="softmax", name="sender")(y),
        L.Dense(40, activation="softmax", name="account")(y),
        L.Dense(40, activation="softmax", name="month")(y),
    ]
    return keras.Model([words, page], ends), {
        "losses": dict.fromkeys(("sender", "account", "month"), "sparse_categorical_crossentropy"),
        "classes": 40,
        "metrics": {"sender": ["accuracy"]},
    }


def orchids(case):
    """A frozen MobileNetV2 below a new head."""
    base = keras.applications.MobileNetV2(input_shape=(96, 96, 3), include_top=False, weights=None, alpha=0.5)
    base.trainable = False
    x = keras.Input((96, 96, 3), name="flower")
    y = L.GlobalAveragePooling2D()(base(x, training=False))
    y = L.Dense(256, activation="relu")(L.Dropout(0.3)(y))
    return keras.Model(x, L.Dense(102, activation="softmax")(y)), {"classes": 102}


def vine(case):
    """Dense blocks: every layer reads all before it."""
    x = keras.Input((48, 48, 3), name="leaf")
    y = L.Conv2D(32, 3, padding="same")(x)
    for block in range(2):
        for _ in range(4):
            z = L.Conv2D(16, 3, padding="same", use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
            y = L.Concatenate()([y, z])
        y = L.AveragePooling2D(2)(L.Conv2D(48, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(y))))
    return keras.Model(x, L.Dense(25, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 25}


def tiles(case):
    """Separable convolutions with skips, as in Xception's middle."""
    x = keras.Input((56, 56, 3), name="tile")
    y = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(3):
        z = y
        for _ in range(2):
            z = L.SeparableConv2D(48, 3, padding="same", use_bias=False)(L.Activation("relu")(z))
            z = L.BatchNormalization()(z)
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(18, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 18}


def whales(case):
    """A spectrogram through convolutions, then a GRU along its time."""
    x = keras.Input((96, 48, 1), name="spectrogram")
    y = x
    for width in (24, 40):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D((2, 2))(L.BatchNormalization()(y))
    y = L.GRU(72)(L.Reshape((24, 12 * 40))(y))
    return keras.Model(x, L.Dense(11, activation="softmax")(y)), {"classes": 11}


def glyphs(case):
    """A vision transformer over patches of eight."""
    x = keras.Input((64, 64, 3), name="glyph")
    y = L.Reshape((64, 96))(L.Conv2D(96, 8, strides=8)(x))
    for _ in range(4):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 16, dropout=0.1)(z, z)])
        z = L.Dense(192, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(L.Dropout(0.1)(z))])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(60, activation="softmax")(y)), {"classes": 60}


def tides(case):
    """Two LSTMs over gauges, every hour predicted."""
    x = keras.Input((72, 12), name="gauges")
    y = L.LSTM(96, return_sequences=True)(x)
    y = L.LSTM(64, return_sequences=True, dropout=0.1)(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(4)(y)), {"loss": "huber"}


def recipes(case):
    """A large table, averaged, to many labels."""
    x = keras.Input((50,), dtype="int32", name="words")
    y = L.GlobalAveragePooling1D()(L.SpatialDropout1D(0.1)(L.Embedding(40000, 64)(x)))
    y = L.Dense(256, activation="relu")(y)
    return keras.Model(x, L.Dense(1500, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def poems(case):
    """Letters one after the other, two GRUs."""
    x = keras.Input((90,), dtype="int32", name="letters")
    y = L.Embedding(90, 48)(x)
    for _ in range(2):
        y = L.GRU(112, return_sequences=True)(y)
    return keras.Model(x, L.Dense(90)(y)), {"classes": 90, "logits": True, "highs": {"letters": 90}}


def galaxies(case):
    """Plain convolutions in pairs, as in VGG, with normalisation."""
    x = keras.Input((64, 64, 3), name="galaxy")
    y = x
    for width in (24, 48, 96):
        for _ in range(2):
            y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(width, 3, padding="same")(y)))
        y = L.MaxPooling2D()(y)
    y = L.Dropout(0.5)(L.Dense(256, activation="relu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(10, activation="softmax")(y)), {"classes": 10}


def bridges(case):
    """Wide layers with hardly any samples: weights weigh all."""
    x = keras.Input((600,), name="sensors")
    y = x
    for _ in range(3):
        y = L.Dense(1400, activation="selu")(y)
    return keras.Model(x, L.Dense(30)(y)), {"loss": "mse"}


def passages(case):
    """Where an answer begins and ends in 160 words."""
    x = keras.Input((160,), dtype="int32", name="words")
    y = L.Embedding(10000, 80)(x)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(5, 16)(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(80)(L.Dense(320, activation="relu")(y))]))
    ends = [L.Softmax(name=name)(L.Flatten()(L.Dense(1)(y))) for name in ("begin", "end")]
    return keras.Model(x, ends), {
        "losses": dict.fromkeys(("begin", "end"), "sparse_categorical_crossentropy"),
        "classes": 160,
    }


def voxels(case):
    """Solid things from voxels: strided convolutions, then classes."""
    x = keras.Input((28, 28, 28, 1), name="voxels")
    y = L.Conv3D(16, 5, strides=2, padding="same", activation="relu")(x)
    y = L.Conv3D(32, 3, padding="same", activation="relu")(y)
    y = L.Dense(128, activation="relu")(L.Flatten()(L.MaxPooling3D()(y)))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def rivers(case):
    """An autoencoder of series: strided convolutions down, transposed ones up."""
    x = keras.Input((512, 6), name="levels")
    y = x
    for width in (48, 64, 96):
        y = L.Conv1D(width, 9, strides=2, padding="same", activation="relu")(y)
    for width in (64, 48):
        y = L.Conv1DTranspose(width, 9, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv1DTranspose(6, 9, strides=2, padding="same")(y)), {"loss": "mse"}


def roofs(case):
    """Roofs in aerial pictures: down, up by repetition, joined."""
    x = keras.Input((80, 80, 3), name="aerial")
    skips, y = [], x
    for width in (16, 32, 48):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        skips.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Conv2D(64, 3, padding="same", activation="relu")(y)
    for width, skip in zip((48, 32, 16), reversed(skips)):
        y = L.Concatenate()([L.UpSampling2D()(y), skip])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(4, 1, activation="softmax")(y)), {"classes": 4}


def playlists(case):
    """Two towers: listeners and songs."""
    listener, song = keras.Input((30,), dtype="int32", name="heard"), keras.Input((1,), dtype="int32", name="song")
    table = L.Embedding(18000, 64)
    a = L.Dense(64)(L.Dense(192, activation="relu")(L.GlobalMaxPooling1D()(table(listener))))
    b = L.Dense(64)(L.Dense(192, activation="relu")(L.Flatten()(table(song))))
    y = L.Dot(axes=1, normalize=True)([a, b])
    return keras.Model([listener, song], y), {"loss": "mse"}


def premiums(case):
    """Columns as tokens through attention, numbers beside them."""
    numbers = keras.Input((20,), name="numbers")
    inputs, tokens = [numbers], []
    for place in range(8):
        x = keras.Input((1,), dtype="int32", name="column_%d" % place)
        inputs.append(x)
        tokens.append(L.Embedding(3000, 48)(x))
    y = L.Concatenate(axis=1)(tokens)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 12)(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(48)(L.Dense(192, activation="gelu")(y))]))
    y = L.Concatenate()([L.Flatten()(y), L.LayerNormalization()(numbers)])
    y = L.Dense(128, activation="relu")(L.Dense(512, activation="relu")(y))
    return keras.Model(inputs, L.Dense(1)(y)), {"loss": "mse"}


def poses(case):
    """An hourglass: maps of fourteen joints, twice."""

    def residual(y, width):
        z = L.Conv2D(width // 2, 1, activation="relu")(y)
        z = L.Conv2D(width // 2, 3, padding="same", activation="relu")(z)
        return L.Add()([L.Conv2D(width, 1)(z), L.Conv2D(width, 1)(y)])

    x = keras.Input((64, 64, 3), name="person")
    y = L.MaxPooling2D()(L.Conv2D(32, 7, strides=1, padding="same", activation="relu")(x))
    maps = []
    for number in range(2):
        up = residual(y, 64)
        low = residual(residual(L.MaxPooling2D()(y), 64), 64)
        y = L.Add()([up, L.UpSampling2D()(low)])
        maps.append(L.Conv2D(14, 1, name="joints_%d" % number)(y))
    return keras.Model(x, maps), {"losses": {"joints_0": "mse", "joints_1": "mse"}}


def commands(case):
    """Spoken words: separable convolutions in one dimension."""
    x = keras.Input((200, 40), name="mel")
    y = x
    for width, kernel in ((96, 11), (96, 11), (128, 13)):
        y = L.SeparableConv1D(width, kernel, padding="same", use_bias=False)(y)
        y = L.Dropout(0.1)(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(35, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 35}


def squares(case):
    """ConvMixer: depthwise and pointwise convolutions in turn."""
    x = keras.Input((64, 64, 3), name="square")
    y = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(96, 4, strides=4)(x)))
    for _ in range(3):
        z = L.BatchNormalization()(L.Activation("gelu")(L.DepthwiseConv2D(5, padding="same")(y)))
        y = L.Add()([y, z])
        y = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(96, 1)(y)))
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 20}


def neighbours(case):
    """Words and the words beside them: two large tables and a product."""
    a, b = keras.Input((1,), dtype="int32", name="word"), keras.Input((6,), dtype="int32", name="beside")
    y = L.Dot(axes=2)([L.Embedding(30000, 80)(a), L.Embedding(30000, 80)(b)])
    return keras.Model([a, b], L.Activation("sigmoid")(L.Flatten()(y))), {"loss": "binary_crossentropy"}


def stems(case):
    """Music to four stems: a mask for each, from strided and transposed convolutions."""
    x = keras.Input((64, 128, 2), name="mixture")
    a = L.LeakyReLU()(L.BatchNormalization()(L.Conv2D(24, 5, strides=2, padding="same")(x)))
    b = L.LeakyReLU()(L.BatchNormalization()(L.Conv2D(48, 5, strides=2, padding="same")(a)))
    y = L.Conv2DTranspose(24, 5, strides=2, padding="same", activation="relu")(b)
    y = L.Dropout(0.2)(L.BatchNormalization()(y))
    y = L.Conv2DTranspose(8, 5, strides=2, padding="same", activation="sigmoid")(L.Concatenate()([y, a]))
    return keras.Model(x, y), {"loss": "mae"}


class Gate(L.Layer):
    """Half of the features gate the others."""

    def __init__(self, width, **options):
        super().__init__(**options)
        self.width = width

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(int(shape[-1]), 2 * self.width))
        self.scale = self.add_weight(name="scale", shape=(self.width,), initializer="ones")
        super().build(shape)

    def call(self, inputs):
        a, b = tf.split(tf.tensordot(inputs, self.kernel, 1), 2, axis=-1)
        y = a * tf.sigmoid(b)
        return self.scale * y * tf.math.rsqrt(tf.reduce_mean(tf.square(y), -1, keepdims=True) + 1e-6)


def gates(case):
    """Layers of the user's own over a sequence."""
    x = keras.Input((64, 40), name="signals")
    y = Gate(128)(x)
    for _ in range(2):
        y = L.Add()([y, Gate(128)(y)])
    return keras.Model(x, L.Dense(12, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 12}


class Messages(L.Layer):
    """Each atom takes the sum of what its neighbours say."""

    def __init__(self, width, **options):
        super().__init__(**options)
        self.say, self.take = L.Dense(width, activation="relu"), L.Dense(width)

    def build(self, shapes):
        self.say.build(shapes[0])
        self.take.build(tuple(shapes[0][:-1]) + (shapes[0][-1] + self.say.units,))
        super().build(shapes)

    def call(self, inputs):
        atoms, bonds = inputs
        heard = tf.matmul(bonds, self.say(atoms))
        return tf.nn.relu(self.take(tf.concat([atoms, heard], -1)))


def crystals(case):
    """A graph net of the user's own layers."""
    atoms, bonds = keras.Input((50, 32), name="atoms"), keras.Input((50, 50), name="bonds")
    y = atoms
    for _ in range(3):
        y = Messages(96)([y, bonds])
    return keras.Model([atoms, bonds], L.Dense(1)(L.GlobalMaxPooling1D()(y))), {"loss": "mae"}


class Routes(keras.Model):
    """Stops to stops: subclassed encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.table = L.Embedding(4000, 72)
        self.before, self.after = L.GRU(96, return_sequences=True), L.GRU(96, return_sequences=True)
        self.look, self.end = L.MultiHeadAttention(3, 32), L.Dense(4000)

    def call(self, inputs):
        y = self.before(self.table(tf.cast(inputs, tf.int32)))
        return self.end(self.after(y + self.look(y, y)))


def routes(case):
    """Subclassed, with a compiled loss."""
    return Routes(), {"classes": 4000, "logits": True, "inputs": {"stops": (30,)}, "targets": (30,)}


class Draw(L.Layer):
    """A draw from a normal distribution, with the divergence added as a loss."""

    def call(self, inputs):
        mean, spread = tf.split(inputs, 2, axis=-1)
        self.add_loss(-0.0005 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread)))
        return mean + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(mean))


def portraits(case):
    """A variational autoencoder with convolutions and a layer that draws."""
    x = keras.Input((48, 48, 3), name="portrait")
    y = x
    for width in (32, 64):
        y = L.Conv2D(width, 4, strides=2, padding="same", activation="relu")(y)
    y = Draw()(L.Dense(96)(L.Flatten()(y)))
    y = L.Reshape((12, 12, 48))(L.Dense(12 * 12 * 48, activation="relu")(y))
    for width in (48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 3, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


class Seats(keras.Model):
    """A small residual net, subclassed."""

    def __init__(self):
        super().__init__()
        self.stem = L.Conv2D(32, 3, padding="same")
        self.pairs = [[L.Conv2D(32, 3, padding="same", use_bias=False) for _ in range(2)] for _ in range(3)]
        self.norms = [[L.BatchNormalization() for _ in range(2)] for _ in range(3)]
        self.end = L.Dense(8, activation="softmax")

    def call(self, inputs, training=False):
        y = self.stem(inputs)
        for pair, norms in zip(self.pairs, self.norms):
            z = y
            for layer, norm in zip(pair, norms):
                z = tf.nn.relu(norm(layer(z), training=training))
            y = y + z
        return self.end(tf.reduce_mean(y, [1, 2]))


def seats(case):
    """Subclassed residual net with a compiled loss."""
    return Seats(), {"classes": 8, "inputs": {"seats": (40, 40, 3)}, "targets": ()}


class Sketches(keras.Model):
    """Two nets against each other, with Wasserstein's loss and a penalty on gradients."""

    def __init__(self, pen, critic):
        super().__init__()
        self.pen, self.critic = pen, critic

    def call(self, inputs):
        return self.critic(inputs)

    def compile(self, first, second):
        super().compile(optimizer=first)
        self.second = second
        self.second.build(self.critic.trainable_variables)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = tf.random.normal([tf.shape(real)[0], 48])
        with tf.GradientTape() as tape:
            drawn = self.pen(noise, training=True)
            share = tf.random.uniform([tf.shape(real)[0], 1, 1, 1])
            between = share * real + (1.0 - share) * drawn
            with tf.GradientTape() as inner:
                inner.watch(between)
                said = self.critic(between, training=True)
            slope = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(said, between)), [1, 2, 3]) + 1e-8)
            apart = tf.reduce_mean(self.critic(drawn, training=True)) - tf.reduce_mean(self.critic(real, training=True))
            loss = apart + 10.0 * tf.reduce_mean(tf.square(slope - 1.0))
        weights = self.critic.trainable_variables
        self.second.apply_gradients(zip(tape.gradient(loss, weights), weights))
        with tf.GradientTape() as tape:
            cheat = -tf.reduce_mean(self.critic(self.pen(noise, training=True), training=True))
        weights = self.pen.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(cheat, weights), weights))
        return {"loss": loss, "cheat": cheat}


def sketches(case):
    """A GAN with a gradient penalty in a train_step of its own."""
    noise = keras.Input((48,))
    y = L.Reshape((8, 8, 64))(L.Dense(8 * 8 * 64, activation="relu")(noise))
    for width in (48, 24):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D()(y))
    pen = keras.Model(noise, L.Conv2D(1, 3, padding="same", activation="tanh")(y))
    sketch = keras.Input((32, 32, 1))
    y = sketch
    for width in (32, 64):
        y = L.LeakyReLU()(L.Conv2D(width, 5, strides=2, padding="same")(y))
    model = Sketches(pen, keras.Model(sketch, L.Dense(1)(L.Flatten()(y))))
    model.compile(case["make_optimizer"](), case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"sketches": (32, 32, 1)}, "targets": None}
