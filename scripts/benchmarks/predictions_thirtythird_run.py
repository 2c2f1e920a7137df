"""Models of predictions.py's thirty-third set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def banners(case):
    """Flags of clubs: a pre-activation residual net that squeezes and excites."""
    def block(x, filters, stride):
        y = L.BatchNormalization()(x)
        y = L.ReLU()(y)
        if stride > 1 or x.shape[-1] != filters:
            x = L.Conv2D(filters, 1, strides=stride, use_bias=False)(y)
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        s = L.GlobalAveragePooling2D(keepdims=True)(y)
        s = L.Conv2D(filters // 8, 1, activation="relu")(s)
        s = L.Conv2D(filters, 1, activation="sigmoid")(s)
        y = L.Multiply()([y, s])
        return L.Add()([x, y])

    image = keras.Input((64, 64, 3), name="image")
    x = L.Conv2D(24, 3, padding="same", use_bias=False)(image)
    for filters, stride in ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        x = block(x, filters, stride)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(image, L.Dense(40, activation="softmax")(x)), {"classes": 40}


def biscuits(case):
    """Which tin a biscuit came from: densely joined layers, thin ones, with averages between the blocks."""
    growth = 12
    photo = keras.Input((48, 48, 3), name="photo")
    x = L.Rescaling(1.0 / 127.5, offset=-1.0)(photo)
    x = L.Conv2D(2 * growth, 3, padding="same", use_bias=False)(x)
    for part in range(3):
        for _ in range(4):
            y = L.BatchNormalization()(x)
            y = L.Activation("relu")(y)
            y = L.Conv2D(4 * growth, 1, use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.Activation("relu")(y)
            y = L.Conv2D(growth, 3, padding="same", use_bias=False)(y)
            y = L.Dropout(0.1)(y)
            x = L.Concatenate()([x, y])
        if part < 2:
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            x = L.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x)
            x = L.AveragePooling2D(2)(x)
    x = L.BatchNormalization()(x)
    x = L.Activation("relu")(x)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(photo, L.Dense(15)(x)), {"classes": 15, "logits": True}


def bracelets(case):
    """Are two photos of one bracelet? One tower for both, and the cosine between."""
    tower = keras.Sequential([
        keras.Input((56, 56, 3)),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(96, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(128, 3, activation="relu"),
        L.Flatten(),
        L.Dropout(0.25),
        L.Dense(96),
        L.UnitNormalization(),
    ], name="tower")
    left = keras.Input((56, 56, 3), name="left")
    right = keras.Input((56, 56, 3), name="right")
    alike = L.Dot(axes=1)([tower(left), tower(right)])
    same = L.Dense(1, activation="sigmoid", name="same")(alike)
    return keras.Model([left, right], same), {"loss": "binary_crossentropy"}


def impalas(case):
    """Animals before a trap's camera: inverted bottlenecks for a small board, with swish and a squeeze."""
    def bottleneck(x, out, kernel, stride, grow, squeeze):
        inner = x.shape[-1] * grow
        y = L.Conv2D(inner, 1, use_bias=False)(x)
        y = L.BatchNormalization(momentum=0.9)(y)
        y = L.Activation("swish")(y)
        y = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.9)(y)
        y = L.Activation("swish")(y)
        if squeeze:
            s = L.GlobalAveragePooling2D()(y)
            s = L.Dense(inner // 4, activation="relu")(s)
            s = L.Dense(inner, activation="sigmoid")(s)
            y = L.Multiply()([y, L.Reshape((1, 1, inner))(s)])
        y = L.Conv2D(out, 1, use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.9)(y)
        if stride == 1 and x.shape[-1] == out:
            y = L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(y)
            y = L.Add()([x, y])
        return y

    shot = keras.Input((96, 96, 3), name="shot")
    x = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(shot)
    x = L.BatchNormalization(momentum=0.9)(x)
    x = L.Activation("swish")(x)
    for row in ((16, 3, 1, 1, False), (24, 3, 2, 4, False), (24, 3, 1, 4, False), (40, 5, 2, 4, True),
                (40, 5, 1, 4, True), (40, 5, 1, 4, True), (80, 5, 2, 6, True), (80, 5, 1, 6, True)):
        x = bottleneck(x, *row)
    x = L.Conv2D(320, 1, activation="swish")(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.2)(x)
    return keras.Model(shot, L.Dense(52, activation="softmax")(x)), {"classes": 52}


def inkwells(case):
    """A handwritten line's letters: convolutions, then two layers that read both ways."""
    line = keras.Input((32, 256, 1), name="line")
    x = line
    for filters, pool in ((24, (2, 2)), (48, (2, 2)), (96, (2, 1))):
        x = L.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(0.1)(x)
        x = L.MaxPooling2D(pool)(x)
    x = L.Permute((2, 1, 3))(x)
    x = L.Reshape((64, 4 * 96))(x)
    x = L.Dense(96, activation="relu")(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.Dropout(0.3)(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    return keras.Model(line, L.Dense(80, activation="softmax", name="letters")(x)), {"classes": 80}


def jackdaws(case):
    """Calls from a microphone: a wide strided filter, then residual 1-D filters that spread and separate."""
    wave = keras.Input((8000, 1), name="wave")
    x = L.Conv1D(48, 64, strides=4, padding="same", use_bias=False)(wave)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    for filters, spreads in ((48, (1, 2, 4)), (96, (1, 2, 4))):
        if x.shape[-1] != filters:
            x = L.Conv1D(filters, 1)(x)
        for spread in spreads:
            y = L.Conv1D(filters // 2, 3, padding="same", dilation_rate=spread, use_bias=False)(x)
            y = L.BatchNormalization()(y)
            y = L.ReLU()(y)
            y = L.SeparableConv1D(filters, 9, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            x = L.ReLU()(L.Add()([x, y]))
        x = L.MaxPooling1D(4)(x)
    mean = L.GlobalAveragePooling1D()(x)
    peak = L.GlobalMaxPooling1D()(x)
    x = L.Concatenate()([mean, peak])
    x = L.Dense(128, activation="relu")(x)
    x = L.Dropout(0.4)(x)
    return keras.Model(wave, L.Dense(18, activation="softmax")(x)), {"classes": 18}


def jesters(case):
    """Jokes to be finished: a decoder of three layers that looks only backward, and its next words."""
    length, width, words = 96, 128, 4000
    seen = keras.Input((length,), dtype="int32", name="seen")
    places = keras.Input((length,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(words, width)(seen), L.Embedding(length, width)(places)])
    x = L.Dropout(0.1)(x)
    for _ in range(3):
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.MultiHeadAttention(4, width // 4, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, L.Dropout(0.1)(y)])
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.Dense(4 * width, activation="gelu")(y)
        y = L.Dense(width)(y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    logits = L.Dense(words, use_bias=False)(x)
    return keras.Model([seen, places], logits), {"classes": words, "logits": True,
                                                 "highs": {"seen": words, "places": length}}


def monocles(case):
    """Vessels of the retina: a U with group norms, whose way up is transposed."""
    def pair(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.GroupNormalization(groups=8)(x)
            x = L.Activation("relu")(x)
        return x

    eye = keras.Input((96, 96, 1), name="eye")
    x, kept = eye, []
    for filters in (16, 32, 64):
        x = pair(x, filters)
        kept.append(x)
        x = L.MaxPooling2D()(x)
    x = L.SpatialDropout2D(0.2)(pair(x, 96))
    for filters in (64, 32, 16):
        x = L.Conv2DTranspose(filters, 2, strides=2)(x)
        x = pair(L.Concatenate()([kept.pop(), x]), filters)
    return keras.Model(eye, L.Conv2D(1, 1, activation="sigmoid", name="vessels")(x)), {"loss": "binary_crossentropy"}


def mustangs(case):
    """Bone age of a horse from a scan: residual 3-D filters and one number."""
    scan = keras.Input((24, 40, 40, 1), name="scan")
    x = L.Conv3D(12, 3, padding="same", activation="relu")(scan)
    x = L.MaxPooling3D(2)(x)
    for filters in (24, 48):
        short = L.Conv3D(filters, 1)(x)
        y = L.Conv3D(filters, 3, padding="same")(x)
        y = L.BatchNormalization()(y)
        y = L.ELU()(y)
        y = L.Conv3D(filters, 3, padding="same")(y)
        y = L.BatchNormalization()(y)
        x = L.ELU()(L.Add()([short, y]))
        x = L.AveragePooling3D(2)(x)
    x = L.Flatten()(x)
    x = L.Dense(96, activation="elu", kernel_regularizer="l2")(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(scan, L.Dense(1, name="age")(x)), {"loss": "mae"}


def nightingales(case):
    """Songs as mel frames: gated units both ways, twice, and a weight for every moment."""
    mel = keras.Input((200, 64), name="mel")
    x = L.LayerNormalization()(mel)
    x = L.Conv1D(128, 5, strides=2, padding="same", activation="relu")(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    x = L.Dropout(0.2)(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    score = L.Dense(64, activation="tanh")(x)
    score = L.Dense(1, use_bias=False)(score)
    weight = L.Softmax(axis=1)(score)
    song = L.Flatten()(L.Dot(axes=1)([weight, x]))
    return keras.Model(mel, L.Dense(30, activation="softmax")(song)), {"classes": 30}


def nutmegs(case):
    """Will a cook buy this spice? Tables of cooks and goods, and a look at what was bought before."""
    cooks, goods, shelves, past = 60000, 40000, 300, 20
    cook = keras.Input((1,), dtype="int32", name="cook")
    item = keras.Input((1,), dtype="int32", name="item")
    shelf = keras.Input((1,), dtype="int32", name="shelf")
    bought = keras.Input((past,), dtype="int32", name="bought")
    prices = keras.Input((6,), name="prices")
    table = L.Embedding(goods, 32, name="goods")
    this = table(item)
    before = table(bought)
    again = L.RepeatVector(past)(L.Flatten()(this))
    pair = L.Concatenate()([before, again, L.Multiply()([before, again]), L.Subtract()([before, again])])
    weight = L.Dense(64, activation="relu")(pair)
    weight = L.Dense(1)(weight)
    taste = L.Flatten()(L.Dot(axes=1)([weight, before]))
    x = L.Concatenate()([
        L.Flatten()(L.Embedding(cooks, 32, name="cooks")(cook)),
        L.Flatten()(this),
        L.Flatten()(L.Embedding(shelves, 8, name="shelves")(shelf)),
        taste,
        prices,
    ])
    for units in (256, 128, 64):
        x = L.Dense(units)(x)
        x = L.BatchNormalization()(x)
        x = L.PReLU()(x)
    buys = L.Dense(1, activation="sigmoid", name="buys")(x)
    return keras.Model([cook, item, shelf, bought, prices], buys), {
        "loss": "binary_crossentropy",
        "highs": {"cook": cooks, "item": goods, "shelf": shelves, "bought": goods}}


def omelettes(case):
    """What is in the pan, and where: a pyramid of two maps, heads that both maps share, boxes and kinds."""
    kinds, anchors = 9, 3

    def conv(x, filters, kernel=3, stride=1):
        x = L.Conv2D(filters, kernel, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.LeakyReLU(0.1)(x)

    pan = keras.Input((128, 128, 3), name="pan")
    x = conv(pan, 16, stride=2)
    x = conv(x, 32, stride=2)
    x = L.Add()([x, conv(conv(x, 16, 1), 32)])
    x = conv(x, 64, stride=2)
    fine = L.Add()([x, conv(conv(x, 32, 1), 64)])
    x = conv(fine, 128, stride=2)
    coarse = L.Add()([x, conv(conv(x, 64, 1), 128)])
    top = L.Conv2D(64, 1)(coarse)
    low = L.Add()([L.UpSampling2D()(top), L.Conv2D(64, 1)(fine)])
    low = L.Conv2D(64, 3, padding="same")(low)

    box_head = keras.Sequential([
        keras.Input((None, None, 64)),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.Conv2D(anchors * 4, 3, padding="same"),
    ], name="box_head")
    kind_head = keras.Sequential([
        keras.Input((None, None, 64)),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.Conv2D(anchors * kinds, 3, padding="same"),
    ], name="kind_head")
    boxes, names = [], []
    for level, side in ((low, 16), (top, 8)):
        boxes.append(L.Reshape((side * side * anchors, 4))(box_head(level)))
        names.append(L.Reshape((side * side * anchors, kinds))(kind_head(level)))
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    names = L.Softmax(name="kinds")(L.Concatenate(axis=1)(names))
    return keras.Model(pan, [boxes, names]), {
        "losses": {"boxes": "huber", "kinds": "sparse_categorical_crossentropy"},
        "outs": {"kinds": kinds},
        "metrics": {"kinds": ["accuracy"]}}


def parachutes(case):
    """Is the canopy open? Patches of a picture that attend to one another, places told by a depthwise filter."""
    width = 128
    sky = keras.Input((96, 96, 3), name="sky")
    x = L.Conv2D(width, 8, strides=8)(sky)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((144, width))(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(num_heads=4, key_dim=32, dropout=0.1)(y, y)
        x = L.Add()([y, x])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(2 * width, activation="gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(width)(y)
        y = L.Dropout(0.1)(y)
        x = L.Add()([y, x])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    x = L.Dense(256, activation="gelu")(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(sky, L.Dense(10)(x)), {"classes": 10, "logits": True}


def pretzels(case):
    """Recipes into another tongue: an encoder, a decoder, and attention across."""
    width, heads = 96, 4
    source_words, target_words, source_length, target_length = 5000, 4000, 48, 40

    def attend(x, memory, causal=False):
        y = L.MultiHeadAttention(heads, width // heads)(x, memory, use_causal_mask=causal)
        return L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(y)]))

    def feed(x):
        y = L.Dense(4 * width, activation="relu")(x)
        y = L.Dropout(0.1)(L.Dense(width)(y))
        return L.LayerNormalization()(L.Add()([x, y]))

    source = keras.Input((source_length,), dtype="int32", name="source")
    source_place = keras.Input((source_length,), dtype="int32", name="source_place")
    target = keras.Input((target_length,), dtype="int32", name="target")
    target_place = keras.Input((target_length,), dtype="int32", name="target_place")
    x = L.Add()([L.Embedding(source_words, width)(source), L.Embedding(source_length, width)(source_place)])
    for _ in range(2):
        x = feed(attend(x, x))
    y = L.Add()([L.Embedding(target_words, width)(target), L.Embedding(target_length, width)(target_place)])
    for _ in range(2):
        y = attend(y, y, causal=True)
        y = feed(attend(y, x))
    words = L.Dense(target_words, activation="softmax", name="words")(y)
    return keras.Model([source, source_place, target, target_place], words), {
        "classes": target_words,
        "highs": {"source": source_words, "source_place": source_length,
                  "target": target_words, "target_place": target_length}}


def porcupines(case):
    """Claims on a table of numbers and codes: a residual perceptron with a small table for every code."""
    numbers = keras.Input((120,), name="numbers")
    inputs, parts, highs = [numbers], [L.BatchNormalization()(numbers)], {}
    for name, high, width in (("make", 1200, 24), ("region", 90, 12), ("agent", 7000, 32),
                              ("cause", 40, 8), ("job", 600, 16), ("broker", 2500, 24)):
        code = keras.Input((1,), dtype="int32", name=name)
        inputs.append(code)
        highs[name] = high
        parts.append(L.Flatten()(L.Embedding(high, width)(code)))
    x = L.Concatenate()(parts)
    x = L.Dense(384, activation="relu")(x)
    for _ in range(3):
        y = L.BatchNormalization()(x)
        y = L.Dense(384, activation="relu", kernel_initializer="he_uniform")(y)
        y = L.Dropout(0.2)(y)
        y = L.Dense(384)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization()(x)
    x = L.Dense(64, activation="relu")(x)
    return keras.Model(inputs, L.Dense(5, activation="softmax")(x)), {"classes": 5, "highs": highs}


def raccoons(case):
    """A mask of what lies on the street at night: a frozen base, and holes of several widths on top."""
    base = keras.Sequential([keras.Input((112, 112, 3))], name="base")
    for filters in (16, 32, 64):
        for _ in range(2):
            base.add(L.Conv2D(filters, 3, padding="same", use_bias=False))
            base.add(L.BatchNormalization())
            base.add(L.ReLU())
        if filters < 64:
            base.add(L.MaxPooling2D())
    base.trainable = False
    night = keras.Input((112, 112, 3), name="night")
    x = base(night, training=False)
    arms = [L.Conv2D(48, 1, activation="relu")(x)]
    for rate in (2, 4, 6):
        arms.append(L.Conv2D(48, 3, padding="same", dilation_rate=rate, activation="relu")(x))
    whole = L.GlobalAveragePooling2D(keepdims=True)(x)
    whole = L.Conv2D(48, 1, activation="relu")(whole)
    arms.append(L.UpSampling2D(28, interpolation="bilinear")(whole))
    x = L.Concatenate()(arms)
    x = L.Conv2D(64, 1, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.Dropout(0.1)(x)
    x = L.Conv2D(12, 1)(x)
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    return keras.Model(night, L.Softmax(name="mask")(x)), {"classes": 12}


def snowflakes(case):
    """Kinds of crystals: wide depthwise filters, layer norms and a perceptron for every place."""
    def stage(x, filters, depth):
        for _ in range(depth):
            y = L.DepthwiseConv2D(7, padding="same")(x)
            y = L.LayerNormalization(epsilon=1e-6)(y)
            y = L.Dense(4 * filters)(y)
            y = L.Activation("gelu")(y)
            y = L.Dense(filters)(y)
            x = L.Add()([x, y])
        return x

    flake = keras.Input((80, 80, 3), name="flake")
    x = L.Conv2D(64, 4, strides=4)(flake)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = stage(x, 64, 3)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.Conv2D(128, 2, strides=2)(x)
    x = stage(x, 128, 3)
    x = L.GlobalAveragePooling2D()(x)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(flake, L.Dense(35, activation="softmax")(x)), {"classes": 35}


def toucans(case):
    """A day of counts from a week of them: causal filters with gates, their steps doubling, their skips summed."""
    week = keras.Input((168, 8), name="week")
    x = L.Conv1D(48, 1)(week)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32, 64):
        value = L.Conv1D(48, 2, padding="causal", dilation_rate=rate, activation="tanh")(x)
        gate = L.Conv1D(48, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = L.Multiply()([value, gate])
        skips.append(L.Conv1D(64, 1)(y))
        x = L.Add()([x, L.Conv1D(48, 1)(y)])
    y = L.Activation("relu")(L.Add()(skips))
    y = L.Conv1D(64, 1, activation="relu")(y)
    y = L.Cropping1D((144, 0))(y)
    return keras.Model(week, L.Dense(8, name="day")(y)), {"loss": "mse"}


def troubadours(case):
    """Verses answered by verses: a long-memory encoder hands its state on, and the decoder looks back at it."""
    words, units = 3500, 192
    verse = keras.Input((30,), dtype="int32", name="verse")
    reply = keras.Input((28,), dtype="int32", name="reply")
    table = L.Embedding(words, 128, mask_zero=True)
    memory, hidden, cell = L.LSTM(units, return_sequences=True, return_state=True)(table(verse))
    x = L.LSTM(units, return_sequences=True)(table(reply), initial_state=[hidden, cell])
    context = L.Attention()([x, memory])
    x = L.Concatenate()([x, context])
    x = L.Dense(units, activation="tanh")(x)
    return keras.Model([verse, reply], L.Dense(words, name="next")(x)), {
        "classes": words, "logits": True, "highs": {"verse": words, "reply": words}}


def wombats(case):
    """Clips from a burrow: a small net for each frame, then two layers that remember."""
    frame = keras.Sequential([
        keras.Input((56, 56, 3)),
        L.Conv2D(24, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.SeparableConv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dense(128, activation="relu"),
    ])
    return keras.Sequential([
        keras.Input((10, 56, 56, 3), name="clip"),
        L.TimeDistributed(frame),
        L.LSTM(128, return_sequences=True, dropout=0.2),
        L.LSTM(64),
        L.Dense(11, activation="softmax"),
    ]), {"classes": 11}
