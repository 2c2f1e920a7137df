"""Models of predictions.py's sixteenth set: small nets for the largest batch under limits of some hundred
MiB, by prediction and by `fit --measure`. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def cutters(case):
    """A small picture to a class: a plain stack that ends in two wide layers."""
    x = keras.Input((28, 28, 3), name="deck")
    y = L.Conv2D(12, 5, strides=2, activation="relu")(x)
    y = L.Conv2D(20, 3, activation="tanh")(y)
    y = L.Dense(180, activation="relu")(L.Flatten()(L.AveragePooling2D(2)(y)))
    return keras.Model(x, L.Dense(9, activation="softmax")(L.Dropout(0.4)(y))), {"classes": 9}


def barges(case):
    """Rows of facts through four layers of one width, every second added to what came before."""
    x = keras.Input((60,), name="cargo")
    y = L.Dense(256)(x)
    for _ in range(3):
        z = L.Dense(256, activation="elu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(256)(z)])
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mae"}


def canoes(case):
    """A short series by an LSTM and a GRU, the last state of each."""
    x = keras.Input((20, 10), name="strokes")
    y = L.Concatenate()([L.LSTM(40)(x), L.GRU(40)(x)])
    return keras.Model(x, L.Dense(3, activation="softmax")(L.Dense(64, activation="relu")(y))), {"classes": 3}


def dinghies(case):
    """A sentence by the mean of its words, with filters of three lengths beside it."""
    x = keras.Input((32,), dtype="int32", name="shouts")
    y = L.Embedding(1500, 32)(x)
    parts = [L.GlobalAveragePooling1D()(y)]
    for size in (2, 3, 5):
        parts.append(L.GlobalMaxPooling1D()(L.Conv1D(24, size, activation="relu")(y)))
    y = L.Dense(64, activation="relu")(L.Concatenate()(parts))
    return keras.Model(x, L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"shouts": 1500},
    }


def lighters(case):
    """A picture made smaller and larger again, without a way across."""
    x = keras.Input((32, 32, 1), name="crossing")
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def gondolas(case):
    """One block of attention over patches of a row."""
    x = keras.Input((36, 16), name="canal")
    y = L.Dense(48)(x)
    z = L.LayerNormalization()(y)
    y = L.Add()([y, L.MultiHeadAttention(3, 16)(z, z)])
    y = L.Add()([y, L.Dense(48)(L.Dense(96, activation="relu")(L.LayerNormalization()(y)))])
    return keras.Model(x, L.Dense(7, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 7}


def kayaks(case):
    """A sound by dilated filters, each with a gate."""
    x = keras.Input((200, 2), name="rapids")
    y = L.Conv1D(20, 5, padding="same")(x)
    for rate in (1, 3, 9):
        z = L.Conv1D(20, 3, padding="same", dilation_rate=rate)(y)
        gate = L.Conv1D(20, 3, padding="same", dilation_rate=rate, activation="sigmoid")(y)
        y = L.Add()([y, L.Multiply()([L.Activation("tanh")(z), gate])])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 5}


def liners(case):
    """Numbers and three kinds of things, each with a table, to a price."""
    numbers = keras.Input((12,), name="fares")
    inputs, parts = [numbers], [L.BatchNormalization()(numbers)]
    for name, rows in (("port", 400), ("month", 12), ("cabin", 2500)):
        each = keras.Input((1,), dtype="int32", name=name)
        inputs.append(each)
        parts.append(L.Flatten()(L.Embedding(rows, 24)(each)))
    y = L.Concatenate()(parts)
    for width in (320, 160, 80):
        y = L.Dropout(0.1)(L.Dense(width, activation="relu")(y))
    return keras.Model(inputs, L.Dense(1)(y)), {
        "loss": "mse",
        "highs": {"port": 400, "month": 12, "cabin": 2500},
    }


def punts(case):
    """Residual blocks with norms on small pictures; two of them halve."""
    x = keras.Input((24, 24, 3), name="river")
    y = L.Conv2D(16, 3, padding="same")(x)
    for width in (16, 24, 32):
        z = L.ReLU()(L.BatchNormalization()(y))
        strides = 1 if width == 16 else 2
        short = y if strides == 1 else L.Conv2D(width, 1, strides=2)(z)
        y = L.Add()([short, L.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(z)])
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(10)(y)), {"classes": 10, "logits": True}


def rafts(case):
    """A small volume to a number, by two filters in space."""
    x = keras.Input((10, 12, 12, 1), name="timber")
    y = L.MaxPooling3D(2)(L.Conv3D(10, 3, padding="same", activation="relu")(x))
    y = L.Conv3D(16, 3, activation="relu")(y)
    return keras.Model(x, L.Dense(1)(L.Flatten()(y))), {"loss": "mse"}


def schooners(case):
    """Every next word of a short text, by a GRU and a table that is not shared."""
    x = keras.Input((24,), dtype="int32", name="log")
    y = L.GRU(64, return_sequences=True)(L.Embedding(1200, 40)(x))
    return keras.Model(x, L.Dense(1200, activation="softmax")(y)), {"classes": 1200, "highs": {"log": 1200}}


def skiffs(case):
    """Filters by channel and a pointwise mix, three times; the picture is halved once."""
    x = keras.Input((32, 32, 3), name="pond")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    for width in (24, 32, 40):
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
        y = L.Conv2D(width, 1, use_bias=False)(y)
    y = L.Dense(12, activation="softmax")(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, y), {"classes": 12}


def sloops(case):
    """Two answers of one row: a class and two numbers, from a trunk they share."""
    x = keras.Input((90,), name="wind")
    y = L.Dense(220, activation="selu")(L.Dense(220, activation="selu")(x))
    kind = L.Dense(15, activation="softmax", name="kind")(L.Dense(100, activation="relu")(y))
    price = L.Dense(2, name="price")(L.Dense(100, activation="relu")(y))
    losses = {"kind": "sparse_categorical_crossentropy", "price": "mse"}
    return keras.Model(x, [kind, price]), {"losses": losses, "classes": 15}


def tenders(case):
    """Two pictures through one small net; how far they are apart."""
    picture = keras.Input((20, 20, 1))
    y = L.Conv2D(16, 3, activation="relu")(picture)
    y = L.Dense(48)(L.Flatten()(L.MaxPooling2D()(y)))
    net = keras.Model(picture, y)
    one, two = keras.Input((20, 20, 1), name="one"), keras.Input((20, 20, 1), name="two")
    y = L.Dense(1, activation="sigmoid")(L.Subtract()([net(one), net(two)]))
    return keras.Model([one, two], y), {"loss": "binary_crossentropy"}


def trawlers(case):
    """Both ways through a row of readings, a tag for each."""
    x = keras.Input((30, 12), name="nets")
    y = L.Bidirectional(L.LSTM(32, return_sequences=True))(L.Dense(32, activation="relu")(x))
    return keras.Model(x, L.TimeDistributed(L.Dense(8, activation="softmax"))(y)), {"classes": 8}


def yachts(case):
    """Branches of several sizes side by side, joined and mixed."""
    x = keras.Input((24, 24, 4), name="sails")
    parts = [L.Conv2D(10, size, padding="same", activation="relu")(x) for size in (1, 3, 5)]
    parts.append(L.Conv2D(6, 1)(L.MaxPooling2D(3, strides=1, padding="same")(x)))
    y = L.Conv2D(24, 1, activation="relu")(L.Concatenate()(parts))
    y = L.Flatten()(L.MaxPooling2D(3)(y))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}
