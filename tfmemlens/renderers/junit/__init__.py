"""JUnit's XML, which servers of continuous integration show."""

from __future__ import annotations

from collections.abc import Mapping

SUFFIX = ".xml"
OPTIONS: Mapping[str, str] = {}
