"""Code that users can paste, for the TensorFlow they have."""

from __future__ import annotations

from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.units import MIB, Size

_OLD_LIST = "tf.config.experimental.list_physical_devices"
_IN_BFLOAT16: dict[str, str | None] = {
    "": "loss(jax.tree.map(lambda w: w.astype(jnp.bfloat16), params), x.astype(jnp.bfloat16))",
    "Keras": "keras.config.set_dtype_policy('mixed_bfloat16')   # before the model is built",
    "Flax": "nn.Dense(features, dtype=jnp.bfloat16)   # param_dtype stays float32",
    "Flax NNX": "nnx.Linear(din, dout, dtype=jnp.bfloat16, rngs=rngs)   # param_dtype stays float32",
    "Haiku": "hk.mixed_precision.set_policy(Block, jmp.get_policy('p=f32,c=bf16,o=f32'))",
    "Equinox": None,
}
_RECOMPUTED = {
    "": "y = jax.checkpoint(block)(x)",
    "Keras": "with keras.RematScope(mode='full'): model = build()   # Keras 3.9+",
    "Flax": "Block = nn.remat(Block)   # then use Block(...) as before",
    "Flax NNX": "y = nnx.remat(lambda block, x: block(x))(self.block, x)",
    "Haiku": "y = hk.remat(block)(x)",
    "Equinox": "y = eqx.filter_checkpoint(block)(x)",
}
_DONATED = {
    "": "step = jax.jit(step, donate_argnums=(0, 1))   # jax.pmap takes it, too",
    "Flax NNX": "@nnx.jit(donate_argnums=(0, 1))   # model and optimizer",
    "Equinox": "@eqx.filter_jit(donate='all')",
}
"""Code for each library on top of JAX; the empty name is for JAX alone."""

_KERAS_3 = (2, 16)
"""The first TensorFlow with Keras 3, whose optimizers add gradients up by themselves."""
_ELSEWHERE = (FrontEnd.JAX, FrontEnd.TORCH_XLA, FrontEnd.XLA)


def enable_report(api: Api) -> str | None:
    """How to get the list of live tensors with the next OOM; None where this TensorFlow cannot."""
    if api.newest < (1, 5) or api.front_end in _ELSEWHERE:
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
    if api.front_end is FrontEnd.KERAS:
        return None  # of TensorFlow 2, most likely
    prefix = "tf.compat.v1." if api.oldest >= (1, 13) else "tf."
    return (
        f"sess.run(fetches, feed_dict, options={prefix}RunOptions(report_tensor_allocations_upon_oom=True))"
    )


def profile_memory(api: Api) -> str:
    """How to record who holds memory over time in one good step."""
    if api.front_end in _ELSEWHERE:
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


def size_of_weights(api: Api) -> str | None:
    """How many bytes the variables take, with the optimizer's slots."""
    if api.front_end in (FrontEnd.TORCH_XLA, FrontEnd.XLA):
        return None
    if api.front_end is FrontEnd.JAX:
        return "print(sum(w.nbytes for w in jax.tree.leaves((params, opt_state))) >> 20, 'MiB')"
    if of_functions(api) or api.front_end is FrontEnd.SESSION:
        prefix = "tf" if api.newest < (1, 13) else "tf.compat.v1"
        return (
            f"n = sum(v.shape.num_elements() for v in {prefix}.global_variables()); print(4 * n >> 20, 'MiB')"
        )
    return "print(model.count_params() * 12 >> 20, 'MiB')   # float32 with Adam; SGD: * 4"


def mixed_precision(api: Api, device: str | None = None) -> str | None:
    """Half-precision activations; None where this framework or TensorFlow has none for this device (`cpu`,
    `gpu`, `tpu`). Only GPUs compute well in float16.
    """
    if api.front_end is FrontEnd.JAX:
        return _IN_BFLOAT16.get(api.library or "", _IN_BFLOAT16[""])
    if api.front_end in _ELSEWHERE:
        return None
    if api.newest < (1, 14):
        return None
    on_gpu = device in (None, "gpu")
    if api.is_tf1 or (api.front_end is FrontEnd.SESSION and api.oldest < (2, 0)):
        if api.front_end is FrontEnd.KERAS or not on_gpu:
            return None
        prefix = "tf.train" if api.newest < (1, 15) else "tf.compat.v1.train"
        return f"opt = {prefix}.experimental.enable_mixed_precision_graph_rewrite(opt)"
    policy = "mixed_float16" if on_gpu else "mixed_bfloat16"
    if api.newest >= (2, 4):
        return f"tf.keras.mixed_precision.set_global_policy('{policy}')   # TF 2.4+"
    return f"tf.keras.mixed_precision.experimental.set_policy('{policy}')"


def recompute(api: Api) -> str | None:
    """Recompute activations in backward instead of keeping them; none of a framework that is not known."""
    if api.front_end is FrontEnd.JAX:
        return _RECOMPUTED.get(api.library or "", _RECOMPUTED[""])
    if api.front_end is FrontEnd.TORCH_XLA:
        return "y = torch_xla.utils.checkpoint.checkpoint(block, x)"
    if api.front_end is FrontEnd.XLA:
        return None
    if api.is_tf1:
        return (
            "with tf.variable_scope('block', use_resource=True): y ="
            " tf.contrib.layers.recompute_grad(block)(x)   # TF 1.4+; its variables by get_variable"
        )
    return "block = tf.recompute_grad(block)"


def donate(api: Api) -> str | None:
    """Let a step's results take the place of the state that it was given."""
    return _DONATED.get(api.library or "", _DONATED[""]) if api.front_end is FrontEnd.JAX else None


def looked_up(api: Api) -> str:
    """A feature's rows from a table."""
    if api.is_tf1:
        return "x = tf.nn.embedding_lookup(tf.get_variable('table', [values, 32]), ids)"
    return "x = tf.keras.layers.Embedding(values, 32)(ids)"


ONE_SIGNATURE = "@tf.function(input_signature=[tf.TensorSpec([None]), ...])   # per argument"
"""What a tf.function takes, so that it is traced once."""


def relaxed(api: Api, warning: str = "") -> str:
    """A tf.function that takes arguments of several lengths with one graph, by the name that TensorFlow's own
    warning gives the option.
    """
    if "reduce_retracing" in warning:
        return "@tf.function(reduce_retracing=True)"
    of_old = "experimental_relax_shapes" in warning or api.newest < (2, 9)
    word = "experimental_relax_shapes" if of_old else "reduce_retracing"
    other = "   # up to 2.8: experimental_relax_shapes" if not of_old and api.oldest < (2, 9) else ""
    return f"@tf.function({word}=True){other}"


def accumulate(api: Api, steps: int = 2) -> str | None:
    """Add up the gradients of so many steps before the weights change; None where no wrapper is known."""
    in_keras_3 = api.front_end is FrontEnd.KERAS and api.oldest >= _KERAS_3
    if api.library == "Keras" or in_keras_3:
        return f"optimizer = keras.optimizers.Adam(..., gradient_accumulation_steps={steps})"
    return f"tx = optax.MultiSteps(tx, every_k_schedule={steps})" if api.optax else None


def in_pieces(api: Api) -> str | None:
    """Apply a function to slices of an array, one after another; None where nobody names the framework."""
    if api.front_end is FrontEnd.JAX:
        return "y = jax.lax.map(f, xs, batch_size=len(xs) // 8)   # f of one row, an eighth of them at a time"
    if api.front_end is FrontEnd.TORCH_XLA:
        return "parts = [f(part) for part in x.split(1024)]"
    if api.front_end is FrontEnd.XLA:
        return None
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return "y = tf.map_fn(f, x, parallel_iterations=1)   # f of one row"
    return "parts = [f(x[start:start + 1024]) for start in range(0, len(x), 1024)]"


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
    if api.front_end is FrontEnd.JAX:
        return "export XLA_PYTHON_CLIENT_PREALLOCATE=false"
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return (
            "config = tf.ConfigProto(); config.gpu_options.allow_growth = True; sess ="
            " tf.Session(config=config)"
        )
    listed = "tf.config.list_physical_devices" if api.newest >= (2, 1) else _OLD_LIST
    return f"for gpu in {listed}('GPU'): tf.config.experimental.set_memory_growth(gpu, True)"


def limit(api: Api, pool: Size | None = None, workers: int | None = None) -> str:
    """Take no more than a part of a GPU's memory, in TensorFlow: at most half of what its pool got, where
    that is known. A session's is told for two processes, or for so many workers.
    """
    mib = min(4000, pool.bytes // MIB // 2) if pool else 4000
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        part, whose = ("0.4", "two processes")
        if workers:
            part, whose = f"{90 // workers / 100:.2f}", f"{workers} workers"
        return f"gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction={part})   # of {whose}"
    if api.newest < (2, 4):
        return (
            "tf.config.experimental.set_virtual_device_configuration(gpus[0],"
            f" [tf.config.experimental.VirtualDeviceConfiguration(memory_limit={mib})])   # MiB"
        )
    return (
        "tf.config.set_logical_device_configuration(gpus[0],"
        f" [tf.config.LogicalDeviceConfiguration(memory_limit={mib})])   # MiB; TF 2.4+"
    )


def of_a_server(api: Api, *, part: bool) -> str:
    """Let a server of a cluster take a part of a GPU, or as needed: nothing but its own config reaches it."""
    prefix = "tf.compat.v1." if api.newest >= (2, 0) else "tf."
    option = "per_process_gpu_memory_fraction=0.3" if part else "allow_growth=True"
    server = "tf.distribute" if api.newest >= (2, 0) else "tf.train"
    return (
        f"o = {prefix}GPUOptions({option})\n{server}.Server(..., config={prefix}ConfigProto(gpu_options=o))"
    )


def devices(api: Api) -> str:
    """Which devices the framework sees."""
    if api.front_end is FrontEnd.JAX:
        return "jax.devices()"
    if api.newest < (2, 1):
        return "tf.test.is_gpu_available()"
    return "tf.config.list_physical_devices('GPU')"


def lazy_adam(api: Api) -> str | None:
    """An Adam that touches the rows of the batch only; None where no package has it any more."""
    if api.is_tf1:
        return "opt = tf.contrib.opt.LazyAdamOptimizer(1e-3)"
    if api.oldest > (2, 15):
        return None
    return "opt = tfa.optimizers.LazyAdam(1e-3)   # TensorFlow Addons, up to TF 2.15"


def one_op_at_a_time(api: Api) -> str:
    """Ops one after another, so that only one works at a time."""
    new = "tf.config.threading.set_inter_op_parallelism_threads(1)"
    if api.is_tf2:
        return new
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        config = "tf.ConfigProto" if api.newest < (1, 14) else "tf.compat.v1.ConfigProto"
        return f"config = {config}(inter_op_parallelism_threads=1)"
    return f"{new}   # in TF 1 for the session: tf.ConfigProto(inter_op_parallelism_threads=1)"


def log_placement(api: Api) -> str:
    """Print where each op runs."""
    if api.is_tf1 or api.front_end is FrontEnd.SESSION:
        return "config = tf.ConfigProto(log_device_placement=True)"
    return "tf.debugging.set_log_device_placement(True)"


def pooled(functions: bool) -> str:
    """Global average pooling where Flatten stands: for layers written as functions of tf, or as Keras's."""
    if functions:
        return "x = tf.reduce_mean(x, [1, 2])   # instead of flatten"
    return "x = tf.keras.layers.GlobalAveragePooling2D()(x)   # instead of Flatten()"


def of_functions(api: Api) -> bool:
    """Whether layers are functions of TensorFlow 1, rather than Keras's classes."""
    return api.is_tf1 and api.front_end is not FrontEnd.KERAS
