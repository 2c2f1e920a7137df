"""Graphs of predictions.py's third, fifth, sixth, seventh, twelfth to fifteenth and twenty-first to
twenty-third set, and their real runs:

    predictions_graphs_run.py make FOLDER CASES.json
    predictions_graphs_run.py measure OUT.jsonl CASES.json [LIMIT_OF_CASE.json]

Run by the Python of TensorFlow 1.15. `make` writes each case's MetaGraph, with an open batch. `measure` runs
four steps in a session, each case in a process of its own, and writes the allocator's peak of the whole
process, which it prints when it cannot serve a last, impossible request; with limits, only whether all ran.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "1"
os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", "3000")  # a case's own limit reaches its process so
import numpy as np
import predictions_fifteenth_graphs_run
import predictions_fortieth_graphs_run
import predictions_fortyfirst_graphs_run
import predictions_fortysecond_graphs_run
import predictions_fortyeighth_graphs_run
import predictions_fiftieth_graphs_run
import predictions_fiftysecond_graphs_run
import predictions_fiftythird_graphs_run
import predictions_fiftyfirst_graphs_run
import predictions_fortyninth_graphs_run
import predictions_fortyseventh_graphs_run
import predictions_fortysixth_graphs_run
import predictions_fortyfifth_graphs_run
import predictions_fortyfourth_graphs_run
import predictions_fortythird_graphs_run
import predictions_fourteenth_graphs_run
import predictions_seventh_graphs_run
import predictions_thirteenth_graphs_run
import predictions_twelfth_graphs_run
import predictions_twentyfirst_graphs_run
import predictions_twentysecond_graphs_run
import predictions_twentythird_graphs_run
import predictions_twentyfourth_graphs_run
import predictions_twentyfifth_graphs_run
import predictions_twentysixth_graphs_run
import predictions_twentyseventh_graphs_run
import predictions_twentyeighth_graphs_run
import predictions_twentyninth_graphs_run
import predictions_thirtieth_graphs_run
import predictions_thirtyfirst_graphs_run
import predictions_thirtysecond_graphs_run
import predictions_thirtythird_graphs_run
import predictions_thirtyfourth_graphs_run
import predictions_thirtyfifth_graphs_run
import predictions_thirtysixth_graphs_run
import predictions_thirtyseventh_graphs_run
import predictions_thirtyeighth_graphs_run
import predictions_thirtyninth_graphs_run

STEPS = 16  # a loop of a few turns then runs often enough for its small kernels to count as cheap


def topics(tf, batch):
    """A bag of words to topics: wide layers, clipped by the norm of all gradients."""
    x = tf.placeholder(tf.float32, [None, 2000], "bag")
    labels = tf.placeholder(tf.int32, [None], "topic")
    y = x
    for width in (900, 600):
        y = tf.layers.dropout(tf.layers.dense(y, width, tf.nn.relu), 0.3, training=True)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.layers.dense(y, 300))
    )
    return loss, {x: np.random.rand(batch, 2000), labels: np.random.randint(0, 300, batch)}, True


def dialogue(tf, batch):
    """An unrolled GRU below sampled words."""
    words = tf.placeholder(tf.int32, [None, 21], "words")
    table = tf.get_variable("table", [9000, 96])
    x = tf.nn.embedding_lookup(table, words)
    cell = tf.nn.rnn_cell.GRUCell(160)
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x[:, :-1], axis=1), dtype=tf.float32)
    y = tf.reshape(tf.stack(outputs, 1), [-1, 160])
    logits = tf.layers.dense(y, 9000)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(words[:, 1:], [-1]), logits=logits)
    )
    return loss, {words: np.random.randint(0, 9000, (batch, 21))}, False


def plates(tf, batch):
    """Strided convolutions with batch normalisation, and five digits at once."""
    x = tf.placeholder(tf.float32, [None, 48, 112, 3], "plate")
    labels = tf.placeholder(tf.int32, [None, 5], "digits")
    y = x
    for width in (24, 48, 96):
        y = tf.layers.conv2d(y, width, 3, strides=2, padding="same", use_bias=False)
        y = tf.nn.leaky_relu(tf.layers.batch_normalization(y, training=True))
    y = tf.layers.dense(tf.layers.flatten(y), 256, tf.nn.relu)
    losses = [
        tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[:, place], logits=tf.layers.dense(y, 36))
        )
        for place in range(5)
    ]
    return (
        tf.add_n(losses) + 0.001 * tf.nn.l2_loss(y),
        {x: np.random.rand(batch, 48, 112, 3), labels: np.random.randint(0, 36, (batch, 5))},
        False,
    )


def heights(tf, batch):
    """A map is refined by bilinear resizing and sums."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 4], "bands")
    target = tf.placeholder(tf.float32, [None, 64, 64, 1], "height")
    fine = tf.layers.conv2d(x, 32, 5, padding="same", activation=tf.nn.relu)
    y = tf.layers.average_pooling2d(fine, 2, 2)
    y = tf.layers.conv2d(y, 48, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.conv2d(y, 32, 3, padding="same", activation=tf.nn.relu)
    y = fine + tf.image.resize_bilinear(y, [64, 64])
    y = tf.layers.conv2d(y, 1, 3, padding="same")
    return (
        tf.losses.huber_loss(target, y),
        {x: np.random.rand(batch, 64, 64, 4), target: np.random.rand(batch, 64, 64, 1)},
        False,
    )


def ratings(tf, batch):
    """Listeners and things: two tables with sparse gradients, and a net over both."""
    who = tf.placeholder(tf.int32, [None], "who")
    what = tf.placeholder(tf.int32, [None], "what")
    stars = tf.placeholder(tf.float32, [None], "stars")
    a = tf.nn.embedding_lookup(tf.get_variable("people", [20000, 64]), who)
    b = tf.nn.embedding_lookup(tf.get_variable("things", [12000, 64]), what)
    y = tf.concat([a, b, a * b], 1)
    for width in (256, 128):
        y = tf.layers.dense(y, width, tf.nn.relu)
    loss = tf.reduce_mean(tf.squared_difference(tf.layers.dense(y, 1)[:, 0], stars))
    feed = {who: np.random.randint(0, 20000, batch), what: np.random.randint(0, 12000, batch)}
    return loss, {**feed, stars: np.random.rand(batch)}, False


def meters(tf, batch):
    """An LSTM in a loop of its own over readings."""
    x = tf.placeholder(tf.float32, [None, 60, 10], "readings")
    target = tf.placeholder(tf.float32, [None, 5], "following")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(128), x, dtype=tf.float32)
    loss = tf.losses.mean_squared_error(target, tf.layers.dense(outputs[:, -1], 5))
    return loss, {x: np.random.rand(batch, 60, 10), target: np.random.rand(batch, 5)}, True


def cats(tf, batch):
    """Convolutions, pools and wide layers with dropout."""
    x = tf.placeholder(tf.float32, [None, 56, 56, 3], "picture")
    labels = tf.placeholder(tf.int32, [None], "kind")
    y = x
    for width in (32, 48, 64):
        y = tf.layers.max_pooling2d(tf.layers.conv2d(y, width, 3, padding="same", activation=tf.nn.relu), 2, 2)
    y = tf.layers.dropout(tf.layers.dense(tf.layers.flatten(y), 512, tf.nn.relu), 0.5, training=True)
    logits = tf.layers.dense(y, 37)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 56, 56, 3), labels: np.random.randint(0, 37, batch)}, False


def stories(tf, batch):
    """Attention written with matrix products, 5,000 words."""
    words = tf.placeholder(tf.int32, [None, 49], "words")
    x = tf.nn.embedding_lookup(tf.get_variable("table", [5000, 96]), words[:, :-1])
    for number in range(2):
        q, k, v = (tf.layers.dense(x, 96) for _ in range(3))
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 9.8)
        x = x + tf.layers.dense(tf.matmul(tf.nn.dropout(scores, rate=0.1), v), 96)
        x = x + tf.layers.dense(tf.layers.dense(x, 384, tf.nn.relu), 96)
    logits = tf.layers.dense(x, 5000)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=words[:, 1:], logits=logits))
    return loss, {words: np.random.randint(0, 5000, (batch, 49))}, True


def waves(tf, batch):
    """Convolutions down and transposed ones up, a picture for a picture."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 1], "noisy")
    target = tf.placeholder(tf.float32, [None, 64, 64, 1], "clean")
    y = x
    for width in (24, 48):
        y = tf.layers.conv2d(y, width, 5, strides=2, padding="same", activation=tf.nn.elu)
    for width in (48, 24):
        y = tf.layers.conv2d_transpose(y, width, 5, strides=2, padding="same", activation=tf.nn.elu)
    loss = tf.reduce_mean(tf.abs(tf.layers.conv2d(y, 1, 3, padding="same") - target))
    return loss, {x: np.random.rand(batch, 64, 64, 1), target: np.random.rand(batch, 64, 64, 1)}, False


def mails(tf, batch):
    """Words by a mean over their vectors, dense tables (the gradient is a sum over all rows)."""
    words = tf.placeholder(tf.int32, [None, 40], "words")
    labels = tf.placeholder(tf.int32, [None], "folder")
    table = tf.get_variable("table", [15000, 80])
    y = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
    y = tf.layers.dense(tf.layers.dense(y, 256, tf.tanh), 60)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y))
    return loss, {words: np.random.randint(0, 15000, (batch, 40)), labels: np.random.randint(0, 60, batch)}, False


def parcels(tf, batch):
    """Residual convolutions with batch normalisation."""
    x = tf.placeholder(tf.float32, [None, 44, 44, 3], "parcel")
    labels = tf.placeholder(tf.int32, [None], "sort")
    y = tf.layers.conv2d(x, 24, 3, padding="same")
    for width, stride in ((24, 1), (48, 2), (72, 2)):
        z = tf.nn.relu(tf.layers.batch_normalization(y, training=True))
        skip = tf.layers.conv2d(z, width, 1, strides=stride, padding="same")
        z = tf.layers.conv2d(z, width, 3, strides=stride, padding="same")
        y = skip + tf.layers.conv2d(tf.nn.relu(z), width, 3, padding="same")
    logits = tf.layers.dense(tf.reduce_mean(y, [1, 2]), 16)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {x: np.random.rand(batch, 44, 44, 3), labels: np.random.randint(0, 16, batch)}, False


def tongues(tf, batch):
    """A loop of a GRU both ways over letters, all states to classes."""
    letters = tf.placeholder(tf.int32, [None, 48], "letters")
    labels = tf.placeholder(tf.int32, [None, 48], "tags")
    x = tf.nn.embedding_lookup(tf.get_variable("table", [200, 48]), letters)
    cells = [tf.nn.rnn_cell.GRUCell(64) for _ in range(2)]
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(cells[0], cells[1], x, dtype=tf.float32)
    logits = tf.layers.dense(tf.concat(outputs, 2), 30)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    feed = {letters: np.random.randint(0, 200, (batch, 48)), labels: np.random.randint(0, 30, (batch, 48))}
    return loss, feed, True


def scans(tf, batch):
    """Convolutions in three dimensions."""
    x = tf.placeholder(tf.float32, [None, 16, 24, 24, 1], "scan")
    target = tf.placeholder(tf.float32, [None], "volume")
    y = x
    for width in (12, 24):
        y = tf.layers.max_pooling3d(tf.layers.conv3d(y, width, 3, padding="same", activation=tf.nn.relu), 2, 2)
    y = tf.layers.dense(tf.layers.flatten(y), 64, tf.nn.relu)
    loss = tf.losses.mean_squared_error(target, tf.layers.dense(y, 1)[:, 0])
    return loss, {x: np.random.rand(batch, 16, 24, 24, 1), target: np.random.rand(batch)}, False


def invoicing(tf, batch):
    """Wide layers with an L2 loss on every kernel, and exponential averages of the weights."""
    x = tf.placeholder(tf.float32, [None, 300], "columns")
    target = tf.placeholder(tf.float32, [None, 4], "amounts")
    y = x
    for width in (1200, 800):
        y = tf.layers.dense(y, width, tf.nn.elu, kernel_regularizer=tf.nn.l2_loss)
    loss = tf.losses.absolute_difference(target, tf.layers.dense(y, 4))
    loss = loss + 1e-4 * tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    return loss, {x: np.random.rand(batch, 300), target: np.random.rand(batch, 4)}, True


def step_of(case):
    """TensorFlow, the node to fetch and what to feed."""
    import tensorflow as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    np.random.seed(1)
    graphs = (
        predictions_seventh_graphs_run,
        predictions_twelfth_graphs_run,
        predictions_thirteenth_graphs_run,
        predictions_fourteenth_graphs_run,
        predictions_fifteenth_graphs_run,
        predictions_twentyfirst_graphs_run,
        predictions_twentysecond_graphs_run,
        predictions_twentythird_graphs_run,
        predictions_twentyfourth_graphs_run,
        predictions_twentyfifth_graphs_run,
        predictions_twentysixth_graphs_run,
        predictions_twentyseventh_graphs_run,
        predictions_twentyeighth_graphs_run,
        predictions_twentyninth_graphs_run,
        predictions_thirtieth_graphs_run,
        predictions_thirtyfirst_graphs_run,
        predictions_thirtysecond_graphs_run,
        predictions_thirtythird_graphs_run,
        predictions_thirtyfourth_graphs_run,
        predictions_thirtyfifth_graphs_run,
        predictions_thirtysixth_graphs_run,
        predictions_thirtyseventh_graphs_run,
        predictions_thirtyeighth_graphs_run,
        predictions_thirtyninth_graphs_run,
        predictions_fortieth_graphs_run,
        predictions_fortyfirst_graphs_run,
        predictions_fortysecond_graphs_run,
        predictions_fortythird_graphs_run,
        predictions_fortyfourth_graphs_run,
        predictions_fortyfifth_graphs_run,
        predictions_fortysixth_graphs_run,
        predictions_fortyseventh_graphs_run,
        predictions_fortyninth_graphs_run,
        predictions_fiftyfirst_graphs_run,
        predictions_fiftythird_graphs_run,
        predictions_fiftysecond_graphs_run,
        predictions_fiftieth_graphs_run,
        predictions_fortyeighth_graphs_run,
    )
    model = case["model"]
    make = globals().get(model) or next(getattr(each, model) for each in graphs if hasattr(each, model))
    loss, feed, clips = make(tf, case["batch"])
    train = tf.train
    optimizer = {
        "sgd": lambda: train.GradientDescentOptimizer(0.01),
        "momentum": lambda: train.MomentumOptimizer(0.01, 0.9),
        "adam": lambda: train.AdamOptimizer(0.001),
        "adagrad": lambda: train.AdagradOptimizer(0.01),
        "adadelta": lambda: train.AdadeltaOptimizer(0.01),
        "rmsprop": lambda: train.RMSPropOptimizer(0.001),
    }[case["optimizer"]]()
    pairs = optimizer.compute_gradients(loss)
    if clips:
        gradients, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 5.0)
        pairs = list(zip(gradients, [variable for _, variable in pairs]))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return tf, optimizer.apply_gradients(pairs, name="train_op"), feed


def save(case, path):
    tf, _, _ = step_of(case)
    tf.train.export_meta_graph(path)


def run(case):
    """The steps, then a request that no allocator serves, so that it prints what it held at most."""
    tf, step, feed = step_of(case)
    huge = tf.random_uniform([1 << 20, 1 << 12])
    threads = case["threads"]
    config = tf.ConfigProto(inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(step, feed)
        print("all steps ran", flush=True)
        try:
            session.run(huge)
        except tf.errors.ResourceExhaustedError:
            pass


def main(what, out, cases, limits=None):
    bounds = json.load(open(limits)) if limits else {}
    for case in json.load(open(cases)):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(case, file)
            file.flush()
            single = ["save", os.path.join(out, case["file"])] if what == "make" else ["run", ""]
            if case["key"] in bounds:
                os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(bounds[case["key"]])
            told = subprocess.run(
                [sys.executable, __file__, *single, file.name],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=180,
                universal_newlines=True,
            )
        if case["key"] in bounds:
            with open(out, "a") as file:
                file.write(json.dumps({"key": case["key"], "ran": "all steps ran" in told.stdout}) + "\n")
        elif what == "measure":
            peaks = re.findall(r"^MaxInUse: +(\d+)$", told.stderr, re.M)
            if not peaks:
                print(case["key"], "failed", told.stderr[-400:], flush=True)
                continue
            line = {"key": case["key"], "peaks": [int(peaks[-1])], "before": None}
            with open(out, "a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "save":
        save(json.load(open(sys.argv[3])), sys.argv[2])
    elif sys.argv[1] == "run":
        run(json.load(open(sys.argv[3])))
    else:
        main(*sys.argv[1:])
