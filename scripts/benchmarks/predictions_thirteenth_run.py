"""Models of predictions.py's thirteenth set: kinds of net that no set before has, for peaks, limits and the
largest batch. As predictions_third_run.py.
"""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def anvils(case):
    """Selective kernels: a small and a wide filter look, and each channel chooses between them."""
    x = keras.Input((64, 64, 3), name="metal")
    y = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    for width in (32, 48):
        a = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same")(y)))
        b = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 5, padding="same")(y)))
        z = L.Dense(16, activation="relu")(L.GlobalAveragePooling2D()(L.Add()([a, b])))
        one = L.Reshape((1, 1, width))(L.Dense(width, activation="sigmoid")(z))
        two = L.Reshape((1, 1, width))(L.Dense(width, activation="sigmoid")(z))
        y = L.MaxPooling2D()(L.Add()([L.Multiply()([a, one]), L.Multiply()([b, two])]))
    y = L.Dense(18, activation="softmax")(L.GlobalMaxPooling2D()(y))
    return keras.Model(x, y), {"classes": 18}


def chisels(case):
    """A few questions that are learnt look at a long row of readings, twice, and are told apart."""
    x = keras.Input((240, 12), name="readings")
    asked = keras.Input((16, 48), name="asked")
    y, z = L.Dense(48)(x), asked
    for _ in range(2):
        seen = L.MultiHeadAttention(4, 12)(L.LayerNormalization()(z), y)
        z = L.Add()([z, seen])
        z = L.Add()([z, L.Dense(48)(L.Dense(144, activation="relu")(L.LayerNormalization()(z)))])
    y = L.Dense(7, activation="softmax")(L.GlobalAveragePooling1D()(z))
    return keras.Model([x, asked], y), {"classes": 7}


def lathes(case):
    """Three ways side by side that are summed: a filter of three, one of one, and none."""
    x = keras.Input((56, 56, 3), name="wood")
    y = x
    for width in (32, 48, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same")(y)
        a = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(y))
        b = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y))
        y = L.ReLU()(L.Add()([a, b, L.BatchNormalization()(y)]))
    return keras.Model(x, L.Dense(9)(L.GlobalAveragePooling2D()(y))), {"classes": 9, "logits": True}


def pulleys(case):
    """A row read from its end by one loop, after filters have made it a quarter as long; one number."""
    x = keras.Input((256, 6), name="rope")
    y = L.MaxPooling1D(2)(L.SeparableConv1D(48, 5, padding="same", activation="relu")(x))
    y = L.MaxPooling1D(2)(L.SeparableConv1D(64, 5, padding="same", activation="relu")(y))
    y = L.GRU(72, go_backwards=True)(y)
    return keras.Model(x, L.Dense(1)(L.Dense(48, activation="elu")(y))), {"loss": "mse"}


def ratchets(case):
    """Blocks of attention in short numbers (bfloat16), whose weights are whole."""
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    x = keras.Input((48, 24), name="clicks")
    y = L.Dense(96)(x)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 24)(z, z)])
        z = L.Dense(256, activation="relu")(L.LayerNormalization()(y))
        y = L.Add()([y, L.Dense(96)(z)])
    y = L.Dense(6, activation="softmax", dtype="float32")(L.GlobalAveragePooling1D()(y))
    keras.mixed_precision.set_global_policy("float32")
    return keras.Model(x, y), {"classes": 6}


def spanners(case):
    """Pictures in halves (float16), normalised after each filter."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    x = keras.Input((48, 48, 3), name="nuts")
    y = x
    for width in (24, 40, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y)))
    y = L.Dense(192, activation="relu")(L.Flatten()(y))
    y = L.Dense(11, activation="softmax", dtype="float32")(y)
    keras.mixed_precision.set_global_policy("float32")
    return keras.Model(x, y), {"classes": 11}


def tongs(case):
    """Numbers and kinds: each layer multiplies by what came in first; beside it a deep row; the greater wins."""
    x = keras.Input((60,), name="numbers")
    kind = keras.Input((6,), dtype="int32", name="kinds")
    start = L.Concatenate()([x, L.Flatten()(L.Embedding(3000, 24)(kind))])
    y = start
    for _ in range(3):
        y = L.Add()([L.Multiply()([start, L.Dense(204)(y)]), y])
    z = L.Maximum()([L.Dense(320)(start), L.Dense(320)(start)])
    z = L.Maximum()([L.Dense(160)(z), L.Dense(160)(z)])
    y = L.Dense(1, activation="sigmoid")(L.Concatenate()([y, z]))
    return keras.Model([x, kind], y), {"loss": "binary_crossentropy", "highs": {"kinds": 3000}}


def vises(case):
    """Down and up again; what is taken over from the way down passes a gate."""
    x = keras.Input((64, 64, 1), name="part")
    skips, y = [], x
    for width in (16, 32):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
        skips.append(y)
        y = L.AveragePooling2D(2)(y)
    y = L.Conv2D(48, 3, padding="same", activation="relu")(y)
    for width, skip in zip((32, 16), reversed(skips)):
        y = L.Conv2D(width, 1)(L.UpSampling2D(2, interpolation="bilinear")(y))
        gate = L.ReLU()(L.Add()([L.Conv2D(width // 2, 1)(y), L.Conv2D(width // 2, 1)(skip)]))
        gate = L.Conv2D(1, 1, activation="sigmoid")(gate)
        y = L.Concatenate()([y, L.Multiply()([skip, gate])])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def cleats(case):
    """A plain perceptron that XLA compiles."""
    x = keras.Input((300,), name="row")
    y = x
    for width in (512, 384, 256):
        y = L.Dense(width, activation="selu")(y)
    return keras.Model(x, L.Dense(20, activation="softmax")(y)), {"classes": 20}


def dowels(case):
    """What was bought before, in its order, and what comes next: a table of many goods, read at both ends."""
    seen = keras.Input((30,), dtype="int32", name="seen")
    place = keras.Input((30,), dtype="int32", name="place")
    y = L.Add()([L.Embedding(9000, 48)(seen), L.Embedding(30, 48)(place)])
    z = L.LayerNormalization()(y)
    y = L.Add()([y, L.MultiHeadAttention(2, 24, dropout=0.1)(z, z, use_causal_mask=True)])
    y = L.LayerNormalization()(L.Add()([y, L.Conv1D(48, 1)(L.Conv1D(96, 1, activation="relu")(y))]))
    y = L.Dense(9000)(L.GlobalMaxPooling1D()(y))
    facts = {"classes": 9000, "logits": True, "highs": {"seen": 9000, "place": 30}}
    return keras.Model([seen, place], y), facts


def easels(case):
    """Two streams, fine and coarse, that tell each other what they see after each filter."""
    x = keras.Input((64, 64, 3), name="canvas")
    fine = L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)
    coarse = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(fine)
    for _ in range(2):
        a = L.Conv2D(24, 3, padding="same", activation="relu")(fine)
        b = L.Conv2D(48, 3, padding="same", activation="relu")(coarse)
        fine = L.ReLU()(L.Add()([a, L.UpSampling2D(2)(L.Conv2D(24, 1)(b))]))
        coarse = L.ReLU()(L.Add()([b, L.Conv2D(48, 3, strides=2, padding="same")(a)]))
    y = L.Concatenate()([L.GlobalAveragePooling2D()(fine), L.GlobalAveragePooling2D()(coarse)])
    return keras.Model(x, L.Dense(25, activation="softmax")(y)), {"classes": 25}


def funnels(case):
    """A sound at four lengths, each pooled from the last; all are read by one small net."""
    x = keras.Input((1024, 1), name="tone")
    one = keras.Input((None, 1))
    y = L.Conv1D(48, 9, padding="same", activation="relu")(one)
    y = L.Conv1D(32, 5, padding="same", activation="relu")(y)
    ear = keras.Model(one, L.GlobalMaxPooling1D()(y), name="ear")
    heard, y = [], x
    for _ in range(4):
        heard.append(ear(y))
        y = L.AveragePooling1D(2)(y)
    y = L.Dense(64, activation="tanh")(L.Concatenate()(heard))
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def gaskets(case):
    """Perceptrons with a gate that looks along the row instead of attention."""
    x = keras.Input((64,), dtype="int32", name="words")
    y = L.Embedding(2500, 64)(x)
    for _ in range(3):
        z = L.Dense(192, activation="gelu")(L.LayerNormalization()(y))
        along = L.Permute((2, 1))(L.LayerNormalization()(L.Dense(96)(z)))
        along = L.Permute((2, 1))(L.Dense(64)(along))
        y = L.Add()([y, L.Dense(64)(L.Multiply()([L.Dense(96)(z), along]))])
    y = L.Dense(5, activation="softmax")(L.GlobalAveragePooling1D()(y))
    return keras.Model(x, y), {"classes": 5, "highs": {"words": 2500}}


class Auger(keras.Model):
    """Two views of one picture have to agree, though only one of them learns from it."""

    def __init__(self, encoder, guess):
        super().__init__()
        self.encoder, self.guess = encoder, guess

    def call(self, x):
        return self.encoder(x)

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        one = tf.image.flip_left_right(x) + tf.random.normal(tf.shape(x), stddev=0.1)
        two = x * tf.random.uniform((tf.shape(x)[0], 1, 1, 1), 0.7, 1.3)
        with tf.GradientTape() as tape:
            a, b = self.encoder(one, training=True), self.encoder(two, training=True)
            p, q = self.guess(a, training=True), self.guess(b, training=True)
            loss = tf.reduce_mean(keras.losses.cosine_similarity(p, tf.stop_gradient(b)))
            loss += tf.reduce_mean(keras.losses.cosine_similarity(q, tf.stop_gradient(a)))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def augers(case):
    """Two views through one encoder, with a `train_step` of its own."""
    parts = [L.Conv2D(width, 3, strides=2, padding="same", activation="relu") for width in (32, 64, 96)]
    encoder = keras.Sequential([keras.Input((48, 48, 3)), *parts, L.GlobalAveragePooling2D(), L.Dense(128)])
    guess = keras.Sequential([keras.Input((128,)), L.Dense(64, activation="relu"), L.Dense(128)])
    model = Auger(encoder, guess)
    model.compile(case["make_optimizer"]())
    return model, {"compiled": True, "inputs": {"augers": (48, 48, 3)}, "targets": None}


class Bellow(keras.Model):
    """A state that moves by small steps along what one net says, eight times."""

    def __init__(self):
        super().__init__()
        self.begin, self.inner, self.move = L.Dense(192), L.Dense(256, activation="tanh"), L.Dense(192)
        self.told = L.Dense(4)

    def call(self, x):
        y = self.begin(x)
        for _ in range(8):
            y = y + 0.125 * self.move(self.inner(y))
        return self.told(y)


def bellows(case):
    """An equation in steps, subclassed."""
    return Bellow(), {"classes": 4, "logits": True, "inputs": {"bellows": (96,)}, "targets": ()}
