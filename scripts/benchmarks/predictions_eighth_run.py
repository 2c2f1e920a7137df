"""Described models of predictions.py's eighth set, for the largest batch: small ones, so that a trial is quick.
Written when `fit` had been changed, and never tried with it before its answers were written down. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def lanterns(case):
    """Pictures through a narrow code and back."""
    x = keras.Input((48, 48, 3), name="lantern")
    y = x
    for width in (24, 48, 72):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="elu")(y)
    for width in (72, 48, 24):
        y = L.Conv2DTranspose(width, 3, strides=2, padding="same", activation="elu")(y)
    return keras.Model(x, L.Conv2D(3, 5, padding="same", activation="sigmoid")(y)), {"loss": "mae"}


def quarries(case):
    """Dilated convolutions of a long signal, all of them added up."""
    x = keras.Input((384, 3), name="tremor")
    y, ends = L.Conv1D(48, 3, padding="causal")(x), []
    for dilation in (1, 2, 4, 8, 16):
        z = L.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="tanh")(y)
        y = L.Add()([y, L.Conv1D(48, 1)(z)])
        ends.append(y)
    y = L.ReLU()(L.Add()(ends))
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 9}


def ferries(case):
    """What two layers of gated units make of sixty days."""
    x = keras.Input((60, 14), name="days")
    y = L.GRU(80)(L.Dropout(0.2)(L.GRU(80, return_sequences=True)(x)))
    return keras.Model(x, L.Dense(7)(L.Dense(40, activation="relu")(y))), {"loss": "mse"}


def beacons(case):
    """A small encoder over words with learned places."""
    x = keras.Input((56,), dtype="int32", name="words")
    y = L.Embedding(4000, 80)(x)
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(5, 16)(z, z)])
        z = L.Dense(240, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(80)(z))])
    return keras.Model(x, L.Dense(11, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 11}


def ponds(case):
    """Three wide layers, normalised."""
    x = keras.Input((640,), name="samples")
    y = x
    for width in (900, 700, 500):
        y = L.Activation("relu")(L.BatchNormalization()(L.Dense(width)(y)))
    return keras.Model(x, L.Dense(12, activation="softmax")(L.Dropout(0.3)(y))), {"classes": 12}


def ribbons(case):
    """Buyers and goods in towers of their own."""

    def tower(rows, name):
        given = keras.Input((6,), dtype="int32", name=name)
        y = L.GlobalAveragePooling1D()(L.Embedding(rows, 40)(given))
        return given, L.Dense(48)(L.Dense(160, activation="relu")(y))

    (a, one), (b, other) = tower(9000, "buyer"), tower(5000, "goods")
    y = L.Concatenate()([one, other, L.Multiply()([one, other])])
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def kilns(case):
    """Each layer reads all before it."""
    x = keras.Input((40, 40, 3), name="tile")
    y = L.Conv2D(24, 3, padding="same")(x)
    for _ in range(2):
        for _ in range(4):
            z = L.Conv2D(16, 3, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
            y = L.Concatenate()([y, z])
        y = L.AveragePooling2D()(L.Conv2D(40, 1)(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 10}


def anchors(case):
    """Separable convolutions with a short way round each pair."""
    x = keras.Input((64, 64, 3), name="deck")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for width in (48, 96):
        z = L.ReLU()(L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)))
        z = L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same", use_bias=False)(z))
        z = L.MaxPooling2D(3, strides=2, padding="same")(z)
        y = L.Add()([z, L.Conv2D(width, 1, strides=2)(y)])
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 20}


def violins(case):
    """Spectra by convolutions, then both ways along time."""
    x = keras.Input((80, 48, 1), name="spectrum")
    y = L.MaxPooling2D((2, 4))(L.Conv2D(24, 3, padding="same", activation="relu")(x))
    y = L.MaxPooling2D((1, 4))(L.Conv2D(32, 3, padding="same", activation="relu")(y))
    y = L.Bidirectional(L.LSTM(48))(L.Reshape((40, 3 * 32))(y))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def grottos(case):
    """Volumes of echoes, two steps down."""
    x = keras.Input((20, 20, 20, 1), name="echo")
    y = x
    for width in (12, 24):
        y = L.BatchNormalization()(L.Conv3D(width, 3, padding="same", activation="relu")(y))
        y = L.MaxPooling3D()(y)
    y = L.Dense(64, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(6, activation="softmax")(L.Dropout(0.4)(y))), {"classes": 6}


def meadows(case):
    """Fields from above, each point named."""

    def pair(y, width):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        return y

    x = keras.Input((56, 56, 4), name="field")
    a = pair(x, 20)
    b = pair(L.MaxPooling2D()(a), 40)
    c = pair(L.MaxPooling2D()(b), 80)
    y = pair(L.Concatenate()([L.UpSampling2D()(c), b]), 40)
    y = pair(L.Concatenate()([L.UpSampling2D()(y), a]), 20)
    return keras.Model(x, L.Conv2D(5, 1, activation="softmax")(y)), {"classes": 5}


def pylons(case):
    """Rows of a table through residual blocks."""
    x = keras.Input((90,), name="row")
    y = L.Dense(192)(x)
    for _ in range(4):
        z = L.Dense(384, activation="swish")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(192)(L.Dropout(0.1)(z))])
    return keras.Model(x, L.Dense(1)(L.LayerNormalization()(y))), {"loss": "mse"}


def tunnels(case):
    """Attention along rows, then along columns."""
    x = keras.Input((32, 32, 3), name="wall")
    y = L.Conv2D(40, 2, strides=2)(x)
    for axis in (1, 2, 1, 2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 10, attention_axes=(axis,))(z, z)])
    y = L.Conv2D(80, 3, strides=2, activation="relu")(y)
    return keras.Model(x, L.Dense(15, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 15}


def couriers(case):
    """From one language to another, by the state alone."""
    source = keras.Input((24,), dtype="int32", name="source")
    target = keras.Input((20,), dtype="int32", name="target")
    _, *state = L.LSTM(96, return_state=True)(L.Embedding(3000, 64)(source))
    y = L.LSTM(96, return_sequences=True)(L.Embedding(3000, 64)(target), initial_state=state)
    return keras.Model([source, target], L.Dense(3000, activation="softmax")(y)), {"classes": 3000}


def plateaus(case):
    """A picture and what is known of it."""
    picture, known = keras.Input((44, 44, 3), name="picture"), keras.Input((30,), name="known")
    y = picture
    for width in (32, 64):
        y = L.MaxPooling2D()(L.Conv2D(width, 3, activation="relu")(y))
    y = L.Concatenate()([L.Dense(96, activation="relu")(L.Flatten()(y)), L.Dense(32, activation="relu")(known)])
    return keras.Model([picture, known], L.Dense(1)(L.Dense(64, activation="relu")(y))), {"loss": "mse"}


def canyons(case):
    """From a few numbers to a picture."""
    x = keras.Input((48,), name="code")
    y = L.Reshape((6, 6, 64))(L.Dense(6 * 6 * 64, activation="relu")(x))
    for width in (64, 32, 16):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D()(y))
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mse"}
