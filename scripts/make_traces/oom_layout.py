"""Run a v1 training step whose graph went through the LayoutOptimizer for a GPU: oom_layout.py MODEL [key=number ...].

There is no GPU here. Grappler's own Python API rewrites the graph for a virtual one; the rewritten graph then runs on
the CPU with a build that has NCHW kernels (oneDNN or MKL), or with the stand-ins of oom_kernels.cc.
"""
import argparse
import contextlib
import os

from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.protobuf import device_properties_pb2, rewriter_config_pb2
from tensorflow.python.grappler import cluster as gcluster
from tensorflow.python.grappler import tf_optimizer

import common_models_v1
from oom_kit import note_truth, noting_failure, report_options, tf, tf1, v1_variable_facts

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("sizes", nargs="*", help="the model's parameters, as key=number")
    parser.add_argument("--architecture", default="6.1", help="compute capability of the virtual GPU")
    parser.add_argument("--stand-ins", help="library with NCHW kernels, built from oom_kernels.cc")
    return parser.parse_args()


def virtual_gpu(architecture):
    """A cluster with one CPU and one GPU that exist on paper only."""
    def device(kind, environment):
        properties = device_properties_pb2.DeviceProperties(
            type=kind, frequency=1000, num_cores=8, memory_size=1 << 40, environment=environment)
        return device_properties_pb2.NamedDevice(
            properties=properties, name=GPU.replace("GPU", kind))
    return gcluster.Cluster(devices=[device("CPU", {}), device("GPU", {"architecture": architecture})])


def after_layout_pass(graph, fetches, architecture, passes=("layout",)):
    """The GraphDef that the real layout pass makes of this graph, alone or (None) among all passes that a Session runs."""
    for fetch in fetches:
        graph.add_to_collection("train_op", fetch)
    rewriter = rewriter_config_pb2.RewriterConfig(
        optimizers=passes, **{name: value for name, value in (
            ("meta_optimizer_iterations", 1 if passes else 0), ("min_graph_nodes", -1)) if name in rewriter_config_pb2.RewriterConfig.DESCRIPTOR.fields_by_name})
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.CopyFrom(rewriter)
    meta_graph = tf1.train.export_meta_graph(graph=graph)
    before_1_14 = tuple(map(int, tf.__version__.split(".")[:2])) < (1, 13)
    return tf_optimizer.OptimizeGraph(rewriter if before_1_14 else config, meta_graph, verbose=False,
                                      cluster=virtual_gpu(architecture))


@contextlib.contextmanager
def stderr_closed():
    """Drop what the pass complains about: thousands of lines on GPU kernels that a CPU build lacks."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)


def for_this_cpu(graph_def, use_stand_ins):
    """Let every node run on the CPU; mark the NCHW ones where the stand-in kernels shall serve."""
    for node in graph_def.node:
        node.device = ""
        is_nchw = "data_format" in node.attr and node.attr["data_format"].s == b"NCHW"
        if use_stand_ins and (is_nchw or node.op == "DataFormatVecPermute"):
            node.attr["_kernel"].CopyFrom(attr_value_pb2.AttrValue(s=b"nchw_stand_in"))
    return graph_def


def main():
    args = arguments()
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    if args.stand_ins:
        tf1.load_op_library(args.stand_ins)
    sizes = {key: int(number) for key, number in (pair.split("=") for pair in args.sizes)}
    with tf1.Graph().as_default() as graph, tf1.device(GPU):  # without a device, 2.11 and later leave the nodes alone
        net = getattr(common_models_v1, args.model)(**sizes)
        optimizer = tf1.train.AdamOptimizer(0.001)
        names = [optimizer.minimize(net.loss).name, net.loss.op.name, tf1.global_variables_initializer().name]
        note_truth(batch=net.batch, optimizer="adam", user_layer=net.user_layer, **v1_variable_facts(optimizer))
        with stderr_closed():
            fetches = [graph.get_operation_by_name(name) for name in names]
            graph_def = after_layout_pass(graph, fetches, args.architecture)
    count = sum(node.op == "Transpose" and "LayoutOptimizer" in node.name for node in graph_def.node)
    print("%d transposes inserted by the layout pass for a GPU of compute capability %s" % (count, args.architecture))
    note_truth(layout_transposes=count, culprit=net.culprit + "; the LayoutOptimizer's transposes hold second copies")
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        tf1.import_graph_def(for_this_cpu(graph_def, bool(args.stand_ins)), name="")
        train, loss, init = [graph.get_operation_by_name(name) for name in names]
        session.run(init)
        feed = {placeholder.name: value for placeholder, value in net.feed.items()}
        for step in range(3):
            _, value = noting_failure(lambda: session.run([train, loss.outputs[0]], feed, options=report_options()))
            print("step %d loss %.4f" % (step, value))


if __name__ == "__main__":
    main()
