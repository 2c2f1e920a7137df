"""Edges of lines of JAX code: where they may stand, how much they explain; unrolled loops; cut patches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_support import case, held
from tfmemlens.findings import patch_extraction
from tfmemlens.findings.support import jax_code, jax_lines
from tfmemlens.findings.support.jax_code import TABLE, JaxIdiom, shown_by
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.values import replace

MIB = 1 << 20
ON_THE_WAY = set(
    "restored-beside gathered-from-all vectorized-chains mcmc-draws posterior-predictive"
    " differential-equation scan vmap search-tree".split()
)
QUOTED = set(
    "replay-buffer-of-brax full-covariance-guide set-kept-on-device dense-adjacency per-example-gradients"
    " vmap-of-environments ensemble mapped-under-a-gradient environments prefetched whole-on-every-device"
    " history-of-gradients preconditioner pytorch-beside tangent-kernel one-hot-sums direct-adjoint".split()
)
OF_MANY_ARRAYS = set(
    "cache-of-keys replicated-array state-made-by-a-call restored-beside set-kept-on-device trees-in-a-list"
    " gathered-from-all copied-weights ensemble-of-keys prefetched pytorch-beside average-of-weights".split()
)
"""They explain a small request, too; all others one of 64 MiB and more."""


def alone(row: JaxIdiom, monkeypatch: pytest.MonkeyPatch) -> str:
    """An example of a row that is all there is, whatever must stand beside it."""
    monkeypatch.setattr(jax_code, "TABLE", (replace(row, beside=""),))
    return row.examples[0]


def test_each_row_is_spoken_of() -> None:
    slugs = {row.slug for row in TABLE}
    assert slugs >= ON_THE_WAY | QUOTED | OF_MANY_ARRAYS and not ON_THE_WAY & QUOTED
    assert len(slugs) == len(TABLE) > len(ON_THE_WAY | QUOTED | OF_MANY_ARRAYS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_how_much_a_row_explains(row: JaxIdiom, monkeypatch: pytest.MonkeyPatch) -> None:
    example = alone(row, monkeypatch)
    assert len(list(shown_by((), example, (), 64 * MIB))) == 1
    assert len(list(shown_by((), example, (), 64 * MIB - 1))) == (row.slug in OF_MANY_ARRAYS)
    assert len(list(shown_by((), example, (), 0))) == (row.slug in OF_MANY_ARRAYS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_where_a_row_may_stand(row: JaxIdiom, monkeypatch: pytest.MonkeyPatch) -> None:
    example = alone(row, monkeypatch)
    above, code = Frame("train.py:3", example, "main"), Line(7, example)

    def found(*frames: Frame, code: Any = (), way: bool = True) -> list[Line | None]:
        return [line for _, _, line in shown_by(frames, "y", code, 64 * MIB, way=way)]

    assert found(above) == ([None] if row.slug in ON_THE_WAY | QUOTED else [])
    assert found(above, way=False) == []
    library = Frame("/env/lib/python3.11/site-packages/jax/_src/x.py:3", example, "main")
    assert found(library) == []
    assert found(code=(Line(5, example), code, Line(9, "z"))) == ([code] if row.slug in QUOTED else [])


@pytest.mark.parametrize("row", [row for row in TABLE if row.beside], ids=lambda row: row.slug)
def test_what_must_stand_beside_it(row: JaxIdiom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_code, "TABLE", (replace(row, beside="jax[.]grad"),))
    example = row.examples[0]
    assert not list(shown_by((), example, (Line(1, "y = jax_grad(x)"),), 64 * MIB))
    assert list(shown_by((), example, (Line(1, "y = 1"), Line(2, "g = jax.grad(f)")), 64 * MIB))
    assert list(shown_by((), f"{example}; jax.grad(f)", (), 64 * MIB))


LOOP = ["def step(s):", "    for i in range(20):", "        s = f(s)", "    return s"]


@pytest.mark.parametrize(
    "lines, need, line",
    [
        (["@jax.jit", *LOOP], 64 * MIB, 3),
        (["@jax.jit", *LOOP], 64 * MIB - 1, None),
        (["@jax.jit", *LOOP], None, None),
        (["@jax.jit", *LOOP[:1], "    for i in range(19):"], 64 * MIB, None),
        (
            ["@jax.jit", *LOOP[:1], "for i in range(20):", "    step(s)"],
            64 * MIB,
            None,
        ),  # it calls the function
        (["@wraps(f)", *LOOP], 64 * MIB, None),
        (["jax.jit(other)", *LOOP], 64 * MIB, None),
        ([*LOOP, "g = jax.grad(step)"], 64 * MIB, 2),
        ([*LOOP, "g = jax.grad(steps)"], 64 * MIB, None),
        ([*LOOP, "@jax.jit"], 64 * MIB, None),  # of what stands below, and not above
        (LOOP, 64 * MIB, None),
    ],
)
def test_a_loop_that_is_unrolled(lines: list[str], need: int | None, line: int | None) -> None:
    code = [Line(number, text) for number, text in enumerate(lines, 1)]
    found = jax_lines._unrolled(code, need)
    assert (found is not None) is (line is not None)
    if found is not None:
        assert f"loop of `step` (line {line}): its 20 iterations" in found.what


@pytest.mark.parametrize(
    "shape, size, node, kernels",
    [
        ((8, 20, 20, 27), 1000, "a/ExtractImagePatches", True),
        ((8, 9, 20, 20, 27), 1000, "a/extract_volume_patches", True),
        ((20, 20, 27), 1000, "a/ExtractImagePatches", False),
        ((8, 9, 9, 20, 20, 27), 1000, "a/ExtractImagePatches", False),
        ((8, 20, None, 27), 1000, "a/ExtractImagePatches", False),
        ((8, 20, 20, 27), 0, "a/ExtractImagePatches", False),
        ((8, 20, 20, 27), None, "a/ExtractImagePatches", False),
        ((8, 20, 20, 27), 1000, "a/Conv2D", False),
        ((8, 20, 20, 27), 1000, None, False),
        (None, 1000, "a/ExtractImagePatches", False),
    ],
)
def test_patches_that_are_cut_out(shape: Any, size: int | None, node: str | None, kernels: bool) -> None:
    found = patch_extraction._patches(case(held()), node, "Op", shape, size)
    assert (found is not None) is kernels
