"""What happens outside the program: a machine that goes down, a pod that is killed, drivers that differ."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

LOG = "2018-02-08 15:04:21.2: I tensorflow/core/platform/cpu_feature_guard.cc:137] Your CPU supports AVX2\n"


@pytest.mark.parametrize(
    "words",
    [
        "It reports a few out of memory errors, and after an epoch the machine reboots.",
        "When training starts my PC suddenly shuts down.",
        "I call the pipeline with tensorflow and the server reboots, vRAM usage is high before.",
        "Training the larger net on the GPU reboots my computer.",
        "The GPU runs out of memory and then the system restarts.",
    ],
)
def test_a_machine_that_goes_down_is_no_lack_of_memory(words: str) -> None:
    found = explained(LOG + words)
    assert found.findings[0].rule == "machine-restarts"
    assert offered(LOG + words)[:2] == ["cap-the-power", "log-the-hardware"]


@pytest.mark.parametrize(
    "words",
    [
        "I restarted my computer and it still runs out of memory.",
        "After the machine reboots the first run is fine, then GPU memory runs out.",
        "The tensorflow server restarts when its memory is full.",
        "The kernel restarts, out of memory.",
        "It runs out of GPU memory. Rebooting did not help.",
        "I turn off the computer at night; the training runs out of memory.",
    ],
)
def test_a_restart_of_the_writer_is_none_of_the_machine(words: str) -> None:
    assert not any(finding.rule == "machine-restarts" for finding in explained(LOG + words).findings)


def test_memory_that_is_told_besides_is_another_matter() -> None:
    words = "With batch 64 it reports out of memory errors.\nThen the machine reboots."
    assert "what line 2 says of memory is another matter" in explained(LOG + words).findings[0].headline


POD = "kubectl get pods: tensorflow training restarts\ncommand terminated with exit code 137\n"


def test_a_pod_has_words_and_tools_of_its_own() -> None:
    assert "kubectl describe pod" in first(POD)
    assert "kubectl" not in first(POD.replace("kubectl get pods: t", "T"))


def test_a_pods_limit_is_raised_where_it_is_set() -> None:
    killed = "Reason: OOMKilled\nlimits.memory=6Gi\n"
    assert "memory: 12Gi" in first(f"tensorflow in kubernetes\n{killed}")
    unknown = "Reason: OOMKilled\ntensorflow in a pod\n"
    assert "kubectl top pod" in first(unknown)
    assert "docker run --memory=12g" in first("docker run --memory=6g train\nReason: OOMKilled\n")


def test_a_java_service_that_swaps_models_needs_room_for_two() -> None:
    text = (
        "TF Java pods get OOMKilled after a new model was loaded and the old one closed; Java heap is 70%.\n"
    )
    assert offered(text)[:2] == ["close-models", "room-beside-the-heap"]


def test_shared_memory_of_a_pod_is_a_volume() -> None:
    line = "[3] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
    assert "--shm-size" in first(line)
    assert "emptyDir" in first(f"started with kubeflow\n{line}")
    assert "disk was full" not in explained(line).findings[0].headline
    assert "disk was full" in explained("OSError: [Errno 28] No space left on device\n").findings[0].headline


MISMATCH = "E cuda_diagnostics.cc:303] kernel version 384.130.0 does not match DSO version 375.66.0 -- cannot"


def test_a_driver_of_two_releases_is_no_lack_of_memory() -> None:
    found = explained(LOG + MISMATCH).findings[0]
    assert "different releases" in found.headline and "restart the machine" in first(LOG + MISMATCH)
    same = MISMATCH.replace("does not match", "matches")
    assert not any("different releases" in finding.headline for finding in explained(LOG + same).findings)


def test_a_gpu_that_is_not_there_ends_no_run() -> None:
    text = "E cuda_driver.cc:318] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device\n"
    assert "runs on the CPU" in explained(text).findings[0].headline


@pytest.mark.parametrize(
    ("said", "slugs"),
    [
        ("failed call to cuInit: CUDA_ERROR_UNKNOWN\n", ["check-the-device"]),
        ("CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2\n", []),
    ],
)
def test_where_the_driver_shows_no_gpu_there_is_a_step(said: str, slugs: list[str]) -> None:
    report = explained("E tensorflow/stream_executor/cuda/cuda_driver.cc:509] " + said)
    assert [action.remedy.slug for action in report.actions] == slugs
    assert report.verdict.startswith("No lack of memory" if slugs else "No failure")
