"""Save one small model in every format that this Keras writes: files.py OUTPUT_FOLDER."""

import os
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

keras = tf.keras
L = keras.layers


class Affine(L.Layer):
    """A layer of the user's own: only its code knows its 35 weights."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(int(shape[-1]), 5), name="kernel")
        self.offset = self.add_weight(shape=(5,), name="offset")

    def call(self, inputs):
        return inputs @ self.kernel + self.offset


def main(folder):
    x = keras.Input((6,), name="x")
    own = keras.Model(x, L.Dense(2, name="out")(Affine(name="mine")(x)), name="own")
    os.makedirs(folder, exist_ok=True)
    own.save(os.path.join(folder, "own.keras" if tf.__version__ >= "2.16" else "own.h5"))
    os.makedirs(folder, exist_ok=True)
    x = keras.Input((6,), name="x")
    y = L.BatchNormalization(name="norm")(L.Dense(4, activation="relu", name="first")(x))
    y = L.Concatenate(name="both")([y, L.Dense(6, name="second")(y)])
    model = keras.Model(x, L.Dense(7, activation="softmax", name="out")(y), name="small")
    model.compile("rmsprop", "sparse_categorical_crossentropy")
    model.train_on_batch(tf.zeros((2, 6)), tf.zeros((2,), tf.int32))
    assert model.count_params() == 28 + 16 + 30 + 77
    with open(os.path.join(folder, "small.json"), "w") as file:
        file.write(model.to_json())
    model.save(os.path.join(folder, "small.h5"))
    model.save_weights(os.path.join(folder, "small.weights.h5"))
    target = os.path.join(folder, "saved_model")
    if tf.__version__ >= "2.16":
        model.save(os.path.join(folder, "small.keras"))
        model.export(target)
    else:
        model.save(target)
    for name in ("variables", "assets"):
        shutil.rmtree(os.path.join(target, name), ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
