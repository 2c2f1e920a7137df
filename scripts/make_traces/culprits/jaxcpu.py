"""JAX programs as users write them, each with one known culprit: jaxcpu.py FUNCTION [key=value ...].

The defaults run out of memory under the address space that run.py leaves; programs.txt names the culprit.
"""
import ast
import sys

import jax
import jax.numpy as jnp
import numpy as np

KEY = jax.random.key(0)


def dense(key, inputs, outputs):
    return {"w": jax.random.normal(key, (inputs, outputs)) * 0.02, "b": jnp.zeros(outputs)}


def sgd(params, grads, rate=1e-3):
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads)


def genome_attention(length=12000, heads=8, batch=2):
    """Attention over a whole genome window, under jit and grad."""
    params = {name: jax.random.normal(KEY, (32, heads, 16)) * 0.1 for name in ("query", "key", "value")}

    def attend(params, x):
        q, k, v = [jnp.einsum("bld,dhe->blhe", x, params[n]) for n in ("query", "key", "value")]
        scores = jnp.einsum("blhe,bmhe->bhlm", q, k)
        return jnp.mean(jnp.einsum("bhlm,bmhe->blhe", jax.nn.softmax(scores), v) ** 2)

    @jax.jit
    def train_step(params, x):
        loss, grads = jax.value_and_grad(attend)(params, x)
        return sgd(params, grads), loss

    for step in range(2):
        params, loss = train_step(params, jax.random.normal(KEY, (batch, length, 32)))
        print("step", step, "loss", loss)


def galaxies(stars=9000, masses=7000, batch=12, pairwise=True):
    """Forces of every mass on every star, component by component, op by op."""
    a = jax.random.normal(KEY, (batch, stars, 3))
    b = jax.random.normal(KEY, (batch, masses, 3))
    if pairwise:
        force = jnp.sum((a[:, :, None, :] - b[:, None, :, :]) ** 2, -1)
    else:
        force = jnp.sum(a ** 2, -1)
    print("mean force", force.mean())


def language_model(vocabulary=250000, length=512, batch=8):
    """Logits of every position over a large vocabulary."""
    params = {"embed": jax.random.normal(KEY, (2000, 32)), "unembed": dense(KEY, 32, vocabulary)}

    def loss_fn(params, tokens):
        h = jnp.tanh(params["embed"][tokens])
        logits = h @ params["unembed"]["w"] + params["unembed"]["b"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], -1))

    step = jax.jit(jax.value_and_grad(loss_fn))
    loss, _ = step(params, jax.random.randint(KEY, (batch, length), 0, 2000))
    print("loss", loss)


def private_training(batch=8192, width=800, per_example=True):
    """Differential privacy: one gradient for every example."""
    params = [dense(KEY, 64, width), dense(KEY, width, width), dense(KEY, width, 1)]

    def loss_fn(params, x, y):
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return jnp.mean((x @ params[-1]["w"] + params[-1]["b"] - y) ** 2)

    @jax.jit
    def example_grads(params, x, y):
        if not per_example:
            return jax.grad(loss_fn)(params, x, y)
        return jax.vmap(jax.grad(loss_fn), (None, 0, 0))(params, x, y)

    grads = example_grads(params, jax.random.normal(KEY, (batch, 64)), jnp.zeros((batch, 1)))
    norm = jnp.sqrt(sum(jnp.sum(g ** 2) for g in jax.tree_util.tree_leaves(grads)))
    print("gradient norm", norm)


def weather_rollout(steps=4000, cells=300000, remat=False):
    """A simulator in lax.scan, differentiated through all steps."""
    def advance(state, _):
        moved = jnp.roll(state, 1) * jnp.sin(state) + 0.1 * jnp.cos(state)
        return moved, None

    def loss_fn(friction, state):
        body = jax.checkpoint(advance) if remat else advance
        final, _ = jax.lax.scan(lambda s, _: (body(s, None)[0] * friction, None), state, None, length=steps)
        return jnp.mean(final ** 2)

    loss, grad = jax.jit(jax.value_and_grad(loss_fn))(0.99, jnp.ones(cells))
    print("loss", loss, "d friction", grad)


def replay(keep=True, steps=100000):
    """Features of every step stay in a list, to be written at the end."""
    params = dense(KEY, 256, 4096)
    encode = jax.jit(lambda p, x: jnp.tanh(x @ p["w"] + p["b"]))
    features = []
    for step in range(steps if keep else 100):
        out = encode(params, jnp.asarray(np.random.rand(4096, 256), jnp.float32))
        features.append(out if keep else out.mean())
        if step % 10 == 0:
            print("step", step, "mean", float(out.mean()))


def slow_lookup(vocabulary=300000, tokens=8192, one_hot=True):
    """An embedding look-up by one-hot rows and a matrix product."""
    table = jax.random.normal(KEY, (vocabulary, 16))
    ids = jax.random.randint(KEY, (tokens,), 0, vocabulary)
    rows = jax.nn.one_hot(ids, vocabulary) @ table if one_hot else table[ids]
    print("rows", rows.shape, rows.mean())


def kernel_ridge(rows=90000):
    """The kernel matrix of all rows."""
    x = jax.random.normal(KEY, (rows, 10))
    gram = jnp.exp(-0.5 * (x @ x.T))
    print("kernel", gram.shape, gram.mean())


def curvature(width=1000, full=True):
    """The whole Hessian of a network's loss."""
    params = jax.random.normal(KEY, (64 * width,)) * 0.1
    x = jax.random.normal(KEY, (128, 64))

    def loss_fn(flat):
        return jnp.mean(jnp.tanh(x @ flat.reshape(64, width)) ** 2)

    result = jax.hessian(loss_fn)(params) if full else jax.grad(loss_fn)(params)
    print("shape", result.shape)


def whole_test_set(images=60000, batch=60000):
    """Inference of the whole test set in one vmap'ed call."""
    kernel = jax.random.normal(KEY, (3, 3, 1, 32))

    @jax.jit
    def features(x):
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y)

    pictures = np.zeros((images, 28, 28, 1), np.float32)
    total = 0.0
    for start in range(0, images, batch):
        total += float(features(pictures[start:start + batch]).mean())
    print("mean", total)


def double_precision(enable=True, size=20000):
    """jax_enable_x64 doubles every array."""
    jax.config.update("jax_enable_x64", enable)
    matrix = jax.random.normal(KEY, (size, size), dtype=float)
    print(matrix.dtype, jnp.tanh(matrix).mean())


def memory_of_attention(length=8192, heads=8):
    """What compiled.memory_analysis() says of an attention step that was never run."""
    def loss_fn(w, x):
        q = jnp.einsum("ld,dhe->hle", x, w)
        return jnp.mean(jax.nn.softmax(jnp.einsum("hle,hme->hlm", q, q)) @ q)

    shapes = (jax.ShapeDtypeStruct((64, heads, 16), jnp.float32), jax.ShapeDtypeStruct((length, 64), jnp.float32))
    print(jax.jit(jax.grad(loss_fn)).lower(*shapes).compile().memory_analysis())


def profiled_replay(steps=40, keep=True):
    """The memory profile of a run that keeps every step's features."""
    params = dense(KEY, 64, 1024)
    encode = jax.jit(lambda p, x: jnp.tanh(x @ p["w"] + p["b"]))
    features = []
    for _ in range(steps):
        out = encode(params, jax.random.normal(KEY, (1024, 64)))
        features.append(out if keep else out.mean())
    jax.profiler.save_device_memory_profile("memory.prof")
    print("profile written")


def profiled_dataset(rows=200000, on_host=False):
    """The memory profile of a run with the whole data set on the device."""
    table = np.zeros((rows, 256), np.float32)
    data = table if on_host else jax.device_put(table)
    params = dense(KEY, 256, 10)
    step = jax.jit(lambda p, x: jnp.mean((x @ p["w"]) ** 2))
    for start in range(0, 1000, 100):
        print(float(step(params, data[start:start + 100])))
    jax.profiler.save_device_memory_profile("memory.prof")


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})


if __name__ == "__main__":
    main()
