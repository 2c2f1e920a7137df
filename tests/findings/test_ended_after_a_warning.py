"""A large request that was granted, and a program that ended; and warnings that are quoted in part."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tests.findings.test_texts_of_strangers import COPY, DST, explained, leading

LARGE = (
    "W tensorflow/core/framework/cpu_allocator_impl.cc:81] Allocation of 805306368 exceeds 10% of free system"
    " memory.\n"
)
RULE = "ended-after-a-warning"


@pytest.mark.parametrize(
    ("before", "after", "sure"),
    [
        ("", "The script then fails without any message.", False),
        ("my program got killed after this:\n", "", True),
        ("Does it matter?\n", "The program crashes if I do this.", False),
        ("the notebook's kernel dies here\n", "", False),
        ("My memory is 8 GB and still not enough\n", "", False),
        ("after this the whole machine freezes\n", "", True),
        ("", "The script stopped, it is a memory error in the end.", True),
        ("一运行train就卡死\n", "", True),
    ],
)
def test_only_some_ends_after_the_warning_are_most_likely_host_ram(
    before: str, after: str, sure: bool
) -> None:
    found = explained(before + LARGE + after)
    assert found.findings[0].rule == RULE
    assert "768.00 MiB at once" in found.verdict
    assert found.verdict.startswith("Most likely host RAM") is sure
    assert ("whether host RAM ran out is open" in found.verdict) is not sure
    assert (found.actions[0].remedy.slug == "watch-ram") is not sure
    assert not any(finding.rule == "alarming-but-harmless" for finding in found.findings)


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "It never crashes, but I wonder.",
        "The training does not stop.",
        "How can I switch this off?",
        "Did the training actually fail when you saw it?",
        "Tell me whether the process crashed.",
        "Does your training stop after it? If the script crashes, please attach the log.",
        "Did the training really fail after it?",
        "I wonder whether your program crashes at all",
        "Do you only see it? If it crashes, add the last lines",
    ],
)
def test_the_warning_alone_is_no_failure(beside: str) -> None:
    assert leading(LARGE + beside) == "alarming-but-harmless"


def test_words_of_the_warning_are_enough() -> None:
    found = explained('the kernel terminates while predicting: "Allocation exceeds 10% of system memory"')
    assert found.findings[0].rule == RULE
    assert [each.remedy.slug for each in found.actions[:2]] == ["watch-ram", "smaller-input"]
    trains = explained('model.fit(x, y)\nit got killed: "Allocation exceeds 10% of system memory"')
    assert trains.actions[0].remedy.slug == "smaller-batch"


def test_a_failure_beside_it_says_more() -> None:
    assert leading(LARGE + "then the script fails\n" + oom("8,64,64,32")) != RULE


@pytest.mark.parametrize("hangs", ["Training hangs after this", "The script gets stuck here, no error."])
def test_a_program_that_hangs_has_not_ended(hangs: str) -> None:
    found = explained(LARGE + hangs)
    assert found.findings[0].rule == "alarming-but-harmless"
    assert "it does not explain why the program hangs" in found.verdict
    assert found.actions[0].remedy.slug == "watch-ram"
    assert leading(LARGE + "then my laptop hangs") == RULE  # as one does that swaps


def test_ram_with_room_is_not_full() -> None:
    assert leading(LARGE + "100% of one core, RAM use is 9 of 64 GB") == "alarming-but-harmless"
    assert leading("100% of RAM is in use, 62 of 64 GB") == "told-in-words"


SOFT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate {size} with freed_by_count=0. The caller"
    " indicates that this is not a failure, but may mean that there could be performance gains\n"
)
HEAD = "Allocator (GPU_0_bfc) ran out of memory trying to allocate {size}"


def test_a_title_that_quotes_a_harmless_warning_is_no_failure() -> None:
    text = f"# {HEAD.format(size='24.00MiB')}\n\n{SOFT.format(size='24.00MiB')}"
    assert explained(text).verdict.startswith("1 warning that an allocation failed harmlessly")


def test_warnings_after_which_the_program_goes_on_are_harmless() -> None:
    title, soft = "out of memory messages, only 3 fps\n", SOFT.format(size="2.22GiB")
    found = explained(f"{title}they do not stop the program\n{soft}")
    assert found.findings[0].rule == "soft-warnings-only"
    assert found.findings[0].severity.name == "NOTE"
    assert "the program goes on (line 2)" in found.verdict
    assert explained(f"{soft}step 120 loss = 0.31").findings[0].severity.name == "NOTE"


@pytest.mark.parametrize("said", ["then it crashes", "it still runs out of memory", "it gets killed"])
def test_warnings_before_an_end_are_not(said: str) -> None:
    found = explained(f"out of memory messages, only 3 fps\n{SOFT.format(size='2.22GiB')}{said}")
    assert found.findings[0].severity.name != "NOTE"


@pytest.mark.parametrize(
    "head",
    [
        HEAD.format(size="96.00MiB"),
        HEAD.format(size="24.00MiB") + ".  Current allocation summary follows.",
        HEAD.format(size="24.00MiB") + " (rounded to 25165824)",
    ],
)
def test_a_refusal_of_its_own_beside_such_warnings_is_one(head: str) -> None:
    assert explained(f"{head}\n{SOFT.format(size='24.00MiB')}").verdict.startswith("Out of memory")


def chunks(*sizes: int) -> str:
    rows = [f"InUse at 7f{index}000000000 of size {size} next {index}" for index, size in enumerate(sizes)]
    return "\n".join(rows) + "\n"


def test_a_few_chunks_of_a_cut_dump_say_nothing_of_the_device() -> None:
    assert "only a part of its dump is here" in explained(chunks(9 << 20, 1 << 18, 256)).verdict
    assert "one block of 3.00 GiB" in explained(chunks(3 << 30, 1 << 18, 256)).verdict


def test_one_large_tensor_beside_a_failed_copy_is_the_data_set() -> None:
    copy = f"{COPY} _EagerConst: {DST}"
    held = explained(dump(64, 8192, 6000).partition("\n")[2] + copy)
    assert "one tensor holds 5.86 GiB already" in held.verdict
    assert held.actions[0].remedy.slug == "keep-off-the-device"
    little = explained(dump(64, 8192, 600).partition("\n")[2] + copy)
    assert "one tensor holds" not in little.verdict


def test_a_batch_that_host_ram_has_no_room_for_asks_for_no_gpu() -> None:
    said = "Failed to allocate memory for the batch of component 0\n\t [[node IteratorGetNext (defined at"
    found = explained(f"ResourceExhaustedError: 2 root error(s) found.\n  (0) Resource exhausted:  {said}")
    assert found.actions[0].remedy.slug == "smaller-batch"
    assert "check-the-device" not in [action.remedy.slug for action in found.actions]


@pytest.mark.parametrize(
    ("end", "rule", "says"),
    [
        (
            'Exception in thread "main" java.lang.NullPointerException\n'
            "\tat org.tensorflow.internal.buffer.TensorBuffers.tensorMemory(TensorBuffers.java:180)\n",
            "alarming-but-harmless",
            "native code gave no memory for a tensor",
        ),
        (
            "ValueError: Shapes (None, 3) and (None, 5) are incompatible\n",
            "alarming-but-harmless",
            "of Python",
        ),
        (
            "java.lang.NullPointerException\n\tat lab.Load.main(Load.java:7)\n",
            "alarming-but-harmless",
            "of Java",
        ),
    ],
)
def test_an_error_after_the_warning_is_a_failure(end: str, rule: str, says: str) -> None:
    found = explained(LARGE + end)
    assert found.findings[0].rule == rule
    assert says in found.verdict
    assert "no failure" not in found.verdict.lower()


def test_an_error_after_harmless_warnings_is_a_failure() -> None:
    soft = (
        "W tensorflow/core/common_runtime/bfc_allocator.cc:245] Allocator (GPU_0_bfc) ran out of memory"
        " trying to allocate 2.20GiB with freed_by_count=0. The caller indicates that this is not a failure,"
        " but may mean that there could be performance gains if more memory were available.\n"
    )
    assert "no failure" in explained(soft).verdict.lower()
    verdict = explained(f"{soft}ValueError: logits and labels must have the same shape\n").verdict
    assert "no failure" not in verdict.lower()
    assert "ended in an error of Python" in verdict


@pytest.mark.parametrize("end", ["KeyboardInterrupt: \n", "Exception ignored: no\n"])
def test_who_stops_a_program_by_hand_saw_no_failure(end: str) -> None:
    assert "no failure" in explained(LARGE + end).verdict.lower()


def test_more_free_memory_is_no_growth() -> None:
    found = explained(LARGE + "Increasing the free memory helped for a day.")
    assert not any(finding.rule == "told-in-words" for finding in found.findings)
    grows = explained("The job shows increasing memory usage in each epoch.")
    assert "grows" in grows.verdict


REFUSED = (
    "I tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate 1.50G (1610612736 bytes) from"
    " device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


@pytest.mark.parametrize(
    ("size", "more", "full", "open_end"),
    [
        ("24.00MiB", "", True, True),
        ("24.00MiB", "then the script fails\n", True, False),
        ("2.00GiB", "", False, True),
    ],
)
def test_a_pool_that_is_refused_little_is_full(size: str, more: str, full: bool, open_end: bool) -> None:
    report = explained(REFUSED + SOFT.format(size=size) + more)
    slugs = [action.remedy.slug for action in report.actions]
    assert ("the pool is full" in report.verdict) is full
    assert ("growth" in slugs) is not full
    assert ("how, is not in this text" in report.verdict) is open_end


def test_both_kinds_of_harmless_warnings_are_told() -> None:
    host = "cpu_allocator_impl.cc:83] Allocation of 115605504 exceeds 10% of free system memory.\n"
    gpu = (
        "bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB with"
        " freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there"
        " could be performance gains if more memory were available.\n"
    )
    gone_on = "step 1000 | loss: 0.5\nstep 2000 | loss: 0.4\n"
    both = explained(host + gpu + gone_on).verdict
    assert "110.25 MiB" in both
    assert "2.50 GiB" in both
    assert "GPU's allocator" not in explained(host + gone_on).verdict
