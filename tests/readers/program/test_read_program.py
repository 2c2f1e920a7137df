"""Python that stands in a pasted text, found and parsed."""

from __future__ import annotations

import ast
import time

import pytest

from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.formats.oom_log import read_lines
from tfmemlens.readers.program import read_program


def code(text: str) -> list[str]:
    """The statements of a text, as Python writes them."""
    lines = tuple(Line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    return [ast.unparse(each.node) for each in read_program(lines)]


NET = ["x = Conv2D(64, 3)(x)", "y = Dense(10)(x)"]


@pytest.mark.parametrize(
    "text",
    [
        "x = Conv2D(64, 3)(x)\ny = Dense(10)(x)",
        "Hello, this is my net:\n\n    x = Conv2D(64, 3)(x)\n    y = Dense(10)(x)\n\nWhy does it fail?",
        "```python\nx = Conv2D(64, 3)(x)\ny = Dense(10)(x)\n```",
        ">>> x = Conv2D(64, 3)(x)\n>>> y = Dense(10)(x)",
        "In [3]: x = Conv2D(64, 3)(x)\n   ...: y = Dense(10)(x)",
        "  9  x = Conv2D(64, 3)(x)\n 10  y = Dense(10)(x)",
        "9: x = Conv2D(64, 3)(x)\n10: y = Dense(10)(x)",
        "     11 x = Conv2D(64, 3)(x)\n---> 12 y = Dense(10)(x)",
        "+x = Conv2D(64, 3)(x)\n-y = Dense(99)(x)\n+y = Dense(10)(x)",
        "x = Conv2D(64, 3)(x)   <-- fine\ny = Dense(10)(x)     dies here",
        "x = Conv2D(\n    64,\n    3\n)(x)\ny = Dense(10)(x)",
        "x = Conv2D(64, \\\n    3)(x)\ny = Dense(10)(x",
    ],
)
def test_code_is_found_whatever_stands_around_it(text: str) -> None:
    assert code(text) == NET


def test_blocks_keep_their_lines() -> None:
    text = "for tok in ds:   # (8, 512)\n    out = model(tok)\n    kept.append(out)\nprint(kept)"
    lines = tuple(Line(number + 10, line) for number, line in enumerate(text.splitlines()))
    loop, last = read_program(lines)
    assert isinstance(loop.node, ast.For)
    assert [loop.line_of(each).number for each in loop.node.body] == [11, 12]
    assert last.line.number == 13


def test_a_class_with_parts_left_out() -> None:
    text = (
        "class Head(tf.keras.layers.Layer):\n    def __init__(self):\n        ...\n"
        "    def call(self, h):\n        print 'in call', h\n        [... snip ...]\n"
        "        return self.d(h)"
    )
    assert code(text) == [
        "class Head(tf.keras.layers.Layer):\n\n    def __init__(self):\n        pass\n\n"
        "    def call(self, h):\n        print('in call', h)\n        pass\n        return self.d(h)"
    ]


def test_code_that_is_cut_at_both_ends() -> None:
    text = "        x = pool(x)\n        return self.head(x)\n\n    def fit(self):\n        for b in ds:"
    assert code(text) == [
        "x = pool(x)",
        "return self.head(x)",
        "def fit(self):\n    for b in ds:\n        pass",
    ]


def test_calls_within_a_sentence() -> None:
    text = "model: user_id -> Embedding(12_500_000, 64), then dot and a Dense(1) on top (about 3 GB)"
    assert code(text) == ["user_id = Embedding(12500000, 64)", "Dense(1)"]


def test_a_frame_is_no_second_copy_of_the_code() -> None:
    text = (
        "x = Conv2D(64, 3)(x)\nx = Conv2D(64, 3)(x)\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 2, in <module>\n    x = Conv2D(64, 3)(x)\n'
        '  File "a.py", line 9, in other\n    z = other(x)\nValueError: no'
    )
    assert code(text) == ["x = Conv2D(64, 3)(x)", "x = Conv2D(64, 3)(x)", "z = other(x)"]


@pytest.mark.parametrize(
    "text",
    [
        "I have tried it with a smaller batch, and it is the same.",
        "Is there a way to find out (with or without code) what is wrong?",
        "2018-09-02 15:21:08.130602: I bfc_allocator.cc:682] Sum Total of in-use chunks: 1.04GiB",
        "ResourceExhaustedError: OOM when allocating tensor with shape[3,3] and type float",
        "Thanks",
        "\x00 = 3",
        "x" + "(" * 300,
    ],
)
def test_what_is_no_code_is_left_out(text: str) -> None:
    assert code(text) == []


def test_the_time_is_bounded() -> None:
    lines = ["x = f(" + "[" * 60, "def g(:", "  if ]:", "print a b c", "a, " * 90, "\t" * 40 + "y = (", "'''"]
    started = time.process_time()
    code("\n".join(lines * 400))
    assert time.process_time() - started < 5


def test_a_text_gives_its_program_when_asked() -> None:
    text = "OOM when allocating tensor with shape[8,9] and type float\n\n&lt;pre&gt;\nx = f(3)\n&lt;/pre&gt;"
    program = read_lines(enumerate(text.splitlines(), 1)).surroundings.program()
    assert [(each.line.number, ast.unparse(each.node)) for each in program] == [(4, "x = f(3)")]


def test_a_message_without_code_has_no_program_to_parse() -> None:
    text = "OOM when allocating tensor with shape[8,9] and type float\nwhy is that?"
    assert read_lines(enumerate(text.splitlines(), 1)).surroundings.program is Program


DOCUMENTED = """I train this model and run out of memory:
class Mixing(layers.Layer):
    {docstring}

    def __init__(self, channels):
        self.norm = layers.LayerNormalization()

    def call(self, m):
        return self.norm(m)
x = Mixing(3)
"""


@pytest.mark.parametrize(
    "docstring",
    [
        '"""Gated convolution along the residues; cheap stand-in for row attention."""',
        "'''Mixes what stands in a row'''",
        '"""Mixes rows.\n\n    It sums up what stands in a row, and then\n    normalises it.\n    """',
        'r"""Mixes rows by $x$\n    and no more."""',
    ],
)
def test_a_docstring_does_not_end_its_class(docstring: str) -> None:
    made, used = code(DOCUMENTED.format(docstring=docstring))
    assert "def __init__" in made and "return self.norm(m)" in made
    assert used == "x = Mixing(3)"


def test_a_docstring_that_is_cut_ends_with_the_log() -> None:
    text = DOCUMENTED.format(docstring='"""It mixes rows and').split("\n\n")[0]
    log = f"{text}\nTraceback (most recent call last):\n  y = net(x)\nz = net(y)\n"
    assert "z = net(y)" in code(log)
