"""A training step of three dense layers that jax compiles: jax_program.py. XLA_FLAGS=--xla_dump_to=FOLDER asks for its dumps."""
import jax
import jax.numpy as jnp


def loss(params, x):
    for kernel in params:
        x = jnp.tanh(x @ kernel)
    return (x**2).mean()


@jax.jit
def train_step(params, x):
    gradients = jax.grad(loss)(params, x)
    return [kernel - 0.01 * gradient for kernel, gradient in zip(params, gradients)]


params = train_step([0.02 * jnp.ones((256, 256)) for _ in range(3)], jnp.ones((4096, 256)))
print(params[0].shape)
