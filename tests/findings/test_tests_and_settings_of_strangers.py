"""What a text's own code and tables show: a call that makes devices of all GPUs, evaluation in the process
that trains, `free` over time, a call in training mode, names of callbacks, a direct call of a model.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

REFUSED = (
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:924] failed to allocate 15.29G (16416440320 bytes) from"
    " device: CUDA_ERROR_OUT_OF_MEMORY\n"
)
RANKS = "mpirun -np 4 python keras_mnist.py\nimport horovod.keras as hvd\n"
PINNED = "config.gpu_options.visible_device_list = str(hvd.local_rank())\n"
BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
ESTIMATOR = "INFO:tensorflow:Saving checkpoints for 11984 into ./run/model.ckpt.\n"
EVALUATES = "INFO:tensorflow:Starting evaluation at 2017-07-28-18:09:20\nINFO:tensorflow:Evaluation [3/10]\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def test_listing_devices_in_each_rank_takes_all_gpus() -> None:
    told = explained(f"{RANKS}devices = device_lib.list_local_devices()\n{PINNED}{REFUSED}")
    assert "`list_local_devices()` (line 3) takes memory of all GPUs in each" in told.verdict
    assert told.actions[0].remedy.text.startswith("leave `list_local_devices()` out (line 3)")


@pytest.mark.parametrize(
    "code",
    [
        f"{PINNED}devices = device_lib.list_local_devices()\n",
        f"devices = device_lib.list_local_devices(config)\n{PINNED}",
    ],
)
def test_a_list_of_devices_after_the_choice_takes_none(code: str) -> None:
    assert "list_local_devices" not in explained(f"{RANKS}{code}{REFUSED}").verdict


def test_a_refusal_in_an_evaluation_is_of_the_evaluation() -> None:
    told = explained(ESTIMATOR + EVALUATES + BAD_ALLOC)
    assert "it was in an evaluation (line 2)" in told.verdict
    assert told.actions[0].remedy.slug == "own-process"
    assert "in an evaluation" not in explained(ESTIMATOR + BAD_ALLOC).verdict


def test_a_refusal_beside_a_named_gpu_asks_for_none() -> None:
    assert "check-the-device" in offered("tensorflow 1.4\n" + BAD_ALLOC)
    assert "check-the-device" not in offered("tensorflow 1.4, GPU: GTX 1080\n" + BAD_ALLOC)


FREE = "Mem:             65           {}          19           0          44          63\n"


def test_free_over_time_is_read_with_the_unit_of_its_command() -> None:
    rows = "".join(FREE.format(used) for used in (1, 6, 8, 10))
    told = explained(f"Output of `free --giga -s 1800` beside the training with tensorflow:\n{rows}")
    assert [size for size, _ in told.case.capture.surroundings.host_readings] == [
        10**9, 6 * 10**9, 8 * 10**9, 10**10
    ]  # fmt: skip
    assert "rose from" in told.verdict
    assert not explained(f"tensorflow\n{rows}").case.capture.surroundings.host_readings


def test_training_and_evaluating_in_turn_is_named() -> None:
    text = "Host RAM grows all the time while TensorFlow trains.\npython main.py --mode={}\n"
    told = explained(text.format("train_and_eval"))
    assert "`train_and_eval` (line 2) trains and evaluates in turn in one process" in told.verdict
    assert told.actions[0].remedy.slug == "own-process"
    assert "evaluates in turn" not in explained(text.format("train")).verdict


def test_a_call_in_training_mode_leaves_tensors_of_its_own() -> None:
    text = (
        "TensorFlow.js 4.10.0, Chrome. Memory grows with every frame until the tab crashes.\n"
        "const pred = tf.tidy(() => model.apply(x, {training: %s}));\n"
    )
    assert explained(text % "true").actions[0].remedy.text.startswith("leave `training: true` out")
    assert "training: true" not in explained(text % "false").actions[0].remedy.text


def test_callbacks_are_named_as_the_program_names_them() -> None:
    text = (
        "RAM grows by 1 GB with every epoch until the process is killed, TF 2.1.\n"
        "model.fit(train, epochs=100, callbacks=[{}])\n"
    )
    assert "the callbacks (`save`, `scores`)" in explained(text.format("save, scores")).actions[0].remedy.text
    assert "histograms" in explained(text.format("save, tensorboard")).actions[0].remedy.text


FLAT = "".join(f"Memory usage after {turn} run(s) (in MiB): 4842.{turn}\n" for turn in range(6))


def test_a_direct_call_of_a_model_of_keras_3_is_compared_with_a_compiled_one() -> None:
    text = "TF {} on the CPU\nfor run in range(20):\n    {}\n" + FLAT
    assert offered(text.format("2.16.1", "model(images)")) == ["compiled-call"]
    assert offered(text.format("2.15.0", "model(images)")) == []
    assert offered(text.format("2.16.1", "model.predict(images)")) == []


def test_what_an_unloaded_model_leaves_is_told() -> None:
    text = "TensorFlow Serving 2.1.0. Memory is not given back after {}.\n"
    told = explained(text.format("unloading models"))
    assert "is not given back" in told.verdict
    assert [each.remedy.slug for each in told.actions] == ["another-malloc"]


GROWS = "RAM goes up with every image that TensorFlow 1.13 analyses until the machine is full.\n"


def test_weights_that_a_loop_loads_again_make_a_model_in_each_turn() -> None:
    loop = "for f in files:\n    net = lib.MaskRCNN()\n    net.load_weights({})\n    show(net, f)\n"
    told = explained(GROWS + loop.format("path"))
    assert "the loop on line 2 makes a model in each turn (line 3)" in told.verdict
    assert told.actions[0].remedy.slug == "build-once"
    assert "makes a model" not in explained(GROWS + loop.format("f")).verdict


REPLAYS = "I run DQN of TF-Agents on Atari, TensorFlow 2.0, OOM after 14000 iterations.\n"


@pytest.mark.parametrize(
    "says",
    [
        "The replay buffer has a size of 100 only, and with 2 it happens as well.",
        "The replay buffer is full after 2500 steps, but memory continues to rise.",
        "I limited the replay size to 20000 and it was killed again.",
    ],
)
def test_a_replay_buffer_that_is_small_is_no_cause(says: str) -> None:
    assert "smaller-replay" in offered(REPLAYS)
    assert "smaller-replay" not in offered(f"{REPLAYS}{says}")
    assert "buffer of experiences" not in explained(f"{REPLAYS}{says}").verdict


OOM = (
    "OP_REQUIRES failed at conv_ops.cc:174 : Resource exhausted: OOM when allocating tensor with"
    " shape[16,128,{side},{side}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc\n"
)


def test_one_side_of_an_image_is_there_by_chance() -> None:
    text = "TensorFlow 1.15, images 128x128 run, batch size 16.\n"
    assert "128 is of" not in explained(text + OOM.format(side=98)).verdict
    text = "TensorFlow 1.15, I train on images of 200x200, batch size 16.\n"
    assert "200 x 200 are of line 1" in explained(text + OOM.format(side=200)).verdict


FILLING = (
    "2019-10-28 14:33:47.605458: I tensorflow/core/kernels/data/shuffle_dataset_op.cc:111] Filling up shuffle"
    " buffer (this may take a while): 1359 of 2048\nKilled\n"
)


def test_the_size_of_a_shuffle_buffer_is_named() -> None:
    first = explained("I train with TensorFlow\n" + FILLING).actions[0].remedy
    assert first.text.startswith("take a smaller buffer_size than the 2048 of line 2")
    first = explained("I train with the object detection API\n" + FILLING).actions[0].remedy
    assert "smaller shuffle buffer than the 2048 of line 2 in its configuration" in first.text


def test_a_bundle_that_each_call_loads_comes_before_its_tensors() -> None:
    text = (
        "TensorFlow Java 1.6: memory rises each time inference is invoked, the heap is flat.\n"
        'SavedModelBundle bundle = SavedModelBundle.load(path, "serve");\n{}'
        'Tensor<?> y = bundle.session().runner().feed("x", x).fetch("y").run().get(0);\n'
    )
    assert (
        explained(text.format("")).actions[0].remedy.text.startswith("load the SavedModelBundle once (line 2")
    )
    assert explained(text.format("}\n")).actions[0].remedy.slug == "close-tensors"


def test_all_pairs_of_a_graphs_nodes_are_told_by_their_bytes() -> None:
    text = (
        "I use TensorFlow 1.14 on {} nodes with 75662 edges:\n"
        "2019-09-04 12:21:14.928295: W tensorflow/core/framework/allocator.cc:124] Allocation of 20510249796"
        " exceeds 10% of system memory.\n"
        "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"
    )
    told = explained(text.format(71607))
    assert "71,607 x 71,607 are all pairs of the 71,607 nodes of line 1" in told.verdict
    assert [each.remedy.slug for each in told.actions[:2]] == ["sparse-product", "sample-neighbours"]
    assert "all pairs" not in explained(text.format(71608)).verdict


POOL_IN_PIECES = (
    "W external/org_tensorflow/tensorflow/core/common_runtime/bfc_allocator.cc:929] Stats:\nLimit:"
    "                 14824102298\nInUse:                 11613806592\nMaxInUse:              14821513216\n"
    "NumAllocs:                  184047\nMaxAllocSize:           3366453248\n\n"
    "OP_REQUIRES failed at conv_ops.cc:539 : Resource exhausted: OOM when allocating tensor with"
    " shape[8,256,200,336] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc\n"
)


def test_a_server_whose_pool_is_in_pieces_is_advised_as_a_server() -> None:
    text = "tensorflow_model_server 2.1: OOM with many clients, the other GPUs are idle.\n" + POOL_IN_PIECES
    assert offered(text)[:3] == ["one-device-each", "bound-requests", "smaller-requests"]
    assert "constant-shapes" in offered("I train with TensorFlow 2.1\n" + POOL_IN_PIECES)


def test_no_batch_has_a_part_in_the_update_of_a_weight() -> None:
    text = (
        "V100 16 GB, TensorFlow 2.5\n"
        "(0) Resource exhausted:  OOM when allocating tensor with shape[30522,1024] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        "\t [[node AdamWeightDecay/AdamWeightDecay/update_2/mul_3 (defined at /w/optimization.py:215) ]]\n"
    )
    assert "smaller-batch" not in offered(text)


HANDLER = (
    "Flask, TensorFlow 2.1: after some requests the server is out of memory.\n"
    "@app.route('/test', methods=['POST'])\ndef answer():\n    {}\n    return net.predict([sample])\n"
)


def test_a_model_that_a_handler_loads_is_loaded_for_each_request() -> None:
    told = explained(HANDLER.format("net = asr.load('deepspeech2', lang='en')"))
    assert "`asr.load` (line 4), which the handler calls for each request" in told.verdict
    assert told.actions[0].remedy.slug == "build-once"
    other = HANDLER.format("sample = np.load(request.files['audio'])")
    assert "which the handler calls" not in explained(other).verdict


OF_TORCH = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; 512 MiB"
    " already allocated; 14.31 MiB free; 540.00 MiB reserved in total by PyTorch)\n"
)


def test_tensorflow_in_the_process_of_pytorch_holds_the_rest() -> None:
    text = "{} and a component of PyTorch are trained in {} process.\n" + OF_TORCH
    assert "most likely TensorFlow's" in explained(text.format("TensorFlow 2.1", "the same")).verdict
    assert "TensorFlow's" not in explained(text.format("TensorFlow 2.1", "another")).verdict
    assert "TensorFlow's" not in explained(text.format("A tokenizer", "the same")).verdict


TABLE = (
    "|   0  Tesla P100-SXM2...  Off  | 00000000:05:00.0 Off |                    0 |\n"
    "| N/A   36C    P0    41W / 300W |  12799MiB / 16280MiB |      0%      Default |\n"
    "ResourceExhaustedError: OOM when allocating tensor with shape[14541,400] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "\t [[node Variable_2/Adam_1/Assign (defined at crosse.py:310) ]]\n"
)


def test_memory_that_nobody_holds_is_a_hidden_process() -> None:
    told = explained("Even when no process of mine runs, 13GB of the GPU are allocated:\n" + TABLE)
    assert (
        "12.50 GiB of the GPU's 15.90 GiB are in use by a process that nvidia-smi does not list"
        in told.verdict
    )
    assert told.actions[0].remedy.slug == "end-the-process"
    assert "smaller-model" not in [each.remedy.slug for each in told.actions]
    assert "does not list" not in explained("While it trains:\n" + TABLE).verdict


def test_a_corpus_that_is_fed_whole_is_fed_in_parts() -> None:
    text = (
        "TensorFlow 1.8 runs out of memory on 100K sentences.\n"
        "vectors = session.run(encoding, feed_dict={{placeholder: {}}})\n"
    )
    told = explained(text.format("corpus_sentences"))
    assert "a whole set that is fed at once, as one batch (line 2)" in told.verdict
    assert told.actions[0].remedy.slug == "evaluation-in-batches"
    assert "fed at once" not in explained(text.format("corpus_sentences[i:i + 64]")).verdict
