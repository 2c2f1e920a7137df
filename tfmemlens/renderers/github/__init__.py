"""Workflow commands of GitHub: lines that become annotations."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".txt"
OPTIONS: Mapping[str, str] = {}
