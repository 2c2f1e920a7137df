"""What a comment of a thread advises, quoted, where it names a thing of the program."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

HEAD = "anna \u00b7 description \u00b7 2022-02-01\nIt runs out of memory on my GPU, any idea?\n"
ADVICE = (
    "bob \u00b7 comment \u00b7 2022-02-02\nThat takes a lot of memory. You could use the `--tile` option.\n"
)


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in pipeline.explain(text).actions]


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        (HEAD + ADVICE, True),
        (ADVICE.replace("comment", "description") + HEAD, False),
        (HEAD + ADVICE.replace("`--tile` option", "CPU"), False),
        (HEAD + ADVICE.replace("`--tile` option", "`allow_growth` option"), False),
        (HEAD + ADVICE.replace("You could", "I"), False),
        (HEAD + ADVICE.replace("That takes a lot of memory", "Nice repository"), False),
        (HEAD + ADVICE + "anna \u00b7 comment\nI tried that, the same error.\n", False),
        (HEAD + ADVICE + "anna \u00b7 comment\nThanks!\n", True),
    ],
)
def test_when_a_comment_is_quoted(text: str, advised: bool) -> None:
    assert (slugs(text)[:1] == ["as-advised"]) is advised
    assert ("as-advised" in slugs(text)) is advised
