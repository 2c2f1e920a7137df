"""Where PyTorch/XLA's steps end: its operations are only noted until then, and run as one program."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import TORCH_XLA, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_ENDS = regex(r"\A[^`'\"]{0,80}(?:\bmark_step\(|\boptimizer_step\(|\btorch_xla\.sync\()")
_MARKS = regex(r"\A[^`'\"]{0,80}\bmark_step\(")
_OPTIMIZER_STEP = regex(r"\boptimizer_step\((?!.*barrier\s*=\s*True)")
_LOADER = regex(r"\b(?:MpDeviceLoader|ParallelLoader|per_device_loader|torch_xla\.(?:sync|step))")
_IN_SOME_TURNS = regex(r"\A(?P<indent>\s*)(?:el)?if\b.*%.*:\s*(?:#.*)?\Z")
_BACKWARD = regex(r"\.backward\(")
_INDENT = regex(r"\s*")

END_EACH = Remedy(
    "end each step: until then its operations join one program with those of the next. Read a loss seldom,"
    " and keep numbers (loss.item())",
    "xm.mark_step()   # after opt.step(); or loader = pl.MpDeviceLoader(loader, device)",
    slug="mark-step",
)
FETCH_EACH = Remedy(
    "bring each turn's result to the host, which also runs it, or end a step in each turn",
    "outs.append(model(x.to(device)).cpu())   # or, as the last line of the turn: xm.mark_step()",
    slug="mark-step",
)
LESS_IN_A_STEP = Remedy(
    "put less into one step: a smaller batch on each core, shorter sequences or smaller images",
    slug="smaller-batch",
)
LESS_IN_A_RUN = (
    Remedy(
        "load the weights in bfloat16, if they are in float32: half of them, from any file (a variant of the"
        " files is not needed)",
        "Model.from_pretrained(name, torch_dtype=torch.bfloat16)",
        slug="narrow-weights-of-torch",
    ),
    Remedy(
        "make less in one run: fewer samples at once, where it is one smaller images or shorter sequences,"
        " and decode in slices or tiles",
        slug="smaller-input",
    ),
)
"""Of a run that takes no gradient."""
COUNT = Remedy(
    "count what is compiled: after the first steps the number of CompileTime's samples must stay as it is."
    " Where it rises, shapes change (pad to few), or the graph grows; compiled programs stay in host RAM",
    "import torch_xla.debug.metrics as met; print(met.metrics_report())",
    slug="count-compilations",
)
ROLL_LOOPS = Remedy(
    "a loop of Python (time steps, labels, layers) is noted turn by turn: compute all turns in one operation,"
    " or make the loop shorter, so that forward and backward hold fewer operations",
    slug="roll-loops",
)
_BARRIER = Remedy(
    "xm.optimizer_step(optimizer) alone ends no step: let it do so (barrier=True), or feed the loop with"
    " MpDeviceLoader, which ends one at each batch; else the graph grows from step to step",
    "xm.optimizer_step(optimizer, barrier=True)",
    slug="mark-step",
)
_ALREADY = Remedy(
    "where steps are ended already, keep numbers instead of tensors (loss.item()), and end the step once in"
    " each turn of the loop, whatever it skips",
    "xm.mark_step()   # the last line of the loop's body; torch_xla.sync() in newer versions",
    slug="mark-step",
)


ONE_MODEL = Remedy(
    "every process of a host makes a model and loads data of its own, all in the same RAM: make the model"
    " once, before they start, and let them share it, or load one after another; fewer processes need less",
    "model = xmp.MpModelWrapper(Net())   # before xmp.spawn(f, start_method='fork'); in f: model.to(device)",
    slug="one-model-for-all",
)
_ONE_AT_A_TIME = Remedy(
    "the wrapper is there already: it spares copies while the model is made, and each process still holds one"
    " while it moves it to its device. Move them one after another, keep the weights in 16 bits until then,"
    " or let one process drive several devices (PJRT, newer releases); fewer processes need less",
    "xmp.MpSerialExecutor().run(lambda: wrapped.to(device))   # made once, before xmp.spawn",
    slug="one-at-a-time",
)
_BETWEEN_EPOCHS = Remedy(
    "see what differs between epochs: a last batch that is smaller is another program, compiled beside the"
    " first; the old loader's iterator keeps batches that it prefetched; a list keeps losses or outputs; or"
    " an evaluation or a save runs then",
    "loader = DataLoader(..., drop_last=True)   # and: del iterator, loss, outputs; xm.mark_step()",
    slug="between-epochs",
)


_EACH_MICRO_BATCH = Remedy(
    "end a step after each micro-batch, too, and not only with the update: all operations between two ends"
    " are one program, so that more micro-batches need as much as one large batch",
    "loss.backward(); xm.mark_step()   # for each micro-batch; torch_xla.sync() in newer versions",
    slug="mark-step",
)


def ended_in_some_turns(case: Case) -> Line | None:
    """The line that ends a step in some turns of a loop only, while each turn runs a backward pass; or the
    words that say so, where nothing else ends one.
    """
    if framework_of(case) != TORCH_XLA:
        return None
    inside: int | None = None
    backward = False
    for line in case.capture.surroundings.code:
        indent = len(_INDENT.match(line.text)[0])  # type: ignore[index]
        if inside is not None and line.text.strip() and indent <= inside:
            inside = None
        if match := _IN_SOME_TURNS.match(line.text):
            inside = len(match["indent"])
        elif inside is None:
            if _ENDS.search(line.text):
                return None
            backward = backward or bool(_BACKWARD.search(line.text))
        elif backward and _ENDS.search(line.text):
            return line
    told = case.capture.surroundings
    return None if told.shows("ending steps") else told.shows("updating seldom")


def sharded_as_one(case: Case) -> Line | None:
    """The line that wraps a whole model in FSDP, where nothing wraps its blocks, too."""
    if framework_of(case) != TORCH_XLA:
        return None
    told = case.capture.surroundings
    line = told.shows("sharding as one unit")
    return None if line is None or told.shows("sharding block by block") else line


WRAP_BLOCKS = Remedy(
    "shard block by block: each transformer block in FSDP of its own, with its forward pass computed again,"
    " so that only one block's weights are gathered at a time",
    "fsdp = lambda m: FSDP(checkpoint_module(m))   # of torch_xla.distributed.fsdp\n"
    "model.blocks = nn.ModuleList(map(fsdp, model.blocks)); model = FSDP(model)   # or: auto_wrap_policy=...",
    slug="wrap-blocks",
)


SEE_THAT_WRAPPED = Remedy(
    "see that FSDP wraps each block by itself, as one round the whole model gathers all its weights at once,"
    " and let the backward pass compute each block again",
    "FSDP(model, auto_wrap_policy=..., auto_wrapper_callable=lambda m, *a, **k: FSDP(checkpoint_module(m),"
    " *a, **k))   # Trainer: xla_fsdp_grad_ckpt in fsdp_config",
    slug="wrap-blocks",
)


def sharded_in_words(case: Case) -> bool:
    """Whether the text names FSDP, and nothing shows what it wraps."""
    told = case.capture.surroundings
    shown = told.shows("sharding block by block") or told.shows("sharding as one unit")
    return framework_of(case) == TORCH_XLA and not shown and told.shows("sharding in words") is not None


def _without_barrier(case: Case) -> bool:
    """Whether `optimizer_step` is all that the code shows of ends, and nothing lets it end a step."""
    lines = [line.text for line in case.capture.surroundings.code]
    return any(map(_OPTIMIZER_STEP.search, lines)) and not any(
        _LOADER.search(line) or _MARKS.search(line) for line in lines
    )


def because_of(line: Line) -> str:
    """The clause about such a line."""
    return (
        f"{line.place} ends a step only with the update: the passes of all batches before it are one program,"
        " whose temporaries exist together, so that a smaller batch with more of them needs no less"
    )


def end_each_pass(line: Line) -> Remedy:
    """What helps there: gradients stay, and what the passes made does not."""
    return Remedy(
        f"end the step after each backward pass, not only with the update ({line.place}): gradients stay on"
        " the device, and the program is that of one batch",
        "loss.backward(); xm.mark_step()   # torch_xla.sync() in newer versions",
        slug="mark-step",
    )


_ACCUMULATES = regex(
    r"(?i)\b(?:gradient|update)s?\b[^.\n]{0,20}\baccumulat|\baccumulat\w*[^.\n]{0,20}\bgradient"
)
_OTHER_GROWTH = regex(r"(?i)\b(?:gr[eo]w|increas|leak|ris(?:es|ing)|climb|pil(?:es|ing)|more and more)")


def _of_gradients_alone(line: Line | None) -> bool:
    """Whether what is said to accumulate is gradients, and nothing else is said to grow."""
    return bool(line and _ACCUMULATES.search(line.text) and not _OTHER_GROWTH.search(line.text))


def remedies(case: Case, grows: bool, *, of_host: bool = False) -> Iterator[Remedy]:
    """What helps a program of PyTorch/XLA whose memory runs out, or grows, as words say. Where a step ends is
    asked of what grows, or of a loop that the text shows.
    """
    told = case.capture.surroundings
    if grows and _of_gradients_alone(told.shows("growing in words")):
        grows = False
    if told.shows("jax: accumulating") and not (of_host or grows or ended_in_some_turns(case)):
        yield _EACH_MICRO_BATCH
        return
    several = of_host and told.shows("several cores") and not told.shows("growing in words")
    if several:
        yield _ONE_AT_A_TIME if told.shows("one model wrapped") else ONE_MODEL
    if not of_host and not grows and sharded_in_words(case):
        yield SEE_THAT_WRAPPED
    if told.shows("between epochs"):
        yield _BETWEEN_EPOCHS
    elif not several and (grows or shows_steps(case)):
        yield from _ends(case)
    if grows or shows_steps(case):
        yield COUNT
    if grows and not several:
        yield ROLL_LOOPS


_SHOW_STEPS = (
    "stepping",
    "reading seldom",
    "failing late",
    "compiling in words",
    "many shapes",
    "jax: recompiling",
    "jax: accumulating",
)


def shows_steps(case: Case, moment: Moment | None = None) -> bool:
    """Whether the text shows a loop of steps, or that it fails in one of many: then a graph may grow."""
    told, request = case.capture.surroundings, moment.request if moment else None
    texts = [line.text for line in told.code]
    texts.append((request.failed.source_text if request else None) or "")
    return any(map(told.shows, _SHOW_STEPS)) or any(map(_BACKWARD.search, texts))


def _ends(case: Case) -> Iterator[Remedy]:
    """Where steps have to end; where a library runs the loop it does that."""
    told = case.capture.surroundings
    if line := ended_in_some_turns(case):
        yield end_each_pass(line)
    elif told.shows("ending steps") and _without_barrier(case):
        yield _BARRIER
    elif told.shows("ending steps"):
        yield _ALREADY
    elif not (told.shows("stepped by a trainer") or ended_in_the_traceback(case)):
        yield END_EACH


def ended_in_the_traceback(case: Case) -> bool:
    """Whether the line that failed goes through a loader that ends a step for each batch."""
    source = " ".join(m.request.failed.source_text or "" for m in case.moments[:1] if m.request)
    return bool(_LOADS.search(source))


_LOADS = regex(r"\bper_device_loader\(|\bMpDeviceLoader\b")
