"""Where the text itself says which of several causes it is, the page says that one; near misses say less."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_texts_of_strangers import explained

REFUSED = (
    "I0000 00:00:1750001112.1  312 cuda_executor.cc:1309] failed to allocate {} from device:"
    " RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
LADDER = (
    "I train with JAX.\n"
    + REFUSED.format("15.77GiB (16932929536 bytes)")
    + REFUSED.format("14.19GiB (15239636582 bytes)")
    + "Epoch 1/3\n900/900 - 3s - 3ms/step - loss: 0.31\nEpoch 2/3\n900/900 - 2s - 2ms/step - loss: 0.12\n"
)


@pytest.mark.parametrize(
    "shown",
    [
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\n[1] "1.00"\n',
        "$ echo $XLA_PYTHON_CLIENT_MEM_FRACTION\n.95\n",
        "In [3]: os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION']\nOut[3]: '0.97'\n",
        "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95\n",
    ],
)
def test_a_pool_of_the_whole_gpu_is_refused_without_others(shown: str) -> None:
    found = explained(LADDER + shown)
    assert "JAX is told to take" in found.verdict
    assert "something else" not in found.verdict
    assert [action.remedy.slug for action in found.actions] == ["smaller-fraction", "growth"]


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "export XLA_PYTHON_CLIENT_MEM_FRACTION=.50\n",
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\nprint(version)\n[1] "1.00"\n',  # of another question
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\n[1] ""\n',
        '> Sys.getenv("OMP_NUM_THREADS")\n[1] "1.00"\n',
    ],
)
def test_of_a_smaller_part_something_else_holds_the_rest(shown: str) -> None:
    found = explained(LADDER + shown)
    assert "most likely something else holds part" in found.verdict
    assert found.actions[0].remedy.slug == "see-device-users"


HANDLE = (
    "2021-03-02 10:00:01.000001: E tensorflow/stream_executor/cuda/cuda_blas.cc:226] failed to create cublas"
    " handle: CUBLAS_STATUS_NOT_INITIALIZED\n"
    "InternalError:  Blas GEMM launch failed : a.shape=(16, 30), b.shape=(30, 8), m=16, n=8, k=30\n"
    "\t [[node net/out/MatMul (defined at <ipython-input-7-0a1b2c3d4e5f>:3) ]] [Op:__inference_f_70]\n"
)


def table(*processes: tuple[int, int], used: int = 7900) -> str:
    rows = "".join(f"|    0     {pid}      C   /opt/tf/bin/python   {mib}MiB |\n" for pid, mib in processes)
    return (
        "!nvidia-smi\n| NVIDIA-SMI 450.51       Driver Version: 450.51       CUDA Version: 11.0     |\n"
        "|   0  GeForce RTX 2070    Off  | 00000000:01:00.0  On |                  N/A |\n"
        f"| 30%   41C    P2    32W / 175W |   {used}MiB /  8000MiB |      2%      Default |\n"
        "| Processes:                                                       GPU Memory |\n"
        "|  GPU       PID   Type   Process name                             Usage      |\n"
        f"|=============================================================================|\n{rows}"
    )


def test_a_handle_fails_where_an_earlier_python_holds_the_device() -> None:
    found = explained(HANDLE + table((4001, 7600), (4502, 240)))
    assert "pid 4001" in found.verdict and "most likely this program is pid 4502" in found.verdict
    slugs = [action.remedy.slug for action in found.actions]
    assert slugs[0] == "end-the-process" and "kill 4001" in (found.actions[0].remedy.code or "")
    assert "one-device-each" not in slugs


@pytest.mark.parametrize(
    "processes",
    [
        ((4001, 7600),),  # its own pool
        ((4001, 240), (4502, 7600)),  # the small one was there before
        ((4001, 4500), (4502, 3000)),  # both have a pool
    ],
)
def test_which_process_failed_is_not_guessed_otherwise(processes: tuple[tuple[int, int], ...]) -> None:
    found = explained(HANDLE + table(*processes))
    assert "most likely this program is" not in found.verdict


def test_a_pool_that_the_log_shows_is_the_programs_own() -> None:
    made = (
        "2021-03-02 09:59:59.000001: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1304] Created"
        " TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 7400 MB memory) -> physical"
        " GPU (device: 0, name: GeForce RTX 2070, pci bus id: 0000:01:00.0, compute capability: 7.5)\n"
    )
    found = explained(made + HANDLE + table((4001, 7600), (4502, 240)))
    assert "most likely this program is" not in found.verdict


TX2 = "Jetson TX2, max_workspace_size_bytes={}\ntotalMemory: 7.67GiB freeMemory: 2.20GiB\n{}Killed\n"
REFUSED_BY_CUDA = "E trt_logger.cc:38] DefaultLogger runtime.cpp (24) - Cuda Error in allocate: 2\n"


@pytest.mark.parametrize(
    ("stated", "message"), [("3 << 30", REFUSED_BY_CUDA), ("3 << 30", ""), ("16 << 20", REFUSED_BY_CUDA)]
)
def test_a_workspace_beside_which_a_board_has_no_room(stated: str, message: str) -> None:
    found = explained(TX2.format(stated, message))
    assert "TensorRT may take a workspace" in found.verdict
    smaller = [action for action in found.actions if action.remedy.slug == "smaller-workspace"]
    assert bool(smaller) is (stated == "3 << 30")
    assert ("only about 2.20 GiB of the RAM" in found.verdict) is (stated == "3 << 30")


@pytest.mark.parametrize(
    "text",
    [
        TX2.format("1 << 30", ""),  # which fits
        TX2.format("3 << 30", "").replace("Jetson TX2, ", ""),  # RAM is no GPU's memory elsewhere
        TX2.format("3 << 30", REFUSED_BY_CUDA).replace("max_workspace_size_bytes", "max_batch_size"),
        TX2.format("3 << 30", REFUSED_BY_CUDA).replace("Killed", oom("8,64,64,32")),
    ],
)
def test_a_workspace_is_no_cause_otherwise(text: str) -> None:
    assert "TensorRT may take" not in explained(text).verdict


POOL = (
    "2020-03-01 10:00:02.000001: E tensorflow/stream_executor/cuda/cuda_driver.cc:828] failed to allocate"
    " 10.10G (10844792422 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    "2020-03-01 10:00:03.000001: F tensorflow/stream_executor/cuda/cuda_driver.cc:175] Check failed: err =="
    " cudaSuccess || err == cudaErrorInvalidValue Unexpected CUDA error: out of memory\n"
)
TASKS = (
    "$ python3 mnist.py --job_name={} --task_index=0 &\n$ python3 mnist.py --job_name=worker --task_index=1\n"
)


@pytest.mark.parametrize("job", ["ps", "worker"])
def test_tasks_of_a_cluster_take_the_gpu_from_each_other(job: str) -> None:
    found = explained("TF 1.15\n" + TASKS.format(job) + POOL)
    assert "several processes on one GPU" in found.verdict
    slugs = [action.remedy.slug for action in found.actions]
    assert slugs == ["smaller-fraction", "hide-the-gpu", "growth"]
    assert "tf.train.Server(..., config=tf.ConfigProto" in (found.actions[0].remedy.code or "")


@pytest.mark.parametrize(
    "tasks",
    [
        TASKS.format("ps").replace(" &", ""),  # on another machine, as far as is told
        TASKS.format("ps").replace("python3", "CUDA_VISIBLE_DEVICES=0 python3", 1),
        TASKS.format("ps").replace(" &", " && echo done"),
    ],
)
def test_tasks_that_may_have_a_gpu_each_are_no_cause(tasks: str) -> None:
    assert "several processes" not in explained("TF 1.15\n" + tasks + POOL).verdict


def test_growth_that_the_server_has_is_not_advised_again() -> None:
    text = "TF 1.15\nconfig.gpu_options.allow_growth = True\n" + TASKS.format("ps") + POOL
    assert "growth" not in [action.remedy.slug for action in explained(text).actions]


TAPE = (
    "TF 2.3. With a GRU the python process slowly eats all RAM (16 GB) at the first batch. {}\n\n"
    "    def train_step(self, batch):\n"
    "        with tf.GradientTape(persistent={}) as tape:\n"
    "            loss = self.loss_of(batch)\n"
)


@pytest.mark.parametrize(
    "said", ["With persistent=False the same code trains.", "It works with persistent=False, too."]
)
def test_a_switch_that_the_code_has_the_other_way_is_what_it_hangs_on(said: str) -> None:
    found = explained(TAPE.format(said, "True"))
    assert "it is fine with `persistent=False`" in found.verdict
    slugs = [action.remedy.slug for action in found.actions]
    assert slugs[0] == "no-persistent-tape" and "map-the-file" not in slugs


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("With persistent=False the same code trains.", "False"),  # it runs that already
        ("With persistent=False the same code trains very slowly.", "True"),
        ("With persistent=False it runs out of it as well.", "True"),
        ("I set persistent=False and see no difference.", "True"),
    ],
)
def test_a_switch_decides_nothing_otherwise(said: str, value: str) -> None:
    assert "fine with `persistent" not in explained(TAPE.format(said, value)).verdict


SESSION = (
    "tf 1.4 on the CPU. {}, then Killed.\n\n"
    "for game in range(9000):\n"
    "    while not over:\n"
    "        best = sess.run(tf.argmax(values, 1), {{board: [b]}})\n"
    "        b, over = play(b, best)\n"
)


@pytest.mark.parametrize("said", ["RSS up from 200 MB to 9 GB", "The memory has grown from 0.5 GB to 12 GB"])
def test_memory_that_rose_is_said_to_grow(said: str) -> None:
    found = explained(SESSION.format(said))
    assert "line 5 adds `tf.argmax` to the graph each time it runs" in found.verdict
    assert found.actions[0].remedy.slug != "map-the-file"


@pytest.mark.parametrize(
    "said", ["RSS down from 9 GB to 200 MB", "The memory limit was raised from 4 GB to 12 GB by me"]
)
def test_memory_that_was_lowered_or_allowed_does_not_grow(said: str) -> None:
    assert "growing in words" not in dict(explained(SESSION.format(said)).case.capture.surroundings.purposes)
