"""No text makes it crash, and whatever it says adds up."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import fuzzing
from tfmemlens import pipeline
from tfmemlens.renderers.json import report as report_document
from tfmemlens.renderers.markdown import report as markdown
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.view import View

BODIES = fuzzing.bodies()
SETTINGS = settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check(text: str) -> None:
    """Every renderer shows it, and the books of every moment balance."""
    report = pipeline.explain(text + "\n")
    assert report.verdict
    pages = [
        terminal.render(report, View(all_moments=True)),
        terminal.render(report, View(unicode=False, width=60)),
        markdown.render(report, View()),
        report_document.render(report),
    ]
    assert all(pages)
    for moment in report.case.moments:
        for key in ("layer", "kind"):
            assert (
                sum(group.total_bytes for group in moment.attribution.by(key))
                == moment.attribution.table.total_bytes
            )


@SETTINGS
@given(st.text(max_size=2000))
def test_any_text(text: str) -> None:
    check(text)


@SETTINGS
@given(st.lists(st.sampled_from(fuzzing.WORDS), max_size=60))
def test_words_of_the_vocabulary_in_any_order(words: list[str]) -> None:
    check("".join(words))


@SETTINGS
@given(st.integers(0, 1 << 32))
@pytest.mark.whole
def test_damaged_logs(seed: int) -> None:
    rng = random.Random(seed)
    check(fuzzing.mutated(rng.choice(BODIES), rng))


@SETTINGS
@given(st.binary(max_size=3000))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    from tfmemlens.errors import TfmemlensError

    file = tmp_path_factory.mktemp("bytes") / "input"
    file.write_bytes(raw)
    try:
        assert pipeline.explain(file).verdict
    except TfmemlensError as problem:
        assert problem.sentence
