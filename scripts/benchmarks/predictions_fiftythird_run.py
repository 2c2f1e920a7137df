"""Models of predictions.py's fifty-third set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def wisterias(case):
    """Flowers told apart by ResNet50V2, its stem and first two stages frozen."""
    picture = keras.Input((112, 112, 3), name="picture")
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(112, 112, 3))
    for layer in base.layers:
        if layer.name.startswith(("conv1", "conv2", "conv3")):
            layer.trainable = False
    x = L.Rescaling(1 / 127.5, offset=-1)(picture)
    x = base(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(picture, L.Dense(102, activation="softmax")(x)), {"classes": 102}


def sabres(case):
    """Blades sorted by EfficientNetV2B0 trained from scratch, after augmentation."""
    picture = keras.Input((128, 128, 3), name="picture")
    base = keras.applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(128, 128, 3), pooling="avg")
    x = L.RandomFlip("horizontal")(picture)
    x = L.RandomContrast(0.2)(x)
    x = base(x)
    x = L.Dropout(0.2)(x)
    return keras.Model(picture, L.Dense(40)(x)), {"classes": 40, "logits": True}


def noses(case):
    """A U-net with attention gates that cuts noses out of face scans."""

    def double(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return x

    def gate(skip, signal, filters):
        a = L.Conv2D(filters, 1)(skip)
        b = L.Conv2D(filters, 1)(signal)
        g = L.Activation("relu")(L.Add()([a, b]))
        g = L.Conv2D(1, 1, activation="sigmoid")(g)
        return L.Multiply()([skip, g])

    scan = keras.Input((128, 128, 1), name="scan")
    skips = []
    x = scan
    for filters in (24, 48, 96):
        x = double(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = double(x, 192)
    for filters, skip in zip((96, 48, 24), reversed(skips)):
        x = L.UpSampling2D(interpolation="bilinear")(x)
        x = L.Conv2D(filters, 2, padding="same", activation="relu")(x)
        x = double(L.Concatenate()([gate(skip, x, filters // 2), x]), filters)
    return keras.Model(scan, L.Conv2D(4, 1, activation="softmax")(x)), {"classes": 4}


def samovars(case):
    """A one-stage detector: a small residual trunk, a feature pyramid and shared heads for boxes and scores."""

    def block(x, filters, stride):
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride > 1 or x.shape[-1] != filters:
            x = L.BatchNormalization()(L.Conv2D(filters, 1, strides=stride, use_bias=False)(x))
        return L.ReLU()(L.Add()([x, y]))

    def head(outputs, values, levels):
        layers = [L.Conv2D(96, 3, padding="same", activation="relu"), L.Conv2D(96, 3, padding="same", activation="relu"),
                  L.Conv2D(outputs, 3, padding="same")]
        results = []
        for p in levels:
            for layer in layers:
                p = layer(p)
            results.append(L.Reshape((-1, values))(p))
        return results

    picture = keras.Input((160, 160, 3), name="picture")
    x = L.Conv2D(32, 7, strides=2, padding="same", activation="relu")(picture)
    x = L.MaxPooling2D(3, strides=2, padding="same")(x)
    c2 = block(x, 48, 1)
    c3 = block(block(c2, 96, 2), 96, 1)
    c4 = block(block(c3, 160, 2), 160, 1)
    c5 = block(c4, 256, 2)
    p5 = L.Conv2D(96, 1)(c5)
    p4 = L.Add()([L.Conv2D(96, 1)(c4), L.UpSampling2D()(p5)])
    p3 = L.Add()([L.Conv2D(96, 1)(c3), L.UpSampling2D()(p4)])
    levels = [L.Conv2D(96, 3, padding="same")(p) for p in (p3, p4, p5)]
    boxes = L.Concatenate(axis=1, name="boxes")(head(6 * 4, 4, levels))
    scores = L.Concatenate(axis=1)(head(6 * 15, 15, levels))
    scores = L.Activation("sigmoid", name="scores")(scores)
    return keras.Model(picture, [boxes, scores]), {"losses": ["huber", "binary_crossentropy"]}


def pinnacles(case):
    """Peaks of an electrocardiogram found by gated dilated causal convolutions, with the sum of the skips."""
    leads = keras.Input((1500, 12), name="leads")
    x = L.Conv1D(48, 5, padding="causal")(leads)
    skips = []
    for dilation in (1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32):
        t = L.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        s = L.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
        h = L.Multiply()([t, s])
        skips.append(L.Conv1D(64, 1)(h))
        x = L.Add()([x, L.Conv1D(48, 1)(h)])
    x = L.ReLU()(L.Add()(skips))
    x = L.Conv1D(64, 1, activation="relu")(x)
    return keras.Model(leads, L.Conv1D(6, 1, activation="softmax")(x)), {"classes": 6}


def sturgeons(case):
    """Fish passing a sluice: factored (2+1)-D convolutions over sixteen frames."""

    def factored(x, filters, stride=1):
        x = L.Conv3D(filters, (1, 3, 3), strides=(1, stride, stride), padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
        x = L.Conv3D(filters, (3, 1, 1), strides=(stride, 1, 1), padding="same", use_bias=False)(x)
        return L.BatchNormalization()(x)

    clip = keras.Input((16, 64, 64, 3), name="clip")
    x = L.Conv3D(24, (3, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(clip)
    for filters, stride in ((24, 1), (48, 2), (96, 2)):
        y = L.ReLU()(factored(x, filters, stride))
        y = factored(y, filters)
        if stride > 1:
            x = L.Conv3D(filters, 1, strides=stride)(x)
        x = L.ReLU()(L.Add()([x, y]))
    x = L.GlobalAveragePooling3D()(x)
    return keras.Model(clip, L.Dense(9, activation="softmax")(x)), {"classes": 9}


def thrushes(case):
    """Names tagged in field notes: words and their last letters through two bidirectional LSTMs."""
    words = keras.Input((60,), dtype="int32", name="words")
    letters = keras.Input((60, 8), dtype="int32", name="letters")
    w = L.Embedding(25000, 128)(words)
    c = L.Embedding(96, 24)(letters)
    c = L.TimeDistributed(L.Conv1D(48, 3, padding="same", activation="relu"))(c)
    c = L.TimeDistributed(L.GlobalMaxPooling1D())(c)
    x = L.SpatialDropout1D(0.2)(L.Concatenate()([w, c]))
    x = L.Bidirectional(L.LSTM(160, return_sequences=True))(x)
    x = L.Dropout(0.3)(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.Dense(96, activation="tanh")(x)
    return keras.Model([words, letters], L.Dense(17, activation="softmax")(x)), {
        "classes": 17, "highs": {"words": 25000, "letters": 96}}


def zephyrs(case):
    """Wind for the next day from a week of masts: GRU encoder, GRU decoder and attention between them."""
    past = keras.Input((168, 20), name="past")
    known = keras.Input((24, 6), name="known")
    x = L.Conv1D(64, 5, padding="causal", activation="relu")(past)
    x = L.GRU(192, return_sequences=True)(x)
    memory, state = L.GRU(192, return_sequences=True, return_state=True, dropout=0.1)(x)
    y = L.Concatenate()([L.RepeatVector(24)(state), known])
    y = L.GRU(192, return_sequences=True)(y, initial_state=state)
    context = L.AdditiveAttention()([y, memory])
    y = L.LayerNormalization()(L.Concatenate()([y, context]))
    y = L.Dense(128, activation="relu")(y)
    return keras.Model([past, known], L.Dense(4)(y)), {"loss": "mae"}


@keras.utils.register_keras_serializable(package="sedges")
class Places(L.Layer):
    """Adds a trained vector for each place of the sequence."""

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(shape[1], shape[2]), initializer="uniform")
        super().build(shape)

    def call(self, x):
        return x + self.table


def sedges(case):
    """A small language model of the decoder kind, trained to give the next piece of a word."""
    pieces = keras.Input((128,), dtype="int32", name="pieces")
    x = Places()(L.Embedding(8000, 192)(pieces))
    for _ in range(4):
        h = L.LayerNormalization(epsilon=1e-5)(x)
        h = L.MultiHeadAttention(6, 32, dropout=0.1)(h, h, use_causal_mask=True)
        x = L.Add()([x, h])
        h = L.LayerNormalization(epsilon=1e-5)(x)
        h = L.Dense(768, activation="gelu")(h)
        x = L.Add()([x, L.Dropout(0.1)(L.Dense(192)(h))])
    x = L.LayerNormalization(epsilon=1e-5)(x)
    return keras.Model(pieces, L.Dense(8000)(x)), {"classes": 8000, "logits": True, "highs": {"pieces": 8000}}


def rhinos(case):
    """Pairs of sentences judged by an encoder as BERT has it: tokens, segments and places are inputs."""
    tokens = keras.Input((96,), dtype="int32", name="tokens")
    segments = keras.Input((96,), dtype="int32", name="segments")
    places = keras.Input((96,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(42000, 256)(tokens), L.Embedding(2, 256)(segments), L.Embedding(96, 256)(places)])
    x = L.Dropout(0.1)(L.LayerNormalization()(x))
    for _ in range(4):
        h = L.MultiHeadAttention(8, 32, dropout=0.1)(x, x)
        x = L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(h)]))
        h = L.Dense(256)(L.Dense(1024, activation="gelu")(x))
        x = L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(h)]))
    first = L.Flatten()(L.Cropping1D((0, 95))(x))
    x = L.Dense(256, activation="tanh")(first)
    return keras.Model([tokens, segments, places], L.Dense(3, activation="softmax")(L.Dropout(0.1)(x))), {
        "classes": 3, "highs": {"tokens": 42000, "segments": 2, "places": 96}}


def peaches(case):
    """Clicks in a grocer's shop: embedding tables, their pairwise products and two towers of dense layers."""
    sizes = {"shopper": 180000, "article": 90000, "brand": 12000, "street": 30000}
    numbers = keras.Input((13,), name="numbers")
    inputs, vectors = [numbers], []
    x = numbers
    for units in (256, 64, 32):
        x = L.Dense(units, activation="relu")(x)
    vectors.append(L.Reshape((1, 32))(x))
    for name, size in sizes.items():
        key = keras.Input((1,), dtype="int32", name=name)
        inputs.append(key)
        vectors.append(L.Embedding(size, 32, name=name + "_table")(key))
    basket = keras.Input((20,), dtype="int32", name="basket")
    inputs.append(basket)
    bought = L.GlobalAveragePooling1D()(L.Embedding(90000, 32)(basket))
    vectors.append(L.Reshape((1, 32))(bought))
    stack = L.Concatenate(axis=1)(vectors)
    pairs = L.Flatten()(L.Dot(axes=2)([stack, stack]))
    y = L.Concatenate()([x, pairs])
    for units in (512, 256):
        y = L.Dropout(0.1)(L.Dense(units, activation="relu")(y))
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy", "highs": dict(sizes, basket=90000)}


def viols(case):
    """Whether two recordings come from one instrument: a shared encoder of spectrograms and a cosine."""
    encoder_in = keras.Input((128, 80, 1))
    x = encoder_in
    for filters in (32, 64, 96, 128):
        x = L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
        x = L.AveragePooling2D()(x)
    x = L.Flatten()(x)
    x = L.Dense(256, activation="relu")(x)
    encoder = keras.Model(encoder_in, L.Dense(128)(x), name="encoder")
    left = keras.Input((128, 80, 1), name="left")
    right = keras.Input((128, 80, 1), name="right")
    cosine = L.Dot(axes=1, normalize=True)([encoder(left), encoder(right)])
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(cosine)), {"loss": "mse"}


def partridges(case):
    """Camera-trap pictures cleaned of noise by a convolutional autoencoder with a narrow middle."""
    picture = keras.Input((96, 128, 3), name="picture")
    x = L.GaussianNoise(0.1)(picture)
    for filters in (32, 64, 128):
        x = L.Conv2D(filters, 3, strides=2, padding="same")(x)
        x = L.PReLU(shared_axes=[1, 2])(x)
        x = L.SpatialDropout2D(0.05)(x)
    x = L.Flatten()(x)
    x = L.Dense(128, name="code")(x)
    x = L.Dense(12 * 16 * 64, activation="elu")(x)
    x = L.Reshape((12, 16, 64))(x)
    for filters in (128, 64, 32):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same")(x)
        x = L.PReLU(shared_axes=[1, 2])(x)
    return keras.Model(picture, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x)), {"loss": "mae"}


def onyxes(case):
    """A generator of gem pictures from noise and a class, whose scale and shift come from the class."""
    noise = keras.Input((128,), name="noise")
    kind = keras.Input((1,), dtype="int32", name="kind")
    label = L.Flatten()(L.Embedding(30, 64)(kind))
    x = L.Dense(4 * 4 * 384)(L.Concatenate()([noise, label]))
    x = L.Reshape((4, 4, 384))(x)
    for filters in (256, 128, 64, 48):
        x = L.UpSampling2D()(x)
        x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(center=False, scale=False)(x)
        scale = L.Reshape((1, 1, filters))(L.Dense(filters, activation="softplus")(label))
        shift = L.Reshape((1, 1, filters))(L.Dense(filters)(label))
        x = L.Add()([L.Multiply()([x, scale]), shift])
        x = L.LeakyReLU()(x)
    return keras.Model([noise, kind], L.Conv2D(3, 5, padding="same", activation="tanh")(x)), {
        "loss": "mse", "highs": {"kind": 30}}


def squids(case):
    """Molecules as dense adjacency: three rounds of messages along four kinds of bonds, then a readout."""
    atoms = keras.Input((48,), dtype="int32", name="atoms")
    bonds = [keras.Input((48, 48), name="bond_%d" % i) for i in range(4)]
    h = L.Embedding(100, 96)(atoms)
    for _ in range(3):
        messages = [L.Dot(axes=(2, 1))([bond, L.Dense(96, use_bias=False)(h)]) for bond in bonds]
        m = L.Add()(messages + [L.Dense(96)(h)])
        m = L.ReLU()(L.LayerNormalization()(m))
        h = L.Add()([h, L.Dropout(0.1)(L.Dense(96)(m))])
    weight = L.Dense(192, activation="sigmoid")(h)
    value = L.Dense(192, activation="tanh")(h)
    total = L.GlobalAveragePooling1D()(L.Multiply()([weight, value]))
    x = L.Dense(256, activation="relu")(total)
    return keras.Model([atoms] + bonds, L.Dense(12)(x)), {"loss": "mse", "highs": {"atoms": 100}}


def plums(case):
    """Adverts of orchards: a picture, a title and some numbers give a sort, a grade and a region."""
    picture = keras.Input((96, 96, 3), name="picture")
    title = keras.Input((24,), dtype="int32", name="title")
    numbers = keras.Input((18,), name="numbers")
    x = picture
    for filters in (32, 64, 128, 192):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = L.BatchNormalization()(x)
        x = L.MaxPooling2D()(x)
    x = L.GlobalMaxPooling2D()(x)
    t = L.Embedding(20000, 96)(title)
    t = L.Concatenate()([L.GlobalMaxPooling1D()(L.Conv1D(64, k, activation="relu")(t)) for k in (2, 3, 4)])
    n = L.Dense(64, activation="selu")(L.BatchNormalization()(numbers))
    z = L.Dropout(0.4)(L.Dense(384, activation="relu")(L.Concatenate()([x, t, n])))
    outputs = [L.Dense(60, activation="softmax", name="sort")(z), L.Dense(5, activation="softmax", name="grade")(z),
               L.Dense(27, activation="softmax", name="region")(z)]
    return keras.Model([picture, title, numbers], outputs), {
        "highs": {"title": 20000}, "outs": {"sort": 60, "grade": 5, "region": 27}}


def tamarinds(case):
    """Monkeys told apart by an MLP-Mixer over patches of eight pixels."""
    picture = keras.Input((112, 112, 3), name="picture")
    x = L.Conv2D(192, 8, strides=8)(picture)
    x = L.Reshape((196, 192))(x)
    for _ in range(6):
        h = L.Permute((2, 1))(L.LayerNormalization()(x))
        h = L.Dense(196)(L.Dense(128, activation="gelu")(h))
        x = L.Add()([x, L.Permute((2, 1))(h)])
        h = L.Dense(640, activation="gelu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Dense(192)(h)])
    x = L.GlobalAveragePooling1D()(L.LayerNormalization()(x))
    return keras.Model(picture, L.Dense(35, activation="softmax")(x)), {"classes": 35}
