"""Where no batch matters to a failure, no remedy speaks of one."""

from __future__ import annotations

import pytest

from tests.findings.pages import first, offered
from tfmemlens.findings.support.batch_that_matters import before_any_batch, no_batch_matters
from tfmemlens.pipeline import explain
from tfmemlens.readers.oom.switches import settings

_ENDED = (
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted\n"
)
_HEAD = "Batch size: 6\nLearning rate: 0.01\n"
_BIN = (
    "I tensorflow/core/common_runtime/bfc_allocator.cc:643] Bin ({size}): \tTotal Chunks: {free}, Chunks in"
    " use: 0 {bytes} allocated for chunks. 0B client-requested for chunks. 0B in use in bin. 0B"
    " client-requested in use in bin.\n"
)
_BIN_FOR = (
    "I tensorflow/core/common_runtime/bfc_allocator.cc:660] Bin for 310.00MiB was 256.00MiB, Chunk State: \n"
)
_CHUNK = "I tensorflow/core/common_runtime/bfc_allocator.cc:678] Chunk at 0xb05e4{at:02}00 of size {size}\n"


def _dump(free: str, *sizes: int) -> str:
    return (
        "W tensorflow/core/common_runtime/bfc_allocator.cc:273] Allocator (GPU_0_bfc) ran out of memory"
        " trying to allocate 310.00MiB.  Current allocation summary follows.\n"
        + "".join(_BIN.format(size=256 << index, free=0, bytes="0B") for index in range(19))
        + _BIN.format(size=256 << 19, free=1, bytes=free)
        + _BIN.format(size=256 << 20, free=0, bytes="0B")
        + _BIN_FOR
        + "".join(_CHUNK.format(at=index, size=size) for index, size in enumerate(sizes))
    )


@pytest.mark.parametrize(
    "stage", ["[i] Building the model...", "Loading pretrained weights from net.npy ...", "Creating network"]
)
def test_dies_as_the_model_is_made(stage: str) -> None:
    text = f"{_HEAD}{stage}\n{_ENDED}"
    assert before_any_batch(explain(text).case)
    assert "smaller-batch" not in offered(text)
    assert "smaller-pipeline" not in offered(text)
    assert "before any batch" in first(text)


@pytest.mark.parametrize(
    "between",
    [
        "Building the model...\nepoch 1 starts\nreading records\nfirst step\n",
        "Reading the data set...\n",
        "I am building the model as in the paper, and then it ends:\n",
    ],
)
def test_goes_on_after_the_model_is_made(between: str) -> None:
    text = f"{_HEAD}{between}{_ENDED}"
    assert not before_any_batch(explain(text).case)
    assert "smaller-batch" in offered(text)


def test_small_pool_that_is_hardly_used() -> None:
    text = _dump("141.20MiB", 1280, 256, 4096, 1179648)
    assert no_batch_matters(explain(text).case)
    assert "smaller-batch" not in offered(text)
    assert "nvidia-smi" in first(text)


@pytest.mark.parametrize(
    "text",
    [_dump("141.20MiB", 120 * 2**20), _dump("3.20GiB", 1280, 256)],
)
def test_pool_that_is_used_or_large(text: str) -> None:
    case = explain(text).case
    assert case.moments[0].balance.free
    assert not no_batch_matters(case)


_DRAWN = """XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9663676416 bytes.
Peak buffers:
\tBuffer 1:
\t\tSize: 3.00GiB
\t\tOperator: op_name="{program}/jit(main)/vmap(normal)/jit(_normal)/threefry2x32"
\t\tXLA Label: custom-call
\t\tShape: u32[24,8192,4096]
\t\t==========================

"""


def test_first_values_of_weights() -> None:
    assert "smaller-batch" not in offered(_DRAWN.format(program="pjit(init_state)"))
    assert no_batch_matters(explain(_DRAWN.format(program="jit(init_params)")).case)


def test_draws_of_a_step() -> None:
    assert not no_batch_matters(explain(_DRAWN.format(program="jit(train_step)")).case)
    assert not no_batch_matters(explain(_DRAWN.format(program="jit(initial_guess)")).case)


_PIPELINE = """import torch_xla.core.xla_model as xm
pipe = pipe.to(xm.xla_device())
images = pipe(
    {prompt}
)
Traceback (most recent call last):
  File "draw.py", line 3, in <module>
    images = pipe(
RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 40.10M\
 at the bottom of memory. That was not possible. There are 12.00M free, 0B reserved, and 10.00M reservable.
"""


def test_one_prompt() -> None:
    text = _PIPELINE.format(prompt='prompt="a cup of tea, in oil",')
    assert no_batch_matters(explain(text).case)
    assert "smaller-batch" not in offered(text)


@pytest.mark.parametrize(
    "prompt", ["prompt=prompts,", 'prompt="a cup of tea",\n    num_images_per_prompt=8,', "batch_size=4,"]
)
def test_several_prompts(prompt: str) -> None:
    assert not no_batch_matters(explain(_PIPELINE.format(prompt=prompt)).case)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--net-predict-batch-size 12", []),
        ("run.py --eval-batch-size=12", []),
        ("run.py --batch-size 12", [("batch_size", "12")]),
        ("run.py --train-batch-size=12", [("batch_size", "12")]),
    ],
)
def test_flag_of_another_phase(text: str, shown: list[tuple[str, str]]) -> None:
    assert [each for each in settings(text) if each[0] == "batch_size"] == shown
