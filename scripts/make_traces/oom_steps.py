"""v1 Sessions that do some steps before they run out of memory: oom_steps.py CASE."""
import sys

import numpy as np

from oom_kit import note_truth, noting_failure, report_options, tf, tf1


def history():
    """A variable collects the features of every step: the same as a leak."""
    note_truth(batch=256, user_layer="history", culprit="the variable history grows by 256 rows, 4194304 bytes, a step, and "
               "each concatenation needs old and new copy at once")
    images = tf1.placeholder(tf.float32, [256, 64], "images")
    features = tf1.layers.dense(images, 4096, name="features")
    collected = tf1.get_variable("history", initializer=tf1.zeros([1, 4096]), validate_shape=False, use_resource=False)
    collect = tf1.assign(collected, tf1.concat([collected, features], 0, name="append"), validate_shape=False)
    rows = tf1.shape(collect)[0]
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for step in range(1, 200):
            feed = {images: np.random.rand(256, 64)}
            count = noting_failure(lambda: session.run(rows, feed, options=report_options()))
            print("step %d: %d rows collected" % (step, count))
            note_truth(steps_done=step)


def outlier():
    """The feed's length changes from step to step; one is ten times the others."""
    note_truth(batch=16, user_layer="reader", culprit="step 4 feeds sequences of 2000 steps, ten times the others")
    inputs = tf1.placeholder(tf.float32, [16, None, 64], "inputs")
    with tf1.variable_scope("reader"):
        x = inputs
        for index in range(4):
            x = tf1.layers.conv1d(x, 256, 3, padding="same", activation=tf1.nn.relu, name="conv_%d" % index)
    loss = tf1.reduce_mean(x)
    train = tf1.train.AdamOptimizer().minimize(loss)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for step, length in enumerate([150, 200, 180, 2000, 160], 1):
            print("step %d: sequences of %d" % (step, length))
            feed = {inputs: np.random.rand(16, length, 64)}
            noting_failure(lambda: session.run(train, feed, options=report_options()), static_shape=False)


def caught():
    """The user's loop catches the error and skips the batch; a later one is fatal."""
    note_truth(culprit="batches of 4096 rows do not fit; the first was caught and skipped", failures=2)
    rows = tf1.placeholder(tf.float32, [None, 64], "rows")
    x = rows
    for index in range(3):
        x = tf1.layers.dense(x, 2048, tf1.nn.relu, name="wide_%d" % index)
    train = tf1.train.MomentumOptimizer(0.01, 0.9).minimize(tf1.reduce_mean(x))
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())

        def step(batch):
            feed = {rows: np.random.rand(batch, 64)}
            noting_failure(lambda: session.run(train, feed, options=report_options()), static_shape=False)
            print("a batch of %d rows done" % batch)

        for batch in [512, 4096, 512]:
            try:
                step(batch)
            except tf.errors.ResourceExhaustedError as error:
                print("a batch of %d rows skipped: %s" % (batch, error.message))
        step(4096)


def gradient_accumulation():
    """Accumulator variables double what the weights take."""
    units = 2048
    rows = tf1.placeholder(tf.float32, [64, units], "rows")
    x = rows
    for index in range(2):
        x = tf1.layers.dense(x, units, tf1.nn.relu, name="wide_%d" % index)
    optimizer = tf1.train.AdamOptimizer()
    gradients = optimizer.compute_gradients(tf1.reduce_mean(x))
    sums = [tf1.get_variable("accumulator/" + v.op.name, v.shape, trainable=False, initializer=tf1.zeros_initializer())
            for _, v in gradients]
    add = tf1.group(*[tf1.assign_add(total, gradient) for total, (gradient, _) in zip(sums, gradients)], name="accumulate")
    apply_op = optimizer.apply_gradients([(total / 4.0, v) for total, (_, v) in zip(sums, gradients)])
    weights = 2 * (units * units + units) * 4
    note_truth(batch=64, optimizer="adam", variables_bytes=2 * weights + 8, slots_bytes=2 * weights, user_layer="wide_0",
               culprit="weights, accumulators and two Adam slots each take %d bytes, and the averaged accumulators of "
               "the apply step as much again" % weights)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        feed = {rows: np.random.rand(64, units)}
        for micro_batch in range(4):
            noting_failure(lambda: session.run(add, feed, options=report_options()), static_shape=False)
            print("micro-batch %d accumulated" % micro_batch)
        noting_failure(lambda: session.run(apply_op, options=report_options()), static_shape=False)


if __name__ == "__main__":
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    globals()[sys.argv[1]]()
