"""Changes that several rows of the table advise."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy

IN_BLOCKS = Remedy(
    "go through the rows in blocks, and reduce each block at once",
    "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
    slug="in-blocks",
)
INTEGER_LABELS = Remedy(
    "keep labels as integers: the loss, or a look-up, needs no one-hot rows",
    "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)   # table[labels]",
    slug="sparse-labels",
)
KERAS_INTEGER_LABELS = Remedy(
    "keep labels as integers: the loss takes them as they are",
    "model.compile(..., loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))",
    slug="sparse-labels",
)
FEWER_DRAWS = Remedy(
    "keep fewer draws: thin them, run and save in several parts, and compute large deterministic sites"
    " afterwards with Predictive",
    "MCMC(kernel, num_warmup=..., num_samples=500, thinning=4)",
    slug="fewer-draws",
)
SHARDED = Remedy("shard weights and optimizer state over devices", slug="shard-arguments")
UINT8_ON_HOST = Remedy(
    "keep the data in NumPy on the host, in its own dtype, and copy and convert one batch at a time",
    "batch = jax.device_put(data[i : i + 256])   # in the step: batch.astype(jnp.float32) / 255",
    slug="one-batch-to-the-device",
)
RECOMPUTED_STEPS = Remedy(
    "let the backward pass compute a step again instead of keeping it: of each step its carry is left",
    "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
    slug="recompute-body",
)
SCAN_OF_BLOCKS = Remedy(
    "scan over blocks of steps, with jax.checkpoint around each block: then only the carries between blocks,"
    " and of one block all, are kept",
    "outer = jax.checkpoint(lambda c, b: jax.lax.scan(body, c, b)); jax.lax.scan(outer, c, blocks)",
    slug="in-blocks",
)
ROWS_OF_DERIVATIVES = Remedy(
    "compute blocks of rows, and reduce each row before the next: all rows together are the whole matrix"
    " again",
    "row = lambda i: jax.jvp(g, (x,), (jnp.zeros_like(x).at[i].set(1),))[1]   # g: such as jax.grad(f)\n"
    "diagonal = jax.lax.map(lambda i: row(i)[i], jnp.arange(x.size), batch_size=64)   # or reduce(row(i))",
    slug="in-blocks",
)
HESSIAN_PRODUCTS = Remedy(
    "or take products with vectors, which never make the matrix",
    "hvp = lambda v: jax.jvp(jax.grad(f), (x,), (v,))[1]",
    slug="hessian-products",
)

WAIT_FOR_EACH_CALL = Remedy(
    "let every call on the CPU wait for its own result, and run again: the traceback then names the line that"
    " asks (the setting does so outside of jit alone; behind each call of a jitted function, wait by hand)",
    "jax.config.update('jax_cpu_enable_async_dispatch', False)\n"
    "out = jax.block_until_ready(step(*arguments))   # step: a jitted function",
    slug="wait-for-each-call",
)
"""Tried with jax 0.10.2: with the setting a jitted call that finds no room fails where its result is used."""
FEWER_SAMPLES = Remedy(
    "give it fewer samples at a time: half of the {} takes about half of all that grows with them; add the"
    " gradients of the parts up for one update",
    "grads = jax.tree.map(lambda *g: sum(g) / len(g), *[grad_of(params, part) for part in parts])",
    slug="smaller-batch",
)
"""Of a compiled step as a whole; its text takes the number of samples."""


def gradients_in_parts(rows: int) -> Remedy:
    """What makes less of gradients that exist for each row by itself."""
    return Remedy(
        f"take the gradients of fewer than {rows:,} rows at a time in a scan over parts, and clip and add up"
        " those of a part before the next (jax.checkpoint does not help: what is large are the gradients)",
        "add = lambda total, part: (jax.tree.map(jnp.add, total, summed_gradients(part)), None)\n"
        "total, _ = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)   # parts of 16 rows",
        slug="in-blocks",
    )
