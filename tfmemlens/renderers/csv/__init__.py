"""Tables for a spreadsheet."""

from __future__ import annotations

SUFFIX = ".csv"
OPTIONS = {"layers": "print the table of layers as CSV"}
