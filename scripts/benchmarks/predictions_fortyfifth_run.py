"""Models of predictions.py's forty-fifth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def gannets(case):
    """A small BERT pretrained by masked words, with token, position and segment ids as inputs."""
    length, width, vocabulary = 80, 192, 12000
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    positions = keras.Input((length,), dtype="int32", name="positions")
    segments = keras.Input((length,), dtype="int32", name="segments")
    x = L.Add()([
        L.Embedding(vocabulary, width, name="token_table")(tokens),
        L.Embedding(length, width, name="position_table")(positions),
        L.Embedding(2, width, name="segment_table")(segments),
    ])
    x = L.Dropout(0.1)(L.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(4):
        y = L.MultiHeadAttention(4, width // 4, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
        y = L.Dense(4 * width, activation="gelu")(x)
        y = L.Dense(width)(y)
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
    x = L.LayerNormalization(epsilon=1e-12)(L.Dense(width, activation="gelu")(x))
    logits = L.Dense(vocabulary, name="words")(x)
    return keras.Model([tokens, positions, segments], logits), {
        "classes": vocabulary, "logits": True,
        "highs": {"tokens": vocabulary, "positions": length, "segments": 2}}


def curlews(case):
    """Two towers that match a user and the user's recent items with a candidate item."""
    users, items = 250000, 80000
    user = keras.Input((1,), dtype="int32", name="user")
    recent = keras.Input((20,), dtype="int32", name="recent")
    context = keras.Input((12,), name="context")
    item = keras.Input((1,), dtype="int32", name="item")
    price = keras.Input((4,), name="price")
    item_table = L.Embedding(items, 32, name="item_table")
    u = L.Concatenate()([
        L.Flatten()(L.Embedding(users, 32, name="user_table")(user)),
        L.GlobalAveragePooling1D()(item_table(recent)),
        context,
    ])
    i = L.Concatenate()([L.Flatten()(item_table(item)), price])
    for units in (256, 128):
        u = L.Dense(units, activation="relu")(u)
        i = L.Dense(units, activation="relu")(i)
    u = L.Dense(64, name="user_vector")(u)
    i = L.Dense(64, name="item_vector")(i)
    match = L.Dot(axes=1, normalize=True)([u, i])
    return keras.Model([user, recent, context, item, price], L.Dense(1, activation="sigmoid")(match)), {
        "loss": "binary_crossentropy", "highs": {"user": users, "recent": items, "item": items}}


def kippers(case):
    """A GRU over a shop session that tells the next item at each click."""
    items = 30000
    clicks = keras.Input((20,), dtype="int32", name="clicks")
    x = L.Embedding(items, 64)(clicks)
    x = L.SpatialDropout1D(0.2)(x)
    x = L.GRU(128, return_sequences=True)(x)
    x = L.GRU(100, return_sequences=True)(x)
    x = L.Dense(96, activation="tanh")(x)
    return keras.Model(clicks, L.Dense(items, activation="softmax")(x)), {
        "classes": items, "highs": {"clicks": items}}


def tassels(case):
    """Multi-gate mixture of experts for a feed: click, like and the time watched."""
    highs = {"viewer": 200000, "video": 50000, "author": 20000, "hour": 24}
    ids = [keras.Input((1,), dtype="int32", name=name) for name in highs]
    numbers = keras.Input((30,), name="numbers")
    parts = [L.Flatten()(L.Embedding(high, 8 if high < 100 else 24, name=name + "_table")(one))
             for one, (name, high) in zip(ids, highs.items())]
    x = L.Concatenate()(parts + [L.BatchNormalization()(numbers)])
    experts = []
    for _ in range(6):
        y = L.Dense(256, activation="relu")(x)
        y = L.Dense(128, activation="relu")(y)
        experts.append(L.Reshape((1, 128))(y))
    experts = L.Concatenate(axis=1)(experts)
    outputs = []
    for name, activation in (("click", "sigmoid"), ("like", "sigmoid"), ("watched", "softplus")):
        gate = L.Reshape((1, 6))(L.Dense(6, activation="softmax")(x))
        y = L.Flatten()(L.Dot(axes=(2, 1))([gate, experts]))
        y = L.Dropout(0.2)(L.Dense(64, activation="relu")(y))
        outputs.append(L.Dense(1, activation=activation, name=name)(y))
    return keras.Model(ids + [numbers], outputs), {
        "losses": ["binary_crossentropy", "binary_crossentropy", "mse"], "highs": highs}


def spinnakers(case):
    """N-BEATS: stacked dense blocks that each explain a part of the past and add to the forecast."""
    past = keras.Input((168,), name="past")
    rest, forecast = past, None
    for _ in range(10):
        x = rest
        for _ in range(4):
            x = L.Dense(512, activation="relu")(x)
        back = L.Dense(168)(L.Dense(32, use_bias=False)(x))
        ahead = L.Dense(24)(L.Dense(32, use_bias=False)(x))
        rest = L.Subtract()([rest, back])
        forecast = ahead if forecast is None else L.Add()([forecast, ahead])
    return keras.Model(past, forecast), {"loss": "mae"}


def pipits(case):
    """A forecaster of energy demand: LSTM encoder and decoder, gates, attention to the past, three quantiles."""
    past = keras.Input((168, 16), name="past")
    ahead = keras.Input((48, 6), name="ahead")
    site = keras.Input((1,), dtype="int32", name="site")
    width = 96

    def gated(x, skip):
        x = L.Dropout(0.1)(x)
        y = L.Multiply()([L.Dense(width)(x), L.Dense(width, activation="sigmoid")(x)])
        return L.LayerNormalization()(L.Add()([skip, y]))

    where = L.Flatten()(L.Embedding(370, 32)(site))
    hidden = L.Dense(width, activation="elu")(where)
    cell = L.Dense(width, activation="elu")(where)
    seen = L.Dense(width)(past)
    known = L.Dense(width)(ahead)
    x, h, c = L.LSTM(width, return_sequences=True, return_state=True)(seen, initial_state=[hidden, cell])
    x = gated(x, seen)
    y = L.LSTM(width, return_sequences=True)(known, initial_state=[h, c])
    y = gated(y, known)
    z = L.MultiHeadAttention(4, 24, dropout=0.1)(y, x)
    z = gated(z, y)
    w = L.Dense(width)(L.Dense(width, activation="elu")(z))
    z = gated(w, z)
    return keras.Model([past, ahead, site], L.Dense(3, name="quantiles")(z)), {
        "loss": "mae", "highs": {"site": 370}}


def trestles(case):
    """Translation with a two-way LSTM encoder, an LSTM decoder and additive attention."""
    source = keras.Input((32,), dtype="int32", name="source")
    target = keras.Input((30,), dtype="int32", name="target")
    x = L.Embedding(6000, 192)(source)
    x, fh, fc, bh, bc = L.Bidirectional(L.LSTM(128, return_sequences=True, return_state=True))(x)
    h = L.Concatenate()([fh, bh])
    c = L.Concatenate()([fc, bc])
    y = L.Embedding(7000, 192)(target)
    y = L.LSTM(256, return_sequences=True)(y, initial_state=[h, c])
    y = L.Dropout(0.3)(y)
    seen = L.AdditiveAttention()([y, x])
    y = L.Dense(256, activation="tanh")(L.Concatenate()([y, seen]))
    return keras.Model([source, target], L.Dense(7000, activation="softmax")(y)), {
        "classes": 7000, "highs": {"source": 6000, "target": 7000}}


def minnows(case):
    """A graph net on molecules by dense adjacency of four bond kinds: properties and toxicity tests."""
    atoms = keras.Input((40,), dtype="int32", name="atoms")
    charges = keras.Input((40, 6), name="charges")
    bonds = [keras.Input((40, 40), name="bond_%d" % k) for k in range(4)]
    x = L.Concatenate()([L.Embedding(100, 64)(atoms), charges])
    x = L.Dense(128)(x)
    for _ in range(4):
        messages = [L.Dot(axes=(2, 1))([bond, L.Dense(128, use_bias=False)(x)]) for bond in bonds]
        y = L.Add()(messages + [L.Dense(128)(x)])
        y = L.Activation("relu")(L.BatchNormalization()(y))
        x = L.Add()([x, y])
    weight = L.Dense(128, activation="sigmoid")(x)
    x = L.GlobalAveragePooling1D()(L.Multiply()([weight, L.Dense(128, activation="tanh")(x)]))
    x = L.Dropout(0.2)(L.Dense(256, activation="relu")(x))
    properties = L.Dense(12, name="properties")(L.Dense(128, activation="relu")(x))
    toxicity = L.Dense(12, activation="sigmoid", name="toxicity")(L.Dense(128, activation="relu")(x))
    return keras.Model([atoms, charges] + bonds, [properties, toxicity]), {
        "losses": ["mse", "binary_crossentropy"], "highs": {"atoms": 100}}


def oxbows(case):
    """Rain nowcast: two ConvLSTM layers over six radar frames and a convolutional head."""
    frames = keras.Input((6, 48, 48, 3), name="frames")
    x = L.ConvLSTM2D(32, 3, padding="same", return_sequences=True)(frames)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(24, 3, padding="same")(x)
    x = L.BatchNormalization()(x)
    x = L.Conv2D(32, 3, padding="same", activation="relu")(x)
    return keras.Model(frames, L.Conv2D(4, 1, activation="relu", name="rain")(x)), {"loss": "mse"}


def escarpments(case):
    """Camera traps: a frozen ResNet50V2 with heads for species, age and behaviour."""
    picture = keras.Input((128, 128, 3), name="picture")
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(128, 128, 3))
    base.trainable = False
    x = L.Rescaling(2.0, offset=-1.0)(picture)
    x = base(x, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.3)(L.Dense(512, activation="relu")(x))
    outs = {"species": 54, "age": 4, "behaviour": 9}
    heads = [L.Dense(n, activation="softmax", name=name)(L.Dense(128, activation="relu")(x))
             for name, n in outs.items()]
    return keras.Model(picture, heads), {"outs": outs}


def crumpets(case):
    """EfficientNetV2-B0 from scratch on small pictures of 40 pastry kinds."""
    picture = keras.Input((96, 96, 3), name="picture")
    base = keras.applications.EfficientNetV2B0(
        include_top=False, weights=None, include_preprocessing=False, input_shape=(96, 96, 3), pooling="avg")
    x = L.RandomFlip("horizontal")(picture)
    x = base(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(picture, L.Dense(40, activation="softmax")(x)), {"classes": 40}


def sconces(case):
    """A U-Net with attention gates that labels land cover in eight-band satellite tiles."""
    tile = keras.Input((128, 128, 8), name="tile")

    def pair(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(x)
            x = L.ReLU()(L.BatchNormalization()(x))
        return x

    x, skips = tile, []
    for filters in (16, 32, 64, 96):
        x = pair(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = pair(x, 128)
    for filters, skip in zip((96, 64, 32, 16), skips[::-1]):
        x = L.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        gate = L.Add()([L.Conv2D(filters // 2, 1)(x), L.Conv2D(filters // 2, 1)(skip)])
        gate = L.Conv2D(1, 1, activation="sigmoid")(L.ReLU()(gate))
        x = pair(L.Concatenate()([x, L.Multiply()([skip, gate])]), filters)
    return keras.Model(tile, L.Conv2D(10, 1, activation="softmax")(x)), {"classes": 10}


def haversacks(case):
    """Spoken commands from one second of raw sound: strided 1-D convolutions and a two-way GRU."""
    wave = keras.Input((16000, 1), name="wave")
    x = wave
    for filters, kernel, stride in ((32, 80, 4), (48, 9, 4), (64, 9, 2), (96, 5, 2), (128, 3, 2)):
        x = L.Conv1D(filters, kernel, strides=stride, padding="same", use_bias=False)(x)
        x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.MaxPooling1D(2)(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    x = L.Concatenate()([L.GlobalMaxPooling1D()(x), L.GlobalAveragePooling1D()(x)])
    x = L.Dropout(0.4)(x)
    return keras.Model(wave, L.Dense(35, activation="softmax")(x)), {"classes": 35}


def pomelos(case):
    """ESIM for entailment: two sentences aligned word by word, over frozen word vectors."""
    premise = keras.Input((40,), dtype="int32", name="premise")
    hypothesis = keras.Input((36,), dtype="int32", name="hypothesis")
    words = L.Embedding(60000, 100, trainable=False, name="vectors")
    encoder = L.Bidirectional(L.LSTM(96, return_sequences=True), name="encoder")
    composer = L.Bidirectional(L.LSTM(96, return_sequences=True), name="composer")
    project = L.Dense(96, activation="relu", name="project")
    a, b = encoder(words(premise)), encoder(words(hypothesis))
    scores = L.Dot(axes=2)([a, b])
    a_sees = L.Dot(axes=(2, 1))([L.Softmax(axis=2)(scores), b])
    b_sees = L.Dot(axes=(1, 1))([L.Softmax(axis=1)(scores), a])
    pooled = []
    for own, seen in ((a, a_sees), (b, b_sees)):
        x = L.Concatenate()([own, seen, L.Subtract()([own, seen]), L.Multiply()([own, seen])])
        x = composer(L.Dropout(0.3)(project(x)))
        pooled += [L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)]
    x = L.Dropout(0.5)(L.Concatenate()(pooled))
    x = L.Dense(128, activation="tanh")(x)
    return keras.Model([premise, hypothesis], L.Dense(3, activation="softmax")(x)), {
        "classes": 3, "highs": {"premise": 60000, "hypothesis": 60000}}


@keras.utils.register_keras_serializable(package="fortyfifth")
class Placed(L.Layer):
    """Token vectors plus a learned vector for each place."""

    def __init__(self, vocabulary, length, width, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary, self.length, self.width = vocabulary, length, width
        self.words = L.Embedding(vocabulary, width)

    def build(self, shape):
        self.words.build(shape)
        self.places = self.add_weight(name="places", shape=(self.length, self.width), initializer="random_normal")
        super().build(shape)

    def call(self, tokens):
        return self.words(tokens) + self.places

    def compute_output_shape(self, shape):
        return tuple(shape) + (self.width,)

    def get_config(self):
        return {**super().get_config(), "vocabulary": self.vocabulary, "length": self.length, "width": self.width}


def rapiers(case):
    """A small GPT with pre-normalised causal blocks over a vocabulary of 16,000."""
    tokens = keras.Input((96,), dtype="int32", name="tokens")
    x = Placed(16000, 96, 256)(tokens)
    for _ in range(3):
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.MultiHeadAttention(8, 32)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-5)(x)
        y = L.Dense(256)(L.Dense(1024, activation="gelu")(y))
        x = L.Add()([x, L.Dropout(0.1)(y)])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    return keras.Model(tokens, L.Dense(16000, use_bias=False)(x)), {
        "classes": 16000, "logits": True, "highs": {"tokens": 16000}}


def whelks(case):
    """Binding strength of a ligand from a voxel grid of the pocket, by a 3-D residual net."""
    pocket = keras.Input((24, 24, 24, 8), name="pocket")
    x = L.Conv3D(24, 3, padding="same", use_bias=False)(pocket)
    x = L.ReLU()(L.BatchNormalization()(x))
    for filters, stride in ((24, 1), (48, 2), (96, 2)):
        y = L.Conv3D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Conv3D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride > 1:
            x = L.Conv3D(filters, 1, strides=stride, use_bias=False)(x)
        x = L.ReLU()(L.Add()([x, y]))
    x = L.GlobalAveragePooling3D()(x)
    x = L.Dropout(0.3)(L.Dense(128, activation="relu")(x))
    return keras.Model(pocket, L.Dense(1, name="affinity")(x)), {"loss": "mse"}


def yarrows(case):
    """A denoising autoencoder of gene expression in single cells, told the donor."""
    genes = keras.Input((6000,), name="genes")
    donor = keras.Input((1,), dtype="int32", name="donor")
    who = L.Flatten()(L.Embedding(64, 16)(donor))
    x = L.Dropout(0.2)(genes)
    for units in (768, 256):
        x = L.Dense(units, use_bias=False)(x)
        x = L.ELU()(L.BatchNormalization()(x))
    code = L.Dense(64, name="code")(x)
    x = L.Concatenate()([code, who])
    for units in (256, 768):
        x = L.Dense(units, use_bias=False)(x)
        x = L.ELU()(L.BatchNormalization()(x))
    return keras.Model([genes, donor], L.Dense(6000, activation="softplus", name="counts")(x)), {
        "loss": "mse", "highs": {"donor": 64}}


def firkins(case):
    """A one-stage detector with a feature pyramid: boxes and labels of six anchors at three scales."""
    picture = keras.Input((160, 160, 3), name="picture")

    def unit(x, filters, stride=1):
        x = L.SeparableConv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        return L.LeakyReLU(0.1)(L.BatchNormalization()(x))

    x = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(picture)
    x = L.LeakyReLU(0.1)(L.BatchNormalization()(x))
    levels = []
    for filters in (48, 96, 144, 192):
        x = unit(x, filters, 2)
        x = L.Add()([x, unit(unit(x, filters // 2), filters)])
        levels.append(x)
    top = L.Conv2D(96, 1)(levels[3])
    middle = L.Add()([L.UpSampling2D()(top), L.Conv2D(96, 1)(levels[2])])
    low = L.Add()([L.UpSampling2D()(middle), L.Conv2D(96, 1)(levels[1])])
    box_head = L.Conv2D(6 * 4, 3, padding="same", name="box_head")
    label_head = L.Conv2D(6 * 20, 3, padding="same", activation="sigmoid", name="label_head")
    boxes, labels = [], []
    for level in (low, middle, top):
        y = L.Conv2D(96, 3, padding="same", activation="relu")(level)
        boxes.append(L.Reshape((-1, 4))(box_head(y)))
        labels.append(L.Reshape((-1, 20))(label_head(y)))
    return keras.Model(picture, [L.Concatenate(axis=1, name="boxes")(boxes),
                                 L.Concatenate(axis=1, name="labels")(labels)]), {
        "losses": ["huber", "binary_crossentropy"]}
