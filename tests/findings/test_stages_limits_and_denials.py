"""At which stage a server failed, whose limit a job met, what is denied, and what only looks like growth."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

SERVER = """vllm serve big-model --device tpu
{words}
RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to \
allocate 112.00M. That was not possible. There are 97.06M free.; (1x0x0_HBM0)
"""


@pytest.mark.parametrize(
    ("words", "loads"),
    [
        ("It fails when loading model weights.", True),
        ("It fails while the weights are reloaded? No, at the tenth request.", False),
        ("It fails at the tenth request.", False),
    ],
)
def test_a_server_that_loads_its_weights_has_no_cache_yet(words: str, loads: bool) -> None:
    report = explained(SERVER.format(words=words))
    assert ("failed while weights were loaded" in report.verdict) is loads
    assert ("shorter-sequences" in offered(SERVER.format(words=words))) is not loads


LIMIT = "# Exceeded memory limit on a linux server\n\nI start the tensorflow program {how}.\n"


@pytest.mark.parametrize(
    ("how", "of_a_job"), [("with slurm, 12 GB in its sbatch script", True), ("from a terminal", False)]
)
def test_the_limit_of_a_batch_system_is_of_host_ram(how: str, of_a_job: bool) -> None:
    text = LIMIT.format(how=how)
    assert ("host RAM ran out" in explained(text).verdict) is of_a_job
    assert first(text).startswith("see what the job used at most") is of_a_job


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("TensorFlow does not raise an OOM error, it hangs.", False),
        ("It doesn't throw any out of memory exception.", False),
        ("TensorFlow raises an OOM error.", True),
    ],
)
def test_an_error_that_is_denied(sentence: str, says: bool) -> None:
    told = explained(f"import tensorflow\n{sentence}\n").case.capture.surroundings
    assert (told.shows("running short") is not None) is says


@pytest.mark.parametrize(
    ("line", "grows"),
    [
        ("I avoid the memory crash by increasing the number of threads.", False),
        ("The memory keeps increasing with every call.", True),
        ("config.gpu_options.allow_growth = True  # dynamically grow the memory used on the GPU", False),
        ("The GPU memory grows even with allow_growth.", True),
    ],
)
def test_what_grows(line: str, grows: bool) -> None:
    told = explained(f"import tensorflow\n{line}\n").case.capture.surroundings
    assert (told.shows("growing in words") is not None) is grows


@pytest.mark.parametrize(
    ("sentence", "alike"),
    [
        ("It happens with any batch size.", True),
        ("It fails whatever the batch size.", True),
        ("There are not even any eval batches.", False),
    ],
)
def test_a_batch_that_plays_no_part(sentence: str, alike: bool) -> None:
    told = explained(f"import tensorflow\n{sentence}\n").case.capture.surroundings
    assert (told.shows("any batch alike") is not None) is alike


NO_GPU = "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: No visible GPU devices.\n"


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ('#BSUB -q hpc\n#BSUB -R "rusage[mem=16G]"\n', False),
        ('#BSUB -q hpc\n#BSUB -gpu "num=1"\n', True),
        ("#SBATCH --mem=16G\n", False),
        ("#SBATCH --gres=gpu:1\n", True),
        ("", True),
    ],
)
def test_a_job_that_asks_for_no_gpu(script: str, asked: bool) -> None:
    assert ("ask-for-a-gpu" in offered(NO_GPU + script)) is not asked


@pytest.mark.parametrize(
    ("words", "named"), [("With 86GB in `buff/cache` JAX dies:\n", True), ("JAX dies:\n", False)]
)
def test_a_page_cache_that_takes_a_shared_memory(words: str, named: bool) -> None:
    text = f"{words}Failed to create stream executor for device CUDA:0: CUDA_ERROR_OUT_OF_MEMORY\n"
    assert ("drop-the-cache" in offered(text)) is named


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Quota 'TPUV4sPreemptiblePodPerProject' exhausted.\n", "No lack of memory: a quota of the cloud"),
        ("  0  Try to set subdivisions=64 in your cfg-file. \n", "this out-of-memory message is Darknet's"),
        ("attempt 1 ended rc 137 at epoch 0\n", "The process was killed from outside"),
        ("attempt 1 ended rc 143 at epoch 0\n", "No out-of-memory message was found"),
        (
            "Speicher (GPU_0_bfc) ist voll beim Versuch, 2.05GiB mit freed_by_count=0 zu belegen\n",
            "1 warning that an allocation failed harmlessly, the largest for about 2.05 GiB",
        ),
    ],
)
def test_ends_and_warnings_of_others(text: str, verdict: str) -> None:
    assert verdict in explained(text).verdict
