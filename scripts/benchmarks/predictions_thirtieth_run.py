"""Models of predictions.py's thirtieth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def anoraks(case):
    """Bottlenecks with short ways past, each weighing its own channels; norms over groups of them."""
    x = keras.Input((72, 72, 3), name="garment")
    y = L.Conv2D(32, 5, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.GroupNormalization(groups=8)(y))
    for width, strides in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2)):
        z = L.Conv2D(width // 4, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.GroupNormalization(groups=4)(z))
        z = L.Conv2D(width // 4, 3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.GroupNormalization(groups=4)(z))
        z = L.Conv2D(width, 1)(z)
        weigh = L.Dense(width // 8, activation="relu")(L.GlobalAveragePooling2D()(z))
        weigh = L.Reshape((1, 1, width))(L.Dense(width, activation="sigmoid")(weigh))
        z = L.Multiply()([z, weigh])
        if strides > 1 or y.shape[-1] != width:
            y = L.Conv2D(width, 1, strides=strides)(y)
        y = L.Activation("swish")(L.Add()([y, z]))
    y = L.Dropout(0.25)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(46, activation="softmax")(y)), {"classes": 46}


def bagels(case):
    """A wave of sound to its next value: gates on filters that look back, ever further apart."""
    x = keras.Input((1024, 1), name="wave")
    y = L.Conv1D(32, 2, padding="causal")(x)
    kept = []
    for power in range(8):
        a = L.Conv1D(32, 2, padding="causal", dilation_rate=2**power, activation="tanh")(y)
        b = L.Conv1D(32, 2, padding="causal", dilation_rate=2**power, activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        kept.append(L.Conv1D(48, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.Activation("relu")(L.Add()(kept))
    y = L.Conv1D(64, 1, activation="relu")(y)
    return keras.Model(x, L.Conv1D(256, 1)(y)), {"classes": 256, "logits": True}


def beavers(case):
    """A film's deed: filters in space, then filters in time, never both at once."""
    x = keras.Input((12, 48, 48, 3), name="film")
    y = x
    for width, strides in ((24, 2), (32, 1), (64, 2), (96, 2)):
        y = L.Conv3D(width, (1, 3, 3), strides=(1, strides, strides), padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.Dense(96, activation="relu")(L.GlobalAveragePooling3D()(L.MaxPooling3D((2, 1, 1))(y)))
    return keras.Model(x, L.Dense(24, activation="softmax")(y)), {"classes": 24}


def blankets(case):
    """Patches mixed by dense layers alone, across places and then across channels."""
    x = keras.Input((64, 64, 3), name="weave")
    y = L.Reshape((64, 160))(L.Conv2D(160, 8, strides=8)(x))
    for _ in range(6):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(64)(L.Dense(128, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(480, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(160)(z))])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(80)(y)), {"classes": 80, "logits": True}


def brooches(case):
    """A buyer and a ware, each through a tower; what the buyer saw shares the wares' table."""
    buyer = keras.Input((1,), dtype="int32", name="buyer")
    seen = keras.Input((30,), dtype="int32", name="seen")
    ware = keras.Input((1,), dtype="int32", name="ware")
    wares = L.Embedding(18000, 64, name="wares")
    a = L.Concatenate()([L.Flatten()(L.Embedding(40000, 64)(buyer)), L.GlobalAveragePooling1D()(wares(seen))])
    b = L.Flatten()(wares(ware))
    for width in (256, 128):
        a = L.Dense(width, activation="relu")(a)
        b = L.Dense(width, activation="relu")(b)
    y = L.Dot(axes=1, normalize=True)([L.Dense(64)(a), L.Dense(64)(b)])
    return keras.Model([buyer, seen, ware], y), {
        "loss": "mse",
        "highs": {"buyer": 40000, "seen": 18000, "ware": 18000},
    }


def bugles(case):
    """A noisy picture squeezed to a short code and drawn clean again."""
    x = keras.Input((96, 96, 3), name="photo")
    y = L.GaussianNoise(0.1)(x)
    for width in (24, 48, 96):
        y = L.LeakyReLU(0.2)(L.Conv2D(width, 4, strides=2, padding="same")(y))
    y = L.Dense(128, name="code")(L.Flatten()(y))
    y = L.Reshape((12, 12, 64))(L.Dense(12 * 12 * 64, activation="relu")(y))
    for width in (96, 48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(y)
        y = L.LeakyReLU(0.2)(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(3, 3, padding="same", activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def camphor(case):
    """A long curve marked point by point: a U of filters, the ways across weighed by what lies below."""
    x = keras.Input((2048, 2), name="curve")
    y, across = x, []
    for width in (16, 32, 64):
        y = L.Conv1D(width, 9, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.Conv1D(width, 9, padding="same", activation="relu")(y))
        across.append(y)
        y = L.MaxPooling1D(4)(y)
    y = L.Conv1D(128, 5, padding="same", activation="relu")(y)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.Conv1D(width, 4, padding="same", activation="relu")(L.UpSampling1D(4)(y))
        z = L.Activation("relu")(L.Add()([L.Conv1D(width // 2, 1)(y), L.Conv1D(width // 2, 1)(other)]))
        z = L.Multiply()([other, L.Conv1D(width, 1, activation="sigmoid")(z)])
        y = L.Conv1D(width, 9, padding="same", activation="relu")(L.Concatenate()([y, z]))
    return keras.Model(x, L.Conv1D(5, 1, activation="softmax")(y)), {"classes": 5}


def cardigans(case):
    """A picture and a question about it: the words look at the picture's places, then an answer."""
    photo = keras.Input((56, 56, 3), name="photo")
    words = keras.Input((22,), dtype="int32", name="words")
    y = photo
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(L.BatchNormalization()(y))
    y = L.Reshape((49, 96))(y)
    z = L.LSTM(96, return_sequences=True)(L.Embedding(6000, 80)(words))
    for _ in range(2):
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, y)]))
        z = L.LayerNormalization()(L.Add()([z, L.Dense(96)(L.Dense(192, activation="relu")(z))]))
    y = L.Concatenate()([L.GlobalAveragePooling1D()(z), L.GlobalMaxPooling1D()(y)])
    y = L.Dense(256, activation="relu")(y)
    return keras.Model([photo, words], L.Dense(700, activation="softmax")(y)), {
        "classes": 700,
        "highs": {"words": 6000},
    }


def cushions(case):
    """Things in a picture by their middles: where, how large and how far off the grid."""
    x = keras.Input((96, 96, 3), name="room")
    y = L.Conv2D(24, 5, strides=2, padding="same", activation="relu")(x)
    ways = []
    for width in (40, 64, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.PReLU(shared_axes=[1, 2])(L.BatchNormalization()(y))
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        ways.append(L.Conv2D(48, 1)(y))
    y = ways.pop()
    for other in reversed(ways):
        y = L.Add()([L.UpSampling2D(2)(y), other])
    y = L.Conv2D(48, 3, padding="same", activation="relu")(y)
    ends = []
    for name, deep, end in (("middles", 16, "sigmoid"), ("extents", 2, "softplus"), ("shifts", 2, "linear")):
        z = L.Conv2D(48, 3, padding="same", activation="relu")(y)
        ends.append(L.Conv2D(deep, 1, activation=end, name=name)(z))
    return keras.Model(x, ends), {"losses": {"middles": "binary_crossentropy", "extents": "mae", "shifts": "mse"}}


def dartboards(case):
    """A base of separable filters that stays as it was, below two blocks that learn."""
    inner = keras.Input((112, 112, 3))
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inner)
    for width in (32, 64, 96):
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(z)
        z = L.MaxPooling2D(3, strides=2, padding="same")(L.BatchNormalization()(z))
        y = L.Add()([z, L.Conv2D(width, 1, strides=2, padding="same")(y)])
    base = keras.Model(inner, y, name="base")
    base.trainable = False
    x = keras.Input((112, 112, 3), name="target")
    y = base(L.Rescaling(2.0, offset=-1.0)(x), training=False)
    for width in (96, 128):
        y = L.Activation("relu")(L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same")(y)))
    y = L.Dense(200, activation="relu")(L.Flatten()(L.AveragePooling2D(2)(y)))
    return keras.Model(x, L.Dense(17, activation="softmax")(L.Dropout(0.5)(y))), {"classes": 17}


def doormats(case):
    """Blocks in which every layer sees all the earlier ones, halved between."""
    x = keras.Input((64, 64, 3), name="entry")
    y = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(16, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, L.SpatialDropout2D(0.1)(z)])
        if block < 2:
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.AveragePooling2D(2)(L.Conv2D(56, 1, use_bias=False)(y))
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def dumplings(case):
    """Seventy narrow dense layers, a short way past each, to three numbers."""
    x = keras.Input((44,), name="mixture")
    y = L.Dense(40)(x)
    for _ in range(70):
        z = L.Dense(40, activation="elu")(L.LayerNormalization()(y))
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(3)(L.LayerNormalization()(y))), {"loss": "mse"}


def earthworms(case):
    """Few layers but very wide ones, self-norming, for rows of many genes."""
    x = keras.Input((2600,), name="genes")
    y = x
    for width in (2800, 2000):
        y = L.Dense(width, activation="selu", kernel_initializer="lecun_normal")(y)
        y = L.AlphaDropout(0.1)(y)
    return keras.Model(x, L.Dense(350, activation="softmax")(y)), {"classes": 350}


def ferrules(case):
    """Readings of unlike length through two stacked cells, one name for each whole run."""
    x = keras.Input((72, 20), name="readings")
    y = L.Dense(64, activation="tanh")(L.Masking(0.0)(x))
    y = L.RNN([L.LSTMCell(112), L.LSTMCell(80)])(y)
    y = L.Dense(64, activation="relu")(y)
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}


def flannels(case):
    """A few learnt slots ask a long row of readings what matters, twice over."""
    row = keras.Input((480, 12), name="row")
    slots = keras.Input((32,), dtype="int32", name="slots")
    y = L.Concatenate()([L.Dense(88, activation="gelu")(row), L.Conv1D(8, 7, padding="same")(row)])
    y = L.LayerNormalization()(y)
    z = L.Embedding(32, 96)(slots)
    for _ in range(2):
        z = L.Add()([z, L.MultiHeadAttention(2, 48)(L.LayerNormalization()(z), y)])
        for _ in range(2):
            w = L.LayerNormalization()(z)
            z = L.Add()([z, L.MultiHeadAttention(4, 24, dropout=0.1)(w, w)])
            w = L.Dense(288, activation="gelu")(L.LayerNormalization()(z))
            z = L.Add()([z, L.Dense(96)(w)])
    y = L.GlobalAveragePooling1D()(z)
    return keras.Model([row, slots], L.Dense(26)(y)), {"classes": 26, "logits": True, "highs": {"slots": 32}}


def fritters(case):
    """Maps of rain, one after another, to the next three maps."""
    x = keras.Input((8, 36, 36, 1), name="rain")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(12, 3, padding="same")(L.BatchNormalization()(y))
    y = L.Conv2D(24, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 1)(y)), {"loss": "mae"}


def gazebos(case):
    """Each pixel's kind by filters of several reaches side by side, drawn up smoothly."""
    x = keras.Input((96, 96, 3), name="garden")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    low = L.Conv2D(16, 1, activation="relu")(y)
    for width in (48, 64):
        y = L.Conv2D(width, 3, strides=2 if width == 48 else 1, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    parts = [L.Conv2D(32, 1, activation="relu")(y)]
    for reach in (2, 4, 6):
        parts.append(L.Conv2D(32, 3, padding="same", dilation_rate=reach, activation="relu")(y))
    whole = L.Conv2D(32, 1, activation="relu")(L.AveragePooling2D(24)(y))
    parts.append(L.UpSampling2D(24)(whole))
    y = L.Conv2D(48, 1, activation="relu")(L.Concatenate()(parts))
    y = L.Concatenate()([L.UpSampling2D(2, interpolation="bilinear")(y), low])
    y = L.Conv2D(9, 3, padding="same")(y)
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    return keras.Model(x, L.Softmax()(y)), {"classes": 9}


def geysers(case):
    """Two weeks of hours to the next day, the next week and the greatest load of all."""
    x = keras.Input((336, 10), name="hours")
    y = L.Conv1D(64, 1)(L.BatchNormalization()(x))
    for _ in range(5):
        z = L.SeparableConv1D(64, 7, padding="same", activation="relu")(y)
        z = L.SeparableConv1D(64, 7, padding="same")(L.LayerNormalization()(z))
        y = L.Add()([y, L.SpatialDropout1D(0.1)(z)])
    y = L.Conv1D(32, 4, strides=4, activation="relu")(y)
    y = L.Dense(192, activation="relu")(L.Flatten()(y))
    ends = [L.Dense(24, name="day")(y), L.Dense(168, name="week")(y), L.Dense(1, name="peak")(y)]
    return keras.Model(x, ends), {"losses": {"day": "mse", "week": "mse", "peak": "mae"}}


def gherkins(case):
    """Six experts over kinds and numbers; each of three tasks weighs the experts for itself."""
    sizes = {"shop": 5000, "item": 30000, "aisle": 240, "hour": 24}
    kinds = [keras.Input((1,), dtype="int32", name=name) for name in sizes]
    numbers = keras.Input((40,), name="numbers")
    y = [L.Flatten()(L.Embedding(size, 32)(k)) for k, size in zip(kinds, sizes.values())]
    y = L.Concatenate()(y + [L.BatchNormalization()(numbers)])
    experts = []
    for _ in range(6):
        z = L.Dense(128, activation="relu")(L.Dense(320, activation="relu")(y))
        experts.append(L.Reshape((1, 128))(z))
    experts = L.Concatenate(axis=1)(experts)
    ends = []
    for name, end in (("bought", "sigmoid"), ("returned", "sigmoid"), ("paid", "linear")):
        gate = L.Reshape((1, 6))(L.Dense(6, activation="softmax")(y))
        z = L.Reshape((128,))(L.Dot(axes=(2, 1))([gate, experts]))
        ends.append(L.Dense(1, activation=end, name=name)(L.Dense(64, activation="relu")(z)))
    losses = {"bought": "binary_crossentropy", "returned": "binary_crossentropy", "paid": "mse"}
    return keras.Model(kinds + [numbers], ends), {"losses": losses, "highs": sizes}


def hurdles(case):
    """A question and two answers read by one shared net of short filters: how much better is the first?"""
    words = keras.Input((60,), dtype="int32", name="words")
    y = L.SpatialDropout1D(0.2)(L.Embedding(14000, 100)(words))
    parts = [L.GlobalMaxPooling1D()(L.Conv1D(96, size, activation="relu")(y)) for size in (2, 3, 4, 5)]
    reader = keras.Model(words, L.Dense(160, activation="tanh")(L.Concatenate()(parts)), name="reader")
    texts = [keras.Input((60,), dtype="int32", name=name) for name in ("question", "first", "second")]
    question, first, second = (reader(text) for text in texts)
    near = L.Dot(axes=1, normalize=True)([question, first])
    far = L.Dot(axes=1, normalize=True)([question, second])
    return keras.Model(texts, L.Subtract()([near, far])), {
        "loss": "mse",
        "highs": {"question": 14000, "first": 14000, "second": 14000},
    }
