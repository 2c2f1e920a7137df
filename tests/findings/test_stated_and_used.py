"""What a text states is used: a release that works, a flag that is set, a model's name."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.knowledge.model_sizes import weights_of
from tfmemlens.renderers.terminal import report as terminal

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
HANDLE = (
    "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: jaxlib/gpu/solver_kernels.cc:45: operation"
    " gpusolverDnCreate(&handle) failed: cuSolver internal error"
)
TPU = (
    "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space"
    " hbm. Used 15.86G of 15.48G hbm. Exceeded hbm capacity by 382.92M."
)
BUFFERS = """Peak buffers:
\tBuffer 1:
\t\tSize: 512.00MiB
\t\tOperator: op_name="jit(step)/jit(main)/jvp(Net)/Block_5/{op}" source_file="net.py" source_line=24
\t\tXLA Label: fusion
\t\tShape: {shape}
\t\t==========================
"""


@pytest.mark.parametrize(
    ("told", "release"),
    [
        ("After upgrading from AlphaFold3 **v3.0.0** to **v3.0.3** it fails.", "use AlphaFold3 3.0.0"),
        ("I updated FooBar 1.2.0 -> 1.3.0 and now it crashes.", "use FooBar 1.2.0"),
        (
            "pip install git+https://github.com/lab/NetLib.git@d06931e79cc3ef # this works well",
            "use NetLib d06931",
        ),
    ],
)
def test_a_release_from_before_is_pinned_first(told: str, release: str) -> None:
    assert first(f"jax\n{told}\n{ASKED} 6442450944 bytes.").startswith(release)


@pytest.mark.parametrize(
    "told",
    [
        "After upgrading from FooBar 1.2.0 to 1.3.0 all is well.",
        "We moved from FooBar 1.3.0 to 1.2.0 and it fails.",
        "pip install git+https://github.com/lab/NetLib.git@d06931e79cc3ef",
    ],
)
def test_an_upgrade_that_went_well_pins_nothing(told: str) -> None:
    assert "release-that-works" not in offered(f"jax\n{told}\n{ASKED} 6442450944 bytes.")


def test_a_commit_is_installed_from_its_repository() -> None:
    source = "git+https://github.com/lab/NetLib.git@d06931e79cc3ef"
    assert f"pip install {source}" in first(f"jax\npip install {source} # this works\n{TPU}")


@pytest.mark.parametrize("told", ["After re-installing JAX it fails.", "# OOM after update"])
def test_an_update_without_a_number_sends_back_before_a_flag_does(told: str) -> None:
    assert first(f"{told}\nUsing `men_allocate` flag it starts.\n{HANDLE}\n").startswith(
        "go back to the releases"
    )
    assert "growth" not in offered(f"{told}\nUsing `men_allocate` flag it starts.\n{HANDLE}\n")


@pytest.mark.parametrize(
    "told", ["After updating the weights it fails.", "After upgrading jax it works fine."]
)
def test_weights_that_are_updated_are_no_release(told: str) -> None:
    assert "release-that-works" not in offered(f"{told}\n{HANDLE}\n")
    assert "growth" in offered(f"{told}\n{HANDLE}\n")


def test_tensorflow_in_the_process_is_hidden_before_others_are_looked_for() -> None:
    page = explained(f"import jax\nimport tensorflow as tf\n{HANDLE}\n")
    assert "line 2 shows TensorFlow in the same process" in page.verdict
    assert page.actions[0].remedy.slug == "tensorflow-off-the-gpu"
    assert "tensorflow-off-the-gpu" not in offered(f"import jax\n{HANDLE}\n")


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("openai/whisper-large-v2", 1_550_000_000),
        ("whisper-base.en and whisper-small", 244_000_000),
        ("google/flan-t5-xxl", 11_300_000_000),
        ("gpt2", 124_000_000),
        ("gpt2-xl", 1_558_000_000),
        ("my-bert-large", None),
        ("t5-huge", None),
        ("bertopic", None),
    ],
)
def test_models_whose_names_state_no_number(text: str, weights: int | None) -> None:
    assert weights_of(text) == weights


@pytest.mark.parametrize(("card", "whole"), [("RTX 2060", True), ("RTX 4090", False)])
def test_a_known_model_is_weighed_against_the_card(card: str, whole: bool) -> None:
    text = (
        f"On my {card} this fails\nimport jax\nfrom whisper_jax import FlaxWhisperPipline\n"
        'pipeline = FlaxWhisperPipline("openai/whisper-large-v2")\n'
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 5.0KiB (rounded to 5120)requested by op\n"
    )
    assert ("loaded whole: it has about 1.55 billion weights" in explained(text).verdict) is whole


def test_a_model_that_is_sharded_as_it_is_loaded_is_not_loaded_whole() -> None:
    text = (
        "model, params = AutoModel.from_pretrained(\n    'org/Llama-3-8B',\n{}    dtype=jnp.bfloat16,\n)\n"
        + TPU
    )
    assert "is loaded whole" in explained("import jax\n" + text.format("")).verdict
    sharded = text.format("    sharding_axis_dims=(1, 1, 1, -1),\n")
    assert "is loaded whole" not in explained("import jax\n" + sharded).verdict


@pytest.mark.parametrize(
    ("op", "shape", "what"),
    [
        ("Dropout_0/jit(_bernoulli)/threefry2x32", "u32[134217728]", "random numbers and masks of dropout"),
        ("sample/jit(_normal)/mul", "f32[134217728]", "random numbers, drawn at once"),
        ("labels/jit(_one_hot)/eq", "f32[65536,2048]", "one-hot rows of 2,048 classes"),
        ("triangle_multiplication/dot_general", "f32[1024,1024,128]", "arrays over all pairs of residues"),
    ],
)
def test_names_of_ops_tell_what_the_largest_buffers_are(op: str, shape: str, what: str) -> None:
    assert what in explained(f"jax\n{BUFFERS.format(op=op, shape=shape)}").verdict


@pytest.mark.parametrize("op", ["dense/dot_general", "drop_in/dot_general", "uniform_filter/add"])
def test_other_ops_draw_nothing(op: str) -> None:
    assert (
        "random numbers" not in explained(f"jax\n{BUFFERS.format(op=op, shape='f32[8,128,131072]')}").verdict
    )


@pytest.mark.parametrize(
    ("flag", "again"), [("--remat", False), ("--remat false", True), ("--remat-dir x", True)]
)
def test_recomputation_that_is_switched_on_is_not_advised(flag: str, again: bool) -> None:
    text = f"jax: we train with `./train.py {flag}`\n{ASKED} 6442450944 bytes. [executable_name='jit_f']\n"
    assert ("recompute" in offered(text)) is again


def test_a_list_of_the_largest_buffers_states_no_need() -> None:
    listed = BUFFERS.format(op="dense/dot_general", shape="f32[8,128,131072]")
    said = "It OOMs, requiring ~63Gb of GPU RAM.\nWith dropout it OOMs again, requiring ~118Gb of GPU RAM."
    page = explained(f"jax\n{said}\n{listed}")
    assert "it needs about 118 GB, as line 3 says" in page.verdict
    assert "listed 512.00 MiB (the largest buffers alone)" in terminal.render(page)
    assert "needs about" not in explained(f"jax\n{listed}").verdict


@pytest.mark.parametrize("call", ["jax.xla_computation(f, static_argnums=0)(n)", "f(n)", "pjit(f)(n)"])
def test_an_array_is_found_by_a_power_that_the_text_states(call: str) -> None:
    text = (
        "import jax\nimport jax.numpy as jnp\n\ndef f(n):\n  x = jnp.ones((n, n), dtype=jnp.bfloat16)\n"
        f"  return jnp.dot(x, x)\n\nn = 10**6\ny = {call}\n\n"
        "Aborting compilation early because it's unlikely to have enough memory. Requires 3.64T, has 14.49G"
        " available.\n"
    )
    assert "makes [1000000,1000000] bfloat16 (n x n), 1.82 TiB" in explained(text).verdict
