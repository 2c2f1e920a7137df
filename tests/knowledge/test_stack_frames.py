"""Whose code a frame lies in."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.stack_frames import number_in, user_frame


@pytest.mark.parametrize(
    "place",
    [
        "train.py:12",
        "/app/models/net.py",
        "C:\\code\\lib\\train.py",
        "/tmp/ipykernel_42/354.py",
    ],
)
def test_the_users_own(place: str) -> None:
    assert user_frame(place)


@pytest.mark.parametrize(
    "place",
    [
        "/usr/lib/python3.11/threading.py",
        "/x/site-packages/flax/core/scope.py:9",
        "/x/dist-packages/mine.py",
        "<frozen runpy>",
        "<string>",
        "C:\\Python\\lib\\site.py",
        "tensorflow/python/eager/execute.py:60",
        "keras/src/utils/traceback_utils.py:122",
        "ipykernel/kernelapp.py",
        "/home/u/.vscode/extensions/ms-python.python-2018.9.0/pythonFiles/ptvsd/__main__.py:205",
        "/opt/pycharm/helpers/pydev/pydevd.py:1664",
    ],
)
def test_a_librarys(place: str) -> None:
    assert not user_frame(place)


@pytest.mark.parametrize(
    "place, number",
    [
        ("nets/train.py:30", 30),
        ("train.py:30", 30),
        ("nets/other.py:30", None),
        ("train.py", None),
        (None, None),
    ],
)
def test_the_number_of_a_line_in_a_file(place: str | None, number: int | None) -> None:
    assert number_in(place, "train.py") == number
