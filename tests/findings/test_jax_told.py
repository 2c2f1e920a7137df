"""What the words of a post about JAX say of what fills memory: the mechanism told, and near misses."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def _explained(said: str) -> Report:
    return pipeline.explain(f"# Question about jax\n{said}\n")


_OOM = "It runs out of GPU memory."


@pytest.mark.parametrize(
    ("said", "what", "slug"),
    [
        ("The jitted function closes over a big table.", "closes over", "pass-as-argument"),
        (
            "state = pjit(lambda: state, in_shardings=(), out_shardings=s)()",
            "closes over",
            "pass-as-argument",
        ),
        ("I compute jax.hessian(loss)(params).", "matrix of derivatives", "hessian-products"),
        ("d = jnp.abs(x[:, None] - y[None]).sum(-1)", "rows x rows x features", "distances-by-product"),
        ("I need the covariance matrix of all points.", "all pairs of points", "in-blocks"),
        ("I take gradients of long rollouts with scan.", "every step of the loop", "recompute-body"),
        ("I vmap the solver over 50000 states.", "vmap makes", "in-blocks"),
        ("I set jax_enable_x64 to True.", "64 bits", "single-precision"),
        ("It puts everything on GPU 0 of four.", "one device that holds all", "use-all-devices"),
        ("My replay buffer is one array.", "data that lie on the device whole", "data-on-the-host"),
        ("When I restore the checkpoint it happens.", "there twice", "restore-sharded"),
        ("With colabfold on a dimer of 1,900 residues.", "all pairs of residues", "shorter-sequences"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION=.2 is set.", "may take 20 %", "raise-own-limit"),
        ("I use --per_device_train_batch_size=128.", "128 samples on each device", "smaller-batch"),
        ("It is a 13B model.", "24.21 GiB in 16 bits", "shard-arguments"),
        ("init_fn fails on it before anything is sharded.", "made whole on the first", "restore-sharded"),
        ("xs = jnp.concatenate([xs, new[i]])", "joined to itself", "join-once"),
        ("I accumulate over micro batches with lax.scan.", "over micro-batches", "gradient-inside-loop"),
        ("The graph has 3M nodes and 120M edges.", "for every edge", "sampled-neighbours"),
        ("ppo.train(environment=env, num_envs=4096)", "of all environments", "fewer-environments"),
        ("The forward pass fits, its gradient does not.", "of the forward one", "recompute-body"),
        ("My transformer is trained at length 8192.", "over long sequences", "fused-attention"),
    ],
)
def test_what_the_words_say_is_named_with_its_line(said: str, what: str, slug: str) -> None:
    report = _explained(f"{said}\n{_OOM}")
    assert what in report.verdict
    assert "most likely" in report.verdict
    assert "line 2" in report.verdict
    assert report.actions[0].remedy.slug == slug


@pytest.mark.parametrize(
    ("said", "what", "slug"),
    [
        (
            "I append the loss of each step to a list, and GPU memory grows.",
            "container keeps",
            "keep-numbers",
        ),
        ("Each batch has a different length, and host RAM grows.", "for each new shape", "one-shape-of-jax"),
    ],
)
def test_what_is_kept_where_memory_grows(said: str, what: str, slug: str) -> None:
    report = _explained(said)
    assert what in report.verdict
    assert report.actions[0].remedy.slug == slug


@pytest.mark.parametrize(
    "said",
    [
        "The file is closed over night.",
        "The gradient has the right shape.",
        "x[:, None] is what I print.",
        "XLA_PYTHON_CLIENT_MEM_FRACTION=.95 is set.",
        "I use --per_device_train_batch_size=2.",
        "It is a model with 100M parameters.",
        "I append the loss of each step to a list.",
        "ys = jnp.concatenate([xs, new[i]])",
        "The forward pass is what fails.",
        "The data are sharded after they are read.",
    ],
)
def test_near_misses_tell_no_mechanism(said: str) -> None:
    assert "most likely" not in _explained(f"{said}\n{_OOM}").verdict


def test_the_array_that_is_closed_over_outranks_the_weights() -> None:
    report = _explained(f"It is a 13B model.\nThe jitted function closes over the state.\n{_OOM}")
    assert "closes over" in report.verdict


def test_what_was_tried_in_vain_is_not_told_again() -> None:
    report = _explained(f"I use per_device_batch_size 64.\nThe batch size is always 1.\n{_OOM}")
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Compiling an unrolled for loop leads to OOM, on the CPU.", True),
        ("Compiling leads to OOM, and the loop gets unrolled.", True),
        ("Compiling leads to OOM, and I unroll the network.", False),
        ("The gradient of an unrolled loop, a jax.grad, leads to OOM at compilation.", False),
    ],
)
def test_a_loop_that_the_text_says_is_unrolled_is_compiled_turn_by_turn(said: str, told: bool) -> None:
    report = _explained(said)
    assert ("unrolls a loop of Python into one program" in report.verdict) is told
    assert (report.actions[0].remedy.slug == "roll-loops") is told


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The compiler allocates all arrays before the loop, causing OOM.", True),
        ("It allocates more and more, causing trouble.", False),
        ("It runs for ten steps, causing OOM.", False),
    ],
)
def test_what_is_said_to_cause_it_is_the_cause(said: str, named: bool) -> None:
    assert ("names the cause" in _explained(f"{_OOM}\n{said}").verdict) is named


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("On my APU hardly any of the GTT is used.", True),
        ("VRAM is full, and GTT is still empty.", True),
        ("GTT is full, too.", False),
        ("amdgpu.gttsize=96000 is set.", False),
    ],
)
def test_ram_that_xla_leaves_unused_is_told_of(said: str, told: bool) -> None:
    report = _explained(f"{said}\n{_OOM}")
    assert ("firmware gives the GPU as its own" in report.verdict) is told
    assert ("more-of-its-own" in [each.remedy.slug for each in report.actions]) is told


@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ("I use a model on 8 GPUs.", "weights that are sharded over the devices"),
        ("The weights are sharded over 8 GPUs.", ""),
        (
            "Loaded and sharded model parameters.\nloss, opt_state = train_step(params, opt_state, batch)",
            "sharded like the",
        ),
    ],
)
def test_weights_that_are_sharded_are_not_sharded_again(said: str, clause: str) -> None:
    report = _explained(f"{said}\n{_OOM}")
    text = next(each.remedy.text for each in report.actions if each.remedy.slug == "smaller-batch")
    assert clause in text
    assert ("weights that are sharded" in text) is (clause.startswith("weights"))


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("I run GraphCast at 0.25 degrees.", "coarser-grid"),
        ("GraphCast crashes with more steps: OOM. Memory grows with each step.", "fewer-steps-at-once"),
        ("It crashes with more steps: OOM.", None),
        ("I take jax.grad of a rollout of GraphCast.", None),
    ],
)
def test_a_forecast_in_words_has_its_own_levers(said: str, first: str | None) -> None:
    report = _explained(f"{said}\n{_OOM}")
    slugs = [each.remedy.slug for each in report.actions]
    assert (slugs[0] == first) if first else not {"coarser-grid", "fewer-steps-at-once"} & set(slugs)
