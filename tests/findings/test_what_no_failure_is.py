"""Ends that are no lack of memory, or none of the device, and questions that state nothing."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

WARNED = "W cpu_allocator_impl.cc:82] Allocation of 1207959552 exceeds 10% of free system memory.\n"
EPOCHS = "Epoch 1/3\n400/400 [==============================] - 31s 77ms/step - loss: 0.52\nEpoch 2/3\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


@pytest.mark.parametrize(
    "asks", ["Does it mean that I am running out of memory?", "Am I running out of RAM here?"]
)
def test_a_question_about_a_warning_states_no_failure(asks: str) -> None:
    assert explained(asks + "\n" + WARNED + EPOCHS).verdict.startswith("No failure")


@pytest.mark.parametrize(
    "text",
    [
        f"My RAM runs out after the first epoch.\n{WARNED}{EPOCHS}",
        f"Am I running out of RAM here?\n{WARNED}",
        f"Am I running out of RAM here?\n{EPOCHS}{WARNED}The kernel dies then.\n",
    ],
)
def test_what_is_stated_or_does_not_go_on_is_one(text: str) -> None:
    assert not explained(text).verdict.startswith("No failure")


def test_a_question_is_no_word_for_a_killed_process() -> None:
    said = explained(f"Am I running out of memory?\n{EPOCHS}Killed\n").verdict
    assert "says that RAM ran out" not in said
    assert "says that RAM ran out" in explained(f"I ran out of RAM.\n{EPOCHS}Killed\n").verdict


FILLING = (
    "I tensorflow/core/kernels/data/shuffle_dataset_op.cc:392] Filling up shuffle buffer (this may take a"
    " while): 2200 of 50000\n"
)


def test_killed_while_the_shuffle_buffer_filled() -> None:
    report = explained(FILLING + "Killed\n")
    assert "was filling its shuffle buffer (line 1)" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-shuffle"


def test_killed_after_it_was_full() -> None:
    assert "shuffle buffer" not in explained(FILLING + EPOCHS + "Killed\n").verdict


@pytest.mark.parametrize(
    "check", ["h != kInvalidChunkHandle", "c->in_use() && (c->bin_num == kInvalidBinNum)"]
)
def test_a_check_of_the_allocator_s_books(check: str) -> None:
    said = explained(
        f"F tensorflow/core/common_runtime/bfc_allocator.cc:380] Check failed: {check} \n"
    ).verdict
    assert "found its own books wrong" in said and check in said


def test_another_check_is_a_crash() -> None:
    said = explained(
        "F tensorflow/core/framework/tensor.cc:793] Check failed: dtype() == expected (9 vs. 1)\n"
    )
    assert "books" not in said.verdict


NAN = "InvalidArgumentError: LossTensor is inf or nan. : Tensor had NaN values\n"


def test_no_number_is_no_lack_of_memory() -> None:
    report = explained(NAN)
    assert "NaN or infinite" in report.verdict and report.actions[0].remedy.slug == "find-the-nan"


def test_beside_an_oom_it_is_no_verdict() -> None:
    assert "Out of memory" in explained(oom("8,64,300,300") + NAN).verdict


JAVA = (
    "Our scorer is OOMKilled, the heap is small.\n"
    'Tensor<Float> in = Tensor.create(new long[]{1, 64}, row);\nTensor<?> out = session.runner().feed("x",'
    ' in).fetch("y").run().get(0);\n'
)


def test_java_that_makes_tensors_is_told_to_close_them() -> None:
    assert explained(JAVA).actions[0].remedy.slug == "close-tensors"


def test_python_beside_a_jvm_is_not() -> None:
    slugs = [action.remedy.slug for action in explained("The pod is OOMKilled.\nmodel.fit(x, y)\n").actions]
    assert "close-tensors" not in slugs


LOOP = """{}
while True:
    model = tf.keras.models.load_model("net.h5")
    y = model.predict(window)
    decide(y)
Killed
"""


def test_a_model_that_is_loaded_in_each_turn() -> None:
    assert "makes a model in each turn (line 3)" in explained(LOOP.format("Memory keeps growing.")).verdict


KEEPS = """{}
outs = []
for x, y in ds:
    with tf.GradientTape() as tape:
        logits = net(x, training=True)
        loss = loss_fn(y, logits)
    opt.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))
    outs.append({})

{{{{function_node __wrapped__Conv2D_device_{}}}}} OOM when allocating tensor with shape[16,64,128,128] and\
 type float on {} by allocator GPU_0_bfc [Op:Conv2D]
"""


@pytest.mark.parametrize(
    ("said", "value", "keeps"),
    [
        ("It fails always around step 3,100.", "logits", True),
        ("It fails always around step 3,100.", "float(loss)", False),
        ("It fails always at step 2.", "logits", False),
        ("My GPU has 10 GB.", "logits", False),
    ],
)
def test_a_list_is_the_cause_where_many_turns_went_well(said: str, value: str, keeps: bool) -> None:
    report = explained(KEEPS.format(said, value, GPU, GPU))
    assert ("`outs`" in report.verdict) is keeps


BAR = "Epoch 1/9\n250/250 [==============================] - ETA: 0s - loss: 0.44\n"
FIT = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    model.fit({})\n'


def test_a_bar_alone_makes_evaluation_likely() -> None:
    said = explained(BAR + oom("32,64,64,64")).verdict
    assert "most likely it failed in evaluation" in said


@pytest.mark.parametrize(
    ("given", "evaluates"),
    [("ds, epochs=9", False), ("ds, validation_data=held, epochs=9", True), ("ds, **settings", True)],
)
def test_a_call_without_validation_data_evaluates_nothing(given: str, evaluates: bool) -> None:
    report = explained(BAR + FIT.format(given) + oom("32,64,64,64"))
    assert any(finding.rule == "failed-in-evaluation" for finding in report.findings) is evaluates


@pytest.mark.parametrize(("blocks", "evaluates"), [(40, False), (4, True)])
def test_outputs_that_are_kept_are_of_training(blocks: int, evaluates: bool) -> None:
    size = 32 * 64 * 64 * 64 * 4
    chunks = "".join(
        f"I bfc_allocator.cc:1048] InUse at 7f{number:010x} of size {size} next {number + 1}\n"
        for number in range(blocks)
    )
    head = (
        "W bfc_allocator.cc:456] Allocator (GPU_0_bfc) ran out of memory trying to allocate 32.00MiB (rounded"
    )
    dump = f"{head} to {size})requested by op net/conv/Conv2D\n{chunks}I bfc_allocator.cc:1076] Sum Total of"
    text = f"{BAR}{dump} in-use chunks: {blocks * 32}.00MiB\n{oom('32,64,64,64')}"
    report = explained(text)
    assert any(finding.rule == "failed-in-evaluation" for finding in report.findings) is evaluates


SERVED = (
    "{}E tensorflow/stream_executor/cuda/cuda_dnn.cc:336] Could not create cudnn handle:"
    " CUDNN_STATUS_NOT_INITIALIZED\n"
)


def test_servers_share_a_gpu_by_their_own_flag() -> None:
    served = explained(SERVED.format("docker run --gpus all tensorflow/serving:2.4.1-gpu\n"))
    assert "--per_process_gpu_memory_fraction" in served.actions[0].remedy.text
    assert "fraction" not in explained(SERVED.format("")).actions[0].remedy.text


LOADED = (
    "Your session crashed after using all available RAM.\nx = np.load('x.npy')   # (24000, 256, 256, 3){}\n"
)


def test_an_array_has_the_type_that_is_stated() -> None:
    stated = explained(LOADED.format(" float32"))
    assert "about 18 GiB as float32" in stated.verdict and "uint8" not in stated.verdict
    assert any("a second array as large" in action.remedy.text for action in stated.actions)


def test_an_array_of_no_stated_type_may_be_either() -> None:
    either = explained(LOADED.format(""))
    assert "4.4 GiB as uint8, 18 GiB as float32" in either.verdict
    assert any("float64 of uint8" in action.remedy.text for action in either.actions)
