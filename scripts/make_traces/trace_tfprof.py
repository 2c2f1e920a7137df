"""Let tfprof profile training steps: trace_tfprof.py OUTPUT context|profiler|profiler-gpu MODEL [key=number ...].

`context` is tf.contrib.tfprof.ProfileContext (TensorFlow 1), whose folder holds profile_<step>; `profiler` is tf.profiler.Profiler, which
serialises itself; `profiler-gpu` gives the CPU's allocator a GPU's name first, since tfprof keeps the records of such only. Writes OUTPUT.profile and OUTPUT.truth.json with the allocator's own peak.
"""
import glob
import json
import shutil
import sys

import numpy as np

import common_models_v1
from oom_kit import tf, tf1
from trace_session import OPTIMIZERS, STEPS, lenet, memory_info, refused


def call_it_a_gpus(metadata):
    """tfprof keeps allocation records of allocators with GPU in their name only."""
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            for memory in node.memory:
                memory.allocator_name = "GPU_0_bfc"


def main():
    output, mode, model = sys.argv[1:4]
    sizes = {key: int(number) for key, number in (pair.split("=") for pair in sys.argv[4:])}
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    np.random.seed(1)
    net = lenet(**sizes) if model == "lenet" else getattr(common_models_v1, model)(**sizes)
    train_op = OPTIMIZERS["adam"]().minimize(net.loss)
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    truth = dict(tf=tf.__version__, model=model)
    if mode == "context":
        with tf.contrib.tfprof.ProfileContext("prof", trace_steps=[2, 3], dump_steps=[3]):
            with tf1.Session() as session:
                session.run(tf1.global_variables_initializer())
                for _ in range(STEPS):
                    session.run([train_op, net.loss], net.feed)
                refused(session, huge)
        shutil.copy(sorted(glob.glob("prof/profile_*"))[-1], output + ".profile")
    else:
        profiler = tf1.profiler.Profiler(tf1.get_default_graph())
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            for step in range(STEPS):
                metadata = tf1.RunMetadata()
                session.run([train_op, net.loss], net.feed, options=options, run_metadata=metadata)
                if mode == "profiler-gpu":
                    call_it_a_gpus(metadata)
                if step >= 2:
                    profiler.add_step(step, metadata)
            after = memory_info()
            if after and after["peak"]:
                truth.update(max_in_use_bytes=after["peak"], how="get_memory_info after %d equal traced steps" % STEPS)
            with open(output + ".profile", "wb") as out:
                out.write(profiler.serialize_to_string())
            refused(session, huge)
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
