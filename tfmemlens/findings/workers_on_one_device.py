"""Workers of a test run share one GPU, each a process with a pool of its own.

What it means: `pytest -n 8` starts eight processes. Unless told otherwise, the first of them takes nearly all
of the GPU, and the others find nothing; what fails in them is small and fits well when it runs alone.
When it fires: the text shows several workers of pytest-xdist, and a GPU's memory ran out; a cause where the
text says that what failed goes well alone, else a factor.
What to do: run what uses the GPU in one worker, or let each take only what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    workers = told.setting("workers")
    for index, moment, _ in list(requests(case))[:1]:
        if workers is None or framework_of(case) != TENSORFLOW or on_host(moment):
            continue
        line = workers[1]
        goes_well = f"it goes well alone (line {told.alone.number}), and " if told.alone else ""
        what = (
            f"{goes_well}several test workers run at once (line {line.number}): most likely they share one"
            f" GPU,"
            " and the first of them took most of it"
        )
        yield Finding(
            severity=Severity.CAUSE if told.alone else Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(Evidence("several workers", line),),
            remedies=(
                Remedy(
                    "run the tests that use the GPU in one worker",
                    "pytest -n 8 --dist loadgroup   # with @pytest.mark.xdist_group('gpu'); or: pytest -n 1",
                    slug="fewer-test-workers",
                ),
                Remedy(
                    "let TensorFlow take memory as needed, so that several workers fit one GPU",
                    code_snippets.growth(case.api),
                    slug="growth",
                ),
            ),
            moment=index,
        )
