"""Small networks in TF1 graph style, one function each. They run in TensorFlow 1.10 to 2.21.

Each returns a Net: the loss, what to feed, and what a right explanation of its failure must say.
"""
from collections import namedtuple

import numpy as np
import tensorflow as tf

from oom_kit import tf1

Net = namedtuple("Net", "loss feed batch user_layer culprit")


def _image(batch, height, width, channels, name="images"):
    """A placeholder and an array for it."""
    shape = [batch, height, width, channels]
    return tf1.placeholder(tf.float32, shape, name), np.random.rand(*shape).astype(np.float32)


def _conv(x, name, filters, kernel=3, stride=1, relu=True):
    with tf1.variable_scope(name):
        weights = tf1.get_variable("weights", [kernel, kernel, int(x.shape[-1]), filters])
        biases = tf1.get_variable("biases", [filters], initializer=tf1.zeros_initializer())
        y = tf1.nn.bias_add(tf1.nn.conv2d(x, weights, strides=[1, stride, stride, 1], padding="SAME"), biases)
        return tf1.nn.relu(y) if relu else y


def _dense(x, name, units, relu=True):
    with tf1.variable_scope(name):
        weights = tf1.get_variable("weights", [int(x.shape[-1]), units])
        biases = tf1.get_variable("biases", [units], initializer=tf1.zeros_initializer())
        y = tf1.nn.bias_add(tf1.matmul(x, weights), biases)
        return tf1.nn.relu(y) if relu else y


def batch_normalization(x, training):
    """tf.layers.batch_normalization; written out for TensorFlow 2.16 and later, which ship no tf.layers."""
    try:
        layer = tf1.layers.batch_normalization
    except (AttributeError, ImportError):
        return _written_out_batch_normalization(x, training)
    return layer(x, training=True) if training else layer(x)


def _written_out_batch_normalization(x, training):
    with tf1.variable_scope(None, "batch_normalization"):
        def per_channel(name, value, trainable):
            return tf1.get_variable(name, [int(x.shape[-1])], trainable=trainable,
                                    initializer=tf1.constant_initializer(value))
        gamma, beta = per_channel("gamma", 1.0, True), per_channel("beta", 0.0, True)
        mean, variance = per_channel("moving_mean", 0.0, False), per_channel("moving_variance", 1.0, False)
        averages = {} if training else {"mean": mean, "variance": variance}
        return tf1.nn.fused_batch_norm(x, gamma, beta, is_training=bool(training), **averages)[0]


def unet(batch=2, height=192, width=320, training=False):
    """The flow-estimation U-Net of the founding question, with its names; training=False is as its author wrote it."""
    frames, frames_value = _image(batch, height, width, 9, "frames")
    target, target_value = _image(batch, height, width, 3, "target")
    with tf1.variable_scope("shared_model"):
        flow = _unet_layers(frames, training)
    loss = tf1.reduce_mean(tf1.abs(flow - target))
    return Net(loss, {frames: frames_value, target: target_value}, batch, "shared_model", (
        "the feature maps of the layers at full resolution (unet_00, 01, 02, 09, 10: "
        "[%d,%d,%d,64] float32 each, %d bytes) are all kept for the backward pass"
        % (batch, height, width, batch * height * width * 64 * 4)))


def _unet_layers(frames, training):
    height, width = tf1.shape(frames)[1], tf1.shape(frames)[2]

    def layer(layer_id, x, filters, stride=1, relu=True):
        inputs = int(x.shape[-1])
        with tf1.name_scope("unet_%02d" % layer_id):
            weights = tf1.get_variable("unet_conv_%02d_w" % layer_id, [3, 3, inputs, filters],
                                       initializer=tf1.random_normal_initializer(stddev=np.sqrt(2.0 / 9 / inputs)))
            biases = tf1.get_variable("unet_conv_%02d_b" % layer_id, [filters],
                                      initializer=tf1.constant_initializer(0))
            y = tf1.nn.bias_add(tf1.nn.conv2d(x, weights, strides=[1, stride, stride, 1], padding="SAME"), biases)
            y = batch_normalization(y, training)
            return tf1.nn.relu(y) if relu else y

    x = layer(0, frames, 64)
    x = layer(1, x, 64)
    full = layer(2, x, 64)
    x = layer(3, full, 128, stride=2)
    half = layer(4, x, 128)
    x = layer(5, half, 256, stride=2)
    x = layer(6, x, 256)
    x = tf1.image.resize_images(x, [height // 2, width // 2])
    x = layer(7, x, 128, relu=False)
    x = tf1.nn.relu(tf1.add(x, half))
    x = layer(8, x, 128)
    x = tf1.image.resize_images(x, [height, width])
    x = layer(9, x, 64, relu=False)
    x = tf1.nn.relu(tf1.add(x, full))
    x = layer(10, x, 64)
    return layer(11, x, 3)


def im2col(batch=4, side=256, channels=64):
    """Two convolutions whose backward pass needs the patch matrix of one image: shape [1, side*side, 9*channels]."""
    images, value = _image(batch, side, side, channels)
    x = _conv(images, "features", channels)
    x = _conv(x, "refine", channels)
    return Net(tf1.reduce_mean(tf1.square(x)), {images: value}, batch, "refine", (
        "the convolution's backward pass on the CPU unrolls one image into a patch matrix of shape [1,%d,%d] float32, "
        "%d bytes; it does not shrink with the batch" % (side * side, 9 * channels, side * side * 9 * channels * 4)))


def attention(batch=4, length=1024, heads=4, width=64):
    """One self-attention block; the scores of shape [batch, heads, length, length] are what is large."""
    shape = [batch, length, width]
    tokens = tf1.placeholder(tf.float32, shape, "tokens")
    with tf1.variable_scope("encoder/self_attention"):
        def split(name):
            flat = _dense(tf1.reshape(tokens, [-1, width]), name, width, relu=False)
            return tf1.transpose(tf1.reshape(flat, [batch, length, heads, width // heads]), [0, 2, 1, 3])
        query, key, value = split("query"), split("key"), split("value")
        scores = tf1.matmul(query, key, transpose_b=True, name="scores") / np.sqrt(width / heads)
        weights = tf1.nn.softmax(scores, name="weights")
        context = tf1.matmul(weights, value, name="context")
    return Net(tf1.reduce_mean(tf1.square(context)), {tokens: np.random.rand(*shape).astype(np.float32)}, batch,
               "encoder/self_attention", "the attention scores [%d,%d,%d,%d] float32 take %d bytes a copy and grow with "
               "the square of the sequence length" % (batch, heads, length, length, batch * heads * length ** 2 * 4))


def embedding(batch=32, length=64, vocabulary=40000, width=256):
    """A language model whose table is both embedding and output projection, so its gradient is dense."""
    words = tf1.placeholder(tf.int32, [batch, length], "words")
    with tf1.variable_scope("language_model"):
        table = tf1.get_variable("embedding", [vocabulary, width])
        states = tf1.nn.embedding_lookup(table, words, name="lookup")
        states = _dense(tf1.reshape(states, [-1, width]), "hidden", width)
        logits = tf1.matmul(states, table, transpose_b=True, name="logits")
        losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=tf1.reshape(words, [-1]), logits=logits)
    return Net(tf1.reduce_mean(losses), {words: np.random.randint(0, vocabulary, [batch, length])}, batch,
               "language_model/logits", "the logits over the vocabulary, [%d,%d] float32, take %d bytes a copy"
               % (batch * length, vocabulary, batch * length * vocabulary * 4))


def conv3d(batch=2, depth=32, side=64, channels=16):
    """A volumetric network."""
    shape = [batch, depth, side, side, 1]
    x = volume = tf1.placeholder(tf.float32, shape, "volume")
    for index in range(3):
        with tf1.variable_scope("volume_conv_%d" % index):
            weights = tf1.get_variable("weights", [3, 3, 3, int(x.shape[-1]), channels])
            x = tf1.nn.relu(tf1.nn.conv3d(x, weights, strides=[1] * 5, padding="SAME"))
    return Net(tf1.reduce_mean(x), {volume: np.random.rand(*shape).astype(np.float32)}, batch, "volume_conv_0",
               "volumes of shape [%d,%d,%d,%d,%d] float32, %d bytes each, are kept by every 3-D convolution"
               % (batch, depth, side, side, channels, batch * depth * side * side * channels * 4))


def deconv(batch=4, side=32, channels=64):
    """A decoder of transposed convolutions; on the CPU their forward pass needs a patch matrix."""
    x, value = _image(batch, side, side, channels, "code")
    feed = {x: value}
    for index in range(3):
        with tf1.variable_scope("decoder/up_%d" % index):
            grown = [batch, 2 * int(x.shape[1]), 2 * int(x.shape[2]), channels]
            weights = tf1.get_variable("weights", [5, 5, channels, int(x.shape[-1])])
            x = tf1.nn.relu(tf1.nn.conv2d_transpose(x, weights, grown, strides=[1, 2, 2, 1], padding="SAME"))
    return Net(tf1.reduce_mean(x), feed, batch, "decoder/up_2",
               "each transposed convolution doubles the side: the last map has shape %s float32" % x.shape.as_list())


def patches(batch=4, side=128, channels=16, window=11):
    """extract_image_patches copies every pixel once for each window position."""
    images, value = _image(batch, side, side, channels)
    with tf1.name_scope("unfold"):
        x = tf1.extract_image_patches(images, [1, window, window, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    x = _dense(tf1.reshape(x, [-1, int(x.shape[-1])]), "project", 8)
    return Net(tf1.reduce_mean(x), {images: value}, batch, "unfold", (
        "extract_image_patches makes [%d,%d,%d,%d] float32, %d bytes: %d times its input" % (
            batch, side, side, window ** 2 * channels, batch * side ** 2 * window ** 2 * channels * 4, window ** 2)))


def pairwise(points=12000, width=8):
    """All distances between points: one tensor that can never fit."""
    x = tf1.placeholder(tf.float32, [points, width], "points")
    with tf1.name_scope("pairwise"):
        z = _dense(x, "code", width)
        distances = tf1.matmul(z, z, transpose_b=True, name="distances")
    return Net(tf1.reduce_mean(distances), {x: np.random.rand(points, width).astype(np.float32)}, points, "pairwise",
               "one tensor, pairwise/distances [%d,%d] float32, wants %d bytes, more than the whole limit"
               % (points, points, points * points * 4))


def wide_dense(batch=8, units=4096):
    """Few activations, many weights: with Adam the weights and slots are nearly everything."""
    x = features = tf1.placeholder(tf.float32, [batch, units], "features")
    for index in range(2):
        x = _dense(x, "wide_%d" % index, units)
    return Net(tf1.reduce_mean(tf1.square(x)), {features: np.random.rand(batch, units).astype(np.float32)}, batch,
               "wide_0", "two kernels of [%d,%d] float32, %d bytes each; Adam keeps two more copies of each, and their "
               "gradients are a fourth: a smaller batch does not help" % (units, units, units * units * 4))


def dropout(batch=2048, units=4096):
    """Every dropout layer keeps a mask as large as the activation."""
    x = features = tf1.placeholder(tf.float32, [batch, 256], "features")
    for index in range(4):
        x = _dense(x, "block_%d" % index, units if index == 0 else int(x.shape[-1]) // 2)
        with tf1.name_scope("block_%d/" % index):
            x = tf1.nn.dropout(x, 0.5)
    return Net(tf1.reduce_mean(x), {features: np.random.rand(batch, 256).astype(np.float32)}, batch, "block_0",
               "besides each activation, dropout keeps a mask of the same shape; block_0 has [%d,%d]" % (batch, units))


def while_rnn(batch=64, length=100, units=256):
    """A hand-written recurrent net over tf.while_loop; every iteration pushes its tensors for the backward loop."""
    inputs = tf1.placeholder(tf.float32, [length, batch, units], "inputs")
    with tf1.variable_scope("rnn"):
        kernel = tf1.get_variable("kernel", [units, units])
        recurrent = tf1.get_variable("recurrent_kernel", [units, units])

        def cell(step, state):
            with tf1.name_scope("cell"):
                return step + 1, tf1.tanh(tf1.matmul(inputs[step], kernel) + tf1.matmul(state, recurrent))

        _, state = tf1.while_loop(lambda step, _: step < length, cell,
                                  [tf1.constant(0), tf1.zeros([batch, units])], parallel_iterations=1)
    return Net(tf1.reduce_mean(tf1.square(state)), {inputs: np.random.rand(length, batch, units).astype(np.float32)},
               batch, "rnn", "each of the %d iterations keeps its states and inputs for the backward loop, about "
               "[%d,%d] float32 (%d bytes) apiece" % (length, batch, units, batch * units * 4))


def dynamic_lstm(batch=64, length=120, units=256):
    """tf.nn.dynamic_rnn over an LSTM cell (TensorFlow 1 only)."""
    inputs = tf1.placeholder(tf.float32, [batch, length, 64], "inputs")
    outputs, _ = tf1.nn.dynamic_rnn(tf1.nn.rnn_cell.LSTMCell(units), inputs, dtype=tf.float32, scope="reader")
    logits = _dense(tf1.reduce_mean(outputs, axis=1), "classify", 10, relu=False)
    return Net(tf1.reduce_mean(tf1.square(logits)), {inputs: np.random.rand(batch, length, 64).astype(np.float32)},
               batch, "reader", "the LSTM keeps several tensors of [%d,%d] for each of its %d steps, so memory grows "
               "with batch x length" % (batch, units, length))


def towers(batch=8, side=96, channels=32, count=2):
    """Hand-written data parallelism: the same variables, one tower a device."""
    losses, feed = [], {}
    for index in range(count):
        with tf1.device("/cpu:%d" % index), tf1.name_scope("tower_%d" % index), \
                tf1.variable_scope("net", reuse=index > 0):
            images, value = _image(batch, side, side, channels)
            feed[images] = value
            x = _conv(_conv(images, "conv_a", channels), "conv_b", channels)
            losses.append(tf1.reduce_mean(tf1.square(x)))
    return Net(tf1.add_n(losses) / count, feed, batch, "net/conv_a",
               "%d towers hold their activations at the same time in one memory: [%d,%d,%d,%d] float32 each"
               % (count, batch, side, side, channels))


def two_branches(batch=4, side=192, channels=32):
    """Two independent branches on two devices want the same amount at the same time."""
    images, value = _image(batch, side, side, channels)
    sums = []
    for index in range(2):
        with tf1.device("/cpu:%d" % index), tf1.name_scope("branch_%d" % index):
            wide = tf1.tile(images, [1, 2, 2, 2], name="wide")
            sums.append(tf1.reduce_sum(tf1.sqrt(wide + float(index))))
    weight = tf1.get_variable("scale", [])
    return Net(weight * tf1.add_n(sums), {images: value}, batch, "branch_0", (
        "both branches ask for [%d,%d,%d,%d] float32 at once" % (batch, 2 * side, 2 * side, 2 * channels)))


def function_in_session(batch=16, side=64, channels=32):
    """A tf.function that is called, not inlined, inside a v1 Session."""
    images, value = _image(batch, side, side, channels)
    weights = tf1.get_variable("blocks/weights", [3, 3, channels, channels], use_resource=True)

    def blocks(x, w):
        for index in range(4):
            with tf1.name_scope("block_%d" % index):
                x = tf1.nn.relu(tf1.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"))
        return x

    return Net(tf1.reduce_mean(_not_inlined(blocks)(images, weights.read_value())), {images: value}, batch, "block_0",
               "inside the called function every block keeps [%d,%d,%d,%d] float32"
               % (batch, side, side, channels))


def _not_inlined(python_function):
    """tf.function with the attribute that keeps Grappler from inlining its calls."""
    from tensorflow.python.eager import function as eager_function
    if hasattr(eager_function, "defun_with_attributes"):  # up to 2.11
        return eager_function.defun_with_attributes(python_function, attributes={"_noinline": True})
    return tf.function(python_function, experimental_attributes={"_noinline": True})


def seq2seq(batch=32, length=20, units=128, vocabulary=2000):
    """An encoder and a decoder with attention, each a tf.while_loop over a TensorArray; the logits over the vocabulary are what is large."""
    words = tf1.placeholder(tf.int32, [batch, length], "words")
    with tf1.variable_scope("seq2seq"):
        table = tf1.get_variable("embedding", [vocabulary, units])
        inputs = tf1.transpose(tf1.nn.embedding_lookup(table, words), [1, 0, 2])
        memory = tf1.transpose(_recurrent(inputs, "encoder", units), [1, 0, 2])
        states = _recurrent(inputs, "decoder", units, memory)
        logits = _dense(tf1.reshape(states, [-1, units]), "project", vocabulary, relu=False)
    targets = tf1.reshape(tf1.transpose(words), [-1])
    losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    return Net(tf1.reduce_mean(losses), {words: np.random.randint(0, vocabulary, [batch, length])}, batch, "seq2seq/project",
               "the logits of all time steps, [%d,%d] float32, take %d bytes a copy" % (batch * length, vocabulary, batch * length * vocabulary * 4))


def _recurrent(inputs, name, units, memory=None):
    """A recurrent layer over [time, batch, width], with attention over `memory` [batch, time, units] where there is one: all states."""
    length, batch, width = inputs.shape.as_list()
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [width + units * (1 if memory is None else 2), units])
        given = tf1.TensorArray(tf.float32, length).unstack(inputs)
        made = tf1.TensorArray(tf.float32, length)

        def cell(step, state, made):
            parts = [given.read(step), state]
            if memory is not None:
                scores = tf1.nn.softmax(tf1.reduce_sum(memory * tf1.expand_dims(state, 1), -1))
                parts.append(tf1.reduce_sum(memory * tf1.expand_dims(scores, -1), 1))
            state = tf1.tanh(tf1.matmul(tf1.concat(parts, 1), kernel))
            return step + 1, state, made.write(step, state)

        _, _, made = tf1.while_loop(lambda step, *_: step < length, cell, [tf1.constant(0), tf1.zeros([batch, units]), made], parallel_iterations=1)
        return tf1.reshape(made.stack(), [length, batch, units])


def separable(batch=8, side=96, channels=32):
    """Depthwise separable convolutions with residual connections and global pooling, as in small mobile nets."""
    images, value = _image(batch, side, side, 3)
    x = _conv(images, "stem", channels, stride=2)
    for index in range(3):
        with tf1.variable_scope("block_%d" % index):
            depthwise = tf1.get_variable("depthwise", [3, 3, int(x.shape[-1]), 1])
            y = tf1.nn.relu6(tf1.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME"))
            x = x + _conv(y, "pointwise", channels, kernel=1, relu=False)
    logits = _dense(tf1.reduce_mean(x, [1, 2]), "classify", 10, relu=False)
    return Net(tf1.reduce_mean(tf1.square(logits)), {images: value}, batch, "stem", (
        "each block keeps maps of [%d,%d,%d,%d] float32 for the backward pass" % (batch, side // 2, side // 2, channels)))
