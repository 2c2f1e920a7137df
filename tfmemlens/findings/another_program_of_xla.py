"""Another program than the training step's is loaded beside it: a last batch's, or a validation's.

What it means: XLA compiles each shape and each function to a program of its own, whose temporaries need their
own room. What goes well for every full batch may fail for the last one, which is smaller: its program is
loaded beside the first. A validation's program finds weights, the optimizer's state and the step's there.
When it fires: a TPU or XLA found no room, and the text says that it is with the last batch, of another size,
or that it is when a validation runs. Not where the list of buffers says what the program holds.
What to do: pad the last batch; give the validation fewer samples at once, and let go of what it leaves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import lists_buffers, on_host, requests
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "the request"

_PAD = {
    JAX: "x = np.pad(x, [(0, n - len(x)), (0, 0)]); mask = np.arange(n) < len(batch)   # n: a full batch",
    TORCH_XLA: "DataLoader(..., drop_last=True)   # or pad, and leave the padding out of the mean",
}
_FEWER = {
    JAX: "out = [jax.device_get(p_eval(params, part)) for part in np.array_split(x, 8)]",
    TORCH_XLA: "for part in torch.chunk(x, 8): out.append(f(part).cpu()); xm.mark_step()",
}
_ENDED = Remedy(
    "a loop of steps in it (of a sampler, of tokens) is one program until a step is ended: end one in each"
    " turn",
    "xm.mark_step()   # at the end of each turn; torch_xla.sync() in newer versions",
    slug="mark-step",
)


def check(case: Case) -> Iterator[Finding]:
    told, framework = case.capture.surroundings, framework_of(case)
    last, validates = told.shows("jax: a last batch"), told.shows("jax: at validation")
    if framework not in (JAX, TORCH_XLA) or not (last or validates):
        return
    for index, moment, request in list(requests(case))[:1]:
        if not request.failed.of_xla or on_host(moment) or facts.on_chip(moment) or lists_buffers(moment):
            continue
        line = last or validates
        assert line is not None and framework is not None
        what = _of_a_last_batch(line) if last else _of_a_validation(line)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(Evidence("what the text says", line), Evidence("the message", request.failed.line)),
            remedies=tuple(_remedies(framework, last is not None)),
            moment=index,
            rules_out=("recompute", "donate-buffers", "gradient-accumulation"),
        )


def _of_a_last_batch(line: Line) -> str:
    return (
        f"the last batch has another size ({line.place}): it is compiled to a program of its own, which is"
        " loaded beside that of the full batches and needs room of its own"
    )


def _of_a_validation(line: Line) -> str:
    return (
        f"it is the program of a validation ({line.place}), another than the training step's: it finds what"
        " weights, the optimizer's state and the step's program leave"
    )


def _remedies(framework: str, last: bool) -> Iterator[Remedy]:
    if last:
        yield Remedy(
            "give every batch the same size: pad the last one, and mask what was added, or leave it out",
            _PAD[framework],
            slug="one-shape-of-jax" if framework == JAX else "between-epochs",
        )
        if framework == JAX:
            yield Remedy(
                "or drop the program of the full batches before the last one",
                "jax.clear_caches()",
                slug="start-anew",
            )
        return
    yield Remedy(
        "validate fewer samples at once, and bring each part's result to the host: the training's batch may"
        " stay",
        _FEWER[framework],
        slug="smaller-evaluation-batch",
    )
    if framework == TORCH_XLA:
        yield _ENDED
