"""Described models of predictions.py's ninth set, for peaks and for the largest batch: small ones, written when
`Dot` and the order of short steps had been mended, by one who knew the code. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def bakeries(case):
    """A table of eight kinds and some numbers."""
    kinds = [keras.Input((1,), dtype="int32", name=f"kind_{place}") for place in range(8)]
    numbers = keras.Input((12,), name="numbers")
    y = [L.Flatten()(L.Embedding(4000, 24)(each)) for each in kinds]
    y = L.Concatenate()([*y, L.BatchNormalization()(numbers)])
    for width in (256, 128):
        y = L.Dropout(0.2)(L.BatchNormalization()(L.Dense(width, activation="relu")(y)))
    return keras.Model([*kinds, numbers], L.Dense(1)(y)), {"loss": "mse"}


def kites(case):
    """Inverted residuals with a gate for each channel."""

    def gated(y, width):
        g = L.Dense(width // 4, activation="relu")(L.GlobalAveragePooling2D()(y))
        return L.Multiply()([y, L.Reshape((1, 1, width))(L.Dense(width, activation="sigmoid")(g))])

    x = keras.Input((56, 56, 3), name="kite")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(3):
        z = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(96, 1, use_bias=False)(y)))
        z = L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(z))
        y = L.Add()([y, L.Conv2D(24, 1)(gated(z, 96))])
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 9}


def freights(case):
    """Measured loads through dilated causal convolutions."""
    x = keras.Input((160, 6), name="load")
    y = L.Conv1D(48, 1)(x)
    for rate in (1, 2, 4, 8):
        z = L.Conv1D(48, 3, padding="causal", dilation_rate=rate, activation="relu")(y)
        y = L.Add()([y, L.SpatialDropout1D(0.1)(L.Conv1D(48, 3, padding="causal", activation="relu")(z))])
    return keras.Model(x, L.Dense(6)(y)), {"loss": "mse"}


def gloves(case):
    """Two towers, compared by the cosine of what they find."""
    left = keras.Input((20,), dtype="int32", name="left")
    right = keras.Input((20,), dtype="int32", name="right")
    table = L.Embedding(6000, 48)
    ends = []
    for tokens in (left, right):
        y = L.Conv1D(96, 3, activation="relu")(table(tokens))
        ends.append(L.Dense(64)(L.GlobalMaxPooling1D()(y)))
    y = L.Dot(1, normalize=True)(ends)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def lyrics(case):
    """The next word of a line, by a GRU."""
    x = keras.Input((28,), dtype="int32", name="line")
    y = L.GRU(128, return_sequences=True)(L.Embedding(3000, 96)(x))
    return keras.Model(x, L.Dense(3000, activation="softmax")(L.Dropout(0.3)(y))), {"classes": 3000}


def domes(case):
    """Squares of a picture that look at each other."""
    x = keras.Input((48, 48, 3), name="dome")
    y = L.Reshape((64, 72))(L.Conv2D(72, 6, strides=6)(x))
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 18)(z, z)])
        z = L.Dense(144, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(72)(z)])
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 20}


def reefs(case):
    """Which points of a picture are coral."""

    def pair(y, width):
        y = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        return L.Conv2D(width, 3, padding="same", activation="relu")(y)

    x = keras.Input((64, 64, 3), name="reef")
    a = pair(x, 16)
    b = pair(L.MaxPooling2D()(a), 32)
    c = pair(L.MaxPooling2D()(b), 64)
    y = pair(L.Concatenate()([L.Conv2DTranspose(32, 2, strides=2)(c), b]), 32)
    y = pair(L.Concatenate()([L.Conv2DTranspose(16, 2, strides=2)(y), a]), 16)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def clocks(case):
    """Two LSTMs over readings."""
    x = keras.Input((48, 10), name="reading")
    y = L.LSTM(80, return_sequences=True)(x)
    y = L.LSTM(80)(L.Dropout(0.2)(y))
    return keras.Model(x, L.Dense(4)(L.Dense(40, activation="tanh")(y))), {"loss": "mse"}


def barns(case):
    """A residual net with narrow middles."""
    x = keras.Input((64, 64, 3), name="barn")
    y = L.Conv2D(32, 5, strides=2, padding="same")(x)
    for width, stride in ((32, 1), (48, 2), (64, 2)):
        z = L.ReLU()(L.BatchNormalization()(y))
        s = L.Conv2D(4 * width, 1, strides=stride)(z)
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 1, strides=stride)(z)))
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same")(z)))
        y = L.Add()([s, L.Conv2D(4 * width, 1)(z)])
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(11, activation="softmax")(y)), {"classes": 11}


def caverns(case):
    """Volumes, by convolutions with strides."""
    x = keras.Input((24, 24, 24, 2), name="cavern")
    y = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    y = L.Conv3D(32, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Conv3D(48, 3, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling3D()(y))), {"classes": 5}


def looms(case):
    """A wide code and back."""
    x = keras.Input((1200,), name="weave")
    y = x
    for width in (640, 160, 640):
        y = L.Dense(width, activation="selu")(y)
    return keras.Model(x, L.Dense(1200)(y)), {"loss": "mse"}


def cellars(case):
    """Words seen through windows of three widths."""
    x = keras.Input((60,), dtype="int32", name="note")
    y = L.Embedding(3000, 80)(x)
    ends = [L.GlobalMaxPooling1D()(L.Conv1D(96, size, activation="relu")(y)) for size in (3, 4, 5)]
    y = L.Dropout(0.5)(L.Concatenate()(ends))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def mills(case):
    """What was said, weighed by what is asked."""
    said = keras.Input((40,), dtype="int32", name="said")
    asked = keras.Input((15,), dtype="int32", name="asked")
    table = L.Embedding(3000, 96)
    a, b = L.Conv1D(96, 3, padding="same")(table(said)), L.Conv1D(96, 3, padding="same")(table(asked))
    weights = L.Softmax()(L.Dot((2, 2))([b, a]))
    y = L.Concatenate()([b, L.Dot((2, 1))([weights, a])])
    y = L.GlobalAveragePooling1D()(L.Dense(128, activation="relu")(y))
    return keras.Model([said, asked], L.Dense(40, activation="softmax")(y)), {"classes": 40}


def prairies(case):
    """Separable convolutions, each step twice as wide."""
    x = keras.Input((72, 72, 3), name="prairie")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for width in (48, 96, 128):
        y = L.ReLU()(L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same")(y)))
        y = L.MaxPooling2D()(y)
    return keras.Model(x, L.Dense(8, activation="softmax")(L.GlobalMaxPooling2D()(y))), {"classes": 8}
