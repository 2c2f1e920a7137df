"""Models of predictions.py's thirty-sixth set."""

import tensorflow as tf

keras = tf.keras
L = keras.layers


def chandeliers(case):
    """Lamps for sale, sorted: residual blocks with group norms ahead of their filters."""
    x = keras.Input((96, 96, 3), name="photo")
    y = L.Rescaling(1 / 127.5, offset=-1)(x)
    y = L.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(y)
    for width, stride in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        z = L.GroupNormalization(8)(y)
        z = L.Activation("relu")(z)
        if stride > 1:
            y = L.Conv2D(width, 1, strides=stride, use_bias=False)(z)
        z = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(z)
        z = L.GroupNormalization(8)(z)
        z = L.Activation("relu")(z)
        z = L.Conv2D(width, 3, padding="same", use_bias=False)(z)
        y = L.Add()([y, z])
    y = L.GroupNormalization(8)(y)
    y = L.Activation("relu")(y)
    y = L.GlobalAveragePooling2D()(y)
    return keras.Model(x, L.Dense(40)(y)), {"classes": 40, "logits": True}


def butterflies(case):
    """Wings by species: each layer sees all the layers before it, narrowed first."""
    x = keras.Input((64, 64, 3), name="wing")
    y = L.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(x)
    for block, depth in enumerate((6, 6, 8)):
        for _ in range(depth):
            z = L.BatchNormalization()(y)
            z = L.ReLU()(z)
            z = L.Conv2D(64, 1, use_bias=False)(z)
            z = L.BatchNormalization()(z)
            z = L.ReLU()(z)
            z = L.Conv2D(16, 3, padding="same", use_bias=False)(z)
            y = L.Concatenate()([y, z])
        if block < 2:
            y = L.BatchNormalization()(y)
            y = L.ReLU()(y)
            y = L.Conv2D(y.shape[-1] // 2, 1, use_bias=False)(y)
            y = L.AveragePooling2D(2)(y)
    y = L.BatchNormalization()(y)
    y = L.ReLU()(y)
    y = L.GlobalAveragePooling2D()(y)
    y = L.Dropout(0.2)(y)
    return keras.Model(x, L.Dense(100, activation="softmax")(y)), {"classes": 100}


def marigolds(case):
    """Flowers on a phone: inverted bottlenecks that squeeze and excite."""
    x = keras.Input((112, 112, 3), name="flower")
    y = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.BatchNormalization()(y)
    y = L.Activation("swish")(y)
    for wide, out, kernel, stride in ((64, 24, 3, 2), (72, 24, 3, 1), (96, 40, 5, 2), (160, 40, 5, 1),
                                      (160, 40, 5, 1), (240, 80, 3, 2), (320, 80, 3, 1)):
        z = L.Conv2D(wide, 1, use_bias=False)(y)
        z = L.BatchNormalization()(z)
        z = L.Activation("swish")(z)
        z = L.DepthwiseConv2D(kernel, strides=stride, padding="same", use_bias=False)(z)
        z = L.BatchNormalization()(z)
        z = L.Activation("swish")(z)
        gate = L.GlobalAveragePooling2D(keepdims=True)(z)
        gate = L.Conv2D(wide // 4, 1, activation="relu")(gate)
        gate = L.Conv2D(wide, 1, activation="sigmoid")(gate)
        z = L.Multiply()([z, gate])
        z = L.Conv2D(out, 1, use_bias=False)(z)
        z = L.BatchNormalization()(z)
        if stride == 1 and y.shape[-1] == out:
            z = L.Dropout(0.1, noise_shape=(None, 1, 1, 1))(z)
            z = L.Add()([y, z])
        y = z
    y = L.Conv2D(480, 1, use_bias=False)(y)
    y = L.BatchNormalization()(y)
    y = L.Activation("swish")(y)
    y = L.GlobalAveragePooling2D()(y)
    y = L.Dropout(0.3)(y)
    return keras.Model(x, L.Dense(102, activation="softmax")(y)), {"classes": 102}


def aqueducts(case):
    """Old waterways from the air: a U of four floors, up again by transposed filters."""
    def pair(y, width):
        for _ in range(2):
            y = L.Conv2D(width, 3, padding="same", activation="relu", kernel_initializer="he_normal")(y)
        return y

    x = keras.Input((96, 96, 3), name="tile")
    y, floors = x, []
    for width in (16, 32, 64):
        y = pair(y, width)
        floors.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Dropout(0.3)(pair(y, 128))
    for width, floor in zip((64, 32, 16), floors[::-1]):
        y = L.Conv2DTranspose(width, 2, strides=2, padding="same")(y)
        y = pair(L.Concatenate()([y, floor]), width)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def galleons(case):
    """Ships in a strait: where their middles are, how big they are, and which the weather is."""
    def unit(y, width, stride=1):
        y = L.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        return L.LeakyReLU(0.1)(y)

    x = keras.Input((128, 128, 3), name="strait")
    y = unit(x, 16, 2)
    half = unit(y, 32, 2)
    half = L.Add()([half, unit(unit(half, 16), 32)])
    low = unit(half, 64, 2)
    low = L.Add()([low, unit(unit(low, 32), 64)])
    deep = unit(low, 128, 2)
    deep = L.Add()([deep, unit(unit(deep, 64), 128)])
    up = L.UpSampling2D()(L.Conv2D(64, 1)(deep))
    up = L.Add()([up, L.Conv2D(64, 1)(low)])
    up = L.UpSampling2D()(unit(up, 64))
    up = L.Add()([up, L.Conv2D(64, 1)(half)])
    up = unit(up, 64)
    heat = L.Conv2D(5, 1, activation="sigmoid", name="heat")(unit(up, 32))
    size = L.Conv2D(2, 1, name="size")(unit(up, 32))
    sky = L.Dense(6, activation="softmax", name="sky")(L.GlobalMaxPooling2D()(deep))
    return keras.Model(x, [heat, size, sky]), {
        "losses": {"heat": "binary_crossentropy", "size": "mae", "sky": "sparse_categorical_crossentropy"},
        "outs": {"sky": 6}, "metrics": {"sky": ["accuracy"]}}


def lighthouses(case):
    """Postcards cut in patches; a small filter over the grid tells each patch its place."""
    x = keras.Input((96, 96, 3), name="postcard")
    y = L.Conv2D(128, 8, strides=8, name="patches")(x)
    y = L.Add()([y, L.DepthwiseConv2D(3, padding="same")(y)])
    y = L.Reshape((144, 128))(y)
    y = L.Dropout(0.1)(y)
    for _ in range(5):
        z = L.LayerNormalization(epsilon=1e-6)(y)
        z = L.MultiHeadAttention(4, 32, dropout=0.1)(z, z)
        y = L.Add()([y, z])
        z = L.LayerNormalization(epsilon=1e-6)(y)
        z = L.Dense(384, activation="gelu")(z)
        z = L.Dropout(0.1)(z)
        z = L.Dense(128)(z)
        y = L.Add()([y, L.Dropout(0.1)(z)])
    y = L.LayerNormalization(epsilon=1e-6)(y)
    y = L.GlobalAveragePooling1D()(y)
    return keras.Model(x, L.Dense(50)(y)), {"classes": 50, "logits": True}


def accordions(case):
    """Song texts to another tongue: an encoder, a decoder that looks back and across."""
    def feed(y):
        z = L.Dense(512, activation="relu")(y)
        z = L.Dropout(0.1)(L.Dense(192)(z))
        return L.LayerNormalization()(L.Add()([y, z]))

    def look(y, at, **more):
        z = L.MultiHeadAttention(6, 32, dropout=0.1)(y, at, **more)
        return L.LayerNormalization()(L.Add()([y, z]))

    verse = keras.Input((24,), dtype="int32", name="verse")
    verse_at = keras.Input((24,), dtype="int32", name="verse_at")
    sung = keras.Input((28,), dtype="int32", name="sung")
    sung_at = keras.Input((28,), dtype="int32", name="sung_at")
    at = L.Embedding(32, 192)
    y = L.Add()([L.Embedding(9000, 192)(verse), at(verse_at)])
    for _ in range(2):
        y = feed(look(y, y))
    z = L.Add()([L.Embedding(8000, 192)(sung), at(sung_at)])
    for _ in range(2):
        z = look(z, z, use_causal_mask=True)
        z = feed(look(z, y))
    return keras.Model([verse, verse_at, sung, sung_at], L.Dense(8000)(z)), {
        "classes": 8000, "logits": True, "highs": {"verse": 9000, "verse_at": 24, "sung": 8000, "sung_at": 28}}


def hurricanes(case):
    """The next pressure map from eight: filters inside the gates, then one plain filter."""
    x = keras.Input((8, 32, 32, 2), name="maps")
    y = L.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(x)
    y = L.BatchNormalization()(y)
    y = L.ConvLSTM2D(16, 3, padding="same")(y)
    y = L.BatchNormalization()(y)
    y = L.Conv2D(16, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(2, 1, name="next")(y)), {"loss": "mse"}


def kangaroos(case):
    """Letters to a zoo by mood: words read both ways twice, padding left out."""
    x = keras.Input((80,), dtype="int32", name="letter")
    y = L.Embedding(10000, 96, mask_zero=True)(x)
    y = L.SpatialDropout1D(0.2)(y)
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(y)
    y = L.Bidirectional(L.LSTM(64))(y)
    y = L.Dense(64, activation="relu")(y)
    y = L.Dropout(0.5)(y)
    return keras.Model(x, L.Dense(7, activation="softmax")(y)), {"classes": 7, "highs": {"letter": 10000}}


def bakers(case):
    """Will a buyer take a cake: big tables, crossed features beside a deep tower."""
    buyer = keras.Input((1,), dtype="int32", name="buyer")
    cake = keras.Input((1,), dtype="int32", name="cake")
    basket = keras.Input((12,), dtype="int32", name="basket")
    shop = keras.Input((1,), dtype="int32", name="shop")
    facts = keras.Input((13,), name="facts")
    cakes = L.Embedding(120000, 32, name="cakes")
    parts = [L.Flatten()(L.Embedding(250000, 32, name="buyers")(buyer)),
             L.Flatten()(cakes(cake)),
             L.GlobalAveragePooling1D()(cakes(basket)),
             L.Flatten()(L.Embedding(5000, 16, name="shops")(shop)),
             L.BatchNormalization()(facts)]
    first = L.Concatenate()(parts)
    cross = first
    for _ in range(3):
        z = L.Dense(first.shape[-1])(cross)
        cross = L.Add()([L.Multiply()([first, z]), cross])
    deep = first
    for width in (512, 256, 128):
        deep = L.Dense(width, activation="relu")(deep)
        deep = L.Dropout(0.1)(deep)
    y = L.Concatenate()([cross, deep])
    return keras.Model([buyer, cake, basket, shop, facts], L.Dense(1, activation="sigmoid")(y)), {
        "loss": "binary_crossentropy", "highs": {"buyer": 250000, "cake": 120000, "basket": 120000, "shop": 5000}}


def calendars(case):
    """A year of sales to the next four weeks: dilated causal filters, each pair stepped around."""
    x = keras.Input((256, 8), name="year")
    y = L.Conv1D(64, 1)(x)
    for rate in (1, 2, 4, 8, 16, 32):
        z = y
        for _ in range(2):
            z = L.Conv1D(64, 3, padding="causal", dilation_rate=rate)(z)
            z = L.LayerNormalization()(z)
            z = L.Activation("relu")(z)
            z = L.SpatialDropout1D(0.1)(z)
        y = L.Activation("relu")(L.Add()([y, z]))
    y = L.Cropping1D((228, 0))(y)
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mae"}


def lizards(case):
    """The same lizard twice? One tower for both photos, and their squared difference."""
    tower = keras.Sequential([
        keras.Input((80, 80, 1)),
        L.Conv2D(32, 5, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(64, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(96, 3, padding="same", activation="relu"),
        L.MaxPooling2D(),
        L.Flatten(),
        L.Dense(128, activation="sigmoid"),
    ], name="tower")
    one, other = keras.Input((80, 80, 1), name="one"), keras.Input((80, 80, 1), name="other")
    gap = L.Subtract()([tower(one), tower(other)])
    gap = L.Multiply()([gap, gap])
    y = L.Dense(32, activation="relu")(gap)
    return keras.Model([one, other], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def iguanas(case):
    """A ready mobile net of which only the last layers learn, with a new head."""
    base = keras.applications.MobileNetV2(input_shape=(128, 128, 3), include_top=False, weights=None)
    for layer in base.layers[:-34]:
        layer.trainable = False
    x = keras.Input((128, 128, 3), name="snap")
    y = L.Rescaling(1 / 127.5, offset=-1)(x)
    y = base(y, training=False)
    y = L.GlobalAveragePooling2D()(y)
    y = L.Dropout(0.2)(y)
    return keras.Model(x, L.Dense(15, activation="softmax")(y)), {"classes": 15}


def meerkats(case):
    """The next word of a field diary: two gated layers and a softmax over the whole vocabulary."""
    return keras.Sequential([
        keras.Input((40,), dtype="int32", name="words"),
        L.Embedding(6000, 128),
        L.GRU(192, return_sequences=True),
        L.Dropout(0.3),
        L.GRU(192, return_sequences=True),
        L.Dropout(0.3),
        L.Dense(6000, activation="softmax"),
    ]), {"classes": 6000, "highs": {"words": 6000}}


def elephants(case):
    """A skull in three dimensions: how old, and of which of five herds."""
    x = keras.Input((40, 40, 40, 1), name="skull")
    y = x
    for width in (16, 32, 64):
        y = L.Conv3D(width, 3, padding="same", use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.Activation("relu")(y)
        y = L.MaxPooling3D()(y)
    y = L.Conv3D(64, 3, activation="relu")(y)
    y = L.GlobalAveragePooling3D()(y)
    y = L.Dropout(0.4)(L.Dense(64, activation="relu")(y))
    age = L.Dense(1, name="age")(y)
    herd = L.Dense(5, activation="softmax", name="herd")(y)
    return keras.Model(x, [age, herd]), {
        "losses": {"age": "mae", "herd": "sparse_categorical_crossentropy"},
        "outs": {"herd": 5}, "metrics": {"herd": ["accuracy"]}}


def macaroons(case):
    """A bakery's table of readings: four wide layers, each normed and thinned."""
    model = keras.Sequential([keras.Input((120,), name="readings"), L.BatchNormalization()])
    for _ in range(4):
        model.add(L.Dense(768, use_bias=False, kernel_regularizer=keras.regularizers.l2(1e-5)))
        model.add(L.BatchNormalization())
        model.add(L.Activation("elu"))
        model.add(L.Dropout(0.25))
    model.add(L.Dense(9, activation="softmax"))
    return model, {"classes": 9}


def candelabras(case):
    """Altar photos, pixel by pixel: separable filters, a pyramid of holes, and a smooth way up."""
    x = keras.Input((128, 128, 3), name="altar")
    y = L.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.BatchNormalization()(y)
    fine = L.Activation("relu")(y)
    y = fine
    for width, stride in ((48, 2), (96, 2), (96, 1)):
        side = L.Conv2D(width, 1, strides=stride, use_bias=False)(y)
        for step in (1, stride):
            y = L.SeparableConv2D(width, 3, strides=step, padding="same", use_bias=False)(y)
            y = L.BatchNormalization()(y)
            y = L.Activation("relu")(y)
        y = L.Add()([y, side])
    views = [L.Conv2D(48, 1, activation="relu")(y)]
    for rate in (2, 4, 6):
        views.append(L.Conv2D(48, 3, padding="same", dilation_rate=rate, activation="relu")(y))
    whole = L.GlobalAveragePooling2D(keepdims=True)(y)
    whole = L.Conv2D(48, 1, activation="relu")(whole)
    views.append(L.UpSampling2D(16, interpolation="bilinear")(whole))
    y = L.Concatenate()(views)
    y = L.Conv2D(64, 1, activation="relu")(y)
    y = L.UpSampling2D(4, interpolation="bilinear")(y)
    y = L.Concatenate()([y, L.Conv2D(16, 1, activation="relu")(fine)])
    y = L.SeparableConv2D(48, 3, padding="same", activation="relu")(y)
    y = L.Conv2D(11, 1)(y)
    y = L.UpSampling2D(2, interpolation="bilinear")(y)
    return keras.Model(x, L.Activation("softmax")(y)), {"classes": 11}
