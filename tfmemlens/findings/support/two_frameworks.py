"""Two frameworks in one process or server, whose pools share a GPU, as the text tells it."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex

_OF_JAX = regex(r"(?i)\b(?:jax|flax)\b")
_SHARE_OF_JAX = Remedy(
    "let JAX take memory as needed, or keep it off the GPU where it only happens to be imported; both before"
    " it is first imported, by a library, too",
    "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or: export JAX_PLATFORMS=cpu",
    slug="growth",
)
_SHARE_OF_A_SERVER = Remedy(
    "give TensorFlow a part of the GPU that leaves room for the other backend: a flag of the server's, since"
    " no field of a model's configuration tells it",
    "tritonserver --backend-config=tensorflow,gpu-memory-fraction=0.5   # old: --tf-gpu-memory-fraction",
    slug="part-of-a-server",
)
_APART = Remedy(
    "or let each have a GPU, or a process that ends when its work is done: neither gives back what its pool"
    " once took",
    slug="own-process",
)


def two_frameworks(case: Case) -> Iterator[Grower]:
    """The pools of two frameworks on one GPU, where words say that they compete, or that one takes most."""
    told = case.capture.surroundings
    if line := told.shows("two frameworks on one GPU"):
        what = (
            f"the pools of two frameworks on one GPU ({line.place}): each keeps what it once took, and the"
            " other finds that much less"
        )
        yield Grower(what, line, (_smaller_share(case, line.text), _APART), sure=True)
        return
    line = told.shows("a framework takes the GPU")
    if line and _OF_JAX.search(line.text) and told.shows("beside another framework"):
        what = (
            f"JAX in the same process, which takes most of the GPU when it starts ({line.place}), so that the"
            " other framework finds little"
        )
        yield Grower(what, line, (_SHARE_OF_JAX, _APART), sure=True)


def _smaller_share(case: Case, words: str) -> Remedy:
    if situation(case).program == "Triton":
        return _SHARE_OF_A_SERVER
    if _OF_JAX.search(words):
        return _SHARE_OF_JAX
    return Remedy(
        "let TensorFlow take no more than a part of the GPU, before its first op, so that the other framework"
        " finds the rest",
        code_snippets.limit(case.api),
        slug="smaller-fraction",
    )
