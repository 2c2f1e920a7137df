"""Record a step of Keras's `fit` with the TF2 profiler, and save its model: trace_with_model.py OUTPUT.

Writes OUTPUT.xplane.pb, its truth, and OUTPUT.keras. A shared encoder reads two images, so that its layers have calls whose scopes are numbered.
"""
import glob
import json
import sys

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
BATCH, SIDE = 16, 32


def siamese():
    image = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(16, 3, padding="same", activation="relu", name="stem")(image)
    x = layers.MaxPool2D(name="pool")(x)
    x = layers.Conv2D(12, 3, strides=2, padding="same", name="deep")(x)
    backbone = tf.keras.Model(image, layers.BatchNormalization(name="norm")(x), name="backbone")
    left, right = layers.Input((SIDE, SIDE, 3), name="left"), layers.Input((SIDE, SIDE, 3), name="right")
    x = layers.Concatenate(name="pair")([backbone(left), backbone(right)])
    x = layers.Dense(8, activation="relu", name="head_hidden")(layers.Flatten(name="flat")(x))
    model = tf.keras.Model([left, right], layers.Dense(10, name="head_classes")(x), name="siamese")
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def main():
    output = sys.argv[1]
    model = siamese()
    images = [np.random.rand(BATCH, SIDE, SIDE, 3).astype(np.float32) for _ in range(2)]
    labels = np.random.randint(0, 10, [BATCH])
    model.fit(images, labels, batch_size=BATCH, verbose=0)
    tf.config.experimental.reset_memory_stats("CPU:0")
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    tf.profiler.experimental.start("profile")
    model.fit(images, labels, batch_size=BATCH, verbose=0)
    tf.profiler.experimental.stop()
    with open(glob.glob("profile/plugins/profile/*/*.xplane.pb")[0], "rb") as source, open(output + ".xplane.pb", "wb") as out:
        out.write(source.read())
    truth = {"batch": BATCH, "how": "reset_memory_stats and get_memory_info around the profiled steps", "in_use_before_bytes": before,
             "max_in_use_bytes": tf.config.experimental.get_memory_info("CPU:0")["peak"], "mode": "fit", "tf": tf.__version__}
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")
    model.save(output + ".keras")


if __name__ == "__main__":
    main()
