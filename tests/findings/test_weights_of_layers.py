"""Weights of the program's layers whose bytes are the request, with the slots of its optimizer."""

from __future__ import annotations

import pytest

from tests.readers.test_tuned_kernels import EMPTY, NAMED, REFUSED
from tfmemlens import pipeline

PROGRAM = """\
import jax
import optax
from flax import nnx

ROWS = 900_000
WIDTH = 64


class Net(nnx.Module):
    def __init__(self, rngs):
        self.users = nnx.Embed(ROWS, WIDTH, rngs=rngs)
        self.items = nnx.Embed(ROWS, WIDTH, rngs=rngs)


net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, {optimizer}, wrt=nnx.Param)
"""


def verdict(need: int, optimizer: str) -> str:
    size = f"{need / 2**20:.2f}MiB"
    log = (
        "W1127 22:08:17.7 3928 bfc_allocator.cc:598] Allocator (GPU_0_bfc) ran out of memory trying to"
        f" allocate {size} (rounded to {need}) from the lower end requested by op\n"
        f"jax.errors.JaxRuntimeError: {REFUSED.format(size=size)}{NAMED}{EMPTY}\n"
    )
    return pipeline.explain(f"{PROGRAM.format(optimizer=optimizer)}\n{log}").verdict


@pytest.mark.parametrize(
    ("optimizer", "told"),
    [
        ("optax.adam(1e-3)", "keeps 2 more of each: together 1.29 GiB"),
        ("optax.sgd(1e-2, momentum=0.9)", "keeps 1 more of each: together 878.91 MiB"),
        ("optax.sgd(1e-2)", "2 weights of [900000,64]"),
    ],
)
def test_weights_with_their_slots(optimizer: str, told: str) -> None:
    assert told in verdict(900_000 * 64 * 4, optimizer)


def test_another_size_is_no_such_weight() -> None:
    assert "900000" not in verdict(900_000 * 63 * 4, "optax.adam(1e-3)")
