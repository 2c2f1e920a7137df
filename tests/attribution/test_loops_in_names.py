"""Parts of a node's name that loops, branches and releases decide."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.names.keras_scopes import _may_have_keras_3
from tfmemlens.attribution.names.node_names import _unloop
from tfmemlens.model.capture import Capture, Source


@pytest.mark.parametrize(
    "name, plain",
    [
        ("a/b/MatMul", "a/b/MatMul"),
        ("rnn/while/rnn/cell/MatMul", "rnn/cell/MatMul"),
        ("a/b/c/while/a/b/c/MatMul", "a/b/c/MatMul"),
        ("a/b/c/while/b/c/MatMul", "a/b/c/MatMul"),
        ("a/b/while/a/b/while/a/b/MatMul", "a/b/MatMul"),
        ("lstm/while/lstm_cell/MatMul", "lstm/MatMul"),
        ("while/MatMul", "while/MatMul"),
    ],
)
def test_a_loop_is_no_layer(name: str, plain: str) -> None:
    assert "/".join(_unloop(name.split("/"))) == plain


@pytest.mark.parametrize(
    "version, may",
    [(None, False), (("2.15", "2.21"), False), (("2.16", "2.21"), True), (("2.17", "2.17"), True)],
)
def test_keras_3_comes_with_the_oldest_release_that_it_can_be(
    version: tuple[str, str] | None, may: bool
) -> None:
    assert _may_have_keras_3(Capture(Source("x", version=version))) is may
