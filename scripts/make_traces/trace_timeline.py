"""Make a Chrome trace of one training step: trace_timeline.py OUTPUT memory|plain|hook MODEL [key=number ...].

`memory` and `plain` are timeline.Timeline with and without show_memory, `hook` is the file that tf.train.ProfilerHook leaves.
Writes OUTPUT.timeline.json and OUTPUT.truth.json with the allocator's own peak, which a Chrome trace can only bound from below.
"""
import glob
import json
import shutil
import sys

import numpy as np
from tensorflow.python.client import timeline

import common_models_v1
from oom_kit import tf, tf1
from trace_session import OPTIMIZERS, STEPS, lenet, memory_info, refused


def main():
    output, mode, model = sys.argv[1:4]
    sizes = {key: int(number) for key, number in (pair.split("=") for pair in sys.argv[4:])}
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    np.random.seed(1)
    net = lenet(**sizes) if model == "lenet" else getattr(common_models_v1, model)(**sizes)
    steps = tf1.train.get_or_create_global_step()
    train_op = OPTIMIZERS["adam"]().minimize(net.loss, global_step=steps)
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    truth = dict(tf=tf.__version__, model=model, show_memory=mode == "memory")
    if mode == "hook":
        hook = tf1.train.ProfilerHook(save_steps=2, output_dir="hook")
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(STEPS):
                session.run(train_op, net.feed)
        shutil.copy(sorted(glob.glob("hook/timeline-*.json"))[-1], output + ".timeline.json")
    else:
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            for _ in range(STEPS):
                metadata = tf1.RunMetadata()
                session.run([train_op, net.loss], net.feed, options=options, run_metadata=metadata)
            after = memory_info()
            if after and after["peak"]:
                truth.update(max_in_use_bytes=after["peak"], how="get_memory_info after %d equal traced steps" % STEPS)
            shown = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=mode == "memory")
            with open(output + ".timeline.json", "w") as out:
                out.write(shown)
            refused(session, huge)
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
