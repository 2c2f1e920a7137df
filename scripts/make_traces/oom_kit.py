"""What every failing run needs: the v1 API in every version, the report switch, and the truth file.

Runs under Python 3.6 to 3.11 and TensorFlow 1.10 to 2.21.
"""
import json
import os

import numpy as np
import tensorflow as tf

HAS_V1 = hasattr(tf, "compat") and hasattr(tf.compat, "v1")
tf1 = tf.compat.v1 if HAS_V1 else tf
MIB = 2 ** 20


def note_truth(**facts):
    """Merge facts that this script knows for sure into the sample's truth file."""
    path = os.environ.get("OOM_TRUTH")
    if not path:
        return
    known = json.load(open(path)) if os.path.exists(path) else {"tf": tf.__version__}
    known.update(_limit_facts())
    known.update({name: value for name, value in facts.items() if value is not None})
    with open(path, "w") as out:
        json.dump(known, out, indent=1, sort_keys=True)
        out.write("\n")


def _limit_facts():
    """The limit and the allocator's name, as the environment of this run sets them."""
    if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC") == "1":
        limit = int(os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"]) * MIB
        return {"limit_bytes": limit, "allocator": "bfc_cpu_allocator_for_gpu"}
    if os.environ.get("TF_MKL_ALLOC_MAX_BYTES"):
        return {"limit_bytes": int(os.environ["TF_MKL_ALLOC_MAX_BYTES"]), "allocator": "mklcpu"}
    if os.environ.get("PRELOAD_OOM_LIMIT_MB"):
        return {"limit_bytes": int(os.environ["PRELOAD_OOM_LIMIT_MB"]) * MIB, "allocator": "cpu"}
    return {}


def report_options():
    """RunOptions that make TensorFlow list the live tensors in the error."""
    return tf1.RunOptions(report_tensor_allocations_upon_oom=True)


def size_bytes(variables):
    """Bytes of variables by their static shapes."""
    return int(sum(np.prod(v.shape.as_list(), dtype=np.int64) * v.dtype.base_dtype.size for v in variables))


def v1_variable_facts(optimizer):
    """Split a v1 graph's variables into the model's own and the optimizer's slots."""
    slots = [v for name in optimizer.get_slot_names() for v in
             (optimizer.get_slot(var, name) for var in tf1.trainable_variables()) if v is not None]
    slot_names = {v.name for v in slots}
    others = [v for v in tf1.global_variables() if v.name not in slot_names]
    return {"variables_bytes": size_bytes(others), "slots_bytes": size_bytes(slots)}


def noting_failure(step, static_shape=True):
    """Call step(); when it dies of memory, note the failing op that the error object names, and let it die."""
    try:
        return step()
    except tf.errors.ResourceExhaustedError as error:
        _note_failing_op(getattr(error, "op", None), static_shape)
        raise


def _note_failing_op(op, static_shape):
    if op is None:
        return
    facts = {"failing_node": op.name, "failing_op": op.type}
    if static_shape and len(op.outputs) == 1 and op.outputs[0].shape.is_fully_defined():
        facts["failing_shape"] = op.outputs[0].shape.as_list()
        facts["failing_dtype"] = op.outputs[0].dtype.base_dtype.name
    note_truth(**facts)
