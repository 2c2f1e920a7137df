"""Models of predictions.py's nineteenth set: nets of everyday sizes, by one who knows the code. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def badgers(case):
    """Night pictures from a trap: separable blocks with a way around, five animals."""
    x = keras.Input((112, 112, 3), name="night")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for width in (48, 96, 160):
        z = L.Conv2D(width, 1, strides=2, padding="same")(y)
        for _ in range(2):
            y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.Activation("relu")(y)
        y = L.Add()([L.MaxPooling2D(3, strides=2, padding="same")(y), z])
    y = L.GlobalMaxPooling2D()(y)
    return keras.Model(x, L.Dense(5, activation="softmax")(y)), {"classes": 5}


def otters(case):
    """Calls from a river: a one-dimensional net with growing holes and gates, one class a clip."""
    x = keras.Input((4096, 1), name="call")
    y = L.Conv1D(48, 9, strides=4, padding="same")(x)
    ends = []
    for rate in (1, 2, 4, 8, 16):
        z = L.Multiply()(
            [
                L.Conv1D(48, 3, dilation_rate=rate, padding="causal", activation="tanh")(y),
                L.Conv1D(48, 3, dilation_rate=rate, padding="causal", activation="sigmoid")(y),
            ]
        )
        ends.append(L.Conv1D(48, 1)(z))
        y = L.Add()([y, ends[-1]])
    y = L.ReLU()(L.Add()(ends))
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 9}


def herons(case):
    """Heights over a marsh, predicted at every point from four bands: down and up by strided convolutions."""
    x = keras.Input((128, 128, 4), name="bands")
    y = x
    for width in (16, 32, 64):
        y = L.LeakyReLU()(L.Conv2D(width, 4, strides=2, padding="same")(y))
    y = L.Conv2D(64, 3, padding="same", activation="relu")(y)
    for width in (48, 24, 12):
        y = L.LeakyReLU()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same")(y)), {"loss": "mse"}


def ferrets(case):
    """Two searches, are they the same question: one tower called twice, their difference and product."""
    one = keras.Input((40,), dtype="int32", name="one")
    two = keras.Input((40,), dtype="int32", name="two")
    words = keras.Input((40,), dtype="int32")
    y = L.Embedding(8000, 96)(words)
    y = L.Bidirectional(L.LSTM(80, return_sequences=True))(y)
    tower = keras.Model(words, L.GlobalMaxPooling1D()(y), name="tower")
    a, b = tower(one), tower(two)
    y = L.Concatenate()([a, b, L.Subtract()([a, b]), L.Multiply()([a, b])])
    y = L.Dropout(0.3)(L.Dense(256, activation="relu")(y))
    facts = {"classes": 2, "highs": {"one": 8000, "two": 8000}}
    return keras.Model([one, two], L.Dense(2, activation="softmax")(y)), facts


def moles(case):
    """Skin spots in colour: dense blocks that keep all that came before, thinned between."""
    x = keras.Input((80, 80, 3), name="spot")
    y = L.Conv2D(24, 5, strides=2, padding="same")(x)
    for block in range(3):
        for _ in range(4):
            z = L.Conv2D(16, 3, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
            y = L.Concatenate()([y, z])
        if block < 2:
            y = L.AveragePooling2D(2)(L.Conv2D(48, 1)(L.ReLU()(L.BatchNormalization()(y))))
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(7, activation="softmax")(y)), {"classes": 7}


def newts(case):
    """Patches of a picture with attention between them, as a small vision transformer."""
    x = keras.Input((96, 96, 3), name="pond")
    y = L.Reshape((144, 128))(L.Conv2D(128, 8, strides=8)(x))
    for _ in range(4):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 32, dropout=0.1)(z, z)])
        z = L.Dense(256, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(128)(z))])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def stoats(case):
    """Prices of the next day for many goods: a wide table of numbers through a tower of dense layers."""
    x = keras.Input((1200,), name="history")
    y = L.BatchNormalization()(x)
    for width in (2048, 1024, 512):
        y = L.Dropout(0.2)(L.Dense(width, activation="selu")(y))
    return keras.Model(x, L.Dense(400)(y)), {"loss": "mae"}


def voles(case):
    """Scans of a tooth: volumes down a ladder of 3-D convolutions, is it whole."""
    x = keras.Input((40, 40, 40, 1), name="tooth")
    y = x
    for width in (12, 24, 48):
        y = L.Conv3D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling3D()(L.BatchNormalization()(y))
    y = L.Dense(64, activation="relu")(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(2, activation="softmax")(y)), {"classes": 2}


def hares(case):
    """Steps of a walk from six sensors: two GRUs, a kind for every moment."""
    x = keras.Input((160, 6), name="sensors")
    y = L.GRU(96, return_sequences=True)(L.Dense(48, activation="tanh")(x))
    y = L.GRU(64, return_sequences=True, dropout=0.2)(y)
    return keras.Model(x, L.TimeDistributed(L.Dense(12, activation="softmax"))(y)), {"classes": 12}


def lynxes(case):
    """Who bought what: tables of customers and goods, crossed, with three outputs."""
    customer = keras.Input((1,), dtype="int32", name="customer")
    goods = keras.Input((12,), dtype="int32", name="goods")
    y = L.Flatten()(L.Embedding(60000, 48)(customer))
    z = L.GlobalAveragePooling1D()(L.Embedding(20000, 48)(goods))
    y = L.Concatenate()([y, z, L.Multiply()([y, z])])
    for width in (384, 192):
        y = L.Dense(width, activation="relu")(y)
    bought = L.Dense(1, activation="sigmoid", name="bought")(y)
    paid = L.Dense(1, name="paid")(y)
    rated = L.Dense(1, name="rated")(y)
    facts = {
        "losses": {"bought": "binary_crossentropy", "paid": "mse", "rated": "mae"},
        "highs": {"customer": 60000, "goods": 20000},
    }
    return keras.Model([customer, goods], [bought, paid, rated]), facts


def cranes(case):
    """Cracks in concrete at every point: encoder of depthwise blocks, a pyramid of pools, upsampled."""
    x = keras.Input((120, 120, 3), name="wall")
    y = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(x)
    y = early = L.ReLU(6.0)(L.BatchNormalization()(y))
    for width in (48, 64):
        z = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(4 * width, 1, use_bias=False)(y)))
        z = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(z)))
        y = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(z))
    pooled = [L.UpSampling2D(size)(L.Conv2D(16, 1)(L.AveragePooling2D(size)(y))) for size in (2, 4)]
    y = L.Concatenate()([early, y, *pooled])
    y = L.UpSampling2D(2, interpolation="bilinear")(L.Conv2D(24, 3, padding="same", activation="relu")(y))
    return keras.Model(x, L.Conv2D(2, 1, activation="softmax")(y)), {"classes": 2}


def swifts(case):
    """Short clips of wings: a convolutional LSTM over eight pictures, then one kind."""
    x = keras.Input((8, 40, 40, 2), name="clip")
    y = L.ConvLSTM2D(16, 3, padding="same")(x)
    y = L.MaxPooling2D()(L.BatchNormalization()(y))
    y = L.Dense(96, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(4, activation="softmax")(y)), {"classes": 4}


def wrens(case):
    """Song as pictures of sound, a frozen stack below and a small head that learns."""
    x = keras.Input((128, 96, 1), name="song")
    base = keras.Sequential(name="base")
    base.add(keras.Input((128, 96, 1)))
    for width in (32, 64, 96):
        base.add(L.Conv2D(width, 3, padding="same", activation="relu"))
        base.add(L.Conv2D(width, 3, padding="same", activation="relu"))
        base.add(L.MaxPooling2D())
    base.trainable = False
    y = L.GlobalAveragePooling2D()(base(x))
    y = L.Dropout(0.4)(L.Dense(128, activation="relu")(y))
    return keras.Model(x, L.Dense(50, activation="softmax")(y)), {"classes": 50}


def larks(case):
    """Sentences to sentences without attention: one LSTM reads, another writes over its state."""
    source = keras.Input((36,), dtype="int32", name="source")
    target = keras.Input((36,), dtype="int32", name="target")
    _, h, c = L.LSTM(128, return_state=True)(L.Embedding(5000, 64)(source))
    y = L.LSTM(128, return_sequences=True)(L.Embedding(5000, 64)(target), initial_state=[h, c])
    y = L.Dense(5000, activation="softmax")(y)
    return keras.Model([source, target], y), {"classes": 5000, "highs": {"source": 5000, "target": 5000}}


def terns(case):
    """Noise taken out of sound: a net of one dimension with ways across, four levels."""
    x = keras.Input((2048, 2), name="noisy")
    y, across = x, []
    for width in (16, 32, 64, 96):
        y = L.LeakyReLU()(L.Conv1D(width, 15, padding="same")(y))
        across.append(y)
        y = L.MaxPooling1D()(y)
    for width, other in zip((96, 64, 32, 16), reversed(across)):
        y = L.Concatenate()([L.UpSampling1D()(y), other])
        y = L.LeakyReLU()(L.Conv1D(width, 5, padding="same")(y))
    return keras.Model(x, L.Conv1D(2, 1, activation="tanh")(y)), {"loss": "mse"}


def gulls(case):
    """Letters on a sign: convolutions, columns as time, a GRU each way, a letter per column."""
    x = keras.Input((32, 128, 1), name="sign")
    y = x
    for width, pool in ((32, (2, 2)), (64, (2, 2)), (96, (2, 1)), (96, (4, 1))):
        y = L.MaxPooling2D(pool)(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.Reshape((32, 96))(L.Permute((2, 1, 3))(y))
    y = L.Bidirectional(L.GRU(64, return_sequences=True))(y)
    return keras.Model(x, L.Dense(70, activation="softmax")(y)), {"classes": 70}


def finches(case):
    """A mixer of rows and channels over tokens of a picture."""
    x = keras.Input((64, 64, 3), name="beak")
    y = L.Reshape((256, 96))(L.Conv2D(96, 4, strides=4)(x))
    for _ in range(4):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(256)(L.Dense(128, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(192, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(18, activation="softmax")(y)), {"classes": 18}


def ospreys(case):
    """Very deep and narrow: thirty convolutions of a ring of residuals on small pictures."""
    x = keras.Input((48, 48, 3), name="nest")
    y = L.Conv2D(20, 3, padding="same")(x)
    for _ in range(15):
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(20, 3, padding="same", use_bias=False)(y)))
        z = L.BatchNormalization()(L.Conv2D(20, 3, padding="same", use_bias=False)(z))
        y = L.ReLU()(L.Add()([y, z]))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 10}


def bitterns(case):
    """Spectra to themselves through a narrow middle, with group norms."""
    x = keras.Input((1024, 4), name="spectrum")
    y = x
    for width in (32, 64, 128):
        y = L.Conv1D(width, 7, strides=2, padding="same")(y)
        y = L.Activation("swish")(L.LayerNormalization()(y))
    y = L.Dense(96)(L.Flatten()(y))
    y = L.Reshape((128, 64))(L.Dense(128 * 64, activation="swish")(y))
    for width in (64, 32, 16):
        y = L.Activation("swish")(L.Conv1DTranspose(width, 7, strides=2, padding="same")(y))
    return keras.Model(x, L.Conv1D(4, 3, padding="same")(y)), {"loss": "mse"}


def plovers(case):
    """Pictures and a few words on them: a small net for each, attention of words over places."""
    picture = keras.Input((80, 80, 3), name="picture")
    words = keras.Input((16,), dtype="int32", name="words")
    y = picture
    for width in (24, 48, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    y = L.Dense(96)(L.Reshape((100, 96))(y))
    z = L.Embedding(6000, 96, mask_zero=False)(words)
    z = L.Add()([z, L.Attention()([z, y])])
    z = L.GRU(96)(z)
    facts = {"classes": 40, "highs": {"words": 6000}}
    return keras.Model([picture, words], L.Dense(40, activation="softmax")(z)), facts
