"""Which memory a text is about, where words alone tell it: by its line, by the whole text, or open."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

SHORT = "Hello,\n# Ran out of memory in training\n"
GROWS = "Hello,\nMemory usage keeps increasing in training.\n"


def verdict(text: str) -> str:
    return pipeline.explain(f"{text}\n").verdict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{SHORT}All images go into the GPU RAM", "a device's memory ran out"),
        (f"{SHORT}All images go into the GPU RAM, and not into the RAM", "a device's memory ran out"),
        (
            f"{SHORT}My RAM is small, and so is the GPU memory.\nThe GPU memory is 2 GB.",
            "a device's memory ran out",
        ),
        (f"{SHORT}The machine has 64 GB of RAM.\nThe GPU memory is 2 GB.", "memory ran out"),
        (f"{SHORT}The machine has 64 GB of RAM.", "host RAM ran out"),
        (f"{SHORT}The machine has 64 GB of RAM and a GPU.", "memory ran out"),
        (f"{SHORT}- GPU: A100 80GB\n- System RAM: 512 GB", "memory ran out"),
        (f"{SHORT}I use a high RAM notebook.", "memory ran out"),
        (f"{GROWS}Memory usage of each node is 9 GB", "host RAM grows"),
        ("Hello,\nMemory usage of each worker node keeps increasing", "host RAM grows"),
        ("Hello,\nGPU memory of each worker keeps increasing", "a device's memory grows"),
        ("Hello,\nMemory keeps increasing. The memory is not GPU memory", "host RAM grows"),
        ("Hello,\nMemory keeps increasing. The memory is GPU memory", "a device's memory grows"),
        ("Hello,\nThe machine's memory (32G) was soon used up", "host RAM ran out"),
        (f"{SHORT}Running on CPU is fine, but on my GTX 970 I get OOM", "a device's memory ran out"),
        (f"{SHORT}Running on CPU is what I do.", "host RAM ran out"),
        (
            "Hello,\nI have memory problems on my GPU.\nThe first run is entirely on CPU",
            "a device's memory is full or much used",
        ),
        (f"{SHORT}I have no GPU, and 8 GB.\nI run it without a GPU.", "host RAM ran out"),
        (f"{SHORT}- RAM: 64 GB\n- disk: 2 TB", "memory ran out"),
        ("Hello,\nI get an out of memory error on a Titan RTX (24GB ram)", "a device's memory ran out"),
        (f"{SHORT}I have a GPU with 8 GB RAM", "a device's memory ran out"),
        ("Hello,\nThe executors' memory keeps increasing", "host RAM grows"),
        ("Hello,\nThe memory in use keeps increasing with tf.executor.memory", "memory grows"),
    ],
)
def test_the_whole_text_tells_which_memory(text: str, told: str) -> None:
    assert f"in words that {told} (" in verdict(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SHORT, "`Killed` or MemoryError means RAM"),
        (GROWS, "show it while it grows"),
        (f"{SHORT}- GPU model and memory: GTX 1080", "most likely a GPU's, since line 3 names one"),
        (f"{SHORT}- GPU model and memory: n/a", "`Killed` or MemoryError means RAM"),
        (f"{SHORT}- CUDA/cuDNN version:", "`Killed` or MemoryError means RAM"),
        (f"{SHORT}A GPU may be present, falling back to cpu.", "`Killed` or MemoryError means RAM"),
    ],
)
def test_what_is_open_is_said_to_be(text: str, said: str) -> None:
    assert said in verdict(text)


@pytest.mark.parametrize(
    "text", [f"{SHORT}on a TPU v3-8", f"{SHORT}on my MacBook", f"{SHORT}in TensorFlow.js"]
)
def test_nothing_is_said_of_a_gpu_where_none_can_be(text: str) -> None:
    assert "means RAM" not in verdict(text)


def test_figures_of_ram_are_quoted_from_the_line_that_has_them() -> None:
    more = "It takes 28 GB of RAM before it ends."
    text = f"{SHORT}TensorFlow is running in CPU mode.\n{more}"
    assert f'host RAM ran out (line 2), line 4: "{more}"' in verdict(text)
    assert "28 GB" not in verdict(
        f"{SHORT}It takes 28 GB of GPU memory before it ends.".replace("28 GB of", "28 of")
    )


def test_a_set_on_a_gpu_is_to_stay_in_ram() -> None:
    slugs = [
        action.remedy.slug
        for action in pipeline.explain(f"{SHORT}The whole dataset is put into GPU memory\n").actions
    ]
    assert slugs[0] == "data-on-the-host" and "map-the-file" not in slugs
    assert pipeline.explain(f"{SHORT}with the whole dataset\n").actions[0].remedy.slug == "map-the-file"


def test_a_second_model_that_is_loaded_beside_the_first_is_no_later_step() -> None:
    told = pipeline.explain(
        "It gets an out of memory error as soon as it loads the second model.\n"
        "I have an RTX 3090 (24GB ram), so there should be plenty of room.\n"
        "Setting allow_growth could solve this, but nobody tried it.\n"
    )
    assert "a device's memory ran out" in told.verdict
    assert "for a while" not in told.verdict and "ended it" not in told.verdict


def test_a_second_model_of_a_series_is_later() -> None:
    told = pipeline.explain("I run out of memory in TensorFlow when it comes to training the second model.\n")
    assert "for a while" in told.verdict
