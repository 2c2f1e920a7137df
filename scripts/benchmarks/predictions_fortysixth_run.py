"""Models of predictions.py's forty-sixth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


# ---------------------------------------------------------------- medicine

def stethoscopes(case):
    """Murmurs in heart sounds: a 1-D residual net with squeeze and excitation on eight seconds at 2 kHz."""

    def excite(x, filters):
        s = L.GlobalAveragePooling1D()(x)
        s = L.Dense(filters // 8, activation="relu")(s)
        s = L.Dense(filters, activation="sigmoid")(s)
        return L.Multiply()([x, L.Reshape((1, filters))(s)])

    def block(x, filters, stride):
        short = x
        y = L.Conv1D(filters, 9, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Dropout(0.2)(y)
        y = L.Conv1D(filters, 9, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = excite(y, filters)
        if stride != 1 or x.shape[-1] != filters:
            short = L.Conv1D(filters, 1, strides=stride, use_bias=False, padding="same")(x)
            short = L.BatchNormalization()(short)
        return L.ReLU()(L.Add()([y, short]))

    sound = keras.Input((16000, 1), name="sound")
    x = L.Conv1D(32, 25, strides=4, padding="same", use_bias=False)(sound)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    x = L.MaxPooling1D(2)(x)
    for filters, stride in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (192, 2), (192, 1)):
        x = block(x, filters, stride)
    both = L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)])
    x = L.Dropout(0.4)(both)
    return keras.Model(sound, L.Dense(5, activation="softmax")(x)), {"classes": 5}


def retinas(case):
    """Grades of diabetic retinopathy: a DenseNet121 trained from scratch."""
    base = keras.applications.DenseNet121(include_top=False, weights=None, input_shape=(128, 128, 3))
    x = L.GlobalAveragePooling2D()(base.output)
    x = L.Dropout(0.3)(x)
    x = L.Dense(256, activation="relu")(x)
    return keras.Model(base.input, L.Dense(5, activation="softmax")(x)), {"classes": 5}


def mammograms(case):
    """Two views of one breast through one encoder, with the patient's record: density and finding."""

    def encoder():
        view = keras.Input((192, 128, 1))
        x = L.Rescaling(1.0 / 255)(view)
        for i, filters in enumerate((24, 48, 96, 160)):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            x = L.Conv2D(filters, 3, padding="same", use_bias=False, strides=2 if i else 1)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            if i == 0:
                x = L.MaxPooling2D(2)(x)
        x = L.GlobalAveragePooling2D()(x)
        return keras.Model(view, x, name="view_encoder")

    top = keras.Input((192, 128, 1), name="craniocaudal")
    side = keras.Input((192, 128, 1), name="oblique")
    record = keras.Input((9,), name="record")
    encode = encoder()
    a, b = encode(top), encode(side)
    r = L.Dense(32, activation="relu")(record)
    x = L.Concatenate()([L.Average()([a, b]), L.Maximum()([a, b]), r])
    x = L.Dense(128, activation="relu")(x)
    x = L.Dropout(0.5)(x)
    density = L.Dense(4, activation="softmax", name="density")(x)
    finding = L.Dense(3, activation="softmax", name="finding")(x)
    return keras.Model([top, side, record], [density, finding]), {"outs": {"density": 4, "finding": 3}}


def spleens(case):
    """Organs in CT volumes: a small 3-D U-Net."""

    def double(x, filters):
        for _ in range(2):
            x = L.Conv3D(filters, 3, padding="same")(x)
            x = L.BatchNormalization()(x)
            x = L.LeakyReLU()(x)
        return x

    volume = keras.Input((32, 48, 48, 1), name="volume")
    skips = []
    x = volume
    for filters in (12, 24, 48):
        x = double(x, filters)
        skips.append(x)
        x = L.MaxPooling3D(2)(x)
    x = double(x, 80)
    for filters, skip in zip((48, 24, 12), reversed(skips)):
        x = L.Conv3DTranspose(filters, 2, strides=2)(x)
        x = L.Concatenate()([skip, x])
        x = double(x, filters)
    return keras.Model(volume, L.Conv3D(4, 1, activation="softmax")(x)), {"classes": 4}


def polyps(case):
    """Polyps in colonoscopy: a U-Net with gates of attention on its skips."""

    def double(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return x

    def gate(skip, signal, filters):
        a = L.Conv2D(filters, 1)(skip)
        b = L.Conv2D(filters, 1)(signal)
        m = L.Activation("relu")(L.Add()([a, b]))
        m = L.Conv2D(1, 1, activation="sigmoid")(m)
        return L.Multiply()([skip, m])

    frame = keras.Input((128, 160, 3), name="frame")
    skips = []
    x = frame
    for filters in (16, 32, 64, 128):
        x = double(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.3)(double(x, 192))
    for filters, skip in zip((128, 64, 32, 16), reversed(skips)):
        x = L.UpSampling2D()(x)
        x = L.Conv2D(filters, 2, padding="same", activation="relu")(x)
        x = L.Concatenate()([gate(skip, x, filters // 2), x])
        x = double(x, filters)
    return keras.Model(frame, L.Conv2D(1, 1, activation="sigmoid", name="mask")(x)), {"loss": "binary_crossentropy"}


# ---------------------------------------------------------------- remote sensing

def deltas(case):
    """Land cover from ten bands and a height model: separable convolutions and a spatial pyramid of dilations."""

    def separable(x, filters, stride=1, rate=1):
        x = L.SeparableConv2D(filters, 3, strides=stride, dilation_rate=rate, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.Activation("relu")(x)

    bands = keras.Input((96, 96, 10), name="bands")
    heights = keras.Input((96, 96, 1), name="heights")
    h = L.Conv2D(8, 3, padding="same", activation="relu")(heights)
    x = L.Concatenate()([L.BatchNormalization()(bands), h])
    x = L.Conv2D(32, 3, padding="same", use_bias=False)(x)
    x = low = L.Activation("relu")(L.BatchNormalization()(x))
    for filters in (64, 128, 256):
        short = L.Conv2D(filters, 1, strides=2 if filters < 256 else 1, padding="same")(x)
        x = separable(x, filters, stride=2 if filters < 256 else 1)
        x = separable(x, filters)
        x = L.Add()([x, short])
    arms = [L.Conv2D(96, 1, activation="relu")(x)]
    arms += [separable(x, 96, rate=rate) for rate in (2, 4, 8)]
    whole = L.GlobalAveragePooling2D(keepdims=True)(x)
    whole = L.UpSampling2D(24)(L.Conv2D(96, 1, activation="relu")(whole))
    x = L.Concatenate()(arms + [whole])
    x = L.Dropout(0.2)(L.Conv2D(128, 1, activation="relu")(x))
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    x = L.Concatenate()([x, L.Conv2D(24, 1, activation="relu")(low)])
    x = separable(x, 64)
    return keras.Model([bands, heights], L.Conv2D(9, 1, activation="softmax")(x)), {"classes": 9}


def rooftops(case):
    """New buildings between two aerial pictures: a siamese encoder and squared differences, decoded."""
    filters = (16, 32, 64, 96)

    def encoder():
        tile = keras.Input((128, 128, 3))
        x, levels = tile, []
        for n in filters:
            x = L.Conv2D(n, 3, strides=1 if n == 16 else 2, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            x = L.Conv2D(n, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
            levels.append(x)
        return keras.Model(tile, levels, name="tile_encoder")

    before = keras.Input((128, 128, 3), name="before")
    after = keras.Input((128, 128, 3), name="after")
    encode = encoder()
    differences = []
    for a, b in zip(encode(before), encode(after)):
        d = L.Subtract()([a, b])
        differences.append(L.Multiply()([d, d]))
    x = differences[-1]
    for n, d in zip((64, 32, 16), reversed(differences[:-1])):
        x = L.Conv2DTranspose(n, 3, strides=2, padding="same", activation="relu")(x)
        x = L.Concatenate()([x, d])
        x = L.Conv2D(n, 3, padding="same", activation="relu")(x)
    return keras.Model([before, after], L.Conv2D(2, 1)(x)), {"classes": 2, "logits": True}


def paddies(case):
    """Crops from a year of satellite chips: a CNN on every date and attention over the dates."""
    chips = keras.Input((18, 32, 32, 6), name="chips")
    days = keras.Input((18,), dtype="int32", name="days")
    cnn = keras.Sequential([
        keras.Input((32, 32, 6)),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(128, 3, padding="same", activation="relu"),
        L.GlobalAveragePooling2D(),
    ], name="chip_cnn")
    x = L.TimeDistributed(cnn)(chips)
    x = L.Add()([x, L.Embedding(366, 128)(days)])
    for _ in range(2):
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(4, 32, dropout=0.1)(y, y)])
        y = L.LayerNormalization()(x)
        y = L.Dense(256, activation="gelu")(y)
        x = L.Add()([x, L.Dense(128)(y)])
    x = L.GlobalAveragePooling1D()(L.LayerNormalization()(x))
    return keras.Model([chips, days], L.Dense(15, activation="softmax")(x)), {"classes": 15, "highs": {"days": 366}}


def moraines(case):
    """Scenes from orbit: a head on a frozen EfficientNetB0."""
    base = keras.applications.EfficientNetB0(include_top=False, weights=None, input_shape=(160, 160, 3))
    base.trainable = False
    scene = keras.Input((160, 160, 3), name="scene")
    x = base(scene, training=False)
    x = L.Conv2D(256, 3, padding="same", use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.Activation("swish")(x)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(512, activation="relu")(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(scene, L.Dense(45, activation="softmax")(x)), {"classes": 45}


# ---------------------------------------------------------------- detection

def helicopters(case):
    """Aircraft as points: heat map, size and offset from a residual encoder and a decoder of transposed convolutions."""

    def residual(x, filters, stride):
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride > 1 or x.shape[-1] != filters:
            x = L.BatchNormalization()(L.Conv2D(filters, 1, strides=stride, use_bias=False)(x))
        return L.ReLU()(L.Add()([x, y]))

    def head(x, channels, name, activation=None):
        y = L.Conv2D(64, 3, padding="same", activation="relu")(x)
        return L.Conv2D(channels, 1, activation=activation, name=name)(y)

    picture = keras.Input((192, 192, 3), name="picture")
    x = L.ZeroPadding2D(3)(picture)
    x = L.Conv2D(32, 7, strides=2, use_bias=False)(x)
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.MaxPooling2D(3, strides=2, padding="same")(x)
    for filters, stride in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        x = residual(x, filters, stride)
    for filters in (128, 96, 64):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.ReLU()(L.BatchNormalization()(x))
    outputs = [head(x, 7, "heat", "sigmoid"), head(x, 2, "extent"), head(x, 2, "offset")]
    return keras.Model(picture, outputs), {"losses": {"heat": "binary_crossentropy", "extent": "mae", "offset": "mae"}}


def frigates(case):
    """Ships in radar pictures: a RetinaNet with its pyramid on a ResNet50, whose first stages are frozen."""
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(160, 160, 3))
    for layer in base.layers:
        if layer.name.startswith(("conv1", "conv2", "conv3")) or isinstance(layer, L.BatchNormalization):
            layer.trainable = False
    c3, c4, c5 = [base.get_layer(n).output for n in ("conv3_block4_out", "conv4_block6_out", "conv5_block3_out")]
    p5 = L.Conv2D(128, 1)(c5)
    p4 = L.Add()([L.UpSampling2D()(p5), L.Conv2D(128, 1)(c4)])
    p3 = L.Add()([L.UpSampling2D()(p4), L.Conv2D(128, 1)(c3)])
    levels = [L.Conv2D(128, 3, padding="same")(p) for p in (p3, p4, p5)]
    levels.append(L.Conv2D(128, 3, strides=2, padding="same")(levels[-1]))

    def tower(channels, activation, name):
        net = keras.Sequential([keras.Input((None, None, 128))], name=name)
        for _ in range(3):
            net.add(L.Conv2D(128, 3, padding="same", activation="relu"))
        net.add(L.Conv2D(channels, 3, padding="same", activation=activation))
        return net

    kinds, boxes = tower(9 * 4, "sigmoid", "kind_tower"), tower(9 * 4, None, "box_tower")
    sides = (20, 10, 5, 3)
    k = L.Concatenate(axis=1, name="kinds")([L.Reshape((s * s * 9, 4))(kinds(p)) for s, p in zip(sides, levels)])
    b = L.Concatenate(axis=1, name="boxes")([L.Reshape((s * s * 9, 4))(boxes(p)) for s, p in zip(sides, levels)])
    return keras.Model(base.input, [k, b]), {"losses": ["binary_crossentropy", "huber"]}


# ---------------------------------------------------------------- speech

def megaphones(case):
    """Letters by frame from spectrograms: convolutions and three bidirectional GRUs."""
    frames = keras.Input((320, 80), name="frames")
    x = L.Reshape((320, 80, 1))(frames)
    for kernel, stride in (((11, 41), (2, 2)), ((11, 21), (1, 2))):
        x = L.Conv2D(32, kernel, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU(max_value=20.0)(x)
    x = L.Reshape((160, 20 * 32))(x)
    for i in range(3):
        x = L.Bidirectional(L.GRU(160, return_sequences=True), merge_mode="sum" if i < 2 else "concat")(x)
        x = L.BatchNormalization()(x)
    x = L.Dense(320, activation="relu")(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(frames, L.Dense(29, activation="softmax")(x)), {"classes": 29}


def stutters(case):
    """Disfluencies of speech: conformer blocks on log-mel frames, two heads."""
    width = 144

    def feed_forward(x):
        y = L.LayerNormalization()(x)
        y = L.Dense(4 * width, activation="swish")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(width)(y)
        return L.Add()([x, L.Rescaling(0.5)(y)])

    def convolution(x):
        y = L.LayerNormalization()(x)
        y = L.Multiply()([L.Dense(width)(y), L.Dense(width, activation="sigmoid")(y)])
        y = L.DepthwiseConv1D(15, padding="same")(y)
        y = L.BatchNormalization()(y)
        y = L.Activation("swish")(y)
        y = L.Dropout(0.1)(L.Dense(width)(y))
        return L.Add()([x, y])

    mel = keras.Input((300, 80), name="mel")
    x = L.Reshape((300, 80, 1))(mel)
    x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    x = L.Conv2D(32, 3, strides=(1, 2), padding="same", activation="relu")(x)
    x = L.Reshape((150, 640))(x)
    x = L.Dense(width)(x)
    for _ in range(4):
        x = feed_forward(x)
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(4, width // 4, dropout=0.1)(y, y)])
        x = convolution(x)
        x = feed_forward(x)
        x = L.LayerNormalization()(x)
    frame = L.Dense(6, activation="softmax", name="frame")(x)
    clip = L.Dense(3, activation="softmax", name="fluency")(L.GlobalAveragePooling1D()(x))
    return keras.Model(mel, [frame, clip]), {"outs": {"frame": 6, "fluency": 3}}


# ---------------------------------------------------------------- generators

def mannequins(case):
    """Pictures of clothes from noise and a category: the generator of a conditional DCGAN."""
    noise = keras.Input((128,), name="noise")
    kind = keras.Input((1,), dtype="int32", name="kind")
    k = L.Flatten()(L.Embedding(50, 64)(kind))
    x = L.Concatenate()([noise, k])
    x = L.Dense(6 * 6 * 384, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.LeakyReLU()(x)
    x = L.Reshape((6, 6, 384))(x)
    for filters in (256, 128, 64, 32):
        x = L.Conv2DTranspose(filters, 5, strides=2, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
    x = L.Conv2D(3, 5, padding="same", activation="tanh")(x)
    return keras.Model([noise, kind], x), {"loss": "mse", "highs": {"kind": 50}}


def frescoes(case):
    """Restored paintings from damaged ones: a pix2pix generator with group normalization."""

    def down(x, filters, normal=True):
        x = L.Conv2D(filters, 4, strides=2, padding="same", use_bias=not normal)(x)
        if normal:
            x = L.GroupNormalization(groups=8)(x)
        return L.LeakyReLU()(x)

    def up(x, filters, drop=False):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.GroupNormalization(groups=8)(x)
        if drop:
            x = L.Dropout(0.5)(x)
        return L.ReLU()(x)

    damaged = keras.Input((192, 192, 3), name="damaged")
    x, skips = damaged, []
    for i, filters in enumerate((48, 96, 192, 320, 320)):
        x = down(x, filters, i > 0)
        skips.append(x)
    for i, (filters, skip) in enumerate(zip((320, 192, 96, 48), reversed(skips[:-1]))):
        x = L.Concatenate()([up(x, filters, i < 2), skip])
    x = L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x)
    return keras.Model(damaged, x), {"loss": "mae"}


# ---------------------------------------------------------------- the rest

@keras.utils.register_keras_serializable(package="codicils")
class WordAndPlace(L.Layer):
    """The sum of a word's vector and its place's."""

    def __init__(self, words, length, width, **rest):
        super().__init__(**rest)
        self.words, self.length, self.width = words, length, width

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(self.words, self.width), initializer="uniform")
        self.places = self.add_weight(name="places", shape=(self.length, self.width), initializer="uniform")
        super().build(shape)

    def call(self, ids):
        return tf.gather(self.table, ids) + self.places

    def compute_output_shape(self, shape):
        return tuple(shape) + (self.width,)

    def get_config(self):
        return {**super().get_config(), "words": self.words, "length": self.length, "width": self.width}


def codicils(case):
    """Clauses of wills sorted: a transformer encoder on 32,000 word pieces."""
    ids = keras.Input((256,), dtype="int32", name="ids")
    x = WordAndPlace(32000, 256, 128)(ids)
    x = L.Dropout(0.1)(x)
    for _ in range(3):
        y = L.MultiHeadAttention(4, 32, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dropout(0.1)(y)]))
        y = L.Dense(512, activation="gelu")(x)
        y = L.Dense(128)(y)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dropout(0.1)(y)]))
    x = L.GlobalAveragePooling1D()(x)
    x = L.Dense(128, activation="tanh")(x)
    return keras.Model(ids, L.Dense(24, activation="softmax")(x)), {"classes": 24, "highs": {"ids": 32000}}


def troves(case):
    """Which antique a collector clicks on: two towers over large tables, with the collector's history."""
    collector = keras.Input((1,), dtype="int32", name="collector")
    history = keras.Input((40,), dtype="int32", name="history")
    antique = keras.Input((1,), dtype="int32", name="antique")
    context = keras.Input((14,), name="context")
    antiques = L.Embedding(120000, 48, mask_zero=True, name="antiques")
    c = L.Flatten()(L.Embedding(250000, 32, name="collectors")(collector))
    h = L.GlobalAveragePooling1D()(antiques(history))
    a = L.GlobalAveragePooling1D()(antiques(antique))
    u = L.Concatenate()([c, h, context])
    for units in (256, 128):
        u = L.Dense(units, activation="relu")(u)
    u = L.Dense(64)(u)
    i = L.Dense(64)(L.Dense(128, activation="relu")(a))
    match = L.Dot(axes=1, normalize=True)([u, i])
    deep = L.Dense(64, activation="relu")(L.Concatenate()([u, i, L.Multiply()([u, i]), match]))
    return keras.Model([collector, history, antique, context], L.Dense(1, activation="sigmoid")(deep)), {
        "loss": "binary_crossentropy", "highs": {"collector": 250000, "history": 120000, "antique": 120000}}


def hulls(case):
    """Two days of a hull's drag from two weeks of readings: stacked LSTMs as encoder and decoder."""
    past = keras.Input((336, 12), name="past")
    hull = keras.Input((8,), name="hull")
    x = L.LSTM(96, return_sequences=True)(past)
    x = L.Dropout(0.2)(x)
    x, h, c = L.LSTM(96, return_state=True)(x)
    s = L.Concatenate()([x, L.Dense(32, activation="relu")(hull)])
    y = L.RepeatVector(48)(s)
    y = L.LSTM(96, return_sequences=True)(y, initial_state=[h, c])
    y = L.TimeDistributed(L.Dense(64, activation="relu"))(y)
    return keras.Model([past, hull], L.TimeDistributed(L.Dense(3))(y)), {"loss": "mse"}


def ligands(case):
    """Twelve assays of a molecule: graph convolutions over dense adjacency, gated read-out."""
    atoms = keras.Input((64, 40), name="atoms")
    bonds = keras.Input((64, 64), name="bonds")
    x = L.Dense(128)(atoms)
    for _ in range(4):
        near = L.Dot(axes=(2, 1))([bonds, x])
        y = L.Add()([L.Dense(128)(near), L.Dense(128)(x)])
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
    g = L.Multiply()([L.Dense(256, activation="sigmoid")(x), L.Dense(256, activation="tanh")(x)])
    g = L.Concatenate()([L.GlobalAveragePooling1D()(g), L.GlobalMaxPooling1D()(g)])
    g = L.Dense(128, activation="relu")(g)
    return keras.Model([atoms, bonds], L.Dense(12, activation="sigmoid")(g)), {"loss": "binary_crossentropy"}
