"""Keras under MirroredStrategy on two virtual CPUs: oom_strategy.py BATCH."""
import sys

import numpy as np

from oom_kit import note_truth, tf


def main(batch):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    note_truth(batch=batch, optimizer="sgd", user_layer="wide_a", replicas=2, slots_bytes=0,
               culprit="each of the two replicas holds activations of [%d,4096] float32 for its half of the batch"
               % (batch // 2))
    with strategy.scope():
        layers = tf.keras.layers
        model = tf.keras.Sequential([
            layers.Dense(4096, activation="relu", input_shape=(64,), name="wide_a"),
            layers.Dense(4096, activation="relu", name="wide_b"),
            layers.Dense(1, name="score"),
        ])
        model.compile("sgd", "mse")
    note_truth(variables_bytes=2 * 4 * int(sum(np.prod([int(n) for n in w.shape]) for w in model.weights)))
    data = tf.data.Dataset.from_tensors((np.ones([batch, 64], np.float32), np.ones([batch, 1], np.float32)))
    model.fit(data.repeat(3), verbose=2)


if __name__ == "__main__":
    main(int(sys.argv[1]))
