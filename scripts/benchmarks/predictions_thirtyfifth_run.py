"""Models of predictions.py's thirty-fifth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def balloons(case):
    """Small photographs through three stages of pre-activated residual pairs."""
    def pair(x, width, stride=1):
        y = L.BatchNormalization()(x)
        y = L.ReLU()(y)
        side = x
        if stride > 1 or x.shape[-1] != width:
            side = L.Conv2D(width, 1, strides=stride, use_bias=False)(y)
        y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(width, 3, padding="same", use_bias=False)(y)
        return L.Add()([side, y])

    photo = keras.Input((48, 48, 3), name="photo")
    x = L.Conv2D(20, 3, padding="same", use_bias=False)(photo)
    for width, stride in ((20, 1), (20, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        x = pair(x, width, stride)
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(photo, L.Dense(37, activation="softmax")(x)), {"classes": 37}


def bassoons(case):
    """The instrument in a clip of sound, by gated causal convolutions whose reach doubles."""
    sound = keras.Input((3200, 1), name="sound")
    x = L.Conv1D(40, 8, strides=4, padding="same", activation="relu")(sound)
    skips = []
    for i in range(7):
        a = L.Conv1D(40, 2, padding="causal", dilation_rate=2 ** i, activation="tanh")(x)
        b = L.Conv1D(40, 2, padding="causal", dilation_rate=2 ** i, activation="sigmoid")(x)
        gated = L.Multiply()([a, b])
        skips.append(L.Conv1D(64, 1)(gated))
        x = L.Add()([x, L.Conv1D(40, 1)(gated)])
    x = L.Activation("relu")(L.Add()(skips))
    x = L.Conv1D(64, 1, activation="relu")(x)
    x = L.AveragePooling1D(20)(x)
    x = L.Flatten()(x)
    x = L.Dropout(0.3)(x)
    return keras.Model(sound, L.Dense(14, activation="softmax")(x)), {"classes": 14}


def icebergs(case):
    """Two radar channels in, a mask of ice out: a U-Net with transposed convolutions."""
    def twice(x, width):
        for _ in range(2):
            x = L.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            x = L.BatchNormalization()(x)
            x = L.Activation("relu")(x)
        return x

    scene = keras.Input((96, 96, 2), name="scene")
    x, kept = scene, []
    for width in (14, 28, 56):
        x = twice(x, width)
        kept.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.2)(twice(x, 96))
    for width in (56, 28, 14):
        x = L.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
        x = L.Concatenate()([x, kept.pop()])
        x = twice(x, width)
    mask = L.Conv2D(1, 1, activation="sigmoid")(x)
    return keras.Model(scene, mask), {"loss": "binary_crossentropy"}


def ibises(case):
    """Wide in the middle, thin at the ends, and every channel weighed before it leaves."""
    def widen(x, out, stride, kernel=3, factor=4):
        inner = x.shape[-1] * factor
        y = L.Conv2D(inner, 1, use_bias=False)(x)
        y = L.BatchNormalization()(y)
        y = L.Activation("swish")(y)
        y = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.Activation("swish")(y)
        s = L.GlobalAveragePooling2D(keepdims=True)(y)
        s = L.Conv2D(max(4, x.shape[-1] // 4), 1, activation="swish")(s)
        s = L.Conv2D(inner, 1, activation="sigmoid")(s)
        y = L.Multiply()([y, s])
        y = L.Conv2D(out, 1, use_bias=False)(y)
        y = L.BatchNormalization()(y)
        if stride == 1 and x.shape[-1] == out:
            y = L.Add()([x, L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(y)])
        return y

    bird = keras.Input((96, 96, 3), name="bird")
    x = L.Rescaling(1.0 / 127.5, offset=-1)(bird)
    x = L.Conv2D(12, 3, strides=2, padding="same", use_bias=False)(x)
    x = L.Activation("swish")(L.BatchNormalization()(x))
    for out, stride, kernel in ((12, 1, 3), (20, 2, 3), (20, 1, 3), (36, 2, 5), (36, 1, 5), (64, 2, 3), (64, 1, 3)):
        x = widen(x, out, stride, kernel)
    x = L.Conv2D(256, 1, activation="swish")(x)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(bird, L.Dense(120)(x)), {"classes": 120, "logits": True}


def jaguars(case):
    """Every layer reads all that came before it in its block."""
    coat = keras.Input((40, 40, 3), name="coat")
    x = L.Conv2D(24, 3, padding="same", use_bias=False)(coat)
    for block in range(3):
        for _ in range(4):
            y = L.ReLU()(L.BatchNormalization()(x))
            y = L.Conv2D(48, 1, use_bias=False)(y)
            y = L.ReLU()(L.BatchNormalization()(y))
            y = L.Conv2D(12, 3, padding="same", use_bias=False)(y)
            x = L.Concatenate()([x, y])
        if block < 2:
            x = L.ReLU()(L.BatchNormalization()(x))
            x = L.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x)
            x = L.AveragePooling2D(2)(x)
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.GlobalMaxPooling2D()(x)
    return keras.Model(coat, L.Dense(52, activation="softmax")(x)), {"classes": 52}


def magicians(case):
    """Are two cards from the same pack? One tower looks at both of them."""
    tower = keras.Sequential([
        keras.Input((88, 64, 1)),
        L.Conv2D(24, 5, activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(32, 3, activation="relu"),
        L.Conv2D(32, 3, activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, activation="relu"),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dropout(0.25),
        L.Dense(160, activation="tanh"),
    ], name="tower")
    left = keras.Input((88, 64, 1), name="left")
    right = keras.Input((88, 64, 1), name="right")
    a, b = tower(left), tower(right)
    gap = L.Subtract()([a, b])
    x = L.Concatenate()([L.Multiply()([gap, gap]), L.Multiply()([a, b])])
    x = L.Dense(48, activation="relu")(x)
    return keras.Model([left, right], L.Dense(1, activation="sigmoid")(x)), {"loss": "binary_crossentropy"}


def mosquitoes(case):
    """One-shot detector on two scales: where, what, and whether at all."""
    def step(x, width, stride):
        x = L.SeparableConv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        return L.LeakyReLU()(x)

    frame = keras.Input((128, 128, 3), name="frame")
    x = L.Conv2D(16, 3, strides=2, padding="same")(frame)
    x = L.LeakyReLU()(x)
    x = step(x, 32, 1)
    x = step(x, 48, 2)
    x = step(x, 48, 1)
    fine = step(x, 96, 2)
    fine = L.Add()([fine, step(fine, 96, 1)])
    coarse = step(step(fine, 160, 2), 160, 1)
    down = L.UpSampling2D(2)(L.Conv2D(96, 1)(coarse))
    neck = step(L.Add()([fine, down]), 96, 1)
    where = L.Conv2D(48, 3, padding="same", activation="relu")(neck)
    what = L.Conv2D(48, 3, padding="same", activation="relu")(neck)
    where = L.Conv2D(4, 1, name="where")(where)
    whether = L.Conv2D(1, 1, activation="sigmoid", name="whether")(what)
    what = L.Conv2D(11, 1, activation="softmax", name="what")(what)
    far = L.Dense(11, activation="softmax", name="far")(L.GlobalAveragePooling2D()(coarse))
    return keras.Model(frame, [where, whether, what, far]), {
        "losses": {"where": "huber", "whether": "binary_crossentropy",
                   "what": "sparse_categorical_crossentropy", "far": "sparse_categorical_crossentropy"},
        "outs": {"what": 11, "far": 11}, "metrics": {"what": ["accuracy"], "far": ["accuracy"]}}


def narwhals(case):
    """Patches of a picture as words; a depthwise look around tells each its place."""
    sea = keras.Input((64, 64, 3), name="sea")
    x = L.Conv2D(96, 8, strides=8)(sea)
    x = L.Add()([x, L.DepthwiseConv2D(3, padding="same")(x)])
    x = L.Reshape((64, 96))(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(4, 24, dropout=0.1)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(384, activation="gelu")(y)
        y = L.Dropout(0.1)(y)
        y = L.Dense(96)(y)
        x = L.Add()([x, L.Dropout(0.1)(y)])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(sea, L.Dense(80)(x)), {"classes": 80, "logits": True}


def nomads(case):
    """A tag for each word of a travel diary: two LSTMs that read both ways."""
    words = keras.Input((64,), dtype="int32", name="words")
    x = L.Embedding(14000, 96, mask_zero=True)(words)
    x = L.SpatialDropout1D(0.2)(x)
    x = L.Bidirectional(L.LSTM(96, return_sequences=True))(x)
    x = L.Bidirectional(L.LSTM(80, return_sequences=True), merge_mode="sum")(x)
    x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    return keras.Model(words, L.Dense(19, activation="softmax")(x)), {"classes": 19, "highs": {"words": 14000}}


def ostriches(case):
    """Rewrites a long sentence as a shorter one: encoder, decoder, and a glance across."""
    def feed(x, width):
        y = L.Dense(4 * width, activation="relu")(x)
        y = L.Dropout(0.1)(L.Dense(width)(y))
        return L.LayerNormalization(epsilon=1e-5)(L.Add()([x, y]))

    source = keras.Input((48,), dtype="int32", name="source")
    target = keras.Input((32,), dtype="int32", name="target")
    place = keras.Input((48,), dtype="int32", name="place")
    e = L.Add()([L.Embedding(8000, 128)(source), L.Embedding(48, 128)(place)])
    for _ in range(2):
        y = L.MultiHeadAttention(8, 16)(e, e)
        e = L.LayerNormalization(epsilon=1e-5)(L.Add()([e, L.Dropout(0.1)(y)]))
        e = feed(e, 128)
    d = L.Embedding(6000, 128)(target)
    d = L.Add()([d, L.Conv1D(128, 3, padding="causal")(d)])
    for _ in range(2):
        y = L.MultiHeadAttention(8, 16)(d, d, use_causal_mask=True)
        d = L.LayerNormalization(epsilon=1e-5)(L.Add()([d, y]))
        y = L.MultiHeadAttention(8, 16)(d, e)
        d = L.LayerNormalization(epsilon=1e-5)(L.Add()([d, y]))
        d = feed(d, 128)
    return keras.Model([source, target, place], L.Dense(6000, activation="softmax")(d)), {
        "classes": 6000, "highs": {"source": 8000, "target": 6000, "place": 48}}


def peacocks(case):
    """A plain stack that has learnt already stands still; only the head on top moves."""
    base = keras.Sequential([keras.Input((112, 112, 3))], name="base")
    for width, times in ((16, 1), (32, 2), (64, 2), (96, 1)):
        for _ in range(times):
            base.add(L.Conv2D(width, 3, padding="same", use_bias=False))
            base.add(L.BatchNormalization())
            base.add(L.ReLU(max_value=6.0))
        base.add(L.MaxPooling2D())
    base.trainable = False
    plume = keras.Input((112, 112, 3), name="plume")
    x = base(plume, training=False)
    x = L.Conv2D(128, 3, padding="same", activation="relu")(x)
    x = L.Flatten()(x)
    x = L.Dense(256, activation="relu")(x)
    x = L.Dropout(0.5)(x)
    return keras.Model(plume, L.Dense(21, activation="softmax")(x)), {"classes": 21}


def periscopes(case):
    """Fills in a volume of sonar echoes, cube by cube."""
    echo = keras.Input((16, 40, 40, 1), name="echo")
    a = L.Conv3D(12, 3, padding="same", activation="relu")(echo)
    b = L.MaxPooling3D(2)(a)
    b = L.Conv3D(24, 3, padding="same")(b)
    b = L.ReLU()(L.BatchNormalization()(b))
    c = L.Conv3D(40, 3, strides=2, padding="same")(b)
    c = L.ReLU()(L.BatchNormalization()(c))
    c = L.Conv3D(40, 3, padding="same", activation="relu")(c)
    x = L.Conv3DTranspose(24, 2, strides=2, activation="relu")(c)
    x = L.Concatenate()([x, b])
    x = L.Conv3D(24, 1, activation="relu")(x)
    x = L.UpSampling3D(2)(x)
    x = L.Concatenate()([x, a])
    x = L.Conv3D(8, (1, 3, 3), padding="same", activation="relu")(x)
    return keras.Model(echo, L.Conv3D(1, 1)(x)), {"loss": "mse"}


def raspberries(case):
    """Will this shopper take this punnet? Long tables, short towers, and what was bought before."""
    shopper = keras.Input((1,), dtype="int32", name="shopper")
    punnet = keras.Input((1,), dtype="int32", name="punnet")
    before = keras.Input((25,), dtype="int32", name="before")
    shop = keras.Input((13,), name="shop")
    goods = L.Embedding(40000, 48, name="goods")
    who = L.Flatten()(L.Embedding(70000, 48)(shopper))
    what = L.Flatten()(goods(punnet))
    past = L.GlobalAveragePooling1D()(goods(before))
    near = L.Dot(axes=1)([what, past])
    match = L.Dot(axes=1, normalize=True)([who, what])
    deep = L.Concatenate()([who, what, past, L.Dense(32, activation="relu")(shop)])
    for width in (256, 128, 64):
        deep = L.Dense(width, activation="relu")(deep)
        deep = L.Dropout(0.1)(deep)
    wide = L.Dense(1, activation="sigmoid")(L.Concatenate()([deep, near, match]))
    return keras.Model([shopper, punnet, before, shop], wide), {
        "loss": "binary_crossentropy", "highs": {"shopper": 70000, "punnet": 40000, "before": 40000}}


def seagulls(case):
    """The next day of wind at a dozen masts, from the ten days behind."""
    past = keras.Input((240, 12), name="past")
    x = L.Conv1D(48, 5, strides=2, padding="same", activation="relu")(past)
    x = L.Bidirectional(L.GRU(56, return_sequences=True))(x)
    memory = L.LayerNormalization()(x)
    state = L.GRU(112)(memory)
    y = L.RepeatVector(24)(state)
    y = L.GRU(112, return_sequences=True)(y)
    seen = L.Attention()([y, memory])
    y = L.Concatenate()([y, seen])
    y = L.TimeDistributed(L.Dense(64, activation="elu"))(y)
    return keras.Model(past, L.Dense(12)(y)), {"loss": "mae"}


def tadpoles(case):
    """A form with numbers and three drop-down lists, through wide layers with a bridge over each."""
    numbers = keras.Input((85,), name="numbers")
    parts, inputs, highs = [L.BatchNormalization()(numbers)], [numbers], {}
    for name, high, width in (("pond", 300, 12), ("month", 12, 4), ("warden", 5200, 24)):
        inputs.append(keras.Input((1,), dtype="int32", name=name))
        parts.append(L.Flatten()(L.Embedding(high, width)(inputs[-1])))
        highs[name] = high
    x = L.Concatenate()(parts)
    x = L.Dense(900, activation="selu", kernel_initializer="lecun_normal")(x)
    for _ in range(3):
        y = L.Dense(900, kernel_regularizer="l2")(x)
        y = L.BatchNormalization()(y)
        y = L.PReLU()(y)
        y = L.Dropout(0.3)(y)
        x = L.Add()([x, y])
    return keras.Model(inputs, L.Dense(8, activation="softmax")(x)), {"classes": 8, "highs": highs}


def weasels(case):
    """A label for every pixel of a meadow; holes in the kernels see far at no cost in size."""
    meadow = keras.Input((80, 80, 4), name="meadow")
    x = L.Conv2D(24, 3, strides=2, padding="same")(meadow)
    x = L.GroupNormalization(8)(x)
    x = L.Activation("gelu")(x)
    for width in (48, 64):
        y = L.SeparableConv2D(width, 3, padding="same", activation="relu")(x)
        y = L.SeparableConv2D(width, 3, padding="same")(y)
        y = L.GroupNormalization(8)(y)
        x = L.Activation("relu")(L.Add()([L.Conv2D(width, 1)(x), y]))
    rays = [L.Conv2D(24, 1, activation="relu")(x)]
    for hole in (2, 4, 6):
        rays.append(L.Conv2D(24, 3, padding="same", dilation_rate=hole, activation="relu")(x))
    x = L.Concatenate()(rays)
    x = L.Conv2D(48, 1, activation="relu")(x)
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    x = L.Conv2D(24, (1, 5), padding="same")(x)
    x = L.Conv2D(24, (5, 1), padding="same", activation="relu")(x)
    return keras.Model(meadow, L.Conv2D(7, 1, activation="softmax")(x)), {"classes": 7}


def bonfires(case):
    """Tells the next word of a tale by the fire, and never looks ahead."""
    tale = keras.Input((80,), dtype="int32", name="tale")
    place = keras.Input((80,), dtype="int32", name="place")
    x = L.Add()([L.Embedding(4200, 120)(tale), L.Embedding(80, 120)(place)])
    x = L.Dropout(0.1)(x)
    for _ in range(3):
        y = L.LayerNormalization()(x)
        y = L.MultiHeadAttention(6, 20, dropout=0.1)(y, y, use_causal_mask=True)
        x = L.Add()([x, y])
        y = L.LayerNormalization()(x)
        y = L.Multiply()([L.Dense(320, activation="swish")(y), L.Dense(320)(y)])
        x = L.Add()([x, L.Dense(120)(y)])
    x = L.LayerNormalization()(x)
    return keras.Model([tale, place], L.Dense(4200)(x)), {
        "classes": 4200, "logits": True, "highs": {"tale": 4200, "place": 80}}
