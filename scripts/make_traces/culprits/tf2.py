"""TensorFlow 2.11 programs as users write them, each with one known culprit: tf2.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

RNG = np.random.RandomState(0)


def pictures(count, size, channels=3):
    return RNG.rand(count, size, size, channels).astype("float32")


def flowers(units=4096, batch=8):
    """Keras fit; a wide Dense straight after Flatten."""
    model = keras.Sequential([
        layers.Conv2D(32, 3, activation="relu", padding="same", input_shape=(96, 96, 3), name="stem"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(units, activation="relu", name="big_dense"),
        layers.Dense(5, activation="softmax", name="flower")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(pictures(32, 96), RNG.randint(0, 5, 32), batch_size=batch, epochs=2, verbose=2)


def novelty_detector(keep=True, batches=200):
    """Eager tensors of every batch collected in a list."""
    model = keras.Sequential([layers.Conv2D(32, 3, padding="same", activation="relu", input_shape=(32, 32, 3)),
                              layers.GlobalAveragePooling2D(), layers.Dense(8)])
    first = keras.Model(model.inputs, [model.layers[0].output, model.output])
    seen = []
    for number in range(batches):
        features, out = first(pictures(32, 32))
        seen.append(features if keep else tf.reduce_mean(features, axis=(1, 2)))
        if number % 20 == 0:
            print("batch", number, "mean", float(tf.reduce_mean(out)))


def contrastive(bank_limit=None, steps=300):
    """A memory bank of codes that is never cut off."""
    encoder = keras.Sequential([layers.Dense(512, activation="relu", input_shape=(128,)), layers.Dense(256)])
    bank = tf.Variable(tf.zeros([1, 256]), shape=tf.TensorShape([None, 256]), name="memory_bank")
    optimizer = keras.optimizers.SGD(0.01)
    for step in range(steps):
        x = tf.constant(RNG.rand(1024, 128), tf.float32)
        with tf.GradientTape() as tape:
            z = tf.math.l2_normalize(encoder(x), 1)
            loss = tf.reduce_mean(tf.matmul(z, tf.reduce_mean(bank, 0)[:, None]))
        gradients = tape.gradient(loss, encoder.trainable_variables)
        optimizer.apply_gradients(zip(gradients, encoder.trainable_variables))
        bank.assign(tf.concat([bank, z], 0)[-bank_limit if bank_limit else None:])
        if step % 20 == 0:
            print("step %d loss %.4f bank %s" % (step, float(loss), bank.shape))


def reinforce(as_tensor=False, episodes=40):
    """A tf.function called with another Python number in every episode; each trace holds the state table anew."""
    states = RNG.rand(8000, 500).astype("float32")
    policy = keras.Sequential([layers.Dense(32, activation="tanh", input_shape=(500,)), layers.Dense(4)])
    optimizer = keras.optimizers.SGD(0.01)

    @tf.function
    def learn(reward):
        with tf.GradientTape() as tape:
            loss = -reward * tf.reduce_mean(tf.nn.log_softmax(policy(states)))
        gradients = tape.gradient(loss, policy.trainable_variables)
        optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
        return loss

    for episode in range(episodes):
        reward = 0.5 + episode
        loss = learn(tf.constant(reward) if as_tensor else reward)
        if episode % 5 == 0:
            print("episode", episode, "loss", float(loss))


class LastOutputs(keras.callbacks.Callback):
    """Shows at the end what the network made of every batch."""

    def __init__(self, x, small):
        super().__init__()
        self.x, self.small, self.kept = x, small, []

    def on_train_batch_end(self, batch, logs=None):
        out = self.model(self.x)
        self.kept.append(tf.reduce_mean(out) if self.small else out)


def denoiser(small=False):
    """A callback keeps the pictures that came out of every batch."""
    model = keras.Sequential([layers.Conv2D(8, 3, padding="same", activation="relu", input_shape=(64, 64, 3)),
                              layers.Conv2D(3, 3, padding="same", name="clean")])
    model.compile("adam", "mse")
    x = pictures(256, 64)
    model.fit(x, x, batch_size=4, epochs=2, verbose=2, callbacks=[LastOutputs(x[:64], small)])


def sensors(rows=60000, generator=False, batch=64):
    """from_tensor_slices over a large numpy array, then fit."""
    x, y = RNG.rand(rows, 800).astype("float32"), RNG.randint(0, 3, rows)
    if generator:
        signature = (tf.TensorSpec([800], tf.float32), tf.TensorSpec([], tf.int64))
        data = tf.data.Dataset.from_generator(lambda: zip(x, y), output_signature=signature)
    else:
        data = tf.data.Dataset.from_tensor_slices((x, y))
    model = keras.Sequential([layers.Dense(32, activation="relu", input_shape=(800,)), layers.Dense(3)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data.batch(batch).take(20), epochs=1, verbose=2)


def pix_translator(parts=8, one_tape=True, size=96, micro_batch=8):
    """Gradients "accumulated" over micro-batches, but under one tape."""
    generator = keras.Sequential([layers.Conv2D(32, 3, padding="same", activation="relu", input_shape=(size, size, 3)),
                                  layers.Conv2D(32, 3, padding="same", activation="relu"),
                                  layers.Conv2D(3, 3, padding="same", name="painted")])
    optimizer = keras.optimizers.Adam(1e-4)
    x = pictures(micro_batch * parts, size)

    def accumulate(batches):
        weights = generator.trainable_variables
        if one_tape:
            with tf.GradientTape() as tape:
                loss = 0.0
                for part in tf.split(batches, parts):
                    loss += tf.reduce_mean(tf.abs(generator(part) - part)) / parts
            gradients = tape.gradient(loss, weights)
        else:
            gradients, loss = [tf.zeros_like(w) for w in weights], 0.0
            for part in tf.split(batches, parts):
                with tf.GradientTape() as tape:
                    piece = tf.reduce_mean(tf.abs(generator(part) - part)) / parts
                gradients = [a + b for a, b in zip(gradients, tape.gradient(piece, weights))]
                loss += piece
        optimizer.apply_gradients(zip(gradients, weights))
        return loss

    for step in range(3):
        print("step", step, "loss", float(accumulate(tf.constant(x))))


def point_clouds(points=1200, truth=900, batch=8, by_matrix=False):
    """Chamfer distance between a cloud of 1200 and one of 900 points."""
    decoder = keras.Sequential([layers.Dense(128, activation="relu", input_shape=(32,)), layers.Dense(points * 3),
                                layers.Reshape((points, 3), name="cloud")])
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train_step(code, target):
        with tf.GradientTape() as tape:
            cloud = decoder(code)
            if by_matrix:
                squares = (tf.reduce_sum(cloud ** 2, -1)[:, :, None] + tf.reduce_sum(target ** 2, -1)[:, None, :]
                           - 2 * tf.matmul(cloud, target, transpose_b=True))
            else:
                squares = tf.reduce_sum((cloud[:, :, None, :] - target[:, None, :, :]) ** 2, -1)
            chamfer = tf.reduce_mean(tf.reduce_min(squares, 2)) + tf.reduce_mean(tf.reduce_min(squares, 1))
        gradients = tape.gradient(chamfer, decoder.trainable_variables)
        optimizer.apply_gradients(zip(gradients, decoder.trainable_variables))
        return chamfer

    for step in range(3):
        loss = train_step(tf.random.normal([batch, 32]), tf.random.normal([batch, truth, 3]))
        print("step", step, "chamfer", float(loss))


class NeighbourSum(layers.Layer):
    """One round of message passing over an edge list."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.message = layers.Dense(width, activation="relu", name="message")

    def call(self, inputs):
        nodes, edges = inputs
        pair = tf.concat([tf.gather(nodes, edges[:, 0]), tf.gather(nodes, edges[:, 1])], -1)
        return nodes + tf.math.unsorted_segment_sum(self.message(pair), edges[:, 1], tf.shape(nodes)[0])


class Citations(keras.Model):
    def __init__(self, width, rounds):
        super().__init__()
        self.embed = layers.Dense(width, name="embed")
        self.rounds = [NeighbourSum(width, name="neighbours_%d" % n) for n in range(rounds)]
        self.topic = layers.Dense(7, name="topic")

    def call(self, inputs):
        nodes, edges = inputs
        h = self.embed(nodes)
        for sum_round in self.rounds:
            h = sum_round([h, edges])
        return self.topic(h)


def citations(edges=120000, nodes=3000):
    model = Citations(64, 3)
    optimizer = keras.optimizers.Adam(0.01)
    x = tf.constant(RNG.rand(nodes, 50), tf.float32)
    links = tf.constant(RNG.randint(0, nodes, (edges, 2)))
    y = tf.constant(RNG.randint(0, 7, nodes))

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model([x, links])))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for epoch in range(3):
        print("epoch", epoch, "loss", float(train_step()))


def energy_forecast(length=1000, batch=64, units=96):
    """A long LSTM; its steps' gates wait for the backward pass."""
    model = keras.Sequential([layers.LSTM(units, return_sequences=True, input_shape=(length, 4), name="load_lstm_1"),
                              layers.LSTM(units, name="load_lstm_2"), layers.Dense(1, name="kwh")])
    model.compile("adam", "mae")
    model.fit(RNG.rand(128, length, 4), RNG.rand(128), batch_size=batch, epochs=1, verbose=2)


def wavenet(kernel=300, length=6000, batch=8):
    """1-D convolutions with very long filters."""
    model = keras.Sequential([layers.Conv1D(32, 9, padding="same", activation="relu", input_shape=(length, 1), name="wave_in"),
                              layers.Conv1D(16, kernel, padding="same", activation="relu", name="receptive"),
                              layers.Conv1D(1, 1, name="sample")])
    model.compile("adam", "mse")
    audio = RNG.rand(32, length, 1)
    model.fit(audio, audio, batch_size=batch, epochs=1, verbose=2)


def spectra(dtype="float64", width=3000, batch=2048):
    """numpy's doubles go through the whole net, as floatx was set to float64."""
    keras.backend.set_floatx(dtype)
    model = keras.Sequential([layers.Dense(width, activation="relu", input_shape=(200,), name="bands"),
                              layers.Dense(width // 8, activation="relu", name="mix"), layers.Dense(3, name="element")])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(RNG.rand(4096, 200), RNG.randint(0, 3, 4096), batch_size=batch, epochs=2, verbose=2)


def nightly_scoring(batch=2000, size=64):
    """Inference only: predict with a batch that training never used."""
    model = keras.Sequential([layers.Conv2D(32, 3, padding="same", activation="relu", input_shape=(size, size, 3), name="edges"),
                              layers.MaxPooling2D(4), layers.Conv2D(32, 3, activation="relu", name="shapes"),
                              layers.GlobalAveragePooling2D(), layers.Dense(10, name="score")])
    print(model.predict(pictures(2000, size), batch_size=batch, verbose=2).mean())


def style_codes(tiled=True, size=160, code=512, batch=4):
    """A style vector copied to every pixel and joined to the picture."""
    image, style = keras.Input((size, size, 3), name="content"), keras.Input((code,), name="style")
    if tiled:
        everywhere = layers.Lambda(lambda s: tf.tile(s[:, None, None, :], [1, size, size, 1]), name="style_everywhere")(style)
        x = layers.Conv2D(8, 1, activation="relu", name="blend")(layers.Concatenate(name="joined")([image, everywhere]))
    else:
        x = layers.Conv2D(8, 1, name="blend")(image) + layers.Dense(8, name="blend_style")(style)[:, None, None, :]
    model = keras.Model([image, style], layers.Conv2D(3, 3, padding="same", name="painted")(x))
    model.compile("adam", "mse")
    model.fit([pictures(8, size), RNG.rand(8, code)], pictures(8, size), batch_size=batch, epochs=1, verbose=2)


def depth_maps(joined=True, batches=40, size=160):
    """Predictions of all batches joined on the device at the end."""
    net = keras.Sequential([layers.Conv2D(4, 3, padding="same", activation="relu", input_shape=(size, size, 3)),
                            layers.Conv2D(4, 3, padding="same", name="depth_layers")])
    outputs = []
    for number in range(batches):
        depth = net(pictures(16, size))
        outputs.append(depth if joined else float(tf.reduce_mean(depth)))
        if number % 10 == 0:
            print("batch", number)
    everything = tf.concat(outputs, 0) if joined else outputs
    print("mean depth", float(tf.reduce_mean(everything)))


def summarizer(length=900, heads=8, batch=4, blocks=2):
    """MultiHeadAttention over whole articles."""
    text = keras.Input((length, 64), name="article")
    x = text
    for number in range(blocks):
        attended = layers.MultiHeadAttention(heads, 8, name="article_attention_%d" % number)(x, x)
        x = layers.LayerNormalization(name="norm_%d" % number)(x + attended)
    model = keras.Model(text, layers.Dense(1, name="keep_sentence")(x))
    model.compile("adam", "mse")
    model.fit(RNG.rand(8, length, 64), RNG.rand(8, length, 1), batch_size=batch, epochs=1, verbose=2)


def species(classes=7000, metric=True, batch=32):
    """A metric whose state is a confusion matrix of all classes."""
    metrics = [keras.metrics.MeanIoU(classes, sparse_y_pred=False, name="species_iou")] if metric else ["accuracy"]
    model = keras.Sequential([layers.Dense(64, activation="relu", input_shape=(100,)), layers.Dense(classes, name="species")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=metrics)
    model.fit(RNG.rand(256, 100), RNG.randint(0, classes, 256), batch_size=batch, epochs=1, verbose=2)


def insurance(column=True, batch=8000):
    """A loss written by hand subtracts [B] from [B,1]."""
    model = keras.Sequential([layers.Dense(32, activation="relu", input_shape=(12,)), layers.Dense(1, name="claim")])
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            predicted = model(x) if column else tf.squeeze(model(x), 1)
            loss = tf.reduce_mean(tf.abs(predicted - y) ** 1.5)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    x, y = RNG.rand(batch, 12).astype("float32"), RNG.rand(batch).astype("float32")
    for epoch in range(3):
        print("epoch", epoch, float(train_step(x, y)))


def recommender(items=300000, scaled=True, batch=256):
    """The table is scaled before the look-up, so the gradient of the gather is as large as the table."""
    table = tf.Variable(tf.ones([items, 48]), name="item_table")
    head = layers.Dense(1, name="rating")
    head.build((None, 48))
    optimizer = keras.optimizers.legacy.SGD(0.1)

    @tf.function
    def train_step(ids, stars):
        with tf.GradientTape() as tape:
            rows = tf.gather(tf.tanh(table), ids) if scaled else tf.tanh(tf.gather(table, ids))
            loss = tf.reduce_mean((head(rows)[:, 0] - stars) ** 2)
        weights = [table] + head.trainable_variables
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights))
        return loss

    for step in range(3):
        loss = train_step(tf.constant(RNG.randint(0, items, batch)), tf.constant(RNG.rand(batch), tf.float32))
        print("step", step, float(loss))


def fused_net(batch=64, size=32, compiled=True):
    """fit with jit_compile=True: XLA asks for its whole arena at once."""
    model = keras.Sequential([layers.Dense(2048, activation="relu", input_shape=(size * size,), name="in_proj"),
                              layers.Dense(2048, activation="relu", name="mid_proj"),
                              layers.Reshape((2048, 1)), layers.Dense(256, activation="gelu", name="per_unit"),
                              layers.Flatten(), layers.Dense(1, name="out")])
    model.compile("sgd", "mse", jit_compile=compiled)
    model.fit(RNG.rand(256, size * size), RNG.rand(256), batch_size=batch, epochs=1, verbose=2)


def sensitivities(outputs=600, batch=32, full=True):
    """The Jacobian of every output by every weight."""
    net = keras.Sequential([layers.Dense(256, activation="tanh", input_shape=(64,), name="hidden"),
                            layers.Dense(outputs, name="quantities")])
    x = tf.random.normal([batch, 64])
    with tf.GradientTape() as tape:
        y = tf.reduce_mean(net(x), 0)
        total = tf.reduce_sum(y)
    if full:
        for jacobian in tape.jacobian(y, net.trainable_variables):
            print(jacobian.shape)
    else:
        print([g.shape for g in tape.gradient(total, net.trainable_variables)])


def averaged_weights(kept_epochs=30, keep=True):
    """A copy of all weights after every epoch, for averaging them at the end."""
    model = keras.Sequential([layers.Dense(1500, activation="relu", input_shape=(1000,)), layers.Dense(1500, activation="relu"),
                              layers.Dense(10)])
    model.compile("sgd", "mse")
    snapshots = []
    for epoch in range(kept_epochs):
        history = model.fit(RNG.rand(64, 1000), RNG.rand(64, 10), verbose=0)
        print("epoch", epoch, history.history["loss"][0])
        copies = [tf.identity(w) for w in model.weights]
        snapshots = snapshots + [copies] if keep else [copies]
    print(len(snapshots))


def tile_cache(every_second=True, tiles=150, strip=40):
    """A cache of tiles drops every second one; a strip of 40 MiB then finds only holes of 2 MiB."""
    cache = {}
    for number in range(tiles):
        cache[number] = tf.random.uniform([512, 1024])
    for number in range(0, tiles, 2) if every_second else range(tiles // 2):
        del cache[number]
    print("tiles in the cache:", len(cache))
    mosaic = tf.zeros([strip * 256, 1024])
    print(mosaic.shape, float(sum(tf.reduce_sum(tile) for tile in cache.values())))


def scene_parser(batch=2, size=512, classes=150):
    """Mixed precision; the scores are cast to float32 at full resolution for the softmax."""
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    picture = keras.Input((size, size, 3), name="scene")
    x = layers.Conv2D(16, 3, strides=4, padding="same", activation="relu", name="down")(picture)
    x = layers.Conv2D(classes, 1, name="scores")(x)
    x = layers.UpSampling2D(4, interpolation="nearest", name="full_size")(x)
    out = layers.Activation("softmax", dtype="float32", name="probabilities")(x)
    model = keras.Model(picture, out)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(pictures(4, size), RNG.randint(0, classes, (4, size, size)), batch_size=batch, epochs=1, verbose=2)


def cached_clips(cache=True, clips=300):
    """Decoded clips kept by Dataset.cache() in memory."""
    def decode(number):
        return tf.random.uniform([40, 64, 64, 3]) + tf.cast(number, tf.float32)

    data = tf.data.Dataset.range(clips).map(decode)
    data = data.cache() if cache else data
    model = keras.Sequential([layers.GlobalAveragePooling3D(input_shape=(40, 64, 64, 3)), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data.map(lambda c: (c, tf.reduce_mean(c))).batch(4), epochs=1, verbose=2)


def shuffled_volumes(buffer=200, volumes=400):
    """A shuffle buffer of whole volumes."""
    def load(number):
        return tf.random.uniform([64, 64, 64, 2]), tf.cast(number % 2, tf.float32)

    data = tf.data.Dataset.range(volumes).map(load).shuffle(buffer).batch(2).prefetch(2)
    model = keras.Sequential([layers.GlobalAveragePooling3D(input_shape=(64, 64, 64, 2)), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data.take(10), epochs=1, verbose=2)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
