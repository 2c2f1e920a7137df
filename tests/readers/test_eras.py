"""What dates a log: the clock of its stamps, the names of Keras's functions, forms that came and went."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.oom.eras import era_of_function, logged_in
from tfmemlens.readers.oom.rules import FIRST, LAST

SENTENCE = (
    "OOM when allocating tensor with shape[16,512,512,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
STAMPED = (
    "-09-19 10:22:08.011010: W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at a.cc:1 : "
)


def version(text: str) -> tuple[str, str] | None:
    return pipeline.explain(text + "\n").case.capture.source.version


@pytest.mark.parametrize(
    ("month", "newest"),
    [
        ("2016-01", LAST),  # before the first in the list: nothing is known
        ("2018-09", (1, 12)),  # 1.11 came in that month, and 1.12 two months later
        ("2019-08", (2, 0)),
        ("2021-01", (2, 4)),
        ("2026-11", LAST),
    ],
)
def test_no_log_is_older_than_what_wrote_it(month: str, newest: tuple[int, int]) -> None:
    assert logged_in(month) == (FIRST, newest)


def test_the_stamp_of_tensorflow_s_own_logger_bounds_the_version() -> None:
    assert version(f"2018{STAMPED}Resource exhausted: {SENTENCE}") == ("1.5", "1.12")
    assert version(f"2026{STAMPED}RESOURCE_EXHAUSTED: {SENTENCE}") == ("2.7", "2.21")


def test_another_program_s_stamp_says_nothing() -> None:
    assert version(f"2018-09-19 10:22:08,011 ERROR {SENTENCE}") == ("1.5", "2.21")


def test_a_clock_that_contradicts_the_form_is_wrong() -> None:
    """Boards without a battery begin in an early year."""
    stamped = f"2017{STAMPED}RESOURCE_EXHAUSTED: {SENTENCE}"
    assert version(f"{stamped} [Op:__inference_train_function_1]") == ("2.7", "2.21")


@pytest.mark.parametrize(
    ("name", "oldest"),
    [
        ("__inference_train_function_164203", (2, 2)),
        ("__inference_multi_step_on_iterator_4411", (2, 16)),
        ("__inference_one_step_on_iterator_3", (2, 16)),
        ("__inference_train_step_9", (1, 15)),
        ("__wrapped__Mul_device_/job:localhost", None),
    ],
)
def test_the_name_of_a_function_says_who_made_it(name: str, oldest: tuple[int, int] | None) -> None:
    era = era_of_function(name)
    assert (era[0] if era else None) == oldest


def test_the_hint_on_eager_mode_is_young() -> None:
    hint = "Hint: If you want to see a list of allocated tensors when OOM happens, add it to RunOptions"
    assert version(f"{SENTENCE}\n{hint}") == ("1.5", "2.21")
    assert version(f"{SENTENCE}\n{hint}. This isn't available when running in Eager mode.") == ("2.5", "2.21")


def test_a_whole_node_behind_braces_is_of_two_versions() -> None:
    tag = "[[{{node net/a/Conv2D}} = Conv2D[T=DT_FLOAT](x, w)]]"
    assert version(f"{SENTENCE}\n\t {tag}") == ("1.11", "1.13")


def test_the_device_of_a_node_s_attributes_counts() -> None:
    text = (
        'OOM when allocating tensor with shape[8,8]\n\t [[Node: a = Relu[T=DT_FLOAT, _device="/job:localhost/'
        'replica:0/task:0/gpu:0"](x)]]\n'
    )
    (incident,) = pipeline.explain(text).case.capture.incidents
    assert incident.request.device == "/job:localhost/replica:0/task:0/gpu:0"


def test_the_head_alone_is_no_dump() -> None:
    head = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)"
    assert "bfc-dump" not in pipeline.explain(head + "\n").case.capture.source.formats
    assert (
        "bfc-dump" in pipeline.explain(head + "\nStats: \nLimit:    2147483648\n").case.capture.source.formats
    )
