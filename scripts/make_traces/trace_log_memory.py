"""Let TensorFlow log every allocation as text: trace_log_memory.py OUTPUT function|MODEL [key=number ...]. Writes OUTPUT.log and OUTPUT.truth.json.

LogMemory speaks when VLOG(2) is on for log_memory.cc. The truth is the allocator's own peak over equal steps.
"""
import json
import os
import sys

os.environ["TF_CPP_VMODULE"] = "log_memory=2"
log = open(sys.argv[1] + ".log", "wb")
standard_error = os.dup(2)
os.dup2(log.fileno(), 2)  # TensorFlow's C++ side writes there

import numpy as np  # noqa: E402

import common_models_v1  # noqa: E402
from oom_kit import tf, tf1  # noqa: E402
from trace_session import OPTIMIZERS, lenet, memory_info, refused  # noqa: E402


def function(output):
    """Two steps of a tf.function (TensorFlow 2): no Session, so no MemoryLogStep."""
    x = tf.constant(np.random.rand(64, 256).astype(np.float32))
    first, second = tf.Variable(tf.random.normal([256, 512]), name="first"), tf.Variable(tf.random.normal([512, 16]), name="second")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, first)), second)))
        for variable, gradient in zip((first, second), tape.gradient(loss, (first, second))):
            variable.assign_sub(0.1 * gradient)

    step()
    step()
    truth = dict(tf=tf.__version__, model="function", max_in_use_bytes=memory_info()["peak"], how="get_memory_info after the logged steps")
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


def main():
    output, model = sys.argv[1:3]
    if model == "function":
        return function(output)
    sizes = {key: int(number) for key, number in (pair.split("=") for pair in sys.argv[3:])}
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    np.random.seed(1)
    net = lenet(**sizes) if model == "lenet" else getattr(common_models_v1, model)(**sizes)
    train_op = OPTIMIZERS["adam"]().minimize(net.loss)
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    truth = dict(tf=tf.__version__, model=model, steps=3)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(2):
            session.run([train_op, net.loss], net.feed)
        after = memory_info()
        if after and after["peak"]:
            truth.update(max_in_use_bytes=after["peak"], how="get_memory_info after the logged steps")
        sys.stderr.flush()
        os.dup2(standard_error, 2)
        refused(session, huge)
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
