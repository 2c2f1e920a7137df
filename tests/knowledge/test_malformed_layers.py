"""Whatever a damaged description says of a layer, its rule answers or says what it lacks: everything else is
ours.
"""

from __future__ import annotations

import random
from typing import Any, NoReturn

import pytest

from tfmemlens.errors import UnreadableInput
from tfmemlens.knowledge import keras_layers
from tfmemlens.knowledge.keras_layers import (
    RULES,
    ImpossibleSize,
    LayerCall,
    UnsupportedLayer,
    describe,
    operations,
)
from tfmemlens.knowledge.keras_layers._context import MAX_SIZE, place_of, tuple_of, whole
from tfmemlens.knowledge.keras_layers.model_types import complete
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.tensor import TensorType
from tfmemlens.readers.keras_models._documents import network_of

_SETTINGS = (
    "units output_dim input_dim input_length filters nb_filter kernel_size filter_length nb_row nb_col"
    " kernel_dim1 strides subsample dilation_rate padding border_mode data_format groups depth_multiplier"
    " output_padding pool_size pool_length output_size cropping size height width axis axes lora_rank bias"
    " equation output_shape bias_axes shared_axes target_shape dims n num_tokens max_tokens output_mode"
    " vocabulary vocabulary_size output_sequence_length projection_dim nb_feature batch_shape shape dtype"
    " num_heads key_dim value_dim attention_axes head_dim num_query_heads num_key_value_heads use_gate mode"
    " merge_mode return_sequences return_state time_major reset_after scale center renorm mean function k"
).split()
_ARGUMENTS = (
    "0 1 2 4 9 axis values xs x newshape axes perm axis1 axis2 source destination slice_spec key"
    " indices_or_sections num repeats pad_width indices num_classes depth dtype subscripts equation keepdims"
    " transpose_a query value return_attention_scores"
).split()
_VALUES: tuple[Any, ...] = (
    *(-(1 << 63), -2, -1, 0, 1, 2, 3, 5, 1 << 40, 1 << 70, 2.5, 2.0, float("nan"), True, False, None),
    *("", "same", "valid", "causal", "full", "channels_first", "concat", "dot", "int", "float16", "mixed_x"),
    *("ab,bc->ac", "...a,ab->...b", "abc->a", "->", [], [[]], [1], [2, 3], [-1, 4], [None, 4], [1, 2, 3]),
    *([[1, 1], [2, 2]], [[1, 2]], ["a"], [None], {}, {"class_name": "X"}, {"top_pad": 1}, {"top_pad": "x"}),
    *(slice(None), slice("a", 2, None), slice(0, 4, 0), Ellipsis, [Ellipsis, Ellipsis], [Ellipsis, 1]),
)
_TRIES = 80


def _type(rng: random.Random) -> TensorType:
    sides = tuple(rng.choice((None, 0, 1, 2, 7)) for _ in range(rng.randrange(6)))
    return TensorType(rng.choice((None, sides, sides)), rng.choice((None, "float32", "int32", "odd")))


def _config(rng: random.Random) -> dict[str, Any]:
    return {name: rng.choice(_VALUES) for name in _SETTINGS if rng.random() < 0.7}


def _asked(name: str, module: str | None, rng: random.Random) -> LayerCall:
    inner = tuple(
        LayerSpec("inner", rng.choice(sorted(RULES)), _config(rng)) for _ in range(rng.randrange(3))
    )
    inputs = tuple(_type(rng) for _ in range(rng.randrange(4)))
    arguments = {
        key: rng.choice((rng.choice(_VALUES), _type(rng), [_type(rng), 2]))
        for key in _ARGUMENTS
        if rng.random() < 0.5
    }
    config = {key: value for key, value in _config(rng).items() if module is None or key != "function"}
    spec = LayerSpec("layer", name, config, module=module, inner=inner)
    return LayerCall(spec, inputs, arguments, rng.choice(("keras-1", "keras-2", "keras-3")))


@pytest.mark.parametrize(
    ("name", "module"),
    [*((name, None) for name in sorted(RULES)), *((name, "keras.ops") for name in sorted(operations._OPS))],
)
def test_rules_answer_or_say_what_is_lacking(name: str, module: str | None) -> None:
    rng = random.Random(name)
    for _ in range(_TRIES):
        try:
            told = describe(_asked(name, module, rng))
        except UnsupportedLayer as problem:
            assert str(problem)
        else:
            sides = [side for kind in told.outputs for side in kind.shape or ()]
            sides += [side for weight in told.weights for side in weight.shape]
            assert all(side is None or 0 <= side <= MAX_SIZE for side in sides)


def _dense(units: object, shape: tuple[int | None, ...] = (2, 8)) -> LayerCall:
    config = {} if units is None else {"units": units}
    return LayerCall(LayerSpec("d", "Dense", config), (TensorType(shape, "float32"),))


@pytest.mark.parametrize(
    ("units", "reason"),
    [
        (None, "its setting 'units' is missing"),
        (0, "its setting 'units' is 0"),
        (-4, "its setting 'units' is -4"),
        (2.5, "its setting 'units' is 2.5, and not a whole number"),
        (True, "its setting 'units' is True, and not a whole number"),
        (MAX_SIZE + 1, f"its setting 'units' is {MAX_SIZE + 1}"),
        ("x" * 60, f"its setting 'units' is '{'x' * 39}…, and not a whole number"),
    ],
)
def test_what_is_lacking_is_named(units: object, reason: str) -> None:
    with pytest.raises(UnsupportedLayer) as problem:
        describe(_dense(units))
    assert str(problem.value) == reason
    assert isinstance(problem.value, ImpossibleSize) == (units == -4)


def test_what_is_there_is_taken() -> None:
    assert describe(_dense(3.0)).outputs[0].shape == (2, 3)
    assert (whole(0, "n"), whole(MAX_SIZE, "n"), tuple_of(3, 2, "k"), tuple_of([1, 2], 2, "k")) == (
        0,
        MAX_SIZE,
        (3, 3),
        (1, 2),
    )
    assert (place_of(-2, 2), place_of(1, 2)) == (0, 1)


@pytest.mark.parametrize(("axis", "rank"), [(2, 2), (-3, 2), (0, 0)])
def test_an_axis_that_the_input_lacks_is_named(axis: int, rank: int) -> None:
    with pytest.raises(UnsupportedLayer, match=f"its axis is {axis}, its input of rank {rank}"):
        place_of(axis, rank)


def test_numbers_for_other_dimensions_are_refused() -> None:
    with pytest.raises(UnsupportedLayer, match="has 3 numbers for 2 dimensions"):
        tuple_of([1, 2, 3], 2, "strides")


@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError, IndexError, AttributeError])
def test_a_defect_of_a_rule_is_not_taken_for_the_input(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: LayerCall) -> NoReturn:
        raise error("a slip")

    monkeypatch.setitem(keras_layers.RULES, "Dense", broken)
    with pytest.raises(error, match="a slip"):
        describe(_dense(4))


def _model(name: str, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {"class_name": "Sequential", "config": {"name": name, "layers": layers}, "module": "keras"}


def _layer(kind: str, **config: object) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": kind.lower(), **config}}


def _refusal(document: dict[str, Any]) -> UnreadableInput:
    with pytest.raises(UnreadableInput) as problem:
        complete(network_of(document, "m"))
    assert "model.to_json()" in problem.value.hint
    return problem.value


def test_a_size_below_zero_is_refused() -> None:
    inner = _model("m", [_layer("InputLayer", batch_shape=[None, 8]), _layer("Dense", units=-4)])
    outer = _model(
        "outer",
        [
            {**_layer("InputLayer", batch_shape=[None, 2, 8]), "name": "x"},
            _layer("TimeDistributed", layer=inner),
        ],
    )
    sentence = "the layer dense (Dense) is damaged: its setting 'units' is -4"
    assert (_refusal(inner).sentence, _refusal(outer).sentence) == (sentence, sentence)


def test_an_input_below_zero_is_refused() -> None:
    problem = _refusal(_model("m", [_layer("InputLayer", batch_shape=[None, -8]), _layer("Flatten")]))
    assert "its setting 'batch_shape' is -8" in problem.sentence
