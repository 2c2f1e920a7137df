"""What a text shows of its program by the program's own words: models, calls, what an op is given."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

ALLOCATOR = (
    "2024-02-03 10:20:30.123456: W external/tsl/tsl/framework/bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate {} (rounded to {})requested by op \n"
)
REMAT = (
    "2024-02-03 10:20:00.123456: W external/xla/xla/service/hlo_rematerialization.cc:2194] Can't reduce"
    " memory use below 30.00GiB (32212254720 bytes) by rematerialization; only reduced to {}\n"
)
LARGE = ALLOCATOR.format("50.00GiB", 53687091200)


@pytest.mark.parametrize(
    ("card", "room"), [("an RTX 4090 with 24 GB", True), ("an RTX 4060 with 8 GB", False), ("a card", False)]
)
def test_a_warning_alone_is_no_failure(card: str, room: bool) -> None:
    reduced = "12.00GiB (12884901888 bytes), down from 13.00GiB (13958643712 bytes) originally"
    text = f"My JAX program runs out of memory on {card}.\n{REMAT.format(reduced)}"
    page = explained(text)
    assert page.verdict.startswith("The text quotes XLA's warning")
    assert ("may have room for it" in page.verdict) is room
    texts = [action.remedy.text for action in page.actions]
    assert any(each.startswith("add the error that ended it") for each in texts)


def test_a_failure_below_the_warning_is_one() -> None:
    page = explained(f"JAX\n{REMAT.format('60.00GiB (64424509440 bytes)')}{LARGE}")
    assert "XLA's warning" not in page.verdict


@pytest.mark.parametrize(
    ("name", "folds"),
    [("model_2_multimer_v3_pred_1", True), ("model_4_ptm_pred_0", True), ("model_2_b", False)],
)
def test_alphafolds_models_have_names_of_their_own(name: str, folds: bool) -> None:
    assert ("predicts a protein's structure" in explained(f"Running {name}, JAX\n{LARGE}").verdict) is folds


@pytest.mark.parametrize(
    ("reduced", "unified"), [("1.00TiB (1099511627776 bytes)", False), ("60.00GiB (64424509440 bytes)", True)]
)
def test_no_host_extends_a_gpu_many_times(reduced: str, unified: bool) -> None:
    text = f"Running model_1_pred_0\n{REMAT.format(reduced)}{LARGE}"
    assert ("unified-memory" in offered(text)) is unified
    assert f"the whole program needs {reduced.partition(' ')[0][:4]}" in explained(text).verdict


def test_a_call_of_netkets_names_its_program() -> None:
    text = f"`expect_and_grad` of my state fails.\n{ALLOCATOR.format('900.00GiB', 966367641600)}"
    assert "variational Monte Carlo" in explained(text).verdict
    assert offered(text)[0] == "chunks-of-samples"


SHARED = "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 81920, available: 65536\n"


@pytest.mark.parametrize(
    ("name", "switch"), [("AlphaFold 3.0.1", True), ("alphafold3", True), ("AlphaFold 2", False)]
)
def test_alphafold_3_has_a_switch_for_its_kernel(name: str, switch: bool) -> None:
    text = f"{name} with JAX 0.8\n{SHARED}"
    assert ("--flash_attention_implementation=xla" in first(text)) is switch
    codes = " ".join(action.remedy.code or "" for action in explained(text).actions)
    assert ("triton_gemm" in codes) is not switch


PADDED = """JAX on a TPU
Total hbm usage >= 9.00G:
    reserved        530.00M
    program           8.50G
    arguments            0B

Output size 0B; shares 0B with arguments.

Program hbm requirement 8.50G:
    HLO temp          8.50G (1.5% utilization: Unpadded (128.00M) Padded (8.50G), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: {size}
     Operator: op_type="conv_general_dilated" op_name="jit(conv)/conv_general_dilated[\\n  \
dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), \
out_spec=(0, 3, 1, 2))\\n  lhs_shape=(16, 1024, 1024, {channels})\\n  \
rhs_shape=(3, 3, {channels}, {filters})\\n]"
"""


@pytest.mark.parametrize(
    ("size", "channels", "filters", "told"),
    [
        ("8.00G", 2, 1, "8.00 GiB is just what its result takes so"),
        ("6.00G", 2, 1, "most likely channels are padded to 128"),
        ("8.00G", 256, 128, ""),
    ],
)
def test_a_convolution_with_few_channels_is_what_is_padded(
    size: str, channels: int, filters: int, told: str
) -> None:
    said = first(PADDED.format(size=size, channels=channels, filters=filters))
    assert ("[16,1024,1024,2]" in said) is bool(told)
    assert told in said


@pytest.mark.parametrize(("given", "heavy"), [("0B", True), ("500.00M", False)])
def test_arguments_of_0_bytes_say_nothing_of_the_weights(given: str, heavy: bool) -> None:
    text = f"I train a LLaMA model with 7B params on a v2-8.\n{PADDED.partition('Program hbm')[0]}"
    text = text.replace("arguments            0B", f"arguments        {given}")
    assert ("most likely weights fill it" in explained(text).verdict) is heavy


@pytest.mark.parametrize("stated", [True, False])
def test_weights_are_cast_where_they_have_room(stated: bool) -> None:
    dtype = ", dtype=jnp.bfloat16" if stated else ""
    text = (
        f'RTX 2060 6GB\npipe = FlaxWhisperPipline("openai/whisper-large-v2"{dtype})\n'
        + ALLOCATOR.format("5.0KiB", 5120)
        + "XlaRuntimeError                Traceback (most recent call last)\nCell In[3], line 9\n"
        f'----> 9 pipe = FlaxWhisperPipline("openai/whisper-large-v2"{dtype})\n'
    )
    assert "jax.default_device(jax.devices('cpu')[0])" in first(text)
    assert ("is that of the computation" in first(text)) is stated
    assert ("narrow-weights" in offered(text)) is not stated


ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9663676416 bytes.\n"


@pytest.mark.parametrize(
    ("said", "works"),
    [
        ("I do NOT have this issue when using version 0.13.2 or below", True),
        ("It does not see that error with numpyro 0.13.2", True),
        ("I have this issue when using version 0.13.2", False),
    ],
)
def test_a_release_without_the_issue_works(said: str, works: bool) -> None:
    text = f"Memory issue after updating to numpyro version 0.13.5\n{said}.\n{ASKED}"
    assert (offered(text)[0] == "release-that-works") is works


FULL = "RESOURCE_EXHAUSTED: Attempting to allocate 200.00M. That was not possible. There are 100.00M free.\n"


@pytest.mark.parametrize(
    ("trained", "told"),
    [
        (
            "I train on a v2-8. The same works on a v3-8.",
            "a TPU v2 has 8 GiB, and one core of a TPU v3 has 16",
        ),
        ("I train on a v2-8. The same works on a v2-32.", ""),
    ],
)
def test_two_tpus_that_differ_are_told_apart(trained: str, told: str) -> None:
    verdict = explained(f"{trained}\n{FULL}").verdict
    assert told in verdict and ("TPU v3" in verdict) is bool(told)


HBM = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 90.00G of 30.00G hbm. Exceeded hbm"


@pytest.mark.parametrize(("run", "grid"), [("--grid-x 512 --grid-y 512", True), ("--rows 512", False)])
def test_a_program_on_a_grid_has_no_sequences(run: str, grid: bool) -> None:
    text = f"julia ocean.jl {run}\nERROR: LoadError: {HBM} capacity by 60.00G.\n"
    said = " ".join(action.remedy.text for action in explained(text).actions)
    assert ("take a coarser grid" in said) is grid
    assert ("fewer samples" in said) is not grid


@pytest.mark.parametrize("device", ["CPU", "GPU"])
def test_the_cpu_has_no_pool_to_set(device: str) -> None:
    said = "I run it CPU-only." if device == "CPU" else "I use one GPU."
    text = (
        f"{said} XLA_PYTHON_CLIENT_ALLOCATOR=platform changes nothing in JAX:\nResource exhausted: Failed to"
        " allocate request for 800.00MiB (838860800B) on device ordinal 0\n"
    )
    assert ("on the CPU there is no such pool" in explained(text).verdict) is (device == "CPU")


@pytest.mark.parametrize(("trains", "blocks"), [("", False), ("We train a model with its gradient.\n", True)])
def test_blocks_are_computed_again_where_something_is_trained(trains: str, blocks: bool) -> None:
    text = f"OOM at compilation with JAX on a TPU v4\n{trains}"
    assert ("recompute-some" in offered(text)) is blocks


LOADED = (
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_step': Attempting to reserve 20.00G at"
    " the bottom of memory. That was not possible. There are {} free, 0B reserved, and {} reservable.\n"
)


@pytest.mark.parametrize(("free", "told"), [("100.00M", False), ("8.00G", True)])
def test_what_is_left_beside_others_is_not_all_that_a_program_may_have(free: str, told: bool) -> None:
    page = explained("JAX on a TPU\n" + LOADED.format(free, free))
    said = " ".join(action.remedy.text for action in page.actions)
    assert ("room for" in said) is told
    assert "a size is a mistake" not in said


CPU = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.\n"


@pytest.mark.parametrize(
    ("side", "more", "square"), [(70_001, 0, True), (70_001, 64, False), (20_001, 0, False)]
)
def test_a_square_of_rows_on_the_cpu(side: int, more: int, square: bool) -> None:
    text = "It fits a function with a Matern kernel.\n" + CPU.format(8 * side * side + more)
    assert (f"{side:,} x {side:,} in float64" in explained(text).verdict) is square
    assert ("subsampling" in offered(text)) is square


SPARSE = (
    "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: {}, SparseCore Hbm usage {}, exceeding available bytes:"
    " 90.00G\n"
)


@pytest.mark.parametrize(
    ("tensor", "sparse", "told"), [("20.00G", "80.00G", True), ("80.00G", "20.00G", False)]
)
def test_embeddings_fill_the_core_that_looks_them_up(tensor: str, sparse: str, told: bool) -> None:
    text = SPARSE.format(tensor, sparse)
    assert ("SparseCore's, which looks up embeddings" in explained(text).verdict) is told
    assert (offered(text)[0] == "shard-arguments") is told


SOFT = (
    "2024-02-03 10:20:30.123456: W external/tsl/tsl/framework/bfc_allocator.cc:291] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate {} with freed_by_count=0. The caller indicates that this is not a"
    " failure, but this may mean that there could be performance gains if more memory were available.\n"
)


@pytest.mark.parametrize(("size", "beyond"), [("400.00GiB", True), ("4.00GiB", False)])
def test_a_warning_of_more_than_any_device_has(size: str, beyond: bool) -> None:
    text = f"The GPU memory grows with my cost function and it runs out of memory.\n{SOFT.format(size)}"
    assert ("more than any device has" in explained(text).verdict) is beyond
    assert ("in-blocks" in offered(text)[:1]) is beyond


UNIFIED = (
    "2023-02-03 10:20:30.123456: E cuda_driver.cc:767] failed to alloc {} bytes unified memory; result: {}\n"
)


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY: out of memory", True),
        ("CUDA_ERROR_INVALID_VALUE: invalid argument", False),
    ],
)
def test_unified_memory_may_be_refused_for_no_lack_of_it(error: str, lack: bool) -> None:
    text = "JAX with TF_FORCE_UNIFIED_MEMORY=1\n" + UNIFIED.format(40000000000, error)
    assert ("which is no lack of memory" in explained(text).verdict) is not lack
    assert lack or offered(text) == ["room-for-unified-memory"]


def test_keypoint_moseq_has_settings_of_its_own() -> None:
    text = "Fitting the full model with Keypoint Moseq fails.\n" + ASKED
    assert offered(text)[:2] == ["fewer-steps-at-once", "in-blocks"]
    assert explained(text).case.capture.source.framework == "jax"


@pytest.mark.parametrize(
    ("name", "alone"), [("jit(_normal)/jit(main)/erf_inv", True), ("jit(step)/erf", False)]
)
def test_random_numbers_that_are_drawn_by_themselves(name: str, alone: bool) -> None:
    text = PADDED.partition("  1. Size")[0] + (
        f'  1. Size: 8.00G\n     Operator: op_name="{name}" source_file="/a/site-packages/flax/core/scope.py"'
        " source_line=9\n     Shape: f32[16777216,2]{1,0:T(8,128)}\n     Unpadded size: 128.00M\n"
        "     Extra memory due to padding: 7.88G (64.0x expansion)\n     Allocation type: HLO temp\n"
        "     ==========================\n"
    )
    assert ("it is `jax.random` by itself" in first(text)) is alone


def test_what_runs_late_is_looked_for_where_it_ran_well_for_long() -> None:
    text = f"JAX fails after several hours of training.\n{ASKED}"
    assert offered(text)[0] == "what-runs-then"


LISTED = """AlphaFold on a TPU: XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. \
Used 9.40G of 7.48G hbm. Exceeded hbm capacity by 1.92G.
Total hbm usage >= 9.90G:
    reserved        530.00M
    program           9.40G
  Largest program allocations in hbm:
  1. Size: 100.00M
     Shape: f32[{}]{{2,1,0:T(8,128)}}
     Unpadded size: 99.00M
"""


@pytest.mark.parametrize(
    ("shape", "alignment"),
    [("256,400,256", True), ("400,400,256", False), ("256,400,100", False), ("400,256", False)],
)
def test_the_listed_array_decides_between_alignment_and_pairs(shape: str, alignment: bool) -> None:
    report = explained(LISTED.format(shape))
    assert ("256 sequences of the alignment" in report.verdict) is alignment
    assert ("pairs of residues" in report.verdict) is not alignment
    first = report.actions[0].remedy
    assert first.slug == ("smaller-alignment" if alignment else "shorter-sequences")
    assert any("quarter of the memory" in each.remedy.text for each in report.actions) is not alignment
