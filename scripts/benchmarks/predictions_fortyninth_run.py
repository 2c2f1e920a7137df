"""Models of predictions.py's forty-ninth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


@keras.utils.register_keras_serializable(package="fortyninth")
class Places(L.Layer):
    """Adds a learned vector for each place of a sequence."""

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(shape[1], shape[2]), initializer="random_normal")
        super().build(shape)

    def call(self, x):
        return x + self.table

    def compute_output_shape(self, shape):
        return shape


def nozzles(case):
    """A small causal language model of three blocks, before-norm."""
    words = keras.Input((96,), dtype="int32", name="words")
    x = Places(name="places")(L.Embedding(16000, 160, name="table")(words))
    for _ in range(3):
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.MultiHeadAttention(5, 32, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.Dense(640, activation="gelu")(y)
        y = L.Dropout(0.1)(L.Dense(160)(y))
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    return keras.Model(words, L.Dense(16000, name="next")(x)), {"classes": 16000, "logits": True, "highs": {"words": 16000}}


def ocelots(case):
    """Tags each token of a report with two bidirectional LSTMs over words and their shapes."""
    words = keras.Input((120,), dtype="int32", name="words")
    shapes = keras.Input((120,), dtype="int32", name="shapes")
    x = L.Concatenate()([L.Embedding(32000, 100)(words), L.Embedding(60, 12)(shapes)])
    x = L.SpatialDropout1D(0.2)(x)
    x = L.Bidirectional(L.LSTM(128, return_sequences=True))(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(64, activation="tanh"))(x)
    tags = L.Dense(17, activation="softmax", name="tags")(x)
    return keras.Model([words, shapes], tags), {"classes": 17, "highs": {"words": 32000, "shapes": 60}}


def papayas(case):
    """A two-tower recommender over a user's recent items and a candidate."""
    user = keras.Input((1,), dtype="int32", name="user")
    recent = keras.Input((30,), dtype="int32", name="recent")
    item = keras.Input((1,), dtype="int32", name="item")
    items = L.Embedding(40000, 64, name="items")
    u = L.Flatten()(L.Embedding(90000, 64, name="users")(user))
    h = L.GlobalAveragePooling1D()(items(recent))
    q = L.Concatenate()([u, h])
    q = L.Dense(64)(L.Dense(256, activation="relu")(q))
    k = L.Flatten()(items(item))
    k = L.Dense(64)(L.Dense(256, activation="relu")(k))
    score = L.Dot(axes=1, normalize=True)([q, k])
    return keras.Model([user, recent, item], L.Dense(1, activation="sigmoid")(score)), {
        "loss": "binary_crossentropy", "highs": {"user": 90000, "recent": 40000, "item": 40000}}


def padlocks(case):
    """Clicks from thirteen numbers and nine tables, with a cross network beside a deep one."""
    numbers = keras.Input((13,), name="numbers")
    sizes = [50000, 30000, 20000, 12000, 8000, 3000, 900, 200, 40]
    inputs, parts, highs = [numbers], [L.BatchNormalization()(numbers)], {}
    for i, size in enumerate(sizes):
        field = keras.Input((1,), dtype="int32", name="field%d" % i)
        inputs.append(field)
        highs["field%d" % i] = size
        parts.append(L.Flatten()(L.Embedding(size, 24)(field)))
    start = L.Concatenate()(parts)
    width = 13 + 24 * len(sizes)
    cross = start
    for _ in range(3):
        cross = L.Add()([cross, L.Multiply()([start, L.Dense(width)(cross)])])
    deep = start
    for units in (512, 256, 128):
        deep = L.Dense(units, activation="relu")(deep)
        deep = L.Dropout(0.2)(L.BatchNormalization()(deep))
    click = L.Dense(1, activation="sigmoid")(L.Concatenate()([cross, deep]))
    return keras.Model(inputs, click), {"loss": "binary_crossentropy", "highs": highs}


def ravines(case):
    """Gated dilated causal convolutions that forecast river levels at each hour."""
    levels = keras.Input((336, 12), name="levels")
    x = L.Conv1D(64, 1)(levels)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32):
        a = L.Conv1D(64, 3, padding="causal", dilation_rate=rate, activation="tanh")(x)
        b = L.Conv1D(64, 3, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(96, 1)(z))
        x = L.Add()([x, L.Conv1D(64, 1)(z)])
    y = L.ReLU()(L.Add()(skips))
    y = L.Conv1D(96, 1, activation="relu")(y)
    return keras.Model(levels, L.Conv1D(3, 1, name="quantiles")(y)), {"loss": "mae"}


def rivets(case):
    """Doubly residual stacks of dense blocks, a forecast of energy load."""
    past = keras.Input((240,), name="past")
    rest, forecasts = past, []
    for _ in range(6):
        h = rest
        for _ in range(4):
            h = L.Dense(512, activation="relu")(h)
        back = L.Dense(240, use_bias=False)(L.Dense(16)(h))
        forecasts.append(L.Dense(48, use_bias=False)(L.Dense(16)(h)))
        rest = L.Subtract()([rest, back])
    return keras.Model(past, L.Add(name="load")(forecasts)), {"loss": "huber"}


def receipts(case):
    """A transformer over the columns of a table of loans."""
    amounts = keras.Input((40,), name="amounts")
    kinds = keras.Input((12,), dtype="int32", name="kinds")
    x = L.EinsumDense("bf,fd->bfd", output_shape=(40, 64), bias_axes="fd")(amounts)
    x = L.Concatenate(axis=1)([x, L.Embedding(5000, 64)(kinds)])
    for _ in range(3):
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(8, 8)(y, y)])
        y = L.LayerNormalization()(x)
        y = L.Dense(64)(L.Dropout(0.1)(L.Dense(256, activation="relu")(y)))
        x = L.Add()([x, y])
    x = L.Flatten()(x)
    x = L.Dense(128, activation="relu")(x)
    return keras.Model([amounts, kinds], L.Dense(4, activation="softmax")(x)), {"classes": 4, "highs": {"kinds": 5000}}


def pharmacies(case):
    """Message passing over a molecule's atoms by dense adjacency, several properties at once."""
    atoms = keras.Input((64, 32), name="atoms")
    bonds = keras.Input((64, 64), name="bonds")
    x = L.Dense(128, activation="relu")(atoms)
    for _ in range(4):
        m = L.Dot(axes=(2, 1))([bonds, L.Dense(128)(x)])
        y = L.Concatenate()([x, m])
        y = L.Dense(128, activation="relu")(y)
        y = L.BatchNormalization()(y)
        x = L.Add()([x, y])
    gate = L.Dense(256, activation="sigmoid")(x)
    read = L.GlobalAveragePooling1D()(L.Multiply()([gate, L.Dense(256)(x)]))
    h = L.Dense(128, activation="relu")(read)
    energy = L.Dense(1, name="energy")(h)
    toxic = L.Dense(12, activation="sigmoid", name="toxic")(h)
    return keras.Model([atoms, bonds], [energy, toxic]), {"losses": ["mse", "binary_crossentropy"]}


def poplars(case):
    """A branch and a trunk that learn the solution operator of a diffusion."""
    field = keras.Input((64, 64, 1), name="field")
    points = keras.Input((400, 3), name="points")
    b = field
    for filters in (32, 64, 96):
        b = L.Conv2D(filters, 5, strides=2, padding="same", activation="gelu")(b)
    b = L.Dense(160)(L.Dense(256, activation="gelu")(L.Flatten()(b)))
    t = points
    for _ in range(4):
        t = L.Dense(160, activation="tanh")(t)
    out = L.Dot(axes=(2, 1), name="values")([t, b])
    return keras.Model([field, points], out), {"loss": "mse"}


def scaffolds(case):
    """A volumetric U-Net for scans of porous bone."""
    scan = keras.Input((32, 32, 32, 1), name="scan")

    def pair(x, n):
        for _ in range(2):
            x = L.Conv3D(n, 3, padding="same", use_bias=False)(x)
            x = L.ReLU()(L.BatchNormalization()(x))
        return x

    a = pair(scan, 12)
    b = pair(L.MaxPooling3D()(a), 24)
    c = pair(L.MaxPooling3D()(b), 48)
    d = L.Conv3DTranspose(24, 2, strides=2)(c)
    d = pair(L.Concatenate()([d, b]), 24)
    e = L.Conv3DTranspose(12, 2, strides=2)(d)
    e = pair(L.Concatenate()([e, a]), 12)
    return keras.Model(scan, L.Conv3D(4, 1, activation="softmax")(e)), {"classes": 4}


def sapphires(case):
    """A conditional generator of gem pictures from noise and a class."""
    noise = keras.Input((128,), name="noise")
    gem = keras.Input((1,), dtype="int32", name="gem")
    z = L.Concatenate()([noise, L.Flatten()(L.Embedding(87, 32)(gem))])
    x = L.Reshape((6, 6, 256))(L.Dense(6 * 6 * 256, use_bias=False)(z))
    x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    for filters in (192, 96, 48):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    x = L.UpSampling2D(interpolation="bilinear")(x)
    picture = L.Conv2D(3, 5, padding="same", activation="tanh")(x)
    return keras.Model([noise, gem], picture), {"loss": "mae", "highs": {"gem": 87}}


def turnstiles(case):
    """A DenseNet classifier of gates seen from street cameras."""
    base = keras.applications.DenseNet121(weights=None, include_top=False, input_shape=(112, 112, 3), pooling="avg")
    x = L.Dropout(0.3)(base.output)
    return keras.Model(base.input, L.Dense(23, activation="softmax")(x)), {"classes": 23}


def trinkets(case):
    """A frozen Xception with a new head for antiques."""
    base = keras.applications.Xception(weights=None, include_top=False, input_shape=(128, 128, 3))
    base.trainable = False
    picture = keras.Input((128, 128, 3), name="picture")
    x = L.Rescaling(1 / 127.5, offset=-1)(picture)
    x = base(x, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(256, activation="relu")(x)
    return keras.Model(picture, L.Dense(60, activation="softmax")(L.Dropout(0.4)(x))), {"classes": 60}


def tapestries(case):
    """Segments cloth with dilated branches at several rates and a skip."""
    picture = keras.Input((128, 128, 3), name="picture")

    def unit(x, n, k=3, **more):
        x = L.Conv2D(n, k, padding="same", use_bias=False, **more)(x)
        return L.Activation("swish")(L.BatchNormalization()(x))

    x = unit(picture, 24, strides=2)
    low = unit(x, 32)
    x = unit(low, 64, strides=2)
    x = unit(x, 96, strides=2)
    parts = [unit(x, 64, 1)] + [unit(x, 64, dilation_rate=r) for r in (2, 4, 6)]
    x = unit(L.Concatenate()(parts), 96, 1)
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    x = unit(L.Concatenate()([x, unit(low, 24, 1)]), 64)
    x = L.Conv2D(9, 1)(x)
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    return keras.Model(picture, L.Softmax()(x)), {"classes": 9}


def thermals(case):
    """Bird calls in a spectrogram: convolutions, then two GRUs."""
    mel = keras.Input((200, 64, 1), name="mel")
    x = mel
    for filters, pool in ((32, (2, 2)), (64, (1, 2)), (96, (2, 2))):
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.ELU()(L.BatchNormalization()(x))
        x = L.MaxPooling2D(pool)(x)
    x = L.Reshape((50, 8 * 96))(x)
    x = L.GRU(128, return_sequences=True)(x)
    x = L.Bidirectional(L.GRU(64))(x)
    return keras.Model(mel, L.Dense(50, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def skewers(case):
    """Translation by GRUs with attention over the source."""
    source = keras.Input((40,), dtype="int32", name="source")
    target = keras.Input((36,), dtype="int32", name="target")
    e = L.Embedding(12000, 128)(source)
    e, state = L.GRU(192, return_sequences=True, return_state=True)(e)
    d = L.Embedding(9000, 128)(target)
    d = L.GRU(192, return_sequences=True)(d, initial_state=state)
    c = L.Attention()([d, e])
    x = L.Dense(192, activation="tanh")(L.Concatenate()([d, c]))
    return keras.Model([source, target], L.Dense(9000, activation="softmax")(x)), {
        "classes": 9000, "highs": {"source": 12000, "target": 9000}}


def zippers(case):
    """Two pictures of garments through one encoder: do they match?"""
    one = keras.Input((96, 96, 3), name="one")
    two = keras.Input((96, 96, 3), name="two")
    picture = keras.Input((96, 96, 3))
    x = L.Conv2D(32, 5, strides=2, padding="same", activation="relu")(picture)
    for filters in (48, 96, 160):
        x = L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.PReLU(shared_axes=[1, 2])(L.BatchNormalization()(x))
        x = L.MaxPooling2D()(x)
    encoder = keras.Model(picture, L.Dense(128)(L.GlobalMaxPooling2D()(x)), name="encoder")
    a, b = encoder(one), encoder(two)
    d = L.Subtract()([a, b])
    x = L.Concatenate()([L.Multiply()([d, d]), L.Multiply()([a, b])])
    x = L.Dense(64, activation="relu")(x)
    return keras.Model([one, two], L.Dense(1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def wickets(case):
    """A detector of cricket gear: two levels, boxes and classes of each cell."""
    picture = keras.Input((160, 160, 3), name="picture")
    x, levels = picture, []
    for filters in (24, 48, 96, 160):
        x = L.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.1)(L.BatchNormalization()(x))
        y = L.Conv2D(filters // 2, 1, activation="relu")(x)
        x = L.Add()([x, L.Conv2D(filters, 3, padding="same", activation="relu")(y)])
        levels.append(x)
    top = L.Conv2D(96, 1)(levels[3])
    low = L.Add()([L.UpSampling2D()(top), L.Conv2D(96, 1)(levels[2])])
    boxes, kinds = [], []
    for level in (top, low):
        h = L.Conv2D(96, 3, padding="same", activation="relu")(level)
        boxes.append(L.Reshape((-1, 4))(L.Conv2D(12, 1)(h)))
        kinds.append(L.Reshape((-1, 8))(L.Conv2D(24, 1)(h)))
    box = L.Concatenate(axis=1, name="box")(boxes)
    kind = L.Activation("sigmoid", name="kind")(L.Concatenate(axis=1)(kinds))
    return keras.Model(picture, [box, kind]), {"losses": ["huber", "binary_crossentropy"]}
