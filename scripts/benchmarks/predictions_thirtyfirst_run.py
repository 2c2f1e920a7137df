"""Models of predictions.py's thirty-first set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def mackerels(case):
    """How many fish are where in a picture: a map of counts, by filters that look farther and farther."""
    x = keras.Input((128, 128, 3), name="shoal")
    y = x
    for width in (24, 48):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(y)
    for rate in (1, 2, 2, 4):
        y = L.Conv2D(64, 3, padding="same", dilation_rate=rate, activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1, activation="relu")(y)), {"loss": "mse"}


def nebulas(case):
    """Noise is put on a plate of the sky, which is then folded to a code and drawn again."""
    x = keras.Input((64, 64, 1), name="plate")
    y = L.GaussianNoise(0.2)(x)
    for width in (32, 64, 128):
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU(0.2)(y)
    y = L.Dense(96, name="code")(L.Flatten()(y))
    y = L.Reshape((8, 8, 64))(L.Dense(4096, activation="relu")(y))
    for width in (96, 48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"loss": "mae"}


def outposts(case):
    """A camera in the wild: a frozen base of separable filters, and a wide head that learns."""
    inner = keras.Input((112, 112, 3))
    y = L.Conv2D(24, 3, strides=2, use_bias=False)(L.ZeroPadding2D(1)(inner))
    y = L.Activation("relu")(L.BatchNormalization()(y))
    for width in (64, 128, 192):
        past = L.BatchNormalization()(L.Conv2D(width, 1, strides=2, padding="same", use_bias=False)(y))
        y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.MaxPooling2D(3, strides=2, padding="same")(L.BatchNormalization()(y))
        y = L.Add()([y, past])
    base = keras.Model(inner, y, name="base")
    base.trainable = False
    x = keras.Input((112, 112, 3), name="snapshot")
    y = base(x, training=False)
    y = L.Concatenate()([L.GlobalAveragePooling2D()(y), L.GlobalMaxPooling2D()(y)])
    y = L.Dropout(0.4)(L.Dense(1024, activation="relu")(y))
    y = L.Dense(512, activation="relu")(y)
    return keras.Model(x, L.Dense(34, activation="softmax")(y)), {"classes": 34}


def pitchers(case):
    """Twelve leads of a heart: residual steps along time, each channel weighed by what the whole holds."""
    x = keras.Input((1000, 12), name="leads")
    y = L.Conv1D(32, 15, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    for width, strides in ((32, 1), (32, 1), (64, 2), (64, 1), (96, 2), (96, 1)):
        z = L.Conv1D(width, 7, strides=strides, padding="same", use_bias=False)(y)
        z = L.SpatialDropout1D(0.1)(L.Activation("relu")(L.BatchNormalization()(z)))
        z = L.BatchNormalization()(L.Conv1D(width, 7, padding="same", use_bias=False)(z))
        gate = L.Dense(width // 8, activation="relu")(L.GlobalAveragePooling1D()(z))
        gate = L.Reshape((1, width))(L.Dense(width, activation="sigmoid")(gate))
        z = L.Multiply()([z, gate])
        if strides > 1:
            y = L.Conv1D(width, 1, strides=strides, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.Add()([y, z]))
    y = L.GlobalMaxPooling1D()(y)
    return keras.Model(x, L.Dense(27)(y)), {"classes": 27, "logits": True}


def puddles(case):
    """Which kind of land each pixel is, seen from above: a U of short residual steps with learned slopes."""
    x = keras.Input((96, 96, 4), name="bands")

    def step(y, width):
        past = L.Conv2D(width, 1, padding="same")(y)
        y = L.PReLU(shared_axes=[1, 2])(L.Conv2D(width, 3, padding="same")(y))
        return L.PReLU(shared_axes=[1, 2])(L.Add()([past, L.Conv2D(width, 3, padding="same")(y)]))

    y, across = x, []
    for width in (16, 32, 64):
        y = step(y, width)
        across.append(y)
        y = L.AveragePooling2D(2)(y)
    y = L.Dropout(0.3)(step(y, 96))
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.UpSampling2D(2, interpolation="bilinear")(y)
        y = step(L.Concatenate()([y, other]), width)
    return keras.Model(x, L.Conv2D(6, 1, activation="softmax")(y)), {"classes": 6}


def quotas(case):
    """How much of each ware will be sold: rows of numbers through very wide dense layers."""
    x = keras.Input((480,), name="figures")
    y = L.BatchNormalization()(x)
    y = L.Dropout(0.2)(L.Dense(4096, activation="relu")(y))
    y = L.Dropout(0.2)(L.Dense(1536, activation="relu")(y))
    return keras.Model(x, L.Dense(250, activation="softplus")(y)), {"loss": "poisson"}


def raisins(case):
    """Grains told apart by a few measures: eighty narrow layers, every second one jumped over."""
    x = keras.Input((22,), name="measures")
    y = L.Dense(40)(x)
    for _ in range(40):
        z = L.Dense(40, activation="elu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(40)(z)])
    return keras.Model(x, L.Dense(12, activation="softmax")(L.LayerNormalization()(y))), {"classes": 12}


def rafters(case):
    """What is done in a short film: filters over the frame, then filters over time, in turns."""
    x = keras.Input((16, 40, 40, 3), name="film")
    y = x
    for width, pool in ((16, (1, 2, 2)), (32, (2, 2, 2)), (64, (2, 2, 2))):
        y = L.Conv3D(width, (1, 3, 3), padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.MaxPooling3D(pool)(y)
    y = L.Dropout(0.5)(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(18, activation="softmax")(y)), {"classes": 18}


def scallops(case):
    """Which of two sounds is nearer to a third: one shared net for all three, and their angles."""
    heard = keras.Input((800, 2), name="heard")
    y = heard
    for width, size in ((32, 11), (64, 7), (96, 5), (128, 3)):
        y = L.Conv1D(width, size, padding="same", activation="relu")(y)
        y = L.MaxPooling1D(3)(L.LayerNormalization()(y))
    y = L.Dense(96)(L.GlobalAveragePooling1D()(y))
    ear = keras.Model(heard, y, name="ear")
    third = keras.Input((800, 2), name="third")
    one = keras.Input((800, 2), name="one")
    other = keras.Input((800, 2), name="other")
    a, b, c = ear(third), ear(one), ear(other)
    y = L.Concatenate()([L.Dot(1, normalize=True)([a, b]), L.Dot(1, normalize=True)([a, c])])
    return keras.Model([third, one, other], L.Softmax()(L.Rescaling(8.0)(y))), {"classes": 2}


def spices(case):
    """Patches of a photo mixed by dense layers alone: across the patches, then across the channels."""
    x = keras.Input((72, 72, 3), name="photo")
    y = L.Reshape((144, 128))(L.Conv2D(128, 6, strides=6)(x))
    for _ in range(5):
        z = L.Permute((2, 1))(L.LayerNormalization(epsilon=1e-6)(y))
        z = L.Dense(144)(L.Dense(72, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(448, activation="gelu")(L.LayerNormalization(epsilon=1e-6)(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(y))
    return keras.Model(x, L.Dense(45, activation="softmax")(y)), {"classes": 45}


def trumpets(case):
    """Which note sounds in each frame: filters along time, then two layers of LSTM read both ways."""
    x = keras.Input((100, 60), name="frames")
    y = L.Conv1D(96, 5, padding="same", activation="tanh")(x)
    y = L.Bidirectional(L.LSTM(80, return_sequences=True))(y)
    y = L.Dropout(0.3)(y)
    y = L.Bidirectional(L.LSTM(64, return_sequences=True), merge_mode="sum")(y)
    return keras.Model(x, L.Dense(49, activation="softmax")(y)), {"classes": 49}


def tombs(case):
    """Scans of the ground: every layer of a block hears all layers before it, three blocks."""
    x = keras.Input((64, 64, 1), name="ground")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, z])
        if block < 2:
            y = L.Conv2D(42 + 9 * block, 1, use_bias=False)(L.Activation("relu")(L.BatchNormalization()(y)))
            y = L.AveragePooling2D(2)(y)
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(10, activation="softmax")(y)), {"classes": 10}


def utensils(case):
    """Things of a kitchen on a telephone: channels widened, filtered one by one, weighed and narrowed."""
    x = keras.Input((96, 96, 3), name="view")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    have = 16
    for width, strides, size in ((24, 2, 3), (24, 1, 3), (40, 2, 5), (40, 1, 5), (80, 2, 3), (80, 1, 5)):
        wide = 4 * have
        z = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(wide, 1, use_bias=False)(y)))
        z = L.DepthwiseConv2D(size, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        gate = L.GlobalAveragePooling2D(keepdims=True)(z)
        gate = L.Conv2D(wide, 1, activation="sigmoid")(L.Conv2D(have // 4, 1, activation="swish")(gate))
        z = L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, gate]))
        z = L.BatchNormalization()(z)
        y = L.Add()([y, z]) if strides == 1 and have == width else z
        have = width
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(320, 1, use_bias=False)(y)))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(75)(y)), {"classes": 75, "logits": True}


def vowels(case):
    """Letters from speech: long separable filters along time, in blocks with a short way past."""
    x = keras.Input((400, 64), name="speech")
    y = L.SeparableConv1D(128, 33, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    for width, size in ((128, 33), (160, 39), (192, 51)):
        past = L.BatchNormalization()(L.Conv1D(width, 1, use_bias=False)(y))
        for last in (False, False, True):
            y = L.SeparableConv1D(width, size, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            if last:
                y = L.Add()([y, past])
            y = L.Dropout(0.1)(L.Activation("relu")(y))
    y = L.Conv1D(256, 1, activation="relu")(y)
    return keras.Model(x, L.Conv1D(30, 1, activation="softmax")(y)), {"classes": 30}


def vultures(case):
    """Birds found in the sky at two sizes: what is there, and its box, four ends in all."""
    x = keras.Input((112, 112, 3), name="sky")

    def step(y, width, strides):
        y = L.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(y)
        return L.LeakyReLU(0.1)(L.BatchNormalization()(y))

    y = step(step(x, 16, 2), 32, 1)
    y = step(step(y, 48, 2), 48, 1)
    near = step(step(y, 96, 2), 96, 1)
    far = step(step(near, 128, 2), 128, 1)
    up = L.UpSampling2D(2)(L.Conv2D(96, 1)(far))
    near = L.Add()([near, up])
    ends = []
    for name, y in (("near", near), ("far", far)):
        y = step(y, 64, 1)
        ends.append(L.Conv2D(12, 1, activation="sigmoid", name=name + "_kinds")(y))
        ends.append(L.Conv2D(8, 1, name=name + "_boxes")(y))
    return keras.Model(x, ends), {
        "losses": {
            "near_kinds": "binary_crossentropy",
            "near_boxes": "huber",
            "far_kinds": "binary_crossentropy",
            "far_boxes": "huber",
        }
    }


def wardrobes(case):
    """Does a line of text go with a picture of clothes? One tower for each, joined by a product."""
    picture = keras.Input((80, 80, 3), name="picture")
    words = keras.Input((30,), dtype="int32", name="words")
    y = picture
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.GroupNormalization(8)(y))
        y = L.MaxPooling2D(2)(y)
    y = L.Dense(128)(L.GlobalAveragePooling2D()(y))
    z = L.Embedding(14000, 128)(words)
    z = L.Concatenate()([L.Conv1D(64, size, padding="same", activation="relu")(z) for size in (1, 2, 3)])
    z = L.Dense(128)(L.GlobalMaxPooling1D()(z))
    y = L.Dot(1)([L.UnitNormalization()(y), L.UnitNormalization()(z)])
    return keras.Model([picture, words], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"words": 14000},
    }


def waltzes(case):
    """The next sample of a tune: gated filters that look only back, ever farther, their sums kept."""
    x = keras.Input((768,), dtype="int32", name="samples")
    y = L.Embedding(256, 40)(x)
    sums = []
    for rate in (1, 2, 4, 8, 16, 1, 2, 4, 8, 16):
        z = L.Conv1D(40, 2, padding="causal", dilation_rate=rate, activation="tanh")(y)
        gate = L.Conv1D(40, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(y)
        z = L.Multiply()([z, gate])
        sums.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(40, 1)(z)])
    y = L.Activation("relu")(L.Add()(sums))
    y = L.Conv1D(256, 1)(L.Conv1D(128, 1, activation="relu")(y))
    return keras.Model(x, y), {"classes": 256, "logits": True, "highs": {"samples": 256}}


def xylophones(case):
    """Clouds of bars that ripple: past frames to the next one by recurrent filters over the plane."""
    x = keras.Input((8, 36, 36, 2), name="past")
    y = L.ConvLSTM2D(20, 3, padding="same", return_sequences=True)(x)
    y = L.TimeDistributed(L.Conv2D(16, 1, activation="relu"))(y)
    y = L.ConvLSTM2D(20, 3, padding="same")(y)
    y = L.Conv2D(16, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(2, 3, padding="same")(y)), {"loss": "mse"}


def yokes(case):
    """From a sentence to its pair: layers of attention read the one, write the other and look across."""
    source = keras.Input((40,), dtype="int32", name="source")
    target = keras.Input((32,), dtype="int32", name="target")

    def feed(y):
        z = L.Dense(96)(L.Dense(288, activation="relu")(y))
        return L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))

    read = L.Embedding(8000, 96)(source)
    for _ in range(2):
        z = L.MultiHeadAttention(6, 16, dropout=0.1)(read, read)
        read = feed(L.LayerNormalization()(L.Add()([read, z])))
    y = L.Embedding(5500, 96)(target)
    for _ in range(2):
        z = L.MultiHeadAttention(6, 16)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.MultiHeadAttention(6, 16)(y, read)
        y = feed(L.LayerNormalization()(L.Add()([y, z])))
    return keras.Model([source, target], L.Dense(5500, activation="softmax")(y)), {
        "classes": 5500,
        "highs": {"source": 8000, "target": 5500},
    }


def zeppelins(case):
    """The load of the next day: an LSTM over the past hands its state to one over what is known ahead."""
    past = keras.Input((120, 10), name="past")
    ahead = keras.Input((24, 6), name="ahead")
    place = keras.Input((1,), dtype="int32", name="place")
    where = L.Flatten()(L.Embedding(3000, 16)(place))
    y = L.Concatenate()([L.Dense(48)(past), L.RepeatVector(120)(where)])
    _, first, second = L.LSTM(112, return_state=True)(y)
    z = L.Concatenate()([L.Dense(48)(ahead), L.RepeatVector(24)(where)])
    z = L.LSTM(112, return_sequences=True)(z, initial_state=[first, second])
    gate = L.Dense(112, activation="sigmoid")(z)
    z = L.LayerNormalization()(L.Add()([z, L.Multiply()([gate, L.Dense(112, activation="elu")(z)])]))
    ends = [L.Dense(1, name=name)(z) for name in ("low", "middle", "high")]
    return keras.Model([past, ahead, place], ends), {
        "losses": {"low": "mae", "middle": "mse", "high": "mae"},
        "highs": {"place": 3000},
    }
