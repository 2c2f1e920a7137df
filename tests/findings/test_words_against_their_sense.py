"""Words that say that memory is not short, and what the writer's own text rules out."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.model.report import Report

CANCELLED = (
    "2020-05-02 10:14:02.361785: W tensorflow/core/kernels/data/generator_dataset_op.cc:103] Error occurred"
    " when finalizing GeneratorDataset iterator: Cancelled: Operation was cancelled\n"
)
NO_ALGORITHM = """Traceback (most recent call last):
  File "enc.py", line 12, in <module>
    sess.run(train, feed_dict={x: rows})
tensorflow.python.framework.errors_impl.NotFoundError: No algorithm worked!
\t [[Node: up/conv2d_transpose = Conv2DBackpropInput[T=DT_FLOAT, data_format="NCHW"](a, b, c)]]
"""
KILLED = "Epoch 3\nKilled\n"
RETRACED = """RAM climbs with each trial until it is killed. If I take @tf.function away memory stays flat.

import tensorflow as tf

@tf.function
def fit_one(model, opt, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    g = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(g, model.trainable_variables))

for trial in range(300):
    net = tf.keras.Sequential([tf.keras.layers.Dense(8)])
    opt = tf.keras.optimizers.Adam(1e-3)
    fit_one(net, opt, X, Y)

Killed
"""
LISTED = """  4%|#### | 212/3000 [00:07<02:42, 14.7it/s]
Traceback (most recent call last):
  File "score.py", line 31, in <listcomp>
    kept = [net(b, training=False) for b in tqdm(pool_ds)]
ResourceExhaustedError: OOM when allocating tensor with shape[8,128,1024]\
 and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Erf]
"""
TWO_MODELS = """model = unet(input_size=(256, 256, 1))
model = models.load_model('w.hdf5')
model.fit_generator(gen, epochs=3)

Epoch 1/3
ResourceExhaustedError: OOM when allocating tensor with shape[2,64,256,256]\
 and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
\t [[Node: conv2d_7_1/convolution = Conv2D[T=DT_FLOAT, data_format="NCHW"](a, b)]]
"""
LATE = "I0611 03:12:55 model_lib_v2.py:682] Step {} per-step time 0.6s loss=0.4\n"
OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[{}] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_hearsay_of_a_leak_is_none_beside_figures_that_stay() -> None:
    said = "People write that this is a memory leak. free shows 9 of 62 used, the same all the time.\n"
    report = explained(said + CANCELLED)
    assert report.verdict.startswith("No failure")
    grows = "The RAM grows with each epoch, it is a memory leak.\n"
    assert not explained(grows + CANCELLED).verdict.startswith("No failure")


def test_a_server_that_turns_requests_away_lacks_no_memory() -> None:
    refused = (
        "Which resource is exhausted? RAM 7 of 62 GB.\n        status = StatusCode.RESOURCE_EXHAUSTED\n"
        '        debug_error_string = "{"file":"call.cc","grpc_message":"","grpc_status":8}"\n'
    )
    assert "turned a request away" in explained(refused).verdict
    told = refused.replace('"grpc_message":""', '"grpc_message":"OOM when allocating tensor"')
    assert "turned a request away" not in explained(told).verdict


def test_an_allocator_without_statistics_is_no_lack_of_memory() -> None:
    report = explained("E InternalError: No allocator statistics\n")
    assert report.verdict.startswith("No lack of memory") and slugs(report) == ["other-allocator"]


@pytest.mark.parametrize(("said", "blames"), [("nvidia-smi shows 1.3 GB of 11.\n", False), ("", True)])
def test_a_library_without_an_algorithm_is_no_full_device_where_much_is_free(said: str, blames: bool) -> None:
    report = explained(said + NO_ALGORITHM)
    assert ("found no memory" in report.verdict) is blames
    assert ("growth" in slugs(report)) is blames


def test_a_function_that_gets_another_model_in_each_turn_is_named() -> None:
    report = explained(RETRACED)
    assert "`fit_one` (line 6) is a tf.function and gets another `net` and `opt`" in report.verdict
    assert slugs(report)[0] == "one-function" and "smaller-pipeline" not in slugs(report)
    once = RETRACED.replace("for trial", "net = make()\nfor trial").replace("    net = tf", "    other = tf")
    assert "gets another `net`" not in explained(once).verdict


def test_a_pipeline_is_blamed_where_one_is_named_alone() -> None:
    code = "import tensorflow as tf\nx = load()\nmodel = build()\nmodel.fit(x, epochs=3)\ny = model(x)\n"
    assert "smaller-pipeline" not in slugs(explained(code + KILLED))
    assert {"smaller-pipeline", "shorter-queue"} & set(
        slugs(explained(code.replace("fit(x", "fit(x, workers=8") + KILLED))
    )


def test_native_memory_of_a_java_service_is_no_input_pipeline() -> None:
    pod = "Spring boot service with DJL, -Xmx1g\n  Reason:       OOMKilled\n  Exit Code:    137\n"
    report = explained(pod + "Predictor<Image, Classes> p = model.newPredictor();\n")
    assert slugs(report)[0] == "close-tensors" and "smaller-pipeline" not in slugs(report)
    assert "newPredictor" not in report.actions[-1].remedy.text
    assert "close-tensors" not in slugs(explained(pod))


def test_a_list_of_results_is_the_cause_and_no_smaller_batch_helps() -> None:
    report = explained(LISTED)
    assert "`kept` (score.py:31) keeps every result" in report.verdict
    assert slugs(report)[0] == "keep-numbers" and "smaller-prediction-batch" not in slugs(report)
    off = LISTED.replace("net(b, training=False)", "net(b, training=False).numpy()")
    assert "keeps every result" not in explained(off).verdict


def test_a_batch_that_only_delays_the_end_is_told_in_vain() -> None:
    said = "Memory is exhausted. A smaller batch only makes it die at a later step.\n"
    assert "smaller-batch" not in slugs(explained("train with tensorflow on my GPU\n" + said))


def test_two_models_under_one_name_in_one_graph() -> None:
    report = explained(TWO_MODELS)
    assert "line 1 makes a model and line 2 another one" in report.verdict
    assert slugs(report)[0] == "drop-models"
    assert "drop-models" not in slugs(explained(TWO_MODELS.replace("conv2d_7_1", "conv2d_7")))
    assert "drop-models" not in slugs(explained(TWO_MODELS.replace("model = unet", "other = unet")))


def test_a_map_of_one_size_is_no_longer_sequence() -> None:
    log = "".join(LATE.format(step) for step in (100, 200, 300, 400))
    assert "compare-shapes" not in slugs(explained(log + OOM.format("8,96,320,320")))
    assert "compare-shapes" in slugs(explained(log + OOM.format("8,340,768")))
    said = "the images have different sizes\n"
    assert "compare-shapes" in slugs(explained(said + log + OOM.format("8,96,320,320")))


def test_the_buffer_of_shuffle_comes_before_what_looks_for_growth() -> None:
    text = (
        "But it works for the first 10-12 epochs and then dies.\nds = ds.shuffle(9000)\nEpoch: 11\n"
        "Resource exhausted: OOM when allocating tensor with shape[256,256,3] and type float on"
        " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n"
    )
    assert slugs(explained(text))[:2] == ["smaller-shuffle", "shuffle-files"]
    assert "smaller-shuffle" not in slugs(explained(text.replace("ds.shuffle(9000)", "ds.batch(9)")))


def test_a_pod_that_is_restarted_and_a_machine_that_swaps_are_short_of_ram() -> None:
    pod = (
        "I shuffle with a buffer of 30000 before batching, with tensorflow and model.fit.\n"
        "It climbs to over 40 GB, where the pod gets restarted by kubernetes. The GPU is fine, it uses 6 of"
        " 16 GB.\n"
    )
    report = explained(pod)
    assert "host RAM" in report.verdict and "buffer of shuffle" in report.verdict
    assert slugs(report)[0] == "smaller-shuffle" and "see-device-users" not in slugs(report)
    box = (
        "TensorFlow on a box with 4 GB of main memory and a GPU.\n"
        "The machine freezes each time a checkpoint is to be written, it swaps like mad, and the process is"
        " gone.\n  PID USER  PR  NI    VIRT    RES  COMMAND\n"
    )
    assert "host RAM" in explained(box).verdict and "look-at-resident" not in slugs(explained(box))


GATHERED = (
    OOM.format("81920,512")
    + "\t [[{{node DistributedAdamOptimizer_Allreduce/HorovodAllgather_gradients_concat_0}} ="
    " HorovodAllgather[T=DT_FLOAT](Loss/gradients/concat)]]\n"
)


def test_rows_that_horovod_gathers_grow_with_the_ranks() -> None:
    report = explained("model.fit(x)\n" + GATHERED)
    assert "from all ranks, here 81,920 rows" in report.verdict
    assert slugs(report)[0] == "dense-allreduce" and "smaller-batch" not in slugs(report)
    summed = GATHERED.replace("HorovodAllgather", "HorovodAllreduce")
    assert "dense-allreduce" not in slugs(explained("model.fit(x)\n" + summed))


@pytest.mark.parametrize(
    ("shape", "card", "first"),
    [
        ("512,64,224,224", "on a GTX 1080 Ti (11 GB)", "512 -> 16 (a guess: at 256"),
        ("512,64,224,224", "", "512 -> 32 (a guess, for a GPU of 16.00 GiB"),
        ("8,64,56,56", "", "halve the batch (8 -> 4)"),
    ],
)
def test_half_of_a_batch_is_no_advice_where_half_of_one_map_is_much(
    shape: str, card: str, first: str
) -> None:
    text = f"model.fit(x, batch_size={shape.partition(',')[0]}) {card}\n" + OOM.format(shape)
    node = "\t [[{{node block1/Conv2D}}]]\n"
    batch = next(each for each in explained(text + node).actions if each.remedy.slug == "smaller-batch")
    assert first in batch.remedy.text


WORKER = """multiprocessing.pool.RemoteTraceback:
Traceback (most recent call last):
  File "/usr/lib/python3.7/multiprocessing/pool.py", line 121, in worker
    result = (True, func(*args, **kwds))
  File "/home/u/feed.py", line 12, in __getitem__
    img = tf.image.resize(img, (299, 299)).numpy()
tensorflow.python.framework.errors_impl.InternalError: CUDA runtime implicit initialization on GPU:0 failed.\
 Status: out of memory
"""


def test_a_worker_that_computes_meets_no_stranger() -> None:
    report = explained(WORKER)
    assert "feed.py:12 computes with TensorFlow there" in report.verdict
    assert "another-gpu" not in slugs(report) and slugs(report)[0] == "keep-off-the-device"
    alone = WORKER.replace("/usr/lib/python3.7/multiprocessing/pool.py", "/home/u/main.py")
    assert "another-gpu" in slugs(explained(alone))


TAPED = """def full(x):
    rows = []
    for i in range(4):
        rows.append(denoise(x[:, i], training=True))
    return tf.concat(rows, 1)

with tf.GradientTape() as tape:
    loss = loss_fn(y, full(x))
grads = tape.gradient(loss, denoise.trainable_variables)

ResourceExhaustedError: Exception encountered when calling layer "conv2d_6" (type Conv2D).

OOM when allocating tensor with shape[4,64,512,512] and type float on\
 /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]
"""


def test_a_loop_of_calls_under_a_tape_keeps_all_of_them() -> None:
    report = explained(TAPED)
    assert "the loop of line 3 calls a model in each turn (line 4)" in report.verdict
    assert slugs(report)[0] == "own-gradient"
    assert "own-gradient" not in slugs(explained(TAPED.replace(", training=True", "")))


def test_each_number_that_a_call_gives_a_function_is_named() -> None:
    text = """RAM grows by 20 MB a step.
@tf.function
def train_step(x, n, rate):
    return model(x[:, :n]) * rate

for step, x in enumerate(loader):
    rate = 0.1 * 0.99 ** step
    train_step(x, int(lens[step]), rate)
"""
    assert "gets `n` and `rate` as Python numbers (line 8)" in explained(text).verdict
    alone = text.replace("rate)\n", "tf.constant(rate))\n")
    assert "gets `n` as a Python number" in explained(alone).verdict


def test_a_private_optimizer_computes_no_jacobian_of_the_program() -> None:
    code = "opt = VectorizedDPKerasAdamOptimizer(num_microbatches=64)\nmodel.fit(x, y, batch_size=64)\n"
    node = "\t [[{{node PartitionedCall/gradients/UnsortedSegmentSum/pfor/UnsortedSegmentSum}}]]\n"
    private = slugs(explained(code + OOM.format("64,300000,128") + node))
    assert private[0] == "fewer-microbatches" and "without-pfor" not in private
    assert "without-pfor" in slugs(explained(OOM.format("64,300000,128") + node))


BOARD = """python convert_trt.py --max_workspace_size=8589934592
2020-08-22 15:31:22: I gpu_device.cc:1247] Created TensorFlow device \
(/job:localhost/replica:0/task:0/device:GPU:0 with 3624 MB memory) -> physical GPU (device: 0, name: Xavier,\
 pci bus id: 0000:00:00.0, compute capability: 7.2)
Killed
"""


def test_a_board_gives_no_more_than_it_has() -> None:
    report = explained(BOARD)
    assert "a workspace of 8.00 GiB" in report.verdict and slugs(report)[0] == "smaller-workspace"
    code = " ".join(action.remedy.code or "" for action in report.actions)
    words = " ".join(action.remedy.text for action in report.actions)
    assert "memory_limit=1812" in code and "convert it with TensorRT" not in words
    small = explained(BOARD.replace("8589934592", "1048576").replace("3624", "214").replace("_trt", ""))
    assert "room-beside-the-pool" not in slugs(small) and "free-shared-ram" in slugs(small)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            "--max-old-space",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "jmap"),
        (
            "java.lang.OutOfMemoryError: physicalBytes (12291M) > maxPhysicalBytes (12288M)",
            "maxPhysicalBytes=0",
        ),
    ],
)
def test_a_heap_of_another_language_has_its_own_limit(message: str, code: str) -> None:
    assert code in (explained(f"tensorflow\n{message}\n").actions[0].remedy.code or "")


def test_an_arena_that_is_too_small_needs_no_look_for_a_crash() -> None:
    arena = "Failed to allocate tail memory. Requested: 2144, available 1496, missing: 648\n"
    assert "find-the-crash" not in slugs(explained(arena + "make: *** [test] Segmentation fault\n"))
    assert "find-the-crash" in slugs(explained("tensorflow\nSegmentation fault (core dumped)\n"))


def test_results_of_pytorch_keep_their_graphs() -> None:
    code = "for x in volumes:\n    out = model(x)\n    masks.append(out)\n"
    message = "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB.\n"
    assert slugs(explained(code + message))[0] == "drop-results"
    off = code.replace("append(out)", "append(out.cpu())")
    assert "drop-results" not in slugs(explained(off + message))
