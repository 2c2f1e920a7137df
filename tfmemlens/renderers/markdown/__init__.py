"""Markdown, to paste into an issue."""

from __future__ import annotations

SUFFIX = ".md"
OPTIONS = {"report": "print Markdown, to paste into an issue"}
