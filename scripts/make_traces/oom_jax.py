"""JAX on the CPU asks for more than there is: oom_jax.py outer | attention | gram."""
import json
import os
import resource
import sys

import jax
import jax.numpy as jnp

LIMIT = 12 << 30


def truth(**known):
    with open(os.environ["OOM_TRUTH"], "w") as out:
        json.dump({"jax": jax.__version__, **known}, out, indent=1)


@jax.jit
def outer(x):
    product = jnp.sin(x)[:, None] * x[None, :]
    return product @ x, product


def run_outer():
    truth(failing_shape=[4194304, 4194304], failing_dtype="float32",
          culprit="one outer product of [4194304,4194304] float32 wants 64 TiB")
    print(outer(jnp.ones([4194304]))[0])


def attention(weights, x):
    query, key = x @ weights["query"], x @ weights["key"]
    scores = jax.nn.softmax(jnp.einsum("bld,bmd->blm", query, key))
    return (scores @ x).sum()


def run_attention():
    truth(culprit="scores [16,20000,20000] float32 of attention, 23.8 GiB each, twice for the backward pass")
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    weights = {name: jnp.ones((64, 64)) for name in ("query", "key")}
    step = jax.jit(jax.value_and_grad(attention))
    loss, _ = step(weights, jnp.ones((16, 20000, 64)))
    print("loss", loss)


def run_gram():
    truth(array_shape=[300000, 300000], array_dtype="float32",  # the message has only its bytes
          culprit="the kernel matrix [300000,300000] float32, 335 GiB, op by op outside jit")
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    x = jnp.linspace(0, 1, 300_000)
    kernel = jnp.exp(-(x[:, None] - x[None, :]) ** 2)
    print(kernel.sum())


{"outer": run_outer, "attention": run_attention, "gram": run_gram}[sys.argv[1]]()
