"""More TensorFlow 2.11 programs with a known culprit, written to try the page's advice: advice_tf2.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

RNG = np.random.RandomState(1)


def pictures(count, size, channels=3):
    return RNG.rand(count, size, size, channels).astype("float32")


def residual(x, filters, name):
    y = layers.Conv2D(filters, 3, padding="same", activation="relu", name=name + "_a")(x)
    y = layers.BatchNormalization(name=name + "_bn")(layers.Conv2D(filters, 3, padding="same", name=name + "_b")(y))
    return layers.ReLU(name=name + "_out")(layers.Add(name=name + "_add")([x, y]))


def leaf_resnet(batch=48, size=64, steps=3):
    """A residual net in a tf.function of its own; the batch is several times too large."""
    inputs = keras.Input((size, size, 3))
    x = layers.Conv2D(24, 3, padding="same", name="stem")(inputs)
    for number in range(6):
        x = residual(x, 24, "res%d" % number)
    model = keras.Model(inputs, layers.Dense(38, name="disease")(layers.GlobalAveragePooling2D()(x)))
    optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, model(images, training=True), True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for step in range(steps):
        print("step", step, float(train_step(pictures(batch, size), RNG.randint(0, 38, batch))), flush=True)


def ct_volumes(batch=16, side=64):
    """3-D convolutions where one output alone is several times the limit."""
    model = keras.Sequential([keras.Input((side, side, side, 1)), layers.Conv3D(8, 3, padding="same", activation="relu", name="lung_a"),
                              layers.Conv3D(16, 3, strides=2, padding="same", activation="relu", name="lung_b"),
                              layers.GlobalAveragePooling3D(), layers.Dense(1, name="nodule")])
    model.compile("adam", "mse")
    model.fit(RNG.rand(batch, side, side, side, 1), RNG.rand(batch), batch_size=batch, epochs=1, verbose=2)


def eager_lstm(batch=256, length=200):
    """An eager loop over an LSTM, plain tape, no function."""
    cell = layers.LSTM(96, return_sequences=True, name="ward_lstm")
    head = layers.Dense(12, name="vitals")
    optimizer = keras.optimizers.Adam()
    for step in range(2):
        x = tf.constant(RNG.rand(batch, length, 24), tf.float32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(head(cell(x)) ** 2)
        variables = cell.trainable_variables + head.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        print("step", step, float(loss), flush=True)


def uncertainty(samples=60, stacked=True):
    """Monte-Carlo dropout: all outputs stay until they are stacked."""
    model = keras.Sequential([keras.Input((96, 96, 3)), layers.Conv2D(16, 3, padding="same", activation="relu", name="enc"),
                              layers.Dropout(0.3, name="mc_drop"), layers.Conv2D(8, 3, padding="same", name="risk_map")])
    x = tf.constant(pictures(16, 96))
    outputs, total = [], 0.0
    for _ in range(samples):
        y = model(x, training=True)
        if stacked:
            outputs.append(y)
        else:
            total = total + y
    mean = tf.reduce_mean(tf.stack(outputs), 0) if stacked else total / samples
    print("mean risk", float(tf.reduce_mean(mean)))


def gradient_history(keep=True, steps=60):
    """The gradients of every step are kept for a plot of their norms."""
    model = keras.Sequential([keras.Input((300,)), layers.Dense(1000, activation="relu"), layers.Dense(900, activation="relu"), layers.Dense(5)])
    optimizer = keras.optimizers.Adam()
    history = []
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.constant(RNG.rand(64, 300), tf.float32)) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        history.append(grads if keep else [float(tf.norm(g)) for g in grads])
        if step % 10 == 0:
            print("step %d loss %.4f" % (step, float(loss)), flush=True)


def growing_predictions(blocks=40, rows=4000, at_end=True):
    """Predictions joined batch by batch with tf.concat."""
    model = keras.Sequential([keras.Input((64,)), layers.Dense(600, name="item_scores")])
    scores = tf.zeros([0, 600])
    for block in range(blocks):
        part = model(tf.constant(RNG.rand(rows, 64), tf.float32))
        scores = tf.concat([scores, part], axis=0) if at_end else tf.reduce_mean(part, 0, keepdims=True)
        if block % 5 == 0:
            print("scored", (block + 1) * rows, flush=True)
    print(scores.shape)


def long_outlier(longest=2600, usual=120, steps=30, batch=32):
    """Sequences of about a hundred words, and one of thousands at step 20."""
    inputs = keras.Input((None,), dtype="int32")
    x = layers.Embedding(4000, 64, name="tokens")(inputs)
    x = layers.GRU(64, return_sequences=True, name="reader")(x)
    model = keras.Model(inputs, layers.Dense(9, name="tags")(x))
    optimizer = keras.optimizers.Adam()

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def train_step(words):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(words, training=True) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for step in range(1, steps + 1):
        length = longest if step == 20 else usual + step % 7
        loss = train_step(tf.constant(RNG.randint(0, 4000, (batch, length)), tf.int32))
        if step % 5 == 0:
            print("step %d/%d loss %.4f" % (step, steps, float(loss)), flush=True)


def progressive(sizes=(32, 64, 256), batch=16):
    """Progressive resizing: the last stage's pictures are too large."""
    model = keras.Sequential([keras.Input((None, None, 3)), layers.Conv2D(24, 3, padding="same", activation="relu", name="detail"),
                              layers.Conv2D(24, 3, padding="same", activation="relu", name="texture"),
                              layers.GlobalAveragePooling2D(), layers.Dense(7, name="species")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    for size in sizes:
        print("size", size, flush=True)
        model.fit(pictures(batch * 2, size), RNG.randint(0, 7, batch * 2), batch_size=batch, epochs=1, verbose=2)


def restored(copies=2, units=4000):
    """A checkpoint is loaded into a second model beside the first."""
    def build():
        model = keras.Sequential([keras.Input((units,)), layers.Dense(units, name="memory_a"), layers.Dense(units // 4, name="memory_b")])
        return model
    first = build()
    first.save_weights("ckpt/weights")
    kept = [first]
    for number in range(1, copies + 1):
        other = build()
        other.load_weights("ckpt/weights").expect_partial()
        print("loaded", number, flush=True)
        kept.append(other)
    print(len(kept))


def context_tiles(tiled=True, batch=24, length=600):
    """A context vector repeated along the sequence before it is joined."""
    words = keras.Input((length, 32))
    context = keras.Input((512,))
    x = words
    if tiled:
        spread = layers.RepeatVector(length, name="context_everywhere")(context)
        x = layers.Concatenate(name="joined")([words, spread])
    x = layers.Dense(48, activation="relu", name="mix")(x)
    if not tiled:
        x = layers.Add(name="mixed")([x, layers.Reshape((1, 48))(layers.Dense(48, name="context_part")(context))])
    model = keras.Model([words, context], layers.Dense(1, name="score")(x))
    model.compile("adam", "mse")
    model.fit([RNG.rand(batch, length, 32), RNG.rand(batch, 512)], RNG.rand(batch, length, 1), batch_size=batch, epochs=1, verbose=2)


def price_regression(rows=7000, column=False):
    """Targets [n] against predictions [n,1] in a loss of one's own."""
    model = keras.Sequential([keras.Input((30,)), layers.Dense(64, activation="relu"), layers.Dense(1, name="price")])
    optimizer = keras.optimizers.Adam()
    x, y = tf.constant(RNG.rand(rows, 30), tf.float32), tf.constant(RNG.rand(rows), tf.float32)
    for epoch in range(3):
        with tf.GradientTape() as tape:
            predicted = model(x)
            error = (y[:, None] if column else y) - predicted
            loss = tf.reduce_mean(tf.abs(error))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        print("epoch", epoch, float(loss), flush=True)


def input_sensitivity(per_sample=True, rows=48):
    """A Jacobian of every output for every input of each sample."""
    model = keras.Sequential([keras.Input((28, 28, 4)), layers.Conv2D(16, 3, padding="same", activation="tanh", name="sense"),
                              layers.Flatten(), layers.Dense(64, name="channels")])
    x = tf.constant(pictures(rows, 28, 4))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    if per_sample:
        print(tape.batch_jacobian(y, x).shape)
    else:
        print(tape.gradient(y, x).shape)


def embed_all(batch=9000):
    """The model is called on the whole array to get its embeddings."""
    model = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(16, 3, padding="same", activation="relu", name="front"),
                              layers.GlobalAveragePooling2D(), layers.Dense(64, name="code")])
    model.compile("adam", "mse")
    model.fit(pictures(64, 32), RNG.rand(64, 64), batch_size=16, epochs=2, verbose=2)
    codes = model(pictures(batch, 32))
    print(codes.shape)


def preloaded(rows=5000, on_host=False):
    """The whole training set as one tensor, then a small net."""
    x = pictures(rows, 64)
    x = x if on_host else tf.constant(x, name="all_pictures")
    kernel = tf.Variable(tf.random.normal([64 * 64 * 3, 64], stddev=0.01), name="readout")
    optimizer = keras.optimizers.Adam()
    for step in range(4):
        rows_of_step = np.arange(step * 64, step * 64 + 64)
        part = x[rows_of_step[0]:rows_of_step[-1] + 1] if on_host else tf.gather(x, rows_of_step)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(tf.reshape(part, [64, -1]), kernel) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
        print("step", step, float(loss), flush=True)


def ensemble(members=12, units=900):
    """An ensemble: every member stays in memory with its optimizer."""
    kept = []
    for number in range(members):
        model = keras.Sequential([keras.Input((units,)), layers.Dense(units, activation="relu"), layers.Dense(units, activation="relu"), layers.Dense(3)])
        model.compile("adam", "mse")
        model.fit(RNG.rand(64, units), RNG.rand(64, 3), epochs=1, batch_size=32, verbose=0)
        kept.append(model)
        print("member", number, flush=True)
    print(sum(model.predict(RNG.rand(32, units), verbose=0) for model in kept).shape)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
