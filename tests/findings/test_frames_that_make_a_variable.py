"""A traceback without its end whose frames make a variable: no batch is to blame."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, offered

_FRAME = '  File "/v/site-packages/tensorflow/python/{}", line 1518, in {}\n    call(x)\n'
_TITLE = "# lesson 7: OOM\n```\nTraceback (most recent call last):\n"
_MAKES = _TITLE + _FRAME.format("ops/resource_variable_ops.py", "__init__")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ops/variable_scope.py", "default_variable_creator"),
        ("ops/variables.py", "_variable_v2_call"),
        ("ops/resource_variable_ops.py", "_init_from_args"),
        ("keras/engine/base_layer.py", "add_weight"),
    ],
)
def test_frames_that_make_a_variable_leave_the_batch_out(file: str, name: str) -> None:
    text = _TITLE + _FRAME.format(file, name)
    assert "its frames create a variable (line 4)" in explained(text).verdict
    assert "smaller-batch" not in offered(text) and offered(text)[0] == "see-device-users"
    assert not any("images" in each.remedy.text for each in explained(text).actions)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ops/variable_scope.py", "get_variable_scope"),
        ("ops/resource_variable_ops.py", "assign_add"),
        ("keras/engine/base_layer.py", "__call__"),
    ],
)
def test_other_frames_of_these_files_say_nothing_of_it(file: str, name: str) -> None:
    text = _TITLE + _FRAME.format(file, name)
    assert "create a variable" not in explained(text).verdict and "smaller-batch" in offered(text)


def test_a_message_with_a_shape_says_more_than_frames() -> None:
    assert "smaller-batch" in offered(_MAKES + oom("32,64,112,112", "net/conv/Relu"))


def test_an_error_without_a_size_says_no_more_than_frames() -> None:
    named = "ResourceExhaustedError                    Traceback (most recent call last)\n"
    text = named + _FRAME.format("ops/resource_variable_ops.py", "_init_from_args")
    assert "smaller-batch" not in offered(text)
    other = named + _FRAME.format("ops/resource_variable_ops.py", "assign_add")
    assert "smaller-batch" in offered(other)
