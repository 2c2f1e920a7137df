"""What the code of a JAX program most likely does stands beside what its log says, and not in its place."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

GOAL = (
    "W1127 22:08:09.2 9160 hlo_rematerialization.cc:3363] Can't reduce memory use below 3.95GiB (4241280204"
    " bytes) by rematerialization; only reduced to 6.00GiB (6442450944 bytes), down from 6.00GiB (6442450944"
    " bytes) originally\n"
)
REFUSED = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6.17GiB with"
    " allocator GPU_0_bfc on device 0. [executable_name='jit_step']\n"
)
SCANNED = """import jax
import equinox as eqx

class Net(eqx.Module):
    def __call__(self, x):
        x, _ = jax.lax.scan(layer, x, self.arrays)
        return x

class Other(eqx.Module):
    def __call__(self, x):
        return x

def loss_of(net, x):
    return net(x).sum()

@eqx.filter_jit
def step(net, x):
    return eqx.filter_value_and_grad(loss_of)(net, x)

net = Net()
loss, grads = step(net, x)

"""
GRAPH = """import jax
import flax.linen as nn

class Round(nn.Module):
    def __call__(self, nodes, senders, receivers):
        sent = nodes[senders]
        return jax.ops.segment_sum(sent, receivers, num_segments=100)

net = Round()

@jax.jit
def step(params, graph):
    return jax.value_and_grad(lambda p: net.apply(p, *graph).sum())(params)

step(params, graph)

"""


def verdict(code: str) -> str:
    return pipeline.explain(code + GOAL + REFUSED).verdict


@pytest.mark.parametrize(("code", "told"), [(SCANNED, True), (SCANNED.replace("= Net(", "= Other("), False)])
def test_a_scan_within_what_the_step_is_given(code: str, told: bool) -> None:
    said = verdict(code)
    assert "needs 6.00 GiB, and 3.95 GiB was the compiler's goal" in said
    assert ("; most likely the gradient keeps what each step of the scan of line 6" in said) is told


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (GRAPH, True),
        (GRAPH.replace("jax.value_and_grad", "jax.checkpoint"), False),
        (GRAPH.replace("nodes[senders]", "nodes[0]"), False),
    ],
)
def test_rows_of_edges(code: str, told: bool) -> None:
    said = verdict(code)
    assert "was the compiler's goal" in said
    assert ("`nodes[senders]` (line 6) makes a row for each of its edges" in said) is told


@pytest.mark.parametrize(("line", "told"), [("chain.append(x)", True), ("x = f(x)", False)])
def test_a_list_that_fills_the_pool_is_named(line: str, told: bool) -> None:
    code = f"import jax\nchain = []\nfor i in range(9):\n    x = step(x)\n    {line}\n\n"
    said = pipeline.explain(code + REFUSED.replace("6.17GiB", "40.17MiB")).verdict
    assert ("most likely what `chain` keeps (line 5)" in said) is told


MEMO = """import jax
import jax.numpy as jnp
import numpy as np

EVENTS, DIM = 40_000, 512

@jax.jit
def embed(params, events):
    return jnp.tanh(events @ params)

class Memory:
    def __init__(self):
        self.seen = {}

    def lookup(self, params, session, events):
        if session not in self.seen:
            self.seen[session] = embed(params, events)
        return self.seen[session]

params = jnp.zeros((4, DIM))
memory = Memory()
for session in range(4000):
    vectors = memory.lookup(params, session, jnp.zeros((EVENTS, 4)))
    print(session, float(vectors.mean()))

"""
WAITED = """Traceback (most recent call last):
  File "fit.py", line 24, in <module>
    print(session, float(vectors.mean()))
jax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of memory allocating {} bytes.
"""


@pytest.mark.parametrize(("need", "kept"), [(81_920_000, True), (819_200_000, False)])
def test_what_calls_keep_goes_before_the_last_array(need: int, kept: bool) -> None:
    code = MEMO if kept else MEMO.replace("40_000", "400_000")
    report = pipeline.explain(code + WAITED.format(need))
    assert ("`self.seen` (line 17) keeps" in report.verdict) is kept
    assert ("the request to the byte" in report.verdict) is not kept
    assert "single-precision-jax" not in [action.remedy.slug for action in report.actions]


GRAM = """
import jax.numpy as jnp
real = jnp.zeros(({rows}, {width}))
def gram(a, b):
    return jnp.exp(-jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, -1))
print(float(gram(real, real).mean()))

"""


@pytest.mark.parametrize(
    ("rows", "width", "square"),
    [
        (60_000, 32, False),  # as many bytes as 240,000 x 240,000 in float64
        (50_000, 7, True),  # the code makes nothing of these bytes
    ],
)
def test_a_square_by_chance_gives_way_to_what_the_code_makes(rows: int, width: int, square: bool) -> None:
    need = 240_000 * 240_000 * 8
    report = pipeline.explain(GRAM.format(rows=rows, width=width) + WAITED.format(need))
    assert ("240,000 x 240,000" in report.verdict) is square
    assert ("[60000,60000,32]" in report.verdict) is not square


ARGUED = """
import sys
import jax.numpy as jnp
rows = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
far = jnp.zeros((rows, 1, 3)) - jnp.zeros((1, 90_000, 3))
print(float(far.mean()))

"""


def test_a_default_of_the_command_line_is_the_size() -> None:
    report = pipeline.explain(
        ARGUED + WAITED.format(60_000 * 90_000 * 3 * 4)
    )  # 90,000 x 90,000 in float64, too
    assert "[60000,90000,3]" in report.verdict and "90,000 x 90,000" not in report.verdict


SCORES = """
import jax, jax.numpy as jnp
attn_at = (128, 32)
q = jnp.zeros((4, 16384, 4, 8))
s = jnp.einsum("bqhd,bkhd->bhqk", q, q)
print(float(s.mean()))

"""


def test_scores_of_a_map_name_the_setting_and_no_kernel_of_a_gpu_on_the_cpu() -> None:
    report = pipeline.explain(SCORES + WAITED.format(4 * 4 * 16384 * 16384 * 4))
    slugs = [action.remedy.slug for action in report.actions]
    assert "take 128 out of `attn_at`" in report.actions[0].remedy.text
    assert "flash-attention-jax" not in slugs
    assert "4 x 4 x" in report.verdict or "[4,4,16384,16384] float32" in report.verdict
