"""Models of predictions.py's thirty-second set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def acrobats(case):
    """Which of eighteen tumbles a belt's six sensors felt: a pre-activated residual net along time."""
    x = keras.Input((400, 6), name="belt")
    y = L.Conv1D(64, 7, strides=2, padding="same", use_bias=False)(x)
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1)):
        z = L.BatchNormalization()(y)
        z = L.Activation("relu")(z)
        short = y
        if stride != 1 or y.shape[-1] != width:
            short = L.Conv1D(width, 1, strides=stride, use_bias=False)(z)
        z = L.Conv1D(width, 3, strides=stride, padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        z = L.Activation("relu")(z)
        z = L.Dropout(0.1)(z)
        z = L.Conv1D(width, 3, padding="same", use_bias=False)(z)
        gate = L.GlobalAveragePooling1D(keepdims=True)(z)
        gate = L.Dense(width // 8, activation="relu")(gate)
        gate = L.Dense(width, activation="sigmoid")(gate)
        y = L.Add()([short, L.Multiply()([z, gate])])
    y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.Concatenate()([L.GlobalAveragePooling1D()(y), L.GlobalMaxPooling1D()(y)])
    return keras.Model(x, L.Dense(18)(y)), {"classes": 18, "logits": True}


def alleys(case):
    """Where one may walk in a photograph of a lane: a small U-Net with a logistic last layer."""

    def double(y, width):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(y)
            y = L.BatchNormalization()(y)
            y = L.ReLU()(y)
        return y

    x = keras.Input((128, 128, 3), name="photo")
    y, kept = x, []
    for width in (16, 32, 64):
        y = double(y, width)
        kept.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Dropout(0.3)(double(y, 128))
    for width in (64, 32, 16):
        y = L.Conv2DTranspose(width, 2, strides=2, padding="same")(y)
        y = L.Concatenate()([y, kept.pop()])
        y = double(y, width)
    y = L.Conv2D(1, 1, activation="sigmoid", name="walkable")(y)
    return keras.Model(x, y), {"loss": "binary_crossentropy"}


def amulets(case):
    """Forty kinds of charm by inverted bottlenecks with swish and squeezed channels."""
    x = keras.Input((96, 96, 3), name="picture")
    y = L.Rescaling(1 / 127.5, offset=-1)(x)
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(y)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    plan = ((16, 1, 3), (24, 2, 3), (24, 1, 3), (40, 2, 5), (40, 1, 5), (72, 2, 3), (72, 1, 3), (72, 1, 5))
    for width, stride, kernel in plan:
        into = y.shape[-1]
        z = L.Conv2D(4 * into, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        s = L.GlobalAveragePooling2D()(z)
        s = L.Reshape((1, 1, 4 * into))(s)
        s = L.Conv2D(max(4, into // 4), 1, activation="swish")(s)
        s = L.Conv2D(4 * into, 1, activation="sigmoid")(s)
        z = L.Multiply()([z, s])
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        if stride == 1 and into == width:
            z = L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(z)
            z = L.Add()([y, z])
        y = z
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(256, 1, use_bias=False)(y)))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def armchairs(case):
    """Do two snapshots show one and the same chair: a tower used twice, then a cosine."""
    a = keras.Input((64, 64, 3), name="left")
    b = keras.Input((64, 64, 3), name="right")
    z = keras.Input((64, 64, 3))
    y = z
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same")(y)
        y = L.GroupNormalization(8)(y)
        y = L.Activation("relu")(y)
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    y = L.GlobalAveragePooling2D()(y)
    y = L.UnitNormalization()(L.Dense(64)(y))
    tower = keras.Model(z, y, name="tower")
    cosine = L.Dot(axes=1)([tower(a), tower(b)])
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(cosine)), {"loss": "binary_crossentropy"}


def cabins(case):
    """The nightly rent of a hut from a wide table with two columns of codes."""
    numbers = keras.Input((24,), name="numbers")
    district = keras.Input((1,), dtype="int32", name="district")
    heating = keras.Input((1,), dtype="int32", name="heating")
    y = L.Concatenate()([
        L.BatchNormalization()(numbers),
        L.Flatten()(L.Embedding(900, 24)(district)),
        L.Flatten()(L.Embedding(12, 4)(heating)),
    ])
    y = L.Dense(256, activation="gelu")(y)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        z = L.Dense(256, activation="gelu")(z)
        z = L.Dropout(0.15)(z)
        z = L.Dense(256)(z)
        y = L.Add()([y, z])
    y = L.Dense(64, activation="relu")(L.LayerNormalization()(y))
    facts = {"loss": "mse", "highs": {"district": 900, "heating": 12}}
    return keras.Model([numbers, district, heating], L.Dense(1)(y)), facts


def caravans(case):
    """Will a camper book this pitch: one table of pitches for the wanted one and for those booked before."""
    who = keras.Input((1,), dtype="int32", name="who")
    wanted = keras.Input((1,), dtype="int32", name="wanted")
    booked = keras.Input((30,), dtype="int32", name="booked")
    pitches = L.Embedding(80000, 48, name="pitches")
    people = L.Embedding(60000, 32, name="people")
    want, past = pitches(wanted), pitches(booked)
    seen = L.Attention(use_scale=True)([want, past])
    mean = L.GlobalAveragePooling1D()(past)
    left = L.Concatenate()([L.Flatten()(people(who)), L.Flatten()(seen), mean])
    right = L.Flatten()(want)
    for width in (128, 64):
        left = L.Dense(width, activation="relu")(left)
        right = L.Dense(width, activation="relu")(right)
    dot = L.Dot(axes=-1)([left, right])
    facts = {"loss": "binary_crossentropy", "highs": {"who": 60000, "wanted": 80000, "booked": 80000}}
    return keras.Model([who, wanted, booked], L.Activation("sigmoid")(dot)), facts


def citadels(case):
    """Which century a fortress is of: patches of eight pixels looked at by five blocks of attention."""
    x = keras.Input((128, 128, 3), name="view")
    y = L.Conv2D(128, 8, strides=8, name="patches")(x)
    y = L.Add()([y, L.DepthwiseConv2D(3, padding="same", name="whereabouts")(y)])
    y = L.Reshape((256, 128))(y)
    for _ in range(5):
        z = L.LayerNormalization(epsilon=1e-6)(y)
        z = L.MultiHeadAttention(4, 32, dropout=0.1)(z, z)
        y = L.Add()([y, z])
        z = L.LayerNormalization(epsilon=1e-6)(y)
        z = L.Dense(256, activation="gelu")(z)
        z = L.Dropout(0.1)(z)
        z = L.Dense(128)(z)
        y = L.Add()([y, L.Dropout(0.1)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(y))
    return keras.Model(x, L.Dense(14)(y)), {"classes": 14, "logits": True}


def comets(case):
    """Brightness, drift and tail of a comet from a stack of sixteen exposures, by filters in three dimensions."""
    model = keras.Sequential(name="comets")
    model.add(keras.Input((16, 48, 48, 1), name="stack"))
    for width in (12, 24, 48):
        model.add(L.Conv3D(width, 3, padding="same", activation="elu"))
        model.add(L.Conv3D(width, 3, padding="same", use_bias=False))
        model.add(L.BatchNormalization())
        model.add(L.Activation("elu"))
        model.add(L.MaxPooling3D(2))
    model.add(L.SpatialDropout3D(0.2))
    model.add(L.Flatten())
    model.add(L.Dense(96, activation="elu"))
    model.add(L.Dense(3))
    return model, {"loss": "mse"}


def corals(case):
    """Finds polyps on a reef's photograph: a residual trunk, two levels joined, three heads."""

    def unit(y, width, kernel=3, stride=1, act=True):
        y = L.Conv2D(width, kernel, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.ReLU()(y) if act else y

    x = keras.Input((160, 160, 3), name="reef")
    y = unit(x, 24, 5, 2)
    levels = []
    for width in (32, 64, 96):
        short = unit(y, width, 1, 2, act=False)
        y = unit(unit(y, width, 3, 2), width, act=False)
        y = L.ReLU()(L.Add()([short, y]))
        z = unit(unit(y, width), width, act=False)
        y = L.ReLU()(L.Add()([y, z]))
        levels.append(y)
    top = L.UpSampling2D(2)(L.Conv2D(64, 1)(levels[2]))
    y = L.Add()([top, L.Conv2D(64, 1)(levels[1])])
    y = unit(y, 64)
    heat = L.Conv2D(1, 1, activation="sigmoid", name="heat")(unit(y, 32))
    box = L.Conv2D(4, 1, name="box")(unit(y, 32))
    kind = L.Conv2D(6, 1, activation="softmax", name="kind")(unit(y, 32))
    facts = {
        "losses": {"heat": "binary_crossentropy", "box": "huber", "kind": "sparse_categorical_crossentropy"},
        "outs": {"kind": 6},
        "metrics": {"kind": ["accuracy"]},
    }
    return keras.Model(x, [heat, box, kind]), facts


def dandelions(case):
    """Lawn, weed, path, bed or sky at every pixel: holes in the filters, side by side, and a bilinear way back."""
    x = keras.Input((112, 112, 3), name="lawn")
    y = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.ReLU(6.0)(L.BatchNormalization()(y))
    for width, stride in ((48, 1), (64, 2), (96, 1)):
        y = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.Conv2D(width, 1, use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        if width == 48:
            early = y
    sides = [L.Conv2D(48, 1, activation="relu")(y)]
    for rate in (2, 4, 8):
        sides.append(L.Conv2D(48, 3, padding="same", dilation_rate=rate, activation="relu")(y))
    whole = L.GlobalAveragePooling2D(keepdims=True)(y)
    whole = L.Conv2D(48, 1, activation="relu")(whole)
    sides.append(L.UpSampling2D(28, interpolation="bilinear")(whole))
    y = L.Conv2D(64, 1, use_bias=False)(L.Concatenate()(sides))
    y = L.Dropout(0.2)(L.ReLU()(L.BatchNormalization()(y)))
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    y = L.Concatenate()([y, L.Conv2D(16, 1, activation="relu")(early)])
    y = L.SeparableConv2D(48, 3, padding="same", activation="relu")(y)
    y = L.Conv2D(5, 1)(y)
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    return keras.Model(x, y), {"classes": 5, "logits": True}


def envoys(case):
    """Goes on with a diplomatic cable, word by word: three causal blocks over words and places."""
    words = keras.Input((96,), dtype="int32", name="words")
    places = keras.Input((96,), dtype="int32", name="places")
    y = L.Add()([L.Embedding(4000, 160)(words), L.Embedding(96, 160)(places)])
    y = L.Dropout(0.1)(y)
    for _ in range(3):
        z = L.MultiHeadAttention(5, 32)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
        z = L.Dense(480, activation="relu")(y)
        z = L.Dense(160)(z)
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
    y = L.Dense(4000, name="next")(y)
    return keras.Model([words, places], y), {"classes": 4000, "logits": True, "highs": {"words": 4000, "places": 96}}


def fjords(case):
    """Tomorrow's ice over a bay from eight days of maps, by cells that convolve as they remember."""
    x = keras.Input((8, 32, 32, 2), name="days")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(24, 3, padding="same")(y)
    y = L.BatchNormalization()(y)
    y = L.Conv2D(24, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "mse"}


def flamingos(case):
    """Answers a question about a picture: the question's words look at a grid of the picture."""
    picture = keras.Input((96, 96, 3), name="picture")
    asked = keras.Input((24,), dtype="int32", name="asked")
    y = picture
    for width in (32, 64, 128):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    grid = L.LayerNormalization()(L.Reshape((144, 128))(y))
    q = L.Embedding(6000, 128)(asked)
    q = L.Bidirectional(L.GRU(64, return_sequences=True))(q)
    for _ in range(2):
        q = L.LayerNormalization()(L.Add()([q, L.MultiHeadAttention(4, 32)(q, q)]))
        seen = L.MultiHeadAttention(8, 16, dropout=0.1)(q, grid)
        q = L.LayerNormalization()(L.Add()([q, seen]))
        z = L.Dense(128)(L.Dense(384, activation="gelu")(q))
        q = L.LayerNormalization()(L.Add()([q, z]))
    y = L.Concatenate()([L.GlobalMaxPooling1D()(q), L.GlobalAveragePooling1D()(grid)])
    y = L.Dropout(0.3)(L.Dense(256, activation="relu")(y))
    return keras.Model([picture, asked], L.Dense(300, activation="softmax")(y)), {"classes": 300, "highs": {"asked": 6000}}


def geraniums(case):
    """Twenty-five pot plants, every layer reading all the layers before it in its block."""
    x = keras.Input((64, 64, 3), name="pot")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.MaxPooling2D(3, strides=2, padding="same")(y)
    for block in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, z])
        if block < 2:
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.Conv2D(y.shape[-1] // 2, 1, use_bias=False)(y)
            y = L.AveragePooling2D(2)(y)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}


def hamsters(case):
    """Twelve squeaks told apart from raw sound: gated filters, each looking twice as far back."""
    x = keras.Input((2000, 1), name="sound")
    y = L.Conv1D(24, 2, padding="causal")(x)
    skips = []
    for power in range(8):
        reach = 2 ** power
        f = L.Conv1D(24, 2, padding="causal", dilation_rate=reach, activation="tanh")(y)
        g = L.Conv1D(24, 2, padding="causal", dilation_rate=reach, activation="sigmoid")(y)
        z = L.Multiply()([f, g])
        skips.append(L.Conv1D(24, 1)(z))
        y = L.Add()([y, L.Conv1D(24, 1)(z)])
    y = L.Activation("relu")(L.Add()(skips))
    y = L.AveragePooling1D(20)(y)
    y = L.Conv1D(48, 5, padding="same", activation="relu")(y)
    y = L.GlobalAveragePooling1D()(y)
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def hyacinths(case):
    """Nine bulbs with borrowed filters: the trunk is frozen but for its last stage, and runs in inference mode."""
    z = keras.Input((128, 128, 3))
    y = z
    for stage, width in enumerate((24, 48, 96, 128)):
        for turn in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False, name="conv%d_%d" % (stage, turn))(y)
            y = L.BatchNormalization(name="norm%d_%d" % (stage, turn))(y)
            y = L.ReLU(name="relu%d_%d" % (stage, turn))(y)
        y = L.MaxPooling2D(name="pool%d" % stage)(y)
    trunk = keras.Model(z, y, name="trunk")
    for layer in trunk.layers:
        layer.trainable = layer.name.startswith("conv3")
    x = keras.Input((128, 128, 3), name="bulb")
    y = trunk(x, training=False)
    y = L.GlobalAveragePooling2D()(y)
    y = L.Dropout(0.4)(L.Dense(128, activation="relu")(y))
    return keras.Model(x, L.Dense(9, activation="softmax")(y)), {"classes": 9}


def koalas(case):
    """A first course's plain stack of convolutions, flipped pictures and leaky slopes included."""
    model = keras.Sequential([
        keras.Input((72, 72, 3), name="tree"),
        L.Rescaling(1 / 255),
        L.RandomFlip("horizontal"),
        L.Conv2D(32, 3, padding="same"),
        L.LeakyReLU(0.1),
        L.Conv2D(32, 3, padding="same"),
        L.LeakyReLU(0.1),
        L.MaxPooling2D(),
        L.SpatialDropout2D(0.1),
        L.Conv2D(64, 3, padding="same"),
        L.LeakyReLU(0.1),
        L.Conv2D(64, 3, padding="same"),
        L.LeakyReLU(0.1),
        L.MaxPooling2D(),
        L.SpatialDropout2D(0.2),
        L.Conv2D(128, 3),
        L.LeakyReLU(0.1),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dense(256, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-4)),
        L.Dropout(0.5),
        L.Dense(8, activation="softmax"),
    ])
    return model, {"classes": 8}


def lapwings(case):
    """Which marsh bird called, and at which moments: filters over a spectrogram, then two layers both ways in time."""
    x = keras.Input((160, 64, 1), name="mel")
    y = x
    for width, pool in ((24, (1, 2)), (32, (2, 2)), (48, (1, 4))):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.MaxPooling2D(pool)(y)
    y = L.Reshape((80, 4 * 48))(y)
    y = L.Bidirectional(L.GRU(64, return_sequences=True))(y)
    y = L.Bidirectional(L.GRU(64, return_sequences=True), merge_mode="sum")(y)
    onset = L.TimeDistributed(L.Dense(1, activation="sigmoid"), name="onset")(y)
    z = L.GlobalMaxPooling1D()(y)
    species = L.Dense(30, activation="softmax", name="species")(z)
    facts = {
        "losses": {"onset": "binary_crossentropy", "species": "sparse_categorical_crossentropy"},
        "outs": {"species": 30},
        "metrics": {"species": ["accuracy"]},
    }
    return keras.Model(x, [onset, species]), facts


def libraries(case):
    """Shortens a blurb to a title: a reader both ways, a writer, and additive attention between them."""
    blurb = keras.Input((40,), dtype="int32", name="blurb")
    title = keras.Input((16,), dtype="int32", name="title")
    y = L.Embedding(5000, 96, mask_zero=True)(blurb)
    memory, fh, fc, bh, bc = L.Bidirectional(L.LSTM(128, return_sequences=True, return_state=True))(y)
    h, c = L.Concatenate()([fh, bh]), L.Concatenate()([fc, bc])
    z = L.Embedding(3500, 96)(title)
    z = L.LSTM(256, return_sequences=True)(z, initial_state=[h, c])
    seen = L.AdditiveAttention()([z, memory])
    z = L.Dropout(0.2)(L.Concatenate()([z, seen]))
    z = L.Dense(256, activation="tanh")(z)
    z = L.Dense(3500, activation="softmax")(z)
    return keras.Model([blurb, title], z), {"classes": 3500, "highs": {"blurb": 5000, "title": 3500}}


def lilacs(case):
    """Paints a blossom again after squeezing it into ninety-six numbers."""
    x = keras.Input((96, 96, 3), name="blossom")
    y = L.GaussianNoise(0.05)(x)
    for width in (32, 64, 128):
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU(0.2)(y)
    y = L.Dense(96, name="code")(L.Flatten()(y))
    y = L.Dense(12 * 12 * 64, activation="relu")(y)
    y = L.Reshape((12, 12, 64))(y)
    for width in (96, 48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.Conv2D(3, 3, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "mae"}
