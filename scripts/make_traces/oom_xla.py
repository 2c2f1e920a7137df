"""A training step compiled by XLA: oom_xla.py BATCH [UNITS]. Succeeds or fails by the limit; XLA_FLAGS asks for its dumps."""
import sys

import numpy as np

from oom_kit import note_truth, tf


def compiled(function):
    """tf.function with XLA, under its name of 2.4 and of later versions."""
    try:
        return tf.function(function, jit_compile=True)
    except TypeError:
        return tf.function(function, experimental_compile=True)


def main(batch, units):
    kernels = [tf.Variable(tf.random.normal([units, units], stddev=0.02), name="block_%d/kernel" % i) for i in range(3)]
    note_truth(batch=batch, optimizer="sgd", variables_bytes=3 * units * units * 4, slots_bytes=0, user_layer="block_0",
               culprit="XLA's temporary arena holds the activations [%d,%d] float32, %d bytes each, of three blocks"
               % (batch, units, batch * units * 4))

    def train_step(x):
        with tf.GradientTape() as tape:
            for index, kernel in enumerate(kernels):
                with tf.name_scope("block_%d" % index):
                    x = tf.tanh(tf.matmul(x, kernel))
            loss = tf.reduce_mean(tf.square(x))
        for kernel, gradient in zip(kernels, tape.gradient(loss, kernels)):
            kernel.assign_sub(0.01 * gradient)
        return loss

    step = compiled(train_step)
    x = tf.constant(np.random.rand(batch, units).astype(np.float32))
    for number in range(2):
        print("step %d loss %.4f" % (number, float(step(x))))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 256)
