"""Chrome's trace format, for Perfetto and chrome://tracing."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".json"
OPTIONS: Mapping[str, str] = {}
VIEWER = "ui.perfetto.dev"
