"""Advice that fits this program: its front end, its version, its size, and what the text says of it."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tests.findings.test_what_is_no_batch import explained, slugs
from tfmemlens.readers.formats.oom_log import read_lines

BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
LARGE = "W allocator.cc:122] Allocation of 4194304000 exceeds 10% of system memory.\n"
SLOTS = (
    'Traceback (most recent call last):\n  File "/u/site-packages/keras/optimizers/optimizer_v2/adam.py",'
    " line 124, in _create_slots\n    self.add_slot(var, 'm')\n"
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[{}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    " [Op:Fill]\n"
)


@pytest.mark.parametrize(
    ("text", "sampled"),
    [
        ("loss = xent(labels, logits)\n" + oom("64,50,90000", "decoder/logits/MatMul"), True),
        ("    model.fit(x, epochs=3)\n" + oom("64,50,90000", "tf_mbart/lm_head/MatMul"), False),
        (oom("64,50,90000", "gpt/lm_head/MatMul"), False),
        (
            oom("64,50,90000", "net/logits/MatMul").replace(
                "\n\t", " [Op:__inference_one_step_on_iterator_4]\n\t"
            ),
            False,
        ),
    ],
)
def test_another_loss_is_for_programs_that_compute_their_own(text: str, sampled: bool) -> None:
    assert ("sampled-loss" in slugs(text)) is sampled
    assert ("shorter-sequences" in slugs(text)) is not sampled


def test_labels_as_one_hot_vectors_are_told_as_labels() -> None:
    text = oom("2000000,50257", "OneHot", on=CPU, by="cpu").replace("[[{{node OneHot}}]]", "[Op:OneHot]")
    assert "labels as one-hot vectors" in explained(text).verdict
    assert slugs(text)[0] == "sparse-labels-alone"
    assert "sparse-labels-alone" not in slugs(oom("2000,50257", "bert/embeddings/one_hot"))


def test_a_session_in_the_code_makes_code_for_sessions() -> None:
    frames = 'Traceback (most recent call last):\n  File "run.py", line 3, in main\n    {}\n'
    told = oom("512,512,64,4", "net/conv/Conv2D")
    for code, session in (("estimator.train(input_fn=f)", True), ("trainer.train(f)", False)):
        capture = read_lines(list(enumerate((frames.format(code) + told).split("\n"), 1)))
        assert capture.surroundings.session is session


@pytest.mark.parametrize(
    ("before", "asked"),
    [("", True), ("CUDA_VISIBLE_DEVICES= python3 t.py\n", False), ("CUDA_VISIBLE_DEVICES=0\n", True)],
)
def test_who_hides_the_gpu_is_not_asked_for_it(before: str, asked: bool) -> None:
    assert ("check-the-device" in slugs(before + BAD_ALLOC)) is asked


def test_the_last_large_request_is_told_where_the_message_has_none() -> None:
    assert "3.91 GiB at once (line 2, the last of 2" in explained(LARGE * 2 + BAD_ALLOC).verdict
    assert "does not say how much" in explained(BAD_ALLOC).verdict


@pytest.mark.parametrize(
    "limit",
    [
        "    Limits:\n      memory:  12Gi\n",
        "docker run --memory=12Gi train\n",
        "$ srun --mem=12Gi python t.py\n",
    ],
)
def test_the_limit_of_a_container_is_named(limit: str) -> None:
    killed = "      Reason:       OOMKilled\n      Exit Code:    137\n"
    assert "limit is 12Gi" in explained(killed + limit).verdict
    assert slugs(killed + limit)[0] == "raise-container-limit"
    assert "limit is" not in explained(killed + "memory: about 12\n").verdict


@pytest.mark.parametrize(("shape", "last"), [("4194304,512", True), ("200704,512", False)])
def test_no_other_optimizer_saves_a_kernel_that_is_too_large(shape: str, last: bool) -> None:
    told = slugs(SLOTS.format(shape))
    assert "lighter-optimizer" in told
    assert (told[0] != "lighter-optimizer") is last


@pytest.mark.parametrize(
    "row",
    [
        " fc1 (Dense)   (None, 512)   2147484160",
        "\u2502 fc1 (Dense) \u2502 (None, 512) \u2502 2,147,483,648 \u2502",
    ],
)
def test_a_summary_in_the_text_names_the_layer(row: str) -> None:
    assert "a fully connected kernel (`fc1`)" in explained(row + "\n" + SLOTS.format("4194304,512")).verdict
    assert "fc1" not in explained(row.replace("48", "77") + "\n" + SLOTS.format("4194304,512")).verdict


@pytest.mark.parametrize(
    ("node", "sparse"),
    [("train/update_word_vectors/mul_2", True), ("train/update_word_vectors/ApplyAdam", False)],
)
def test_a_sparse_update_without_a_kernel_touches_the_whole_table(node: str, sparse: bool) -> None:
    assert ("sparse-updates" in slugs(oom("3000000,300", node))) is sparse


def test_stacked_outputs_of_a_loop_are_its_steps() -> None:
    text = oom("24,8,256,256,64", "net/conv_lstm2d/TensorArrayV2Stack/TensorListStack")
    assert "outputs of 24 steps" in explained(text).verdict
    assert slugs(text)[0] == "fewer-steps"
    assert "fewer-steps" not in slugs(oom("24,8,256,256,64", "net/conv/Relu"))


@pytest.mark.parametrize(
    ("line", "noted"),
    [("> I get this weird OOM with a tiny MLP!!", False), ("xla_tool: failed to allocate pool OOM 12", True)],
)
def test_a_question_is_no_unrecognised_message(line: str, noted: bool) -> None:
    notes = explained(line + "\n" + oom("8,8,8,8")).case.capture.notes
    assert any("unrecognised" in note.text for note in notes) is noted


def test_a_cell_inside_a_layers_call_is_the_users_line() -> None:
    cells = (
        "ResourceExhaustedError                    Traceback (most recent call last)\nCell In[17], line 2\n"
        "      1 x = next(it)\n----> 2 _ = enc(x)\n\nCell In[15], line 12, in Block.call(self, x)\n"
        "     11 def call(self, x):\n---> 12     a = self.mha(x, x)\n\n"
    )
    failed = explained(cells + oom("8,8,8,8", "Einsum")).case.moments[0].request
    assert failed is not None and failed.failed.source == "In[15]:12"


def test_another_process_that_pytorch_names_is_told() -> None:
    text = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total"
        " capacity of 23.65 GiB. Process 13370 has 13.55 GiB memory in use.\n"
    )
    assert "end-the-process" in slugs(text)
    assert "end-the-process" not in slugs(text.replace("Process 13370 has 13.55 GiB memory in use.", ""))
