"""Time stamps as loggers write them."""

from __future__ import annotations

import pytest

from tfmemlens.fleet import times


@pytest.mark.parametrize(
    ("line", "when"),
    [
        (
            "2018-07-02 11:02:13.123: W tensorflow/core/framework/op_kernel.cc:1318] x",
            "2018-07-02 11:02:13.123000",
        ),
        ("2018-07-02 11:02:13.123456: I x.cc:1] x", "2018-07-02 11:02:13.123456"),
        ("2022-03-09T12:51:51.361123456Z stderr F x", "2022-03-09 12:51:51.361123"),
        ("2022-03-09T12:51:51.361123+02:00 x", "2022-03-09 10:51:51.361123"),
        ("2022-03-09T23:51:51-0530 x", "2022-03-10 05:21:51"),
        ("2022-03-09 12:51:51,361 - trainer - ERROR - x", "2022-03-09 12:51:51.361000"),
        ("[2020-05-12 10:00:00,123] {bash_operator.py:128} INFO - x", "2020-05-12 10:00:00.123000"),
        ("[1,15]<stderr>:2018-07-02 11:02:13.5: W x.cc:1] x", "2018-07-02 11:02:13.500000"),
        ("I0702 11:02:13.000009   42 x.cc:1] x", "2021-07-02 11:02:13.000009"),
        ("worker_1  | E0702 11:02:13 42 x.py:1] x", "2021-07-02 11:02:13"),
        ("Jul  2 11:02:13 node17 kernel: x", "2021-07-02 11:02:13"),
        ('{"log":"x\\n","stream":"stderr","time":"2022-03-09T12:51:51.3Z"}', "2022-03-09 12:51:51.300000"),
        ("step 12 of 30, loss 0.5", "None"),
        ("2022-13-45 12:51:51 x", "None"),
        ("I0702 x", "None"),
        ("x" * 200 + " 2022-03-09 12:51:51 x", "None"),
    ],
)
def test_a_stamp(line: str, when: str) -> None:
    assert str(times.stamp(line, 2021)) == when


def test_a_stamp_without_a_year_needs_one() -> None:
    assert times.stamp("I0702 11:02:13.000009   42 x.cc:1] x") is None
    assert times.year_of(b"I0702 11:02:13\n[2020-05-12 10:00:00,123] x") == 2020
    assert times.year_of(b"no date, 2020-05 not either") is None


def test_the_first_and_the_last() -> None:
    raw = b"starting\n2020-01-01 00:00:01 a\n2020-01-01 00:00:02 b\nTraceback\n  File\n"
    assert (str(times.first(raw)), str(times.last(raw))) == ("2020-01-01 00:00:01", "2020-01-01 00:00:02")
    assert times.first(b"") is None and times.last(b"\n" * 500) is None
