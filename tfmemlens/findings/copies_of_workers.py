"""Each worker of a server holds the model for itself.

What it means: gunicorn, uWSGI and Celery start a program several times. Processes share no model of
TensorFlow: each loads the library and its own weights, so host RAM goes with their number.
When it fires: no message was found, the text names workers of such a server, and says that memory is the
trouble or goes with them, but not that it grows or that a process ended.
What to do: fewer workers with threads, or one process that has the model and serves the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: no message says how much was requested"

_OF_MEMORY = ("memory at issue", "growing with a size", "much memory in words", "host RAM named")
_SAYS_MORE = ("running short", "growing in words", "killed in words", "ended in words", "kept in words")
_ANEW = regex(
    r"(?i)\b(?:each|every) (?:time|request|call|task)\b[^.\n]{0,60}\b(?:loads?|builds?|makes?|creates?)\b"
    r"[^.\n]{0,20}\bmodels?\b"
)
_CELERY = regex(r"(?i)\bcelery\b")
_FEWER = Remedy(
    "start fewer workers, with threads: the threads of a process share its model. Loading before the fork"
    " (gunicorn's --preload) is no way: TensorFlow that has started may hang in forked processes",
    "gunicorn --workers 1 --threads 4 app:app",
    slug="fewer-workers",
)
_FEWER_OF_CELERY = Remedy(
    "let fewer processes of Celery do this task, in a queue of its own, or run it in threads, which share the"
    " model: no two processes can share one",
    "celery -A app worker -Q predictions --concurrency=1   # or: -P threads --concurrency=4",
    slug="fewer-workers",
)
_ONE_THAT_SERVES = Remedy(
    "or let one process hold the models and answer all workers over HTTP or gRPC (TensorFlow Serving, or a"
    " small server of your own), which then need no TensorFlow; and load only the models that are asked for",
    slug="one-that-serves",
)
_ONCE_EACH = Remedy(
    "build the model once in each worker, when it starts or at its first task, and not in each call",
    "model = None   # in the task: global model; model = model or build()",
    slug="make-once",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    line = told.shows("workers of a server")
    if line is None or case.moments or told.foreign or told.elsewhere or told.without_figures or told.crash:
        return
    if framework_of(case) != TENSORFLOW or any(map(told.shows, _SAYS_MORE)) or told.raised:
        return
    said = next(filter(None, map(told.shows, _OF_MEMORY)), None)
    if said is None:
        return
    words = [line, said, *(at for _, at in told.purposes)]
    anew = next((each for each in words if _ANEW.search(each.text)), None)
    fewer = _FEWER_OF_CELERY if any(_CELERY.search(each.text) for each in words) else _FEWER
    again = f"; it is built again in each call, too ({anew.place})" if anew else ""
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure is told in a message: each worker of the server ({line.place}) is a process of its"
            " own, with its own copy of TensorFlow and of the model, so host RAM goes with their number"
            f"{again}"
        ),
        evidence=tuple(Evidence("what the text says", each) for each in dict.fromkeys((line, said))),
        remedies=(fewer, *((_ONCE_EACH,) if anew else ()), _ONE_THAT_SERVES),
    )
