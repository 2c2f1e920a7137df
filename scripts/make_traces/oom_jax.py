"""JAX on the CPU asks for more than there is: oom_jax.py."""
import json
import os

import jax
import jax.numpy as jnp


def truth():
    with open(os.environ["OOM_TRUTH"], "w") as out:
        json.dump({"jax": jax.__version__, "failing_shape": [4194304, 4194304], "failing_dtype": "float32",
                   "culprit": "one outer product of [4194304,4194304] float32 wants 64 TiB"}, out, indent=1)


@jax.jit
def outer(x):
    product = jnp.sin(x)[:, None] * x[None, :]
    return product @ x, product


truth()
print(outer(jnp.ones([4194304]))[0])
