"""What a batch that was tried told its writer: nothing, or which batches go well."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

_TITLE = "# Two GPUs run out of GPU memory under a strategy\n\n"


def _facts(text: str) -> set[str]:
    return {name for name, _ in pipeline.capture(text).surroundings.purposes}


@pytest.mark.parametrize(
    ("said", "vain"),
    [
        ("I tried to change the batch size and found that 512 and 2048 are fine.", False),
        ("We tried reducing the batch_size and noticed that it gets further.", False),
        ("I tried to lower the batch size, and it turned out 8 is the most.", False),
        ("I tried to lower the batch size and found that it does not help.", True),
        ("I tried to lower the batch size.", True),
        ("I found that others tried mixed precision; lowering the batch size did not help.", True),
    ],
)
def test_a_batch_that_told_something_was_not_in_vain(said: str, vain: bool) -> None:
    assert ("a smaller batch in vain" in _facts(_TITLE + said + "\n")) is vain


def test_where_a_larger_batch_runs_words_of_a_failure_suffice() -> None:
    report = pipeline.explain(_TITLE + "You can set a greater batch_size or smaller one, but not 4096.\n")
    assert "a larger batch runs" in report.verdict
    assert [each.remedy.slug for each in report.actions] == ["even-batches", "read-the-log"]


def test_where_only_smaller_ones_run_it_is_memory() -> None:
    report = pipeline.explain(_TITLE + "You can set a smaller batch_size, but not 4096.\n")
    assert "memory is not what is short" not in report.verdict


@pytest.mark.parametrize(
    ("said", "vain"),
    [
        ("batch_size调小之后仍然OOM", True),
        ("减小batch size也没用，还是显存不足", True),
        ("把batch_size从16降到2还是OOM", True),
        ("减小batch size之后可以训练了", False),
        ("batch_size还是32，显存不足", False),
    ],
)
def test_a_smaller_batch_in_vain_in_chinese(said: str, vain: bool) -> None:
    assert ("a smaller batch in vain" in _facts(f"# 显存不足\n\n{said}\n")) is vain


@pytest.mark.parametrize(
    ("said", "strategy"),
    [
        ("多卡使用MirroredStrategy", True),
        ("用了tf.distribute.MirroredStrategy", True),
        ("MirroredStrategy是什么", False),
    ],
)
def test_a_strategy_in_chinese(said: str, strategy: bool) -> None:
    assert ("training under a strategy" in _facts(f"# {said} 出现OOM\n")) is strategy


def test_under_a_strategy_no_other_gpu_is_taken() -> None:
    text = "# OOM with MirroredStrategy\n\nI use MirroredStrategy and lowering the batch size did not help.\n"
    remedy = pipeline.explain(text).actions[0].remedy
    assert remedy.slug == "see-device-users" and "without the strategy" in remedy.text
    assert "CUDA_VISIBLE_DEVICES" not in (remedy.code or "")
