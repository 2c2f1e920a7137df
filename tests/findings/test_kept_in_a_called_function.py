"""A function that a loop calls keeps like the loop's own body."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens import pipeline
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.program.parsing import statements_of_file
from tfmemlens.values import replace

CODE = """seen = {}
def train(step):
    late = net(batch())
    seen["night-%03d" % step] = (late, step)
    return late
"""


def containers(code: str) -> list[str]:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    program = Program(tuple(statements_of_file(lines)))
    return [each.container for each in kept(replace(Surroundings(), program=lambda: program))]


def test_what_a_called_function_adds_to_is_kept() -> None:
    assert containers(CODE + "for step in range(400):\n    loss = train(step)\n") == ["seen"]


def test_a_function_that_is_called_once_keeps_one() -> None:
    assert containers(CODE + "loss = train(0)\n") == []
    assert containers(CODE + "for step in range(400):\n    loss = other(step)\n") == []


def test_what_is_made_in_the_function_goes_with_it() -> None:
    local = CODE.replace("seen = {}\n", "").replace("    late = net", "    seen = {}\n    late = net")
    assert containers(local + "for step in range(400):\n    train(step)\n") == []


JAX_LOG = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.\n"
JAX_CODE = """
import jax, jax.numpy as jnp
seen = {}
def advance(t, state):
    state = step(state)
    seen[t] = state
    return state
for t in range(600):
    state = advance(t, state)
"""


@pytest.mark.parametrize(("need", "told"), [(4 << 20, True), (64 << 20, True), (1 << 30, False)])
def test_a_small_request_speaks_for_what_calls_keep(need: int, told: bool) -> None:
    report = explained(JAX_LOG.format(need) + JAX_CODE)
    assert ("most likely `seen` (line 7) keeps every result of each call" in report.verdict) is told


STEPS = """
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x))
    g = tape.gradient(loss, net.trainable_variables)
    return {returned}
history = []
for x in data:
    history.append(step(x))
"""


@pytest.mark.parametrize(("returned", "number"), [("loss", True), ("g", False), ("loss, g", False)])
def test_a_function_that_returns_what_it_differentiates_returns_a_number(returned: str, number: bool) -> None:
    lines = [Line(at, text) for at, text in enumerate(STEPS.format(returned=returned).split("\n"), 1)]
    program = Program(tuple(statements_of_file(lines)))
    (found,) = kept(replace(Surroundings(), program=lambda: program))
    assert (found.container, found.number) == ("history", number)


DECODER = """
class Decoder:
    def step(self, x, caches):
        new = []
        for layer, cache in zip({over}, caches):
            x, cache = layer(x, cache)
            new.append(cache)
        return x, new
decoder = Decoder()
for t in range(90):
    x, caches = decoder.step(x, caches)
"""


@pytest.mark.parametrize(
    ("over", "accused"), [("self.layers", False), ("self.batches()", True), ("parts", True)]
)
def test_a_list_with_an_entry_for_each_layer_is_of_one_step(over: str, accused: bool) -> None:
    assert ("new" in containers(DECODER.format(over=over))) is accused


RING = """
import tensorflow as tf
from collections import deque
memory = deque(maxlen=40000)
for t in range(90000):
    state = camera(t)
    memory.append((state, t))
    learn(random.sample(memory, 8))

"""


def test_a_ring_of_tensors_on_the_cpu_is_shorter_and_of_bytes() -> None:
    host = "bfc_cpu_allocator_for_gpu"
    full = dump_by_size(91 * 308 * 256 * 4, 230, (2211, 88_576), allocator=host)
    found = pipeline.explain(RING + full + oom("91,308,256", "Conv2D", on=CPU, by=host))
    assert "`memory` (line 7) keeps" in found.verdict
    first = found.actions[0].remedy
    assert first.slug == "smaller-replay" and "fewer entries in `memory` than 40,000" in first.text
