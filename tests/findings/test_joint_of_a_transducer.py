"""A transducer's joint is told by its four sizes and its name; near misses have other names or sizes."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

REPORT = """\
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\
 {bytes} bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    1.12GiB
     preallocated temp allocation:   12.53GiB
                 total allocation:   13.77GiB
Peak buffers:
\tBuffer 1:
\t\tSize: 6.00GiB
\t\tOperator: op_name="jit(train_step)/jit(main)/jvp({name})/dot_general"\
 source_file="/home/u/asr.py" source_line=8
\t\tXLA Label: custom-call
\t\tShape: f32[{shape}]
\t\t==========================
"""


@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        ("Transducer)/joint/out", "24,256,64,4096", True),
        ("log_softmax", "24,256,64,4096", True),
        ("Conv_0)/conv_general_dilated", "24,256,64,4096", False),
        ("Block)/mlp", "24,256,64,4096", False),
        ("Attention)/log_softmax", "24,16,2048,2048", False),
        ("joint", "24,256,64,48", False),
    ],
)
def test_a_joint_is_told_by_name_and_sizes(name: str, shape: str, told: bool) -> None:
    report = pipeline.explain(REPORT.format(name=name, shape=shape, bytes=6 << 30))
    assert ("the joint of a transducer: 4,096 classes" in report.verdict) is told
    assert ("joint and loss for a few samples" in report.actions[0].remedy.text) is told
