"""Write the graph of one training step of a Keras model, without running it: trace_training_graph.py MODEL OUT.pb [options].

Run by the Python that has TensorFlow 2 (a plain file: it imports nothing of ours). The model is built inside a graph, so that no weight is ever allocated (in Keras 2 its weights are);
the step is a tf.function over it, its variables are handles, Grappler rewrites it as it would before the first step. OUT.pb is a GraphDef with shapes;
one line of JSON on standard output names the fetches.
"""

import argparse
import contextlib
import importlib
import json
import os
import sys
import zipfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="an architecture JSON, a .keras or .h5 file, a SavedModel, or module:function")
    parser.add_argument("out")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--shape", action="append", default=[], help="sizes of an input without the batch, as 224x224x3, in the order of the inputs")
    parser.add_argument("--optimizer", help="default: the one that the model was compiled with, else adam")
    parser.add_argument("--policy", help="a Keras dtype policy, such as mixed_float16")
    parser.add_argument("--inference", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    import tensorflow as tf

    if args.policy:
        policies = getattr(tf.keras, "mixed_precision")
        policies.set_global_policy(args.policy)
    in_graph = tuple(int(part) for part in tf.__version__.split(".")[:2]) >= (2, 16)
    with contextlib.ExitStack() as stack:
        outer = stack.enter_context(tf.Graph().as_default()) if in_graph else None  # Keras 2 takes its old optimizers in a graph
        model = load(tf, args.model)
        facts, graph_def = traced(tf, model, args, outer)
    write(tf, facts, graph_def, args.out)
    print("GRAPH " + json.dumps(facts))


def traced(tf, model, args, outer):
    """The graph of a step of a model, called or not yet, and what to tell of it."""
    inputs, labels = specifications(tf, model, args)
    optimizer = chosen_optimizer(tf, model, args)
    concrete = traced_with_some(labels, lambda each: traced_step(tf, model, args, optimizer, inputs, each))
    graph_def, fetches, names = flattened(tf, concrete, outer, set() if args.inference else handles_of(optimizer))
    facts = {"fetches": fetches, "tensorflow": tf.__version__, "variables": names, "parameters": int(model.count_params())}
    return facts, graph_def


def write(tf, facts, graph_def, path):
    with open(path, "wb") as out:
        out.write(optimized(tf, graph_def, facts["fetches"]).SerializeToString())


def of_live_model(tf, model, out, batch, shapes, optimizer, inference):
    """The same for a model of this very process. Nothing is run; an optimizer that has no slots yet makes them."""
    args = argparse.Namespace(batch=batch, shape=shapes, optimizer=optimizer, inference=inference)
    facts, graph_def = traced(tf, model, args, None)
    write(tf, facts, graph_def, out)
    return facts


def chosen_optimizer(tf, model, args):
    """The one that was asked for, else the one that the model was compiled with, else Adam."""
    if args.optimizer:
        return make_optimizer(tf, args.optimizer)
    described = getattr(model, "tfmemlens_optimizer", None)
    compiled = tf.keras.optimizers.deserialize(described) if described else getattr(model, "optimizer", None)
    compiled = getattr(compiled, "inner_optimizer", compiled)
    return compiled if hasattr(compiled, "apply_gradients") else make_optimizer(tf, "adam")


def traced_with_some(guesses, trace):
    """The step with the first of these guesses of its labels that it takes; the error of the first where it takes none."""
    refused = None
    for labels in guesses:
        try:
            return trace(labels)
        except (TypeError, ValueError) as error:  # what the user's own code says of labels of another type or shape
            refused = refused or error
    raise refused


def traced_step(tf, model, args, optimizer, inputs, labels):
    """The step as Keras or the model's class runs it; where Keras's own cannot be traced, one that is written here."""
    keras_step = whole_step(tf, model, args)
    if keras_step is not None:
        try:
            return tf.function(keras_step, autograph=False).get_concrete_function(inputs, labels)
        except Exception:  # whatever the user's own code raises
            if has_own_step(tf, model):
                raise
    step = training_step(tf, model, optimizer, args.inference)
    return tf.function(step, autograph=False).get_concrete_function(inputs, labels)


def has_own_step(tf, model):
    return type(model).train_step is not tf.keras.Model.train_step


def whole_step(tf, model, args):
    """The `train_step` of a model that is compiled as it is asked for, with its own losses and metrics."""
    if args.inference or args.optimizer or not getattr(model, "optimizer", None):
        return None
    if not has_own_step(tf, model) and not compiled_losses(model):
        return None
    build = getattr(model.optimizer, "build", None)
    if build:
        build(model.trainable_variables)
    return lambda inputs, labels: model.train_step((inputs, labels[0] if len(labels) == 1 else labels))


def compiled_losses(model):
    """The names of the losses that a model was compiled with, one for all outputs or one for each."""
    loss = getattr(model, "loss", None)
    if loss is None:
        return []
    if isinstance(loss, dict):
        return [loss_name(each) for each in loss.values()]
    return [loss_name(each) for each in loss] if isinstance(loss, (list, tuple)) else [loss_name(loss)]


def loss_name(loss):
    """`mse`, a function or an object."""
    return loss if isinstance(loss, str) else getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__)


def load(tf, spec):
    """The model from its configuration alone: weights in the file are not read."""
    if ":" in spec and not os.path.exists(spec):
        module, _, name = spec.partition(":")
        sys.path.insert(0, os.getcwd())
        return getattr(importlib.import_module(module), name)()
    if zipfile.is_zipfile(spec):
        with zipfile.ZipFile(spec) as archive:
            return from_config(tf, json.loads(archive.read("config.json")))
    if spec.endswith((".h5", ".hdf5")):
        import h5py

        with h5py.File(spec, "r") as file:
            text = file.attrs["model_config"]
            return from_config(tf, json.loads(text.decode() if isinstance(text, bytes) else text))
    with open(spec) as file:
        return from_config(tf, json.load(file))


def from_config(tf, config):
    """Keras 3 and Keras 2 configurations."""
    if "module" in config or "build_config" in config:
        compiled = config.pop("compile_config", None) or {}
        saving = getattr(tf.keras, "saving", None) or importlib.import_module("keras").saving  # None in 2.16 and later
        model = saving.deserialize_keras_object(config)
        model.tfmemlens_optimizer = compiled.get("optimizer")
        return model
    return tf.keras.models.model_from_json(json.dumps(config))


def specifications(tf, model, args):
    """The types of the inputs and of the labels, with the batch filled in."""
    given = [tuple(int(size) for size in text.replace(",", "x").split("x")) for text in args.shape]
    if not getattr(model, "inputs", None):
        called = input_types_of_call(tf, model, given, args.batch)
        outputs = tf.function(lambda each: model(each, training=False), autograph=False).get_concrete_function(called).structured_outputs
        outputs = [each for each in tf.nest.flatten(outputs) if hasattr(each, "shape")]
        return called, label_guesses(tf, model, tf.nest.flatten(called), [tf.TensorSpec((args.batch, *tuple(each.shape)[1:]), each.dtype) for each in outputs])
    inputs = []
    for index, tensor in enumerate(tf.nest.flatten(model.inputs)):
        sizes = given[index] if index < len(given) else tuple(tensor.shape)[1:]
        if any(size is None for size in sizes):
            raise SystemExit("input %d of the model leaves dimensions open: %s; give --shape" % (index, list(sizes)))
        inputs.append(tf.TensorSpec((args.batch, *sizes), tensor.dtype, name="input_%d" % index))
    if isinstance(model.inputs, dict):
        inputs = dict(zip(model.inputs, inputs))
    labels = [tf.TensorSpec((args.batch, *tuple(each.shape)[1:]), each.dtype) for each in tf.nest.flatten(model.outputs)]
    return inputs if len(inputs) > 1 or isinstance(inputs, dict) else inputs[0], label_guesses(tf, model, tf.nest.flatten(inputs), labels)


def input_types_of_call(tf, model, given, batch):
    """Of a model that tells no inputs: as it was called or built, else as given."""
    told = getattr(model, "_build_shapes_dict", None) or {}
    shape = told.get("input_shape") or getattr(model, "_build_input_shape", None)
    if not given and shape is not None and len(shape) and None not in tuple(shape)[1:]:
        given = [tuple(shape)[1:]]
    if not given:
        raise SystemExit("the model was never called, so its inputs are not known; give --input-shape")
    tables = [layer for layer in getattr(model, "layers", []) if type(layer).__name__ in ("Embedding", "StringLookup")]
    dtype = tf.int32 if tables and tables[0] is model.layers[0] else tf.float32
    specs = [tf.TensorSpec((batch, *sizes), dtype, name="input_%d" % index) for index, sizes in enumerate(given)]
    return specs if len(specs) > 1 else specs[0]


def label_guesses(tf, model, inputs, outputs):
    """What the labels may be, the likeliest first: a step of the model's own may take what no compiled loss tells, as pictures for pictures."""
    told = label_types(tf, outputs, compiled_losses(model))
    if compiled_losses(model) or not has_own_step(tf, model):
        return [told]
    values = [tf.TensorSpec(tuple(1 if size is None else size for size in each.shape), tf.float32, name="label_%d" % index) for index, each in enumerate(outputs)]
    like_inputs = any(len(each.shape) > 2 and tuple(each.shape) == tuple(given.shape) for each in outputs for given in inputs)
    return [values, told] if like_inputs else [told, values]


def label_types(tf, outputs, losses=()):
    """What the compiled losses take; without any, class numbers for an output that looks like classes, else values of its shape."""
    specs = []
    for index, each in enumerate(outputs):
        sizes = tuple(size if size is not None else 1 for size in each.shape)
        loss = losses[index if len(losses) == len(outputs) else 0] if losses else None
        classes = len(sizes) >= 2 and sizes[-1] > 1 and (loss is None or "sparse" in loss.lower())
        specs.append(tf.TensorSpec(sizes[:-1] if classes else sizes, tf.int32 if classes else tf.float32, name="label_%d" % index))
    return specs


def make_optimizer(tf, name):
    """An optimizer by the name that people use; momentum is SGD with momentum."""
    if name == "momentum":
        return tf.keras.optimizers.SGD(0.01, momentum=0.9)
    return tf.keras.optimizers.get({"class_name": name, "config": {}})


def training_step(tf, model, optimizer, inference):
    """One step as `fit` takes it: loss, gradients, update."""

    def loss_of(outputs, labels):
        losses = []
        for output, label in zip(tf.nest.flatten(outputs), labels):
            output = tf.cast(output, tf.float32)
            if label.dtype == tf.int32:
                losses.append(tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(label, output)))
            else:
                losses.append(tf.reduce_mean(tf.square(output - label)))
        return tf.add_n(losses)

    def step(inputs, labels):
        if inference:
            return model(inputs, training=False)
        with tf.GradientTape() as tape:
            loss = loss_of(model(inputs, training=True), labels)
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients([(g, v) for g, v in zip(gradients, variables) if g is not None])
        return loss

    if not inference:
        build = getattr(optimizer, "build", None)
        if build:
            build(model.trainable_variables)
        else:
            optimizer._create_all_weights(model.trainable_variables)
    return step


def handles_of(optimizer):
    """The handles of what an optimizer keeps."""
    kept = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
    return {id(getattr(each, "_value", each).handle) for each in kept}


def flattened(tf, concrete, outer, slots):
    """The function's graph with handles in place of captured variables. Each tells when it is made, and whether one value fills it or random numbers do."""
    graph_def = concrete.graph.as_graph_def(add_shapes=True)
    handles, names = {}, []
    known = {id(variable.handle): variable for variable in concrete.graph.variables}
    order = {op.name: place for place, op in enumerate(outer.get_operations())} if outer is not None else {}
    for external, internal in concrete.graph.captures:
        filled = id(external) in slots
        if outer is not None:
            source = outer.as_graph_element(external.name).op
            if source.type == "VarHandleOp":
                handles[internal.op.name] = (source.name, source.get_attr("dtype"), source.node_def.attr["shape"].shape, order[source.name], filled)
        elif id(external) in known:
            variable = known[id(external)]
            made = int(variable._unique_id.rsplit("_", 1)[-1])
            handles[internal.op.name] = (variable.name, variable.dtype, variable.shape.as_proto(), made, filled)
    for node in graph_def.node:
        if node.name in handles:
            shared_name, dtype, shape, made, filled = handles[node.name]
            names.append(shared_name)
            node.op = "VarHandleOp"
            for key in list(node.attr):
                if key != "_output_shapes":
                    del node.attr[key]
            node.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
            node.attr["shape"].shape.CopyFrom(shape)
            node.attr["shared_name"].s = ("%s:%d" % (shared_name, len(names))).encode()
            node.attr["container"].s = b""
            node.attr["_tfmemlens_made"].i = made
            node.attr["_tfmemlens_filled"].b = filled or len(shape.dim) < 2
    fetches = [tensor.op.name for tensor in concrete.graph.outputs]
    fetches += ["^" + op.name for op in concrete.graph.control_outputs if op.name not in fetches]
    return graph_def, fetches, names


def optimized(tf, graph_def, fetches):
    """What Grappler makes of it on a CPU, functions inlined."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.grappler import tf_optimizer

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        meta_graph = tf.compat.v1.train.export_meta_graph(graph=graph)
    collection = meta_graph.collection_def["train_op"]
    collection.node_list.value.extend(name.lstrip("^") for name in fetches)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1
    config.graph_options.rewrite_options.function_optimization = 1
    return tf_optimizer.OptimizeGraph(config, meta_graph)


if __name__ == "__main__":
    main()
