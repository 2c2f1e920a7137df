"""Workflow commands of GitHub: lines that become annotations."""

from __future__ import annotations

SUFFIX = ".txt"
OPTIONS = {"budgets": "print annotations for GitHub (as a matter of course where GITHUB_ACTIONS is set)"}
