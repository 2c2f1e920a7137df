"""Models of predictions.py's thirty-ninth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def horseshoes(case):
    """Hoof prints from small photographs: a residual net that normalizes before each convolution."""
    photo = keras.Input((32, 32, 3), name="print")
    x = L.Conv2D(24, 3, padding="same", use_bias=False)(photo)
    for stage, width in enumerate((24, 48, 96)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = L.BatchNormalization()(x)
            y = L.ReLU()(y)
            if block:
                short = x
            else:
                short = L.Conv2D(width, 1, strides=stride, use_bias=False)(y)
            y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.ReLU()(y)
            y = L.Dropout(0.1)(y)
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            x = L.Add()([short, y])
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(photo, L.Dense(20, activation="softmax")(x)), {"classes": 20}


def hourglasses(case):
    """Joints of a person twice over, the second time corrected, and what the person is doing."""
    def unit(x, width):
        y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("relu")(y)
        y = L.SeparableConv2D(width, 3, padding="same")(y)
        return L.Add()([x, y])

    def glass(x, depth):
        side = unit(x, 40)
        low = L.MaxPooling2D()(x)
        low = unit(low, 40)
        low = glass(low, depth - 1) if depth > 1 else unit(low, 40)
        low = L.UpSampling2D(interpolation="bilinear")(low)
        return L.Add()([side, low])

    photo = keras.Input((128, 128, 3), name="person")
    x = L.Conv2D(20, 5, strides=2, padding="same", activation="relu")(photo)
    x = L.Conv2D(40, 3, padding="same", activation="relu")(x)
    a = glass(x, 3)
    early = L.Conv2D(14, 1, name="early")(a)
    back = L.Conv2D(40, 1)(early)
    b = glass(L.Add()([x, a, back]), 3)
    late = L.Conv2D(14, 1, name="late")(b)
    acts = L.GlobalMaxPooling2D()(b)
    acts = L.Dense(64, activation="relu")(acts)
    action = L.Dense(6, activation="softmax", name="action")(acts)
    return keras.Model(photo, [early, late, action]), {
        "losses": {"early": "mse", "late": "mse", "action": "sparse_categorical_crossentropy"},
        "outs": {"action": 6},
        "metrics": {"action": ["accuracy"]},
    }


def incubators(case):
    """Days to hatching out of a wide table, by gated residual blocks of dense layers."""
    row = keras.Input((220,), name="readings")
    x = L.BatchNormalization()(row)
    x = L.GaussianNoise(0.05)(x)
    x = L.Dense(160)(x)
    for _ in range(4):
        y = L.LayerNormalization()(x)
        y = L.Dense(160, activation="gelu")(y)
        y = L.Dropout(0.15)(y)
        value = L.Dense(160)(y)
        gate = L.Dense(160, activation="sigmoid")(y)
        x = L.Add()([x, L.Multiply()([value, gate])])
    x = L.Dense(48, activation="selu")(x)
    return keras.Model(row, L.Dense(3)(x)), {"loss": "huber"}


def jukeboxes(case):
    """Tags of each moment of a song: convolutions over its spectrogram, then two GRUs."""
    song = keras.Input((128, 64, 1), name="mel")
    x = L.BatchNormalization()(song)
    for width, pool in ((24, (2, 2)), (32, (1, 2)), (48, (1, 4))):
        x = L.Conv2D(width, 3, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.ELU()(x)
        x = L.MaxPooling2D(pool)(x)
        x = L.SpatialDropout2D(0.1)(x)
    x = L.Reshape((64, 4 * 48))(x)
    x = L.GRU(96, return_sequences=True)(x)
    x = L.GRU(64, return_sequences=True)(x)
    x = L.TimeDistributed(L.Dense(40, activation="sigmoid"))(x)
    return keras.Model(song, x), {"loss": "binary_crossentropy"}


def observatories(case):
    """A vision transformer of the night sky whose places come from a depthwise convolution."""
    sky = keras.Input((96, 96, 3), name="sky")
    x = L.Rescaling(1.0 / 127.5, offset=-1.0)(sky)
    x = L.Conv2D(96, 8, strides=8)(x)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((144, 96))(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(4, 24, dropout=0.1)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(288, activation="gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(96)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(sky, L.Dense(30)(x)), {"classes": 30, "logits": True}


def pomegranates(case):
    """Ripeness of fruit: inverted bottlenecks, some of which squeeze and excite."""
    def squeeze(x, width):
        s = L.GlobalAveragePooling2D(keepdims=True)(x)
        s = L.Conv2D(max(8, width // 4), 1, activation="relu")(s)
        s = L.Conv2D(width, 1, activation="sigmoid")(s)
        return L.Multiply()([x, s])

    fruit = keras.Input((96, 96, 3), name="fruit")
    x = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(fruit)
    x = L.BatchNormalization(momentum=0.9)(x)
    x = L.ReLU(6.0)(x)
    have = 16
    for expand, width, stride, excite in (
        (3, 24, 2, False), (3, 24, 1, False), (4, 40, 2, True), (4, 40, 1, True), (4, 40, 1, True),
        (5, 72, 2, False), (5, 72, 1, False), (5, 72, 1, True),
    ):
        wide = have * expand
        y = L.Conv2D(wide, 1, use_bias=False)(x)
        y = L.BatchNormalization(momentum=0.9)(y)
        y = L.ReLU(6.0)(y)
        if stride == 2:
            y = L.ZeroPadding2D(((0, 1), (0, 1)))(y)
        y = L.DepthwiseConv2D(3, strides=stride, padding="valid" if stride == 2 else "same", use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.9)(y)
        y = L.ReLU(6.0)(y)
        if excite:
            y = squeeze(y, wide)
        y = L.Conv2D(width, 1, use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.9)(y)
        x = L.Add()([x, y]) if stride == 1 and have == width else y
        have = width
    x = L.Conv2D(256, 1, activation="swish")(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.2)(x)
    return keras.Model(fruit, L.Dense(37, activation="softmax")(x)), {"classes": 37}


def pulpits(case):
    """Sermons put into another tongue: an encoder, and a decoder that looks across at it."""
    said = keras.Input((40,), dtype="int32", name="said")
    heard = keras.Input((36,), dtype="int32", name="heard")

    def feed(x):
        y = L.Dense(256, activation="relu")(x)
        y = L.Dense(96)(y)
        y = L.Dropout(0.1)(y)
        return L.LayerNormalization()(L.Add()([x, y]))

    x = L.Embedding(7000, 96)(said)
    x = L.Add()([x, L.Conv1D(96, 5, padding="same", groups=96)(x)])
    for _ in range(2):
        y = L.MultiHeadAttention(6, 16)(x, x)
        x = feed(L.LayerNormalization()(L.Add()([x, y])))
    z = L.Embedding(5000, 96)(heard)
    z = L.Add()([z, L.Conv1D(96, 3, padding="causal")(z)])
    for _ in range(2):
        y = L.MultiHeadAttention(6, 16)(z, z, use_causal_mask=True)
        z = L.LayerNormalization()(L.Add()([z, y]))
        y = L.MultiHeadAttention(6, 16)(z, x)
        z = feed(L.LayerNormalization()(L.Add()([z, y])))
    words = L.Dense(5000, activation="softmax")(z)
    return keras.Model([said, heard], words), {"classes": 5000, "highs": {"said": 7000, "heard": 5000}}


def quartets(case):
    """Does one sentence follow from another: both go through the same bidirectional GRU."""
    first = keras.Input((48,), dtype="int32", name="premise")
    second = keras.Input((48,), dtype="int32", name="guess")
    tower = keras.Sequential([
        L.Embedding(12000, 96, mask_zero=True),
        L.Bidirectional(L.GRU(64, return_sequences=True)),
        L.Dense(128, activation="tanh"),
        L.GlobalAveragePooling1D(),
    ], name="tower")
    a, b = tower(first), tower(second)
    gap = L.Subtract()([a, b])
    x = L.Concatenate()([a, b, L.Multiply()([gap, gap]), L.Multiply()([a, b])])
    x = L.Dense(128, activation="relu")(x)
    x = L.Dropout(0.3)(x)
    x = L.Dense(64, activation="relu")(x)
    return keras.Model([first, second], L.Dense(3, activation="softmax")(x)), {
        "classes": 3, "highs": {"premise": 12000, "guess": 12000}}


def rainbows(case):
    """Colour for grey pictures: a frozen tower of convolutions under a decoder that learns."""
    base = keras.Sequential([
        L.Conv2D(16, 3, padding="same", activation="relu"),
        L.Conv2D(16, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.Conv2D(32, 3, padding="same"),
        L.BatchNormalization(),
        L.ReLU(),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
    ], name="base")
    base.trainable = False
    grey = keras.Input((96, 96, 1), name="grey")
    x = base(grey)
    x = L.Conv2D(64, 3, padding="same", dilation_rate=2, activation="relu")(x)
    x = L.UpSampling2D()(x)
    x = L.Conv2D(32, 3, padding="same")(x)
    x = L.PReLU(shared_axes=[1, 2])(x)
    x = L.UpSampling2D()(x)
    x = L.Conv2D(16, 3, padding="same")(x)
    x = L.PReLU(shared_axes=[1, 2])(x)
    x = L.Concatenate()([x, grey])
    x = L.Conv2D(12, 3, padding="same", activation="relu")(x)
    return keras.Model(grey, L.Conv2D(2, 1, activation="tanh")(x)), {"loss": "mean_absolute_error"}


def rucksacks(case):
    """Will a walker buy this gear: tables of walkers, goods and shops, crossed pair by pair."""
    walker = keras.Input((1,), dtype="int32", name="walker")
    goods = keras.Input((1,), dtype="int32", name="goods")
    shop = keras.Input((1,), dtype="int32", name="shop")
    bought = keras.Input((20,), dtype="int32", name="bought")
    numbers = keras.Input((13,), name="numbers")
    table = L.Embedding(30000, 48, name="goods_table")
    one = L.Embedding(90000, 48, name="walker_table")(walker)
    two = table(goods)
    three = L.Embedding(1200, 48, name="shop_table")(shop)
    past = L.Reshape((1, 48))(L.GlobalAveragePooling1D()(table(bought)))
    dense = L.Dense(128, activation="relu")(numbers)
    dense = L.Dense(48, activation="relu")(dense)
    five = L.Concatenate(axis=1)([one, two, three, past, L.Reshape((1, 48))(dense)])
    cross = L.Flatten()(L.Dot(axes=2)([five, five]))
    x = L.Concatenate()([dense, cross])
    for width in (256, 128, 64):
        x = L.Dense(width, activation="relu")(x)
        x = L.Dropout(0.1)(x)
    buys = L.Dense(1, activation="sigmoid")(x)
    return keras.Model([walker, goods, shop, bought, numbers], buys), {
        "loss": "binary_crossentropy",
        "highs": {"walker": 90000, "goods": 30000, "shop": 1200, "bought": 30000},
    }


def scarecrows(case):
    """Crop, weed, soil or straw for each point of a field, by a U of convolutions."""
    def pair(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return x

    field = keras.Input((112, 112, 3), name="field")
    sides = []
    x = field
    for width in (12, 24, 48):
        x = pair(x, width)
        sides.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.3)(pair(x, 80))
    for width in (48, 24, 12):
        x = L.Conv2DTranspose(width, 2, strides=2)(x)
        x = L.Concatenate()([sides.pop(), x])
        x = pair(x, width)
    return keras.Model(field, L.Conv2D(4, 1, activation="softmax")(x)), {"classes": 4}


def skylarks(case):
    """Birds on the wing: dense blocks in which each layer sees all that came before."""
    x = bird = keras.Input((64, 64, 3), name="bird")
    x = L.Conv2D(24, 5, strides=2, padding="same", use_bias=False)(x)
    have = 24
    for block, layers in enumerate((4, 6, 6)):
        for _ in range(layers):
            y = L.BatchNormalization()(x)
            y = L.Activation("relu")(y)
            y = L.Conv2D(48, 1, use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.Activation("relu")(y)
            y = L.Conv2D(12, 3, padding="same", use_bias=False)(y)
            x = L.Concatenate()([x, y])
            have += 12
        if block < 2:
            have //= 2
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            x = L.Conv2D(have, 1, use_bias=False)(x)
            x = L.AveragePooling2D(2)(x)
    x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(bird, L.Dense(18, activation="softmax")(x)), {"classes": 18}


def telescopes(case):
    """Boxes, kinds and marks of bodies at two scales, the coarse one handed down to the fine."""
    def conv(x, width, stride=1):
        x = L.SeparableConv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.LeakyReLU()(x)

    plate = keras.Input((128, 128, 3), name="plate")
    x = L.Conv2D(16, 3, strides=2, padding="same")(plate)
    x = L.LeakyReLU()(x)
    x = conv(conv(x, 32), 32, 2)
    x = conv(conv(x, 64), 64, 2)
    fine = conv(x, 64)
    x = conv(conv(fine, 96, 2), 96)
    coarse = L.Conv2D(64, 1)(x)
    fine = L.Add()([L.Conv2D(64, 1)(fine), L.UpSampling2D()(coarse)])
    boxes, kinds, marks = [], [], []
    for level in (fine, coarse):
        h = conv(level, 64)
        boxes.append(L.Reshape((-1, 4))(L.Conv2D(12, 3, padding="same")(h)))
        kinds.append(L.Reshape((-1, 9))(L.Conv2D(27, 3, padding="same")(h)))
        marks.append(L.Reshape((-1, 1))(L.Conv2D(3, 1)(h)))
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    kinds = L.Softmax(name="kinds")(L.Concatenate(axis=1)(kinds))
    marks = L.Activation("sigmoid", name="marks")(L.Concatenate(axis=1)(marks))
    return keras.Model(plate, [boxes, kinds, marks]), {
        "losses": {"boxes": "mse", "kinds": "sparse_categorical_crossentropy", "marks": "binary_crossentropy"},
        "outs": {"kinds": 9},
        "metrics": {"kinds": ["accuracy"]},
    }


def typewriters(case):
    """The next word of a letter: a decoder that reads words and their places."""
    typed = keras.Input((80,), dtype="int32", name="typed")
    places = keras.Input((80,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(8000, 128)(typed), L.Embedding(80, 128)(places)])
    x = L.Dropout(0.1)(x)
    for _ in range(3):
        y = L.LayerNormalization()(x)
        y = L.MultiHeadAttention(4, 32, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization()(x)
        y = L.Dense(512, activation="gelu")(y)
        y = L.Dense(128)(y)
        y = L.Dropout(0.1)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization()(x)
    return keras.Model([typed, places], L.Dense(8000, use_bias=False)(x)), {
        "classes": 8000, "logits": True, "highs": {"typed": 8000, "places": 80}}


def unicycles(case):
    """Tricks from the sensors in a saddle: short convolutions, then LSTMs, the first both ways."""
    model = keras.Sequential([
        keras.Input((200, 9), name="saddle"),
        L.Conv1D(32, 7, padding="same", activation="relu"),
        L.Conv1D(48, 5, padding="same", activation="relu"),
        L.MaxPooling1D(2),
        L.Dropout(0.2),
        L.Bidirectional(L.LSTM(64, return_sequences=True)),
        L.LSTM(48),
        L.Dense(64, activation="relu"),
        L.Dense(12, activation="softmax"),
    ])
    return model, {"classes": 12}


def volcanoes(case):
    """Magma within blocks of ground: a small U in three dimensions."""
    def step(x, width):
        x = L.Conv3D(width, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.LeakyReLU()(x)

    ground = keras.Input((24, 32, 32, 1), name="ground")
    a = step(step(ground, 8), 12)
    b = step(step(L.MaxPooling3D()(a), 20), 24)
    c = step(step(L.AveragePooling3D(2)(b), 40), 40)
    x = L.Conv3DTranspose(24, 2, strides=2)(c)
    x = step(L.Concatenate()([x, b]), 24)
    x = L.UpSampling3D()(x)
    x = step(L.Concatenate()([x, a]), 12)
    return keras.Model(ground, L.Conv3D(1, 1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def woodpeckers(case):
    """Which bird drums: gated causal convolutions, each reaching twice as far back."""
    sound = keras.Input((1800, 1), name="sound")
    x = L.Conv1D(32, 2, padding="causal")(sound)
    skips = []
    for power in range(8):
        t = L.Conv1D(32, 2, dilation_rate=2 ** power, padding="causal", activation="tanh")(x)
        s = L.Conv1D(32, 2, dilation_rate=2 ** power, padding="causal", activation="sigmoid")(x)
        y = L.Multiply()([t, s])
        skips.append(L.Conv1D(24, 1)(y))
        x = L.Add()([x, L.Conv1D(32, 1)(y)])
    x = L.Activation("relu")(L.Add()(skips))
    x = L.Conv1D(48, 1, activation="relu")(x)
    x = L.AveragePooling1D(10)(x)
    x = L.Conv1D(48, 9, strides=4, activation="relu")(x)
    x = L.GlobalMaxPooling1D()(x)
    return keras.Model(sound, L.Dense(15, activation="softmax")(x)), {"classes": 15}
