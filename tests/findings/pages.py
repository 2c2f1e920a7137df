"""What a page says of a text: its report, what it advises, and what comes first."""

from __future__ import annotations

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(text)


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def first(text: str) -> str:
    remedy = explained(text).actions[0].remedy
    return f"{remedy.text} {remedy.code}"
