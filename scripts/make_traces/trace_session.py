"""Record the memory of one training step in a v1 Session: trace_session.py OUTPUT MODEL [optimizer=adam] [steps=4] [key=number ...].

Writes OUTPUT.pb (RunMetadata, FULL_TRACE, with partition graphs) and OUTPUT.truth.json. Every step is traced alike, so the allocator's own MaxInUse,
which a last impossible request makes it print, is the peak of one of them; with steps=1 it is that step's own. TensorFlow 2.5 and later are asked
about the last step alone.
"""
import json
import os
import sys

import numpy as np

import common_models_v1
from oom_graph import OPTIMIZERS
from oom_kit import tf, tf1, v1_variable_facts

STEPS = 4


def lenet(batch=1):
    """The small net of founding question Q3: 832, 51,264, 3,212,288 and 10,250 parameters."""
    images, value = common_models_v1._image(batch, 28, 28, 1)
    x = common_models_v1._conv(images, "conv1", 32, 5)
    x = tf1.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    x = common_models_v1._conv(x, "conv2", 64, 5)
    x = tf1.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool2")
    x = common_models_v1._dense(tf1.reshape(x, [batch, 7 * 7 * 64]), "fc1", 1024)
    x = common_models_v1._dense(x, "fc2", 10, relu=False)
    return common_models_v1.Net(tf1.reduce_mean(tf1.square(x)), {images: value}, batch, "fc1", "fc1's kernel has 3,211,264 weights")


def memory_info():
    """What the allocator says of itself (TensorFlow 2.5 and later), None elsewhere."""
    try:
        return tf.config.experimental.get_memory_info("CPU:0")
    except (AttributeError, ValueError, RuntimeError):
        return None


def refused(session, huge):
    """An impossible request: the allocator prints its statistics. Plain malloc gives no such answer, and may end the process."""
    if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC") != "1" or tf.__version__.startswith("1.10"):
        return
    try:
        session.run(huge)
    except Exception as error:
        print("refused as wanted: %s" % type(error).__name__)


def keep(output, metadata, truth):
    """Write the traced step, and beside it what the run knows of itself."""
    with open(output + ".pb", "wb") as out:
        out.write(metadata.SerializeToString())
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


def main():
    output, model = sys.argv[1:3]
    optimizer_name, steps = "adam", STEPS
    sizes = {}
    for argument in sys.argv[3:]:
        key, number = argument.split("=")
        if key == "optimizer":
            optimizer_name = number
        elif key == "steps":
            steps = int(number)
        else:
            sizes[key] = int(number)
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    np.random.seed(1)
    net = lenet(**sizes) if model == "lenet" else getattr(common_models_v1, model)(**sizes)
    optimizer = OPTIMIZERS[optimizer_name]()
    train_op = optimizer.minimize(net.loss)
    truth = dict(tf=tf.__version__, batch=net.batch, optimizer=optimizer_name, model=model, **v1_variable_facts(optimizer))
    truth["variables"] = {v.op.name: v.shape.as_list() for v in tf1.trainable_variables()}
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        before = None
        for _ in range(steps):
            if memory_info():
                tf.config.experimental.reset_memory_stats("CPU:0")
            before = memory_info()
            metadata = tf1.RunMetadata()
            session.run([train_op, net.loss], net.feed, options=options, run_metadata=metadata)
        after = memory_info()
        if before and after and after["peak"]:
            truth.update(in_use_before_bytes=before["current"], max_in_use_bytes=after["peak"], how="reset_memory_stats and get_memory_info around the traced step alone")
        keep(output, metadata, truth)
        refused(session, huge)


if __name__ == "__main__":
    main()
