"""Models of predictions.py's thirty-fourth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def anteaters(case):
    """Camera-trap thumbnails through a pre-activation residual net, three stages of two blocks."""
    x = keras.Input((56, 56, 3), name="thumbnail")
    y = L.Rescaling(1 / 255.0)(x)
    y = L.Conv2D(24, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(y)
    for stage, width in enumerate((24, 48, 96)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            z = L.BatchNormalization()(y)
            z = L.ReLU()(z)
            if stride > 1:
                y = L.Conv2D(width, 1, strides=stride, use_bias=False)(z)
            z = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False, kernel_initializer="he_normal")(z)
            z = L.BatchNormalization()(z)
            z = L.ReLU()(z)
            z = L.Conv2D(width, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(z)
            y = L.Add()([y, z])
    y = L.BatchNormalization()(y)
    y = L.ReLU()(y)
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(37, activation="softmax")(y)), {"classes": 37}


def caterpillars(case):
    """Leaf damage, told by a small densely connected net with bottlenecks and halving transitions."""
    growth = 12
    x = keras.Input((40, 40, 3), name="leaf")
    y = L.Conv2D(2 * growth, 3, padding="same", use_bias=False)(x)
    blocks = (4, 5, 4)
    for i, count in enumerate(blocks):
        for _ in range(count):
            z = L.BatchNormalization(epsilon=1.001e-5)(y)
            z = L.Activation("relu")(z)
            z = L.Conv2D(4 * growth, 1, use_bias=False)(z)
            z = L.BatchNormalization(epsilon=1.001e-5)(z)
            z = L.Activation("relu")(z)
            z = L.Conv2D(growth, 3, padding="same", use_bias=False)(z)
            z = L.Dropout(0.1)(z)
            y = L.Concatenate()([y, z])
        if i + 1 < len(blocks):
            y = L.BatchNormalization(epsilon=1.001e-5)(y)
            y = L.Activation("relu")(y)
            y = L.Conv2D(y.shape[-1] // 2, 1, use_bias=False)(y)
            y = L.AveragePooling2D(2)(y)
    y = L.BatchNormalization()(y)
    y = L.Activation("relu")(y)
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(18)(y)), {"classes": 18, "logits": True}


def dragonflies(case):
    """Wings for a phone: inverted bottlenecks with swish and squeeze-and-excite gates."""
    x = keras.Input((64, 64, 3), name="wing")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.BatchNormalization(momentum=0.99)(y)
    y = L.Activation("swish")(y)
    plan = ((16, 1, 1, 3), (24, 2, 2, 3), (40, 2, 2, 5), (80, 1, 2, 3))
    for width, repeats, first, kernel in plan:
        for i in range(repeats):
            stride = first if i == 0 else 1
            inside = y.shape[-1]
            z = L.Conv2D(inside * 6, 1, use_bias=False)(y)
            z = L.BatchNormalization()(z)
            z = L.Activation("swish")(z)
            z = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(z)
            z = L.BatchNormalization()(z)
            z = L.Activation("swish")(z)
            s = L.GlobalAveragePooling2D(keepdims=True)(z)
            s = L.Conv2D(max(1, inside // 4), 1, activation="swish")(s)
            s = L.Conv2D(inside * 6, 1, activation="sigmoid")(s)
            z = L.Multiply()([z, s])
            z = L.Conv2D(width, 1, use_bias=False)(z)
            z = L.BatchNormalization()(z)
            if stride == 1 and inside == width:
                z = L.Dropout(0.15, noise_shape=(None, 1, 1, 1))(z)
                z = L.Add()([y, z])
            y = z
    y = L.Conv2D(240, 1, use_bias=False)(y)
    y = L.BatchNormalization()(y)
    y = L.Activation("swish")(y)
    y = L.GlobalAveragePooling2D()(y)
    y = L.Dropout(0.2)(y)
    return keras.Model(x, L.Dense(52, activation="softmax")(y)), {"classes": 52}


def emeralds(case):
    """Inclusions in a stone's scan: a three-storey U-Net that ends in one sigmoid plane."""
    def double(t, width):
        for _ in range(2):
            t = L.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(t)
            t = L.LeakyReLU(0.1)(t)
        return t

    x = keras.Input((96, 96, 1), name="scan")
    y, kept = x, []
    for width in (12, 24, 48):
        y = double(y, width)
        kept.append(y)
        y = L.MaxPooling2D()(y)
    y = double(y, 96)
    y = L.Dropout(0.3)(y)
    for width in (48, 24, 12):
        y = L.Conv2DTranspose(width, 2, strides=2, padding="same")(y)
        y = L.Concatenate()([kept.pop(), y])
        y = double(y, width)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def fireflies(case):
    """Lights at night: a frozen backbone, a two-level pyramid, one shared head for boxes, kinds and glow."""
    places = keras.Input((128, 128, 3))
    b = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(places)
    b = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(b)
    b = L.BatchNormalization()(b)
    b = L.ReLU()(b)
    near = L.Conv2D(32, 3, padding="same", activation="relu")(b)
    b = L.Conv2D(64, 3, strides=2, padding="same", use_bias=False)(near)
    b = L.BatchNormalization()(b)
    b = L.ReLU()(b)
    far = L.Conv2D(64, 3, padding="same", activation="relu")(b)
    base = keras.Model(places, [near, far], name="base")
    base.trainable = False

    x = keras.Input((128, 128, 3), name="night")
    near, far = base(x)
    far = L.Conv2D(48, 1)(far)
    near = L.Add()([L.Conv2D(48, 1)(near), L.UpSampling2D(2)(far)])
    near = L.Conv2D(48, 3, padding="same")(near)
    far = L.Conv2D(48, 3, padding="same")(far)
    first = L.Conv2D(48, 3, padding="same", activation="relu")
    second = L.Conv2D(48, 3, padding="same", activation="relu")
    box, kind, glow = L.Conv2D(4, 3, padding="same"), L.Conv2D(9, 1), L.Conv2D(1, 1)
    boxes, kinds, glows = [], [], []
    for level in (near, far):
        h = second(first(level))
        boxes.append(L.Reshape((-1, 4))(box(h)))
        kinds.append(L.Reshape((-1, 9))(kind(h)))
        glows.append(L.Reshape((-1, 1))(glow(h)))
    outs = [L.Concatenate(axis=1, name="boxes")(boxes),
            L.Softmax(name="kinds")(L.Concatenate(axis=1)(kinds)),
            L.Activation("sigmoid", name="glow")(L.Concatenate(axis=1)(glows))]
    return keras.Model(x, outs), {
        "losses": {"boxes": "huber", "kinds": "sparse_categorical_crossentropy", "glow": "binary_crossentropy"},
        "outs": {"kinds": 9}, "metrics": {"kinds": ["accuracy"]}}


def gazelles(case):
    """Field notes sorted by a post-norm transformer encoder; the places of words are a second input."""
    words = keras.Input((96,), dtype="int32", name="words")
    places = keras.Input((96,), dtype="int32", name="places")
    y = L.Add()([L.Embedding(24000, 128)(words), L.Embedding(96, 128)(places)])
    y = L.LayerNormalization(epsilon=1e-6)(y)
    y = L.Dropout(0.1)(y)
    for _ in range(3):
        z = L.MultiHeadAttention(4, 32, dropout=0.1)(y, y)
        z = L.Dropout(0.1)(z)
        y = L.LayerNormalization(epsilon=1e-6)(L.Add()([y, z]))
        z = L.Dense(384, activation="gelu")(y)
        z = L.Dense(128)(z)
        z = L.Dropout(0.1)(z)
        y = L.LayerNormalization(epsilon=1e-6)(L.Add()([y, z]))
    y = L.GlobalAveragePooling1D()(y)
    y = L.Dense(64, activation="tanh")(y)
    return keras.Model([words, places], L.Dense(14, activation="softmax")(y)), {
        "classes": 14, "highs": {"words": 24000, "places": 96}}


def hedgehogs(case):
    """A tiny writer of nursery tales: two causal pre-norm blocks, then a logit for every word."""
    words = keras.Input((64,), dtype="int32", name="tale")
    y = L.Embedding(6000, 96)(words)
    y = L.Add()([y, L.Conv1D(96, 4, padding="causal", use_bias=False)(y)])
    for _ in range(2):
        z = L.LayerNormalization()(y)
        z = L.MultiHeadAttention(3, 32)(z, z, use_causal_mask=True)
        y = L.Add()([y, z])
        z = L.LayerNormalization()(y)
        z = L.Dense(384, activation="relu")(z)
        z = L.Dense(96)(z)
        y = L.Add()([y, L.Dropout(0.1)(z)])
    y = L.LayerNormalization()(y)
    return keras.Model(words, L.Dense(6000, use_bias=False)(y)), {
        "classes": 6000, "logits": True, "highs": {"tale": 6000}}


def kingfishers(case):
    """Birds over water, a vision transformer that learns where a patch is from a depthwise convolution."""
    x = keras.Input((72, 72, 3), name="river")
    y = L.Conv2D(144, 8, strides=8)(x)
    y = L.Add()([y, L.DepthwiseConv2D(3, padding="same")(y)])
    y = L.Reshape((81, 144))(y)
    for _ in range(4):
        z = L.LayerNormalization(epsilon=1e-5)(y)
        z = L.MultiHeadAttention(6, 24)(z, z)
        y = L.Add()([y, z])
        z = L.LayerNormalization(epsilon=1e-5)(y)
        z = L.Dense(432)(z)
        z = L.Activation("gelu")(z)
        z = L.Dropout(0.1)(z)
        z = L.Dense(144)(z)
        y = L.Add()([y, z])
    y = L.LayerNormalization(epsilon=1e-5)(y)
    y = L.GlobalAveragePooling1D()(y)
    return keras.Model(x, L.Dense(90, activation="softmax")(y)), {"classes": 90}


def leopards(case):
    """Captions for spots: a strided convolutional eye, and a decoder that looks at its cells."""
    picture = keras.Input((64, 64, 3), name="picture")
    caption = keras.Input((24,), dtype="int32", name="caption")
    v = picture
    for width in (24, 48, 96):
        v = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(v)
        v = L.BatchNormalization()(v)
        v = L.ReLU()(v)
    v = L.Reshape((64, 96))(v)
    v = L.LayerNormalization()(v)
    y = L.Embedding(8000, 96)(caption)
    for _ in range(2):
        z = L.MultiHeadAttention(4, 24)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.MultiHeadAttention(4, 24)(y, v)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.Dense(192, activation="relu")(y)
        z = L.Dense(96)(z)
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Dropout(0.2)(y)
    return keras.Model([picture, caption], L.Dense(8000, activation="softmax")(y)), {
        "classes": 8000, "highs": {"caption": 8000}}


def armadillos(case):
    """Names in a sentence, tagged by two bidirectional LSTMs over padded words."""
    words = keras.Input((50,), dtype="int32", name="sentence")
    y = L.Embedding(15000, 100, mask_zero=True)(words)
    y = L.SpatialDropout1D(0.2)(y)
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(y)
    y = L.Bidirectional(L.LSTM(96, return_sequences=True), merge_mode="sum")(y)
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    return keras.Model(words, L.TimeDistributed(L.Dense(17, activation="softmax"))(y)), {
        "classes": 17, "highs": {"sentence": 15000}}


def cucumbers(case):
    """A greenhouse's week of hourly gauges in, its next day out: convolution, then stacked GRUs."""
    model = keras.Sequential([
        keras.Input((168, 14), name="week"),
        L.Conv1D(64, 5, strides=2, padding="same", activation="relu"),
        L.Bidirectional(L.GRU(80, return_sequences=True)),
        L.Dropout(0.2),
        L.GRU(96, return_sequences=True),
        L.GRU(96),
        L.Dense(96, activation="elu"),
        L.Dense(24),
    ])
    return model, {"loss": "mse"}


def daffodils(case):
    """Twelve-lead heartbeats through gated dilated causal convolutions, with skips summed at the end."""
    x = keras.Input((1024, 12), name="leads")
    y = L.Conv1D(32, 1)(x)
    skips = []
    for i in range(8):
        a = L.Conv1D(32, 3, padding="causal", dilation_rate=2 ** i, activation="tanh")(y)
        g = L.Conv1D(32, 3, padding="causal", dilation_rate=2 ** i, activation="sigmoid")(y)
        z = L.Multiply()([a, g])
        skips.append(L.Conv1D(32, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.ReLU()(L.Add()(skips))
    y = L.Conv1D(48, 16, strides=16, activation="relu")(y)
    y = L.GlobalMaxPooling1D()(y)
    return keras.Model(x, L.Dense(6, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def escalators(case):
    """Crowds in a short two-channel clip: residual 3-D convolutions guess how many people ride."""
    x = keras.Input((16, 40, 40, 2), name="clip")
    y = L.Conv3D(12, 3, padding="same", activation="relu")(x)
    for width in (24, 48):
        s = L.Conv3D(width, 1, strides=2)(y)
        z = L.Conv3D(width, 3, strides=2, padding="same", use_bias=False)(y)
        z = L.BatchNormalization()(z)
        z = L.ReLU()(z)
        z = L.Conv3D(width, (1, 3, 3), padding="same")(z)
        z = L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        y = L.ReLU()(L.Add()([s, z]))
    y = L.MaxPooling3D((1, 2, 2))(y)
    y = L.Flatten()(y)
    y = L.Dense(64, activation="relu")(y)
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mae"}


def foxgloves(case):
    """Flower beds from above, pixel by pixel: separable layers, three dilations side by side, bilinear up."""
    x = keras.Input((96, 96, 3), name="bed")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.BatchNormalization()(y)
    y = L.ReLU()(y)
    for width in (48, 72):
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        z = L.BatchNormalization()(z)
        z = L.ReLU()(z)
        z = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        if width == 48:
            fine = z
            y = L.ReLU()(z)
        else:
            z = L.MaxPooling2D(3, strides=2, padding="same")(z)
            y = L.Add()([z, L.Conv2D(width, 1, strides=2)(y)])
    arms = [L.Conv2D(48, 1, activation="relu")(y)]
    for rate in (1, 2, 4):
        arms.append(L.Conv2D(48, 3, padding="same", dilation_rate=rate, activation="relu")(y))
    y = L.Concatenate()(arms)
    y = L.Conv2D(48, 1, use_bias=False)(y)
    y = L.BatchNormalization()(y)
    y = L.ReLU()(y)
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    y = L.Concatenate()([y, L.Conv2D(16, 1, activation="relu")(fine)])
    y = L.SeparableConv2D(32, 3, padding="same", activation="relu")(y)
    y = L.Conv2D(11, 1)(y)
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    return keras.Model(x, L.Softmax()(y)), {"classes": 11}


def gramophones(case):
    """Who will play which record: embedding tables, a product of factors beside a deep tower."""
    listener = keras.Input((1,), dtype="int32", name="listener")
    record = keras.Input((1,), dtype="int32", name="record")
    genres = keras.Input((8,), dtype="int32", name="genres")
    hour = keras.Input((10,), name="hour")
    u = L.Flatten()(L.Embedding(120000, 48, name="listeners")(listener))
    r = L.Flatten()(L.Embedding(60000, 48, name="records")(record))
    g = L.GlobalAveragePooling1D()(L.Embedding(3000, 16)(genres))
    bias = L.Flatten()(L.Embedding(60000, 1)(record))
    product = L.Multiply()([u, r])
    y = L.Concatenate()([u, r, g, hour])
    for width in (256, 128, 64):
        y = L.Dense(width, activation="relu")(y)
        y = L.Dropout(0.2)(y)
    y = L.Dense(1)(L.Concatenate()([y, product]))
    y = L.Activation("sigmoid")(L.Add()([y, bias]))
    return keras.Model([listener, record, genres, hour], y), {
        "loss": "binary_crossentropy",
        "highs": {"listener": 120000, "record": 60000, "genres": 3000}}


def hippos(case):
    """A wide table of zoo records for a plain stack of dense layers with batch norms."""
    model = keras.Sequential([keras.Input((220,), name="row")])
    model.add(L.GaussianNoise(0.05))
    for width in (1536, 1024, 512):
        model.add(L.Dense(width, use_bias=False))
        model.add(L.BatchNormalization())
        model.add(L.Activation("relu"))
        model.add(L.Dropout(0.3))
    model.add(L.Dense(12, activation="softmax"))
    return model, {"classes": 12}


def kimonos(case):
    """Are two swatches the same cloth: one tower twice, unit vectors, their cosine and their distance."""
    tower = keras.Sequential([
        keras.Input((48, 48, 3)),
        L.Conv2D(24, 3, padding="same", activation="relu"),
        L.Conv2D(24, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(48, 3, padding="same", activation="relu"),
        L.Conv2D(48, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.GlobalAveragePooling2D(),
        L.Dense(64),
        L.UnitNormalization(),
    ], name="tower")
    left = keras.Input((48, 48, 3), name="left")
    right = keras.Input((48, 48, 3), name="right")
    a, b = tower(left), tower(right)
    gap = L.Subtract()([a, b])
    near = L.Dot(axes=1)([a, b])
    y = L.Concatenate()([near, L.Multiply()([gap, gap])])
    y = L.Dense(32, activation="relu")(y)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}
