"""What the writer's own code and words show beside a message of XLA's goes before what helps any step: a list
that keeps arrays, new shapes in a loop, workers of a loader, a server's settings, a question that is asked.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
KEEPS = """import jax
hist = {}
X = jnp.ones((1000, 250))
def fit(seed):
    return net.apply(train(seed), X)
for it in range(200):
    hist[it] = fit(it)
"""
PARTS = """BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:   23.85MiB
              constant allocation:         0B
        maybe_live_out allocation:   23.85MiB
     preallocated temp allocation:  953.67MiB
                 total allocation:    1.00GiB
"""


def test_a_dictionary_of_results_goes_before_a_smaller_step() -> None:
    text = f"it crashes at iteration 68\n{KEEPS}\n{ASKED} 1000000256 bytes.\n{PARTS}"
    assert "`hist` (line 8) keeps every result" in explained(text).verdict
    assert not {"smaller-batch", "recompute", "donate-buffers"} & set(offered(text))
    assert any(
        "hist[it] = np.asarray(fit(it))" in (each.remedy.code or "") for each in explained(text).actions
    )


def test_a_step_that_fails_at_once_is_no_list() -> None:
    text = f"{KEEPS}\n{ASKED} 1000000256 bytes.\n{PARTS}"
    assert "`hist`" not in explained(text).verdict and "smaller-batch" in offered(text)


@pytest.mark.parametrize(
    ("said", "named"),
    [("works ~40 steps then:", True), ("40 steps an epoch", False)],
)
def test_a_list_in_the_cell_that_failed(said: str, named: bool) -> None:
    text = (
        f"JAX on a Colab TPU, {said}\n<ipython-input-3-0c1ef22a0a93> in <module>()\n"
        "     18   out, loss = (\n---> 19     train_step(params, xb, yb, k))\n"
        "     20     history.append((i, loss, out))\n\n"
        "RuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 24.00M. That was not possible. There are"
        " 61.20M free. Due to fragmentation, the largest contiguous region of free memory is 22.75M.;"
        " (0x0x0_HBM0)\n"
    )
    assert ("`history` (line 5)" in explained(text).verdict) is named
    assert ("smaller-batch" in offered(text)) is not named


SHAPES = """import jax.numpy as np
from jax import jit, random
f = jit(score)
for n in range(9000, 0, -1):
  a = random.normal(random.PRNGKey(n), {shape})
  r = f(a)
"""


@pytest.mark.parametrize(("shape", "named"), [("(400, n)", True), ("(400, 8)", False)])
def test_another_size_in_each_turn(shape: str, named: bool) -> None:
    told = (
        "Memory leak: system RAM grows slowly, then colab says your session crashed after using all available"
    )
    text = f"{told} RAM\n{SHAPES.format(shape=shape)}"
    assert ("makes an array of another size in each turn" in explained(text).verdict) is named
    assert ("one-shape-of-jax" in offered(text)) is named


WORKER = (
    "import torch_xla.core.xla_model as xm\n{code}\nxmp.spawn(_mp_fn, nprocs=8)\n"
    "RuntimeError: DataLoader worker (pid 1412) is killed by signal: Killed.\n"
)


@pytest.mark.parametrize(("many", "named"), [(8, True), (0, False)])
def test_workers_in_every_process(many: int, named: bool) -> None:
    text = WORKER.format(code=f"loader = DataLoader(ds, batch_size=2, num_workers={many})")
    assert (f"{many} worker processes of the data loader in each process" in explained(text).verdict) is named
    assert ("fewer-loader-workers" in offered(text)) is named


def test_draws_that_are_transformed_after_the_sampling() -> None:
    text = 'pm.sample(nuts_sampler="numpyro", draws=4000)\nSampling...\n{}Killed\n'
    told = text.format("Transforming variables...\n")
    assert "computed of all draws of all chains at once" in explained(told).verdict
    assert "postprocessing_vectorize" in first(told)
    assert "draws-in-parts" not in offered(text.format(""))


def test_predictive_without_parallel_keeps_all_results() -> None:
    text = (
        "numpyro on a machine with 32 GB of RAM, CPU only\n"
        "pred = Predictive(model, guide=guide, params=p, num_samples=2000, parallel=False)\n"
        "With 2000 it gets killed.\n"
    )
    assert "`Predictive` gives for every draw" in explained(text).verdict
    assert "return_sites" in first(text)


@pytest.mark.parametrize(
    ("said", "named"), [("no mark_step anywhere", True), ("mark_step after each", False)]
)
def test_a_graph_that_no_step_ends(said: str, named: bool) -> None:
    text = f"I am a beginner at Torch/XLA, a char LSTM on my CPU box with 16 GB.\nSIGKILL\n{said}\n"
    assert ("no step is ended (line 3)" in explained(text).verdict) is named


@pytest.mark.parametrize(
    ("said", "planned"),
    [
        (
            "jit of jax.value_and_grad(loss) gets an OOM at compilation, about 1 GB over, on a v3-8, in flax",
            True,
        ),
        (
            "the compilation takes 100 GB of host RAM on a v3-8, and runs out, python loop in flax",
            False,
        ),
    ],
)
def test_an_oom_at_compilation_is_of_the_planned_program(said: str, planned: bool) -> None:
    assert ("as the compiler plans it" in explained(f"{said}\n").verdict) is planned
    assert ("recompute-some" in offered(f"{said}\n")) is planned


SCORES = (
    "Peak buffers:\n\tBuffer 1:\n\t\tSize: 768.00MiB\n"
    '\t\tOperator: op_name="pjit(train_step)/jit(main)/jvp(Net)/layers_4/attention/bqhd,bkhd->bhqk/dot"'
    "\n\t\tXLA Label: custom-call\n\t\tShape: bf16[128,12,512,512]\n\t\t==========================\n"
)


@pytest.mark.parametrize(("gpu", "fused"), [("one V100-32GB", False), ("one A100 40GB", True)])
def test_fused_attention_only_where_the_gpu_has_it(gpu: str, fused: bool) -> None:
    temp = "     preallocated temp allocation:   46.71GiB\n"
    text = f"T5 on {gpu}\n{ASKED} 50154481664 bytes.\n{PARTS.splitlines()[0]}\n{temp}{SCORES}"
    assert ("implementation='cudnn'" in first(text)) is fused
    assert ("an Ampere GPU or newer, which this is not" in first(text)) is not fused


VMEM = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating"
    " on stack for %kv_cache_update.1 = bf16[4096,64,128]{2,1,0:T(8,128)} custom-call(%p.1). Scoped"
    " allocation with size 16.62M and limit 16.00M exceeded scoped vmem limit by 632.0K.\n"
)


def test_a_kernel_of_a_servers_cache_is_no_cache() -> None:
    text = f"sgl-jax on v6e-4, --max-running-requests 64\n    kv_cache = kv_cache_update(\n{VMEM}"
    assert "memory on the chip" in explained(text).verdict
    assert "--chunked-prefill-size 1024 --max-running-requests 32" in first(text)


@pytest.mark.parametrize(
    ("stated", "advised"), [("0.98", "0.88"), ("0.5", "0.4")], ids=["nearly-all", "half"]
)
def test_a_part_below_the_one_that_is_set(stated: str, advised: str) -> None:
    text = (
        f"vllm serve mine --gpu-memory-utilization {stated}   (torch_xla, v6e-1)\n"
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error loading program 'SyncTensorsGraph.18':"
        " Attempting to reserve 1.31G at the bottom of memory. That was not possible. There are 612.25M free,"
        " 0B reserved, and 612.25M reservable.\n"
    )
    assert f"--gpu-memory-utilization {advised}" in first(text)


def test_one_sample_that_needs_a_program_of_its_own() -> None:
    text = (
        "pytorch xla on a TPU v2-8. It always gets stuck at the 48th scan.\n"
        "  (0) RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 29.80G of 7.98G hbm. Exceeded"
        " hbm capacity by 21.82G.\nBatch size 4: the same scan.\nxm.optimizer_step(opt, barrier=True)\n"
    )
    assert "a program of its own is compiled for it" in explained(text).verdict
    assert "mark-step" not in offered(text)


ONE_LARGE = (
    "RESOURCE_EXHAUSTED: Attempting to allocate {asked}. That was not possible. There are 13.41G free.;"
    " (0x0x0_HBM0)\n"
)


@pytest.mark.parametrize(("asked", "batch"), [("96.00G", "256 -> 32"), ("14.00G", "256 -> 128")])
def test_a_batch_by_what_was_free(asked: str, batch: str) -> None:
    text = f'flax on a v3-8\n  --per_device_train_batch_size="256"\n{ONE_LARGE.format(asked=asked)}'
    assert any(batch in each.remedy.text for each in explained(text).actions)


def test_a_batch_that_works_elsewhere_is_not_advised_where_it_has_no_room() -> None:
    text = 'the readme says batch 64 works\n  --per_device_train_batch_size="256" of jax\n'
    text = f"v3-8, {text}{ONE_LARGE.format(asked='96.00G')}"
    assert not any("batch of 64" in each.remedy.text for each in explained(text).actions)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("8 cores x 16G = 128G so it should fit?", "memory does not add up by itself"),
        ("Why does it not use the memory that it already has?", "the pool that all its arrays lie in"),
    ],
)
def test_what_is_asked_is_answered(asked: str, answer: str) -> None:
    text = f"import jax\nmy model\n{ASKED} 41943040000 bytes.\n{asked}\n"
    assert any(answer in each.headline for each in explained(text).findings if each.answers)
    assert not any(each.answers for each in explained(text.replace(asked, "")).findings)


def test_which_line_it_is_is_asked_of_a_compiled_function() -> None:
    text = f"{ASKED} 4227858432 bytes.\nI want to check which line in `update` caused it\n"
    assert "asks which line it is" in first(text) and "xla_dump_to" in first(text)
    assert "asks which" not in first(text.replace("which line", "what"))


NCCL = (
    "h1:41:43 [3] nccl/src/allocator.cc:62 NCCL WARN Cuda failure 2 'out of memory'\n"
    "W external/xla/xla/stream_executor/integrations/stream_executor_allocator.cc:66] could not allocate"
    " collective of size: 9663676416\nimport jax\n"
)


@pytest.mark.parametrize(
    ("said", "fraction"),
    [
        ("I tried XLA_PYTHON_CLIENT_MEM_FRACTION .6 and .9, no difference", None),
        ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.6", "=.50"),
    ],
)
def test_buffers_of_collectives(said: str, fraction: str | None) -> None:
    report = explained(f"{NCCL}{said}\n")
    assert "buffers of 9.00 GiB of collective operations" in report.verdict
    assert "xla_gpu_enable_nccl_user_buffers=false" in first(f"{NCCL}{said}\n")
    told = [each.remedy.code for each in report.actions if each.remedy.slug == "smaller-fraction"]
    assert told == ([f"export XLA_PYTHON_CLIENT_MEM_FRACTION{fraction}"] if fraction else [])


def test_a_number_behind_steps_is_no_step() -> None:
    text = "at start 3379 MiB, after 100 steps 3419, after 200 steps 3459\nimport jax\n"
    text += f"{ASKED} 10485760 bytes.\n"
    assert "3,419" not in explained(text).verdict
