"""What posts of JAX, TPU and PyTorch/XLA users tell besides the message decides what is advised."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
TPU = (
    "RuntimeError: Resource exhausted: Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm."
    " Exceeded hbm capacity by 1.72G."
)
VMEM = "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 40.00M of 16.00M vmem."


def read(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in read(text).actions]


def code_of(text: str, slug: str) -> str:
    found = [action.remedy for action in read(text).actions if action.remedy.slug == slug]
    return "\n".join(remedy.code or "" for remedy in found)


@pytest.mark.parametrize(
    "tried",
    [
        "With batch size 32 it crashes with an OOM, with batch size 8 it crashes as well.",
        "Whatever batch size I take, it ends there.",
        "The batch sizes are different, but the message is the same.",
    ],
)
def test_a_failure_at_one_step_whatever_the_batch_has_another_cause(tried: str) -> None:
    told = f"A flax training that always dies at step 310. {tried}\n{ASKED} 6442450944 bytes."
    assert "fails at the same step" in read(told).verdict
    assert "smaller-batch" not in slugs(told)
    assert slugs(told)[0] == "what-runs-then"


@pytest.mark.parametrize(
    "told",
    [
        f"A flax training that always dies at step 310.\n{ASKED} 6442450944 bytes.",
        f"A flax training. Whatever batch size I take, it ends there.\n{ASKED} 6442450944 bytes.",
        "A flax training that always dies at step 310, with batch size 8 as well. A smaller batch size"
        " works.\n"
        f"{ASKED} 6442450944 bytes.",
    ],
)
def test_one_of_both_or_a_batch_that_helps_is_no_such_failure(told: str) -> None:
    assert "fails at the same step" not in read(told).verdict


def test_pytorch_on_a_tpu_is_told_by_both_words() -> None:
    told = f"I train a network with PyTorch.\n{TPU}"
    assert read(told).case.capture.source.framework == "torch_xla"
    both = f"I train a network with JAX, the loader is PyTorch's.\n{TPU}"
    assert read(both).case.capture.source.framework == "jax"
    on_gpu = f"I train a network with PyTorch.\nXlaRuntimeError: {ASKED} 6442450944 bytes."
    assert read(on_gpu).case.capture.source.framework != "torch_xla"


@pytest.mark.parametrize("name", ["jaxline", "BlackJAX", "Jax", "Orbax", "MJX", "Pallas"])
def test_a_library_on_top_of_jax_names_jax(name: str) -> None:
    told = f"I use {name} on one GPU.\n{ASKED.split(': ', 1)[1]} 9000000 bytes."
    assert read(told).case.capture.source.framework == "jax"


def test_vmem_of_code_that_xla_made_is_its_compilers() -> None:
    told = f"Inference with torch_xla on a v3-8.\n{VMEM}"
    assert code_of(told, "larger-vmem").startswith(
        "export LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=65536"
    )
    assert not any("pallas" in (action.remedy.code or "") for action in read(told).actions)
    assert "smaller-kernel-blocks" not in slugs(told)


def test_vmem_of_a_kernel_of_ones_own_is_its_blocks() -> None:
    told = f"out = pl.pallas_call(kernel, grid=(4,))(x)\n{VMEM}"
    assert slugs(told)[:2] == ["smaller-kernel-blocks", "larger-vmem"]
    assert "LIBTPU_INIT_ARGS" not in code_of(told, "larger-vmem")


def test_a_small_memory_is_known_without_its_figures() -> None:
    told = (
        "Training with torch_xla.\n(0) Resource exhausted: Ran out of memory in memory space smem. It should"
    )
    told += " not be possible to run out of smem - please file a bug against XLA."
    assert "the smem of a TPU core" in read(told).verdict and slugs(told)[0] == "newer-release"
    assert "larger-vmem" not in slugs(told)


def test_the_memory_of_a_tpu_itself_is_no_small_one() -> None:
    assert "vmem" not in read("Ran out of memory in memory space hbm. I use torch_xla.").verdict


SCRATCH = """  4. Size: {size}
     Operator: op_name="jit(step)/jit(paged_attention)/RPA-bq_512/pallas_call" stack_frame_id=4
     Shape: bf16[8,2048,128]{{2,1,0:T(16,128)(2,1)}}
     Unpadded size: {size}
     Allocation type: {kind}
     =========================="""
EIGHT = "OOM with an 8B model on v7x (vllm, jax)\n"


def test_a_list_of_scratch_alone_is_of_the_chip() -> None:
    told = EIGHT + SCRATCH.format(size="4.00M", kind="scoped")
    assert "the vmem of a TPU core" in read(told).verdict and "RPA-bq_512" in read(told).verdict
    assert slugs(told) == ["smaller-kernel-blocks", "larger-vmem", "newer-release"]
    assert "fewer pages" in read(told).actions[0].remedy.text


@pytest.mark.parametrize(("size", "kind"), [("4.00M", "HLO temp"), ("4.00G", "scoped")])
def test_temporaries_and_large_scratch_are_not(size: str, kind: str) -> None:
    assert "vmem" not in read(EIGHT + SCRATCH.format(size=size, kind=kind)).verdict


def test_weights_are_measured_by_the_tpu_that_the_text_names() -> None:
    told = "The 8B model does not load on {}, with JAX.\n" + (
        "Error allocating device buffer: Attempting to allocate 8.00M. That was not possible."
    )
    assert "one device of a TPU v5e has 16 GiB" in read(told.format("v5e")).verdict
    assert "weights fill it" not in read(told.format("v7x")).verdict


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 101376",
         "256.0 KiB of 99.0 KiB"),
        ("ptxas error   : Entry function 'f_1' uses too much shared data (0x18000 bytes, 0xc000 max)",
         "96.0 KiB of 48.0 KiB"),
    ],
)  # fmt: skip
def test_shared_memory_of_a_kernel_has_its_figures(said: str, figures: str) -> None:
    assert figures in read(f"a jax program\n{said}").verdict


def test_shared_memory_of_a_pallas_kernel_is_its_block_specs() -> None:
    said = "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 101376"
    assert "BlockSpec" in code_of(f"from jax.experimental import pallas as pl\n{said}", "smaller-gpu-blocks")
    assert "BlockSpec" not in code_of(f"a jax program\n{said}", "smaller-gpu-blocks")


SAMPLER = "import numpyro\nmcmc = MCMC(NUTS(model), num_warmup=500, num_samples=3000, num_chains=2)"


def test_a_multiple_of_chains_and_draws_are_the_draws() -> None:
    told = f"{SAMPLER}\n{ASKED} {2 * 3000 * 121_001 * 4} bytes."
    assert "2 chains x 3,000 draws x 121,001 numbers" in read(told).verdict
    assert slugs(told)[:2] == ["fewer-draws", "thin-draws"]


@pytest.mark.parametrize(
    "told",
    [
        f"{SAMPLER}\n{ASKED} {2 * 3000 * 121_001 * 4 + 4} bytes.",
        f"{SAMPLER.replace('3000', '4096')}\n{ASKED} {2 * 4096 * 121_000 * 4} bytes.",
        f"a flax training, num_samples=3000, num_chains=2\n{ASKED} {2 * 3000 * 121_001 * 4} bytes.",
    ],
)
def test_no_multiple_or_one_by_chance_or_no_sampler_are_no_draws(told: str) -> None:
    assert "draws" not in read(told).verdict


def test_a_square_of_the_rows_is_no_multiple_of_the_draws() -> None:
    rows = 150_300  # a multiple of 500 to the byte, in 32 and in 64 bits
    for item in (4, 8):
        told = (
            f"import numpyro\nmcmc = MCMC(NUTS(model), num_warmup=500, num_samples=500)\n{ASKED}"
            f" {rows**2 * item} bytes.\nI have 150300 rows.\n"
        )
        assert "150,300 x 150,300" in read(told).verdict and "draws" not in read(told).verdict
        assert slugs(told)[0] == "compare-shapes"


def test_a_round_square_that_no_text_states_may_be_the_draws() -> None:
    told = f"{SAMPLER.replace('3000', '2500')}\n{ASKED} {100_000**2 * 4} bytes."
    assert "2 chains x 2,500 draws x 2,000,000 numbers" in read(told).verdict


@pytest.mark.parametrize(("more", "pairs"), [(0, True), (8 << 20, True), (7 << 30, False), (-4, False)])
def test_rows_that_the_text_counts_are_paired_where_their_square_is_the_request(
    more: int, pairs: bool
) -> None:
    told = f"jax: I have 50021 observations with 94 features.\n{ASKED} {50021**2 * 4 + more} bytes."
    assert ("50,021 x 50,021 in float32 (line 2 states 50,021)" in read(told).verdict) is pairs
    assert (slugs(told)[0] == "compare-shapes" and "subsampling" in slugs(told)) is pairs
    meant = told.replace("observations", "points of an RBF kernel")
    assert (slugs(meant)[0] == "subsampling") is pairs


def test_a_square_beyond_every_device_is_every_row_with_every_row() -> None:
    told = f"a flax regression\n{ASKED} {370_000**2 * 4} bytes."
    assert "370,000 x 370,000 in float32" in read(told).verdict
    assert slugs(told)[0] == "compare-shapes"


@pytest.mark.parametrize("need", [370_000**2 * 4 + 4, (1 << 19) ** 2 * 4, 20_000**2 * 4])
def test_no_square_or_one_of_two_powers_or_a_small_one_is_not(need: int) -> None:
    assert "every row" not in read(f"a flax regression\n{ASKED} {need} bytes.").verdict


def test_who_is_killed_while_it_compiles_holds_no_data() -> None:
    told = "My jax simulation is killed when grad(loss) is evaluated for the first time.\nexit code 137"
    assert slugs(told)[:3] == ["read-the-kernel-log", "roll-loops", "count-operations"]
    assert "smaller-pipeline" not in slugs(told)


def test_who_is_killed_after_many_steps_does_not_compile() -> None:
    told = "My jax training with grad(loss), for the first time on a GPU.\nstep 1200 loss 0.3\nexit code 137"
    assert "roll-loops" not in slugs(told)


def test_the_release_that_works_comes_first() -> None:
    told = "RAM grows without end. orbax-checkpoint: 0.11.19 leaks, version 0.11.8 works."
    assert slugs(told)[0] == "release-that-works"
    assert code_of(told, "release-that-works") == "pip install 'orbax-checkpoint==0.11.8'"
    of_jax = f"jax 0.4.35 fails, jax 0.4.28 works fine.\n{ASKED} 6442450944 bytes."
    assert code_of(of_jax, "release-that-works") == "pip install 'jax==0.4.28' 'jaxlib==0.4.28'"
    short = "after upgrading from tf 2.10 to 2.15 my LSTM that used batch 512 only fits with 256, OOM"
    assert code_of(short, "release-that-works") == "pip install 'tensorflow==2.10'"


@pytest.mark.parametrize(
    "told",
    [
        "RAM grows without end with orbax-checkpoint: 0.11.19.",
        "RAM grows without end with orbax-checkpoint: 0.11.19. It works with numpy 1.21.",
        "RAM grows without end with orbax-checkpoint: 0.11.19, and 0.11.8 does not work.",
        "orbax-checkpoint: 0.11.19 is slow, version 0.11.8 works.",
    ],
)
def test_a_release_alone_or_of_another_library_says_nothing(told: str) -> None:
    assert "release-that-works" not in slugs(told)


def test_one_sample_leaves_no_batch_to_halve() -> None:
    rows = "\n".join(
        (
            f"{ASKED} 4294967296 bytes.",
            "Peak buffers:",
            "\tBuffer 1:",
            "\t\tSize: 1.00GiB",
            '\t\tOperator: op_name="jit(apply)/jit(main)/net/Conv_0/conv_general_dilated"',
            "\t\tShape: f32[ROWS,128,1024,2048]",
            "\t\t==========================",
        )
    )
    assert "smaller-batch" not in slugs(rows.replace("ROWS", "1"))
    assert "of one sample" in read(rows.replace("ROWS", "1")).verdict
    assert "smaller-batch" in slugs(rows.replace("ROWS", "2"))


def test_a_layout_map_is_advised_to_those_who_shard_by_one() -> None:
    told = "Gemma with KERAS_BACKEND=jax and ModelParallel runs out of memory on a TPU."
    assert slugs(told)[:2] == ["shard-arguments", "list-shardings"]
    assert "list-shardings" not in slugs(told.replace("and ModelParallel ", ""))


def test_a_batch_that_runs_is_no_batch_in_vain() -> None:
    told = "PyTorch on a TPU v3-8 runs out of memory. It trains successfully when I set batch size 1."
    assert slugs(told)[0] == "smaller-batch"
    in_vain = "PyTorch on a TPU v3-8 runs out of memory. It fails when I set batch size 1."
    assert "smaller-batch" not in slugs(in_vain)


def test_the_gradient_of_a_simulation_keeps_its_steps() -> None:
    full = f"loss, g = jax.value_and_grad(run)(p)\n{ASKED} 131072 bytes."
    assert slugs(f"I differentiate through a simulation.\n{full}")[:2] == ["recompute-body", "in-blocks"]
    assert "recompute-body" not in slugs(f"I differentiate through a network.\n{full}")


def test_a_solver_without_figures_saves_fewer_points() -> None:
    told = "I solve an ODE with diffrax: RESOURCE_EXHAUSTED: Out of memory while trying to allocate xx bytes."
    assert slugs(told)[0] == "fewer-saved"
    assert "fewer-saved" not in slugs(told.replace("diffrax", "jax"))


def test_weights_that_are_too_heavy_to_train_are_sharded_first() -> None:
    told = f"Model Contain  1.200048384  Billion Parameters\nflax: trainer.train(params)\n{TPU}"
    assert "about 1.2 billion weights" in read(told).verdict
    assert slugs(told)[0] == "shard-arguments"
    light = told.replace("1.200048384  Billion", "90.5  Million")
    assert "weights" not in read(light).verdict


def test_draws_that_a_scan_stacks_are_no_images() -> None:
    listed = "\n".join(
        (
            f"{ASKED} 7372800000 bytes.",
            "BufferAssignment OOM Debugging.",
            "BufferAssignment stats:",
            "             parameter allocation:   80.0KiB",
            "              constant allocation:        33B",
            "        maybe_live_out allocation:    6.87GiB",
            "     preallocated temp allocation:    8.00MiB",
            "                 total allocation:    6.87GiB",
            "Peak buffers:",
            "\tBuffer 1:",
            "\t\tSize: 6.87GiB",
            '\t\tOperator: op_name="jit(scan)/jit(main)/while/body/dynamic_update_slice"',
            "\t\tShape: f32[250,18,640,640]",
            "\t\t==========================",
        )
    )
    assert "fewer-draws" in slugs(f"import numpyro\n{listed}")
    assert "narrow-copy" not in slugs(f"import numpyro\n{listed}")
    assert "narrow-copy" in slugs(f"import flax\n{listed}")


def test_growth_without_a_verb_is_growth() -> None:
    assert "memory grows" in read("unbounded memory growth with a jitted jax function").verdict
    assert "memory grows" not in read("I enabled memory growth in jax, and it runs out of memory").verdict


@pytest.mark.parametrize(
    ("fraction", "more"),
    [("XLA_PYTHON_CLIENT_MEM_FRACTION=0.5", True), ("XLA_PYTHON_CLIENT_MEM_FRACTION=4.0", False)],
)
def test_unified_memory_needs_a_pool_larger_than_the_gpu(fraction: str, more: bool) -> None:
    told = "A jax program.\nTF_FORCE_UNIFIED_MEMORY=1\nXLA_PYTHON_CLIENT_ALLOCATOR=platform\n"
    told += f"{fraction}\n{ASKED} 6442450944 bytes."
    assert "pool-for-unified-memory" in slugs(told)
    assert ("more-unified-memory" in slugs(told)) is more


PADDED = """Total hbm usage >= 11.47G:
    program          10.96G
    arguments            0B
Program hbm requirement 10.96G:
    HLO temp         10.96G (1.2% utilization: Unpadded (140.25M) Padded (10.96G), 0.0% fragmentation (0B))
  1. Size: 8.77G
     Operator: op_type="conv_general_dilated" op_name="jit(conv_general_dilated)/conv_general_dilated[\\n  \
lhs_spec=(0, 4, 1, 2, 3), rhs_spec=(4, 3, 0, 1, 2))\\n  lhs_shape=({batch}, 8, 2176, 1056, 2)\\n ]
"""


@pytest.mark.parametrize(("batch", "halves"), [(1, False), (2, True)])
def test_a_convolution_of_one_sample_has_no_batch_to_halve(batch: int, halves: bool) -> None:
    assert ("smaller-batch" in slugs("a jax program\n" + PADDED.format(batch=batch))) is halves


PHYSICS = """My jax simulation runs out of memory.
```python
import jax
from {module} import {name}
keys = jax.random.split(jax.random.PRNGKey(0), 20)
step = jax.jit(jax.vmap({name}.step, in_axes=(None, 0)))
for i in range(100):
    data = step(model, data)
```
"""


@pytest.mark.parametrize(("module", "name", "contacts"), [("mujoco", "mjx", True), ("mylib", "world", False)])
def test_physics_under_vmap_makes_room_for_its_contacts(module: str, name: str, contacts: bool) -> None:
    told = PHYSICS.format(module=module, name=name)
    assert ("fewer-contacts" in slugs(told)) is contacts
    assert "batch_size=5)" in code_of(told, "in-blocks")


@pytest.mark.parametrize(("library", "bounded"), [("orbax.checkpoint", True), ("mylib", False)])
def test_a_save_of_orbax_is_bounded(library: str, bounded: bool) -> None:
    told = "Saving a checkpoint with jax needs 3 times its RAM, and I run out of memory when saving it.\n"
    told += (
        f"import {library} as ocp\nckptr = ocp.Checkpointer(handler)\n" if bounded else "x = jax.jit(f)(y)\n"
    )
    told += "ckptr.save(path, state)\n" if bounded else ""
    assert ("bound-checkpoint" in slugs(told)) is bounded


@pytest.mark.parametrize(("said", "first"), [("CPU is okay.", "newer-release"), ("", "compare-with-cpu")])
def test_a_leak_that_the_cpu_has_not_is_the_plug_in_s(said: str, first: str) -> None:
    told = f"Memory leak when calling a jax.jit function on my MacBook with jax-metal. {said}"
    assert slugs(told)[0] == first


def test_a_sampler_that_is_made_in_a_loop_is_compiled_anew() -> None:
    told = "Memory leak when running MCMC many times in a loop with numpyro.\nmcmc.run(key, x)"
    assert slugs(told)[0] == "start-anew"
    short = "numpyro runs out of memory with many draws.\nmcmc.run(key, x)"
    assert slugs(short)[0] == "fewer-draws"


@pytest.mark.parametrize(("name", "own"), [("reduce-window.1", False), ("gated_matmul_kernel.18", True)])
def test_an_instruction_of_xla_is_no_kernel_of_ones_own(name: str, own: bool) -> None:
    told = (
        "I train with torch_xla.\nRESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating"
    )
    told += f" on stack for %{name} = f32[8,128] x(. Scoped allocation with size 31.07M and limit 16.00M"
    told += " exceeded scoped vmem limit by 15.07M."
    assert ("smaller-kernel-blocks" in slugs(told)) is own
    assert ("LIBTPU_INIT_ARGS" in code_of(told, "larger-vmem")) is not own


_ALARM = (
    "2025-01-04 11:50:21.316188: E external/xla/xla/service/slow_operation_alarm.cc:73] Constant folding an"
    " instruction is taking > 1s:\nstep 1: 410 ms\nstep 2: 398 ms\n"
)


@pytest.mark.parametrize(
    ("said", "fails"),
    [
        ("is it a memory leak / out of memory what it says with E?", False),
        ("So, is this a memory leak?", False),
        ("Is this a memory leak? The RAM grows at each step.", True),
    ],
)
def test_a_question_beside_an_alarm_is_no_failure(said: str, fails: bool) -> None:
    report = pipeline.explain(_ALARM + said)
    assert ("grows" in report.verdict) is fails
    assert report.verdict.startswith("No failure") is not fails


def test_what_does_not_grow_is_not_quoted_as_what_fails() -> None:
    report = pipeline.explain(
        "I jit a new function for each program. Python objects are not growing (tracemalloc, 150 MB all the"
        " time). After 2500 programs it starts to swap and the process gets killed.\n"
    )
    assert "host RAM ran out" in report.verdict and "not growing" not in report.verdict


@pytest.mark.parametrize(
    ("told", "matrix"),
    [
        ("I learn the 30000 x 30000 coupling as a dense matrix, batch of 4 through vmap", True),
        ("I learn the 30000x30000 weights, batch of 4 through vmap", True),
        ("I learn a 2000 x 2000 dense matrix, batch of 4 through vmap", False),
        ("I learn on pictures of 30000 x 30000 pixels, batch of 4 through vmap", False),
        ("a 16500 x 16500 dense matrix is an input, batch of 4 through vmap", False),
    ],
)
def test_a_matrix_that_the_text_states_is_before_a_vmap(told: str, matrix: bool) -> None:
    text = f"jax on a GPU of 24 GB: {told}.\nRESOURCE_EXHAUSTED: Out of memory"
    verdict = read(text).verdict
    assert ("whatever the batch and the steps" in verdict) is matrix
    assert ("with its gradient and Adam's two moments 13.41 GiB" in verdict) is matrix
    assert (slugs(text)[0] == "low-rank-matrix") is matrix
