"""Models of predictions.py's fifty-second set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def avocets(case):
    """Bird calls told apart from log-mel spectrograms, with squeeze and excitation."""
    mel = keras.Input((128, 224, 1), name="mel")

    def unit(x, filters, strides):
        shortcut = x
        y = L.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("relu")(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        gate = L.GlobalAveragePooling2D(keepdims=True)(y)
        gate = L.Conv2D(filters // 8, 1, activation="relu")(gate)
        gate = L.Conv2D(filters, 1, activation="sigmoid")(gate)
        y = L.Multiply()([y, gate])
        if strides > 1 or x.shape[-1] != filters:
            shortcut = L.Conv2D(filters, 1, strides=strides, use_bias=False)(x)
            shortcut = L.BatchNormalization()(shortcut)
        return L.Activation("relu")(L.Add()([y, shortcut]))

    x = L.BatchNormalization(axis=1)(mel)
    x = L.Conv2D(24, (5, 3), strides=(2, 1), padding="same", use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.Activation("relu")(x)
    for filters, strides in ((24, 1), (48, 2), (48, 1), (96, 2), (96, 1), (160, 2)):
        x = unit(x, filters, strides)
    mean = L.GlobalAveragePooling2D()(x)
    top = L.GlobalMaxPooling2D()(x)
    x = L.Dropout(0.3)(L.Concatenate()([mean, top]))
    return keras.Model(mel, L.Dense(87, activation="softmax")(x)), {"classes": 87}


def bandsaws(case):
    """Healthy saw vibrations rebuilt by a one-dimensional autoencoder, to notice the others."""
    signal = keras.Input((8192, 3), name="signal")
    x = signal
    for filters in (32, 48, 64, 96):
        x = L.Conv1D(filters, 9, strides=4 if filters < 60 else 2, padding="same")(x)
        x = L.LayerNormalization()(x)
        x = L.LeakyReLU(0.1)(x)
        y = L.Conv1D(filters, 5, dilation_rate=2, padding="same", activation="elu")(x)
        x = L.Add()([x, y])
    x = L.Flatten()(x)
    code = L.Dense(128, name="code")(x)
    x = L.Dense(128 * 96, activation="relu")(code)
    x = L.Reshape((128, 96))(x)
    for filters, strides in ((96, 2), (64, 2), (48, 4), (32, 4)):
        x = L.Conv1DTranspose(filters, 9, strides=strides, padding="same")(x)
        x = L.LayerNormalization()(x)
        x = L.LeakyReLU(0.1)(x)
    return keras.Model(signal, L.Conv1D(3, 9, padding="same")(x)), {"loss": "mse"}


def begonias(case):
    """Sick spots of leaves marked out, with a nested U-Net and supervision of each depth."""
    leaf = keras.Input((128, 128, 3), name="leaf")
    widths = (16, 32, 64, 128)

    def block(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.ReLU()(x)
        return x

    nodes = {}
    x = L.Rescaling(1 / 255.0)(leaf)
    for row, filters in enumerate(widths):
        if row:
            x = L.MaxPooling2D()(x)
        x = nodes[row, 0] = block(x, filters)
    for column in range(1, len(widths)):
        for row in range(len(widths) - column):
            up = L.Conv2DTranspose(widths[row], 2, strides=2)(nodes[row + 1, column - 1])
            nodes[row, column] = block(L.Concatenate()([nodes[row, k] for k in range(column)] + [up]), widths[row])
    sides = [L.Conv2D(4, 1)(nodes[0, column]) for column in range(1, len(widths))]
    mean = L.Average()(sides)
    return keras.Model(leaf, L.Softmax()(mean)), {"classes": 4}


def bloomers(case):
    """Clothes proposed to shoppers: two towers of tables, looks and histories met by a dot product."""
    shopper = keras.Input((1,), dtype="int32", name="shopper")
    history = keras.Input((30,), dtype="int32", name="history")
    town = keras.Input((1,), dtype="int32", name="town")
    article = keras.Input((1,), dtype="int32", name="article")
    maker = keras.Input((1,), dtype="int32", name="maker")
    look = keras.Input((512,), name="look")
    articles = L.Embedding(105000, 48, name="articles")
    left = L.Concatenate()([
        L.Flatten()(L.Embedding(220000, 32, name="shoppers")(shopper)),
        L.GlobalAveragePooling1D()(articles(history)),
        L.Flatten()(L.Embedding(3500, 8)(town)),
    ])
    right = L.Concatenate()([
        L.Flatten()(articles(article)),
        L.Flatten()(L.Embedding(6000, 12)(maker)),
        L.Dense(64, activation="relu")(look),
    ])
    for units in (256, 128):
        left = L.Dropout(0.1)(L.Dense(units, activation="relu")(left))
        right = L.Dropout(0.1)(L.Dense(units, activation="relu")(right))
    left = L.UnitNormalization()(L.Dense(64)(left))
    right = L.UnitNormalization()(L.Dense(64)(right))
    bought = L.Dense(1, activation="sigmoid")(L.Dot(axes=1)([left, right]))
    highs = {"shopper": 220000, "history": 105000, "town": 3500, "article": 105000, "maker": 6000}
    return keras.Model([shopper, history, town, article, maker, look], bought), {"loss": "binary_crossentropy", "highs": highs}


class Places(L.Layer):
    """Adds a learned vector for each place."""

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(1, shape[1], shape[-1]), initializer="random_normal")
        self.built = True

    def call(self, x):
        return x + self.table

    def compute_output_shape(self, shape):
        return shape


def burdocks(case):
    """Seeds and weeds told apart by a small vision transformer with a convolutional stem."""
    photo = keras.Input((160, 160, 3), name="photo")
    x = photo
    for filters in (32, 64, 128):
        x = L.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(x)
    x = L.Conv2D(192, 2, strides=2)(x)
    x = L.Reshape((100, 192))(x)
    x = Places()(x)
    for _ in range(6):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(3, 64, dropout=0.1)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(768, activation="gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(192)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(photo, L.Dense(61)(x)), {"classes": 61, "logits": True}


def caribous(case):
    """What collared animals do at each moment of a day, from their tracks and the weather."""
    track = keras.Input((288, 9), name="track")
    season = keras.Input((1,), dtype="int32", name="season")
    s = L.RepeatVector(288)(L.Flatten()(L.Embedding(52, 6)(season)))
    x = L.Concatenate()([L.Conv1D(48, 5, padding="same", activation="relu")(track), s])
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.Dropout(0.25)(x)
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    return keras.Model([track, season], L.TimeDistributed(L.Dense(7, activation="softmax"))(x)), {"classes": 7, "highs": {"season": 52}}


def carnations(case):
    """Flowers found in stalls: a pyramid of maps with shared heads for kinds and boxes."""
    stall = keras.Input((192, 192, 3), name="stall")
    x = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(stall)
    x = L.BatchNormalization()(x)
    x = L.Activation("swish")(x)
    levels = []
    for filters, count in ((48, 1), (96, 2), (160, 2), (224, 1)):
        x = L.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("swish")(x)
        for _ in range(count):
            y = L.Conv2D(filters // 2, 1, use_bias=False)(x)
            y = L.BatchNormalization()(y)
            y = L.Activation("swish")(y)
            y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            x = L.Add()([x, L.Activation("swish")(y)])
        levels.append(x)
    top = None
    maps = []
    for level in reversed(levels[1:]):
        side = L.Conv2D(96, 1)(level)
        top = side if top is None else L.Add()([side, L.UpSampling2D()(top)])
        maps.append(L.Conv2D(96, 3, padding="same")(top))

    def head(name, outputs, activation):
        layers = [L.Conv2D(96, 3, padding="same", activation="relu", name=f"{name}_{k}") for k in range(2)]
        layers.append(L.Conv2D(6 * outputs, 3, padding="same", activation=activation, name=f"{name}_last"))
        found = []
        for x in maps:
            for layer in layers:
                x = layer(x)
            found.append(L.Reshape((-1, outputs))(x))
        return L.Concatenate(axis=1, name=name)(found)

    kinds = head("kinds", 15, "sigmoid")
    boxes = head("boxes", 4, None)
    return keras.Model(stall, [kinds, boxes]), {"losses": ["binary_crossentropy", "huber"]}


def cockatoos(case):
    """Next words of overheard chatter, by a small decoder-only transformer."""
    words = keras.Input((96,), dtype="int32", name="words")
    places = keras.Input((96,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(18000, 192)(words), L.Embedding(96, 192)(places)])
    x = L.Dropout(0.1)(x)
    for _ in range(4):
        y = L.LayerNormalization()(x)
        y = L.MultiHeadAttention(6, 32)(y, y, use_causal_mask=True)
        x = L.Add()([x, L.Dropout(0.1)(y)])
        y = L.LayerNormalization()(x)
        y = L.Dense(768, activation="gelu")(y)
        y = L.Dense(192)(y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
    x = L.LayerNormalization()(x)
    return keras.Model([words, places], L.Dense(18000, use_bias=False)(x)), {
        "classes": 18000, "logits": True, "highs": {"words": 18000, "places": 96}}


def crampons(case):
    """Steps on ice scored from depth videos: separate convolutions of space and time."""
    video = keras.Input((16, 80, 80, 2), name="video")

    def both(x, filters, strides):
        x = L.Conv3D(filters, (1, 3, 3), strides=(1, strides, strides), padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
        x = L.Conv3D(filters, (3, 1, 1), padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return x

    x = L.ReLU()(both(video, 16, 2))
    for filters in (24, 48, 96):
        y = L.ReLU()(both(x, filters, 1))
        y = both(y, filters, 1)
        x = L.ReLU()(L.Add()([y, L.Conv3D(filters, 1)(x)]))
        x = L.MaxPooling3D(2)(x)
    x = L.GlobalAveragePooling3D()(x)
    x = L.Dense(64, activation="relu")(x)
    return keras.Model(video, L.Dense(3)(x)), {"loss": "mae"}


def cravats(case):
    """Whether two photographs show the same tie: twin encoders and the distances of their codes."""
    first = keras.Input((112, 112, 3), name="first")
    second = keras.Input((112, 112, 3), name="second")
    x = inside = keras.Input((112, 112, 3))
    for filters in (24, 48, 96, 144):
        x = L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.PReLU(shared_axes=[1, 2])(x)
        x = L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.PReLU(shared_axes=[1, 2])(x)
        x = L.AveragePooling2D(2)(x)
    x = L.Flatten()(x)
    encoder = keras.Model(inside, L.Dense(128)(L.Dropout(0.2)(x)), name="encoder")
    a, b = encoder(first), encoder(second)
    gap = L.Subtract()([a, b])
    gap = L.Concatenate()([L.Multiply()([gap, gap]), L.Multiply()([a, b])])
    gap = L.Dense(32, activation="relu")(gap)
    return keras.Model([first, second], L.Dense(1, activation="sigmoid")(gap)), {"loss": "binary_crossentropy"}


def dingoes(case):
    """Sightings over a net of posts, foretold by dense graph convolutions and gated steps."""
    nodes = keras.Input((160, 24), name="nodes")
    near = keras.Input((160, 160), name="near")
    far = keras.Input((160, 160), name="far")
    x = L.Dense(96, activation="relu")(nodes)
    for _ in range(4):
        parts = [L.Dense(96, use_bias=False)(x)]
        for links in (near, far):
            parts.append(L.Dot(axes=(2, 1))([links, L.Dense(96, use_bias=False)(x)]))
        y = L.LayerNormalization()(L.Add()(parts))
        gate = L.Dense(96, activation="sigmoid")(L.Concatenate()([x, y]))
        y = L.Multiply()([gate, L.Activation("relu")(y)])
        x = L.Dropout(0.1)(L.Add()([x, y]))
    counts = L.Dense(12, activation="softplus")(L.Dense(96, activation="relu")(x))
    return keras.Model([nodes, near, far], counts), {"loss": "poisson"}


def fedoras(case):
    """Hats drawn from noise and a style: a generator taught here against given drawings."""
    noise = keras.Input((100,), name="noise")
    style = keras.Input((1,), dtype="int32", name="style")
    s = L.Flatten()(L.Embedding(40, 50)(style))
    x = L.Dense(6 * 6 * 384, use_bias=False)(L.Concatenate()([noise, s]))
    x = L.BatchNormalization()(x)
    x = L.LeakyReLU()(x)
    x = L.Reshape((6, 6, 384))(x)
    for filters in (192, 128, 64, 32):
        x = L.Conv2DTranspose(filters, 5, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.8)(x)
        x = L.LeakyReLU()(x)
    drawing = L.Conv2D(3, 5, padding="same", activation="tanh")(x)
    return keras.Model([noise, style], drawing), {"loss": "mae", "highs": {"style": 40}}


def freesias(case):
    """Small photographs made four times as wide, by dense blocks within residual ones."""
    small = keras.Input((40, 40, 3), name="small")
    x = head = L.Conv2D(48, 3, padding="same")(small)
    for _ in range(3):
        start = x
        grown = [x]
        for _ in range(3):
            y = grown[0] if len(grown) == 1 else L.Concatenate()(grown)
            grown.append(L.Conv2D(24, 3, padding="same", activation="relu")(y))
        y = L.Conv2D(48, 1)(L.Concatenate()(grown))
        x = L.Add()([start, L.Rescaling(0.2)(y)])
    x = L.Add()([head, L.Conv2D(48, 3, padding="same")(x)])
    for _ in range(2):
        x = L.UpSampling2D(interpolation="nearest")(x)
        x = L.Conv2D(32, 3, padding="same")(x)
        x = L.LeakyReLU(0.2)(x)
    large = L.Conv2D(3, 3, padding="same")(x)
    base = L.UpSampling2D(4, interpolation="bilinear")(small)
    return keras.Model(small, L.Add()([base, large])), {"loss": "mae"}


def geckos(case):
    """Reptiles told apart by a base whose lower half is frozen, behind light augmentation."""
    photo = keras.Input((160, 160, 3), name="photo")
    base = keras.applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(160, 160, 3), include_preprocessing=False)
    for layer in base.layers[: len(base.layers) // 2]:
        layer.trainable = False
    x = L.RandomFlip("horizontal")(photo)
    x = base(L.Rescaling(1 / 128.0, offset=-1.0)(x))
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.4)(L.BatchNormalization()(x))
    return keras.Model(photo, L.Dense(140, activation="softmax")(x)), {"classes": 140}


def guavas(case):
    """Ripeness and variety of fruit, from one Xception trained whole and a scale's readings."""
    fruit = keras.Input((128, 128, 3), name="fruit")
    scale = keras.Input((12,), name="scale")
    base = keras.applications.Xception(include_top=False, weights=None, input_tensor=fruit, pooling="avg")
    x = L.Concatenate()([base.output, L.Dense(32, activation="relu")(scale)])
    x = L.Dropout(0.3)(L.Dense(256, activation="relu")(x))
    ripeness = L.Dense(5, activation="softmax", name="ripeness")(x)
    variety = L.Dense(28, activation="softmax", name="variety")(x)
    return keras.Model([fruit, scale], {"ripeness": ripeness, "variety": variety}), {"outs": {"ripeness": 5, "variety": 28}}


def hornets(case):
    """Visits to nests over the coming days: stacks of residual blocks of dense layers, as N-BEATS."""
    past = keras.Input((672,), name="past")
    left, total = past, None
    for stack in range(4):
        for _ in range(3):
            x = left
            for _ in range(4):
                x = L.Dense(512, activation="relu")(x)
            back = L.Dense(672, use_bias=False)(L.Dense(32 + 8 * stack, use_bias=False)(x))
            ahead = L.Dense(96, use_bias=False)(L.Dense(32 + 8 * stack, use_bias=False)(x))
            left = L.Subtract()([left, back])
            total = ahead if total is None else L.Add()([total, ahead])
    return keras.Model(past, total), {"loss": "huber"}


def jerboas(case):
    """Short desert field notes put into another tongue: gated recurrent encoder and decoder with attention."""
    notes = keras.Input((48,), dtype="int32", name="notes")
    said = keras.Input((40,), dtype="int32", name="said")
    x = L.Embedding(14000, 160)(notes)
    x = L.Bidirectional(L.GRU(128, return_sequences=True))(x)
    memory, last = L.GRU(256, return_sequences=True, return_state=True)(x)
    y = L.Embedding(8000, 160)(said)
    y = L.GRU(256, return_sequences=True)(y, initial_state=last)
    seen = L.Attention()([y, memory])
    y = L.Dense(256, activation="tanh")(L.Concatenate()([y, seen]))
    y = L.Dropout(0.2)(y)
    return keras.Model([notes, said], L.Dense(8000, activation="softmax")(y)), {
        "classes": 8000, "highs": {"notes": 14000, "said": 8000}}
