"""Models of predictions.py's twenty-third set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def magpies(case):
    """Birds in photos: blocks narrow in the middle, the norm and the bend before every filter."""
    x = keras.Input((112, 112, 3), name="photo")
    y = L.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(x)
    y = L.MaxPooling2D(3, strides=2, padding="same")(y)
    for width, strides, many in ((96, 1, 2), (160, 2, 2), (256, 2, 2)):
        for step in range(many):
            z = L.Activation("elu")(L.BatchNormalization()(y))
            past = y if step else L.Conv2D(width, 1, strides=strides, use_bias=False)(z)
            z = L.Conv2D(width // 4, 1, use_bias=False)(z)
            z = L.Activation("elu")(L.BatchNormalization()(z))
            z = L.Conv2D(width // 4, 3, strides=1 if step else strides, padding="same", use_bias=False)(z)
            z = L.Activation("elu")(L.BatchNormalization()(z))
            y = L.Add()([past, L.Conv2D(width, 1, use_bias=False)(z)])
    y = L.GlobalAveragePooling2D()(L.Activation("elu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(70, activation="softmax")(y)), {"classes": 70}


def meteors(case):
    """The next level of a radio echo: filters that look back ever further, with gates, summed on the way."""
    x = keras.Input((1024,), dtype="int32", name="levels")
    y = L.Embedding(256, 32)(x)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32, 64, 128):
        a = L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(y)
        b = L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        skips.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.ReLU()(L.Add()(skips))
    y = L.Conv1D(96, 1, activation="relu")(y)
    return keras.Model(x, L.Conv1D(256, 1)(y)), {"classes": 256, "logits": True, "highs": {"levels": 256}}


def monsoons(case):
    """Maps of rain, each one to the next: recurrent layers that fold over the map."""
    x = keras.Input((8, 32, 32, 1), name="rain")
    y = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(y)
    y = L.Conv3D(1, 3, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "binary_crossentropy"}


def mules(case):
    """A row of marks from a chip to one of many strains, by two very wide layers."""
    x = keras.Input((600,), name="marks")
    y = L.BatchNormalization()(x)
    for _ in range(2):
        y = L.Dense(3072, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-5))(y)
        y = L.Dropout(0.5)(y)
    return keras.Model(x, L.Dense(1500)(y)), {"classes": 1500, "logits": True}


def napkins(case):
    """Cloth without flaws, made noisy, pressed through a short code and drawn anew."""
    x = keras.Input((96, 96, 3), name="cloth")
    y = L.GaussianNoise(0.1)(x)
    for width in (32, 64, 96):
        y = L.LeakyReLU()(L.Conv2D(width, 3, strides=2, padding="same")(y))
    y = L.Dense(128, name="code")(L.Flatten()(y))
    y = L.Reshape((12, 12, 96))(L.Dense(12 * 12 * 96)(y))
    for width in (64, 32):
        y = L.LeakyReLU()(L.Conv2DTranspose(width, 3, strides=2, padding="same")(y))
    y = L.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "mse"}


def oboes(case):
    """Which instruments play: the bare wave through filters split in depth and in time."""
    x = keras.Input((4096, 1), name="wave")
    y = L.Conv1D(32, 16, strides=4, padding="same", activation="relu")(x)
    for width in (64, 96, 128, 192):
        y = L.SeparableConv1D(width, 9, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.SpatialDropout1D(0.1)(L.MaxPooling1D(2)(y))
    y = L.Concatenate()([L.GlobalMaxPooling1D()(y), L.GlobalAveragePooling1D()(y)])
    return keras.Model(x, L.Dense(24, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def owls(case):
    """What is in a night shot and where: one pair of heads for grids of three sizes."""
    x = keras.Input((96, 96, 3), name="night")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    grids = []
    for width in (48, 96, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y))
        grids.append(L.Conv2D(64, 1)(y))
    mid = L.Conv2D(64, 3, padding="same", activation="relu")
    kind_head = L.Conv2D(3 * 6, 3, padding="same", activation="sigmoid")
    box_head = L.Conv2D(3 * 4, 3, padding="same")
    kinds, boxes = [], []
    for grid in grids:
        z = mid(grid)
        kinds.append(L.Reshape((-1, 6))(kind_head(z)))
        boxes.append(L.Reshape((-1, 4))(box_head(z)))
    ends = [L.Concatenate(axis=1, name="kinds")(kinds), L.Concatenate(axis=1, name="boxes")(boxes)]
    return keras.Model(x, ends), {"losses": {"kinds": "binary_crossentropy", "boxes": "huber"}}


def oysters(case):
    """Solid shapes on a grid of cells to their kind: steps in space with short ways past."""
    x = keras.Input((32, 32, 32, 1), name="cells")
    y = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    for width in (24, 48):
        past = L.Conv3D(width, 1, strides=2)(y)
        z = L.Conv3D(width, 3, strides=2, padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.BatchNormalization()(L.Conv3D(width, 3, padding="same", use_bias=False)(z))
        y = L.Activation("relu")(L.Add()([past, z]))
    y = L.Dropout(0.3)(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(y)), {"classes": 10}


def parrots(case):
    """The sound a mouth makes at each moment, by LSTMs that read both ways."""
    x = keras.Input((120, 40), name="bands")
    y = L.LayerNormalization()(x)
    for _ in range(2):
        y = L.Bidirectional(L.LSTM(128, return_sequences=True))(y)
        y = L.Dropout(0.2)(y)
    y = L.Dense(96, activation="relu")(y)
    return keras.Model(x, L.Dense(48)(y)), {"classes": 48, "logits": True}


def pelicans(case):
    """Long lines made short: two stacks of attention, the second looks at the first."""
    source = keras.Input((40,), dtype="int32", name="source")
    target = keras.Input((40,), dtype="int32", name="target")
    y = L.Conv1D(128, 3, padding="same")(L.Embedding(4000, 128)(source))
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 32, dropout=0.1)(y, y)]))
        z = L.Dense(128)(L.Dense(256, activation="relu")(y))
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
    read = y
    y = L.Conv1D(128, 3, padding="causal")(L.Embedding(3200, 128)(target))
    for _ in range(2):
        z = L.MultiHeadAttention(4, 32, dropout=0.1)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, z]))
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 32)(y, read)]))
        z = L.Dense(128)(L.Dense(256, activation="relu")(y))
        y = L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))
    y = L.Dense(3200, activation="softmax")(y)
    return keras.Model([source, target], y), {"classes": 3200, "highs": {"source": 4000, "target": 3200}}


def pancakes(case):
    """Demand of two dozen wares ahead of time: layers that mix over days, then over wares."""
    x = keras.Input((144, 24), name="demand")
    y = x
    for _ in range(6):
        z = L.Permute((2, 1))(L.BatchNormalization()(y))
        z = L.Dropout(0.1)(L.Dense(144, activation="relu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(96, activation="relu")(L.BatchNormalization()(y))
        y = L.Add()([y, L.Dense(24)(L.Dropout(0.1)(z))])
    y = L.Dense(36)(L.Permute((2, 1))(y))
    return keras.Model(x, L.Permute((2, 1))(y)), {"loss": "mse"}


def quinces(case):
    """Fruit on a belt: blocks where each layer sees all those before it."""
    x = keras.Input((64, 64, 3), name="belt")
    width = 24
    y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(5):
            z = L.ReLU()(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.ReLU()(L.BatchNormalization()(z))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, z])
            width += 12
        if block < 2:
            width //= 2
            y = L.Conv2D(width, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
            y = L.AveragePooling2D(2)(y)
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}


def ravens(case):
    """A plain old net whose first layers are held fast; the last ones and a new head learn."""
    x = keras.Input((100, 100, 3), name="photo")
    y = L.Rescaling(2.0, offset=-1.0)(x)
    for width in (32, 64, 128):
        for step in range(2):
            layer = L.Conv2D(width, 3, padding="same", activation="relu", name=f"conv{width}_{step}")
            layer.trainable = width == 128
            y = layer(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Concatenate()([L.GlobalAveragePooling2D()(y), L.GlobalMaxPooling2D()(y)])
    y = L.Dropout(0.4)(L.Dense(256, activation="relu")(y))
    return keras.Model(x, L.Dense(17)(y)), {"classes": 17, "logits": True}


def rockets(case):
    """Forty thin filters one after another, a short way past each pair, a slope learnt for each channel."""
    x = keras.Input((48, 48, 1), name="plume")
    y = L.Conv2D(12, 3, padding="same")(x)
    for _ in range(20):
        z = L.PReLU(shared_axes=[1, 2])(L.Conv2D(12, 3, padding="same")(y))
        y = L.Add()([y, L.Conv2D(12, 3, padding="same")(z)])
    y = L.MaxPooling2D(4)(L.PReLU(shared_axes=[1, 2])(y))
    y = L.Dense(64, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def saucers(case):
    """Will this guest buy this ware: a tower for each, and a table of wares used twice."""
    guest = keras.Input((1,), dtype="int32", name="guest")
    past = keras.Input((30,), dtype="int32", name="past")
    ware = keras.Input((1,), dtype="int32", name="ware")
    wares = L.Embedding(60000, 64)
    y = L.Flatten()(L.Embedding(80000, 32)(guest))
    y = L.Concatenate()([y, L.GlobalAveragePooling1D()(wares(past))])
    z = L.Flatten()(wares(ware))
    for width in (256, 128):
        y = L.Dense(width, activation="relu")(y)
        z = L.Dense(width, activation="relu")(z)
    y = L.Dot(axes=1, normalize=True)([L.Dense(64)(y), L.Dense(64)(z)])
    return keras.Model([guest, past, ware], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"guest": 80000, "past": 60000, "ware": 60000},
    }


def sparrows(case):
    """Three calls through one net: how near the second and the third are to the first."""
    call = keras.Input((2048, 1))
    y = call
    for width, size in ((32, 32), (64, 9), (96, 5)):
        y = L.Conv1D(width, size, strides=2, padding="same")(y)
        y = L.MaxPooling1D(2)(L.Activation("selu")(y))
    y = L.GRU(96)(y)
    y = L.UnitNormalization()(L.Dense(64)(y))
    trunk = keras.Model(call, y, name="trunk")
    calls = [keras.Input((2048, 1), name=name) for name in ("first", "second", "third")]
    a, b, c = (trunk(one) for one in calls)
    ends = [L.Dot(axes=1, name="near")([a, b]), L.Dot(axes=1, name="far")([a, c])]
    return keras.Model(calls, ends), {"losses": {"near": "mse", "far": "mse"}}


def teapots(case):
    """Glaze, clay and cracks pixel by pixel: a U whose ways across pass through gates."""
    x = keras.Input((80, 80, 1), name="ray")
    y, across = x, []
    for width in (16, 32, 64):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.Activation("relu")(L.BatchNormalization()(y))
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Dropout(0.3)(L.Conv2D(96, 3, padding="same", activation="relu")(y))
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D(2, interpolation="bilinear")(y))
        gate = L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(other)])
        gate = L.Conv2D(1, 1, activation="sigmoid")(L.Activation("relu")(gate))
        y = L.Concatenate()([y, L.Multiply()([other, gate])])
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(6, 1)(y)), {"classes": 6, "logits": True}


def tulips(case):
    """Flowers on a phone: wide in the middle of each block, channels weighed by what they hold."""
    x = keras.Input((112, 112, 3), name="flower")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    width = 16
    for wanted, strides, size in ((24, 2, 3), (24, 1, 3), (40, 2, 5), (40, 1, 5), (80, 2, 3), (80, 1, 3)):
        z = L.Conv2D(4 * width, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(size, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        weigh = L.Reshape((1, 1, 4 * width))(L.GlobalAveragePooling2D()(z))
        weigh = L.Conv2D(width // 4, 1, activation="swish")(weigh)
        z = L.Multiply()([z, L.Conv2D(4 * width, 1, activation="sigmoid")(weigh)])
        z = L.BatchNormalization()(L.Conv2D(wanted, 1, use_bias=False)(z))
        y = L.Add()([y, L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(z)]) if strides == 1 else z
        width = wanted
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(320, 1, use_bias=False)(y)))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(45, activation="softmax")(y)), {"classes": 45}


def vaults(case):
    """A loan's row to three answers: dense layers with gates, and what they add up to."""
    numbers = keras.Input((60,), name="numbers")
    codes = keras.Input((8,), dtype="int32", name="codes")
    y = L.Concatenate()([L.BatchNormalization()(numbers), L.Flatten()(L.Embedding(2000, 12)(codes))])
    y = L.Dense(512)(y)
    for _ in range(5):
        z = L.LayerNormalization()(y)
        z = L.Multiply()([L.Dense(512)(z), L.Dense(512, activation="sigmoid")(z)])
        y = L.Add()([y, L.Dropout(0.15)(z)])
    default = L.Dense(1, activation="sigmoid", name="default")(L.Dense(64, activation="relu")(y))
    lost = L.Dense(1, name="lost")(L.Dense(64, activation="relu")(y))
    months = L.Dense(1, activation="softplus", name="months")(L.Dense(32, activation="relu")(y))
    return keras.Model([numbers, codes], [default, lost, months]), {
        "losses": {"default": "binary_crossentropy", "lost": "mse", "months": "mae"},
        "highs": {"codes": 2000},
    }


def wagons(case):
    """A question about a picture: words read by an LSTM choose where to look, then one answer of many."""
    scene = keras.Input((72, 72, 3), name="scene")
    asked = keras.Input((20,), dtype="int32", name="asked")
    y = scene
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.BatchNormalization()(L.MaxPooling2D(2)(y))
    regions = L.Reshape((81, 96))(y)
    words = L.LSTM(160)(L.Embedding(9000, 100, mask_zero=True)(asked))
    look = L.Reshape((1, 96))(L.Dense(96)(words))
    seen = L.Flatten()(L.Attention()([look, regions]))
    y = L.Concatenate()([L.Multiply()([L.Dense(160, activation="tanh")(seen), words]), words])
    y = L.Dropout(0.5)(L.Dense(512, activation="relu")(y))
    return keras.Model([scene, asked], L.Dense(800, activation="softmax")(y)), {
        "classes": 800,
        "highs": {"asked": 9000},
    }
