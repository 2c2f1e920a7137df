"""Flame graphs for speedscope."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".speedscope.json"
OPTIONS: Mapping[str, str] = {}
VIEWER = "www.speedscope.app"
