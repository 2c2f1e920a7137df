"""One Keras net trained for a few steps with one change applied: what_if_run.py NET CHANGE [OUT].

NET is convnet, unet or attention, CHANGE `none` or a slug of what_if/changes.py. Prints one line of JSON with the
allocator's peak over whole training steps. With OUT a further step is traced into OUT.xplane.pb (the profiler's) and
OUT.pb (a RunMetadata with the step's graphs). TensorFlow 2.11 to 2.21, on a BFC allocator for the CPU.
"""

import glob
import json
import os
import sys

import numpy as np
import tensorflow as tf

STEPS = 3
NETS = {"convnet": (32, 96), "unet": (8, 96), "attention": (16, 192)}
"""Batch, and side of the image or length of the sequence."""


def convolution(filters, name):
    return tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu", name=name)


def convnet(side):
    """Blocks that can be recomputed one by one."""
    layers = tf.keras.layers
    blocks = []
    for at, filters in enumerate((16, 32, 64)):
        blocks.append([convolution(filters, f"conv{at}_a"), convolution(filters, f"conv{at}_b"), layers.MaxPooling2D(name=f"pool{at}")])
    blocks.append([layers.Flatten(name="flatten"), layers.Dense(256, activation="relu", name="wide"), layers.Dense(10, dtype="float32", name="classes")])
    return Chain(blocks), (side, side, 3)


def unet(side):
    return UNet(), (side, side, 3)


def attention(length):
    layers = tf.keras.layers
    blocks = [[layers.Embedding(8000, 128, name="embedding")]]
    for at in range(2):
        blocks.append([SelfAttention(4, 32, name=f"attention{at}"), layers.Dense(512, activation="relu", name=f"up{at}"), layers.Dense(128, name=f"down{at}")])
    blocks.append([layers.GlobalAveragePooling1D(name="mean"), layers.Dense(10, dtype="float32", name="classes")])
    return Chain(blocks), (length,)


class SelfAttention(tf.keras.layers.Layer):
    def __init__(self, heads, size, **options):
        super().__init__(**options)
        self.inner = tf.keras.layers.MultiHeadAttention(heads, size, name="heads")

    def call(self, x):
        return x + self.inner(x, x)


class Chain(tf.keras.Model):
    def __init__(self, blocks):
        super().__init__(name="net")
        self.blocks = [tf.keras.Sequential(block, name=f"block{at}") for at, block in enumerate(blocks)]
        self.recompute = False

    def call(self, x, training=True):
        for at, block in enumerate(self.blocks):
            again = self.recompute and 0 < at < len(self.blocks) - 1 or self.recompute and at == 0 and x.dtype.is_floating
            x = tf.recompute_grad(block)(x) if again else block(x)
        return x


class UNet(tf.keras.Model):
    """Two stages down, two up, with skips."""

    def __init__(self):
        super().__init__(name="net")
        def two(filters, name):
            return tf.keras.Sequential([convolution(filters, f"{name}_a"), convolution(filters, f"{name}_b")], name=name)
        self.down1, self.down2, self.middle = two(16, "down1"), two(32, "down2"), two(64, "middle")
        self.up2, self.up1 = two(32, "up2"), two(16, "up1")
        self.grow2 = tf.keras.layers.Conv2DTranspose(32, 2, strides=2, name="grow2")
        self.grow1 = tf.keras.layers.Conv2DTranspose(16, 2, strides=2, name="grow1")
        self.pool = tf.keras.layers.MaxPooling2D(name="pool")
        self.join = tf.keras.layers.Concatenate(name="join")
        self.classes = tf.keras.layers.Conv2D(2, 1, dtype="float32", name="classes")
        self.recompute = False

    def call(self, x, training=True):
        run = tf.recompute_grad if self.recompute else (lambda block: block)
        one = run(self.down1)(x)
        two = run(self.down2)(self.pool(one))
        three = run(self.middle)(self.pool(two))
        four = run(self.up2)(self.join([two, self.grow2(three)]))
        five = run(self.up1)(self.join([one, self.grow1(four)]))
        return tf.reduce_mean(self.classes(five), axis=[1, 2]) if not self.dense else self.classes(five)

    dense = True


def main():
    net, change, *out = sys.argv[1:]
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    batch, side = NETS[net]
    batch = batch // 2 if change in ("smaller-batch", "gradient-accumulation") else batch
    side = side // 2 if change == "smaller-input" else side
    if change == "mixed-precision":
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model, shape = {"convnet": convnet, "unet": unet, "attention": attention}[net](side)
    tokens = len(shape) == 1
    x = np.random.randint(0, 2000, (batch, *shape)) if tokens else np.random.rand(batch, *shape)
    x = tf.constant(x.astype(np.int32 if tokens else np.float32))
    y = tf.constant(np.random.randint(0, 2, (batch, side, side) if net == "unet" else (batch,)).astype(np.int32))
    model(x[:1])
    model.recompute = change == "recompute"
    optimizer = tf.keras.optimizers.SGD(0.001) if change == "lighter-optimizer" else tf.keras.optimizers.Adam(0.001)
    weights = model.trainable_variables

    def gradients(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.cast(model(x), tf.float32)))
        return tape.gradient(loss, weights)

    @tf.function
    def whole(x, y):
        optimizer.apply_gradients(zip(gradients(x, y), weights))

    if change == "gradient-accumulation":
        sums = [tf.Variable(tf.zeros(each.shape), trainable=False, name="sum") for each in weights]

        @tf.function
        def part(x, y):
            for total, each in zip(sums, gradients(x, y)):
                total.assign_add(tf.convert_to_tensor(each))

        @tf.function
        def apply():
            optimizer.apply_gradients(zip([total.read_value() / 2 for total in sums], weights))
            for total in sums:
                total.assign(tf.zeros_like(total))

        def step(x, y):
            part(x, y)
            part(x, y)
            apply()
    else:
        step = whole

    for number in range(STEPS):
        if number == STEPS - 1:
            tf.config.experimental.reset_memory_stats("CPU:0")
        step(x, y)
    facts = {"tf": tf.__version__, "net": net, "change": change, "batch": batch}
    facts["max_in_use_bytes"] = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    facts["parameters"] = int(sum(np.prod(each.shape) for each in weights))
    if out:
        trace(step, x, y, out[0])
    print("FACTS " + json.dumps(facts, sort_keys=True))


def trace(step, x, y, out):
    from tensorflow.python.eager import context

    tf.profiler.experimental.start("profile")
    step(x, y)
    tf.profiler.experimental.stop()
    os.rename(glob.glob("profile/plugins/profile/*/*.xplane.pb")[0], out + ".xplane.pb")
    context.enable_run_metadata()
    step(x, y)
    metadata = context.export_run_metadata()
    context.disable_run_metadata()
    with open(out + ".pb", "wb") as file:
        file.write(metadata.SerializeToString())


if __name__ == "__main__":
    main()
