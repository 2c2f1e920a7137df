"""Arrays that a library's function hands to every device, and what the text says the device is."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
LIBRARY = "/usr/lib/python3.8/dist-packages"


def traced(name: str, place: str = "jax/_src/api.py", own: str = "") -> str:
    mine = f'  File "/home/me/main.py", line 7, in <module>\n    {own}\n' if own else ""
    return (
        f"import jax\nTraceback (most recent call last):\n{mine}"
        f'  File "{LIBRARY}/{place}", line 2801, in {name}\n    return tree_map(_copied, x)\n'
        f'  File "{LIBRARY}/jax/_src/dispatch.py", line 871, in device_put\n'
        f"    return device_put_handlers[type(x)](x, device)\n{ASKED} 402653184 bytes.\n"
    )


def test_what_is_handed_to_every_device_is_an_array() -> None:
    text = traced("device_put_replicated")
    assert "an array is copied to every device (`device_put_replicated`)" in explained(text).verdict
    assert offered(text)[:2] == ["narrow-weights", "shard-arguments"]


def test_it_is_weights_where_the_line_says_so() -> None:
    verdict = explained(traced("replicate", "flax/jax_utils.py", "p = spread(params)")).verdict
    assert "an array, most likely weights, is copied to every device (`replicate`)" in verdict


@pytest.mark.parametrize("name", ["cache_miss", "block_until_ready"])
def test_other_functions_hand_nothing_to_every_device(name: str) -> None:
    assert "copied to every device" not in explained(traced(name)).verdict


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("train.py OOM on TPUv3-8", True),
        ("train.py OOM on a tpu-v4", True),
        ("train.py OOM on my machine", False),
    ],
)
def test_a_tpu_that_is_named_needs_no_word_of_a_gpu(title: str, known: bool) -> None:
    verdict = explained(f"{title}\nimport jax\n").verdict
    assert ("GPU_0_bfc" not in verdict) is known


@pytest.mark.parametrize(("named", "framework"), [("org/jax3d", "jax"), ("org/ajax3d", None)])
def test_a_project_names_its_framework(named: str, framework: str | None) -> None:
    from tfmemlens.readers.oom.frameworks import mention

    assert mention(f"{named} · issue") == framework
