"""Record one step of a program that is more than a chain of layers: trace_kinds.py OUTPUT PROGRAM.

Writes OUTPUT.pb (RunMetadata, FULL_TRACE, with partition graphs) and OUTPUT.truth.json: the peak of just this step, and every variable with its slots.
TensorFlow 2.5 and later are asked directly; before that only one step is run, so that the MaxInUse which a last impossible request brings up is its own.
"""
import sys

import numpy as np

import common_models_v1
from oom_kit import tf, tf1
from trace_session import keep, memory_info, refused

VARIABLE = dict(use_resource=True) if tf.__version__.startswith("2") else {}


def _variable(name, shape, **options):
    return tf1.get_variable(name, shape, **dict(VARIABLE, **options))


def _dense(x, name, units, activation=None):
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        y = tf1.matmul(x, _variable("kernel", [int(x.shape[-1]), units])) + _variable("bias", [units], initializer=tf1.zeros_initializer())
        return activation(y) if activation else y


def _conv(x, name, filters, kernel, stride):
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        weights = _variable("kernel", [kernel, kernel, int(x.shape[-1]), filters])
        return tf1.nn.leaky_relu(tf1.nn.conv2d(x, weights, strides=[1, stride, stride, 1], padding="SAME"))


def inference(batch=16):
    """A forward pass alone: its inputs are freed between the end of a kernel and the end of its op."""
    images, value = common_models_v1._image(batch, 32, 32, 3)
    x = common_models_v1._conv(common_models_v1._conv(images, "block1/conv1", 16), "block1/conv2", 16)
    x = tf1.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    x = common_models_v1._conv(common_models_v1._conv(x, "block2/conv1", 32), "block2/conv2", 32)
    return tf1.nn.softmax(_dense(tf1.reduce_mean(x, [1, 2]), "logits", 10)), {images: value}, []


def sparse_adam(batch=64, vocabulary=5000, width=32):
    """An embedding that Adam updates: it reads and writes its whole slots, and each of these variables gets a new buffer within the step."""
    ids, weights = tf1.sparse_placeholder(tf.int64, [batch, 10], "ids"), tf1.sparse_placeholder(tf.float32, [batch, 10], "weights")
    with tf1.variable_scope("wide"):
        bags = tf1.nn.embedding_lookup_sparse(_variable("table", [vocabulary, width]), ids, weights, combiner="mean")
    bags.set_shape([batch, width])
    loss = tf1.reduce_mean(tf1.square(_dense(_dense(bags, "deep", 64, tf1.nn.relu), "out", 1)))
    optimizer = tf1.train.AdamOptimizer()
    places = np.array([[row, column] for row in range(batch) for column in range(10)], np.int64)
    feed = {ids: tf1.SparseTensorValue(places, np.random.randint(0, vocabulary, [batch * 10]), [batch, 10]),
            weights: tf1.SparseTensorValue(places, np.random.rand(batch * 10).astype(np.float32), [batch, 10])}
    return [optimizer.minimize(loss), loss], feed, [optimizer]


def gan(batch=8):
    """Two optimizers, one with a name of its own; the discriminator is used twice."""
    noise = tf1.placeholder(tf.float32, [batch, 32], "noise")
    real, value = common_models_v1._image(batch, 16, 16, 3, "real")
    with tf1.variable_scope("generator"):
        x = tf1.reshape(_dense(noise, "project", 8 * 8 * 32, tf1.nn.relu), [batch, 8, 8, 32])
        with tf1.variable_scope("up"):
            fake = tf1.tanh(tf1.nn.conv2d_transpose(x, _variable("kernel", [5, 5, 3, 32]), [batch, 16, 16, 3], [1, 2, 2, 1]))

    def judge(images):
        with tf1.variable_scope("discriminator", reuse=tf1.AUTO_REUSE):
            x = _conv(_conv(images, "c1", 16, 5, 2), "c2", 32, 5, 2)
            return _dense(tf1.reshape(x, [batch, 4 * 4 * 32]), "logit", 1)

    def loss(logits, label):
        return tf1.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=tf1.ones_like(logits) * label))

    of_real, of_fake = judge(real), judge(fake)
    sides = {name: [v for v in tf1.trainable_variables() if v.op.name.startswith(name)] for name in ("generator", "discriminator")}
    optimizers = [tf1.train.RMSPropOptimizer(1e-4), tf1.train.AdamOptimizer(1e-4, name="Creative")]
    steps = [optimizers[0].minimize(loss(of_real, 1.0) + loss(of_fake, 0.0), var_list=sides["discriminator"]),
             optimizers[1].minimize(loss(of_fake, 1.0), var_list=sides["generator"])]
    return steps, {noise: np.random.rand(batch, 32).astype(np.float32), real: value}, optimizers


def two_cpus(batch=32):
    """Two CPU devices of one process: they share an allocator."""
    with tf1.device("/cpu:0"):
        x = tf1.placeholder(tf.float32, [batch, 128], "x")
        x_first = _dense(x, "first", 256, tf1.nn.relu)
    with tf1.device("/cpu:1"):
        loss = tf1.reduce_mean(tf1.square(_dense(_dense(x_first, "second", 256, tf1.nn.relu), "third", 16)))
    optimizer = tf1.train.AdamOptimizer()
    return [optimizer.minimize(loss, colocate_gradients_with_ops=True), loss], {x: np.random.rand(batch, 128).astype(np.float32)}, [optimizer]


def branches(batch=32):
    """tf.cond with a heavy and a light branch."""
    x, training = tf1.placeholder(tf.float32, [batch, 64], "x"), tf1.placeholder(tf.bool, [], "training")
    stem = _dense(x, "stem", 128, tf1.nn.relu)
    y = tf1.cond(training, lambda: _dense(_dense(stem, "heavy/a", 512, tf1.nn.relu), "heavy/b", 16), lambda: _dense(stem, "light", 16))
    loss = tf1.reduce_mean(tf1.square(y))
    optimizer = tf1.train.MomentumOptimizer(0.01, 0.9)
    return [optimizer.minimize(loss), loss], {x: np.random.rand(batch, 64).astype(np.float32), training: True}, [optimizer]


def attention_loop(batch=4, length=6, units=32):
    """A decoder that looks back at all encoder states in a while loop; its gradients are clipped."""
    states = tf1.placeholder(tf.float32, [batch, length, units], "states")
    with tf1.variable_scope("decoder"):
        def body(time, state, outputs):
            with tf1.variable_scope("attention", reuse=tf1.AUTO_REUSE):
                scores = tf1.reduce_sum(states * tf1.expand_dims(tf1.matmul(state, _variable("query", [units, units])), 1), 2)
                context = tf1.reduce_sum(states * tf1.expand_dims(tf1.nn.softmax(scores), 2), 1)
            state = _dense(tf1.concat([state, context], 1), "merge", units, tf1.tanh)
            return time + 1, state, outputs.write(time, state)

        start = (0, tf1.zeros([batch, units]), tf1.TensorArray(tf.float32, length))
        _, _, outputs = tf1.while_loop(lambda time, *_: time < length, body, start)
        decoded = tf1.reshape(outputs.stack(), [batch * length, units])
    loss = tf1.reduce_mean(tf1.square(_dense(decoded, "projection", 50)))
    optimizer = tf1.train.AdamOptimizer()
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    step = optimizer.apply_gradients(list(zip(tf1.clip_by_global_norm(gradients, 5.0)[0], variables)))
    return [step, loss], {states: np.random.rand(batch, length, units).astype(np.float32)}, [optimizer]


def _slots(optimizers):
    found = {}
    for optimizer in optimizers:
        for name in optimizer.get_slot_names():
            for variable in tf1.trainable_variables():
                slot = optimizer.get_slot(variable, name)
                if slot is not None:
                    found[slot.op.name] = slot.shape.as_list()
    return found


def main():
    output, program = sys.argv[1:3]
    if tf.__version__.startswith("2"):
        tf1.disable_eager_execution()
    np.random.seed(1)
    fetches, feed, optimizers = globals()[program]()
    truth = {"tf": tf.__version__, "program": program, "variables": {v.op.name: v.shape.as_list() for v in tf1.trainable_variables()}, "slots": _slots(optimizers)}
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf1.Session(config=tf1.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(3 if memory_info() else 1):
            if memory_info():
                tf.config.experimental.reset_memory_stats("CPU:0")
            metadata = tf1.RunMetadata()
            session.run(fetches, feed, options=options, run_metadata=metadata)
        if memory_info():
            truth.update(max_in_use_bytes=memory_info()["peak"], how="reset_memory_stats and get_memory_info around the traced step alone")
        keep(output, metadata, truth)
        refused(session, huge)


if __name__ == "__main__":
    main()
