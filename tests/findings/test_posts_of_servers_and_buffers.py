"""Posts of servers, replay buffers, crashes that are guessed to be of memory, and memory that rises once."""

from __future__ import annotations

import pytest

from tests.findings import pages
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pages.explained(f"{text}\n")


def offered(text: str) -> list[str]:
    return pages.offered(f"{text}\n")


def first(text: str) -> str:
    return pages.first(f"{text}\n")


BUFFER = (
    "INFO:tensorflow:Creating a replay memory\nINFO:tensorflow:\t observation_shape: (84, 84)\n"
    "INFO:tensorflow:\t replay_capacity: 1000000\nMemoryError"
)


def test_a_replay_buffer_is_counted_where_its_numbers_stand() -> None:
    assert "1,000,000 x 84 x 84 are 6.57 GiB" in first(BUFFER)
    assert "replay_capacity = 100_000" in first(BUFFER)
    without = BUFFER.replace("\t observation_shape: (84, 84)", "\t stack_size: 4")
    assert "each with an observation and the next one" in first(without)
    assert offered(BUFFER.replace("replay memory", "list").replace("replay_capacity", "count"))[0] != (
        "smaller-replay"
    )


def test_a_buffer_that_does_not_fit_is_the_cause() -> None:
    text = "My tensorflow replay buffer won't fit into memory even with LazyFrames, I have 56 GB of RAM."
    assert "most likely the buffer of experiences" in explained(text).findings[0].headline
    small = (
        "My tensorflow replay buffer has only 1000 entries, it won't fit into memory, I have 56 GB of RAM."
    )
    assert "most likely the buffer" not in explained(small).findings[0].headline


CRASH = "Training with tensorflow on Windows 10\nProcess finished with exit code -1073740791 (0xC0000409)\n"


def test_a_guess_of_memory_beside_a_crash_is_no_cause() -> None:
    text = f"{CRASH}I think it has to do with gpu memory running out. The gpu memory is indeed full."
    found = explained(text).findings[0]
    assert found.rule == "another-framework" and "says nothing, since TensorFlow takes" in found.headline
    assert "in a terminal" in first(text)


def test_a_message_of_memory_beside_a_crash_is_one() -> None:
    text = f"{CRASH}It prints that the GPU ran out of memory before it crashes."
    assert explained(text).findings[0].rule == "told-in-words"


def test_what_ran_out_is_no_cause_of_its_own() -> None:
    text = "It runs out of GPU memory with tensorflow.\nThe error has to do with memory running out."
    assert "names the cause" not in explained(text).findings[0].headline
    named = "It runs out of GPU memory with tensorflow.\nThe error has to do with the mirrored loader."
    assert "names the cause" in explained(named).findings[0].headline


def test_workers_of_a_server_each_hold_a_model() -> None:
    text = "I serve tensorflow with gunicorn and 4 workers.\nThe workers get killed, host RAM is full."
    assert "each worker of the server holds" in explained(text).findings[0].headline
    assert "--threads 4" in first(text)
    assert (
        "each worker of the server" not in explained(text.replace("gunicorn", "a pool")).findings[0].headline
    )


SERVER = """Memory of my tensorflow server grows with each request under flask.
```python
{0}model = load_model("net.h5")
def predict(x):
    return model.predict(x)
```
"""


def test_a_model_that_is_loaded_once_is_not_loaded_for_each_request() -> None:
    found = explained(SERVER.format(""))
    assert "the model itself is loaded once, line 3" in found.findings[0].headline
    assert "share one model" not in found.actions[0].remedy.text


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("After Invoke() of tensorflow lite memory goes up to 450MB and stays there.", "what-tools-show"),
        ("With each call of tensorflow memory goes up by 45MB and stays there.", "told-in-words"),
        ("After each epoch of tensorflow memory goes up.", "named-growth"),
    ],
)
def test_memory_that_rises_once_does_not_grow(words: str, rule: str) -> None:
    assert explained(words).findings[0].rule == rule


def test_virtual_size_without_a_gpu_goes_with_the_cores() -> None:
    text = "There is no GPU, tensorflow takes 220Mb of memory and 14GB virtual size on the large server."
    found = explained(text).findings[0]
    assert found.rule == "what-tools-show" and "as many as the machine has cores" in found.headline
    assert not explained(text.replace("14GB virtual size", "14GB on disk")).findings


def test_a_program_that_only_compiles_fills_ram_with_the_compiler() -> None:
    text = "This exhausts my host memory:\n```\nimport jax\njax.jit(f).lower(x).compile()\n```\n"
    assert "XLA's compiler takes (line 4)" in explained(text).findings[0].headline
    assert offered(text)[0] == "newer-release"
    read = text.replace(".compile()", ".compile().memory_analysis()")
    assert "XLA's compiler" not in explained(read).findings[0].headline


def test_an_arena_is_compared_with_what_is_needed() -> None:
    text = "Arena size is too small for all buffers. Needed 212064 but only 191120 was available."
    assert "20,944 B too little" in explained(text).findings[0].headline
    assert "only a smaller model helps" in first(text)
