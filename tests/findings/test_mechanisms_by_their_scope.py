"""A mechanism is said of what it is of: particles are no graph, a leak is no batch, PyTorch is no JAX."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

PARTICLES = "I use JAX MD. Simulating {many} runs out of GPU memory.\n"
PROSE = "# Out of memory\n\nIt runs out of memory with 40000 points.\n\n{code}x = 1\n"


def test_particles_are_no_graph_with_edges() -> None:
    page = explained(PARTICLES.format(many="50k nodes"))
    assert "every pair of particles (50,000 x 50,000 numbers of 32 bits are 9.31 GiB)" in page.verdict
    assert offered(PARTICLES.format(many="50k nodes"))[:2] == ["neighbour-list", "cell-list"]
    graph = "I use jax.\nOur graph of 3M nodes and 90M edges runs out of GPU memory.\n"
    assert "every edge" in explained(graph).verdict


@pytest.mark.parametrize(
    ("many", "said"),
    [("60,000 particles", "60,000 x 60,000"), ("0.1 million atoms", "100,000 x 100,000"), ("500 atoms", "")],
)
def test_particles_are_counted_as_the_text_writes_them(many: str, said: str) -> None:
    verdict = explained(PARTICLES.format(many=many)).verdict
    assert said in verdict
    assert (" x " in verdict) is bool(said)


def test_a_list_that_is_made_needs_cells_first() -> None:
    text = "# Out of memory during neighbor list generation\n\nI use jax and jax_md with 30000 atoms.\n"
    assert offered(text)[:2] == ["cell-list", "neighbour-list"]


def test_memory_that_leaks_is_not_made_smaller_by_fewer_environments() -> None:
    text = "# Memory leak of my jax agent\n\nI train PPO agents in jax. {end} I run out of RAM.\n"
    assert "fewer-environments" not in offered(text.format(end="The leak is in the learner."))
    assert "grows until it runs out" in explained(text.format(end="")).verdict


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("import torch\n", True),
        ("from torch.nn import Linear\n", True),
        ("import torch\nimport jax\n", False),
        ("import torch\nimport tensorflow as tf\n", False),
        ("import numpy\n", False),
    ],
)
def test_a_program_of_pytorch_alone_is_said_to_be_one(code: str, other: bool) -> None:
    assert ("in a program of PyTorch's" in explained(PROSE.format(code=code)).verdict) is other


def test_cuda_without_a_gpu_for_jax_lacks_no_memory() -> None:
    text = "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: No visible GPU devices.\n"
    assert explained(text).verdict.startswith("No lack of memory: CUDA showed JAX no GPU")
    assert offered(text) == ["matching-driver"]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Over time, this leads to an OOM.", False),
        ("This makes us think that some sort of buffer stays, that causes an OOM error.", False),
        ("The gradients are kept in a list, which leads to OOM after an hour.", True),
    ],
)
def test_what_follows_is_no_cause(said: str, named: bool) -> None:
    verdict = explained(f"I train with jax.\nHost RAM grows with each step.\n{said}\n").verdict
    assert ("names the cause" in verdict) is named


def test_growth_at_saves_is_measured_round_them() -> None:
    text = (
        "# CPU memory leak when checkpoints are saved with jax\n\nRAM grows after each checkpoint is saved.\n"
    )
    assert offered(text)[0] == "save-in-parts"
    assert "before and after each save" in explained(text).actions[0].remedy.text


def test_buffers_without_their_sentence_are_shown_by_the_largest() -> None:
    text = (
        "jax: vmap takes too much memory\n\nBuffer 1:\n\tSize: 20.00GiB\n"
        '\tOperator: op_name="jit(spectrum)/jit(main)/fft" source_file="a.py" source_line=3\n'
        "\tShape: c64[40,100,671088]\n\t==========================\n"
    )
    assert "its largest listed buffer is complex64 [40,100,671088], 20.00 GiB" in explained(text).verdict
    assert "in-blocks" in offered(text)


def test_a_pretrained_model_is_loaded_in_16_bits_and_no_sharded_state_is_made() -> None:
    text = "# Out of memory\n\nI use a jax pipeline. Loading the large model runs out of GPU memory.\n"
    assert offered(text)[0] == "in-16-bits"
    restored = text.replace("Loading the large model", "Restoring the checkpoint of my train state")
    assert offered(restored)[0] == "restore-sharded"


def test_where_nothing_says_which_memory_grows_both_are_printed() -> None:
    text = "import jax\nMemory usage grows with each call.\n"
    code = explained(text).actions[0].remedy.code or ""
    assert "rss" in code
    assert "memory_stats" in code
    assert "memory_stats" not in (explained(f"{text}Host RAM grows.\n").actions[0].remedy.code or "")


@pytest.mark.parametrize("verb", ["could fill", "fills"])
def test_what_could_fill_memory_is_not_said_to_fill_it(verb: str) -> None:
    text = f"jax keeps two sets of weights, so the model {verb} up the GPU memory.\n"
    assert ("full or much used" in explained(text).verdict) is (verb == "fills")
