"""The RAM of machines by their names."""

import pytest

from tfmemlens.knowledge.machine_memory import machine
from tfmemlens.units import GIB, MIB


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("a notebook on an EC2 t2.small instance", "t2.small", 2 * GIB),
        ("it runs on a c5.xlarge", "c5.xlarge", 8 * GIB),
        ("a VM of type e2-micro", "e2-micro", GIB),
        ("on a free dyno of Heroku", "a dyno", 512 * MIB),
        ("a dyno with 1024 MB", "a dyno", 1024 * MIB),
        ("my Pi Zero", "Pi Zero", GIB // 2),
        ("Raspberry Pi 3", "Raspberry Pi 3", GIB),
    ],
)
def test_a_machine_is_known_by_its_name(text: str, name: str, size: int) -> None:
    assert machine(text) == (name, size)


@pytest.mark.parametrize(
    "text", ["a Raspberry Pi 4 with 4 GB", "np.pi 2", "z9.small", "a large machine", "t2.huge"]
)
def test_what_names_no_known_machine(text: str) -> None:
    assert machine(text) is None
