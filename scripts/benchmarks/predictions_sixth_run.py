"""Models of predictions.py's sixth set: written before any code of that day was read or changed. As
predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def letters(case):
    """A transformer decoder over bytes, with learned places and a tied width."""
    x = keras.Input((64,), dtype="int32", name="bytes")
    y = L.Embedding(256, 128)(x)
    for _ in range(3):
        z = L.LayerNormalization(epsilon=1e-6)(y)
        y = L.Add()([y, L.MultiHeadAttention(8, 16, dropout=0.1)(z, z, use_causal_mask=True)])
        z = L.Dense(512, activation="relu")(L.LayerNormalization(epsilon=1e-6)(y))
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(128)(z))])
    return keras.Model(x, L.Dense(256)(y)), {"classes": 256, "logits": True, "highs": {"bytes": 256}}


def lexicon(case):
    """Masked words over a vocabulary of 30,000: the logits are nearly everything."""
    x = keras.Input((32,), dtype="int32", name="tokens")
    y = L.Embedding(30000, 64)(x)
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 16)(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(64)(L.Dense(256, activation="gelu")(y))]))
    y = L.Dense(64, activation="gelu")(y)
    return keras.Model(x, L.Dense(30000, activation="softmax")(y)), {"classes": 30000}


def phrases(case):
    """Bidirectional LSTM encoder, LSTM decoder with dot attention."""
    a = keras.Input((24,), dtype="int32", name="source")
    b = keras.Input((18,), dtype="int32", name="target")
    memory = L.Bidirectional(L.LSTM(64, return_sequences=True))(L.Embedding(5000, 64)(a))
    y = L.LSTM(128, return_sequences=True)(L.Embedding(6000, 64)(b))
    y = L.Concatenate()([y, L.Attention()([y, memory])])
    return keras.Model([a, b], L.Dense(6000, activation="softmax")(y)), {"classes": 6000}


def gestures(case):
    """Wide and narrow kernels side by side in one dimension."""
    x = keras.Input((400, 9), name="sensors")
    y = x
    for width in (24, 40):
        branches = [L.Conv1D(width, size, padding="same", activation="relu")(y) for size in (3, 9, 19)]
        y = L.MaxPooling1D(2)(L.BatchNormalization()(L.Concatenate()(branches)))
    y = L.Dropout(0.4)(L.Dense(128, activation="relu")(L.Flatten()(y)))
    return keras.Model(x, L.Dense(17, activation="softmax")(y)), {"classes": 17}


def sleep(case):
    """A net of dilated residual convolutions over a long signal."""
    x = keras.Input((1500, 2), name="eeg")
    y = L.Conv1D(32, 25, strides=3, padding="same")(x)
    for rate in (1, 2, 4, 8):
        z = L.Conv1D(32, 5, dilation_rate=rate, padding="same", activation="relu")(y)
        z = L.Conv1D(32, 1)(z)
        y = L.Add()([y, z])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 5}


def hearts(case):
    """Convolutions in three dimensions to one number."""
    x = keras.Input((12, 32, 32, 1), name="cine")
    y = x
    for width in (16, 32, 48):
        y = L.Conv3D(width, 3, padding="same", use_bias=False)(y)
        y = L.MaxPooling3D((1, 2, 2))(L.Activation("relu")(L.BatchNormalization()(y)))
    y = L.Dense(64, activation="relu")(L.GlobalAveragePooling3D()(y))
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse"}


def voices(case):
    """One encoder for two recordings, compared by their distance."""
    clip = keras.Input((64, 40, 1))
    y = clip
    for width in (32, 48, 64):
        y = L.MaxPooling2D(2)(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    net = keras.Model(clip, L.Dense(128)(L.Flatten()(y)), name="clip")
    a, b = keras.Input((64, 40, 1), name="first"), keras.Input((64, 40, 1), name="second")
    y = L.Dense(32, activation="relu")(L.Subtract()([net(a), net(b)]))
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def friends(case):
    """Attention of neighbours on each other, masked by who knows whom."""
    people, known = keras.Input((80, 32), name="people"), keras.Input((80, 80), name="known")
    y = people
    for _ in range(2):
        q, k, v = L.Dense(48)(y), L.Dense(48)(y), L.Dense(48)(y)
        scores = L.Multiply()([L.Dot(axes=2)([q, k]), known])
        y = L.Add()([L.Dense(48)(y), L.Dot(axes=(2, 1))([L.Softmax()(scores), v])])
        y = L.ReLU()(y)
    return keras.Model([people, known], L.Dense(6, activation="softmax")(y)), {"classes": 6}


def boats(case):
    """One level of boxes on a stack of strided convolutions; three heads."""
    x = keras.Input((112, 112, 3), name="harbour")
    y = L.Conv2D(16, 5, strides=2, padding="same", activation="relu")(x)
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = L.MaxPooling2D(2)(L.ReLU()(L.BatchNormalization()(y)))
    head = L.Conv2D(96, 3, padding="same", activation="relu")(y)
    ends = [
        L.Conv2D(1, 1, activation="sigmoid", name="there")(head),
        L.Conv2D(4, 1, name="box")(head),
        L.Conv2D(12, 1, name="sort")(head),
    ]
    return keras.Model(x, ends), {
        "losses": {"there": "binary_crossentropy", "box": "mse", "sort": keras.losses.BinaryCrossentropy(from_logits=True)},
        "metrics": {"there": ["accuracy"]},
    }


def coupons(case):
    """Tables of many sizes, joined with numbers: deep and wide."""
    numbers = keras.Input((13,), name="numbers")
    inputs, vectors = [numbers], [L.BatchNormalization()(numbers)]
    for place, size in enumerate((50000, 20000, 8000, 3000, 1000, 200)):
        x = keras.Input((1,), dtype="int32", name="kind_%d" % place)
        inputs.append(x)
        vectors.append(L.Flatten()(L.Embedding(size, 16)(x)))
    y = L.Concatenate()(vectors)
    for width in (400, 200, 100):
        y = L.Dropout(0.2)(L.Dense(width, activation="relu")(y))
    facts = {"loss": "binary_crossentropy", "highs": {"kind_4": 1000, "kind_5": 200}}
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), facts


def bookshop(case):
    """History of what was bought, averaged, against one candidate; shared table."""
    past = keras.Input((40,), dtype="int32", name="past")
    now = keras.Input((1,), dtype="int32", name="now")
    table = L.Embedding(30000, 48)
    a = L.GlobalAveragePooling1D()(table(past))
    b = L.Flatten()(table(now))
    y = L.Concatenate()([a, b, L.Multiply()([a, b])])
    y = L.Dense(80, activation="relu")(L.Dense(200, activation="relu")(y))
    return keras.Model([past, now], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def fields(case):
    """A frozen ResNet50V2 below two wide layers."""
    base = keras.applications.ResNet50V2(input_shape=(64, 64, 3), include_top=False, weights=None)
    base.trainable = False
    x = keras.Input((64, 64, 3), name="field")
    y = L.Flatten()(base(x, training=False))
    y = L.Dropout(0.5)(L.Dense(128, activation="relu")(y))
    return keras.Model(x, L.Dense(21, activation="softmax")(y)), {"classes": 21}


def dogs(case):
    """A frozen VGG16 whose last block learns."""
    base = keras.applications.VGG16(input_shape=(64, 64, 3), include_top=False, weights=None)
    for layer in base.layers[:-4]:
        layer.trainable = False
    x = keras.Input((64, 64, 3), name="dog")
    y = L.GlobalAveragePooling2D()(base(x))
    return keras.Model(x, L.Dense(40, activation="softmax")(y)), {"classes": 40}


def moths(case):
    """DenseNet121 with new classes."""
    return keras.applications.DenseNet121(input_shape=(48, 48, 3), weights=None, classes=30), {"classes": 30}


def shells(case):
    """EfficientNetB0 with new classes."""
    return keras.applications.EfficientNetB0(input_shape=(64, 64, 3), weights=None, classes=12), {"classes": 12}


def leaves(case):
    """MobileNetV3Small with new classes."""
    return keras.applications.MobileNetV3Small(input_shape=(96, 96, 3), weights=None, classes=50), {"classes": 50}


def cracks(case):
    """A U-Net with batch normalisation and transposed convolutions."""

    def twice(y, width):
        for _ in range(2):
            y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(y)))
        return y

    x = keras.Input((64, 64, 3), name="wall")
    first = twice(x, 16)
    second = twice(L.MaxPooling2D()(first), 32)
    y = twice(L.MaxPooling2D()(second), 64)
    y = twice(L.Concatenate()([L.Conv2DTranspose(32, 2, strides=2)(y), second]), 32)
    y = twice(L.Concatenate()([L.Conv2DTranspose(16, 2, strides=2)(y), first]), 16)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def stones(case):
    """A residual net before its activation, three stages."""
    x = keras.Input((40, 40, 3), name="stone")
    y = L.Conv2D(32, 3, padding="same", use_bias=False)(x)
    for width, stride in ((32, 1), (64, 2), (128, 2)):
        z = L.ReLU()(L.BatchNormalization()(y))
        skip = L.Conv2D(width, 1, strides=stride, use_bias=False)(z)
        z = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(z)
        z = L.Conv2D(width, 3, padding="same", use_bias=False)(L.ReLU()(L.BatchNormalization()(z)))
        y = L.Add()([skip, z])
    y = L.GlobalAveragePooling2D()(L.ReLU()(L.BatchNormalization()(y)))
    return keras.Model(x, L.Dense(14, activation="softmax")(y)), {"classes": 14}


def swamps(case):
    """Group normalisation and swish in a plain stack."""
    x = keras.Input((48, 48, 4), name="bands")
    y = x
    for width, stride in ((32, 1), (48, 2), (64, 2)):
        y = L.Activation("swish")(L.GroupNormalization(8)(L.Conv2D(width, 3, strides=stride, padding="same")(y)))
    return keras.Model(x, L.Dense(9, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 9}


def rooms(case):
    """Convolutions by depth, with squeeze and excitation."""
    x = keras.Input((56, 56, 3), name="room")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for width in (48, 72):
        z = L.BatchNormalization()(L.DepthwiseConv2D(5, padding="same", use_bias=False)(L.Conv2D(width, 1)(y)))
        z = L.Activation("relu")(z)
        s = L.Reshape((1, 1, width))(L.GlobalAveragePooling2D()(z))
        s = L.Conv2D(width, 1, activation="sigmoid")(L.Conv2D(width // 4, 1, activation="relu")(s))
        y = L.Concatenate()([y, L.Multiply()([z, s])])
    return keras.Model(x, L.Dense(15, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 15}


def prices(case):
    """A wide perceptron with selu, to three numbers."""
    x = keras.Input((120,), name="columns")
    y = x
    for width in (1024, 1024, 512):
        y = L.AlphaDropout(0.1)(L.Dense(width, activation="selu", kernel_initializer="lecun_normal")(y))
    return keras.Model(x, L.Dense(3)(y)), {"loss": "mae"}


def opinions(case):
    """Words through parallel convolutions of three sizes, the oldest of text nets."""
    x = keras.Input((60,), dtype="int32", name="words")
    y = L.Embedding(15000, 100)(x)
    y = L.Concatenate()([L.GlobalMaxPooling1D()(L.Conv1D(100, size, activation="relu")(y)) for size in (3, 4, 5)])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.Dropout(0.5)(y))), {"classes": 5}


def entities(case):
    """Two bidirectional LSTMs and a kind for each word."""
    x = keras.Input((50,), dtype="int32", name="words")
    y = L.Embedding(8000, 80)(x)
    y = L.Bidirectional(L.LSTM(64, return_sequences=True))(y)
    y = L.Bidirectional(L.LSTM(48, return_sequences=True))(L.Dropout(0.3)(y))
    return keras.Model(x, L.TimeDistributed(L.Dense(19, activation="softmax"))(y)), {"classes": 19}


def load(case):
    """Two GRUs over quarter hours, a day ahead at once."""
    x = keras.Input((96, 8), name="quarters")
    y = L.GRU(64)(L.GRU(96, return_sequences=True)(x))
    return keras.Model(x, L.Reshape((24, 4))(L.Dense(96)(y))), {"loss": "mse"}


def melodies(case):
    """A plain recurrent net over notes, and two ends."""
    x = keras.Input((60,), dtype="int32", name="notes")
    y = L.LSTM(128)(L.Embedding(130, 96)(x))
    ends = [L.Dense(130, activation="softmax", name="pitch")(y), L.Dense(130, activation="softmax", name="length")(y)]
    return keras.Model(x, ends), {
        "losses": dict.fromkeys(("pitch", "length"), "sparse_categorical_crossentropy"),
        "classes": 130,
        "metrics": {"pitch": ["accuracy"]},
        "highs": {"notes": 130},
    }


def stamps(case):
    """An autoencoder of pictures: strides down, transposed convolutions up."""
    x = keras.Input((64, 64, 1), name="stamp")
    y = x
    for width in (16, 32, 64):
        y = L.LeakyReLU()(L.Conv2D(width, 4, strides=2, padding="same")(y))
    y = L.Dense(48)(L.Flatten()(y))
    y = L.Reshape((8, 8, 64))(L.Dense(8 * 8 * 64)(y))
    for width in (64, 32, 16):
        y = L.LeakyReLU()(L.Conv2DTranspose(width, 4, strides=2, padding="same")(y))
    return keras.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


def sharpen(case):
    """A residual net without normalisation to a picture twice the size."""
    x = keras.Input((40, 40, 3), name="small")
    first = y = L.Conv2D(48, 3, padding="same")(x)
    for _ in range(3):
        z = L.Conv2D(48, 3, padding="same", activation="relu")(y)
        y = L.Add()([y, L.Conv2D(48, 3, padding="same")(z)])
    y = L.UpSampling2D(2, interpolation="bilinear")(L.Add()([y, first]))
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mae"}


def tokens(case):
    """A vision transformer on patches of four, small width, many patches."""
    x = keras.Input((48, 48, 3), name="picture")
    y = L.Reshape((144, 64))(L.Conv2D(64, 4, strides=4)(x))
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 16)(z, z)])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.Dense(64)(L.Dense(256, activation="gelu")(z))])
    return keras.Model(x, L.Dense(33, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 33}


def exams(case):
    """Pictures and words by cross attention."""
    words, page = keras.Input((30,), dtype="int32", name="question"), keras.Input((48, 48, 3), name="sheet")
    y = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(page)
    y = L.Conv2D(64, 3, strides=2, padding="same", activation="relu")(y)
    seen = L.Reshape((144, 64))(y)
    z = L.Embedding(6000, 64)(words)
    z = L.LayerNormalization()(L.Add()([z, L.MultiHeadAttention(4, 16)(z, seen)]))
    z = L.Dense(128, activation="relu")(L.GlobalAveragePooling1D()(z))
    return keras.Model([words, page], L.Dense(300, activation="softmax")(z)), {"classes": 300}


def fusion(case):
    """Five inputs, each through its own net, summed."""
    inputs, vectors = [], []
    for place, size in enumerate((200, 150, 100, 80, 40)):
        x = keras.Input((size,), name="sensor_%d" % place)
        inputs.append(x)
        vectors.append(L.Dense(256)(L.BatchNormalization()(L.Dense(384, activation="relu")(x))))
    y = L.LayerNormalization()(L.Add()(vectors))
    return keras.Model(inputs, L.Dense(25, activation="softmax")(L.ReLU()(y))), {"classes": 25}


def footage(case):
    """Frames through one net, mixed by self attention over time."""
    frame = keras.Sequential(
        [
            keras.Input((40, 40, 3)),
            L.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            L.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            L.Flatten(),
            L.Dense(64),
        ]
    )
    x = keras.Input((6, 40, 40, 3), name="frames")
    y = L.TimeDistributed(frame)(x)
    y = L.Add()([y, L.MultiHeadAttention(2, 32)(y, y)])
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 10}


def clouds(case):
    """A convolutional LSTM, the last map only."""
    x = keras.Input((6, 20, 20, 2), name="sky")
    y = L.ConvLSTM2D(16, 3, padding="same")(x)
    y = L.Conv2D(16, 3, padding="same", activation="relu")(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv2D(1, 1)(y)), {"loss": "mse"}


def streets(case):
    """Dilated convolutions in two dimensions, side by side, resized to the picture."""
    x = keras.Input((64, 64, 3), name="street")
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    y = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(y)
    parts = [L.Conv2D(32, 3, dilation_rate=rate, padding="same", activation="relu")(y) for rate in (1, 2, 4)]
    y = L.Conv2D(48, 1, activation="relu")(L.Concatenate()(parts))
    y = L.UpSampling2D(4, interpolation="bilinear")(y)
    return keras.Model(x, L.Conv2D(8, 1, activation="softmax")(y)), {"classes": 8}


def birds(case):
    """Separable convolutions, ever wider, with batch normalisation."""
    x = keras.Input((72, 72, 3), name="bird")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    for width in (32, 64, 128):
        y = L.Activation("relu")(L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same")(y)))
        y = L.MaxPooling2D(3, strides=2, padding="same")(y)
    return keras.Model(x, L.Dense(30, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 30}


class Memory(L.Layer):
    """Looks its inputs up in a memory of its own by similarity."""

    def __init__(self, slots, width, **options):
        super().__init__(**options)
        self.slots, self.width = slots, width

    def build(self, shape):
        self.keys = self.add_weight(name="keys", shape=(self.slots, int(shape[-1])))
        self.values = self.add_weight(name="values", shape=(self.slots, self.width))
        super().build(shape)

    def call(self, inputs):
        scores = tf.nn.softmax(tf.matmul(inputs, self.keys, transpose_b=True))
        return tf.matmul(scores, self.values)


def recall(case):
    """Layers of the user's own below and above."""
    x = keras.Input((200,), name="facts")
    y = L.Dense(256, activation="relu")(x)
    y = Memory(4000, 256)(y)
    y = L.Dense(256, activation="relu")(y)
    return keras.Model(x, L.Dense(20, activation="softmax")(y)), {"classes": 20}


class Maps(keras.Model):
    """A subclassed U-shaped net of one level."""

    def __init__(self):
        super().__init__()
        self.down = L.Conv2D(32, 3, padding="same", activation="relu")
        self.deep = [L.Conv2D(64, 3, padding="same", activation="relu") for _ in range(2)]
        self.up = L.Conv2DTranspose(32, 3, strides=2, padding="same")
        self.end = L.Conv2D(6, 1)

    def call(self, inputs, training=False):
        first = self.down(inputs)
        y = tf.nn.max_pool2d(first, 2, 2, "SAME")
        for layer in self.deep:
            y = layer(y)
        return self.end(tf.concat([first, self.up(y)], -1))


def maps(case):
    """Subclassed, a class for each pixel."""
    return Maps(), {"classes": 6, "logits": True, "inputs": {"maps": (48, 48, 3)}, "targets": (48, 48)}


class Reviewer(keras.Model):
    """Subclassed transformer encoder over numbers of words."""

    def __init__(self):
        super().__init__()
        self.table, self.places = L.Embedding(10000, 64), L.Embedding(48, 64)
        self.looks = [L.MultiHeadAttention(4, 16) for _ in range(2)]
        self.wide = [L.Dense(256, activation="gelu") for _ in range(2)]
        self.back = [L.Dense(64) for _ in range(2)]
        self.norms = [L.LayerNormalization() for _ in range(4)]
        self.end = L.Dense(4)

    def call(self, inputs, training=False):
        y = self.table(tf.cast(inputs, tf.int32)) + self.places(tf.range(48))
        for place in range(2):
            z = self.norms[2 * place](y)
            y = y + self.looks[place](z, z)
            y = y + self.back[place](self.wide[place](self.norms[2 * place + 1](y)))
        return self.end(tf.reduce_mean(y, 1))


def reviewer(case):
    """Subclassed, with a compiled loss on logits."""
    return Reviewer(), {"classes": 4, "logits": True, "inputs": {"reviewer": (48,)}, "targets": ()}


class Teacher(keras.Model):
    """Learns from a bigger net that does not learn: two losses in a train_step of its own."""

    def __init__(self, big, small):
        super().__init__()
        self.big, self.small = big, small

    def call(self, inputs):
        return self.small(inputs)

    def compile(self, optimizer):
        super().compile(optimizer=optimizer)
        self.optimizer.build(self.small.trainable_variables)

    def train_step(self, data):
        x, y = data
        soft = tf.nn.softmax(self.big(x, training=False) / 4.0)
        with tf.GradientTape() as tape:
            said = self.small(x, training=True)
            hard = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=said))
            near = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=soft, logits=said / 4.0))
            loss = hard + near
        weights = self.small.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def teacher(case):
    """Distillation."""

    def net(widths):
        x = keras.Input((36, 36, 3))
        y = x
        for width in widths:
            y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
        return keras.Model(x, L.Dense(10)(L.Flatten()(y)))

    model = Teacher(net((64, 96)), net((24, 32)))
    model.compile(case["make_optimizer"]())
    return model, {"compiled": True, "classes": 10, "inputs": {"teacher": (36, 36, 3)}, "targets": ()}


class Forger(keras.Model):
    """The usual GAN: one optimizer each, one train_step."""

    def __init__(self, maker, judge):
        super().__init__()
        self.maker, self.judge = maker, judge

    def call(self, inputs):
        return self.judge(inputs)

    def compile(self, first, second):
        super().compile(optimizer=first)
        self.second = second
        self.optimizer.build(self.maker.trainable_variables)
        self.second.build(self.judge.trainable_variables)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        count = tf.shape(real)[0]
        noise = tf.random.normal([count, 64])
        with tf.GradientTape() as a, tf.GradientTape() as b:
            made = self.maker(noise, training=True)
            true, false = self.judge(real, training=True), self.judge(made, training=True)
            cross = tf.nn.sigmoid_cross_entropy_with_logits
            lost = tf.reduce_mean(cross(tf.ones_like(true), true) + cross(tf.zeros_like(false), false))
            cheat = tf.reduce_mean(cross(tf.ones_like(false), false))
        weights = self.maker.trainable_variables
        self.optimizer.apply_gradients(zip(a.gradient(cheat, weights), weights))
        weights = self.judge.trainable_variables
        self.second.apply_gradients(zip(b.gradient(lost, weights), weights))
        return {"lost": lost, "cheat": cheat}


def forger(case):
    """A convolutional GAN."""
    noise = keras.Input((64,))
    y = L.Reshape((7, 7, 96))(L.Dense(7 * 7 * 96, use_bias=False)(noise))
    for width in (64, 32):
        y = L.LeakyReLU()(L.BatchNormalization()(L.Conv2DTranspose(width, 5, strides=2, padding="same")(y)))
    maker = keras.Model(noise, L.Conv2D(1, 5, padding="same", activation="tanh")(y))
    digit = keras.Input((28, 28, 1))
    y = digit
    for width in (48, 96):
        y = L.Dropout(0.3)(L.LeakyReLU()(L.Conv2D(width, 5, strides=2, padding="same")(y)))
    model = Forger(maker, keras.Model(digit, L.Dense(1)(L.Flatten()(y))))
    model.compile(case["make_optimizer"](), case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"forger": (28, 28, 1)}, "targets": None}
