"""Another program than the training step's is loaded beside it: a last batch's, or a validation's.

What it means: XLA compiles each shape and each function to a program of its own, whose temporaries need their
own room. What goes well for every full batch may fail for the last one, which is smaller: its program is
loaded beside the first. A validation's program finds weights, the optimizer's state and the step's there.
When it fires: a TPU or XLA found no room, and the text says that it is with the last batch, of another size,
or that it is when a validation runs, or it fails after as many steps as a setting lets something run each
time. Not where the list of buffers says what the program holds, nor where so little was asked for that the
device was full before.
What to do: pad the last batch; give the validation fewer samples at once, and let go of what it leaves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.last_drop import is_last_drop
from tfmemlens.findings.support.rows import lists_buffers, on_host, requests
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

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
    last = told.shows("jax: a last batch")
    validates = told.shows("jax: at validation") or _in_words(told)
    scheduled = _scheduled(told)
    if framework not in (JAX, TORCH_XLA) or not (last or validates or scheduled):
        return
    for index, moment, request in list(requests(case))[:1]:
        of_jax = request.failed.of_xla or framework == JAX
        if not of_jax or on_host(moment) or facts.on_chip(moment) or lists_buffers(moment):
            continue
        if not last and is_last_drop(request.needed_bytes):
            continue  # what filled the device came before, whichever program asked last
        assert framework is not None
        if line := last or validates:
            what = _of_a_last_batch(line) if last else _of_a_validation(line)
        else:
            assert scheduled
            what, line = _of_a_schedule(scheduled, told), scheduled.line
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(Evidence("what the text says", line), Evidence("the message", request.failed.line)),
            remedies=_what_helps(framework, last, validates),
            moment=index,
            rules_out=("recompute", "donate-buffers", "gradient-accumulation", "what-runs-then"),
        )


_EVERY = regex(r"(?i)(?:\A|[._])(?:every|interval|freq(?:uency)?|period)\Z|_every(?:_n)?_steps\Z")
_STEPS = regex(r"(?i)\A(?:steps?|iterations?|updates?)\Z")
_LEAST_STEPS = 50
_MAKE_IT_SMALLER = Remedy(
    "see what runs then (an evaluation, a report, a sample, a save), make that smaller, or let it run later,"
    " and see whether the failure moves with it",
    slug="smaller-evaluation-batch",
)


def _scheduled(told: Surroundings) -> StatedSize | None:
    """A setting that lets something run each so many steps, after which the text says that it fails."""
    stated = [each for each in told.sizes if len(each.sizes) == 1 and each.sizes[0] >= _LEAST_STEPS]
    steps = {each.sizes[0] for each in stated if _STEPS.match(each.name)}
    return next((each for each in stated if _EVERY.search(each.name) and each.sizes[0] in steps), None)


def _of_a_schedule(every: StatedSize, told: Surroundings) -> str:
    steps = (each for each in told.sizes if each.sizes == every.sizes and _STEPS.match(each.name))
    return (
        f"`{every.name}` is {every.sizes[0]:,} ({every.line.place}), and it fails after as many steps"
        f" ({next(steps).line.place}): what runs then for the first time is a program of its own, which needs"
        " room beside the training step's"
    )


_VALIDATION = regex(r"(?i)\bvalidat|\bevaluat")


def _in_words(told: Surroundings) -> Line | None:
    """Where words say that it is in a validation; a call of `predict` may be all that a program does."""
    line = told.shows("failing in evaluation")
    return line if line and _VALIDATION.search(line.text) else None


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


_RENDERS = regex(r"Rendering chunk")
_FEWER_RAYS = Remedy(
    "render fewer rays at a time, and bring each chunk to the host: the size of a chunk has a setting of its"
    " own, and the training's batch may stay",
    "Config.render_chunk_size = 4096   # of multinerf and its kin",
    slug="in-blocks",
)


def _what_helps(framework: str, last: Line | None, validates: Line | None) -> tuple[Remedy, ...]:
    if not (last or validates):
        return (_MAKE_IT_SMALLER,)
    if validates and not last and _RENDERS.search(validates.text):
        return (_FEWER_RAYS,)
    return tuple(_remedies(framework, last is not None))


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
