"""What the text shows already is used, and not asked for again."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support import code_snippets
from tfmemlens.model.case import Api
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.switches import settings
from tfmemlens.readers.oom.told_besides import CONVERTING, GROWTH_HELPS
from tfmemlens.renderers.terminal import _screen

REFUSED = "failed to allocate 4.5K (4608 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
TABLE = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 450.51.06    Driver Version: 450.51.06    CUDA Version: 11.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla P4            Off  | 00000000:00:04.0 Off |                    0 |
| N/A   50C    P0    30W /  75W |   {used}MiB /  7611MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
"""


def explained(text: str) -> Report:
    return pipeline.explain(text)


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


@pytest.mark.parametrize(("used", "full"), [(6850, True), (6849, False)])
def test_a_full_device_with_nobody_else_is_tensorflows_own(used: int, full: bool) -> None:
    text = "import tensorflow as tf\n" + REFUSED + TABLE.format(used=used)
    report = explained(text)
    assert ("most likely by TensorFlow's own pool" in report.verdict) is full
    assert (offered(text)[0] == "growth") is full
    assert ("see-device-users" in offered(text)) is not full


def test_a_pool_that_grows_did_not_take_all_at_start() -> None:
    grows = "tf.config.experimental.set_memory_growth(gpu, True)\n"
    text = "import tensorflow as tf\n" + grows + REFUSED + TABLE.format(used=7400)
    assert "own pool" not in explained(text).verdict


def test_what_the_text_says_to_help_is_told() -> None:
    text = "It does not start without memory growth.\n" + REFUSED + TABLE.format(used=7400)
    assert "with that it works, by line 1" in explained(text).actions[0].remedy.text


@pytest.mark.parametrize(
    ("text", "grows"),
    [
        ("I have already set memory growth, to no avail", True),
        ("it fails even with allow_growth", True),
        ("you should have set memory growth", False),
        ("it works if I set memory growth", False),
        ("We see that setting memory_growth helps", False),
        ("memory growth over time", False),
    ],
)
def test_growth_that_was_tried(text: str, grows: bool) -> None:
    assert (("allow_growth", "True") in list(settings(text))) is grows


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("MultiWorker doesn't start without memory_growth", True),
        ("Setting allow_growth helps", True),
        ("memory growth is off", False),
    ],
)
def test_growth_that_helps(text: str, helps: bool) -> None:
    assert bool(GROWTH_HELPS.search(text)) is helps


def test_a_model_is_converted_without_a_gpu() -> None:
    text = "tflite = tf.lite.TFLiteConverter.from_keras_model(model).convert()\nCUDA_ERROR_OUT_OF_MEMORY\n"
    assert offered(text)[0] == "convert-on-the-cpu"
    assert "convert-on-the-cpu" not in offered("model.fit(x)\nCUDA_ERROR_OUT_OF_MEMORY\n")
    assert not CONVERTING.search("converter = Converter()")


@pytest.mark.parametrize("newest", [(1, 15), (2, 3), (2, 4), (2, 99)])
def test_code_for_memory_stands_on_the_short_page(newest: tuple[int, int]) -> None:
    api = Api(oldest=min(newest, (2, 0)), newest=newest)
    for code in (code_snippets.growth(api), code_snippets.limit(api)):
        rows = _screen._code_rows(code, 75)
        assert rows
        assert all(row.strip() in code for row in rows)


def test_the_older_name_of_a_limit() -> None:
    assert "set_virtual_device_configuration" in code_snippets.limit(Api((2, 0), (2, 3)))
    assert "set_logical_device_configuration" in code_snippets.limit(Api((2, 0), (2, 4)))


def test_a_block_on_one_line_is_broken_behind_its_colon() -> None:
    assert _screen._code_rows(code_snippets.growth(Api((2, 4), (2, 4))), 75) == [
        "for gpu in tf.config.list_physical_devices('GPU'):",
        "    tf.config.experimental.set_memory_growth(gpu, True)",
    ]
