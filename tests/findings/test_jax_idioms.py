"""Rows of the table of JAX idioms: each fits its own lines, and not those that look alike."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.applicability import TABLE as REMEDIES
from tfmemlens.findings.support.jax_idioms import TABLE, Idiom, Where, shown_by
from tfmemlens.findings.support.jax_lines import made_by
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report

GIB = 1 << 30
LIB = "/env/lib/python3.11/site-packages"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_a_row_fits_its_examples_and_not_its_near_misses(row: Idiom) -> None:
    assert row.examples and row.near
    for line in row.examples:
        match = row.in_line(line)
        assert match, line
        what, remedies = row.told(match)
        assert "{" not in what, "every group that the words name is in the pattern"
        assert remedies and all(remedy.slug in REMEDIES for remedy in remedies)
    for line in row.near:
        assert row.in_line(line) is None, line


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_an_example_is_explained_by_its_own_row(row: Idiom) -> None:
    """No row before it takes the line."""
    for line in row.examples:
        shown = next(shown_by((), line, (), GIB), None)
        assert shown and shown[0] is row, line


@pytest.mark.parametrize(
    ("place", "function", "slug"),
    [
        (f"{LIB}/flashbax/buffers/trajectory_buffer.py:145", "init", "replay-buffer"),
        (f"{LIB}/transformers/models/llama/modeling_flax_llama.py:465", "init_cache", "cache-of-keys"),
        (f"{LIB}/numpyro/util.py:413", "fori_collect", "mcmc-draws"),
    ],
)
def test_a_library_s_frame_shows_it(place: str, function: str, slug: str) -> None:
    frames = (Frame("run.py:3", "out = go(x)", "main"), Frame(place, "x = f(y)", function))
    assert next(shown_by(frames, "out = go(x)", (), GIB))[0].slug == slug


def test_the_failing_line_is_asked_before_quoted_code() -> None:
    code = (Line(3, "states = jax.vmap(create_state)(jax.random.split(key, 64))"),)
    assert next(shown_by((), "x = jnp.concatenate([a, b])", code, GIB))[0].slug == "joined"
    row, match, line = next(shown_by((), "x = f(y)", code, GIB))
    assert (row.slug, line) == ("ensemble", code[0])
    assert row.told(match)[0].startswith("all 64 members")


def test_a_row_of_the_failing_line_alone_is_not_read_in_quoted_code() -> None:
    row = next(row for row in TABLE if row.slug == "joined")
    assert row.where is Where.LINE
    assert not list(shown_by((), "x = f(y)", (Line(1, row.examples[0]),), GIB))


def test_a_small_request_is_explained_by_what_is_made_of_many_arrays_alone() -> None:
    assert made_by("y = jax.vmap(f)(xs)", 1 << 20) is None
    made = made_by("ema = jax.tree.map(jnp.copy, params)", 1 << 20)
    assert made and "second copy of all weights" in made.what
    assert made.remedies[0].code and made.remedies[0].code.startswith("ema = ")


def explained(line: str, need: int, beside: str = "") -> Report:
    return pipeline.explain(
        f'Traceback (most recent call last):\n  File "/home/u/run.py", line 12, in main\n    {line}\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating"
        f" {need} bytes.\n\n{beside}\n"
    )


def test_sizes_that_the_text_states_are_named() -> None:
    beside = "capacity: 1_000_000\nobs (84, 84, 4)"
    need = 1_000_000 * 84 * 84 * 4 * 4
    report = explained("state = buffer.init(first)", need, beside)
    assert "1,000,000 (`capacity`) x 84 x 84 x 4 (`obs`) in float32" in report.verdict
    assert report.actions[0].remedy.slug == "narrow-copy"
    assert report.actions[0].remedy.saves_bytes == 1_000_000 * 84 * 84 * 4 * 3


def test_a_line_that_tells_nothing_is_explained_by_sizes_alone() -> None:
    report = explained("k = kernel(x, x)", 45_000**2 * 4, "n = 45_000")
    assert "the request is 45,000 x 45,000 (`n`) in float32, to the byte" in report.verdict
    other = explained("k = kernel(x, x)", 45_000**2 * 4 + 4, "n = 45_000")
    assert "45,000" not in other.verdict


def test_quoted_code_is_no_more_than_most_likely_the_cause() -> None:
    code = "states = jax.vmap(create_state)(jax.random.split(key, 48))"
    report = explained("out = run_all(states, x)", 39 * GIB, code)
    assert "most likely all 48 members of an ensemble" in report.verdict
    assert report.findings[0].evidence[0].line and report.findings[0].evidence[0].line.text == code
