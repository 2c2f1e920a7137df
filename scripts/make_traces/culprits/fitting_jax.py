"""JAX programs that run out of memory, written to try whether the page's first remedy suffices: fitting_jax.py FUNCTION [key=value ...].

The defaults run out of memory under the address space that run.py leaves; programs.txt names the culprit.
"""
import ast
import sys

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


def sensitivities(inputs=24000, outputs=24000, rows=None):
    """The whole Jacobian of a layer by jacrev."""
    weights = jax.random.normal(KEY, (64, inputs)), jax.random.normal(KEY, (outputs, 64))
    x = jnp.ones(inputs)

    def layer(x):
        return jnp.tanh(weights[1] @ (weights[0] @ x))

    if rows is None:
        print(jax.jacrev(layer)(x).max())
        return
    _, pull = jax.vjp(layer, x)
    for start in range(0, outputs, rows):
        units = jax.nn.one_hot(jnp.arange(start, start + rows), outputs)
        most = jax.vmap(pull)(units)[0].max()
    print(most)


def stacked_frames(frames=700, size=1024, keep=True):
    """Every frame of a simulation, stacked at the end."""
    state = jax.random.normal(KEY, (size, size))
    step = jax.jit(lambda s: s + 0.1 * (jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) - 2 * s))
    states = []
    for _ in range(frames):
        state = step(state)
        states.append(state if keep else float(state.mean()))
    print(jnp.stack(states).mean() if keep else sum(states))


def whole_image_set(images=40000, size=28, batch=None):
    """Full-batch gradient descent on all pictures."""
    kernel = jax.random.normal(KEY, (3, 3, 1, 32)) * 0.1
    pictures = jax.random.uniform(KEY, (images, size, size, 1))

    @jax.jit
    def grad_step(kernel, x):
        def loss_fn(kernel):
            y = jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
            return jnp.mean(y.mean((1, 2)) ** 2)
        loss, grads = jax.value_and_grad(loss_fn)(kernel)
        return kernel - 0.1 * grads, loss

    for start in range(0, images, batch or images):
        kernel, loss = grad_step(kernel, pictures[start:start + (batch or images)])
    print("loss", float(loss))


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})


if __name__ == "__main__":
    main()
