"""What a device of a TPU has, by its generation's name."""

import pytest

from tfmemlens.knowledge.tpu_memory import named
from tfmemlens.units import GIB


@pytest.mark.parametrize(
    ("text", "name", "gibibytes"),
    [
        ("on a TPU v3-8", "v3", 16),
        ("a v5litepod-16 slice", "v5litepod", 16),
        ("## Measured (tpu7x, jaxlib 0.10.2)", "v7x", 95),
        ("it fails on v6e only", "v6e", 32),
        ("on Ironwood", "ironwood", 95),
    ],
)
def test_a_generation_has_so_much(text: str, name: str, gibibytes: int) -> None:
    assert named(text) == (name, gibibytes * GIB)


@pytest.mark.parametrize("text", ["resnet v2 on a GPU", "a TPU", "version v3", "v3 of the loader"])
def test_other_versions_are_none(text: str) -> None:
    assert named(text) is None
