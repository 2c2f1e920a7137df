"""Models of predictions.py's twenty-seventh set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def mandolins(case):
    """A tone's waveform to its instrument: strided filters, ever narrower in time."""
    x = keras.Input((4096, 1), name="wave")
    y = x
    for width, size in ((32, 64), (48, 16), (64, 8), (96, 4)):
        y = L.Conv1D(width, size, strides=4, padding="same", use_bias=False)(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
    y = L.Dropout(0.3)(L.GlobalAveragePooling1D()(y))
    return keras.Model(x, L.Dense(11, activation="softmax")(y)), {"classes": 11}


def panes(case):
    """Tiles of a picture mixed by dense layers over place, then over depth."""
    x = keras.Input((72, 72, 3), name="tiles")
    y = L.Reshape((81, 96))(L.Conv2D(96, 8, strides=8)(x))
    for _ in range(5):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(81)(L.Dense(128, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(256, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(30)(y)), {"classes": 30, "logits": True}


def melons(case):
    """Ripe or not, and how heavy: one trunk of plain convolutions, two ends."""
    x = keras.Input((80, 80, 3), name="fruit")
    y = x
    for width in (24, 40, 56, 72):
        y = L.Conv2D(width, 3, padding="same", activation="elu")(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Dense(200, activation="elu")(L.Flatten()(y))
    ends = [L.Dense(1, activation="sigmoid", name="ripe")(y), L.Dense(1, name="weight")(y)]
    return keras.Model(x, ends), {"losses": {"ripe": "binary_crossentropy", "weight": "mae"}}


def nuggets(case):
    """Ore in a block of ground: a small residual net in space."""
    x = keras.Input((28, 28, 28, 1), name="ground")
    y = L.Conv3D(16, 3, strides=2, padding="same")(x)
    for width in (16, 32):
        z = L.Activation("relu")(L.BatchNormalization()(y))
        z = L.Conv3D(width, 3, padding="same", activation="relu")(z)
        z = L.Conv3D(width, 3, padding="same")(z)
        y = L.AveragePooling3D(2)(L.Add()([z, L.Conv3D(width, 1)(y)]))
    y = L.Dense(64, activation="relu")(L.GlobalMaxPooling3D()(y))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}


def obelisks(case):
    """Very deep and narrow: eighty dense layers of a few units, a way past every second one."""
    x = keras.Input((60,), name="marks")
    y = L.Dense(40, activation="tanh")(x)
    for _ in range(40):
        z = L.Dense(40)(L.Dense(40, activation="relu")(y))
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(3)(y)), {"loss": "mse"}


def walruses(case):
    """An animal in the water or not: one blurred and one sharp branch of a photo, then joined."""
    sharp = keras.Input((64, 64, 3), name="sharp")
    blurred = keras.Input((32, 32, 3), name="blurred")
    ends = []
    for y, widths in ((sharp, (16, 32, 64)), (blurred, (32, 64))):
        for width in widths:
            y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
            y = L.MaxPooling2D(2)(L.BatchNormalization()(y))
        ends.append(y)
    y = L.Conv2D(96, 3, activation="relu")(L.Concatenate()(ends))
    y = L.Dense(128, activation="relu")(L.Flatten()(y))
    return keras.Model([sharp, blurred], L.Dense(8, activation="softmax")(y)), {"classes": 8}


def minarets(case):
    """Dense blocks of a picture: every layer sees all earlier ones of its floor."""
    x = keras.Input((56, 56, 3), name="view")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    for floor in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            y = L.Concatenate()([y, L.Conv2D(12, 3, padding="same", use_bias=False)(z)])
        if floor < 2:
            y = L.AveragePooling2D(2)(L.Conv2D(40, 1, use_bias=False)(y))
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(45, activation="softmax")(y)), {"classes": 45}


def pastures(case):
    """Field or hedge, pixel by pixel: a net shaped like a U with separable filters."""
    x = keras.Input((80, 80, 4), name="field")
    y, across = x, []
    for width in (16, 32, 48):
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(y)
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.SeparableConv2D(64, 3, padding="same", activation="relu")(y)
    for width, other in zip((48, 32, 16), reversed(across)):
        y = L.Concatenate()([L.UpSampling2D(2, interpolation="bilinear")(y), other])
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(7, 1, activation="softmax")(y)), {"classes": 7}


def snacks(case):
    """Tastes of people for goods: two tables whose rows are multiplied, and a deep side."""
    person = keras.Input((1,), dtype="int32", name="person")
    good = keras.Input((1,), dtype="int32", name="good")
    a = L.Flatten()(L.Embedding(40000, 48)(person))
    b = L.Flatten()(L.Embedding(15000, 48)(good))
    y = L.Concatenate()([a, b])
    for width in (256, 128, 64):
        y = L.Dropout(0.2)(L.Dense(width, activation="relu")(y))
    y = L.Concatenate()([L.Multiply()([a, b]), y])
    y = L.Dense(1, activation="sigmoid")(y)
    return keras.Model([person, good], y), {
        "loss": "binary_crossentropy",
        "highs": {"person": 40000, "good": 15000},
    }


def saplings(case):
    """Growth day by day: three stacked GRUs, a number for every day."""
    x = keras.Input((90, 14), name="days")
    y = x
    for width in (128, 96, 64):
        y = L.GRU(width, return_sequences=True)(y)
    return keras.Model(x, L.Dense(1)(L.Dense(32, activation="relu")(y))), {"loss": "mse"}


def rosters(case):
    """A name for every word of a text: letters by filters, words by a table, an LSTM both ways."""
    words = keras.Input((40,), dtype="int32", name="words")
    letters = keras.Input((40, 12), dtype="int32", name="letters")
    y = L.Embedding(90, 24)(letters)
    y = L.TimeDistributed(L.Conv1D(32, 3, padding="same", activation="relu"))(y)
    y = L.TimeDistributed(L.GlobalMaxPooling1D())(y)
    y = L.Concatenate()([y, L.Embedding(14000, 80)(words)])
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(L.SpatialDropout1D(0.2)(y))
    return keras.Model([words, letters], L.Dense(17, activation="softmax")(y)), {
        "classes": 17,
        "highs": {"words": 14000, "letters": 90},
    }


def sandals(case):
    """A frozen base of convolutions, its maps flattened under a wide new head."""
    inner = keras.Input((72, 72, 3))
    y = inner
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    base = keras.Model(inner, y, name="base")
    base.trainable = False
    x = keras.Input((72, 72, 3), name="shoe")
    y = L.Dropout(0.5)(L.Flatten()(base(x)))
    y = L.Dense(256, activation="relu")(y)
    return keras.Model(x, L.Dense(16, activation="softmax")(y)), {"classes": 16}


def sextants(case):
    """Where a ship will be: dilated filters that look back only, gated, with skips summed."""
    x = keras.Input((256, 5), name="track")
    y, skips = L.Conv1D(48, 1)(x), []
    for rate in (1, 2, 4, 8, 16, 32):
        a = L.Conv1D(48, 2, padding="causal", dilation_rate=rate, activation="tanh")(y)
        b = L.Conv1D(48, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(48, 1)(z)])
    y = L.Conv1D(64, 1, activation="relu")(L.Activation("relu")(L.Add()(skips)))
    return keras.Model(x, L.Conv1D(2, 1)(y)), {"loss": "mae"}


def tambourines(case):
    """Pictures of sound folded to a code and unfolded by transposed filters."""
    x = keras.Input((64, 96, 1), name="beats")
    y = x
    for width in (16, 32, 64):
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
    y = L.Dense(64, name="code")(L.Flatten()(y))
    y = L.Reshape((8, 12, 32))(L.Dense(3072, activation="relu")(y))
    for width in (48, 24, 12):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {
        "loss": "binary_crossentropy"
    }


def twins(case):
    """Two short texts through one shared reader, then the kind of tie between them."""
    text = keras.Input((36,), dtype="int32", name="text")
    y = L.Embedding(9000, 72)(text)
    y = L.Bidirectional(L.LSTM(64, return_sequences=True))(y)
    reader = keras.Model(text, L.GlobalMaxPooling1D()(y), name="reader")
    one = keras.Input((36,), dtype="int32", name="one")
    two = keras.Input((36,), dtype="int32", name="two")
    a, b = reader(one), reader(two)
    y = L.Concatenate()([a, b, L.Subtract()([a, b]), L.Multiply()([a, b])])
    y = L.Dense(200, activation="relu")(y)
    return keras.Model([one, two], L.Dense(3, activation="softmax")(y)), {
        "classes": 3,
        "highs": {"one": 9000, "two": 9000},
    }


def squalls(case):
    """Rain maps to the next one: recurrent layers that fold in the plane."""
    x = keras.Input((8, 32, 32, 1), name="rain")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(12, 3, padding="same")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same")(y)), {"loss": "mse"}


def violas(case):
    """The next note of a tune: norms after attention, a very wide layer between."""
    x = keras.Input((128,), dtype="int32", name="notes")
    y = L.Embedding(400, 96)(x)
    for _ in range(3):
        z = L.MultiHeadAttention(3, 32)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.Dense(96)(L.Dense(512, activation="relu")(y))
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
    return keras.Model(x, L.Dense(400)(y)), {"classes": 400, "logits": True, "highs": {"notes": 400}}


def mutants(case):
    """Very wide: few dense layers of thousands of units on a row of genes."""
    x = keras.Input((2000,), name="genes")
    y = L.Dropout(0.1)(L.Dense(2400, activation="relu")(L.BatchNormalization()(x)))
    y = L.Dense(1200, activation="relu")(y)
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}


def wharves(case):
    """Blocks that widen, fold by depth and narrow again, with a gate for every channel."""
    x = keras.Input((96, 96, 3), name="harbour")
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    for width, strides in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (64, 2)):
        z = L.Conv2D(y.shape[-1] * 4, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        gate = L.GlobalAveragePooling2D(keepdims=True)(z)
        gate = L.Conv2D(z.shape[-1], 1, activation="sigmoid")(L.Conv2D(8, 1, activation="swish")(gate))
        z = L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, gate]))
        z = L.BatchNormalization()(z)
        y = L.Add()([y, z]) if y.shape[-1] == width and strides == 1 else z
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(50, activation="softmax")(y)), {"classes": 50}


def zithers(case):
    """A song's frames asked by a few words of a query: attention across two inputs."""
    frames = keras.Input((120, 40), name="frames")
    query = keras.Input((16,), dtype="int32", name="query")
    y = L.Conv1D(96, 5, strides=2, padding="same", activation="relu")(frames)
    z = L.Embedding(3000, 96)(query)
    for _ in range(3):
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, y)]))
        z = L.Add()([z, L.Dense(96)(L.Dense(288, activation="gelu")(z))])
    z = L.GlobalAveragePooling1D()(L.LayerNormalization()(z))
    return keras.Model([frames, query], L.Dense(22, activation="softmax")(z)), {
        "classes": 22,
        "highs": {"query": 3000},
    }
