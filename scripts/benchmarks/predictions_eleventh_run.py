"""Described models of predictions.py's eleventh set, for peaks and for the largest batch, predicted and tried: small
ones, written when the order of a step of `fit` was read from real graphs, by one who knew the code. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def abbeys(case):
    """Words that look at each other, and what each of them is."""
    x = keras.Input((40,), dtype="int32", name="words")
    y = L.Embedding(1800, 72)(x)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 12)(z, z)])
        z = L.Dense(216, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(72)(z)])
    facts = {"classes": 30, "highs": {"words": 1800}}
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), facts


def ballads(case):
    """A line of words turned into another line: an encoder's state begins a decoder."""
    x = keras.Input((24,), dtype="int32", name="line")
    z = keras.Input((20,), dtype="int32", name="other")
    _, state = L.GRU(96, return_state=True)(L.Embedding(1500, 64)(x))
    y = L.GRU(96, return_sequences=True)(L.Embedding(1200, 64)(z), initial_state=state)
    facts = {"classes": 1200, "highs": {"line": 1500, "other": 1200}}
    return keras.Model([x, z], L.Dense(1200, activation="softmax")(y)), facts


def candles(case):
    """Sounds through dilated convolutions with skips."""
    x = keras.Input((640, 2), name="sound")
    y = L.Conv1D(36, 5, padding="same", activation="relu")(x)
    for rate in (1, 2, 4):
        z = L.Conv1D(36, 3, dilation_rate=rate, padding="same", activation="relu")(y)
        y = L.Add()([y, L.Conv1D(36, 1)(z)])
    return keras.Model(x, L.Dense(14, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 14}


def dairies(case):
    """Small volumes, pooled twice."""
    x = keras.Input((20, 20, 20, 1), name="milk")
    y = L.MaxPooling3D(2)(L.Conv3D(16, 3, padding="same", activation="relu")(x))
    y = L.MaxPooling3D(2)(L.Conv3D(32, 3, padding="same", activation="relu")(y))
    y = L.Dense(64, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(5, activation="softmax")(y)), {"classes": 5}


def envelopes(case):
    """Are two pictures of one hand? The same net reads both."""
    x = keras.Input((44, 44, 1))
    y = L.MaxPooling2D(2)(L.Conv2D(24, 5, activation="relu")(x))
    y = L.MaxPooling2D(2)(L.Conv2D(48, 3, activation="relu")(y))
    net = keras.Model(x, L.Dense(64)(L.Flatten()(y)), name="hand")
    a, b = keras.Input((44, 44, 1), name="a"), keras.Input((44, 44, 1), name="b")
    apart = L.Subtract()([net(a), net(b)])
    y = L.Dense(24, activation="relu")(L.Multiply()([apart, apart]))
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def falcons(case):
    """What is at each cell of a picture, and where in it."""
    x = keras.Input((72, 72, 3), name="sky")
    y = x
    for width in (16, 32, 48):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    kinds = L.Conv2D(8, 3, padding="same", activation="softmax", name="kinds")(y)
    boxes = L.Conv2D(4, 3, padding="same", name="boxes")(y)
    facts = {"losses": {"kinds": "sparse_categorical_crossentropy", "boxes": "mse"}, "outs": {"kinds": 8}}
    return keras.Model(x, [kinds, boxes]), facts


def garages(case):
    """Numbers, from which a price and a kind are told."""
    x = keras.Input((64,), name="car")
    y = L.Dropout(0.1)(L.Dense(320, activation="relu")(L.Dense(384, activation="relu")(x)))
    price = L.Dense(1, name="worth")(L.Dense(96, activation="relu")(y))
    kind = L.Dense(40, activation="softmax", name="make")(L.Dense(160, activation="tanh")(y))
    facts = {"losses": {"make": "sparse_categorical_crossentropy", "worth": "mse"}, "outs": {"make": 40}}
    return keras.Model(x, [price, kind]), facts


def hedges(case):
    """A base that does not learn, below a head that does."""
    x = keras.Input((56, 56, 3))
    y = x
    for width in (24, 48, 72):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same")(y)))
    base = keras.Model(x, y, name="base")
    base.trainable = False
    x = keras.Input((56, 56, 3), name="hedge")
    y = L.Conv2D(64, 3, padding="same", activation="relu")(base(x))
    y = L.Dense(128, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(9, activation="softmax")(y)), {"classes": 9}


def islands(case):
    """A picture whose halves are told apart: down and up again with skips."""
    x = keras.Input((56, 56, 2), name="island")
    skips, y = [], x
    for width in (12, 24):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        skips.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(48, 3, padding="same", activation="relu")(y)
    for width, skip in zip((24, 12), reversed(skips)):
        y = L.Concatenate()([L.Conv2DTranspose(width, 2, strides=2, activation="relu")(y), skip])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def jackets(case):
    """Blocks of four convolutions that all read what was before."""
    x = keras.Input((48, 48, 3), name="coat")
    y = L.Conv2D(20, 3, strides=2, padding="same")(x)
    for _ in range(4):
        z = L.Conv2D(12, 3, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
        y = L.Concatenate()([y, z])
    y = L.GlobalAveragePooling2D()(L.ReLU()(y))
    return keras.Model(x, L.Dense(16, activation="softmax")(y)), {"classes": 16}


def kettles(case):
    """Kinds of many sorts, looked up and multiplied with numbers."""
    numbers = keras.Input((24,), name="numbers")
    inputs, parts = [numbers], [L.Dense(48, activation="relu")(numbers)]
    for name, size in (("shop", 8000), ("town", 3000), ("brand", 1200)):
        kind = keras.Input((1,), dtype="int32", name=name)
        inputs.append(kind)
        parts.append(L.Flatten()(L.Embedding(size, 48)(kind)))
    pairs = [L.Dot(1)([a, b]) for at, a in enumerate(parts) for b in parts[:at]]
    y = L.Dense(256, activation="relu")(L.Concatenate()([*parts, *pairs]))
    y = L.Dense(1, activation="sigmoid")(L.Dense(96, activation="relu")(y))
    highs = {"shop": 8000, "town": 3000, "brand": 1200}
    return keras.Model(inputs, y), {"loss": "binary_crossentropy", "highs": highs}


def lockers(case):
    """Readings through a convolution and a loop in both directions."""
    x = keras.Input((60, 10), name="reading")
    y = L.Conv1D(48, 5, padding="same", activation="relu")(x)
    y = L.Bidirectional(L.LSTM(40, return_sequences=True))(L.MaxPooling1D(2)(y))
    y = L.Dense(64, activation="relu")(L.GlobalAveragePooling1D()(y))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}


def pavements(case):
    """Squares mixed along places and along features."""
    x = keras.Input((48, 48, 3), name="pavement")
    y = L.Reshape((36, 80))(L.Conv2D(80, 8, strides=8)(x))
    for _ in range(3):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(36)(L.Dense(72, activation="relu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(160, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(80)(z)])
    return keras.Model(x, L.Dense(12, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 12}


def needles(case):
    """Noise is made a picture."""
    x = keras.Input((48,), name="noise")
    y = L.Reshape((9, 9, 64))(L.Dense(9 * 9 * 64, activation="relu")(x))
    for width in (48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(3, 5, padding="same", activation="tanh")(y)), {"loss": "mse"}
