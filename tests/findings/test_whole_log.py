"""Where a sentence alone sends its reader: to the log of a notebook's server, or of the process."""

from __future__ import annotations

import pytest

from tfmemlens.findings.request_alone import _whole_log


@pytest.mark.parametrize(
    "source",
    ["Cell In[4], line 2", "In[7]:1", "<ipython-input-3>:9", "/content/train.py:4", "/kaggle/a.py:1"],
)
def test_a_notebook_is_sent_to_its_servers_log(source: str) -> None:
    remedy = _whole_log(source)
    assert "a notebook does not show" in remedy.text
    assert not remedy.code


@pytest.mark.parametrize("source", ["src/train.py:30", ""])
def test_a_program_is_run_again_with_its_errors_kept(source: str) -> None:
    remedy = _whole_log(source)
    assert "2> train.log" in (remedy.code or "")
    assert "Colab" not in remedy.text


@pytest.mark.parametrize("source", ["Main.java:12", "train.py", "train.R:9"])
def test_what_is_no_python_program_gets_no_command(source: str) -> None:
    remedy = _whole_log(source)
    assert "whole log" in remedy.text
    assert not remedy.code
