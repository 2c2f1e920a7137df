"""For each rule a log that triggers it, and one that differs in just what the rule is about and must not."""

from __future__ import annotations

import pytest

from tests.conftest import SAMPLES
from tests.findings import test_account_of_the_code, test_timeline_rules
from tests.findings.logs import CPU, GPU, MIB, dump, dump_by_size, oom, report
from tests.readers.test_tuned_kernels import tried
from tfmemlens import findings, pipeline
from tfmemlens.model.report import Report

LAYOUT = "450.00MiB from net/conv_1/BiasAdd-0-1-TransposeNCHWToNHWC-LayoutOptimizer"
EAGER_CALL = """model = keras.Model(i, x)
Traceback (most recent call last):
  File "score.py", line 9, in <module>
    y = model(x, {})
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling\
 Activation.call().

{{{{function_node __wrapped__Sigmoid_device_/job:localhost/replica:0/task:0/device:GPU:0}}}} failed to\
 allocate memory [Op:Sigmoid] name:\x20

Arguments received by Activation.call():
  • inputs=tf.Tensor(shape=(16, 32, 32, 1344), dtype=float32)
"""
CLIPPED = """table = tf.keras.layers.Embedding(300_000, 64)
g = tape.gradient(loss, vs)
Traceback (most recent call last):
  File "run.py", line 9, in step
    g = [tf.clip_by_norm({}, 1.0) for x in g]
tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{{{function_node __wrapped__RealDiv}}}} OOM\
 when allocating tensor with shape[300000,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0\
 by allocator GPU_0_bfc [Op:RealDiv]
"""
ADDITIVE = """hidden = {}(tf.expand_dims(query, 2) + tf.expand_dims(keys, 1))
score = tf.squeeze(tf.layers.dense(hidden, 1, name="v"), -1)
"""
TPU = """Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded hbm capacity by 25.74G.
Total hbm usage >= 42.26G:
    reserved        530.00M
    program          41.74G
  Largest program allocations in hbm:
  1. Size: 32.00G
     Operator: op_name="jit(f)/jit(main)/net/conv"
     Shape: f32[8,1024,1024,1]{3,2,1,0:T(8,128)}
     Unpadded size: UNPADDED
     Extra memory due to padding: 31.00G (32.0x expansion)
     XLA label: %fusion.1
     Allocation type: HLO temp
     ==========================
"""
XLA = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 9031036208 bytes.\n"
)
SAMPLER = "import numpyro\nmcmc = MCMC(NUTS(model), num_warmup=500, num_samples=3000, num_chains=2)"
PROFILE = """Type: space
      flat  flat%   sum%        cum   cum%
    2.49GB 25.49% 25.49%     2.49GB 25.49%  init_params /home/u/model.py
    2.49GB 25.49% 50.97%     2.49GB 25.49%  init_fn /v/site-packages/optax/_src/transform.py
    2.49GB 25.49% 76.46%     2.49GB 25.49%  zeros_like /v/site-packages/optax/tree.py
"""
PROFILED = """import jax
Line #    Mem usage    Increment  Occurrences   Line Contents
    14    388.3 MiB    388.3 MiB           1   @profile
    16   {0}713.6 MiB   {0}325.2 MiB           1       keys = jax.random.split(key, 2)
    17   2013.6 MiB    300.0 MiB           1       params = model.init(keys[0], x)
    18   2313.6 MiB    300.0 MiB           1       state = tx.init(params)
"""
TAUGHT = (
    "import tensorflow as tf\nfrom tensorflow import keras\n"
    "tutor = keras.Sequential([keras.Input((9,)), keras.layers.Dense(1800)])\n"
    "pupil = keras.Sequential([keras.Input((9,)), keras.layers.Dense(9)])\n"
    "with tf.GradientTape() as tape:\n    logits = pupil(x)\n    loss = f(logits, {0})\n"
    "g = tape.gradient(loss, pupil.trainable_variables)\n\n"
    'Traceback (most recent call last):\n  File "run.py", line 7, in <module>\n    loss = f(logits, {0})\n'
    + oom("64,48", "Mean")
)
SALIENCY = (
    "import tensorflow as tf\ndef saliency(net, x):\n    with tf.GradientTape() as tape:\n"
    "        tape.watch(x)\n        y = net(x)\n    return tape.gradient(y, {})\n\n"
    'Traceback (most recent call last):\n  File "run.py", line 5, in saliency\n    y = net(x)\n'
    + oom("640,48,48,7", "Mul")
)
FRAMED = 'Traceback (most recent call last):\n  File "net.py", line 8, in pairs\n    {}\n'
STORED = "buf = tf.Variable(tf.zeros(shape), trainable=False)"
PAIRED = (
    "def pairs(h, n):\n    a = tf.repeat(h, n, axis=0)\n    b = tf.tile(h, [n, 1])\n"
    "    return tf.concat([a, b], 1)\n\n"
)
REPEATED = (
    "ROWS = 64\nDRAWS = 100\ndef pairs(x):\n    many = tf.repeat(x, DRAWS, axis=0)\n    return net(many)\n\n"
)
PINNED = "W gpu_host_allocator.h:44] could not allocate pinned host memory of size: 2304\n"
CRASHED = "Your session crashed after using all available RAM.\n"
SOFT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.27GiB with freed_by_count=0. The caller"
    " indicates that this is not a failure, but may mean that there could be performance gains if more memory"
    " were available.\n"
)
STREAMS = (
    "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1613] Created device /job:localhost/replica:0/task:0/"
    "device:GPU:0 with {} MB memory:  -> device: 0, name: AMD Radeon Graphics, pci bus id: 0000:2d:00.0\n"
    "E rocm_driver.cc:573] could not allocate ROCM stream for device 0: HIP_ERROR_OutOfMemory\n"
)
BUFFERS = (SAMPLES / "xla_dump" / "2.11-jit-step-buffer-assignment.txt").read_text(encoding="utf-8")
VOLUME = (SAMPLES / "oom_log" / "1.10-conv3d.txt").read_text(encoding="utf-8")
FOUR_ROWS = (
    "100.00MiB from net/a/Relu",
    "100.00MiB from net/b/Relu",
    "100.00MiB from net/c/Relu",
    "100.00MiB from net/d/Relu",
)
RANKS_ON_GPU_0 = """|   0  Tesla P100-SXM2...  On   | 00000000:04:00.0 Off |                    0 |
| N/A   46C    P0    53W / 300W |  16100MiB / 16280MiB |     97%      Default |
|   1  Tesla P100-SXM2...  On   | 00000000:06:00.0 Off |                    0 |
| N/A   43C    P0    53W / 300W |  13601MiB / 16280MiB |     96%      Default |
|  GPU       PID   Type   Process name                             GPU Memory |
|    0       700      C   python                                   13601MiB |
|    0       801      C   python                                     853MiB |
|    1       {}      C   python                                   13601MiB |
"""
ATTENTION = "net/block_0/attention/MatMul"
DROPOUT = "net/drop/dropout/random_uniform/RandomUniform"
FOUR_EQUAL = (
    dump(32, 200, 160)
    .replace("1 Chunks of size 167772160", "5 Chunks of size 33554432")
    .replace("InUse at 7f0000000000 of size 167772160 next 1\n", "")
)
XLA_ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n"
LAYOUT_FAILED = (
    "E layout failed: Invalid argument: Size of values 0 does not match size of permutation 4 @ fanin shape\n"
)
HESSIAN = (
    'Traceback (most recent call last):\n  File "/home/u/h.py", line 9, in <module>\n'
    "    H = jax.jit(jax.hessian(loss))(w)\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 25769238784 bytes.\n"
)
PAIRS = (
    'Traceback (most recent call last):\n  File "/home/u/gp.py", line 12, in kernel\n'
    "    d = jnp.abs(x[:, None] - y[None])\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 9600000000 bytes.\n"
)
RETRACING = (
    "WARNING:tensorflow:5 out of the last 5 calls to <function step at 0x7f1c2c0d5e10> triggered tf.function"
    " retracing. Tracing is expensive.\n"
)
FAILED_AGAIN = "\nskipped a batch\n"

SETS_OF_TEN = (
    f"10 Chunks of size {7 * MIB} totalling 70.00MiB\n10 Chunks of size {3 * MIB} totalling 30.00MiB"
)
CLIPPING = '  File "tf1.py", line 182, in train\n    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)\n'
TURNS = "    x = tf.transpose(x, [0, 2, 3, 1])\n    x = tf.transpose(conv(x), [0, 3, 1, 2])\n"
KERNELS = dump_by_size(224000, 500, (5, 49000192), (1, 200 * MIB))
QUEUED = (
    "x = tf.train.batch([x], batch_size=8, capacity={})\n"
    + dump_by_size(4800000, 500, (800, 600064), allocator="bfc_cpu_allocator_for_gpu")
    + oom("8,300,500", on=CPU, by="bfc_cpu_allocator_for_gpu")
)
JOINED = (
    'Traceback (most recent call last):\n  File "bank.py", line 6, in <module>\n'
    "    queue = tf.concat([queue, k], 0)\n" + oom("1966080,512", "concat")
)


BESIDE = dump_by_size(9216, 4000, (6, 81 << 20), (100, 3 << 20), (1, 3200 << 20)) + oom("48,48", "mix/MatMul")
TRAINED = """import tensorflow as tf
img = tf.Variable(x_train, name="img")
x = tf.gather(img, index)
step = tf.train.AdamOptimizer(1e-3).minimize(loss(x))
"""
RAYS = """import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(128), tf.keras.layers.Dense(128)])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(net(tf.zeros([98304, 3])))
grads = tape.gradient(loss, net.weights)
"""
PRODUCTS = """import tensorflow as tf
x = tf.random.normal([2048, 256])
with tf.GradientTape() as tape:
    full = x[:, :, None] * x[:, None, :]
    loss = tf.reduce_mean(full * 2.0)
""" + dump(512, 3000, 2990)
KEPT = (
    'Traceback (most recent call last):\n  File "mc.py", line 6, in <module>\n    maps.append(net(x))\n'
    + oom("8,64,64,32")
    .replace("\t [[{{node net/conv/Conv2D}}]]", " [Op:Conv2D]")
    .replace("OOM", f"{{{{function_node __wrapped__Conv2D_device_{GPU}}}}} OOM")
)
LOADED = (
    'Traceback (most recent call last):\n  File "serve.py", line 6, in <module>\n    net.load_weights(path)\n'
    + oom("4096,4096", "AssignVariableOp")
)
JS = "    at NodeJSKernelBackend.executeSingleOutput (/srv/@tensorflow/tfjs-node-gpu/x.js:209:43)\n"
KERNEL = ("f32[8,16384,16384]", "f32[16384,8,16]", "jit(fit)/jvp(vmap(BTNH,BSNH->BNTS))/dot_general")
_CONSTANT = (
    "W tensorflow/core/framework/op_kernel.cc:1628] OP_REQUIRES failed at constant_op.cc:{line} : Resource"
    " exhausted: OOM when allocating tensor of shape [] and type float\n\t [[{{{{node net/norm/eps}}}}]]\n"
)
_BYTES_ALONE = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Ran out of GPU memory when allocating"
    " {bytes} bytes for \n\t [[{{{{node xent}}}} = SoftmaxCrossEntropyWithLogits[T=DT_FLOAT,"
    ' _device="/job:localhost/replica:0/task:0/device:GPU:0"](a, b)]]\n'
    "vocab_size 21000, batch_size 96, max_len 70\n"
)
_PAIRS = (
    'Traceback (most recent call last):\n  File "/home/u/loss.py", line 9, in spread\n'
    "    gap = {line}\n"
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{{{function_node"
    " __wrapped__Sub_device_/job:localhost/replica:0/task:0/device:GPU:0}}}} failed to allocate memory"
    " [Op:Sub] name: \n\nfeats is ({rows}, 96)\n"
)
_COMMENTED = "anna \u00b7 description\nIt runs out of memory on my GPU.\nbob \u00b7 comment\n{advice}\n"
CASES: dict[str, tuple[str, str]] = {
    "advised-in-a-comment": (
        _COMMENTED.format(advice="It needs 13 GB of memory. You can lower it by `--tile 256`."),
        _COMMENTED.format(advice="It needs 13 GB of memory. You can reduce `batch_size`."),
    ),
    "pairs-by-the-line": (
        _PAIRS.format(line="feats[:, None, :] - feats[None, :, :]", rows=5000),
        _PAIRS.format(line="feats[:, None, :] - feats[None, :, :]", rows=500),
    ),
    "batches-of-a-library": (
        "y = rows | RunInference(handler)\n" + oom("640,32,128,128", "net/conv_a/Conv2D"),
        "y = rows | RunInference(handler)\n" + oom("16,32,128,128", "net/conv_a/Conv2D"),
    ),
    "kernel-gradient-of-each-sample": (
        oom("2048,900,900", "gradient_tape/functional/mix/MatMul/MatMul_1"),
        oom("2048,900,900", "gradient_tape/functional/attention/MatMul/MatMul_1"),
    ),
    "matrix-of-a-gaussian-process": (
        "m = gpflow.models.GPR((X, Y), kernel=k)\n" + oom("9000,9000", "Sub"),
        "m = gpflow.models.SVGP(k, lik, Z)\n" + oom("9000,9000", "Sub"),
    ),
    "models-share-a-pool": (
        "Two detectors share a process. Each of them works alone.\n" + oom("1,32,90,90", "net/b/add"),
        "Two detectors share a process. None of them works alone.\n" + oom("1,32,90,90", "net/b/add"),
    ),
    "before-the-first-step": (_CONSTANT.format(line=77), _CONSTANT.format(line=206)),
    "matrix-of-a-graph": (
        "One graph of 9000 nodes and 30000 edges.\n" + oom("9000,9000", "net/att/MatMul"),
        "One graph of 9001 nodes and 30000 edges.\n" + oom("9000,9000", "net/att/MatMul"),
    ),
    "nothing-was-asked": (_BYTES_ALONE.format(bytes=0), _BYTES_ALONE.format(bytes=4)),
    "larger-batch-runs": (
        "A larger or a smaller batch size works, only 24 does not.\n" + oom("24,512,512,64", "net/a/Relu"),
        "A larger or a smaller batch size does not work either.\n" + oom("24,512,512,64", "net/a/Relu"),
    ),
    "bytes-of-the-text": (
        _BYTES_ALONE.format(bytes=21000 * 96 * 70 * 4),
        _BYTES_ALONE.format(bytes=21000 * 96 * 70 * 4 + 4),
    ),
    "eager-by-choice": (
        "I turned run_eagerly on, and now:\n" + oom("8,8") + "[Op:Relu]\n",
        "I tried run_eagerly=False\n" + oom("8,8") + "[Op:Relu]\n",
    ),
    "question-asked": (
        oom("8,8") + "Would TF_GPU_ALLOCATOR=cuda_malloc_async help here?\n",
        oom("8,8") + "I will set TF_GPU_ALLOCATOR=cuda_malloc_async\n",
    ),
    "undisposed-tensors": (
        "const x = tf.browser.fromPixels(video);\n" + JS + oom("1,640,640,3"),
        "const x = tf.browser.fromPixels(video);\ntf.dispose([x]);\n" + JS + oom("1,640,640,3"),
    ),
    "idle-model-under-a-tape": (TAUGHT.format("tutor(x)"), TAUGHT.format("tutor(logits)")),
    "repeated-rows": (
        f"{REPEATED}{FRAMED.format('return net(many)')}{oom('6400,80,80', 'Add')}",
        f"{REPEATED}{FRAMED.format('return net(many)')}{oom('6464,80,80', 'Add')}",
    ),
    "gradients-of-an-input": (SALIENCY.format("x"), SALIENCY.format("net.weights")),
    "store-on-the-device": (
        f"{FRAMED.format(STORED)}{oom('4000,84,84,4', 'Fill')}",
        f"{FRAMED.format(STORED)}{oom('32,284,284,4', 'Fill')}",
    ),
    "pairs-in-one-axis": (
        f"{PAIRED}{FRAMED.format('return tf.concat([a, b], 1)')}{oom('1440000,16', 'concat')}",
        f"{PAIRED}{FRAMED.format('return tf.concat([a, b], 1)')}{oom('1440002,16', 'concat')}",
    ),
    "always-at-one-step": (
        f"Whatever batch size I take, it always dies at step 310.\n{XLA}",
        f"With a large batch size it always dies at step 310.\n{XLA}",
    ),
    "draws-of-all-chains": (
        f"{SAMPLER}\n{XLA.replace('9031036208', str(2 * 3000 * 121_001 * 4))}",
        f"{SAMPLER}\n{XLA}",
    ),
    "every-row-with-every-row": (
        f"import jax\n{XLA.replace('9031036208', str(370_000**2 * 4))}",
        f"import jax\n{XLA.replace('9031036208', str(370_000 * 370_001 * 4))}",
    ),
    "setting-that-works": (
        f"jax 0.4.35. With XLA_PYTHON_CLIENT_MEM_FRACTION=.95 it works.\n{XLA}",
        f"jax 0.4.35. With XLA_PYTHON_CLIENT_MEM_FRACTION=.95 it fails as well.\n{XLA}",
    ),
    "release-that-works": (
        f"jax 0.4.35 fails, jax 0.4.28 works fine.\n{XLA}",
        f"jax 0.4.35 fails, jax 0.4.28 as well.\n{XLA}",
    ),
    "account-of-the-code": (
        test_account_of_the_code.WIDE,
        test_account_of_the_code.WIDE.replace("3000 * ", ""),
    ),
    "activations-dominate": (
        report(*FOUR_ROWS),
        report(
            *(
                row.replace("net/", "gradients/net/").replace("Relu", "Relu_grad/ReluGrad")
                for row in FOUR_ROWS
            )
        ),
    ),
    "memory-of-an-app": (
        "An Android app with TensorFlow Lite.\nIts memory grows with every frame.\n",
        "An Android app with TensorFlow Lite.\nIts memory stays flat.\n",
    ),
    "what-tools-show": (
        "nvidia-smi shows 363MiB / 16280MiB for tensorflow.\nIs this normal?\n",
        "nvidia-smi shows 363MiB / 16280MiB for tensorflow.\nIt runs out of memory. Is this normal?\n",
    ),
    "process-left-behind": (
        "import tensorflow\nAfter ctrl+c htop shows a zombie process.\n",
        "import tensorflow\nAfter ctrl+c the process is gone.\n",
    ),
    "machine-restarts": ("import tensorflow\nThen the PC reboots.", "import tensorflow\nI restart the PC."),
    "alarming-but-harmless": (LAYOUT_FAILED + oom("8,8"), LAYOUT_FAILED),
    "allocator-snapshot": (
        dump(0, 400, 300, (40, 60)).split("\n", 1)[1].replace("Bin for", ""),
        dump(80, 400, 300, (40, 60)),
    ),
    "allow-growth": (
        "config.gpu_options.allow_growth = True\n" + oom("8,8"),
        "config.gpu_options.visible_device_list = '0'\n" + oom("8,8"),
    ),
    "another-framework": (
        "RuntimeError: CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total capacity)\n",
        "RuntimeError: CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total capacity)\n"
        + oom("8,8"),
    ),
    "memory-without-figures": (
        "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n",
        "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n" + oom("8,8"),
    ),
    "workspace-of-tensorrt": (
        "max_workspace_size_bytes=(1 << 33)\nDefaultLogger runtime.cpp (24) - Cuda Error in allocate: 2\n",
        "max_workspace_size_bytes=(1 << 33)\nDefaultLogger runtime.cpp (24) - Cuda Error in allocate: 3\n",
    ),
    "array-of-a-literal": (
        "I run out of GPU memory here\na = tf.ones([1000000, 1000000])\n",
        "I run out of GPU memory here\na = tf.ones([1000, 1000])\n",
    ),
    "first-streams-refused": (STREAMS.format(24060), STREAMS.format(300)),
    "experts-and-capacity": (
        "num_experts = 16\ncapacity = 2 * tokens // num_experts\n" + oom("3072,16,768", "moe/router/mul"),
        "num_experts = 16\ncapacity = 2 * tokens // num_experts\n" + oom("3072,12,768", "moe/router/mul"),
    ),
    "eager-forward": (
        EAGER_CALL.format("training=False"),
        EAGER_CALL.format("training=True"),
    ),
    "additive-attention": (
        ADDITIVE.format("tf.nn.tanh") + oom("8000,192", "decoder/attention/v/MatMul"),
        ADDITIVE.format("tf.nn.relu") + oom("8000,192", "decoder/attention/v/MatMul"),
    ),
    "ranked-at-once": (oom("6040,9066", "ranks/TopKV2"), oom("6040,9066", "ranks/MatMul")),
    "step-of-frames": (
        "n = sample_rate * win_ms // 1000\ns = tf.signal.stft(x, n, hop_ms)\n"
        + oom("76176,512", "stft/rfft"),
        "n = sample_rate * win_ms // 1000\ns = tf.signal.stft(x, n, hop)\n" + oom("76176,512", "stft/rfft"),
    ),
    "large-on-the-way": (
        'm = tf.einsum("nkc,nkf->nkcf", a, b)\ns = tf.reduce_sum(m, 1)\n' + oom("256,64,32,64", "einsum/Mul"),
        'm = tf.einsum("nkc,nkf->nkcf", a, b)\ns = tf.reduce_max(m, 1)\n' + oom("256,64,32,64", "einsum/Mul"),
    ),
    "gradient-made-dense": (CLIPPED.format("tf.convert_to_tensor(x)"), CLIPPED.format("x")),
    "table-rebuilt-each-step": (
        "table = tf.concat((tf.zeros([1, 96]), table[1:, :]), 0)\n" + oom("330001,96", "g/slice_grad/Pad"),
        "table = tf.concat((tf.ones([1, 96]), table[1:, :]), 0)\n" + oom("330001,96", "g/slice_grad/Pad"),
    ),
    "an-empty-array": (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB.\n"
        "Incompatible shapes: [3] vs. [0]\n",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB.\n"
        "Incompatible shapes: [3] vs. [9]\n",
    ),
    "need-in-words": (
        "import jax\nWith this release it requires 16TB of memory.\n",
        "import jax\nWith this release it requires 16 devices.\n",
    ),
    "program-of-pytorch": (
        "It runs out of memory with 40000 points.\n\nimport torch\nx = 1\n",
        "It runs out of memory with 40000 points.\n\nimport torch\nimport jax\nx = 1\n",
    ),
    "memory-in-question": (
        "import jax\nThe step with nnx.jit consumes twice memory than the plain one.",
        "import jax\nThe step with nnx.jit takes twice the time of the plain one.",
    ),
    "code-without-message": (
        "import jax\nh = jax.hessian(loss)(w)\nthis ends with an OOM\n",
        "import jax\nh = jax.grad(loss)(w)\nthis ends with an OOM\n",
    ),
    "ended-after-a-warning": (
        "W cpu_allocator_impl.cc:81] Allocation of 805306368 exceeds 10% of free system memory.\nthen it"
        " crashes\n",
        "W cpu_allocator_impl.cc:81] Allocation of 805306368 exceeds 10% of free system memory.\n",
    ),
    "bare-message": (
        "ResourceExhaustedError: Graph execution error:\n",
        "ResourceExhaustedError: Graph execution error:\n" + oom("8,8"),
    ),
    "whole-pool-at-start": (
        "Why is tensorflow using all of the GPU memory?\n",
        "Why is tensorflow using all of the GPU memory?\n" + oom("8,8"),
    ),
    "transformer-weights": (
        f"{48 * 3} Chunks of size 16777216 totalling 2.25GiB\n3 Chunks of size {4 * 30522 * 1024} totalling"
        " 357.68MiB\nSum Total of in-use chunks: 2.60GiB\n",
        f"{48 * 3} Chunks of size 16777216 totalling 2.25GiB\n3 Chunks of size {4 * 30524 * 1024} totalling"
        " 357.70MiB\nSum Total of in-use chunks: 2.60GiB\n",
    ),
    "named-growth": (
        "my RAM usage keeps increasing\nfit(x, use_multiprocessing=True)\n",
        "my RAM is full\nfit(x, use_multiprocessing=True)\n",
    ),
    "unknown-end": (
        "InternalError: No such statistics\n",
        "InternalError: No such statistics\nmy GPU runs out of memory\n",
    ),
    "told-in-words": ("my GPU runs out of memory\n", "my GPU runs out of memory\n" + oom("8,8")),
    "attention-scores": (oom("8,12,1024,1024", ATTENTION), oom("8,12,1024,64", ATTENTION)),
    "changed-batch": (
        oom("64,8,8,3") + FAILED_AGAIN + oom("96,8,8,3"),
        oom("64,8,8,3") + FAILED_AGAIN + oom("96,8,8,3", "net/other/Conv2D"),
    ),
    "chunk-slack": (
        (SAMPLES / "oom_log" / "1.13-lenet-keras.txt").read_text(encoding="utf-8"),
        dump(100, 400, 390),
    ),
    "compiled-program": (BUFFERS, XLA),
    "convolution-workspace": (
        (
            "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to"
            " initialize\nCUDNN_STATUS_ALLOC_FAILED\n"
        ),
        "convolution algorithm 3 was chosen\n",
    ),
    "library-call-failed": (
        "E tensorflow/stream_executor/dnn.cc:616] CUDNN_STATUS_EXECUTION_FAILED\n",
        "E tensorflow/stream_executor/dnn.cc:616] CUDNN_STATUS_NOT_SUPPORTED\n",
    ),
    "cut-dump": (
        "Stats: \nLimit:    5304745984\nInUse:    5294259712\nMaxInUse: 5294259712\n",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to"
        " 2147483648)requested by op"
        " c\nStats: \nLimit:    5304745984\nInUse:    5294259712\nMaxInUse: 5294259712\n",
    ),
    "copies-of-workers": (
        "High memory usage with celery workers and Keras\nHow can they share a model that takes much RAM?\n",
        "Slow answers with celery workers and Keras\nHow can they share a model, which takes long?\n",
    ),
    "crops-of-boxes": (oom("100,800,800,1", "masks/CropAndResize"), oom("100,800,800,1", "masks/Conv2D")),
    "dense-embedding-gradient": (
        oom("200000,128", "gradients/words/embedding_lookup_grad/UnsortedSegmentSum"),
        oom("2000,128", "gradients/words/embedding_lookup_grad/UnsortedSegmentSum"),
    ),
    "dense-kernel-gradient": (
        oom("50176,4096", "gradients/fc1/MatMul_grad/MatMul_1"),
        oom("50176,4096", "fc1/MatMul"),
    ),
    "device-held-by-others": (
        "totalMemory: 10.92GiB freeMemory: 60.00MiB\nCreated TensorFlow device"
        " (/job:localhost/replica:0/task:0/device:GPU:0 with 60 MB memory) -> physical GPU (device: 0, name:"
        " GeForce GTX 1080 Ti, pci bus id: 0000:01:00.0, compute capability: 6.1)\n" + oom("64,224,224,64"),
        "totalMemory: 10.92GiB freeMemory: 10.75GiB\n" + oom("64,224,224,64"),
    ),
    "device-statistics": (
        "{'bytes_in_use': 21474836480, 'bytes_limit': 23622320128}\n",
        "{'bytes_in_use': 21474836480}\n",
    ),
    "died-in-forward-pass": (
        oom("8,64,64,32") + report(*FOUR_ROWS),
        oom("8,64,64,32") + report(*FOUR_ROWS[:3], "10.00MiB from gradients/net/d/Relu_grad/ReluGrad"),
    ),
    "clipped-by-global-norm": (
        CLIPPING + oom("4096,4096", "gradients/tower/fc2/MatMul_grad/MatMul_1"),
        CLIPPING + oom("4096,4096", "gradients/tower/fc2/MatMul_grad/MatMul"),
    ),
    "growing-in-a-loop": (
        dump_by_size(256, 200, *((1, (64 + 16 * turn) << 10) for turn in range(140))) + "\n" + oom("64"),
        dump_by_size(256, 200, *((1, (64 + 16 * turn) << 10) for turn in range(20))) + "\n" + oom("64"),
    ),
    "data-set-in-ram": (
        "I load 40000 images of 224x224x3 with np.load.\n" + CRASHED,
        "I load 400 images of 224x224x3 with np.load.\n" + CRASHED,
    ),
    "data-set-as-constant": (
        dump(150, 4000, 150, op="MakeIterator"),
        dump(74, 4000, 150, op="MakeIterator"),
    ),
    "double-precision": (oom("512,512", dtype="double"), oom("512,512")),
    "dropout-masks": (oom("2048,4096", DROPOUT), oom("2048,4096", "net/drop/Relu")),
    "equal-chunks": (
        FOUR_EQUAL + oom("64,256,256,2"),
        FOUR_EQUAL.replace("32.00MiB (rounded to 33554432)", "16.00MiB (rounded to 16777216)")
        + oom("64,256,256,1"),
    ),
    "failing-line-of-jax": (PAIRS, PAIRS.replace("y[None]", "y[0]")),
    "failing-op-is-a-bystander": (
        dump(1, 4000, 3999) + oom("64"),
        dump(784, 4000, 3999) + oom("64,224,224,64"),
    ),
    "failure-in-disguise": (
        "InternalError: Dst tensor is not initialized.\n\t [[{{node zeros_12}}]]\n",
        "InternalError: Destination is not initialised.\n",
    ),
    "sets-of-three": tuple(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 64.00MiB (rounded to 67108864)\n"
        + "".join(
            f"{count} Chunks of size {size * MIB} totalling {count * size}.00MiB\n"
            for count, size in ((3, 200), (3, 64), (6, 16), (three, 5))
        )
        for three in (3, 5)
    ),
    "setting-of-this-size": tuple(
        f"RESOLUTION = {side}\n" + oom("4,8,4096,4096", "net/attention/Softmax") for side in (512, 480)
    ),
    "tests-of-the-writer": tuple(
        f"With jit_compile=False it runs fine, with jit_compile=True {fails}.\n"
        + oom("32,64,64,512", "net/a")
        for fails in ("it runs out of memory", "it runs fine")
    ),
    "sizes-of-the-text": tuple(
        f"model.fit(x, y, batch_size=16)\n{name} = 384\n" + oom("16,384,4096", "bert/layer_3/Erf")
        for name in ("max_length", "seed")
    ),
    "loop-under-a-tape": tuple(
        "with tf.GradientTape() as tape:\n    for t in range(2000):\n"
        f"        {state} = cell(x[:, t], state)\n" + oom("8,8,8,8")
        for state in ("state", "y")
    ),
    "another-program-of-xla": tuple(
        f"import jax\nIt fails only on the {which} batch.\n{XLA}" for which in ("last", "first")
    ),
    "resumed-beside-shards": tuple(
        f"import jax\n{when} my checkpoint it OOMs.\n{XLA}" for when in ("When I resume from", "Without")
    ),
    "left-by-earlier-calls": tuple(
        f"import jax\nIt dies at the {turn} call with out of memory.\n{XLA}" for turn in ("third", "only")
    ),
    "kept-by-a-loop": tuple(
        f"kept = []\nfor i, x in enumerate(ds):\n    y = f(x)   # (64, 512, 512)\n    kept.append({what})\n"
        "step 900 loss 0.5\n" + oom("8,8,8,8")
        for what in ("y", "float(y)")
    ),
    "models-kept": tuple(f"models alive: {count}\n" + oom("8,8,8,8") for count in (41, 2)),
    "one-tape": tuple(
        f"with tf.GradientTape() as tape:\n    for x in {over}:\n        loss += f(model(x))\n"
        "tape.gradient(loss, w)\n" + oom("8,8,8,8")
        for over in ("micro_batches", "steps")
    ),
    "earlier-cells": tuple(
        f"In [{number}]: model = build_swin()\n310/310 - loss: 3.2\nIn [7]: model = build_swin()\n"
        + oom("1536,6144", "StatelessTruncatedNormalV2")
        for number in (4, 8)
    ),
    "failed-in-a-trial": tuple(f"Search: Running Trial #{number}\n" + oom("8,8,8,8") for number in (7, 1)),
    "failed-in-evaluation": (
        f"{oom('256,56,56,8')} [Op:__inference_test_function_21177]",
        f"{oom('256,56,56,8')} [Op:__inference_train_function_21177]",
    ),
    "fragmented-free-memory": (dump(100, 400, 200, (60, 60, 80)), dump(100, 400, 320, (80,))),
    "gradients-dominate": (
        report(
            "100.00MiB from gradients/net/a/Relu_grad/ReluGrad",
            "100.00MiB from gradients/net/b/Conv2D_grad/Conv2DBackpropInput",
            "10.00MiB from net/a/Relu",
        ),
        report("20.00MiB from gradients/net/a/Relu_grad/ReluGrad", "100.00MiB from net/a/Relu"),
    ),
    "tensors-of-the-code": (
        PRODUCTS + oom("2048,256,256", "AddV2"),
        PRODUCTS.replace("tape:", "notes:").replace("GradientTape", "profile") + oom("2048,256,256", "AddV2"),
    ),
    "matrix-not-needed": (
        "import tensorflow as tf\nW = tf.linalg.diag(w)\nA = W @ phi\n" + oom("9000,9000", "MatMul"),
        "import tensorflow as tf\nW = tf.linalg.diag(w)\nA = W + phi\n" + oom("9000,9000", "MatMul"),
    ),
    "gradients-of-slices": (
        dump_by_size(7 * MIB, 600, (62, 7 * MIB), (1, 100 * MIB))
        + oom("7,512,512", "gradients/strided_slice_9_grad/StridedSliceGrad"),
        dump_by_size(7 * MIB, 600, (7, 7 * MIB), (1, 100 * MIB))
        + oom("7,512,512", "gradients/strided_slice_9_grad/StridedSliceGrad"),
    ),
    "rows-at-once": (
        RAYS + oom("98304,128", "net/dense/BiasAdd"),
        RAYS.replace("[98304, 3]", "[9830, 3]") + oom("9830,128", "net/dense/BiasAdd"),
    ),
    "one-hot-products": (
        "import tensorflow as tf\nrows = tf.one_hot(src, n)\nm = tf.matmul(rows, h)\n" + BESIDE,
        "import tensorflow as tf\nrows = tf.one_hot(src, n)\nm = tf.matmul(h, rows)\n" + BESIDE,
    ),
    "table-up-to-the-largest-id": (
        "rows = ids.max() + 1\ntable = tf.keras.layers.Embedding(rows, 48)\n"
        + oom("2148153,48", "build/AddV2"),
        "rows = len(known)\ntable = tf.keras.layers.Embedding(rows, 48)\n" + oom("2148153,48", "build/AddV2"),
    ),
    "data-set-as-trained-variable": (
        TRAINED + oom("2400,112,112,1", "Adam/update_img/mul"),
        TRAINED.replace("(x_train", "(x_train, trainable=False")
        + oom("2400,112,112,1", "Adam/update_img/mul"),
    ),
    "growing-concatenation": (JOINED, JOINED.replace("[queue,", "[other,")),
    "results-kept": (KEPT, KEPT.replace("(x))", "(x).numpy())")),
    "weights-beyond-device": (
        "on an RTX 3090\nTotal params: 1,560,000,000\n" + oom("1600,6400", "Adam/Adam/update/mul"),
        "on an RTX 3090\nTotal params: 156,000,000\n" + oom("1600,6400", "Adam/Adam/update/mul"),
    ),
    "weights-loaded": (LOADED, LOADED.replace("net.load_weights(path)", "net.predict(path)")),
    "growing-graph": (oom("4096,1024", "Variable_48211/Assign"), oom("4096,1024", "Variable_411/Assign")),
    "growth-between-steps": (
        "step 1 loss 0.5\nstep 2 loss 0.4\nstep 30 loss 0.3\n" + oom("8,8,8,8"),
        "step 1 loss 0.5\nstep 3 loss 0.4\n" + oom("8,8,8,8"),
    ),
    "histograms-of-weights": (
        oom("50000000,30", "OneHot", dtype="double", on=CPU, by="mklcpu"),
        oom("50000000,30", "OneHot", on=CPU, by="mklcpu"),
    ),
    "host-memory": (oom("8,8", on=CPU, by="cpu"), oom("8,8")),
    "im2col-buffer": (
        oom(
            "1,65536,576",
            "gradients/refine/Conv2D_grad/Conv2DBackpropFilter",
            on=CPU,
            by="cpu",
            kernel="conv_grad_filter_ops.cc",
        ),
        oom("1,65536,576", "refine/Reshape", on=CPU, by="cpu"),
    ),
    "layout-optimizer-copies": (
        report(LAYOUT, *FOUR_ROWS),
        report(LAYOUT.replace("-0-1-TransposeNCHWToNHWC-LayoutOptimizer", ""), *FOUR_ROWS),
    ),
    "first-step-of-a-stage": (
        "Epoch 1/2\nbase.trainable = True\nEpoch 1/9\n" + oom("8,8,8,8"),
        "Epoch 1/2\nbase.trainable = False\nEpoch 1/9\n" + oom("8,8,8,8"),
    ),
    "lost-device": (3 * PINNED, 2 * PINNED),
    "longest-batch": (
        "".join(f"iter {step} seq_len={size}\n" for step, size in enumerate((9, 3, 7, 5, 99))) + oom("8,8"),
        "".join(f"iter {step} seq_len={size}\n" for step, size in enumerate((9, 3, 7, 5, 9))) + oom("8,8"),
    ),
    "gpu-left-idle": (
        "the K80 is at 0% / 0 MiB the whole time\n" + oom("96,12,320,320", on=CPU, by="cpu"),
        "the K80 is at 0% / 0 MiB before it starts\n" + oom("96,12,320,320"),
    ),
    "limit-of-your-own": (
        "tf.config.LogicalDeviceConfiguration(memory_limit=400)\n" + dump(100, 400, 380),
        "tf.config.LogicalDeviceConfiguration(memory_limit=9000)\n" + dump(100, 400, 380),
    ),
    "what-the-code-makes": (
        "N = 512\nds = ds.batch(N * strategy.num_replicas_in_sync)\n" + oom("1024,64,64,64"),
        "N = 512\nds = ds.batch(N * strategy.num_replicas_in_sync)\n" + oom("512,64,64,128"),
    ),
    "whole-graph-at-once": (oom("900000,64", "gcn/gather/GatherV2"), oom("900000,64", "net/gather/GatherV2")),
    "loop-state": (
        report(
            *(f"{size}MiB from net/rnn/while/cell/MatMul" for size in ("16.00",) * 9),
            "10.00MiB from net/a/Relu",
        ),
        report("16.00MiB from net/rnn/cell/MatMul", "100.00MiB from net/a/Relu"),
    ),
    "made-by-the-code": (
        "emb = layers.Embedding(900000, 64)\n" + oom("900000,64", "emb/embeddings/Initializer/mul"),
        "emb = layers.Embedding(900000, 64)\n" + oom("900001,64", "emb/embeddings/Initializer/mul"),
    ),
    "outputs-of-the-program": (
        "x = layers.Conv2D(64, 3, name='a')(Input((98, 98, 3)))\nmodel.fit(x, y)\n" + oom("32,96,96,64"),
        "x = layers.Conv2D(64, 3, name='a')(Input((98, 98, 3)))\nmodel.fit(x, y)\n" + oom("32,98,98,64"),
    ),
    "weights-of-the-program": tuple(
        "x = layers.Conv2D(16, 3, name='a')(Input((66, 66, 3)))\n"
        f"x = layers.Dense({units})(layers.Flatten()(x))\nmodel.fit(x, y)\n" + oom("16,64,64,16")
        for units in (256, 32)
    ),
    "many-small-allocations": (
        report("10.00MiB from net/a/Relu", rest="900 nodes with 90.00MiB"),
        report("10.00MiB from net/a/Relu", rest="9 nodes with 2.2KiB"),
    ),
    "matrix-without-a-name": (
        "ResourceExhaustedError: OOM when allocating tensor with shape[25088,4096] and type float",
        "ResourceExhaustedError: OOM when allocating tensor with shape[25088,4096] and type int64",
    ),
    "memory-shortage": (dump(100, 400, 390), dump(100, 400, 200, (60, 60, 80))),
    "no-room-for-context": (
        "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
        "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal\n",
    ),
    "one-large-sample": (
        oom("1,24,192,224,192", "unet/enc0/Conv3D"),
        oom("8,24,96,112,96", "unet/enc0/Conv3D"),
    ),
    "one-chunk-dominates": (dump(64, 8000, 7990), dump(4000, 8000, 7990) + oom("4000,512,512")),
    "one-tensor-dominates": (
        dump(4096, 8000, 6000) + oom("256,256,256,64"),
        dump(64, 8000, 7990) + oom("8,256,256,32"),
    ),
    "outside-the-report": (
        dump(512, 1000, 700) + oom("64,256,256,32") + report("100.00MiB from net/a/Relu"),
        dump(512, 1000, 700) + oom("64,256,256,32") + report("600.00MiB from net/a/Relu"),
    ),
    "data-sets-by-size": tuple(
        dump_by_size(10240000, 1600, (2, 3001 * 100 * 100 * 3 * 4 + left), (40, 6 * MIB))
        + oom("8,100,100,32")
        for left in (0, 256)
    ),
    "outputs-by-size": tuple(
        dump(15, 255, 255)
        .replace(
            f"1 Chunks of size {255 * MIB} totalling 255.00MiB",
            f"7 Chunks of size {first * MIB} totalling {7 * first}.00MiB\n"
            f"1 Chunks of size {15 * MIB} totalling 15.00MiB",
        )
        .replace(f"InUse at 7f0000000000 of size {255 * MIB} next 1\n", "")
        + oom("2,96,160,128")
        for first in (30, 31)
    ),
    "own-transposes": (TURNS + oom("64,24,96,96", "net/transpose"), TURNS + oom("64,24,96,96", "net/mul")),
    "pairwise-broadcast": (oom("2048,2048,32", "Sub"), oom("2048,1024,32", "Sub")),
    "parameters-dominate": (
        report(
            "100.00MiB from net/fc/kernel/Adam",
            "100.00MiB from net/fc/kernel/Adam_1",
            "100.00MiB from net/fc/kernel/Assign",
            "10.00MiB from net/a/Relu",
        ),
        report("10.00MiB from net/fc/kernel/Adam", "100.00MiB from net/a/Relu"),
    ),
    "parts-joined-at-once": tuple(
        oom("640,160,160,4", "concat").replace(
            "OOM when", f"{{{{function_node __wrapped__ConcatV2_N_{parts}_device_/device:CPU:0}}}} OOM when"
        )
        for parts in (40, 12)
    ),
    "patch-extraction": (oom("16,112,112,147", "net/ExtractImagePatches"), oom("16,112,112,147", "net/Relu")),
    "repeated-sets": (
        dump(7, 120, 100).replace(f"1 Chunks of size {100 * MIB} totalling 100.00MiB", SETS_OF_TEN)
        + oom("7,512,512", "adam_5/Mul"),
        dump(7, 120, 100).replace(f"1 Chunks of size {100 * MIB} totalling 100.00MiB", SETS_OF_TEN)
        + oom("7,512,512", "net/Mul"),
    ),
    "report-not-enabled": (oom("8,8,8,8"), oom("8,8,8,8") + report(*FOUR_ROWS)),
    "request-alone": (oom("64,8,8,3"), oom("64,8,8,3") + report(*FOUR_ROWS)),
    "request-larger-than-device": (
        dump(4096, 2000, 10) + oom("1024,1024,1024"),
        dump(1024, 2000, 1500) + oom("1024,1024,256"),
    ),
    "retraced-functions": (RETRACING + oom("8,8"), oom("8,8") + RETRACING),
    "rising-readings": (
        "".join(f"epoch {n} {{'current': {n}147516416, 'peak': 5368742400}}\n" for n in (1, 2, 3)),
        "".join(f"epoch {n} {{'current': {4 - n}147516416, 'peak': 5368742400}}\n" for n in (1, 2, 3)),
    ),
    "second-derivative": (
        oom("48,64,64,32", "gradient_tape/gradient_tape/critic/conv/Conv2D/Conv2DBackpropInput"),
        oom("48,64,64,32", "gradient_tape/critic/conv/Conv2D/Conv2DBackpropInput"),
    ),
    "second-order-matrix": (HESSIAN, HESSIAN.replace("25769238784", "25769238788")),
    "pmap-within-jit": (
        "UserWarning: The jitted function f includes a pmap. Using jit-of-pmap can lead to more.\n"
        + XLA_ASKED,
        "import jax\n" + XLA_ASKED,
    ),
    "scratch-of-a-transform": (
        "cuda_fft.cc:439] failed to initialize batched cufft plan with customized allocator: Allocating"
        " 8000000160 bytes exceeds the memory limit of 4294967296 bytes.\n",
        "cuda_fft.cc:253] failed to allocate work area.\n",
    ),
    "structure-predicted": ("colabfold, a sequence of 900 AA\n" + XLA_ASKED, "import jax\n" + XLA_ASKED),
    "program-of-its-own-settings": (
        "GraphCast at 0.25 degrees\n" + XLA_ASKED,
        "a forecast at 0.25 degrees\nimport jax\n" + XLA_ASKED,
    ),
    "made-whole-between-shardings": (
        "import jax\nspmd_partitioner.cc:613] [spmd] Involuntary full rematerialization. The compiler was not"
        " able to go from sharding {devices=[4,1]<=[4]} to {devices=[1,4]<=[4]}\n" + XLA_ASKED,
        "import jax\nspmd_partitioner.cc:613] [spmd] sharding {devices=[4,1]<=[4]} is kept\n" + XLA_ASKED,
    ),
    "processes-on-one-device": (
        "Two notebooks are open on the same GPU.\n" + XLA,
        "Two notebooks are open, each on its own GPU.\n" + XLA,
    ),
    "replicated-weights": (
        "import jax\nstate = jax_utils.replicate(state)\n" + XLA,
        "import jax\nstate = jax.device_put(state, NamedSharding(mesh, P('data')))\n" + XLA,
    ),
    "arrays-of-a-profile": (PROFILE + XLA, PROFILE.rpartition("    2.49GB")[0]),
    "lines-of-a-profile": (PROFILED.format(1), PROFILED.format(0)),
    "equal-arrays": (
        "import jax\n" + 4 * "(32000, 4096) float32 524288000\n" + XLA.replace("9031036208", "524288000"),
        "import jax\n" + 3 * "(32000, 4096) float32 524288000\n" + XLA.replace("9031036208", "524288000"),
    ),
    "ended-by-the-writer": (
        oom("8,8,8,8") + "We solved it by setting workers to 1.\n",
        oom("8,8,8,8") + "We hope to have solved it by setting workers to 1?\n",
    ),
    "several-ranks": (
        "".join(f"[1,{rank}]<stderr>:{line}\n" for rank in range(2) for line in oom("8,8,8,8").splitlines()),
        "".join(f"[1,0]<stderr>:{line}\n" for line in oom("8,8,8,8").splitlines()),
    ),
    "shuffled-volume": (VOLUME, VOLUME.replace("[32,64,64,2,16]", "[3,3,3,16,16]")),
    "settings-of-the-tool": (
        "flow --model cfg/yolo.cfg --train\n" + oom("16,416,416,32", "1-leaky"),
        "python train.py\n" + oom("16,416,416,32", "1-leaky"),
    ),
    "shared-memory-board": tuple(
        "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 412 MB memory) ->"
        f" physical GPU (device: 0, name: {name}, pci bus id: 0000:00:00.0)\n" + oom("25088,4096", "fc1")
        for name in ("NVIDIA Tegra X1", "Quadro M620")
    ),
    "smaller-pool": (
        "failed to allocate 7.42G (7971274752 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\nstep 100"
        " loss 3.9\n",
        "step 100 loss 3.9\nfailed to allocate 7.42G (7971274752 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY\n",
    ),
    "samples-in-a-queue": (QUEUED.format(900), QUEUED.format(700)),
    "square-kernels": (KERNELS + oom("16,3500"), KERNELS + oom("16,3501")),
    "soft-warnings-only": (SOFT, SOFT.split(" with freed_by_count")[0] + "\n"),
    "stale-graphs": (
        oom("8,8,8,8", "training_6/Adam/gradients/wide/MatMul_grad/MatMul"),
        oom("8,8,8,8", "training/Adam/gradients/wide/MatMul_grad/MatMul"),
    ),
    "penalty-on-weights": (
        oom("300000,64", "gradients/L2Loss_grad/mul"),
        oom("300000,64", "gradients/SquaredDifference_grad/mul"),
    ),
    "tpu-padding": (TPU.replace("UNPADDED", "1.00G"), TPU.replace("UNPADDED", "31.00G")),
    "rows-of-lookups": (
        oom("900000,128", "gradients/concat"),
        oom("900000,128", "gradients/split_grad/concat"),
    ),
    "gathered-sparse-gradient": (
        oom("81920,512", "DistributedAdamOptimizer_Allreduce/HorovodAllgather_gradients_concat_0"),
        oom("81920,512", "DistributedAdamOptimizer_Allreduce/HorovodAllreduce_gradients_concat_0"),
    ),
    "contexts-on-another-device": (RANKS_ON_GPU_0.format(801), RANKS_ON_GPU_0.format(901)),
    "vectorised-jacobian": (
        oom("4096,512,1024", "loop_body/gradient_tape/mlp/dense/MatMul/pfor/MatMul"),
        oom("4096,512,1024", "gradient_tape/mlp/dense/MatMul/MatMul"),
    ),
    "vocabulary-logits": (
        oom("2048,40000", "language_model/logits/MatMul"),
        oom("2048,4000", "language_model/logits/MatMul"),
    ),
    "whole-set-in-one-batch": (oom("10000,28,28,32"), oom("128,28,28,32")),
    "xla-arena-too-large": (XLA, BUFFERS),
    "array-of-a-kernel": (tried(*KERNEL, "8.02GiB"), tried(*KERNEL, "7.02GiB")),
}


WITH_A_BUNDLE = {
    "held-by-python": "tests/readers/test_bundle.py",
    "kept-by-a-tape": "tests/findings/test_kept_by_a_tape.py",
    "predicted-step": "tests/findings/test_predicted_step.py",
}
"""Rules that read more than a text: where their cases and near misses stand."""


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def test_every_rule_has_its_case() -> None:
    assert sorted({**CASES, **test_timeline_rules.CASES, **WITH_A_BUNDLE}) == sorted(findings.rules())


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires(rule: str) -> None:
    found = [finding for finding in explained(CASES[rule][0]).findings if finding.rule == rule]
    assert found, explained(CASES[rule][0]).verdict
    for finding in found:
        assert finding.headline == finding.headline.strip().rstrip(".")
        assert finding.evidence or finding.remedies
        assert all(remedy.saves_bytes is None or remedy.certainty for remedy in finding.remedies), (
            "a saving must say how sure it is"
        )


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_stays_silent_on_the_near_miss(rule: str) -> None:
    assert rule not in {finding.rule for finding in explained(CASES[rule][1]).findings}


@pytest.mark.parametrize("rule", CASES)
def test_evidence_quotes_lines_of_the_input(rule: str) -> None:
    text = CASES[rule][0]
    lines = (text + "\n").split("\n")
    for finding in explained(text).findings:
        for proof in finding.evidence:
            if proof.line:
                assert " ".join(proof.line.text.split())[:40] in " ".join(
                    lines[proof.line.number - 1].split()
                ), finding.rule


def test_a_workspace_that_failed_without_harm_before_is_shown() -> None:
    text = SOFT + CASES["convolution-workspace"][0]
    found = next(finding for finding in explained(text).findings if finding.rule == "convolution-workspace")
    assert any("2.27 GiB failed without harm" in proof.fact for proof in found.evidence)
    assert "TF_CUDNN_WORKSPACE_LIMIT_IN_MB" in found.detail


def test_a_bad_alloc_may_be_a_convolution_that_no_report_shows() -> None:
    """Founding question Q2 ends like this, with no TensorFlow message at all."""
    text = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    assert any(
        "tfmemlens conv" in (remedy.code or "")
        for finding in explained(text).findings
        for remedy in finding.remedies
    )
    other = oom("8,8", on=CPU, by="cpu")
    assert not any(
        "tfmemlens conv" in (remedy.code or "")
        for finding in explained(other).findings
        for remedy in finding.remedies
    )
