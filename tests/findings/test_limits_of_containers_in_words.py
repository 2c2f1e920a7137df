"""Words of much memory beside a limit that a container was started with: it counts host RAM."""

from __future__ import annotations

from tests.findings.pages import explained, first

WORDS = "# Different GPUs cause huge memory consumption with TensorFlow\n"
RUN = "docker run --rm -it -v /tmp/m:/models -c 2 -m 3g image:1.0 bash\n"


def test_a_limit_of_the_container_counts_host_ram() -> None:
    assert "host RAM" in explained(WORDS + RUN).verdict
    assert "3g (line 2)" in first(WORDS + RUN)


def test_memory_of_the_gpu_stays_the_gpus() -> None:
    assert "host RAM" not in explained("# TensorFlow uses too much GPU memory\n" + RUN).verdict


def test_no_limit() -> None:
    assert "OOMKilled" not in first(WORDS + RUN.replace("-m 3g ", ""))
