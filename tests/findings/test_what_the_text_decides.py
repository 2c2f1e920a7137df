"""Where the text itself says which of several causes it is, the page says that one; near misses say less."""

from __future__ import annotations

import pytest

from tests.findings.test_texts_of_strangers import explained

REFUSED = (
    "I0000 00:00:1750001112.1  312 cuda_executor.cc:1309] failed to allocate {} from device:"
    " RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
LADDER = (
    "I train with JAX.\n"
    + REFUSED.format("15.77GiB (16932929536 bytes)")
    + REFUSED.format("14.19GiB (15239636582 bytes)")
    + "Epoch 1/3\n900/900 - 3s - 3ms/step - loss: 0.31\nEpoch 2/3\n900/900 - 2s - 2ms/step - loss: 0.12\n"
)


@pytest.mark.parametrize(
    "shown",
    [
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\n[1] "1.00"\n',
        "$ echo $XLA_PYTHON_CLIENT_MEM_FRACTION\n.95\n",
        "In [3]: os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION']\nOut[3]: '0.97'\n",
        "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95\n",
    ],
)
def test_a_pool_of_the_whole_gpu_is_refused_without_others(shown: str) -> None:
    found = explained(LADDER + shown)
    assert "JAX is told to take" in found.verdict
    assert "something else" not in found.verdict
    assert [action.remedy.slug for action in found.actions] == ["smaller-fraction", "growth"]


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "export XLA_PYTHON_CLIENT_MEM_FRACTION=.50\n",
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\nprint(version)\n[1] "1.00"\n',  # of another question
        '> Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION")\n[1] ""\n',
        '> Sys.getenv("OMP_NUM_THREADS")\n[1] "1.00"\n',
    ],
)
def test_of_a_smaller_part_something_else_holds_the_rest(shown: str) -> None:
    found = explained(LADDER + shown)
    assert "most likely something else holds part" in found.verdict
    assert found.actions[0].remedy.slug == "see-device-users"
