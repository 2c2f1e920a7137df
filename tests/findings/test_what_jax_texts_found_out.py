"""What a text about JAX found out itself decides: what ends a growth, what was read."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

CPU_JOB = (
    "# Converting a checkpoint of a 4B model with JAX\n{said}\n\n"
    "Reason:       OOMKilled\nExit Code:    137\n\n"
    'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={many}"\n'
    "restore_args = ocp.ArrayRestoreArgs(sharding=NamedSharding(mesh, PartitionSpec()))\n"
)


def test_a_restore_is_no_save_and_no_growth() -> None:
    said = "The pod dies while the checkpoint is restored.\nRAM climbs to roughly 231 GiB during restore."
    found = explained(CPU_JOB.format(said=said, many=16))
    assert "is saved" not in found.verdict
    assert "it grows" not in found.verdict
    assert "the 16 devices" in found.verdict
    assert found.actions[0].remedy.slug == "one-simulated-device"


def test_a_save_is_still_one() -> None:
    said = "The pod dies while the checkpoint is being written."
    assert "is saved" in explained(CPU_JOB.format(said=said, many=1)).verdict


LEAK = (
    "# RAM climbs while I run many simulations with JAX on the CPU\n{mark}\ndef simulate():\n"
    "    return jx.integrate(cell, t_max=1.0)\n\nwhile True:\n    voltage = simulate()\n"
)


@pytest.mark.parametrize(
    ("mark", "ended"),
    [
        ("# @jit   <- with this the leak is gone", True),
        ("# @jit   plugs the leak", True),
        ("# @jit   the leak is the same with it", False),
    ],
)
def test_what_ends_a_leak_is_read_in_a_comment(mark: str, ended: bool) -> None:
    assert ("without jit" in explained(LEAK.format(mark=mark)).verdict) is ended


POINTS = (
    "# Sinkhorn in JAX on an RTX 3090\nThe cost matrix of my two clouds is large, so I use batch_size.\n"
    "import jax\nloss(x, y)   # fine\n{grad}\n"
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 14417920512 bytes.\n"
)


def test_blocks_that_a_gradient_keeps_are_computed_again() -> None:
    assert first(POINTS.format(grad="jax.grad(loss)(x, y)   # dies")).startswith("compute each block again")
    assert offered(POINTS.format(grad="loss(x, y, 2)   # dies"))[0] == "in-blocks"


ORBAX = (
    "# Fine-tuning with jax on an RTX 3090 with 24 GB\n"
    "[I] [process=0] /jax/checkpoint/read/bytes_per_sec: 1.0 GiB/s (total bytes: {much} GiB) (time elapsed: 9"
    " seconds) (per-host)\n"
    "Traceback (most recent call last):\n"
    '  File "/home/me/scripts/train.py", line 125, in init_train_state\n    train_state = jax.jit(\n'
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 134217728 bytes.\n"
)


def test_a_state_of_the_weights_that_were_read_is_too_much() -> None:
    found = explained(ORBAX.format(much="10.9"))
    assert "10.90 GiB (line 2)" in found.verdict
    assert "32.70 GiB, more than the device has" in found.verdict
    assert found.actions[0].remedy.slug == "low-rank-tuning"
    small = explained(ORBAX.format(much="1.2"))
    assert "more than the device has" not in small.verdict
    assert all(each.remedy.slug != "low-rank-tuning" for each in small.actions)


DRAWS = (
    "# NumPyro: drawing in batches on one GPU with 16 GB\nfor i in range(n):\n"
    "    mcmc.run(key, x, y)\n    samples = mcmc.get_samples()\n"
    "{said}\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5822016000 bytes.\n"
)


def test_the_draws_of_the_run_before_are_let_go() -> None:
    said = "When the second one starts the first one is still in memory, with a batch of 4000."
    found = explained(DRAWS.format(said=said))
    assert "what it drew is still there in the next" in found.verdict
    assert found.actions[0].remedy.slug == "start-anew"
    assert "smaller-batch" not in [each.remedy.slug for each in found.actions]
    other = explained(DRAWS.format(said="The first run fails already."))
    assert "still there" not in other.verdict


ODE = (
    "# Diffrax: memory\n"
    "sol = diffrax.diffeqsolve(term, solver, t0=0., t1=20., dt0=0.02, y0=y0, args=params,\n"
    "    saveat=diffrax.SaveAt(ts=jnp.linspace(0, 20, 1000)))\n"
    "With jax.vmap over 32 initial conditions the gradient gives\n"
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33831256064 bytes.\n"
)


def test_a_solver_is_told_of_what_it_saves_before_vmap() -> None:
    assert offered(ODE)[0] == "fewer-steps-at-once"
    assert "in-blocks" in offered(ODE)
