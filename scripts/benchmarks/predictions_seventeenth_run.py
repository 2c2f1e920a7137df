"""Models of predictions.py's seventeenth set: nets of the sizes that people train, whose steps need some tens to
some hundreds of MiB. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def quartz(case):
    """A plain stack of convolutions in pairs, ended by one wide layer."""
    x = keras.Input((72, 72, 3), name="thin_section")
    y = x
    for width in (24, 48, 96):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D()(y)
    y = L.Dropout(0.5)(L.Dense(256, activation="relu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(14, activation="softmax")(y)), {"classes": 14}


def basalt(case):
    """A decoder of text: causal attention, a table shared by nothing, every next word."""
    x = keras.Input((96,), dtype="int32", name="words")
    y = L.Embedding(4000, 128)(x)
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 32)(z, z, use_causal_mask=True)])
        z = L.Dense(384, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.Dense(4000)(L.LayerNormalization()(y))
    return keras.Model(x, y), {"classes": 4000, "logits": True, "highs": {"words": 4000}}


def granite(case):
    """A net with ways across: three levels down and up, a mask of four kinds."""
    x = keras.Input((96, 96, 1), name="slice")

    def pair(y, width):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.ReLU()(L.BatchNormalization()(y))
        return y

    y, across = x, []
    for width in (16, 32, 64):
        y = pair(y, width)
        across.append(y)
        y = L.MaxPooling2D()(y)
    y = pair(y, 96)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.Conv2DTranspose(width, 2, strides=2)(y)
        y = pair(L.Concatenate()([y, other]), width)
    return keras.Model(x, L.Conv2D(4, 1, activation="softmax")(y)), {"classes": 4}


def marble(case):
    """Words to a class by two stacked LSTMs, the first in both directions."""
    x = keras.Input((80,), dtype="int32", name="veins")
    y = L.Embedding(9000, 96)(x)
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(y)
    y = L.LSTM(96)(L.Dropout(0.2)(y))
    return keras.Model(x, L.Dense(5, activation="softmax")(y)), {"classes": 5, "highs": {"veins": 9000}}


def slate(case):
    """Residual blocks with a bottleneck, four stages."""
    x = keras.Input((80, 80, 3), name="roof")
    y = L.Conv2D(32, 5, strides=2, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    for stage, width in enumerate((32, 48, 64, 96)):
        for number in range(2):
            strides = 2 if stage and not number else 1
            z = L.Conv2D(width, 1, strides=strides, use_bias=False)(y)
            z = L.ReLU()(L.BatchNormalization()(z))
            z = L.Conv2D(width, 3, padding="same", use_bias=False)(z)
            z = L.ReLU()(L.BatchNormalization()(z))
            z = L.BatchNormalization()(L.Conv2D(width * 3, 1, use_bias=False)(z))
            if not number:
                y = L.BatchNormalization()(L.Conv2D(width * 3, 1, strides=strides, use_bias=False)(y))
            y = L.ReLU()(L.Add()([y, z]))
    y = L.Dense(20, activation="softmax")(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, y), {"classes": 20}


def agate(case):
    """A long signal to a class: filters of many sizes side by side, in three rounds."""
    x = keras.Input((600, 6), name="leads")
    y = x
    for _ in range(3):
        narrow = L.Conv1D(32, 1, use_bias=False)(y)
        parts = [L.Conv1D(32, size, padding="same", use_bias=False)(narrow) for size in (9, 19, 39)]
        parts.append(L.Conv1D(32, 1, use_bias=False)(L.MaxPooling1D(3, strides=1, padding="same")(y)))
        z = L.BatchNormalization()(L.Concatenate()(parts))
        y = L.ReLU()(z)
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 9}


def jasper(case):
    """Rows with numbers and eight kinds of things: pairs of tables multiplied, a deep part beside it."""
    numbers = keras.Input((13,), name="amounts")
    inputs, tables = [numbers], []
    highs = {"c%d" % each: 3000 for each in range(8)}
    for name in sorted(highs):
        each = keras.Input((1,), dtype="int32", name=name)
        inputs.append(each)
        tables.append(L.Flatten()(L.Embedding(3000, 32)(each)))
    bottom = L.Dense(32, activation="relu")(L.Dense(128, activation="relu")(numbers))
    whole = [bottom] + tables
    crossed = [L.Dot(1)([a, b]) for n, a in enumerate(whole) for b in whole[n + 1 :]]
    y = L.Concatenate()([bottom] + crossed)
    for width in (512, 256):
        y = L.Dense(width, activation="relu")(y)
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": highs,
    }


def topaz(case):
    """A volume to a mask: two levels, norms, steps of two."""
    x = keras.Input((24, 32, 32, 1), name="scan")
    a = L.ReLU()(L.BatchNormalization()(L.Conv3D(12, 3, padding="same")(x)))
    b = L.ReLU()(L.BatchNormalization()(L.Conv3D(24, 3, strides=2, padding="same")(a)))
    b = L.Conv3D(24, 3, padding="same", activation="relu")(b)
    y = L.Concatenate()([a, L.Conv3DTranspose(12, 2, strides=2)(b)])
    y = L.Conv3D(12, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv3D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def opal(case):
    """One sentence into another: a GRU that reads, one that writes and looks back."""
    source = keras.Input((30,), dtype="int32", name="source")
    target = keras.Input((30,), dtype="int32", name="target")
    read, state = L.GRU(160, return_sequences=True, return_state=True)(L.Embedding(5000, 128)(source))
    write = L.GRU(160, return_sequences=True)(L.Embedding(6000, 128)(target), initial_state=state)
    y = L.Concatenate()([write, L.Attention()([write, read])])
    y = L.Dense(6000, activation="softmax")(L.Dense(160, activation="tanh")(y))
    return keras.Model([source, target], y), {"classes": 6000, "highs": {"source": 5000, "target": 6000}}


def garnet(case):
    """A frozen base of filters by channel; what comes after it learns."""
    base = keras.Sequential(name="base")
    base.add(keras.Input((96, 96, 3)))
    base.add(L.Conv2D(24, 3, strides=2, padding="same", use_bias=False))
    for width, strides in ((48, 1), (64, 2), (96, 2), (128, 1)):
        base.add(L.BatchNormalization())
        base.add(L.ReLU(6.0))
        base.add(L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False))
        base.add(L.Conv2D(width, 1, use_bias=False))
    base.trainable = False
    x = keras.Input((96, 96, 3), name="photo")
    y = L.GlobalAveragePooling2D()(base(x, training=False))
    y = L.Dropout(0.3)(L.Dense(512, activation="relu")(y))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def beryl(case):
    """Pictures in patches: attention without a class token, four blocks."""
    x = keras.Input((64, 64, 3), name="tile")
    y = L.Reshape((64, 96))(L.Conv2D(96, 8, strides=8)(x))
    for _ in range(4):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 16, dropout=0.1)(z, z)])
        z = L.Dense(288, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(96)(z))])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(30)(y)), {"classes": 30, "logits": True}


def zircon(case):
    """Readings of sensors made small and back again, by dense layers of great width."""
    x = keras.Input((1500,), name="channels")
    y = x
    for width in (1024, 512, 48, 512, 1024):
        y = L.Dense(width, activation="elu")(y)
    return keras.Model(x, L.Dense(1500)(y)), {"loss": "mse"}


def pyrite(case):
    """Two pictures through one net of four convolutions, their distance learnt."""
    net = keras.Sequential(
        [
            keras.Input((56, 56, 1)),
            L.Conv2D(32, 7, activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(48, 5, activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(64, 3, activation="relu"),
            L.Flatten(),
            L.Dense(128, activation="sigmoid"),
        ],
        name="eye",
    )
    one, two = keras.Input((56, 56, 1), name="one"), keras.Input((56, 56, 1), name="two")
    apart = L.Subtract()([net(one), net(two)])
    y = L.Dense(1, activation="sigmoid")(L.Multiply()([apart, apart]))
    return keras.Model([one, two], y), {"loss": "binary_crossentropy"}


def galena(case):
    """Frames by a small convolutional net each, their order by an LSTM."""
    frame = keras.Sequential(
        [
            keras.Input((48, 48, 3)),
            L.Conv2D(16, 3, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(32, 3, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dense(64, activation="relu"),
        ],
        name="frame",
    )
    x = keras.Input((10, 48, 48, 3), name="film")
    y = L.LSTM(96)(L.TimeDistributed(frame)(x))
    return keras.Model(x, L.Dense(11, activation="softmax")(y)), {"classes": 11}


def gypsum(case):
    """Boxes and kinds at every cell of two grids, from layers that grow denser."""
    x = keras.Input((96, 96, 3), name="street")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(4):
        z = L.Conv2D(16, 3, padding="same", use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
        y = L.Concatenate()([y, z])
    fine = L.AveragePooling2D(2)(L.Conv2D(48, 1)(y))
    coarse = L.Conv2D(96, 3, strides=2, padding="same", activation="relu")(fine)
    parts = [(fine, 24 * 24), (coarse, 12 * 12)]
    kinds = [L.Reshape((cells * 3, 8))(L.Conv2D(24, 3, padding="same")(each)) for each, cells in parts]
    boxes = [L.Reshape((cells * 3, 4))(L.Conv2D(12, 3, padding="same")(each)) for each, cells in parts]
    kinds = L.Activation("sigmoid", name="kinds")(L.Concatenate(axis=1)(kinds))
    boxes = L.Activation("linear", name="boxes")(L.Concatenate(axis=1)(boxes))
    return keras.Model(x, [kinds, boxes]), {"losses": {"kinds": "binary_crossentropy", "boxes": "mae"}}


def talc(case):
    """Nodes and who is next to whom: three rounds of messages, a value for each node."""
    nodes = keras.Input((70, 24), name="nodes")
    edges = keras.Input((70, 70), name="edges")
    y = L.Dense(96, activation="relu")(nodes)
    for _ in range(3):
        told = L.Dot(axes=(2, 1))([edges, L.Dense(96)(y)])
        y = L.LayerNormalization()(L.Add()([y, L.Activation("relu")(told)]))
    return keras.Model([nodes, edges], L.Dense(2)(y)), {"loss": "mse"}


def mica(case):
    """A picture twice as sharp: filters at full size, then cells become pixels."""
    x = keras.Input((48, 48, 3), name="small")
    first = L.Conv2D(40, 3, padding="same")(x)
    y = first
    for _ in range(4):
        z = L.Conv2D(40, 3, padding="same", activation="relu")(y)
        y = L.Add()([y, L.Conv2D(40, 3, padding="same")(z)])
    y = L.Conv2D(160, 3, padding="same")(L.Add()([y, first]))
    y = L.Conv2DTranspose(24, 2, strides=2, activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mae"}


def flint(case):
    """A spectrogram to symbols: convolutions with steps, then two GRUs in both directions."""
    x = keras.Input((120, 40, 1), name="sound")
    y = L.Conv2D(24, (5, 5), strides=(1, 2), padding="same", activation="relu")(x)
    y = L.Conv2D(24, (3, 3), strides=(2, 2), padding="same", activation="relu")(y)
    y = L.Reshape((60, 240))(y)
    for _ in range(2):
        y = L.Bidirectional(L.GRU(64, return_sequences=True))(y)
    return keras.Model(x, L.Dense(34, activation="softmax")(y)), {"classes": 34}


def chert(case):
    """Questions and an answer scored: one encoder of attention for both, by turns."""
    words = keras.Input((64,), dtype="int32")
    y = L.Embedding(7000, 96)(words)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 24)(y, y)]))
        z = L.Dense(96)(L.Dense(256, activation="relu")(y))
        y = L.LayerNormalization()(L.Add()([y, z]))
    encoder = keras.Model(words, L.GlobalMaxPooling1D()(y), name="encoder")
    asked = keras.Input((64,), dtype="int32", name="asked")
    said = keras.Input((64,), dtype="int32", name="said")
    y = L.Concatenate()([encoder(asked), encoder(said)])
    y = L.Dense(1, activation="sigmoid")(L.Dense(64, activation="relu")(y))
    return keras.Model([asked, said], y), {
        "loss": "binary_crossentropy",
        "highs": {"asked": 7000, "said": 7000},
    }


def obsidian(case):
    """Wide kernels by channel and mixes of four times the width, three stages."""
    x = keras.Input((64, 64, 3), name="glass")
    y = L.LayerNormalization()(L.Conv2D(40, 4, strides=4)(x))
    for width in (40, 80, 120):
        if width > 40:
            y = L.Conv2D(width, 2, strides=2)(L.LayerNormalization()(y))
        for _ in range(2):
            z = L.LayerNormalization()(L.DepthwiseConv2D(7, padding="same")(y))
            z = L.Dense(width)(L.Dense(4 * width, activation="gelu")(z))
            y = L.Add()([y, z])
    y = L.LayerNormalization()(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}
