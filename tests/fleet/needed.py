"""What the tests of scans need beyond the base install; without it they are skipped, which is said."""

from __future__ import annotations

import importlib.util

import pytest

PACKAGES = ("dask", "distributed", "fsspec", "pyarrow", "zstandard")
fleet = [
    pytest.mark.fleet,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in PACKAGES),
        reason="pip install tfmemlens[fleet]",
    ),
]
