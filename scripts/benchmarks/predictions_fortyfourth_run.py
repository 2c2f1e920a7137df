"""Models of predictions.py's forty-fourth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def crevasses(case):
    """An attention U-Net that marks cracks and snow bridges in drone pictures of a glacier."""

    def block(x, filters):
        for _ in range(2):
            x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return x

    def attend(skip, signal, filters):
        theta = L.Conv2D(filters, 1)(skip)
        phi = L.Conv2D(filters, 1)(signal)
        mask = L.Activation("relu")(L.Add()([theta, phi]))
        mask = L.Conv2D(1, 1, activation="sigmoid")(mask)
        return L.Multiply()([skip, mask])

    picture = keras.Input((128, 128, 3), name="picture")
    x = L.Rescaling(1.0 / 127.5, offset=-1.0)(picture)
    skips = []
    for filters in (16, 32, 64, 128):
        x = block(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = block(x, 192)
    x = L.Dropout(0.3)(x)
    for filters, skip in zip((128, 64, 32, 16), reversed(skips)):
        x = L.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = L.Concatenate()([attend(skip, x, filters // 2), x])
        x = block(x, filters)
    return keras.Model(picture, L.Conv2D(3, 1, activation="softmax")(x)), {"classes": 3}


def geodes(case):
    """Minerals told apart on photos by a DenseNet trained from scratch."""
    base = keras.applications.DenseNet121(weights=None, include_top=False, input_shape=(96, 96, 3))
    x = L.GlobalAveragePooling2D()(base.output)
    x = L.Dropout(0.4)(x)
    return keras.Model(base.input, L.Dense(86)(x)), {"classes": 86, "logits": True}


def ocarinas(case):
    """Sound events in ten seconds of a mel spectrogram: a convolutional recurrent net, a tag a frame."""
    mel = keras.Input((240, 64, 1), name="mel")
    x = L.BatchNormalization()(mel)
    for filters, pool in ((48, 4), (64, 4), (64, 2)):
        x = L.Conv2D(filters, 3, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
        x = L.MaxPooling2D((1, pool))(x)
        x = L.SpatialDropout2D(0.1)(x)
    x = L.Reshape((240, 128))(x)
    x = L.Bidirectional(L.GRU(64, return_sequences=True, dropout=0.1))(x)
    x = L.Bidirectional(L.GRU(48, return_sequences=True), merge_mode="mul")(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    return keras.Model(mel, L.TimeDistributed(L.Dense(14, activation="sigmoid"))(x)), {"loss": "binary_crossentropy"}


def holograms(case):
    """A residual V-Net that labels four tissues in a crop of a CT volume."""

    def unit(x, filters, convs):
        short = x if x.shape[-1] == filters else L.Conv3D(filters, 1)(x)
        for _ in range(convs):
            x = L.Conv3D(filters, 3, padding="same")(x)
            x = L.LayerNormalization()(x)
            x = L.PReLU(shared_axes=[1, 2, 3])(x)
        return L.Add()([x, short])

    volume = keras.Input((24, 48, 48, 1), name="volume")
    a = unit(volume, 12, 1)
    x = L.Conv3D(24, 2, strides=2)(a)
    b = unit(x, 24, 2)
    x = L.Conv3D(48, 2, strides=2)(b)
    c = unit(x, 48, 2)
    x = L.Conv3D(96, 2, strides=2)(c)
    x = unit(x, 96, 2)
    for filters, skip, convs in ((48, c, 2), (24, b, 2), (12, a, 1)):
        x = L.Conv3DTranspose(filters, 2, strides=2)(x)
        x = unit(L.Concatenate()([x, skip]), filters, convs)
    return keras.Model(volume, L.Conv3D(4, 1, activation="softmax")(x)), {"classes": 4}


@keras.utils.register_keras_serializable("kaleidoscopes")
class Sampling(L.Layer):
    """Draws a latent by the reparameterization trick and adds the divergence to the losses."""

    def __init__(self, weight=1e-3, **kwargs):
        super().__init__(**kwargs)
        self.weight = weight
        self.seeds = keras.random.SeedGenerator(7)

    def call(self, inputs):
        mean, log_var = inputs
        ops = keras.ops
        self.add_loss(-0.5 * self.weight * ops.mean(ops.sum(1.0 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)))
        noise = keras.random.normal(ops.shape(mean), seed=self.seeds)
        return mean + ops.exp(0.5 * log_var) * noise

    def compute_output_shape(self, shapes):
        return shapes[0]

    def get_config(self):
        return {**super().get_config(), "weight": self.weight}


def kaleidoscopes(case):
    """A convolutional variational autoencoder of ornaments (Keras 3)."""
    picture = keras.Input((64, 64, 3), name="picture")
    x = picture
    for filters in (32, 64, 128, 256):
        x = L.Conv2D(filters, 4, strides=2, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(0.2)(x)
    x = L.Flatten()(x)
    mean, log_var = L.Dense(128, name="mean")(x), L.Dense(128, name="log_var")(x)
    z = Sampling(name="z")([mean, log_var])
    x = L.Dense(4 * 4 * 256, activation="relu")(z)
    x = L.Reshape((4, 4, 256))(x)
    for filters in (128, 64, 32, 16):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same")(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU(0.2)(x)
    return keras.Model(picture, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x)), {"loss": "mse"}


def terrapins(case):
    """A one-stage detector of turtles on beaches: inverted residuals, a feature pyramid and shared heads."""

    def inverted(x, filters, stride, grow):
        short = x
        y = L.Conv2D(x.shape[-1] * grow, 1, use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.ReLU(6.0)(y)
        y = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.ReLU(6.0)(y)
        y = L.Conv2D(filters, 1, use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.Add()([short, y]) if stride == 1 and short.shape[-1] == filters else y

    picture = keras.Input((192, 192, 3), name="picture")
    x = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(picture)
    x = L.BatchNormalization()(x)
    x = L.ReLU(6.0)(x)
    x = inverted(x, 24, 2, 3)
    x = inverted(x, 24, 1, 4)
    levels = []
    for filters, repeats in ((40, 3), (80, 3), (128, 2)):
        x = inverted(x, filters, 2, 4)
        for _ in range(repeats - 1):
            x = inverted(x, filters, 1, 4)
        levels.append(x)
    lateral = [L.Conv2D(64, 1, padding="same")(level) for level in levels]
    top = lateral[-1]
    pyramid = [top]
    for level in reversed(lateral[:-1]):
        top = L.Add()([level, L.UpSampling2D(interpolation="nearest")(top)])
        pyramid.append(L.SeparableConv2D(64, 3, padding="same")(top))
    towers = {"boxes": 4, "scores": 8}
    found = {}
    for name, width in towers.items():
        first = L.Conv2D(64, 3, padding="same", activation="relu")
        second = L.Conv2D(64, 3, padding="same", activation="relu")
        last = L.Conv2D(6 * width, 3, padding="same")
        flat = [L.Reshape((-1, width))(last(second(first(level)))) for level in pyramid]
        found[name] = L.Concatenate(axis=1, name=name + "_all")(flat)
    boxes = L.Activation("linear", name="boxes")(found["boxes"])
    scores = L.Activation("sigmoid", name="scores")(found["scores"])
    return keras.Model(picture, [boxes, scores]), {"losses": {"boxes": "huber", "scores": "binary_crossentropy"}}


def okapis(case):
    """Animal calls told by their raw waveform: a WaveNet-like stack of gated dilated convolutions."""
    wave = keras.Input((8192, 1), name="wave")
    x = L.Conv1D(48, 16, strides=8, padding="same", activation="relu")(wave)
    skips = []
    for depth in range(10):
        rate = 2 ** (depth % 5)
        tanh = L.Conv1D(48, 3, padding="causal", dilation_rate=rate, activation="tanh")(x)
        gate = L.Conv1D(48, 3, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        both = L.Multiply()([tanh, gate])
        skips.append(L.Conv1D(64, 1)(both))
        x = L.Add()([x, L.Conv1D(48, 1)(both)])
    x = L.Activation("relu")(L.Add()(skips))
    x = L.Conv1D(128, 8, strides=4, padding="same", activation="relu")(x)
    x = L.Conv1D(128, 8, strides=4, padding="same", activation="relu")(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(wave, L.Dense(50, activation="softmax")(x)), {"classes": 50}


def foghorns(case):
    """A spectrogram transformer for harbour sounds, its places given by a depthwise convolution."""
    width = 192
    mel = keras.Input((128, 64, 1), name="mel")
    x = L.Conv2D(width, 8, strides=8)(mel)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((16 * 8, width))(x)
    for _ in range(6):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(6, 32, dropout=0.1)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(4 * width, activation="gelu")(y)
        y = L.Dense(width)(y)
        y = L.Dropout(0.1)(y)
        x = L.Add()([x, y])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(mel, L.Dense(35)(x)), {"classes": 35, "logits": True}


def bazaars(case):
    """A click predictor of a market place with large tables and pairwise dot products (as DLRM)."""
    sizes = {"buyer": 300000, "item": 150000, "seller": 40000, "category": 1200, "city": 5000}
    dense = keras.Input((13,), name="numbers")
    inputs, vectors = [dense], []
    x = L.Dense(256, activation="relu")(dense)
    x = L.Dense(128, activation="relu")(x)
    bottom = L.Dense(32, activation="relu")(x)
    vectors.append(L.Reshape((1, 32))(bottom))
    for name, size in sizes.items():
        one = keras.Input((1,), dtype="int32", name=name)
        inputs.append(one)
        vectors.append(L.Embedding(size, 32, name=name + "_table")(one))
    seen = keras.Input((30,), dtype="int32", name="seen")
    inputs.append(seen)
    history = L.Embedding(150000, 32, name="seen_table")(seen)
    history = L.GlobalAveragePooling1D()(history)
    vectors.append(L.Reshape((1, 32))(history))
    stack = L.Concatenate(axis=1)(vectors)
    pairs = L.Flatten()(L.Dot(axes=(2, 2))([stack, stack]))
    x = L.Concatenate()([bottom, pairs])
    for units in (512, 256, 64):
        x = L.Dense(units, activation="relu")(x)
        x = L.Dropout(0.1)(x)
    click = L.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, click), {"loss": "binary_crossentropy", "highs": {**sizes, "seen": 150000}}


def pangolins(case):
    """Two pictures of scales: are they of one animal? A shared residual encoder and a cosine."""

    def residual(x, filters, stride):
        short = x
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("elu")(y)
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride > 1:
            short = L.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        weights = L.GlobalAveragePooling2D()(y)
        weights = L.Dense(filters // 8, activation="relu")(weights)
        weights = L.Reshape((1, 1, filters))(L.Dense(filters, activation="sigmoid")(weights))
        return L.Activation("elu")(L.Add()([short, L.Multiply()([y, weights])]))

    picture = keras.Input((112, 112, 1))
    x = L.Conv2D(32, 5, strides=2, padding="same", activation="elu")(picture)
    for filters in (48, 96, 160):
        x = residual(x, filters, 2)
        x = residual(x, filters, 1)
    x = L.GlobalAveragePooling2D()(x)
    encoder = keras.Model(picture, L.Dense(128)(x), name="encoder")
    left, right = keras.Input((112, 112, 1), name="left"), keras.Input((112, 112, 1), name="right")
    near = L.Dot(axes=1, normalize=True)([encoder(left), encoder(right)])
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(near)), {"loss": "binary_crossentropy"}


def trilobites(case):
    """Fossils sorted with an Xception of which only the exit flow is trained."""
    base = keras.applications.Xception(weights=None, include_top=False, input_shape=(128, 128, 3))
    training = False
    for layer in base.layers:
        training = training or layer.name.startswith("block13")
        layer.trainable = training and not isinstance(layer, L.BatchNormalization)
    picture = keras.Input((128, 128, 3), name="picture")
    x = L.RandomFlip("horizontal")(picture)
    x = L.Rescaling(1.0 / 127.5, offset=-1.0)(x)
    x = base(x, training=False)
    x = L.GlobalAveragePooling2D()(x)
    x = L.Dense(256, activation="relu")(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(picture, L.Dense(41, activation="softmax")(x)), {"classes": 41}


def metronomes(case):
    """The next note and its length from the last ninety-six: stacked LSTMs with two heads."""
    pitches = keras.Input((96,), dtype="int32", name="pitches")
    lengths = keras.Input((96,), dtype="int32", name="lengths")
    x = L.Concatenate()([L.Embedding(128, 96)(pitches), L.Embedding(48, 32)(lengths)])
    x = L.LSTM(320, return_sequences=True)(x)
    x = L.Dropout(0.2)(x)
    x = L.LSTM(320, return_sequences=True)(x)
    x = L.LayerNormalization()(x)
    pitch = L.Dense(128, activation="softmax", name="pitch")(x)
    length = L.Dense(48, activation="softmax", name="length")(x)
    facts = {"highs": {"pitches": 128, "lengths": 48}, "outs": {"pitch": 128, "length": 48}}
    return keras.Model([pitches, lengths], [pitch, length]), facts


def windsocks(case):
    """Wind fields over the next hours from those of the last: convolutional LSTMs."""
    fields = keras.Input((8, 40, 40, 2), name="fields")
    x = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(fields)
    x = L.BatchNormalization()(x)
    x = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    x = L.BatchNormalization()(x)
    x = L.Conv3D(16, 3, padding="same", activation="relu")(x)
    return keras.Model(fields, L.Conv3D(2, 3, padding="same")(x)), {"loss": "mse"}


def tuxedos(case):
    """The generator of a conditional GAN for clothes, here fitted to pictures by their absolute error."""
    z = keras.Input((100,), name="z")
    kind = keras.Input((1,), dtype="int32", name="kind")
    label = L.Flatten()(L.Embedding(24, 50)(kind))
    x = L.Concatenate()([z, label])
    x = L.Dense(6 * 6 * 320, use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.LeakyReLU(0.2)(x)
    x = L.Reshape((6, 6, 320))(x)
    for filters in (192, 96, 48, 32):
        x = L.UpSampling2D(interpolation="bilinear")(x)
        x = L.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.8)(x)
        x = L.LeakyReLU(0.2)(x)
    picture = L.Conv2D(3, 5, padding="same", activation="tanh")(x)
    return keras.Model([z, kind], picture), {"loss": "mae", "highs": {"kind": 24}}


def pharaohs(case):
    """A transformer that translates inscriptions: an encoder, a decoder with cross attention."""
    width, heads = 192, 6
    source = keras.Input((56,), dtype="int32", name="source")
    target = keras.Input((48,), dtype="int32", name="target")

    def feed(x):
        y = L.Dense(768, activation="relu")(x)
        y = L.Dropout(0.1)(L.Dense(width)(y))
        return L.LayerNormalization()(L.Add()([x, y]))

    def attend(x, memory, causal=False):
        y = L.MultiHeadAttention(heads, width // heads, dropout=0.1)(x, memory, use_causal_mask=causal)
        return L.LayerNormalization()(L.Add()([x, y]))

    x = L.Embedding(9000, width)(source)
    x = L.Add()([x, L.Conv1D(width, 3, padding="same")(x)])
    for _ in range(3):
        x = feed(attend(x, x))
    y = L.Embedding(12000, width)(target)
    y = L.Add()([y, L.Conv1D(width, 3, padding="causal")(y)])
    for _ in range(3):
        y = feed(attend(attend(y, y, causal=True), x))
    words = L.Dense(12000)(y)
    return keras.Model([source, target], words), {"classes": 12000, "logits": True, "highs": {"source": 9000, "target": 12000}}


def sequoias(case):
    """A property of a molecule's graph, its bonds given as a dense adjacency: gated message passing."""
    nodes = keras.Input((72, 40), name="nodes")
    bonds = keras.Input((72, 72), name="bonds")
    x = L.Dense(128)(nodes)
    for _ in range(5):
        told = L.Dot(axes=(2, 1))([bonds, L.Dense(128)(x)])
        both = L.Concatenate()([x, told])
        gate = L.Dense(128, activation="sigmoid")(both)
        new = L.Dense(128, activation="tanh")(both)
        x = L.LayerNormalization()(L.Add()([x, L.Multiply()([gate, new])]))
    weight = L.Softmax(axis=1)(L.Dense(4)(x))
    pooled = L.Flatten()(L.Dot(axes=(1, 1))([weight, x]))
    y = L.Dense(256, activation="relu")(L.Concatenate()([pooled, L.GlobalMaxPooling1D()(x)]))
    return keras.Model([nodes, bonds], L.Dense(12)(y)), {"loss": "mae"}


def dolmens(case):
    """Parts of scanned stones: a PointNet with a learned turn of the points and a class a point."""
    count = 1024

    def dense(x, units):
        x = L.Dense(units, use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.9)(x)
        return L.Activation("relu")(x)

    def turn(x, size):
        y = dense(dense(dense(x, 48), 96), 256)
        y = L.GlobalMaxPooling1D()(y)
        y = dense(dense(y, 128), 64)
        y = L.Dense(size * size, kernel_initializer="glorot_uniform")(y)
        return L.Dot(axes=(2, 1))([x, L.Reshape((size, size))(y)])

    points = keras.Input((count, 3), name="points")
    x = turn(points, 3)
    x = dense(x, 64)
    local = turn(x, 64)
    x = dense(local, 96)
    x = dense(x, 384)
    whole = L.RepeatVector(count)(L.GlobalMaxPooling1D()(x))
    x = L.Concatenate()([local, whole])
    x = dense(dense(x, 192), 96)
    x = L.Dropout(0.3)(x)
    return keras.Model(points, L.Dense(9, activation="softmax")(x)), {"classes": 9}
