"""Penalties on weights and on what layers give, as Keras's regularizers write them: gradients that wait to be
added to those of the loss.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfmemlens.estimation.graph_step.folding import MAX_BYTES
from tfmemlens.estimation.keras_step.tape import Tape, TapeValue
from tfmemlens.model.network import LayerSpec
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Penalty:
    """Which sums of a tensor are added to the loss: of its sizes, of its squares."""

    layer: str
    value: TapeValue
    sizes: bool
    squares: bool


def penalty_of(config: Mapping[str, object], name: str, layer: str, value: TapeValue) -> Penalty | None:
    """What `<name>_regularizer` of a layer's configuration asks for; None where nothing, or nothing known."""
    told = config.get(f"{name}_regularizer")
    if isinstance(told, str):
        return _penalty(told, {"l1": 1, "l2": 1}, layer, value)
    if not isinstance(told, Mapping):
        return None
    settings = told.get("config")
    return _penalty(
        str(told.get("class_name")), settings if isinstance(settings, Mapping) else {}, layer, value
    )


def penalty_of_activity(spec: LayerSpec, layer: str, value: TapeValue) -> Penalty | None:
    """What a layer asks for on what it gives; an `ActivityRegularization` is there for that alone."""
    if spec.class_name == "ActivityRegularization":
        return _penalty("l1l2", spec.config, layer, value)
    return penalty_of(spec.config, "activity", layer, value)


def _penalty(kind: str, settings: Mapping[str, object], layer: str, value: TapeValue) -> Penalty | None:
    kind = kind.lower().replace("_", "")
    sizes = kind in ("l1", "l1l2") and bool(settings.get("l1"))
    squares = kind in ("l2", "l1l2") and bool(settings.get("l2"))
    return Penalty(layer, value, sizes, squares) if sizes or squares else None


def seeds_of(tape: Tape, penalty: Penalty) -> list[tuple[TapeValue, TapeValue]]:
    """The gradients of a penalty, which wait for those of the loss from the step's beginning on where they
    are of a weight. That of a sum is one number as often as there are elements: Grappler folds it into a
    constant as large as the weight. Keras 2 takes `l2_loss` of squares, whose gradient has none.
    """
    value, seeds = penalty.value, []
    tape.layer = penalty.layer
    weight = tape.buffers[value.buffer].standing
    for wanted, op in ((penalty.sizes, "Sign"), (penalty.squares, "Mul")):
        if not wanted:
            continue
        made = tape.op(op, [value], early=weight)
        if weight and value.bytes <= MAX_BYTES and (tape.keras_3 or op == "Sign"):
            spread = tape.repeated_number(value.shape, value.dtype)
            made = tape.op("Mul", [made, spread], over=[made], early=True)
        seeds.append((value, made))
    return seeds
