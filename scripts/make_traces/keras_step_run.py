"""Run a few training steps of a Keras model, one op at a time, and say what the allocator's peak was: keras_step_run.py MODULE:FUNCTION [key=value ...].

Keys: batch=32, optimizer=adam, shape=224x224x3 (an input without the batch), infer=1, steps=4, threads=1, out=FILE (xplane.pb of the last step).
The step is a tf.function, as `fit` runs it without XLA. Prints one line of JSON. TensorFlow 2.11 to 2.21, on a BFC allocator for the CPU.
"""
import glob
import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tfmemlens", "recording"))
import trace_training_graph as recorder


def main():
    given = dict(pair.split("=", 1) for pair in sys.argv[2:])
    threads = int(given.get("threads", 1))
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    if given.get("policy"):
        tf.keras.mixed_precision.set_global_policy(given["policy"])
    options = type("Options", (), {"batch": int(given.get("batch", 32)), "shape": given["shape"].split(",") if given.get("shape") else []})
    model = recorder.load(tf, sys.argv[1])
    inputs, labels = recorder.specifications(tf, model, options)
    optimizer = recorder.make_optimizer(tf, given.get("optimizer", "adam"))
    inference = given.get("infer") == "1"
    step = tf.function(recorder.training_step(tf, model, optimizer, inference), autograph=False)
    x = tf.nest.map_structure(values, inputs)
    y = [values(each) for each in labels]
    facts = {"tf": tf.__version__, "model": sys.argv[1].split(":")[-1], "batch": options.batch, "optimizer": given.get("optimizer", "adam"), "infer": inference}
    facts["parameters"] = int(model.count_params())
    facts["in_use_before_bytes"] = tf.config.experimental.get_memory_info("CPU:0")["current"]
    for number in range(int(given.get("steps", 4))):
        if number == 2:
            tf.config.experimental.reset_memory_stats("CPU:0")
            facts["in_use_between_bytes"] = tf.config.experimental.get_memory_info("CPU:0")["current"]
            if given.get("out"):
                tf.profiler.experimental.start("profile")
        result = step(x, y)
        del result
    facts["max_in_use_bytes"] = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    if given.get("out"):
        tf.profiler.experimental.stop()
        os.rename(glob.glob("profile/plugins/profile/*/*.xplane.pb")[0], given["out"])
    print("FACTS " + json.dumps(facts, sort_keys=True))


def values(spec):
    """Something of that type."""
    shape = spec.shape.as_list()
    if spec.dtype.is_integer:
        return tf.constant(np.zeros(shape, spec.dtype.as_numpy_dtype))
    return tf.constant(np.random.rand(*shape).astype(spec.dtype.as_numpy_dtype))


if __name__ == "__main__":
    main()
