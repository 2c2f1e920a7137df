"""Models of predictions.py's thirty-eighth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def antelopes(case):
    """Animals on trail cameras: a residual net of the pre-activation kind, with group norms for the small batches."""
    def block(x, filters, stride):
        y = L.GroupNormalization(groups=8)(x)
        y = L.Activation("relu")(y)
        if stride > 1 or x.shape[-1] != filters:
            x = L.Conv2D(filters, 1, strides=stride, use_bias=False)(y)
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(y)
        y = L.GroupNormalization(groups=8)(y)
        y = L.Activation("relu")(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        return L.Add()([x, y])

    photo = keras.Input((48, 48, 3), name="photo")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(photo)
    for filters, stride in ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        y = block(y, filters, stride)
    y = L.GroupNormalization(groups=8)(y)
    y = L.Activation("relu")(y)
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(photo, L.Dense(31)(y)), {"classes": 31, "logits": True}


def bluebells(case):
    """Wild flowers by a small dense net: every layer of a block sees all the earlier ones."""
    growth = 12
    image = keras.Input(shape=(40, 40, 3))
    x = L.Conv2D(2 * growth, 3, padding="same", use_bias=False)(image)
    for b in range(3):
        for i in range(5):
            y = L.BatchNormalization()(x)
            y = L.ReLU()(y)
            y = L.Conv2D(4 * growth, 1, use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.ReLU()(y)
            y = L.Conv2D(growth, 3, padding="same", use_bias=False)(y)
            y = L.Dropout(0.1)(y)
            x = L.Concatenate()([x, y])
        if b < 2:
            x = L.BatchNormalization()(x)
            x = L.ReLU()(x)
            x = L.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x)
            x = L.AveragePooling2D(2)(x)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.GlobalAveragePooling2D()(x)
    out = L.Dense(102, activation="softmax", kernel_regularizer=keras.regularizers.l2(1e-4))(x)
    return keras.Model(image, out), {"classes": 102}


def blizzards(case):
    """Snow depth of the next day, hour by hour, from twelve days of a station: gated, dilated, causal convolutions."""
    hours = keras.Input((288, 14), name="hours")
    x = L.Conv1D(64, 1)(hours)
    skips = []
    for i in range(8):
        kept = x
        t = L.Conv1D(64, 3, padding="causal", dilation_rate=2 ** i, activation="tanh")(x)
        s = L.Conv1D(64, 3, padding="causal", dilation_rate=2 ** i, activation="sigmoid")(x)
        x = L.Multiply()([t, s])
        skips.append(L.Conv1D(64, 1)(x))
        x = L.Conv1D(64, 1)(x)
        x = L.Add()([x, kept])
    y = L.Add()(skips)
    y = L.ReLU()(y)
    y = L.Conv1D(96, 1, activation="relu")(y)
    y = L.Cropping1D((264, 0))(y)
    y = L.Flatten()(y)
    y = L.Dropout(0.2)(y)
    return keras.Model(hours, L.Dense(24, name="depths")(y)), {"loss": "mae"}


def chestnuts(case):
    """Leaf diseases for a telephone: inverted bottlenecks with squeeze and excite and a hard swish."""
    def swish(x):
        return L.Multiply()([x, L.Activation("hard_sigmoid")(x)])

    def bottleneck(x, wide, filters, kernel, stride, squeeze, hard):
        y = L.Conv2D(wide, 1, use_bias=False)(x)
        y = L.BatchNormalization(momentum=0.99, epsilon=1e-3)(y)
        y = swish(y) if hard else L.ReLU(6.0)(y)
        y = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.99, epsilon=1e-3)(y)
        y = swish(y) if hard else L.ReLU(6.0)(y)
        if squeeze:
            s = L.GlobalAveragePooling2D(keepdims=True)(y)
            s = L.Conv2D(wide // 4, 1, activation="relu")(s)
            s = L.Conv2D(wide, 1, activation="hard_sigmoid")(s)
            y = L.Multiply()([y, s])
        y = L.Conv2D(filters, 1, use_bias=False)(y)
        y = L.BatchNormalization(momentum=0.99, epsilon=1e-3)(y)
        if stride == 1 and x.shape[-1] == filters:
            y = L.Add()([x, y])
        return y

    leaf = keras.Input((96, 96, 3), name="leaf")
    x = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(leaf)
    x = L.BatchNormalization()(x)
    x = swish(x)
    x = bottleneck(x, 64, 24, 3, 2, False, False)
    x = bottleneck(x, 88, 24, 3, 1, False, False)
    x = bottleneck(x, 96, 40, 5, 2, True, True)
    x = bottleneck(x, 160, 40, 5, 1, True, True)
    x = bottleneck(x, 160, 40, 5, 1, True, True)
    x = bottleneck(x, 240, 72, 5, 2, True, True)
    x = bottleneck(x, 360, 72, 5, 1, True, True)
    x = L.Conv2D(360, 1, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = swish(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(512, activation="swish")(x)
    x = L.Dropout(0.2)(x)
    return keras.Model(leaf, L.Dense(38, activation="softmax")(x)), {"classes": 38}


def clarinets(case):
    """Which pitch sounds in each frame of a recording: convolutions over the spectrogram, two bidirectional GRUs."""
    mel = keras.Input((128, 64, 1), name="mel")
    x = L.BatchNormalization(axis=2)(mel)
    for filters, pool in ((32, (2, 2)), (64, (2, 2)), (64, (1, 2))):
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.ELU()(x)
        x = L.MaxPooling2D(pool)(x)
        x = L.SpatialDropout2D(0.1)(x)
    x = L.Reshape((32, 8 * 64))(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True), merge_mode="sum")(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    pitch = L.Dense(49, activation="softmax", name="pitch")(x)
    return keras.Model(mel, pitch), {"classes": 49}


def cyclones(case):
    """The next picture of every picture of a storm: two convolutional LSTMs and a 3-D head."""
    model = keras.Sequential([
        keras.Input((8, 32, 32, 2)),
        L.ConvLSTM2D(16, 3, padding="same", return_sequences=True),
        L.BatchNormalization(),
        L.ConvLSTM2D(16, 3, padding="same", return_sequences=True),
        L.BatchNormalization(),
        L.Conv3D(2, 3, padding="same", activation="sigmoid"),
    ])
    return model, {"loss": "binary_crossentropy"}


def deserts(case):
    """Water holes in four-band pictures: a U-Net whose skips pass through attention gates."""
    def double(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.LeakyReLU(0.1)(x)
        return x

    bands = keras.Input((64, 64, 4), name="bands")
    skips, x = [], bands
    for filters in (16, 32):
        x = double(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = double(x, 64)
    x = L.Dropout(0.3)(x)
    for filters, skip in zip((32, 16), reversed(skips)):
        x = L.Conv2DTranspose(filters, 2, strides=2)(x)
        a = L.Conv2D(filters // 2, 1)(skip)
        b = L.Conv2D(filters // 2, 1)(x)
        gate = L.Activation("relu")(L.Add()([a, b]))
        gate = L.Conv2D(1, 1, activation="sigmoid")(gate)
        skip = L.Multiply()([skip, gate])
        x = L.Concatenate()([x, skip])
        x = double(x, filters)
    mask = L.Conv2D(1, 1, activation="sigmoid", name="mask")(x)
    return keras.Model(bands, mask), {"loss": "binary_crossentropy"}


def donkeys(case):
    """Breeds by a frozen MobileNet: only the head learns."""
    base = keras.applications.MobileNetV2(input_shape=(96, 96, 3), alpha=0.5, include_top=False, weights=None)
    base.trainable = False
    inputs = keras.Input((96, 96, 3))
    x = L.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = base(x, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.3)(x)
    x = L.Dense(128, activation="relu")(x)
    x = L.BatchNormalization()(x)
    return keras.Model(inputs, L.Dense(37, activation="softmax")(x)), {"classes": 37}


def emperors(case):
    """Inscriptions put into plain words: an encoder, a causal decoder and the cross attention between them."""
    dim, heads = 128, 4

    def feed(x):
        y = L.Dense(4 * dim, activation="gelu")(x)
        y = L.Dense(dim)(y)
        y = L.Dropout(0.1)(y)
        return L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))

    stone = keras.Input((40,), dtype="int32", name="stone")
    plain = keras.Input((36,), dtype="int32", name="plain")
    x = L.Embedding(4000, dim)(stone)
    x = L.Add()([x, L.Conv1D(dim, 3, padding="same")(x)])
    for _ in range(2):
        y = L.MultiHeadAttention(heads, dim // heads, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        x = feed(x)
    z = L.Embedding(6000, dim)(plain)
    z = L.Add()([z, L.Conv1D(dim, 3, padding="causal")(z)])
    for _ in range(2):
        y = L.MultiHeadAttention(heads, dim // heads, dropout=0.1)(z, z, use_causal_mask=True)
        z = L.LayerNormalization(epsilon=1e-6)(L.Add()([z, y]))
        y = L.MultiHeadAttention(heads, dim // heads, dropout=0.1)(query=z, value=x)
        z = L.LayerNormalization(epsilon=1e-6)(L.Add()([z, y]))
        z = feed(z)
    words = L.Dense(6000, name="words")(z)
    return keras.Model([stone, plain], words), {"classes": 6000, "logits": True, "highs": {"stone": 4000, "plain": 6000}}


def falafels(case):
    """Will this guest order this dish: tables of guests and dishes, the last orders through a GRU, a cross and a tower."""
    guest = keras.Input((1,), dtype="int32", name="guest")
    dish = keras.Input((1,), dtype="int32", name="dish")
    past = keras.Input((20,), dtype="int32", name="past")
    price = keras.Input((6,), name="price")
    dishes = L.Embedding(20000, 48, name="dishes")
    g = L.Flatten()(L.Embedding(50000, 48, name="guests")(guest))
    d = L.Flatten()(dishes(dish))
    h = L.GRU(48)(dishes(past))
    likes = L.Dot(axes=1, normalize=True)([h, d])
    both = L.Multiply()([g, d])
    x = L.Concatenate()([g, d, h, both, likes, price])
    for units in (256, 128, 64):
        x = L.Dense(units)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
        x = L.Dropout(0.2)(x)
    order = L.Dense(1, activation="sigmoid", name="order")(x)
    return (keras.Model([guest, dish, past, price], order),
            {"loss": "binary_crossentropy", "highs": {"guest": 50000, "dish": 20000, "past": 20000}})


def gorillas(case):
    """Where the apes of a clearing sit and how the troop behaves: a centre detector with four heads on separable convolutions."""
    def sep(x, filters, stride=1):
        y = L.SeparableConv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("swish")(y)
        if stride == 1 and x.shape[-1] == filters:
            y = L.Add()([x, y])
        return y

    scene = keras.Input((128, 128, 3), name="scene")
    x = L.Conv2D(24, 3, strides=2, padding="same", activation="swish")(scene)
    x = sep(x, 48)
    c4 = sep(sep(x, 96, 2), 96)
    c8 = sep(sep(c4, 128, 2), 128)
    c16 = sep(sep(c8, 160, 2), 160)
    p8 = L.Add()([L.UpSampling2D(interpolation="bilinear")(L.Conv2D(64, 1)(c16)), L.Conv2D(64, 1)(c8)])
    p4 = L.Add()([L.UpSampling2D(interpolation="bilinear")(p8), L.Conv2D(64, 1)(c4)])
    p4 = sep(p4, 64)
    heat = L.Conv2D(32, 3, padding="same", activation="relu")(p4)
    heat = L.Conv2D(5, 1, activation="sigmoid", name="heat")(heat)
    sizes = L.Conv2D(32, 3, padding="same", activation="relu")(p4)
    sizes = L.Conv2D(2, 1, activation="softplus", name="sizes")(sizes)
    shifts = L.Conv2D(2, 1, name="shifts")(L.Conv2D(32, 3, padding="same", activation="relu")(p4))
    troop = L.GlobalMaxPooling2D()(c16)
    troop = L.Dense(6, activation="softmax", name="troop")(L.Dropout(0.4)(troop))
    return keras.Model(scene, [heat, sizes, shifts, troop]), {
        "losses": {"heat": "binary_crossentropy", "sizes": "mae", "shifts": "mse", "troop": "sparse_categorical_crossentropy"},
        "outs": {"troop": 6}, "metrics": {"troop": ["accuracy"]}}


def guitars(case):
    """A pickup's hum removed: an encoder and a decoder of strided 1-D convolutions, each a Sequential of its own."""
    encoder = keras.Sequential(name="encoder")
    encoder.add(keras.Input((4096, 1)))
    for filters, stride in ((16, 2), (32, 4), (64, 4)):
        encoder.add(L.Conv1D(filters, 9, strides=stride, padding="same"))
        encoder.add(L.BatchNormalization())
        encoder.add(L.LeakyReLU())
    encoder.add(L.Conv1D(24, 1, activation="tanh", name="code"))
    decoder = keras.Sequential(name="decoder")
    decoder.add(keras.Input((128, 24)))
    for filters, stride in ((64, 4), (32, 4), (16, 2)):
        decoder.add(L.Conv1DTranspose(filters, 9, strides=stride, padding="same"))
        decoder.add(L.BatchNormalization())
        decoder.add(L.LeakyReLU())
    decoder.add(L.Conv1D(1, 9, padding="same"))
    wave = keras.Input((4096, 1), name="wave")
    noisy = L.GaussianNoise(0.05)(wave)
    return keras.Model(wave, decoder(encoder(noisy))), {"loss": "mse"}


def kebabs(case):
    """A stall's best seller from its accounts: categories in small tables, then residual dense blocks."""
    numbers = keras.Input((40,), name="numbers")
    inputs, parts, highs = [numbers], [L.BatchNormalization()(numbers)], {}
    for name, high, size in (("town", 1200, 24), ("street", 2800, 32), ("weekday", 7, 4), ("owner", 900, 16), ("spit", 12, 4)):
        one = keras.Input((1,), dtype="int32", name=name)
        parts.append(L.Flatten()(L.Embedding(high, size)(one)))
        inputs.append(one)
        highs[name] = high
    x = L.Dense(384)(L.Concatenate()(parts))
    for _ in range(4):
        y = L.BatchNormalization()(x)
        y = L.Dense(384, activation="selu", kernel_initializer="lecun_normal")(y)
        y = L.Dropout(0.15)(y)
        y = L.Dense(384)(y)
        x = L.Add()([x, y])
    x = L.Activation("selu")(x)
    return keras.Model(inputs, L.Dense(9, activation="softmax")(x)), {"classes": 9, "highs": highs}


def lupins(case):
    """Colours of flower spikes by a vision transformer, with a depthwise convolution to tell the places apart."""
    side, dim = 8, 96
    picture = keras.Input((48, 48, 3), name="picture")
    x = L.Conv2D(dim, 6, strides=6)(picture)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((side * side, dim))(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(num_heads=4, key_dim=24)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(2 * dim, activation="gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(dim)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(picture, L.Dense(16, activation="softmax")(x)), {"classes": 16}


def lassos(case):
    """Organs cut out of small volumes: a two-level net of 3-D convolutions that adds what it saw before."""
    def conv(x, filters):
        x = L.Conv3D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.PReLU(shared_axes=[1, 2, 3])(x)

    volume = keras.Input((16, 32, 32, 1), name="volume")
    a = conv(volume, 12)
    a = L.Add()([a, conv(a, 12)])
    b = L.Conv3D(24, 2, strides=2)(a)
    b = L.Add()([b, conv(conv(b, 24), 24)])
    c = L.Conv3D(48, 2, strides=2)(b)
    c = L.Add()([c, conv(c, 48)])
    x = L.Conv3DTranspose(24, 2, strides=2)(c)
    x = conv(L.Concatenate()([x, b]), 24)
    x = L.Conv3DTranspose(12, 2, strides=2)(x)
    x = conv(L.Concatenate()([x, a]), 12)
    return keras.Model(volume, L.Conv3D(4, 1, activation="softmax")(x)), {"classes": 4}


def mandarins(case):
    """Names and places in a sentence: two bidirectional LSTMs over words, a convolution beside them for their shapes."""
    words = keras.Input((60,), dtype="int32", name="words")
    forms = keras.Input((60, 18), name="forms")
    x = L.Embedding(12000, 100)(words)
    x = L.SpatialDropout1D(0.2)(x)
    f = L.Conv1D(32, 5, padding="same", activation="relu")(forms)
    x = L.Concatenate()([x, f])
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(x)
    x = L.Dropout(0.3)(x)
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(64, activation="tanh"))(x)
    return keras.Model([words, forms], L.Dense(17, activation="softmax")(x)), {"classes": 17, "highs": {"words": 12000}}


def moccasins(case):
    """Do two soles belong to one pair: a single tower for both pictures, the squared difference of what it says."""
    tower = keras.Sequential([
        keras.Input((56, 56, 1)),
        L.Conv2D(32, 5, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(96, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dropout(0.25),
        L.Dense(128, activation="sigmoid"),
    ], name="tower")
    left = keras.Input((56, 56, 1), name="left")
    right = keras.Input((56, 56, 1), name="right")
    gap = L.Subtract()([tower(left), tower(right)])
    gap = L.Multiply()([gap, gap])
    gap = L.Dense(32, activation="relu")(gap)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid", name="pair")(gap)), {"loss": "binary_crossentropy"}
