"""What people paste: the log lines of public threads, cut down to what matters, and the facts that must come out."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens import pipeline
from tfmemlens.renderers import json_document

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "a constant that was copied at start, TF 1.0": (
        """MaxAllocSize:              3538944

W tensorflow/core/common_runtime/bfc_allocator.cc:274] *********___________________________________________________________________________________________
W tensorflow/core/common_runtime/bfc_allocator.cc:275] Ran out of memory trying to allocate 144.00MiB.  See logs for memory state.
W tensorflow/core/framework/op_kernel.cc:965] Internal: Dst tensor is not initialized.
E tensorflow/core/common_runtime/executor.cc:390] Executor failed to create kernel. Internal: Dst tensor is not initialized.
\t [[Node: Variable_10/initial_value = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [9216,4096] values: [-0.0043384791 -0.0071635786]...>, """
        """_device="/job:localhost/replica:0/task:0/gpu:0"]()]]
""",
        {"node": "Variable_10/initial_value", "op": "Const", "shape": [9216, 4096], "dtype": "float32", "tensor_bytes": 150994944},
    ),
    "a sentence without a dtype: the node has it": (
        "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[123008,500] [[Node: training_10/Adam/mul_23 = "
        'Mul[T=DT_FLOAT, _device="/job:localhost/replica:0/task:0/device:GPU:0"](Adam/beta_2/read, training_10/Adam/Variable_14/read)]]\n',
        {"node": "training_10/Adam/mul_23", "shape": [123008, 500], "dtype": "float32", "tensor_bytes": 246016000},
    ),
    "a comparison yields booleans": (
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,1000]\n\t [[Node: acc/Equal = Equal[T=DT_INT64](acc/ArgMax, acc/ArgMax_1)]]\n",
        {"dtype": "bool", "tensor_bytes": 64000},
    ),
    "the second telling is cut inside its dtype": (
        f"""ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[64,2016,9,9] and type float on {GPU} by allocator GPU_0_bfc
     [[Node: SecondStageFeatureExtractor/cell_12/AvgPool_1 = AvgPool[T=DT_FLOAT, data_format="NCHW"](SecondStageFeatureExtractor/cell_12/strided_slice)]]
INFO:tensorflow:Error reported to Coordinator: <class 'tensorflow.python.framework.errors_impl.ResourceExhaustedError'>, OOM when allocating tensor with """
        "shape[64,2016,9,9] and type flo\n",
        {"layer": "SecondStageFeatureExtractor/cell_12", "dtype": "float32", "device": GPU, "occurrences": 2},
    ),
    "a node tag is cut": (
        "ResourceExhaustedError: OOM when allocating tensor with shape[1,1024,51,38]\n"
        '\t [[Node: First/resnet/block3/conv3/BatchNorm/FusedBatchNorm = FusedBatchNorm[T=DT_FLOAT, data_format="NHWC", epsilon=1.001e-05, is_tr\n',
        {"layer": "First/resnet/block3/conv3/BatchNorm", "op": "FusedBatchNorm", "dtype": "float32"},
    ),
    "an eager copy whose message ends in its op": (
        f"`InternalError: Failed copying input tensor from {CPU} to {GPU} in order to run GatherV2: Dst tensor is not initialized. [Op:GatherV2]`\n",
        {"kind": "copy to a device", "op": "GatherV2", "device": GPU},
    ),
    "a copy inside a Python function": (
        f"RuntimeError: Error copying tensor to device: {GPU}. Dst tensor is not initialized.\n\n\n\t [[{{{{node EagerPyFunc}}}}]]\n0 successful operations.\n",
        {"kind": "copy to a device", "node": "EagerPyFunc", "device": GPU},
    ),
    "no algorithm, with layer and line": (
        "NotFoundError:  No algorithm worked!\n\t [[node functional_1/conv2d/Conv2D (defined at train.py:31) ]] [Op:__inference_train_function_2021]\n",
        {"kind": "library workspace", "layer": "functional_1/conv2d", "source": "train.py:31"},
    ),
    "cuDNN's handle, quoted": (
        """> 2020-04-25 13:06:37.948473: E tensorflow/stream_executor/cuda/cuda_dnn.cc:334] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR
> tensorflow.python.framework.errors_impl.UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize
> \t [[{{node FlowNet2/FlowNetSD/conv0/Conv2D}}]]
""",
        {"kind": "library workspace", "layer": "FlowNet2/FlowNetSD/conv0"},
    ),
    "cuBLAS's handle": (
        "E tensorflow/stream_executor/cuda/cuda_blas.cc:366] failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED\n",
        {"kind": "library workspace"},
    ),
    "an elementwise kernel": (
        "tensorflow/core/framework/op_kernel.cc:1733] RESOURCE_EXHAUSTED: failed to allocate memory\nMessage: failed to allocate memory\n",
        {"kind": "tensor", "occurrences": 2},
    ),
    "numpy's array": (
        "numpy.core._exceptions.MemoryError: Unable to allocate 7.91 GiB for an array with shape (1396913, 190, 4) and data type float64\n",
        {"kind": "host memory", "shape": [1396913, 190, 4], "dtype": "float64", "tensor_bytes": 1396913 * 190 * 4 * 8},
    ),
    "numpy's array inside the input pipeline": (
        "  (1) Resource exhausted:  MemoryError: Unable to allocate 4.00 MiB for an array with shape (512, 512, 2) and data type float64\n"
        "\n\t [[{{node PyFunc}}]]\n",
        {"kind": "host memory", "shape": [512, 512, 2], "node": "PyFunc"},
    ),
    "a fetched array": (
        "W tensorflow/core/framework/op_kernel.cc:993] Internal: Failed to allocate np array: [37,640,853]\n",
        {"kind": "host memory", "shape": [37, 640, 853]},
    ),
    "a driver that tells no bytes": (
        "failed to allocate 8.00G from device: hipError_t(1002)\n",
        {"kind": "driver allocation"},
    ),
    "bad_alloc is told once": (
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted\n",
        {"kind": "host memory", "occurrences": 1},
    ),
}


def explained(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json_document.document(pipeline.explain(text + "\n"))
    return document


@pytest.mark.parametrize("name", CASES)
def test_the_paste_is_understood(name: str) -> None:
    text, facts = CASES[name]
    document = explained(text)
    incident = document["incidents"][0]
    found = {**incident["request"], "occurrences": incident["occurrences"]}
    assert {key: found.get(key) for key in facts} == facts
    assert not [note for note in document["notes"] if "not understood" in note["text"]]
    assert len(document["incidents"]) == 1


NOTHING = {
    "PyTorch": ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.71 GiB (GPU 0; 6.00 GiB total capacity)", "PyTorch"),
    "CuPy": ("cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 200000000000 bytes (total 200000004096 bytes)", "CuPy"),
    "a large request": (
        "W tensorflow/core/framework/allocator.cc:101] Allocation of 179437568 exceeds 10% of system memory.",
        "171.12 MiB at once, and got it",
    ),
    "a crash": ("Fatal Python error: Segmentation fault\nSegmentation fault (core dumped)", "crash"),
    "training": ("Epoch 1/10\n100/100 [====] - 3s 30ms/step - loss: 0.31 - acc: 0.91", "No sign"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_no_failure_of_ours_is_said_so(name: str) -> None:
    text, word = NOTHING[name]
    report = pipeline.explain(text + "\n")
    assert word in report.verdict
    assert not report.case.moments
