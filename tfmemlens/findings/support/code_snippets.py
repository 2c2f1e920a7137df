"""Code that users can paste, for the TensorFlow they have."""

from __future__ import annotations

from tfmemlens.model.case import Api, FrontEnd


def enable_report(api: Api) -> str | None:
    """How to get the list of live tensors with the next OOM; None where this TensorFlow cannot."""
    if api.newest < (1, 5) or api.front_end is FrontEnd.JAX:
        return None
    if api.front_end in (FrontEnd.EAGER, FrontEnd.FUNCTION) or (
        api.front_end in (FrontEnd.KERAS, FrontEnd.UNKNOWN) and api.is_tf2
    ):
        return None
    if api.front_end is FrontEnd.KERAS and api.is_tf1:
        return (
            "run_opts = tf.RunOptions(report_tensor_allocations_upon_oom=True)\nmodel.compile(...,"
            " options=run_opts, run_metadata=tf.RunMetadata())  # without run_metadata the process crashes"
        )
    prefix = "tf.compat.v1." if api.oldest >= (1, 13) else "tf."
    return (
        f"sess.run(fetches, feed_dict, options={prefix}RunOptions(report_tensor_allocations_upon_oom=True))"
    )


def profile_memory(api: Api) -> str:
    """How to record who holds memory over time in one good step."""
    if api.front_end is FrontEnd.JAX:
        return "jax.profiler.save_device_memory_profile('memory.prof')"
    if api.is_tf1 or (api.front_end is FrontEnd.SESSION and api.oldest < (2, 0)):
        return (
            "md = tf.RunMetadata()\nsess.run(train_op, feed,"
            " options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True),"
            " run_metadata=md)\nopen('step.pb', 'wb').write(md.SerializeToString())   # then: tfmemlens"
            " profile step.pb"
        )
    return (
        "tf.profiler.experimental.start('logdir'); train_one_step(); tf.profiler.experimental.stop()   #"
        " then: tfmemlens profile logdir"
    )


def mixed_precision(api: Api) -> str | None:
    """Half-precision activations."""
    if api.newest < (1, 14) or api.front_end is FrontEnd.JAX:
        return None
    if api.is_tf1:
        return "opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)"
    if api.oldest >= (2, 4) or api.newest >= (2, 99):
        return "tf.keras.mixed_precision.set_global_policy('mixed_float16')   # TF 2.4+"
    return "tf.keras.mixed_precision.experimental.set_policy('mixed_float16')"


def recompute(api: Api) -> str | None:
    """Recompute activations in backward instead of keeping them."""
    if api.front_end is FrontEnd.JAX:
        return "y = jax.checkpoint(block)(x)"
    if api.is_tf1:
        return (
            "block = tf.contrib.layers.recompute_grad(block)   # TF 1.4+; the block must create its variables"
            " with get_variable"
        )
    return "block = tf.recompute_grad(block)"


def switch_off_layout(api: Api) -> str:
    """Run without the layout pass."""
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return (
            "from tensorflow.core.protobuf import rewriter_config_pb2\n"
            "config = tf.ConfigProto()\n"
            "config.graph_options.rewrite_options.layout_optimizer = rewriter_config_pb2.RewriterConfig.OFF\n"
            "sess = tf.Session(config=config)"
        )
    return "tf.config.optimizer.set_experimental_options({'layout_optimizer': False})"


def batch_norm_training(api: Api) -> str:
    """Batch normalisation in training mode, with the update ops that it needs."""
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return (
            "x = tf.layers.batch_normalization(x, training=is_training)\n"
            "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):\n"
            "    train_op = optimizer.minimize(loss)"
        )
    return "x = bn(x, training=True)"


def growth(api: Api) -> str:
    """Take device memory as needed."""
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return (
            "config = tf.ConfigProto(); config.gpu_options.allow_growth = True; sess ="
            " tf.Session(config=config)"
        )
    return (
        "for gpu in tf.config.list_physical_devices('GPU'): tf.config.experimental.set_memory_growth(gpu,"
        " True)"
    )
