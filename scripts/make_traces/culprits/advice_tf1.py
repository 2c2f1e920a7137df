"""More TensorFlow 1.15 programs with a known culprit, written to try the page's advice: advice_tf1.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf

RNG = np.random.RandomState(1)


def run_steps(train_op, loss, feed, steps=3, report=False):
    options = tf.RunOptions(report_tensor_allocations_upon_oom=True) if report else None
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            _, value = sess.run([train_op, loss], feed_dict=feed(), options=options)
            print("step %d loss %.4f" % (step, value))


def plate_reader(batch=64, size=64, report=True):
    """A plain convolutional net in a Session, with the list of live tensors."""
    images = tf.placeholder(tf.float32, [None, size, size, 3], "plates")
    labels = tf.placeholder(tf.int32, [None], "characters")
    net = images
    for number, filters in enumerate((24, 24, 48, 48)):
        net = tf.layers.conv2d(net, filters, 3, padding="same", activation=tf.nn.relu, name="conv%d" % number)
        if number % 2:
            net = tf.layers.max_pooling2d(net, 2, 2)
    logits = tf.layers.dense(tf.reduce_mean(net, [1, 2]), 36, name="character")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss,
              lambda: {images: RNG.rand(batch, size, size, 3), labels: RNG.randint(0, 36, batch)}, report=report)


def query_titles(batch=256, length=64, rows=150000, width=64):
    """A large table beside a batch of sequences: two parts of the need, one of them fixed."""
    ids = tf.placeholder(tf.int32, [None, length], "query")
    table = tf.get_variable("title_table", [rows, width])
    x = tf.nn.embedding_lookup(table, ids)
    for number in range(3):
        x = tf.layers.conv1d(x, 96, 3, padding="same", activation=tf.nn.relu, name="ngram%d" % number)
    score = tf.layers.dense(tf.reduce_max(x, 1), 1, name="relevance")
    loss = tf.reduce_mean(tf.square(score))
    run_steps(tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss, lambda: {ids: RNG.randint(0, rows, (batch, length))})


def pretrained_vectors(rows=250000, width=100, by_feed=False):
    """Word vectors put into the graph as a constant that initialises a variable."""
    vectors = RNG.rand(rows, width).astype("float32")
    if by_feed:
        start = tf.placeholder(tf.float32, vectors.shape)
        table = tf.Variable(start, name="glove", trainable=False)
    else:
        table = tf.Variable(tf.constant(vectors), name="glove", trainable=False)
    ids = tf.placeholder(tf.int32, [None, 30])
    score = tf.layers.dense(tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1), 2, name="sentiment")
    loss = tf.reduce_mean(tf.square(score))
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer(), {start: vectors} if by_feed else None)
        for step in range(3):
            print("step", step, sess.run([train, loss], {ids: RNG.randint(0, rows, (64, 30))})[1])


def eager_losses(keep=True, steps=120):
    """Eager TensorFlow 1.15: codes of every step are kept for a t-SNE plot."""
    tf.enable_eager_execution()
    layer = tf.keras.layers.Dense(1500, activation="relu")
    codes = []
    for step in range(steps):
        code = layer(tf.constant(RNG.rand(1000, 64), tf.float32))
        codes.append(code if keep else float(tf.reduce_mean(code)))
        if step % 20 == 0:
            print("step", step)


def new_constants(turns=200, feed=False):
    """Assigning a numpy array in a loop adds a constant to the graph each time."""
    weights = tf.get_variable("policy", [1200, 1000])
    holder = tf.placeholder(tf.float32, [1200, 1000])
    assign = tf.assign(weights, holder)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for turn in range(turns):
            value = RNG.rand(1200, 1000).astype("float32")
            if feed:
                sess.run(assign.op, {holder: value})
            else:
                sess.run(tf.assign(weights, value).op)
            if turn % 20 == 0:
                print("generation", turn)


def all_codes(rows=8000, batch=None):
    """After training, the codes of all pictures in one run."""
    images = tf.placeholder(tf.float32, [None, 32, 32, 3], "images")
    net = tf.layers.conv2d(images, 24, 3, padding="same", activation=tf.nn.relu, name="trunk")
    code = tf.layers.dense(tf.reduce_mean(net, [1, 2]), 16, name="code")
    loss = tf.reduce_mean(tf.square(code))
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            print("step", step, sess.run([train, loss], {images: RNG.rand(32, 32, 32, 3)})[1])
        x = RNG.rand(rows, 32, 32, 3).astype("float32")
        for start in range(0, rows, batch or rows):
            print(sess.run(code, {images: x[start:start + (batch or rows)]}).shape)


def one_long_document(lengths=(100, 150, 120, 2500), batch=24):
    """dynamic_rnn over documents of about a hundred words, and one of thousands."""
    words = tf.placeholder(tf.float32, [None, None, 32], "words")
    out, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64, name="reader"), words, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(out, 5, name="tag")))
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step, length in enumerate(lengths):
            print("step", step, sess.run([train, loss], {words: RNG.rand(batch, length, 32)})[1])


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})


if __name__ == "__main__":
    main()
