"""Shapes that comments state behind a program's lines, and lines that only read results."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.rows import waits_for_another
from tfmemlens.model.report import Report

CODE = """import jax, numpy as np
N_IMAGES = 31_783
N_TEXTS = 158_915
img = encode_images(files)   # {img}
txt = encode_texts(texts)   # [N_TEXTS, 512] f32

@jax.jit
def ranks(img, txt):
    sims = img @ txt.T
    return jax.numpy.argsort(-sims, axis=1)

r = ranks(img, txt)
"""
MESSAGE = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 60609545340 bytes.\n"


def explained(img: str, line: str = "print(np.asarray(r).mean())") -> Report:
    trace = (
        f'Traceback (most recent call last):\n  File "/home/m/eval.py", line 31, in <module>\n    {line}\n'
    )
    return pipeline.explain(f"```python\n{CODE.format(img=img)}{line}\n```\n\n{trace}{MESSAGE}")


@pytest.mark.parametrize(
    "img", ["[N_IMAGES, 512] f32", "shape (31783, 512)", "img: [N_IMAGES, 512]", "(N_IMAGES, 512) float32"]
)
def test_a_matrix_of_two_stated_numbers(img: str) -> None:
    assert "makes [31783,158915] float32 (N_IMAGES x N_TEXTS)" in explained(img).verdict


@pytest.mark.parametrize("img", ["all of them", "[N_FILES, 512] f32", "[0, 512]", "list(files)"])
def test_a_comment_that_states_no_shape(img: str) -> None:
    assert "31783,158915" not in explained(img).verdict


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("print(np.asarray(r).mean())", True),
        ("history.append(float(loss))", True),
        ("loss = jax.device_get(metrics['loss'])", True),
        ("total += loss.item()", True),
        ("print(r)", False),
        ("loss = float(train_step(state, batch))", False),
        ("x = np.asarray(model.apply(params, x))", False),
        ("y = jnp.sum(float(x))", False),
    ],
)
def test_lines_that_only_read(line: str, waits: bool) -> None:
    assert waits_for_another(explained("", line).case.moments[0]) is waits
