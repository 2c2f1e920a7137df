"""Let Grappler's real layout pass rewrite the nets of layout_samples.txt for a GPU that exists on paper: layout.py [NAME...].

Run by any Python it starts itself once in each environment ($TFMEMLENS_ENVS, see environments.sh). Nothing is trained: the graphs are
built with their gradients, go through the pass, and are kept before and after it, without weights. The truth beside them is TensorFlow's:
each inserted node's shape by its own shape inference, and which copies are left when the model is edited as a remedy says.
"""
import gzip
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ENVS = os.environ.get("TFMEMLENS_ENVS", os.path.expanduser("~/.cache/tfmemlens/envs"))
SAMPLES = os.environ.get("TFMEMLENS_SAMPLES", os.path.join(HERE, "..", "..", "sample_traces"))
STRIPPED_ABOVE_BYTES = 256
ALONE = {"unet-founding-question", "resnet-fused-inference", "resnet-plain", "dropout", "leaky-relu", "concat-skips", "volume", "while-loop"}
"""Nets that are kept a second time with the layout pass alone, without the passes that run before and after it."""


def samples():
    for line in open(os.path.join(HERE, "layout_samples.txt")):
        if not line.startswith("#") and line.strip():
            name, environments, capability, net, remedies = (part.strip() for part in line.split("|"))
            yield name, environments.split(), capability, net.split(), dict(
                tuple(part.strip() for part in each.split(":")) for each in remedies.split(";") if each)


def main(wanted):
    for environment in sorted({each for _, environments, _, _, _ in samples() for each in environments}):
        python = os.path.join(ENVS, environment, "bin", "python")
        variables = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", PYTHONWARNINGS="ignore")
        subprocess.check_call([python, os.path.abspath(__file__), "--inside", environment] + wanted, env=variables, cwd=HERE)


def inside(environment, wanted):
    """All nets of one environment, in its own interpreter."""
    os.makedirs(os.path.join(SAMPLES, "layout"), exist_ok=True)
    for name, environments, capability, net, remedies in samples():
        if environment in environments and (not wanted or name in wanted):
            for passes, suffix in ((None, ""), (["layout"], "-layout-pass-alone")):
                if (passes is None and environment != "tf1.5") or (passes and name in ALONE):  # 1.5 runs the pass only when told to
                    try_to_record("%s-%s%s" % (environment[2:], name, suffix), capability, net, remedies, passes)


def try_to_record(stem, *rest):
    """Some graphs are too much for some TensorFlow: then there is no sample."""
    from oom_kit import tf
    try:
        record(stem, *rest)
    except tf.errors.OpError as error:
        print("%-45s none: %s" % (stem, str(error).split("\n")[0][:100]))


def record(stem, capability, net, remedies, passes):
    from oom_kit import tf
    options = dict(part.split("=") for part in net[1:] if "=" in part)
    options = {key: int(value) for key, value in options.items()}
    before, after = through_the_pass(net[0], options, set(net), capability, passes)
    keep(before, stem + ".before.pb.gz")
    keep(after, stem + ".after.pb.gz")
    truth = {"tf": tf.__version__, "net": " ".join(net), "compute_capability": capability, "passes": passes or "default", "inserted": inserted(after), "remedies": {}}
    for slug, change in remedies.items():
        key, value = change.split("=")
        flags = set(net) - {"--fetch-gradients"} if key == "fetch" else set(net)
        changed = options if key == "fetch" else dict(options, **{key: int(value)})
        left = inserted(through_the_pass(net[0], changed, flags, capability, passes)[1])
        copies = {node: facts for node, facts in left.items() if facts["op"] == "Transpose"}
        truth["remedies"][slug] = {
            "change": change, "copies": len(copies), "left": sorted(copies),
            "bytes": sum(facts["bytes"] for facts in copies.values()) if all(facts["bytes"] is not None for facts in copies.values()) else None}
    with open(os.path.join(SAMPLES, "layout", stem + ".truth.json"), "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")
    count = sum(facts["op"] == "Transpose" for facts in truth["inserted"].values())
    print("%-45s %3d transposes; %s" % (stem, count, ", ".join("%s: %d" % (slug, each["copies"]) for slug, each in truth["remedies"].items())))
    sys.stdout.flush()


def through_the_pass(net, options, flags, capability, passes):
    """The GraphDefs before and after Grappler: all default passes as a Session runs them, or these alone."""
    from oom_kit import tf, tf1
    import layout_nets
    import oom_layout
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    with tf1.Graph().as_default() as graph, tf1.device(oom_layout.GPU):
        loss = getattr(layout_nets, net)(**options)
        if "--no-gradients" in flags:
            fetches = [tf1.identity(loss, "fetched").op]
        elif "--fetch-gradients" in flags:
            fetches = [gradient.op for gradient in tf1.gradients(loss, tf1.trainable_variables())]
        else:
            fetches = [tf1.train.GradientDescentOptimizer(0.1).minimize(loss)]
        with oom_layout.stderr_closed():
            after = oom_layout.after_layout_pass(graph, fetches, capability, passes)
        return graph.as_graph_def(), after


def inserted(graph_def):
    """Every node that the pass added, with the type of its output by TensorFlow's own shape inference."""
    from oom_kit import tf1
    names = [node.name for node in graph_def.node if "LayoutOptimizer" in node.name]
    found = {}
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(with_plain_norms(graph_def), name="")
        for name in names:
            operation = graph.get_operation_by_name(name)
            tensor = operation.outputs[0]
            shape = tensor.shape.as_list() if tensor.shape.ndims is not None else None
            known = shape is not None and None not in shape
            size = tensor.dtype.base_dtype.size
            for side in shape or []:
                size = size * side if known else None
            found[name] = {
                "op": operation.type, "shape": shape, "dtype": tensor.dtype.base_dtype.name, "bytes": size if known else None,
                "producer": operation.inputs[0].op.name if operation.inputs else None,
                "consumers": sorted({consumer.name for consumer in tensor.consumers()})}
    return found


def with_plain_norms(graph_def):
    """The fused norm of 1.15 refuses channels that its own remapper gave it; without its activation it has the same shapes."""
    graph_def = type(graph_def).FromString(graph_def.SerializeToString())
    for node in graph_def.node:
        if node.op == "_FusedBatchNormEx":
            node.op = "FusedBatchNormV3"
            side = node.attr.pop("num_side_inputs").i
            del node.input[5:5 + side]
            node.attr.pop("activation_mode")
    return graph_def


def keep(graph_def, name):
    """Write a GraphDef without big constants and without anybody's shapes: readers must find them."""
    for node in graph_def.node:
        node.attr.pop("_output_shapes", None)
        if "value" in node.attr and len(node.attr["value"].tensor.tensor_content) > STRIPPED_ABOVE_BYTES:
            node.attr["value"].tensor.tensor_content = b""
    graph_def.ClearField("library")
    with open(os.path.join(SAMPLES, "layout", name), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(graph_def.SerializeToString())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
