"""What the text itself names decides before a shape does: what is restored, who shares, who makes the"
" batch."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tests.findings.pages import explained, first, offered

PREFIX = "2021-04-02 09:11:02.004412: "


def rules(text: str) -> list[str]:
    return [each.rule for each in explained(text).findings]


# A checkpoint that is restored.
RESTORED = (
    "InternalError (see above for traceback): Dst tensor is not initialized.\n"
    "\t [[node save/RestoreV2 (defined at /src/stylist.py:77)  = RestoreV2[dtypes=[DT_FLOAT, DT_FLOAT],"
    ' _device="/job:localhost/replica:0/task:0/device:CPU:0"](_arg_save/Const_0_0,'
    " save/RestoreV2/tensor_names, save/RestoreV2/shape_and_slices)]]\n"
)


def test_a_checkpoint_that_is_restored_has_no_batch() -> None:
    found = offered(RESTORED)
    assert found[0] == "smaller-model"
    assert not {"smaller-batch", "smaller-pipeline", "smaller-input", "growth"} & set(found)


@pytest.mark.parametrize("words", ["--tiny 1 is ok.", "with `--tiny` it works fine"])
def test_a_flag_that_the_text_says_works_comes_first(words: str) -> None:
    assert "--tiny" in first(f"{RESTORED}\n{words}\n")
    assert "--tiny" not in first(f"{RESTORED}\n--tiny is not ok either\n")


# A kernel's gradient of each sample.
def of_a_layer(node: str) -> str:
    return f"from tensorflow import keras\n{oom('2048,900,900', node)}"


def test_a_kernels_gradient_of_each_sample_is_no_logits() -> None:
    code = "h = keras.layers.Dense(900, name='mix_2')(x)\n"
    text = code + of_a_layer("gradient_tape/functional_3/mix_2_1/MatMul/MatMul_1")
    found = explained(text)
    assert found.findings[0].rule == "kernel-gradient-of-each-sample"
    assert "2,048 samples" in found.findings[0].because
    assert found.actions[0].remedy.slug == "flat-before-dense"
    assert not {"sampled-loss", "smaller-vocabulary"} & set(offered(text))


@pytest.mark.parametrize(
    "node",
    [
        "gradient_tape/functional_3/mix_2_1/MatMul/MatMul",  # of the inputs
        "gradient_tape/functional_3/attention/MatMul/MatMul_1",  # of two activations
        "functional_3/mix_2_1/MatMul",
    ],
)
def test_other_products_are_no_kernels_gradient(node: str) -> None:
    assert "kernel-gradient-of-each-sample" not in rules(of_a_layer(node))


# An exact Gaussian process.
SQUARE = (
    f"ResourceExhaustedError: OOM when allocating tensor with shape[9000,9000] and type double on {GPU} by"
    " allocator GPU_0_bfc [Op:Sub]\n"
)


def test_an_exact_process_needs_its_whole_matrix() -> None:
    gp = offered(f"m = gpflow.models.GPR((X, Y), kernel=k)\n{SQUARE}")
    assert gp[0] == "sparse-process"
    assert not {"in-blocks", "single-precision"} & set(gp)
    factor = f"L = tf.linalg.cholesky(D + 0.1 * tf.eye(n))\n{SQUARE}"
    assert "factorised" in (explained(factor).findings[0].because or "")
    assert "in-blocks" in offered(SQUARE)
    assert "matrix-of-a-gaussian-process" not in rules(f"m = gpflow.models.SVGP(k, lik, Z)\n{SQUARE}")


# A batch that a library makes.
SERVED = oom("640,32,128,128", "StatefulPartitionedCall/net/conv_a/Conv2D")


def test_a_library_that_makes_the_batch_is_told_its_cap() -> None:
    text = f"We run predictions = rows | RunInference(handler) over all scans.\n{SERVED}"
    assert offered(text)[0] == "cap-the-batch"
    assert "max_batch_size=128" in first(text)
    assert not {"smaller-input", "smaller-batch"} & set(offered(text))
    assert "cap-the-batch" not in offered(SERVED)
    trained = text + "Epoch 3/10\nmodel.fit(x, y)\n"
    assert "cap-the-batch" not in offered(trained)


# Models that share a pool.
STRAW = oom("1,32,90,90", "Extractor/block_1/BatchNorm/add")


def test_models_that_work_alone_are_not_made_smaller() -> None:
    text = f"Two detectors are loaded in one Flask app. Each of them works fine on its own.\n{STRAW}"
    assert rules(text)[0] == "models-share-a-pool"
    assert offered(text)[0] == "one-model-on-the-cpu"
    assert "smaller-batch" not in offered(text)
    assert "models-share-a-pool" not in rules(f"Each cell works fine on its own.\n{STRAW}")
    assert "models-share-a-pool" not in rules(f"Two detectors. Neither works alone.\n{STRAW}")


# A server that takes the whole card.
TABLE = (
    "nvidia-smi reports 15102MiB / 16160MiB for tensorflow_model_server.\n"
    "docker run --gpus all -p 8501:8501 -e MODEL_NAME=tiny -t tensorflow/serving:latest-gpu\n"
)


def test_a_server_that_takes_the_card_is_given_a_part() -> None:
    text = f"{TABLE}A second container stops with out of memory when I start it.\n"
    assert offered(text)[0] == "part-of-a-server"
    assert "smaller-requests" not in offered(text)
    busy = f"{TABLE}After some requests it runs out of memory.\n"
    assert "part-of-a-server" not in offered(busy)
    set_already = f"{text}--per_process_gpu_memory_fraction=0.3\n"
    assert "part-of-a-server" not in offered(set_already)


# AutoKeras.
def test_autokeras_builds_its_models_itself() -> None:
    text = (
        "I run ak.ImageRegressor(max_trials=5). Memory of the container grows from trial to trial, 30 GB of"
        " RAM, until it is killed with exit code 137.\n"
    )
    assert "clear-session" not in offered(text)
    late = f"{text}All five finish. It happens after the last trial.\n"
    assert offered(late)[0] == "own-validation-data"


# Ranks and figures of a driver.
def made(rank: int, megabytes: int, bus: str) -> str:
    return (
        f"[1,{rank}]<stderr>:{PREFIX}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1326] Created"
        f" TensorFlow device ({GPU} with {megabytes} MB memory) -> physical GPU (device: 0, name: Tesla"
        f" P100-PCIE-16GB, pci bus id: {bus}, compute capability: 6.0)\n"
    )


NO_HANDLE = (
    f"[1,1]<stderr>:{PREFIX}E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn"
    " handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    "[1,1]<stderr>:tensorflow.python.framework.errors_impl.UnknownError: Failed to get convolution"
    " algorithm. This is probably because cuDNN failed to initialize, so try looking to see if a warning log"
    " message was printed above.\n"
)


def test_two_ranks_that_each_take_all_of_one_card() -> None:
    same = made(0, 15100, "0000:00:07.0") + made(1, 15100, "0000:00:07.0") + NO_HANDLE
    found = offered(same)
    assert found[0] == "one-device-each"
    apart = made(0, 15100, "0000:00:07.0") + made(1, 15100, "0000:00:08.0") + NO_HANDLE
    assert offered(apart)[0] != "one-device-each"
    parts = made(0, 5000, "0000:00:07.0") + made(1, 5000, "0000:00:07.0") + NO_HANDLE
    assert "each is to take" not in (explained(parts).findings[0].because or "")


def refused(size: str, count: int) -> str:
    return (
        f"{PREFIX}E tensorflow/compiler/xla/stream_executor/rocm/rocm_driver.cc:606] failed to allocate"
        f" {size} ({count} bytes) from device: HIP_ERROR_OutOfMemory\nEpoch 1/2\n"
        "100/100 [==============================] - 9s 4ms/step - loss: 0.2\nEpoch 2/2\n"
        "100/100 [==============================] - 8s 4ms/step - loss: 0.1\n"
    )


def test_a_figure_that_no_gpu_has_names_no_holder() -> None:
    absurd = refused("64.00TiB", 64 << 40)
    assert "wrong figure" in explained(absurd).findings[0].headline
    assert "see-device-users" not in offered(absurd)
    assert "see-device-users" in offered(refused("60.00GiB", 60 << 30))


def test_what_was_free_as_a_library_says_tells_of_others() -> None:
    small = (
        f"{PREFIX}I tensorflow/core/common_runtime/gpu/gpu_device.cc:1639] Created device {GPU} with 1500 MB"
        " memory:  -> device: 0, name: NVIDIA GeForce RTX 4050 Laptop GPU, pci bus id: 0000:01:00.0, compute"
        " capability: 8.9\n"
        f"{PREFIX}E tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc:445] Could not create cudnn"
        " handle: CUDNN_STATUS_NOT_INITIALIZED\n"
        f"{PREFIX}E tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc:449] Memory usage: 18874368"
        f" bytes"
        " free, 6226444288 bytes total.\n"
        "UnimplementedError: Graph execution error:\n\nDNN library is not found.\n"
        "\t [[{{node sequential/conv2d/Relu}}]] [Op:__inference_train_function_1288]\n"
    )
    assert offered(small)[0] == "see-device-users"
    assert "one-device-each" not in offered(small)
    assert "18.00 MiB was free" in (explained(small).findings[0].because or "")
