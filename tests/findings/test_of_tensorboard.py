"""TensorBoard that finds no room on the GPU needs none; a training that writes for it does."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

REFUSED = (
    "2018-09-11 08:15:02.114000: E tensorflow/core/common_runtime/direct_session.cc:158] Internal: failed"
    " initializing StreamExecutor for CUDA device ordinal 0: Internal: failed call to"
    " cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 11811160064\n"
)
FOUND = (
    "2018-09-11 08:15:01.100000: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1356] Found device 0"
    " with properties:\nname: GeForce GTX 1080 Ti major: 6 minor: 1 memoryClockRate(GHz): 1.582\n"
    "pciBusID: 0000:01:00.0\ntotalMemory: 11.00GiB freeMemory: 9.10MiB\n"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "{}", line 9, in <module>\n    sys.exit(run_main())\n'


@pytest.mark.parametrize("above", ["", FOUND])
@pytest.mark.parametrize(
    "file",
    [
        "/home/kim/env/bin/tensorboard",
        r"c:\py36\Scripts\tensorboard.exe\__main__.py",
        "/usr/lib/python3.6/site-packages/tensorboard/main.py",
    ],
)
def test_its_own_process_is_kept_off_the_gpu(above: str, file: str) -> None:
    report = pipeline.explain(above + REFUSED + TRACEBACK.format(file))
    assert "the process is TensorBoard's own" in report.verdict
    assert report.actions[0].remedy.slug == "keep-off-the-device"
    others = {action.remedy.slug for action in report.actions[1:]}
    assert others <= {"growth"}


@pytest.mark.parametrize("above", ["", FOUND])
@pytest.mark.parametrize(
    "file",
    [
        "train.py",
        "/usr/lib/python3.6/site-packages/tensorboard/plugins/hparams/keras.py",
        "/usr/lib/python3.6/site-packages/torch/utils/tensorboard/writer.py",
        "/home/kim/tensorboard_logs/train.py",
    ],
)
def test_a_training_that_writes_for_it_stays_on_the_gpu(above: str, file: str) -> None:
    report = pipeline.explain(above + REFUSED + TRACEBACK.format(file))
    assert "TensorBoard" not in report.verdict
    assert "see-device-users" in {action.remedy.slug for action in report.actions}


def test_a_traceback_far_below_is_another_failure() -> None:
    report = pipeline.explain(REFUSED + "step\n" * 20 + TRACEBACK.format("/home/kim/env/bin/tensorboard"))
    assert "TensorBoard" not in report.verdict
