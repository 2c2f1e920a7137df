"""Models of predictions.py's nineteenth set: nets of the sizes that people train, whose steps need some tens to
some hundreds of MiB. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def carrots(case):
    """Fields seen in time, a map of the next one: convolutions that remember."""
    x = keras.Input((6, 40, 40, 2), name="rain")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(12, 3, padding="same")(y)
    return keras.Model(x, L.Conv2D(1, 3, padding="same")(y)), {"loss": "mse"}


def turnips(case):
    """Raw sound by gated convolutions that reach further back each time, every next sample's level."""
    x = keras.Input((800, 1), name="sound")
    y = L.Conv1D(32, 2, padding="causal")(x)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32):
        a = L.Conv1D(32, 2, dilation_rate=rate, padding="causal", activation="tanh")(y)
        b = L.Conv1D(32, 2, dilation_rate=rate, padding="causal", activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(48, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.Activation("relu")(L.Add()(skips))
    return keras.Model(x, L.Dense(256)(L.Dense(128, activation="relu")(y))), {"classes": 256, "logits": True}


def radishes(case):
    """Patches mixed across and within by dense layers alone, the axes turned in between."""
    x = keras.Input((64, 64, 3), name="leaf")
    y = L.Reshape((256, 64))(L.Conv2D(64, 4, strides=4)(x))
    for _ in range(5):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(256)(L.Dense(128, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(256, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(64)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(17, activation="softmax")(y)), {"classes": 17}


def leeks(case):
    """People and what they bought: two large tables, a product and a tower side by side."""
    who = keras.Input((1,), dtype="int32", name="who")
    what = keras.Input((1,), dtype="int32", name="what")
    a = [L.Flatten()(L.Embedding(40000, width)(who)) for width in (16, 48)]
    b = [L.Flatten()(L.Embedding(15000, width)(what)) for width in (16, 48)]
    y = L.Concatenate()([a[1], b[1]])
    for width in (128, 64, 16):
        y = L.Dropout(0.1)(L.Dense(width, activation="relu")(y))
    y = L.Concatenate()([L.Multiply()([a[0], b[0]]), y])
    y = L.Dense(1, activation="sigmoid")(y)
    return keras.Model([who, what], y), {
        "loss": "binary_crossentropy",
        "highs": {"who": 40000, "what": 15000},
    }


def onions(case):
    """Layers that all feed the next ones, three dense blocks with halvings between."""
    x = keras.Input((48, 48, 3), name="cell")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, z])
        if block < 2:
            y = L.Conv2D(42, 1, use_bias=False)(L.Activation("relu")(L.BatchNormalization()(y)))
            y = L.AveragePooling2D(2)(y)
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(8, activation="softmax")(y)), {"classes": 8}


def sprouts(case):
    """Very deep and narrow: forty-eight dense layers with short ways past every pair."""
    x = keras.Input((60,), name="traits")
    y = L.Dense(96)(x)
    for _ in range(24):
        z = L.Dense(96, activation="selu")(L.BatchNormalization()(y))
        y = L.Add()([y, L.Dense(96)(z)])
    return keras.Model(x, L.Dense(3, activation="softmax")(y)), {"classes": 3}


def parsnips(case):
    """Bags of words, very wide, to many marks at once."""
    x = keras.Input((12000,), name="counts")
    y = L.Dropout(0.4)(L.Dense(400, activation="relu")(x))
    y = L.Dense(200, activation="relu")(y)
    return keras.Model(x, L.Dense(900, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def lentils(case):
    """Separable convolutions with short ways past, three flows, as for faces' feelings."""
    x = keras.Input((64, 64, 1), name="face")
    y = L.Conv2D(16, 3, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    for width in (24, 48, 96, 128):
        past = L.BatchNormalization()(L.Conv2D(width, 1, strides=2, padding="same", use_bias=False)(y))
        z = L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y))
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(L.Activation("relu")(z))
        z = L.MaxPooling2D(3, strides=2, padding="same")(L.BatchNormalization()(z))
        y = L.Add()([z, past])
    y = L.GlobalAveragePooling2D()(L.Conv2D(7, 3, padding="same")(y))
    return keras.Model(x, L.Activation("softmax")(y)), {"classes": 7}


def pumpkins(case):
    """A long curve's waves marked point by point: a net shaped like a U in one dimension."""
    x = keras.Input((1024, 2), name="leads")
    y, across = x, []
    for width in (16, 32, 64, 96):
        y = L.Conv1D(width, 9, padding="same", activation="relu")(y)
        y = L.Conv1D(width, 9, padding="same", activation="relu")(y)
        across.append(y)
        y = L.SpatialDropout1D(0.1)(L.MaxPooling1D(2)(y))
    y = L.Conv1D(128, 5, padding="same", activation="relu")(y)
    for width, other in zip((96, 64, 32, 16), reversed(across)):
        y = L.Concatenate()([L.UpSampling1D(2)(y), other])
        y = L.Conv1D(width, 9, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv1D(4, 1, activation="softmax")(y)), {"classes": 4}


def spinach(case):
    """A picture's channels weighed by what they hold as a whole; steps upside down, wide within."""
    x = keras.Input((72, 72, 3), name="field")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    have = 16
    for width, strides in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (64, 1)):
        z = L.Conv2D(have * 4, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(5, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        s = L.Reshape((1, 1, have * 4))(L.GlobalAveragePooling2D()(z))
        s = L.Conv2D(have * 4, 1, activation="sigmoid")(L.Conv2D(have, 1, activation="swish")(s))
        z = L.Multiply()([z, s])
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        y = L.Add()([y, z]) if strides == 1 and width == have else z
        have = width
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(38, activation="softmax")(y)), {"classes": 38}


def celery(case):
    """Days of a shop to the days that come: one LSTM folds, one unfolds, a value a day."""
    x = keras.Input((90, 14), name="days")
    y = L.LSTM(128, return_sequences=True)(x)
    y = L.LSTM(128)(L.Dropout(0.1)(y))
    y = L.LSTM(128, return_sequences=True)(L.RepeatVector(28)(y))
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    return keras.Model(x, L.TimeDistributed(L.Dense(1))(y)), {"loss": "mae"}


def fennel(case):
    """A picture made small to a code of numbers and drawn again, noise at the door."""
    x = keras.Input((64, 64, 3), name="flower")
    y = L.GaussianNoise(0.1)(x)
    for width in (24, 48, 96):
        y = L.LeakyReLU()(L.Conv2D(width, 4, strides=2, padding="same")(y))
    y = L.Dense(80, name="code")(L.Flatten()(y))
    y = L.Reshape((8, 8, 96))(L.Dense(8 * 8 * 96, activation="relu")(y))
    for width in (96, 48, 24):
        y = L.LeakyReLU()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y))
    return keras.Model(x, L.Conv2D(3, 5, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


def cabbages(case):
    """A volume to a kind: four plain convolutions in space, dense at the end."""
    x = keras.Input((32, 32, 32, 1), name="head")
    y = x
    for width in (8, 16, 32):
        y = L.Conv3D(width, 3, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.MaxPooling3D(2)(y))
    y = L.Conv3D(48, 3, activation="relu")(y)
    y = L.Dense(128, activation="relu")(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(2, activation="softmax")(L.Dropout(0.3)(y))), {"classes": 2}


def peppers(case):
    """A photo and a row of facts to a price: two branches of unlike kinds."""
    photo = keras.Input((80, 80, 3), name="photo")
    facts = keras.Input((22,), name="facts")
    y = photo
    for width in (16, 32, 64):
        y = L.Conv2D(width, 3, padding="same")(y)
        y = L.MaxPooling2D()(L.BatchNormalization()(L.Activation("relu")(y)))
    y = L.Dense(4, activation="relu")(L.Dense(64, activation="relu")(L.Flatten()(y)))
    z = L.Dense(4, activation="relu")(L.Dense(48, activation="relu")(facts))
    y = L.Dense(16, activation="relu")(L.Concatenate()([y, z]))
    return keras.Model([photo, facts], L.Dense(1)(y)), {"loss": "mae"}


def garlic(case):
    """Age, sex and more from one trunk: three ends with a loss each."""
    x = keras.Input((88, 88, 3), name="portrait")
    y = L.PReLU(shared_axes=[1, 2])(L.Conv2D(32, 5, strides=2, padding="same")(x))
    for width in (48, 64, 96):
        y = L.PReLU(shared_axes=[1, 2])(L.Conv2D(width, 3, padding="same")(y))
        y = L.MaxPooling2D(2)(y)
    y = L.Flatten()(y)
    ends = []
    for name, units, kind in (("age", 1, "linear"), ("sex", 1, "sigmoid"), ("marks", 10, "tanh")):
        z = L.Dense(96, activation="relu")(y)
        ends.append(L.Dense(units, activation=kind, name=name)(z))
    return keras.Model(x, ends), {"losses": {"age": "mae", "sex": "binary_crossentropy", "marks": "mse"}}


def beets(case):
    """Short texts by windows of three, four and five words over one table."""
    x = keras.Input((120,), dtype="int32", name="text")
    y = L.SpatialDropout1D(0.2)(L.Embedding(20000, 100)(x))
    parts = [L.GlobalMaxPooling1D()(L.Conv1D(128, size, activation="relu")(y)) for size in (3, 4, 5)]
    y = L.Dropout(0.5)(L.Concatenate()(parts))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6, "highs": {"text": 20000}}


def okra(case):
    """A few kept vectors read a long row by attention across, then speak among themselves."""
    x = keras.Input((400, 16), name="events")
    row = L.Dense(64)(x)
    y = L.AveragePooling1D(16)(row)
    for _ in range(3):
        z = L.MultiHeadAttention(4, 24)(L.LayerNormalization()(y), row)
        y = L.Add()([y, z])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 16)(z, z)])
        z = L.Dense(128, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(64)(z)])
    y = L.GlobalAveragePooling1D()(y)
    return keras.Model(x, L.Dense(12)(y)), {"classes": 12, "logits": True}


def chives(case):
    """Names of things in a text, a tag for each word: letters within words, words within lines."""
    words = keras.Input((40,), dtype="int32", name="words")
    letters = keras.Input((40, 12), dtype="int32", name="letters")
    z = L.Embedding(90, 24)(letters)
    z = L.TimeDistributed(L.Conv1D(32, 3, padding="same", activation="relu"))(z)
    z = L.TimeDistributed(L.GlobalMaxPooling1D())(z)
    y = L.Concatenate()([L.Embedding(12000, 64)(words), z])
    y = L.Bidirectional(L.GRU(80, return_sequences=True), merge_mode="sum")(L.Dropout(0.3)(y))
    y = L.Dense(19, activation="softmax")(L.Dense(64, activation="tanh")(y))
    return keras.Model([words, letters], y), {"classes": 19, "highs": {"words": 12000, "letters": 90}}


def kale(case):
    """Two halves of a net that swap: a fine way and a coarse way kept side by side."""
    x = keras.Input((64, 64, 3), name="body")
    fine = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    coarse = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(fine)
    for _ in range(3):
        a = L.BatchNormalization()(L.Conv2D(24, 3, padding="same")(fine))
        b = L.BatchNormalization()(L.Conv2D(48, 3, padding="same")(coarse))
        up = L.UpSampling2D(2, interpolation="bilinear")(L.Conv2D(24, 1)(b))
        down = L.Conv2D(48, 3, strides=2, padding="same")(a)
        fine = L.ReLU()(L.Add()([a, up]))
        coarse = L.ReLU()(L.Add()([b, down]))
    y = L.Concatenate()([fine, L.UpSampling2D(2)(coarse)])
    return keras.Model(x, L.Conv2D(16, 1)(y)), {"loss": "mse"}


def chicory(case):
    """Experts of one width and a gate that weighs them, two ends on a shared floor."""
    x = keras.Input((300,), name="customer")
    floor = L.Dense(256, activation="relu")(x)
    experts = [L.Reshape((1, 192))(L.Dense(192, activation="relu")(floor)) for _ in range(6)]
    experts = L.Concatenate(axis=1)(experts)
    ends = []
    for name in ("clicked", "bought"):
        gate = L.Dense(6, activation="softmax")(x)
        y = L.Dot(axes=(1, 1))([gate, experts])
        y = L.Dense(64, activation="relu")(y)
        ends.append(L.Dense(1, activation="sigmoid", name=name)(y))
    return keras.Model(x, ends), {"losses": {"clicked": "binary_crossentropy", "bought": "binary_crossentropy"}}


def endives(case):
    """A frozen trunk with a narrow side way that learns at every stage."""
    x = keras.Input((80, 80, 3), name="scene")
    y, side = x, None
    for width in (32, 64, 96):
        for strides in (2, 1):
            conv = L.Conv2D(width, 3, strides=strides, padding="same", activation="relu")
            conv.trainable = False
            y = conv(y)
        z = L.Conv2D(16, 1, activation="relu")(y)
        if side is not None:
            z = L.Add()([z, L.AveragePooling2D(2)(side)])
        side = L.Conv2D(16, 3, padding="same", activation="relu")(z)
    y = L.Concatenate()([L.GlobalAveragePooling2D()(side), L.GlobalAveragePooling2D()(y)])
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}


def shallots(case):
    """Points in space: the same small net for each, the greatest of all, back to every point."""
    x = keras.Input((512, 3), name="cloud")
    y = x
    for width in (32, 64):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    local = y
    for width in (96, 256):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    whole = L.RepeatVector(512)(L.GlobalMaxPooling1D()(y))
    y = L.Concatenate()([local, whole])
    for width in (128, 64):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    return keras.Model(x, L.Conv1D(10, 1, activation="softmax")(y)), {"classes": 10}


def yams(case):
    """Visits of a patient, some missing: masked rows, a plain recurrent layer and a GRU beside it."""
    x = keras.Input((60, 48), name="visits")
    y = L.Masking(mask_value=-1.0)(x)
    a = L.SimpleRNN(128)(y)
    b = L.GRU(128, reset_after=False)(y)
    y = L.Maximum()([a, b])
    return keras.Model(x, L.Dense(25, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def cress(case):
    """Convolutions of gaps that widen, norms of groups, one pool of many sizes, a mask at full size."""
    x = keras.Input((80, 80, 4), name="ground")
    y = L.Conv2D(32, 3, strides=2, padding="same")(x)
    y = L.Activation("elu")(L.GroupNormalization(8)(y))
    parts = [L.Conv2D(24, 1, activation="elu")(y)]
    for rate in (2, 4, 8):
        parts.append(L.Conv2D(24, 3, dilation_rate=rate, padding="same", activation="elu")(y))
    for size in (5, 20):
        z = L.Conv2D(8, 1, activation="elu")(L.AveragePooling2D(size)(y))
        parts.append(L.UpSampling2D(size)(z))
    y = L.Activation("elu")(L.GroupNormalization(8)(L.Conv2D(48, 1)(L.Concatenate()(parts))))
    y = L.Conv2D(6, 1)(y)
    return keras.Model(x, L.Softmax()(L.UpSampling2D(2, interpolation="bilinear")(y))), {"classes": 6}
