"""The models of predictions.py and their real runs, with the Python of a TensorFlow environment:

    predictions_run.py make FOLDER CASES.json
    predictions_run.py measure OUT.jsonl CASES.json [LIMIT_OF_CASE.json]
    predictions_run.py alone OUT.jsonl CASES.json
    predictions_run.py serve OUT.jsonl -
    predictions_run.py estimate OUT.json CASE.json

`make` saves every case's compiled model in a process of its own. `measure` trains the same code with `fit`,
each case in a process of its own with a BFC allocator on the CPU, and writes a line per case: the allocator's
peak in each step after the first epoch, and what was in use before the step. With limits, the allocator gets
no more than what is stated there, and the line says only whether all steps ran. `alone` measures
`train_on_batch` on one batch: the step without the data set that `fit` copies and the batches that it fetches
ahead. Of a case with `live`, `make` writes a module whose function `build` returns the compiled model. `serve` reads
jobs from its input, one line of JSON each ("work", "case", "limit_mib"), and does what the other words do;
`steps` says whether the first four steps of a batch run under a limit, with the case's `samples` in arrays
for `fit`, or without them by `train_on_batch`. `estimate` asks `tfmemlens.estimate` of the model as an object.
"""

import json
import os
import re
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.update(TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB="3000")
import numpy as np
import predictions_eighth_run
import predictions_eighteenth_run
import predictions_eleventh_run
import predictions_fortieth_run
import predictions_fortysecond_run
import predictions_nineteenth_run
import predictions_ninth_run
import predictions_tenth_run
import predictions_fifteenth_run
import predictions_fifth_run
import predictions_fortyfirst_run
import predictions_fortyeighth_run
import predictions_fiftieth_run
import predictions_fiftysecond_run
import predictions_fiftythird_run
import predictions_fiftyfirst_run
import predictions_fortyninth_run
import predictions_fortyseventh_run
import predictions_fortysixth_run
import predictions_fortyfifth_run
import predictions_fortyfourth_run
import predictions_fortythird_run
import predictions_fourteenth_run
import predictions_fourth_run
import predictions_seventh_live_run
import predictions_seventh_run
import predictions_seventeenth_run
import predictions_sixteenth_run
import predictions_sixth_run
import predictions_third_run
import predictions_thirteenth_run
import predictions_twelfth_run
import predictions_twentieth_run
import predictions_twentyfirst_run
import predictions_twentysecond_run
import predictions_twentythird_run
import predictions_twentyfourth_run
import predictions_twentyfifth_run
import predictions_twentysixth_run
import predictions_twentyseventh_run
import predictions_twentyeighth_run
import predictions_twentyninth_run
import predictions_thirtieth_run
import predictions_thirtyfirst_run
import predictions_thirtysecond_run
import predictions_thirtythird_run
import predictions_thirtyfourth_run
import predictions_thirtyfifth_run
import predictions_thirtysixth_run
import predictions_thirtyseventh_run
import predictions_thirtyeighth_run
import predictions_thirtyninth_run
import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tfmemlens/recording"))
from try_batches import OUT_OF_MEMORY

keras = tf.keras
L = keras.layers
STEPS = 3  # of an epoch; the first epoch of two traces and makes the optimizer's slots
SECONDS = 400
ALIGNED = 64


def language_model(case):
    """Two causal transformer blocks below a big vocabulary."""
    vocabulary, length, width = 12000, 48, 96
    x = keras.Input((length,), dtype="int32", name="tokens")
    y = L.Embedding(vocabulary, width)(x)
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(4, 24)(z, z, use_causal_mask=True)])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.Dense(width)(L.Dense(4 * width, activation="gelu")(z))])
    y = L.Dense(vocabulary, name="logits")(L.LayerNormalization()(y))
    return keras.Model(x, y), {"classes": vocabulary, "logits": True}


def translator(case):
    """GRU encoder and decoder with attention between them."""
    source = keras.Input((30,), dtype="int32", name="source")
    target = keras.Input((24,), dtype="int32", name="target")
    states, last = L.GRU(128, return_sequences=True, return_state=True)(L.Embedding(4000, 96)(source))
    y = L.GRU(128, return_sequences=True)(L.Embedding(3000, 96)(target), initial_state=last)
    y = L.Concatenate()([y, L.Attention()([y, states])])
    y = L.Dense(128, activation="tanh")(y)
    return keras.Model([source, target], L.Dense(3000, activation="softmax")(y)), {"classes": 3000}


def audio(case):
    """Raw sound, in strides of four, to a class."""
    x = keras.Input((8000, 1), name="sound")
    y = x
    for width, kernel, stride in ((32, 64, 4), (48, 16, 4), (64, 8, 4), (96, 4, 2)):
        y = L.Conv1D(width, kernel, strides=stride, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
    y = L.Dropout(0.3)(L.GlobalMaxPooling1D()(y))
    return keras.Model(x, L.Dense(35, activation="softmax")(y)), {"classes": 35}


def tumour(case):
    """A small 3-D U-Net with three classes a voxel."""
    x = keras.Input((24, 24, 24, 2), name="scan")
    first = L.Conv3D(12, 3, padding="same", activation="relu")(x)
    first = L.Conv3D(12, 3, padding="same", activation="relu")(first)
    y = L.Conv3D(24, 3, padding="same", activation="relu")(L.MaxPooling3D()(first))
    y = L.Concatenate()([L.Conv3DTranspose(12, 2, strides=2)(y), first])
    y = L.Conv3D(12, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv3D(3, 1, activation="softmax")(y)), {"classes": 3}


def signatures(case):
    """Siamese: two pictures through one encoder."""
    picture = keras.Input((72, 72, 1))
    y = picture
    for width in (24, 48, 64):
        y = L.MaxPooling2D()(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    encoder = keras.Model(picture, L.Dense(64)(L.GlobalAveragePooling2D()(y)), name="encoder")
    a, b = keras.Input((72, 72, 1), name="a"), keras.Input((72, 72, 1), name="b")
    u, v = encoder(a), encoder(b)
    y = L.Concatenate()([L.Subtract()([u, v]), L.Multiply()([u, v])])
    y = L.Dense(32, activation="relu")(y)
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def molecules(case):
    """A graph net by a dense adjacency: messages are products of matrices."""
    nodes = keras.Input((60, 24), name="atoms")
    edges = keras.Input((60, 60), name="bonds")
    y = L.Dense(96)(nodes)
    for _ in range(3):
        message = L.Dot(axes=(2, 1))([edges, L.Dense(96, activation="relu")(y)])
        y = L.LayerNormalization()(L.Add()([y, L.Dense(96, activation="relu")(message)]))
    y = L.Dense(64, activation="relu")(L.GlobalAveragePooling1D()(y))
    return keras.Model([nodes, edges], L.Dense(1)(y)), {"loss": "mae"}


def detector(case):
    """One backbone, two heads: boxes and classes at each place."""
    x = keras.Input((96, 96, 3), name="picture")
    y = x
    for width in (16, 32, 64):
        y = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(y)
        y = L.LeakyReLU()(L.BatchNormalization()(y))
    boxes = L.Conv2D(36, 3, padding="same")(L.Conv2D(64, 3, padding="same", activation="relu")(y))
    boxes = L.Reshape((-1, 4), name="boxes")(boxes)
    kinds = L.Conv2D(9 * 20, 3, padding="same")(L.Conv2D(64, 3, padding="same", activation="relu")(y))
    kinds = L.Activation("sigmoid", name="kinds")(L.Reshape((-1, 20))(kinds))
    return keras.Model(x, [boxes, kinds]), {"losses": {"boxes": "huber", "kinds": "binary_crossentropy"}}


def clicks(case):
    """DLRM: eight tables, their products and two perceptrons."""
    numbers = keras.Input((13,), name="numbers")
    inputs, vectors = [numbers], []
    y = L.Dense(16, activation="relu")(L.Dense(128, activation="relu")(numbers))
    vectors.append(y)
    for place in range(8):
        x = keras.Input((1,), dtype="int32", name="category_%d" % place)
        inputs.append(x)
        vectors.append(L.Flatten()(L.Embedding(15000, 16)(x)))
    products = [
        L.Dot(axes=1)([vectors[a], vectors[b]]) for a in range(0, 9, 2) for b in range(a + 1, 9, 2)
    ]
    y = L.Concatenate()([y] + products)
    y = L.Dense(128, activation="relu")(L.Dense(256, activation="relu")(y))
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def houses(case):
    """A table of numbers to a price and a class."""
    x = keras.Input((80,), name="facts")
    y = x
    for width in (1024, 1024, 512):
        y = L.Dropout(0.2)(L.BatchNormalization()(L.Dense(width, activation="selu")(y)))
    price = L.Dense(1, name="price")(L.Dense(128, activation="relu")(y))
    kind = L.Dense(12, activation="softmax", name="kind")(y)
    losses = {"price": "mse", "kind": "sparse_categorical_crossentropy"}
    return keras.Model(x, [price, kind]), {"losses": losses, "classes": 12}


def transfer(case):
    """A frozen base and a head that learns."""
    layers = [keras.Input((96, 96, 3))]
    for width in (32, 64, 96, 128):
        layers += [
            L.Conv2D(width, 3, padding="same", use_bias=False),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
        ]
    base = keras.Sequential(layers, name="base")
    base.trainable = False
    x = keras.Input((96, 96, 3), name="photo")
    y = L.Dropout(0.4)(L.Dense(512, activation="relu")(L.Flatten()(base(x, training=False))))
    return keras.Model(x, L.Dense(8, activation="softmax")(y)), {"classes": 8}


def denoiser(case):
    """Autoencoder with skips that are added, and upsampling."""
    x = keras.Input((80, 80, 3), name="noisy")
    skips, y = [], x
    for width in (24, 48, 72):
        y = L.Conv2D(width, 3, padding="same", activation="elu")(y)
        skips.append(y)
        y = L.AveragePooling2D(2)(y)
    for width, skip in zip((72, 48, 24), reversed(skips)):
        y = L.Conv2D(width, 3, padding="same", activation="elu")(L.UpSampling2D()(y))
        y = L.Add()([y, skip])
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mse"}


def separable(case):
    """Depthwise-separable blocks with shortcuts."""
    x = keras.Input((64, 64, 3), name="picture")
    y = L.Conv2D(32, 3, padding="same")(x)
    for width in (48, 64, 96):
        z = L.BatchNormalization()(L.SeparableConv2D(width, 3, padding="same")(L.ReLU()(y)))
        z = L.SeparableConv2D(width, 3, padding="same")(L.ReLU()(z))
        z = L.MaxPooling2D(3, strides=2, padding="same")(z)
        y = L.Add()([z, L.Conv2D(width, 1, strides=2)(y)])
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling2D()(y))), {"classes": 20}


def convnext(case):
    """Large depthwise kernels, LayerNorm, wide pointwise layers."""
    x = keras.Input((64, 64, 3), name="picture")
    y = L.LayerNormalization(epsilon=1e-6)(L.Conv2D(48, 4, strides=4)(x))
    for _ in range(3):
        z = L.LayerNormalization(epsilon=1e-6)(L.DepthwiseConv2D(7, padding="same")(y))
        y = L.Add()([y, L.Dense(48)(L.Dense(192, activation="gelu")(z))])
    y = L.Conv2D(96, 2, strides=2)(L.LayerNormalization(epsilon=1e-6)(y))
    return keras.Model(x, L.Dense(30)(L.GlobalAveragePooling2D()(y))), {"classes": 30, "logits": True}


def tagger(case):
    """A tag a word, by a bidirectional LSTM; the length may be left open."""
    length = None if case.get("sequence") else 50
    x = keras.Input((length,), dtype="int32", name="words")
    y = L.Bidirectional(L.LSTM(96, return_sequences=True))(L.Embedding(8000, 80)(x))
    y = L.TimeDistributed(L.Dense(40, activation="softmax"))(L.Dropout(0.3)(y))
    return keras.Model(x, y), {"classes": 40}


def wide(case):
    """Three wide dense layers."""
    x = keras.Input((784,), name="pixels")
    y = x
    for _ in range(2):
        y = L.Dense(1800, activation="relu")(y)
    return keras.Model(x, L.Dense(100, activation="softmax")(y)), {"classes": 100}


def variations(case):
    """As a variational autoencoder's, with noise for the sample and no loss of its own."""
    x = keras.Input((48, 48, 1), name="glyph")
    y = L.Conv2D(64, 3, strides=2, padding="same", activation="relu")(
        L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    )
    y = L.Flatten()(y)
    mean, spread = L.Dense(32)(y), L.Dense(32, activation="softplus")(y)
    y = L.Add()([mean, L.Multiply()([spread, L.GaussianNoise(1.0)(mean)])])
    y = L.Reshape((12, 12, 64))(L.Dense(12 * 12 * 64, activation="relu")(y))
    y = L.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid")(y)
    return keras.Model(x, y), {"loss": "binary_crossentropy"}


def resnet(case):
    """Post-activated residual blocks with batch normalisation, 32 pixels."""

    def normed(y, width, kernel, stride):
        y = L.Conv2D(width, kernel, strides=stride, padding="same", use_bias=False)(y)
        return L.BatchNormalization()(y)

    x = keras.Input((32, 32, 3), name="picture")
    y = L.ReLU()(normed(x, 24, 3, 1))
    for width, stride in ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2)):
        z = normed(L.ReLU()(normed(y, width, 3, stride)), width, 3, 1)
        shortcut = y if stride == 1 else normed(y, width, 1, stride)
        y = L.ReLU()(L.Add()([z, shortcut]))
    return keras.Model(x, L.Dense(100)(L.GlobalAveragePooling2D()(y))), {"classes": 100, "logits": True}


def inception(case):
    """Branches side by side, joined by their channels."""
    x = keras.Input((56, 56, 3), name="picture")
    y = L.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width in (16, 24):
        branches = [L.Conv2D(width, 1, activation="relu")(y)]
        for kernel in (3, 5):
            z = L.Conv2D(width, 1, activation="relu")(y)
            branches.append(L.Conv2D(width, kernel, padding="same", activation="relu")(z))
        z = L.MaxPooling2D(3, strides=1, padding="same")(y)
        branches.append(L.Conv2D(width, 1, activation="relu")(z))
        y = L.MaxPooling2D()(L.Concatenate()(branches))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.Flatten()(y))), {"classes": 10}


def causal(case):
    """Dilated causal convolutions over a series, each step predicted."""
    x = keras.Input((600, 6), name="series")
    y = L.Conv1D(48, 1)(x)
    for dilation in (1, 2, 4, 8, 16):
        z = L.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="relu")(y)
        y = L.Add()([y, L.SpatialDropout1D(0.1)(z)])
    return keras.Model(x, L.Conv1D(1, 1)(y)), {"loss": "mse"}


def patches(case):
    """A small vision transformer."""
    x = keras.Input((64, 64, 3), name="picture")
    y = L.Reshape((256, 96))(L.Conv2D(96, 4, strides=4)(x))
    for _ in range(2):
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.MultiHeadAttention(6, 16, dropout=0.1)(z, z)])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.Dropout(0.1)(L.Dense(96)(L.Dense(256, activation="gelu")(z)))])
    return keras.Model(x, L.Dense(50, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 50}


def weather(case):
    """Convolutional LSTM over a few maps."""
    x = keras.Input((6, 32, 32, 2), name="maps")
    y = L.ConvLSTM2D(16, 3, padding="same", return_sequences=False)(x)
    return keras.Model(x, L.Conv2D(1, 3, padding="same")(L.BatchNormalization()(y))), {"loss": "mse"}


def mixer(case):
    """Dense layers over tokens, then over channels."""
    x = keras.Input((144, 64), name="tokens")
    y = x
    for _ in range(3):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        y = L.Add()([y, L.Permute((2, 1))(L.Dense(144)(L.Dense(288, activation="gelu")(z)))])
        z = L.LayerNormalization()(y)
        y = L.Add()([y, L.Dense(64)(L.Dense(256, activation="gelu")(z))])
    return keras.Model(x, L.Dense(20, activation="softmax")(L.GlobalAveragePooling1D()(y))), {"classes": 20}


def towers(case):
    """Users and things as normalised vectors, with a large table for each."""
    user = keras.Input((1,), dtype="int32", name="user")
    seen = keras.Input((20,), dtype="int32", name="seen")
    thing = keras.Input((1,), dtype="int32", name="thing")
    table = L.Embedding(30000, 32)
    u = L.Concatenate()([L.Flatten()(L.Embedding(50000, 32)(user)), L.GlobalAveragePooling1D()(table(seen))])
    u = L.Dense(32)(L.Dense(256, activation="relu")(u))
    v = L.Dense(32)(L.Dense(256, activation="relu")(L.Flatten()(table(thing))))
    y = L.Dot(axes=1, normalize=True)([u, v])
    return keras.Model([user, seen, thing], y), {"loss": "mse"}


def sharper(case):
    """Twice as many pixels, by PReLU blocks and a transposed convolution."""
    x = keras.Input((40, 40, 3), name="small")
    y = first = L.Conv2D(48, 5, padding="same", activation="relu")(x)
    for _ in range(3):
        z = L.Conv2D(48, 3, padding="same")(L.PReLU(shared_axes=[1, 2])(L.Conv2D(48, 3, padding="same")(y)))
        y = L.Add()([y, z])
    y = L.Conv2DTranspose(24, 4, strides=2, padding="same", activation="relu")(L.Add()([first, y]))
    return keras.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"loss": "mae"}


def sentences(case):
    """Words through kernels of three widths."""
    x = keras.Input((120,), dtype="int32", name="words")
    y = L.SpatialDropout1D(0.2)(L.Embedding(15000, 100)(x))
    y = L.Concatenate()([L.GlobalMaxPooling1D()(L.Conv1D(96, k, activation="relu")(y)) for k in (3, 4, 5)])
    return keras.Model(x, L.Dense(1, activation="sigmoid")(L.Dropout(0.5)(y))), {"loss": "binary_crossentropy"}


def series(case):
    """Two stacked LSTMs over numbers, the next one predicted; the length may be left open."""
    length = None if case.get("sequence") else 72
    x = keras.Input((length, 12), name="series")
    y = L.LSTM(96)(L.LSTM(96, return_sequences=True)(x))
    return keras.Model(x, L.Dense(12)(y)), {"loss": "mae"}


def heartbeat(case):
    """Squeeze and excitation over a signal of twelve leads."""
    x = keras.Input((1000, 12), name="leads")
    y = L.Conv1D(48, 9, padding="same")(x)
    for width in (48, 64):
        z = L.Activation("swish")(L.BatchNormalization()(L.Conv1D(width, 7, padding="same")(y)))
        gate = L.Dense(width, activation="sigmoid")(L.Dense(8, activation="relu")(L.GlobalAveragePooling1D()(z)))
        y = L.MaxPooling1D(2)(L.Multiply()([z, L.Reshape((1, width))(gate)]))
    return keras.Model(x, L.Dense(5, activation="sigmoid")(L.GlobalAveragePooling1D()(y))), {
        "loss": "binary_crossentropy"
    }


def deeplab(case):
    """Dilated convolutions at one resolution, and a class a pixel."""
    x = keras.Input((64, 64, 3), name="street")
    y = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(x)
    branches = [
        L.Conv2D(32, 3, padding="same", dilation_rate=rate, activation="relu")(y) for rate in (1, 2, 4)
    ]
    y = L.Conv2D(64, 1, activation="relu")(L.Concatenate()(branches))
    y = L.UpSampling2D(2, interpolation="bilinear")(L.Conv2D(19, 1)(y))
    return keras.Model(x, y), {"classes": 19, "logits": True}


def generator(case):
    """The generator's step of a GAN: what it paints goes through a frozen judge."""
    picture = keras.Input((32, 32, 3))
    y = picture
    for width in (48, 96):
        y = L.LeakyReLU()(L.Conv2D(width, 5, strides=2, padding="same")(y))
    judge = keras.Model(picture, L.Dense(1, activation="sigmoid")(L.Flatten()(y)), name="judge")
    judge.trainable = False
    x = keras.Input((64,), name="noise")
    y = L.Reshape((8, 8, 128))(L.ReLU()(L.BatchNormalization()(L.Dense(8 * 8 * 128, use_bias=False)(x))))
    y = L.Conv2DTranspose(64, 5, strides=2, padding="same", use_bias=False)(y)
    y = L.ReLU()(L.BatchNormalization()(y))
    painted = L.Conv2DTranspose(3, 5, strides=2, padding="same", activation="tanh")(y)
    return keras.Model(x, judge(painted)), {"loss": "binary_crossentropy"}


def bags(case):
    """Ranking: numbers and four bags of words, crossed twice."""
    numbers = keras.Input((24,), name="numbers")
    inputs, parts = [numbers], [L.Dense(64, activation="relu")(numbers)]
    for place, rows in enumerate((20000, 8000, 30000, 4000)):
        bag = keras.Input((15,), dtype="int32", name="bag_%d" % place)
        inputs.append(bag)
        parts.append(L.GlobalAveragePooling1D()(L.Embedding(rows, 24)(bag)))
    first = y = L.Concatenate()(parts)
    for _ in range(2):
        y = L.Add()([y, L.Multiply()([first, L.Dense(160)(y)])])
    y = L.Dense(64, activation="relu")(L.Dense(256, activation="relu")(y))
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def temporal(case):
    """Temporal blocks of two dilated convolutions with normalisation, then one answer."""
    x = keras.Input((400, 16), name="signal")
    y = L.Conv1D(64, 1)(x)
    for dilation in (1, 4, 16):
        z = y
        for _ in range(2):
            z = L.Conv1D(64, 5, padding="causal", dilation_rate=dilation)(z)
            z = L.Dropout(0.1)(L.Activation("relu")(L.LayerNormalization()(z)))
        y = L.Activation("relu")(L.Add()([y, z]))
    return keras.Model(x, L.Dense(6, activation="softmax")(L.GlobalMaxPooling1D()(y))), {"classes": 6}


def questions(case):
    """Siamese: two questions through one recurrent encoder."""
    words = keras.Input((32,), dtype="int32")
    y = L.Bidirectional(L.GRU(64))(L.Embedding(6000, 64)(words))
    encoder = keras.Model(words, L.Dense(64, activation="tanh")(y), name="encoder")
    a, b = keras.Input((32,), dtype="int32", name="a"), keras.Input((32,), dtype="int32", name="b")
    apart = L.Subtract()([encoder(a), encoder(b)])
    y = L.Dense(32, activation="relu")(L.Multiply()([apart, apart]))
    return keras.Model([a, b], L.Dense(1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def cells(case):
    """A 2-D U-Net with joined skips and normalisation."""

    def twice(y, width):
        for _ in range(2):
            y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(y)))
        return y

    x = keras.Input((64, 64, 1), name="cells")
    skips, y = [], x
    for width in (16, 32, 64):
        y = twice(y, width)
        skips.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Dropout(0.2)(twice(y, 96))
    for width, skip in zip((64, 32, 16), reversed(skips)):
        y = twice(L.Concatenate()([L.Conv2DTranspose(width, 2, strides=2)(y), skip]), width)
    return keras.Model(x, L.Conv2D(1, 1, activation="sigmoid")(y)), {"loss": "binary_crossentropy"}


def bottleneck(case):
    """Autoencoder with a narrow dense layer in its middle."""
    x = keras.Input((64, 64, 3), name="face")
    y = x
    for width in (32, 64, 96):
        y = L.Conv2D(width, 3, strides=2, padding="same", activation="relu")(y)
    y = L.Dense(64)(L.Flatten()(y))
    y = L.Reshape((8, 8, 96))(L.Dense(8 * 8 * 96, activation="relu")(y))
    for width in (96, 64, 32):
        y = L.Conv2D(width, 3, padding="same", activation="relu")(L.UpSampling2D()(y))
    return keras.Model(x, L.Conv2D(3, 3, padding="same", activation="sigmoid")(y)), {"loss": "mse"}


def film(case):
    """Frames through one small convolutional net, then a GRU."""
    frame = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            L.Conv2D(24, 3, strides=2, activation="relu"),
            L.Conv2D(48, 3, strides=2, activation="relu"),
            L.GlobalAveragePooling2D(),
        ]
    )
    x = keras.Input((8, 32, 32, 3), name="frames")
    y = L.GRU(64)(L.TimeDistributed(frame)(x))
    return keras.Model(x, L.Dense(12, activation="softmax")(y)), {"classes": 12}


def radar(case):
    """Two convolutional LSTMs, every map predicted."""
    x = keras.Input((5, 24, 24, 1), name="maps")
    y = L.ConvLSTM2D(12, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(12, 5, padding="same", return_sequences=True)(L.BatchNormalization()(y))
    return keras.Model(x, L.Conv3D(1, 3, padding="same")(y)), {"loss": "mse"}


def optimizer_of(name):
    makers = {
        "sgd": lambda: keras.optimizers.SGD(0.001),
        "momentum": lambda: keras.optimizers.SGD(0.001, momentum=0.9),
        "adamw": lambda: keras.optimizers.AdamW(0.001, weight_decay=0.004),
    }
    return makers[name]() if name in makers else keras.optimizers.get(name)


def built(case):
    """The case's model and its facts, from whichever set it is in."""
    keras.utils.set_random_seed(1)
    model = case["model"]
    sets = (
        predictions_third_run,
        predictions_fourth_run,
        predictions_fifth_run,
        predictions_sixth_run,
        predictions_seventh_run,
        predictions_seventh_live_run,
        predictions_eighth_run,
        predictions_ninth_run,
        predictions_tenth_run,
        predictions_eleventh_run,
        predictions_twelfth_run,
        predictions_thirteenth_run,
        predictions_fourteenth_run,
        predictions_fifteenth_run,
        predictions_sixteenth_run,
        predictions_seventeenth_run,
        predictions_eighteenth_run,
        predictions_nineteenth_run,
        predictions_twentieth_run,
        predictions_twentyfirst_run,
        predictions_twentysecond_run,
        predictions_twentythird_run,
        predictions_twentyfourth_run,
        predictions_twentyfifth_run,
        predictions_twentysixth_run,
        predictions_twentyseventh_run,
        predictions_twentyeighth_run,
        predictions_twentyninth_run,
        predictions_thirtieth_run,
        predictions_thirtyfirst_run,
        predictions_thirtysecond_run,
        predictions_thirtythird_run,
        predictions_thirtyfourth_run,
        predictions_thirtyfifth_run,
        predictions_thirtysixth_run,
        predictions_thirtyseventh_run,
        predictions_thirtyeighth_run,
        predictions_thirtyninth_run,
        predictions_fortieth_run,
        predictions_fortyfirst_run,
        predictions_fortysecond_run,
        predictions_fortythird_run,
        predictions_fortyfourth_run,
        predictions_fortyfifth_run,
        predictions_fortysixth_run,
        predictions_fortyseventh_run,
        predictions_fortyninth_run,
        predictions_fiftyfirst_run,
        predictions_fiftythird_run,
        predictions_fiftysecond_run,
        predictions_fiftieth_run,
        predictions_fortyeighth_run,
    )
    make = globals().get(model) or next(getattr(each, model) for each in sets if hasattr(each, model))
    return make({**case, "make_optimizer": lambda: optimizer_of(case["optimizer"])})


def compiled(case):
    """The case's model with its optimizer, loss and metrics."""
    model, facts = built(case)
    if facts.get("compiled"):
        return model, facts
    if "losses" in facts:
        loss = facts["losses"]
    elif "loss" in facts:
        loss = facts["loss"]
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=bool(facts.get("logits")))
    metrics = None
    if case["metrics"]:
        metrics = {"kind": ["accuracy"], "price": ["mae"]} if case["model"] == "houses" else ["accuracy"]
        if case["model"] == "detector":
            metrics = {"kinds": ["accuracy"]}
        metrics = facts.get("metrics", metrics)
    extra = {"jit_compile": True} if case.get("jit") else {}
    model.compile(optimizer_of(case["optimizer"]), loss, metrics=metrics, **extra)
    return model, facts


def sizes_of(tensor, case):
    return [case["sequence"] if size is None else int(size) for size in tensor.shape[1:]]


def data_of(model, facts, case):
    """Inputs and targets for STEPS batches; no targets for a model that takes none."""
    random, count = np.random.RandomState(3), case.get("samples", case["batch"] * STEPS)
    if "inputs" in facts:
        return told_data(random, count, facts)
    inputs = {}
    for each in model.inputs:
        shape = [count] + sizes_of(each, case)
        name = each.name.split(":")[0]
        whole = "int" in str(getattr(each.dtype, "name", each.dtype))
        high = min([facts.get("highs", {}).get(name, 3000), 3000])
        inputs[name] = (
            random.randint(0, high, shape).astype(np.int32) if whole else random.rand(*shape).astype(np.float32)
        )
    targets = {}
    for name, each in zip(getattr(model, "output_names", ["output"]), model.outputs):
        shape = [count] + sizes_of(each, case)
        if facts.get("outs", {}).get(name):
            targets[name] = random.randint(0, facts["outs"][name], shape[:-1]).astype(np.int32)
        elif facts.get("classes") and name != "price":
            targets[name] = random.randint(0, facts["classes"], shape[:-1]).astype(np.int32)
        else:
            targets[name] = random.rand(*shape).astype(np.float32)
    single = len(targets) == 1
    return (
        list(inputs.values())[0] if len(inputs) == 1 else inputs,
        list(targets.values())[0] if single else targets,
    )


def told_data(random, count, facts):
    """The same for one input, of a model that tells neither inputs nor outputs."""
    (sizes,) = facts["inputs"].values()
    x, shape = random.rand(count, *sizes).astype(np.float32), facts["targets"]
    if facts.get("words"):
        x = random.randint(0, facts["words"], (count, *sizes)).astype(np.int32)
    if shape is None:
        return x, None
    if facts.get("classes"):
        return x, random.randint(0, facts["classes"], (count, *shape)).astype(np.int32)
    return x, random.rand(count, *shape).astype(np.float32)


class Peaks(keras.callbacks.Callback):
    """The allocator's peak in each step after the first epoch, in bytes."""

    def __init__(self):
        super().__init__()
        self.counting, self.peaks, self.before = False, [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.counting = epoch > 0

    def on_train_batch_begin(self, batch, logs=None):
        self.before.append(tf.config.experimental.get_memory_info("CPU:0")["current"])
        tf.config.experimental.reset_memory_stats("CPU:0")

    def on_train_batch_end(self, batch, logs=None):
        if self.counting:
            self.peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"])


LIVE = """import sys

sys.path.insert(0, {here!r})
import predictions_run


def build():
    return predictions_run.compiled({case!r})[0]
"""


def save(case, folder):
    path = os.path.join(folder, case["file"])
    if case.get("live"):
        with open(path, "w") as file:
            file.write(LIVE.format(here=os.path.dirname(os.path.abspath(__file__)), case=case))
        return {"key": case["key"]}
    model, _ = compiled(case)
    model.save(path)
    return {"key": case["key"], "parameters": model.count_params()}


def measure(case, limit_mib):
    if limit_mib:
        os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(limit_mib)
    tf.config.threading.set_inter_op_parallelism_threads(case["threads"])
    tf.config.threading.set_intra_op_parallelism_threads(case["threads"])
    try:
        model, facts = compiled(case)
        x, y = data_of(model, facts, case)
    except tf.errors.ResourceExhaustedError:
        return {"key": case["key"], "ran": False, "limit_mib": limit_mib, "arrays_bytes": 0}
    found = Peaks()
    try:
        model.fit(x, y, batch_size=case["batch"], epochs=2, shuffle=False, verbose=0, callbacks=[found])
    except tf.errors.ResourceExhaustedError:
        return {"key": case["key"], "ran": False, "limit_mib": limit_mib, "arrays_bytes": bytes_of(x) + bytes_of(y)}
    if limit_mib:
        return {"key": case["key"], "ran": True, "limit_mib": limit_mib}
    return {
        "key": case["key"],
        "peaks": found.peaks,
        "before": found.before[-1],
        "aligned_bytes": bytes_of(x, ALIGNED) + bytes_of(y, ALIGNED),
    }


def bytes_of(arrays, alignment=1):
    """Of those that lie where `alignment` asks: TensorFlow takes such an array over, and copies others."""
    if arrays is None:
        return 0
    given = arrays.values() if isinstance(arrays, dict) else [arrays]
    return sum(each.nbytes for each in given if each.ctypes.data % alignment == 0)


def alone(case):
    tf.config.threading.set_inter_op_parallelism_threads(case["threads"])
    tf.config.threading.set_intra_op_parallelism_threads(case["threads"])
    model, facts = compiled(case)
    x, y = data_of(model, facts, case)

    def first(arrays):
        if isinstance(arrays, dict):
            return {name: each[: case["batch"]].copy() for name, each in arrays.items()}
        if arrays is None:
            return None
        return arrays[: case["batch"]].copy()

    x, y = first(x), first(y)
    peaks = []
    for _ in range(STEPS + 1):
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.train_on_batch(x, y)
        peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"])
    return {"key": case["key"], "peaks": peaks[1:]}


class Enough(Exception):
    """Four steps have run."""


class Four(keras.callbacks.Callback):
    """Ends training after four steps."""

    def on_train_batch_end(self, batch, logs=None):
        self.count = getattr(self, "count", 0) + 1
        if self.count > STEPS:
            raise Enough


def steps(case, limit_mib):
    os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(limit_mib)
    tf.config.threading.set_inter_op_parallelism_threads(case["threads"])
    tf.config.threading.set_intra_op_parallelism_threads(case["threads"])
    samples = case.get("samples")
    case = {**case, "samples": samples or case["batch"]}
    said = {"key": case["key"], "batch": case["batch"], "limit_mib": limit_mib}
    try:
        model, facts = compiled(case)
        x, y = data_of(model, facts, case)
        if samples:
            model.fit(x, y, batch_size=case["batch"], epochs=5, shuffle=False, verbose=0, callbacks=[Four()])
        else:
            for _ in range(STEPS + 1):
                model.train_on_batch(x, y)
    except Enough:
        pass
    except (tf.errors.ResourceExhaustedError, tf.errors.InternalError) as error:
        if isinstance(error, tf.errors.InternalError) and not re.search("memory|Dst tensor", str(error)):
            raise
        return {**said, "ran": False}
    return {**said, "ran": True}


def serve(out):
    """One job a line, until the input ends; says "done" after each."""
    for line in sys.stdin:
        job = json.loads(line)
        work = {"measure": measure, "steps": steps}[job["work"]]
        apart(work, out, job["case"], job.get("limit_mib"))
        print("done", flush=True)


def estimate(out, case):
    """What `tfmemlens.estimate` says of the model as an object of this process, as JSON; nothing is run."""
    import tfmemlens

    model, _ = compiled(case)
    answer = tfmemlens.estimate(
        model,
        batch=case["batch"],
        input_shape=case["shape"],
        threads=case["threads"],
        onednn=case["onednn"],
        samples=STEPS * case["batch"],
    )
    with open(out, "w") as file:
        file.write(answer.to_json())


def apart(work, out, *arguments):
    """Run in a process of its own, which appends its line to `out`. `steps` are over when the allocator gives
    up, as in `fit --measure`: TensorFlow waits ten seconds for each tensor that finds no room.
    """
    hearing, saying = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(saying, 2)
        code = 1
        try:
            line = json.dumps(work(*arguments))
            with open(out, "a") as file:
                file.write(line + "\n")
            code = 0
        except BaseException as error:
            print(arguments[0]["key"], type(error).__name__, str(error)[:600], flush=True)
        finally:
            os._exit(code)
    os.close(saying)
    words, refused, part = b"", False, b" "
    while part and not refused:
        part = os.read(hearing, 1 << 16)
        words = words[-1000:] + part
        refused = work is steps and bool(OUT_OF_MEMORY.search(words))
    os.close(hearing)
    if refused:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if refused:
        case, limit_mib = arguments
        with open(out, "w") as file:  # in place of what it may have written
            line = {"key": case["key"], "batch": case["batch"], "limit_mib": limit_mib, "ran": False}
            file.write(json.dumps(line) + "\n")
    elif status:
        print(arguments[0]["key"], "failed", flush=True)


def main(what, out, cases, limits=None):
    if what == "serve":
        return serve(out)
    if what == "estimate":
        return estimate(out, json.load(open(cases)))
    bounds = json.load(open(limits)) if limits else {}
    for case in json.load(open(cases)):
        if what == "make":
            apart(save, os.path.join(out, "made.jsonl"), case, out)
        elif what == "alone":
            apart(alone, out, case)
        else:
            apart(measure, out, case, bounds.get(case["key"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
