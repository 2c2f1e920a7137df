"""Write a training graph to a file for `tfmemlens layout`: one plain file for Python 3.6 and later, TensorFlow 1.4 to 2.21.

Without touching the training script (it runs up to its first training step, then stops):

    python export_graph.py train.py [its arguments]           # writes graph.meta; OUT=file.meta in the environment for another name

Or inside it, when the graph is built:

    import export_graph
    export_graph.export("graph.meta", [train_op, loss])       # TF1: what you fetch
    export_graph.export("graph.meta", fn.get_concrete_function(...))   # TF2: a concrete function

The file holds ops, shapes and the line of your code that made each op. Weights are left out.
"""

import os
import re
import sys

PACKAGED = re.compile(
    r"(?:site|dist)-packages[/\\]|[/\\]tensorflow(?:_core)?[/\\]python[/\\]|<|export_graph\.py|importlib|runpy"
)
BIG = 1024


def export(path, fetches=(), graph=None):
    """Write the graph as a MetaGraphDef; `fetches` are ops, tensors, names, or one concrete function. Returns the path."""
    import tensorflow as tf

    v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
    captured = {}
    if hasattr(fetches, "graph") and hasattr(fetches, "outputs"):
        captured = variables_of(fetches.graph)
        graph, fetches = fetches.graph, fetches.outputs
    fetches = flat(fetches)
    if graph is None:
        graph = (
            next((each.graph for each in fetches if hasattr(each, "graph")), None) or v1.get_default_graph()
        )
    from tensorflow.core.protobuf import meta_graph_pb2

    meta = meta_graph_pb2.MetaGraphDef()
    meta.meta_info_def.tensorflow_version = tf.__version__
    meta.graph_def.CopyFrom(graph.as_graph_def(add_shapes=True))
    meta.collection_def["train_op"].node_list.value.extend(name_of(each) for each in fetches)
    for node in meta.graph_def.node:
        line = source_line(graph, node.name)
        if line:
            node.attr["_tfmemlens_source"].s = line.encode("utf-8")
        if node.name in captured:
            variable = captured[node.name]
            node.attr["_tfmemlens_variable"].s = variable.name.encode("utf-8")
            node.attr["_tfmemlens_shape"].shape.CopyFrom(variable.shape.as_proto())
            node.attr["_tfmemlens_dtype"].type = variable.dtype.as_datatype_enum
        if "value" in node.attr and node.attr["value"].tensor.ByteSize() > BIG:
            node.attr["value"].tensor.ClearField("tensor_content")
            node.attr["value"].tensor.ClearField("string_val")
    with open(path, "wb") as out:
        out.write(meta.SerializeToString())
    return path


def variables_of(graph):
    """The variables that a function captures, by the placeholder that stands for each in its graph."""
    known = {id(variable.handle): variable for variable in getattr(graph, "variables", ())}
    return {
        inside.op.name: known[id(outside)]
        for outside, inside in getattr(graph, "captures", ())
        if id(outside) in known
    }


def flat(fetches):
    """All ops, tensors and names in a nest of lists and dicts."""
    if isinstance(fetches, dict):
        return [leaf for each in fetches.values() for leaf in flat(each)]
    if isinstance(fetches, (list, tuple)):
        return [leaf for each in fetches for leaf in flat(each)]
    return [] if fetches is None else [fetches]


def name_of(fetch):
    """The node's name behind an op, a tensor or a name."""
    name = fetch if isinstance(fetch, str) else getattr(fetch, "name", str(fetch))
    return name.lstrip("^").split(":")[0]


def source_line(graph, name):
    """The innermost line of the user's own code that made an op."""
    try:
        frames = graph.get_operation_by_name(name).traceback
    except (KeyError, AttributeError, ValueError):
        return None
    places = []
    for frame in frames or ():
        where = (frame.filename, frame.lineno) if hasattr(frame, "filename") else (frame[0], frame[1])
        if where[0] and not PACKAGED.search(str(where[0])):
            places.append(where)
    if not places:
        return None
    path, line = places[-1]
    return "%s:%s" % (
        os.path.relpath(path) if not os.path.relpath(path).startswith("..") else os.path.basename(path),
        line,
    )


class Written(BaseException):
    """The graph is on disk; the training need not go on. No `except Exception` of the script catches it."""


def watch(path):
    """Let the first session run that reaches an op applying gradients write the graph."""
    from tensorflow.python.client import session

    original = session.BaseSession.run

    def run(self, fetches, *args, **kwargs):
        if trains(self.graph, flat(fetches)):
            raise Written(export(path, fetches, self.graph))
        return original(self, fetches, *args, **kwargs)

    session.BaseSession.run = run


def trains(graph, fetches):
    """Whether what is fetched waits for an op that applies gradients."""
    seen = set()
    try:
        waiting = [graph.get_operation_by_name(name_of(each)) for each in fetches]
    except (KeyError, ValueError, TypeError):
        return False
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if re.match(r"(?:Resource)?(?:Sparse)?Apply[A-Z]", operation.type):
            return True
        waiting += [each.op for each in operation.inputs] + list(operation.control_inputs)
    return False


def main(arguments):
    import runpy

    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    path = os.environ.get("OUT", "graph.meta")
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    watch(path)
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except Written:
        print("wrote %s; now: tfmemlens layout %s" % (path, path))
        return
    sys.exit(
        "the script ended without a training step in a session; call export_graph.export(path, fetches) in it instead"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
