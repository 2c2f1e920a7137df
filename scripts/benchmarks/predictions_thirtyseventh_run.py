"""Models of predictions.py's thirty-seventh set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def dormice(case):
    """Who sleeps in the nest box: residual units that normalise before they convolve."""
    picture = keras.Input((48, 48, 3), name="picture")
    x = L.Conv2D(24, 3, padding="same", use_bias=False)(picture)
    for stage, width in enumerate((24, 48, 96)):
        for unit in range(2):
            stride = 2 if stage and not unit else 1
            pre = L.Activation("relu")(L.BatchNormalization()(x))
            if stride != 1:
                short = L.Conv2D(width, 1, strides=stride, use_bias=False)(pre)
            else:
                short = x
            y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(pre)
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            x = L.Add()([short, y])
    x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(picture, L.Dense(40, activation="softmax")(x)), {"classes": 40}


def furnaces(case):
    """Slag, steel or lining in a thermal frame: a U-Net whose norms go by groups."""
    def twice(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.GroupNormalization(groups=4)(x)
            x = L.LeakyReLU(0.1)(x)
        return x

    frame = keras.Input((96, 96, 1), name="frame")
    x, skips = frame, []
    for width in (12, 24, 48):
        x = twice(x, width)
        skips.append(x)
        x = L.MaxPooling2D(2)(x)
    x = L.SpatialDropout2D(0.2)(twice(x, 80))
    for width, skip in zip((48, 24, 12), reversed(skips)):
        x = L.Conv2DTranspose(width, 2, strides=2)(x)
        x = twice(L.Concatenate()([skip, x]), width)
    return keras.Model(frame, L.Conv2D(5, 1)(x)), {"classes": 5, "logits": True}


def pheasants(case):
    """Birds at a feeder: wide in the middle, thin at the ends, and a gate on each channel."""
    def unit(x, width, stride, kernel, rate=4):
        entry = x
        inner = x.shape[-1] * rate
        x = L.Conv2D(inner, 1, use_bias=False)(x)
        x = L.Activation("swish")(L.BatchNormalization(momentum=0.9)(x))
        x = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(x)
        x = L.Activation("swish")(L.BatchNormalization(momentum=0.9)(x))
        gate = L.GlobalAveragePooling2D(keepdims=True)(x)
        gate = L.Conv2D(max(4, inner // 16), 1, activation="swish")(gate)
        gate = L.Conv2D(inner, 1, activation="sigmoid")(gate)
        x = L.Multiply()([x, gate])
        x = L.BatchNormalization(momentum=0.9)(L.Conv2D(width, 1, use_bias=False)(x))
        if stride == 1 and entry.shape[-1] == width:
            x = L.Add()([entry, L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(x)])
        return x

    photo = keras.Input((80, 80, 3), name="photo")
    x = L.Rescaling(1 / 127.5, offset=-1.0)(photo)
    x = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    x = L.Activation("swish")(L.BatchNormalization(momentum=0.9)(x))
    for width, stride, kernel, times in ((16, 1, 3, 1), (24, 2, 3, 2), (40, 2, 5, 2), (80, 2, 3, 3)):
        for i in range(times):
            x = unit(x, width, stride if i == 0 else 1, kernel)
    x = L.Conv2D(320, 1, use_bias=False)(x)
    x = L.Activation("swish")(L.BatchNormalization(momentum=0.9)(x))
    x = L.Dropout(0.2)(L.GlobalAveragePooling2D()(x))
    return keras.Model(photo, L.Dense(120, activation="softmax")(x)), {"classes": 120}


def octopuses(case):
    """A diver's camera: where each animal is, how big it is, and what water it swims in."""
    def conv(x, width, stride=1):
        x = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        return L.ReLU(6.0)(L.BatchNormalization()(x))

    still = keras.Input((112, 112, 3), name="still")
    x = conv(still, 16, 2)
    levels = []
    for width in (24, 48, 96):
        x = conv(x, width, 2)
        y = conv(conv(x, width // 2), width)
        x = L.Add()([x, y])
        levels.append(x)
    merged = L.Conv2D(32, 1)(levels[-1])
    for level in reversed(levels[:-1]):
        merged = L.UpSampling2D(2)(merged)
        merged = L.Add()([merged, L.Conv2D(32, 1)(level)])
        merged = conv(merged, 32)
    peaks = L.Conv2D(5, 1, activation="sigmoid", name="peaks")(conv(merged, 32))
    extents = L.Conv2D(2, 1, activation="softplus", name="extents")(conv(merged, 32))
    water = L.Dense(64, activation="relu")(L.GlobalMaxPooling2D()(levels[-1]))
    water = L.Dense(6, activation="softmax", name="water")(water)
    return keras.Model(still, [peaks, extents, water]), {
        "losses": {"peaks": "binary_crossentropy", "extents": "mae", "water": "sparse_categorical_crossentropy"},
        "outs": {"water": 6},
        "metrics": {"water": ["accuracy"]},
    }


def ukuleles(case):
    """Chords from a mel spectrogram: pooled along pitch only, then read both ways in time."""
    model = keras.Sequential([
        keras.Input((120, 64, 1), name="mels"),
        L.BatchNormalization(),
        L.Conv2D(20, (5, 5), padding="same", activation="elu"),
        L.MaxPooling2D((1, 4)),
        L.Conv2D(40, (3, 3), padding="same", activation="elu"),
        L.MaxPooling2D((1, 4)),
        L.Conv2D(60, (3, 3), padding="same", activation="elu"),
        L.MaxPooling2D((1, 2)),
        L.Reshape((120, 120)),
        L.Dropout(0.25),
        L.Bidirectional(L.GRU(64, return_sequences=True)),
        L.Bidirectional(L.GRU(48, return_sequences=True), merge_mode="sum"),
        L.TimeDistributed(L.Dense(64, activation="tanh")),
        L.Dense(25, activation="softmax"),
    ])
    return model, {"classes": 25}


def quiches(case):
    """Will this diner order this dish: four tables, every pair multiplied, a small tower."""
    diner = keras.Input((1,), dtype="int32", name="diner")
    dish = keras.Input((1,), dtype="int32", name="dish")
    town = keras.Input((1,), dtype="int32", name="town")
    past = keras.Input((25,), dtype="int32", name="past")
    numbers = keras.Input((16,), name="numbers")
    width = 48
    diners = L.Embedding(45000, width, name="diners")
    dishes = L.Embedding(22000, width, name="dishes")
    towns = L.Embedding(3500, width, name="towns")
    eaten = dishes(past)
    weights = L.Softmax(axis=1)(L.Dense(1)(L.Dense(32, activation="tanh")(eaten)))
    liked = L.Dot(axes=1)([weights, eaten])
    dense = L.Dense(width, activation="relu")(L.Dense(128, activation="relu")(numbers))
    rows = L.Concatenate(axis=1)([diners(diner), dishes(dish), towns(town), liked, L.Reshape((1, width))(dense)])
    pairs = L.Flatten()(L.Dot(axes=(2, 2))([rows, rows]))
    x = L.Concatenate()([pairs, L.Flatten()(rows), dense])
    for units in (384, 192, 64):
        x = L.Dense(units, activation="relu")(x)
        x = L.Dropout(0.1)(x)
    order = L.Dense(1, activation="sigmoid")(x)
    return keras.Model([diner, dish, town, past, numbers], order), {
        "loss": "binary_crossentropy",
        "highs": {"diner": 45000, "dish": 22000, "town": 3500, "past": 22000},
    }


def vicars(case):
    """The next word of a homily: three blocks that look only back."""
    words = keras.Input((64,), dtype="int32", name="words")
    places = keras.Input((64,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(5000, 96)(words), L.Embedding(64, 96)(places)])
    x = L.Dropout(0.1)(x)
    for _ in range(3):
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.MultiHeadAttention(num_heads=4, key_dim=24, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.Dense(384, activation="gelu")(y)
        y = L.Dropout(0.1)(L.Dense(96)(y))
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    return keras.Model([words, places], L.Dense(5000, use_bias=False)(x)), {
        "classes": 5000, "logits": True, "highs": {"words": 5000, "places": 64}}


def jamborees(case):
    """Are two scouts' tents the same tent: one tower seen from both sides."""
    tower = keras.Sequential([
        keras.Input((64, 64, 3)),
        L.Conv2D(24, 5, strides=2, padding="same"),
        L.PReLU(shared_axes=[1, 2]),
        L.Conv2D(32, 3, padding="same"),
        L.PReLU(shared_axes=[1, 2]),
        L.AveragePooling2D(),
        L.Conv2D(64, 3, padding="same"),
        L.PReLU(shared_axes=[1, 2]),
        L.Conv2D(64, 3, padding="same"),
        L.PReLU(shared_axes=[1, 2]),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dense(160),
        L.LayerNormalization(),
    ], name="tower")
    left = keras.Input((64, 64, 3), name="left")
    right = keras.Input((64, 64, 3), name="right")
    a, b = tower(left), tower(right)
    apart = L.Subtract()([a, b])
    x = L.Concatenate()([L.Multiply()([apart, apart]), L.Multiply()([a, b]), L.Dot(axes=1, normalize=True)([a, b])])
    x = L.Dense(96, activation="relu")(x)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def submarines(case):
    """Whose screw the hydrophone hears: gated convolutions whose holes grow."""
    sound = keras.Input((1024, 1), name="sound")
    x = L.Conv1D(32, 2, padding="causal")(sound)
    skips = []
    for _ in range(2):
        for power in range(5):
            f = L.Conv1D(32, 2, dilation_rate=2 ** power, padding="causal", activation="tanh")(x)
            g = L.Conv1D(32, 2, dilation_rate=2 ** power, padding="causal", activation="sigmoid")(x)
            z = L.Multiply()([f, g])
            skips.append(L.Conv1D(32, 1)(z))
            x = L.Add()([x, L.Conv1D(32, 1)(z)])
    x = L.Activation("relu")(L.Add()(skips))
    x = L.Conv1D(64, 1, activation="relu")(x)
    x = L.AveragePooling1D(16)(x)
    x = L.Conv1D(64, 3, padding="same", activation="relu")(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(sound, L.Dense(11, activation="softmax")(x)), {"classes": 11}


def tigers(case):
    """Stripes that tell one beast from the next: every layer reads all layers before it."""
    trap = keras.Input((72, 72, 3), name="trap")
    x = L.Conv2D(24, 5, strides=2, padding="same", use_bias=False)(trap)
    for block, depth in enumerate((4, 5, 5)):
        for _ in range(depth):
            y = L.ReLU()(L.BatchNormalization(epsilon=1.001e-5)(x))
            y = L.Conv2D(48, 1, use_bias=False)(y)
            y = L.ReLU()(L.BatchNormalization(epsilon=1.001e-5)(y))
            y = L.Conv2D(12, 3, padding="same", use_bias=False)(y)
            x = L.Concatenate()([x, y])
        if block < 2:
            x = L.ReLU()(L.BatchNormalization(epsilon=1.001e-5)(x))
            x = L.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x)
            x = L.AveragePooling2D(2)(x)
    x = L.ReLU()(L.BatchNormalization(epsilon=1.001e-5)(x))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(trap, L.Dense(64)(x)), {"classes": 64, "logits": True}


def nurseries(case):
    """Days until a seedling sells: columns and four categories through gated residual layers."""
    columns = keras.Input((60,), name="columns")
    kinds = {"plant": 1200, "grower": 400, "soil": 30, "week": 53}
    inputs = [keras.Input((1,), dtype="int32", name=name) for name in kinds]
    parts = [L.BatchNormalization()(columns)]
    for one, high in zip(inputs, kinds.values()):
        parts.append(L.Flatten()(L.Embedding(high, 16)(one)))
    x = L.Dense(224)(L.Concatenate()(parts))
    for _ in range(4):
        y = L.LayerNormalization()(x)
        y = L.Multiply()([L.Dense(224, activation="selu")(y), L.Dense(224, activation="sigmoid")(y)])
        y = L.Dropout(0.15)(y)
        x = L.Add()([x, y])
    x = L.Dense(64, activation="relu")(x)
    return keras.Model([columns] + inputs, L.Dense(2)(x)), {"loss": "huber", "highs": dict(kinds)}


def sycamores(case):
    """A leaf's disease: an old trunk that learns no more, with a new crown on it."""
    trunk = keras.Sequential(name="trunk")
    trunk.add(keras.Input((96, 96, 3)))
    for width, times in ((16, 2), (32, 2), (64, 2)):
        for _ in range(times):
            trunk.add(L.Conv2D(width, 3, padding="same"))
            trunk.add(L.BatchNormalization())
            trunk.add(L.ReLU())
        trunk.add(L.MaxPooling2D())
    trunk.trainable = False
    leaf = keras.Input((96, 96, 3), name="leaf")
    x = trunk(leaf, training=False)
    x = L.SeparableConv2D(128, 3, padding="same", use_bias=False)(x)
    x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.SeparableConv2D(192, 3, padding="same", use_bias=False)(x)
    x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.MaxPooling2D(3)(x)
    x = L.Flatten()(x)
    x = L.Dropout(0.5)(L.Dense(512, activation="relu")(x))
    return keras.Model(leaf, L.Dense(18, activation="softmax")(x)), {"classes": 18}


def waterfalls(case):
    """Speed of falling water in a block of space, from a coarse scan: down in 3-D and up again."""
    scan = keras.Input((24, 24, 24, 2), name="scan")
    a = L.Conv3D(12, 3, padding="same", activation="relu")(scan)
    a = L.Conv3D(12, 3, padding="same", activation="relu")(a)
    b = L.Conv3D(24, 3, strides=2, padding="same")(a)
    b = L.ReLU()(L.BatchNormalization()(b))
    b = L.Conv3D(24, 3, padding="same", activation="relu")(b)
    c = L.Conv3D(48, 3, padding="same", activation="relu")(L.AveragePooling3D(2)(b))
    c = L.Conv3D(48, 3, padding="same", activation="relu")(c)
    d = L.Conv3DTranspose(24, 2, strides=2)(c)
    d = L.Conv3D(24, 3, padding="same", activation="relu")(L.Concatenate()([b, d]))
    e = L.Conv3D(12, 1, activation="relu")(L.UpSampling3D(2)(d))
    e = L.Conv3D(12, 3, padding="same", activation="relu")(L.Add()([a, e]))
    return keras.Model(scan, L.Conv3D(3, 1)(e)), {"loss": "mse"}


def unicorns(case):
    """Real or drawn: patches that attend to each other, told their places by a depthwise filter."""
    image = keras.Input((64, 64, 3), name="image")
    x = L.Conv2D(128, 8, strides=8)(image)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((64, 128))(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(4, 32, dropout=0.05)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(512)(y)
        y = L.Activation("gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(128)(y)
        x = L.Add()([x, y])
    x = L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(image, L.Dense(30, activation="softmax")(x)), {"classes": 30}


def rectories(case):
    """Parish Latin into English: an encoder, and a decoder that asks it questions."""
    width, heads = 96, 3
    latin = keras.Input((36,), dtype="int32", name="latin")
    english = keras.Input((30,), dtype="int32", name="english")

    def feed(x):
        y = L.Dense(width * 3, activation="relu")(x)
        y = L.Dropout(0.1)(L.Dense(width)(y))
        return L.LayerNormalization()(L.Add()([x, y]))

    source = L.Embedding(6000, width)(latin)
    source = L.Add()([source, L.Conv1D(width, 3, padding="same")(source)])
    for _ in range(2):
        y = L.MultiHeadAttention(heads, width // heads)(source, source)
        source = feed(L.LayerNormalization()(L.Add()([source, y])))
    target = L.Embedding(7000, width)(english)
    target = L.Add()([target, L.Conv1D(width, 3, padding="causal")(target)])
    for _ in range(2):
        y = L.MultiHeadAttention(heads, width // heads)(target, target, use_causal_mask=True)
        target = L.LayerNormalization()(L.Add()([target, y]))
        y = L.MultiHeadAttention(heads, width // heads)(target, source)
        target = feed(L.LayerNormalization()(L.Add()([target, y])))
    return keras.Model([latin, english], L.Dense(7000, activation="softmax")(target)), {
        "classes": 7000, "highs": {"latin": 6000, "english": 7000}}


def dungeons(case):
    """Floor, wall, door or trap in a game's screenshot: holes of several sizes, joined."""
    def separable(x, width, stride=1, rate=1):
        x = L.DepthwiseConv2D(3, strides=stride, dilation_rate=rate, padding="same", use_bias=False)(x)
        x = L.ReLU()(L.BatchNormalization()(x))
        x = L.Conv2D(width, 1, use_bias=False)(x)
        return L.ReLU()(L.BatchNormalization()(x))

    screen = keras.Input((96, 96, 3), name="screen")
    x = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(screen)
    x = separable(x, 32)
    early = separable(x, 48, stride=2)
    x = separable(early, 96, stride=2)
    x = L.Add()([x, separable(x, 96, rate=2)])
    x = L.Add()([x, separable(x, 96, rate=2)])
    branches = [L.Conv2D(48, 1, activation="relu")(x)]
    for rate in (2, 4):
        branches.append(L.Conv2D(48, 3, dilation_rate=rate, padding="same", activation="relu")(x))
    whole = L.GlobalAveragePooling2D()(x)
    whole = L.Reshape((1, 1, 48))(L.Dense(48, activation="relu")(whole))
    branches.append(L.UpSampling2D(12)(whole))
    x = L.Conv2D(64, 1, activation="relu")(L.Concatenate()(branches))
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    x = L.Concatenate()([x, L.Conv2D(24, 1, activation="relu")(early)])
    x = separable(x, 64)
    x = L.UpSampling2D(4, interpolation="bilinear")(L.Conv2D(7, 1)(x))
    return keras.Model(screen, L.Softmax()(x)), {"classes": 7}


def fortresses(case):
    """Visitors of a castle for the coming day: stacked memories and a look back over the week."""
    history = keras.Input((84, 14), name="history")
    x = L.LSTM(96, return_sequences=True, dropout=0.1)(history)
    x = L.LayerNormalization()(x)
    seen, h, c = L.LSTM(96, return_sequences=True, return_state=True)(x)
    y = L.RepeatVector(24)(h)
    y = L.LSTM(96, return_sequences=True)(y, initial_state=[h, c])
    look = L.Attention()([y, seen])
    y = L.Concatenate()([y, look])
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    return keras.Model(history, L.TimeDistributed(L.Dense(3))(y)), {"loss": "mae"}
