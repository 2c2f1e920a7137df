"""Write small models of every kind of layer, with what Keras itself counts: small.py OUTPUT_FOLDER.

For tf.keras 2.11 (Keras 2) and 2.21 (Keras 3); OUTPUT_FOLDER gets models.json.gz: {name: {"json": ..., "truth": ...}}. A model that this
Keras cannot build is left out.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from applications import truth, write

keras = tf.keras
L = keras.layers
KERAS_3 = tf.__version__ >= "2.16"


def chain(shape, *layers, **options):
    x = keras.Input(shape, name="x", **options)
    y = x
    for layer in layers:
        y = layer(y)
    return keras.Model(x, y)


def lenet():
    return keras.Sequential([
        keras.Input((28, 28, 1)),
        L.Conv2D(32, 5, padding="same", activation="relu", name="conv1"), L.MaxPooling2D(name="pool1"),
        L.Conv2D(64, 5, padding="same", activation="relu", name="conv2"), L.MaxPooling2D(name="pool2"),
        L.Flatten(name="flatten"), L.Dense(1024, activation="relu", name="fc1"), L.Dropout(0.4, name="dropout"),
        L.Dense(10, activation="softmax", name="fc2"),
    ], name="lenet")


def shared():
    a, b = keras.Input((32,), name="a"), keras.Input((32,), name="b")
    dense = L.Dense(64, activation="relu", name="shared")
    both = L.Concatenate(name="both")([dense(a), dense(b)])
    return keras.Model([a, b], [L.Dense(1, name="score")(both), L.Dot(axes=1, name="dot")([dense(a), dense(b)])], name="siamese")


def nested():
    def make(name):
        return keras.Sequential([keras.Input((16, 16, 8)), L.Conv2D(8, 3, padding="same"), L.BatchNormalization(), L.ReLU()], name=name)

    inner_in = keras.Input((16, 16, 8))
    inner = keras.Model(inner_in, L.Add()([inner_in, make("inside")(inner_in)]), name="residual")
    x = keras.Input((16, 16, 8), name="x")
    y = inner(inner(make("outside")(x)))
    return keras.Model(x, L.Dense(3, name="head")(L.GlobalAveragePooling2D()(y)), name="outer")


def frozen():
    base = chain((32, 32, 3), L.Conv2D(8, 3), L.BatchNormalization(), L.GlobalMaxPooling2D())
    base.trainable = False
    x = keras.Input((32, 32, 3))
    return keras.Model(x, L.Dense(2)(base(x)), name="transfer")


def part_frozen():
    model = chain((8,), L.Dense(4, name="fixed"), L.Dense(2, name="free"))
    model.get_layer("fixed").trainable = False
    return model


def states():
    x = keras.Input((12, 6), name="x")
    sequence, h, c = L.LSTM(7, return_sequences=True, return_state=True, name="encoder")(x)
    decoded = L.LSTM(7, return_sequences=True, name="decoder")(sequence, initial_state=[h, c])
    return keras.Model(x, L.TimeDistributed(L.Dense(5), name="each")(decoded))


def transformer():
    x = keras.Input((20,), dtype="int32", name="tokens")
    y = L.Embedding(100, 32, name="words")(x)
    attended = L.MultiHeadAttention(4, 8, dropout=0.1, name="attention")(y, y)
    y = L.LayerNormalization(name="norm")(L.Add()([y, L.Dropout(0.1)(attended)]))
    y = L.Add()([y, L.Dense(32)(L.Dense(64, activation="gelu")(y))])
    return keras.Model(x, L.Dense(100, name="logits")(y))


def attentions():
    q, v = keras.Input((6, 16), name="q"), keras.Input((9, 16), name="v")
    outputs = [L.Attention(use_scale=True, name="luong")([q, v]), L.AdditiveAttention(name="bahdanau")([q, v])]
    outputs.append(L.MultiHeadAttention(2, 5, value_dim=3, output_shape=11, use_bias=False, name="cross")(q, v))
    outputs.append(L.MultiHeadAttention(2, 5, name="scores")(q, q, return_attention_scores=True))
    return keras.Model([q, v], outputs)


def images_attention():
    x = keras.Input((5, 6, 8), name="x")
    return keras.Model(x, L.MultiHeadAttention(2, 4, attention_axes=(1, 2), name="grid")(x, x))


def grouped():
    q, v = keras.Input((6, 16), name="q"), keras.Input((9, 16), name="v")
    return keras.Model([q, v], L.GroupQueryAttention(4, 6, 2, name="grouped")(q, v))


def merges():
    a, b = keras.Input((4, 8), name="a"), keras.Input((4, 8), name="b")
    one = keras.Input((1, 8), name="one")
    layers = [L.Add(), L.Subtract(), L.Multiply(), L.Average(), L.Maximum(), L.Minimum()]
    outputs = [layer([a, b]) for layer in layers] + [L.Add(name="spread")([a, one])]
    outputs += [L.Concatenate(axis=1)([a, b]), L.Dot(axes=2)([a, b]), L.Dot(axes=(1, 1))([a, b])]
    return keras.Model([a, b, one], outputs)


def shapes():
    x = keras.Input((6, 8, 4), name="x")
    return keras.Model(x, [
        L.Flatten()(x), L.Reshape((-1, 4))(x), L.Permute((3, 1, 2))(x), L.ZeroPadding2D(((1, 2), (3, 4)))(x), L.Cropping2D(((1, 1), (2, 0)))(x),
        L.UpSampling2D((2, 3))(x), L.RepeatVector(3)(L.GlobalAveragePooling2D()(x)), L.GlobalMaxPooling2D(keepdims=True)(x), L.Resizing(5, 7)(x),
        L.Rescaling(0.5)(x), L.Softmax()(x), L.LeakyReLU()(x), L.ELU()(x), L.PReLU()(x), L.PReLU(shared_axes=[1, 2])(x),
        L.GaussianNoise(0.1)(x), L.SpatialDropout2D(0.1)(x), L.CenterCrop(4, 4)(x), L.Activation("swish")(x),
    ])


def ones():
    return chain((30, 4), L.Conv1D(8, 3, padding="causal", dilation_rate=2), L.MaxPooling1D(3), L.ZeroPadding1D(2), L.Cropping1D((1, 0)),
                 L.SeparableConv1D(6, 3), L.UpSampling1D(2), L.AveragePooling1D(2, 1, padding="same"), L.Conv1DTranspose(5, 4, strides=3), L.GlobalMaxPooling1D())


def volumes():
    return chain((12, 10, 8, 2), L.Conv3D(4, (3, 2, 1), strides=(2, 1, 1)), L.BatchNormalization(), L.MaxPooling3D(2, padding="same"), L.Conv3DTranspose(3, 3, strides=2, padding="same"),
                 L.ZeroPadding3D(1), L.Cropping3D(1), L.UpSampling3D(2), L.AveragePooling3D(2), L.GlobalAveragePooling3D())


def transposed():
    x = keras.Input((7, 9, 3), name="x")
    return keras.Model(x, [
        L.Conv2DTranspose(4, 3)(x), L.Conv2DTranspose(4, 3, strides=2)(x), L.Conv2DTranspose(4, 5, strides=3, padding="same")(x),
        L.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=1)(x), L.Conv2DTranspose(4, 2, strides=(1, 2), use_bias=False)(x),
    ])


def depthwise():
    return chain((16, 16, 6), L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), L.SeparableConv2D(10, 3, strides=2, depth_multiplier=3, use_bias=False),
                 L.Conv2D(8, 1, groups=2), L.Conv2D(8, 3, dilation_rate=2, padding="same"), L.Conv2D(4, (5, 1), strides=(2, 1)))


def depthwise_1d():
    return chain((16, 6), L.DepthwiseConv1D(3, depth_multiplier=2, padding="same"), L.Conv1D(8, 2, groups=2))


def first_channels():
    return chain((3, 16, 18), L.Conv2D(8, 3, data_format="channels_first", padding="same"), L.BatchNormalization(axis=1), L.MaxPooling2D(data_format="channels_first"),
                 L.Conv2DTranspose(4, 2, strides=2, data_format="channels_first"), L.GlobalAveragePooling2D(data_format="channels_first"))


def norms():
    return chain((6, 6, 8), L.BatchNormalization(scale=False), L.BatchNormalization(center=False), L.LayerNormalization(), L.LayerNormalization(axis=[1, 2, 3]),
                 L.LayerNormalization(center=False, scale=False), L.GroupNormalization(4), L.UnitNormalization())


def rms():
    return chain((6, 8), L.RMSNormalization(), L.LayerNormalization(rms_scaling=True))


def spectral():
    return chain((8, 8, 3), L.SpectralNormalization(L.Conv2D(4, 3)), L.Flatten(), L.SpectralNormalization(L.Dense(5)))


def normalized():
    return chain((10, 3), L.Normalization(axis=-1), L.Normalization(axis=None), L.Normalization(mean=1.0, variance=2.0))


def einsum():
    dense = L.EinsumDense if hasattr(L, "EinsumDense") else L.experimental.EinsumDense
    return chain((6, 8), dense("abc,cd->abd", output_shape=(None, 5), bias_axes="d"), dense("...x,xy->...y", output_shape=7), dense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de"))


def recurrent():
    x = keras.Input((11, 5), name="x")
    cells = [L.LSTMCell(6), L.GRUCell(4)]
    return keras.Model(x, [
        L.SimpleRNN(3)(x), L.LSTM(4, use_bias=False)(x), L.GRU(4, return_sequences=True)(x), L.GRU(4, reset_after=False)(x), L.RNN(cells, return_sequences=True, name="stack")(x),
        L.RNN(L.SimpleRNNCell(2), name="one_cell")(x), L.Bidirectional(L.LSTM(4, return_sequences=True))(x), L.Bidirectional(L.GRU(3), merge_mode="sum")(x),
        L.Bidirectional(L.LSTM(2), backward_layer=L.LSTM(2, go_backwards=True), name="two")(x),
    ])


def both_ways():
    x = keras.Input((11, 5), name="x")
    outputs = L.Bidirectional(L.LSTM(4, return_sequences=True, return_state=True))(x)
    return keras.Model(x, outputs + L.Bidirectional(L.GRU(3), merge_mode=None)(x))


def conv_lstm():
    return chain((5, 10, 12, 3), L.ConvLSTM2D(4, 3, padding="same", return_sequences=True), L.TimeDistributed(L.Conv2D(2, 3)), L.ConvLSTM2D(3, 2))


def conv_lstm_1d():
    return chain((5, 10, 3), L.ConvLSTM1D(4, 3, padding="same"))


def video():
    frame = chain((8, 8, 3), L.Conv2D(4, 3), L.Flatten(), L.Dense(6))
    return chain((7, 8, 8, 3), L.TimeDistributed(frame, name="frames"), L.GRU(5))


def open_length():
    x = keras.Input((None,), dtype="int32", name="tokens")
    y = L.Bidirectional(L.LSTM(8, return_sequences=True))(L.Embedding(50, 12, mask_zero=True)(x))
    return keras.Model(x, L.TimeDistributed(L.Dense(9, activation="softmax"))(y))


def open_images():
    return chain((None, None, 3), L.Conv2D(4, 3, strides=2, padding="same"), L.BatchNormalization(), L.UpSampling2D(), L.Conv2D(1, 1))


def two_types():
    image, number, category = keras.Input((8, 8, 1), name="image"), keras.Input((3,), name="number"), keras.Input((1,), dtype="int32", name="category")
    parts = [L.Flatten()(L.Conv2D(2, 3)(image)), L.Dense(4)(number), L.Flatten()(L.Embedding(7, 2)(category))]
    return keras.Model({"image": image, "number": number, "category": category}, {"out": L.Dense(1, name="out")(L.Concatenate()(parts))})


def encodings():
    return chain((1,), L.CategoryEncoding(num_tokens=6, output_mode="one_hot"), L.Dense(2), dtype="int32")


def ops():
    x, y = keras.Input((4, 6), name="x"), keras.Input((4, 6), name="y")
    if KERAS_3:
        o = keras.ops
        pooled = [o.mean(x, axis=1), o.max(x, axis=-1, keepdims=True), o.expand_dims(x, 1), o.transpose(x, (0, 2, 1)), o.reshape(x, (-1, 24)), o.split(x, 2, axis=1)[1]]
        outputs = [*pooled, o.concatenate([x, y], axis=1), o.stack([x, y], axis=1), o.matmul(x, o.transpose(y, (0, 2, 1))), o.einsum("abc,adc->abd", x, y), o.argmax(x, axis=-1)]
    else:
        pooled = [tf.reduce_mean(x, axis=1), tf.reduce_max(x, axis=-1, keepdims=True), tf.expand_dims(x, 1), tf.transpose(x, (0, 2, 1)), tf.reshape(x, (-1, 24)), tf.split(x, 2, axis=1)[1]]
        outputs = [*pooled, tf.concat([x, y], axis=1), tf.stack([x, y], axis=1), tf.matmul(x, y, transpose_b=True), tf.argmax(x, axis=-1)]
    return keras.Model([x, y], [*outputs, x + y, x * 2.0, 1.0 - x, x[:, 1:3], x[..., 0], x / (y + 1.0), -x])


def rearranging():
    x, y, ids = keras.Input((8, 6, 4), name="x"), keras.Input((8, 6, 4), name="y"), keras.Input((9,), name="ids", dtype="int32")
    both = [x[:, None], x[:, -3:], x[..., 0], x[:, 1:7:2, ::2]]
    if KERAS_3:
        o = keras.ops
        turned = [o.swapaxes(x, 1, 2), o.moveaxis(x, 1, 3), o.moveaxis(x, (1, 2), (2, 3)), o.expand_dims(x, -1), o.expand_dims(x, (1, 2)), o.squeeze(o.expand_dims(x, 2), 2), o.ravel(x), o.flip(x, axis=1)]
        made = [o.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]]), o.tile(x, [1, 2, 1, 3]), o.repeat(x, 3, axis=1), o.take(x, [0, 2], axis=1), o.one_hot(ids, 5), o.one_hot(ids, 7, axis=1), o.hstack([x, y])]
        return keras.Model([x, y, ids], [*both, *turned, *made, *o.split(x, (3, 5), axis=1), *o.unstack(x, axis=3), o.broadcast_to(o.expand_dims(ids, 1), (2, 5, 9))])
    turned = [tf.expand_dims(x, -1), tf.squeeze(tf.expand_dims(x, 2), 2), tf.reverse(x, axis=[1]), tf.reshape(x, (-1, 12, 16))]
    made = [tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]]), tf.tile(x, [1, 2, 1, 3]), tf.repeat(x, 3, axis=1), tf.gather(x, [0, 2], axis=1), tf.one_hot(ids, 5), tf.one_hot(ids, 7, axis=1)]
    return keras.Model([x, y, ids], [*both, *turned, *made, *tf.split(x, [3, 5], axis=1), *tf.unstack(x, axis=3)])


def reducing():
    x, y, m = keras.Input((8, 6, 4), name="x"), keras.Input((8, 6, 4), name="y"), keras.Input((6, 3), name="m")
    if KERAS_3:
        o = keras.ops
        several = [o.mean(x, axis=(1, 2)), o.sum(x), o.max(x, axis=1), o.var(x, axis=-1), o.std(x, axis=1, keepdims=True), o.norm(x, axis=-1), o.logsumexp(x, axis=-1), o.all(x > 0, axis=1), o.any(x > 0, axis=2), o.median(x, axis=1)]
        places = [o.argmax(x), o.argmin(x, axis=1), o.argsort(x), o.top_k(x, 3)[0], o.count_nonzero(x, axis=1), o.cumsum(x, axis=1)]
        return keras.Model([x, y, m], [*several, *places, o.dot(x[:, 0], o.ones((4, 5))), o.where(x > y, x, y), o.logical_and(x > 0, y > 0), o.cast(x, "float16"), o.maximum(x, 0.0)])
    several = [tf.reduce_mean(x, axis=(1, 2)), tf.reduce_sum(x), tf.reduce_max(x, axis=1), tf.math.reduce_variance(x, axis=-1), tf.norm(x, axis=-1), tf.reduce_logsumexp(x, axis=-1), tf.reduce_all(x > 0, axis=1)]
    places = [tf.argmax(x), tf.argmin(x, axis=1), tf.argsort(x), tf.math.top_k(x, 3)[0], tf.math.count_nonzero(x, axis=1), tf.cumsum(x, axis=1)]
    return keras.Model([x, y, m], [*several, *places, tf.matmul(m, m, transpose_a=True), tf.where(x > y, x, y), tf.logical_and(x > 0, y > 0), tf.cast(x, "float16"), tf.maximum(x, 0.0)])


def mixed():
    policy = "mixed_float16"
    return chain((16, 16, 3), L.Conv2D(8, 3, dtype=policy), L.BatchNormalization(dtype=policy), L.Flatten(dtype=policy), L.Dense(4, dtype=policy), L.Activation("softmax", dtype="float32"))


def late_sequential():
    model = keras.Sequential([L.Dense(5, activation="relu"), L.Dense(2)], name="late")
    model.build((None, 7))
    return model


MODELS = [
    lenet, shared, nested, frozen, part_frozen, states, transformer, attentions, images_attention, grouped, merges, shapes, ones, volumes, transposed, depthwise, depthwise_1d, first_channels,
    norms, rms, spectral, normalized, einsum, recurrent, both_ways, conv_lstm, conv_lstm_1d, video, open_length, open_images, two_types, encodings, ops, rearranging, reducing, mixed, late_sequential,
]


def main(folder):
    os.makedirs(folder, exist_ok=True)
    found = {}
    for build in MODELS:
        tf.keras.backend.clear_session()
        try:
            model = build()
            found[build.__name__] = {"json": json.loads(model.to_json()), "truth": truth(model)}
        except (AttributeError, TypeError, ValueError, NotImplementedError) as problem:
            print(build.__name__, "left out:", str(problem).split("\n")[0][:150])
    write(os.path.join(folder, "models.json.gz"), json.dumps(found, sort_keys=True, indent=0))
    print(len(found), "models")


if __name__ == "__main__":
    main(sys.argv[1])
