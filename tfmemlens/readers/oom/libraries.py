"""Which library on top of JAX a program is written with: its code decides what a remedy looks like.

Optax stands beside any of them, so it tells of the optimizer alone.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

LIBRARIES = {
    "Keras": LineRule(
        r"keras[/\\]src[/\\]|KERAS_BACKEND['\"\])]*\s*[=:,]\s*['\"]?jax|Using JAX backend"
        r"|\bkeras\.(?:layers|Model)\b|\bkeras_(?:nlp|hub)\.\w",
        'File "site-packages/keras/src/backend/jax/trainer.py", line 406, in fit',
        'os.environ["KERAS_BACKEND"] = "jax"',
        "Using JAX backend.",
        "model = keras_hub.models.GemmaCausalLM.from_preset('gemma2_2b_en')",
        needs=("keras", "jax backend"),
    ),
    "NumPyro": LineRule(
        r"\bnumpyro\b|\bmcmc\.run\(",
        'File "site-packages/numpyro/infer/mcmc.py", line 675, in run',
        needs=("numpyro", "mcmc.run"),
    ),
    "PyMC": LineRule(
        r"\bpymc\b|\bpm\.(?:sample|Model|fit)\b|\bpytensor\b",
        'source_file="site-packages/pytensor/link/jax/dispatch/scalar.py" source_line=103',
        needs=("pymc", "pm.", "pytensor"),
    ),
    "Equinox": LineRule(
        r"\bequinox\b|\beqx\.", 'File "site-packages/equinox/_jit.py", line 263, in __call__', needs="eq"
    ),
    "Haiku": LineRule(
        r"\bhaiku\b|\bhk\.\w",
        "out = hk.Linear(10)(x)",
        needs=("haiku", "hk."),
    ),
    "Flax NNX": LineRule(
        r"flax[/\\]nnx|\bnnx\.\w",
        'File "site-packages/flax/nnx/transforms/compilation.py", line 354',
        needs=("nnx",),
    ),
    "Flax": LineRule(
        r"\b[Ff]lax\b|\blinen\b|\bTrainState\b|\bstate\.apply_fn\(|\bapply_gradients\(grads=",
        'source_file="site-packages/flax/linen/linear.py"',
        "state = state.apply_gradients(grads=grads)",
        needs=("flax", "linen", "trainstate", "apply_fn(", "apply_gradients("),
    ),
    "Optax": LineRule(r"\boptax\b", "opt = optax.adamw(1e-3)", needs="optax"),
}
"""The more particular first: Flax's NNX lies in Flax's folder, Haiku's users take Optax."""
