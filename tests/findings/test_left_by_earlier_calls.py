"""A later call of the same work runs out, and what the writer's settings multiply in host RAM."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
STEP = '  File "/home/u/train.py", line 129, in train_epoch\n    state, m = train_step(state, batch)\n'


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("This dies at the third call with out of memory, alone it is fine", True),
        ("This dies in the first call with out of memory", False),
    ],
)
def test_earlier_calls_left_something(said: str, named: bool) -> None:
    text = f"{said}\n{STEP}{ASKED} 2147483648 bytes.\n"
    assert ("it went well in earlier calls (line 1)" in explained(text).verdict) is named
    assert ("smaller-batch" in offered(text)) is not named


def test_a_list_that_keeps_results_is_named() -> None:
    code = "import jax\nouts = []\nfor i in range(1000):\n    outs.append(f(i))\n"
    text = f"it fails after 50 fits\n{code}{STEP}{ASKED} 2097152 bytes.\n"
    assert "`outs` (line 5) keeps what each of them made" in explained(text).verdict
    assert "outs.append(jax.device_get(out))" in first(text)


@pytest.mark.parametrize(("many", "named"), [(16, True), (1, False)])
def test_devices_that_the_cpu_plays(many: int, named: bool) -> None:
    flag = f'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={many}"'
    text = f"the conversion of a 14.5 GB checkpoint gets OOMKilled (64 Gi limit)\n{flag}\nReason: OOMKilled\n"
    assert (f"the {many} devices that the CPU is told to play" in explained(text).verdict) is named
    assert ("one-simulated-device" in offered(text)) is named


def test_batches_that_workers_have_ready() -> None:
    text = (
        "import jax\nds = grain.DataLoader(src, worker_count=32, worker_buffer_size=8)\n"
        "slurmstepd: error: Detected 1 oom_kill event in StepId=41.0. Some of the step tasks have been OOM"
        " Killed.\n"
    )
    assert "32 worker processes of the data loader, with 8 batches ready in each" in explained(text).verdict
    assert "worker_buffer_size=1" in first(text)


RAY = (
    "import jax\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    "Memory on the node (IP: 10.1.1.7, ID: 4f) where the task was running was 425.86GB / 440.83GB (0.966),"
    " which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 77) because it was the"
    " most recently scheduled task\n{table}"
)


def test_the_worker_that_holds_the_nodes_ram() -> None:
    table = "PID\tMEM(GB)\tCOMMAND\n8812\t371.40\tray::TrainWorker.run\n9120\t22.18\tray::ReplayBuffer\n"
    assert "`ray::TrainWorker.run`, which holds 371.40 GB" in explained(RAY.format(table=table)).verdict
    assert "map-the-file" not in offered(RAY.format(table=""))


def test_a_part_of_a_gpu_is_the_device() -> None:
    said = "runs fine on a 3090 but not on the A100 MIG 1g.5gb slice"
    text = f"{said}\nimport jax\n{ASKED} 3288334336 bytes.\n"
    (device,) = explained(text).case.capture.surroundings.named_devices
    assert device.model == "A100 MIG 1g.5gb" and device.total and device.total.bytes == 5 << 30


def test_the_process_that_got_little_is_the_one_that_failed() -> None:
    table = (
        "|    0   N/A  N/A     40377      C   ...envs/nerf/bin/python         23402MiB |\n"
        "|    0   N/A  N/A     51120      C   ...envs/nerf/bin/python           {mine}MiB |\n"
    )
    text = f"RTX 3090 (24 GB)\nimport jax\n{ASKED} {{asked}} bytes.\n{table}"
    assert "pid 40377" in first(text.format(asked=9437184, mine="512"))
    assert "pid 51120" in first(text.format(asked=9437184000, mine="3512"))


def test_a_carry_is_kept_though_the_step_is_computed_again() -> None:
    code = (
        "import jax\n_, xs = jax.lax.scan(step, hist0, jnp.arange(60_000))     # hist0 (21, 80, 80)\n"
        "g = jax.grad(loss)(p)\n"
    )
    text = f"{code}\n{ASKED} 32256000000 bytes.\n"
    assert "recompute-body" not in offered(text) and "in-blocks" in offered(text)
    another = text.replace("# hist0 (21", "# noise (21")
    assert "recompute-body" in offered(another)


def test_a_tangent_kernel_is_made_from_jacobians() -> None:
    code = "import neural_tangents as nt\nk = kernel_fn(x_train[:256], None, 'ntk', params)\n"
    text = f"{code}{ASKED} 114605260800 bytes.\n"
    assert "Jacobians of all inputs at once" in explained(text).verdict and "nt.batch(" in first(text)


def test_a_server_that_refuses_a_length() -> None:
    text = (
        "vllm serve mine --max-model-len 131072   # v6e-4\nValueError: To serve at least one request with the"
        " models's max seq len (131072), (62.00 GiB KV cache is needed, which is larger than the available KV"
        " cache memory (41.22 GiB). Based on the available memory, the estimated maximum model length is"
        " 87136. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the"
        " engine.\n"
    )
    assert "the server did not start" in explained(text).verdict
    assert "--max-model-len 87136" in first(text)


def test_rows_of_a_hessian_are_reduced() -> None:
    text = "Computing the full Hessian: jax.hessian(loss)(params) runs out of memory on my GPU with jax\n"
    codes = [each.remedy.code or "" for each in explained(text).actions]
    assert any("hvp(unit(i))[i]" in code for code in codes)
    assert not any("rows = jax.lax.map" in code for code in codes)
