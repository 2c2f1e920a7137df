"""Described models of predictions.py's tenth set, for peaks and for the largest batch, predicted and tried: small
ones, written when `fit` asked its pool for the very limit, by one who knew the code. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def windmills(case):
    """A net of plain convolutions, wider as it goes."""
    x = keras.Input((60, 60, 3), name="mill")
    y = x
    for width in (24, 40, 56):
        y = L.Conv2D(width, 3, activation="relu")(y)
        y = L.AveragePooling2D(2)(L.BatchNormalization()(y))
    return keras.Model(x, L.Dense(12, activation="softmax")(L.Flatten()(y))), {"classes": 12}


def harpists(case):
    """Notes that are heard forwards and backwards."""
    x = keras.Input((36,), dtype="int32", name="notes")
    y = L.Embedding(900, 64)(x)
    y = L.Bidirectional(L.GRU(56, return_sequences=True))(y)
    facts = {"classes": 900, "highs": {"notes": 900}}
    return keras.Model(x, L.Dense(900, activation="softmax")(y)), facts


def dunes(case):
    """A picture, and what each of its points is."""
    x = keras.Input((48, 48, 3), name="dune")
    a = L.Conv2D(20, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(40, 3, strides=2, padding="same", activation="relu")(a)
    c = L.Conv2D(80, 3, strides=2, padding="same", activation="relu")(b)
    y = L.Concatenate()([L.UpSampling2D()(c), b])
    y = L.Conv2D(40, 3, padding="same", activation="relu")(y)
    y = L.Concatenate()([L.UpSampling2D()(y), a])
    return keras.Model(x, L.Conv2D(6, 1, activation="softmax")(y)), {"classes": 6}


def auctions(case):
    """Numbers and kinds, crossed and deep."""
    numbers = keras.Input((20,), name="numbers")
    kinds = keras.Input((6,), dtype="int32", name="kinds")
    y = L.Concatenate()([L.Flatten()(L.Embedding(5000, 16)(kinds)), numbers])
    deep = L.Dense(384, activation="relu")(y)
    deep = L.Dropout(0.1)(L.Dense(192, activation="relu")(deep))
    cross = L.Multiply()([L.Dense(116)(y), y])
    y = L.Concatenate()([deep, cross])
    return keras.Model([numbers, kinds], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def sermons(case):
    """Words that look at each other, twice."""
    x = keras.Input((48,), dtype="int32", name="words")
    y = L.Embedding(2500, 80)(x)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(5, 16)(y, y)]))
        z = L.Dense(80)(L.Dense(240, activation="relu")(y))
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Dropout(0.2)(L.GlobalAveragePooling1D()(y))
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25, "highs": {"words": 2500}}


def orchards(case):
    """Depthwise convolutions between narrow ones, with skips."""
    x = keras.Input((64, 64, 3), name="tree")
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(3):
        z = L.Conv2D(64, 1, activation="relu")(y)
        z = L.DepthwiseConv2D(5, padding="same", activation="relu")(z)
        y = L.Add()([y, L.BatchNormalization()(L.Conv2D(16, 1)(z))])
    return keras.Model(x, L.Dense(7, activation="softmax")(L.GlobalMaxPooling2D()(y))), {"classes": 7}


def gauges(case):
    """The next reading of many gauges."""
    x = keras.Input((72, 12), name="gauge")
    y = L.LSTM(72, return_sequences=True)(x)
    y = L.Dense(48, activation="relu")(y)
    return keras.Model(x, L.Dense(12)(L.GlobalAveragePooling1D()(y))), {"loss": "mse"}


def chapels(case):
    """A picture made small and large again."""
    x = keras.Input((40, 40, 3), name="chapel")
    y = L.Conv2D(32, 4, strides=2, padding="same", activation="relu")(x)
    y = L.Conv2D(64, 4, strides=2, padding="same", activation="relu")(y)
    y = L.Dense(64, activation="relu")(L.Flatten()(y))
    y = L.Reshape((10, 10, 48))(L.Dense(4800, activation="relu")(y))
    y = L.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu")(y)
    y = L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "mse"}


def ledges(case):
    """Rows of numbers, with skips and norms."""
    x = keras.Input((90,), name="row")
    y = L.Dense(320)(x)
    for _ in range(4):
        z = L.Dense(320, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(320)(z))])
    return keras.Model(x, L.Dense(3)(y)), {"loss": "mse"}


def creeks(case):
    """Sounds through strided convolutions."""
    x = keras.Input((1600, 1), name="sound")
    y = x
    for width in (24, 48, 72):
        y = L.Conv1D(width, 9, strides=3, padding="same")(y)
        y = L.ReLU()(L.BatchNormalization()(y))
    y = L.GlobalAveragePooling1D()(y)
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}
