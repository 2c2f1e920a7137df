"""What the program calls variables and modules that have no name of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.inside import keras_models, python_names


class Thing:
    """Neither named nor a container."""


def roots_are(monkeypatch: pytest.MonkeyPatch, **known: Any) -> None:
    monkeypatch.setattr(
        python_names, "roots", lambda _: ((name, value, None) for name, value in known.items())
    )


def test_a_variables_name_comes_before_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, alone = Thing(), Thing(), Thing(), Thing()
    net = SimpleNamespace(kernel=third, deep={"a": [Thing()]})
    roots_are(monkeypatch, weights=[first, second], w_in=first, net=net, self=alone)
    names = python_names.of([first, second, third, alone])
    assert names == {id(first): "w_in", id(second): "weights[1]", id(third): "net.kernel"}


def test_modules_of_one_class_are_told_by_their_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    base = type("Module", (), {"__module__": "tensorflow.python.module.module"})

    class Block(base):  # type: ignore[misc, valid-type]
        def __init__(self, name: str = "block", **known: Any) -> None:
            self.name_scope = SimpleNamespace(name=name + "/")
            self.__dict__.update(known)

    weights = [Thing() for _ in range(5)]
    blocks = [Block(w=each) for each in weights[:4]]
    alive = [*blocks, Block("stem", w=weights[4])]
    alive.append(Block("tower", _self_tracked={"head": blocks[2]}, parts=blocks[:2], head=blocks[2]))
    monkeypatch.setattr(keras_models, "objects", lambda wanted: [x for x in alive if wanted(type(x))])
    roots_are(monkeypatch, critic=blocks[3])
    scopes = keras_models._scopes_of_modules()
    assert [scopes[id(each)] for each in weights] == ["parts[0]", "parts[1]", "head", "critic", "stem"]


@pytest.mark.parametrize(
    "name, in_graph, unnamed",
    [
        ("Variable:0", False, True),
        ("Variable_2:0", False, True),
        ("w:0", False, False),
        ("Variable:0", True, False),
    ],
)
def test_a_name_that_an_op_has_stays(name: str, in_graph: bool, unnamed: bool) -> None:
    variable = SimpleNamespace(name=name, _in_graph_mode=in_graph)
    assert keras_models._is_unnamed(variable) is unnamed
