"""Nets of one layer each, with the settings that change its ops, and what a step of each takes:

    layer_settings_run.py make FOLDER VERSION [NAME ...]
    layer_settings_run.py measure OUT.jsonl VERSION [NAME ...]

Run by a Python with TensorFlow 2.11 (Keras 2) or 2.21 (Keras 3). The layer stands over a dense layer or a
convolution, so that its input needs a gradient, and is made large enough to hold the peak. As in
predictions_run.py, three batches go to `fit` twice, and the allocator's own peaks of the last are kept.
"""

import json
import os
import sys

os.environ.update(
    TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB="3000", TF_ENABLE_ONEDNN_OPTS="0"
)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import predictions_run
import tensorflow as tf

keras = tf.keras
L = keras.layers
KERAS_3 = not getattr(keras, "__version__", "3").startswith("2")


def of_series(*layers, **sizes):
    """Layers over [time, features]."""
    x = keras.Input((sizes.get("steps", 48), sizes.get("width", 64)), name="x")
    y = through(layers, L.Dense(sizes.get("width", 64))(x))
    return finished(x, L.GlobalAveragePooling1D()(y) if len(y.shape) == 3 else y)


def of_picture(*layers, **sizes):
    """Layers over a convolution of a picture; with `bare` over the picture itself."""
    side = sizes.get("side", 48)
    x = keras.Input((side, side, 3), name="x")
    y = through(layers, x if sizes.get("bare") else L.Conv2D(24, 3, padding="same")(x))
    return finished(x, L.GlobalAveragePooling2D()(y))


def of_volume(*layers):
    """Layers over a convolution of a volume."""
    x = keras.Input((20, 20, 20, 1), name="x")
    return finished(x, L.GlobalAveragePooling3D()(through(layers, L.Conv3D(12, 3, padding="same")(x))))


def of_row(*layers):
    """Layers over a dense layer of a row of numbers."""
    x = keras.Input((512,), name="x")
    return finished(x, through(layers, L.Dense(512)(x)))


def of_pair(queries, keys, width, look):
    """A layer that looks from one series at another."""
    q, v = keras.Input((queries, width), name="q"), keras.Input((keys, width), name="v")
    return keras.Model([q, v], L.Dense(1)(look(L.Dense(width)(q), L.Dense(width)(v)))), {"loss": "mse"}


def of_words(*layers):
    """Layers over words, of which 0 stands for none."""
    x = keras.Input((48,), dtype="int32", name="x")
    y = through(layers, L.Embedding(2000, 64, mask_zero=True)(x))
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse", "highs": {"x": 2000}}


def of_states(kind):
    """A loop that begins with the last state of another."""
    x, z = keras.Input((40, 64), name="x"), keras.Input((40, 64), name="z")
    made = kind(128, return_sequences=True, return_state=True)(x)
    y = kind(128, return_sequences=True)(z, initial_state=list(made[1:]))
    return keras.Model([x, z], L.Dense(1)(y)), {"loss": "mse"}


def of_loss(name):
    """A loss of an output that is large."""
    x = keras.Input((64,), name="x")
    shares = "cross" in name or "kl" in name
    return keras.Model(x, L.Dense(4096, activation="softmax" if shares else "sigmoid")(x)), {"loss": name}


def through(layers, y):
    for layer in layers:
        y = layer(y)
    return y


def finished(x, y):
    return keras.Model(x, L.Dense(1)(y)), {"loss": "mse"}


def loops():
    """Recurrent layers, by name, with the batch."""
    settings = {
        "sequence": {},
        "recurrent-dropout": {"recurrent_dropout": 0.2},
        "dropout": {"dropout": 0.2},
        "both-dropouts": {"dropout": 0.2, "recurrent_dropout": 0.2},
        "backwards": {"go_backwards": True},
        "relu": {"activation": "relu"},
        "without-bias": {"use_bias": False},
    }
    for name, kind in (("lstm", L.LSTM), ("gru", L.GRU), ("rnn", L.SimpleRNN)):
        for setting, told in settings.items():
            yield (
                f"{name}-{setting}",
                48,
                lambda kind=kind, told=told: of_series(kind(128, return_sequences=True, **told)),
            )
        yield f"{name}-last", 48, lambda kind=kind: of_series(kind(128))
        yield f"{name}-masked", 48, lambda kind=kind: of_words(kind(128, return_sequences=True), kind(96))
        yield f"{name}-state", 48, lambda kind=kind: of_states(kind)
        yield (
            f"{name}-unrolled",
            96,
            lambda kind=kind: of_series(kind(96, return_sequences=True, unroll=True), steps=16),
        )
        for mode in ("concat", "sum"):
            yield (
                f"{name}-both-ways-{mode}",
                48,
                lambda kind=kind, mode=mode: of_series(
                    L.Bidirectional(kind(96, return_sequences=True), merge_mode=mode)
                ),
            )
    yield "gru-reset-before", 48, lambda: of_series(L.GRU(128, return_sequences=True, reset_after=False))
    yield "cell-lstm", 48, lambda: of_series(L.RNN(L.LSTMCell(128), return_sequences=True))
    yield "cell-gru", 48, lambda: of_series(L.RNN(L.GRUCell(128), return_sequences=True))


def attentions():
    yield "attention", 96, lambda: of_pair(128, 128, 32, lambda q, v: L.Attention()([q, v]))
    yield "attention-scale", 96, lambda: of_pair(128, 128, 32, lambda q, v: L.Attention(use_scale=True)([q, v]))
    yield "attention-dropout", 96, lambda: of_pair(128, 128, 32, lambda q, v: L.Attention(dropout=0.2)([q, v]))
    yield "attention-sums", 24, lambda: of_pair(48, 40, 64, lambda q, v: L.Attention(score_mode="concat")([q, v]))
    yield "additive", 24, lambda: of_pair(48, 40, 64, lambda q, v: L.AdditiveAttention()([q, v]))
    yield (
        "additive-unscaled",
        24,
        lambda: of_pair(48, 40, 64, lambda q, v: L.AdditiveAttention(use_scale=False)([q, v])),
    )
    heads = {"across": {}, "dropout": {"dropout": 0.1}, "wide-values": {"value_dim": 32, "output_shape": 48}}
    for name, told in heads.items():
        yield (
            f"heads-{name}",
            48,
            lambda told=told: of_pair(96, 80, 64, lambda q, v: L.MultiHeadAttention(4, 16, **told)(q, v)),
        )


def convolutions():
    settings = {
        "plain": {}, "strides": {"strides": 2}, "holes": {"dilation_rate": 2}, "groups": {"groups": 4},
        "without-bias": {"use_bias": False}, "gelu": {"activation": "gelu"}, "swish": {"activation": "swish"},
        "wide": {"kernel_size": 7}, "points": {"kernel_size": 1}, "valid": {"padding": "valid"},
    }  # fmt: skip
    for name, told in settings.items():
        told = {"kernel_size": 3, "padding": "same", **told}
        yield (
            f"conv2d-{name}",
            16,
            lambda told=told: of_picture(L.Conv2D(48, **told), L.Conv2D(32, **told)),
        )
        yield (
            f"conv1d-{name}",
            16,
            lambda told=told: of_series(L.Conv1D(128, **told), L.Conv1D(128, **told), steps=256),
        )
        if name not in ("groups", "wide"):
            yield f"conv3d-{name}", 8, lambda told=told: of_volume(L.Conv3D(24, **told), L.Conv3D(16, **told))
    yield "separable", 16, lambda: of_picture(L.SeparableConv2D(48, 3, padding="same"))
    yield "depthwise", 16, lambda: of_picture(L.DepthwiseConv2D(3, padding="same"))
    yield "transposed", 16, lambda: of_picture(L.Conv2DTranspose(24, 3, strides=2, padding="same"))
    yield "upsampled-picture", 16, lambda: of_picture(L.UpSampling2D(2), L.Conv2D(16, 3, padding="same"))
    yield "upsampled-volume", 4, lambda: of_volume(L.UpSampling3D(2))
    yield "pooled-by-maximum", 16, lambda: of_picture(L.Conv2D(48, 3, padding="same"), L.MaxPooling2D(2))
    yield "pooled-by-mean", 16, lambda: of_picture(L.Conv2D(48, 3, padding="same"), L.AveragePooling2D(2))


def others():
    norms = {
        "batch-norm": L.BatchNormalization, "layer-norm": L.LayerNormalization,
        "group-norm": lambda: L.GroupNormalization(4), "unit-norm": L.UnitNormalization,
    }  # fmt: skip
    for name, make in norms.items():
        yield name, 16, lambda make=make: of_picture(make())
    yield "layer-norm-of-series", 32, lambda: of_series(L.LayerNormalization(), steps=256)
    drops = {
        "dropout": lambda: L.Dropout(0.3), "spatial-dropout": lambda: L.SpatialDropout2D(0.3),
        "noise": lambda: L.GaussianNoise(0.1), "noisy-dropout": lambda: L.GaussianDropout(0.2),
    }  # fmt: skip
    for name, make in drops.items():
        yield name, 16, lambda make=make: of_picture(make(), L.Conv2D(32, 3, padding="same"))
    for name in ("gelu", "swish", "selu", "softplus", "tanh", "sigmoid", "hard_sigmoid", "relu", "softmax"):
        yield (
            f"activation-{name}",
            16,
            lambda name=name: of_picture(L.Activation(name), L.Conv2D(32, 3, padding="same")),
        )
    yield "repeated-rows", 128, lambda: of_row(L.RepeatVector(24), L.Dense(256, activation="relu"))
    for name in (
        *("mae", "huber", "kl_divergence", "poisson", "cosine_similarity", "hinge"),
        *("binary_crossentropy", "categorical_crossentropy"),
    ):
        yield f"loss-{name}", 512, lambda name=name: of_loss(name)


NETS = {
    name: (batch, make)
    for group in (loops, attentions, convolutions, others)
    for name, batch, make in group()
}


def case_of(name, version):
    """As predictions_run.py has its cases."""
    suffix = ".keras" if KERAS_3 else ".h5"
    return {
        "key": name, "model": name, "version": version, "batch": NETS[name][0], "optimizer": "adam",
        "threads": 1, "onednn": False, "metrics": False, "file": name + suffix,
    }  # fmt: skip


def built(case):
    keras.utils.set_random_seed(1)
    return NETS[case["model"]][1]()


def main(what, where, version, *names):
    predictions_run.built = built
    for name in names or NETS:
        case = case_of(name, version)
        if what == "measure":
            predictions_run.apart(predictions_run.measure, where, case, None)
        else:
            os.makedirs(where, exist_ok=True)
            predictions_run.apart(predictions_run.save, os.path.join(where, "made.jsonl"), case, where)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print(json.dumps({name: batch for name, (batch, _) in NETS.items()}))
    else:
        main(*sys.argv[1:])
