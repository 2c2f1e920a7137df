"""A heading may end a message anywhere, which says nothing of the release that wrote it."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

_SAID = "OOM when allocating tensor with shape[1,256,320,320]"


@pytest.mark.parametrize(
    ("text", "old"),
    [(f"# {_SAID}\n\nIt is Mask R-CNN.\n", False), (f"ResourceExhaustedError: {_SAID}\n", True)],
)
def test_the_release_of_a_message_without_a_type(text: str, old: bool) -> None:
    moment = explained(text).case.moments[0]
    assert moment.incident
    assert (moment.incident.era == ("0.8", "1.4")) is old
