"""TensorFlow 2.11 programs that run out of memory, written to try whether the page's first remedy suffices: fitting_tf2.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

RNG = np.random.RandomState(1)


def pictures(count, size, channels=3):
    return RNG.rand(count, size, size, channels).astype("float32")


def densely_joined(batch=64, size=48, depth=8, growth=16):
    """A dense block: each layer reads all earlier ones, joined."""
    inputs = keras.Input((size, size, 3))
    x = layers.Conv2D(32, 3, padding="same", name="first")(inputs)
    for number in range(depth):
        y = layers.Conv2D(growth, 3, padding="same", activation="relu", name="block1_conv%d" % number)(x)
        x = layers.Concatenate(name="block1_concat%d" % number)([x, y])
    model = keras.Model(inputs, layers.Dense(20, activation="softmax", name="bird")(layers.GlobalAveragePooling2D()(x)))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(pictures(batch * 2, size), RNG.randint(0, 20, batch * 2), batch_size=batch, epochs=1, verbose=2)


def mapped_gradients(batch=96, size=24, width=16):
    """Gradients of every sample by vectorized_map, for differential privacy."""
    model = keras.Sequential([keras.Input((size, size, 1)), layers.Conv2D(width, 3, padding="same", activation="relu", name="scan"),
                              layers.Flatten(), layers.Dense(64, activation="relu", name="private"), layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.01)

    def of_one(pair):
        x, y = pair
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y[None], model(x[None]), True))
        return tape.gradient(loss, model.trainable_variables)

    @tf.function
    def step(x, y):
        grads = tf.vectorized_map(of_one, (x, y))
        optimizer.apply_gradients(zip([tf.reduce_mean(g, 0) for g in grads], model.trainable_variables))

    for number in range(2):
        step(pictures(batch, size, 1), tf.constant(RNG.randint(0, 10, batch)))
        print("step", number, flush=True)


def boxes_over_anchors(anchors=40000, boxes=300, batch=1):
    """The overlap of every anchor with every box of a picture, eagerly."""
    corners = tf.constant(RNG.rand(batch, anchors, 4), tf.float32)
    truth = tf.constant(RNG.rand(batch, boxes, 4), tf.float32)
    low = tf.maximum(corners[:, :, None, :2], truth[:, None, :, :2])
    high = tf.minimum(corners[:, :, None, 2:], truth[:, None, :, 2:])
    sides = tf.maximum(high - low, 0.0)
    overlap = sides[..., 0] * sides[..., 1]
    print("best", float(tf.reduce_max(overlap)))


def second_stage(batch=24, size=64, trainable=True, width=24, tail=8):
    """Only the head is trained at first; then all layers are."""
    base = keras.Sequential([keras.Input((size, size, 3))] + [layers.Conv2D(width, 3, padding="same", activation="relu", name="base%d" % n) for n in range(8)])
    model = keras.Sequential([base, layers.GlobalAveragePooling2D(), layers.Dense(12, activation="softmax", name="species")])
    base.trainable = False
    x, y = pictures(batch * 2, size), RNG.randint(0, 12, batch * 2)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=batch, epochs=1, verbose=2)
    if trainable:
        base.trainable = True
        for layer in base.layers[:-tail]:
            layer.trainable = False
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=batch, epochs=1, verbose=2)


def correlations(genes=11000, samples=64, part=None):
    """The correlation of every gene with every other one."""
    levels = tf.constant(RNG.rand(genes, samples), tf.float32)
    levels = (levels - tf.reduce_mean(levels, 1, keepdims=True)) / tf.math.reduce_std(levels, 1, keepdims=True)
    if part is None:
        print("most", float(tf.reduce_max(tf.matmul(levels, levels, transpose_b=True) / samples)))
        return
    for start in range(0, genes, part):
        most = tf.reduce_max(tf.matmul(levels[start:start + part], levels, transpose_b=True) / samples)
    print("most", float(most))


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
