"""A stated version lies in the printed range, and code of TensorFlow 1 is advised no API of TensorFlow 2."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_texts_of_strangers import explained

POOL = (
    "bfc_allocator.cc:1080] total_region_allocated_bytes_: 6442450944 memory_limit_: 6442450944 available"
    " bytes: 0 curr_region_allocation_bytes_: 12884901888\n"
    "bfc_allocator.cc:1086] Stats: \nLimit:                      6442450944\n"
    "InUse:                      5058336768\nMaxInUse:                   6291456000\n"
    "NumAllocs:                      918273\nMaxAllocSize:               1610612736\n"
    "Reserved:                            0\nPeakReserved:                        0\n"
    "LargestFreeBlock:                    0\n"
)


@pytest.mark.parametrize("stated", ["2.12", "2.6", "2.13"])
def test_the_stated_release_is_in_the_range(stated: str) -> None:
    api = explained(f"my job falls over (TF {stated})\n{POOL}").case.api
    assert api.oldest <= tuple(map(int, stated.split("."))) <= api.newest


def test_another_major_release_is_of_another_program() -> None:
    with_it = explained(f"it ran with TF 1.15 before\n{POOL}").case.api
    assert with_it.oldest >= explained(POOL).case.api.oldest


DRIVER = (
    "cuda_driver.cc:1002] failed to allocate 682.00M (715128832 bytes) from device:"
    " CUDA_ERROR_OUT_OF_MEMORY\n"
)
SESSION = "sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))\n"


def growth(text: str) -> str:
    return next(each.remedy.code or "" for each in explained(text).actions if each.remedy.slug == "growth")


def test_code_of_tensorflow_1_is_given_code_of_it() -> None:
    assert "tf.ConfigProto" in growth(SESSION + DRIVER)
    assert "set_memory_growth" in growth(DRIVER)
    api = explained(SESSION + DRIVER).case.api
    assert not api.is_tf1  # it may import tensorflow.compat.v1 as tf


def test_a_server_is_given_an_action_when_its_pool_is_full() -> None:
    origin = "external/org_tensorflow/tensorflow/core/common_runtime/bfc_allocator.cc"
    rows = (
        "641] 4 Chunks of size 167772160 totalling 640.00MiB",
        "645] Sum Total of in-use chunks: 10.22GiB",
        "647] Stats: \nLimit:                 10976578765\nInUse:                 10973640448",
    )
    log = "".join(f"2019-03-14 02:11:40.114032: I {origin}:{row}\n" for row in rows)
    failed = oom("128,8,171,64", "").partition("\n")[0].partition("errors_impl.")[2]
    said = [each.remedy.text for each in explained(f"{log}{failed}\n").actions]
    assert any(text.startswith("give it less at a time") for text in said)
    python = explained(f"{log.replace('external/org_tensorflow/', '')}{failed}\n")
    assert not any(each.remedy.text.startswith("give it less at a time") for each in python.actions)


def test_a_prediction_is_given_no_option_of_training() -> None:
    failed = oom("1,32,58,1024,1024", "model_1/conv3d_22/Conv3D").replace(
        "}}]]", "}} (defined at x/stardist/models/base.py:313) ]]"
    )
    function = " [Op:__inference_predict_function_2931]\n\nFunction call stack:\npredict_function\n"
    slugs = [each.remedy.slug for each in explained(f"{failed}{function}").actions]
    assert slugs and "tool-image-size" not in slugs
