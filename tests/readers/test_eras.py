"""Which TensorFlow a path betrays: each pattern with both of its ends."""

from __future__ import annotations

import re

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.readers.bytes.texts import encoding_of
from tfmemlens.readers.oom.eras import era_of, era_of_function, era_of_session, logged_in
from tfmemlens.readers.oom.rules import FIRST, LAST, Era


@pytest.mark.parametrize(
    ("path", "era"),
    [
        ("c:\\tf_jenkins\\home\\workspace\\win\\tensorflow\\core\\x.cc", (FIRST, (1, 8))),
        ("x/tensorflow_core/python/ops.py", ((1, 15), (2, 1))),
        ("x/tensorflow/contrib/layers.py", (FIRST, (1, 15))),
        ("x/keras/src/engine/training.py", ((2, 13), LAST)),
        ("x/keras/src/backend/tensorflow/trainer.py", ((2, 16), LAST)),
        ("x/keras/utils/traceback_utils.py", ((2, 7), LAST)),
        ("lib/site-packages/keras/backend.py", ((2, 6), (2, 12))),
        ("lib/site-packages/tensorflow/python/keras/backend.py", (FIRST, LAST)),
        ("tensorflow/tsl/framework/bfc_allocator.cc", ((2, 11), (2, 13))),
        ("external/local_tsl/tsl/framework/bfc_allocator.cc", ((2, 14), LAST)),
        ("lib/python2.7/x.py", (FIRST, (2, 1))),
        ("lib/python3.4/x.py", (FIRST, (2, 1))),
        ("lib/python3.5/x.py", (FIRST, (2, 3))),
        ("lib/python3.6/x.py", (FIRST, (2, 6))),
        ("lib/python3.7/x.py", ((1, 13), (2, 11))),
        ("lib/python3.8/x.py", ((1, 15), (2, 13))),
        ("lib/python3.9/x.py", ((2, 5), LAST)),
        ("lib/python3.10/x.py", ((2, 8), LAST)),
        ("lib/python3.11/x.py", ((2, 12), LAST)),
        ("lib/python3.12/x.py", ((2, 16), LAST)),
        ("train.py", (FIRST, LAST)),
        ("lib/python3.7/site-packages/tensorflow_core/x.py", ((1, 15), (2, 1))),
    ],
)
def test_a_path_tells_oldest_and_newest(path: str, era: Era) -> None:
    assert era_of(path) == era


def test_where_a_node_was_defined_tells_on_its_line_and_below() -> None:
    said = oom("4,8", "sequential/conv2d/Relu")
    place = "(defined at /usr/lib/python3.9/site-packages/keras/backend.py:5182)"
    below, beside = said.replace("}}]]", f"}}}}]]\n {place}\n"), said.replace("}}]]", f"}}}} {place}]]")
    for text in (below, beside):
        assert pipeline.explain(text).case.api.oldest == (2, 6)
    assert pipeline.explain(said).case.api.oldest < (2, 5)


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"\xff\xfeO\0", "utf-16"),
        ("OOM w".encode("utf-16-le"), "utf-16-le"),
        ("OOM w".encode("utf-16-be"), "utf-16-be"),
        ("OOM ".encode("utf-16-le"), "utf-8-sig"),  # eight bytes are too few to tell
        ("OOM ".encode("utf-16-be"), "utf-8-sig"),
        (b"OOM when allocating", "utf-8-sig"),
        (b"\0" * 20, "utf-8-sig"),
        (b"".join(number.to_bytes(4, "little") for number in range(1, 60)), "utf-8-sig"),  # of a graph
    ],
)
def test_zeros_in_every_other_place_tell_the_encoding(head: bytes, encoding: str) -> None:
    assert encoding_of(head) == encoding


RELEASES = """
1.0 2017-02, 1.1 2017-04, 1.2 2017-06, 1.3 2017-08, 1.4 2017-11, 1.5 2018-01, 1.6 2018-02, 1.7 2018-03,
1.8 2018-04, 1.9 2018-07, 1.10 2018-08, 1.11 2018-09, 1.12 2018-11, 1.13 2019-02, 1.14 2019-06, 2.0 2019-09,
2.1 2020-01, 2.2 2020-05, 2.3 2020-07, 2.4 2020-12, 2.5 2021-05, 2.6 2021-08, 2.7 2021-11, 2.8 2022-02,
2.9 2022-05, 2.10 2022-09, 2.11 2022-11, 2.12 2023-03, 2.13 2023-07, 2.14 2023-09, 2.15 2023-11, 2.16 2024-03,
2.17 2024-07, 2.18 2024-10, 2.19 2025-03, 2.20 2025-08
"""
"""What TensorFlow's own release notes are dated."""
RELEASED = {
    (int(major), int(minor)): (int(year), int(month))
    for major, minor, year, month in re.findall(r"(\d+)\.(\d+) (\d+)-(\d+)", RELEASES)
}


def earlier(year: int, month: int, by: int) -> str:
    """A month so many months earlier."""
    years, months = divmod(12 * year + month - 1 - by, 12)
    return f"{years}-{months + 1:02}"


def month_of(date: tuple[int, int]) -> int:
    return 12 * date[0] + date[1]


@pytest.mark.parametrize("version", RELEASED, ids=lambda version: f"{version[0]}.{version[1]}")
def test_a_version_logs_from_two_months_before_its_release(version: tuple[int, int]) -> None:
    """Unless a later one was released so soon that its candidates ran, too."""
    date = RELEASED[version]
    running = [each for each, of in RELEASED.items() if month_of(of) <= month_of(date)]
    newest = LAST if running[-1] == (2, 20) else running[-1]
    assert logged_in(earlier(*date, 2)) == (FIRST, newest)
    before = [each for each, of in RELEASED.items() if month_of(of) < month_of(date)]
    assert logged_in(earlier(*date, 3)) == (FIRST, before[-1] if before else LAST)


@pytest.mark.parametrize(
    ("name", "era"),
    [
        ("__inference_one_step_on_iterator_12", ((2, 16), LAST)),
        ("__inference_train_function_669", ((2, 2), LAST)),
        ("__inference_test_function_669", ((2, 2), LAST)),
        ("__inference_predict_function_669", ((2, 2), LAST)),
        ("__inference_distributed_function_669", ((2, 0), (2, 1))),
        ("__inference_mine_669", ((1, 15), LAST)),
        ("train_function", None),
    ],
)
def test_the_name_of_a_traced_function_tells(name: str, era: Era | None) -> None:
    assert era_of_function(name) == era


@pytest.mark.parametrize(
    ("line", "of_1"),
    [(1278, True), (1365, True), (1370, True), (1384, True), (1371, False), (1383, False), (1394, False)],
)
def test_lines_of_a_session_moved_down(line: int, of_1: bool) -> None:
    assert era_of_session(line) == ((FIRST, LAST) if of_1 else ((2, 0), LAST))
    text = (
        "Traceback (most recent call last):\n"
        f'  File "/v/tensorflow/python/client/session.py", line {line}, in _do_call\n    return fn(*args)\n'
    )
    assert (pipeline.explain(text + oom("8,64,64,32")).case.api.oldest >= (2, 0)) is not of_1
