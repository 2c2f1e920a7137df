"""What people paste: the log lines of public threads, cut down to what matters, and the facts that must come
out.
"""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens import pipeline
from tfmemlens.renderers.json import report as report_document

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
        {
            "node": "Variable_10/initial_value",
            "op": "Const",
            "shape": [9216, 4096],
            "dtype": "float32",
            "tensor_bytes": 150994944,
        },
    ),
    "a sentence without a dtype: the node has it": (
        (
            "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with"
            " shape[123008,500] [[Node: training_10/Adam/mul_23 = Mul[T=DT_FLOAT,"
            ' _device="/job:localhost/replica:0/task:0/device:GPU:0"](Adam/beta_2/read,'
            " training_10/Adam/Variable_14/read)]]\n"
        ),
        {
            "node": "training_10/Adam/mul_23",
            "shape": [123008, 500],
            "dtype": "float32",
            "tensor_bytes": 246016000,
        },
    ),
    "a sum of gradients stands beside the op that they belong to": (
        (
            "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with"
            " shape[1455878,256]\n\t [[Node: training/gradients/AddN_96 = AddN[N=3, T=DT_FLOAT,"
            ' _class=["loc:@transformer/parallel_0_5/transformer/symbol_modality_1455878_256_2/shared/concat"]](training/gradients/a,'
            " training/gradients/b)]]\n"
        ),
        {
            "layer": "transformer/parallel_0_5/transformer/symbol_modality_1455878_256_2/shared",
            "phase": "gradient",
            "tensor_bytes": 1455878 * 256 * 4,
        },
    ),
    "a buffer of DirectML's kernels, as its sources word the message": (
        (
            "ResourceExhaustedError: OOM when allocating a buffer of 805306368 bytes\n\t [[{{node"
            " model/conv2d_3/Conv2D}}]]\n"
        ),
        {"node": "model/conv2d_3/Conv2D", "layer": "model/conv2d_3", "rounded_bytes": 805306368},
    ),
    "a comparison yields booleans": (
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[64,1000]\n\t [[Node: acc/Equal ="
            " Equal[T=DT_INT64](acc/ArgMax, acc/ArgMax_1)]]\n"
        ),
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
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[1,1024,51,38]\n\t [[Node:"
            " First/resnet/block3/conv3/BatchNorm/FusedBatchNorm = FusedBatchNorm[T=DT_FLOAT,"
            ' data_format="NHWC", epsilon=1.001e-05, is_tr\n'
        ),
        {"layer": "First/resnet/block3/conv3/BatchNorm", "op": "FusedBatchNorm", "dtype": "float32"},
    ),
    "an eager copy whose message ends in its op": (
        (
            f"`InternalError: Failed copying input tensor from {CPU} to {GPU} in order to run GatherV2: Dst"
            " tensor is not initialized. [Op:GatherV2]`\n"
        ),
        {"kind": "copy to a device", "op": "GatherV2", "device": GPU},
    ),
    "a copy inside a Python function": (
        (
            f"RuntimeError: Error copying tensor to device: {GPU}. Dst tensor is not initialized.\n\n\n\t"
            " [[{{node EagerPyFunc}}]]\n0 successful operations.\n"
        ),
        {"kind": "copy to a device", "node": "EagerPyFunc", "device": GPU},
    ),
    "no algorithm, with layer and line": (
        (
            "NotFoundError:  No algorithm worked!\n\t [[node functional_1/conv2d/Conv2D (defined at"
            " train.py:31) ]] [Op:__inference_train_function_2021]\n"
        ),
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
        (
            "E tensorflow/stream_executor/cuda/cuda_blas.cc:366] failed to create cublas handle:"
            " CUBLAS_STATUS_NOT_INITIALIZED\n"
        ),
        {"kind": "library workspace"},
    ),
    "an elementwise kernel": (
        (
            "tensorflow/core/framework/op_kernel.cc:1733] RESOURCE_EXHAUSTED: failed to allocate"
            " memory\nMessage: failed to allocate memory\n"
        ),
        {"kind": "tensor", "occurrences": 2},
    ),
    "numpy's array": (
        (
            "numpy.core._exceptions.MemoryError: Unable to allocate 7.91 GiB for an array with shape"
            " (1396913, 190, 4) and data type float64\n"
        ),
        {
            "kind": "host memory",
            "shape": [1396913, 190, 4],
            "dtype": "float64",
            "tensor_bytes": 1396913 * 190 * 4 * 8,
        },
    ),
    "numpy's array inside the input pipeline": (
        (
            "  (1) Resource exhausted:  MemoryError: Unable to allocate 4.00 MiB for an array with shape"
            " (512, 512, 2) and data type float64\n\n\t [[{{node PyFunc}}]]\n"
        ),
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
    "one-hot vectors look up an embedding": (
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[25000,30522] and type float on"
            f" {GPU} by allocator GPU_0_bfc\n\t [[{{{{node bert/embeddings/one_hot}}}}]]\n"
        ),
        {"layer": "bert/embeddings", "op": "OneHot"},
    ),
    "a tag in three lines, TF 2.7": (
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[5,64,4890,4890] and type float on"
            f" {GPU} by allocator GPU_0_bfc\n[[node sequential/conv2d/Relu\n(defined at"
            " /usr/local/lib/python3.7/dist-packages/keras/backend.py:4867)\n]]\nBelow is my code:\n"
        ),
        {"layer": "sequential/conv2d", "op": "Relu"},
    ),
    "the deepest line of the user's code": (
        f"""ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[1,768,768,64] and type float on {GPU} by allocator GPU_0_bfc
Caused by op 'model_1_2/conv4/convolution', defined at:
  File "server.py", line 4, in <module>
    from ai import *
  File "C:\\work\\style2paints\\server\\ai.py", line 79, in <module>
    noise_tail_op = noise_tail(tf.pad(ip3 / 255.0, 'REFLECT'))
  File "C:\\ProgramData\\Anaconda3\\lib\\site-packages\\keras\\engine\\topology.py", line 619, in __call__
    output = self.call(inputs, **kwargs)
""",
        {"node": "model_1_2/conv4/convolution", "source": "C:\\work\\style2paints\\server\\ai.py:79"},
    ),
    "the cause stands before the sentence": (
        f"""Caused by op 'decoder/while/cell_1/dropout_1/random_uniform/RandomUniform', defined at:
  File "train.py", line 138, in <module>
    main()
ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[32,1024] and type float on {GPU} by allocator GPU_0_bfc
""",
        {"node": "decoder/while/cell_1/dropout_1/random_uniform/RandomUniform", "source": "train.py:138"},
    ),
    "the first letter is missing, and the hint's first word": (
        (
            f"OM when allocating tensor with shape[100,256,28,28] and type float on {GPU} by allocator"
            " GPU_0_bfc\nIf you want to see a list of allocated tensors when OOM happens, add"
            " report_tensor_allocations_upon_oom \nto RunOptions for current allocation info.\n"
        ),
        {"shape": [100, 256, 28, 28], "device": GPU},
    ),
    "the exception's name alone": (
        (
            "errors_impl.ResourceExhaustedError: Exception encountered when calling layer"
            ' "depthwise_conv2d_43" "                 f"(type DepthwiseConv2D). \n'
        ),
        {"kind": "tensor", "layer": "depthwise_conv2d_43"},
    ),
    "statistics without their head": (
        f"""...
Limit:                 22654317364
InUse:                 22621908992
MaxInUse:              22621909760
...
ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[32,16,512,512] and type float on {GPU} by allocator GPU_0_bfc
""",
        {
            "limit_bytes": 22654317364,
            "in_use_bytes": 22621908992,
            "missing_bytes": 536870912 - (22654317364 - 22621908992),
        },
    ),
    "the dump tells how large an element is, TF 1.0": (
        """I tensorflow/core/common_runtime/bfc_allocator.cc:702] Stats:
Limit:                  7573333607
InUse:                  7505581568

W tensorflow/core/common_runtime/bfc_allocator.cc:275] Ran out of memory trying to allocate 720.00MiB.  See logs for memory state.
W tensorflow/core/framework/op_kernel.cc:993] Resource exhausted: OOM when allocating tensor with shape[5760,2048,4,4]
""",
        {"dtype": "float32", "tensor_bytes": 754974720, "limit_bytes": 7573333607},
    ),
    "XLA's sentence is broken inside": (
        (
            "[1] 2019-06-13 01:17:08.886805: E"
            " external/org_tensorflow/tensorflow/compiler/xla/python/local_client.cc:672] Execution of"
            " replica 0 failed: Resource exhausted: Out \nof memory while trying to allocate 5520758552"
            " bytes.\n"
        ),
        {"kind": "XLA arena", "rounded_bytes": 5520758552},
    ),
    "a jitted function of TensorFlow": (
        (
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Out of memory while trying to"
            " allocate 209715200 bytes. [Op:__inference_train_step_69]\n"
        ),
        {"kind": "XLA arena", "rounded_bytes": 209715200},
    ),
    "a TPU core's own memory": (
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Allocation (size=134217728) would exceed memory"
            " (size=67108864) :: #allocation25 [shape = 'u8[134217728]{0}', space=vmem, size = 0x8000000, tag"
            " = 'scoped memory for gated_matmul_kernel.2'] :: gated_matmul_kernel.2\n"
        ),
        {"kind": "TPU memory", "allocator": "vmem", "rounded_bytes": 134217728},
    ),
    "killed by a signal, says mpirun": (
        "mpirun noticed that process rank 7 with PID 0 on node HOSTNAME exited on signal 9 (Killed).\n",
        {"kind": "host memory"},
    ),
    "an eager update of a sparse embedding": (
        (
            "~/anaconda3/envs/tf2/lib/python3.6/site-packages/tensorflow/python/keras/optimizer_v2/adam.py"
            " in _resource_apply_sparse(self, grad, var, indices)\n--> 226           var, coefficients['lr']"
            " * m_t / (v_sqrt + coefficients['epsilon']),\nResourceExhaustedError: OOM when allocating"
            f" tensor with shape[501153,768] and type float on {GPU} by allocator GPU_0_bfc [Op:Mul]\n"
        ),
        {"op": "Mul", "phase": "optimizer", "tensor_bytes": 501153 * 768 * 4},
    ),
    "a batch of the input pipeline": (
        (
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node"
            " __wrapped__IteratorGetNext_output_types_1_device_/job:localhost/replica:0/task:0/device:CPU:0}}"
            " Failed to allocate memory for the batch of component 0 [Op:IteratorGetNext]\n"
        ),
        {"kind": "host memory", "op": "IteratorGetNext"},
    ),
    "a warning of a version to come": (
        (
            "This class is equivalent as tf.keras.layers.LSTMCell, and will be replaced by that in"
            " Tensorflow 2.0.\nResourceExhaustedError: OOM when allocating tensor with shape[120,1024] and"
            f" type float on {GPU} by allocator GPU_0_bfc\n\t [[node rnn/MatMul (defined at train.py:25) ]]\n"
        ),
        {"version": ["1.13", "2.6"]},
    ),
    "bad_alloc is told once": (
        (
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what(): "
            " std::bad_alloc\nAborted\n"
        ),
        {"kind": "host memory", "occurrences": 1},
    ),
}


def explained(text: str) -> dict[str, Any]:
    document: dict[str, Any] = report_document.document(pipeline.explain(text + "\n"))
    return document


@pytest.mark.parametrize("name", CASES)
def test_the_paste_is_understood(name: str) -> None:
    text, facts = CASES[name]
    document = explained(text)
    incident = document["incidents"][0]
    found = {
        **incident["allocator"],
        **incident["request"],
        "occurrences": incident["occurrences"],
        "version": document["source"].get("version"),
    }
    assert {key: found.get(key) for key in facts} == facts
    assert not [note for note in document["notes"] if "unrecognised" in note["text"]]
    assert len(document["incidents"]) == 1


NOTHING = {
    "PyTorch": (
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.71 GiB (GPU 0; 6.00 GiB"
            " total capacity)"
        ),
        "PyTorch",
    ),
    "PyTorch in host RAM": (
        (
            "RuntimeError: [enforce fail at CPUAllocator.cpp:64] data. DefaultCPUAllocator: not enough memory:"
            " you tried to allocate 268435456 bytes. Buy new RAM!"
        ),
        "PyTorch in host RAM",
    ),
    "CuPy": (
        (
            "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 200000000000 bytes (total"
            " 200000004096 bytes)"
        ),
        "CuPy",
    ),
    "a large request": (
        "W tensorflow/core/framework/allocator.cc:101] Allocation of 179437568 exceeds 10% of system memory.",
        "171.12 MiB at once, and got it",
    ),
    "a full disk": (
        (
            "ResourceExhaustedError: /logs/model.ckpt-1000.data-00000-of-00001.tempstate123; No space left on"
            " device"
        ),
        "the disk was full",
    ),
    "a large message": (
        "ResourceExhaustedError: Received message larger than max (5243000 vs. 4194304)",
        "gRPC",
    ),
    "a crash": ("Fatal Python error: Segmentation fault\nSegmentation fault (core dumped)", "crash"),
    "training": (
        "Epoch 1/10\n100/100 [====] - 3s 30ms/step - loss: 0.31 - acc: 0.91",
        "No out-of-memory message",
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_no_failure_of_ours_is_said_so(name: str) -> None:
    text, word = NOTHING[name]
    report = pipeline.explain(text + "\n")
    assert word in report.verdict
    assert not report.case.moments


VERDICTS = {
    "Ran out of memory in memory space smem. Used 1.00M of 1.00M smem. Exceeded smem capacity by 1.7K.": (
        "about 1.7 KiB too little"
    ),
    "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G": (
        "208.92 GiB"
    ),
    "Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. There are 6.43M free.; (0x0x1_HBM0)": (
        "a buffer of about 8.00 MiB"
    ),
    "Error loading program 'jit_step': Attempting to reserve 29.49G at the bottom of memory. That was not possible. There are 147.64M free": (
        "jit_step"
    ),
    "Killed": "most likely",
    "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED": "does not say which",
}


@pytest.mark.parametrize("text", VERDICTS)
def test_the_verdict_says_it(text: str) -> None:
    assert VERDICTS[text] in pipeline.explain(text + "\n").verdict


VERSIONS = {
    "/tensorflow-1.15.2/python3.6/tensorflow_core/python/client/session.py": ("1.15", "2.1"),
    "/opt/conda/lib/python3.6/site-packages/tensorflow/python/client/session.py": ("1.5", "2.6"),
    "/usr/local/lib/python3.10/dist-packages/keras/src/utils/traceback_utils.py": ("2.13", "2.21"),
    "train.py": ("1.5", "2.21"),
}


@pytest.mark.parametrize("path", VERSIONS)
def test_paths_tell_the_version(path: str) -> None:
    sentence = (
        f"ResourceExhaustedError: OOM when allocating tensor with shape[8,8] and type float on {GPU} by"
        " allocator GPU_0_bfc"
    )
    report = pipeline.explain(
        f'Traceback (most recent call last):\n  File "{path}", line 7, in run\n    run()\n{sentence}\n'
    )
    assert report.case.capture.source.version == VERSIONS[path]
    assert (report.case.api.front_end.value == "session") == path.endswith("session.py")


def test_no_share_is_told_of_a_list_whose_head_is_missing() -> None:
    text = "".join(
        f"\tBuffer {index}:\n\t\tSize: 4.00MiB\n\t\tEntry Parameter Subshape:"
        f" f32[512,2048]\n\t\t{'=' * 26}\n\n"
        for index in (10, 11, 12)
    )
    report = pipeline.explain(text)
    assert "parameters-dominate" not in {finding.rule for finding in report.findings}
    assert any("missing from this input" in left for left in report.case.moments[0].omissions)
