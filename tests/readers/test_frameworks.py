"""Which framework a line names."""

from __future__ import annotations

import pytest

from tfmemlens.readers.oom import frameworks


@pytest.mark.parametrize(
    "line",
    [
        "pip install jax[cuda12]==0.6.0",
        "jax==0.4.30",
        "jaxlib>=0.4",
        "import jax",
        "File jax/_src/api.py",
    ],
)
def test_jax(line: str) -> None:
    assert frameworks.mention(line) == frameworks.JAX


@pytest.mark.parametrize("line", ["the ajax[1] call", "jaxon", "jax4"])
def test_no_jax(line: str) -> None:
    assert frameworks.mention(line) is None
