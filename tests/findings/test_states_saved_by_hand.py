"""A process that is killed while it brings a whole state to the host, to write it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

KILLED = (
    "[ 8812.221] Out of memory: Killed process 20211 (python3) total-vm:612331212kB, anon-rss:401220112kB,"
    " file-rss:0kB, shmem-rss:0kB\n"
)
PICKLED = (
    "import jax, pickle\n\ndef save(state, step):\n    host = jax.device_get(state)\n"
    '    with open("c.pkl", "wb") as f:\n        pickle.dump(host, f)\n'
)
BY_FLAX = PICKLED.replace("pickle.dump(host, f)", "f.write(flax.serialization.to_bytes(host))")


def explained(code: str) -> Report:
    return pipeline.explain(f"The host runs out of RAM while saving a checkpoint.\n\n{code}\n{KILLED}")


@pytest.mark.parametrize(
    ("code", "by"), [(PICKLED, "`pickle.dump` writes it"), (BY_FLAX, "`to_bytes` writes")]
)
def test_a_state_that_is_pickled_whole(code: str, by: str) -> None:
    report = explained(code)
    assert "brings the whole state, the parts of all devices, into the RAM" in report.verdict
    assert by in report.verdict
    assert "jax.device_get(jnp.copy(leaf))" in (report.actions[0].remedy.code or "")


@pytest.mark.parametrize(
    "code",
    [
        "import jax\nimport orbax.checkpoint as ocp\nmanager.save(step, args=ocp.args.StandardSave(state))\n",
        PICKLED.replace("host = jax.device_get(state)", "host = state") + "import orbax.checkpoint as ocp\n",
        "import jax\nfor name, leaf in leaves:\n    np.save(name, jax.device_get(leaf))\n",
    ],
)
def test_a_state_that_is_written_otherwise(code: str) -> None:
    assert "brings the whole state" not in explained(code).verdict
