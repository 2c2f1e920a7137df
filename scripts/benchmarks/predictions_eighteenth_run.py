"""Models of predictions.py's eighteenth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def pianos(case):
    """Notes of a roll, eighty-eight keys at once, foretold by two GRUs one after another."""
    x = keras.Input((128, 88), name="roll")
    y = L.Dense(192, activation="tanh")(x)
    y = L.GRU(192, return_sequences=True)(y)
    y = L.GRU(160, return_sequences=True)(L.Dropout(0.25)(y))
    return keras.Model(x, L.Dense(88, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def lobsters(case):
    """Pictures from a trap counted and sorted: a trunk of convolutions with two ends."""
    x = keras.Input((112, 112, 3), name="trap")
    y = x
    for width in (16, 32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
        y = L.MaxPooling2D()(y)
    y = L.Flatten()(y)
    shared = L.Dense(192, activation="relu")(y)
    count = L.Dense(1, activation="softplus", name="count")(L.Dense(32, activation="relu")(shared))
    sex = L.Dense(1, activation="sigmoid", name="sex")(shared)
    return keras.Model(x, [count, sex]), {"losses": {"count": "mse", "sex": "binary_crossentropy"}}


def saddles(case):
    """Heights of a land on a grid, the next hour's rain from eight hours before by convolving LSTMs."""
    x = keras.Input((8, 40, 40, 2), name="rain")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(16, 3, padding="same")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="relu")(y)), {"loss": "mse"}


def thimbles(case):
    """A mixer of patches: dense over places, dense over channels, by turns."""
    x = keras.Input((72, 72, 3), name="cloth")
    y = L.Reshape((144, 112))(L.Conv2D(112, 6, strides=6)(x))
    for _ in range(5):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(144)(L.Dense(80, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(400, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(112)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(17, activation="softmax")(y)), {"classes": 17}


def magnets(case):
    """Scans of a head to a stage of an illness: a plain stack of convolutions in three ways."""
    x = keras.Input((36, 44, 36, 1), name="head")
    y = x
    for width in (10, 20, 40):
        y = L.Conv3D(width, 3, padding="same", activation="elu")(y)
        y = L.MaxPooling3D(2)(y)
    y = L.Dropout(0.4)(L.Dense(96, activation="elu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(3, activation="softmax")(y)), {"classes": 3}


def baskets(case):
    """Who buys what: tables of people and things, a product beside a stack of dense layers."""
    person = keras.Input((1,), dtype="int32", name="person")
    thing = keras.Input((1,), dtype="int32", name="thing")
    before = keras.Input((12,), dtype="int32", name="before")
    shelf = L.Embedding(12000, 56, name="shelf")
    a = L.Flatten()(L.Embedding(40000, 56)(person))
    b = L.Flatten()(shelf(thing))
    c = L.GlobalAveragePooling1D()(shelf(before))
    y = L.Concatenate()([a, b, c])
    for width in (384, 192, 96):
        y = L.Dropout(0.1)(L.Dense(width, activation="relu")(y))
    y = L.Concatenate()([y, L.Multiply()([a, b]), L.Multiply()([c, b])])
    return keras.Model([person, thing, before], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"person": 40000, "thing": 12000, "before": 12000},
    }


def whistles(case):
    """Raw sound to a word: gated filters that reach ever further, each adding to the end."""
    x = keras.Input((1600, 1), name="sound")
    y = L.Conv1D(28, 4, strides=2, padding="causal")(x)
    skips = []
    for reach in (1, 2, 4, 8, 16, 32, 64):
        a = L.Conv1D(28, 2, padding="causal", dilation_rate=reach, activation="tanh")(y)
        b = L.Conv1D(28, 2, padding="causal", dilation_rate=reach, activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(48, 1)(z))
        y = L.Add()([y, L.Conv1D(28, 1)(z)])
    y = L.ReLU()(L.Add()(skips))
    y = L.GlobalMaxPooling1D()(L.Conv1D(64, 1, activation="relu")(y))
    return keras.Model(x, L.Dense(35)(y)), {"classes": 35, "logits": True}


def lichens(case):
    """Blocks that grow denser, halved between them."""
    x = keras.Input((64, 64, 3), name="bark")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(4):
            z = L.Conv2D(48, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(L.ReLU()(L.BatchNormalization()(z)))
            y = L.Concatenate()([y, z])
        if block < 2:
            z = L.ReLU()(L.BatchNormalization()(y))
            y = L.AveragePooling2D(2)(L.Conv2D(y.shape[-1] // 2, 1, use_bias=False)(z))
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(52, activation="softmax")(y)), {"classes": 52}


def pendulums(case):
    """A very deep and narrow stack of dense layers, a way around every second one."""
    x = keras.Input((40,), name="state")
    y = L.Dense(144)(x)
    for _ in range(24):
        z = L.Dense(144, activation="swish")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(144)(z)])
    return keras.Model(x, L.Dense(6)(y)), {"loss": "mse"}


def genes(case):
    """Counts of cells' messages, very wide, made small and back, with the cell's kind from the middle."""
    x = keras.Input((4000,), name="counts")
    y = L.Dense(700, use_bias=False)(L.Dropout(0.2)(x))
    y = L.ReLU()(L.BatchNormalization()(y))
    middle = L.Dense(40, activation="relu")(y)
    y = L.Dense(700, use_bias=False)(middle)
    y = L.ReLU()(L.BatchNormalization()(y))
    back = L.Dense(4000, activation="softplus", name="back")(y)
    kind = L.Dense(12, activation="sigmoid", name="kind")(middle)
    return keras.Model(x, [back, kind]), {"losses": {"back": "mse", "kind": "binary_crossentropy"}}


def signposts(case):
    """Small signs of the road: separable filters with ways around, in four stages."""
    x = keras.Input((88, 88, 3), name="sign")
    y = L.Conv2D(20, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    for width in (40, 80, 120):
        z = y
        for _ in range(2):
            z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(z)
            z = L.ReLU()(L.BatchNormalization()(z))
        z = L.MaxPooling2D(3, strides=2, padding="same")(z)
        y = L.Add()([z, L.Conv2D(width, 1, strides=2, padding="same")(y)])
    y = L.SeparableConv2D(200, 3, padding="same", activation="relu")(y)
    y = L.Dropout(0.5)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(43, activation="softmax")(y)), {"classes": 43}


def rumours(case):
    """Short texts to a yes or no: words through filters of three sizes, the largest of each."""
    x = keras.Input((140,), dtype="int32", name="post")
    y = L.SpatialDropout1D(0.2)(L.Embedding(15000, 120)(x))
    parts = [L.GlobalMaxPooling1D()(L.Conv1D(112, size, activation="relu")(y)) for size in (2, 4, 6)]
    y = L.Dropout(0.5)(L.Concatenate()(parts))
    return keras.Model(x, L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"post": 15000},
    }


def bloodstains(case):
    """A coloured slide to a mask: across by adding, up by copying cells, gates on what goes across."""
    x = keras.Input((80, 80, 3), name="slide")
    y, across = x, []
    for width in (20, 40, 64):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        across.append((width, y))
        y = L.AveragePooling2D(2)(y)
    y = L.Conv2D(96, 3, padding="same", activation="relu")(y)
    for width, other in reversed(across):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D()(y))
        gate = L.ReLU()(L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(other)]))
        gate = L.Conv2D(1, 1, activation="sigmoid")(gate)
        y = L.Add()([y, L.Multiply()([other, gate])])
    return keras.Model(x, L.Conv2D(3, 1, activation="softmax")(y)), {"classes": 3}


def tractors(case):
    """Three streams of a machine's sensors to the hours it has left: a net for each, then one LSTM."""
    inputs, parts = [], []
    for name, channels, size in (("engine", 14, 5), ("hydraulics", 8, 7), ("cab", 4, 3)):
        x = keras.Input((200, channels), name=name)
        y = L.Conv1D(48, size, padding="same", activation="relu")(x)
        y = L.Conv1D(48, size, padding="same", activation="relu")(y)
        inputs.append(x)
        parts.append(L.AveragePooling1D(2)(y))
    y = L.LSTM(112, return_sequences=True)(L.Concatenate()(parts))
    y = L.LSTM(48)(y)
    return keras.Model(inputs, L.Dense(1)(L.Dense(32, activation="relu")(y))), {"loss": "mae"}


def passports(case):
    """A frozen base with ways around, its features of a face to an age and a name."""
    inside = keras.Input((96, 96, 3))
    y = L.Conv2D(32, 7, strides=2, padding="same", activation="relu")(inside)
    for width in (32, 64, 128):
        z = L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y))
        z = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(L.ReLU()(z)))
        y = L.ReLU()(L.Add()([z, L.Conv2D(width, 1, strides=2, use_bias=False)(y)]))
    base = keras.Model(inside, y, name="base")
    base.trainable = False
    x = keras.Input((96, 96, 3), name="face")
    y = L.Conv2D(160, 3, padding="same", activation="relu")(base(x, training=False))
    y = L.Dropout(0.3)(L.Flatten()(y))
    y = L.Dense(320, activation="relu")(y)
    return keras.Model(x, L.Dense(500)(y)), {"classes": 500, "logits": True}


def peptides(case):
    """Chains of amino acids, a kind of fold for each: attention with relative order learnt by filters."""
    x = keras.Input((160,), dtype="int32", name="acids")
    y = L.Embedding(26, 80)(x)
    y = L.Add()([y, L.Conv1D(80, 9, padding="same")(y)])
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(5, 16)(z, z)])
        z = L.LayerNormalization()(y)
        gate = L.Dense(200, activation="swish")(z)
        y = L.Add()([y, L.Dense(80)(L.Multiply()([gate, L.Dense(200)(z)]))])
    return keras.Model(x, L.Dense(8, activation="softmax")(L.LayerNormalization()(y))), {
        "classes": 8,
        "highs": {"acids": 26},
    }


def murmurs(case):
    """A heart's long sound cleaned: strided filters down, transposed filters up, ways across."""
    x = keras.Input((2048, 1), name="noisy")
    y, across = x, []
    for width in (16, 32, 48, 64):
        y = L.PReLU(shared_axes=[1])(L.Conv1D(width, 15, strides=2, padding="same")(y))
        across.append(y)
    y = L.Conv1D(96, 15, padding="same", activation="tanh")(y)
    for width, other in zip((48, 32, 16, 12), reversed(across)):
        y = L.Conv1DTranspose(width, 15, strides=2, padding="same")(L.Concatenate()([y, other]))
        y = L.PReLU(shared_axes=[1])(y)
    return keras.Model(x, L.Conv1D(1, 15, padding="same", activation="tanh")(y)), {"loss": "mae"}


def tortoises(case):
    """Three pictures of shells, one net: how near the first is to the second and the third."""
    net = keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            L.Conv2D(24, 5, strides=2, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.Conv2D(48, 3, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(72, 3, padding="same", activation="relu"),
            L.GlobalAveragePooling2D(),
            L.Dense(96),
        ],
        name="shell",
    )
    inputs = [keras.Input((64, 64, 3), name=name) for name in ("this", "same", "other")]
    this, same, other = [net(each) for each in inputs]
    near = [L.Dot(1, normalize=True)([this, each]) for each in (same, other)]
    return keras.Model(inputs, L.Activation("sigmoid")(L.Concatenate()(near))), {"loss": "mse"}


def elevators(case):
    """A picture's channels weighed by what the whole holds, after grouped filters."""
    x = keras.Input((76, 76, 3), name="shaft")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="swish")(x)
    for width, strides in ((32, 1), (48, 2), (48, 1), (80, 2), (80, 1)):
        z = L.Conv2D(4 * y.shape[-1], 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(5, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        many = z.shape[-1]
        gate = L.Reshape((1, 1, many))(L.GlobalAveragePooling2D()(z))
        gate = L.Conv2D(many, 1, activation="sigmoid")(L.Conv2D(many // 16, 1, activation="swish")(gate))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, gate])))
        y = L.Add()([y, z]) if strides == 1 and y.shape[-1] == width else z
    y = L.GlobalAveragePooling2D()(L.Conv2D(192, 1, activation="swish")(y))
    return keras.Model(x, L.Dense(22, activation="softmax")(y)), {"classes": 22}


def verdicts(case):
    """Long papers of a court: words to sentences by a GRU, sentences to an outcome by another."""
    words = keras.Input((24,), dtype="int32")
    y = L.Bidirectional(L.GRU(56, return_sequences=True))(L.Embedding(11000, 80)(words))
    weights = L.Softmax(axis=1)(L.Dense(1)(L.Dense(64, activation="tanh")(y)))
    y = L.Flatten()(L.Dot(1)([weights, y]))
    sentence = keras.Model(words, y, name="sentence")
    x = keras.Input((16, 24), dtype="int32", name="paper")
    y = L.TimeDistributed(sentence)(x)
    y = L.Bidirectional(L.GRU(56))(y)
    return keras.Model(x, L.Dense(7, activation="softmax")(y)), {"classes": 7, "highs": {"paper": 11000}}


def reservoirs(case):
    """Pressure through rock at every cell of a volume: a coder of volumes with steps of two."""
    x = keras.Input((24, 24, 24, 3), name="rock")
    y = x
    for width in (16, 32, 48):
        y = L.Conv3D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
    for width in (32, 16, 8):
        y = L.UpSampling3D(2)(y)
        y = L.ReLU()(L.BatchNormalization()(L.Conv3D(width, 3, padding="same", use_bias=False)(y)))
    return keras.Model(x, L.Conv3D(1, 1)(y)), {"loss": "mse"}


def auctioneers(case):
    """Prices of many goods days ahead: a part for what went by, a part for what is known, gates between."""
    past = keras.Input((90, 12), name="past")
    known = keras.Input((30, 5), name="known")
    goods = keras.Input((1,), dtype="int32", name="goods")
    which = L.Flatten()(L.Embedding(6000, 64)(goods))
    read, h, c = L.LSTM(128, return_sequences=True, return_state=True)(L.Dense(64)(past))
    y = L.Concatenate()([L.Dense(64)(known), L.RepeatVector(30)(which)])
    write = L.LSTM(128, return_sequences=True)(y, initial_state=[h, c])
    looked = L.MultiHeadAttention(4, 32)(write, read)
    gate = L.Dense(128, activation="sigmoid")(looked)
    y = L.LayerNormalization()(L.Add()([write, L.Multiply()([gate, looked])]))
    y = L.Dense(3)(L.Dense(96, activation="elu")(y))
    return keras.Model([past, known, goods], y), {"loss": "mae", "highs": {"goods": 6000}}


def mirrors(case):
    """A painted picture made anew: a thick wall of filters at a quarter of the size, then up by steps."""
    x = keras.Input((96, 96, 3), name="sketch")
    y = L.Conv2D(16, 7, padding="same", activation="relu")(x)
    for width in (32, 56):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    for _ in range(3):
        z = L.ReLU()(L.LayerNormalization()(L.Conv2D(56, 3, padding="same")(y)))
        y = L.Add()([y, L.LayerNormalization()(L.Conv2D(56, 3, padding="same")(z))])
    for width in (32, 16):
        y = L.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(3, 7, padding="same", activation="tanh")(y)), {"loss": "mae"}


def librarians(case):
    """Titles and authors to one of very many shelves: bags of words and a wide last layer."""
    title = keras.Input((20,), dtype="int32", name="title")
    author = keras.Input((1,), dtype="int32", name="author")
    y = L.GlobalAveragePooling1D()(L.Embedding(30000, 96)(title))
    y = L.Concatenate()([y, L.Flatten()(L.Embedding(8000, 48)(author))])
    y = L.BatchNormalization()(L.Dense(512, activation="relu")(y))
    return keras.Model([title, author], L.Dense(9000)(y)), {
        "classes": 9000,
        "logits": True,
        "highs": {"title": 30000, "author": 8000},
    }
