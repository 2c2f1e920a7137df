"""Models of predictions.py's twenty-ninth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def mangroves(case):
    """A coast seen in six bands, marked pixel by pixel: a U whose ways across are gated by what is below."""
    x = keras.Input((96, 96, 6), name="bands")
    y, across = x, []
    for width in (16, 32, 48):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.Activation("relu")(L.BatchNormalization()(y))
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(64, 3, padding="same", activation="relu")(y)
    y = L.Dropout(0.3)(y)
    for width, other in zip((48, 32, 16), reversed(across)):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D(2)(y))
        gate = L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(other)])
        gate = L.Conv2D(1, 1, activation="sigmoid")(L.Activation("relu")(gate))
        y = L.Concatenate()([y, L.Multiply()([other, gate])])
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(7, 1, activation="softmax")(y)), {"classes": 7}


def martens(case):
    """Animals at a camera trap: blocks that widen, filter by channel, weigh the channels and narrow."""
    x = keras.Input((112, 112, 3), name="trap")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    before = 16
    for width, strides, size in ((16, 1, 3), (24, 2, 3), (24, 1, 3), (40, 2, 5), (40, 1, 5), (80, 2, 3), (80, 1, 5)):
        z = L.Conv2D(4 * before, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(size, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        weights = L.Reshape((1, 1, 4 * before))(L.GlobalAveragePooling2D()(z))
        weights = L.Conv2D(before // 2, 1, activation="swish")(weights)
        weights = L.Conv2D(4 * before, 1, activation="sigmoid")(weights)
        z = L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, weights]))
        z = L.BatchNormalization()(z)
        y = L.Add()([y, z]) if width == before and strides == 1 else z
        before = width
    y = L.Conv2D(320, 1, activation="swish")(y)
    y = L.Dropout(0.25)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(52, activation="softmax")(y)), {"classes": 52}


def noodles(case):
    """A field in space and time from four numbers: fifty narrow layers, each with a short way past."""
    x = keras.Input((4,), name="point")
    y = L.Dense(56, activation="tanh")(x)
    for _ in range(50):
        z = L.Dense(56, activation="tanh")(L.LayerNormalization()(y))
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(3)(y)), {"loss": "mse"}


def paddles(case):
    """What a wearer is doing: filters along nine sensors, then two LSTMs."""
    x = keras.Input((128, 9), name="wrist")
    y = L.BatchNormalization()(x)
    for _ in range(4):
        y = L.Conv1D(64, 5, activation="relu")(y)
    y = L.Dropout(0.5)(y)
    y = L.LSTM(128, return_sequences=True)(y)
    y = L.LSTM(128)(L.Dropout(0.5)(y))
    return keras.Model(x, L.Dense(18, activation="softmax")(y)), {"classes": 18}


def pastries(case):
    """A dish from its photo and its list of things: how heavy it is, and what may harm."""
    photo = keras.Input((80, 80, 3), name="photo")
    things = keras.Input((30,), dtype="int32", name="things")
    y = photo
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, padding="same")(y)
        y = L.LeakyReLU(0.1)(L.BatchNormalization()(y))
        y = L.Conv2D(width, 3, strides=2, padding="same")(y)
        y = L.LeakyReLU(0.1)(y)
    y = L.Dense(160, activation="relu")(L.GlobalMaxPooling2D()(y))
    z = L.Embedding(4200, 80)(things)
    z = L.Dense(160, activation="relu")(L.GlobalAveragePooling1D()(z))
    both = L.Concatenate()([y, z, L.Multiply()([y, z])])
    both = L.Dropout(0.3)(L.Dense(200, activation="relu")(both))
    weight = L.Dense(1, name="weight")(L.Dense(48, activation="relu")(both))
    harms = L.Dense(14, activation="sigmoid", name="harms")(both)
    return keras.Model([photo, things], [weight, harms]), {
        "losses": {"weight": "mae", "harms": "binary_crossentropy"},
        "highs": {"things": 4200},
    }


def penguins(case):
    """A picture told in words: a small net looks, a decoder of two layers attends to what it saw."""
    photo = keras.Input((96, 96, 3), name="photo")
    words = keras.Input((22,), dtype="int32", name="words")
    seen = photo
    for width in (32, 64, 96, 128):
        seen = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(seen)
        seen = L.Activation("relu")(L.BatchNormalization()(seen))
    seen = L.Dense(128)(L.Reshape((36, 128))(seen))
    y = L.Embedding(6200, 128)(words)
    for _ in range(2):
        z = L.MultiHeadAttention(4, 32)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.MultiHeadAttention(4, 32)(y, seen)
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.Dropout(0.1)(L.Dense(128)(L.Dense(512, activation="relu")(y)))
        y = L.LayerNormalization()(L.Add()([y, z]))
    return keras.Model([photo, words], L.Dense(6200)(y)), {
        "classes": 6200,
        "logits": True,
        "highs": {"words": 6200},
    }


def pigments(case):
    """A grey picture to its two colours: filters that spread wider and wider, nothing made smaller but once."""
    x = keras.Input((72, 72, 1), name="grey")
    y = L.Conv2D(32, 3, padding="same", activation="elu")(x)
    y = L.Conv2D(48, 4, strides=2, padding="same", activation="elu")(y)
    for spread in (1, 2, 4, 8, 4, 2, 1):
        y = L.Conv2D(48, 3, padding="same", dilation_rate=spread, activation="elu")(y)
    y = L.BatchNormalization()(y)
    y = L.Conv2DTranspose(32, 4, strides=2, padding="same", activation="elu")(y)
    return keras.Model(x, L.Conv2D(2, 3, padding="same", activation="tanh")(y)), {"loss": "mae"}


def whispers(case):
    """The next level of a voice: gated filters that look back only, every layer heard at the end."""
    x = keras.Input((512,), dtype="int32", name="levels")
    y = L.Embedding(256, 40)(x)
    heard = []
    for layer in range(10):
        far = 2 ** (layer % 5)
        z = L.Multiply()(
            [
                L.Conv1D(40, 2, padding="causal", dilation_rate=far, activation="tanh")(y),
                L.Conv1D(40, 2, padding="causal", dilation_rate=far, activation="sigmoid")(y),
            ]
        )
        heard.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(40, 1)(z)])
    y = L.Activation("relu")(L.Add()(heard))
    y = L.Conv1D(128, 1, activation="relu")(y)
    return keras.Model(x, L.Conv1D(256, 1, activation="softmax")(y)), {"classes": 256, "highs": {"levels": 256}}


def petals(case):
    """Marks along a strand of four letters: long filters, a pool of many, an LSTM both ways."""
    x = keras.Input((900, 4), name="strand")
    y = L.Conv1D(160, 19, activation="relu")(x)
    y = L.Dropout(0.2)(L.MaxPooling1D(12)(y))
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(y)
    y = L.Flatten()(L.Dropout(0.5)(y))
    y = L.Dense(420, activation="relu")(y)
    return keras.Model(x, L.Dense(310, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def sundials(case):
    """Tomorrow's load from last week's: blocks of dense layers that each take away what they explain."""
    x = keras.Input((168,), name="week")
    left, told = x, []
    for _ in range(10):
        y = left
        for _ in range(4):
            y = L.Dense(224, activation="relu")(y)
        left = L.Subtract()([left, L.Dense(168)(L.Dense(12, use_bias=False)(y))])
        told.append(L.Dense(24)(L.Dense(12, use_bias=False)(y)))
    return keras.Model(x, L.Add()(told)), {"loss": "mae"}


def wallets(case):
    """Payments one after another: three codes and some sums a step, two cells stacked, is it theft?"""
    shop = keras.Input((48,), dtype="int32", name="shop")
    trade = keras.Input((48,), dtype="int32", name="trade")
    land = keras.Input((48,), dtype="int32", name="land")
    sums = keras.Input((48, 6), name="sums")
    y = [L.Embedding(30000, 32)(shop), L.Embedding(400, 16)(trade), L.Embedding(200, 8)(land)]
    y = L.Concatenate()(y + [L.LayerNormalization()(sums)])
    y = L.RNN([L.GRUCell(112), L.GRUCell(80)], return_sequences=True)(y)
    scores = L.Softmax(axis=1)(L.Dense(1)(L.Dense(40, activation="tanh")(y)))
    y = L.Flatten()(L.Dot(axes=1)([scores, y]))
    y = L.Dense(48, activation="relu")(y)
    return keras.Model([shop, trade, land, sums], L.Dense(2, activation="softmax")(y)), {
        "classes": 2,
        "highs": {"shop": 30000, "trade": 400, "land": 200},
    }


def warehouses(case):
    """A buyer and a ware to three wishes: experts shared by all, each wish with its own mix of them."""
    buyer = keras.Input((1,), dtype="int32", name="buyer")
    ware = keras.Input((1,), dtype="int32", name="ware")
    more = keras.Input((40,), name="more")
    y = L.Concatenate()([L.Flatten()(L.Embedding(40000, 32)(buyer)), L.Flatten()(L.Embedding(15000, 32)(ware)), more])
    experts = []
    for _ in range(6):
        z = L.Dense(64, activation="relu")(L.Dense(192, activation="relu")(y))
        experts.append(L.Reshape((1, 64))(z))
    experts = L.Concatenate(axis=1)(experts)
    ends = []
    for name in ("look", "keep", "buy"):
        mix = L.Dense(6, activation="softmax")(y)
        z = L.Dense(32, activation="relu")(L.Dot(axes=1)([mix, experts]))
        ends.append(L.Dense(1, activation="sigmoid", name=name)(z))
    return keras.Model([buyer, ware, more], ends), {
        "losses": dict.fromkeys(("look", "keep", "buy"), "binary_crossentropy"),
        "highs": {"buyer": 40000, "ware": 15000},
    }


def zebras(case):
    """Three photos through one net of short ways past: the first should be near the second, far from the third."""
    seen = keras.Input((64, 48, 3), name="seen")
    y = L.Conv2D(32, 3, strides=2, padding="same")(seen)
    for width in (32, 64, 96):
        z = L.Activation("relu")(L.BatchNormalization()(y))
        past = L.Conv2D(width, 1)(z)
        z = L.Conv2D(width, 3, padding="same", use_bias=False)(z)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        y = L.AveragePooling2D(2)(L.Add()([past, L.Conv2D(width, 3, padding="same")(z)]))
    y = L.UnitNormalization()(L.Dense(96)(L.Flatten()(y)))
    trunk = keras.Model(seen, y, name="trunk")
    photos = [keras.Input((64, 48, 3), name=name) for name in ("first", "second", "third")]
    a, b, c = (trunk(photo) for photo in photos)
    near = L.Dot(axes=1, name="near")([a, b])
    far = L.Dot(axes=1, name="far")([a, c])
    return keras.Model(photos, [near, far]), {"losses": {"near": "mse", "far": "mse"}}


def thistles(case):
    """What grows at a place: filters through space and bands at once, then through space alone."""
    x = keras.Input((19, 19, 24, 1), name="cube")
    y = L.Conv3D(8, (3, 3, 7), activation="relu")(x)
    y = L.Conv3D(16, (3, 3, 5), activation="relu")(y)
    y = L.Conv3D(24, (3, 3, 3), activation="relu")(y)
    y = L.Reshape((13, 13, 288))(y)
    y = L.Conv2D(64, 3, activation="relu")(y)
    y = L.Dropout(0.4)(L.Dense(256, activation="relu")(L.Flatten()(y)))
    y = L.Dropout(0.4)(L.Dense(128, activation="relu")(y))
    return keras.Model(x, L.Dense(16, activation="softmax")(y)), {"classes": 16}


def toads(case):
    """Lumps in a block of a scan: steps in three dimensions with ways past, how large and how bad."""
    x = keras.Input((32, 32, 32, 1), name="block")
    y = L.Conv3D(12, 3, strides=2, padding="same", use_bias=False)(x)
    for width, strides in ((12, 1), (24, 2), (24, 1), (48, 2)):
        z = L.Activation("relu")(L.BatchNormalization()(y))
        z = L.Conv3D(width, 3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.Conv3D(width, 3, padding="same", use_bias=False)(z)
        past = y if strides == 1 else L.Conv3D(width, 1, strides=strides, use_bias=False)(y)
        y = L.Add()([past, z])
    y = L.GlobalAveragePooling3D()(L.Activation("relu")(y))
    size = L.Dense(1, name="size")(L.Dense(32, activation="relu")(y))
    harm = L.Dense(1, activation="sigmoid", name="harm")(L.Dense(32, activation="relu")(y))
    return keras.Model(x, [size, harm]), {"losses": {"size": "mse", "harm": "binary_crossentropy"}}


def trolleys(case):
    """Crowds on a map hour after hour, to the next hour: two recurrent layers that fold, and the weekday."""
    maps = keras.Input((8, 32, 24, 2), name="maps")
    day = keras.Input((1,), dtype="int32", name="day")
    y = L.ConvLSTM2D(20, 3, padding="same", return_sequences=True)(maps)
    y = L.ConvLSTM2D(20, 3, padding="same")(L.BatchNormalization()(y))
    z = L.Dense(32 * 24, activation="relu")(L.Flatten()(L.Embedding(168, 10)(day)))
    y = L.Concatenate()([y, L.Reshape((32, 24, 1))(z)])
    y = L.Conv2D(16, 3, padding="same", activation="relu")(y)
    return keras.Model([maps, day], L.Conv2D(2, 1)(y)), {"loss": "mse", "highs": {"day": 168}}


def vineyards(case):
    """Patches of a leaf, mixed across places by a gate and along channels by dense layers."""
    x = keras.Input((64, 64, 3), name="leaf")
    y = L.Reshape((64, 96))(L.Conv2D(96, 8, strides=8)(x))
    for _ in range(8):
        z = L.LayerNormalization()(y)
        kept = L.Dense(192, activation="gelu")(z)
        gate = L.LayerNormalization()(L.Dense(192, activation="gelu")(z))
        gate = L.Dense(64, bias_initializer="ones")(L.Permute((2, 1))(gate))
        z = L.Multiply()([kept, L.Permute((2, 1))(gate)])
        y = L.Add()([y, L.Dense(96)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(38)(y)), {"classes": 38, "logits": True}


def wreaths(case):
    """Small pictures of cells: blocks whose layers hear all before them, narrowed between."""
    x = keras.Input((48, 48, 3), name="smear")
    y, width = L.Conv2D(24, 3, padding="same", use_bias=False)(x), 24
    for block in range(3):
        for _ in range(5):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(12, 3, padding="same", use_bias=False)(z)
            y, width = L.Concatenate()([y, L.Dropout(0.1)(z)]), width + 12
        if block < 2:
            y, width = L.Conv2D(width // 2, 1, use_bias=False)(y), width // 2
            y = L.AveragePooling2D(2)(y)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Dense(8, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 8}


def sieves(case):
    """Counts of genes in a cell, made noisy, folded small and opened again into two very wide ends."""
    x = keras.Input((7200,), name="counts")
    y = L.GaussianNoise(0.5)(L.BatchNormalization()(x))
    for width in (480, 96, 24, 96, 480):
        y = L.Activation("relu")(L.BatchNormalization()(L.Dense(width, use_bias=False)(y)))
    mean = L.Dense(7200, activation="softplus", name="mean")(y)
    lost = L.Dense(7200, activation="sigmoid", name="lost")(y)
    return keras.Model(x, [mean, lost]), {"losses": {"mean": "mse", "lost": "binary_crossentropy"}}


def mortars(case):
    """Cracks in walls: a plain trunk frozen but for its last pair of layers, and a new dense head."""
    x = keras.Input((96, 96, 3), name="wall")
    y = x
    for width, free in ((24, False), (48, False), (96, False), (128, True)):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", activation="relu", trainable=free)(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Dense(256, activation="relu")(L.Flatten()(y))
    y = L.Dropout(0.5)(y)
    return keras.Model(x, L.Dense(6, activation="softmax")(y)), {"classes": 6}
