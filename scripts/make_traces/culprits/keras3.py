"""TensorFlow 2.21 and Keras 3 programs as users write them, each with one known culprit: keras3.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import gc
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

RNG = np.random.default_rng(0)


def pictures(count, size, channels=3):
    return RNG.random((count, size, size, channels), dtype="float32")


def word2vec(vocabulary=300000, width=64, batch=64, optimizer="adam", compiled=False):
    """Adam on an embedding: the table, two slots and, in Keras 3, dense updates."""
    model = keras.Sequential([keras.Input((10,), dtype="int32"), layers.Embedding(vocabulary, width, name="word_table"),
                              layers.GlobalAveragePooling1D(), layers.Dense(1, name="is_neighbour")])
    model.compile(optimizer, "mse", jit_compile=compiled)
    model.fit(RNG.integers(0, 1000, (256, 10)), RNG.random((256, 1)), batch_size=batch, epochs=1, verbose=2)


class StoryModel(keras.Model):
    """A small language model with a large vocabulary."""

    def __init__(self, vocabulary, **kwargs):
        super().__init__(**kwargs)
        self.tokens = layers.Embedding(2000, 64, name="tokens")
        self.reader = layers.GRU(64, return_sequences=True, name="reader")
        self.next_word = layers.Dense(vocabulary, name="next_word")

    def call(self, x):
        return self.next_word(self.reader(self.tokens(x)))


def stories(vocabulary=30000, batch=32, length=50, compiled=False):
    model = StoryModel(vocabulary, name="story_model")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    x = RNG.integers(0, 2000, (64, length))
    model.fit(x, x, batch_size=batch, epochs=1, verbose=2)


def small_patch_vit(patch=4, size=128, batch=4, heads=4, blocks=2, compiled=False):
    """A vision transformer with very small patches: 1024 tokens."""
    picture = keras.Input((size, size, 3), name="photo")
    x = layers.Conv2D(64, patch, patch, name="patchify")(picture)
    x = layers.Reshape(((size // patch) ** 2, 64))(x)
    for number in range(blocks):
        y = layers.LayerNormalization(name="ln_%d" % number)(x)
        x = x + layers.MultiHeadAttention(heads, 16, name="look_around_%d" % number)(y, y)
    model = keras.Model(picture, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)), name="small_patch_vit")
    model.compile("adamw", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    model.fit(pictures(8, size), RNG.integers(0, 10, 8), batch_size=batch, epochs=1, verbose=2)


def scoring(batch=1500, size=64, compiled=False):
    """Inference only, everything in one batch."""
    model = keras.Sequential([keras.Input((size, size, 3)), layers.Conv2D(24, 3, padding="same", activation="relu", name="texture"),
                              layers.MaxPooling2D(4), layers.Flatten(), layers.Dense(3, name="grade")])
    model.compile(jit_compile=compiled)
    print(model.predict(pictures(1500, size), batch_size=batch, verbose=2).shape)


def validation(val_batch=512, batch=8, compiled=False):
    """Training fits; the validation batch is 64 times as large."""
    model = keras.Sequential([keras.Input((64, 64, 3)), layers.Conv2D(32, 3, padding="same", activation="relu", name="grain_a"),
                              layers.Conv2D(32, 3, padding="same", activation="relu", name="grain_b"),
                              layers.GlobalAveragePooling2D(), layers.Dense(2, name="ripe")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    x, y = pictures(600, 64), RNG.integers(0, 2, 600)
    model.fit(x[:32], y[:32], batch_size=batch, validation_data=(x[32:], y[32:]), validation_batch_size=val_batch,
              epochs=2, verbose=2)


def tumour_unet(size=192, batch=4, base=24, compiled=False):
    """A U-Net's first level at full resolution, batch norm and all."""
    def block(x, filters, name):
        for half in "ab":
            x = layers.Conv2D(filters, 3, padding="same", name=name + half)(x)
            x = layers.BatchNormalization(name=name + half + "_bn")(x)
            x = layers.Activation("relu", name=name + half + "_relu")(x)
        return x

    slide = keras.Input((size, size, 3), name="slide")
    top = block(slide, base, "enc1")
    middle = block(layers.MaxPooling2D(2)(top), base * 2, "enc2")
    joined = layers.Concatenate(name="skip1")([layers.UpSampling2D(2, name="up1")(middle), top])
    model = keras.Model(slide, layers.Conv2D(1, 1, name="tumour")(block(joined, base, "dec1")), name="tumour_unet")
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True), jit_compile=compiled)
    model.fit(pictures(8, size), RNG.integers(0, 2, (8, size, size, 1)), batch_size=batch, epochs=1, verbose=2)


def satellite(target=2048, compiled=False):
    """Resizing every picture to a huge one inside the model."""
    model = keras.Sequential([keras.Input((128, 128, 3)), layers.Resizing(target, target, name="to_map_size"),
                              layers.Conv2D(4, 7, strides=8, activation="relu", name="terrain"), layers.GlobalMaxPooling2D(),
                              layers.Dense(2, name="cloudy")])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    model.fit(pictures(32, 128), RNG.integers(0, 2, 32), batch_size=8, epochs=1, verbose=2)


def tabular(width=2800, clip=1.0, compiled=False):
    """global_clipnorm needs all weight gradients at once."""
    model = keras.Sequential([keras.Input((100,)), layers.Dense(width, activation="relu", name="wide_1"),
                              layers.Dense(width, activation="relu", name="wide_2"),
                              layers.Dense(width, activation="relu", name="wide_3"), layers.Dense(1, name="risk")])
    model.compile(keras.optimizers.SGD(0.01, global_clipnorm=clip), "mse", jit_compile=compiled)
    model.fit(RNG.random((64, 100)), RNG.random((64, 1)), batch_size=8, epochs=1, verbose=2)


class CollectEmbeddings(keras.callbacks.Callback):
    """Keeps what the network makes of a probe batch, for a projector plot."""

    def __init__(self, probe, as_numpy_mean):
        super().__init__()
        self.probe, self.as_numpy_mean, self.history_of_codes = probe, as_numpy_mean, []

    def on_train_batch_end(self, batch, logs=None):
        codes = self.model(self.probe)
        self.history_of_codes.append(float(ops.mean(codes)) if self.as_numpy_mean else codes)


def projector(as_numpy_mean=False):
    model = keras.Sequential([keras.Input((64,)), layers.Dense(1024, activation="relu", name="code")])
    model.compile("sgd", "mse", jit_compile=False)
    probe = RNG.random((1500, 64)).astype("float32")
    model.fit(RNG.random((256, 64)), RNG.random((256, 1024)), batch_size=4, epochs=2, verbose=2,
              callbacks=[CollectEmbeddings(probe, as_numpy_mean)])


def fused(compiled=True, batch=48, size=96):
    """XLA compiles the whole training step and asks for one arena."""
    model = keras.Sequential([keras.Input((size, size, 3)), layers.Conv2D(32, 3, padding="same", activation="gelu", name="leaf_1"),
                              layers.Conv2D(32, 3, padding="same", activation="gelu", name="leaf_2"),
                              layers.GlobalAveragePooling2D(), layers.Dense(3, name="blight")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    model.fit(pictures(batch, size), RNG.integers(0, 3, batch), batch_size=batch, epochs=1, verbose=2)


def captions(vocabulary=20000, one_hot=True, rows=200):
    """Targets turned into one-hot rows before fit."""
    targets = RNG.integers(0, vocabulary, (rows, 24))
    features = tf.constant(RNG.random((rows, 24, 16)), tf.float32)
    model = keras.Sequential([keras.Input((24, 16)), layers.Dense(vocabulary if one_hot else 8, name="caption_word")])
    if one_hot:
        labels = tf.one_hot(targets, vocabulary)
        loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    else:
        labels, loss = targets % 8, keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, jit_compile=False)
    model.fit(features, labels, batch_size=4, epochs=1, verbose=2)


def bird_features(units=2048, size=80, batch=4, compiled=False):
    """Dense after Flatten: fails while the weights or the slots are made."""
    model = keras.Sequential([keras.Input((size, size, 3)), layers.Conv2D(16, 3, padding="same", activation="relu", name="beak"),
                              layers.Flatten(name="flat"), layers.Dense(units, activation="relu", name="feather"),
                              layers.Dense(20, name="bird")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=compiled)
    model.fit(pictures(16, size), RNG.integers(0, 20, 16), batch_size=batch, epochs=1, verbose=2)


class BilinearPool(layers.Layer):
    """Outer products of the channels at every place, before they are averaged."""

    def __init__(self, early_mean, **kwargs):
        super().__init__(**kwargs)
        self.early_mean = early_mean

    def call(self, x):
        if self.early_mean:
            return ops.einsum("bpi,bpj->bij", x, x)
        return ops.mean(x[:, :, :, None] * x[:, :, None, :], axis=1)


def fine_grained(early_mean=False, places=196, channels=128, batch=16):
    x = keras.Input((places, channels), name="feature_map")
    pooled = BilinearPool(early_mean, name="bilinear_pool")(x)
    model = keras.Model(x, layers.Dense(10, name="make_and_model")(layers.Flatten()(pooled)))
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(RNG.random((32, places, channels)), RNG.random((32, 10)), batch_size=batch, epochs=1, verbose=2)


class MarginLoss(keras.losses.Loss):
    """All triplets of a batch: [B,B,B]."""

    def __init__(self, all_triplets):
        super().__init__(name="margin_loss")
        self.all_triplets = all_triplets

    def call(self, y_true, y_pred):
        distance = ops.sum(ops.square(y_pred), -1)[:, None] - 2 * ops.matmul(y_pred, ops.transpose(y_pred))
        if self.all_triplets:
            return ops.mean(ops.relu(distance[:, :, None] - distance[:, None, :] + 0.2), axis=(1, 2))
        return ops.mean(ops.relu(distance + 0.2), axis=1)


def face_triplets(batch=400, all_triplets=True):
    model = keras.Sequential([keras.Input((64,)), layers.Dense(64, name="face_code")])
    model.compile("adam", MarginLoss(all_triplets), jit_compile=False)
    model.fit(RNG.random((batch, 64)), RNG.random((batch, 64)), batch_size=batch, epochs=2, verbose=2)


def grid_search(trials=12, keep=True, units=1500):
    """Every trial's model, with its Adam slots, stays in a list."""
    results = []
    for trial in range(trials):
        model = keras.Sequential([keras.Input((800,)), layers.Dense(units, activation="relu", name="hidden_%d" % trial),
                                  layers.Dense(units, activation="relu"), layers.Dense(2)])
        model.compile(keras.optimizers.Adam(10.0 ** -(trial % 4 + 2)), "mse", jit_compile=False)
        history = model.fit(RNG.random((32, 800)), RNG.random((32, 2)), epochs=1, verbose=0)
        print("trial", trial, "loss", history.history["loss"][0])
        results.append((history.history["loss"][0], model if keep else trial))
        if not keep:
            del model, history
            keras.backend.clear_session()
            gc.collect()


def accumulated(parts=24, store_all=True, batch=16):
    """Gradients of all micro-batches stored in a list and summed at the end."""
    model = keras.Sequential([keras.Input((500,)), layers.Dense(2500, activation="relu", name="trunk_1"),
                              layers.Dense(1500, activation="relu", name="trunk_2"), layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.01)
    collected = []
    for part in range(parts):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.constant(RNG.random((batch, 500)), tf.float32)) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        collected = collected + [gradients] if store_all else [
            [a + b for a, b in zip(collected[0], gradients)] if collected else gradients]
        print("micro-batch", part, float(loss))
    optimizer.apply_gradients(zip([sum(g) for g in zip(*collected)], model.trainable_variables))


def speech_gru(length=1200, batch=48, units=96, compiled=False):
    """A GRU read frame by frame over very long recordings."""
    model = keras.Sequential([keras.Input((length, 20)), layers.GRU(units, return_sequences=True, name="listen_1"),
                              layers.GRU(units, name="listen_2"), layers.Dense(30, name="phoneme")])
    model.compile("adam", "mse", jit_compile=compiled)
    model.fit(RNG.random((96, length, 20)), RNG.random((96, 30)), batch_size=batch, epochs=1, verbose=2)


def heavy_dropout(units=200000, batch=128, shared_mask=False):
    """Dropout over a layer of 200,000 random features: value, mask and noise are each as large."""
    model = keras.Sequential([keras.Input((16,)), layers.Dense(units, activation="relu", name="random_features"),
                              layers.Dropout(0.5, noise_shape=(None, 1) if shared_mask else None, name="thin_out"), layers.Dense(1, name="target")])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(RNG.random((256, 16)), RNG.random((256, 1)), batch_size=batch, epochs=1, verbose=2)


def simulation(rows=60000):
    """A matrix of all pairs of rows, made in one call."""
    states = tf.random.normal([rows, 8])
    distances = tf.matmul(states, states, transpose_b=True)
    print(float(tf.reduce_mean(distances)))


def attention_diffusion(size=48, batch=4, heads=4):
    """A diffusion net with self-attention at full resolution, in a train step of its own."""
    class Denoiser(keras.Model):
        def __init__(self):
            super().__init__(name="denoiser")
            self.stem = layers.Conv2D(32, 3, padding="same", name="stem")
            self.norm = layers.GroupNormalization(8, name="gn")
            self.attend = layers.MultiHeadAttention(heads, 8, name="pixel_attention")
            self.out = layers.Conv2D(3, 3, padding="same", name="noise")

        def call(self, x):
            h = self.norm(self.stem(x))
            flat = ops.reshape(h, (-1, size * size, 32))
            return self.out(ops.reshape(self.attend(flat, flat), (-1, size, size, 32)))

    net, optimizer = Denoiser(), keras.optimizers.AdamW(1e-4)

    @tf.function
    def train_step(x):
        noise = tf.random.normal(tf.shape(x))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x + noise, training=True) - noise) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    for step in range(2):
        print(step, float(train_step(tf.constant(pictures(batch, size)))))


def host_array(frames=2000000):
    """numpy itself cannot make the array."""
    clips = np.zeros((frames, 224, 224, 3), dtype="float32")
    model = keras.Sequential([keras.Input((224, 224, 3)), layers.GlobalAveragePooling2D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(clips[:4], np.zeros(4), verbose=2)


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})
    print("peak bytes:", tf.config.experimental.get_memory_info("CPU:0")["peak"])


if __name__ == "__main__":
    main()
