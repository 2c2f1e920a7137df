"""Run Grappler's real layout pass on a graph for a GPU that exists on paper: a plain script for Python 3.6 and later, TensorFlow 1.5 to 2.21.

    python layout_pass.py request.json

The request names the graph, what it is (`GraphDef`, `MetaGraphDef`, `SavedModel`; text or binary), the compute capability, fetches, what is fed, and what to
edit before each run. Each run leaves a GraphDef; the answer is one line of JSON on standard output. tfmemlens starts this in a process of its own,
with the Python that has TensorFlow, so that an old environment does not have to run tfmemlens itself.
"""

import json
import os
import re
import sys

APPLY = re.compile(r"(?:Resource)?(?:Sparse)?Apply\w+")
HOST = re.compile(
    r"PyFunc|EagerPyFunc|.*Iterator.*|.*Dataset.*|.*Queue.*|.*Summary.*|Save.*|Restore.*|MergeV2Checkpoints|ShardedFilename|Read.*File|WriteFile|"
    r"Decode.*|Parse.*Example.*|String.*|Assert|Print.*|LookupTable.*|HashTable.*|.*Reader.*"
)
ENDS = re.compile(
    r"Placeholder.*|Const|NoOp|Assert|Assign.*|Save.*|Restore.*|.*Summary.*|VarIsInitialized.*|IsVariableInitialized|Variable.*|VarHandleOp"
)
GPU = "/job:localhost/replica:0/task:0/device:GPU:%d"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


class NotThere(Exception):
    """An edit needs what TensorFlow of this version lacks."""


def load(request):
    """The MetaGraphDef of the request's file."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

    kinds = {
        "GraphDef": graph_pb2.GraphDef,
        "MetaGraphDef": meta_graph_pb2.MetaGraphDef,
        "SavedModel": saved_model_pb2.SavedModel,
    }
    message = kinds[request["kind"]]()
    with open(request["graph"], "rb") as file:
        raw = file.read()
    if request["text"]:
        from google.protobuf import text_format

        text_format.Merge(raw.decode("utf-8"), message)
    else:
        message.ParseFromString(raw)
    if request["kind"] == "SavedModel":
        message = message.meta_graphs[0]
    if request["kind"] == "GraphDef":
        meta = meta_graph_pb2.MetaGraphDef()
        meta.graph_def.CopyFrom(message)
        return meta
    return message


def name_of(reference):
    return reference.lstrip("^").split(":")[0]


def fetches_of(meta, wanted):
    """What is fetched: as asked, else the training ops of the file, else the ops that apply gradients, else what nobody reads."""
    nodes = {node.name: node for node in meta.graph_def.node}
    if wanted:
        missing = [each for each in wanted if name_of(each) not in nodes]
        if missing:
            raise SystemExit("no node %r in the graph" % missing[0])
        return [name_of(each) for each in wanted]
    listed = (
        [name_of(each) for each in meta.collection_def["train_op"].node_list.value]
        if "train_op" in meta.collection_def
        else []
    )
    listed = [each for each in listed if each in nodes]
    if listed:
        return listed
    read = {name_of(each) for node in meta.graph_def.node for each in node.input}
    sinks = [node for node in meta.graph_def.node if node.name not in read]
    updates = [
        node.name for node in sinks if any(APPLY.match(nodes[each].op) for each in above(node.name, nodes))
    ]
    if updates:
        return updates
    outputs = [
        name_of(info.name) for signature in meta.signature_def.values() for info in signature.outputs.values()
    ]
    outputs = [each for each in outputs if each in nodes]
    return (
        sorted(set(outputs))
        or [node.name for node in sinks if not ENDS.match(node.op) and "gradients/" not in node.name]
        or [node.name for node in sinks]
    )


def above(name, nodes, limit=200000):
    """All nodes that a node waits for, itself included."""
    seen, waiting = set(), [name]
    while waiting and len(seen) < limit:
        each = waiting.pop()
        if each not in seen and each in nodes:
            seen.add(each)
            waiting += [name_of(reference) for reference in nodes[each].input]
    return seen


def prepare(meta, fetches, feed):
    """Every node on a device that is there, shapes left to be inferred, open dimensions of feeds filled in. Returns the number of GPUs."""
    gpus = 1
    for body in [meta.graph_def.node] + [function.node_def for function in meta.graph_def.library.function]:
        for node in body:
            if (
                node.op == "ReadVariableOp" and "_output_shapes" in node.attr
            ):  # the pass forgets shapes, and a captured variable has no other
                node.attr["_tfmemlens_shapes"].CopyFrom(node.attr["_output_shapes"])
            node.attr.pop("_output_shapes", None)
            match = re.search(r"(?:device:)?(gpu|cpu):(\d+)", node.device, re.IGNORECASE)
            if match and match.group(1).lower() == "gpu":
                node.device = GPU % int(match.group(2))
                gpus = max(gpus, int(match.group(2)) + 1)
            else:
                node.device = CPU if match or HOST.match(node.op) else GPU % 0
            if feed and node.op.startswith("Placeholder") and "shape" in node.attr:
                fill(node.attr["shape"].shape, feed)
    meta.collection_def["train_op"].node_list.value[:] = fetches
    return gpus


def fill(shape, feed):
    """A feed's open dimensions as they are stated: all of them where the ranks agree, else the first."""
    sides = [side.size for side in shape.dim]
    if shape.unknown_rank and len(feed) > 1:
        shape.unknown_rank = False
        for each in feed:
            shape.dim.add().size = -1 if each is None else each
    elif len(sides) == len(feed) and all(
        own < 0 or stated is None or own == stated for own, stated in zip(sides, feed)
    ):
        for side, stated in zip(shape.dim, feed):
            side.size = side.size if side.size >= 0 or stated is None else stated
    elif sides and sides[0] < 0 and feed[0] is not None:
        shape.dim[0].size = feed[0]


def optimize(meta, request, gpus, run):
    """The GraphDef that Grappler makes of it."""
    import tensorflow as tf
    from tensorflow.core.protobuf import device_properties_pb2, rewriter_config_pb2
    from tensorflow.python.grappler import cluster as gcluster
    from tensorflow.python.grappler import tf_optimizer

    def device(name, kind, environment):
        properties = device_properties_pb2.DeviceProperties(
            type=kind, frequency=1000, num_cores=8, memory_size=1 << 40, environment=environment
        )
        return device_properties_pb2.NamedDevice(properties=properties, name=name)

    environment = {"architecture": run.get("compute_capability") or request["compute_capability"]}
    environment.update(run.get("environment", {}))
    cluster = gcluster.Cluster(
        devices=[device(CPU, "CPU", {})] + [device(GPU % index, "GPU", environment) for index in range(gpus)]
    )
    rewriter = rewriter_config_pb2.RewriterConfig(
        layout_optimizer=rewriter_config_pb2.RewriterConfig.ON
    )  # 1.5 runs it only when told to
    there = rewriter.DESCRIPTOR.fields_by_name
    if "min_graph_nodes" in there:
        rewriter.min_graph_nodes = -1
    if request["passes"] == "layout":
        rewriter.optimizers[:] = ["layout"]
        if "meta_optimizer_iterations" in there:
            rewriter.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
    for option, value in run.get("rewriter", {}).items():
        if option not in there:
            raise NotThere("TensorFlow %s has no %s" % (tf.__version__, option))
        setattr(rewriter, option, getattr(rewriter_config_pb2.RewriterConfig, value))
    if "layout_optimizer" in run.get("rewriter", {}) and request["passes"] == "layout":
        rewriter.optimizers[:] = ["pruning"]
    if tuple(map(int, tf.__version__.split(".")[:2])) < (1, 13):
        return tf_optimizer.OptimizeGraph(rewriter, meta, verbose=False, cluster=cluster)
    config = (
        tf.compat.v1.ConfigProto() if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf.ConfigProto()
    )
    config.graph_options.rewrite_options.CopyFrom(rewriter)
    return tf_optimizer.OptimizeGraph(config, meta, verbose=False, cluster=cluster)


def batch_norm_training(graph_def):
    """Every fused batch normalisation in training mode, its gradient reading the batch's own statistics. Returns how many changed."""
    nodes = {node.name: node for node in graph_def.node}
    changed = 0
    for node in graph_def.node:
        if (
            node.op.startswith("FusedBatchNorm")
            and "is_training" in node.attr
            and not node.attr["is_training"].b
        ):
            node.attr["is_training"].b = True
            changed += 1
            if "Grad" in node.op and len(node.input) >= 5:
                forward = forward_norm(node, nodes)
                if forward:
                    node.input[3], node.input[4] = forward + ":3", forward + ":4"
    return changed


def forward_norm(gradient, nodes):
    """The normalisation whose gradient this is: it reads the same tensor and the same scale."""
    plain = re.sub(r".*gradients(?:_\d+)?/(.*)_grad/[^/]*$", r"\1", gradient.name)
    if plain in nodes and nodes[plain].op.startswith("FusedBatchNorm"):
        return plain
    return next(
        (
            node.name
            for node in nodes.values()
            if node.op.startswith("FusedBatchNorm")
            and "Grad" not in node.op
            and list(node.input[:1]) == [gradient.input[1]]
        ),
        None,
    )


def plain_relu(graph_def):
    """ReLU in place of leaky ReLU, with its gradient."""
    changed = 0
    for node in graph_def.node:
        if node.op in ("LeakyRelu", "LeakyReluGrad"):
            node.op = node.op.replace("Leaky", "")
            node.attr.pop("alpha", None)
            changed += 1
    return changed


def transposed_convolution(graph_def, resizes):
    """A transposed convolution in place of each resize to a whole multiple, a convolution in place of its gradient."""
    changed = 0
    for node in list(graph_def.node):
        facts = resizes.get(node.name)
        if not facts:
            continue
        channels, strides, sizes = facts["channels"], facts["strides"], facts["sizes"]
        kernel = constant(
            graph_def,
            node.name + "/tfmemlens_kernel",
            "filled",
            [2 * strides[0], 2 * strides[1], channels, channels],
            node.device,
        )
        kernel_input, data = kernel.name, node.input[0]
        gradient = "Grad" in node.op
        shape = (
            constant(graph_def, node.name + "/tfmemlens_sizes", sizes, [4], node.device)
            if not gradient
            else None
        )
        del node.input[:]
        node.input.extend([data, kernel_input] if gradient else [shape.name, kernel_input, data])
        node.op = "Conv2D" if gradient else "Conv2DBackpropInput"
        for name in list(node.attr):
            del node.attr[name]
        node.attr["T"].type = 1
        node.attr["strides"].list.i.extend([1, strides[0], strides[1], 1])
        node.attr["padding"].s = b"SAME"
        node.attr["data_format"].s = b"NHWC"
        changed += 1
    return changed


def constant(graph_def, name, values, shape, device):
    """A new constant: whole numbers, or `filled` with one half."""
    node = graph_def.node.add()
    node.name, node.op, node.device = name, "Const", device
    tensor = node.attr["value"].tensor
    for side in shape:
        tensor.tensor_shape.dim.add().size = side
    tensor.dtype = 1 if values == "filled" else 3
    node.attr["dtype"].type = tensor.dtype
    if values == "filled":
        tensor.float_val.append(0.5)
    else:
        tensor.int_val.extend(values)
    return node


def edit(meta, run):
    """Apply the run's edits. Returns how many nodes changed, None without edits."""
    graph_def, remedy = meta.graph_def, run["remedy"]
    if remedy == "batch-norm-training":
        return batch_norm_training(graph_def)
    if remedy == "relu":
        return plain_relu(graph_def)
    if remedy == "transposed-convolution":
        return transposed_convolution(graph_def, run["resizes"])
    return None


def main(path):
    import copy

    with open(path) as file:
        request = json.load(file)
    out, sys.stdout = sys.stdout, sys.stderr  # what TensorFlow prints must not mix with the answer
    import tensorflow as tf

    answers = []
    original = load(request)
    for run in request["runs"]:
        meta = copy.deepcopy(original)
        fetches = fetches_of(meta, run.get("fetches") or request["fetches"])
        changed = edit(meta, run)
        gpus = prepare(meta, fetches, request["feed"])
        os.environ.update(run.get("variables", {}))
        try:
            after = optimize(meta, request, gpus, run)
        except NotThere as problem:
            answers.append({"remedy": run["remedy"], "problem": str(problem)})
            continue
        with open(run["out"], "wb") as file:
            file.write(after.SerializeToString())
        answers.append(
            {"remedy": run["remedy"], "changed": changed, "fetches": fetches[:20], "nodes": len(after.node)}
        )
    out.write("\nLAYOUT " + json.dumps({"tensorflow": tf.__version__, "runs": answers}) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    main(sys.argv[1])
