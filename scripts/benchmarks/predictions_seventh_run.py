"""Described models of predictions.py's seventh set, written without reading what estimates; those that only
TensorFlow can trace stand in predictions_seventh_live_run.py. As predictions_third_run.py; `outs` names the number
of classes of each output, None for numbers.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def harbours(case):
    """MobileNet, the first, three quarters wide."""
    return keras.applications.MobileNet((96, 96, 3), alpha=0.75, weights=None, classes=20), {"classes": 20}


def mushrooms(case):
    """EfficientNetV2B0 with new classes."""
    return keras.applications.EfficientNetV2B0(input_shape=(64, 64, 3), weights=None, classes=25), {
        "classes": 25
    }


def parks(case):
    """MobileNetV3Large with new classes."""
    return keras.applications.MobileNetV3Large((80, 80, 3), weights=None, classes=15), {"classes": 15}


def fossils(case):
    """InceptionV3 whose first 200 layers stay as they are."""
    base = keras.applications.InceptionV3(input_shape=(96, 96, 3), include_top=False, weights=None)
    for layer in base.layers[:200]:
        layer.trainable = False
    y = L.Dropout(0.3)(L.GlobalAveragePooling2D()(base.output))
    return keras.Model(base.input, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def orchard(case):
    """NASNetMobile on small pictures."""
    return keras.applications.NASNetMobile((40, 40, 3), weights=None, classes=8), {"classes": 8}


def murals(case):
    """A frozen ConvNeXtTiny, called as a layer, below a head of two layers."""
    base = keras.applications.ConvNeXtTiny(input_shape=(64, 64, 3), include_top=False, weights=None)
    base.trainable = False
    x = keras.Input((64, 64, 3), name="mural")
    y = L.GlobalAveragePooling2D()(base(x, training=False))
    y = L.Dropout(0.2)(L.Dense(512, activation="relu")(y))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def patents(case):
    """One transformer block four times over, and a narrow table of 24,000 pieces."""
    x = keras.Input((40,), dtype="int32", name="pieces")
    y = L.Dense(192)(L.Embedding(24000, 48)(x))
    look, first, second = L.MultiHeadAttention(6, 32), L.LayerNormalization(), L.LayerNormalization()
    wide, back = L.Dense(768, activation="gelu"), L.Dense(192)
    for _ in range(4):
        y = first(L.Add()([y, look(y, y)]))
        y = second(L.Add()([y, back(wide(y))]))
    y = L.LayerNormalization()(L.Dense(48, activation="gelu")(y))
    return keras.Model(x, L.Dense(24000)(y)), {"classes": 24000, "logits": True}


def essays(case):
    """Words that were hidden, and whether a sentence follows: two heads on one encoder."""
    words = keras.Input((48,), dtype="int32", name="tokens")
    part = keras.Input((48,), dtype="int32", name="parts")
    y = L.Add()([L.Embedding(15000, 96)(words), L.Embedding(2, 96)(part)])
    y = L.Dropout(0.1)(L.LayerNormalization()(y))
    for _ in range(3):
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(L.MultiHeadAttention(6, 16)(y, y))]))
        z = L.Dense(96)(L.Dense(384, activation="gelu")(y))
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
    hidden = L.Dense(15000, name="hidden")(y)
    follows = L.Dense(1, activation="sigmoid", name="follows")(L.GlobalAveragePooling1D()(y))
    losses = {
        "hidden": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "follows": "binary_crossentropy",
    }
    facts = {"losses": losses, "outs": {"hidden": 15000, "follows": None}, "highs": {"parts": 2}}
    return keras.Model([words, part], [hidden, follows]), facts


def dialects(case):
    """Gated convolutions from one language to another, attention between them."""

    def gated(y, padding):
        open_, value = (
            L.Conv1D(128, 3, padding=padding, activation="sigmoid"),
            L.Conv1D(128, 3, padding=padding),
        )
        return L.Add()([y, L.Multiply()([open_(y), value(y)])])

    source = keras.Input((28,), dtype="int32", name="source")
    target = keras.Input((28,), dtype="int32", name="target")
    memory = L.Embedding(8000, 128)(source)
    y = L.Embedding(8000, 128)(target)
    for _ in range(3):
        memory = gated(memory, "same")
        y = gated(y, "causal")
        y = L.Add()([y, L.Attention()([y, memory])])
    return keras.Model([source, target], L.Dense(8000, activation="softmax")(y)), {"classes": 8000}


def archives(case):
    """Long texts: attention within pieces of 32 words, then between the pieces."""
    x = keras.Input((512,), dtype="int32", name="text")
    y = L.Reshape((16, 32, 64))(L.Embedding(6000, 64)(x))
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 16, attention_axes=(2,))(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(64)(L.Dense(192, activation="relu")(y))]))
    y = L.TimeDistributed(L.GlobalAveragePooling1D())(y)
    y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 16)(y, y)]))
    return keras.Model(x, L.Dense(12, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 12}


def bylaws(case):
    """Perceptrons with a gate over places instead of attention."""
    x = keras.Input((64,), dtype="int32", name="words")
    y = L.Embedding(5000, 96)(x)
    for _ in range(4):
        z = L.LayerNormalization()(y)
        value, gate = L.Dense(192, activation="gelu")(z), L.Dense(192, activation="gelu")(z)
        gate = L.Permute((2, 1))(L.Dense(64, bias_initializer="ones")(L.Permute((2, 1))(gate)))
        y = L.Add()([y, L.Dense(96)(L.Multiply()([value, gate]))])
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 9}


def drills(case):
    """Two LSTMs read, two write with the states of the first."""
    x = keras.Input((40, 8), name="past")
    known = keras.Input((20, 3), name="plan")
    states = []
    y = x
    for _ in range(2):
        y, *last = L.LSTM(128, return_sequences=True, return_state=True)(y)
        states.append(last)
    z = known
    for last in states:
        z = L.LSTM(128, return_sequences=True)(z, initial_state=last)
    return keras.Model([x, known], L.TimeDistributed(L.Dense(4))(z)), {"loss": "mae"}


def pumps(case):
    """An LSTM beside three convolutions, joined for the class."""
    x = keras.Input((128, 6), name="signal")
    y = x
    for width, kernel in ((128, 8), (256, 5), (128, 3)):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv1D(width, kernel, padding="same")(y)))
    y = L.Concatenate()([L.GlobalAveragePooling1D()(y), L.Dropout(0.5)(L.LSTM(64)(x))])
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def sales(case):
    """Blocks that explain a part of the past and forecast with it."""
    x = keras.Input((120,), name="past")
    rest, ahead = x, []
    for _ in range(6):
        y = rest
        for _ in range(4):
            y = L.Dense(256, activation="relu")(y)
        rest = L.Subtract()([rest, L.Dense(120)(y)])
        ahead.append(L.Dense(24)(y))
    return keras.Model(x, L.Add()(ahead)), {"loss": "mae"}


def turbines(case):
    """Each channel apart, in patches through a transformer."""
    x = keras.Input((256, 8), name="channels")
    y = L.Dense(96)(L.Reshape((8, 16, 16))(L.Permute((2, 1))(x)))
    for _ in range(3):
        y = L.BatchNormalization()(L.Add()([y, L.MultiHeadAttention(4, 24, attention_axes=(2,))(y, y)]))
        y = L.BatchNormalization()(L.Add()([y, L.Dense(96)(L.Dense(256, activation="gelu")(y))]))
    return keras.Model(x, L.Dense(24)(L.Reshape((8, 16 * 96))(y))), {"loss": "mse"}


def kidneys(case):
    """Residual 3-D convolutions with PReLU, strides down and transposed up."""

    def stage(y, width):
        z = L.PReLU(shared_axes=(1, 2, 3))(L.Conv3D(width, 3, padding="same")(y))
        return L.Add()([y, L.Conv3D(width, 3, padding="same")(z)])

    x = keras.Input((24, 24, 24, 1), name="volume")
    top = stage(L.Conv3D(12, 5, padding="same")(x), 12)
    y = stage(L.Conv3D(24, 2, strides=2, activation="relu")(top), 24)
    y = L.Conv3DTranspose(12, 2, strides=2, activation="relu")(y)
    y = L.PReLU(shared_axes=(1, 2, 3))(L.Conv3D(12, 3, padding="same")(L.Concatenate()([top, y])))
    return keras.Model(x, L.Conv3D(2, 1, activation="softmax")(y)), {"classes": 2}


def lidar(case):
    """Points in pillars, their maximum as a map, boxes and kinds from it."""
    x = keras.Input((576, 12, 7), name="pillars")
    y = L.ReLU()(L.BatchNormalization()(L.Dense(48, use_bias=False)(x)))
    y = L.Reshape((24, 24, 48))(L.TimeDistributed(L.GlobalMaxPooling1D())(y))
    maps = []
    for width, stride in ((48, 1), (96, 2)):
        y = L.Conv2D(width, 3, strides=stride, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        maps.append(L.Conv2DTranspose(48, stride, strides=stride, activation="relu")(y))
    y = L.Concatenate()(maps)
    boxes, kinds = L.Conv2D(7, 1, name="boxes")(y), L.Conv2D(4, 1, activation="softmax", name="kinds")(y)
    losses = {"boxes": "mse", "kinds": "sparse_categorical_crossentropy"}
    return keras.Model(x, [boxes, kinds]), {"losses": losses, "outs": {"boxes": None, "kinds": 4}}


def gaits(case):
    """Branches side by side in three dimensions."""

    def branches(y, a, b, c):
        first = L.Conv3D(a, 1, activation="relu")(y)
        second = L.Conv3D(b, 3, padding="same", activation="relu")(L.Conv3D(b // 2, 1, activation="relu")(y))
        third = L.Conv3D(c, 1, activation="relu")(L.MaxPooling3D(3, strides=1, padding="same")(y))
        return L.Concatenate()([first, second, third])

    x = keras.Input((12, 36, 36, 3), name="film")
    y = L.Conv3D(24, (3, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(x)
    y = branches(y, 16, 32, 16)
    y = branches(L.MaxPooling3D(2)(y), 32, 64, 32)
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling3D()(y))), {"classes": 10}


def claims(case):
    """Two sentences through one bidirectional LSTM, their maxima compared."""
    a = keras.Input((30,), dtype="int32", name="premise")
    b = keras.Input((30,), dtype="int32", name="claim")
    table, read = L.Embedding(20000, 100), L.Bidirectional(L.LSTM(96, return_sequences=True))
    u, v = (L.GlobalMaxPooling1D()(read(table(each))) for each in (a, b))
    less = L.Subtract()([u, v])
    y = L.Concatenate()([u, v, L.Multiply()([less, less]), L.Multiply()([u, v])])
    y = L.Dense(256, activation="tanh")(y)
    return keras.Model([a, b], L.Dense(3, activation="softmax")(y)), {"classes": 3}


def enzymes(case):
    """A graph that is pooled to ten groups by an assignment that is learnt."""
    x = keras.Input((40, 16), name="atoms")
    bonds = keras.Input((40, 40), name="bonds")
    y = x
    for _ in range(2):
        y = L.BatchNormalization()(L.Dense(96, activation="relu")(L.Dot((2, 1))([bonds, y])))
    groups = L.Dense(10, activation="softmax")(L.Dot((2, 1))([bonds, y]))
    y = L.Dot((1, 1))([groups, y])
    between = L.Dot((1, 1))([groups, L.Dot((2, 1))([bonds, groups])])
    y = L.Dense(96, activation="relu")(L.Dot((2, 1))([between, y]))
    return keras.Model([x, bonds], L.Dense(6, activation="softmax")(L.GlobalMaxPooling1D()(y))), {
        "classes": 6
    }


def ships(case):
    """Residual stages with leaky units, boxes at two scales with the finer joined to the coarser."""

    def block(y, width, kernel=3, stride=1):
        y = L.Conv2D(width, kernel, strides=stride, padding="same", use_bias=False)(y)
        return L.LeakyReLU()(L.BatchNormalization()(y))

    x = keras.Input((96, 96, 3), name="sea")
    y, kept = block(x, 16), []
    for width in (32, 64, 96, 128):
        y = block(y, width, stride=2)
        y = L.Add()([y, block(block(y, width // 2, 1), width)])
        kept.append(y)
    coarse = L.Conv2D(24, 1, name="coarse")(block(y, 128))
    y = L.Concatenate()([L.UpSampling2D()(block(y, 64, 1)), kept[-2]])
    fine = L.Conv2D(24, 1, name="fine")(block(y, 96))
    return keras.Model(x, [coarse, fine]), {"losses": {"coarse": "mse", "fine": "mse"}}


def drones(case):
    """Middles, offsets and sizes of things from maps that transposed convolutions make."""
    x = keras.Input((80, 80, 3), name="field")
    y = x
    for width in (24, 48, 96, 128):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same")(y)))
    for width in (96, 64):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y)))
    ends = [
        L.Conv2D(count, 1, activation=activation, name=name)(
            L.Conv2D(64, 3, padding="same", activation="relu")(y)
        )
        for name, count, activation in (("heat", 5, "sigmoid"), ("offsets", 2, None), ("sizes", 2, None))
    ]
    return keras.Model(x, ends), {"losses": {"heat": "binary_crossentropy", "offsets": "mae", "sizes": "mae"}}


def harvest(case):
    """Three levels that are joined down and up again, with one head for all."""

    def join(*parts):
        return L.SeparableConv2D(48, 3, padding="same", activation="swish")(L.Add()(list(parts)))

    x = keras.Input((96, 96, 3), name="field")
    y, levels = L.Conv2D(24, 3, strides=2, padding="same", activation="swish")(x), []
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="swish")(L.BatchNormalization()(y))
        levels.append(L.Conv2D(48, 1)(y))
    for _ in range(2):
        a, b, c = levels
        middle = join(b, L.UpSampling2D()(c))
        a = join(a, L.UpSampling2D()(middle))
        b = join(b, middle, L.MaxPooling2D()(a))
        levels = [a, b, join(c, L.MaxPooling2D()(b))]
    shared, end = L.SeparableConv2D(48, 3, padding="same", activation="swish"), L.Conv2D(9, 1)
    flat = [L.Reshape((-1, 9))(end(shared(each))) for each in levels]
    return keras.Model(x, L.Concatenate(axis=1)(flat)), {"loss": "mse"}


def cinema(case):
    """What was seen is weighed by how near it is to what is offered."""
    offer = keras.Input((1,), dtype="int32", name="offer")
    seen = keras.Input((30,), dtype="int32", name="seen")
    table = L.Embedding(30000, 32)
    history, one = table(seen), L.Flatten()(table(offer))
    many = L.RepeatVector(30)(one)
    y = L.Concatenate()([history, many, L.Multiply()([history, many]), L.Subtract()([history, many])])
    y = L.Softmax(axis=1)(L.Dense(1)(L.Dense(64, activation="sigmoid")(y)))
    y = L.Concatenate()([L.Flatten()(L.Dot((1, 1))([y, history])), one])
    y = L.PReLU()(L.Dense(128)(y))
    return keras.Model([offer, seen], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def loans(case):
    """Six experts, a gate and a tower for each of three questions."""
    x = keras.Input((100,), name="applicant")
    experts = [L.Reshape((1, 384))(L.Dense(384, activation="relu")(x)) for _ in range(6)]
    experts = L.Concatenate(axis=1)(experts)
    ends = []
    for name, count, activation in (("fails", 1, "sigmoid"), ("amount", 1, None), ("kind", 5, "softmax")):
        gate = L.Reshape((6, 1))(L.Dense(6, activation="softmax")(x))
        y = L.Flatten()(L.Dot((1, 1))([experts, gate]))
        ends.append(L.Dense(count, activation=activation, name=name)(L.Dense(128, activation="relu")(y)))
    losses = {"fails": "binary_crossentropy", "amount": "mse", "kind": "sparse_categorical_crossentropy"}
    return keras.Model(x, ends), {"losses": losses, "outs": {"fails": None, "amount": None, "kind": 5}}


def groceries(case):
    """The next purchase of 12,000, at each of 50 places, by causal attention."""
    x = keras.Input((50,), dtype="int32", name="bought")
    y = L.Dropout(0.2)(L.Embedding(12000, 64)(x))
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([z, L.MultiHeadAttention(1, 64, dropout=0.2)(z, y, use_causal_mask=True)])
        z = L.LayerNormalization()(y)
        y = L.Add()([z, L.Dropout(0.2)(L.Conv1D(64, 1)(L.Conv1D(64, 1, activation="relu")(z)))])
    y = L.Dense(12000)(L.LayerNormalization()(y))
    return keras.Model(x, y), {"classes": 12000, "logits": True}


def hotels(case):
    """Guests and hotels: a product of two tables beside a perceptron over two others."""
    guest = keras.Input((1,), dtype="int32", name="guest")
    hotel = keras.Input((1,), dtype="int32", name="hotel")
    a, b, c, d = (
        L.Flatten()(L.Embedding(rows, 32)(each))
        for rows, each in ((40000, guest), (15000, hotel), (40000, guest), (15000, hotel))
    )
    y = L.Concatenate()([c, d])
    for width in (256, 128, 64):
        y = L.Dense(width, activation="relu")(y)
    y = L.Dense(1, activation="sigmoid")(L.Concatenate()([L.Multiply()([a, b]), y]))
    return keras.Model([guest, hotel], y), {"loss": "binary_crossentropy"}


def glossary(case):
    """A large table of words that does not learn, a GRU both ways."""
    x = keras.Input((60,), dtype="int32", name="words")
    y = L.Embedding(40000, 100, trainable=False)(x)
    y = L.Bidirectional(L.GRU(96))(L.SpatialDropout1D(0.2)(y))
    return keras.Model(x, L.Dense(7, activation="softmax")(L.Dense(64, activation="relu")(y))), {"classes": 7}


def dialers(case):
    """A frozen transformer with narrow layers between that learn."""

    def frozen(layer):
        layer.trainable = False
        return layer

    def adapted(y):
        return L.Add()([y, L.Dense(128)(L.Dense(16, activation="relu")(y))])

    x = keras.Input((64,), dtype="int32", name="words")
    y = frozen(L.Embedding(10000, 128))(x)
    for _ in range(4):
        z = adapted(frozen(L.MultiHeadAttention(8, 16))(y, y))
        y = frozen(L.LayerNormalization())(L.Add()([y, z]))
        z = frozen(L.Dense(512, activation="gelu"))(y)
        y = frozen(L.LayerNormalization())(L.Add()([y, adapted(frozen(L.Dense(128))(z))]))
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 20}


def casks(case):
    """Models in a model in a model: four pictures of one cask, the greatest of each feature."""

    def unit(width, name):
        a = keras.Input((None, None, width))
        b = L.Conv2D(width, 3, padding="same", activation="relu")(a)
        return keras.Model(a, L.Add()([a, L.Conv2D(width, 3, padding="same")(b)]), name=name)

    a = keras.Input((48, 48, 3))
    b = L.Conv2D(32, 5, strides=2, padding="same", activation="relu")(a)
    b = L.MaxPooling2D()(unit(32, "near")(b))
    b = unit(64, "far")(L.Conv2D(64, 1)(b))
    eye = keras.Model(a, L.GlobalAveragePooling2D()(b), name="eye")
    views = [keras.Input((48, 48, 3), name="view_%d" % number) for number in range(4)]
    y = L.Maximum()([eye(each) for each in views])
    head = keras.Sequential(
        [keras.Input((64,)), L.Dense(128, activation="relu"), L.Dense(18, activation="softmax")]
    )
    return keras.Model(views, head(y)), {"classes": 18}


def tickets(case):
    """Squeezed and expanded, by kernels of one and three."""
    x = keras.Input((96, 96, 3), name="ticket")
    y = L.MaxPooling2D(3, 2)(L.Conv2D(64, 3, strides=2, activation="relu")(x))
    for thin, pool in ((16, False), (16, True), (32, False), (32, True), (48, False), (64, False)):
        z = L.Conv2D(thin, 1, activation="relu")(y)
        near = L.Conv2D(4 * thin, 1, activation="relu")(z)
        y = L.Concatenate()([near, L.Conv2D(4 * thin, 3, padding="same", activation="relu")(z)])
        y = L.MaxPooling2D(3, 2)(y) if pool else y
    y = L.GlobalAveragePooling2D()(L.Conv2D(35, 1, activation="relu")(L.Dropout(0.5)(y)))
    return keras.Model(x, L.Softmax()(y)), {"classes": 35}


def badges(case):
    """Channels are shuffled between pointwise and depthwise convolutions."""
    x = keras.Input((64, 64, 3), name="badge")
    y, side = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x), 32
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1)):
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y)))
        z = L.Reshape((side, side, 4, width // 4))(z)
        z = L.Reshape((side, side, width))(L.Permute((1, 2, 4, 3))(z))
        z = L.BatchNormalization()(L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(z))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        side //= stride
        same = stride == 1 and y.shape[-1] == width
        y = L.ReLU()(L.Add()([y, z]) if same else z)
    return keras.Model(x, L.Dense(16, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 16}


def sails(case):
    """Two resolutions side by side that are exchanged twice."""

    def unit(y, width):
        return L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(y)))

    x = keras.Input((64, 64, 3), name="sail")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    fine, coarse = unit(y, 32), L.Conv2D(64, 3, strides=2, padding="same", activation="relu")(y)
    for _ in range(2):
        fine, coarse = unit(unit(fine, 32), 32), unit(unit(coarse, 64), 64)
        up = L.UpSampling2D(interpolation="bilinear")(L.Conv2D(32, 1)(coarse))
        down = L.Conv2D(64, 3, strides=2, padding="same")(fine)
        fine, coarse = L.ReLU()(L.Add()([fine, up])), L.ReLU()(L.Add()([coarse, down]))
    y = L.Concatenate()([fine, L.UpSampling2D()(coarse)])
    return keras.Model(x, L.Conv2D(7, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def nuclei(case):
    """A U-Net whose skips are nets themselves."""

    def unit(parts, width):
        y = L.Concatenate()(parts) if len(parts) > 1 else parts[0]
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", activation="elu", kernel_initializer="he_normal")(y)
        return y

    def up(y, width):
        return L.Conv2DTranspose(width, 2, strides=2, padding="same")(y)

    x = keras.Input((64, 64, 1), name="slide")
    a = unit([x], 16)
    b = unit([L.MaxPooling2D()(a)], 32)
    c = unit([L.MaxPooling2D()(b)], 64)
    a1 = unit([a, up(b, 16)], 16)
    b1 = unit([b, up(c, 32)], 32)
    a2 = unit([a, a1, up(b1, 16)], 16)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(a2)), {"loss": "binary_crossentropy"}


def plots(case):
    """A pyramid of pooled maps beside the map itself."""
    x = keras.Input((96, 96, 4), name="land")
    y = x
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, strides=2 if width < 96 else 1, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    parts = [y]
    for size in (24, 12, 8, 4):
        z = L.Conv2D(24, 1, activation="relu")(L.AveragePooling2D(size)(y))
        parts.append(L.UpSampling2D(size, interpolation="bilinear")(z))
    y = L.Dropout(0.1)(L.Conv2D(64, 3, padding="same", activation="relu")(L.Concatenate()(parts)))
    return keras.Model(x, L.UpSampling2D(4)(L.Conv2D(6, 1, activation="softmax")(y))), {"classes": 6}


def buttons(case):
    """Pointwise layers after each convolution, no dense layer at the end."""
    x = keras.Input((40, 40, 3), name="button")
    y = x
    for width, kernel in ((96, 5), (128, 5), (128, 3)):
        y = L.Conv2D(width, kernel, padding="same", activation="relu")(y)
        for _ in range(2):
            y = L.Conv2D(width, 1, activation="relu")(y)
        y = L.Dropout(0.5)(L.AveragePooling2D(3, strides=2, padding="same")(y))
    return keras.Model(x, L.Activation("softmax")(L.GlobalAveragePooling2D()(L.Conv2D(10, 1)(y)))), {
        "classes": 10
    }


def irises(case):
    """Kernels of their own at each place (Keras 2 only)."""
    x = keras.Input((36, 36, 1), name="iris")
    y = L.MaxPooling2D()(L.Conv2D(16, 5, activation="relu")(x))
    y = L.LocallyConnected2D(16, 3, activation="relu")(y)
    y = L.LocallyConnected2D(8, 3, activation="relu")(y)
    return keras.Model(x, L.Dense(100, activation="softmax")(L.Flatten()(y))), {"classes": 100}


def herbs(case):
    """All places look at all others between two stages of convolutions."""
    x = keras.Input((64, 64, 3), name="herb")
    y = L.Conv2D(32, 5, strides=2, padding="same", activation="relu")(x)
    y = L.Conv2D(64, 3, strides=2, padding="same", activation="relu")(y)
    a, b, c = (L.Reshape((256, 32))(L.Conv2D(32, 1)(y)) for _ in range(3))
    z = L.Softmax()(L.Dot((2, 2))([a, b]))
    z = L.Conv2D(64, 1)(L.Reshape((16, 16, 32))(L.Dot((2, 1))([z, c])))
    y = L.Conv2D(96, 3, padding="same", activation="relu")(L.Add()([y, z]))
    return keras.Model(x, L.Dense(28, activation="softmax")(L.GlobalMaxPooling2D()(y))), {"classes": 28}


def tapestry(case):
    """Attention within windows of a picture, the windows cut by permutations."""
    x = keras.Input((64, 64, 3), name="tapestry")
    y, side, width = L.Conv2D(48, 4, strides=4)(x), 16, 48
    for _ in range(2):
        for _ in range(2):
            z = L.Reshape((side // 4, 4, side // 4, 4, width))(L.LayerNormalization()(y))
            z = L.Reshape(((side // 4) ** 2, 16, width))(L.Permute((1, 3, 2, 4, 5))(z))
            z = L.MultiHeadAttention(3, width // 3, attention_axes=(2,))(z, z)
            z = L.Permute((1, 3, 2, 4, 5))(L.Reshape((side // 4, side // 4, 4, 4, width))(z))
            y = L.Add()([y, L.Reshape((side, side, width))(z)])
            z = L.Dense(4 * width, activation="gelu")(L.LayerNormalization()(y))
            y = L.Add()([y, L.Dense(width)(z)])
        y, side, width = L.Conv2D(2 * width, 2, strides=2)(y), side // 2, 2 * width
    return keras.Model(x, L.Dense(22, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 22}


def kitchens(case):
    """Inverted residuals, then attention over the places of patches, folded back."""
    x = keras.Input((80, 80, 3), name="kitchen")
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    for width in (32, 48):
        z = L.BatchNormalization()(L.Conv2D(4 * width, 1, activation="swish")(y))
        z = L.DepthwiseConv2D(3, strides=2, padding="same", activation="swish")(z)
        y = L.BatchNormalization()(L.Conv2D(width, 1)(z))
    z = L.Reshape((25, 4, 64))(L.Conv2D(64, 1)(L.Conv2D(48, 3, padding="same", activation="swish")(y)))
    for _ in range(2):
        z = L.Add()([z, L.MultiHeadAttention(2, 32, attention_axes=(1,))(z, z)])
        z = L.Add()([z, L.Dense(64)(L.Dense(128, activation="swish")(L.LayerNormalization()(z)))])
    y = L.Concatenate()([y, L.Conv2D(48, 1)(L.Reshape((10, 10, 64))(z))])
    y = L.GlobalAveragePooling2D()(L.Conv2D(96, 3, padding="same", activation="swish")(y))
    return keras.Model(x, L.Dense(14, activation="softmax")(y)), {"classes": 14}


def grain(case):
    """The noise is found by eight convolutions at full size, and taken away."""
    x = keras.Input((56, 56, 1), name="photo")
    y = L.Conv2D(40, 3, padding="same", activation="relu")(x)
    for _ in range(6):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(40, 3, padding="same", use_bias=False)(y)))
    return keras.Model(x, L.Subtract()([x, L.Conv2D(1, 3, padding="same")(y)])), {"loss": "mse"}


def juries(case):
    """Five nets of different kinds, their answers averaged."""
    x = keras.Input((28, 28, 1), name="digit")
    said = []
    for width in (16, 32):
        y = L.MaxPooling2D()(L.Conv2D(width, 5, padding="same", activation="relu")(x))
        y = L.MaxPooling2D()(L.Conv2D(2 * width, 5, padding="same", activation="relu")(y))
        said.append(L.Dense(10, activation="softmax")(L.Dense(256, activation="relu")(L.Flatten()(y))))
    for width in (512, 1024):
        y = L.Dropout(0.4)(L.Dense(width, activation="relu")(L.Flatten()(x)))
        said.append(L.Dense(10, activation="softmax")(y))
    said.append(L.Dense(10, activation="softmax")(L.GRU(64)(L.Reshape((28, 28))(x))))
    return keras.Model(x, L.Average()(said)), {"classes": 10}


def pensions(case):
    """Steps that each look at some of the columns, with gated units."""

    def gated(y, width):
        z = L.Multiply()([L.Dense(width)(y), L.Dense(width, activation="sigmoid")(y)])
        return L.BatchNormalization()(z)

    x = keras.Input((200,), name="columns")
    features, total = L.BatchNormalization()(x), []
    y = gated(features, 256)
    for _ in range(4):
        mask = L.Softmax()(L.BatchNormalization()(L.Dense(200)(y)))
        z = gated(L.Multiply()([mask, features]), 256)
        y = L.Add()([z, gated(z, 256)])
        total.append(L.ReLU()(y))
    return keras.Model(x, L.Dense(1)(L.Add()(total))), {"loss": "mse"}


def lawsuits(case):
    """Words of a sentence by one GRU, sentences of a text by another."""
    words = keras.Input((20,), dtype="int32")
    y = L.Bidirectional(L.GRU(48, return_sequences=True))(L.Embedding(8000, 64)(words))
    weight = L.Softmax(axis=1)(L.Dense(1)(L.Dense(96, activation="tanh")(y)))
    sentence = keras.Model(words, L.Flatten()(L.Dot((1, 1))([weight, y])))
    x = keras.Input((12, 20), dtype="int32", name="text")
    y = L.Bidirectional(L.GRU(48))(L.TimeDistributed(sentence)(x))
    return keras.Model(x, L.Dense(8, activation="softmax")(y)), {"classes": 8}


def spam(case):
    """Very many narrow convolutions over letters."""
    x = keras.Input((256,), dtype="int32", name="letters")
    y = L.Conv1D(64, 3, padding="same")(L.Embedding(70, 16)(x))
    for width in (64, 128, 256):
        for _ in range(4):
            y = L.Conv1D(width, 3, padding="same", use_bias=False)(y)
            y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.MaxPooling1D(3, strides=2, padding="same")(y)
    y = L.Dense(512, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(2, activation="softmax")(y)), {"classes": 2, "highs": {"letters": 70}}


def pinball(case):
    """Worth of a state and of what can be done in it, from four screens."""
    x = keras.Input((84, 84, 4), name="screens")
    y = L.Conv2D(32, 8, strides=4, activation="relu")(L.Rescaling(1 / 255.0)(x))
    y = L.Conv2D(64, 4, strides=2, activation="relu")(y)
    y = L.Flatten()(L.Conv2D(64, 3, activation="relu")(y))
    worth = L.Dense(1)(L.Dense(512, activation="relu")(y))
    acts = L.Dense(6)(L.Dense(512, activation="relu")(y))
    return keras.Model(x, L.Add()([worth, acts])), {"loss": "huber"}


def scenes(case):
    """Colour and density of places and directions: eight wide layers and a skip."""
    place = keras.Input((63,), name="place")
    direction = keras.Input((27,), name="direction")
    y = place
    for number in range(8):
        y = L.Dense(256, activation="relu")(L.Concatenate()([y, place]) if number == 4 else y)
    density = L.Dense(1, activation="softplus", name="density")(y)
    y = L.Dense(128, activation="relu")(L.Concatenate()([L.Dense(256)(y), direction]))
    colour = L.Dense(3, activation="sigmoid", name="colour")(y)
    return keras.Model([place, direction], [colour, density]), {"losses": {"colour": "mse", "density": "mse"}}
