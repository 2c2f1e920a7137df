"""One page for a browser, which works offline."""

from __future__ import annotations

SUFFIX = ".html"
OPTIONS = {"difference": "write a page for a browser"}
