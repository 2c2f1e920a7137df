"""Models of predictions.py's fiftieth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def bullfrogs(case):
    """A DenseNet trained from scratch on photographs of amphibians."""
    base = keras.applications.DenseNet121(include_top=False, weights=None, input_shape=(96, 96, 3))
    photo = keras.Input((96, 96, 3), name="photo")
    x = base(photo)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(photo, L.Dense(48, activation="softmax", name="species")(x)), {"classes": 48}


def cormorants(case):
    """An EfficientNetV2 whose first blocks are frozen, fine-tuned for seabirds."""
    base = keras.applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(128, 128, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith(("block6", "top")) and not isinstance(layer, L.BatchNormalization)
    photo = keras.Input((128, 128, 3), name="photo")
    x = base(photo, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(256, activation="swish")(x)
    x = L.Dropout(0.4)(x)
    return keras.Model(photo, L.Dense(60, activation="softmax")(x)), {"classes": 60}


def dikes(case):
    """A U-Net with attention gates that marks flood defences on aerial tiles."""

    def double(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.ReLU()(x)
        return x

    def gate(skip, signal, filters):
        a = L.Conv2D(filters, 1)(skip)
        b = L.Conv2D(filters, 1)(signal)
        a = L.Activation("relu")(L.Add()([a, b]))
        a = L.Conv2D(1, 1, activation="sigmoid")(a)
        return L.Multiply()([skip, a])

    tile = keras.Input((128, 128, 4), name="tile")
    x, skips = tile, []
    for filters in (20, 40, 80):
        x = double(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = double(x, 160)
    x = L.SpatialDropout2D(0.2)(x)
    for filters, skip in zip((80, 40, 20), reversed(skips)):
        x = L.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = L.Concatenate()([gate(skip, x, filters // 2), x])
        x = double(x, filters)
    return keras.Model(tile, L.Conv2D(5, 1, activation="softmax")(x)), {"classes": 5}


def brewers(case):
    """Encoder and decoder LSTMs that forecast two days of a brewery's power from a week of readings."""
    week = keras.Input((168, 14), name="week")
    calendar = keras.Input((48, 6), name="calendar")
    x = L.LSTM(128, return_sequences=True)(week)
    x = L.Dropout(0.1)(x)
    x, h, c = L.LSTM(128, return_state=True)(x)
    ahead = L.Concatenate()([L.RepeatVector(48)(x), calendar])
    y = L.LSTM(128, return_sequences=True)(ahead, initial_state=[h, c])
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    return keras.Model([week, calendar], L.TimeDistributed(L.Dense(3))(y)), {"loss": "mse"}


def boutiques(case):
    """A shop's ranking net: large user and item tables, the last items seen and a few numbers."""
    user = keras.Input((1,), dtype="int32", name="user")
    item = keras.Input((1,), dtype="int32", name="item")
    history = keras.Input((30,), dtype="int32", name="history")
    numbers = keras.Input((18,), name="numbers")
    users = L.Embedding(150000, 32, name="users")
    items = L.Embedding(80000, 32, name="items")
    u = L.Flatten()(users(user))
    i = L.Flatten()(items(item))
    h = L.GlobalAveragePooling1D()(items(history))
    match = L.Dot(axes=1)([u, i])
    recent = L.Multiply()([h, i])
    n = L.BatchNormalization()(numbers)
    x = L.Concatenate()([u, i, h, recent, match, n])
    for units in (512, 256, 128):
        x = L.Dense(units, kernel_regularizer=keras.regularizers.l2(1e-6))(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(x)
        x = L.Dropout(0.2)(x)
    model = keras.Model([user, item, history, numbers], L.Dense(1, activation="sigmoid")(x))
    return model, {"loss": "binary_crossentropy", "highs": {"user": 150000, "item": 80000, "history": 80000}}


def chaffinches(case):
    """A residual net of separable 1-D convolutions that names birds from a second of raw sound."""
    wave = keras.Input((16000, 1), name="wave")
    x = L.Conv1D(32, 64, strides=4, padding="same", use_bias=False)(wave)
    x = L.BatchNormalization()(x)
    x = L.Activation("relu")(x)
    x = L.MaxPooling1D(2)(x)
    for filters in (48, 96, 192, 256):
        short = L.Conv1D(filters, 1, strides=2, padding="same")(x)
        x = L.SeparableConv1D(filters, 9, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(x)
        x = L.SeparableConv1D(filters, 9, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(L.Add()([x, short]))
    mean, top = L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)
    x = L.Dropout(0.3)(L.Concatenate()([mean, top]))
    return keras.Model(wave, L.Dense(88)(x)), {"classes": 88, "logits": True}


def admirals(case):
    """A detector of ships: a feature pyramid with shared heads for boxes and kinds at two scales."""

    def conv(x, filters, strides=1, size=3):
        x = L.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.97)(x)
        return L.LeakyReLU(0.1)(x)

    def stage(x, filters):
        x = conv(x, filters, 2)
        return L.Add()([x, conv(conv(x, filters // 2, size=1), filters)])

    image = keras.Input((160, 160, 3), name="image")
    x = conv(image, 16)
    x = stage(x, 32)
    x = stage(x, 64)
    c3 = stage(x, 128)
    c4 = stage(c3, 256)
    p4 = conv(c4, 96, size=1)
    p3 = L.Add()([conv(c3, 96, size=1), L.UpSampling2D()(p4)])
    p3 = conv(p3, 96)
    tower = [L.Conv2D(96, 3, padding="same", activation="relu") for _ in range(2)]
    box_head = L.Conv2D(3 * 4, 3, padding="same")
    kind_head = L.Conv2D(3 * 10, 3, padding="same", activation="sigmoid")
    boxes, kinds = [], []
    for level in (p3, p4):
        for layer in tower:
            level = layer(level)
        boxes.append(L.Reshape((-1, 4))(box_head(level)))
        kinds.append(L.Reshape((-1, 10))(kind_head(level)))
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    kinds = L.Concatenate(axis=1, name="kinds")(kinds)
    return keras.Model(image, [boxes, kinds]), {"losses": {"boxes": "huber", "kinds": "binary_crossentropy"}}


def dynamos(case):
    """A temporal convolutional net with dilations that predicts a generator's next readings."""
    readings = keras.Input((480, 10), name="readings")
    x = L.Conv1D(64, 1)(readings)
    for dilation in (1, 2, 4, 8, 16, 32):
        y = x
        for _ in range(2):
            y = L.Conv1D(64, 3, padding="causal", dilation_rate=dilation)(y)
            y = L.LayerNormalization()(y)
            y = L.Activation("relu")(y)
            y = L.SpatialDropout1D(0.1)(y)
        x = L.Add()([x, y])
    x = L.Conv1D(32, 1, activation="relu")(x)
    return keras.Model(readings, L.Conv1D(10, 1)(x)), {"loss": "mae"}


def flotillas(case):
    """Graph convolutions over a dense adjacency of vessels near each other, a kind for each vessel."""
    features = keras.Input((160, 24), name="features")
    adjacency = keras.Input((160, 160), name="adjacency")
    x = L.Dense(160)(features)
    for _ in range(4):
        near = L.Dot(axes=(2, 1))([adjacency, L.Dense(160, use_bias=False)(x)])
        own = L.Dense(160)(x)
        y = L.Add()([near, own])
        y = L.BatchNormalization()(y)
        y = L.Activation("elu")(y)
        y = L.Dropout(0.2)(y)
        x = L.Add()([x, y])
    whole = L.RepeatVector(160)(L.GlobalAveragePooling1D()(x))
    x = L.Dense(96, activation="relu")(L.Concatenate()([x, whole]))
    return keras.Model([features, adjacency], L.Dense(9, activation="softmax")(x)), {"classes": 9}


def downpours(case):
    """Stacked convolutional LSTMs that predict the next rain map from ten radar frames."""
    frames = keras.Input((10, 48, 48, 1), name="frames")
    x = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(frames)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(16, 3, padding="same", return_sequences=False)(x)
    x = L.BatchNormalization()(x)
    x = L.Conv2D(16, 3, padding="same", activation="relu")(x)
    return keras.Model(frames, L.Conv2D(1, 1, activation="sigmoid")(x)), {"loss": "mse"}


def minstrels(case):
    """Convolutions then bidirectional GRUs over a mel spectrogram, for an instrument and a musical key."""
    mels = keras.Input((256, 64, 1), name="mels")
    x = mels
    for filters, pool in ((32, (2, 2)), (64, (2, 2)), (96, (1, 2))):
        x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("elu")(x)
        x = L.MaxPooling2D(pool)(x)
        x = L.Dropout(0.1)(x)
    x = L.Reshape((64, 8 * 96))(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(64))(x)
    instrument = L.Dense(28, activation="softmax", name="instrument")(L.Dropout(0.3)(x))
    key = L.Dense(24, activation="softmax", name="key")(L.Dense(64, activation="relu")(x))
    return keras.Model(mels, [instrument, key]), {
        "losses": {"instrument": "sparse_categorical_crossentropy", "key": "sparse_categorical_crossentropy"},
        "outs": {"instrument": 28, "key": 24}}


@keras.utils.register_keras_serializable(package="fiftieth")
class TokensAndPlaces(L.Layer):
    """The sum of a token's and its place's embeddings."""

    def __init__(self, vocabulary, length, width, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary, self.length, self.width = vocabulary, length, width

    def build(self, shape):
        self.tokens = self.add_weight(name="tokens", shape=(self.vocabulary, self.width), initializer="uniform")
        self.places = self.add_weight(name="places", shape=(self.length, self.width), initializer="uniform")
        super().build(shape)

    def call(self, ids):
        return keras.ops.take(self.tokens, ids, axis=0) + self.places

    def compute_output_shape(self, shape):
        return tuple(shape) + (self.width,)

    def get_config(self):
        return {**super().get_config(), "vocabulary": self.vocabulary, "length": self.length, "width": self.width}


def barristers(case):
    """A transformer encoder that sorts the clauses of contracts."""
    clause = keras.Input((192,), dtype="int32", name="clause")
    x = TokensAndPlaces(30000, 192, 192)(clause)
    x = L.Dropout(0.1)(L.LayerNormalization(epsilon=1e-6)(x))
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(6, 32, dropout=0.1)(y, y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(768, activation="gelu")(y)
        y = L.Dropout(0.1)(L.Dense(192)(y))
        x = L.Add()([x, y])
    x = L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(x))
    x = L.Dense(192, activation="tanh")(x)
    return keras.Model(clause, L.Dense(41, activation="softmax")(x)), {"classes": 41, "highs": {"clause": 30000}}


def cairns(case):
    """A small 3-D U-Net that labels each voxel of a ground survey."""

    def double(x, filters):
        for _ in range(2):
            x = L.Conv3D(filters, 3, padding="same")(x)
            x = L.GroupNormalization(4)(x)
            x = L.Activation("relu")(x)
        return x

    block = keras.Input((32, 48, 48, 1), name="block")
    a = double(block, 8)
    b = double(L.MaxPooling3D()(a), 16)
    c = double(L.MaxPooling3D()(b), 32)
    x = L.Conv3DTranspose(16, 2, strides=2)(c)
    x = double(L.Concatenate()([x, b]), 16)
    x = L.UpSampling3D()(x)
    x = double(L.Concatenate()([x, a]), 8)
    return keras.Model(block, L.Conv3D(4, 1, activation="softmax")(x)), {"classes": 4}


def carpenters(case):
    """A siamese net that tells whether two photographs of wood come from one plank."""
    one = keras.Input((112, 112, 3), name="one")
    grain = one
    for filters in (32, 64, 96, 128):
        grain = L.Conv2D(filters, 3, padding="same", use_bias=False)(grain)
        grain = L.BatchNormalization()(grain)
        grain = L.Activation("relu")(grain)
        grain = L.MaxPooling2D()(grain)
    grain = L.Flatten()(grain)
    grain = L.Dense(192)(grain)
    encoder = keras.Model(one, L.UnitNormalization()(grain), name="encoder")
    left = keras.Input((112, 112, 3), name="left")
    right = keras.Input((112, 112, 3), name="right")
    a, b = encoder(left), encoder(right)
    apart = L.Subtract()([a, b])
    x = L.Concatenate()([L.Multiply()([apart, apart]), L.Multiply()([a, b])])
    x = L.Dense(64, activation="relu")(x)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def eiders(case):
    """A denoising autoencoder of feather close-ups with a narrow code."""
    patch = keras.Input((96, 96, 3), name="patch")
    x = L.GaussianNoise(0.1)(patch)
    for filters in (32, 64, 128):
        x = L.Conv2D(filters, 4, strides=2, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(negative_slope=0.2)(x)
    x = L.Flatten()(x)
    code = L.Dense(128, name="code")(x)
    x = L.Dense(12 * 12 * 128, activation="relu")(code)
    x = L.Reshape((12, 12, 128))(x)
    for filters in (128, 64, 32):
        x = L.UpSampling2D(interpolation="bilinear")(x)
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(negative_slope=0.2)(x)
    return keras.Model(patch, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x)), {"loss": "mse"}


def cicadas(case):
    """GRUs with attention that translate sentences, taught with the shifted target."""
    source = keras.Input((28,), dtype="int32", name="source")
    shifted = keras.Input((26,), dtype="int32", name="shifted")
    x = L.Embedding(9000, 160)(source)
    memory, forward, backward = L.Bidirectional(L.GRU(128, return_sequences=True, return_state=True))(x)
    state = L.Dense(256, activation="tanh")(L.Concatenate()([forward, backward]))
    y = L.Embedding(12000, 160)(shifted)
    y = L.GRU(256, return_sequences=True)(y, initial_state=state)
    context = L.AdditiveAttention()([y, memory])
    y = L.Dense(256, activation="tanh")(L.Concatenate()([y, context]))
    y = L.Dropout(0.2)(y)
    return keras.Model([source, shifted], L.Dense(12000)(y)), {
        "classes": 12000, "logits": True, "highs": {"source": 9000, "shifted": 12000}}


def gophers(case):
    """A conditional generator of 64 by 64 pictures from noise and a label, fitted to given pictures."""
    noise = keras.Input((100,), name="noise")
    label = keras.Input((1,), dtype="int32", name="label")
    tag = L.Flatten()(L.Embedding(1000, 50)(label))
    x = L.Concatenate()([noise, tag])
    x = L.Dense(4 * 4 * 384, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.Reshape((4, 4, 384))(x)
    for filters in (256, 128, 64):
        x = L.Conv2DTranspose(filters, 5, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
    x = L.Conv2DTranspose(3, 5, strides=2, padding="same", activation="tanh")(x)
    return keras.Model([noise, label], x), {"loss": "mae", "highs": {"label": 1000}}
