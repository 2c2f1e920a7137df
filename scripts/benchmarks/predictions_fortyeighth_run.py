"""Models of predictions.py's forty-eighth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def conv_bn(x, width, size=3, strides=1, act="relu"):
    x = L.Conv2D(width, size, strides=strides, padding="same", use_bias=False)(x)
    x = L.BatchNormalization()(x)
    return L.Activation(act)(x) if act else x


def abbots(case):
    """Attention U-Net that segments aerial tiles into seven land covers."""
    tile = keras.Input((128, 128, 4), name="tile")
    x, skips = tile, []
    for width in (24, 48, 96):
        x = conv_bn(conv_bn(x, width), width)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.3)(conv_bn(conv_bn(x, 192), 192))
    for width, skip in zip((96, 48, 24), skips[::-1]):
        up = L.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
        gate = L.Add()([L.Conv2D(width // 2, 1)(up), L.Conv2D(width // 2, 1)(skip)])
        gate = L.Conv2D(1, 1, activation="sigmoid")(L.Activation("relu")(gate))
        x = L.Concatenate()([up, L.Multiply()([skip, gate])])
        x = conv_bn(conv_bn(x, width), width)
    return keras.Model(tile, L.Conv2D(7, 1)(x)), {"classes": 7, "logits": True}


def acolytes(case):
    """Flower classifier over a frozen ResNet50V2 whose last stage is trained."""
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(160, 160, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("conv5")
    photo = keras.Input((160, 160, 3), name="photo")
    x = L.Rescaling(1 / 127.5, offset=-1)(photo)
    x = L.GlobalAveragePooling2D()(base(x, training=False))
    x = L.Dropout(0.4)(L.Dense(256, activation="relu")(x))
    return keras.Model(photo, L.Dense(102, activation="softmax")(x)), {"classes": 102}


def adzes(case):
    """R(2+1)D network that names the action in a short clip."""
    clip = keras.Input((8, 64, 64, 3), name="clip")

    def factored(x, width, strides=1):
        x = L.Conv3D(width, (1, 3, 3), strides=(1, strides, strides), padding="same", use_bias=False)(x)
        x = L.ReLU()(L.BatchNormalization()(x))
        x = L.Conv3D(width, (3, 1, 1), strides=(strides, 1, 1), padding="same", use_bias=False)(x)
        return L.BatchNormalization()(x)

    x = L.ReLU()(factored(clip, 32))
    x = L.MaxPooling3D((1, 2, 2))(x)
    for width, strides in ((32, 1), (64, 2), (128, 2)):
        short = x
        y = L.ReLU()(factored(x, width, strides))
        y = factored(y, width)
        if strides > 1:
            short = L.BatchNormalization()(L.Conv3D(width, 1, strides=strides, padding="same", use_bias=False)(x))
        x = L.ReLU()(L.Add()([y, short]))
    x = L.Dropout(0.5)(L.GlobalAveragePooling3D()(x))
    return keras.Model(clip, L.Dense(51, activation="softmax")(x)), {"classes": 51}


def armadas(case):
    """Anchor detector of ships with a pyramid of three levels, boxes and scores."""
    scene = keras.Input((192, 192, 3), name="scene")
    x = conv_bn(scene, 24, strides=2)
    levels = []
    for width in (48, 96, 192, 256):
        x = conv_bn(x, width, strides=2, act="swish")
        y = conv_bn(conv_bn(x, width // 2, 1, act="swish"), width, act="swish")
        x = L.Add()([x, y])
        levels.append(x)
    top = L.Conv2D(96, 1)(levels[3])
    mid = L.Add()([L.UpSampling2D()(top), L.Conv2D(96, 1)(levels[2])])
    low = L.Add()([L.UpSampling2D()(mid), L.Conv2D(96, 1)(levels[1])])
    score_conv, score = L.Conv2D(96, 3, padding="same", activation="relu"), L.Conv2D(9, 3, padding="same", activation="sigmoid")
    box_conv, box = L.Conv2D(96, 3, padding="same", activation="relu"), L.Conv2D(36, 3, padding="same")
    scores = [L.Reshape((-1, 1))(score(score_conv(p))) for p in (low, mid, top)]
    boxes = [L.Reshape((-1, 4))(box(box_conv(p))) for p in (low, mid, top)]
    scores = L.Concatenate(axis=1, name="scores")(scores)
    boxes = L.Concatenate(axis=1, name="boxes")(boxes)
    return keras.Model(scene, [scores, boxes]), {"losses": ["binary_crossentropy", "huber"]}


def artisans(case):
    """Class-conditional generator of pictures of pottery from noise."""
    noise = keras.Input((128,), name="noise")
    kind = keras.Input((1,), dtype="int32", name="kind")
    label = L.Flatten()(L.Embedding(40, 64)(kind))
    x = L.Concatenate()([noise, label])
    x = L.Dense(4 * 4 * 384, use_bias=False)(x)
    x = L.Reshape((4, 4, 384))(L.LeakyReLU(0.2)(L.BatchNormalization()(x)))
    for width in (256, 128, 64):
        x = L.Conv2DTranspose(width, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    x = L.UpSampling2D(interpolation="bilinear")(x)
    x = L.LeakyReLU(0.2)(L.Conv2D(48, 3, padding="same")(x))
    return keras.Model([noise, kind], L.Conv2D(3, 3, padding="same", activation="tanh")(x)), {"loss": "mae", "highs": {"kind": 40}}


def atolls(case):
    """ConvLSTM nowcaster of rain radar frames."""
    radar = keras.Input((8, 48, 48, 1), name="radar")
    x = L.ConvLSTM2D(24, 5, padding="same", return_sequences=True)(radar)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(x)
    x = L.BatchNormalization()(x)
    x = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    return keras.Model(radar, L.Conv3D(1, 3, padding="same", activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def buffaloes(case):
    """Convolutional recurrent tagger of sound events over mel frames."""
    mel = keras.Input((240, 64, 1), name="mel")
    x = L.BatchNormalization(axis=2)(mel)
    for width, pool in ((32, (1, 4)), (64, (2, 2)), (128, (2, 2))):
        x = conv_bn(x, width)
        x = L.Dropout(0.2)(L.MaxPooling2D(pool)(x))
    x = L.Reshape((60, 4 * 128))(x)
    x = L.Bidirectional(L.GRU(96, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(64, return_sequences=True))(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    return keras.Model(mel, L.Dense(25, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def capstans(case):
    """WaveNet-like keyword spotter on raw sound."""
    wave = keras.Input((8000, 1), name="wave")
    x = L.Conv1D(32, 16, strides=4, padding="same")(wave)
    skips = []
    for rate in (1, 2, 4, 8, 16, 32, 64, 128):
        f = L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(x)
        g = L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        z = L.Multiply()([f, g])
        skips.append(L.Conv1D(48, 1)(z))
        x = L.Add()([x, L.Conv1D(32, 1)(z)])
    x = L.ReLU()(L.Add()(skips))
    x = L.AveragePooling1D(10)(L.Conv1D(64, 1, activation="relu")(x))
    x = L.Conv1D(96, 5, padding="same", activation="relu")(x)
    return keras.Model(wave, L.Dense(35, activation="softmax")(L.GlobalMaxPooling1D()(x))), {"classes": 35}


def carafes(case):
    """Volumetric encoder and decoder that labels tissue in scans."""
    scan = keras.Input((32, 32, 32, 2), name="scan")
    x, skips = scan, []
    for width in (16, 32, 64):
        for _ in range(2):
            x = L.Conv3D(width, 3, padding="same")(x)
            x = L.PReLU(shared_axes=[1, 2, 3])(L.LayerNormalization()(x))
        skips.append(x)
        x = L.Conv3D(width * 2, 2, strides=2, activation="relu")(x)
    x = L.SpatialDropout3D(0.2)(L.Conv3D(128, 3, padding="same", activation="relu")(x))
    for width, skip in zip((64, 32, 16), skips[::-1]):
        x = L.Conv3DTranspose(width, 2, strides=2)(x)
        x = L.Concatenate()([x, skip])
        x = L.Conv3D(width, 3, padding="same", activation="relu")(x)
    return keras.Model(scan, L.Conv3D(4, 1, activation="softmax")(x)), {"classes": 4}


class PlaceTable(L.Layer):
    """A learnt vector for every place of the sequence, added to it."""

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(1, shape[1], shape[2]), initializer="random_normal")
        super().build(shape)

    def call(self, x):
        return x + self.table


def catkins(case):
    """Small vision transformer over patches of leaves."""
    leaf = keras.Input((112, 112, 3), name="leaf")
    x = L.Conv2D(192, 8, strides=8)(leaf)
    x = PlaceTable()(L.Reshape((196, 192))(x))
    for _ in range(5):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(4, 48, dropout=0.1)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dropout(0.1)(L.Dense(576, activation="gelu")(y))
        x = L.Add()([x, L.Dense(192)(y)])
    x = L.GlobalAveragePooling1D()(L.LayerNormalization()(x))
    return keras.Model(leaf, L.Dense(185)(x)), {"classes": 185, "logits": True}


def dahlias(case):
    """EfficientNetV2B0 from scratch on thumbnails."""
    base = keras.applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(96, 96, 3), pooling="avg")
    x = L.Dropout(0.2)(base.output)
    return keras.Model(base.input, L.Dense(200, activation="softmax")(x)), {"classes": 200}


def decanters(case):
    """PointNet with an input transform that classifies scanned objects."""
    cloud = keras.Input((1024, 3), name="cloud")

    def point(x, width):
        return L.ReLU()(L.BatchNormalization(momentum=0.9)(L.Conv1D(width, 1)(x)))

    t = L.GlobalMaxPooling1D()(point(point(cloud, 32), 128))
    t = L.Dense(9, kernel_initializer="zeros", bias_initializer="ones")(L.Dense(64, activation="relu")(t))
    x = L.Dot(axes=(2, 1))([cloud, L.Reshape((3, 3))(t)])
    for width in (64, 64, 128, 512):
        x = point(x, width)
    x = L.GlobalMaxPooling1D()(x)
    x = L.Dropout(0.3)(L.Dense(256, activation="relu")(x))
    return keras.Model(cloud, L.Dense(40, activation="softmax")(x)), {"classes": 40}


def dragoons(case):
    """Causal transformer that predicts the next word piece of dispatches."""
    pieces = keras.Input((64,), dtype="int32", name="pieces")
    x = L.Embedding(12000, 160)(pieces)
    x = L.Add()([x, L.Conv1D(160, 3, padding="causal")(x)])
    for _ in range(3):
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(5, 32)(y, y, use_causal_mask=True)])
        y = L.Dense(640, activation="relu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Dropout(0.1)(L.Dense(160)(y))])
    return keras.Model(pieces, L.Dense(12000)(L.LayerNormalization()(x))), {"classes": 12000, "logits": True, "highs": {"pieces": 12000}}


def earwigs(case):
    """Podcast recommender with large tables of listeners and shows and a history."""
    listener = keras.Input((1,), dtype="int32", name="listener")
    show = keras.Input((1,), dtype="int32", name="show")
    past = keras.Input((20,), dtype="int32", name="past")
    context = keras.Input((16,), name="context")
    u = L.Flatten()(L.Embedding(90000, 48)(listener))
    shows = L.Embedding(40000, 48)
    s = L.Flatten()(shows(show))
    p = L.GlobalAveragePooling1D()(shows(past))
    x = L.Concatenate()([u, s, p, L.Multiply()([u, s]), context])
    for width in (256, 128):
        x = L.Dropout(0.2)(L.Dense(width, activation="relu")(x))
    played = L.Dense(1, activation="sigmoid")(x)
    highs = {"listener": 90000, "show": 40000, "past": 40000}
    return keras.Model([listener, show, past, context], played), {"loss": "binary_crossentropy", "highs": highs}


def egrets(case):
    """Siamese matcher of two pictures of birds."""
    one = keras.Input((80, 80, 3), name="one")
    two = keras.Input((80, 80, 3), name="two")
    inside = keras.Input((80, 80, 3))
    x = conv_bn(inside, 32, 5, 2)
    for width in (64, 96, 160):
        x = L.SeparableConv2D(width, 3, padding="same", activation="relu")(x)
        x = L.MaxPooling2D()(conv_bn(x, width))
    tower = keras.Model(inside, L.Dense(128)(L.Flatten()(x)), name="tower")
    a, b = tower(one), tower(two)
    d = L.Subtract()([a, b])
    x = L.Concatenate()([L.Multiply()([d, d]), L.Multiply()([a, b])])
    return keras.Model([one, two], L.Dense(1, activation="sigmoid")(L.Dense(64, activation="relu")(x))), {"loss": "binary_crossentropy"}


def fiddlers(case):
    """Stacked LSTM that forecasts load and its spread from hourly series."""
    hours = keras.Input((96, 20), name="hours")
    x = L.LSTM(160, return_sequences=True)(hours)
    x = L.LSTM(128, return_sequences=True, dropout=0.1)(x)
    x = L.LSTM(96)(x)
    load = L.Dense(24, name="load")(x)
    spread = L.Dense(24, activation="softplus", name="spread")(x)
    return keras.Model(hours, [load, spread]), {"losses": ["mse", "mae"]}


def gadgets(case):
    """Graph network by dense adjacency that rates molecules of parts."""
    nodes = keras.Input((60, 32), name="nodes")
    links = keras.Input((60, 60), name="links")
    x = L.Dense(128, activation="relu")(nodes)
    for _ in range(4):
        m = L.Dot(axes=(2, 1))([links, L.Dense(128)(x)])
        x = L.LayerNormalization()(L.Add()([x, L.ReLU()(m)]))
    x = L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)])
    return keras.Model([nodes, links], L.Dense(12)(L.Dense(128, activation="relu")(x))), {"loss": "mse"}
