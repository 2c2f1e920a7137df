"""Models of predictions.py's third set: written after the first two had been mended, before the code was
changed again. Imported by predictions_run.py in a TensorFlow environment (2.11 or 2.21).

A function returns the model and its facts: `classes` (whole numbers as targets), `loss` or `losses`,
`metrics` by output, `highs` of whole-number inputs by name; of a model that tells no inputs its `inputs`
(name to sizes) and `targets` (sizes); `compiled` of one that compiles itself.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def pyramid(case):
    """Feature pyramid: three levels, one pair of heads shared by all."""
    x = keras.Input((96, 96, 3), name="scene")
    y, levels = x, []
    for width in (16, 32, 48, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        levels.append(y)
    merged, found = None, []
    for level in reversed(levels[1:]):
        side = L.Conv2D(48, 1)(level)
        merged = side if merged is None else L.Add()([L.UpSampling2D()(merged), side])
        found.append(L.Conv2D(48, 3, padding="same")(merged))
    tower = L.Conv2D(48, 3, padding="same", activation="relu")
    kind, box = L.Conv2D(6 * 10, 3, padding="same"), L.Conv2D(6 * 4, 3, padding="same")
    kinds = L.Concatenate(axis=1)([L.Reshape((-1, 10))(kind(tower(each))) for each in found])
    boxes = L.Concatenate(axis=1)([L.Reshape((-1, 4))(box(tower(each))) for each in found])
    kinds = L.Activation("sigmoid", name="kinds")(kinds)
    boxes = L.Activation("linear", name="boxes")(boxes)
    return keras.Model(x, [kinds, boxes]), {
        "losses": {"kinds": "binary_crossentropy", "boxes": "mae"},
        "metrics": {"boxes": ["mse"]},
    }


def keypoints(case):
    """Two stacked hourglasses, each with heat maps of its own."""

    def unit(y, width):
        z = L.Conv2D(width // 2, 1, activation="relu")(y)
        z = L.Conv2D(width // 2, 3, padding="same", activation="relu")(z)
        return L.Add()([y, L.Conv2D(width, 1)(z)])

    x = keras.Input((64, 64, 3), name="person")
    y = L.Conv2D(48, 5, strides=2, padding="same", activation="relu")(x)
    maps = []
    for number in range(2):
        sides, z = [], y
        for _ in range(3):
            sides.append(unit(z, 48))
            z = L.MaxPooling2D()(unit(z, 48))
        z = unit(z, 48)
        for side in reversed(sides):
            z = L.Add()([L.UpSampling2D()(z), side])
        maps.append(L.Conv2D(14, 1, name="maps_%d" % number)(z))
        y = L.Add()([y, unit(z, 48), L.Conv2D(48, 1)(maps[-1])])
    return keras.Model(x, maps), {"losses": {"maps_0": "mse", "maps_1": "mse"}, "metrics": {"maps_1": ["mae"]}}


def triplet(case):
    """Three pictures through one encoder, and two distances."""
    picture = keras.Input((56, 56, 3))
    y = picture
    for width in (32, 64, 64):
        y = L.Conv2D(width, 3, padding="same")(y)
        y = L.MaxPooling2D()(L.ELU()(L.BatchNormalization()(y)))
    encoder = keras.Model(picture, L.Dense(96)(L.Flatten()(y)), name="fingerprint")
    anchor, like, unlike = (keras.Input((56, 56, 3), name=name) for name in ("anchor", "like", "unlike"))
    a, b, c = encoder(anchor), encoder(like), encoder(unlike)
    near, far = L.Dot(axes=1, normalize=True)([a, b]), L.Dot(axes=1, normalize=True)([a, c])
    return keras.Model([anchor, like, unlike], L.Subtract()([near, far])), {"loss": "hinge"}


def captioner(case):
    """A picture as the first state of an LSTM that writes words."""
    picture = keras.Input((64, 64, 3), name="picture")
    words = keras.Input((18,), dtype="int32", name="words")
    y = picture
    for width in (24, 48, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Dense(160, activation="tanh")(L.GlobalAveragePooling2D()(y))
    z = L.LSTM(160, return_sequences=True)(L.Embedding(6000, 96)(words), initial_state=[y, y])
    z = L.Dense(6000)(L.Dropout(0.3)(z))
    return keras.Model([picture, words], z), {"classes": 6000, "logits": True, "highs": {"words": 6000}}


def summarizer(case):
    """Encoder and decoder transformers with attention across."""

    def block(y, other=None, causal=False):
        z = L.MultiHeadAttention(4, 20)(y, y, use_causal_mask=causal)
        y = L.LayerNormalization()(L.Add()([y, z]))
        if other is not None:
            y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 20)(y, other)]))
        z = L.Dense(80)(L.Dense(240, activation="relu")(y))
        return L.LayerNormalization()(L.Add()([y, L.Dropout(0.1)(z)]))

    text = keras.Input((64,), dtype="int32", name="text")
    short = keras.Input((20,), dtype="int32", name="short")
    table = L.Embedding(9000, 80)
    y, z = table(text), table(short)
    for _ in range(2):
        y = block(y)
    for _ in range(2):
        z = block(z, y, True)
    return keras.Model([text, short], L.Dense(9000, activation="softmax")(z)), {"classes": 9000}


def speller(case):
    """A word to its sound: an LSTM's last state repeated for another."""
    x = keras.Input((24,), dtype="int32", name="letters")
    y = L.LSTM(192)(L.Embedding(60, 48)(x))
    y = L.LSTM(192, return_sequences=True)(L.RepeatVector(28)(y))
    return keras.Model(x, L.Dense(90, activation="softmax")(y)), {"classes": 90, "highs": {"letters": 60}}


def machines(case):
    """Factorisation machine and a deep net over the same twelve tables."""
    inputs, vectors, linear = [], [], []
    for place in range(12):
        x = keras.Input((1,), dtype="int32", name="field_%d" % place)
        inputs.append(x)
        rows = 3000 * (1 + place % 4)
        vectors.append(L.Reshape((20,))(L.Embedding(rows, 20)(x)))
        linear.append(L.Reshape((1,))(L.Embedding(rows, 1)(x)))
    total = L.Add()(vectors)
    squares = L.Add()([L.Multiply()([each, each]) for each in vectors])
    pairs = L.Dense(1)(L.Subtract()([L.Multiply()([total, total]), squares]))
    deep = L.Concatenate()(vectors)
    for width in (300, 200, 100):
        deep = L.Dropout(0.2)(L.Dense(width, activation="relu")(deep))
    y = L.Activation("sigmoid")(L.Add()([L.Dense(1)(deep), pairs, *linear]))
    return keras.Model(inputs, y), {"loss": "binary_crossentropy"}


def citations(case):
    """Graph attention by dense scores of all pairs, in two heads."""
    nodes = keras.Input((80, 40), name="papers")
    mask = keras.Input((80, 80), name="links")
    y = nodes
    for _ in range(2):
        heads = []
        for _ in range(2):
            z = L.Dense(48)(y)
            here, there = L.Dense(1)(z), L.Permute((2, 1))(L.Dense(1)(z))
            scores = L.LeakyReLU()(L.Add()([here, there]))
            heads.append(L.Dot(axes=(2, 1))([L.Softmax()(L.Add()([scores, mask])), z]))
        y = L.ELU()(L.Concatenate()(heads))
    return keras.Model([nodes, mask], L.Dense(7, activation="softmax")(y)), {"classes": 7}


def points(case):
    """Points through shared perceptrons, turned by a matrix that a small net makes."""
    x = keras.Input((512, 3), name="points")
    z = L.Conv1D(64, 1, activation="relu")(x)
    z = L.GlobalMaxPooling1D()(L.Conv1D(128, 1, activation="relu")(z))
    turn = L.Reshape((3, 3))(L.Dense(9)(L.Dense(64, activation="relu")(z)))
    y = L.Dot(axes=(2, 1))([x, turn])
    for width in (64, 64, 128, 256):
        y = L.ReLU()(L.BatchNormalization()(L.Conv1D(width, 1)(y)))
    y = L.GlobalMaxPooling1D()(y)
    y = L.Dropout(0.3)(L.Dense(128, activation="relu")(y))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def shapes(case):
    """Voxels to a class."""
    x = keras.Input((28, 28, 28, 1), name="voxels")
    y = L.Conv3D(16, 5, strides=2, padding="same")(x)
    y = L.LeakyReLU()(L.BatchNormalization()(y))
    y = L.MaxPooling3D()(L.Conv3D(32, 3, padding="same", activation="relu")(y))
    y = L.Dense(96, activation="relu")(L.Flatten()(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.Dropout(0.4)(y))), {"classes": 10}


def seismic(case):
    """A 1-D U-Net: a class for each sample of a trace."""
    x = keras.Input((1024, 3), name="trace")
    skips, y = [], x
    for width in (24, 32, 48):
        y = L.Conv1D(width, 7, padding="same", activation="relu")(y)
        skips.append(y)
        y = L.MaxPooling1D(4)(y)
    y = L.Conv1D(64, 7, padding="same", activation="relu")(y)
    for width, skip in zip((48, 32, 24), reversed(skips)):
        y = L.Conv1DTranspose(width, 8, strides=4, padding="same", activation="relu")(y)
        y = L.Conv1D(width, 7, padding="same", activation="relu")(L.Concatenate()([y, skip]))
    return keras.Model(x, L.Conv1D(3, 1, activation="softmax")(y)), {"classes": 3}


def speech(case):
    """Gated dilated convolutions whose side outputs are summed."""
    x = keras.Input((800, 1), name="samples")
    y = L.Conv1D(40, 2, padding="causal")(x)
    sides = []
    for dilation in (1, 2, 4, 8, 16, 32):
        gate = L.Conv1D(40, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")(y)
        value = L.Conv1D(40, 2, padding="causal", dilation_rate=dilation, activation="tanh")(y)
        z = L.Multiply()([gate, value])
        sides.append(L.Conv1D(64, 1)(z))
        y = L.Add()([y, L.Conv1D(40, 1)(z)])
    z = L.Conv1D(64, 1, activation="relu")(L.ReLU()(L.Add()(sides)))
    return keras.Model(x, L.Conv1D(256, 1)(z)), {"classes": 256, "logits": True}


def faces(case):
    """One trunk, four questions."""
    x = keras.Input((72, 72, 3), name="face")
    y = x
    for width in (24, 48, 72):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.GlobalAveragePooling2D()(y)
    age = L.Dense(1, name="age")(L.Dense(64, activation="relu")(y))
    smile = L.Dense(1, activation="sigmoid", name="smile")(L.Dense(32, activation="relu")(y))
    pose = L.Dense(3, activation="tanh", name="pose")(L.Dense(48, activation="relu")(y))
    marks = L.Dense(136, name="marks")(L.Dense(256, activation="relu")(y))
    return keras.Model(x, [age, smile, pose, marks]), {
        "losses": {"age": "mae", "smile": "binary_crossentropy", "pose": "mse", "marks": "huber"},
        "metrics": {"age": ["mse"]},
    }


def finetune(case):
    """MobileNetV3 without its last twenty layers' freedom taken: the base below stays."""
    base = keras.applications.MobileNetV3Small(
        input_shape=(96, 96, 3), include_top=False, weights=None, pooling="avg"
    )
    for layer in base.layers[:-20]:
        layer.trainable = False
    y = L.Dense(12, activation="softmax")(L.Dropout(0.2)(base.output))
    return keras.Model(base.input, y), {"classes": 12}


def textures(case):
    """Bilinear pooling of two small nets."""
    x = keras.Input((64, 64, 3), name="fabric")
    streams = []
    for kernel in (3, 5):
        y = x
        for width in (32, 64):
            y = L.MaxPooling2D()(L.Conv2D(width, kernel, padding="same", activation="relu")(y))
        streams.append(L.Reshape((256, 64))(y))
    y = L.Flatten()(L.Dot(axes=(1, 1))(streams))
    return keras.Model(x, L.Dense(47, activation="softmax")(y)), {"classes": 47}


def diffusion(case):
    """A step of denoising: group normalisation, the time added, attention in the middle."""
    x = keras.Input((32, 32, 3), name="noisy")
    time = keras.Input((32,), name="time")
    t = L.Dense(96, activation="swish")(time)

    def unit(y, width):
        z = L.Conv2D(width, 3, padding="same")(L.Activation("swish")(L.GroupNormalization(8)(y)))
        z = L.Add()([z, L.Reshape((1, 1, width))(L.Dense(width)(t))])
        z = L.Conv2D(width, 3, padding="same")(L.Activation("swish")(L.GroupNormalization(8)(z)))
        return L.Add()([z, L.Conv2D(width, 1)(y)])

    y, skips = L.Conv2D(32, 3, padding="same")(x), []
    for width in (32, 64):
        y = unit(y, width)
        skips.append(y)
        y = L.AveragePooling2D(2)(y)
    y = unit(y, 96)
    z = L.Reshape((64, 96))(L.GroupNormalization(8)(y))
    y = L.Add()([y, L.Reshape((8, 8, 96))(L.MultiHeadAttention(2, 48)(z, z))])
    for width, skip in zip((64, 32), reversed(skips)):
        y = unit(L.Concatenate()([L.UpSampling2D(interpolation="bilinear")(y), skip]), width)
    return keras.Model([x, time], L.Conv2D(3, 3, padding="same")(y)), {"loss": "mse"}


def latents(case):
    """A few latent vectors that look at a long input, twice."""
    x = keras.Input((700, 32), name="bytes")
    seeds = keras.Input((48, 64), name="seeds")
    y, z = seeds, L.Dense(64)(x)
    for _ in range(2):
        y = L.Add()([y, L.MultiHeadAttention(2, 32)(L.LayerNormalization()(y), z)])
        w = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 16)(w, w)])
        y = L.Add()([y, L.Dense(64)(L.Dense(256, activation="gelu")(L.LayerNormalization()(y)))])
    y = L.Dense(30, activation="softmax")(L.GlobalAveragePooling1D()(y))
    return keras.Model([x, seeds], y), {"classes": 30}


def conformer(case):
    """Attention and a gated depthwise convolution in turn."""
    x = keras.Input((160, 40), name="spectrum")
    y = L.Dense(72)(x)
    for _ in range(2):
        z = L.Dense(72)(L.Dense(216, activation="swish")(L.LayerNormalization()(y)))
        y = L.Add()([y, z])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 18)(z, z)])
        z = L.LayerNormalization()(y)
        z = L.Multiply()([L.Conv1D(72, 1)(z), L.Conv1D(72, 1, activation="sigmoid")(z)])
        z = L.DepthwiseConv1D(15, padding="same")(z)
        z = L.Conv1D(72, 1)(L.Activation("swish")(L.BatchNormalization()(z)))
        y = L.Add()([y, L.Dropout(0.1)(z)])
    return keras.Model(x, L.Dense(48)(y)), {"classes": 48, "logits": True}


def columns(case):
    """Categories as tokens of a transformer, numbers beside them."""
    kinds = keras.Input((24,), dtype="int32", name="kinds")
    numbers = keras.Input((16,), name="numbers")
    y = L.Embedding(5000, 40)(kinds)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 10, dropout=0.1)(y, y)]))
        z = L.Dense(40)(L.Dense(160, activation="gelu")(y))
        y = L.LayerNormalization()(L.Add()([y, z]))
    y = L.Concatenate()([L.Flatten()(y), L.LayerNormalization()(numbers)])
    y = L.Dense(128, activation="relu")(L.Dense(512, activation="relu")(y))
    return keras.Model([kinds, numbers], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def reviews(case):
    """Two bidirectional GRUs and attention that pools."""
    x = keras.Input((60,), dtype="int32", name="words")
    y = L.Embedding(7000, 64)(x)
    for _ in range(2):
        y = L.Bidirectional(L.GRU(64, return_sequences=True))(y)
    weights = L.Softmax(axis=1)(L.Dense(1)(L.Dense(64, activation="tanh")(y)))
    y = L.Flatten()(L.Dot(axes=(1, 1))([weights, y]))
    return keras.Model(x, L.Dense(5, activation="softmax")(y)), {"classes": 5}


def membranes(case):
    """Padded first, convolved without padding, skips cropped: as the first U-Nets were."""
    x = keras.Input((60, 60, 1), name="slice")
    y = L.ZeroPadding2D(16)(x)
    skips = []
    for width in (24, 48):
        y = L.Conv2D(width, 3, activation="relu")(L.Conv2D(width, 3, activation="relu")(y))
        skips.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Conv2D(64, 3, activation="relu")(L.Conv2D(64, 3, activation="relu")(y))
    for width, skip in zip((48, 24), reversed(skips)):
        y = L.Conv2DTranspose(width, 2, strides=2)(y)
        cut = (skip.shape[1] - y.shape[1]) // 2
        y = L.Concatenate()([y, L.Cropping2D(cut)(skip)])
        y = L.Conv2D(width, 3, activation="relu")(L.Conv2D(width, 3, activation="relu")(y))
    return keras.Model(x, L.Conv2D(2, 1, activation="softmax")(y)), {"classes": 2}


def identities(case):
    """A face among very many: one wide softmax over normalised features."""
    x = keras.Input((48, 48, 3), name="face")
    y = x
    for width in (32, 64, 96):
        y = L.PReLU(shared_axes=[1, 2])(L.Conv2D(width, 3, strides=2, padding="same")(y))
    y = L.UnitNormalization()(L.Dense(256)(L.Flatten()(y)))
    return keras.Model(x, L.Dense(12000, use_bias=False, activation="softmax")(y)), {"classes": 12000}


def diary(case):
    """Words with padding that is masked, through two LSTMs."""
    x = keras.Input((45,), dtype="int32", name="words")
    y = L.Embedding(9000, 72, mask_zero=True)(x)
    y = L.LSTM(96)(L.LSTM(96, return_sequences=True)(y))
    return keras.Model(x, L.Dense(9, activation="softmax")(y)), {"classes": 9}


def clips(case):
    """Space, then time, in three dimensions."""
    x = keras.Input((10, 40, 40, 3), name="clip")
    y = x
    for width in (16, 32, 48):
        y = L.Conv3D(width, (1, 3, 3), strides=(1, 2, 2), padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.ReLU()(L.BatchNormalization()(L.Conv3D(width, (3, 1, 1), padding="same", use_bias=False)(y)))
    return keras.Model(x, L.Dense(24, activation="softmax")(L.GlobalAveragePooling3D()(y))), {"classes": 24}


def engine(case):
    """A densely connected net over a vibration."""
    x = keras.Input((512, 4), name="vibration")
    y = L.Conv1D(24, 7, padding="same", activation="relu")(x)
    for width in (64, 96):
        for _ in range(4):
            z = L.Conv1D(16, 5, padding="same")(L.ReLU()(L.BatchNormalization()(y)))
            y = L.Concatenate()([y, z])
        y = L.AveragePooling1D(2)(L.Conv1D(width, 1)(y))
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(y))), {"loss": "mse"}


class Highway(L.Layer):
    """Part of the input passes, part is changed."""

    def build(self, shape):
        width = int(shape[-1])
        self.kernel = self.add_weight(name="kernel", shape=(width, width))
        self.gate = self.add_weight(name="gate", shape=(width, width))
        super().build(shape)

    def call(self, inputs):
        gate = tf.sigmoid(tf.matmul(inputs, self.gate))
        return gate * tf.nn.relu(tf.matmul(inputs, self.kernel)) + (1.0 - gate) * inputs


def highway(case):
    """Layers of the user's own."""
    x = keras.Input((120,), name="facts")
    y = L.Dense(900, activation="relu")(x)
    for _ in range(4):
        y = Highway()(y)
    return keras.Model(x, L.Dense(16, activation="softmax")(y)), {"classes": 16}


class Blocks(keras.Model):
    """Residual blocks, never told as a graph of layers."""

    def __init__(self):
        super().__init__()
        self.first = L.Conv2D(32, 3, padding="same")
        self.pairs = [
            (L.Conv2D(32, 3, padding="same", use_bias=False), L.BatchNormalization()) for _ in range(4)
        ]
        for number, (convolution, norm) in enumerate(self.pairs):
            setattr(self, "convolution_%d" % number, convolution)
            setattr(self, "norm_%d" % number, norm)
        self.last = L.Dense(10)

    def call(self, inputs, training=False):
        y = self.first(inputs)
        for convolution, norm in self.pairs:
            y = y + tf.nn.relu(norm(convolution(y), training=training))
        return self.last(tf.reduce_mean(y, [1, 2]))


def blocks(case):
    """A subclassed residual net."""
    return Blocks(), {"classes": 10, "logits": True, "inputs": {"picture": (32, 32, 3)}, "targets": ()}


class Painter(keras.Model):
    """A GAN's two steps in one."""

    def __init__(self, painter, judge):
        super().__init__()
        self.painter, self.judge = painter, judge

    def call(self, inputs):
        return self.judge(inputs)

    def compile(self, first, second):
        super().compile(optimizer=first)
        self.second = second
        self.second.build(self.judge.trainable_variables)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = tf.random.normal([tf.shape(real)[0], 64])
        entropy = keras.losses.BinaryCrossentropy(from_logits=True)
        with tf.GradientTape() as tape:
            told = self.judge(tf.concat([real, self.painter(noise, training=True)], 0), training=True)
            halves = tf.concat([tf.ones_like(told[: tf.shape(real)[0]]), tf.zeros_like(told[tf.shape(real)[0] :])], 0)
            loss = entropy(halves, told)
        weights = self.judge.trainable_variables
        self.second.apply_gradients(zip(tape.gradient(loss, weights), weights))
        with tf.GradientTape() as tape:
            told = self.judge(self.painter(noise, training=True), training=True)
            cheat = entropy(tf.ones_like(told), told)
        weights = self.painter.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(cheat, weights), weights))
        return {"loss": loss, "cheat": cheat}


def painter(case):
    """Generator and discriminator in a train_step of their own."""
    noise = keras.Input((64,))
    y = L.Reshape((7, 7, 96))(L.Dense(7 * 7 * 96, activation="relu")(noise))
    y = L.Conv2DTranspose(48, 4, strides=2, padding="same", activation="relu")(y)
    made = keras.Model(noise, L.Conv2DTranspose(1, 4, strides=2, padding="same", activation="sigmoid")(y))
    picture = keras.Input((28, 28, 1))
    y = picture
    for width in (48, 96):
        y = L.Dropout(0.3)(L.LeakyReLU()(L.Conv2D(width, 4, strides=2, padding="same")(y)))
    judge = keras.Model(picture, L.Dense(1)(L.Flatten()(y)))
    model = Painter(made, judge)
    model.compile(case["make_optimizer"](), case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"pictures": (28, 28, 1)}, "targets": None}


class Spread(keras.Model):
    """A variational autoencoder."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([L.Dense(512, activation="relu"), L.Dense(256, activation="relu")])
        self.mean, self.spread = L.Dense(24), L.Dense(24)
        self.decoder = keras.Sequential(
            [L.Dense(256, activation="relu"), L.Dense(512, activation="relu"), L.Dense(784, activation="sigmoid")]
        )

    def call(self, inputs, training=False):
        y = self.encoder(inputs)
        mean, spread = self.mean(y), self.spread(y)
        z = mean + tf.exp(0.5 * spread) * tf.random.normal(tf.shape(mean))
        self.add_loss(-0.001 * tf.reduce_mean(1.0 + spread - tf.square(mean) - tf.exp(spread)))
        return self.decoder(z)


def digits(case):
    """Subclassed, with a loss that a layer adds."""
    return Spread(), {"loss": "binary_crossentropy", "inputs": {"digits": (784,)}, "targets": (784,)}


class Contrast(keras.Model):
    """Two views of each picture, all pairs of the batch compared."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def call(self, inputs):
        return self.encoder(inputs)

    def train_step(self, data):
        pictures = data[0] if isinstance(data, tuple) else data
        other = tf.reverse(pictures, [2]) + tf.random.normal(tf.shape(pictures), stddev=0.1)
        with tf.GradientTape() as tape:
            a = tf.math.l2_normalize(self.encoder(pictures, training=True), 1)
            b = tf.math.l2_normalize(self.encoder(other, training=True), 1)
            scores = tf.matmul(a, b, transpose_b=True) / 0.1
            labels = tf.range(tf.shape(scores)[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def contrast(case):
    """Contrastive learning in a train_step of its own."""
    x = keras.Input((40, 40, 3))
    y = x
    for width in (32, 48, 64):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, strides=2, padding="same")(y)))
    model = Contrast(keras.Model(x, L.Dense(64)(L.Dense(128, activation="relu")(L.Flatten()(y)))))
    model.compile(case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"pictures": (40, 40, 3)}, "targets": None}


class Pupil(keras.Model):
    """A small net learns what a large frozen one says."""

    def __init__(self, teacher, pupil):
        super().__init__()
        self.teacher, self.pupil = teacher, pupil
        self.teacher.trainable = False

    def call(self, inputs, training=False):
        return self.pupil(inputs, training=training)

    def train_step(self, data):
        x, labels = data
        said = tf.nn.softmax(self.teacher(x, training=False) / 4.0)
        with tf.GradientTape() as tape:
            own = self.pupil(x, training=True)
            hard = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, own, from_logits=True))
            soft = keras.losses.KLDivergence()(said, tf.nn.softmax(own / 4.0))
            loss = 0.3 * hard + 0.7 * soft
        weights = self.pupil.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def pupil(case):
    """Distillation: a frozen teacher in a train_step of its own."""

    def net(widths):
        x = keras.Input((40, 40, 3))
        y = x
        for width in widths:
            y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        return keras.Model(x, L.Dense(20)(L.Flatten()(y)))

    model = Pupil(net((64, 128, 128)), net((16, 32)))
    model.compile(case["make_optimizer"]())
    return model, {
        "compiled": True,
        "classes": 20,
        "inputs": {"pictures": (40, 40, 3)},
        "targets": (),
    }
