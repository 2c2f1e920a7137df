"""One convolution in one TensorFlow process: convolution_child.py '{"kind": "conv", "input": [8, 64, 64, 3],
"kernel": [3, 3, 3, 16], ...}'.

Prints JSON: for `forward`, `filter` and `input` (the two gradients) what the traced node took beside its
output. Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
RAW = getattr(tf, "raw_ops", None)


def status(key):
    """A figure of /proc/self/status in bytes."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(key + ":"))


def peak_growth(work):
    """How far the resident set and the address space rose above their level while the work ran."""
    with open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")  # VmHWM starts again
    resident, virtual = status("VmRSS"), status("VmPeak")
    work()
    return status("VmHWM") - resident, status("VmPeak") - virtual


def ops(spec):
    """The forward node and, where there are some, the two gradients, on resident tensors."""
    dtype = tf.as_dtype(spec.get("dtype", "float32"))
    shape, kernel, padding = spec["input"], spec["kernel"], spec["padding"].upper()
    rank = len(shape) - 2
    strides = [1, *spec.get("strides", [1] * rank), 1]
    dilations = [1, *spec.get("dilations", [1] * rank), 1]
    # variables are resident before the measured run begins
    x = tf1.Variable(tf1.zeros(shape, dtype), trainable=False)
    if spec["kind"] == "patches":
        return {
            "forward": tf1.extract_image_patches(x, [1, *kernel[:2], 1], strides, [1, 1, 1, 1], padding)
        }, [x]
    w = tf1.Variable(tf1.zeros(kernel, dtype), trainable=False)
    xi, wi = tf1.identity(x), tf1.identity(w)
    if spec["kind"] == "transposed":
        out = spec["output"]
        y = (tf1.nn.conv2d_transpose if rank == 2 else tf1.nn.conv3d_transpose)(xi, wi, out, strides, padding)
    elif spec["kind"] == "depthwise":
        y = tf1.nn.depthwise_conv2d_native(xi, wi, strides, padding)
    elif spec["kind"] == "conv3d":
        y = tf1.nn.conv3d(xi, wi, strides, padding)
    else:
        y = tf1.nn.conv2d(xi, wi, strides=strides, padding=padding, dilations=dilations)
    found = {"forward": y}
    if spec.get("backward", True):
        dy = tf1.Variable(tf1.zeros(y.shape.as_list(), dtype), trainable=False)
        dx, dw = tf1.gradients(y, [xi, wi], grad_ys=dy)
        found.update(filter=dw, input=dx)
        return found, [x, w, dy]
    return found, [x, w]


def traced(session, tensor):
    """Temporaries of the node as TensorFlow books them, and its allocation records."""
    metadata = tf1.RunMetadata()
    session.run(
        tensor.op, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata
    )
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            if node.node_name == tensor.op.name:
                records = [
                    record.alloc_bytes for memory in node.memory for record in memory.allocation_records
                ]
                return {
                    "op": tensor.op.type,
                    "output_bytes": int(np.prod(tensor.shape.as_list())) * tensor.dtype.size,
                    "temp_bytes": node.memory_stats.temp_memory_size,
                    "allocations": [size for size in records if size > 0],
                    "peak_bytes": max([memory.peak_bytes for memory in node.memory] or [0]),
                    "label": node.timeline_label[:200],
                }
    return {"op": tensor.op.type, "missing": True}


def main():
    spec = json.loads(sys.argv[1])
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    threads = spec.get("threads", 2)
    options = tf1.GraphOptions(optimizer_options=tf1.OptimizerOptions(opt_level=-1))
    config = tf1.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1, graph_options=options
    )
    with contextlib.suppress(AttributeError):
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    found, variables = ops(spec)
    warm = tf1.nn.conv2d(
        tf1.zeros([2, 32, 32, 4]), tf1.zeros([3, 3, 4, 8]), strides=[1, 1, 1, 1], padding="SAME"
    )
    answer = {
        "tf": tf.__version__,
        "threads": threads,
        "cores": len(os.sched_getaffinity(0)),
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS"),
    }
    with tf1.Session(config=config) as session:
        session.run([variable.initializer for variable in variables])
        session.run(warm.op)
        if spec.get("rss"):
            answer["rss_growth"], answer["virtual_growth"] = peak_growth(
                lambda: session.run(found["forward"].op)
            )
        for part in spec.get("parts") or sorted(found):
            if part in found:
                try:
                    answer[part] = traced(session, found[part])
                except Exception as error:
                    answer[part] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    print("RESULT " + json.dumps(answer, sort_keys=True))


if __name__ == "__main__":
    main()
