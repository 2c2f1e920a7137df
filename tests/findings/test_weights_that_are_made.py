"""A JAX line that makes, loads or converts weights is told as that, however small what failed last was."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

LAST = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 53548646 bytes.\n"


def failed_at(code: str, file: str = "train.py") -> Report:
    return pipeline.explain(
        "I use JAX.\nTraceback (most recent call last):\n"
        f'  File "/home/u/{file}", line 44, in main\n    {code}\n{LAST}'
    )


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    "code",
    [
        "state, shardings = init_train_state(config, rng, mesh, resume=resume)",
        "state = create_train_state(rng, config)",
        "params = init_model_params(key)",
    ],
)
def test_a_line_that_makes_weights(code: str) -> None:
    report = failed_at(code)
    assert "makes weights" in report.verdict
    assert slugs(report)[:2] == ["shard-arguments", "low-rank-tuning"]
    assert "record-a-step" not in slugs(report)[:3]


@pytest.mark.parametrize(
    "code",
    [
        "env_state = init_env_state(key)",
        "carry = init_rnn_carry_state(x)",
        "x = make_batch(key)",
        "y = net(x)",
    ],
)
def test_other_states_are_no_weights(code: str) -> None:
    assert "makes weights" not in failed_at(code).verdict


@pytest.mark.parametrize(
    ("code", "converts"),
    [
        ("save_sharded_to_hf_format(params, out)", True),
        ("convert_checkpoint_to_torch(path)", True),
        ("convert_image(x)", False),
    ],
)
def test_a_line_that_converts_weights(code: str, converts: bool) -> None:
    report = failed_at(code, "tools.py")
    assert ("being converted" in report.verdict) is converts
    assert ("on-the-cpu" in slugs(report)) is converts


@pytest.mark.parametrize(("name", "of_weights"), [("snapshots", True), ("losses", False)])
def test_a_list_of_weights_is_kept_on_the_host(name: str, of_weights: bool) -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/ppo.py", line 20, in <module>\n'
        "    out = f(x)\n"
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2097152 bytes.\n"
        f" 21     {name}.append(new)\n"
    )
    texts = " ".join(action.remedy.text for action in report.actions)
    assert ("keep numbers" in texts) is not of_weights
