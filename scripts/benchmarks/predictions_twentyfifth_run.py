"""Models of predictions.py's twenty-fifth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def magnolias(case):
    """Flowers told apart by narrow-waisted steps, each channel weighed by what the whole picture says."""
    x = keras.Input((112, 112, 3), name="flower")
    y = L.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(x)
    y = L.MaxPooling2D(3, strides=2, padding="same")(L.Activation("relu")(L.BatchNormalization()(y)))
    for width, strides in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        z = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y)))
        z = L.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.BatchNormalization()(L.Conv2D(4 * width, 1, use_bias=False)(z))
        weigh = L.GlobalAveragePooling2D(keepdims=True)(z)
        weigh = L.Conv2D(4 * width, 1, activation="sigmoid")(L.Conv2D(width // 4, 1, activation="relu")(weigh))
        z = L.Multiply()([z, weigh])
        if y.shape[-1] != 4 * width or strides > 1:
            y = L.BatchNormalization()(L.Conv2D(4 * width, 1, strides=strides, use_bias=False)(y))
        y = L.Activation("relu")(L.Add()([y, z]))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(102, activation="softmax")(y)), {"classes": 102}


def marmots(case):
    """A call's next sample from those before: gated filters that reach back twice as far each time."""
    x = keras.Input((1024,), dtype="int32", name="samples")
    y = L.Embedding(256, 48)(x)
    kept = []
    for step in range(8):
        wave = L.Conv1D(48, 2, dilation_rate=2**step, padding="causal", activation="tanh")(y)
        gate = L.Conv1D(48, 2, dilation_rate=2**step, padding="causal", activation="sigmoid")(y)
        z = L.Multiply()([wave, gate])
        kept.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(48, 1)(z)])
    y = L.Conv1D(128, 1, activation="relu")(L.ReLU()(L.Add()(kept)))
    return keras.Model(x, L.Conv1D(256, 1)(y)), {"classes": 256, "logits": True, "highs": {"samples": 256}}


def mazes(case):
    """A board of a game to the move to make and the side that will win, from one deep tower."""
    x = keras.Input((19, 19, 17), name="board")
    y = L.ReLU()(L.BatchNormalization()(L.Conv2D(48, 3, padding="same", use_bias=False)(x)))
    for _ in range(8):
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(48, 3, padding="same", use_bias=False)(y)))
        z = L.BatchNormalization()(L.Conv2D(48, 3, padding="same", use_bias=False)(z))
        y = L.ReLU()(L.Add()([y, z]))
    z = L.ReLU()(L.BatchNormalization()(L.Conv2D(2, 1, use_bias=False)(y)))
    move = L.Dense(362, activation="softmax", name="move")(L.Flatten()(z))
    z = L.ReLU()(L.BatchNormalization()(L.Conv2D(1, 1, use_bias=False)(y)))
    z = L.Dense(192, activation="relu")(L.Flatten()(z))
    winner = L.Dense(1, activation="tanh", name="winner")(z)
    return keras.Model(x, [move, winner]), {"losses": {"move": "categorical_crossentropy", "winner": "mse"}}


def medals(case):
    """Two towers that meet in one number: who looks, with what they saw before, and what is shown."""
    who = keras.Input((1,), dtype="int32", name="who")
    seen = keras.Input((30,), dtype="int32", name="seen")
    shown = keras.Input((1,), dtype="int32", name="shown")
    price = keras.Input((6,), name="price")
    things = L.Embedding(50000, 40)
    y = L.Concatenate()([L.Flatten()(L.Embedding(90000, 40)(who)), L.GlobalAveragePooling1D()(things(seen))])
    z = L.Concatenate()([L.Flatten()(things(shown)), L.BatchNormalization()(price)])
    for width in (256, 128):
        y = L.Dense(width, activation="relu")(y)
        z = L.Dense(width, activation="relu")(z)
    y = L.Dot(axes=1, normalize=True)([L.Dense(64)(y), L.Dense(64)(z)])
    y = L.Dense(1, activation="sigmoid")(y)
    return keras.Model([who, seen, shown, price], y), {
        "loss": "binary_crossentropy",
        "highs": {"who": 90000, "seen": 50000, "shown": 50000},
    }


def mussels(case):
    """Shells outlined on the sea's bed: a U whose ways across pass a gate, norms over groups."""
    x = keras.Input((96, 96, 1), name="seabed")
    y, across = x, []
    for width in (16, 32, 64):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.Activation("relu")(L.GroupNormalization(groups=8)(y))
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(96, 3, padding="same", activation="relu")(y)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D(2, interpolation="bilinear")(y))
        gate = L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(other)])
        gate = L.Conv2D(1, 1, activation="sigmoid")(L.Activation("relu")(gate))
        y = L.Concatenate()([y, L.Multiply()([other, gate])])
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.GroupNormalization(groups=8)(y))
    return keras.Model(x, L.Conv2D(4, 1, activation="softmax")(y)), {"classes": 4}


def oceans(case):
    """Maps of the sea's warmth and height, day by day, to the warmth of the day after each."""
    x = keras.Input((8, 32, 32, 2), name="days")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True, recurrent_activation="sigmoid")(y)
    y = L.Conv3D(8, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv3D(1, 1)(y)), {"loss": "mae"}


def pagodas(case):
    """A cloud of points to what it is a cloud of: turned twice by a matrix the net itself finds."""
    x = keras.Input((512, 3), name="cloud")
    y = x
    for size, widths in ((3, (32, 64, 128)), (32, (64, 128, 256))):
        z = y
        for width in widths:
            z = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 1)(z)))
        z = L.Dense(128, activation="relu")(L.GlobalMaxPooling1D()(z))
        turn = L.Reshape((size, size))(L.Dense(size * size, kernel_initializer="zeros", bias_initializer="ones")(z))
        y = L.Dot(axes=(2, 1))([y, turn])
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(32, 1)(y)))
    for width in (64, 128, 384):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    y = L.GlobalMaxPooling1D()(y)
    y = L.Dropout(0.3)(L.Dense(192, activation="relu")(y))
    return keras.Model(x, L.Dense(40)(y)), {"classes": 40, "logits": True}


def possums(case):
    """Beasts that passed a camera at night: a base of which only the last steps learn."""
    x = keras.Input((96, 96, 3), name="night")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(L.Rescaling(2.0, offset=-1.0)(x))
    for width in (48, 96, 160):
        past = L.Conv2D(width, 1, strides=2, use_bias=False)(y)
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(z)
        z = L.MaxPooling2D(3, strides=2, padding="same")(L.BatchNormalization()(z))
        y = L.Add()([z, past])
    base = keras.Model(x, y, name="base")
    for layer in base.layers[:-8]:
        layer.trainable = False
    night = keras.Input((96, 96, 3), name="shot")
    y = base(night)
    y = L.Concatenate()([L.GlobalAveragePooling2D()(y), L.GlobalMaxPooling2D()(y)])
    y = L.Dense(256, activation="relu")(L.Dropout(0.4)(y))
    return keras.Model(night, L.Dense(33, activation="softmax")(y)), {"classes": 33}


def pigeons(case):
    """Patches of a picture mixed by dense layers alone, over the patches and over the channels by turns."""
    x = keras.Input((64, 64, 3), name="flock")
    y = L.Reshape((64, 128))(L.Conv2D(128, 8, strides=8)(x))
    for _ in range(6):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(64)(L.Dense(128, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(384, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(75, activation="softmax")(y)), {"classes": 75}


def poppies(case):
    """A picture through a narrow and noisy middle and out again."""
    x = keras.Input((64, 64, 3), name="field")
    y = x
    for width in (32, 64, 128):
        y = L.LeakyReLU(0.2)(L.BatchNormalization()(L.Conv2D(width, 4, strides=2, padding="same")(y)))
    y = L.GaussianNoise(0.5)(L.Dense(96, name="code")(L.Flatten()(y)))
    y = L.Reshape((8, 8, 128))(L.Dense(8 * 8 * 128, activation="relu")(y))
    for width in (96, 48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(y)
        y = L.LeakyReLU(0.2)(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(3, 5, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


def quails(case):
    """A long curve through very many very narrow steps, norms and steps before the filters."""
    x = keras.Input((600, 2), name="trace")
    y = L.Conv1D(16, 9, padding="same")(x)
    for _ in range(34):
        z = L.Activation("elu")(L.BatchNormalization()(y))
        z = L.Conv1D(16, 7, padding="same", use_bias=False)(z)
        z = L.Activation("elu")(L.BatchNormalization()(z))
        y = L.Add()([y, L.Conv1D(16, 7, padding="same")(z)])
    y = L.Activation("elu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 5}


def rackets(case):
    """Strokes of a player in a few frames: filters in the picture, then filters in time."""
    x = keras.Input((10, 56, 56, 3), name="rally")
    y = L.Conv3D(16, (1, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(x)
    for width, strides in ((16, 1), (32, 2), (64, 2)):
        z = L.Conv3D(width, (1, 3, 3), strides=(1, strides, strides), padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        past = L.Conv3D(width, 1, strides=(1, strides, strides), use_bias=False)(y)
        y = L.Activation("relu")(L.Add()([z, past]))
    y = L.AveragePooling3D((2, 1, 1))(y)
    y = L.Dropout(0.5)(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def reeds(case):
    """Names found in a text: words by a table, spelling by filters over letters, read both ways twice."""
    words = keras.Input((44,), dtype="int32", name="words")
    letters = keras.Input((44, 14), dtype="int32", name="letters")
    y = L.Dropout(0.3)(L.Embedding(26000, 100)(words))
    z = L.Embedding(95, 24)(letters)
    z = L.TimeDistributed(L.Conv1D(40, 3, padding="same", activation="tanh"))(z)
    z = L.TimeDistributed(L.GlobalMaxPooling1D())(z)
    y = L.Concatenate()([y, z])
    for _ in range(2):
        y = L.Bidirectional(L.LSTM(96, return_sequences=True))(y)
    y = L.Dense(64, activation="tanh")(L.SpatialDropout1D(0.2)(y))
    return keras.Model([words, letters], L.Dense(19, activation="softmax")(y)), {
        "classes": 19,
        "highs": {"words": 26000, "letters": 95},
    }


def robins(case):
    """Song as a picture of pitch and time: blocks in which each layer hears all before it."""
    x = keras.Input((96, 128, 1), name="song")
    y = L.Conv2D(24, 5, strides=2, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(4):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            y = L.Concatenate()([y, L.Conv2D(12, 3, padding="same", use_bias=False)(z)])
        if block < 2:
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.AveragePooling2D(2)(L.Conv2D(y.shape[-1] // 2, 1, use_bias=False)(y))
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(264)(y)), {"classes": 264, "logits": True}


def scarves(case):
    """A question turned into a command: one stack attends to the words, another to both."""
    asked = keras.Input((36,), dtype="int32", name="asked")
    typed = keras.Input((30,), dtype="int32", name="typed")

    def wide(y):
        return L.Dropout(0.1)(L.Dense(96)(L.Dense(288, activation="relu")(y)))

    y = L.Embedding(6000, 96)(asked)
    y = L.Add()([y, L.Conv1D(96, 3, padding="same")(y)])
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 24)(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, wide(y)]))
    z = L.Embedding(5200, 96)(typed)
    z = L.Add()([z, L.Conv1D(96, 3, padding="causal")(z)])
    for _ in range(2):
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, z, use_causal_mask=True)]))
        z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 24)(z, y)]))
        z = L.LayerNormalization()(L.Add()([z, wide(z)]))
    return keras.Model([asked, typed], L.Dense(5200, activation="softmax")(z)), {
        "classes": 5200,
        "highs": {"asked": 6000, "typed": 5200},
    }


def shelves(case):
    """A book's counts of words to all the shelves it might stand on: few layers, very wide ends."""
    x = keras.Input((14000,), name="counts")
    y = L.PReLU()(L.BatchNormalization()(L.Dense(512, use_bias=False)(x)))
    y = L.Dropout(0.5)(y)
    y = L.Add()([y, L.Dense(512, activation="relu")(y)])
    return keras.Model(x, L.Dense(3600, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def spiders(case):
    """Does the second sentence follow from the first? Each is read alike, then laid against the other."""
    first = keras.Input((40,), dtype="int32", name="first")
    second = keras.Input((40,), dtype="int32", name="second")
    table, read = L.Embedding(18000, 100), L.Bidirectional(L.GRU(64, return_sequences=True))
    compare, pool = L.Dense(128, activation="relu"), L.GlobalMaxPooling1D()
    a, b = read(table(first)), read(table(second))
    scores = L.Dot(axes=2)([a, b])
    near_a = L.Dot(axes=(2, 1))([L.Softmax(axis=2)(scores), b])
    near_b = L.Dot(axes=(1, 1))([L.Softmax(axis=1)(scores), a])
    ends = []
    for own, other in ((a, near_a), (b, near_b)):
        y = L.Concatenate()([own, other, L.Subtract()([own, other]), L.Multiply()([own, other])])
        ends.append(pool(compare(y)))
    y = L.Dropout(0.3)(L.Dense(128, activation="relu")(L.Concatenate()(ends)))
    return keras.Model([first, second], L.Dense(3, activation="softmax")(y)), {
        "classes": 3,
        "highs": {"first": 18000, "second": 18000},
    }


def squirrels(case):
    """A picture on a telephone: each step widens, filters channel by channel, weighs and narrows."""
    x = keras.Input((80, 80, 3), name="snap")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    for width, size, strides in ((16, 3, 1), (24, 3, 2), (24, 3, 1), (40, 5, 2), (40, 5, 1), (72, 5, 2), (72, 3, 1)):
        inside = 4 * y.shape[-1]
        z = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(inside, 1, use_bias=False)(y)))
        z = L.DepthwiseConv2D(size, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        weigh = L.Dense(inside // 8, activation="swish")(L.GlobalAveragePooling2D()(z))
        weigh = L.Reshape((1, 1, inside))(L.Dense(inside, activation="sigmoid")(weigh))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, weigh])))
        y = L.Add()([y, z]) if y.shape[-1] == width and strides == 1 else z
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(288, 1, use_bias=False)(y)))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(120, activation="softmax")(y)), {"classes": 120}


def trams(case):
    """A line's past and its plan to what is to come: cells one on another, gates chosen by the stop."""
    past = keras.Input((96, 12), name="past")
    plan = keras.Input((24, 5), name="plan")
    stop = keras.Input((1,), dtype="int32", name="stop")
    place = L.Flatten()(L.Embedding(1400, 48)(stop))
    state = L.RNN([L.GRUCell(96), L.GRUCell(96)])(L.Dense(64, activation="elu")(past))
    gate = L.Dense(96, activation="sigmoid")(place)
    state = L.LayerNormalization()(L.Multiply()([state, gate]))
    z = L.Concatenate()([L.RepeatVector(24)(state), plan, L.RepeatVector(24)(place)])
    z = L.LSTM(128, return_sequences=True)(z)
    z = L.Add()([L.Attention()([z, z]), z])
    z = L.Dense(64, activation="elu")(z)
    riders = L.Dense(3, name="riders")(z)
    delay = L.Dense(1, activation="softplus", name="delay")(z)
    return keras.Model([past, plan, stop], [riders, delay]), {
        "losses": {"riders": "mae", "delay": "huber"},
        "highs": {"stop": 1400},
    }


def wasps(case):
    """Small things found at three sizes: a pyramid that adds from the top down, one head for all."""
    x = keras.Input((96, 96, 3), name="orchard")
    y, levels = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x), []
    for width in (48, 72, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        levels.append(y)
    heads = [L.Conv2D(64, 3, padding="same", activation="relu") for _ in range(2)]
    what, where = L.Conv2D(6, 3, padding="same", activation="sigmoid"), L.Conv2D(12, 3, padding="same")
    kinds, boxes, top = [], [], None
    for level in reversed(levels):
        z = L.Conv2D(64, 1)(level)
        top = z if top is None else L.Add()([z, L.UpSampling2D(2)(top)])
        y = L.Conv2D(64, 3, padding="same")(top)
        for head in heads:
            y = head(y)
        kinds.append(L.Reshape((-1, 2))(what(y)))
        boxes.append(L.Reshape((-1, 4))(where(y)))
    ends = [L.Concatenate(axis=1, name="kinds")(kinds), L.Concatenate(axis=1, name="boxes")(boxes)]
    return keras.Model(x, ends), {"losses": {"kinds": "binary_crossentropy", "boxes": "mae"}}
