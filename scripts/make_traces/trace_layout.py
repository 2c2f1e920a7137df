"""Trace a step whose graph went through the LayoutOptimizer for a GPU: trace_layout.py OUTPUT MODEL [key=number ...].

The pass runs for a virtual GPU (see oom_layout.py); the rewritten graph then runs on the CPU with oneDNN's NCHW kernels. Writes OUTPUT.pb
(RunMetadata with partition graphs) and OUTPUT.truth.json with the allocator's own peak; `training=1` is the same net with batch normalisation
in training mode: fewer copies, to compare the peaks.
"""
import json
import os
import sys

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # the NCHW kernels

import numpy as np

import common_models_v1
import oom_layout
from oom_kit import tf, tf1

STEPS = 4
PASSES = ["pruning", "constfold", "arithmetic", "layout", "dependency"]
"""The remapper stays out: what it fuses has no CPU kernel."""


def rewritten(model, sizes):
    """The net's graph after the pass, with the names to run and what to feed."""
    with tf1.Graph().as_default() as graph, tf1.device(oom_layout.GPU):
        net = getattr(common_models_v1, model)(**sizes)
        train = tf1.train.MomentumOptimizer(0.001, 0.9).minimize(net.loss)
        names = [train.name, tf1.global_variables_initializer().name]
        with oom_layout.stderr_closed():
            after = oom_layout.after_layout_pass(graph, [graph.get_operation_by_name(name) for name in names], "6.1", PASSES)
    return oom_layout.for_this_cpu(after, False), names, {placeholder.name: value for placeholder, value in net.feed.items()}


def main():
    output, model = sys.argv[1:3]
    sizes = {key: int(number) for key, number in (argument.split("=") for argument in sys.argv[3:])}
    tf1.disable_v2_behavior()
    np.random.seed(1)
    graph_def, (train, init), feed = rewritten(model, sizes)
    off = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf1.Graph().as_default() as graph, tf1.Session(config=off) as session:
        tf1.import_graph_def(graph_def, name="")
        session.run(graph.get_operation_by_name(init))
        for _ in range(STEPS):
            before = tf.config.experimental.get_memory_info("CPU:0")
            metadata = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
            session.run(graph.get_operation_by_name(train), feed, options=options, run_metadata=metadata)
        after = tf.config.experimental.get_memory_info("CPU:0")
    copies = [node.name for node in graph_def.node if node.op == "Transpose" and "LayoutOptimizer" in node.name]
    truth = dict(tf=tf.__version__, model=model, sizes=sizes, copies=len(copies), in_use_before_bytes=before["current"], max_in_use_bytes=after["peak"],
                 how="get_memory_info after %d equal traced steps" % STEPS)
    with open(output + ".pb", "wb") as out:
        out.write(metadata.SerializeToString())
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
