"""A colon in a sentence sets nothing; one in a file of settings does."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained


@pytest.mark.parametrize(
    ("line", "is_set"),
    [
        ("capacity: 30000", True),
        ("  'capacity': 30000,", True),
        ("the buffer is rather big capacity: 30000", False),
        ("here I think the capacity = 30000", True),
    ],
)
def test_only_a_setting_is_lowered(line: str, is_set: bool) -> None:
    report = explained(f"{line}\n" + oom("30000,84,84,4", "replay/Fill"))
    assert any("`capacity`" in each.remedy.text for each in report.actions) is is_set
