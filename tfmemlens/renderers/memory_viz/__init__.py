"""Snapshots as PyTorch's allocator takes them, for the page at pytorch.org/memory_viz."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".pickle"
OPTIONS: Mapping[str, str] = {}
VIEWER = "pytorch.org/memory_viz"
