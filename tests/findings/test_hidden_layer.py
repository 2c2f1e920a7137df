"""A wide layer in the middle of a network is no output layer of as many classes."""

from __future__ import annotations

import pytest

from tfmemlens.findings.support.hidden_layer import is_hidden
from tfmemlens.model.line import Line


@pytest.mark.parametrize(
    ("code", "number", "hidden"),
    [
        ("x = Dense(3072)(x)\nx = Activation('relu')(x)", "3072", True),
        ("x = Dense(3072)(x)\n\nx = Dense(10)(x)", "3072", True),
        ("model.add(Dense(4096))\nmodel.add(Dropout(0.5))", "4096", True),
        ("layers.Flatten(), Dense(1536), Activation('relu'), Dense(10)", "1536", True),
        ("x = Dense(30720)(x)\nx = Activation('softmax')(x)", "30720", False),
        ("x = Dense(30720)(x)\nmodel = Model(i, x)", "30720", False),
        ("x = Dense(vocab_size)(x)\nx = Dropout(0.1)(x)", "vocab_size", False),  # named as the words are
    ],
)
def test_what_takes_it_tells(code: str, number: str, hidden: bool) -> None:
    lines = [Line(at, text) for at, text in enumerate(code.split("\n"), 1)]
    assert is_hidden(lines[0].text, number, lines) is hidden


def test_a_line_that_is_not_quoted_tells_nothing() -> None:
    assert not is_hidden("x = Dense(3072)(x)", "3072", [Line(1, "x = Dense(64)(x)")])
