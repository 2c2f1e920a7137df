"""A failure that is told in words alone: which memory, whether it grows, and what to ask for."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.line import UNREAD
from tfmemlens.renderers.terminal import report as terminal

RULE = "told-in-words"


def slugs(text: str) -> list[str] | None:
    report = pipeline.explain(text + "\n")
    told = [finding for finding in report.findings if finding.rule == RULE]
    return [each.slug for each in told[0].remedies] if told else None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("My GPU runs out of memory at batch 1.", "a device's memory ran out"),
        ("I get a ResourceExhaustedError during my training", "memory ran out"),
        ("During training the cpu ram is consumed until it depletes.", "host RAM ran out"),
        ("It crashes when it has taken all RAM, in the end.", "host RAM ran out"),
        ("pjit uses too much memory", "memory ran out"),
        ("我的模型因内存分配错误而崩溃", "memory ran out"),
        ("The RAM of the GPU machine is exhausted", "memory ran out"),  # both
        ("Memory usage keeps increasing while I fit one model after another.", "memory grows"),
        ("free GPU memory drops in the afternoon", "a device's memory grows"),
    ],
)
def test_which_memory_the_words_are_about(text: str, what: str) -> None:
    verdict = pipeline.explain(f"Hello,\n{text}\n").verdict
    assert verdict.startswith(f"The text says in words that {what} (line 2), and quotes no message of it")


def test_a_sentence_with_a_figure_says_more_than_the_title() -> None:
    text = "# Memory leak in our sampler?\n\nMemory keeps growing from 301 MB to 312 MB in ten runs.\n"
    verdict = pipeline.explain(text).verdict
    assert 'memory grows (line 3: "Memory keeps growing from 301 MB to 312 MB in ten runs.")' in verdict


def test_a_question_is_not_taken_for_what_happened() -> None:
    text = "# Memory leak in our sampler\n\nDid you run out of memory at 12 GB?\n"
    assert "(line 1)" in pipeline.explain(text).verdict


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("We fixed it by setting workers to one.", True),
        ("I did not know of the limit, I solved this 'killed' problem by adding memory to it.", True),
        ("Tried to decrease the maximum queue length, then it worked.", True),
        ("Simply passing config to the session and it was resolved.", True),
        ("I did not know whether it was fixed by setting workers to one.", False),
        ("If you decrease the batch, then it works?", False),
        ("Memory hovers around a fixed value after a few evaluations.", False),
        ("Reducing the song length works. Thank you!", True),
        ("@me Was able to get it running with `--max-model-len 8192`, but 16k crashed it.", True),
        ("Downgrading to 2.4 worked for me.", True),
        ("It had not been closed in the loop, which I solved by closing it.", True),
        ("What was the solution?\nI decreased the length of the queue.", True),
        ("I decreased the length of the queue.", False),
        ("Setting allow_growth doesn't work for me.", False),
        ("Using smaller images works, but I need large ones.", False),
        ("The code works for me.", False),
        ("Reducing the batch works.", False),
        ("I wonder whether a larger card would have solved this.", False),
        ("It could be solved by buying a larger card.", False),
    ],
)
def test_only_what_ended_it_is_said_to_have(said: str, ended: bool) -> None:
    report = pipeline.explain(f"It runs out of memory.\n{said}\n")
    assert ("what-ended-it" in [action.remedy.slug for action in report.actions]) is ended


def test_a_program_in_another_language_gets_no_python() -> None:
    text = "TensorFlowSharp: memory grows with each run.\nusing (var s = new TFSession(graph)) {\n"
    report = pipeline.explain(text)
    assert report.actions[0].remedy.slug == "close-tensors"
    assert "psutil" not in " ".join(action.remedy.code or "" for action in report.actions)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("it ends with an OOM", ["smaller-batch", "tell-which", "read-the-log"]),
        ("the memory leak is there, too", ["find-what-grows"]),  # a leak has no message
        (
            "RAM is exhausted after an hour",
            ["map-the-file", "tell-which", "read-the-log", "read-the-kernel-log"],
        ),
        (
            "RAM fills up if shuffle is set, which runs out of memory",
            ["smaller-shuffle", "shuffle-files", "read-the-log", "read-the-kernel-log"],
        ),
        ("the GPU's memory is exhausted with shuffle", ["smaller-batch", "tell-which", "read-the-log"]),
        ("there is no memory error", None),
        ("the out of memory errors are gone", None),
        ("except tf.errors.ResourceExhaustedError:", None),
        ("from tensorflow.errors import ResourceExhaustedError", None),
        ("report_tensor_allocations_upon_oom=True", None),
        ("it remembers a program", None),
        ("I ran out of memory\n" + oom("8,64,64,32"), None),  # the message tells more
        ("I ran out of memory\nOSError: [Errno 28] No space left on device", None),
        (
            "out of memory\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU"
            " 0; 8.00 GiB total capacity; 5.44 GiB already allocated)",
            None,
        ),
    ],
)
def test_what_is_advised(text: str, advice: list[str] | None) -> None:
    assert slugs(text) == advice


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("import jax\nmy GPU memory usage keeps increasing", "memory_stats()"),
        ("import jax\nmy memory usage keeps increasing", "psutil"),
        ("my GPU memory usage keeps increasing with Keras", "get_memory_info("),
        ("tensorflow==1.15.0\nmy GPU memory usage keeps increasing", None),
        ("RAM usage keeps increasing", "psutil"),
        ("tensorflow==2.4.0, GPU: GTX 1080\nmemory usage keeps increasing", "get_memory_usage('GPU:0')"),
        ("tensorflow==2.9.0, GPU: GTX 1080\nRAM usage keeps increasing", "psutil"),
    ],
)
def test_what_grows_is_found_by_printing_what_the_framework_tells(text: str, asks: str | None) -> None:
    codes = [
        each.code
        for finding in pipeline.explain(f"{text}\n").findings
        for each in finding.remedies
        if each.slug == "find-what-grows"
    ]
    assert len(codes) == 1 and (asks in (codes[0] or "") if asks else codes[0] is None)


@pytest.mark.parametrize("failed", [True, False])
def test_prose_beside_an_answer_is_no_doubt_of_it(failed: bool) -> None:
    prose = "the allocator ran out of memory trying to allocate a lot, see below\n"
    report = pipeline.explain(prose + (oom("8,64,64,32") if failed else ""))
    assert UNREAD in [note.text for note in report.case.capture.notes]
    assert report.findings and UNREAD not in terminal.render(report)


KILLED = "that the program was killed, as the kernel does where host RAM is full"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("convert.py is killed after two minutes", KILLED),
        ('At "Training model..." the shell reports killed.', KILLED),
        ("Last line: Created device /device:CPU:0; Killed", KILLED),
        ("RAM goes to zero, Killed", "in words that host RAM ran out"),
        ("Memory and swap fill, then an error", "in words that host RAM ran out"),
    ],
)
def test_a_program_that_was_killed_is_told_so_and_no_more(text: str, said: str) -> None:
    verdict = pipeline.explain(f"Hello,\n{text}\n").verdict
    unsaid = (
        "; what took it is not said: it may be data that are read or converted whole, or something that is"
        " kept from step to step"
    )
    no_more = "" if said == KILLED else unsaid
    assert verdict == f"The text says {said} (line 2), and quotes no message of it{no_more}."
    assert ("read-the-log" in (slugs(text) or [])) is (said != KILLED)
    assert "read-the-kernel-log" in (slugs(text) or [])


@pytest.mark.parametrize(
    "text",
    [
        "I killed the training after an hour",
        "training was killed by me",
        "the zombie is killed. Killed by arrows",
        "the branch of the tree was killed",
        "memory fits",
    ],
)
def test_who_ended_a_program_himself_tells_of_no_memory(text: str) -> None:
    assert slugs(text) is None


def test_a_warning_beside_the_words_tells_its_bytes() -> None:
    warning = (
        "W external/xla/xla/tsl/framework/bfc_allocator.cc:291] Allocator (GPU_0_bfc)"
        " ran out of memory trying to allocate {}GiB with freed_by_count=0. The caller indicates that this is"
        " not a failure, but this may mean that there could be performance gains if more memory were"
        " available."
    )
    text = f"Training ends in an out of memory error\n{warning.format('2.50')}\n{warning.format('26.32')}\n"
    (found,) = (each for each in pipeline.explain(text).findings if each.rule == RULE)
    told = (
        "and quotes only warnings, which say themselves that they are no failure (the largest: about"
        " 26.32 GiB found no room at once, line 3)"
    )
    assert found.headline == f"the text says in words that memory ran out (line 1), {told}"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("TF takes 60GB of RAM for a set of 2GB", "host RAM is full or much used"),
        ("My PC freezes as training begins, RAM is at 99%", "host RAM is full or much used"),
        ("RAM exhaustion while training throws no exception", "host RAM is full or much used"),
        ("Unexpectedly high GPU memory usage of Conv2D", "a device's memory is full or much used"),
        ("it loads the entire data set into RAM", "host RAM is full or much used"),
        ("it ends with ResourceExhausted at the last line", "memory ran out"),
    ],
)
def test_words_that_say_less_are_told_as_less(text: str, what: str) -> None:
    verdict = pipeline.explain(f"Hello,\n{text}\n").verdict
    quoted = f': "{text}"' if "60GB" in text or "99%" in text else ""
    assert verdict.startswith(
        f"The text says in words that {what} (line 2{quoted}), and quotes no message of it"
    )


def test_a_program_that_gets_killed_was_most_likely_short_of_ram() -> None:
    verdict = pipeline.explain('Hello,\nthe process gets "Killed" after loading\n').verdict
    assert "was killed, as the kernel does where host RAM is full (line 2)" in verdict


@pytest.mark.parametrize(
    "text",
    [
        "RAM is at 20% and the loss is nan",
        "I use a laptop with 16GB of RAM",
        "the job gets killed at the time limit",
        "RAM is at 99%\nTraceback (most recent call last):\nValueError: x",  # another end is told
    ],
)
def test_words_that_tell_no_lack_of_memory(text: str) -> None:
    assert slugs(text) is None


def test_a_gpu_that_tensorflow_takes_whole_is_no_failure() -> None:
    text = "Tensorflow is still taking up all GPU memory, whatever I set\nimport tensorflow as tf"
    assert pipeline.explain(text + "\n").verdict.startswith("No failure: TensorFlow reserves nearly all")
    beside = "PyTorch runs out of memory, since TensorFlow fills up all GPUs"
    assert (slugs(f"{beside}\nimport tensorflow as tf") or [""])[0] == "growth"


@pytest.mark.parametrize(
    "path", ["/data/part-7.parquet", "./run/net-12", "gs://bucket/net-12", "C:\\data\\x"]
)
def test_a_file_behind_resource_exhausted_is_no_lack_of_memory(path: str) -> None:
    report = pipeline.explain(f"OP_REQUIRES failed at io.h:71 : RESOURCE_EXHAUSTED: {path}\n")
    assert "Out of memory" not in report.verdict


def _printed(*figures: float) -> str:
    lines = "".join(f"Memory usage after {turn} run(s) (in MiB): {it}\n" for turn, it in enumerate(figures))
    long = f"# Unexpectedly high memory usage of a model that {'only ' * 20}computes its outputs\n"
    return pipeline.explain(long + lines).verdict


def test_what_is_printed_and_stays_flat_leaves_nothing_behind() -> None:
    verdict = _printed(5000, 5612.25, 5610, 5611.625, 5609.5)
    assert "what it prints stays flat (at most 5.48 GiB, lines 3 to 6)" in verdict


@pytest.mark.parametrize(
    "figures",
    [(5000.0, 5612.2, 5610.0), (5000.0, 5600.0, 5700.0, 5800.0, 5900.0)],
    ids=["too few", "it rises"],
)
def test_what_rises_or_is_seen_too_seldom_is_not_flat(figures: tuple[float, ...]) -> None:
    assert "stays flat" not in _printed(*figures)


def test_reserved_addresses_explain_no_failure() -> None:
    told = "It uses 32G of RAM and 65G of virtual memory (VIRT)."
    failed = pipeline.explain(f"{told}\nA machine with 16G died with OOM errors.\n").verdict
    assert "no memory: VIRT" not in failed


def test_what_is_fixed_ended_nothing() -> None:
    said = "The training patch_size is fixed to 60 and all others are bigger with it."
    report = pipeline.explain(f"It runs out of memory.\n{said}\n")
    assert "what-ended-it" not in [action.remedy.slug for action in report.actions]


def test_what_ended_it_is_quoted_from_its_clause_and_ends_the_guessing() -> None:
    text = (
        "Training gets killed after 18 iterations.\nIn fact I was in a container and did not know that it was"
        " automatically restraining my memory to 1 GB, I solved it by adding --memory=16g to its command\n"
    )
    report = pipeline.explain(text)
    assert "line 2 says what ended it" in report.verdict and "so memory grows" not in report.verdict
    first, *others = report.actions
    assert first.remedy.text.endswith('"I solved it by adding --memory=16g to its command"')
    assert [action.remedy.slug for action in others] == ["read-the-kernel-log"]


def test_of_what_works_the_last_sentence_counts() -> None:
    text = "It is an OOM.\nSetting it to 2 parts works properly.\nReducing the song length works.\n"
    assert 'line 3 says ended it: "Reducing the song length works"' in (
        pipeline.explain(text).actions[0].remedy.text
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The memory was not released and caused this error on the next run.", True),
        ("It had something to do with several workers.", True),
        ("Has it something to do with several workers?", False),
        ("May be the memory was not released and could have been what caused this error.", False),
    ],
)
def test_a_cause_is_quoted_beside_a_message(said: str, told: bool) -> None:
    verdict = pipeline.explain(f"{oom('8,8,8,8')}\n{said}\n").verdict
    assert ("names the cause" in verdict) is told
    assert "names the cause" not in pipeline.explain(f"{said}\n{oom('8,8,8,8')}\n").verdict


@pytest.mark.parametrize(
    "text",
    [
        "I set a memory limit for each GPU.",
        "We have enough memory on the GPU.",
        "It exits with code 1, after 137 steps.",
        "A large amount of code was written from memory.",
        "Swap the two layers.",
    ],
)
def test_words_about_memory_that_tell_no_failure(text: str) -> None:
    assert (
        pipeline.explain(f"I use tensorflow 2.4.\n{text}\n").verdict == "No out-of-memory message was found."
    )


def test_what_an_earlier_run_holds_is_looked_at_before_the_pool_grows() -> None:
    log = "E cuda_blas.cc:238] failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\n"
    first = [action.remedy.slug for action in pipeline.explain(log).actions][:2]
    assert first == ["growth", "see-device-users"]
    held = "last time it crashed, then the GPU's memory was not released\n"
    assert [each.remedy.slug for each in pipeline.explain(log + held).actions][:2] == first[::-1]


@pytest.mark.parametrize(
    ("asks", "of_memory"),
    [
        ("Is the memory of the second host not enough for the decoder?", False),
        ("It ran out of memory on the second host.", True),
    ],
)
def test_a_question_about_memory_beside_another_error_says_nothing_of_it(asks: str, of_memory: bool) -> None:
    report = pipeline.explain(
        "Traceback (most recent call last):\n"
        '  File "/w/tune.py", line 18, in main\n'
        "    state = jax.device_put(params, jax.devices()[4])\n"
        "ValueError: device_put's second argument must be a Device which represents addressable devices\n"
        f"\n{asks}\n"
    )
    assert ("says in words" in report.verdict) is of_memory
    if not of_memory:
        assert "the text asks about memory (line 6)" in report.verdict.lower()
        assert [action.remedy.slug for action in report.actions] == ["read-the-log"]


_IN_VAIN = "I run a TensorFlow training and get OOM.\nI reduced the batch size to 1, which did not help.\n"


@pytest.mark.parametrize(
    ("told", "small"),
    [
        ("I'm using a GTX 960M.", True),
        ("GPU: GeForce GTX 1050 Ti", True),
        ("MX250 (2 GB)", True),
        ("I'm using a GTX 1080 Ti.", False),
        ("You may try what fits a GTX 960M.", False),
        ("The loss is 960 at step 1050.", False),
    ],
)
def test_a_small_card_and_a_batch_of_one_need_a_larger_one(told: str, small: bool) -> None:
    report = pipeline.explain(f"{_IN_VAIN}{told}\n")
    assert report.actions[0].remedy.text.startswith("take a GPU with more memory") is small


FULL = "My GPU is running out of memory with a ResourceExhaustedError."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It happens during validation.", True),
        ("I have 9000 images in the training set and 1000 in the validation set.", False),
        ("There are 900 rows in my validation data.", False),
    ],
)
def test_a_set_that_is_named_for_validation_is_no_evaluation_that_fails(text: str, found: bool) -> None:
    assert ("smaller-evaluation-batch" in (slugs(f"I train a net. {text}\n{FULL}") or [])) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The first time I trained it with a batch of 16, it worked. Now I get an error this time.", True),
        ("The first time I trained it, it did not work. I get the error again.", False),
        ("The first time I trained it, it worked.", False),
    ],
)
def test_what_ran_once_and_fails_again_is_left_by_the_run_before(text: str, found: bool) -> None:
    assert ("restart-kernel" in (slugs(f"{text}\n{FULL}") or [])) is found


_OTHER_OP = (
    "{first}\n\npython legacy/train.py --pipeline_config_path=ssd.config with tensorflow 1.9\n"
    "{error} (see above for traceback): {what}\n"
    '\t [[Node: prep/Check = Assert[T=[DT_STRING], _device="/device:CPU:0"](prep/And, prep/Check/data)]]\n'
)


@pytest.mark.parametrize(
    ("first", "error", "what", "slugs"),
    [
        (
            "Out of memory when training a detector",
            "InvalidArgumentError",
            "assertion failed: [too few rows in the input]",
            ["read-the-log"],
        ),
        ("I run out of memory with my detector", "InvalidArgumentError", "assertion failed: [too few]", None),
        ("Out of memory when training a detector", "InternalError", "could not allocate the buffer", None),
    ],
)
def test_a_title_about_memory_above_another_error(
    first: str, error: str, what: str, slugs: list[str] | None
) -> None:
    report = pipeline.explain(_OTHER_OP.format(first=first, error=error, what=what))
    assert ("title speaks of memory" in report.verdict.lower()) is (slugs is not None)
    if slugs:
        assert [action.remedy.slug for action in report.actions] == slugs


_STARTS = (
    "{}\n2024-05-06 07:08:09.101112: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1928] Created device"
    " /job:localhost/replica:0/task:0/device:GPU:0 with 9000 MB memory:  -> device: 0, name: NVIDIA GeForce"
    " RTX 3060, pci bus id: 0000:01:00.0, compute capability: 8.6\nEpoch 1/3\n{}"
)


def test_a_title_above_a_log_that_does_not_fail_is_no_failure() -> None:
    report = pipeline.explain(_STARTS.format("# Memory allocation problems", ""))
    assert "no line below it fails" in report.verdict
    assert [each.slug for each in report.findings[0].remedies] == ["read-the-log"]


@pytest.mark.parametrize(
    ("title", "below"),
    [("# Out of memory: memory problems", ""), ("# Memory problems", "It is killed after a while.\n")],
)
def test_a_title_that_says_so_or_words_below_it_tell_of_a_failure(title: str, below: str) -> None:
    assert "no line below it fails" not in pipeline.explain(_STARTS.format(title, below)).verdict
