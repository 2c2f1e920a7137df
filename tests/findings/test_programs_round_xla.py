"""Which memory, whose pool and which program it was: kernels on the chip, programs that a core cannot load,
state that a program closes over, tasks and clients that share a GPU, evaluations, saves, builds.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
SCOPED = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\n"
    "Ran out of memory in memory space vmem while allocating on stack for %attend-bq_256-bkv_2048.3 ="
    " bf16[2048,8,128]{2,1,0:T(8,128)} custom-call(%p.1). Scoped allocation with size 96.25M and limit 64.00M"
    " exceeded scoped vmem limit by 32.25M.\n"
)
SERVED = "vllm serve /models/mine --max-model-len 16384   (tpu-inference)\n"
HBM = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 18.20G of"
    " 15.75G hbm. Exceeded hbm capacity by 2.45G.\n"
)


@pytest.mark.parametrize(
    "text",
    [
        f"{SERVED}{SCOPED}",
        f"{SERVED}{SCOPED.replace('E1001: CompileTimeScopedVmemOom:', '')}",
        f"we run vLLM on a v6e-8, jax 0.9\n{SCOPED}--gpu-memory-utilization 0.6 gives the same numbers\n",
    ],
)
def test_a_servers_kernel_that_finds_no_room_on_the_chip_has_nothing_to_do_with_its_cache(text: str) -> None:
    page = explained(text)
    assert "vmem" in page.verdict and "fixed part of each device" not in page.verdict
    assert "gpu-memory-utilization" not in " ".join(each.remedy.code or "" for each in page.actions)
    assert "smaller-kernel-blocks" in offered(text)


def test_the_limit_of_a_kernel_is_raised_to_what_it_needs() -> None:
    code = [each.remedy.code or "" for each in explained(f"{SERVED}{SCOPED}").actions]
    assert any("xla_tpu_scoped_vmem_limit_kib=131072" in each for each in code)


@pytest.mark.parametrize("text", [f"{SERVED}{HBM}", f"{SERVED}jit_step failed\n{ASKED} 6442450944 bytes.\n"])
def test_a_server_that_fills_the_device_lowers_the_part_of_its_cache(text: str) -> None:
    assert "fixed part of each device" in explained(text).verdict


RESERVE = (
    "RuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve {}G at the bottom of"
    " memory. That was not possible. There are {}G free, 0B reserved, and {}G reservable.\n"
)
TRAINS = "$ PJRT_DEVICE=TPU python3 train_mine.py --batch_size 64\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{TRAINS}{RESERVE.format(11.2, 6.1, 6.1)}on a v2-8\n",
        f"{TRAINS}{RESERVE.format(19.5, 12.4, 12.4)}I use a TPU v3-8.\n",
        f"import jax\ntrain_step(state, batch)\n{RESERVE.format(33.0, 20.0, 20.0)}my v6e-4\n",
    ],
)
def test_no_freed_array_makes_room_for_a_program_that_is_larger_than_the_core(text: str) -> None:
    assert "does not help" in explained(text).verdict
    assert "drop-references" not in offered(text)
    assert not explained(text).actions[0].remedy.text.startswith("steps are ended")


def test_a_program_that_the_core_could_hold_is_made_smaller_first() -> None:
    told = f"{TRAINS}{RESERVE.format(9.5, 7.1, 7.1)}on a v3-8\n"
    assert offered(told)[0] == "smaller-batch" and "one compiled program" in explained(told).verdict


@pytest.mark.parametrize(
    "late", ["It always dies after 4,000 steps.", "The memory grows from step to step until it fails."]
)
def test_what_earlier_steps_left_comes_first_where_it_went_well_for_long(late: str) -> None:
    told = f"{TRAINS}{late}\n{RESERVE.format(9.5, 7.1, 7.1)}on a v3-8\n"
    assert "kept alive" in explained(told).verdict and offered(told)[0] != "smaller-batch"


def test_an_array_that_finds_no_room_is_no_program() -> None:
    text = (
        f"{TRAINS}RuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
        " 2.00G. That was not possible. There are 1.10G free.; (0x0x0_HBM0)\n"
    )
    assert "one compiled program" not in explained(text).verdict


@pytest.mark.parametrize(
    "name", ["PJRT_DEVICE=TPU", "export XLA_USE_BF16=1", "XRT_TPU_CONFIG='localservice;0'"]
)
def test_settings_of_pytorch_xla_tell_whose_program_it_is(name: str) -> None:
    text = f"{name} python3 train_mine.py --batch_size 64\n{RESERVE.format(9.5, 7.1, 7.1)}"
    assert explained(text).case.api.front_end.value == "torch_xla"


def test_a_setting_of_jax_tells_of_jax() -> None:
    text = f"XLA_PYTHON_CLIENT_PREALLOCATE=false python3 train.py\n{RESERVE.format(9.5, 7.1, 7.1)}"
    assert explained(text).case.api.front_end.value == "jax"


def test_no_frameworks_code_is_shown_to_an_unknown_one() -> None:
    text = f"$ python3 train_mine.py --batch_size 64\n{RESERVE.format(9.5, 7.1, 7.1)}"
    code = " ".join(each.remedy.code or "" for each in explained(text).actions)
    assert "jax." not in code and "tf." not in code


FSDP = f"{TRAINS}{{}}\n{RESERVE.format(9.5, 7.1, 7.1)}xm.mark_step()\non a v3-8\n"


@pytest.mark.parametrize(
    ("code", "wraps"),
    [
        ("model = FSDP(model)", True),
        ("model = XlaFullyShardedDataParallel(model, compute_dtype=torch.bfloat16)", True),
        ("I wrapped the top module only", True),
        ("model = FSDP(model, auto_wrap_policy=policy)", False),
        ("blocks[i] = FSDP(block)", False),
        ("model = Net()", False),
    ],
)
def test_a_model_that_is_sharded_as_one_unit_is_sharded_block_by_block(code: str, wraps: bool) -> None:
    assert ("wrap-blocks" in offered(FSDP.format(code))) is wraps


CLOSED = (
    'Traceback (most recent call last):\n  File "put.py", line 12, in <module>\n    {}\n'
    f"{ASKED} 26843545600 bytes.\n"
)


@pytest.mark.parametrize(
    "line",
    [
        "state = jax.jit(lambda: host_state, out_shardings=shardings)()",
        "p = pjit(lambda: params, in_shardings=(), out_shardings=specs)()",
        "opt = jit(lambda: (opt_state), out_shardings=s)()",
    ],
)
def test_what_a_function_without_arguments_gives_back_is_a_constant(line: str) -> None:
    assert "closes over" in explained(CLOSED.format(line)).verdict
    assert offered(CLOSED.format(line))[0] == "pass-as-argument"


@pytest.mark.parametrize(
    "line",
    [
        "state = jax.jit(init, out_shardings=shardings)(key)",
        "state = jax.jit(lambda key: init(key), out_shardings=shardings)(key)",
        "state = jax.jit(lambda: init(key), out_shardings=shardings)()",
    ],
)
def test_what_is_computed_or_given_is_no_constant(line: str) -> None:
    assert "closes over" not in explained(CLOSED.format(line)).verdict


CONTEXT = (
    "{}: 2023-01-02 10:00:00.0: W external/org_tensorflow/tensorflow/compiler/xla/service/platform_util.cc:"
    "205] unable to create StreamExecutor for CUDA:0: failed initializing StreamExecutor for CUDA device"
    " ordinal 0: INTERNAL: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory;"
    " total memory reported: 42505273344\n"
)
FAILED = "import jax\n" + CONTEXT.format(1) + CONTEXT.format(2)


@pytest.mark.parametrize(
    "job",
    [
        "#SBATCH --ntasks=3 --gres=gpu:a100:1",
        "srun --ntasks=3 --gpus=1 python member.py",
        "mpirun -np 3 python member.py   # all on one A100",
    ],
)
def test_tasks_of_one_job_take_a_part_of_the_gpu_each(job: str) -> None:
    text = f"{job}\n{FAILED}"
    assert "several tasks of this job" in explained(text).verdict
    assert offered(text)[0] == "smaller-fraction" and "MEM_FRACTION=.28" in first(text)
    assert not {"see-device-users", "another-gpu", "one-device-each"} & set(offered(text))


@pytest.mark.parametrize(
    "text",
    [
        f"import jax\n{CONTEXT.format(1)}",
        f"#SBATCH --ntasks=1 --gres=gpu:a100:1\nimport jax\n{CONTEXT.format(1)}",
        f"#SBATCH --ntasks=4 --gres=gpu:a100:4\nimport jax\n{CONTEXT.format(1)}",
    ],
)
def test_where_no_task_shares_it_others_hold_the_gpu(text: str) -> None:
    assert "see-device-users" in offered(text)


OF_PYTORCH = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB (GPU 0; 39.59 GiB total"
    " capacity; 512.20 MiB already allocated; 20.12 MiB free; 700.00 MiB reserved in total by PyTorch)\n"
)


@pytest.mark.parametrize(
    "beside",
    [
        "PJRT_DEVICE=CUDA python run.py, torch_xla 2.2\n",
        "os.environ['PJRT_DEVICE'] = 'GPU'\nimport torch_xla\n",
        "GPU_NUM_DEVICES=1 python run.py\nimport torch_xla.core.xla_model as xm\n",
    ],
)
def test_pytorch_xla_holds_the_gpu_of_its_own_process(beside: str) -> None:
    text = f"{beside}{OF_PYTORCH}"
    assert "same process" in first(text) and "nvidia-smi" not in first(text)


@pytest.mark.parametrize(
    "beside", ["import torch\n", "import torch_xla\nPJRT_DEVICE=TPU\n", "jax is not used\n"]
)
def test_pytorch_alone_shares_the_gpu_with_other_processes(beside: str) -> None:
    assert "in the same process" not in " ".join(
        each.remedy.text for each in explained(f"{beside}{OF_PYTORCH}").actions
    )


GROWN = (
    "I use JAX on the CPU of a laptop. {} After 3,000 of them the machine swaps and the process is killed.\n"
)


@pytest.mark.parametrize(
    "told",
    [
        "For every candidate I make a new reward function and jit the rollout in gymnax with it.",
        "Each genome gets its own jitted function, run in a brax environment.",
        "I jit a new lambda for each formula of the search.",
    ],
)
def test_functions_that_are_made_anew_fill_the_caches(told: str) -> None:
    assert offered(GROWN.format(told))[:2] == ["compile-once", "start-anew"]


@pytest.mark.parametrize(
    "told",
    [
        "I jit one rollout and give it the parameters of every candidate.",
        "Every environment has its own state.",
        "For each seed I run the same jitted function.",
    ],
)
def test_one_function_for_all_fills_no_cache(told: str) -> None:
    assert "compiled anew" not in explained(GROWN.format(told)).verdict


BUFFER = "{} runs out of GPU memory before the first step, with my own brax environment and JAX.\n"


@pytest.mark.parametrize("algorithm", ["SAC", "brax's TD3", "My DQN"])
def test_a_replay_buffer_is_made_whole_before_the_first_step(algorithm: str) -> None:
    assert offered(BUFFER.format(algorithm))[0] == "smaller-replay"


@pytest.mark.parametrize("algorithm", ["PPO", "My policy gradient", "Evolution strategies"])
def test_what_learns_from_its_last_rollout_has_no_buffer(algorithm: str) -> None:
    assert "smaller-replay" not in offered(BUFFER.format(algorithm))


def test_fewer_environments_are_not_advised_who_tried() -> None:
    assert "fewer-environments" not in offered(
        BUFFER.format("PPO") + "It is the same even with num_envs=4.\n"
    )


EVALUATED = (
    f"{HBM}\nTotal hbm usage >= 18.20G:\n    reserved        530.00M\n    program          16.62G\n"
    "    arguments         1.05G\n\n  Largest program allocations in hbm:\n\n  1. Size: 7.63G\n"
    '     Operator: op_name="pjit({})/jit(main)/decoder/logits_dense/dot_general"\n'
    "     Shape: f32[32,512,125056]{{2,1,0:T(8,128)}}\n     Unpadded size: 7.63G\n"
    "     Allocation type: HLO temp\n     ==========================\n"
)


@pytest.mark.parametrize("name", ["eval_step", "_eval_fn", "validate"])
def test_a_program_that_evaluates_has_a_batch_of_its_own(name: str) -> None:
    text = EVALUATED.format(name)
    assert "evaluation" in explained(text).verdict and offered(text)[0] == "smaller-evaluation-batch"
    assert not {"gradient-accumulation", "recompute"} & set(offered(text))
    assert "backward" not in first(text)


@pytest.mark.parametrize("name", ["train_step", "evolve", "test_time_training"])
def test_other_names_are_no_evaluation(name: str) -> None:
    assert "smaller-evaluation-batch" not in offered(EVALUATED.format(name))


SAVED = 'A MaxText run. {} Kubernetes says "OOMKilled, exit code 137". Fewer workers change nothing.\n'


@pytest.mark.parametrize(
    "told",
    [
        "The pod gets restarted at every checkpoint.",
        "When the save starts, host memory goes straight up to the limit.",
        "It gets killed while saving the checkpoint with orbax.",
    ],
)
def test_who_is_killed_while_a_checkpoint_is_saved_bounds_the_save(told: str) -> None:
    assert offered(SAVED.format(told))[0] == "bound-checkpoint"
    assert "smaller-pipeline" not in offered(SAVED.format(told))


@pytest.mark.parametrize(
    "told",
    [
        "It is killed when the training starts.",
        "Checkpoints are saved every 500 steps, and that works.",
        "I restored a checkpoint before.",
    ],
)
def test_who_is_killed_at_another_time_does_not(told: str) -> None:
    assert "bound-checkpoint" not in offered(SAVED.format(told))


@pytest.mark.parametrize(
    "line",
    [
        "gcc: fatal error: Killed signal terminated program cc1plus",
        "cc1plus: out of memory allocating 4064 bytes after a total of 2162688 bytes",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
    ],
)
def test_a_compiler_that_is_killed_builds_with_fewer_jobs(line: str) -> None:
    text = f"building jaxlib from source\n{line}\nFAILED: Build did NOT complete successfully\n"
    assert offered(text) == ["fewer-jobs"] and "a compiler was killed" in explained(text).verdict


@pytest.mark.parametrize(
    "line", ["Killed", "gcc: error: unrecognized command line option", "ld: cannot find -lcudart"]
)
def test_what_is_no_killed_compiler_is_none(line: str) -> None:
    assert "fewer-jobs" not in offered(f"python train.py with jax\n{line}\n")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/tmp/tempfile-node3-12", "df -h /tmp"),
        ("/var/tmp/xla_dump.12.ptx", "df -h /var/tmp"),
        ("/home/me/ckpt/model.ckpt-12.tempstate99", "df -h   # which is full?"),
        ("/tmp/checkpoints/step_100", "df -h   # which is full?"),
    ],
)
def test_a_full_disk_is_that_of_the_path(path: str, code: str) -> None:
    text = f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: {path}; No space left on device\n"
    assert code in first(text)


PROTEIN = "alphafold, run_docker.py with 'TF_FORCE_UNIFIED_MEMORY': '1'{}\n" + f"{ASKED} 39556649632 bytes.\n"


def test_the_pool_of_unified_memory_ends_at_its_own_limit() -> None:
    text = PROTEIN.format(", 'XLA_PYTHON_CLIENT_MEM_FRACTION': '4.0'")
    assert "4 times the GPU" in explained(text).verdict
    assert offered(text)[0] == "more-unified-memory" and "MEM_FRACTION=8" in first(text)


@pytest.mark.parametrize("more", ["", ", 'XLA_PYTHON_CLIENT_MEM_FRACTION': '0.9'"])
def test_where_no_such_limit_is_stated_none_is_told(more: str) -> None:
    assert "times the GPU and no more" not in explained(PROTEIN.format(more)).verdict


LOOP = (
    "import torch_xla.core.xla_model as xm\n{}\n    loss = model(x)\n    loss.backward()\n"
    "    optimizer.step()"
    "\n{}\n"
    "RuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.10G of 15.48G hbm."
    " Exceeded hbm capacity by 4.62G.\n"
)


@pytest.mark.parametrize(
    "loop", ["for x in train_loader:", "for x, y in tqdm(batches):", "for x in dataset:"]
)
def test_a_loop_over_a_loader_has_to_end_its_steps(loop: str) -> None:
    assert "ends no step" in explained(LOOP.format(loop, "")).verdict


@pytest.mark.parametrize(
    ("loop", "more"),
    [
        ("for x in train_loader:", "    xm.mark_step()"),
        ("for x in pl.MpDeviceLoader(loader, device):", ""),
        ("for k in range(3):", ""),
    ],
)
def test_a_loop_that_ends_them_or_shows_no_loader_is_not_told_so(loop: str, more: str) -> None:
    assert "ends no step" not in explained(LOOP.format(loop, more)).verdict


SMEM = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space smem. Used 1.00M of 1.00M smem. Exceeded smem capacity by 2.1K.\n"
)


def test_a_servers_tables_of_pages_go_with_its_sequences() -> None:
    assert "--max-model-len" in first(f"vllm serve mine --max-model-len 32768 on a v5e-1\n{SMEM}")
    assert "--max-model-len" not in first(f"import torch_xla\n{SMEM}")


FITTED = "I fit a model with numpyro {} on the GPU, and it runs out of memory.\n"


@pytest.mark.parametrize(
    ("how", "draws"), [("SVI", False), ("MCMC(NUTS(model))", True), ("SVI and NUTS", True)]
)
def test_who_fits_a_distribution_draws_nothing(how: str, draws: bool) -> None:
    assert ("fewer-draws" in offered(FITTED.format(how))) is draws


@pytest.mark.parametrize(
    ("said", "whole"),
    [("svi.run copies everything to the GPU", True), ("It copies one batch to the GPU", False)],
)
def test_a_set_that_goes_to_the_gpu_whole_stays_on_the_host(said: str, whole: bool) -> None:
    text = f"JAX and 900k rows of 3000 floats. {said}\nand goes out of memory.\n"
    assert ("data-on-the-host" in offered(text)) is whole and "use-all-devices" not in offered(text)


def test_arrays_that_all_go_to_the_first_of_several_are_sharded() -> None:
    text = "jax on 4 GPUs: everything is put on GPU 0 and goes out of memory.\n"
    assert "use-all-devices" in offered(text)


NAMED = (
    "maxtext 52b, 52B parameters, train step on v4-384\njax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran"
    " out of memory in memory space hbm. Used 33.27G of 30.75G hbm. Exceeded hbm capacity by 2.52G.\n\nTotal"
    " hbm usage >= 33.79G:\n    reserved        530.00M\n    program          {}\n    arguments         {}\n"
)


def test_weights_that_are_shared_already_are_not_to_be_shared() -> None:
    assert "must share" not in explained(NAMED.format("26.10G", "7.17G")).verdict
    assert "must share" in explained(NAMED.format("2.10G", "31.17G")).verdict


def test_what_ended_a_lack_of_memory_ends_no_other_failure() -> None:
    other = (
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to load in-memory CUBIN:"
        " CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\n"
    )
    text = f"first I had OOM, fixed it with the CPU-only tensorflow. Now jax says\n\n{other}"
    assert "what-ended-it" not in offered(text)


def test_two_tasks_without_room_for_a_handle_take_a_part_each() -> None:
    handle = (
        "1: 2023-04-02 12:00:31.336: E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:429] Could not"
        " create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    )
    job = "#SBATCH --ntasks=2 --gres=gpu:1\nimport jax\n"
    assert offered(f"{job}{handle}")[0] == "smaller-fraction"
    assert offered(f"import jax\n{handle}")[0] == "growth"


def test_parts_that_are_given_already_are_not_given_again() -> None:
    text = (
        "I launch 6 jax processes on one GPU, each with XLA_PYTHON_CLIENT_MEM_FRACTION=0.15.\nThe last one"
        " runs out of memory.\n"
    )
    assert "takes 15 % of the GPU" in explained(text).verdict and "smaller-fraction" not in offered(text)
    assert offered(text)[0] == "growth"
