"""Two JAX programs that fail under `ulimit -v` and name no layer: weights in dictionaries, and a scan whose
gradient keeps every step.

    ulimit -v 6000000; tfmemlens run --trace --out DIR -- python jax_without_scopes.py autoencoder|scan
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp


def weights(*shapes):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return [0.05 * jax.random.normal(key, shape) for key, shape in zip(keys, shapes)]


def autoencoder():
    first, mean, hidden, pixels = weights((100, 300), (300, 8), (8, 6000), (6000, 100))
    net = {"encoder": {"hidden": first, "mean": mean}, "decoder": {"hidden": hidden, "pixels": pixels}}

    def loss(net, x):
        code = jnp.tanh(x @ net["encoder"]["hidden"]) @ net["encoder"]["mean"]
        wide = jnp.tanh(code @ net["decoder"]["hidden"])
        return jnp.mean((wide @ net["decoder"]["pixels"] - x) ** 2)

    @partial(jax.jit, donate_argnums=0)
    def update(net, x):
        return jax.tree.map(lambda w, g: w - 0.1 * g, net, jax.grad(loss)(net, x))

    for n in (64, 150000):
        net = update(net, jnp.ones((n, 100)))
        print(n, float(net["encoder"]["mean"].sum()), flush=True)


def scan():
    recur, read = weights((512, 512), (4, 512))
    w = {"recur": recur, "read": read}

    def loss(w, xs):
        def cell(h, x):
            h = jnp.tanh(h @ w["recur"] + x @ w["read"])
            return h, h

        _, hs = jax.lax.scan(cell, jnp.zeros((xs.shape[1], 512)), xs)
        return (hs**2).mean()

    gradient = jax.jit(jax.grad(loss))
    for t in (10, 20000):
        print(t, float(gradient(w, jnp.ones((t, 64, 4)))["read"].sum()), flush=True)


{"autoencoder": autoencoder, "scan": scan}[sys.argv[1]]()
