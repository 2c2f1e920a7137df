"""Small Keras models, one function each, for tf.keras of 1.13 to 2.21. Each returns a KerasNet."""
from collections import namedtuple

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
KerasNet = namedtuple("KerasNet", "model x y loss user_layer culprit")


def _net(model, x, user_layer, culprit, classes=10):
    y = np.random.randint(0, classes, len(x)).astype(np.int32)
    return KerasNet(model, x, y, "sparse_categorical_crossentropy", user_layer, culprit)


def lenet(batch=512):
    """LeNet on MNIST-sized images, with the layer sizes of founding question Q3."""
    model = tf.keras.Sequential([
        layers.Conv2D(32, 5, padding="same", activation="relu", input_shape=(28, 28, 1), name="conv1"),
        layers.MaxPooling2D(name="pool1"),
        layers.Conv2D(64, 5, padding="same", activation="relu", name="conv2"),
        layers.MaxPooling2D(name="pool2"),
        layers.Flatten(name="flatten"),
        layers.Dense(1024, activation="relu", name="fc1"),
        layers.Dropout(0.4, name="dropout"),
        layers.Dense(10, activation="softmax", name="fc2"),
    ], name="lenet")
    x = np.random.rand(4 * batch, 28, 28, 1).astype(np.float32)
    return _net(model, x, "conv1", "the first convolution's maps, [%d,28,28,32] float32, %d bytes a copy, grow with the "
                "batch; the weights are only 13 MB" % (batch, batch * 28 * 28 * 32 * 4))


def lstm(batch=64, length=300, units=128):
    """A stack of two LSTMs over long sequences."""
    model = tf.keras.Sequential([
        layers.LSTM(units, return_sequences=True, input_shape=(length, 32), name="lstm_a"),
        layers.LSTM(units, name="lstm_b"),
        layers.Dense(10, activation="softmax", name="classify"),
    ], name="reader")
    x = np.random.rand(2 * batch, length, 32).astype(np.float32)
    return _net(model, x, "lstm_a", "each LSTM keeps several tensors of [%d,%d] float32 for each of %d time steps"
                % (batch, units, length))


def attention(batch=8, length=1024, heads=4, width=64):
    """A transformer block built of MultiHeadAttention (2.4 and later)."""
    tokens = tf.keras.Input((length, width), batch_size=batch, name="tokens")
    attended = layers.MultiHeadAttention(heads, width // heads, name="self_attention")(tokens, tokens)
    x = layers.LayerNormalization(name="norm")(layers.Add(name="residual")([tokens, attended]))
    x = layers.GlobalAveragePooling1D(name="pool")(x)
    model = tf.keras.Model(tokens, layers.Dense(10, activation="softmax", dtype="float32", name="classify")(x), name="encoder")
    x = np.random.rand(2 * batch, length, width).astype(np.float32)
    return _net(model, x, "self_attention", "the attention scores [%d,%d,%d,%d] grow with the square of the sequence "
                "length" % (batch, heads, length, length))


def embedding(batch=32, vocabulary=200000, width=128):
    """A big Embedding; Adam keeps two more copies of it and makes its gradient dense where it must."""
    model = tf.keras.Sequential([
        layers.Embedding(vocabulary, width, input_length=16, name="words") if tf.__version__ < "2.16"
        else layers.Embedding(vocabulary, width, name="words"),
        layers.GlobalAveragePooling1D(name="mean"),
        layers.Dense(10, activation="softmax", name="classify"),
    ], name="bag_of_words")
    if tf.__version__ >= "2.16":
        model.build((None, 16))
    x = np.random.randint(0, vocabulary, (4 * batch, 16)).astype(np.int32)
    return _net(model, x, "words", "the embedding table [%d,%d] float32 takes %d bytes, and its optimizer slots twice as "
                "much again; the batch hardly matters" % (vocabulary, width, vocabulary * width * 4))


def dense(batch=1024, units=4096):
    """A perceptron with wide activations and dropout after each layer."""
    model = tf.keras.Sequential([
        layers.Dense(units, activation="relu", input_shape=(64,), name="wide_a"),
        layers.Dropout(0.5, name="drop_a"),
        layers.Dense(units // 4, activation="relu", name="wide_b"),
        layers.Dropout(0.5, name="drop_b"),
        layers.Dense(10, activation="softmax", dtype="float32", name="classify"),
    ], name="perceptron")
    x = np.random.rand(2 * batch, 64).astype(np.float32)
    return _net(model, x, "wide_a", "activations of [%d,%d] and dropout masks of the same shape grow with the batch"
                % (batch, units))


class PairwiseDistances(layers.Layer):
    """A layer that compares every row with every row, through a tensor of shape [rows, rows, width]."""

    def call(self, inputs):
        differences = tf.expand_dims(inputs, 1) - tf.expand_dims(inputs, 0)
        return tf.reduce_sum(tf.square(differences), axis=-1)


def pairwise(batch=2048, width=32):
    """A model whose own layer broadcasts too far."""
    model = tf.keras.Sequential([
        layers.Dense(width, input_shape=(16,), name="code"),
        PairwiseDistances(name="distances"),
    ], name="comparer")
    x = np.random.rand(batch, 16).astype(np.float32)
    return _net(model, x, "distances", "broadcasting makes [%d,%d,%d] float32, %d bytes"
                % (batch, batch, width, batch * batch * width * 4))
