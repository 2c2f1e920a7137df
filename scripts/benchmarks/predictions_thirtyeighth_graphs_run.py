"""Graphs of predictions.py's thirty-eighth set, in the style of TensorFlow 1: see predictions_graphs_run.py."""

import numpy as np


def abacuses(tf, batch):
    """The next entry of an account book: a table of entries, two LSTM layers, a softmax over all entries."""
    steps, size, units = 35, 5000, 160
    entries = tf.placeholder(tf.int32, [None, steps], "entries")
    following = tf.placeholder(tf.int32, [None, steps], "following")
    table = tf.get_variable("table", [size, units], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    x = tf.nn.embedding_lookup(table, entries)
    x = tf.nn.dropout(x, keep_prob=0.8)
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(units), output_keep_prob=0.8) for _ in range(2)]
    x, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
    w = tf.get_variable("w", [units, size])
    b = tf.get_variable("b", [size], initializer=tf.zeros_initializer())
    logits = tf.matmul(tf.reshape(x, [-1, units]), w) + b
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits)
    loss = tf.reduce_mean(losses)
    rng = np.random.RandomState(3)
    feed = {entries: rng.randint(0, size, (batch, steps)).astype(np.int32),
            following: rng.randint(0, size, (batch, steps)).astype(np.int32)}
    return loss, feed, True


def mummies(tf, batch):
    """Layers of wrapping on X-ray plates: strided residual convolutions, the age beside the class, weights kept small."""
    plates = tf.placeholder(tf.float32, [None, 64, 64, 1], "plates")
    kinds = tf.placeholder(tf.int32, [None], "kinds")
    ages = tf.placeholder(tf.float32, [None, 1], "ages")

    def conv(x, filters, stride=1, name=None):
        with tf.variable_scope(name):
            x = tf.layers.conv2d(x, filters, 3, strides=stride, padding="same", use_bias=False)
            return tf.layers.batch_normalization(x, training=True)

    x = tf.nn.relu(conv(plates, 24, 1, "stem"))
    for i, filters in enumerate((32, 48, 64)):
        y = tf.nn.relu(conv(x, filters, 2, "down%d" % i))
        y = conv(y, filters, 1, "keep%d" % i)
        short = tf.layers.average_pooling2d(x, 2, 2)
        short = tf.layers.conv2d(short, filters, 1, name="short%d" % i)
        x = tf.nn.leaky_relu(y + short, alpha=0.1)
    x = tf.contrib.layers.flatten(x)
    x = tf.layers.dense(x, 256, activation=tf.nn.relu, name="hidden")
    x = tf.layers.dropout(x, 0.4, training=True)
    logits = tf.layers.dense(x, 11, name="kind")
    age = tf.layers.dense(x, 1, name="age")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=logits))
    loss += 0.5 * tf.losses.huber_loss(ages, age)
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    rng = np.random.RandomState(5)
    feed = {plates: rng.rand(batch, 64, 64, 1).astype(np.float32),
            kinds: rng.randint(0, 11, batch).astype(np.int32),
            ages: rng.rand(batch, 1).astype(np.float32)}
    return loss, feed, False
