"""JUnit's XML, which servers of continuous integration show."""

from __future__ import annotations

SUFFIX = ".xml"
OPTIONS = {"budgets": "write the results as JUnit XML; - is standard output"}
