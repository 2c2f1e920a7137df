"""What a text does not show is not concluded: near misses beside each."""

from __future__ import annotations

from tests.findings.pages import explained, first, offered

START = (
    "2024-01-02 03:04:05.100000: I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary"
    " is optimized with oneAPI Deep Neural Network Library (oneDNN)\n"
)
REFUSED = (
    "2019-01-02 03:04:05.1: E tensorflow/stream_executor/rocm/rocm_driver.cc:630] failed to allocate 6.00G"
    " (6442450944 bytes) from device: hipError_t(1002)\n"
)
DELEGATE = "TfLiteGpuDelegate Invoke: ToTensorConverter: input data size does not match expected size.\n"
NO_OPENCL = "IllegalArgumentException: OpenCL library not loaded - dlopen failed\n"


def test_a_message_of_the_start_is_no_verdict_beside_words_of_a_crash() -> None:
    assert explained(START).verdict.startswith("No failure")
    page = explained("The plug-in takes too much, which leads to kernel crashes.\n" + START)
    assert "no message of a failure" in page.verdict.lower() and "line 1" in page.verdict


def test_an_end_that_the_title_tells_is_named_and_its_message_missed() -> None:
    assert "whether one ended, and how, is not" in explained("Slow start\n\n" + REFUSED).verdict
    assert "line 1 tells of an end" in explained("A workspace causing TF to crash\n\n" + REFUSED).verdict


def test_an_allocator_is_known_by_its_own_words() -> None:
    frames = "cupy/cuda/memory.pyx in cupy.cuda.memory.alloc()\n"
    error = "OutOfMemoryError: out of memory to allocate 80000000 bytes (total 640000000 bytes)\n"
    assert "CuPy's" in explained(frames + error).verdict
    jax = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 80000000 bytes.\n"
    assert "CuPy" not in explained(jax).verdict


def test_a_fallback_is_no_end() -> None:
    assert offered(NO_OPENCL + "    Falling back to OpenGL\n" + DELEGATE) == ["matching-input"]
    assert "OpenCL" in explained(NO_OPENCL).verdict


def test_a_killed_container_is_asked_for_its_limit_before_its_pipeline() -> None:
    killed = "docker training exited with code 137\n"
    slugs = offered(killed)
    assert slugs[0] == "container-limit" and "smaller-pipeline" not in slugs
    assert "smaller-pipeline" in offered("ds = ds.shuffle(100000).batch(8)\n" + killed)


def test_what_is_advised_to_another_is_no_comparison() -> None:
    text = (
        "My pod gets killed.\n\nIf you're using a cluster you can get a graph of memory that works and see if"
        " memory increases when it is running.\n\nThe node was low on resource: memory.\n"
    )
    assert "compares" not in explained(text).verdict


def test_a_wish_to_reload_loads_no_second_version() -> None:
    wish = "How should I restart / reload my model in tensorflow serving when it goes OOM on the GPU?\n"
    assert "room-for-two-versions" not in offered(wish)
    grows = "How can I reload a model in tensorflow serving? Memory grows each time that I do.\n"
    assert "another-malloc" in offered(grows) and "another-malloc" not in offered(wish)
    told = "tensorflow serving goes OOM in the container when a new version of the model is loaded\n"
    assert "room-for-two-versions" in offered(told)


def test_a_board_shares_its_ram_and_a_library_of_pytorch_is_no_tensorflow() -> None:
    error = "CUDA_ERROR_OUT_OF_MEMORY\n"
    assert "share the RAM of this Jetson" in explained("I use a Jetson TX2.\n" + error).verdict
    page = explained(error + "[2026-01-02 03:04:05] sglang_worker.py:77 - request ended\n")
    assert "PyTorch's" in page.verdict and all(each.remedy.slug != "growth" for each in page.actions)
    assert "PyTorch" not in explained(error).verdict


def test_a_fit_that_fails_at_once_gets_a_smaller_batch() -> None:
    assert "batchSize" in first("tfjs-node: the call to model.fit() runs out of memory on the GPU\n")
    assert "xs and ys" in first("GPU memory grows with tfjs. await model.fit(xs, ys)\n")
