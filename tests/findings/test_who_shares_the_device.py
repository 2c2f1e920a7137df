"""Several JAX processes on one GPU, and a part of the GPU that the program leaves to JAX."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(
    said: str, need: int = 6 << 30, message: str = "Out of memory while trying to allocate"
) -> Report:
    return pipeline.explain(
        f"{said}\n"
        'Traceback (most recent call last):\n  File "/home/u/fit.py", line 12, in <module>\n'
        "    y = model_fn(w, x)\n"
        f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: {message} {need} bytes.\n"
    )


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    "said",
    [
        "Two notebooks are open on the same GPU.",
        "$ pytest -n 4 tests/",
        "[gw1] FAILED tests/test_net.py::test_grad",
        "for s in 0 1 2; do python fit.py --seed $s & done",
        "scores = Parallel(n_jobs=4)(delayed(fit)(fold) for fold in folds)",
        "Another training runs on the same card.",
        "@ray.remote(num_gpus=0.25)",
        "we start 6 workers which share one GPU",
    ],
)
def test_several_processes_on_one_gpu_are_the_cause(said: str) -> None:
    report = explained(said)
    assert "several processes on one GPU" in report.verdict
    assert "most likely the others hold" in report.verdict
    assert "smaller-fraction" in slugs(report)[:2] and "larger-pool" not in slugs(report)


@pytest.mark.parametrize(
    "said",
    [
        "Two processes, each on its own GPU.",
        "8 processes on 8 GPUs",
        "@ray.remote(num_gpus=1)",
        "$ pytest tests/",
        "$ pytest -n 0 tests/",
        "the data loader has 8 workers",
        "We have several jobs in the queue.",
        "scores = Parallel(n_jobs=1)(delayed(fit)(fold) for fold in folds)",
    ],
)
def test_processes_that_share_nothing(said: str) -> None:
    assert "several processes" not in explained(said).verdict


def test_a_request_that_no_process_could_serve_is_no_matter_of_sharing() -> None:
    said = "Two notebooks are open on the same GPU, an RTX 3090."
    assert "several processes" in explained(said, 10 << 30).verdict
    assert "several processes" not in explained(said, 30 << 30).verdict


def test_on_the_cpu_nothing_is_taken_at_start() -> None:
    report = explained("Two notebooks are open on the same GPU.", message="Out of memory allocating")
    assert "several processes" not in report.verdict


def test_workers_get_parts_and_notebooks_are_ended() -> None:
    assert slugs(explained("$ pytest -n 4 tests/"))[:2] == ["smaller-fraction", "fewer-processes"]
    assert slugs(explained("Two notebooks are open on the same GPU."))[0] == "see-device-users"


def test_growth_is_not_advised_to_who_has_it() -> None:
    said = "Two notebooks are open on the same GPU.\nexport XLA_PYTHON_CLIENT_PREALLOCATE=false"
    report = explained(said)
    assert "keeps what it once took" in report.verdict and "growth" not in slugs(report)


def test_a_small_fraction_is_the_programs_own_limit() -> None:
    report = explained("GPU: A100 40GB\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=.25")
    assert "only 25 % of the GPU, about 10.00 GiB here" in report.verdict
    assert slugs(report)[0] == "raise-own-limit" and "larger-pool" not in slugs(report)


@pytest.mark.parametrize(
    ("said", "need"),
    [
        ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.75", 6 << 30),  # what JAX takes anyway
        ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.95", 6 << 30),
        ("GPU: A100 40GB\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=.25", 60 << 30),  # more than the device has
        (
            "export XLA_PYTHON_CLIENT_ALLOCATOR=platform\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=.25",
            6 << 30,
        ),  # without a pool there is no part of it
    ],
)
def test_fractions_that_are_no_limit_here(said: str, need: int) -> None:
    report = explained(said, need)
    assert "lets JAX have only" not in report.verdict and "raise-own-limit" not in slugs(report)


def test_parts_of_processes_that_share_the_gpu_are_raised_together() -> None:
    report = explained("Two trainings share one GPU, each with\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=0.45")
    assert "only 45 % of the GPU" in report.verdict and "smaller-fraction" not in slugs(report)
    first = report.actions[0].remedy
    assert first.slug == "raise-own-limit" and first.code is None and "together below 1" in first.text


def test_a_larger_pool_is_not_advised_for_more_than_the_device_has() -> None:
    card = "The GPU is a 24 GB card."
    assert "larger-pool" in slugs(explained(card, 20 << 30))
    assert "larger-pool" not in slugs(explained(card, 28 << 30))


def broadcast(shapes: str, line: str, need: int) -> Report:
    return pipeline.explain(
        f"{shapes}\n"
        'Traceback (most recent call last):\n  File "/home/u/fit.py", line 12, in loss\n'
        f"    {line}\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {need} bytes.\n"
    )


SHAPES = "out.shape = (65536,)\ny.shape = (65536, 1)"


def test_a_row_minus_a_column_is_a_matrix() -> None:
    report = broadcast(SHAPES, "return jnp.mean((out - y) ** 2)", 65536**2 * 4)
    assert "`out` [65536] and `y` [65536,1] are broadcast" in report.verdict
    assert slugs(report) == ["compare-shapes"]
    assert report.actions[0].remedy.code == "y = y.squeeze(-1)   # or [:, 0]"


@pytest.mark.parametrize(
    ("shapes", "line", "need"),
    [
        (SHAPES, "return jnp.mean((out - y) ** 2)", 65536**2 * 4 + 4),
        ("out.shape = (65536, 1)\ny.shape = (65536, 1)", "return jnp.mean((out - y) ** 2)", 65536**2 * 4),
        (SHAPES, "return jnp.mean((out - z) ** 2)", 65536**2 * 4),
        ("out.shape = (65536,)\ny.shape = (65536, 2)", "return jnp.mean((out - y) ** 2)", 65536**2 * 4),
    ],
)
def test_operands_that_make_no_matrix(shapes: str, line: str, need: int) -> None:
    assert "are broadcast" not in broadcast(shapes, line, need).verdict


def test_two_lengths_are_pairs_on_purpose() -> None:
    report = broadcast("a.shape = (40000,)\nb.shape = (30000, 1)", "d = abs(a - b)", 40000 * 30000 * 4)
    assert "30,000 x 40,000 in float32" in report.verdict
    assert slugs(report)[:2] == ["in-blocks", "compare-shapes"]


@pytest.mark.parametrize(
    ("line", "need", "fires"),
    [
        ("logits = net.apply(params, x_test)", 6000 * 1_000_000, True),
        ("logits = net.apply(params, x_test)", 6000 * 1_000_000 + 1, False),  # no multiple of the rows
        ("logits = net.apply(params, x_test)", 6000 * 100 * 1000, False),  # less than the rows themselves
        ("logits = net.apply(params, x_batch)", 6000 * 1_000_000, False),
        ("x = jnp.asarray(x_test)", 6000 * 1_000_000, False),
        ("y = jnp.einsum('nhwc,nk->hwck', x_test, k)", 6000 * 1_000_000, False),
    ],
)
def test_a_whole_set_in_one_call(line: str, need: int, fires: bool) -> None:
    report = broadcast("x_test: (6000, 224, 224, 3)", line, need)
    assert ("all 6,000 rows of `x_test` at once" in report.verdict) is fires


TWICE = (
    "AlreadyExistsError: TensorFlow device (GPU:0) is being mapped to multiple CUDA devices (1 now, and 0"
    " previously), which is not supported.\n"
)
REFUSED = (
    "failed to allocate 9.31G (10000000000 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


def test_a_process_that_chose_two_gpus_is_told_beside_a_refusal() -> None:
    ranks = "mpirun -np 2 python train.py   # Horovod\n"
    report = pipeline.explain(ranks + REFUSED + TWICE)
    assert "chose different GPUs" in report.verdict
    assert "one configuration" in report.actions[0].remedy.text
    assert "chose different GPUs" not in pipeline.explain(ranks + REFUSED).verdict


def test_alone_it_is_no_lack_of_memory() -> None:
    report = pipeline.explain(TWICE)
    assert report.verdict.startswith("No lack of memory")
    assert [action.remedy.slug for action in report.actions] == ["one-device-each"]
