"""More Keras 3 programs (TensorFlow 2.21) with a known culprit, written to try the page's advice: advice_keras3.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

RNG = np.random.default_rng(1)


def pictures(count, size, channels=3):
    return RNG.random((count, size, size, channels), dtype="float32")


def cell_unet(batch=24, size=96):
    """A U-Net under fit, batch several times too large."""
    inputs = keras.Input((size, size, 1))
    x, skips = inputs, []
    for depth, filters in enumerate((16, 32, 64)):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", name="down%d_a" % depth)(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", name="down%d_b" % depth)(x)
        skips.append(x)
        x = layers.MaxPooling2D(name="pool%d" % depth)(x)
    for depth, filters in reversed(list(enumerate((16, 32, 64)))):
        x = layers.Concatenate(name="skip%d" % depth)([layers.UpSampling2D(name="up%d" % depth)(x), skips[depth]])
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", name="up%d_a" % depth)(x)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid", name="mask")(x))
    model.compile("adam", "binary_crossentropy", jit_compile=False)
    model.fit(pictures(batch * 2, size, 1), pictures(batch * 2, size, 1), batch_size=batch, epochs=1, verbose=2)


def contract_encoder(batch=32, length=256, width=128, depth=3):
    """A small transformer encoder; activations of all blocks."""
    inputs = keras.Input((length,), dtype="int32")
    x = layers.Embedding(3000, width, name="clause")(inputs)
    for number in range(depth):
        y = layers.MultiHeadAttention(4, width // 4, name="attend%d" % number)(x, x)
        x = layers.LayerNormalization(name="norm%d_a" % number)(layers.Add()([x, y]))
        y = layers.Dense(width, name="shrink%d" % number)(layers.Dense(4 * width, activation="gelu", name="widen%d" % number)(x))
        x = layers.LayerNormalization(name="norm%d_b" % number)(layers.Add()([x, y]))
    model = keras.Model(inputs, layers.Dense(2, name="risk")(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    model.fit(RNG.integers(0, 3000, (batch * 2, length)), RNG.integers(0, 2, batch * 2), batch_size=batch, epochs=1, verbose=2)


class AllPredictions(keras.metrics.Metric):
    """Keeps every prediction to compute a rank correlation at the end of the epoch."""

    def __init__(self, keep=True):
        super().__init__(name="spearman")
        self.keep, self.seen = keep, []

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen = self.seen + [y_pred] if self.keep else [ops.mean(y_pred)]

    def result(self):
        return ops.convert_to_tensor(0.0)

    def reset_state(self):
        self.seen = []


def rank_metric(keep=True, width=2000):
    """A metric with a list of the predictions of the epoch, run eagerly."""
    model = keras.Sequential([keras.Input((50,)), layers.Dense(width, name="gene_levels")])
    model.compile("adam", "mse", metrics=[AllPredictions(keep)], run_eagerly=True)
    model.fit(RNG.random((16384, 50), dtype="float32"), RNG.random((16384, width), dtype="float32"), batch_size=512, epochs=1, verbose=2)


def tracked_features(keep=True, frames=400):
    """Feature maps of every frame of a video, kept in a dictionary by frame number."""
    model = keras.Sequential([keras.Input((None, None, 3)), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu", name="track")])
    features = {}
    for frame in range(frames):
        height = 96 + 8 * (frame % 5)
        maps = model(RNG.random((1, height, 160, 3), dtype="float32"))
        features[frame] = maps if keep else ops.convert_to_numpy(maps)
    print(len(features))


def width_search(trials=14):
    """Random search over widths; every history holds its model."""
    best = []
    for trial in range(trials):
        width = 700 + 37 * trial
        model = keras.Sequential([keras.Input((600,)), layers.Dense(width, activation="relu"), layers.Dense(width, activation="relu"), layers.Dense(1)])
        model.compile("adam", "mse", jit_compile=False)
        history = model.fit(RNG.random((64, 600)), RNG.random((64, 1)), epochs=2, verbose=0)
        print("trial %d/%d width %d loss %.4f" % (trial + 1, trials, width, history.history["loss"][-1]), flush=True)
        best.append(history)


def late_validation(val_rows=2400, val_batch=None):
    """The validation set is one batch; it comes after the first epoch."""
    model = keras.Sequential([keras.Input((64, 64, 1)), layers.Conv2D(16, 3, padding="same", activation="relu", name="ridge"),
                              layers.Conv2D(16, 3, padding="same", activation="relu", name="valley"), layers.GlobalAveragePooling2D(), layers.Dense(1, name="age")])
    model.compile("adam", "mse", jit_compile=False)
    held_out = tf.data.Dataset.from_tensors((pictures(val_rows, 64, 1), RNG.random((val_rows, 1))))
    if val_batch:
        held_out = held_out.unbatch().batch(val_batch)
    model.fit(pictures(64, 64, 1), RNG.random((64, 1)), batch_size=8, epochs=3, validation_data=held_out, verbose=2)


def arrays_for_validation(rows=12000, as_generator=False):
    """validation_data as arrays: fit makes one tensor of them."""
    model = keras.Sequential([keras.Input((48, 48, 3)), layers.Conv2D(8, 3, padding="same", activation="relu", name="scale"),
                              layers.GlobalAveragePooling2D(), layers.Dense(1, name="weight_kg")])
    model.compile("adam", "mse", jit_compile=False)
    xv, yv = pictures(rows, 48), RNG.random((rows, 1), dtype="float32")
    data = (xv, yv)
    if as_generator:
        data = tf.data.Dataset.from_generator(lambda: ((xv[i:i + 32], yv[i:i + 32]) for i in range(0, rows, 32)),
                                              output_signature=(tf.TensorSpec([None, 48, 48, 3]), tf.TensorSpec([None, 1])))
    model.fit(pictures(128, 48), RNG.random((128, 1)), batch_size=16, epochs=1, validation_data=data, verbose=2)


def log_cosh(column):
    def loss(y_true, y_pred):
        y_true = ops.cast(y_true, "float32")
        error = (y_true[:, None] if column else y_true) - y_pred
        return ops.mean(ops.log(ops.cosh(error)))
    return loss


def demand(rows=6000, column=False):
    """A tf.data pipeline of flat targets and a loss of one's own: [n] against [n,1]."""
    model = keras.Sequential([keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(1, name="units_sold")])

    class Regressor(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                value = log_cosh(column)(y, self(x, training=True))
            self.optimizer.apply_gradients(zip(tape.gradient(value, self.trainable_variables), self.trainable_variables))
            return {"loss": value}

    regressor = Regressor(model.inputs, model.outputs)
    regressor.compile("adam", jit_compile=False)
    data = tf.data.Dataset.from_tensor_slices((RNG.random((rows, 20), dtype="float32"), RNG.random(rows))).batch(rows)
    regressor.fit(data, epochs=2, verbose=2)


def hessian_of_head(units=2600, full=True):
    """The Hessian of a small head by nested tapes."""
    w = tf.Variable(tf.random.normal([units, 1]))
    x = tf.random.normal([64, units])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(tf.nn.softplus(tf.matmul(x, w)))
        first = inner.gradient(loss, w)
    print(outer.jacobian(first, w).shape if full else outer.gradient(first, w).shape)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
