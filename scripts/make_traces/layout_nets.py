"""Networks that the LayoutOptimizer meets, in TF1 graph style for TensorFlow 1.10 to 2.21. Each returns its loss; nothing is run.

Keyword arguments are numbers: sizes, and switches for the edits that a remedy makes to the model.
"""
import numpy as np
import tensorflow as tf

import common_models_v1
from oom_kit import tf1

BATCH, SIDE = 4, 32


def _image(batch=BATCH, side=SIDE, channels=3, nchw=0, dtype=tf.float32, name="images"):
    shape = [batch, channels, side, side] if nchw else [batch, side, side, channels]
    return tf1.placeholder(dtype, shape, name)


def _variable(name, shape, dtype=tf.float32):
    return tf1.get_variable(name, shape, dtype, initializer=tf1.constant_initializer(0.1, dtype=dtype))


def _conv(x, name, filters, kernel=3, stride=1, nchw=0, bias=1):
    """Convolution and bias in a scope of their own."""
    with tf1.variable_scope(name):
        channels = int(x.shape[1 if nchw else 3])
        weights = _variable("weights", [kernel, kernel, channels, filters], x.dtype)
        strides = [1, 1, stride, stride] if nchw else [1, stride, stride, 1]
        form = "NCHW" if nchw else "NHWC"
        y = tf1.nn.conv2d(x, weights, strides=strides, padding="SAME", data_format=form)
        return tf1.nn.bias_add(y, _variable("biases", [filters], x.dtype), data_format=form) if bias else y


def _norm(x, name, fused=1, training=1, nchw=0):
    """Batch normalisation: the fused op, or written out with moments."""
    with tf1.variable_scope(name):
        size = [int(x.shape[1 if nchw else 3])]
        gamma, beta = _variable("gamma", size), _variable("beta", size)
        mean, variance = (tf1.get_variable(part, size, trainable=False) for part in ("moving_mean", "moving_variance"))
        if fused:
            averages = {} if training else {"mean": mean, "variance": variance}
            return tf1.nn.fused_batch_norm(x, gamma, beta, is_training=bool(training), data_format="NCHW" if nchw else "NHWC", **averages)[0]
        if training:
            mean, variance = tf1.nn.moments(x, [0, 2, 3] if nchw else [0, 1, 2])
        if nchw:
            mean, variance, beta, gamma = (tf1.reshape(part, [1, -1, 1, 1]) for part in (mean, variance, beta, gamma))
        return tf1.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)


def _classify(x, nchw=0, classes=10):
    """Global average, dense layer, cross entropy."""
    x = tf1.reduce_mean(x, [2, 3] if nchw else [1, 2], name="pooled")
    with tf1.variable_scope("logits"):
        logits = tf1.matmul(x, _variable("kernel", [int(x.shape[1]), classes], x.dtype)) + _variable("bias", [classes], x.dtype)
    labels = tf1.placeholder(tf.int64, [int(x.shape[0])], "labels")
    return tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf1.cast(logits, tf.float32)))


def unet(height=720, width=1280, batch=2, training=0):
    """The founding question's net, at its size."""
    frames = tf1.placeholder(tf.float32, [batch, height, width, 9], "frames")
    with tf1.variable_scope("shared_model"):
        return tf1.nn.l2_loss(common_models_v1._unet_layers(frames, bool(training)))


def resnet(fused=1, training=1, nchw=0, static=0):
    """Three residual blocks, one of them with a stride."""
    x = _image(nchw=nchw)
    if static:  # a feed may have any shape; after this nobody can doubt it
        x = tf1.reshape(x, x.shape.as_list())
    x = tf1.nn.relu(_norm(_conv(x, "stem", 16, nchw=nchw), "stem_bn", fused, training, nchw))
    for index, (filters, stride) in enumerate([(16, 1), (32, 2), (32, 1)]):
        with tf1.variable_scope("block_%d" % index):
            y = tf1.nn.relu(_norm(_conv(x, "conv_a", filters, stride=stride, nchw=nchw), "bn_a", fused, training, nchw))
            y = _norm(_conv(y, "conv_b", filters, nchw=nchw), "bn_b", fused, training, nchw)
            if stride > 1:
                x = _conv(x, "project", filters, 1, stride, nchw)
            x = tf1.nn.relu(x + y)
    return _classify(x, nchw)


def resize_decoder(transposed=0, nearest=0, nchw=0):
    """Up-sampling by resize and convolution, or by a transposed convolution."""
    x = tf1.nn.relu(_conv(_image(nchw=nchw), "encode", 16, stride=2, nchw=nchw))
    for index in range(2):
        with tf1.variable_scope("up_%d" % index):
            batch, side, channels = int(x.shape[0]), 2 * int(x.shape[2 if nchw else 1]), int(x.shape[1 if nchw else 3])
            if transposed:
                weights = _variable("kernel", [3, 3, channels, channels])
                grown = [batch, channels, side, side] if nchw else [batch, side, side, channels]
                strides = [1, 1, 2, 2] if nchw else [1, 2, 2, 1]
                x = tf1.nn.conv2d_transpose(x, weights, grown, strides=strides, padding="SAME", data_format="NCHW" if nchw else "NHWC")
            elif nearest:
                x = tf1.image.resize_nearest_neighbor(x, [side, side])
            else:
                x = tf1.image.resize_bilinear(x, [side, side])
            x = tf1.nn.relu(_conv(x, "conv", 16, nchw=nchw))
    return tf1.reduce_mean(tf1.square(x))


def dropout(keep_off=0):
    """Dropout between convolutions: the mask is made by a random op that knows no layout."""
    x = _image()
    for index in range(3):
        with tf1.variable_scope("block_%d" % index):
            x = tf1.nn.relu(_conv(x, "conv", 16))
            if not keep_off:
                x = tf1.nn.dropout(x, 0.7)
    return _classify(x)


def leaky(plain=0):
    """Leaky ReLU and ReLU6, max pooling, padding."""
    x = _image()
    for index in range(3):
        with tf1.variable_scope("block_%d" % index):
            x = _conv(x, "conv", 16)
            x = tf1.nn.relu(x) if plain else tf1.nn.leaky_relu(x)
    x = tf1.nn.relu6(tf1.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]))
    x = tf1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return _classify(_conv(x, "last", 8))


def concat_skips(nchw=0, softmax=0):
    """Dense skips by concatenation, a split, a slice, depthwise convolution, average pooling."""
    skips = [tf1.nn.relu(_conv(_image(nchw=nchw), "first", 8, nchw=nchw))]
    axis = 1 if nchw else 3
    for index in range(3):
        with tf1.variable_scope("dense_%d" % index):
            x = skips[0] if len(skips) == 1 else tf1.concat(skips, axis)
            skips.append(tf1.nn.relu(_conv(x, "conv", 8, nchw=nchw)))
    x = tf1.concat(skips, axis)
    if softmax:
        x = tf1.nn.softmax(x)
    left, right = tf1.split(x, 2, axis)
    x = left * tf1.sigmoid(right)
    if not nchw:
        with tf1.variable_scope("separable"):
            x = tf1.nn.depthwise_conv2d(x, _variable("depthwise", [3, 3, int(x.shape[3]), 1]), [1, 1, 1, 1], "SAME")
        x = tf1.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return _classify(_conv(x, "last", 8, nchw=nchw), nchw)


def half(nchw=0, dtype="half"):
    """Convolutions in half precision with a master copy of the weights."""
    x = _image(nchw=nchw, dtype=tf.float16)
    for index in range(3):
        x = tf1.nn.relu(_conv(x, "conv_%d" % index, 16, nchw=nchw))
    return tf1.reduce_mean(tf1.cast(tf1.reduce_mean(x, [2, 3] if nchw else [1, 2]), tf.float32))


def inference(nchw=0):
    """No gradients at all."""
    x = _image(nchw=nchw)
    for index in range(3):
        x = tf1.nn.relu(_conv(x, "conv_%d" % index, 16, nchw=nchw))
    return tf1.reduce_mean(x)


def volume(nchw=0):
    """3-D convolutions."""
    x = tf1.placeholder(tf.float32, [2, 1, 8, 16, 16] if nchw else [2, 8, 16, 16, 1], "volume")
    for index in range(3):
        with tf1.variable_scope("conv_%d" % index):
            weights = _variable("weights", [3, 3, 3, int(x.shape[1 if nchw else 4]), 8])
            x = tf1.nn.relu(tf1.nn.conv3d(x, weights, strides=[1] * 5, padding="SAME", data_format="NCDHW" if nchw else "NDHWC"))
    return tf1.reduce_mean(tf1.square(x))


def loop(outside=0):
    """A convolution in a while loop, with its gradient's stacks."""
    x = tf1.nn.relu(_conv(_image(), "stem", 8))
    with tf1.variable_scope("refine"):
        weights = _variable("weights", [3, 3, 8, 8])

        def body(step, state):
            state = tf1.nn.relu(tf1.nn.conv2d(state, weights, strides=[1, 1, 1, 1], padding="SAME", name="conv"))
            if not outside:
                state = tf1.image.resize_nearest_neighbor(tf1.image.resize_nearest_neighbor(state, [64, 64]), [32, 32])
            state.set_shape(x.shape)
            return step + 1, state

        _, x = tf1.while_loop(lambda step, _: step < 4, body, [tf1.constant(0), x])
    return _classify(x)


def towers(training=0):
    """Two towers with shared weights."""
    losses = []
    for index in range(2):
        with tf1.name_scope("tower_%d" % index), tf1.variable_scope("net", reuse=index > 0):
            x = _image()
            for layer in range(2):
                x = tf1.nn.relu(_norm(_conv(x, "conv_%d" % layer, 16), "bn_%d" % layer, 1, training))
            losses.append(tf1.reduce_mean(tf1.square(x)))
    return tf1.add_n(losses) / 2


def unknown_rank(static=0):
    """A default that may be fed anything hides the rank."""
    x = tf1.nn.relu(_conv(_image(), "first", 16))
    known = x.shape
    with tf1.name_scope("augment"):
        if not static:
            x = tf1.placeholder_with_default(x, None)
        x = tf1.nn.relu(x * 2.0)
        x.set_shape(known)
    return _classify(tf1.nn.relu(_conv(x, "second", 16)))


def target(static=0):
    """An image-to-image loss against a target that is fed."""
    x = tf1.nn.relu(_conv(_image(), "first", 8))
    y = tf1.nn.relu(_conv(x, "second", 3))
    wanted = tf1.placeholder(tf.float32, y.shape.as_list(), "target")
    if static:
        wanted = tf1.reshape(wanted, y.shape.as_list())
    return tf1.reduce_mean(tf1.squared_difference(y, wanted))


def crop(sliced=0):
    """A crop between convolutions, by Python's slices or by tf.slice."""
    x = tf1.nn.relu(_conv(_image(), "first", 16))
    x = tf1.slice(x, [0, 1, 1, 0], [BATCH, SIDE - 2, SIDE - 2, 16]) if sliced else x[:, 1:-1, 1:-1, :]
    return _classify(tf1.nn.relu(_conv(x, "second", 16)))


def local_norm(without=0):
    """Local response normalisation and a reshape between convolutions, as AlexNet has them."""
    x = tf1.nn.relu(_conv(_image(), "conv_0", 16))
    if not without:
        x = tf1.nn.local_response_normalization(x, 4, name="lrn")
    x = tf1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf1.nn.relu(_conv(x, "conv_1", 16))
    if not without:
        x = tf1.reshape(x, [BATCH, 8, 32, 16], name="fold")
        x = tf1.nn.relu(_conv(x, "conv_2", 16))
    flat = tf1.reshape(x, [BATCH, -1], name="flatten")
    return tf1.reduce_mean(tf1.square(tf1.matmul(flat, _variable("dense/kernel", [int(np.prod(x.shape.as_list()[1:])), 10]))))
