"""A training step that grows until it does not fit: run under `ulimit -v 6000000` by
`tfmemlens run --trace --out DIR -- python jax_failing_step.py`, whose DIR then has a programs.json.
"""

import jax
import jax.numpy as jnp


def init(key, sizes):
    params = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        key, sub = jax.random.split(key)
        params[f"layer{i}"] = {"w": jax.random.normal(sub, (a, b)) * 0.05, "b": jnp.zeros(b)}
    return params


def forward(params, x):
    for name in sorted(params):
        with jax.named_scope(name):
            x = jax.nn.relu(x @ params[name]["w"] + params[name]["b"])
    return x


@jax.jit
def step(params, x, y):
    def loss(p):
        return jnp.mean((forward(p, x) - y) ** 2)

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)


params = init(jax.random.key(0), [64, 256, 8192, 32])
for n in (256, 4096, 131072):
    params = step(params, jnp.ones((n, 64)), jnp.zeros((n, 32)))
    print(n, float(params["layer0"]["b"].sum()), flush=True)
