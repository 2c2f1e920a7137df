"""Apps on phones, what tools show of a process at rest, and what is taken before anything of one's own."""

from __future__ import annotations

import pytest

from tests.findings import pages
from tests.findings.logs import CPU, oom
from tests.findings.pages import first, offered
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pages.explained(f"{text}\n")


APP = "iOS app with Tensorflow-lite: memory grows with every frame, I allocate a new interpreter each time.\n"


def test_an_app_that_grows_makes_its_interpreter_once() -> None:
    found = explained(APP).findings[0]
    assert found.rule == "memory-of-an-app" and "makes anew for each call (line 1)" in found.headline
    assert offered(APP) == ["make-once", "drop-results", "without-delegate"]
    plain = "On Android the memory of my app keeps increasing with tensorflow inference."
    assert "most likely interpreters, or pictures" in explained(plain).findings[0].headline


@pytest.mark.parametrize(
    "text",
    [
        "iOS app with Tensorflow-lite: memory stays flat with every frame.",
        "I train a net for my phone with tensorflow, GPU memory grows with every epoch of the training.",
        "My Android app with Tensorflow-lite: memory grows with every frame, on the CPU it stays flat.",
        "TensorFlow on a machine with a GTX 1080, GPU memory grows with every frame of the phone's camera.",
        "In the browser of my phone TensorFlow.js memory grows with every frame.",
    ],
)
def test_what_is_no_growing_app(text: str) -> None:
    assert not any(finding.rule == "memory-of-an-app" for finding in explained(text).findings)


TOP = """With tensorflow on the GPU top shows
  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
12128 user      20   0 64.696g 461928 162552 S   2.3  4.9   0:11.24 python
"""
SMI = "With tensorflow nvidia-smi shows 363MiB / 16280MiB in use. "


def test_addresses_are_no_memory() -> None:
    found = explained(f"{TOP}Is this normal?").findings[0]
    assert found.rule == "what-tools-show" and "64.70 GiB of VIRT (line 3)" in found.headline
    assert "451.10 MiB (RES)" in found.headline


@pytest.mark.parametrize("words", ["", "Virtual memory leak with tensorflow.", "VIRT grows with each model."])
def test_growth_of_addresses_is_none_of_memory(words: str) -> None:
    (found,) = explained(f"{words}\n{TOP}").findings
    assert found.rule == "what-tools-show" and "64.70 GiB of VIRT (line 4)" in found.headline


def test_a_context_of_cuda_is_no_tensor() -> None:
    found = explained(f"{SMI}Is this normal, or am I missing something?").findings[0]
    assert found.rule == "what-tools-show" and "before any tensor" in found.headline


@pytest.mark.parametrize(
    "text",
    [
        f"{TOP.replace('64.696g', '1.2g')}Is this normal?",
        f"{TOP}It is killed for memory. Is this normal?",
        f"{TOP}RAM grows with each step. Is this normal?",
        SMI,
        f"{SMI.replace('363MiB', '15363MiB')}Is this normal?",
        f"{SMI}It runs out of memory. Is this normal?",
    ],
)
def test_readings_beside_a_failure_or_without_a_question_are_left_alone(text: str) -> None:
    assert not any(finding.rule == "what-tools-show" for finding in explained(text).findings)


def test_an_import_that_fills_a_gpu_is_a_pool() -> None:
    text = "When I import the package GPU memory fills up at once.\n60GB is taken on a H100. Is this normal?"
    found = explained(text).findings[0]
    assert found.rule == "whole-pool-at-start" and "60GB of this GPU are 75 % of it" in found.headline
    other = explained(text.replace("60GB", "75GB")).findings[0]
    assert "nearly all of it, as TensorFlow takes" in other.headline
    assert "JAX takes 75 %" in explained(text.replace("60GB", "30GB")).findings[0].headline


@pytest.mark.parametrize(
    "text",
    [
        "After I import the package it runs out of GPU memory: OOM error.",
        "When I import the package it takes 5 GB of RAM.",
        "I import numpy. GPU memory grows at each step when it is used.",
        "ImportError: when it takes the GPU memory",
    ],
)
def test_an_import_beside_a_failure_is_no_pool(text: str) -> None:
    assert "import may make one" not in " ".join(finding.headline for finding in explained(text).findings)


def test_libraries_take_ram_in_each_process() -> None:
    text = (
        "After initializing the GPU every tensorflow process has about 2GB of RAM. With four processes we had"
        " OOM kills, the host RAM is full."
    )
    assert "CUDA's libraries" in explained(text).findings[0].headline
    assert "fewer processes" in first(f"{text}\n")
    assert "CUDA's libraries" not in explained(text.replace("2GB", "60GB")).findings[0].headline


def test_a_line_of_jax_names_it() -> None:
    text = (
        "Unable to initialize backend 'tpu': INVALID_ARGUMENT: TpuPlatform is not available.\n"
        "data = tf.data.Dataset.from_tensor_slices(x)\n"
        "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\n"
    )
    assert "hide the GPU from TensorFlow" in first(text)


TRAINER = 'File "{0}", line 9, in train\n    model.train_on_batch(x, y)\n'
OF_AN_APP = TRAINER.format(r"C:\Users\me\faceswap\plugins\train\trainer\_base.py")


@pytest.mark.parametrize(
    ("shape", "before", "first"),
    [
        ("3,3,256,384", OF_AN_APP, "larger-paging-file"),
        ("3,3,256,384", OF_AN_APP.replace("C:", "/home").replace("\\", "/"), "free-shared-ram"),
        ("3,3,256,384", TRAINER.format("/home/me/train.py"), "tell-which"),
        ("5,5,2048,4096", OF_AN_APP, "smaller-model"),
        ("5,5,2048,4096", TRAINER.format("/home/me/train.py"), "smaller-model"),
    ],
)
def test_a_small_weight_in_ram_asks_for_no_smaller_layer(shape: str, before: str, first: str) -> None:
    text = before + oom(shape, "", on=CPU, by="cpu").partition("\n")[0] + "\n"
    actions = explained(text).actions
    assert actions[0].remedy.slug == first
    assert not (before == OF_AN_APP and any("this layer" in each.remedy.text for each in actions))
