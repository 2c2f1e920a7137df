"""Known programs of JAX are told to change their own settings, and no batch that they do not have."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes.\n"
MANY, FEW = 9_031_036_208, 1_048_576
RULE = "program-of-its-own-settings"


def explained(text: str, need: int = MANY) -> Report:
    return pipeline.explain(f"jax 0.4.30, a GPU of 24 GB\n{text}\n{ASKED.format(need)}")


def rules(report: Report) -> list[str]:
    return [each.rule for each in report.findings]


@pytest.mark.parametrize(
    ("text", "said", "first"),
    [
        ("GenCast, 1 degree, 8 members", "a weather model on the whole globe (line 2)", "coarser-grid"),
        ("vs = nk.vqs.MCState(sa, ma, n_samples=8192)", "a variational Monte Carlo", "chunks-of-samples"),
        ("nbrs = neighbor_fn.allocate(pos)", "a neighbour list of JAX MD's", "cell-list"),
        ("sol = diffrax.diffeqsolve(t, s, 0, 1, 0.1, y0)", "a solver of differential", "fewer-steps-at-once"),
        ("our lattice Boltzmann code on 600 cells", "a solver on a grid", "coarser-grid"),
        ("JaxMARL, NUM_SEEDS = 12, NUM_ENVS = 512", "reinforcement learning", "fewer-seeds"),
        ("purejaxrl with NUM_ENVS = 512", "reinforcement learning", "fewer-environments"),
        ("strategy = OpenES(popsize=4096)", "an ensemble (particles, a population)", "fewer-members"),
        ("vLLM starts with --gpu-memory-utilization 0.95", "a server of a", "smaller-cache-part"),
    ],
)
def test_its_settings_come_first_and_no_batch(text: str, said: str, first: str) -> None:
    report = explained(text)
    assert said in report.verdict
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[0] == first
    assert not {"gradient-accumulation", "smaller-batch", "in-pieces"} & set(slugs)


def test_fewer_members_go_before_a_smaller_batch() -> None:
    slugs = [each.remedy.slug for each in explained("model.fit(df, ensemble_size=16)").actions]
    assert slugs[:2] == ["fewer-members", "smaller-batch"]


@pytest.mark.parametrize(
    "text",
    [
        "a ViT with optax",
        "an ensemble of jax models",
        "jax_md is installed, too",
        "purejaxrl",
        "the weather is fine",
        "a fluid design",
    ],
)
def test_what_names_no_such_program_is_none(text: str) -> None:
    assert RULE not in rules(explained(text))


def test_a_small_request_is_not_laid_to_it() -> None:
    assert RULE not in rules(explained("GenCast, 1 degree", FEW))


def test_the_numbers_of_the_text_are_halved() -> None:
    texts = [each.remedy.text for each in explained("JaxMARL, NUM_SEEDS = 12, NUM_ENVS = 512").actions]
    assert any("`NUM_SEEDS` 12 -> 6 (line 2)" in text for text in texts)
    assert any("`NUM_ENVS` 512 -> 256 (line 2)" in text for text in texts)


def test_a_refused_host_is_not_asked_for_more() -> None:
    text = (
        "AlphaFold, 2400 residues, TF_FORCE_UNIFIED_MEMORY=1, XLA_PYTHON_CLIENT_MEM_FRACTION=4.0\n"
        "cuda_driver.cc:764] failed to alloc 17179869184 bytes unified memory; result:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    )
    slugs = [each.remedy.slug for each in explained(text).actions]
    assert "more-unified-memory" not in slugs and "smaller-alignment" in slugs


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("NeuralGCM 0.7 deg, outer_steps=240", True),
        ("nk.VMC driver, n_samples=32768", True),
        ("vLLM with Llama", False),
        ("our lattice Boltzmann code", False),
    ],
)
def test_without_a_word_of_jax_its_own_programs_are_known(text: str, told: bool) -> None:
    assert (RULE in rules(pipeline.explain(f"{text}\n{ASKED.format(MANY)}"))) is told


def test_a_server_that_ends_while_it_loads_has_no_cache_yet() -> None:
    frames = (
        'File "/srv/loader.py", line 398, in load_model\n    model = make(config)\n'
        'File "/srv/int8.py", line 66, in create_weights\n    weight = torch.empty(sizes)\n'
    )
    report = explained(f"vLLM, tensor_parallel_size=8, max_model_len=1024\n{frames}")
    assert "before any cache of keys and values" in report.verdict
    first, second = (each.remedy for each in report.actions[:2])
    assert first.code == "--tensor-parallel-size 16" and "quantised already" in second.text
    assert not {"smaller-cache-part", "shorter-sequences"} & {each.remedy.slug for each in report.actions}


@pytest.mark.parametrize(
    ("told", "devices"),
    [("--tensor-parallel-size 4", "8"), ("--tensor-parallel-size 8", "16"), ("--max-num-seqs 64", "8")],
)
def test_a_server_is_spread_over_more_devices_than_now(told: str, devices: str) -> None:
    report = explained(f"vLLM starts with --gpu-memory-utilization 0.95 {told}")
    assert "before any cache" not in report.verdict
    codes = [each.remedy.code for each in report.actions if each.remedy.slug == "shard-arguments"]
    assert codes == [f"--tensor-parallel-size {devices}"]
