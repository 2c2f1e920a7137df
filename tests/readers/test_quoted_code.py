"""Code and sizes that a text quotes around a failure."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.quoted_code import QuotedCode


def collected(text: str) -> QuotedCode:
    quoted = QuotedCode()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            quoted.observe(Line(number, line))
        else:
            quoted.blank()
    return quoted


@pytest.mark.parametrize(
    ("line", "name", "sizes"),
    [
        ("buffer_size: 1_000_000", "buffer_size", (1_000_000,)),
        ("x_train.shape (50000, 224, 224, 3)", "x_train.shape", (50000, 224, 224, 3)),
        ("D = f(X)   # X is (50000, 3) float32", "", (50000, 3)),
        ("X_train.shape ist (41250, 224, 224, 3)", "", (41250, 224, 224, 3)),
        ("mi tensor es de (20, 30)", "", (20, 30)),
        ("labels = load()   # (850000,)", "labels", (850000,)),
        ("n = X.shape[0]    # 60_000", "n", (60000,)),
        ("the 62k latent sites", "latent", (62000,)),
        ("max_len 512", "max_len", (512,)),
        ("train(num_envs=4096)", "num_envs", (4096,)),
        ("states = init(split(key, 64))", "", (64,)),
        ("500 images of 512x1024", "", (512, 1024)),
        ("2.4M nodes and 8,500,000 edges", "edges", (8_500_000,)),
    ],
)
def test_sizes(line: str, name: str, sizes: tuple[int, ...]) -> None:
    assert (name, sizes) in [(each.name, each.sizes) for each in collected(line).sizes]


@pytest.mark.parametrize(
    "line",
    [
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes.",
        "lr=1e-3",
        "loss 0.25",
        "12:40:31 ready",
        "used 93.5% of it",
    ],
)
def test_no_sizes(line: str) -> None:
    assert not collected(line).sizes


def test_the_user_s_code_is_kept_and_a_library_s_is_not() -> None:
    code = collected(
        '  File "/home/u/a.py", line 3, in main\n    y = f(x)\n'
        '  File "/env/lib/python3.11/site-packages/jax/_src/api.py", line 9, in g\n    z = h(y)\n'
        "Cell In[3], line 2\n----> 2 w = k(z)\n\n"
        "File /usr/lib/python3.11/site-packages/jax/x.py:12, in q(a)\n     11 b = c(a)\n---> 12 d = e(b)\n\n"
        "I have no idea what happens here.\n"
        "@jax.jit\n"
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: f(x) = 3"
    ).code
    assert [line.text.strip() for line in code] == ["y = f(x)", "----> 2 w = k(z)", "@jax.jit"]


def test_what_python_warns_of_is_no_code() -> None:
    warned = (
        "/env/lib/python3.12/site-packages/net/fit.py:74: UserWarning: mix it before (via `.shuffle(size)`)."
    )
    code = collected(f"{warned}\ndata = data.shuffle(size)\n").code
    assert [line.text for line in code] == ["data = data.shuffle(size)"]


def test_no_more_is_kept_than_a_text_can_need() -> None:
    quoted = collected("\n".join(f"x{number} = f({number}00)" for number in range(2000)))
    assert len(quoted.code) == 300
    assert len(quoted.sizes) <= 82


def test_lines_of_one_shape_state_what_each_of_them_does() -> None:
    """Whether a line may state sizes is remembered for its shape, and not by the figures of the first."""
    stated = [
        collected(f"heads: {heads} max_len: {length}").sizes for heads, length in ((1, 1), (7, 4), (1, 4))
    ]
    assert [[each.sizes for each in sizes] for sizes in stated] == [[], [(7,), (4,)], [(4,)]]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("for x in train_loader:", True),
        ("    for x, y in self.batches:", True),
        ("for example in keras:", False),
        ("for x in the log below:", False),
    ],
)
def test_the_head_of_a_loop_is_code(text: str, code: bool) -> None:
    assert bool(collected(text).code) is code
