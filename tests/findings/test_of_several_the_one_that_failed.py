"""Of several devices, workers and lines the one that failed is shown."""

from __future__ import annotations

from tests.findings.logs import oom
from tests.findings.test_texts_of_strangers import explained


def created(number: int, mib: int) -> str:
    return (
        f"Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:{number} with {mib} MB"
        f" memory) -> physical GPU (device: {number}, name: Tesla V100-PCIE-16GB, pci bus id:"
        f" 0000:3{number}:00.0, compute capability: 7.0)\n"
    )


def copied_to(number: int) -> str:
    place = "/job:localhost/replica:0/task:0/device:GPU"
    return (
        f"InternalError: Failed copying input tensor from {place}:0 to {place}:{number} in order to run"
        " Identity: Dst tensor is not initialized. [Op:Identity]\n"
    )


def test_the_pool_is_that_of_the_gpu_that_failed() -> None:
    log = created(0, 2870) + created(1, 61)
    assert "got only 61.00 MiB" in explained(log + copied_to(1)).verdict
    assert "got only 2.80 GiB" in explained(log + copied_to(0)).verdict


def test_a_heading_is_not_what_failed() -> None:
    title = "model_main_tf2 and two V100: Dst tensor is not initialized\n"
    failed = explained(title + created(1, 61) + copied_to(1)).case.moments[0].request
    assert failed is not None and failed.failed.line is not None and failed.failed.line.number == 3
    alone = explained("InternalError: Dst tensor is not initialized.\n" * 2).case.moments[0].request
    assert alone is not None and alone.failed.line is not None and alone.failed.line.number == 1


def failed_on(job: str, task: int) -> str:
    return (
        oom("65536,16384", "", on=f"/job:{job}/replica:0/task:{task}/device:GPU:0").partition("\n")[0] + "\n"
    )


def test_of_several_workers_the_first_to_fail_is_shown() -> None:
    device = _device(failed_on("worker", 1) + failed_on("worker", 0))
    assert device is not None and "task:1" in device
    shapes = oom("8,64,64,3", "net/a/Relu") + "step 2\n" + oom("9,64,64,3", "net/b/Relu")
    request = explained(shapes).case.moments[0].request  # of one process the last
    assert request is not None and request.failed.node == "net/b/Relu"


def _device(text: str) -> str | None:
    request = explained(text).case.moments[0].request
    return request.failed.device if request else None
