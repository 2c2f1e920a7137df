"""What grows or is made anew comes before the holes that it leaves; a loss of all pairs before blocks."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU, dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.units import MIB

USERS = """Traceback (most recent call last):
  File "/home/u/a.py", line 14, in <module>
    %s
"""
HOLES = (50, 50, 50)


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in pipeline.explain(text + "\n").findings if each.rule == rule), None)


def failed(code: str, shape: str = "1280,16384", *, op: str = "ConcatV2", limit: int = 400) -> str:
    """80 MiB unless another shape is given, with 150 MiB free in three holes."""
    return dump(80, limit, limit - sum(HOLES), HOLES, op=op) + USERS % code + oom(shape, op)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (failed("x = tf.concat([a, b], 0)"), Severity.CAUSE),
        (failed("bank = tf.concat([bank, b], 0)"), Severity.FACTOR),
        (failed("w = self.add_weight()", op="fc/kernel/Initializer/random_uniform"), Severity.FACTOR),
    ],
    ids=["a join", "a tensor joined to itself", "a weight"],
)
def test_holes_left_behind_by_what_grows_are_no_cause(text: str, severity: Severity) -> None:
    holes = found(text, "fragmented-free-memory")
    assert holes and holes.severity is severity


def test_no_padding_of_inputs_is_advised_to_a_weight() -> None:
    text = failed("w = self.add_weight()", op="fc/kernel/Initializer/random_uniform")
    slugs = [remedy.slug for each in pipeline.explain(text).findings for remedy in each.remedies]
    assert "constant-shapes" not in slugs and "large-tensors-first" in slugs


@pytest.mark.parametrize(
    ("node", "number"),
    [
        ("sequential_10/dense_30/MatMul", 10),
        ("functional_4/conv2d/Relu", 4),
        ("resnet/sequential_10/conv/Relu", None),
        ("my_model_7/dense/MatMul", None),
    ],
)
def test_the_number_of_the_outermost_model_tells_of_earlier_ones(node: str, number: int | None) -> None:
    earlier = found(dump(20, 400, 390) + oom("1280,4096", node), "stale-graphs")
    assert (earlier is not None) == (number is not None)
    if earlier and number:
        assert earlier.explains == 390 * MIB * number // (number + 1)
        assert earlier.severity is Severity.CAUSE


LOSS = "loss = tf.reduce_mean(tf.abs(targets - predicted))"


@pytest.mark.parametrize(
    ("code", "shape", "one_shape"),
    [
        (LOSS, "5000,5000", True),
        (LOSS, "5000,5000,3", False),
        ("d = tf.abs(a[:, None] - a[None, :])", "5000,5000", False),
    ],
)
def test_a_loss_of_all_pairs_is_most_likely_a_column_too_few(code: str, shape: str, one_shape: bool) -> None:
    pairs = found(USERS % code + oom(shape, "Abs"), "pairwise-broadcast")
    assert pairs
    assert (pairs.remedies[0].slug == "one-shape") == one_shape


def test_a_dense_layer_whose_name_speaks_of_lookups_is_no_table() -> None:
    text = USERS % 'net = Sequential([Dense(3000, name="fact_lookup")])' + oom(
        "9000,3000", "fc/kernel/Initializer/random_uniform"
    )
    said = " ".join(each.headline for each in pipeline.explain(text).findings)
    assert "embedding table" not in said


READINGS = "".join(f"step {n}00  current {n}.50 GB  peak {n}.90 GB\n" for n in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("losses.append(loss)\n        errors.append(recon)", "errors"),
        ("errors.append(recon)\n        losses.append(loss)", "errors"),
        ("losses.append(loss)", "losses"),
    ],
)
def test_of_several_lists_the_one_with_more_than_a_number_is_blamed(code: str, name: str) -> None:
    rises = found(f"{READINGS}    for x in ds:\n        {code}\n" + oom("256,2048,6"), "rising-readings")
    assert rises and f"most likely the list `{name}`" in f"{rises.because}"


def test_a_current_without_a_peak_is_no_reading() -> None:
    text = "".join(f"step {n}00  current {n}.50 GB of dust\n" for n in (1, 2, 3, 4))
    assert found(text + oom("256,2048,6"), "rising-readings") is None


def test_numpys_array_is_not_made_smaller_by_a_setting_of_jax() -> None:
    line = "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 89.8 GiB for an array with shape"
    text = (
        f"jax 0.4.30\n52311 documents, 300 sentences x 768\n{line} (52311, 300, 768) and data type float64\n"
    )
    slugs = [action.remedy.slug for action in pipeline.explain(text).actions]
    assert "single-precision-jax" not in slugs and "narrow-array" in slugs


@pytest.mark.parametrize(
    ("by", "node", "said"),
    [
        ("cpu", "IteratorGetNext", "Out of host RAM (not GPU memory) in"),
        ("mklcpu", "net/Relu", "Out of host RAM (not GPU memory) in"),
        ("GPU_0_bfc", "net/Relu", "Out of memory in"),
    ],
)
def test_host_ram_is_said_first(by: str, node: str, said: str) -> None:
    report = pipeline.explain(oom("8,512,512,640,1", node, on=GPU if "GPU" in by else CPU, by=by))
    assert report.verdict.startswith(said)


def test_an_input_pipeline_runs_on_the_cpu_wherever_the_model_does() -> None:
    report = pipeline.explain(oom("8,512,512,640,1", "IteratorGetNext", on=CPU, by="cpu"))
    slugs = {remedy.slug for each in report.findings for remedy in each.remedies}
    assert "smaller-pipeline" in slugs and "check-the-device" not in slugs


@pytest.mark.parametrize(("limit", "told"), [("640.00", False), ("9.00", True)])
def test_a_growth_far_below_the_limit_beside_it_is_none(limit: str, told: bool) -> None:
    readings = "".join(
        f"  Step {at * 100}: JAX mem used: {5 + at}.00 GiB, peak: 9.00 GiB, limit: {limit} GiB\n"
        for at in range(4)
    )
    report = pipeline.explain(f"import jax\n{readings}it ended with an OOM on my GPU\n")
    assert any("in use rose from" in finding.headline for finding in report.findings) is told


def test_another_pool_beside_jax_is_told_with_room_for_it() -> None:
    text = "JAX mem used: 0.2 GiB\nWarp CUDA error 2: out of memory (in function wp_alloc_device_async)\n"
    report = pipeline.explain(f"import jax\n{text}")
    assert "NVIDIA Warp" in report.findings[0].headline
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in (report.actions[0].remedy.code or "")
