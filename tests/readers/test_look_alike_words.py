"""Words that memory shares with others: quotas, disks, jobs of a shell, programs without Python."""

from __future__ import annotations

import pytest

from tfmemlens import attribution, findings
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.readers.formats import oom_log

_JOB = "2019-01-01 10:00:00.000001: I convert_graph.cc:928] Number of candidate segments: 1\n"


def _case(text: str) -> Case:
    return attribution.attribute(oom_log.read_lines(list(enumerate(text.split("\n"), 1))))


def _told(text: str) -> str:
    return " ".join(each.headline for each in findings.examine(_case(text)).findings)


@pytest.mark.parametrize(
    "text",
    [
        "ResourceExhausted: 429 Quota exceeded for aiplatform requests",
        '\tstatus = StatusCode.RESOURCE_EXHAUSTED\n\tdetails = "Quota exceeded for metric x"',
        "RESOURCE_EXHAUSTED: You exceeded your current quota, see your plan",
    ],
)
def test_a_quota_of_calls_is_no_disk(text: str) -> None:
    assert "a cloud service's quota" in _told(text)
    assert "disk quota" not in _told(text)


def test_a_quota_of_a_file_system_is_one() -> None:
    for text in (
        "OSError: [Errno 122] Disk quota exceeded",
        "ResourceExhaustedError: home quota exceeded [Op:SaveV2]",
    ):
        assert "the disk quota was used up" in _told(text)
        assert "cloud" not in _told(text)


def test_a_quota_that_nobody_names_is_no_disk() -> None:
    assert "disk quota" not in _told("API error: quota exceeded, try again later")


def test_a_semaphore_lies_in_shared_memory() -> None:
    warned = "UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode"
    assert "(/dev/shm) was too small" in _told(f"OSError: [Errno 28] No space left on device\n{warned}")
    assert "(/dev/shm) was too small" in _told("SemLock(OSError: [Errno 28] No space left on device")
    saved = "OSError: [Errno 28] No space left on device: 'weights.h5'"
    assert "the disk was full" in _told(saved)


@pytest.mark.parametrize(
    "line",
    [
        "[1]    4242 killed     python3 convert.py --model ssd",
        "[1]  + 4242 killed     python train.py",
        "[2]+  Killed                  CUDA_VISIBLE_DEVICES=0 python train.py",
    ],
)
def test_a_job_that_was_killed(line: str) -> None:
    assert "no host RAM left" in _told(_JOB + line)


def test_another_job_that_was_killed_or_ended() -> None:
    assert not _told(f"{_JOB}[1]    4242 killed     firefox")
    assert not _told(f"{_JOB}[1]+  Done                    python train.py")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("The Java TensorFlow library leaks GPU memory", "Java"),
        ("built with tensorflow-core-platform-gpu:0.4.0", "Java"),
        ("Are you using the Triton container?", "Triton"),
        ("Out of memory in the C++ API", "C++"),
        ("The GPU's memory stays with our Java program", "Java"),
        ("YARN killed the Java process of Spark", None),
        ("consider the C++ shape function of this op", None),
        ("the Triton GEMM fusion of XLA ran out of memory", None),
        ("a platform for tensorflow, not JavaScript", None),
    ],
)
def test_programs(text: str, program: str | None) -> None:
    assert situation(_case(text)).program == program


def _actions(text: str) -> str:
    return " ".join(each.remedy.text for each in findings.examine(_case(text)).actions)


_SLOT = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[16384,1024] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    " [[{{node training/Adam/Variable_9/Assign}} = Assign[T=DT_FLOAT]]]"
)


def test_who_configures_a_program_changes_no_layer() -> None:
    ours = _actions(_SLOT)
    theirs = _actions(f'File "C:\\DeepFaceLabCUDA10\\models\\ModelBase.py", line 9, in init\n{_SLOT}')
    assert "pool before the layer" in ours
    assert "pool before the layer" not in theirs
    assert "the program's own settings" in theirs


def test_a_full_map_is_of_the_own_pool() -> None:
    message = "Resource exhausted: OOM when allocating tensor with shape[3,3,512,1024]"
    stars = f"W tensorflow/core/common_runtime/bfc_allocator.cc:277] {'*' * 100}\n"
    some = f"W tensorflow/core/common_runtime/bfc_allocator.cc:277] {'*' * 60}{'_' * 40}\n"
    assert "what holds it before your run starts" not in _actions(stars + message)
    assert "what holds it before your run starts" in _actions(some + message)
    assert "the program's own settings" in _actions(f"faceswap on a small card\n{stars}{message}")


def test_chinese_advice_sets_nothing() -> None:
    thread = "# OOM\n\nan · description · 2020-01-01\n{}\n\nbo · comment · 2020-01-02\n{}\n"
    advice = "\u628abatch_size\u8c03\u4e3a1\uff0cbatch_size=1"
    told = _case(thread.format("OOM when allocating tensor with shape[2,256,72,72]", advice))
    assert told.capture.surroundings.setting("batch_size") is None
    own = _case(thread.format("OOM when allocating tensor with shape[1,256,72,72], batch_size=1", "same"))
    assert own.capture.surroundings.setting("batch_size") is not None


def test_triton_serves_fewer_at_once() -> None:
    asked = (
        "Triton container 20.03\nWith several models loaded and called at once the GPU runs out of memory."
    )
    assert "fewer models and instances" in _actions(asked)
    assert "clear what it keeps" not in _actions(asked)
    assert "fewer models and instances" not in _actions("My training runs out of GPU memory.")


def test_a_cudnn_that_jax_was_not_built_for() -> None:
    found = (
        "CUDA backend failed to initialize: Found cuDNN version 8700, but JAX was built against version 8905"
    )
    assert "cuDNN's version is not the one" in _told(found)
    assert "JAX's wheels" in _actions(found)
    assert "cuDNN's version" not in _told("CUDA backend failed to initialize: no device")


def test_growth_to_an_end_is_no_pool() -> None:
    grows = "In each round the GPU memory is not released and {}."
    assert "own pool" not in _told(grows.format("keeps increasing until an exception comes"))
    assert "pool of TensorFlow's own" not in _told(grows.format("keeps increasing until it crashes"))
    stays = "GPU memory is not released after the session is closed."
    assert "keeps the pool until its process ends" in _actions(stays)


def test_models_side_by_side_come_not_one_after_another() -> None:
    assert "what Keras keeps of the models before" not in _told(
        "Running many models at the same time gives OOM."
    )
    assert "what Keras keeps of the models before" in _told("Training many models in a loop gives OOM.")
