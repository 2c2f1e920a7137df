"""Compiled programs that fill the driver's memory, workers that compute, models that a loop makes anew."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

CUBIN = "RuntimeError: Internal: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
LOOP = """
import jax
for k in range(100000):
    {line}
"""


def first(text: str) -> Finding | None:
    return next(iter(pipeline.explain(text).findings), None)


@pytest.mark.parametrize(
    ("words", "line", "piles"),
    [
        ("Each pass makes a new model, and after hundreds it fails.", "pass", True),
        ("It fails.", "f = jax.jit(lambda x: x); f(k)", True),
        ("It fails at the first call.", "y = f(x)", False),
    ],
)
def test_programs_that_are_loaded_one_after_another(words: str, line: str, piles: bool) -> None:
    found = first(f"I use JAX. {words}\n{LOOP.format(line=line)}\n{CUBIN}")
    assert found is not None
    assert ("pile up" in found.headline) is piles
    assert (found.remedies[0].slug == "compile-once") is piles
    if piles:
        assert not {"smaller-batch", "see-device-users"} & {each.slug for each in found.remedies}


WORKERS = """
model.fit_generator(generator=data, epochs=10, use_multiprocessing=True)

class Data(tf.keras.utils.Sequence):
    def __getitem__(self, i):
        return {reads}
"""


@pytest.mark.parametrize(
    ("reads", "compute"), [("tf.image.resize(self.x[i], (9, 9))", True), ("cv2.imread(self.x[i])", False)]
)
def test_workers_that_compute_with_tensorflow(reads: str, compute: bool) -> None:
    driver = "failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    found = first(
        f"import tensorflow as tf\n{WORKERS.format(reads=reads)}\n"
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:893] failed to allocate 1.00G (1073741824 bytes)"
        f" from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n{driver}"
    )
    assert found is not None
    assert (found.remedies[0].slug == "fewer-workers") is compute


OWN = """
class MyModel(tf.keras.{base}):
    pass
for r in range(10000):
    m = MyModel()
    m.compile('adam', 'mse')
    m.fit(ds)
"""


@pytest.mark.parametrize(("base", "model"), [("Model", True), ("utils.Sequence", False)])
def test_models_of_the_programs_own_class(base: str, model: bool) -> None:
    found = first(
        f"RAM grows in each round. ds is one data set made before the loop.\n{OWN.format(base=base)}"
    )
    assert found is not None
    assert ("makes a model in each turn" in found.headline) is model
    assert "data set that is made anew" not in found.headline


SOLVER = """
import jax.numpy as jnp
import jaxopt
{above}
def optimize(m):
    {inside}
    return solver.run(jnp.zeros(1), min=m)

for i in range(10):
    optimize(i)
"""
MAKES = "solver = jaxopt.LBFGS(obj, maxiter=100)"


@pytest.mark.parametrize(
    ("above", "inside", "anew"),
    [
        ("pass", f"obj = lambda x, min: x - min\n    {MAKES}", True),
        (f"obj = lambda x, min: x - min\n{MAKES}", "pass", False),
    ],
)
def test_solvers_that_are_made_for_each_call(above: str, inside: str, anew: bool) -> None:
    found = first(f"Memory increases with each call.\n{SOLVER.format(above=above, inside=inside)}")
    assert found is not None
    assert ("gives `jaxopt.LBFGS` another function" in found.headline) is anew


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        ("in a for loop, memory increases after each iteration", "tfp.optimizer.bfgs_minimize(f, w)", True),
        ("memory usage increases", "tfp.optimizer.bfgs_minimize(f, w)", False),
        ("in a for loop, memory increases after each iteration", "other.bfgs_minimize(f, w)", False),
    ],
)
def test_code_between_ticks_that_words_say_is_repeated(words: str, code: str, named: bool) -> None:
    found = first(
        f"When I call it on JAX as below {words}:\n\n`f = lambda w: w - 1`\n`r = {code}`\n\nJax 0.3.14\n"
    )
    assert found is not None
    assert ("another function" in found.headline) is named


def test_what_the_code_shows_goes_before_a_tf_function_in_general() -> None:
    code = "@tf.function\ndef train(ds):\n    for x in tqdm(ds):\n        step(x)\n"
    found = first(f"Memory is rising on every step.\n{code}\nWithout tf.function it is okay.\n")
    assert found is not None
    assert "goes over what is Python's own within a tf.function" in found.headline


METHODS = """
class Model(tf.keras.Model):
    def act(self, obs):
        return self.predict(obs)

rewards = [0.0]
for step in range(1000):
    a = {call}
    rewards.append(0.0)
"""


@pytest.mark.parametrize(("call", "predicts"), [("model.act(obs)", True), ("other(obs)", False)])
def test_a_method_that_predicts_in_each_turn(call: str, predicts: bool) -> None:
    found = first(f"RAM goes up with each step.\n{METHODS.format(call=call)}")
    assert found is not None
    assert ("calls `self.predict` in each turn of a loop" in found.headline) is predicts
    assert "keeps `0.0`" not in found.headline


def test_the_largest_array_is_the_constant_that_matters() -> None:
    code = (
        "import jax, jax.numpy as jnp\nsmall = jnp.zeros((1000,))\nlarge = jnp.zeros((16600, 14940))\n"
        "@jax.jit\ndef f(x):\n    return small + large @ x\n"
    )
    found = first(f"It runs out of memory.\n{code}")
    assert found is not None
    assert "the array `large`" in found.headline
