"""Models of predictions.py's twenty-fourth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def beads(case):
    """What is bound along a stretch of genome: ever wider gaps in the filters, many marks at once."""
    x = keras.Input((768, 4), name="bases")
    y = L.Conv1D(96, 15, padding="same", activation="relu")(x)
    y = L.MaxPooling1D(4)(y)
    for gap in (1, 2, 4, 8, 16):
        z = L.Activation("relu")(L.BatchNormalization()(y))
        z = L.Conv1D(48, 3, dilation_rate=gap, padding="same", use_bias=False)(z)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        y = L.Add()([y, L.Dropout(0.25)(L.Conv1D(96, 1)(z))])
    y = L.Conv1D(192, 1, activation="relu")(y)
    y = L.GlobalMaxPooling1D()(y)
    return keras.Model(x, L.Dense(300, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def bolts(case):
    """Rust on steel: separable filters, each group weighed by what the whole of it looks like."""
    x = keras.Input((72, 72, 1), name="surface")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    for width, strides in ((48, 1), (96, 2), (96, 1), (160, 2), (160, 1)):
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.SeparableConv2D(width, 3, strides=strides, padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        weight = L.Reshape((1, 1, width))(L.GlobalAveragePooling2D()(z))
        weight = L.Conv2D(width // 8, 1, activation="swish")(weight)
        z = L.Multiply()([z, L.Conv2D(width, 1, activation="sigmoid")(weight)])
        y = L.Add()([z, L.Conv2D(width, 1, strides=strides, use_bias=False)(y)])
    y = L.Dropout(0.3)(L.GlobalAveragePooling2D()(L.Activation("swish")(y)))
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}


def boulders(case):
    """Points of a cliff, a kind for each: turned by a small net, then told what the whole is like."""
    x = keras.Input((640, 3), name="points")
    z = L.Dense(48, activation="relu")(x)
    z = L.GlobalMaxPooling1D()(L.Dense(192, activation="relu")(z))
    z = L.Dense(9)(L.Dense(96, activation="relu")(z))
    turned = L.Dot(axes=(2, 1))([x, L.Reshape((3, 3))(z)])
    near = L.BatchNormalization()(L.Dense(64, activation="relu")(turned))
    y = L.BatchNormalization()(L.Dense(128, activation="relu")(near))
    y = L.BatchNormalization()(L.Dense(512, activation="relu")(y))
    whole = L.RepeatVector(640)(L.GlobalMaxPooling1D()(y))
    y = L.Concatenate()([near, whole])
    for width in (256, 128, 64):
        y = L.BatchNormalization()(L.Dense(width, activation="relu")(y))
    return keras.Model(x, L.Dense(8, activation="softmax")(y)), {"classes": 8}


def brooms(case):
    """A policy's future, three ends: shared experts, and for each end a gate that mixes them."""
    sizes = {"street": 25000, "vehicle": 6000, "broker": 2500, "county": 96}
    kinds = [keras.Input((1,), dtype="int32", name=name) for name in sizes]
    numbers = keras.Input((44,), name="numbers")
    columns = [L.Flatten()(L.Embedding(size, 24)(k)) for k, size in zip(kinds, sizes.values())]
    first = L.Concatenate()(columns + [L.LayerNormalization()(numbers)])
    experts = []
    for _ in range(6):
        z = L.Dense(128, activation="relu")(L.Dense(256, activation="relu")(first))
        experts.append(L.Reshape((1, 128))(z))
    experts = L.Concatenate(axis=1)(experts)
    ends = []
    for name, activation in (("lapse", "sigmoid"), ("cost", None), ("calls", "softplus")):
        gate = L.Dense(6, activation="softmax")(first)
        y = L.Dense(64, activation="relu")(L.Dot(axes=(1, 1))([gate, experts]))
        ends.append(L.Dense(1, activation=activation, name=name)(y))
    return keras.Model(kinds + [numbers], ends), {
        "losses": {"lapse": "binary_crossentropy", "cost": "mse", "calls": "mae"},
        "highs": sizes,
    }


def cradles(case):
    """The state of a sleeper at each moment: a U along time, with steps that are learned both ways."""
    x = keras.Input((1024, 3), name="night")
    y, across = x, []
    for width in (16, 32, 64):
        y = L.PReLU(shared_axes=[1])(L.Conv1D(width, 9, padding="same")(y))
        across.append(y)
        y = L.PReLU(shared_axes=[1])(L.Conv1D(width, 4, strides=4, padding="same")(y))
    y = L.SpatialDropout1D(0.2)(L.Conv1D(128, 5, padding="same", activation="relu")(y))
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.Conv1D(width, 3, padding="same")(L.UpSampling1D(4)(y))
        y = L.Concatenate()([L.BatchNormalization()(y), other])
        y = L.PReLU(shared_axes=[1])(L.Conv1D(width, 9, padding="same")(y))
    return keras.Model(x, L.Conv1D(5, 1, activation="softmax")(y)), {"classes": 5}


def crates(case):
    """A question about a picture: words read by an LSTM choose where in the picture to look."""
    picture = keras.Input((56, 56, 3), name="picture")
    question = keras.Input((16,), dtype="int32", name="question")
    y = picture
    for width in (32, 64):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(L.BatchNormalization()(y))
    y = L.Conv2D(112, 3, padding="same", activation="relu")(y)
    places = L.Reshape((196, 112))(y)
    asked = L.LSTM(112)(L.Embedding(3200, 80)(question))
    z = L.Add()([L.Dense(112)(places), L.RepeatVector(196)(asked)])
    weights = L.Softmax(axis=1)(L.Dense(1)(L.Activation("tanh")(z)))
    seen = L.Flatten()(L.Dot(axes=(1, 1))([weights, places]))
    y = L.Concatenate()([L.Multiply()([seen, asked]), seen, asked])
    y = L.Dropout(0.5)(L.Dense(320, activation="relu")(y))
    return keras.Model([picture, question], L.Dense(700, activation="softmax")(y)), {
        "classes": 700,
        "highs": {"question": 3200},
    }


def dens(case):
    """Spoken sound to letters: an encoder that sees all of it, a decoder that sees what it wrote."""
    sound = keras.Input((160, 40), name="sound")
    letters = keras.Input((48,), dtype="int32", name="letters")
    y = L.Conv1D(96, 5, strides=2, padding="same", activation="gelu")(sound)
    y = L.Conv1D(96, 5, strides=2, padding="same", activation="gelu")(y)
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(3, 32)(z, z)])
        z = L.Dense(256, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(96)(z))])
    heard = L.LayerNormalization()(y)
    y = L.Embedding(34, 96)(letters)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(3, 32)(z, z, use_causal_mask=True)])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(3, 32, dropout=0.1)(z, heard)])
        z = L.Dense(256, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(96)(z))])
    return keras.Model([sound, letters], L.Dense(34)(y)), {
        "classes": 34,
        "logits": True,
        "highs": {"letters": 34},
    }


def docks(case):
    """How tightly a molecule sits in its hollow: a volume, each layer fed to all later ones."""
    x = keras.Input((22, 22, 22, 8), name="hollow")
    y = L.Conv3D(24, 3, strides=2, padding="same")(x)
    for block in range(2):
        for _ in range(4):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Activation("relu")(L.Conv3D(32, 1)(z))
            y = L.Concatenate()([y, L.Conv3D(12, 3, padding="same")(z)])
        y = L.AveragePooling3D(2)(L.Conv3D(36, 1, activation="relu")(y))
    y = L.Dense(64, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse"}


def eels(case):
    """Will this be bought? What was bought before, from the same table, weighed against it."""
    past = keras.Input((45,), dtype="int32", name="past")
    offer = keras.Input((1,), dtype="int32", name="offer")
    table = L.Embedding(36000, 40)
    before, now = table(past), table(offer)
    spread = L.RepeatVector(45)(L.Flatten()(now))
    z = L.Concatenate()(
        [before, spread, L.Subtract()([before, spread]), L.Multiply()([before, spread])]
    )
    z = L.Dense(1)(L.Dense(36, activation="sigmoid")(L.Dense(80, activation="sigmoid")(z)))
    taste = L.Flatten()(L.Dot(axes=(1, 1))([z, before]))
    y = L.Concatenate()([taste, L.Flatten()(now)])
    y = L.PReLU()(L.BatchNormalization()(L.Dense(200)(y)))
    y = L.PReLU()(L.BatchNormalization()(L.Dense(80)(y)))
    return keras.Model([past, offer], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"past": 36000, "offer": 36000},
    }


def farms(case):
    """Days to come of many gauges from days gone: dense layers along time, then along gauges."""
    x = keras.Input((336, 22), name="gone")
    y = x
    for _ in range(4):
        z = L.Permute((2, 1))(L.BatchNormalization()(y))
        z = L.Dropout(0.1)(L.Dense(336, activation="relu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(88, activation="relu")(L.BatchNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(22)(L.Dropout(0.1)(z)))])
    y = L.Permute((2, 1))(L.Dense(96)(L.Permute((2, 1))(y)))
    return keras.Model(x, y), {"loss": "mse"}


def foxes(case):
    """Animals before a camera trap: on a grid, whether one is there, where it ends, of which kind."""
    x = keras.Input((104, 104, 3), name="night")
    y = x
    for width in (16, 32, 64):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.MaxPooling2D(2)(L.LeakyReLU(0.1)(L.GroupNormalization(8)(y)))
    fine = L.Conv2D(32, 1)(y)
    y = L.Conv2D(128, 3, strides=2, padding="same", use_bias=False)(L.ZeroPadding2D(((1, 2), (1, 2)))(y))
    y = L.LeakyReLU(0.1)(L.GroupNormalization(8)(y))
    y = L.Conv2D(64, 3, padding="same", activation="relu")(L.UpSampling2D(2)(y))
    y = L.Cropping2D(((1, 2), (1, 2)))(y)
    y = L.Conv2D(96, 3, padding="same", activation="relu")(L.Concatenate()([y, fine]))
    ends = [
        L.Conv2D(3, 1, activation="sigmoid", name="there")(y),
        L.Conv2D(12, 1, name="edges")(y),
        L.Conv2D(27, 1, activation="sigmoid", name="kind")(y),
    ]
    return keras.Model(x, ends), {
        "losses": {"there": "binary_crossentropy", "edges": "mae", "kind": "binary_crossentropy"}
    }


def gnomes(case):
    """Two convolutions and a way past, over and over: very deep, very narrow, small pictures."""
    x = keras.Input((36, 36, 3), name="sign")
    y = L.Conv2D(12, 3, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    for stage, width in enumerate((12, 24, 48)):
        for step in range(8):
            strides = 2 if stage and not step else 1
            z = L.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(y)
            z = L.ReLU()(L.BatchNormalization()(z))
            z = L.Conv2D(width, 3, padding="same", use_bias=False)(z)
            z = L.BatchNormalization()(z)
            if strides == 2:
                y = L.BatchNormalization()(L.Conv2D(width, 1, strides=2, use_bias=False)(y))
            y = L.ReLU()(L.Add()([y, z]))
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(43)(y)), {"classes": 43, "logits": True}


def gongs(case):
    """Inverted bottlenecks: the lower half is frozen, the upper half and the head still learn."""

    def rise(y, width, strides):
        deep = 4 * y.shape[-1]
        z = L.Conv2D(deep, 1, use_bias=False)(y)
        z = L.ReLU(6.0)(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(z)
        z = L.ReLU(6.0)(L.BatchNormalization()(z))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        return L.Add()([y, z]) if strides == 1 and width == y.shape[-1] else z

    inner = keras.Input((112, 112, 3))
    y = L.Rescaling(2.0, -1.0)(inner)
    y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(y)))
    for width, strides in ((24, 2), (24, 1), (32, 2)):
        y = rise(y, width, strides)
    base = keras.Model(inner, y, name="base")
    base.trainable = False
    x = keras.Input((112, 112, 3), name="leaf")
    y = base(x)
    for width, strides in ((32, 1), (32, 1), (64, 2), (64, 1), (64, 1)):
        y = rise(y, width, strides)
    y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(256, 1, use_bias=False)(y)))
    y = L.Dropout(0.25)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(38, activation="softmax")(y)), {"classes": 38}


def harps(case):
    """The next sample of a sound, from filters that look back only, each through a gate."""
    x = keras.Input((1200,), dtype="int32", name="samples")
    y = L.Embedding(256, 32)(x)
    told = []
    for gap in (1, 2, 4, 8, 16, 32, 64, 128):
        a = L.Conv1D(32, 2, dilation_rate=gap, padding="causal", activation="tanh")(y)
        b = L.Conv1D(32, 2, dilation_rate=gap, padding="causal", activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        told.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.Activation("relu")(L.Add()(told))
    y = L.Conv1D(256, 1)(L.Conv1D(96, 1, activation="relu")(y))
    return keras.Model(x, y), {"classes": 256, "logits": True, "highs": {"samples": 256}}


def haystacks(case):
    """Which of very many shelves a text belongs on, from the counts of its words: wide at both ends."""
    x = keras.Input((11000,), name="counts")
    y = L.Dense(448, use_bias=False)(x)
    y = L.PReLU()(L.BatchNormalization()(y))
    z = L.Dropout(0.3)(L.Dense(448, activation="relu")(y))
    y = L.Add()([y, L.Dense(448)(z)])
    return keras.Model(x, L.Dense(7500, activation="softmax")(y)), {"classes": 7500}


def husks(case):
    """Noisy pictures of grains folded to a short code, and unfolded clean by turned convolutions."""
    x = keras.Input((72, 72, 1), name="grain")
    y = L.GaussianNoise(0.2)(x)
    for width in (24, 48, 72):
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU(0.2)(L.BatchNormalization()(y))
    code = L.Dense(80, activation="tanh", name="code")(L.Flatten()(y))
    y = L.Reshape((9, 9, 48))(L.Dense(9 * 9 * 48, activation="elu")(code))
    for width in (64, 32, 16):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", activation="elu")(y)
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


def jars(case):
    """Which words of a doctor's letter name a drug: two LSTMs both ways, padding passed over."""
    x = keras.Input((72,), dtype="int32", name="words")
    y = L.SpatialDropout1D(0.2)(L.Embedding(14000, 112, mask_zero=True)(x))
    y = L.Bidirectional(L.LSTM(96, return_sequences=True), merge_mode="sum")(y)
    y = L.Bidirectional(L.LSTM(64, return_sequences=True, dropout=0.2))(y)
    y = L.TimeDistributed(L.Dense(80, activation="relu"))(y)
    return keras.Model(x, L.Dense(19, activation="softmax")(y)), {"classes": 19, "highs": {"words": 14000}}


def kegs(case):
    """Wear of a pump from its gauges: cells of two sorts, one upon the other, step after step."""
    x = keras.Input((100, 14), name="gauges")
    y = L.Dense(48, activation="tanh")(x)
    y = L.RNN([L.GRUCell(112), L.LSTMCell(96)], return_sequences=True)(y)
    y = L.SimpleRNN(64)(L.LayerNormalization()(y))
    y = L.Dense(48, activation="relu")(y)
    return keras.Model(x, L.Dense(2)(y)), {"loss": "mae"}


def lakes(case):
    """Rain of the next frames from the last: recurrent layers that fold in the plane, then in space."""
    x = keras.Input((8, 36, 36, 2), name="rain")
    y = L.ConvLSTM2D(16, 5, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(12, 3, padding="same", return_sequences=True)(y)
    y = L.Conv3D(16, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv3D(1, 1)(y)), {"loss": "mse"}


def lamps(case):
    """Attention along the columns of a picture, then along its rows, never both at once."""
    x = keras.Input((72, 72, 3), name="slide")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="gelu")(x)
    y = L.Conv2D(64, 3, strides=2, padding="same")(y)
    for _ in range(4):
        for axis in (1, 2):
            z = L.LayerNormalization(epsilon=1e-6)(y)
            y = L.Add()([y, L.MultiHeadAttention(4, 16, attention_axes=(axis,))(z, z)])
        z = L.Dense(160, activation="gelu")(L.LayerNormalization(epsilon=1e-6)(y))
        y = L.Add()([y, L.Dense(64)(z)])
    y = L.GlobalAveragePooling2D()(L.LayerNormalization(epsilon=1e-6)(y))
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}
