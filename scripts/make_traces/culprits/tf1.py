"""TensorFlow 1.15 programs as users write them, each with one known culprit: tf1.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf

RNG = np.random.RandomState(0)


def run_steps(train_op, loss, feed=None, steps=3, report=False, threads=0):
    options = tf.RunOptions(report_tensor_allocations_upon_oom=True) if report else None
    with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads)) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            _, value = sess.run([train_op, loss], feed_dict=feed() if feed else None, options=options)
            print("step %d loss %.4f" % (step, value))


def conv_bn_relu(x, filters, name, kernel=3, strides=1):
    with tf.variable_scope(name):
        x = tf.layers.conv2d(x, filters, kernel, strides, padding="same", use_bias=False, name="conv")
        x = tf.layers.batch_normalization(x, training=True, name="bn")
        return tf.nn.relu(x)


def digits(eval_batch=6000, train_batch=50):
    """The old "deep MNIST" tutorial: trained in small batches, tested on everything at once."""
    images = tf.placeholder(tf.float32, [None, 784], "images")
    labels = tf.placeholder(tf.int32, [None], "labels")
    x = tf.reshape(images, [-1, 28, 28, 1])
    x = tf.layers.max_pooling2d(tf.layers.conv2d(x, 32, 5, padding="same", activation=tf.nn.relu, name="conv1"), 2, 2)
    x = tf.layers.max_pooling2d(tf.layers.conv2d(x, 64, 5, padding="same", activation=tf.nn.relu, name="conv2"), 2, 2)
    x = tf.layers.dense(tf.layers.flatten(x), 256, activation=tf.nn.relu, name="fc1")
    logits = tf.layers.dense(x, 10, name="fc2")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32), name="accuracy")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(5):
            feed = {images: RNG.rand(train_batch, 784), labels: RNG.randint(0, 10, train_batch)}
            print("step", step, sess.run([train, loss], feed)[1])
        feed = {images: RNG.rand(eval_batch, 784), labels: RNG.randint(0, 10, eval_batch)}
        print("test accuracy", sess.run(accuracy, feed))


def road_segmenter(upsampled=480, classes=150, batch=2):
    """Class scores of a segmenter resized to the full picture before the loss."""
    x = RNG.rand(batch, 480, 480, 3).astype("float32")
    images = tf.placeholder(tf.float32, x.shape, "frames")
    net = images
    for number, filters in enumerate((16, 32, 64)):
        net = conv_bn_relu(net, filters, "encoder/block%d" % number, strides=2)
    scores = tf.layers.conv2d(net, classes, 1, name="head/classifier")
    scores = tf.image.resize_bilinear(scores, [upsampled, upsampled], name="head/upscaled")
    labels = tf.zeros([batch, upsampled, upsampled], tf.int32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, scores)
    run_steps(tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss), loss, lambda: {images: x}, report=True)


def vgg_faces(classifier=8192, batch=4):
    """A VGG whose first fully connected layer follows a large map."""
    images = tf.random_normal([batch, 128, 128, 3])
    net = images
    for number, filters in enumerate((16, 32, 64)):
        net = tf.layers.conv2d(net, filters, 3, padding="same", activation=tf.nn.relu, name="conv%d_1" % (number + 1))
        net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.dense(tf.layers.flatten(net), classifier, activation=tf.nn.relu, name="fc6")
    logits = tf.layers.dense(net, 100, name="fc8")
    loss = tf.losses.sparse_softmax_cross_entropy(tf.zeros([batch], tf.int32), logits)
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss)


def translator(vocabulary=60000, batch=32, length=40):
    """Encoder and decoder words scored against the whole vocabulary."""
    source = tf.placeholder(tf.int32, [batch, length], "source_ids")
    target = tf.placeholder(tf.int32, [batch, length], "target_ids")
    table = tf.get_variable("word_embedding", [4000, 64])
    with tf.variable_scope("encoder"):
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(64), tf.nn.embedding_lookup(table, source), dtype=tf.float32)
    with tf.variable_scope("decoder"):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(64), tf.nn.embedding_lookup(table, target),
                                       initial_state=state)
        logits = tf.layers.dense(outputs, vocabulary, name="vocab_projection")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
    run_steps(tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss,
              lambda: {source: RNG.randint(0, 4000, (batch, length)), target: RNG.randint(0, 4000, (batch, length))})


def review_classifier(vocabulary=400000, regularized=True, batch=16, report=True):
    """L2 on the word table turns its sparse gradient into a dense one."""
    words = tf.placeholder(tf.int32, [batch, 60], "words")
    table = tf.get_variable("word_vectors", [vocabulary, 64])
    pooled = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
    logits = tf.layers.dense(pooled, 2, name="sentiment")
    loss = tf.losses.sparse_softmax_cross_entropy(tf.zeros([batch], tf.int32), logits)
    if regularized:
        loss += 1e-5 * tf.nn.l2_loss(table)
    run_steps(tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss, lambda: {words: RNG.randint(0, 400, (batch, 60))},
              report=report)


def price_forecaster(length=1500, batch=64, units=128, swap=False):
    """An LSTM unrolled over a long history; every step keeps its gates for the backward pass."""
    x = tf.placeholder(tf.float32, [batch, length, 8], "history")
    cell = tf.nn.rnn_cell.LSTMCell(units, name="memory_cell")
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, swap_memory=swap, scope="history_rnn")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(outputs[:, -1], 1, name="price")))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss,
              lambda: {x: RNG.rand(batch, length, 8)})


def pendulum(steps=3000, batch=4096, report=True):
    """An integrator in tf.while_loop, differentiated through all of its steps."""
    angle = tf.placeholder(tf.float32, [batch, 8], "angle")
    damping = tf.get_variable("damping", [8, 8])

    def advance(i, theta):
        return i + 1, theta + 0.01 * tf.sin(tf.matmul(theta, damping))

    _, final = tf.while_loop(lambda i, _: i < steps, advance, [0, angle], name="integrate")
    loss = tf.reduce_mean(tf.square(final))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss, lambda: {angle: RNG.rand(batch, 8)}, report=report)


def bandit(steps=200, arms_in_graph=True):
    """New operations in every turn of the loop: the graph, with its constants, grows."""
    weights = tf.get_variable("policy", [1000, 1000])
    feed = tf.placeholder(tf.float32, [1000, 1000], "context")
    score = tf.reduce_sum(tf.matmul(feed, weights))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            context = RNG.rand(1000, 1000).astype("float32")
            if arms_in_graph:
                value = sess.run(tf.reduce_sum(tf.matmul(tf.constant(context), weights)))
            else:
                value = sess.run(score, {feed: context})
            if step % 10 == 0:
                print("turn", step, "reward", value)


def wide_and_clipped(width=3000, layers=4, clip=True, batch=8, report=True):
    """All weight gradients live at once, as the global norm needs every one before the first update."""
    x = tf.random_normal([batch, width])
    net = x
    for number in range(layers):
        net = tf.layers.dense(net, width, tf.nn.relu, name="tower/fc%d" % number)
    loss = tf.reduce_mean(tf.square(net))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    if clip:
        gradients, _ = tf.clip_by_global_norm([g for g, _ in pairs], 5.0)
        pairs = list(zip(gradients, [v for _, v in pairs]))
    run_steps(optimizer.apply_gradients(pairs), loss, report=report)


def channels_first_port(transposed=True, batch=8, size=128):
    """A model ported from another framework: it turns its tensors around at every convolution."""
    images = tf.placeholder(tf.float32, [batch, 3, size, size], "images")
    net = images if transposed else tf.transpose(images, [0, 2, 3, 1])
    for number in range(6):
        with tf.variable_scope("stage%d" % number):
            if transposed:
                net = tf.transpose(net, [0, 2, 3, 1], name="to_nhwc")
            net = tf.nn.relu(tf.layers.conv2d(net, 16, 3, padding="same", name="conv"))
            if transposed:
                net = tf.transpose(net, [0, 3, 1, 2], name="to_nchw")
    loss = tf.reduce_mean(tf.square(net))
    run_steps(tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss), loss,
              lambda: {images: RNG.rand(batch, 3, size, size)}, report=True)


def self_attention(x, heads, width, name):
    batch, length = x.shape.as_list()[:2]
    with tf.variable_scope(name):
        def split(t):
            return tf.transpose(tf.reshape(t, [batch, length, heads, width // heads]), [0, 2, 1, 3])
        query, key, value = [split(tf.layers.dense(x, width, name=n)) for n in ("q", "k", "v")]
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True, name="scores"), name="weights")
        mixed = tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3])
        return x + tf.layers.dense(tf.reshape(mixed, [batch, length, width]), width, name="out")


def protein_transformer(length=700, batch=4, heads=8, blocks=3):
    """Scores of every residue with every other one."""
    x = tf.placeholder(tf.float32, [batch, length, 64], "residues")
    net = x
    for number in range(blocks):
        net = self_attention(net, heads, 64, "block%d/attn" % number)
    loss = tf.reduce_mean(tf.square(net))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss, lambda: {x: RNG.rand(batch, length, 64)})


def house_prices(column=True, batch=9000, recompute=False):
    """The labels are [B], the predictions [B,1]: their difference becomes [B,B]."""
    x = tf.placeholder(tf.float32, [None, 20], "rooms")
    y = tf.placeholder(tf.float32, [None], "price")
    net = tf.layers.dense(x, 64, tf.nn.relu, name="hidden")
    predicted = tf.layers.dense(net, 1, name="predicted_price")
    if not column:
        predicted = tf.squeeze(predicted, 1)
    if recompute:
        errors = tf.contrib.layers.recompute_grad(lambda p, t: tf.square(p - t))
        loss = tf.reduce_mean(errors(predicted, y), name="mse")
    else:
        loss = tf.reduce_mean(tf.square(predicted - y), name="mse")
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss,
              lambda: {x: RNG.rand(batch, 20), y: RNG.rand(batch)}, report=True)


def nearest_shapes(queries=600, gallery=2500, expanded=True):
    """Differences of all queries with the whole gallery, component by component."""
    q = tf.placeholder(tf.float32, [queries, 64], "query_codes")
    g = tf.placeholder(tf.float32, [gallery, 64], "gallery_codes")
    if expanded:
        distance = tf.reduce_sum(tf.square(q[:, None, :] - g[None, :, :]), -1, name="distance")
    else:
        distance = (tf.reduce_sum(q * q, 1)[:, None] + tf.reduce_sum(g * g, 1)[None, :]
                    - 2 * tf.matmul(q, g, transpose_b=True))
    best = tf.argmin(distance, 1)
    with tf.Session() as sess:
        print(sess.run(best, {q: RNG.rand(queries, 64), g: RNG.rand(gallery, 64)})[:10])


class KeepCodes(tf.train.SessionRunHook):
    """Collects the codes of every step for a plot at the end."""

    def __init__(self, codes, means_only):
        self.codes, self.means_only, self.collected = codes, means_only, []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.codes)

    def after_run(self, run_context, run_values):
        self.collected.append(run_values.results.mean() if self.means_only else run_values.results)


def autoencoder(means_only=False, batch=2000):
    """A hook keeps what every step returned."""
    x = tf.random_uniform([batch, 256])
    codes = tf.layers.dense(x, 1024, tf.nn.tanh, name="encoder/code")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(codes, 256, name="decoder/pixels") - x))
    train = tf.train.AdamOptimizer().minimize(loss, tf.train.get_or_create_global_step())
    hooks = [KeepCodes(codes, means_only), tf.train.StopAtStepHook(80)]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
        while not sess.should_stop():
            sess.run(train)


def ad_clicks(categories=150000, batch=512):
    """Every ad as a one-hot row before a dense layer."""
    ads = tf.placeholder(tf.int32, [batch], "ad_id")
    rows = tf.one_hot(ads, categories, name="ad_one_hot")
    kernel = tf.get_variable("ad_vectors", [categories, 8])
    logits = tf.layers.dense(tf.matmul(rows, kernel), 2, name="clicked")
    loss = tf.losses.sparse_softmax_cross_entropy(tf.zeros([batch], tf.int32), logits)
    run_steps(tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss,
              lambda: {ads: RNG.randint(0, 1000, batch)})


def molecule_graph(edges=150000, nodes=5000, width=64, layers=3):
    """Messages along every edge of a graph: one row an edge."""
    h = tf.placeholder(tf.float32, [nodes, width], "atoms")
    src = tf.placeholder(tf.int32, [edges], "bond_from")
    dst = tf.placeholder(tf.int32, [edges], "bond_to")
    net = h
    for number in range(layers):
        with tf.variable_scope("message_passing_%d" % number):
            pair = tf.concat([tf.gather(net, src), tf.gather(net, dst)], 1, name="pair")
            message = tf.layers.dense(pair, width, tf.nn.relu, name="message")
            net = tf.unsorted_segment_sum(message, dst, nodes, name="sum")
    loss = tf.reduce_mean(tf.square(net))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss,
              lambda: {h: RNG.rand(nodes, width), src: RNG.randint(0, nodes, edges), dst: RNG.randint(0, nodes, edges)},
              report=True)


def speech_features(width=64, kernel=400, batch=8, length=8000, threads=0):
    """Raw audio through long 1-D filters."""
    audio = tf.placeholder(tf.float32, [batch, length, 1], "waveform")
    net = tf.layers.conv1d(audio, width, 16, padding="same", activation=tf.nn.relu, name="frontend/conv1d_a")
    net = tf.layers.conv1d(net, 16, kernel, padding="same", activation=tf.nn.relu, name="frontend/conv1d_b")
    loss = tf.reduce_mean(tf.square(net))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss, lambda: {audio: RNG.rand(batch, length, 1)},
              threads=threads)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})


if __name__ == "__main__":
    main()
