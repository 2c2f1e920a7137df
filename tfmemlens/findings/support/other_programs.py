"""What helps a program that is no plain Python program, where a device's memory ran out and nothing tells who
held it: one table of what its language or server can do, asked by every rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.prose_advice import BOUND_REQUESTS, JAVASCRIPT, OF_NATIVE
from tfmemlens.findings.support.tried import runs_with_less
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy

_FEWER_IN_A_RUN = Remedy(
    "feed each run of the session fewer examples, or smaller ones (images, sequences)",
    slug="smaller-input",
)
_A_SERVER_EACH = Remedy(
    "start one server for each GPU, each with a port of its own, and spread the requests over them: one"
    " server computes on one GPU, however many it sees",
    "CUDA_VISIBLE_DEVICES=1 tensorflow_model_server --port=8501 ...   # docker run --gpus device=1",
    slug="one-server-for-each",
)
_SEVERAL = ("one device used", "a GPU left idle", "several GPUs named")
_NATIVE = ("Java", "C#", "C++", "Go")


def less_on_the_device(case: Case, program: str | None) -> Iterator[Remedy]:
    """What the program can do to need less of its device; nothing of a program that the table lacks."""
    told = case.capture.surroundings
    if program == "TensorFlow Serving":
        if any(map(told.shows, _SEVERAL)):
            yield _A_SERVER_EACH
        yield remedies.smaller_requests(case)
        yield BOUND_REQUESTS
    elif program == "Triton":
        yield remedies.FEWER_INSTANCES
    elif program in JAVASCRIPT and not runs_with_less(told):
        yield remedies.TIDY
    elif program in _NATIVE:
        yield _FEWER_IN_A_RUN
        yield OF_NATIVE[program][-1 if program == "Go" else 0]
