"""What works beside what fails decides what is said and advised of a text in words."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


@pytest.mark.parametrize(
    ("text", "verdict", "first"),
    [
        (
            "My TensorFlow training runs out of memory with 4 GPUs but not with one GPU.",
            "what several devices add",
            "see-device-users",
        ),
        (
            "It trains fine in TensorFlow with a subset of the data.\nWith the whole data set it is an OOM.",
            "the whole set of data",
            "data-on-the-host",
        ),
        (
            "import jax\nI can train it with SGD. I can't train it with AdamW: out of memory.",
            "the state of the optimizer",
            "less-optimizer-state",
        ),
        (
            "It runs out of RAM. It starts 8 processes that all load the features separately.",
            "what each process loads",
            "load-once-for-all",
        ),
        (
            "It works on the CPU but not on the GPU, which is out of memory.",
            "the GPU's memory",
            "smaller-batch",
        ),
        (
            "RAM grows each epoch. Disabling the TensorBoard callback makes it work fine.",
            "`TensorBoard callback`",
            "leave-it-out",
        ),
        (
            "RAM is exhausted in training. When I set shuffle to False it works as expected.",
            "the buffer of shuffle",
            "smaller-shuffle",
        ),
        (
            "My memory leak is gone? No, it grows, and works fine without tf.function.",
            "tf.function",
            "one-signature",
        ),
    ],
)
def test_what_works_and_what_fails_go_before_every_guess(text: str, verdict: str, first: str) -> None:
    report = pipeline.explain(f"Hello,\n{text}\n")
    assert verdict in report.verdict
    assert report.actions[0].remedy.slug == first


def test_what_ended_it_is_tried_first_and_a_stated_cause_is_quoted() -> None:
    report = pipeline.explain("Out of memory.\nI solved it by setting workers to 1.\n")
    assert (
        report.actions[0].remedy.text
        == 'try what line 2 says ended it: "I solved it by setting workers to 1"'
    )
    stated = pipeline.explain("It is out of memory. The root cause is that the array is copied.\n")
    assert 'line 1 names the cause: "The root cause is that the array is copied".' in stated.verdict


def test_jax_that_takes_most_of_a_gpu_is_told_of_its_own_pool_alone() -> None:
    text = "I use jax. Training consistently uses around 70% of the GPU memory, whatever the GPU.\n"
    report = pipeline.explain("import jax\n" + text)
    assert "JAX reserves 75 %" in report.verdict and "TensorFlow" not in report.verdict
    assert report.actions[0].remedy.code == "export XLA_PYTHON_CLIENT_PREALLOCATE=false"
    assert "TensorFlow" in pipeline.explain("It uses around 70% of the GPU memory.\n").verdict


def test_words_around_a_quoted_profile_are_read() -> None:
    post = (
        "I use jax. I can train it with SGD. I can't train it with AdamW: out of memory.\n"
        "Showing nodes accounting for 9.34GB, 100% of 9.34GB total\n"
        "      flat  flat%   sum%        cum   cum%\n"
        "    9.34GB   100%   100%     9.34GB   100%  fit\n"
    )
    report = pipeline.explain(post)
    assert "9.3 GiB" in report.verdict or "9.34 GiB" in report.verdict
    assert report.actions[0].remedy.slug == "less-optimizer-state"
    assert not pipeline.explain(post.partition("\n")[2]).actions


def test_a_title_alone_is_no_message_of_pytorch() -> None:
    title = "# CUDA out of memory\n"
    words = "Loading the model with jax takes all of it, and I get out of memory errors.\n"
    assert "ran out" in pipeline.explain(title + words).verdict
    assert "PyTorch" in pipeline.explain("RuntimeError: CUDA out of memory\n").verdict


def test_a_cache_of_the_data_set_is_told_in_words_of_any_form() -> None:
    report = pipeline.explain("# dataset memory cache runs out of memory\n")
    assert report.actions[0].remedy.slug == "cache-to-file"
    assert "host RAM" in report.verdict


def test_two_ways_that_the_text_compares_are_told_and_compared_first() -> None:
    report = pipeline.explain(
        "Hello,\nWith 60 files and validate on 4 my TensorFlow model runs fine.\n"
        "With 40 files and validate on 20 it runs out of memory.\n"
    )
    assert "what differs between line 2, which works, and line 3, which fails" in report.verdict
    first = report.actions[0].remedy
    assert first.slug == "what-differs"
    assert "`validate on 4 -> 20`" in first.text
    assert "validation set" in first.text
    assert "smaller-batch" not in [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize(
    ("words", "works"),
    [
        ("works", True),
        ("is supposed to work", False),
        ("shouldn't fail", False),
        ("ought to work", False),
    ],
)
def test_what_should_work_is_no_side_that_works(words: str, works: bool) -> None:
    report = pipeline.explain(
        f"I use jax.\nIt runs out of memory with the solver `Brent`.\nWith the solver `Powell` it {words}.\n"
        f"{FAILED_IN_JAX}"
    )
    assert any("which works" in each.headline for each in report.findings) is works


def test_code_that_may_be_large_is_a_guess_beside_a_comparison() -> None:
    report = pipeline.explain(
        "Hello,\nWith the solver `Powell` I get an out of memory error, with the solver `Brent` it works.\n"
        "import jax\nimport jax.numpy as jnp\n"
        "def f(x):\n    return jnp.tanh(x)\n"
        "x = jnp.ones(4096)\nh = jax.jacrev(f)(x)\n"
    )
    assert report.actions[0].remedy.slug == "what-differs"
    assert "compares decides" in report.verdict
    assert "most likely all rows" not in report.verdict


CAN_NOT_BE_SET = (
    "By the way I was getting a `RuntimeError: Devices cannot be changed any more` error. So I added the"
    " lines below to `main.py` and it solved the issue.\n"
)


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        (CAN_NOT_BE_SET, False),
        (CAN_NOT_BE_SET.replace("Devices cannot be changed any more", "Out of memory"), True),
        ("I added the lines below to `main.py` and it solved the issue.\n", True),
    ],
)
def test_what_ended_another_error_is_no_cure(text: str, ended: bool) -> None:
    failed = (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    )
    told = pipeline.explain(f"{failed} 9437184 bytes.\n\n{text}")
    advice = " ".join(remedy.text for finding in told.findings for remedy in finding.remedies)
    assert ("says ended it" in advice) is ended


FAILED_IN_JAX = (
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9437184000 bytes.\n"
)


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("It runs fine when I evaluate it eagerly. It crashes when I run it on the other queue.\n", False),
        ("It works with driver 535.54. It runs out of memory with driver 570.12.\n", True),
        ("With the solver `Powell` it works. With the solver `Brent` it runs out of memory.\n", True),
        ("With width 64 it works. With width 72 it runs out of memory.\n", True),
    ],
)
def test_two_ways_without_a_name_are_not_compared_again(text: str, compared: bool) -> None:
    report = pipeline.explain(f"I use jax.\n{text}{FAILED_IN_JAX}")
    advised = [each.remedy.text for each in report.actions]
    assert any(each.startswith("compare ") for each in advised) is compared
    assert len(advised) > compared


@pytest.mark.parametrize(
    ("between", "compared"), [("It is a post.", True), ("kim · comment · 2024-03-01", False)]
)
def test_what_another_writer_says_is_no_side_of_a_comparison(between: str, compared: bool) -> None:
    text = (
        "I use jax.\nIt works fine when I use `linear`.\n"
        f"{between}\nIt runs out of memory when I use `cubic`.\n{FAILED_IN_JAX}"
    )
    advised = [each.remedy.text for each in pipeline.explain(text).actions]
    assert any(each.startswith("compare ") for each in advised) is compared


def test_no_solution_is_no_way_that_works() -> None:
    text = (
        "I use jax.\nI set it to any value to use `one` GPU, no solution for the out of memory trouble.\n"
        f"It still crashes with `two`.\n{FAILED_IN_JAX}"
    )
    assert not any(each.remedy.text.startswith("compare ") for each in pipeline.explain(text).actions)


@pytest.mark.parametrize("said", ["needed to fit the model", "trying to fit it"])
def test_what_is_to_fit_does_not_fit_yet(said: str) -> None:
    text = (
        f"I use jax.\nWith `linear` much more is {said}, if all is sharded.\n"
        f"It runs out of memory if `cubic` is used.\n{FAILED_IN_JAX}"
    )
    assert not any(each.remedy.text.startswith("compare ") for each in pipeline.explain(text).actions)


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ("h7:11:13 [2] include/alloc.h:40 NCCL WARN Cuda failure 'out of memory'", True),
        (
            "E cuda_driver.cc:828] failed to allocate 2.00G (2147483648 bytes) from device:"
            " CUDA_ERROR_OUT_OF_MEMORY",
            False,
        ),
    ],
)
def test_a_message_of_nccl_names_its_cause_beside_two_ways_that_are_compared(
    message: str, known: bool
) -> None:
    text = "Hello,\nWith 60 files and 4 workers my TensorFlow model runs fine.\n"
    text += "With 40 files and 8 workers it runs out of memory.\n"
    report = pipeline.explain(f"{text}\n{message}\n")
    assert ("outside TensorFlow's pool" in report.verdict) is known
    assert any("what differs between line 2" in each.headline for each in report.findings) is not known
    assert (report.actions[0].remedy.slug == "growth") is known


@pytest.mark.parametrize(("told", "cured"), [("fixes it", True), ("needs less memory", False)])
def test_a_cure_is_no_second_way_to_compare(told: str, cured: bool) -> None:
    text = f"I use jax.\nI get an OOM when I compile it on a v3-8. But using remat {told}.\n"
    texts = [each.remedy.text for each in pipeline.explain(text).actions]
    assert any(each.startswith("stay with what line 2 says ends it") for each in texts) is cured
    assert not any(each.startswith("compare ") for each in texts)


_REFUSED = "I cuda_driver.cc:830] failed to allocate 2.10G (2254857728 bytes) from device: {}\n"


@pytest.mark.parametrize(
    ("after", "ended"),
    [
        ("But I still get an error:", False),
        ("However, the kernel still crashes:", False),
        ("Now another problem:", False),
        ("I still think that it belongs into the docs.", True),
        ("Thanks!", True),
    ],
)
def test_a_cure_that_leaves_a_failure_is_none(after: str, ended: bool) -> None:
    text = f"# Memory runs out in Keras\n\nRAM grows with each epoch.\nCalling f() solved it. {after}\n"
    slugs = [action.remedy.slug for action in pipeline.explain(text).actions]
    assert ("what-ended-it" in slugs) is ended


def test_another_writer_takes_no_cure_back() -> None:
    text = "# Memory runs out in Keras\nCalling f() solved it.\n\nother wrote:\nIt still leaks, RAM grows.\n"
    assert any(action.remedy.slug == "what-ended-it" for action in pipeline.explain(text).actions)


@pytest.mark.parametrize(("left", "verdict"), [(" But I still cannot train:", False), ("", True)])
def test_a_heading_that_was_ended_is_no_verdict(left: str, verdict: bool) -> None:
    refused = _REFUSED.format("CUDA_ERROR_OUT_OF_MEMORY: out of memory")
    title = "# Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED"
    text = f"{title}\n\nSetting growth fixed this.{left}\n{refused}"
    assert ("cuDNN" in pipeline.explain(text).verdict) is verdict


@pytest.mark.parametrize(("suspect", "said"), [("newer TF versions", False), ("my image callback", True)])
def test_a_suspected_release_is_no_part_that_can_be_left_out(suspect: str, said: bool) -> None:
    text = f"# Memory runs out on the GPU with TensorFlow\nI suspect {suspect} since then.\n"
    assert ("what its writer suspects" in pipeline.explain(text).verdict) is said


def test_what_is_new_in_keras_3_is_compared() -> None:
    text = "# GPU out of memory\nThe main difference in Keras 3 is XLA by default, can you turn it off?\n"
    assert "jit_compile=False" in (pipeline.explain(text).actions[0].remedy.code or "")
