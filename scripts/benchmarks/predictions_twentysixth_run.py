"""Models of predictions.py's twenty-sixth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def almanacs(case):
    """Years of weather read by causal filters ever further apart, each with a gate."""
    x = keras.Input((365, 12), name="days")
    y, ends = L.Conv1D(40, 1)(x), []
    for power in range(7):
        a = L.Conv1D(40, 2, padding="causal", dilation_rate=2**power, activation="tanh")(y)
        b = L.Conv1D(40, 2, padding="causal", dilation_rate=2**power, activation="sigmoid")(y)
        z = L.Multiply()([a, b])
        ends.append(L.Conv1D(56, 1)(z))
        y = L.Add()([y, L.Conv1D(40, 1)(z)])
    y = L.Conv1D(56, 1, activation="relu")(L.Activation("relu")(L.Add()(ends)))
    return keras.Model(x, L.Conv1D(2, 1)(y)), {"loss": "mse"}


def anthems(case):
    """Syllables named one by one: an LSTM each way, twice, with whole channels dropped."""
    x = keras.Input((44,), dtype="int32", name="syllables")
    y = L.SpatialDropout1D(0.2)(L.Embedding(9000, 128)(x))
    y = L.Bidirectional(L.LSTM(112, return_sequences=True))(y)
    y = L.Bidirectional(L.LSTM(80, return_sequences=True))(y)
    y = L.Dense(37, activation="softmax")(L.Dropout(0.3)(y))
    return keras.Model(x, y), {"classes": 37, "highs": {"syllables": 9000}}


def apiaries(case):
    """Insects told apart: squeezed by small filters, then spread by two sizes side by side."""
    x = keras.Input((112, 112, 3), name="insect")
    y = L.Conv2D(48, 3, strides=2, activation="relu")(x)
    y = L.MaxPooling2D(3, 2)(y)
    for narrow, wide in ((16, 48), (16, 64), (32, 96), (40, 128)):
        z = L.Conv2D(narrow, 1, activation="relu")(y)
        a = L.Conv2D(wide, 1, activation="relu")(z)
        b = L.Conv2D(wide, 3, padding="same", activation="relu")(z)
        y = L.Concatenate()([a, b])
        if wide == 64:
            y = L.MaxPooling2D(3, 2)(y)
    y = L.Conv2D(75, 1, activation="relu")(L.Dropout(0.5)(y))
    return keras.Model(x, L.Softmax()(L.GlobalAveragePooling2D()(y))), {"classes": 75}


def asters(case):
    """Blocks in which each layer sees all before it, narrowed between the blocks."""
    x = keras.Input((48, 48, 3), name="bloom")
    y = L.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(5):
            z = L.ReLU()(L.BatchNormalization()(y))
            z = L.Conv2D(48, 1, use_bias=False)(z)
            z = L.ReLU()(L.BatchNormalization()(z))
            y = L.Concatenate()([y, L.Conv2D(12, 3, padding="same", use_bias=False)(z)])
        if block < 2:
            y = L.Conv2D(40 + 10 * block, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
            y = L.AveragePooling2D(2)(y)
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(30, activation="softmax")(y)), {"classes": 30}


def axles(case):
    """The wear of a bearing from raw shaking: long strides at first, then a GRU."""
    x = keras.Input((2048, 2), name="shaking")
    y = L.Conv1D(32, 64, strides=8, padding="same", activation="relu")(x)
    for width in (48, 64):
        y = L.MaxPooling1D(2)(L.BatchNormalization()(y))
        y = L.Conv1D(width, 5, padding="same", activation="relu")(y)
    y = L.GRU(72)(y)
    y = L.Dense(32, activation="relu")(y)
    wear = L.Dense(1, name="wear")(y)
    broken = L.Dense(1, activation="sigmoid", name="broken")(y)
    return keras.Model(x, [wear, broken]), {"losses": {"wear": "mae", "broken": "binary_crossentropy"}}


def bathtubs(case):
    """Flow past a shape, from the shape: down by strides, up again, no pooling at all."""
    x = keras.Input((96, 64, 2), name="shape")
    y, across = L.Conv2D(24, 5, padding="same")(x), []
    for width in (32, 48, 64, 96):
        across.append(y)
        y = L.Conv2D(width, 4, strides=2, padding="same")(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
    for width, other in zip((64, 48, 32, 24), reversed(across)):
        y = L.Conv2DTranspose(width, 4, strides=2, padding="same")(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Concatenate()([y, other])
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mae"}


def bobbins(case):
    """Seventy narrow dense layers with a short way past every second one."""
    x = keras.Input((60,), name="settings")
    y = L.Dense(96)(x)
    for _ in range(35):
        z = L.Dense(96, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(z)])
    return keras.Model(x, L.Dense(6)(L.LayerNormalization()(y))), {"loss": "mse"}


def bungalows(case):
    """What a house is worth: its picture by one branch, its papers by another."""
    photo = keras.Input((80, 80, 3), name="photo")
    papers = keras.Input((45,), name="papers")
    area = keras.Input((1,), dtype="int32", name="area")
    y = photo
    for width in (24, 48, 96):
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D(2)(L.BatchNormalization()(y))
    y = L.Dense(96, activation="relu")(L.Flatten()(y))
    z = L.Concatenate()([papers, L.Flatten()(L.Embedding(12000, 24)(area))])
    z = L.Dense(64, activation="relu")(L.Dense(128, activation="relu")(z))
    y = L.Dense(48, activation="relu")(L.Concatenate()([y, z]))
    return keras.Model([photo, papers, area], L.Dense(1)(y)), {"loss": "mse", "highs": {"area": 12000}}


def cashews(case):
    """Who buys what: two great tables, a product of rows beside a few dense layers."""
    buyer = keras.Input((1,), dtype="int32", name="buyer")
    goods = keras.Input((1,), dtype="int32", name="goods")
    a = L.Flatten()(L.Embedding(90000, 32)(buyer))
    b = L.Flatten()(L.Embedding(40000, 32)(goods))
    c = L.Flatten()(L.Embedding(90000, 32)(buyer))
    d = L.Flatten()(L.Embedding(40000, 32)(goods))
    y = L.Concatenate()([c, d])
    for width in (128, 64, 32):
        y = L.Dense(width, activation="relu")(y)
    y = L.Dense(1, activation="sigmoid")(L.Concatenate()([L.Multiply()([a, b]), y]))
    return keras.Model([buyer, goods], y), {
        "loss": "binary_crossentropy",
        "highs": {"buyer": 90000, "goods": 40000},
    }


def chariots(case):
    """A cloud of marks as a set: each alone, then the greatest of all, joined back to each."""
    x = keras.Input((700, 3), name="marks")
    y = x
    for width in (48, 96):
        y = L.ReLU()(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    z = L.ReLU()(L.BatchNormalization()(L.Conv1D(384, 1)(y)))
    z = L.RepeatVector(700)(L.GlobalMaxPooling1D()(z))
    y = L.Concatenate()([y, z])
    for width in (160, 80):
        y = L.ReLU()(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    return keras.Model(x, L.Dense(13, activation="softmax")(y)), {"classes": 13}


def compasses(case):
    """Tokens mixed along and across by dense layers only, turned about between."""
    x = keras.Input((72, 72, 3), name="ground")
    y = L.Reshape((81, 128))(L.Conv2D(128, 8, strides=8)(x))
    for _ in range(5):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(81)(L.Dense(64, activation="gelu")(z))
        y = L.Add()([y, L.Permute((2, 1))(z)])
        z = L.Dense(512, activation="gelu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(128)(z)])
    y = L.GlobalAveragePooling1D()(L.LayerNormalization()(y))
    return keras.Model(x, L.Dense(25)(y)), {"classes": 25, "logits": True}


def daisies(case):
    """A trunk of separable filters that does not learn, with two heads that do."""
    inner = keras.Input((100, 100, 3))
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(inner)
    for width in (64, 128, 192):
        y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.MaxPooling2D(2)(L.ReLU()(L.BatchNormalization()(y)))
    trunk = keras.Model(inner, y, name="trunk")
    trunk.trainable = False
    x = keras.Input((100, 100, 3), name="field")
    y = trunk(x)
    box = L.Dense(4, name="box")(L.Dense(128, activation="relu")(L.Flatten()(y)))
    there = L.Dense(1, activation="sigmoid", name="there")(L.GlobalAveragePooling2D()(y))
    return keras.Model(x, [box, there]), {"losses": {"box": "mse", "there": "binary_crossentropy"}}


def earrings(case):
    """Genes by the ten thousand to a type of cell: one vast dense layer and little after it."""
    x = keras.Input((18000,), name="counts")
    y = L.Dense(256, use_bias=False)(L.Dropout(0.2)(x))
    y = L.Activation("elu")(L.BatchNormalization()(y))
    y = L.Dense(64, activation="elu")(y)
    return keras.Model(x, L.Dense(42, activation="softmax")(y)), {"classes": 42}


def flagons(case):
    """A volume of tissue sorted whole: steps in space with short ways past."""
    x = keras.Input((32, 32, 20, 1), name="tissue")
    y = L.Conv3D(16, 3, padding="same", use_bias=False)(x)
    for width in (16, 32, 48):
        z = L.ReLU()(L.BatchNormalization()(y))
        z = L.Conv3D(width, 3, strides=2, padding="same", use_bias=False)(z)
        z = L.ReLU()(L.BatchNormalization()(z))
        z = L.Conv3D(width, 3, padding="same", use_bias=False)(z)
        y = L.Add()([z, L.Conv3D(width, 1, strides=2, use_bias=False)(y)])
    y = L.GlobalAveragePooling3D()(L.ReLU()(y))
    return keras.Model(x, L.Dense(7, activation="softmax")(y)), {"classes": 7}


def foothills(case):
    """Rain to come from maps of rain that fell: two folding recurrent layers."""
    x = keras.Input((8, 32, 32, 2), name="rain")
    y = L.ConvLSTM2D(20, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(20, 3, padding="same")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="relu")(y)), {"loss": "mse"}


def garlands(case):
    """A long text and a short question: the one asks the other by heads, and a kind comes out."""
    text = keras.Input((128,), dtype="int32", name="text")
    question = keras.Input((20,), dtype="int32", name="question")
    table = L.Embedding(14000, 96)
    a, b = table(text), table(question)
    for _ in range(2):
        a = L.LayerNormalization()(L.Add()([a, L.MultiHeadAttention(4, 24)(a, a)]))
        a = L.LayerNormalization()(L.Add()([a, L.Dense(96)(L.Dense(256, activation="relu")(a))]))
        b = L.LayerNormalization()(L.Add()([b, L.MultiHeadAttention(4, 24)(b, a)]))
    y = L.Concatenate()([L.GlobalMaxPooling1D()(b), L.GlobalAveragePooling1D()(a)])
    y = L.Dense(15)(L.Dense(96, activation="tanh")(y))
    return keras.Model([text, question], y), {
        "classes": 15,
        "logits": True,
        "highs": {"text": 14000, "question": 14000},
    }


def goggles(case):
    """Narrow, wide, narrow again: blocks turned inside out, with a weight for each channel."""
    x = keras.Input((88, 88, 3), name="view")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.Activation("swish")(L.BatchNormalization()(y))
    for width, strides in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (64, 2)):
        wide = 4 * y.shape[-1]
        z = L.Conv2D(wide, 1, use_bias=False)(y)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        z = L.DepthwiseConv2D(5, strides=strides, padding="same", use_bias=False)(z)
        z = L.Activation("swish")(L.BatchNormalization()(z))
        s = L.Reshape((1, 1, wide))(L.GlobalAveragePooling2D()(z))
        s = L.Conv2D(wide, 1, activation="sigmoid")(L.Conv2D(8, 1, activation="swish")(s))
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, s])))
        y = L.Add()([y, z]) if strides == 1 else z
    y = L.Dropout(0.2)(L.GlobalAveragePooling2D()(L.Conv2D(256, 1, activation="swish")(y)))
    return keras.Model(x, L.Dense(120, activation="softmax")(y)), {"classes": 120}


def hatches(case):
    """Three views of a thing through one net, the strongest of them kept."""
    seen = keras.Input((64, 64, 1), name="seen")
    y = seen
    for width in (16, 32, 64):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    trunk = keras.Model(seen, L.Dense(192, activation="relu")(L.Flatten()(y)), name="trunk")
    views = [keras.Input((64, 64, 1), name=name) for name in ("front", "side", "above")]
    y = L.Maximum()([trunk(view) for view in views])
    return keras.Model(views, L.Dense(33, activation="softmax")(L.Dropout(0.4)(y))), {"classes": 33}


def jigsaws(case):
    """Small grey pictures through a code of few numbers and back, by growing filters."""
    x = keras.Input((64, 64, 1), name="piece")
    y = L.GaussianNoise(0.1)(x)
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="elu")(y)
    y = L.Dense(40, name="code")(L.Flatten()(y))
    y = L.Reshape((8, 8, 96))(L.Dense(8 * 8 * 96, activation="elu")(y))
    for width in (64, 48, 24):
        y = L.UpSampling2D(2)(y)
        y = L.Conv2D(width, 3, padding="same", activation="elu")(y)
    y = L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "binary_crossentropy"}


def kiosks(case):
    """What is asked for next out of a very long list: what went before, hours beside it, one GRU."""
    goods = keras.Input((30,), dtype="int32", name="goods")
    hours = keras.Input((30,), dtype="int32", name="hours")
    y = L.Concatenate()([L.Embedding(22000, 64)(goods), L.Embedding(168, 16)(hours)])
    y = L.GRU(128, return_sequences=True)(y)
    y = L.Attention()([y, y])
    y = L.Dense(64, activation="tanh")(L.GlobalAveragePooling1D()(y))
    return keras.Model([goods, hours], L.Dense(22000, activation="softmax")(y)), {
        "classes": 22000,
        "highs": {"goods": 22000, "hours": 168},
    }
