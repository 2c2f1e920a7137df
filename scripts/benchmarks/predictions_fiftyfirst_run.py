"""Models of predictions.py's fifty-first set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def pavilions(case):
    """Styles of exhibition buildings by a DenseNet-121 trained from scratch."""
    base = keras.applications.DenseNet121(include_top=False, weights=None,
                                          input_shape=(96, 96, 3), pooling="avg")
    picture = keras.Input((96, 96, 3), name="picture")
    x = L.Rescaling(1 / 127.5, offset=-1.0)(picture)
    x = base(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(picture, L.Dense(18, activation="softmax", name="style")(x)), {"classes": 18}


def silos(case):
    """Kinds of farm buildings: a ResNet50V2 of which only the last stage is tuned."""
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(128, 128, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("conv5")
    picture = keras.Input((128, 128, 3), name="picture")
    x = L.RandomFlip("horizontal")(picture)
    x = base(x, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(256, activation="relu")(x)
    x = L.Dropout(0.4)(x)
    return keras.Model(picture, L.Dense(9, activation="softmax")(x)), {"classes": 9}


def wolves(case):
    """Animals cut out of camera-trap pictures: a U-Net whose skips pass attention gates."""
    def block(x, filters):
        short = L.Conv2D(filters, 1, padding="same", use_bias=False)(x)
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return L.Add()([x, short])

    def gate(skip, deep, filters):
        a = L.Conv2D(filters, 1, strides=2)(skip)
        b = L.Conv2D(filters, 1)(deep)
        g = L.Activation("relu")(L.Add()([a, b]))
        g = L.Conv2D(1, 1, activation="sigmoid")(g)
        g = L.UpSampling2D(2, interpolation="bilinear")(g)
        return L.Multiply()([skip, g])

    picture = keras.Input((128, 128, 3), name="picture")
    x = picture
    skips = []
    for filters in (16, 32, 64):
        x = block(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = block(x, 128)
    x = L.Dropout(0.2)(x)
    for filters, skip in zip((64, 32, 16), reversed(skips)):
        kept = gate(skip, x, filters // 2)
        x = L.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = block(L.Concatenate()([x, kept]), filters)
    return keras.Model(picture, L.Conv2D(5, 1, activation="softmax", name="mask")(x)), {"classes": 5}


def rooks(case):
    """Chess pieces found on a board: an anchor-based detector over a feature pyramid."""
    kinds, anchors = 12, 6

    def conv(x, filters, size=3, strides=1):
        x = L.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.LeakyReLU(0.1)(x)

    board = keras.Input((192, 192, 3), name="board")
    x = conv(board, 16, strides=2)
    x = conv(x, 32, strides=2)
    levels = []
    for filters in (64, 128, 192):
        x = conv(x, filters, strides=2)
        for _ in range(2):
            y = conv(x, filters // 2, 1)
            y = conv(y, filters)
            x = L.Add()([x, y])
        levels.append(x)
    tops = [L.Conv2D(96, 1, padding="same")(level) for level in levels]
    p5 = tops[2]
    p4 = L.Add()([tops[1], L.UpSampling2D(2)(p5)])
    p3 = L.Add()([tops[0], L.UpSampling2D(2)(p4)])
    tower = [L.SeparableConv2D(96, 3, padding="same", activation="relu") for _ in range(2)]
    score_head = L.Conv2D(anchors * kinds, 3, padding="same", activation="sigmoid")
    box_head = L.Conv2D(anchors * 4, 3, padding="same")
    scores, boxes = [], []
    for level in (p3, p4, p5):
        for layer in tower:
            level = layer(level)
        scores.append(L.Reshape((-1, kinds))(score_head(level)))
        boxes.append(L.Reshape((-1, 4))(box_head(level)))
    scores = L.Concatenate(axis=1, name="scores")(scores)
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    return keras.Model(board, [scores, boxes]), {"losses": {"scores": "binary_crossentropy", "boxes": "huber"}}


def swans(case):
    """Next sample of bird song: gated dilated causal convolutions in the manner of WaveNet."""
    wave = keras.Input((2048, 1), name="wave")
    x = L.Conv1D(40, 2, padding="causal")(wave)
    skips = []
    for _ in range(2):
        for power in range(8):
            a = L.Conv1D(40, 2, padding="causal", dilation_rate=2 ** power, activation="tanh")(x)
            b = L.Conv1D(40, 2, padding="causal", dilation_rate=2 ** power, activation="sigmoid")(x)
            z = L.Multiply()([a, b])
            skips.append(L.Conv1D(64, 1)(z))
            x = L.Add()([x, L.Conv1D(40, 1)(z)])
    x = L.Activation("relu")(L.Add()(skips))
    x = L.Conv1D(128, 1, activation="relu")(x)
    return keras.Model(wave, L.Conv1D(256, 1, activation="softmax")(x)), {"classes": 256}


def prisms(case):
    """Grades of crystals from tomography volumes by a small 3-D residual net."""
    def unit(x, filters, strides):
        short = L.Conv3D(filters, 1, strides=strides, use_bias=False)(x)
        y = L.Conv3D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv3D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.ReLU()(L.Add()([short, y]))

    volume = keras.Input((32, 64, 64, 1), name="volume")
    x = L.Conv3D(16, 3, padding="same", use_bias=False)(volume)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.MaxPooling3D(2)(x)
    x = unit(x, 24, 1)
    x = unit(x, 48, 2)
    x = unit(x, 96, 2)
    x = L.GlobalAveragePooling3D()(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(volume, L.Dense(4, activation="softmax")(x)), {"classes": 4}


def tomatoes(case):
    """Ingredients, amounts and tools tagged in recipes: two stacked bidirectional LSTMs over words."""
    words = keras.Input((80,), dtype="int32", name="words")
    x = L.Embedding(30000, 128, mask_zero=True)(words)
    x = L.SpatialDropout1D(0.2)(x)
    x = L.Bidirectional(L.LSTM(128, return_sequences=True))(x)
    x = L.Dropout(0.3)(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    tags = L.TimeDistributed(L.Dense(17, activation="softmax"), name="tags")(x)
    return keras.Model(words, tags), {"classes": 17, "highs": {"words": 30000}}


def rubies(case):
    """Electricity load of the next day: a GRU encoder and decoder with attention over the last week."""
    past = keras.Input((168, 14), name="past")
    known = keras.Input((24, 7), name="known")
    x = L.LayerNormalization()(past)
    x = L.GRU(96, return_sequences=True)(x)
    memory, state = L.GRU(96, return_sequences=True, return_state=True)(x)
    y = L.Dense(32, activation="relu")(known)
    y = L.GRU(96, return_sequences=True)(y, initial_state=state)
    context = L.Attention()([y, memory])
    y = L.Concatenate()([y, context])
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    y = L.Dropout(0.1)(y)
    return keras.Model([past, known], L.TimeDistributed(L.Dense(3), name="quantiles")(y)), {"loss": "mse"}


def storks(case):
    """Radar pictures of migrating flocks continued by stacked convolutional LSTMs."""
    frames = keras.Input((10, 48, 48, 1), name="frames")
    x = L.ConvLSTM2D(16, 5, padding="same", return_sequences=True)(frames)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    x = L.BatchNormalization()(x)
    x = L.Conv3D(1, 3, padding="same", activation="sigmoid", name="next")(x)
    return keras.Model(frames, x), {"loss": "binary_crossentropy"}


@keras.utils.register_keras_serializable(package="fiftyfirst")
class PlacedTokens(L.Layer):
    """Embeddings of tokens plus learned embeddings of their places."""

    def __init__(self, vocabulary, length, width, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary, self.length, self.width = vocabulary, length, width

    def build(self, shape):
        self.tokens = self.add_weight(name="tokens", shape=(self.vocabulary, self.width), initializer="uniform")
        self.places = self.add_weight(name="places", shape=(self.length, self.width), initializer="uniform")
        super().build(shape)

    def call(self, ids):
        return tf.gather(self.tokens, ids) + self.places

    def compute_output_shape(self, shape):
        return (*shape, self.width)

    def get_config(self):
        return {**super().get_config(), "vocabulary": self.vocabulary, "length": self.length, "width": self.width}


def portholes(case):
    """Masked words of ship logs: a small BERT with a head over the whole vocabulary."""
    vocabulary, length, width = 28000, 96, 128
    ids = keras.Input((length,), dtype="int32", name="ids")
    x = PlacedTokens(vocabulary, length, width)(ids)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.Dropout(0.1)(x)
    for _ in range(4):
        a = L.MultiHeadAttention(4, width // 4, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dropout(0.1)(a)]))
        f = L.Dense(4 * width, activation="gelu")(x)
        f = L.Dense(width)(f)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dropout(0.1)(f)]))
    x = L.Dense(width, activation="gelu")(x)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(ids, L.Dense(vocabulary, name="word")(x)), {
        "classes": vocabulary, "logits": True, "highs": {"ids": vocabulary}}


def spindles(case):
    """Tales continued piece by piece: a causal decoder whose places come from a depthwise convolution."""
    vocabulary, width = 5000, 192
    pieces = keras.Input((128,), dtype="int32", name="pieces")
    x = L.Embedding(vocabulary, width)(pieces)
    p = L.ZeroPadding1D((3, 0))(x)
    x = L.Add()([x, L.DepthwiseConv1D(4)(p)])
    for _ in range(4):
        h = L.LayerNormalization()(x)
        h = L.MultiHeadAttention(6, 32)(h, h, use_causal_mask=True)
        x = L.Add()([x, L.Dropout(0.1)(h)])
        h = L.LayerNormalization()(x)
        gate = L.Dense(512, activation="swish", use_bias=False)(h)
        h = L.Multiply()([gate, L.Dense(512, use_bias=False)(h)])
        x = L.Add()([x, L.Dense(width, use_bias=False)(h)])
    x = L.LayerNormalization()(x)
    return keras.Model(pieces, L.Dense(vocabulary, use_bias=False)(x)), {
        "classes": vocabulary, "logits": True, "highs": {"pieces": vocabulary}}


def overalls(case):
    """Clicks on workwear in a shop: large tables of users and items, a history and products of pairs."""
    user = keras.Input((1,), dtype="int32", name="user")
    item = keras.Input((1,), dtype="int32", name="item")
    brand = keras.Input((1,), dtype="int32", name="brand")
    history = keras.Input((20,), dtype="int32", name="history")
    numbers = keras.Input((13,), name="numbers")
    items = L.Embedding(90000, 32, name="items")
    u = L.Flatten()(L.Embedding(320000, 32, name="users")(user))
    i = L.Flatten()(items(item))
    b = L.Flatten()(L.Embedding(6000, 32, name="brands")(brand))
    h = L.GlobalAveragePooling1D()(items(history))
    n = L.Dense(128, activation="relu")(L.BatchNormalization()(numbers))
    n = L.Dense(32, activation="relu")(n)
    fields = [u, i, b, h, n]
    pairs = [L.Dot(axes=1)([fields[k], fields[j]]) for k in range(5) for j in range(k)]
    x = L.Concatenate()(fields + pairs)
    for units in (256, 128, 64):
        x = L.Dense(units, activation="relu")(x)
        x = L.Dropout(0.1)(x)
    click = L.Dense(1, activation="sigmoid", name="click")(x)
    return keras.Model([user, item, brand, history, numbers], click), {
        "loss": "binary_crossentropy",
        "highs": {"user": 320000, "item": 90000, "brand": 6000, "history": 90000}}


def skates(case):
    """Whether two pictures show the same fish by its spots: a siamese net with one shared tower."""
    picture = keras.Input((112, 112, 3))
    x = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(picture)
    for filters, strides in ((48, 1), (96, 2), (96, 1), (160, 2), (160, 1)):
        y = L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU(6.0)(y)
        y = L.Conv2D(filters, 1, use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.ReLU(6.0)(y)
        x = L.Add()([x, y]) if strides == 1 and x.shape[-1] == filters else y
    x = L.GlobalMaxPooling2D()(x)
    x = L.Dense(128)(x)
    tower = keras.Model(picture, x, name="tower")
    left = keras.Input((112, 112, 3), name="left")
    right = keras.Input((112, 112, 3), name="right")
    a, b = tower(left), tower(right)
    gap = L.Subtract()([a, b])
    gap = L.Multiply()([gap, gap])
    x = L.Dense(32, activation="relu")(L.Concatenate()([gap, L.Multiply()([a, b])]))
    return keras.Model([left, right], L.Dense(1, activation="sigmoid", name="same")(x)), {"loss": "binary_crossentropy"}


def nibs(case):
    """Handwritten letters drawn from noise and a letter's number: a conditional generator."""
    noise = keras.Input((100,), name="noise")
    letter = keras.Input((1,), dtype="int32", name="letter")
    e = L.Flatten()(L.Embedding(62, 50)(letter))
    x = L.Concatenate()([noise, e])
    x = L.Dense(8 * 8 * 256, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.LeakyReLU(0.2)(x)
    x = L.Reshape((8, 8, 256))(x)
    for filters in (128, 64):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(0.2)(x)
    x = L.UpSampling2D(2)(x)
    x = L.Conv2D(32, 3, padding="same", use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.LeakyReLU(0.2)(x)
    return keras.Model([noise, letter], L.Conv2D(1, 5, padding="same", activation="tanh", name="drawing")(x)), {
        "loss": "mae", "highs": {"letter": 62}}


def oaks(case):
    """Roles of trees in a wood: attention weighed by a dense matrix of neighbours, layer on layer."""
    nodes = keras.Input((256, 48), name="nodes")
    near = keras.Input((256, 256), name="near")
    x = L.Dense(96, activation="relu")(nodes)
    for _ in range(3):
        query, key, value = L.Dense(48)(x), L.Dense(48)(x), L.Dense(96)(x)
        scores = L.Dot(axes=(2, 2))([query, key])
        scores = L.LeakyReLU(0.2)(scores)
        weights = L.Softmax()(scores)
        weights = L.Multiply()([weights, near])
        weights = L.Dropout(0.1)(weights)
        y = L.Dot(axes=(2, 1))([weights, value])
        y = L.Dense(96, activation="elu")(y)
        x = L.LayerNormalization()(L.Add()([x, y]))
    x = L.Dense(64, activation="relu")(x)
    return keras.Model([nodes, near], L.Dense(7, activation="softmax", name="role")(x)), {"classes": 7}


def tubas(case):
    """Genre and leading instrument of band recordings: convolutions over mel bands, then GRUs."""
    mel = keras.Input((128, 64, 1), name="mel")
    x = L.BatchNormalization()(mel)
    for filters, pool in ((32, (2, 2)), (64, (2, 2)), (96, (1, 4))):
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.ELU()(x)
        x = L.MaxPooling2D(pool)(x)
        x = L.Dropout(0.1)(x)
    x = L.Reshape((32, 4 * 96))(x)
    x = L.Bidirectional(L.GRU(64, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(64))(x)
    x = L.Dropout(0.3)(x)
    genre = L.Dense(10, activation="softmax", name="genre")(x)
    instrument = L.Dense(24, activation="softmax", name="instrument")(x)
    return keras.Model(mel, [genre, instrument]), {"outs": {"genre": 10, "instrument": 24}}


def pinwheels(case):
    """Toys sorted by a vision transformer with a convolutional stem."""
    width = 192
    picture = keras.Input((96, 96, 3), name="picture")
    x = L.Conv2D(48, 3, strides=2, padding="same", activation="gelu")(picture)
    x = L.Conv2D(96, 3, strides=2, padding="same", activation="gelu")(x)
    x = L.Conv2D(width, 2, strides=2)(x)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((144, width))(x)
    for _ in range(5):
        h = L.LayerNormalization(epsilon=1e-6)(x)
        h = L.MultiHeadAttention(3, 64)(h, h)
        x = L.Add()([x, h])
        h = L.LayerNormalization(epsilon=1e-6)(x)
        h = L.Dense(3 * width, activation="gelu")(h)
        h = L.Dropout(0.1)(h)
        h = L.Dense(width)(h)
        x = L.Add()([x, h])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(picture, L.Dense(40, activation="softmax")(x)), {"classes": 40}
