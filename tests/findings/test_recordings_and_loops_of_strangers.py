"""What a text shows of whole recordings and volumes, of a GPU beside RAM that is free, and of functions that
load a model for each record.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

GPU = " on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
SPECTRUM = (
    "Resource exhausted: OOM when allocating tensor with shape[{shape}] and type complex64{gpu}\n"
    "\t [[{{{{node {node}}}}}]]"
)
SMALL = f"Resource exhausted: OOM when allocating tensor with shape[45030,128] and type float{GPU}\n"
FREE = """\
              total        used        free      shared  buff/cache   available
Mem:           480G        {used}        451G         68M         19G        467G
"""
VOLUME = f"RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[1,32,195,666,1024] and type float{GPU}\n"
LOADS = """\
My TensorFlow program dies, the memory is full
{decorator}def get_model({given}):
{body}
def embed({given}{comma}texts):
    model = get_model({given})
    return model(texts)
for row in rows:
    out = embed({call}[row])
"""


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def loads(body: str, given: str = "", call: str = "", decorator: str = "") -> str:
    return LOADS.format(body=body, given=given, call=call, decorator=decorator, comma=", " if given else "")


def test_the_spectrum_of_a_whole_recording_goes_in_parts() -> None:
    told = explained(SPECTRUM.format(shape="2,21803,2049", node="stft/rfft", gpu=GPU))
    assert "the whole recording at once" in told.verdict
    assert told.actions[0].remedy.text.startswith("give the program the recording in parts")
    assert all(action.remedy.slug != "smaller-batch" for action in told.actions)


@pytest.mark.parametrize(
    ("shape", "node"),
    [("32,21803,2049", "stft/rfft"), ("2,21803,2048", "stft/rfft"), ("2,21803,2049", "dense")],
)
def test_a_batch_of_spectra_or_other_numbers_is_no_recording(shape: str, node: str) -> None:
    assert "recording" not in explained(SPECTRUM.format(shape=shape, node=node, gpu=GPU)).verdict


def test_free_ram_is_not_the_memory_that_ran_out() -> None:
    told = explained(SMALL + FREE.format(used="9.5G"))
    assert "the GPU's own memory ran out, and `free` (line 3) shows the machine's RAM" in told.verdict
    assert told.actions[0].remedy.slug == "see-device-users"


@pytest.mark.parametrize(
    "text", [SMALL, SMALL + FREE.format(used="470G"), SMALL.replace("GPU", "CPU") + FREE.format(used="9.5G")]
)
def test_ram_is_told_of_only_where_it_is_free_beside_a_gpu(text: str) -> None:
    assert "the GPU's own memory" not in explained(text).verdict


@pytest.mark.parametrize(("trains", "alone"), [("", True), ("model.fit(x, y)\n", False)])
def test_a_call_that_only_predicts_keeps_nothing_for_a_training(trains: str, alone: bool) -> None:
    call = "labels = model.predict_instances(img)\n"
    told = explained(f"My volume for StarDist: 195 x 633 x 1024\n{trains}{call}{VOLUME}")
    assert "training keeps" not in told.verdict
    assert told.actions[0].remedy.text.startswith("go through it in tiles") is alone


def test_a_count_in_32_bits_is_no_lack_of_memory() -> None:
    told = explained(
        "F tensorflow/stream_executor/cuda/cuda_dnn.cc:114] Check failed: narrow == wide (-792887296 vs."
        " 3502080000)checked narrowing failed; values not equal post-conversion"
    )
    assert told.verdict.startswith("No lack of memory: an op counts a tensor's elements in 32 bits")


def test_a_function_of_a_loop_that_loads_a_model_is_named() -> None:
    told = explained(loads('    model = hub.load("models/use/4")\n    return model'))
    assert "`hub.load` (line 3), which each turn of the loop on line 8 calls" in told.verdict


@pytest.mark.parametrize(
    "text",
    [
        loads("    model = hub.load(path)\n    return model", "path", "row, "),
        loads("    global model\n    model = hub.load('use')\n    return model"),
        loads("    return hub.load('use')", decorator="@lru_cache\n"),
        loads("    if 'use' not in known:\n        known['use'] = hub.load('use')\n    return known['use']"),
    ],
)
def test_another_model_or_one_that_is_kept_is_none_of_these(text: str) -> None:
    assert "each turn of the loop" not in explained(text).verdict
