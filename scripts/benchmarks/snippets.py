"""Whether the code lines that pages print run: snippets.py [--python ENV=PATH ...] [--only WORD].

Each line of `CASES` is filled in as a user would, and run in a real program of the versions that it is for; a
line that no longer stands in `tfmemlens/` fails, too. Environments are those of
scripts/make_traces/environments.sh under $TFMEMLENS_ENVS; libraries on top of JAX are looked for in the one
named with `--python jax=...`, and lines whose library is missing are counted apart.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache/tfmemlens/envs"))
OLD1, TF1, TF2, OLD2, JAX = ("tf1.10",), ("tf1.15",), ("tf2.11", "tf2.21"), ("tf2.11",), ("jax",)
ANY = TF1 + TF2


class Case(NamedTuple):
    """A printed line, the environments that it is for, and the program around it."""

    code: str
    where: tuple[str, ...]
    before: str = ""
    after: str = ""
    fill: tuple[tuple[str, str], ...] = ()
    """What a user puts in the place of what the line leaves open."""


DENSE = "model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(8,))])\n"
DATA = "x, y = np.ones((64, 8), 'float32'), np.ones((64, 4), 'float32')\n"
SESSION = (
    "x_ = tf.placeholder(tf.float32, [None, 8]); w = tf.get_variable('w', [8, 4]); out = tf.matmul(x_, w)\n"
    "loss = tf.reduce_mean(out ** 2); optimizer = tf.train.GradientDescentOptimizer(.1)\n"
    "x = np.ones((64, 8), 'float32')\n"
)
OPEN = "sess = tf.Session(); sess.run(tf.global_variables_initializer())\n"
IMAGES = "x = tf.ones([2, 8, 8, 3])\n"
LOGITS = "logits = tf.ones([4, 10]); ids = tf.constant([1, 2, 3, 4])\n"
NET = (
    "params = {'w': jnp.ones((8, 4)), 'b': jnp.zeros(4)}\nxs = x = jnp.ones((512, 8))\n"
    "def block(x): return jnp.tanh(x)\n"
)
MESH = "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\nmesh = Mesh(jax.devices(), ('data',))\n"
FLAX = "from flax import linen as nn\n"
NNX = "from flax import nnx\nrngs = nnx.Rngs(0); din = dout = 8\n"
EQX = "import equinox as eqx\n"
HK = "import haiku as hk, jmp\n"
KERAS = "import keras\n"

CASES = [
    # TensorFlow 1.15
    Case(
        "config = tf.ConfigProto(); config.gpu_options.allow_growth = True; sess = tf.Session(config=config)",
        TF1,
    ),
    Case("config = tf.ConfigProto(log_device_placement=True)", TF1, "", "tf.Session(config=config)"),
    Case(
        "config.graph_options.rewrite_options.layout_optimizer = rewriter_config_pb2.RewriterConfig.OFF",
        TF1,
        "from tensorflow.core.protobuf import rewriter_config_pb2\nconfig = tf.ConfigProto()\n",
    ),
    Case("tf.get_default_graph().finalize()", TF1, SESSION),
    Case("y = tf.map_fn(f, x, parallel_iterations=1)", ANY, "x = tf.ones([6, 3]); f = lambda row: row * 2\n"),
    Case(
        "with tf.variable_scope('block', use_resource=True): y = tf.contrib.layers.recompute_grad(block)(x)",
        OLD1 + TF1,
        "def block(x): return tf.layers.dense(x, 4)\nx = tf.ones([2, 4])\n",
        "tf.gradients(y, tf.trainable_variables())",
    ),
    Case(
        "with tf.variable_scope('body', use_resource=True): y = tf.contrib.layers.recompute_grad(body)(x)",
        OLD1 + TF1,
        "def body(x): return tf.layers.dense(x, 4)\nx = tf.ones([2, 4])\n",
        "tf.gradients(y, tf.trainable_variables())",
    ),
    Case("opt = tf.contrib.opt.LazyAdamOptimizer(1e-3)", TF1, SESSION, "opt.minimize(loss)"),
    Case(
        "model.compile(..., options=run_opts, run_metadata=tf.RunMetadata())",
        TF1,
        DENSE + "run_opts = tf.RunOptions(report_tensor_allocations_upon_oom=True)\n",
        "model.fit(np.ones((8, 8)), np.ones((8, 4)), verbose=0)",
        (("...", "'sgd', 'mse'"),),
    ),
    Case(
        "RunOptions(report_tensor_allocations_upon_oom=True))",
        TF1,
        SESSION + OPEN,
        "",
        (("RunOptions", "sess.run(out, {x_: x}, options=tf.RunOptions"),),
    ),
    Case(
        "md = tf.RunMetadata()\nsess.run(train_op, feed, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE,"
        " output_partition_graphs=True), run_metadata=md)\nopen('step.pb', 'wb').write(md.SerializeToString())",
        TF1,
        SESSION + "train_op = optimizer.minimize(loss); feed = {x_: x}\n" + OPEN,
    ),
    Case(
        "x = tf.layers.batch_normalization(x, training=is_training)\n"
        "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):\n"
        "    train_op = optimizer.minimize(loss)",
        TF1,
        SESSION + IMAGES + "is_training = tf.placeholder(tf.bool)\n",
    ),
    Case(
        "x = tf.layers.batch_normalization(x, training=is_training, fused=True)",
        TF1,
        IMAGES + "is_training = True\n",
    ),
    Case(
        ".experimental.enable_mixed_precision_graph_rewrite(opt)",
        TF1,
        "opt = tf.train.AdamOptimizer()\n",
        "",
        ((".experimental", "opt = tf.compat.v1.train.experimental"),),
    ),
    Case(
        "sess.run(train_op, feed_dict={x: batch})",
        TF1,
        SESSION + "train_op = optimizer.minimize(loss); batch = x; x = x_\n" + OPEN,
    ),
    Case(
        "for start in range(0, len(x), 100): sess.run(accuracy, {x_: x[start:start + 100], ...})",
        TF1,
        SESSION + "accuracy = loss\n" + OPEN,
        "",
        ((", ...", ""),),
    ),
    Case(
        "for start in range(0, len(x), 100): sess.run(fetch, {x_: x[start:start + 100]})",
        TF1,
        SESSION + "fetch = out\n" + OPEN,
    ),
    Case(
        "for i in range(0, n, 64): sess.run(train, {x_: x[i:i + 64].toarray()})",
        TF1,
        SESSION + "import scipy.sparse\nx = scipy.sparse.csr_matrix(x); n = 64; train = loss\n" + OPEN,
    ),
    Case("x = tf.cast(x_, tf.float32) / 255.", TF1, "x_ = tf.placeholder(tf.uint8, [None, 4])\n"),
    Case(
        "ds = tf.data.Dataset.from_generator(batches, tf.float32)",
        ANY,
        "def batches():\n    yield np.ones((2, 3), 'float32')\n",
    ),
    Case("ds = ds.batch(64).prefetch(2)", TF1, "ds = tf.data.Dataset.range(100)\n"),
    Case(
        "ds = ds.apply(tf.data.experimental.bucket_by_sequence_length(length, boundaries, sizes))",
        TF1,
        "ds = tf.data.Dataset.range(9).map(lambda n: tf.ones([n])); length = lambda x: tf.shape(x)[0]\n"
        "boundaries, sizes = [4], [2, 1]\n",
    ),
    Case(
        "with tf.device('/cpu:0'): table = tf.get_variable('embedding', [vocab, width])",
        TF1,
        "vocab, width = 100, 8\n",
    ),
    Case("with tf.device('/cpu:0'): table = tf.get_variable('table', [n, dim])", TF1, "n, dim = 100, 8\n"),
    Case("x = tf.nn.embedding_lookup(table, ids)", ANY, "table = tf.ones([9, 3]); ids = tf.constant([1])\n"),
    Case(
        "tf.nn.dynamic_rnn(cell, x, swap_memory=True)",
        TF1,
        "cell = tf.nn.rnn_cell.LSTMCell(4); x = tf.ones([2, 5, 3])\n",
        "",
        (("swap_memory=True", "swap_memory=True, dtype=tf.float32"),),
    ),
    Case(
        "saver = tf.train.Saver(tf.trainable_variables()); saver.save(sess, path)",
        TF1,
        SESSION + OPEN + "path = './w'\n",
    ),
    Case(
        "sess.run(train_op)   # not sess.run(grads)",
        TF1,
        "w = tf.get_variable('w', [2]); train_op = tf.train.AdamOptimizer().minimize(tf.reduce_sum(w))\n"
        + OPEN,
    ),
    Case(
        "y = np.concatenate([sess.run(part) for part in parts])",
        TF1,
        "parts = [tf.ones([2, 3])] * 3\n" + OPEN,
    ),
    Case("tf.test.is_gpu_available()", TF1),
    Case("x = tf.placeholder(tf.float32, [None, 224, 224, 3])", TF1),
    Case(
        "x = tf.layers.conv2d_transpose(x, filters, 4, strides=2, padding='same')",
        TF1,
        IMAGES + "filters = 4\n",
    ),
    Case(
        "x = tf.transpose(x, [0, 3, 1, 2]); conv = tf.layers.conv2d(x, ..., data_format='channels_first')",
        TF1,
        IMAGES,
        "",
        (("...", "4, 3"),),
    ),
    # TensorFlow 2
    Case(
        "('GPU'): tf.config.experimental.set_memory_growth(gpu, True)",
        TF2,
        "",
        "",
        (("('GPU')", "for gpu in tf.config.list_physical_devices('GPU')"),),
    ),
    Case("tf.config.list_physical_devices('GPU')", TF2),
    Case("tf.config.optimizer.set_experimental_options({'layout_optimizer': False})", TF2),
    Case("tf.config.set_visible_devices([], 'GPU')", TF2),
    Case(
        "tf.debugging.set_log_device_placement(True)", TF2, "", "tf.debugging.set_log_device_placement(False)"
    ),
    *(
        Case(
            "tf.keras.mixed_precision.set_global_policy('",
            TF2,
            "",
            f"{DENSE}assert model(np.ones((2, 8))).dtype == tf.{half}\n"
            "tf.keras.mixed_precision.set_global_policy('float32')",
            (("policy('", f"policy('mixed_{half}')"),),
        )
        for half in ("float16", "bfloat16")
    ),
    Case(
        "block = tf.recompute_grad(block)",
        TF2,
        "layer = tf.keras.layers.Dense(4); layer.build((2, 4))\ndef block(x): return layer(x)\n",
        "x = tf.ones([2, 4])\nwith tf.GradientTape() as tape:\n    out = block(x)\n"
        "assert tape.gradient(out, layer.trainable_variables)[0] is not None",
    ),
    Case("body = tf.recompute_grad(body)", TF2, "def body(x): return x * 2\n", "body(tf.ones([2]))"),
    Case("x = bn(x, training=True)", TF2, IMAGES + "bn = tf.keras.layers.BatchNormalization()\n"),
    Case("x = tf.keras.layers.BatchNormalization(fused=True)(x)", OLD2, IMAGES),
    Case(
        "parts = [f(x[start:start + 1024]) for start in range(0, len(x), 1024)]",
        TF2,
        "x = tf.ones([3000, 2]); f = tf.reduce_sum\n",
    ),
    Case(
        "tf.profiler.experimental.start('logdir'); train_one_step(); tf.profiler.experimental.stop()",
        TF2,
        "def train_one_step(): return tf.ones([3]) * 2\n",
    ),
    Case("dataset.batch(n, drop_remainder=True)", ANY, "dataset = tf.data.Dataset.range(9); n = 2\n"),
    Case("tf.keras.optimizers.Adam(clipnorm=1.0)", TF2),
    Case("with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)", TF2, DATA),
    Case(
        "with tf.device('CPU:0'): val = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(32)",
        TF2,
        DATA + "x_val, y_val = x, y\n",
    ),
    Case(
        "dataset = tf.data.Dataset.from_generator(batches, output_signature=...)",
        TF2,
        "def batches():\n    yield np.ones((2, 3), 'float32')\n",
        "next(iter(dataset))",
        (("...", "tf.TensorSpec([None, 3], tf.float32)"),),
    ),
    Case("x = tf.keras.layers.GlobalAveragePooling2D()(x)", ANY, IMAGES),
    Case("x = x.astype('float32'); tf.keras.backend.set_floatx('float32')", ANY, "x = np.ones(3)\n"),
    Case("tf.keras.layers.SpatialDropout2D(rate)", ANY, "rate = .5\n"),
    Case("del model; tf.keras.backend.clear_session(); gc.collect()", ANY, DENSE),
    Case("del model; gc.collect(); tf.keras.backend.clear_session()", ANY, DENSE),
    Case(
        "del model; tf.keras.backend.clear_session(); model = build(); model.load_weights(path)",
        TF2,
        DENSE + "path = './m.weights.h5'; model.save_weights(path)\ndef build():\n"
        "    return tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(8,))])\n",
    ),
    Case("buffer = collections.deque(maxlen=500); buffer.append(y.numpy())", TF2, "y = tf.ones([2])\n"),
    Case(
        "data = names.shuffle(10_000).map(decode)",
        TF2,
        "names = tf.data.Dataset.range(5); decode = lambda n: n\n",
    ),
    Case("ds.batch(n).prefetch(1)", ANY, "ds = tf.data.Dataset.range(5); n = 2\n"),
    Case("history.append(float(loss))", TF2, "history, loss = [], tf.reduce_sum(tf.ones([2]))\n"),
    Case("losses.append(float(loss))", TF2, "losses, loss = [], tf.reduce_sum(tf.ones([2]))\n"),
    Case(
        "model.fit(..., validation_batch_size={})",
        TF2,
        DENSE + DATA + "model.compile('sgd', 'mse')\n",
        "",
        (("...", "x, y, validation_data=(x, y), verbose=0"), ("{}", "8")),
    ),
    Case("model.predict(x, batch_size={})", ANY, DENSE + DATA, "", (("{}", "8"),)),
    Case("for layer in base.layers[:-30]: layer.trainable = False", ANY, DENSE + "base = model\n"),
    Case(
        "@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])",
        TF2,
        "",
        "def step(x): return x + 1\nstep(tf.ones([2, 3], tf.int32))",
    ),
    Case(
        "@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])",
        TF2,
        "",
        "def step(x): return x + 1\nstep(tf.ones([2, 3]))",
    ),
    Case("x = np.load('x.npy', mmap_mode='r')", ANY, "np.save('x.npy', np.ones(3))\n"),
    Case("x = np.asarray(x, dtype=np.float32)", ANY, "x = [1.]\n"),
    Case("x = tf.keras.layers.Dense(filters)(x)", ANY, IMAGES + "filters = 4\n"),
    Case(
        "tf.keras.backend.set_image_data_format('channels_first')",
        ANY,
        "",
        "tf.keras.backend.set_image_data_format('channels_last')",
    ),
    Case("x = tf.ensure_shape(x, [None, 224, 224, 3])", ANY, "x = tf.ones([1, 224, 224, 3])\n"),
    Case(
        "x = tf.keras.layers.Conv2DTranspose(filters, 4, strides=2, padding='same')(x)",
        ANY,
        IMAGES + "filters = 4\n",
    ),
    Case("x = tf.maximum(x, 0.2 * x)", ANY, IMAGES),
    Case("x = tf.slice(x, [0, 1, 1, 0], [-1, h - 2, w - 2, -1])", ANY, IMAGES + "h = w = 8\n"),
    Case(
        "e = tf.exp(x - tf.reduce_max(x, 3, keepdims=True)); x = e / tf.reduce_sum(e, 3, keepdims=True)",
        ANY,
        IMAGES,
    ),
    Case(
        "tf.data.Dataset.bucket_by_sequence_length(length, boundaries, batch_sizes)",
        TF2,
        "ds = tf.data.Dataset.range(9).map(lambda n: tf.ones([n])); length = lambda x: tf.shape(x)[0]\n"
        "boundaries, batch_sizes = [4], [2, 1]\n",
        "",
        (("tf.data.Dataset.bucket", "ds.bucket"),),
    ),
    Case(
        "ds = ds.bucket_by_sequence_length(length, boundaries, batch_sizes)",
        TF2,
        "ds = tf.data.Dataset.range(9).map(lambda n: tf.ones([n])); length = lambda x: tf.shape(x)[0]\n"
        "boundaries, batch_sizes = [4], [2, 1]\n",
    ),
    Case(
        "total = [a + b for a, b in zip(total, tape.gradient(loss, weights))]",
        TF2,
        "weights = [tf.Variable(tf.ones([2]))]; total = [tf.zeros([2])]\n"
        "with tf.GradientTape() as tape: loss = tf.reduce_sum(weights[0])\n",
    ),
    Case(
        "squares = tf.reduce_sum(x * x, -1)\n"
        "distances = squares[:, None] + squares[None, :] - 2 * tf.matmul(x, x, transpose_b=True)",
        ANY,
        "x = tf.ones([5, 3])\n",
    ),
    Case(
        "y_true = tf.reshape(y_true, tf.shape(y_pred))",
        ANY,
        "y_true, y_pred = tf.ones([5]), tf.ones([5, 1])\n",
    ),
    Case(
        "out[i : i + len(part)] = part", TF2, "out, i, part = np.zeros((9, 2)), 3, tf.ones([2, 2]).numpy()\n"
    ),
    Case(
        "y = tf.map_fn(lambda image: sums_of_patches(image[None])[0], images)",
        ANY,
        IMAGES + "images = x; sums_of_patches = lambda x: x * 2\n",
    ),
    Case(
        "y = tf.nn.conv2d(images, weights, strides=1, padding='SAME')",
        ANY,
        IMAGES + "images = x; weights = tf.ones([3, 3, 3, 4])\n",
    ),
    Case("best = [w.numpy() for w in model.weights]; tf.keras.backend.clear_session()", TF2, DENSE),
    Case("best = model.get_weights()", ANY, DENSE),
    Case("tf.keras.backend.clear_session()", ANY),
    Case(
        "tape.jacobian(y, x, experimental_use_pfor=False)",
        TF2,
        "x = tf.ones([3])\nwith tf.GradientTape(persistent=True) as tape:\n    tape.watch(x); y = x * x\n",
    ),
    Case(
        "loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
        ANY,
        LOGITS,
        "loss(ids, logits)",
    ),
    Case("tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)", ANY, LOGITS),
    Case(
        "tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled=1024, num_classes=vocab)",
        ANY,
        "vocab = 3000; weights = tf.ones([vocab, 8]); biases = tf.zeros([vocab])\n"
        "labels = tf.ones([4, 1], tf.int64); inputs = tf.ones([4, 8])\n",
    ),
    Case(
        "tf.feature_column.embedding_column(column, dimension=32)",
        TF1 + OLD2,
        "column = tf.feature_column.categorical_column_with_identity('user', 100)\n",
    ),
    Case("tf.keras.layers.Embedding(values, 32)(ids)", ANY, LOGITS + "values = 10\n"),
    Case("x = tf.gather(embedding_table, ids)", ANY, LOGITS + "embedding_table = tf.ones([10, 4])\n"),
    Case(
        "h = tf.sparse.sparse_dense_matmul(adjacency, h)",
        ANY,
        "adjacency = tf.SparseTensor([[0, 1]], [1.], [3, 3]); h = tf.ones([3, 2])\n",
    ),
    Case(
        "y = tf.sparse.sparse_dense_matmul(a, x)",
        ANY,
        "a = tf.SparseTensor([[0, 1]], [1.], [3, 3]); x = tf.ones([3, 2])\n",
    ),
    Case(
        "model.predict(x, batch_size=100); dataset = tf.data.Dataset.from_tensor_slices(x).batch(100)",
        ANY,
        DENSE + DATA,
    ),
    Case("y = model.predict(x, batch_size=32)", ANY, DENSE + DATA),
    Case("np.concatenate([model(b).numpy() for b in batches])", TF2, DENSE + DATA + "batches = [x, x]\n"),
    Case(
        "for x in ds: out.append(np.argmax(model.predict_on_batch(x), -1).astype('uint8'))",
        TF2,
        DENSE + DATA + "out, ds = [], tf.data.Dataset.from_tensor_slices(x).batch(8)\n",
    ),
    Case(
        "for x in batches: out.append(np.argmax(model.predict_on_batch(x), -1).astype('uint8'))",
        TF1,
        DENSE + DATA + "out, batches = [], [x]\n",
    ),
    Case(
        "ds = tf.data.Dataset.from_generator(images, ...).map(lambda x: tf.image.resize(x, size)).batch(32)",
        TF2,
        "def images():\n    yield np.ones((8, 8, 3), 'uint8')\nsize = (4, 4)\n",
        "next(iter(ds))",
        (("...", "output_signature=tf.TensorSpec([None, None, 3], tf.uint8)"),),
    ),
    Case("ds = ds.cache('/local/cache')", ANY, "ds = tf.data.Dataset.range(3)\n"),
    Case(
        "ds = files.shuffle(len_files).interleave(read).shuffle(1000).map(decode).batch(32)",
        TF2,
        "files = tf.data.Dataset.range(5); len_files = 5; read = tf.data.Dataset.from_tensors; decode = lambda n: n\n",
    ),
    Case("ds = ds.batch(64).prefetch(tf.data.AUTOTUNE)", TF2, "ds = tf.data.Dataset.range(9)\n"),
    Case("x = np.lib.format.open_memmap('x.npy', 'w+', np.uint8, shape)", ANY, "shape = (3, 2)\n"),
    Case(
        "ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))",
        TF2,
        "ds = tf.data.Dataset.from_tensor_slices((np.ones((3, 2), 'uint8'), np.ones(3)))\n",
    ),
    Case("np.divide(x, 255, out=x)", ANY, "x = np.ones(3, 'float32')\n"),
    Case(
        "ds = ds.filter(lambda x, y: tf.shape(x)[0] <= longest)",
        TF2,
        "ds = tf.data.Dataset.range(9).map(lambda n: (tf.ones([n]), n)); longest = 4\n",
    ),
    Case("x = ragged.to_tensor(shape=[None, 512])", TF2, "ragged = tf.ragged.constant([[1], [2, 3]])\n"),
    Case(
        "x = pad_sequences(x, maxlen=512, truncating='post')",
        TF1,
        "x = [[1], [2, 3]]; pad_sequences = tf.keras.preprocessing.sequence.pad_sequences\n",
    ),
    Case(
        "def make(context): return files.batch(context.get_per_replica_batch_size(GLOBAL))",
        TF2,
        "GLOBAL = 8; files = tf.data.Dataset.range(9)\n",
        "tf.distribute.MirroredStrategy(['CPU:0']).distribute_datasets_from_function(make)",
    ),
    Case(
        "ids = tf.keras.layers.StringLookup(vocabulary=words)(x); x = tf.keras.layers.Embedding(n, 32)(ids)",
        TF2,
        "words, n, x = ['a', 'b'], 9, tf.constant(['a'])\n",
    ),
    Case(
        "grads = [tf.stop_gradient(g) for g in inner_tape.gradient(loss, weights)]",
        TF2,
        "weights = [tf.Variable(1.)]\nwith tf.GradientTape() as inner_tape: loss = weights[0] * 2\n",
    ),
    Case(
        "g1, g2 = tape.gradient(loss, [w1, w2])",
        TF2,
        "w1, w2 = tf.Variable(1.), tf.Variable(1.)\nwith tf.GradientTape() as tape: loss = w1 * w2\n",
    ),
    Case(
        "iou = tf.map_fn(lambda gt: pairwise_iou(anchors, gt), gt_boxes)",
        ANY,
        "anchors, gt_boxes = tf.ones([5, 4]), tf.ones([2, 3, 4])\n"
        "pairwise_iou = lambda a, b: tf.reduce_sum(a[:, None] * b[None], -1)\n",
    ),
    Case(
        "d = tf.reduce_sum(a*a, -1)[:, None] + tf.reduce_sum(b*b, -1)[None] - 2 * tf.matmul(a, b, transpose_b=True)",
        ANY,
        "a, b = tf.ones([5, 3]), tf.ones([4, 3])\n",
    ),
    Case("y = x[:, None] + z", ANY, "x, z = tf.ones([2, 3]), tf.ones([2, 5, 3])\n"),
    Case("y = tf.map_fn(f, x, parallel_iterations=4)", ANY, "x = tf.ones([6, 3]); f = lambda row: row * 2\n"),
    Case(
        "x = tf.linalg.experimental.conjugate_gradient(operator, b).x",
        TF2,
        "operator = tf.linalg.LinearOperatorFullMatrix(tf.eye(3), is_self_adjoint=True, is_positive_definite=True)\n"
        "b = tf.ones([3])\n",
    ),
    Case("x = tf.linalg.solve(a, b)", ANY, "a, b = tf.eye(3), tf.ones([3, 1])\n"),
    Case("y = np.concatenate([part.numpy() for part in parts])", TF2, "parts = [tf.ones([2, 3])] * 3\n"),
    Case("with tf.device('CPU:0'): table = tf.keras.layers.Embedding(n, dim)", TF2, "n, dim = 9, 4\n"),
    Case(
        "del history, y; gc.collect(); model.save_weights('w.weights.h5')",
        TF2,
        DENSE + DATA + "history = 1\n",
    ),
    Case(
        "TensorBoard(log_dir, histogram_freq=0)",
        ANY,
        "TensorBoard = tf.keras.callbacks.TensorBoard; log_dir = './logs'\n",
    ),
    Case("model.compile(..., jit_compile=False)", TF2, DENSE, "", (("...", "'sgd', 'mse'"),)),
    Case(
        "tf.config.threading.set_inter_op_parallelism_threads(1)",
        TF2,
        "import subprocess, sys\n",
        "",
        (
            (
                "tf.config.threading.set_inter_op_parallelism_threads(1)",
                "subprocess.check_call([sys.executable, '-c', 'import tensorflow as tf;"
                " tf.config.threading.set_inter_op_parallelism_threads(1); tf.ones(1)'])",
            ),
        ),
    ),
    # JAX and libraries on top of it
    Case(
        "loss(jax.tree.map(lambda w: w.astype(jnp.bfloat16), params), x.astype(jnp.bfloat16))",
        JAX,
        NET + "loss = lambda p, x: (x @ p['w']).sum()\n",
    ),
    Case("y = jax.checkpoint(block)(x)", JAX, NET),
    Case(
        "step = jax.jit(step, donate_argnums=(0, 1))   # jax.pmap takes it, too",
        JAX,
        NET + "opt_state = jnp.ones(3)\ndef step(p, s, x): return p, s * 2\n",
        "params, opt_state = step(params, opt_state, x)",
    ),
    Case(
        "y = jax.lax.map(f, xs, batch_size=256)   # f of one row, on 256 rows at a time",
        JAX,
        NET + "f = lambda r: r.sum()\n",
    ),
    Case("y = jax.lax.map(f, x, batch_size=256)", JAX, NET + "f = lambda r: (r - x).sum()\n"),
    Case(
        "g = jax.lax.map(per_example, xs, batch_size=16)",
        JAX,
        NET + "per_example = lambda x: jax.grad(lambda w: (x @ w).sum())(params['w'])\n",
    ),
    Case(
        "rows = jax.lax.map(row, basis, batch_size=64)",
        JAX,
        "basis = jnp.eye(128); _, pull = jax.vjp(jnp.tanh, jnp.ones(128)); row = lambda v: pull(v)[0]\n",
    ),
    Case(
        "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
        JAX,
        NET + "body = lambda c, x: (c, x); carry = 0.\n",
    ),
    Case(
        "losses = jax.lax.map(jax.checkpoint(loss_of_part), parts)",
        JAX,
        "parts = jnp.ones((4, 3)); loss_of_part = jnp.sum\n",
    ),
    Case(
        "loss = jax.lax.map(jax.checkpoint(loss_of_part), (h_parts, label_parts)).sum()",
        JAX,
        "h_parts = jnp.ones((4, 8, 3)); label_parts = jnp.ones((4, 8), int)\n"
        "def loss_of_part(pair): h, labels = pair; return h.sum()\n",
    ),
    Case(
        "d2 = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T",
        JAX,
        "x, y = jnp.ones((5, 3)), jnp.ones((4, 3))\n",
    ),
    Case("out = jax.nn.dot_product_attention(q, k, v)", JAX, "q = k = v = jnp.ones((2, 8, 4, 16))\n"),
    Case(
        "out = jax.nn.dot_product_attention(q, k, v, is_causal=True)",
        JAX,
        "q = k = v = jnp.ones((2, 8, 4, 16))\n",
    ),
    Case(
        "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)",
        JAX,
        "import optax\nlogits, labels = jnp.ones((4, 9)), jnp.ones(4, int)\n",
    ),
    Case(
        "tx = optax.MultiSteps(tx, every_k_schedule=2)",
        JAX,
        "import optax\ntx = optax.sgd(.1)\n",
        "tx.init({'w': jnp.ones(3)})",
    ),
    Case(
        "tx = optax.adamw(1e-3, mu_dtype=jnp.bfloat16)",
        JAX,
        "import optax\n",
        "assert tx.init({'w': jnp.ones(3)})[0].mu['w'].dtype == jnp.bfloat16",
    ),
    Case("tx = optax.adafactor(1e-3)", JAX, "import optax\n", "tx.init({'w': jnp.ones((3, 3))})"),
    Case("optax.lbfgs(memory_size=3)", JAX, "import optax\n"),
    Case("params = jax.tree.map(lambda w: w.astype(np.float16), params)", JAX, NET),
    Case("params = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)", JAX, NET),
    Case(
        "params = jax.jit(init, out_shardings=shardings)(key)",
        JAX,
        MESH + "init = lambda key: {'w': jax.random.normal(key, (8, 4)), 'step': jnp.zeros(())}\n"
        "shardings = jax.tree.map(lambda leaf: NamedSharding(mesh, P('data') if leaf.ndim else P()),"
        " jax.eval_shape(init, key))\n",
    ),
    Case("params = jax.jit(model.init)(key, x[:1])", JAX, FLAX + NET + "model = nn.Dense(4)\n"),
    Case(
        "hvp = lambda v: jax.jvp(jax.grad(loss), (w,), (v,))[1]",
        JAX,
        "w = jnp.ones(3); loss = lambda w: (w ** 2).sum()\n",
        "hvp(w)",
    ),
    Case("y, pull = jax.vjp(f, x); row = pull(v)", JAX, "f = jnp.tanh; x = v = jnp.ones(3)\n"),
    Case(
        "with jax.default_device(jax.devices('cpu')[0]): params = load()", JAX, "load = lambda: jnp.ones(3)\n"
    ),
    Case(
        "split = lambda w: P('data') if w.ndim and w.shape[0] % mesh.size == 0 else P()\n"
        "state = jax.tree.map(lambda w: jax.device_put(w, NamedSharding(mesh, split(w))), state)",
        JAX,
        MESH + "state = {'w': jnp.ones((8, 4)), 'b': jnp.ones(7), 'step': jnp.zeros((), int)}\n",
    ),
    Case("x = jax.device_put(x, NamedSharding(mesh, P('data')))", JAX, MESH + "x = jnp.ones((8, 4))\n"),
    Case("x = jax.device_put(batch_uint8)", JAX, "batch_uint8 = np.ones((4, 8), 'uint8')\n"),
    Case("batch = jax.device_put(data[i : i + 256])", JAX, "data, i = np.ones((512, 8)), 0\n"),
    Case(
        "x = x_uint8[i : i + 256].astype(jnp.float32) / 255",
        JAX,
        "x_uint8, i = jnp.ones((512, 8), jnp.uint8), 0\n",
    ),
    Case(
        "s, _ = jax.lax.scan(jax.checkpoint(lambda s, c: (step(s, c), None)), s, controls)",
        JAX,
        "step = lambda s, c: s + c; s = jnp.ones(3); controls = jnp.ones((5, 3))\n",
    ),
    Case(
        "write = jax.jit(lambda x, v: x.at[i].set(v), donate_argnums=0)",
        JAX,
        "i = 0\n",
        "write(jnp.ones(3), 1.)",
    ),
    Case(
        "out = jax.lax.fori_loop(0, blocks, add_block, out)",
        JAX,
        "blocks, out = 3, jnp.zeros(4); add_block = lambda i, o: o + i\n",
    ),
    Case(
        "y = A @ x",
        JAX,
        "from jax.experimental import sparse\nA = sparse.BCOO.fromdense(jnp.eye(3)); x = jnp.ones(3)\n",
    ),
    Case(
        "apply = jax.jit(model.apply); parts = [apply(params, part) for part in parts_of(x)]",
        JAX,
        FLAX
        + NET
        + "model = nn.Dense(4); params = model.init(key, x); parts_of = lambda x: np.array_split(x, 4)\n",
    ),
    Case("u, s, vt = jnp.linalg.svd(a, full_matrices=False)", JAX, "a = jnp.ones((5, 3))\n"),
    Case("x, _ = jax.scipy.sparse.linalg.cg(matvec, b)", JAX, "matvec = lambda v: 2 * v; b = jnp.ones(3)\n"),
    Case("order = jax.random.permutation(key, len(x)); batch = x[order[i : i + 256]]", JAX, NET + "i = 0\n"),
    Case("f = jnp.fft.rfftn(x)", JAX, NET),
    Case(
        "h = (nodes @ w_s)[senders] + (nodes @ w_r)[receivers]",
        JAX,
        "nodes, w_s, w_r = jnp.ones((5, 3)), jnp.ones((3, 4)), jnp.ones((3, 4)); senders = receivers = jnp.array([0, 1])\n",
    ),
    Case("jax.profiler.save_device_memory_profile('memory.prof')", JAX, "keep = jnp.ones(3)\n"),
    Case("jax.config.update('jax_cpu_enable_async_dispatch', False)", JAX),
    Case("jax.config.update('jax_enable_x64', False)", JAX),
    Case("del x; jax.clear_caches()", JAX, "x = jnp.ones(3)\n"),
    Case("history.append(float(loss))", JAX, "history, loss = [], jnp.ones(())\n"),
    Case("def step(params, opt_state, data, idx): x = data[idx]", JAX, "", "step(1, 2, jnp.ones(3), 0)"),
    Case(
        "parts = [np.asarray(apply(params, part)) for part in np.array_split(x, ",
        JAX,
        NET + "apply = lambda p, x: x @ p['w']\n",
        "",
        (("(x, ", "(x, 4)]"),),
    ),
    Case(
        "pl.pallas_call(..., compiler_params=pltpu.CompilerParams(vmem_limit_bytes=...))",
        JAX,
        "from jax.experimental import pallas as pl\nfrom jax.experimental.pallas import tpu as pltpu\n",
        "",
        (
            ("vmem_limit_bytes=...", "vmem_limit_bytes=1 << 25"),
            ("...", "lambda x_ref, o_ref: None, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32)"),
        ),
    ),
    Case("nn.Dense(features, dtype=jnp.bfloat16)", JAX, FLAX + "features = 4\n"),
    Case("nn.Dense(features, param_dtype=jnp.bfloat16)", JAX, FLAX + "features = 4\n"),
    Case(
        "Block = nn.remat(Block)",
        JAX,
        FLAX
        + NET
        + "class Block(nn.Module):\n    @nn.compact\n    def __call__(self, x): return nn.Dense(4)(x)\n",
        "Block().init(key, x)",
    ),
    Case("nnx.Linear(din, dout, dtype=jnp.bfloat16, rngs=rngs)", JAX, NNX),
    Case("nnx.Linear(din, dout, param_dtype=jnp.bfloat16, rngs=rngs)", JAX, NNX),
    Case(
        "y = nnx.remat(lambda block, x: block(x))(self.block, x)",
        JAX,
        NNX + NET + "class Net(nnx.Module): pass\nself = Net(); self.block = nnx.Linear(8, 8, rngs=rngs)\n",
    ),
    Case(
        "@nnx.jit(donate_argnums=(0, 1))",
        JAX,
        NNX,
        "def step(model, other, x): return model(x)\n"
        "step(nnx.Linear(8, 8, rngs=rngs), nnx.Linear(8, 8, rngs=rngs), jnp.ones((2, 8)))",
    ),
    Case(
        "hk.mixed_precision.set_policy(Block, jmp.get_policy('p=f32,c=bf16,o=f32'))",
        JAX,
        HK + "Block = hk.Linear\n",
    ),
    Case(
        "hk.mixed_precision.set_policy(Block, jmp.get_policy('p=bf16,c=bf16,o=f32'))",
        JAX,
        HK + "Block = hk.Linear\n",
    ),
    Case(
        "y = hk.remat(block)(x)",
        JAX,
        HK + NET,
        "",
        (
            (
                "y = hk.remat(block)(x)",
                "def net(x):\n    block = hk.Linear(4)\n    y = hk.remat(block)(x)\n    return y\nhk.transform(net).init(key, x)",
            ),
        ),
    ),
    Case("@eqx.filter_jit(donate='all')", JAX, EQX, "def step(x): return x * 2\nstep(jnp.ones(3))"),
    Case(
        "y = eqx.filter_checkpoint(block)(x)",
        JAX,
        EQX + "block = eqx.nn.Linear(4, 4, key=key); x = jnp.ones(4)\n",
    ),
    Case("eqx.nn.Linear(din, dout, dtype=jnp.bfloat16, key=key)", JAX, EQX + "din = dout = 4\n"),
    Case(
        "keras.config.set_dtype_policy('mixed_bfloat16')",
        JAX,
        KERAS,
        "keras.config.set_dtype_policy('float32')",
    ),
    Case(
        "with keras.RematScope(mode='full'): model = build()",
        JAX,
        KERAS + "def build():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\n",
    ),
    Case(
        "optimizer = keras.optimizers.Adam(..., gradient_accumulation_steps=2)",
        JAX,
        KERAS,
        "",
        (("...", "1e-3"),),
    ),
    Case(
        "model.compile(..., loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))",
        JAX,
        KERAS + "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\n",
        "",
        (("...", "'sgd'"),),
    ),
    Case(
        "MCMC(kernel, num_warmup=..., num_samples=500, thinning=4)",
        JAX,
        "from numpyro.infer import MCMC, NUTS\nkernel = NUTS(lambda: None)\n",
        "",
        (("...", "10"),),
    ),
    Case(
        "Predictive(model, part, return_sites=['obs'])",
        JAX,
        "from numpyro.infer import Predictive\nmodel, part = (lambda: None), {'a': jnp.ones(3)}\n",
    ),
    Case(
        "guide = AutoNormal(model)",
        JAX,
        "from numpyro.infer.autoguide import AutoNormal\nmodel = lambda: None\n",
    ),
    Case("saveat = diffrax.SaveAt(ts=ts[::10])", JAX, "import diffrax\nts = jnp.linspace(0, 1, 100)\n"),
    Case(
        "diffeqsolve(..., adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=32))",
        JAX,
        "import diffrax\n",
        "",
        (
            (
                "diffeqsolve(..., ",
                "diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, a: -y), diffrax.Tsit5(), 0, 1, .1, 1., ",
            ),
        ),
    ),
    Case(
        "ocp.CheckpointManager(path, options=ocp.CheckpointManagerOptions(max_to_keep=1))",
        JAX,
        "import orbax.checkpoint as ocp, os\npath = os.path.abspath('ckpt')\n",
    ),
    Case(
        "shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state); del state",
        JAX,
        "import orbax.checkpoint as ocp\nstate = {'w': jnp.ones(3)}\n",
    ),
]
"""Every line of Python that a page may print and that runs without a GPU, a TPU or a second machine."""

CHILD = r"""
import json, sys, os, traceback
cases = json.load(open(sys.argv[1]))
base = {}
if sys.argv[2].startswith("tf"):
    exec("import collections, gc, numpy as np, tensorflow as tf", base)
else:
    exec("import collections, gc, numpy as np, jax, jax.numpy as jnp; key = jax.random.PRNGKey(0)", base)
results = []
for index, program in cases:
    if sys.argv[2].startswith("tf1"):
        base["tf"].keras.backend.clear_session()
        base["tf"].reset_default_graph()
    try:
        exec(program, dict(base))
        results.append([index, ""])
    except Exception as error:
        results.append([index, "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0][:300])])
json.dump(results, open(sys.argv[3], "w"))
"""


def printed() -> list[str]:
    """Every string constant of the package's rules."""
    found = []
    for file in (ROOT / "tfmemlens" / "findings").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def program(case: Case) -> str:
    """The line with the program around it."""
    code = case.code
    for old, new in case.fill:
        code = code.replace(old, new)
    return f"{case.before}{code}\n{case.after}\n"


def run(environment: str, python: Path, cases: list[tuple[int, str]]) -> dict[int, str]:
    """What each program of an environment ended with: nothing, or its error."""
    with tempfile.TemporaryDirectory() as folder:
        given, child, out = (Path(folder) / name for name in ("cases.json", "child.py", "out.json"))
        given.write_text(json.dumps(cases), encoding="utf-8")
        child.write_text(CHILD, encoding="utf-8")
        known = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "KERAS_BACKEND": "jax",
        }
        if environment.startswith("tf"):
            del known["KERAS_BACKEND"]
        ended = subprocess.run([str(python), child, given, environment, out], cwd=folder, env=known,
                               capture_output=True, text=True, timeout=1800)  # fmt: skip
        if not out.exists():
            raise SystemExit(f"{environment}: {ended.stderr[-2000:]}")
        return dict(json.loads(out.read_text(encoding="utf-8")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="ENV=PATH")
    parser.add_argument("--only", default="", help="cases whose line holds this")
    args = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in args.python)
    strings, counted = printed(), Counter[str]()
    gone = [case.code for case in CASES if not any(case.code in each for each in strings)]
    for environment in (*OLD1, *ANY, *JAX):
        python = Path(pythons.get(environment, ENVIRONMENTS / environment / "bin" / "python"))
        asked = [
            (index, program(case))
            for index, case in enumerate(CASES)
            if environment in case.where and args.only in case.code and case.code not in gone
        ]
        if not python.exists() or not asked:
            print(f"{environment}: nothing run")
            continue
        for index, error in run(environment, python, asked).items():
            missing = error.startswith("ModuleNotFoundError")
            if not error:
                counted["ran"] += 1
            else:
                counted["library missing" if missing else "failed"] += 1
                print(f"{environment}: {CASES[index].code.splitlines()[0][:90]}\n    {error}")
    for code in gone:
        print(f"stands nowhere: {code[:100]}")
    print(f"{len(CASES)} lines: " + ", ".join(f"{count} {what}" for what, count in sorted(counted.items())))
    return int(bool(counted["failed"] or gone))


if __name__ == "__main__":
    sys.exit(main())
