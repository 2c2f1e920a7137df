"""Plain text for a terminal or an issue: what is printed where nothing else is asked for."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".txt"
OPTIONS: Mapping[str, str] = {}
