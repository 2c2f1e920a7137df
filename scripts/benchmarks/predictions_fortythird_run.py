"""Models of predictions.py's forty-third set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def nightjars(case):
    """Night birds on a known deep residual net, of which only the last stage goes on learning."""
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(128, 128, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith(("conv5", "post"))
    photo = keras.Input((128, 128, 3), name="photo")
    x = L.Rescaling(1.0 / 127.5, offset=-1.0)(photo)
    x = base(x)
    a = L.GlobalAveragePooling2D()(x)
    b = L.GlobalMaxPooling2D()(x)
    x = L.Concatenate()([a, b])
    x = L.Dropout(0.4)(x)
    x = L.Dense(256, activation="relu")(x)
    return keras.Model(photo, L.Dense(44, activation="softmax")(x)), {"classes": 44}


def nutcrackers(case):
    """Which words stand around a word, told from words drawn at random."""
    middle = keras.Input((1,), dtype="int32", name="middle")
    around = keras.Input((12,), dtype="int32", name="around")
    m = L.Embedding(60000, 100, name="inner")(middle)
    a = L.Embedding(60000, 100, name="outer")(around)
    lean = L.Embedding(60000, 1, embeddings_initializer="zeros", name="lean")(around)
    x = L.Dot(axes=2)([a, m])
    x = L.Add()([x, lean])
    x = L.Activation("sigmoid")(L.Flatten()(x))
    return keras.Model([middle, around], x), {
        "loss": "binary_crossentropy", "highs": {"middle": 60000, "around": 60000}}


def oranges(case):
    """Will a shopper take this fruit: what was taken before counts by its nearness to what is offered."""
    who = keras.Input((1,), dtype="int32", name="who")
    offer = keras.Input((1,), dtype="int32", name="offer")
    sort = keras.Input((1,), dtype="int32", name="sort")
    taken = keras.Input((50,), dtype="int32", name="taken")
    sorts = keras.Input((50,), dtype="int32", name="sorts")
    fruit = L.Embedding(60000, 32, name="fruit")
    kind = L.Embedding(900, 16, name="kind")
    target = L.Concatenate()([fruit(offer), kind(sort)])
    past = L.Concatenate()([fruit(taken), kind(sorts)])
    spread = L.RepeatVector(50)(L.Flatten()(target))
    both = L.Concatenate()([past, spread, L.Subtract()([past, spread]), L.Multiply()([past, spread])])
    w = L.Dense(80)(both)
    w = L.PReLU(shared_axes=[1])(w)
    w = L.Dense(40, activation="sigmoid")(w)
    w = L.Dense(1)(w)
    w = L.Softmax(axis=1)(w)
    liking = L.Flatten()(L.Dot(axes=1)([w, past]))
    x = L.Concatenate()([
        L.Flatten()(L.Embedding(80000, 32, name="shopper")(who)), L.Flatten()(target), liking,
        L.Multiply()([L.Flatten()(target), liking]),
    ])
    x = L.BatchNormalization()(x)
    for width in (200, 80):
        x = L.PReLU()(L.Dense(width)(x))
    return keras.Model([who, offer, sort, taken, sorts], L.Dense(1, activation="sigmoid")(x)), {
        "loss": "binary_crossentropy",
        "highs": {"who": 80000, "offer": 60000, "sort": 900, "taken": 60000, "sorts": 900},
    }


def ottomans(case):
    """How someone sits down: a wide path over few frames and a thin one over all, the thin telling the wide."""
    def unit(x, width, time, stride):
        short = x
        if stride > 1 or x.shape[-1] != 2 * width:
            short = L.Conv3D(2 * width, 1, strides=(1, stride, stride), use_bias=False)(x)
        y = L.Conv3D(width, (time, 1, 1), padding="same", use_bias=False)(x)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Conv3D(width, (1, 3, 3), strides=(1, stride, stride), padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Conv3D(2 * width, 1, use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.ReLU()(L.Add()([short, y]))

    film = keras.Input((24, 64, 64, 3), name="film")
    slow = L.AveragePooling3D((4, 1, 1))(film)
    slow = L.Conv3D(32, (1, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(slow)
    fast = L.Conv3D(8, (3, 5, 5), strides=(1, 2, 2), padding="same", activation="relu")(film)
    for width, stride in ((32, 1), (48, 2), (80, 2)):
        told = L.Conv3D(width // 4, (5, 1, 1), strides=(4, 1, 1), padding="same", activation="relu")(fast)
        slow = unit(L.Concatenate()([slow, told]), width, 1, stride)
        fast = unit(fast, width // 4, 3, stride)
    x = L.Concatenate()([L.GlobalAveragePooling3D()(slow), L.GlobalAveragePooling3D()(fast)])
    x = L.Dropout(0.5)(x)
    return keras.Model(film, L.Dense(26, activation="softmax")(x)), {"classes": 26}


def parasols(case):
    """Shade, sand, sea and people from above: three scales kept side by side, which trade what they know."""
    def conv(x, width, stride=1, act=True):
        x = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.95)(x)
        return L.Activation("relu")(x) if act else x

    def basic(x, width):
        return L.Activation("relu")(L.Add()([x, conv(conv(x, width), width, act=False)]))

    def swap(scales, widths):
        out = []
        for i, width in enumerate(widths):
            parts = []
            for j, x in enumerate(scales):
                if j > i:
                    x = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(x))
                    x = L.UpSampling2D(2 ** (j - i), interpolation="nearest")(x)
                while j < i:
                    j += 1
                    x = conv(x, width if j == i else widths[j], 2, act=j < i)
                parts.append(x)
            out.append(L.Activation("relu")(L.Add()(parts)))
        return out

    beach = keras.Input((128, 128, 3), name="beach")
    x = conv(beach, 20, 2)
    scales, widths = [basic(x, 20)], [20]
    for width in (40, 72):
        scales.append(conv(scales[-1], width, 2))
        widths.append(width)
        scales = [basic(s, w) for s, w in zip(scales, widths)]
        scales = swap(scales, widths)
    tops = [scales[0]] + [
        L.UpSampling2D(2 ** i, interpolation="bilinear")(s) for i, s in enumerate(scales) if i]
    x = L.Concatenate()(tops)
    x = L.Conv2D(64, 1, activation="relu")(x)
    x = L.Conv2D(7, 1)(x)
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    return keras.Model(beach, x), {"classes": 7, "logits": True}


def pistachios(case):
    """Nuts on a belt: each block looks near and far, and each channel picks which look it trusts."""
    def pick(x, width):
        near = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(x)))
        far = L.Conv2D(width, 3, padding="same", dilation_rate=2, use_bias=False)(x)
        far = L.ReLU()(L.BatchNormalization()(far))
        s = L.GlobalAveragePooling2D()(L.Add()([near, far]))
        s = L.Dense(24, use_bias=False)(s)
        s = L.ReLU()(L.BatchNormalization()(s))
        s = L.Reshape((2, width))(L.Dense(2 * width)(s))
        s = L.Softmax(axis=1)(s)
        one = L.Reshape((1, 1, width))(L.Cropping1D((0, 1))(s))
        two = L.Reshape((1, 1, width))(L.Cropping1D((1, 0))(s))
        return L.Add()([L.Multiply()([near, one]), L.Multiply()([far, two])])

    belt = keras.Input((64, 64, 3), name="belt")
    x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(belt)
    for stage, width in enumerate((32, 56, 96)):
        if stage:
            x = L.MaxPooling2D(3, strides=2, padding="same")(x)
        x = L.Conv2D(width, 1, use_bias=False)(x)
        for _ in range(2):
            y = pick(x, width)
            y = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(y))
            x = L.ReLU()(L.Add()([x, y]))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(belt, L.Dense(11, activation="softmax")(x)), {"classes": 11}


def potholes(case):
    """What changed in a road from last year to this: one encoder for both years, their gap at every scale."""
    street = x = keras.Input((96, 96, 3))
    outs = []
    for width in (16, 32, 56, 72):
        x = L.Conv2D(width, 3, padding="same", activation="elu", kernel_initializer="he_uniform")(x)
        x = L.Conv2D(width, 3, padding="same", activation="elu", kernel_initializer="he_uniform")(x)
        x = L.BatchNormalization()(x)
        outs.append(x)
        x = L.MaxPooling2D()(x)
    encoder = keras.Model(street, outs, name="encoder")
    before = keras.Input((96, 96, 3), name="before")
    after = keras.Input((96, 96, 3), name="after")
    gaps = []
    for a, b in zip(encoder(before), encoder(after)):
        gaps.append(L.Subtract()([L.Maximum()([a, b]), L.Minimum()([a, b])]))
    x = gaps.pop()
    for width in (56, 32, 16):
        x = L.Conv2DTranspose(width, 3, strides=2, padding="same", activation="elu")(x)
        x = L.Concatenate()([x, gaps.pop()])
        x = L.Conv2D(width, 3, padding="same", activation="elu")(x)
        x = L.SpatialDropout2D(0.1)(x)
    return keras.Model([before, after], L.Conv2D(1, 1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def quadrants(case):
    """How much each stretch of a genome is read out in many tissues, from its letters alone."""
    letters = keras.Input((4096, 4), name="letters")
    x = L.Conv1D(64, 15, padding="same")(letters)
    for width in (64, 80, 96, 112):
        y = L.BatchNormalization()(x)
        y = L.Activation("gelu")(y)
        y = L.Conv1D(width, 5, padding="same")(y)
        x = L.MaxPooling1D(2)(y)
    x = L.Activation("gelu")(L.BatchNormalization()(x))
    for reach in (1, 2, 4, 8, 16):
        y = L.Conv1D(48, 3, padding="same", dilation_rate=reach, use_bias=False)(x)
        y = L.Activation("gelu")(L.BatchNormalization()(y))
        y = L.Conv1D(112, 1, use_bias=False)(y)
        y = L.Dropout(0.25)(L.BatchNormalization(gamma_initializer="zeros")(y))
        x = L.Add()([x, y])
    x = L.Cropping1D(32)(x)
    x = L.Conv1D(128, 1, activation="gelu")(x)
    return keras.Model(letters, L.Dense(60, activation="softplus")(x)), {"loss": "poisson"}


def quicksands(case):
    """What moves in the ground: few learned slots read a long record, think, and read it again."""
    record = keras.Input((1024, 24), name="record")
    slots = keras.Input((40,), dtype="int32", name="slots")
    data = L.Conv1D(64, 9, padding="same")(record)
    data = L.LayerNormalization()(data)
    z = L.Embedding(40, 128)(slots)

    def make(heads, size):
        parts = {
            "first": L.LayerNormalization(), "look": L.MultiHeadAttention(heads, size), "plus": L.Add(),
            "second": L.LayerNormalization(), "up": L.Dense(256, activation="gelu"), "down": L.Dense(128),
            "sum": L.Add(),
        }

        def call(z, seen=None):
            q = parts["first"](z)
            z = parts["plus"]([z, parts["look"](q, q if seen is None else seen)])
            return parts["sum"]([z, parts["down"](parts["up"](parts["second"](z)))])

        return call

    read = make(2, 48)
    think = [make(4, 32) for _ in range(2)]
    for _ in range(2):
        z = read(z, data)
        for block in think:
            z = block(z)
    z = L.GlobalAveragePooling1D()(L.LayerNormalization()(z))
    return keras.Model([record, slots], L.Dense(16, activation="softmax")(z)), {
        "classes": 16, "highs": {"slots": 40}}


def reindeer(case):
    """Where herds will be an hour on: a short look, a long one, the same hour of each day, and a straight line."""
    week = keras.Input((168, 300), name="week")
    c = L.Conv1D(96, 6, padding="causal", activation="relu")(week)
    c = L.Dropout(0.2)(c)
    long = L.GRU(96)(c)
    days = L.Permute((2, 1, 3))(L.Reshape((7, 24, 96))(c))
    days = L.TimeDistributed(L.GRU(8))(days)
    x = L.Concatenate()([long, L.Flatten()(days)])
    x = L.Dense(300)(L.Dropout(0.2)(x))
    line = L.Permute((2, 1))(L.Cropping1D((144, 0))(week))
    line = L.Flatten()(L.Dense(1)(line))
    return keras.Model(week, L.Add()([x, line])), {"loss": "mean_absolute_error"}


def rhubarbs(case):
    """Which genes of a plant go together: a noisy row squeezed through a code that should be sparse."""
    row = keras.Input((4000,), name="row")
    x = L.GaussianDropout(0.2)(row)
    for width in (1100, 400):
        x = L.Dense(width, kernel_regularizer=keras.regularizers.l2(1e-5))(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
    x = L.Dense(150, activation="relu", activity_regularizer=keras.regularizers.l1(1e-5), name="code")(x)
    for width in (400, 1100):
        x = L.Dense(width)(x)
        x = L.BatchNormalization()(x)
        x = L.LeakyReLU()(x)
    return keras.Model(row, L.Dense(4000, activation="relu")(x)), {"loss": "log_cosh"}


def riddles(case):
    """The next word of a riddle from the letters of those before it."""
    letters = keras.Input((35, 14), dtype="int32", name="letters")
    x = L.Embedding(70, 16)(letters)
    parts = []
    for size, count in ((1, 25), (2, 50), (3, 75), (4, 100), (5, 125)):
        y = L.Conv2D(count, (1, size), activation="tanh")(x)
        y = L.MaxPooling2D((1, 15 - size))(y)
        parts.append(L.Reshape((35, count))(y))
    x = L.Concatenate()(parts)
    for _ in range(2):
        gate = L.Dense(375, activation="sigmoid", bias_initializer=keras.initializers.Constant(-2.0))(x)
        new = L.Dense(375, activation="relu")(x)
        x = L.Add()([x, L.Multiply()([gate, L.Subtract()([new, x])])])
    x = L.LSTM(220, return_sequences=True)(x)
    x = L.Dropout(0.4)(x)
    x = L.LSTM(220, return_sequences=True)(x)
    x = L.Dropout(0.4)(x)
    return keras.Model(letters, L.Dense(10000, activation="softmax")(x)), {"classes": 10000, "highs": {"letters": 70}}


def scorpions(case):
    """Day into night and back again: two painters, each undone by the other, before two judges who stand still."""
    def norm(x):
        return L.GroupNormalization(groups=-1)(x)

    def painter(name):
        p = keras.Input((64, 64, 3))
        x = L.ReLU()(norm(L.Conv2D(24, 7, padding="same")(p)))
        for width in (48, 80):
            x = L.ReLU()(norm(L.Conv2D(width, 3, strides=2, padding="same")(x)))
        for _ in range(2):
            y = L.ReLU()(norm(L.Conv2D(80, 3, padding="same")(x)))
            x = L.Add()([x, norm(L.Conv2D(80, 3, padding="same")(y))])
        for width in (48, 24):
            x = L.ReLU()(norm(L.Conv2DTranspose(width, 3, strides=2, padding="same")(x)))
        return keras.Model(p, L.Conv2D(3, 7, padding="same", activation="tanh")(x), name=name)

    def judge(name):
        m = keras.Sequential([
            keras.Input((64, 64, 3)),
            L.Conv2D(24, 4, strides=2, padding="same"), L.LeakyReLU(),
            L.Conv2D(48, 4, strides=2, padding="same"), L.LeakyReLU(),
            L.Conv2D(96, 4, padding="same"), L.LeakyReLU(),
            L.Conv2D(1, 4, padding="same"),
        ], name=name)
        m.trainable = False
        return m

    to_night, to_day = painter("to_night"), painter("to_day")
    day = keras.Input((64, 64, 3), name="day")
    night = keras.Input((64, 64, 3), name="night")
    dark, light = to_night(day), to_day(night)
    outs = [
        L.Activation("linear", name="dark_score")(judge("night_judge")(dark)),
        L.Activation("linear", name="light_score")(judge("day_judge")(light)),
        L.Activation("linear", name="day_again")(to_day(dark)),
        L.Activation("linear", name="night_again")(to_night(light)),
    ]
    return keras.Model([day, night], outs), {
        "losses": {"dark_score": "mse", "light_score": "mse", "day_again": "mae", "night_again": "mae"}}


def sleighs(case):
    """Five letters on the side of a sleigh, each read by a head of its own."""
    side = keras.Input((48, 160, 1), name="side")
    x = side
    for width in (20, 32, 48, 64):
        x = L.Conv2D(width, 3, padding="same", kernel_regularizer=keras.regularizers.l2(1e-4))(x)
        x = L.LeakyReLU()(x)
        x = L.MaxPooling2D(2)(x)
        x = L.BatchNormalization()(x)
    x = L.Flatten()(x)
    x = L.Dense(320, activation="relu")(x)
    x = L.Dropout(0.3)(x)
    names = ["letter%d" % i for i in range(5)]
    outs = [L.Dense(36, activation="softmax", name=n)(L.Dense(64, activation="relu")(x)) for n in names]
    return keras.Model(side, outs), {
        "losses": dict.fromkeys(names, "sparse_categorical_crossentropy"),
        "outs": dict.fromkeys(names, 36),
        "metrics": {n: ["accuracy"] for n in names},
    }


def snails(case):
    """Shell, foot or ground for each point: a U filled in with smaller U's, all of whose tops have a say."""
    def pair(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = L.BatchNormalization()(x)
            x = L.LeakyReLU()(x)
        return x

    widths = (12, 20, 36, 60)
    photo = keras.Input((96, 96, 3), name="photo")
    rows, x = [], photo
    for i, width in enumerate(widths):
        x = pair(x if not i else L.MaxPooling2D()(x), width)
        rows.append([x])
    for j in range(1, len(widths)):
        for i in range(len(widths) - j):
            up = L.Conv2DTranspose(widths[i], 2, strides=2, padding="same")(rows[i + 1][j - 1])
            rows[i].append(pair(L.Concatenate()(rows[i] + [up]), widths[i]))
    tops = [L.Conv2D(3, 1)(top) for top in rows[0][1:]]
    return keras.Model(photo, L.Softmax()(L.Average()(tops))), {"classes": 3}


def spires(case):
    """Who calls from a tower: layers over widening time, then the mean and the spread of what they say."""
    voice = keras.Input((280, 40), name="voice")
    x = voice
    for width, size, reach in ((192, 5, 1), (192, 3, 2), (192, 3, 3), (192, 1, 1), (480, 1, 1)):
        x = L.Conv1D(width, size, dilation_rate=reach)(x)
        x = L.ReLU()(x)
        x = L.BatchNormalization(epsilon=1e-4)(x)
    mean = L.GlobalAveragePooling1D()(x)
    power = L.GlobalAveragePooling1D()(L.Multiply()([x, x]))
    spread = L.Subtract()([power, L.Multiply()([mean, mean])])
    x = L.Concatenate()([mean, spread])
    x = L.Dense(256)(x)
    x = L.BatchNormalization()(L.ReLU()(x))
    x = L.UnitNormalization()(L.Dense(192)(x))
    x = L.Rescaling(20.0)(x)
    return keras.Model(voice, L.Dense(1200, use_bias=False)(x)), {"classes": 1200, "logits": True}


def sponges(case):
    """The kind of a spray of particles, from every pair of them."""
    bits = keras.Input((30, 7), name="bits")
    x = L.Dense(32, activation="relu")(L.BatchNormalization()(bits))
    for width in (40, 56):
        to = L.Reshape((30, 1, width))(L.Dense(width)(x))
        since = L.Reshape((1, 30, width))(L.Dense(width)(x))
        pair = L.Activation("relu")(L.Add()([to, since]))
        pair = L.Dense(width, activation="relu")(pair)
        pair = L.Dense(width, activation="relu")(pair)
        told = L.Reshape((30, width))(L.AveragePooling2D((1, 30))(pair))
        x = L.Concatenate()([x, told])
        x = L.Dense(64, activation="relu")(x)
        x = L.LayerNormalization()(x)
    x = L.GlobalAveragePooling1D()(x)
    x = L.Dense(64, activation="relu")(x)
    return keras.Model(bits, L.Dense(5, activation="softmax")(x)), {"classes": 5}


def steamers(case):
    """Ships' signals into plain words by gated convolutions alone, each layer of the writer looking back."""
    sent = keras.Input((32,), dtype="int32", name="sent")
    plain = keras.Input((28,), dtype="int32", name="plain")

    def gated(x, padding):
        y = L.Dropout(0.1)(x)
        a = L.Conv1D(128, 3, padding=padding)(y)
        b = L.Conv1D(128, 3, padding=padding, activation="sigmoid")(y)
        return L.Multiply()([a, b])

    words = L.Embedding(11000, 128)(sent)
    x = words
    for _ in range(4):
        x = L.Add()([x, gated(x, "same")])
    both = L.Add()([x, words])
    said = L.Embedding(9000, 128)(plain)
    z = said
    for _ in range(3):
        y = gated(z, "causal")
        ask = L.Add()([L.Dense(128)(y), said])
        seen = L.Attention()([ask, both, x])
        z = L.Add()([z, y, L.Dense(128)(seen)])
    return keras.Model([sent, plain], L.Dense(9000, activation="softmax")(z)), {
        "classes": 9000, "highs": {"sent": 11000, "plain": 9000}}


def swallows(case):
    """Small pictures told in words of a code book: each place takes the nearest entry."""
    class Book(L.Layer):
        def __init__(self, size, width):
            super().__init__()
            self.size, self.width = size, width

        def build(self, shape):
            self.book = self.add_weight(name="book", shape=(self.width, self.size), initializer="uniform")

        def call(self, x):
            flat = tf.reshape(x, [-1, self.width])
            book = tf.convert_to_tensor(self.book)
            far = (tf.reduce_sum(tf.square(flat), 1, keepdims=True) + tf.reduce_sum(tf.square(book), 0)
                   - 2 * tf.matmul(flat, book))
            best = tf.argmin(far, axis=1)
            near = tf.reshape(tf.gather(tf.transpose(book), best), tf.shape(x))
            self.add_loss(tf.reduce_mean(tf.square(near - tf.stop_gradient(x)))
                          + 0.25 * tf.reduce_mean(tf.square(tf.stop_gradient(near) - x)))
            return x + tf.stop_gradient(near - x)

        def compute_output_shape(self, shape):
            return shape

    def rest(x):
        y = L.Conv2D(24, 3, padding="same", activation="relu")(L.ReLU()(x))
        return L.Add()([x, L.Conv2D(64, 1)(y)])

    photo = keras.Input((64, 64, 3), name="photo")
    x = L.Conv2D(32, 4, strides=2, padding="same", activation="relu")(photo)
    x = L.Conv2D(64, 4, strides=2, padding="same", activation="relu")(x)
    x = rest(rest(L.Conv2D(64, 3, padding="same")(x)))
    x = Book(384, 40)(L.Conv2D(40, 1)(x))
    x = rest(rest(L.Conv2D(64, 3, padding="same")(x)))
    x = L.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu")(x)
    return keras.Model(photo, L.Conv2DTranspose(3, 4, strides=2, padding="same")(x)), {"loss": "mse"}


def trellises(case):
    """Hidden words of a garden book: thin word vectors made wide, and one block of layers passed five times."""
    page = keras.Input((80,), dtype="int32", name="page")
    place = keras.Input((80,), dtype="int32", name="place")
    x = L.Add()([L.Embedding(15000, 48)(page), L.Embedding(80, 48)(place)])
    x = L.Dense(160)(L.LayerNormalization()(x))
    look = L.MultiHeadAttention(5, 32, dropout=0.1)
    first, second = L.LayerNormalization(), L.LayerNormalization()
    up, down, drop = L.Dense(480, activation="gelu"), L.Dense(160), L.Dropout(0.1)
    for _ in range(5):
        x = first(L.Add()([x, look(x, x)]))
        x = second(L.Add()([x, drop(down(up(x)))]))
    x = L.Dense(48, activation="gelu")(x)
    x = L.LayerNormalization()(x)
    return keras.Model([page, place], L.Dense(15000)(x)), {
        "classes": 15000, "logits": True, "highs": {"page": 15000, "place": 80}}


def turrets(case):
    """Towers outlined one by one: shared masks for the whole view, and for each box the share of every mask."""
    def conv(x, width, stride=1):
        x = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.Activation("silu")(x)

    view = keras.Input((128, 128, 3), name="view")
    x = conv(view, 16, 2)
    x = conv(x, 32, 2)
    x = L.Add()([x, conv(conv(x, 32), 32)])
    x = conv(x, 64, 2)
    mid = L.Add()([x, conv(conv(x, 64), 64)])
    x = conv(mid, 112, 2)
    low = L.Add()([x, conv(conv(x, 56), 112)])
    low = L.Conv2D(64, 1)(low)
    mid = L.Add()([L.Conv2D(64, 1)(mid), L.UpSampling2D()(low)])
    shapes = conv(L.UpSampling2D(interpolation="bilinear")(conv(mid, 48)), 32)
    shapes = L.Conv2D(12, 1, activation="relu")(shapes)
    shapes = L.Reshape((32 * 32, 12))(shapes)
    tower = [L.Conv2D(64, 3, padding="same", activation="relu") for _ in range(2)]
    heads = [L.Conv2D(3 * n, 3, padding="same") for n in (4, 6, 12)]
    found = [[], [], []]
    for level in (mid, low):
        h = tower[1](tower[0](level))
        for place, head, n in zip(found, heads, (4, 6, 12)):
            place.append(L.Reshape((-1, n))(head(h)))
    boxes, kinds, shares = [L.Concatenate(axis=1)(f) for f in found]
    boxes = L.Activation("linear", name="boxes")(boxes)
    kinds = L.Activation("softmax", name="kinds")(kinds)
    masks = L.Dot(axes=2)([L.Activation("tanh")(shares), shapes])
    masks = L.Activation("sigmoid", name="masks")(masks)
    return keras.Model(view, [boxes, kinds, masks]), {
        "losses": {"boxes": "huber", "kinds": "sparse_categorical_crossentropy", "masks": "binary_crossentropy"},
        "outs": {"kinds": 6},
        "metrics": {"kinds": ["accuracy"]},
    }


def typhoons(case):
    """What each turn of the wheel is worth in a storm: residual layers over four frames, then worth and gain."""
    frames = keras.Input((84, 84, 4), name="frames")
    x = L.Rescaling(1.0 / 255)(frames)
    for width in (16, 32, 32):
        x = L.Conv2D(width, 3, padding="same")(x)
        x = L.MaxPooling2D(3, strides=2, padding="same")(x)
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same")(L.ReLU()(x))
            y = L.Conv2D(width, 3, padding="same")(L.ReLU()(y))
            x = L.Add()([x, y])
    x = L.Flatten()(L.ReLU()(x))
    worth = L.Dense(1)(L.Dense(256, activation="relu")(x))
    gain = L.Dense(18)(L.Dense(256, activation="relu")(x))
    mean = L.GlobalAveragePooling1D()(L.Reshape((18, 1))(gain))
    return keras.Model(frames, L.Add()([L.Subtract()([gain, mean]), worth])), {"loss": "huber"}
