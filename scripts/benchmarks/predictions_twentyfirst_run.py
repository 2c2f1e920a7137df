"""Models of predictions.py's twenty-first set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def hinges(case):
    """Plain pairs of convolutions and a heavy dense head, as small pictures were first sorted."""
    x = keras.Input((64, 64, 3), name="part")
    y = x
    for width in (32, 64, 128):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(L.BatchNormalization()(y))
    y = L.Conv2D(128, 3, padding="same", activation="relu")(y)
    y = L.Dense(768, activation="relu")(L.Flatten()(y))
    y = L.Dense(256, activation="relu")(L.Dropout(0.5)(y))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def acorns(case):
    """The next word of a text: attention that looks back only, words and places from two tables."""
    words = keras.Input((96,), dtype="int32", name="words")
    places = keras.Input((96,), dtype="int32", name="places")
    y = L.Add()([L.Embedding(5000, 128)(words), L.Embedding(96, 128)(places)])
    for _ in range(3):
        z = L.LayerNormalization(epsilon=1e-5)(y)
        z = L.MultiHeadAttention(4, 32, dropout=0.1)(z, z, use_causal_mask=True)
        y = L.Add()([y, z])
        z = L.Dense(384, activation="gelu")(L.LayerNormalization(epsilon=1e-5)(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(128)(z))])
    y = L.Dense(5000)(L.LayerNormalization(epsilon=1e-5)(y))
    return keras.Model([words, places], y), {
        "classes": 5000,
        "logits": True,
        "highs": {"words": 5000, "places": 96},
    }


def buckets(case):
    """Letters to letters by two LSTMs whose state is dropped at random as well."""
    x = keras.Input((64,), dtype="int32", name="letters")
    y = L.Embedding(110, 48)(x)
    y = L.LSTM(160, return_sequences=True, recurrent_dropout=0.2)(y)
    y = L.LSTM(160, return_sequences=True, dropout=0.2)(y)
    return keras.Model(x, L.Dense(110, activation="softmax")(y)), {"classes": 110, "highs": {"letters": 110}}


def cobwebs(case):
    """Nodes that hear from their neighbours by a matrix of weights, three rounds, then a number."""
    nodes = keras.Input((80, 24), name="nodes")
    links = keras.Input((80, 80), name="links")
    y = L.Dense(96)(nodes)
    for _ in range(3):
        z = L.Dense(96, activation="relu")(L.Dot(axes=(2, 1))([links, y]))
        z = L.Dense(96, activation="relu")(L.Concatenate()([y, z]))
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Concatenate()([L.GlobalAveragePooling1D()(y), L.GlobalMaxPooling1D()(y)])
    y = L.Dense(1)(L.Dense(64, activation="relu")(y))
    return keras.Model([nodes, links], y), {"loss": "mse"}


def ditches(case):
    """A volume marked voxel by voxel: a small net shaped like a U in space."""
    x = keras.Input((24, 24, 24, 2), name="scan")
    y, across = x, []
    for width in (8, 16):
        y = L.Conv3D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv3D(width, 3, padding="same", activation="relu")(y)
        across.append(y)
        y = L.MaxPooling3D(2)(y)
    y = L.Conv3D(32, 3, padding="same", activation="relu")(y)
    for width, other in zip((16, 8), reversed(across)):
        y = L.Conv3DTranspose(width, 2, strides=2)(y)
        y = L.Concatenate()([y, other])
        y = L.BatchNormalization()(L.Conv3D(width, 3, padding="same", activation="relu")(y))
    return keras.Model(x, L.Conv3D(3, 1, activation="softmax")(y)), {"classes": 3}


def feathers(case):
    """Two pictures through one and the same net: are they of the same thing?"""
    seen = keras.Input((56, 56, 1), name="seen")
    y = seen
    for width in (24, 48, 72):
        y = L.Conv2D(width, 5, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Dense(128, activation="tanh")(L.Flatten()(y))
    trunk = keras.Model(seen, y, name="trunk")
    left = keras.Input((56, 56, 1), name="left")
    right = keras.Input((56, 56, 1), name="right")
    a, b = trunk(left), trunk(right)
    gap = L.Subtract()([a, b])
    y = L.Concatenate()([L.Multiply()([gap, gap]), L.Multiply()([a, b])])
    y = L.Dense(1, activation="sigmoid")(L.Dense(32, activation="relu")(y))
    return keras.Model([left, right], y), {"loss": "binary_crossentropy"}


def gravel(case):
    """Columns of kinds, a table for each, that attend to each other; numbers join at the end."""
    sizes = {"town": 8000, "trade": 900, "make": 300, "month": 12, "grade": 30, "agent": 20000}
    kinds = [keras.Input((1,), dtype="int32", name=name) for name in sizes]
    numbers = keras.Input((18,), name="numbers")
    y = L.Concatenate(axis=1)([L.Embedding(size, 48)(k) for k, size in zip(kinds, sizes.values())])
    for _ in range(4):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(6, 8)(y, y)]))
        z = L.Dense(48)(L.Dense(192, activation="gelu")(y))
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Concatenate()([L.Flatten()(y), L.BatchNormalization()(numbers)])
    y = L.Dense(64, activation="relu")(L.Dense(256, activation="relu")(y))
    return keras.Model(kinds + [numbers], L.Dense(5, activation="softmax")(y)), {"classes": 5, "highs": sizes}


def hammocks(case):
    """Very wide rows folded to a few numbers and back, most entries dropped at the door."""
    x = keras.Input((6400,), name="ratings")
    y = L.Dropout(0.6)(x)
    for width in (640, 160):
        y = L.Dense(width, activation="selu")(y)
    y = L.Dense(48, name="code")(y)
    for width in (160, 640):
        y = L.Dense(width, activation="selu")(y)
    return keras.Model(x, L.Dense(6400)(y)), {"loss": "mse"}


def icicles(case):
    """A frozen trunk with its norms, and a new head that alone learns."""
    inner = keras.Input((96, 96, 3))
    y = inner
    for width in (32, 64, 128):
        z = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.Conv2D(width, 3, padding="same", use_bias=False)(z)
        past = L.Conv2D(width, 1, strides=2, use_bias=False)(y)
        y = L.Activation("relu")(L.Add()([L.BatchNormalization()(z), past]))
    trunk = keras.Model(inner, y, name="trunk")
    trunk.trainable = False
    x = keras.Input((96, 96, 3), name="photo")
    y = L.Conv2D(96, 3, padding="same", activation="relu")(trunk(x))
    y = L.Dropout(0.3)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(21, activation="softmax")(y)), {"classes": 21}


def jugs(case):
    """Thirty dense layers, each with a gate that says how much of it to let through."""
    x = keras.Input((140,), name="readings")
    y = L.Dense(128, activation="relu")(x)
    for _ in range(30):
        z = L.Dense(128, activation="relu")(y)
        gate = L.Dense(128, activation="sigmoid", bias_initializer=keras.initializers.Constant(-2.0))(y)
        y = L.Add()([y, L.Multiply()([gate, L.Subtract()([z, y])])])
    return keras.Model(x, L.Dense(4)(y)), {"loss": "mae"}


def knots(case):
    """A row of gauges in time, to the next row: recurrent layers that fold along the row."""
    x = keras.Input((20, 120, 3), name="flows")
    y = L.ConvLSTM1D(24, 5, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM1D(16, 5, padding="same")(L.LayerNormalization()(y))
    return keras.Model(x, L.Conv1D(3, 1)(y)), {"loss": "mse"}


def ladders(case):
    """Depthwise then pointwise, step by step, more than one filter for a channel at first."""
    x = keras.Input((96, 96, 3), name="shelf")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.ReLU(6.0)(L.BatchNormalization()(y))
    for width, strides, many in ((48, 1, 2), (64, 2, 1), (64, 1, 2), (128, 2, 1), (128, 1, 1), (192, 2, 1)):
        y = L.DepthwiseConv2D(
            3, strides=strides, padding="same", depth_multiplier=many, use_bias=False
        )(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.Conv2D(width, 1, use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
    y = L.Dropout(0.2)(L.GlobalMaxPooling2D()(y))
    return keras.Model(x, L.Dense(60)(y)), {"classes": 60, "logits": True}


def mittens(case):
    """Where a hand's joints are, as maps: two hourglasses in a row, a loss after each."""
    x = keras.Input((64, 64, 3), name="hand")
    y = L.Conv2D(32, 5, strides=2, padding="same", activation="relu")(x)
    ends = []
    for name in ("rough", "final"):
        across, z = [], y
        for _ in range(3):
            z = L.Conv2D(32, 3, padding="same", activation="relu")(z)
            across.append(z)
            z = L.MaxPooling2D(2)(z)
        z = L.Conv2D(32, 3, padding="same", activation="relu")(z)
        for other in reversed(across):
            z = L.Add()([L.UpSampling2D(2)(z), L.Conv2D(32, 1)(other)])
            z = L.BatchNormalization()(L.Conv2D(32, 3, padding="same", activation="relu")(z))
        ends.append(L.Conv2D(21, 1, name=name)(z))
        y = L.Add()([y, z, L.Conv2D(32, 1)(ends[-1])])
    return keras.Model(x, ends), {"losses": {"rough": "mse", "final": "mse"}}


def nails(case):
    """A curve by filters of three lengths at once, and a row of facts beside it."""
    curve = keras.Input((512, 4), name="curve")
    facts = keras.Input((30,), name="facts")
    y, past = curve, L.BatchNormalization()(L.Conv1D(96, 1, use_bias=False)(curve))
    for _ in range(3):
        z = L.Conv1D(24, 1, use_bias=False)(y)
        parts = [L.Conv1D(24, size, padding="same", use_bias=False)(z) for size in (9, 19, 39)]
        parts.append(L.Conv1D(24, 1, use_bias=False)(L.MaxPooling1D(3, strides=1, padding="same")(y)))
        y = L.Activation("relu")(L.BatchNormalization()(L.Concatenate()(parts)))
    y = L.GlobalAveragePooling1D()(L.Activation("relu")(L.Add()([y, past])))
    z = L.Dense(32, activation="relu")(L.Dense(64, activation="relu")(facts))
    y = L.Dense(64, activation="relu")(L.Concatenate()([y, z]))
    return keras.Model([curve, facts], L.Dense(9, activation="softmax")(y)), {"classes": 9}


def oars(case):
    """A short film: the same small net for every frame, a GRU over what it saw."""
    x = keras.Input((12, 48, 48, 3), name="film")
    y = x
    for width in (16, 32, 48):
        y = L.TimeDistributed(L.Conv2D(width, 3, padding="same", activation="relu"))(y)
        y = L.TimeDistributed(L.MaxPooling2D(2))(y)
    y = L.GRU(128)(L.TimeDistributed(L.Flatten())(y))
    return keras.Model(x, L.Dense(14, activation="softmax")(L.Dropout(0.4)(y))), {"classes": 14}


def pebbles(case):
    """A small picture made three times as large, its channels laid out as pixels at the end."""
    x = keras.Input((40, 40, 3), name="small")
    first = L.Conv2D(48, 5, padding="same")(x)
    y = first
    for _ in range(5):
        z = L.Conv2D(48, 3, padding="same", activation="relu")(y)
        y = L.Add()([y, L.Conv2D(48, 3, padding="same")(z)])
    y = L.Conv2D(27, 3, padding="same")(L.Add()([first, y]))
    y = L.Permute((1, 3, 2, 4, 5))(L.Reshape((40, 40, 3, 3, 3))(y))
    return keras.Model(x, L.Reshape((120, 120, 3))(y)), {"loss": "mae"}


def quivers(case):
    """Patches of a picture as words of a sentence, heads wider than they need to be."""
    x = keras.Input((84, 84, 3), name="tissue")
    y = L.Reshape((144, 112))(L.Conv2D(112, 7, strides=7)(x))
    for _ in range(4):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 24, dropout=0.1)(z, z)])
        z = L.Dense(336, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(112)(L.Dropout(0.1)(z))])
    y = L.Flatten()(L.LayerNormalization()(y))
    y = L.Dense(160, activation="gelu")(y)
    return keras.Model(x, L.Dense(11, activation="softmax")(y)), {"classes": 11}


def ropes(case):
    """What sounds when: a picture of sound, narrowed in pitch alone, then read both ways."""
    x = keras.Input((160, 64, 1), name="sound")
    y = x
    for width, pool in ((24, 4), (48, 4), (64, 2)):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.Dropout(0.2)(L.MaxPooling2D((1, pool))(y))
    y = L.Reshape((160, 128))(y)
    y = L.Bidirectional(L.GRU(48, return_sequences=True))(y)
    y = L.TimeDistributed(L.Dense(32, activation="relu"))(y)
    y = L.TimeDistributed(L.Dense(12, activation="sigmoid"))(y)
    return keras.Model(x, y), {"loss": "binary_crossentropy"}


def spoons(case):
    """Patches mixed in space by depthwise filters and in depth by narrow ones."""
    x = keras.Input((64, 64, 3), name="dish")
    y = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(96, 4, strides=4)(x)))
    for _ in range(6):
        z = L.DepthwiseConv2D(5, padding="same")(y)
        z = L.BatchNormalization()(L.Activation("gelu")(z))
        y = L.Add()([y, z])
        y = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(96, 1)(y)))
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(101, activation="softmax")(y)), {"classes": 101}


def trowels(case):
    """From one tongue to another: a GRU reads, another writes and looks back by added scores."""
    source = keras.Input((28,), dtype="int32", name="source")
    target = keras.Input((24,), dtype="int32", name="target")
    y = L.Embedding(7000, 96)(source)
    read, state = L.GRU(144, return_sequences=True, return_state=True)(y)
    z = L.Embedding(4500, 96)(target)
    z = L.GRU(144, return_sequences=True)(z, initial_state=state)
    y = L.Concatenate()([z, L.AdditiveAttention()([z, read])])
    y = L.Dense(4500, activation="softmax")(L.Dense(128, activation="tanh")(y))
    return keras.Model([source, target], y), {"classes": 4500, "highs": {"source": 7000, "target": 4500}}


def urns(case):
    """Bids: many codes from one great table, crossed with themselves and a deep side; two ends."""
    codes = keras.Input((26,), dtype="int32", name="codes")
    counts = keras.Input((13,), name="counts")
    y = L.Flatten()(L.Embedding(60000, 16)(codes))
    first = L.Concatenate()([y, L.BatchNormalization()(counts)])
    cross = first
    for _ in range(3):
        z = L.Multiply()([first, L.Dense(429)(cross)])
        cross = L.Add()([z, cross])
    deep = first
    for width in (384, 192, 96):
        deep = L.Dropout(0.1)(L.Dense(width, activation="relu")(deep))
    y = L.Concatenate()([cross, deep])
    return keras.Model(
        [codes, counts],
        [L.Dense(1, activation="sigmoid", name="click")(y), L.Dense(1, name="spend")(y)],
    ), {"losses": {"click": "binary_crossentropy", "spend": "mse"}, "highs": {"codes": 60000}}


def valves(case):
    """Each layer of a curve fed to all later ones, in blocks, with a very wide choice at the end."""
    x = keras.Input((384, 6), name="strain")
    y = L.Conv1D(32, 7, strides=2, padding="same")(x)
    for block in range(3):
        for _ in range(4):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv1D(16, 5, padding="same")(z)
            y = L.Concatenate()([y, z])
        y = L.AveragePooling1D(2)(L.Conv1D(48 + 16 * block, 1, activation="relu")(y))
    y = L.Dense(320, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(9000)(y)), {"classes": 9000, "logits": True}
