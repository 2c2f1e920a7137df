"""The packages that only `fleet` needs, imported when they are first asked for: Dask, pyarrow, fsspec."""

from __future__ import annotations

import importlib
from typing import Any

from tfmemlens.errors import MissingExtra


def load(module: str, extra: str = "fleet") -> Any:
    """A module of an optional package, such as `pyarrow.parquet`. Raises MissingExtra with a hint."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        package = module.split(".")[0]
        raise MissingExtra(
            f"this needs {package} ({missing})", f"pip install tfmemlens[{extra}]"
        ) from missing
