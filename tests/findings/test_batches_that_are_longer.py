"""A batch whose samples are longer than those of the steps that ran: by a recorded step, or by the code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import timeline
from tests.findings.logs import dump_by_size, oom
from tests.findings.test_support import asked, case, held
from tfmemlens import pipeline
from tfmemlens.findings import longest_batch
from tfmemlens.model.allocation import OUTPUT, TEMPORARY, Allocation
from tfmemlens.model.case import Balance
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report
from tfmemlens.units import MIB, Size
from tfmemlens.values import replace

NODE = "net/pool/MaxPool"


def found(*ran: tuple[Any, ...], shape: tuple[int, ...] = (24, 21000, 64), **given: Any) -> list[Finding]:
    """What is told where the op made tensors of these shapes in a recorded step."""
    rows = [
        Allocation(NODE, 4, shape=each, dtype="float32", purpose=given.get("purpose", OUTPUT)) for each in ran
    ]
    request = asked(123 * MIB, node=NODE, shape=shape, dtype="float32")
    books = Balance(in_use=Size.exactly(257 * MIB))
    made = case(replace(held(request=request, books=books)))
    step = replace(timeline(*rows, baseline_mib=1), predicted=given.get("predicted", False))
    return list(longest_batch.check(replace(made, capture=replace(made.capture, timelines=(step,)))))


def test_the_same_op_of_a_step_that_ran() -> None:
    (told,) = found((24, 196, 64))
    assert told.headline == (
        "this batch is about 107 times as long as one that ran: there the same op made [24,196,64], here"
        " [24,21000,64]"
    )
    bytes_of_it = (256 + 123) * MIB
    assert told.explains == bytes_of_it - bytes_of_it // 107
    assert [each.slug for each in told.remedies] == ["truncate-inputs", "bucket-sequences"]
    assert "smaller-batch" in told.rules_out  # 107 times as long: a 24th of the batch is still too large


def test_a_batch_that_is_some_times_as_long_may_be_smaller() -> None:
    (told,) = found((24, 7000, 64), (24, 196, 64))  # the longest counts
    assert "3 times as long" in told.headline and "smaller-batch" not in told.rules_out


@pytest.mark.parametrize(
    ("ran", "given"),
    [
        ([(24, 21000, 64)], {}),
        ([(24, 12000, 64)], {}),  # not twice
        ([(12, 196, 64)], {}),  # of another batch
        ([(24, 196, 128)], {}),  # shorter, but wider
        ([(24, 196)], {}),
        ([(24, 196, 64), (24, 4)], {}),
        ([(24, None, 64)], {}),
        ([(24, 196, 64)], {"purpose": TEMPORARY}),
        ([(24, 196, 64)], {"predicted": True}),
        ([], {}),
    ],
)
def test_other_steps_tell_nothing(ran: list[tuple[Any, ...]], given: dict[str, Any]) -> None:
    assert not found(*ran, **given)


CODE = """\
import tensorflow as tf
BATCH = 24
{pads}
model.fit(ds)
"""
PADS = "ds = ds.padded_batch(BATCH, padded_shapes=([None, 8], []))"
STEPS = "".join(f"batch {number} loss 0.5\n" for number in range(0, 25, 5))


def of_a_program(pads: str = PADS, steps: str = STEPS, shape: str = "24,21000,64") -> Report:
    full = dump_by_size(129024000, 16000, (1, 256 * MIB), (63, 248 * MIB))
    return pipeline.explain(f"{CODE.format(pads=pads)}{steps}{full}{oom(shape, NODE)}")


def test_steps_that_went_well_before_a_padded_batch() -> None:
    report = of_a_program()
    (told,) = (each for each in report.findings if each.rule == "longest-batch")
    assert told.headline.startswith("20 steps went well, and line 3 pads")
    assert told.remedies[0].slug == "truncate-inputs"


@pytest.mark.parametrize(
    "given",
    [
        {"pads": "ds = ds.batch(BATCH)"},
        {"shape": "32,21000,64"},  # of no batch
        {"shape": "24,21000"},
        {"shape": "24,64,21000"},  # the length is short, the layer wide
        {"pads": PADS.replace("None", "21000")},
        {"pads": f"SECONDS, RATE = 21, 1_000\n{PADS}"},  # a length that its numbers make
        {"pads": "# padded by hand"},
    ],
)
def test_what_may_be_no_longer_batch(given: dict[str, str]) -> None:
    report = of_a_program(**given)
    assert not [each for each in report.findings if each.rule == "longest-batch"]


@pytest.mark.parametrize("steps", ["batch 3 loss 0.5\n", ""])
def test_a_padded_batch_without_steps_is_told_with_less(steps: str) -> None:
    (told,) = (each for each in of_a_program(steps=steps).findings if each.rule == "longest-batch")
    assert "about 21,000 long" in told.headline
    assert "the code nowhere states" in told.headline
    assert told.remedies[0].text.startswith("see how long the samples are; where few have about 21,000")
    assert told.remedies[-1].slug == "smaller-batch"


@pytest.mark.parametrize(
    "pads",
    [
        "x = pad_sequences(texts)",
        "enc = tokenizer(texts, padding=True)",
        "longest = max(len(x) for x in batch)",
        f"lengths[3] = 21000\n{PADS}",  # a datum, and no bound
    ],
)
def test_whatever_pads_to_the_longest(pads: str) -> None:
    assert [each for each in of_a_program(pads=pads).findings if each.rule == "longest-batch"]


def test_a_dilated_convolution_folds_its_samples() -> None:
    (told,) = (each for each in of_a_program(shape="48,10501,64").findings if each.rule == "longest-batch")
    assert "about 21,002 long" in told.headline or "most likely one of this batch" in told.headline


@pytest.mark.parametrize(
    "pads", ["x = pad_sequences(texts, maxlen=LONGEST)", "enc = tokenizer(t, padding=True, max_length=MOST)"]
)
def test_a_bound_that_is_named_pads_to_no_longest(pads: str) -> None:
    assert not [each for each in of_a_program(pads=pads).findings if each.rule == "longest-batch"]
