"""Models of predictions.py's forty-second set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def alcoves(case):
    """What stands in a niche: each stage adds a wide filter, a narrow one and the picture as it was."""
    def threefold(x, width, stride=1):
        ways = []
        for size in (3, 1):
            y = L.Conv2D(width, size, strides=stride, padding="same", use_bias=False)(x)
            ways.append(L.BatchNormalization()(y))
        if stride == 1 and x.shape[-1] == width:
            ways.append(L.BatchNormalization()(x))
        return L.ReLU()(L.Add()(ways))

    niche = keras.Input((80, 80, 3), name="niche")
    x = threefold(niche, 32, 2)
    for width, blocks in ((48, 2), (80, 3), (128, 3)):
        for block in range(blocks):
            x = threefold(x, width, 2 if block == 0 and width > 48 else 1)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(niche, L.Dense(26, activation="softmax")(x)), {"classes": 26}


def almshouses(case):
    """Who is owed a room: dense layers of which only the largest of several answers counts."""
    row = keras.Input((140,), name="claim")
    x = L.BatchNormalization()(row)
    for width, pieces in ((320, 3), (240, 4), (160, 2)):
        x = L.Maximum()([L.Dense(width, kernel_constraint=keras.constraints.MaxNorm(3))(x) for _ in range(pieces)])
        x = L.Dropout(0.25)(x)
    low = L.Minimum()([L.Dense(64)(x), L.Dense(64)(x)])
    x = L.Concatenate()([low, L.Dense(64, activation="softsign")(x)])
    return keras.Model(row, L.Dense(7, activation="softmax")(x)), {"classes": 7}


def amphoras(case):
    """Makers of a jar from the plain bytes of its record: a few slots look at them again and again."""
    record = keras.Input((1024,), dtype="int32", name="record")
    places = keras.Input((1024,), dtype="int32", name="places")
    slots = keras.Input((48,), dtype="int32", name="slots")
    data = L.Concatenate()([L.Embedding(256, 64)(record), L.Embedding(1024, 32)(places)])
    data = L.LayerNormalization()(data)
    x = L.Embedding(48, 128)(slots)
    across = L.MultiHeadAttention(2, 40, name="across")
    before = L.LayerNormalization(name="before")
    within = []
    for _ in range(2):
        within.append((L.LayerNormalization(), L.MultiHeadAttention(8, 16), L.LayerNormalization(),
                       L.Dense(384, activation="gelu"), L.Dense(128)))
    for _ in range(2):
        x = L.Add()([x, across(before(x), data)])
        for first, heads, second, widen, narrow in within:
            y = first(x)
            x = L.Add()([x, heads(y, y)])
            x = L.Add()([x, narrow(widen(second(x)))])
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model([record, places, slots], L.Dense(22)(x)), {
        "classes": 22, "logits": True, "highs": {"record": 256, "places": 1024, "slots": 48}}


def aviaries(case):
    """All the birds heard within a second, from the bare wave, by residual convolutions along it."""
    wave = keras.Input((8000, 1), name="wave")
    x = L.Conv1D(40, 80, strides=4, padding="same", kernel_regularizer=keras.regularizers.L2(1e-4))(wave)
    x = L.Activation("relu")(L.BatchNormalization()(x))
    x = L.MaxPooling1D(4)(x)
    for width in (40, 80, 160):
        for _ in range(2):
            short = x if x.shape[-1] == width else L.Conv1D(width, 1)(x)
            y = L.Conv1D(width, 3, padding="same", use_bias=False)(x)
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.Conv1D(width, 3, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            x = L.Activation("relu")(L.Add()([short, y]))
        x = L.MaxPooling1D(4)(x)
    both = L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)])
    x = L.Dropout(0.4)(both)
    return keras.Model(wave, L.Dense(64, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def barometers(case):
    """A week of pressures told back from one small memory of it, so that odd weeks stand out."""
    week = keras.Input((144, 20), name="week")
    x = L.LSTM(128, return_sequences=True)(week)
    x = L.LSTM(48)(x)
    x = L.RepeatVector(144)(x)
    x = L.LSTM(48, return_sequences=True, go_backwards=True)(x)
    x = L.LSTM(128, return_sequences=True)(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    x = L.TimeDistributed(L.Dense(20))(x)
    return keras.Model(week, x), {"loss": "mean_absolute_error"}


def bookcases(case):
    """What a reader asks of a shop, and which of the words are title, writer or shelf."""
    asked = keras.Input((40,), dtype="int32", name="asked")
    places = keras.Input((40,), dtype="int32", name="places")
    x = L.Add()([L.Embedding(24000, 160, mask_zero=True)(asked), L.Embedding(40, 160)(places)])
    x = L.Dropout(0.1)(L.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(3):
        y = L.MultiHeadAttention(5, 32, dropout=0.1)(x, x)
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
        y = L.Dense(160)(L.Dense(640, activation="gelu")(x))
        x = L.LayerNormalization(epsilon=1e-12)(L.Add()([x, L.Dropout(0.1)(y)]))
    slots = L.Dense(70, activation="softmax", name="slots")(x)
    pooled = L.Dense(160, activation="tanh")(L.GlobalAveragePooling1D()(x))
    intent = L.Dense(31, activation="softmax", name="intent")(pooled)
    return keras.Model([asked, places], [slots, intent]), {
        "losses": {"slots": "sparse_categorical_crossentropy", "intent": "sparse_categorical_crossentropy"},
        "outs": {"slots": 70, "intent": 31},
        "metrics": {"slots": ["accuracy"], "intent": ["accuracy"]},
        "highs": {"asked": 24000, "places": 40},
    }


def boomerangs(case):
    """Which throw a short film shows: the same convolutions over every frame, then a memory of them."""
    eye = keras.Sequential([
        L.Conv2D(24, 5, strides=2, padding="same", activation="relu"),
        L.Conv2D(32, 3, padding="same", activation="relu"),
        L.MaxPooling2D(2),
        L.BatchNormalization(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(2),
        L.Conv2D(96, 3, activation="relu"),
        L.Flatten(),
        L.Dense(160, activation="relu"),
    ], name="eye")
    film = keras.Input((10, 72, 72, 3), name="film")
    x = L.TimeDistributed(eye)(film)
    x = L.Dropout(0.3)(x)
    x = L.LSTM(128, return_sequences=True, dropout=0.2)(x)
    x = L.LSTM(96)(x)
    return keras.Model(film, L.Dense(16, activation="softmax")(x)), {"classes": 16}


def bumblebees(case):
    """Which flower a bee will take: a product of two vectors beside a deep net over two others."""
    bee = keras.Input((1,), dtype="int32", name="bee")
    flower = keras.Input((1,), dtype="int32", name="flower")
    small = keras.initializers.RandomNormal(stddev=0.01)
    a = L.Flatten()(L.Embedding(70000, 24, embeddings_initializer=small)(bee))
    b = L.Flatten()(L.Embedding(25000, 24, embeddings_initializer=small)(flower))
    c = L.Flatten()(L.Embedding(70000, 40, embeddings_initializer=small)(bee))
    d = L.Flatten()(L.Embedding(25000, 40, embeddings_initializer=small)(flower))
    flat = L.Multiply()([a, b])
    x = L.Concatenate()([c, d])
    for width in (160, 80, 40):
        x = L.Dense(width, activation="relu", kernel_regularizer="l2")(x)
    x = L.Concatenate()([flat, x])
    takes = L.Dense(1, activation="sigmoid", kernel_initializer="lecun_uniform")(x)
    return keras.Model([bee, flower], takes), {
        "loss": "binary_crossentropy", "highs": {"bee": 70000, "flower": 25000}}


def cactuses(case):
    """Are two drawings of one kind: a single tower sees both, and what differs is weighed."""
    tower = keras.Sequential([
        L.Conv2D(32, 10, activation="relu", kernel_regularizer=keras.regularizers.L2(2e-4)),
        L.MaxPooling2D(),
        L.Conv2D(64, 7, activation="relu", kernel_regularizer=keras.regularizers.L2(2e-4)),
        L.MaxPooling2D(),
        L.Conv2D(64, 4, activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(128, 4, activation="relu"),
        L.Flatten(),
        L.Dense(640, activation="sigmoid"),
    ], name="tower")
    left = keras.Input((105, 105, 1), name="left")
    right = keras.Input((105, 105, 1), name="right")
    a, b = tower(left), tower(right)
    gap = L.Maximum()([L.Subtract()([a, b]), L.Subtract()([b, a])])
    same = L.Dense(1, activation="sigmoid")(gap)
    return keras.Model([left, right], same), {"loss": "binary_crossentropy"}


def cauldrons(case):
    """What boils in a scanned pot, and how far it has spread: flat and upright kernels in blocks of space."""
    def mixed(x, width):
        flat = L.Conv3D(width, (1, 3, 3), padding="same")(x)
        tall = L.Conv3D(width, (3, 1, 1), padding="same")(x)
        y = L.ELU()(L.BatchNormalization()(L.Add()([flat, tall])))
        s = L.GlobalAveragePooling3D()(y)
        s = L.Dense(width // 4, activation="relu")(s)
        s = L.Reshape((1, 1, 1, width))(L.Dense(width, activation="hard_sigmoid")(s))
        return L.Multiply()([y, s])

    pot = keras.Input((28, 36, 36, 2), name="pot")
    x = L.Conv3D(12, 3, padding="same", activation="elu")(pot)
    x = L.MaxPooling3D((1, 2, 2))(mixed(x, 16))
    x = L.AveragePooling3D(2)(mixed(mixed(x, 32), 32))
    x = L.SpatialDropout3D(0.1)(mixed(x, 64))
    x = mixed(L.Conv3D(64, 2, strides=2)(x), 64)
    x = L.GlobalMaxPooling3D()(x)
    kind = L.Dense(9, activation="softmax", name="kind")(x)
    spread = L.Dense(2, activation="softplus", name="spread")(x)
    return keras.Model(pot, [kind, spread]), {
        "losses": {"kind": "sparse_categorical_crossentropy", "spread": "mse"},
        "outs": {"kind": 9},
        "metrics": {"kind": ["accuracy"]},
    }


def chameleons(case):
    """Skin into leaves and back into skin, under the eye of a judge that does not learn here."""
    def painter(name):
        start = keras.Input((72, 72, 3))
        x = L.Conv2D(24, 7, padding="same")(start)
        x = L.Activation("relu")(L.BatchNormalization()(x))
        for width in (40, 64):
            x = L.Conv2D(width, 3, strides=2, padding="same")(x)
            x = L.Activation("relu")(L.BatchNormalization()(x))
        for _ in range(3):
            y = L.Conv2D(64, 3, padding="same")(x)
            y = L.Activation("relu")(L.BatchNormalization()(y))
            y = L.BatchNormalization()(L.Conv2D(64, 3, padding="same")(y))
            x = L.Add()([x, y])
        for width in (40, 24):
            x = L.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
            x = L.Activation("relu")(L.BatchNormalization()(x))
        return keras.Model(start, L.Conv2D(3, 7, padding="same", activation="tanh")(x), name=name)

    judge = keras.Sequential(name="judge")
    for width, stride in ((32, 2), (64, 2), (96, 1)):
        judge.add(L.Conv2D(width, 4, strides=stride, padding="same"))
        judge.add(L.LeakyReLU())
    judge.add(L.Conv2D(1, 4, padding="same"))
    judge.trainable = False
    skin = keras.Input((72, 72, 3), name="skin")
    leaf = painter("into_leaf")(skin)
    back = painter("into_skin")(leaf)
    judged = L.Activation("linear", name="judged")(judge(leaf))
    returned = L.Activation("linear", name="returned")(back)
    return keras.Model(skin, [judged, returned]), {
        "losses": {"judged": "mse", "returned": "mean_absolute_error"}}


def cobblers(case):
    """Trades of a street of shops that lend to each other: sums over neighbours, read at every depth."""
    lends = keras.Input((60, 60), name="lends")
    shops = keras.Input((60, 24), name="shops")
    x = L.Dense(80)(shops)
    depths = []
    for _ in range(4):
        near = L.Dot(axes=(2, 1))([lends, x])
        y = L.Add()([x, near])
        y = L.Dense(80, use_bias=False)(y)
        y = L.Activation("relu")(L.BatchNormalization()(y))
        x = L.Dense(80, activation="relu")(y)
        depths.append(L.GlobalAveragePooling1D()(x))
    x = L.Concatenate()(depths)
    x = L.Dropout(0.5)(L.Dense(96, activation="relu")(x))
    return keras.Model([lends, shops], L.Dense(11, activation="softmax")(x)), {"classes": 11}


def cottages(case):
    """House names on their walls: where they are written, how far to each edge, and how they lean."""
    def conv(x, width, size=3, stride=1):
        x = L.Conv2D(width, size, strides=stride, padding="same", use_bias=False)(x)
        return L.ReLU()(L.BatchNormalization()(x))

    wall = keras.Input((144, 144, 3), name="wall")
    x = conv(wall, 16, 7, 2)
    levels = []
    for width in (24, 48, 96, 128):
        x = conv(conv(x, width, 3, 1 if width == 24 else 2), width)
        levels.append(x)
    x = levels.pop()
    for width in (64, 32, 24):
        if width == 24:
            x = L.Conv2DTranspose(64, 4, strides=2, padding="same")(x)
        else:
            x = L.UpSampling2D(interpolation="bilinear")(x)
        x = L.Concatenate()([x, levels.pop()])
        x = conv(conv(x, width, 1), width)
    x = conv(x, 24)
    written = L.Conv2D(1, 1, activation="sigmoid", name="written")(x)
    edges = L.Conv2D(4, 1, activation="softplus", name="edges")(x)
    leans = L.Conv2D(1, 1, activation="tanh", name="leans")(x)
    return keras.Model(wall, [written, edges, leans]), {
        "losses": {"written": "binary_crossentropy", "edges": "huber", "leans": "mse"}}


def dominoes(case):
    """Will a player stay for another game: features crossed with themselves by gated, narrow experts."""
    sizes = {"player": 45000, "rival": 45000, "town": 9000, "device": 1200, "table": 80, "hour": 24, "rank": 10}
    fields = {name: keras.Input((1,), dtype="int32", name=name) for name in sizes}
    numbers = keras.Input((12,), name="numbers")
    start = [L.Flatten()(L.Embedding(sizes[name], 28)(field)) for name, field in fields.items()]
    start = L.Concatenate()(start + [L.BatchNormalization()(numbers)])
    width = 7 * 28 + 12
    x = start
    for _ in range(3):
        gate = L.Dense(4, activation="softmax")(x)
        experts = []
        for _ in range(4):
            y = L.Dense(40, use_bias=False, activation="tanh")(x)
            y = L.Dense(40, use_bias=False, activation="tanh")(y)
            y = L.Multiply()([start, L.Dense(width)(y)])
            experts.append(L.Reshape((1, width))(y))
        both = L.Dot(axes=(1, 1))([gate, L.Concatenate(axis=1)(experts)])
        x = L.Add()([x, both])
    deep = start
    for units in (256, 128):
        deep = L.Dense(units, activation="relu")(deep)
    x = L.Concatenate()([x, deep])
    return keras.Model(list(fields.values()) + [numbers], L.Dense(1, activation="sigmoid")(x)), {
        "loss": "binary_crossentropy", "highs": sizes}


def drawbridges(case):
    """Orders to the gate put in another tongue by gated convolutions, each of which looks at the source."""
    said = keras.Input((36,), dtype="int32", name="said")
    given = keras.Input((32,), dtype="int32", name="given")

    def gated(x, width, size, padding):
        value = L.Conv1D(width, size, padding=padding)(x)
        gate = L.Conv1D(width, size, padding=padding, activation="sigmoid")(x)
        return L.Multiply()([value, gate])

    source = L.Dropout(0.1)(L.Embedding(9000, 112)(said))
    x = L.Dense(144)(source)
    for _ in range(3):
        x = L.Rescaling(0.7071)(L.Add()([x, gated(x, 144, 3, "same")]))
    keys = L.Dense(112)(x)
    values = L.Rescaling(0.7071)(L.Add()([keys, source]))
    target = L.Dropout(0.1)(L.Embedding(7500, 112)(given))
    z = L.Dense(144)(target)
    for _ in range(3):
        y = gated(z, 144, 3, "causal")
        asks = L.Add()([L.Dense(112)(y), target])
        seen = L.Attention()([asks, values, keys])
        y = L.Add()([y, L.Dense(144)(seen)])
        z = L.Rescaling(0.7071)(L.Add()([z, y]))
    z = L.Dropout(0.1)(L.Dense(112)(z))
    return keras.Model([said, given], L.Dense(7500)(z)), {
        "classes": 7500, "logits": True, "highs": {"said": 9000, "given": 7500}}


def flasks(case):
    """Genes at work in a sample, told back from a few numbers, and the tissue that it came from."""
    genes = keras.Input((5200,), name="genes")
    x = L.Dropout(0.2)(genes)
    x = L.Dense(448, use_bias=False)(x)
    x = L.LeakyReLU()(L.BatchNormalization()(x))
    x = L.Dense(160, activation="elu")(x)
    code = L.Dense(40, activation="relu", activity_regularizer=keras.regularizers.L1(1e-5), name="code")(x)
    y = L.Dense(160, activation="elu")(L.GaussianNoise(0.1)(code))
    y = L.Dense(448, activation="elu")(y)
    rebuilt = L.Dense(5200, activation="softplus", name="rebuilt")(y)
    tissue = L.Dense(33, activation="softmax", name="tissue")(code)
    return keras.Model(genes, [rebuilt, tissue]), {
        "losses": {"rebuilt": "mse", "tissue": "sparse_categorical_crossentropy"},
        "outs": {"tissue": 33},
        "metrics": {"tissue": ["accuracy"]},
    }


def giraffes(case):
    """Coats of animals by an old deep net of which only the last convolutions still learn."""
    base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(96, 96, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("block5")
    photo = keras.Input((96, 96, 3), name="coat")
    x = base(photo)
    x = L.Flatten()(x)
    x = L.Dropout(0.5)(L.Dense(192, activation="relu")(x))
    return keras.Model(photo, L.Dense(14, activation="softmax")(x)), {"classes": 14}


class Residues(L.Layer):
    """Sums, for each of several centres, how far the local descriptors near it lie from it."""

    def __init__(self, centres, **options):
        super().__init__(**options)
        self.centres = centres

    def build(self, shape):
        width = int(shape[-1])
        self.near = self.add_weight(name="near", shape=(width, self.centres), initializer="glorot_uniform")
        self.shift = self.add_weight(name="shift", shape=(self.centres,), initializer="zeros")
        self.middle = self.add_weight(name="middle", shape=(self.centres, width), initializer="glorot_uniform")
        self.built = True

    def call(self, inputs):
        share = tf.nn.softmax(tf.tensordot(inputs, self.near, 1) + self.shift, axis=-1)
        sums = tf.matmul(share, inputs, transpose_a=True)
        mass = tf.reduce_sum(share, axis=1)[:, :, tf.newaxis]
        sums = tf.math.l2_normalize(sums - mass * self.middle, axis=2)
        flat = tf.reshape(sums, [-1, self.centres * inputs.shape[-1]])
        return tf.math.l2_normalize(flat, axis=1)

    def compute_output_shape(self, shape):
        return (shape[0], self.centres * shape[-1])


def hazelnuts(case):
    """Where in a wood a picture was taken: local descriptors gathered around learned centres."""
    wood = keras.Input((112, 112, 3), name="wood")
    x = wood
    for width in (24, 48, 96):
        x = L.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = L.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = L.MaxPooling2D()(x)
    x = L.Reshape((196, 96))(L.Conv2D(96, 1)(x))
    x = Residues(32)(x)
    x = L.Dense(192, activation="tanh")(x)
    return keras.Model(wood, L.Dense(48, activation="softmax")(x)), {"classes": 48}


def hyenas(case):
    """The part of the body that each scanned point lies on, told by the point and by all together."""
    def shared(x, width):
        x = L.Conv1D(width, 1, use_bias=False)(x)
        return L.ReLU()(L.BatchNormalization(momentum=0.9)(x))

    points = keras.Input((1200, 6), name="points")
    x = shared(shared(points, 48), 64)
    near = x
    for width in (96, 256):
        x = shared(x, width)
    whole = L.Dense(96, activation="relu")(L.GlobalMaxPooling1D()(x))
    x = L.Concatenate()([near, L.RepeatVector(1200)(whole)])
    for width in (128, 64):
        x = shared(x, width)
    x = L.Dropout(0.3)(x)
    return keras.Model(points, L.Conv1D(8, 1, activation="softmax")(x)), {"classes": 8}


def inkpots(case):
    """A line of old writing: convolutions over its picture, then LSTMs both ways along its columns."""
    line = keras.Input((32, 192, 1), name="line")
    x = line
    for width, pool in ((24, (2, 2)), (48, (2, 2)), (80, (2, 1)), (112, (2, 1))):
        x = L.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(x)
        x = L.MaxPooling2D(pool)(x)
    x = L.Permute((2, 1, 3))(x)
    x = L.Reshape((48, 224))(x)
    x = L.Bidirectional(L.LSTM(112, return_sequences=True))(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True), merge_mode="sum")(x)
    return keras.Model(line, L.Dense(96, activation="softmax")(x)), {"classes": 96}


def jetties(case):
    """Wood, water and weed around a landing: a U whose sides are themselves filled with nodes."""
    def node(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", kernel_initializer="he_uniform")(x)
            x = L.LeakyReLU()(x)
        return x

    shore = keras.Input((96, 96, 4), name="shore")
    widths = (12, 20, 36, 64)
    grid = {}
    for depth in range(4):
        inside = shore if depth == 0 else L.MaxPooling2D()(grid[depth - 1, 0])
        grid[depth, 0] = node(inside, widths[depth])
    for column in range(1, 4):
        for depth in range(4 - column):
            up = L.UpSampling2D()(grid[depth + 1, column - 1])
            row = [grid[depth, k] for k in range(column)]
            grid[depth, column] = node(L.Concatenate()(row + [up]), widths[depth])
    heads = [L.Conv2D(5, 1)(grid[0, k]) for k in (1, 2, 3)]
    x = L.Softmax()(L.Average()(heads))
    return keras.Model(shore, x), {"classes": 5}


def keyholes(case):
    """The part of speech of each word in talk overheard, by plain recurrent layers both ways."""
    heard = keras.Input((56,), dtype="int32", name="heard")
    x = L.Embedding(18000, 100, mask_zero=True)(heard)
    x = L.SpatialDropout1D(0.2)(x)
    x = L.Bidirectional(L.SimpleRNN(128, return_sequences=True))(x)
    x = L.Bidirectional(L.SimpleRNN(96, return_sequences=True, activation="relu",
                                    recurrent_initializer="identity"))(x)
    x = L.TimeDistributed(L.Dense(80, activation="relu"))(x)
    return keras.Model(heard, L.Dense(45, activation="softmax")(x)), {
        "classes": 45, "highs": {"heard": 18000}}
