"""Models of predictions.py's forty-seventh set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def chinchillas(case):
    """Kim's convolutions over word vectors, sorting customer letters into 14 departments."""
    words = keras.Input((300,), dtype="int32", name="words")
    x = L.Embedding(25000, 128)(words)
    x = L.SpatialDropout1D(0.2)(x)
    pooled = []
    for width in (3, 4, 5):
        y = L.Conv1D(128, width, padding="valid", activation="relu")(x)
        pooled.append(L.GlobalMaxPooling1D()(y))
    x = L.Concatenate()(pooled)
    x = L.Dropout(0.5)(x)
    x = L.Dense(192, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-4))(x)
    return keras.Model(words, L.Dense(14, activation="softmax")(x)), {"classes": 14, "highs": {"words": 25000}}


@keras.utils.register_keras_serializable(package="fortyseventh")
class Placed(L.Layer):
    """Adds a learned vector for each place of a sequence."""

    def build(self, shape):
        self.places = self.add_weight(name="places", shape=(shape[1], shape[2]), initializer="random_normal")
        super().build(shape)

    def call(self, x):
        return x + self.places


def sousaphones(case):
    """A small GPT that writes text, with blocks that normalize first."""
    tokens = keras.Input((128,), dtype="int32", name="tokens")
    x = Placed(name="placed")(L.Embedding(12000, 256)(tokens))
    x = L.Dropout(0.1)(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.MultiHeadAttention(8, 32, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, L.Dropout(0.1)(y)])
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.Dense(1024, activation="gelu")(y)
        y = L.Dense(256)(y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    facts = {"classes": 12000, "logits": True, "highs": {"tokens": 12000}}
    return keras.Model(tokens, L.Dense(12000, use_bias=False)(x)), facts


def halberds(case):
    """Names in sentences, from words and the letters in them, by a bidirectional LSTM."""
    words = keras.Input((100,), dtype="int32", name="words")
    letters = keras.Input((100, 14), dtype="int32", name="letters")
    w = L.Embedding(40000, 100)(words)
    c = L.TimeDistributed(L.Embedding(96, 24))(letters)
    c = L.TimeDistributed(L.Conv1D(48, 3, padding="same", activation="tanh"))(c)
    c = L.TimeDistributed(L.GlobalMaxPooling1D())(c)
    x = L.Dropout(0.3)(L.Concatenate()([w, c]))
    x = L.Bidirectional(L.LSTM(128, return_sequences=True))(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.Dropout(0.3)(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    x = L.TimeDistributed(L.Dense(17, activation="softmax"))(x)
    return keras.Model([words, letters], x), {"classes": 17, "highs": {"words": 40000, "letters": 96}}


SLOTS = {"site": 4700, "app": 8500, "device": 180000, "address": 250000, "campaign": 2600, "creative": 9000,
         "publisher": 1200, "city": 6000, "browser": 60, "system": 40, "hour": 24, "weekday": 7, "segment": 30000}


def trebuchets(case):
    """Clicks on adverts by a deep and cross network of thirteen columns of ids and thirteen counts."""
    counts = keras.Input((13,), name="counts")
    inputs, parts = [counts], [L.BatchNormalization()(counts)]
    for name, size in SLOTS.items():
        column = keras.Input((1,), dtype="int32", name=name)
        inputs.append(column)
        wide = 16 if size < 10000 else 24
        width = 8 if size < 100 else wide
        parts.append(L.Flatten()(L.Embedding(size, width, name=name + "_table")(column)))
    start = L.Concatenate()(parts)
    width = start.shape[-1]
    crossed = start
    for _ in range(3):
        y = L.Dense(width)(crossed)
        crossed = L.Add()([L.Multiply()([start, y]), crossed])
    deep = start
    for units in (512, 256, 128):
        deep = L.Dense(units, use_bias=False)(deep)
        deep = L.BatchNormalization()(deep)
        deep = L.ReLU()(deep)
        deep = L.Dropout(0.1)(deep)
    x = L.Concatenate()([crossed, deep])
    model = keras.Model(inputs, L.Dense(1, activation="sigmoid", name="clicked")(x))
    return model, {"loss": "binary_crossentropy", "highs": dict(SLOTS)}


def gooseberries(case):
    """Two towers that match a reader's history with an article, for clicks and the time spent."""
    user = keras.Input((1,), dtype="int32", name="user")
    history = keras.Input((40,), dtype="int32", name="history")
    article = keras.Input((1,), dtype="int32", name="article")
    context = keras.Input((18,), name="context")
    table = L.Embedding(70000, 64, mask_zero=True, name="articles")
    read = L.GRU(64)(table(history))
    who = L.Flatten()(L.Embedding(150000, 48, name="users")(user))
    left = L.Dense(128, activation="relu")(L.Concatenate()([read, who, context]))
    left = L.Dense(64)(left)
    right = L.Reshape((64,))(table(article))
    right = L.Dense(128, activation="relu")(right)
    right = L.Dense(64)(right)
    likeness = L.Dot(axes=1, normalize=True)([left, right])
    both = L.Concatenate()([left, right, L.Multiply()([left, right]), likeness])
    shared = L.Dense(96, activation="relu")(both)
    clicked = L.Dense(1, activation="sigmoid", name="clicked")(shared)
    seconds = L.Dense(1, name="seconds")(shared)
    facts = {"losses": {"clicked": "binary_crossentropy", "seconds": "mse"},
             "highs": {"user": 150000, "history": 70000, "article": 70000}}
    return keras.Model([user, history, article, context], [clicked, seconds]), facts


def barnacles(case):
    """A transformer over the columns of a table (numbers and categories), for seven kinds of risk."""
    numbers = keras.Input((26,), name="numbers")
    kinds = keras.Input((12,), dtype="int32", name="kinds")
    n = L.Reshape((26, 1))(numbers)
    n = L.EinsumDense("bfi,fio->bfo", output_shape=(26, 64), bias_axes="fo")(n)
    k = L.Embedding(5200, 64)(kinds)
    x = L.Concatenate(axis=1)([n, k])
    for _ in range(3):
        y = L.MultiHeadAttention(4, 16, dropout=0.2)(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dense(128, activation="gelu")(x)
        y = L.Dropout(0.1)(y)
        y = L.Dense(64)(y)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
    x = L.Flatten()(x)
    x = L.Dense(256, activation="relu")(x)
    x = L.Dropout(0.2)(x)
    return keras.Model([numbers, kinds], L.Dense(7, activation="softmax")(x)), {"classes": 7, "highs": {"kinds": 5200}}


def bobsleighs(case):
    """DeepConvLSTM over worn sensors: what somebody does, and who it is."""
    motion = keras.Input((256, 9), name="motion")
    pulse = keras.Input((256, 2), name="pulse")
    x = motion
    for _ in range(4):
        x = L.Conv1D(64, 5, padding="same", activation="relu")(x)
    x = L.MaxPooling1D(2)(x)
    y = L.Conv1D(24, 9, padding="same")(pulse)
    y = L.BatchNormalization()(y)
    y = L.Activation("relu")(y)
    y = L.AveragePooling1D(2)(y)
    x = L.Concatenate()([x, y])
    x = L.Dropout(0.3)(x)
    x = L.LSTM(128, return_sequences=True)(x)
    x = L.LSTM(128)(x)
    x = L.Dropout(0.5)(x)
    deed = L.Dense(18, activation="softmax", name="deed")(x)
    person = L.Dense(64, activation="relu")(x)
    person = L.Dense(30, activation="softmax", name="person")(person)
    return keras.Model([motion, pulse], [deed, person]), {"outs": {"deed": 18, "person": 30}}


def pointwise(x, units):
    x = L.Conv1D(units, 1)(x)
    x = L.BatchNormalization(momentum=0.9)(x)
    return L.Activation("relu")(x)


def turned(x, width):
    """The points times a matrix that a small net reads off them."""
    y = pointwise(x, 64)
    y = pointwise(y, 128)
    y = pointwise(y, 256)
    y = L.GlobalMaxPooling1D()(y)
    y = L.Dense(256, activation="relu")(y)
    y = L.Dense(128, activation="relu")(y)
    y = L.Dense(width * width)(y)
    return L.Dot(axes=(2, 1))([x, L.Reshape((width, width))(y)])


def astrolabes(case):
    """PointNet: the part of an object that each of 1,024 scanned points belongs to."""
    points = keras.Input((1024, 3), name="points")
    x = turned(points, 3)
    x = pointwise(x, 64)
    x = pointwise(x, 64)
    near = turned(x, 64)
    x = pointwise(near, 64)
    x = pointwise(x, 128)
    x = pointwise(x, 512)
    whole = L.RepeatVector(1024)(L.GlobalMaxPooling1D()(x))
    x = L.Concatenate()([near, whole])
    x = pointwise(x, 256)
    x = pointwise(x, 128)
    x = L.Dropout(0.3)(x)
    return keras.Model(points, L.Conv1D(36, 1, activation="softmax")(x)), {"classes": 36}


def kazoos(case):
    """Policy and value of a board game as AlphaZero learns them, by residual blocks that squeeze and excite."""
    board = keras.Input((13, 13, 17), name="board")
    decay = keras.regularizers.l2(1e-4)

    def conv(x, filters, size):
        x = L.Conv2D(filters, size, padding="same", use_bias=False, kernel_regularizer=decay)(x)
        return L.BatchNormalization()(x)

    x = L.ReLU()(conv(board, 80, 3))
    for _ in range(6):
        y = L.ReLU()(conv(x, 80, 3))
        y = conv(y, 80, 3)
        s = L.GlobalAveragePooling2D(keepdims=True)(y)
        s = L.Dense(20, activation="relu")(s)
        s = L.Dense(80, activation="sigmoid")(s)
        x = L.ReLU()(L.Add()([x, L.Multiply()([y, s])]))
    p = L.Flatten()(L.ReLU()(conv(x, 2, 1)))
    policy = L.Dense(170, activation="softmax", name="policy")(p)
    v = L.Flatten()(L.ReLU()(conv(x, 1, 1)))
    v = L.Dense(128, activation="relu")(v)
    value = L.Dense(1, activation="tanh", name="value")(v)
    return keras.Model(board, [policy, value]), {"losses": {"policy": "categorical_crossentropy", "value": "mse"}}


def jackals(case):
    """A duelling Q network for arcade games, from four grey frames to the worth of 18 moves."""
    frames = keras.Input((84, 84, 4), name="frames")
    start = keras.initializers.VarianceScaling(2.0)
    x = L.Rescaling(1 / 255.0)(frames)
    x = L.Conv2D(32, 8, strides=4, activation="relu", kernel_initializer=start, use_bias=False)(x)
    x = L.Conv2D(64, 4, strides=2, activation="relu", kernel_initializer=start, use_bias=False)(x)
    x = L.Conv2D(64, 3, activation="relu", kernel_initializer=start, use_bias=False)(x)
    x = L.Flatten()(x)
    worth = L.Dense(512, activation="relu", kernel_initializer=start)(x)
    worth = L.Dense(1)(worth)
    gain = L.Dense(512, activation="relu", kernel_initializer=start)(x)
    gain = L.Dense(18)(gain)
    mean = L.GlobalAveragePooling1D()(L.Reshape((18, 1))(gain))
    moves = L.Add(name="moves")([worth, L.Subtract()([gain, mean])])
    return keras.Model(frames, moves), {"loss": "huber"}


def dirigibles(case):
    """An actor and critic with memory: IMPALA's convolutions on 16 frames, the last moves, an LSTM."""
    picture = keras.Input((64, 64, 3))
    x = picture
    for filters in (16, 32, 32):
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.MaxPooling2D(3, strides=2, padding="same")(x)
        for _ in range(2):
            y = L.ReLU()(x)
            y = L.Conv2D(filters, 3, padding="same")(y)
            y = L.ReLU()(y)
            y = L.Conv2D(filters, 3, padding="same")(y)
            x = L.Add()([x, y])
    x = L.Flatten()(L.ReLU()(x))
    eye = keras.Model(picture, L.Dense(256, activation="relu")(x), name="eye")

    frames = keras.Input((16, 64, 64, 3), name="frames")
    last = keras.Input((16,), dtype="int32", name="last")
    reward = keras.Input((16, 1), name="reward")
    x = L.TimeDistributed(eye)(frames)
    x = L.Concatenate()([x, L.Embedding(15, 16)(last), reward])
    x = L.LSTM(256, return_sequences=True)(x)
    actor = L.Dense(15, activation="softmax", name="actor")(x)
    critic = L.Dense(1, name="critic")(x)
    facts = {"losses": ["categorical_crossentropy", "mse"], "highs": {"last": 15}}
    return keras.Model([frames, last, reward], [actor, critic]), facts


def pergolas(case):
    """DenseNet121 for 37 kinds of climbing plant, all but its last block frozen."""
    picture = keras.Input((128, 128, 3), name="picture")
    base = keras.applications.DenseNet121(include_top=False, weights=None, input_shape=(128, 128, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("conv5")
    x = base(picture)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.4)(x)
    x = L.Dense(256, activation="relu")(x)
    return keras.Model(picture, L.Dense(37, activation="softmax")(x)), {"classes": 37}


def isthmuses(case):
    """Land cover of aerial pictures: a U-Net whose way down is EfficientNetB0."""
    base = keras.applications.EfficientNetB0(include_top=False, weights=None, input_shape=(128, 128, 3))
    names = ["block6a_expand_activation", "block4a_expand_activation", "block3a_expand_activation",
             "block2a_expand_activation"]
    x = base.get_layer("top_activation").output
    for name, filters in zip(names, (192, 96, 64, 32)):
        x = L.UpSampling2D(2, interpolation="bilinear")(x)
        x = L.Concatenate()([x, base.get_layer(name).output])
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
    x = L.Conv2DTranspose(24, 2, strides=2, activation="relu")(x)
    return keras.Model(base.input, L.Conv2D(11, 1, activation="softmax")(x)), {"classes": 11}


def lampreys(case):
    """Sounds heard in each moment of a recording, by convolutions on mel bands and two GRUs."""
    mel = keras.Input((240, 64, 1), name="mel")
    x = mel
    for filters, pool in ((48, 4), (64, 2), (96, 2)):
        x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
        x = L.MaxPooling2D((1, pool))(x)
        x = L.Dropout(0.2)(x)
    x = L.Reshape((240, 4 * 96))(x)
    x = L.Bidirectional(L.GRU(64, return_sequences=True), merge_mode="mul")(x)
    x = L.Bidirectional(L.GRU(64, return_sequences=True), merge_mode="concat")(x)
    x = L.Dense(96, activation="relu")(x)
    return keras.Model(mel, L.Dense(25, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def mulberries(case):
    """A residual net in three dimensions for lumps in scans."""
    scan = keras.Input((32, 64, 64, 1), name="scan")
    x = L.Conv3D(16, 3, padding="same", use_bias=False)(scan)
    x = L.BatchNormalization()(x)
    x = L.Activation("relu")(x)
    for filters, stride in ((24, 2), (48, 2), (96, 2)):
        short = L.Conv3D(filters, 1, strides=stride, use_bias=False)(x)
        y = L.Conv3D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("relu")(y)
        y = L.Conv3D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        x = L.Activation("relu")(L.Add()([short, y]))
    x = L.GlobalAveragePooling3D()(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(scan, L.Dense(5, activation="softmax")(x)), {"classes": 5}


def nougats(case):
    """Twelve poisons of molecules, by passing messages along a dense matrix of bonds."""
    atoms = keras.Input((64, 40), name="atoms")
    bonds = keras.Input((64, 64), name="bonds")
    x = L.Dense(160)(atoms)
    levels = []
    for _ in range(4):
        y = L.Dense(160, use_bias=False)(x)
        y = L.Dot(axes=(2, 1))([bonds, y])
        y = L.Add()([y, L.Dense(160)(x)])
        y = L.LayerNormalization()(y)
        x = L.Activation("swish")(y)
        levels.append(x)
    x = L.Concatenate()(levels)
    gate = L.Dense(192, activation="sigmoid")(x)
    x = L.Multiply()([gate, L.Dense(192, activation="tanh")(x)])
    x = L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)])
    x = L.Dropout(0.25)(L.Dense(128, activation="relu")(x))
    return keras.Model([atoms, bonds], L.Dense(12, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def epaulettes(case):
    """Whether two pictures show the same uniform: one encoder for both."""
    picture = keras.Input((105, 105, 1))
    x = L.Conv2D(48, 10, strides=2, activation="relu")(picture)
    x = L.MaxPooling2D()(x)
    x = L.Conv2D(96, 5, activation="relu", padding="same")(x)
    x = L.BatchNormalization()(x)
    x = L.MaxPooling2D()(x)
    x = L.SeparableConv2D(128, 3, activation="relu", padding="same")(x)
    x = L.SeparableConv2D(128, 3, activation="relu", padding="same")(x)
    x = L.Flatten()(x)
    encoder = keras.Model(picture, L.Dense(384, activation="sigmoid")(x), name="encoder")
    left = keras.Input((105, 105, 1), name="left")
    right = keras.Input((105, 105, 1), name="right")
    apart = L.Subtract()([encoder(left), encoder(right)])
    apart = L.Multiply()([apart, apart])
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(apart)), {"loss": "binary_crossentropy"}


def gantries(case):
    """A translator of 40 words: a GRU reads both ways, another writes and attends to what was read."""
    source = keras.Input((40,), dtype="int32", name="source")
    target = keras.Input((40,), dtype="int32", name="target")
    x = L.Embedding(18000, 192)(source)
    read = L.Bidirectional(L.GRU(160, return_sequences=True))(x)
    state = L.Dense(256, activation="tanh")(L.GlobalAveragePooling1D()(read))
    y = L.Embedding(14000, 192)(target)
    y = L.GRU(256, return_sequences=True)(y, initial_state=state)
    keys = L.Dense(256)(read)
    seen = L.Attention(use_scale=True)([y, keys])
    y = L.Concatenate()([y, seen])
    y = L.Dense(256, activation="tanh")(y)
    y = L.Dropout(0.2)(y)
    facts = {"classes": 14000, "highs": {"source": 18000, "target": 14000}}
    return keras.Model([source, target], L.Dense(14000, activation="softmax")(y)), facts
