"""Host RAM of programs that show no training: nothing of a pipeline is advised first."""

from __future__ import annotations

import pytest

from tests.findings.pages import offered

_WARNED = (
    "W tensorflow/core/framework/allocator.cc:107] Allocation of 400000000 exceeds 10% of system memory.\n"
)
_DIED = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"


@pytest.mark.parametrize(
    ("before", "first"), [("I POST one picture.\n", "smaller-input"), ("Epoch 1/5\n", "smaller-pipeline")]
)
def test_what_was_warned_of_is_an_op_of_the_network(before: str, first: str) -> None:
    slugs = offered(before + _WARNED + _DIED)
    assert first in slugs
    assert len({"smaller-input", "smaller-pipeline"} & set(slugs)) == 1


_KILLED = (
    "I start 4 MPI processes per node with mpirun -np 4 {what}\n"
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch cgroup.\n"
)


@pytest.mark.parametrize(("what", "learns"), [("./solver", False), ("python train.py (horovod)", True)])
def test_other_programs_of_mpi_read_no_data_set(what: str, learns: bool) -> None:
    assert ("shard-the-data" in offered(_KILLED.format(what=what))) is learns


_SERVED = """\
platform: "{platform}"
max_batch_size: 64
input [ {{ name: "image"
    dims: [ 320, 320, 3 ] }} ]
{beside}
ResourceExhaustedError: OOM when allocating tensor with shape[64,3,320,320] and type float on\
 /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
"""


def test_sides_of_a_saved_model_are_not_lowered() -> None:
    text = _SERVED.format(platform="tensorflow_graphdef", beside="tritonserver --model-repository models")
    assert "smaller-input" not in offered(text)
