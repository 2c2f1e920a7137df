"""Record one step of Keras in TensorFlow 1: trace_keras_v1.py OUTPUT. compile() passes options and run_metadata on to Session.run."""
import json
import sys

import numpy as np
import tensorflow as tf

from trace_session import refused


def main(output):
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Conv2D(16, 3, activation="relu", input_shape=(32, 32, 3), name="features"),
        layers.MaxPool2D(name="halve"),
        layers.Conv2D(32, 3, activation="relu", name="refine"),
        layers.Flatten(name="flat"),
        layers.Dense(64, activation="relu", name="hidden"),
        layers.Dense(10, activation="softmax", name="classes"),
    ])
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True), tf.RunMetadata()
    model.compile("adam", "sparse_categorical_crossentropy", options=options, run_metadata=metadata)
    x, y = np.random.rand(8, 32, 32, 3).astype(np.float32), np.random.randint(0, 10, [8])
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)  # one step: the allocator's MaxInUse is its own
    with open(output + ".pb", "wb") as out:
        out.write(metadata.SerializeToString())
    truth = {"tf": tf.__version__, "batch": 8, "variables_bytes": 4 * model.count_params(), "slots_bytes": 8 * model.count_params()}
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")
    session = tf.keras.backend.get_session()
    refused(session, tf.random_uniform([1 << 20, 1 << 18]))


if __name__ == "__main__":
    main(sys.argv[1])
