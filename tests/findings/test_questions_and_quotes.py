"""Questions and quoted warnings that tell of no failure, and kernels that fail without a lack."""

from __future__ import annotations

import pytest

from tests.findings import pages

_QUOTE = (
    "My GPU has 12 GiB. When I train with 'python train.py' there is a warning: \"Ran out of memory trying to"
    " allocate 3.19GiB. The caller indicates that this is not a failure, but may mean that there could be"
    ' performance gains if more memory is available.". It still runs.\n'
)


def test_a_quoted_warning_is_no_failure() -> None:
    findings = pages.explained(_QUOTE).findings
    assert findings[0].rule == "soft-warnings-only"
    assert "3.19 GiB" in findings[0].headline


def test_a_lack_told_in_words_is_no_warning() -> None:
    text = (
        "With batch 64 it ran out of memory trying to allocate 3.19GiB, and training with TensorFlow stops.\n"
    )
    assert "soft-warnings-only" not in {finding.rule for finding in pages.explained(text).findings}


@pytest.mark.parametrize(
    "question",
    [
        "Hi, how much GPU memory do I need to train this model (TensorFlow)? Any suggestions?\n",
        "How much memory does it take to train the TensorFlow model? Will 11 GB of GPU memory be enough?\n",
    ],
)
def test_what_a_training_needs_is_estimated(question: str) -> None:
    first = pages.explained(question).findings[0]
    assert "no failure is told" in first.headline
    assert [remedy.slug for remedy in first.remedies] == ["see-real-use"]


def test_a_question_beside_a_failure_is_not_the_matter() -> None:
    text = (
        "How much GPU memory do I need to train this model?\n"
        "ResourceExhaustedError: OOM when allocating tensor with shape[32,1024,1024,64] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    assert not any("no failure is told" in finding.headline for finding in pages.explained(text).findings)


def test_a_crashed_kernel_is_looked_for_in_the_hardware_first() -> None:
    text = (
        "2018-06-27 21:10:37.421165: E tensorflow/stream_executor/cuda/cuda_driver.cc:1110] could not"
        " synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED :: No stack trace available\n"
    )
    first = pages.explained(text).findings[0]
    assert first.remedies[0].slug == "log-the-hardware"


def test_an_end_that_asks_a_closed_driver_is_no_lack() -> None:
    text = (
        "2017-03-17 00:24:34.693612: step 9990, loss = 0.79 (208.4 examples/sec; 0.307 sec/batch)\n"
        "E tensorflow/stream_executor/cuda/cuda_event.cc:49] Error polling for event status: failed to query"
        " event: CUDA_ERROR_DEINITIALIZED\n"
    )
    first = pages.explained(text).findings[0]
    assert "shut down" in first.headline
    assert first.remedies[0].slug == "mend-the-error"


_GEMV = "tensorflow.python.framework.errors_impl.InternalError: Blas GEMV launch failed:  m=2, n=100\n"


@pytest.mark.parametrize(("part", "slug"), [("0.333", "see-device-users"), ("0.95", "growth")])
def test_growth_is_not_advised_where_the_pool_leaves_room(part: str, slug: str) -> None:
    text = f"{_GEMV}gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction={part})\n"
    slugs = [remedy.slug for finding in pages.explained(text).findings for remedy in finding.remedies]
    assert slug in slugs
    assert ("growth" in slugs) == (slug == "growth")


@pytest.mark.parametrize(
    "words",
    [
        "The TensorFlow training hangs after some epochs, no message, memory stays at 7.3 GB.",
        "The TensorFlow training stops here and makes no more progress, with no error in the terminal.",
    ],
)
def test_a_program_that_stands_still_did_not_end(words: str) -> None:
    first = pages.explained(f"{words}\n").findings[0]
    assert "stands still" in first.headline
    assert [remedy.slug for remedy in first.remedies] == ["where-it-stands"]


def test_a_program_that_gets_slow_lacks_no_memory() -> None:
    text = (
        "With TensorFlow the GPU utilization falls to 0%, although neither VRAM nor RAM is exhausted. It"
        " slows from 35ms/step to minutes per step.\n"
    )
    first = pages.explained(text).findings[0]
    assert "gets slow" in first.headline
    assert first.remedies[0].slug == "log-the-hardware"


def test_memory_that_is_exhausted_is_not_denied() -> None:
    text = "Neither trick helps with TensorFlow. Host RAM is exhausted after an hour.\n"
    assert "host RAM" in pages.explained(text).verdict


def test_a_limit_at_its_most_is_not_raised() -> None:
    error = "slurmstepd: error: Job 7518 exceeded memory limit (626359956 > 512000000), being killed\n"
    training = "model.fit(x, y, epochs=3)\n"
    assert "raise-container-limit" in pages.offered(training + error)
    most = "I already set max memory, that SLURM allows.\n"
    assert "raise-container-limit" not in pages.offered(training + error + most)


def test_a_driver_of_two_releases_needs_a_restart() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nTensorFlow then trains on the CPU.\n"
    assert pages.offered(text) == ["matching-driver"]


def test_a_crash_after_many_epochs_is_no_library_that_does_not_match() -> None:
    code = "Process finished with exit code -1073740791 (0xC0000409)\n"
    assert pages.offered(f"TensorFlow.\n{code}")[0] == "matching-driver"
    late = pages.offered(f"TensorFlow training on one GPU; it comes after 275 epochs.\n{code}")
    assert late == ["watch-ram", "find-the-crash"]


@pytest.mark.parametrize(
    ("place", "offers"),
    [
        ("I run it in a docker.", True),
        ("I run it inside my singularity container.", True),
        ("I run it on my PC.", False),
        ("I use the docker documentation.", False),
    ],
)
def test_a_container_has_a_limit_of_its_own(place: str, offers: bool) -> None:
    killed = "Training with TensorFlow, the process gets killed after a few iterations.\n"
    assert (pages.offered(f"{killed}{place}\n")[0] == "container-limit") is offers


def test_workers_that_stay_become_threads() -> None:
    stays = "Some processes are still running and tensorflow still occupies my GPU memory.\n"
    forks = "I use multiprocessing=True (fit_generator) with tensorflow.\n"
    assert "fewer-forks" in pages.offered(forks + stays)
    assert pages.offered("I use tensorflow.\n" + stays) == ["end-what-is-left", "reload-the-driver"]


def test_the_plug_in_of_intel_is_tensorflow() -> None:
    dump = (
        "2024-06-27 16:10:04.010295: I external/tsl/tsl/framework/bfc_allocator.cc:1129] Stats:\n"
        "Limit:                      7487535513\nInUse:                       538648576\n"
        "MaxInUse:                    956967680\nNumAllocs:                         297\n"
        "MaxAllocSize:                485714176\n"
    )
    named = pages.explained("intel_extension_for_tensorflow 2.15.0.0\n" + dump)
    assert not any("jax" in (action.remedy.code or "") for action in named.actions)
