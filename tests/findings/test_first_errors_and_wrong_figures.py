"""What a text tells first, or in passing: a pool that asks by a wrong figure, the first error of several,
a graph that grows, what a guide says, servers, boards and tools.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

LADDER = "\n".join(
    f"E rocm_driver.cc:606] failed to allocate {size} ({count} bytes) from device: HIP_ERROR_OutOfMemory"
    for size, count in (("120.00TiB", 120 << 40), ("108.00TiB", 108 << 40))
)
GROWS = (
    "Epoch 1/9\n"
    "Traceback (most recent call last):\n"
    '  File "train.py", line 40, in __getitem__\n'
    "    rows = tf.gather(self.table, ids).eval(session=self.sess)\n"
    "ValueError: GraphDef cannot be larger than 2GB.\n"
)
BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"


def test_a_pool_beyond_any_gpu_follows_a_wrong_figure_of_the_driver() -> None:
    report = explained(LADDER)
    assert "told a wrong figure" in report.verdict
    assert not {"compare-shapes", "see-device-users"} & set(offered(LADDER))


def test_a_large_pool_of_a_gpu_that_may_be_is_no_wrong_figure() -> None:
    size = 70 << 30
    text = f"failed to allocate 70.00GiB ({size} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    assert "wrong figure" not in explained(text).verdict


def test_a_line_that_makes_and_runs_an_op_lets_a_graph_grow() -> None:
    assert "makes an op each time that it runs" in explained(GROWS).verdict
    assert offered(GROWS) == ["build-once"]


def test_a_constant_that_is_too_large_at_once_is_told_as_before() -> None:
    once = "x = tf.constant(images)\nValueError: GraphDef cannot be larger than 2GB.\n"
    assert "a constant or data set" in explained(once).verdict


@pytest.mark.parametrize("handle", ["invalid resource handle", "CUDA_ERROR_INVALID_HANDLE"])
def test_the_first_error_goes_before_the_shutdown_that_follows_it(handle: str) -> None:
    text = (
        f"check() failed : {handle}\n"
        "E cuda_event.cc:49] Error polling for event status: failed to query event:"
        " CUDA_ERROR_DEINITIALIZED\n"
    )
    report = explained(text)
    assert "not of its device or context" in report.verdict
    assert sum("shut down" in each.headline for each in report.findings) == 0


def test_a_shutdown_alone_is_told() -> None:
    text = "E cuda_event.cc:49] failed to query event: CUDA_ERROR_DEINITIALIZED: driver shutting down\n"
    assert "CUDA was shut down" in explained(text).verdict


def test_too_many_resources_for_a_launch_are_no_memory() -> None:
    text = (
        "F resize_op_gpu.cu.cc:93] Non-OK-status: GpuLaunchKernel(k, n) status: Internal: too many resources"
        " requested for launch\nFatal Python error: Aborted\n"
    )
    assert "no matter of the GPU's memory" in explained(text).verdict
    assert offered(text)[0] == "op-on-the-cpu"


@pytest.mark.parametrize(
    "line",
    ["./run.sh:  12: 4242 killed              python3 main.py", "zsh: killed     python train.py"],
)
def test_shells_say_killed_in_their_own_ways(line: str) -> None:
    assert "killed from outside" in explained(f"{line}\n").verdict


GUIDE = (
    "Resource exhausted: failed to allocate memory\n"
    "The documentation also mentions a limit:\n"
    "    tf.config.set_logical_device_configuration(gpus[0],\n"
    "        [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])\n"
)


def test_what_a_guide_says_is_no_setting_of_the_program() -> None:
    assert "1.00 GiB" not in explained(GUIDE).verdict
    own = GUIDE.replace("The documentation also mentions a limit:", "My code:")
    assert "1.00 GiB" in explained(own).verdict


def test_a_server_without_a_request_is_looked_at_while_it_loads() -> None:
    killed = "TensorFlow Serving 2.5.1\n/usr/bin/tf_serving_entrypoint.sh: line 3:     6 Killed\n"
    assert offered(killed)[0] == "watch-it-load"
    busy = f"{killed}We send 64 images in one request.\n"
    assert offered(busy)[0] == "smaller-requests"


def test_a_bad_alloc_of_a_server_may_be_a_bug_of_its_release() -> None:
    asked = f"TF Serving in docker ends when I call the API with one sentence\n{BAD_ALLOC}"
    assert "a size came out wrong" in explained(asked).verdict
    assert "newer-release" in offered(asked)
    assert "newer-release" not in offered(f"TensorFlow Serving version: 2.4.1\n{asked}")


BOARD = (
    "running on a jetson TX2\n"
    "Found device 0 with properties:\nname: NVIDIA Tegra X2 major: 6 minor: 2\n"
    "totalMemory: 7.66GiB freeMemory: 1.01GiB\n"
    "OP_REQUIRES failed at conv_ops.cc:199 : Resource exhausted: OOM when allocating tensor with"
    " shape[1,32,900,1400] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc\n"
)


def test_a_board_with_one_ram_has_no_other_gpu() -> None:
    assert offered(BOARD)[:2] == ["free-shared-ram", "smaller-input"]
    assert "one-device-each" not in offered(BOARD)
    other = BOARD.replace("a jetson TX2", "my PC").replace("NVIDIA Tegra X2", "GeForce GTX 1080")
    assert "see-device-users" in offered(other)


def test_a_tool_has_settings_of_its_own_where_it_runs_a_trained_model() -> None:
    oom = (
        "DeepLabCut 2.3\nResource exhausted: OOM when allocating tensor with shape[8,400,400,256] and type"
        " float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    assert "pose_cfg.yaml, 8 by default" in first(oom)
    assert "batchsize=" in first(f"deeplabcut.analyze_videos(config, videos)\n{oom}")


def test_a_figure_that_prose_repeats_goes_before_a_title_that_is_cut() -> None:
    cut = "Resource exhausted: MemoryError: Unable to allocate"
    text = f'{cut}\nWith TF 2.4 I get "Unable to allocate 512. MiB".\n'
    assert "512.00 MiB" in explained(text).verdict


def test_a_pool_with_much_left_met_one_large_request() -> None:
    dump = (
        "W op_kernel.cc:1692] OP_REQUIRES failed at conv_ops.cc:682\n"
        "I bfc_allocator.cc:1068] 2 Chunks of size 536870912 totalling 1.00GiB\n"
        "I bfc_allocator.cc:1068] 1 Chunks of size 268435456 totalling 256.00MiB\n"
        "I bfc_allocator.cc:1072] Sum Total of in-use chunks: 1.25GiB\n"
        "I bfc_allocator.cc:1074] total_region_allocated_bytes_: 2147483648 memory_limit_: 4294967296"
        " available bytes: 2147483648 curr_region_allocation_bytes_: 2147483648\n"
        "I bfc_allocator.cc:1080] Stats:\nLimit:                      4294967296\n"
        "InUse:                      1342177280\nMaxInUse:                   1342177280\n"
    )
    assert "2.75 GiB of the limit was not in use" in explained(dump).verdict
    full = dump.replace("4294967296", "1442177280")
    assert "of the limit was not in use" not in explained(full).verdict
