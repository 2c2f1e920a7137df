"""The sample models: architectures that real Keras wrote, with what it counted."""

from __future__ import annotations

import copy
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "sample_models"


@cache
def gzipped(path: str) -> Any:
    """A JSON document below the folder."""
    return json.loads(gzip.decompress((FOLDER / path).read_bytes()))


def small(version: str) -> dict[str, Any]:
    """{name: {"json": architecture, "truth": Keras's counts}} of the small models that this TensorFlow
    wrote.
    """
    found: dict[str, Any] = gzipped(f"small-{version}/models.json.gz")
    return found


def document(name: str, version: str = "2.21") -> Any:
    """The architecture of one small model, which a test may change."""
    return copy.deepcopy(small(version)[name]["json"])
