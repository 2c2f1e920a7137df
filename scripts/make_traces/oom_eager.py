"""TensorFlow 2 code that runs out of memory without Keras' fit: oom_eager.py CASE."""
import sys

import numpy as np

from oom_kit import MIB, note_truth, noting_failure, tf


def op():
    """One eager operation that is too large."""
    note_truth(failing_shape=[8192, 16384], failing_dtype="float32", failing_op="Mul",
               culprit="one eager multiplication broadcasts to [8192,16384] float32, %d bytes" % (8192 * 16384 * 4))
    column, row = tf.random.uniform([8192, 1]), tf.random.uniform([1, 16384])
    return column * row


def function():
    """A training step in a tf.function."""
    weights = [tf.Variable(tf.random.normal([1024 if i else 64, 1024]), name="layer_%d/kernel" % i) for i in range(6)]
    note_truth(batch=16384, optimizer="sgd", user_layer="layer_0", slots_bytes=0,
               variables_bytes=(64 + 5 * 1024) * 1024 * 4,
               culprit="six activations of [16384,1024] float32, 67108864 bytes each, are kept for the backward pass")

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            for index, weight in enumerate(weights):
                with tf.name_scope("layer_%d" % index):
                    x = tf.tanh(tf.matmul(x, weight))
            loss = tf.reduce_mean(tf.square(x))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.01 * gradient)
        return loss

    return train_step(tf.random.uniform([16384, 64]))


def while_function():
    """A recurrent loop in a tf.function (while_v2): its backward pass needs what every iteration pushed."""
    units, batch, length = 256, 256, 200
    kernel = tf.Variable(tf.random.normal([units, units], stddev=0.05), name="cell/kernel")
    note_truth(batch=batch, optimizer="sgd", user_layer="rnn", variables_bytes=units * units * 4, slots_bytes=0,
               culprit="tf.while_loop keeps the states of all %d iterations, several [%d,%d] float32 each, on tensor "
               "lists for the backward loop" % (length, batch, units))

    @tf.function
    def train_step(state, steps):
        with tf.GradientTape() as tape:
            with tf.name_scope("rnn"):
                for _ in tf.range(steps):
                    state = tf.tanh(tf.matmul(state, kernel) + 1.0)
            loss = tf.reduce_mean(tf.square(state))
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    return train_step(tf.random.uniform([batch, units]), tf.constant(length))


def leak():
    """Loss tensors and features are kept in a list from step to step."""
    features_bytes = 512 * 4096 * 4
    note_truth(batch=512, user_layer="history", culprit="the list keeps one feature tensor [512,4096] float32, "
               "%d bytes, from every step; memory grows by as much a step" % features_bytes)
    kernel, history = tf.Variable(tf.random.normal([64, 4096])), []
    for step in range(1, 1000):
        features = tf.nn.relu(tf.matmul(tf.random.uniform([512, 64]), kernel))
        history.append(features)
        print("step %d loss %.4f" % (step, float(tf.reduce_mean(features))))
        note_truth(steps_done=step)


def fragmentation():
    """Plenty is free, but in pieces: every second cached tensor was dropped, then a larger one is wanted."""
    piece, wanted = 4 * MIB, 24 * MIB
    cache = []
    note_truth(failing_shape=[wanted // 4], failing_dtype="float32", culprit="more than the %d bytes wanted are free, but "
               "no free chunk is larger than %d bytes or so: fragmentation" % (wanted, piece))
    try:
        while True:
            cache.append(tf.ones([piece // 4]))
    except tf.errors.ResourceExhaustedError:
        print("the cache is full: %d tensors of %d bytes; dropping every second one" % (len(cache), piece))
    cache[::2] = [None] * len(cache[::2])
    print("%d bytes given back" % (cache.count(None) * piece))
    note_truth(free_bytes_at_least=(cache.count(None) - 1) * piece)
    return tf.ones([wanted // 4])


def accumulation():
    """Gradients of several micro-batches are kept as a list and summed at the end."""
    units, micro_batches = 2048, 12
    weights = [tf.Variable(tf.random.normal([units, units]), name="dense_%d/kernel" % i) for i in range(2)]
    note_truth(batch=32, optimizer="sgd", variables_bytes=2 * units * units * 4, slots_bytes=0,
               culprit="the gradients of all micro-batches are kept at once, %d bytes for each; they should be added to "
               "one accumulator" % (2 * units * units * 4))
    kept = []
    for index in range(micro_batches):
        with tf.GradientTape() as tape:
            x = tf.random.uniform([32, units])
            for weight in weights:
                x = tf.tanh(tf.matmul(x, weight))
            loss = tf.reduce_mean(tf.square(x))
        kept.append(tape.gradient(loss, weights))
        print("micro-batch %d of %d, loss %.4f" % (index + 1, micro_batches, float(loss)))
    return [tf.add_n(list(gradients)) for gradients in zip(*kept)]


def outlier():
    """Sequences of 10 to 20 steps, and one of 200."""
    batch, units = 2048, 32
    note_truth(batch=batch, optimizer="sgd", user_layer="reader", culprit="batch 6 has sequences of 200 steps, ten times "
               "the others: what the LSTM keeps grows with the length")
    inputs = tf.keras.Input([None, 16], batch_size=batch)
    outputs = tf.keras.layers.LSTM(units, return_sequences=True, name="reader")(inputs)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="score")(outputs))
    model.compile("sgd", "mse")
    for step, length in enumerate([12, 18, 10, 20, 16, 200, 14], 1):
        print("step %d: batch of %d sequences, %d steps long" % (step, batch, length))
        x = np.random.rand(batch, length, 16).astype(np.float32)
        print("  loss %.4f" % model.train_on_batch(x, x[:, :, :1]))


def caught():
    """The error is caught, the batch is skipped, training goes on and fails again for good."""
    kernel = tf.Variable(tf.random.normal([64, 8192]))
    note_truth(culprit="batches of more than about 2000 rows do not fit: the first failure was caught and its batch "
               "skipped, a later one ended the run", failures=2)

    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(tf.random.uniform([batch, 64]), kernel))))
        kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
        return loss

    for number, batch in enumerate([256, 512, 4096, 512, 256], 1):
        try:
            print("batch %d (%d rows): loss %.4f" % (number, batch, float(step(batch))))
        except tf.errors.ResourceExhaustedError as error:
            print("batch %d (%d rows) skipped: %s" % (number, batch, str(error).splitlines()[0]))
    return step(6144)


def patches():
    """Unfolding by tf.image.extract_patches inside a tf.function."""
    note_truth(batch=4, user_layer="unfold", failing_shape=[4, 192, 192, 11 * 11 * 8], failing_dtype="float32",
               culprit="tf.image.extract_patches makes 121 copies of every pixel: [4,192,192,968] float32, %d bytes"
               % (4 * 192 * 192 * 968 * 4))

    @tf.function
    def unfold(images):
        with tf.name_scope("unfold"):
            return tf.reduce_sum(tf.image.extract_patches(images, [1, 11, 11, 1], [1] * 4, [1] * 4, "SAME"))

    return unfold(tf.random.uniform([4, 192, 192, 8]))


if __name__ == "__main__":
    noting_failure(globals()[sys.argv[1]])
