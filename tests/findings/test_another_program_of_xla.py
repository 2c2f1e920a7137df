"""Programs of other shapes or purposes beside the step's, and words that explain a message of bytes alone."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
RESERVED = (
    "RESOURCE_EXHAUSTED: {}Attempting to reserve 5.17G at the bottom of memory. That was not possible. There"
    " are 4.60G free, 0B reserved, and 4.60G reservable.\n"
)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("only on the last batch", True),
        ("249 batches of 1024 are ok, the 250th has 424 examples", True),
        ("", False),
    ],
)
def test_a_last_batch_of_another_size(said: str, named: bool) -> None:
    text = f"pmap on a TPU v2-8 {said}\njaxlib.xla_extension.XlaRuntimeError: {RESERVED.format('')}"
    assert ("the last batch has another size (line 1)" in explained(text).verdict) is named
    assert ("mask what was added" in first(text)) is named


@pytest.mark.parametrize(("said", "named"), [("only when validation runs", True), ("at once", False)])
def test_a_validation_is_a_program_of_its_own(said: str, named: bool) -> None:
    loading = RESERVED.format("Error loading program 'SyncTensorsGraph.55': ")
    text = f"torch_xla on a v4-8. OOM {said}\nRuntimeError: Bad StatusOr access: {loading}"
    assert ("it is the program of a validation (line 1)" in explained(text).verdict) is named
    assert ("smaller-evaluation-batch" in offered(text)) is named


def test_words_explain_a_message_of_bytes_alone() -> None:
    said = "we sum the loss over 8 microbatches in a python for loop and take value_and_grad of that, in jax"
    text = f"{said}\n{ASKED} 73540567040 bytes.\n"
    assert "keeps of all of them (line 1)" in explained(text).verdict
    assert "take the gradient inside the loop's body" in first(text)
    assert "keeps of all of them" not in explained(text.replace("73540567040", "73540567")).verdict


def test_a_one_hot_matrix_that_sums_groups() -> None:
    code = "import jax\nonehot = jax.nn.one_hot(idx, n_graphs)\npooled = onehot.T @ h\n"
    assert "a one-hot matrix of rows x groups" in explained(f"{code}{ASKED} 800000000000 bytes.\n").verdict
    assert "segment_sum" in first(f"{code}{ASKED} 800000000000 bytes.\n")


def test_quoted_code_without_a_traceback() -> None:
    code = "import jax\nlabels = jax.nn.one_hot(ids, vocab)\n"
    assert "one_hot makes a row" in explained(f"{code}{ASKED} 80000000000 bytes.\n").verdict
    frame = '  File "/home/u/t.py", line 3, in f\n    y = g(x)\n'
    assert "one_hot makes a row" not in explained(f"{code}{frame}{ASKED} 80000000000 bytes.\n").verdict


@pytest.mark.parametrize(("adjoint", "named"), [("DirectAdjoint()", True), ("BacksolveAdjoint()", False)])
def test_an_adjoint_that_keeps_every_step(adjoint: str, named: bool) -> None:
    text = (
        f"sol = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0., 50., y0=y0, adjoint=diffrax.{adjoint})\n"
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=9.batch. Some of your processes may have"
        " been killed by the cgroup out-of-memory handler.\n"
    )
    assert "a solver of differential equations" in explained(text).verdict
    assert ("DirectAdjoint differentiates" in first(text)) is named


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("K = jnp.exp(-(x[:, None] - x[None, :])**2 / 0.01)", "rows x rows, made by broadcasting each"),
        ("D = jnp.linalg.norm(x[:, None] - y[None], axis=-1)", "rows x rows x features"),
    ],
)
def test_pairs_with_and_without_features(line: str, what: str) -> None:
    assert what in explained(f'{line}\nends with "zsh: killed     python gp.py" on my MacBook\n').verdict


def test_a_mac_has_no_dmesg() -> None:
    text = 'K = jnp.exp(-(x[:, None] - x[None, :])**2)\nends with "zsh: killed python gp.py" on my MacBook\n'
    assert not any("dmesg" in (each.remedy.code or "") for each in explained(text).actions)


def test_a_checkpoint_that_is_loaded_beside_shards() -> None:
    text = (
        "torch_xla 2.7 on a TPU v3-8, FSDP via SPMD. When I resume from my checkpoint it OOMs\nRuntimeError:"
        " Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
        " 312.50M. That was not possible. There are 201.44M free.; (0x0x0_HBM0)\n"
    )
    assert "it is when the run is resumed (line 1)" in explained(text).verdict
    assert "map_location='cpu'" in first(text) and "mark-step" not in offered(text)


def test_a_state_that_is_restored_beside_itself() -> None:
    code = "import jax\nrestored = ckptr.restore(path, item=state)\n"
    report = explained(f"{code}{ASKED} 524288000 bytes.\n")
    assert "the checkpoint is restored beside `state`" in report.verdict


def test_a_guide_with_a_full_covariance_is_no_mistaken_pair() -> None:
    text = f"numpyro SVI, AutoMultivariateNormal guide with 40k latents\n{ASKED} 12800000000 bytes.\n"
    assert "the guide's full covariance" in explained(text).verdict
    assert any("AutoNormal" in (each.remedy.code or "") for each in explained(text).actions)


def test_hosts_that_run_different_programs() -> None:
    text = (
        "my loss is fine and then at random:\njax.errors.JaxRuntimeError: INTERNAL: Accelerator device halted"
        " prematurely, perhaps due to an on-device check-failure. scheckne:  An unexpected peer shows up in"
        " the launch group with a different launch id than the current group leader.\nis it OOM on one of the"
        " chips?\n"
    )
    assert "the hosts of a job ran different programs" in explained(text).verdict
    assert "same-on-every-host" in offered(text)


@pytest.mark.parametrize(("policy", "named"), [("minimal", True), ("full", False)])
def test_a_policy_between_much_and_nothing(policy: str, named: bool) -> None:
    text = (
        f"maxtext on a v5p: remat_policy={policy} per_device_batch_size=4\nXlaRuntimeError:"
        " RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 102.33G of 95.74G hbm. Exceeded hbm"
        " capacity by 6.59G.\n"
    )
    assert ("sets a policy that keeps much (minimal)" in first(text)) is named


@pytest.mark.parametrize(("size", "named"), [("11.95MiB", False), ("3.20GiB", True)])
def test_a_validation_is_not_blamed_for_the_last_drop(size: str, named: bool) -> None:
    text = f"A jax program, OOM only when validation runs\n{ASKED} {size}.\n"
    assert ("it is the program of a validation" in explained(text).verdict) is named
    assert ("smaller-evaluation-batch" in offered(text)) is named
