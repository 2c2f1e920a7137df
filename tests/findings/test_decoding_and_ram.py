"""Decoding, host RAM that calls of predict fill, Windows's paging file, TPUs of TensorFlow's."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained, slugs

STEP = "decoder/while/BasicDecoderStep/decoder/output_projection/MatMul"
BEAMS = "beam_width=10, infer_batch_size=128\n"


def test_a_decoder_that_only_infers_gets_no_loss() -> None:
    told = explained(BEAMS + oom("1280,36000", STEP))
    assert "a step of decoding makes 36,000 logits for each of 1,280 beams at once" in told.verdict
    assert "1280 is 128 (`infer_batch_size`, line 1) x 10 (`beam_width`, line 1)" in told.verdict
    assert told.actions[0].remedy.slug == "smaller-prediction-batch"
    assert not {"sampled-loss", "sparse-labels", "smaller-input"} & set(
        slugs(BEAMS + oom("1280,36000", STEP))
    )


@pytest.mark.parametrize(
    "text",
    [
        oom("1280,36000", STEP),
        "train_step(batch)\n" + BEAMS + oom("1280,36000", STEP),
        BEAMS + oom("1280,36000", f"gradients/{STEP}_grad/MatMul"),
    ],
)
def test_training_and_texts_that_speak_of_no_beams_are_told_of_logits(text: str) -> None:
    assert "decoding" not in explained(text).verdict


READINGS = "".join(f"rss at i={i}0000: {size} GB\n" for i, size in ((1, 3.1), (2, 5.2), (3, 7.4)))


def test_readings_at_a_turn_are_read_and_predict_in_a_loop_is_named() -> None:
    told = explained(f"p = model.predict(np.expand_dims(frame, 0))\n{READINGS}Killed\n")
    assert "rose from 2.89 GiB to 6.89 GiB over 3 readings" in told.verdict
    assert "one-call" in [action.remedy.slug for action in told.actions]
    assert "one-call" not in slugs(f"p = model.predict(frames, batch_size=64)\n{READINGS}Killed\n")


NOTEBOOK = (
    "MemoryError                               Traceback (most recent call last)\n"
    "<ipython-input-12-5c8e0a07e9a4> in <module>()\n----> 1 y = to_categorical(ids, num_classes=n)\n\n"
    "~/lib/python3.6/site-packages/keras/utils/np_utils.py in to_categorical(y, num_classes, dtype)\n"
    "---> 33     categorical = np.zeros((n, num_classes), dtype=dtype)\n\n"
    "MemoryError: Unable to allocate 149. GiB for an array with shape (2000000, 20000) and data type"
    " float32\n"
)


def test_the_heading_of_a_notebooks_traceback_is_no_message() -> None:
    told = explained(NOTEBOOK)
    assert "to_categorical makes a row of 20,000 numbers" in told.verdict and "(In[12]:1)" in told.verdict
    assert told.case.moments[0].incident is not None
    assert told.case.moments[0].incident.occurrences == 1


def test_windows_paging_file_is_host_ram_of_several_processes() -> None:
    text = "ImportError: DLL load failed: The paging file is too small for this operation to complete.\n"
    told = explained(text)
    assert "RAM and paging file together are its limit" in told.verdict
    assert [action.remedy.slug for action in told.actions[:2]] == ["fewer-workers", "larger-paging-file"]


TPU = (
    "  (0) RESOURCE_EXHAUSTED: {{%s}}Attempting to reserve 9.21G at the bottom of memory. That was not"
    " possible. There are 7.48G free, 0B reserved, and 7.48G reservable.\n"
)


def test_a_tpu_program_of_tensorflow_gets_the_batch_first() -> None:
    told = slugs(TPU.replace("{{%s}}", "{{function_node __inference_train_function_190211}} "))
    assert told[0] == "smaller-batch"
    assert slugs("jax.jit(step)(x)\n" + TPU.replace("{{%s}}", ""))[0] != "smaller-batch"


def test_a_kernels_gradient_is_as_large_whatever_the_batch() -> None:
    told = explained(oom("3,3,2048,2048", "gradients/aspp/Conv2D_grad/Conv2DBackpropFilter"))
    assert "the gradient of a kernel, as large whatever the batch" in told.verdict
    assert "whatever the batch" not in explained(oom("8,64,64,2048", "aspp/Conv2D")).verdict


EPOCHS = "    all_images.append(fake)\nEpoch 0 1.2\nEpoch 1 1.1\nEpoch 2 1.0\n"
FAILED = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[256,3,3,512] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:__inference_train_step_9120]\n"
)


def test_a_list_that_code_fills_counts_after_epochs_too() -> None:
    assert "`all_images` (line 1) most likely keeps a tensor" in explained(EPOCHS + FAILED).verdict
    assert "`all_images`" not in explained("    all_images.append(fake)\nEpoch 0 1.2\n" + FAILED).verdict
