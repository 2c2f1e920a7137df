"""Models of predictions.py's twenty-second set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def almonds(case):
    """Nuts on a belt, sound or not: short ways past, norms over groups of channels, leaky units."""
    x = keras.Input((72, 72, 3), name="belt")
    y = L.Conv2D(24, 5, strides=2, padding="same")(x)
    for width, strides in ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        z = L.LeakyReLU(0.1)(L.GroupNormalization(8)(y))
        past = L.Conv2D(width, 1, strides=strides)(z) if strides > 1 else y
        z = L.Conv2D(width, 3, strides=strides, padding="same")(z)
        z = L.LeakyReLU(0.1)(L.GroupNormalization(8)(z))
        y = L.Add()([past, L.Conv2D(width, 3, padding="same")(z)])
    y = L.GlobalAveragePooling2D()(L.LeakyReLU(0.1)(y))
    return keras.Model(x, L.Dense(7, activation="softmax")(y)), {"classes": 7}


def antlers(case):
    """A slice marked pixel by pixel: a U whose crossings are let through by gates from below."""
    x = keras.Input((80, 80, 1), name="slice")
    y, across = x, []
    for width in (16, 32, 64):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.Activation("relu")(L.BatchNormalization()(y))
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(96, 3, padding="same", activation="relu")(y)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.UpSampling2D(2, interpolation="bilinear")(y)
        gate = L.Activation("relu")(L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(other)]))
        gate = L.Conv2D(1, 1, activation="sigmoid")(gate)
        y = L.Concatenate()([y, L.Multiply()([other, gate])])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(5, 1)(y)), {"classes": 5, "logits": True}


def aprons(case):
    """A garment's picture and its seller's words, folded into one space and multiplied, to a kind."""
    picture = keras.Input((64, 64, 3), name="picture")
    words = keras.Input((40,), dtype="int32", name="words")
    y = picture
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.AveragePooling2D(2)(y)
    y = L.Dense(192, activation="tanh")(L.GlobalMaxPooling2D()(y))
    z = L.Embedding(12000, 80)(words)
    z = L.Concatenate()([L.GlobalMaxPooling1D()(L.Conv1D(64, size, activation="relu")(z)) for size in (2, 3, 4, 5)])
    z = L.Dense(192, activation="tanh")(z)
    y = L.Dropout(0.4)(L.Concatenate()([L.Multiply()([y, z]), y, z]))
    y = L.Dense(256, activation="relu")(y)
    return keras.Model([picture, words], L.Dense(130, activation="softmax")(y)), {
        "classes": 130,
        "highs": {"words": 12000},
    }


def bamboo(case):
    """A series foretold step by step: very deep and narrow, looks back only, ever farther apart."""
    x = keras.Input((320, 5), name="growth")
    y = L.Conv1D(20, 1)(x)
    for _ in range(3):
        for apart in (1, 2, 4, 8, 16, 32, 64):
            z = L.Conv1D(20, 3, padding="causal", dilation_rate=apart, activation="relu")(y)
            z = L.SpatialDropout1D(0.1)(L.LayerNormalization()(z))
            z = L.Conv1D(20, 3, padding="causal", dilation_rate=apart, activation="relu")(z)
            y = L.Add()([y, z])
    return keras.Model(x, L.Conv1D(2, 1)(y)), {"loss": "mse"}


def banjos(case):
    """Words of a sentence, each with its letters folded by a filter; LSTMs both ways name its part."""
    words = keras.Input((36,), dtype="int32", name="words")
    letters = keras.Input((36, 14), dtype="int32", name="letters")
    z = L.Embedding(90, 24)(letters)
    z = L.TimeDistributed(L.Conv1D(40, 3, padding="same", activation="relu"))(z)
    z = L.TimeDistributed(L.GlobalMaxPooling1D())(z)
    y = L.Dropout(0.3)(L.Concatenate()([L.Embedding(20000, 100)(words), z]))
    y = L.Bidirectional(L.LSTM(128, return_sequences=True))(y)
    y = L.Bidirectional(L.LSTM(96, return_sequences=True), merge_mode="sum")(y)
    y = L.Dense(45, activation="softmax")(L.Dense(96, activation="tanh")(y))
    return keras.Model([words, letters], y), {"classes": 45, "highs": {"words": 20000, "letters": 90}}


def barrels(case):
    """Pictures with noise poured over them, folded by strides to a code and unfolded clean."""
    x = keras.Input((96, 96, 1), name="stave")
    y = L.GaussianNoise(0.2)(x)
    for width in (32, 48, 64, 80):
        y = L.ELU()(L.Conv2D(width, 4, strides=2, padding="same")(y))
    y = L.Dense(64, name="code")(L.Flatten()(y))
    y = L.Reshape((6, 6, 80))(L.Dense(6 * 6 * 80, activation="elu")(y))
    for width in (64, 48, 32, 16):
        y = L.ELU()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def bisons(case):
    """Three animals through one net of depth filters: how near each of two is to the first."""
    seen = keras.Input((60, 60, 3), name="seen")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(seen)
    for width in (48, 64, 96):
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
        y = L.SeparableConv2D(width, 3, padding="same")(y)
        y = L.MaxPooling2D(3, strides=2, padding="same")(L.BatchNormalization()(y))
    trunk = keras.Model(seen, L.Dense(128)(L.GlobalAveragePooling2D()(y)), name="trunk")
    inputs = [keras.Input((60, 60, 3), name=name) for name in ("first", "same", "other")]
    first, same, other = (trunk(x) for x in inputs)
    near = L.Dot(axes=1, normalize=True, name="near")([first, same])
    far = L.Dot(axes=1, normalize=True, name="far")([first, other])
    return keras.Model(inputs, [near, far]), {"losses": {"near": "mse", "far": "mse"}}


def bonnets(case):
    """Blocks where each layer is fed all that came before it in the block, squeezed between them."""
    x = keras.Input((64, 64, 3), name="hat")
    y = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(x)
    for many, squeeze in ((5, True), (7, True), (6, False)):
        for _ in range(many):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.Activation("relu")(L.BatchNormalization()(z))
            y = L.Concatenate()([y, L.Conv2D(12, 3, padding="same", use_bias=False)(z)])
        if squeeze:
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.AveragePooling2D(2)(L.Conv2D(48, 1, use_bias=False)(y))
    y = L.GlobalAveragePooling2D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(100, activation="softmax")(y)), {"classes": 100}


def cameras(case):
    """For a telephone: widened, filtered in depth, each channel weighed by the whole, narrowed again."""
    x = keras.Input((112, 112, 3), name="view")
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)))
    have = 16
    for width, strides, widen in ((16, 1, 1), (24, 2, 4), (24, 1, 4), (40, 2, 4), (40, 1, 4), (80, 2, 6), (80, 1, 6)):
        z = y
        if widen > 1:
            z = L.Conv2D(have * widen, 1, use_bias=False)(z)
            z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(5 if width == 40 else 3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        weight = L.GlobalAveragePooling2D(keepdims=True)(z)
        weight = L.Conv2D(max(have // 4, 4), 1, activation="swish")(weight)
        z = L.Multiply()([z, L.Conv2D(have * widen, 1, activation="sigmoid")(weight)])
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        y = L.Add()([y, L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(z)]) if have == width else z
        have = width
    y = L.GlobalAveragePooling2D()(L.Conv2D(240, 1, activation="swish")(y))
    return keras.Model(x, L.Dense(200)(L.Dropout(0.2)(y))), {"classes": 200, "logits": True}


def carpets(case):
    """Patches mixed among themselves, then their channels, by dense layers only."""
    x = keras.Input((96, 96, 3), name="weave")
    y = L.Reshape((144, 128))(L.Conv2D(128, 8, strides=8)(x))
    for _ in range(6):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(144)(L.Dense(72, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(384, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(33, activation="softmax")(y)), {"classes": 33}


def cymbals(case):
    """Raw sound by long steps and split filters; where to listen is learned, many tags may hold."""
    x = keras.Input((8192, 1), name="sound")
    y = L.Conv1D(48, 64, strides=8, padding="same", activation="relu")(x)
    for width in (64, 96, 128):
        y = L.SeparableConv1D(width, 9, padding="same", use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        y = L.MaxPooling1D(4)(y)
    weights = L.Softmax(axis=1)(L.Dense(50)(y))
    said = L.Dense(50, activation="sigmoid")(y)
    y = L.Dot(axes=1)([weights, L.Dense(128, activation="tanh")(y)])
    y = L.Concatenate()([L.Flatten()(y), L.GlobalMaxPooling1D()(said)])
    return keras.Model(x, L.Dense(50, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def dolphins(case):
    """Calls as pictures of sound: filters first, then places that attend to each other, then a name."""
    x = keras.Input((128, 80), name="calls")
    y = L.Conv1D(144, 3, padding="same", activation="gelu")(x)
    y = L.Conv1D(144, 3, strides=2, padding="same", activation="gelu")(y)
    for _ in range(3):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(8, 18, value_dim=24)(z, z)])
        z = L.Dense(288, activation="swish")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(144)(z)])
        z = L.DepthwiseConv1D(7, padding="same", activation="swish")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(z)])
    y = L.GlobalMaxPooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(64)(y)), {"classes": 64, "logits": True}


def eagles(case):
    """From the air: maps of three sizes joined from the top down, boxes and things at each by one head."""
    x = keras.Input((128, 128, 3), name="air")
    y, levels = x, []
    for width in (16, 24, 48, 72, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.ReLU()(L.Conv2D(width, 3, padding="same")(y))
        levels.append(L.Conv2D(48, 1)(y))
    top = levels[-1]
    joined = [top]
    for other in (levels[3], levels[2]):
        top = L.Add()([L.UpSampling2D(2)(top), other])
        joined.append(top)
    shared = L.Conv2D(64, 3, padding="same", activation="relu")
    box, thing = L.Conv2D(4 * 3, 3, padding="same"), L.Conv2D(10 * 3, 3, padding="same", activation="sigmoid")
    boxes, things = [], []
    for y in joined:
        y = shared(y)
        boxes.append(L.Reshape((-1, 4))(box(y)))
        things.append(L.Reshape((-1, 10))(thing(y)))
    ends = [L.Concatenate(axis=1, name="boxes")(boxes), L.Concatenate(axis=1, name="things")(things)]
    return keras.Model(x, ends), {"losses": {"boxes": "huber", "things": "binary_crossentropy"}}


def ferns(case):
    """A grown block of tissue, by filters in space split into plane and depth, with ways past."""
    x = keras.Input((20, 32, 32, 1), name="block")
    y = L.Conv3D(16, (3, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(x)
    for width, strides in ((16, 1), (32, 2), (48, 2)):
        past = L.Conv3D(width, 1, strides=strides)(y)
        z = L.Conv3D(width, (1, 3, 3), strides=(1, strides, strides), padding="same", use_bias=False)(y)
        z = L.PReLU(shared_axes=[1, 2, 3])(L.BatchNormalization()(z))
        z = L.Conv3D(width, (3, 1, 1), strides=(strides, 1, 1), padding="same", use_bias=False)(z)
        y = L.PReLU(shared_axes=[1, 2, 3])(L.Add()([past, L.BatchNormalization()(z)]))
    y = L.Dropout(0.3)(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(4, activation="softmax")(y)), {"classes": 4}


def fiddles(case):
    """Frames of a bow's motion folded by recurrent filters to one state, unrolled from it again."""
    x = keras.Input((8, 32, 32, 2), name="motion")
    y = L.TimeDistributed(L.Conv2D(16, 3, strides=2, padding="same", activation="relu"))(x)
    y = L.ConvLSTM2D(24, 3, padding="same")(y)
    y = L.Reshape((8, 16, 16, 24))(L.RepeatVector(8)(L.Flatten()(y)))
    y = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(y)
    y = L.TimeDistributed(L.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"))(y)
    return keras.Model(x, L.Conv3D(2, 1)(y)), {"loss": "mae"}


def flutes(case):
    """The next level of a sound among 256: gated filters that look back, every step's share summed."""
    x = keras.Input((768,), dtype="int32", name="levels")
    y = L.Embedding(256, 32)(x)
    shares = []
    for _ in range(2):
        for apart in (1, 2, 4, 8, 16, 32):
            let = L.Conv1D(32, 2, padding="causal", dilation_rate=apart, activation="sigmoid")(y)
            z = L.Conv1D(32, 2, padding="causal", dilation_rate=apart, activation="tanh")(y)
            z = L.Multiply()([let, z])
            shares.append(L.Conv1D(64, 1)(z))
            y = L.Add()([y, L.Conv1D(32, 1)(z)])
    y = L.Conv1D(96, 1, activation="relu")(L.Activation("relu")(L.Add()(shares)))
    return keras.Model(x, L.Conv1D(256, 1, activation="softmax")(y)), {"classes": 256, "highs": {"levels": 256}}


def goblets(case):
    """Two frozen trunks of unlike grain, what they saw put side by side, two ends that learn."""
    x = keras.Input((100, 100, 3), name="glass")
    seen = []
    for name, size in (("fine", 3), ("coarse", 7)):
        inner = keras.Input((100, 100, 3))
        y = inner
        for width in (16, 32, 64):
            y = L.Conv2D(width, size, strides=2, padding="same", activation="relu")(y)
            y = L.BatchNormalization()(y)
        trunk = keras.Model(inner, y, name=name)
        trunk.trainable = False
        seen.append(trunk(x))
    y = L.SeparableConv2D(128, 3, padding="same", activation="relu")(L.Concatenate()(seen))
    y = L.Dropout(0.5)(L.Dense(256, activation="relu")(L.Flatten()(L.MaxPooling2D(2)(y))))
    ends = [L.Dense(1, name="age")(y), L.Dense(12, activation="sigmoid", name="marks")(y)]
    return keras.Model(x, ends), {"losses": {"age": "mae", "marks": "binary_crossentropy"}}


def hampers(case):
    """What a shopper buys next: past goods read by a GRU that skips blanks, beside who the shopper is."""
    goods = keras.Input((30,), dtype="int32", name="goods")
    shopper = keras.Input((1,), dtype="int32", name="shopper")
    shop = keras.Input((1,), dtype="int32", name="shop")
    y = L.GRU(128)(L.Embedding(9000, 64, mask_zero=True)(goods))
    who = L.Flatten()(L.Embedding(40000, 40)(shopper))
    where = L.Flatten()(L.Embedding(500, 16)(shop))
    y = L.BatchNormalization()(L.Concatenate()([y, who, where]))
    y = L.Dense(160, activation="relu")(L.Dropout(0.2)(y))
    return keras.Model([goods, shopper, shop], L.Dense(9000)(y)), {
        "classes": 9000,
        "logits": True,
        "highs": {"goods": 9000, "shopper": 40000, "shop": 500},
    }


def helmets(case):
    """Blows counted by many sensors to a wear: a few very wide dense layers, the larger of pairs kept."""
    x = keras.Input((600,), name="blows")
    y = L.BatchNormalization()(x)
    for width in (2048, 1536):
        y = L.Maximum()([L.Dense(width)(y) for _ in range(2)])
        y = L.Dropout(0.3)(y)
    y = L.Average()([L.Dense(400, activation="softplus")(y), L.Dense(400, activation="tanh")(y)])
    return keras.Model(x, L.Dense(3)(y)), {"loss": "mse"}


def kestrels(case):
    """Proteins by their letters: half of each place's channels gates the other, along the chain."""
    x = keras.Input((128,), dtype="int32", name="chain")
    y = L.Embedding(26, 112)(x)
    for _ in range(5):
        z = L.LayerNormalization()(y)
        kept = L.Dense(168, activation="gelu")(z)
        gate = L.LayerNormalization()(L.Dense(168, activation="gelu")(z))
        gate = L.Permute((2, 1))(L.Dense(128, bias_initializer="ones")(L.Permute((2, 1))(gate)))
        y = L.Add()([y, L.Dense(112)(L.Multiply()([kept, gate]))])
    return keras.Model(x, L.Dense(8, activation="softmax")(L.LayerNormalization()(y))), {
        "classes": 8,
        "highs": {"chain": 26},
    }
