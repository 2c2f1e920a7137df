"""Record training steps with the TF2 profiler: trace_profiler.py OUTPUT function|eager [plain] [take=SUFFIX] [key=number ...].

Writes OUTPUT.xplane.pb (or another file of the run) and its truth.
"""
import glob
import json
import os
import sys

if "plain" in sys.argv:  # malloc instead of BFC: a trace without memory events
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def convolutions(channels):
    """A net small enough for a sample, with layers that have names."""
    return tf.keras.Sequential([
        tf.keras.layers.Conv2D(channels, 3, padding="same", activation="relu", name="features"),
        tf.keras.layers.Conv2D(2 * channels, 3, strides=2, padding="same", activation="relu", name="refine"),
        tf.keras.layers.GlobalAveragePooling2D(name="pool"),
        tf.keras.layers.Dense(10, name="classes"),
    ], name="net")


def main():
    output, mode = sys.argv[1:3]
    sizes = dict(pair.split("=") for pair in sys.argv[3:] if "=" in pair)
    wanted = sizes.pop("take", "xplane.pb")
    sizes = {key: int(number) for key, number in sizes.items()}
    batch, side, channels = sizes.get("batch", 8), sizes.get("side", 64), sizes.get("channels", 16)
    model = convolutions(channels)
    optimizer = tf.keras.optimizers.Adam(0.001)
    x = tf.constant(np.random.rand(batch, side, side, 3).astype(np.float32))
    y = tf.constant(np.random.randint(0, 10, [batch]))

    def train_step():
        with tf.GradientTape() as tape:
            losses = tf.keras.losses.sparse_categorical_crossentropy(y, model(x, training=True), from_logits=True)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    step = tf.function(train_step) if mode == "function" else train_step
    for _ in range(3):
        step()
    truth = {"tf": tf.__version__, "batch": batch, "mode": mode}
    info = getattr(tf.config.experimental, "get_memory_info", None)
    reset = getattr(tf.config.experimental, "reset_memory_stats", None)
    if reset and "plain" not in sys.argv:
        reset("CPU:0")
    before = info("CPU:0") if info and "plain" not in sys.argv else None
    tf.profiler.experimental.start("profile")
    for _ in range(2):
        step()
    tf.profiler.experimental.stop()
    if before and reset and "plain" not in sys.argv:
        truth.update(in_use_before_bytes=before["current"], max_in_use_bytes=info("CPU:0")["peak"], how="reset_memory_stats and get_memory_info around the profiled steps")
    found = glob.glob("profile/plugins/profile/*/*." + wanted)[0]
    with open(found, "rb") as source, open(output + "." + wanted, "wb") as out:
        out.write(source.read())
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
