"""Write every keras.applications architecture as JSON, with what Keras itself counts: applications.py OUTPUT_FOLDER [NAME...].

Run it with the Python of a TensorFlow environment (scripts/make_traces/environments.sh); `weights=None`, so nothing is downloaded.
OUTPUT_FOLDER gets NAME.json.gz and truth.json.gz: totals, and per layer its parameters and output shapes.
"""

import gzip
import inspect
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

applications = tf.keras.applications


def main(folder, wanted):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "truth.json.gz")
    known = json.loads(gzip.open(path).read()) if os.path.exists(path) else {}
    for name in sorted(dir(applications)):
        build = getattr(applications, name)
        if not name[0].isupper() or not inspect.isfunction(build) or (wanted and name not in wanted):
            continue
        model = build(weights=None)
        write(os.path.join(folder, name + ".json.gz"), model.to_json())
        known[name] = truth(model)
        print(name, known[name]["total"], flush=True)
        write(path, json.dumps(known, indent=0, sort_keys=True))
        del model
        tf.keras.backend.clear_session()


def truth(model):
    """What Keras counts."""
    trainable = sum(count(weight) for weight in model.trainable_weights)
    return {
        "total": model.count_params(),
        "trainable": trainable,
        "non_trainable": sum(count(weight) for weight in model.non_trainable_weights),
        "layers": [[layer.name, layer.count_params(), output_shapes(layer)] for layer in model.layers],
    }


def count(weight):
    size = 1
    for part in weight.shape:
        size *= int(part)
    return size


def output_shapes(layer):
    """The shapes of the first call's outputs, the batch first; None where Keras does not say."""
    try:
        outputs = layer._inbound_nodes[0].outputs if hasattr(layer, "_inbound_nodes") else layer.output
    except (AttributeError, IndexError):
        return None
    return [[None if part is None else int(part) for part in tensor.shape] for tensor in tf.nest.flatten(outputs)]


def write(path, text):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
