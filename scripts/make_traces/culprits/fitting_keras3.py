"""Keras 3 programs (TensorFlow 2.21) that run out of memory, written to try whether the page's first remedy suffices: fitting_keras3.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

RNG = np.random.default_rng(1)


def pictures(count, size, channels=3):
    return RNG.random((count, size, size, channels), dtype="float32")


def clips(batch=16, frames=24, size=48, width=24):
    """A video net: every frame of every clip goes through the same convolutions."""
    inputs = keras.Input((frames, size, size, 3))
    x = layers.TimeDistributed(layers.Conv2D(width, 3, padding="same", activation="relu"), name="frame_a")(inputs)
    x = layers.TimeDistributed(layers.Conv2D(width, 3, padding="same", activation="relu"), name="frame_b")(x)
    x = layers.TimeDistributed(layers.GlobalAveragePooling2D())(x)
    model = keras.Model(inputs, layers.Dense(6, name="gesture")(layers.GRU(32)(x)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    model.fit(RNG.random((batch, frames, size, size, 3), dtype="float32"), RNG.integers(0, 6, batch), batch_size=batch, epochs=1, verbose=2)


def one_volume(side=96, width=16, batch=1, dense_mask=False):
    """A 3-D net on whole volumes, one at a time."""
    inputs = keras.Input((side, side, side, 1))
    x = layers.Conv3D(width, 3, padding="same", activation="relu", name="organ_a")(inputs)
    x = layers.Conv3D(width, 3, padding="same", activation="relu", name="organ_b")(x)
    mask = layers.Dense(1, activation="sigmoid", name="organ_mask") if dense_mask else layers.Conv3D(1, 1, activation="sigmoid", name="organ_mask")
    model = keras.Model(inputs, mask(x))
    model.compile("adam", "binary_crossentropy", jit_compile=False)
    volume = RNG.random((2, side, side, side, 1), dtype="float32")
    model.fit(volume, volume, batch_size=batch, epochs=1, verbose=2)


def large_picture(size=1500, width=24, tile=None):
    """A net for small pictures asked to predict one large one."""
    model = keras.Sequential([keras.Input((None, None, 3)), layers.Conv2D(width, 3, padding="same", activation="relu", name="sharpen_a"),
                              layers.Conv2D(width, 3, padding="same", activation="relu", name="sharpen_b"), layers.Conv2D(3, 3, padding="same", name="clean")])
    scan = pictures(1, size)
    if tile is None:
        print(model.predict(scan, verbose=0).shape)
        return
    for top in range(0, size, tile):
        for left in range(0, size, tile):
            model.predict(scan[:, top:top + tile, left:left + tile], verbose=0)
    print("tiles done")


def wide_layers(width=3200, depth=4, batch=8, optimizer="adam"):
    """Weights and the slots of Adam fill the device; the batch is small."""
    model = keras.Sequential([keras.Input((width,))] + [layers.Dense(width, activation="relu", name="mix%d" % n) for n in range(depth)] + [layers.Dense(1)])
    model.compile(optimizer, "mse", jit_compile=False)
    model.fit(RNG.random((batch * 2, width), dtype="float32"), RNG.random((batch * 2, 1)), batch_size=batch, epochs=1, verbose=2)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
