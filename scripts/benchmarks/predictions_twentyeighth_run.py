"""Models of predictions.py's twenty-eighth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def anthills(case):
    """Place and time to the state of a flow there: many narrow layers, a short way past every two."""
    place = keras.Input((2,), name="place")
    time = keras.Input((1,), name="time")
    y = L.Dense(56, activation="tanh")(L.Concatenate()([place, time]))
    for _ in range(12):
        z = L.Dense(56, activation="tanh")(y)
        y = L.Add()([y, L.Dense(56, activation="tanh")(z)])
    return keras.Model([place, time], L.Dense(3)(y)), {"loss": "mse"}


def bears(case):
    """Clips of beasts before a trap: filters in the picture first, then in time, with ways past."""
    x = keras.Input((8, 48, 48, 3), name="clip")
    y = L.Conv3D(16, (1, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(x)
    for width, stride in ((24, 1), (48, 2), (80, 2)):
        z = L.Conv3D(width, (1, 3, 3), strides=(1, stride, stride), padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.Conv3D(width, (3, 1, 1), strides=(stride, 1, 1), padding="same", use_bias=False)(z)
        past = L.Conv3D(width, 1, strides=stride, use_bias=False)(y)
        y = L.Activation("relu")(L.Add()([L.BatchNormalization()(z), L.BatchNormalization()(past)]))
    y = L.Dropout(0.3)(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(18, activation="softmax")(y)), {"classes": 18}


def bricks(case):
    """What a house will fetch: its photo, whose channels are scaled and shifted by its facts."""
    photo = keras.Input((80, 80, 3), name="photo")
    facts = keras.Input((22,), name="facts")
    known = L.Dense(64, activation="relu")(L.Dense(96, activation="relu")(facts))
    y = photo
    for width in (24, 48, 72):
        y = L.Conv2D(width, 3, padding="same")(y)
        scale = L.Reshape((1, 1, width))(L.Dense(width)(known))
        shift = L.Reshape((1, 1, width))(L.Dense(width)(known))
        y = L.Activation("relu")(L.Add()([L.Multiply()([y, scale]), shift]))
        y = L.AveragePooling2D(2)(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.Concatenate()([L.GlobalAveragePooling2D()(y), known])
    y = L.Dense(96, activation="relu")(y)
    return keras.Model([photo, facts], L.Dense(1)(y)), {"loss": "mae"}


def cables(case):
    """A day's load from a week of it: gated steps, two LSTMs, a look back, three ends."""

    def gated(y, width):
        z = L.Dense(width)(L.Dense(width, activation="elu")(y))
        z = L.Multiply()([L.Dense(width)(z), L.Dense(width, activation="sigmoid")(z)])
        return L.LayerNormalization()(L.Add()([L.Dense(width)(y), z]))

    past = keras.Input((168, 7), name="past")
    coming = keras.Input((24, 4), name="coming")
    y, *state = L.LSTM(72, return_sequences=True, return_state=True)(gated(past, 72))
    z = L.LSTM(72, return_sequences=True)(gated(coming, 72), initial_state=state)
    y = gated(L.Concatenate(axis=1)([y, z]), 72)
    y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 18, dropout=0.1)(y, y)]))
    y = gated(L.Cropping1D((168, 0))(y), 72)
    names = ("low", "middle", "high")
    return keras.Model([past, coming], [L.Dense(1, name=name)(y) for name in names]), {
        "losses": dict.fromkeys(names, "mae")
    }


def camels(case):
    """Will they buy it? A table of buyers, one of wares, and what was bought seen from the ware."""
    buyer = keras.Input((1,), dtype="int32", name="buyer")
    bought = keras.Input((30,), dtype="int32", name="bought")
    ware = keras.Input((1,), dtype="int32", name="ware")
    price = keras.Input((3,), name="price")
    wares = L.Embedding(25000, 48)
    item, past = wares(ware), wares(bought)
    seen = L.Attention()([item, past])
    who = L.Embedding(60000, 48)(buyer)
    y = [L.Flatten()(part) for part in (who, item, seen, L.Multiply()([item, seen]))]
    y = L.Concatenate()(y + [L.GlobalAveragePooling1D()(past), price])
    for width in (256, 128, 64):
        y = L.PReLU()(L.BatchNormalization()(L.Dense(width)(y)))
    return keras.Model([buyer, bought, ware, price], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy",
        "highs": {"buyer": 60000, "bought": 25000, "ware": 25000},
    }


def cliffs(case):
    """Land from the air in four bands, pixel by pixel: a U whose crossings are gated from below."""
    x = keras.Input((96, 96, 4), name="bands")
    y, across = x, []
    for width in (16, 32, 64):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        across.append(y)
        y = L.MaxPooling2D(2)(y)
    y = L.Conv2D(128, 3, padding="same", activation="relu")(y)
    for width, other in zip((64, 32, 16), reversed(across)):
        y = L.UpSampling2D(2, interpolation="bilinear")(y)
        z = L.Activation("relu")(L.Add()([L.Conv2D(width // 2, 1)(other), L.Conv2D(width // 2, 1)(y)]))
        z = L.Multiply()([other, L.Conv2D(1, 1, activation="sigmoid")(z)])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.Concatenate()([y, z]))
    return keras.Model(x, L.Conv2D(7, 1, activation="softmax")(y)), {"classes": 7}


def coins(case):
    """Which coin: patches, mixed across places and then across channels by dense layers alone."""
    x = keras.Input((64, 64, 3), name="coin")
    y = L.Reshape((64, 128))(L.Conv2D(128, 8, strides=8)(x))
    for _ in range(6):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(64)(L.Dense(96, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(512, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}


def crabs(case):
    """What each base of a gene is for: gated filters spread ever wider, all their ends summed."""
    x = keras.Input((600,), dtype="int32", name="bases")
    y = L.Conv1D(48, 1)(L.Embedding(5, 24)(x))
    ends = []
    for power in range(8):
        a = L.Conv1D(48, 3, dilation_rate=2**power, padding="same", activation="tanh")(y)
        b = L.Conv1D(48, 3, dilation_rate=2**power, padding="same", activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        ends.append(L.Conv1D(48, 1)(z))
        y = L.Add()([y, L.Conv1D(48, 1)(z)])
    y = L.Activation("relu")(L.Add()(ends))
    y = L.Conv1D(64, 1, activation="relu")(y)
    return keras.Model(x, L.Conv1D(4, 1)(y)), {"classes": 4, "logits": True, "highs": {"bases": 5}}


def drums(case):
    """Beats as pictures of sound, made noisy, squeezed through a few numbers and drawn again."""
    x = keras.Input((64, 96, 1), name="beat")
    y = L.GaussianNoise(0.1)(x)
    for width in (24, 48, 72):
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.PReLU(shared_axes=[1, 2])(y)
    y = L.Dense(64, name="code")(L.Flatten()(y))
    y = L.Reshape((8, 12, 72))(L.Dense(8 * 12 * 72)(y))
    for width in (72, 48, 24):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same")(y)
        y = L.PReLU(shared_axes=[1, 2])(y)
    return keras.Model(x, L.Conv2D(1, 3, padding="same")(y)), {"loss": "mse"}


def eggs(case):
    """An age from a scan of a head: blocks in space where each layer hears all before it."""
    x = keras.Input((32, 32, 32, 1), name="head")
    y = L.Conv3D(16, 3, strides=2, padding="same", use_bias=False)(x)
    for block in range(2):
        for _ in range(4):
            z = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.Concatenate()([y, L.Conv3D(8, 3, padding="same", use_bias=False)(z)])
        if block == 0:
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.AveragePooling3D(2)(L.Conv3D(24, 1, use_bias=False)(y))
    y = L.GlobalAveragePooling3D()(L.Activation("relu")(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(1)(L.Dropout(0.2)(y))), {"loss": "mae"}


def geese(case):
    """Points of a thing, each to its part: turned first, then told what the whole looks like."""
    x = keras.Input((512, 3), name="points")
    y = x
    for width in (48, 96, 192):
        y = L.Dense(width, activation="relu")(y)
    y = L.Dense(96, activation="relu")(L.GlobalMaxPooling1D()(y))
    y = L.Dot(axes=(2, 1))([x, L.Reshape((3, 3))(L.Dense(9)(y))])
    near = []
    for width in (64, 128, 512):
        y = L.Activation("relu")(L.BatchNormalization()(L.Dense(width, use_bias=False)(y)))
        near.append(y)
    whole = L.RepeatVector(512)(L.GlobalMaxPooling1D()(y))
    y = L.Concatenate()(near[:2] + [whole])
    for width in (192, 96):
        y = L.Activation("relu")(L.BatchNormalization()(L.Dense(width, use_bias=False)(y)))
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def hammers(case):
    """A kind of growth from how strongly nine thousand genes speak: few layers, very wide."""
    x = keras.Input((9000,), name="genes")
    y = L.GaussianDropout(0.1)(x)
    for width in (640, 320):
        y = L.LeakyReLU(0.1)(L.BatchNormalization()(L.Dense(width, use_bias=False)(y)))
        y = L.Dropout(0.4)(y)
    return keras.Model(x, L.Dense(33, activation="softmax")(y)), {"classes": 33}


def horns(case):
    """A spoken order by long separable filters in time, three to a block, a way past each block."""
    x = keras.Input((160, 64), name="sound")
    y = L.SeparableConv1D(96, 11, padding="same", activation="relu")(x)
    for size in (11, 15, 19, 23):
        past = L.BatchNormalization()(L.Conv1D(96, 1, use_bias=False)(y))
        for step in range(3):
            y = L.SeparableConv1D(96, size, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            if step < 2:
                y = L.SpatialDropout1D(0.1)(L.Activation("relu")(y))
        y = L.Activation("relu")(L.Add()([y, past]))
    y = L.GlobalAveragePooling1D()(L.Conv1D(160, 1, activation="relu")(y))
    return keras.Model(x, L.Dense(35)(y)), {"classes": 35, "logits": True}


def inks(case):
    """A written formula to its signs: filters see the picture, an LSTM writes and looks at it."""
    picture = keras.Input((48, 144, 1), name="picture")
    signs = keras.Input((36,), dtype="int32", name="signs")
    y = picture
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(y)
    seen = L.Dense(128, activation="tanh")(L.Reshape((108, 96))(y))
    z = L.LSTM(128, return_sequences=True)(L.Embedding(320, 64)(signs))
    z = L.Concatenate()([z, L.Attention()([z, seen])])
    z = L.Dropout(0.3)(L.Dense(160, activation="tanh")(z))
    return keras.Model([picture, signs], L.Dense(320, activation="softmax")(z)), {
        "classes": 320,
        "highs": {"signs": 320},
    }


def inns(case):
    """Guests' words to stars: a reader that no longer learns, with small new layers set inside it."""
    words = keras.Input((128,), dtype="int32", name="words")
    places = keras.Input((128,), dtype="int32", name="places")
    y = L.Add()(
        [
            L.Embedding(12000, 128, trainable=False)(words),
            L.Embedding(128, 128, trainable=False)(places),
        ]
    )
    for _ in range(4):
        z = L.MultiHeadAttention(4, 32, trainable=False)(y, y)
        z = L.Add()([z, L.Dense(128)(L.Dense(16, activation="relu")(z))])
        y = L.LayerNormalization()(L.Add()([y, z]))
        z = L.Dense(512, activation="gelu", trainable=False)(y)
        z = L.Dense(128, trainable=False)(z)
        z = L.Add()([z, L.Dense(128)(L.Dense(16, activation="relu")(z))])
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Dense(64, activation="tanh")(L.GlobalAveragePooling1D()(y))
    return keras.Model([words, places], L.Dense(5, activation="softmax")(y)), {
        "classes": 5,
        "highs": {"words": 12000, "places": 128},
    }


def jets(case):
    """What a spray of particles came from: a set that attends to itself, weighed by its event."""
    parts = keras.Input((96, 8), name="parts")
    event = keras.Input((12,), name="event")
    gate = L.Reshape((1, 96))(L.Dense(96, activation="sigmoid")(event))
    y = L.Multiply()([L.Dense(96)(L.BatchNormalization()(parts)), gate])
    for _ in range(5):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(8, 12)(z, z)])
        z = L.Dense(288, activation="swish")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(L.Dropout(0.1)(z))])
    y = L.Concatenate()([L.GlobalMaxPooling1D()(y), L.GlobalAveragePooling1D()(y), event])
    y = L.Dense(96, activation="swish")(y)
    return keras.Model([parts, event], L.Dense(5)(y)), {"classes": 5, "logits": True}


def jewels(case):
    """Stones by photo: widened, filtered depthwise, weighed channel by channel and narrowed again."""
    x = keras.Input((96, 96, 3), name="stone")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    have, steps = 24, ((16, 1, 1), (24, 2, 4), (24, 1, 4), (40, 2, 4), (40, 1, 4), (80, 2, 4), (80, 1, 4))
    for width, strides, many in steps:
        z, wide = y, have * many
        if many > 1:
            z = L.Conv2D(wide, 1, use_bias=False)(z)
            z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        weight = L.Reshape((1, 1, wide))(L.GlobalAveragePooling2D()(z))
        weight = L.Conv2D(max(4, have // 4), 1, activation="swish")(weight)
        z = L.Multiply()([z, L.Conv2D(wide, 1, activation="sigmoid")(weight)])
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
        y = L.Add()([y, z]) if strides == 1 and width == have else z
        have = width
    y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(240, 1, use_bias=False)(y)))
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, L.Dense(50, activation="softmax")(y)), {"classes": 50}


def jokes(case):
    """Does one line follow from another? Each word meets the other line's words; all layers shared."""
    first = keras.Input((44,), dtype="int32", name="first")
    second = keras.Input((32,), dtype="int32", name="second")
    table = L.Embedding(20000, 128)
    inward = L.Dense(128, activation="relu")
    attend, compare = L.Dense(128, activation="relu"), L.Dense(192, activation="relu")
    deeper = L.Dense(192, activation="relu")
    a, b = inward(table(first)), inward(table(second))
    scores = L.Dot(axes=2)([attend(a), attend(b)])
    for_a = L.Dot(axes=(2, 1))([L.Softmax(axis=2)(scores), b])
    for_b = L.Dot(axes=(1, 1))([L.Softmax(axis=1)(scores), a])
    ends = []
    for own, other in ((a, for_a), (b, for_b)):
        z = L.Concatenate()([own, other, L.Subtract()([own, other]), L.Multiply()([own, other])])
        z = deeper(L.Dropout(0.2)(compare(z)))
        ends += [L.GlobalAveragePooling1D()(z), L.GlobalMaxPooling1D()(z)]
    y = L.Dense(192, activation="relu")(L.Concatenate()(ends))
    return keras.Model([first, second], L.Dense(3, activation="softmax")(y)), {
        "classes": 3,
        "highs": {"first": 20000, "second": 20000},
    }


def jolts(case):
    """When the ground's waves arrive, sample by sample: forty-odd narrow filters one after another."""
    x = keras.Input((1200, 3), name="ground")
    y = L.Conv1D(12, 15, padding="same")(x)
    for _ in range(22):
        z = L.Activation("relu")(L.BatchNormalization()(y))
        z = L.Conv1D(12, 7, padding="same", use_bias=False)(z)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        y = L.Add()([y, L.Conv1D(12, 7, padding="same", use_bias=False)(z)])
    y = L.Activation("relu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv1D(3, 1, activation="softmax")(y)), {"classes": 3}


def knights(case):
    """A board to a move and to who will win: a tower of equal steps with two ends."""
    x = keras.Input((8, 8, 18), name="board")
    y = L.Conv2D(64, 3, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    for _ in range(7):
        z = L.Conv2D(64, 3, padding="same", use_bias=False)(y)
        z = L.Activation("relu")(L.BatchNormalization()(z))
        z = L.BatchNormalization()(L.Conv2D(64, 3, padding="same", use_bias=False)(z))
        y = L.Activation("relu")(L.Add()([y, z]))
    move = L.Flatten()(L.Conv2D(73, 1)(y))
    move = L.Activation("softmax", name="move")(move)
    win = L.Flatten()(L.Conv2D(8, 1, activation="relu")(y))
    win = L.Dense(1, activation="tanh", name="win")(L.Dense(64, activation="relu")(win))
    return keras.Model(x, [move, win]), {"losses": {"move": "categorical_crossentropy", "win": "mse"}}
