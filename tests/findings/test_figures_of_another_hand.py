"""Figures and comparisons as people write them: TB, bytes of a number, two commands above buffers."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.readers.oom.switches import settings

REFUSED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {}\n"


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("1.06 TB", "1.06 TiB"),
        ("95.93 GB", "95.93 GiB"),
        ("95.93GiB", "95.93 GiB"),
        ("6291456 bytes.", "6.00 MiB"),
    ],
)
def test_a_size_with_its_unit(figure: str, says: str) -> None:
    assert says in explained("import jax\n" + REFUSED.format(figure)).verdict


def test_four_bytes_are_no_side() -> None:
    stated = "`262144 x 1536 x 4 B = 1.50 GiB`, which is exact"
    verdict = explained(f"import jax\n{stated}\n{REFUSED.format('1.50GiB')}").verdict
    assert "262,144 x 1,536 in float32" in verdict and "8 bits" not in verdict


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("XLA label: %fusion.9.remat.1.remat = f32[128,256]{1,0} fusion(f32[1] %x)", None),
        ("remat_policy: 'full'", "full"),
        ("model.remat = True", None),  # an attribute may be another's
        ("remat=bf16[8]", None),
    ],
)
def test_an_op_that_is_computed_again_is_no_setting(line: str, value: str | None) -> None:
    assert dict(settings(line)).get("recompute") == value


RUNS = """import jax
`./repro.py` will fail because without rematerialization it needs ~122.75 Gb of GPU RAM
`./repro.py --remat` works perfectly fine, because it now needs just 63Gb of GPU RAM
`./repro.py --remat --dropout-rate 0.1` OOMs again
RESOURCE_EXHAUSTED: Out of memory.
"""
BUFFERS = """Peak buffers:
        Buffer 1:
                Size: 512.00MiB
                Operator: op_name="jit(step)/jvp(Model)/Block_5/Dropout_0/jit(_bernoulli)/threefry2x32"
                XLA Label: custom-call
                Shape: u32[134217728]
                ==========================
"""


@pytest.mark.parametrize("listed", [True, False])
def test_buffers_of_a_message_come_before_a_comparison(listed: bool) -> None:
    verdict = explained(RUNS + (BUFFERS if listed else "")).verdict
    assert ("masks of dropout" in verdict) is listed


LIBRARIES = (
    "2024-02-07 21:12:04.839726: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning:"
    " Cannot dlopen some TensorRT libraries. If you would like to use Nvidia GPU with TensorRT, please make"
    " sure the missing libraries mentioned above are installed properly.\n"
)
CUDNN = (
    "2024-02-07 21:12:08.335738: W tensorflow/compiler/xla/stream_executor/platform/default/dso_loader.cc:64]"
    " Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file:"
    " No such file or directory\n"
)


@pytest.mark.parametrize(("text", "says"), [(LIBRARIES, "TensorRT"), (LIBRARIES + CUDNN, "CUDA's libraries")])
def test_a_run_without_its_gpu_is_told_first(text: str, says: str) -> None:
    assert says in explained(text).verdict
