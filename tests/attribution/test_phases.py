"""Where forward, backward and update lie on a step's time axis."""

from __future__ import annotations

import itertools

import pytest

from tests.builders import row, timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.moments.phases import phases


def spans(*rows: tuple[str, float, float]) -> list[tuple[str, float]]:
    made = timeline(*(row(node, size, start, start + 50) for node, size, start in rows))
    return [(span.name, span.start_micros / 1000) for span in phases(made)]


FORWARD = [(f"conv{at}/Conv2D", 1, 10.0 * at) for at in range(1, 5)]
BACKWARD = [(f"gradients/conv{at}/Conv2D_grad/Conv2DBackpropInput", 1, 100.0 - 10 * at) for at in range(1, 5)]


def test_zeros_of_gradients_and_decayed_slots_come_early_and_move_no_border() -> None:
    early = [("gradients/conv1/Const", 0.004, 1.0), ("train/update_embedding/mul_2", 0.5, 2.0)]
    assert spans(*early, *FORWARD, *BACKWARD, ("train/update_conv1/ApplyAdam", 1, 200.0)) == [
        ("forward", 1.0),
        ("backward", 60.0),
        ("update", 200.0),
    ]


def test_a_step_without_gradients_is_all_forward() -> None:
    assert [name for name, _ in spans(*FORWARD)] == ["forward"]


def test_a_step_of_gradients_alone_is_all_backward() -> None:
    assert [name for name, _ in spans(*BACKWARD)] == ["backward"]


@pytest.mark.parametrize("name", ["1.15-unet", "2.11-while-rnn", "2.11-lenet", "2.21-embedding"])
def test_real_steps_have_a_forward_pass_and_then_a_backward_pass(name: str) -> None:
    made = pipeline.capture(next((SAMPLES / "run_metadata").glob(f"{name}.pb*"))).timelines[0]
    found = phases(made)
    assert [span.name for span in found][:2] == ["forward", "backward"]
    assert all(one.end_micros == other.start_micros for one, other in itertools.pairwise(found))
    assert (
        0.05 < (found[0].end_micros - found[0].start_micros) / (made.events[0][-1] - made.events[0][0]) < 0.8
    )


UPDATES = [(f"train/update_conv{at}/ApplyAdam", 1, 200.0 + at) for at in range(1, 5)]


def ends(*rows: tuple[str, float, float]) -> list[tuple[str, float, float]]:
    made = timeline(*(row(node, size, start, start + 50) for node, size, start in rows))
    return [(span.name, span.start_micros / 1000, span.end_micros / 1000) for span in phases(made)]


def test_a_step_of_updates_alone_is_all_update() -> None:
    assert ends(*UPDATES) == [("update", 201.0, 254.0)]


def test_a_phase_ends_where_the_next_begins_and_the_last_with_its_rows() -> None:
    assert ends(*FORWARD, *BACKWARD, *UPDATES) == [
        ("forward", 10.0, 60.0),
        ("backward", 60.0, 201.0),
        ("update", 201.0, 254.0),
    ]


def test_more_bytes_on_the_other_side_move_a_border() -> None:
    """2 MiB of a gradient weigh as much as the forward rows after it, 1 MiB does not."""
    early = ("gradients/conv9/x_grad/mul", 2.0, 25.0)
    assert ends(*FORWARD, early, *BACKWARD)[1] == ("backward", 25.0, 140.0)
    small = ("gradients/conv9/x_grad/mul", 1.0, 25.0)
    assert ends(*FORWARD, small, *BACKWARD)[1] == ("backward", 60.0, 140.0)


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("train/update_w/ApplyAdam", "update"),
        ("update_w/x", "update"),
        ("net/ResourceApplyAdam", "update"),
        ("Adam/update", "update"),
        ("Adam_1/Assign_2", "update"),
        ("net/Adam_like/x", "forward"),
        ("gradients_1/x", "backward"),
        ("gradient_tape/x", "backward"),
        ("my_gradients_of/x", "forward"),
        ("net/conv", "forward"),
    ],
)
def test_the_phase_of_a_name(node: str, name: str) -> None:
    assert [span[0] for span in ends((node, 1, 0.0))] == [name]


def test_a_name_without_a_scope_has_no_phase() -> None:
    assert ends(("conv", 1, 0.0)) == []
