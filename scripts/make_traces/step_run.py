"""Run a few training steps of one small network, one op at a time, and say what the allocator's peak was: step_run.py MODEL [key=number ...].

Keys are the model's own parameters, and `optimizer=NAME`, `steps=4`, `threads=1` (inter-op and intra-op), `infer=1` (only the forward pass),
`trace=FILE` (write the last step's RunMetadata there), `graph=FILE` (write the MetaGraph there), `grappler=1` (Grappler's estimate), `profile=FILE`
(TensorFlow 2: write the XSpace of the whole process there, from the first variable on). Prints one line of JSON. Runs in TensorFlow 1.13
to 2.21; the allocator is a real BFC when the environment sets TF_CPU_ALLOCATOR_USE_BFC=1 and TF_CPU_BFC_MEM_LIMIT_IN_MB.
"""

import glob
import json
import os
import sys

import numpy as np

import common_models_v1
import trace_session
from oom_graph import OPTIMIZERS
from oom_kit import tf, tf1, v1_variable_facts

TEXTS = ("optimizer", "trace", "graph", "profile", "grappler")


def main():
    model = sys.argv[1]
    given = dict(pair.split("=", 1) for pair in sys.argv[2:])
    options = {key: given.pop(key) for key in list(given) if key in TEXTS}
    sizes = {key: int(number) for key, number in given.items()}
    steps, threads, infer = sizes.pop("steps", 4), sizes.pop("threads", 1), sizes.pop("infer", 0)
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    np.random.seed(1)
    net = (trace_session.lenet if model == "lenet" else getattr(common_models_v1, model))(**sizes)
    optimizer = OPTIMIZERS[options.get("optimizer", "adam")]()
    fetches = [net.loss] if infer else [optimizer.minimize(net.loss), net.loss]
    facts = {"tf": tf.__version__, "model": model, "batch": net.batch, "threads": threads, "sizes": sizes}
    facts["fetches"] = [each.name for each in fetches]
    if not infer:
        facts.update(optimizer=options.get("optimizer", "adam"), **v1_variable_facts(optimizer))
    if "graph" in options:
        tf1.train.export_meta_graph(options["graph"])
    if "grappler" in options:
        facts["grappler_bytes"] = grappler_peak([each.op.name if hasattr(each, "op") else each.name for each in fetches])
    huge = tf1.random_uniform([1 << 20, 1 << 18])
    if "profile" in options:
        tf.profiler.experimental.start("profile")
    config = tf1.ConfigProto(inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)
    with tf1.Session(config=config) as session:
        session.run(tf1.global_variables_initializer())
        run_steps(session, fetches, net.feed, steps, options.get("trace"))
        if "profile" in options:
            tf.profiler.experimental.stop()
            os.rename(glob.glob("profile/plugins/profile/*/*.xplane.pb")[0], options["profile"])
        try:
            facts["max_in_use_bytes"] = tf.config.experimental.get_memory_info("CPU:0")["peak"]
        except (AttributeError, ValueError, RuntimeError):
            facts["max_in_use_bytes"] = None
        print("FACTS " + json.dumps(facts, sort_keys=True), flush=True)
        if facts["max_in_use_bytes"] is None:
            try:
                session.run(huge)
            except Exception as error:  # the allocator prints its statistics
                print("refused as wanted: %s" % type(error).__name__)


def grappler_peak(fetches):
    """What Grappler's own simulation says of this graph, None where this TensorFlow has none."""
    try:
        from tensorflow.python.grappler import cluster, item
        meta_graph = tf1.train.export_meta_graph()
        meta_graph.collection_def["train_op"].node_list.value.extend(fetches)
        found = cluster.Cluster(disable_detailed_stats=True).DeterminePeakMemoryUsage(item.Item(meta_graph))
        return max(peak[0] for peak in found.values()) if found else None
    except Exception as problem:
        print("no figure of grappler: %r" % problem)
        return None


def run_steps(session, fetches, feed, steps, trace):
    """The last step is traced when a file is named."""
    for step in range(steps):
        if trace and step == steps - 1:
            metadata = tf1.RunMetadata()
            traced = tf1.RunOptions(trace_level=tf1.RunOptions.SOFTWARE_TRACE, output_partition_graphs=True)
            session.run(fetches, feed, options=traced, run_metadata=metadata)
            with open(trace, "wb") as out:
                out.write(metadata.SerializeToString())
        else:
            session.run(fetches, feed)


if __name__ == "__main__":
    main()
