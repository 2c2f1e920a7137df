"""It failed while weights were being loaded.

What it means: until it is assigned, each value that is read lies beside the variable that it replaces, and a
model that is loaded beside another (a teacher, an average of weights, the one of an earlier call) holds as
much again. No batch plays a part.
When it fires: the user's line loads or restores weights, or the failing node is a Saver's.
What to do: one model in the process at a time; load before the optimizer's slots exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the request"
_LOADS = regex(
    r"\.(?P<call>load_weights|set_weights|restore|load_own_variables)\("
    r"|\b(?P<function>load_model|from_pretrained|load_checkpoint|batch_set_value)\("
)
_MAKES = regex(r"\b(?:from_preset|from_pretrained)\(")
"""Calls that make a whole pretrained model, and then load it."""
_HALF = ("bfloat16", "float16", "half")


def _less_of_it(dtype: str | None) -> Remedy:
    """A smaller model, or fewer bits than its weights have."""
    bits = "8 or 4 bits" if dtype in _HALF else "bfloat16, 8 bits"
    return Remedy(
        f"take a smaller pretrained model, or load its weights in fewer bits ({bits} where the library has"
        " it), or on a GPU that holds them: no batch plays a part yet",
        slug="smaller-model",
    )


_USERS = Remedy(
    "first see whether another process holds the device; if nobody does, these weights alone are too large"
    " for it: a smaller model, or 16-bit weights",
    "nvidia-smi",
    slug="see-device-users",
)
_BEFORE_TRAINING = Remedy(
    "load before the first step: the optimizer's slots come with it, and take once or twice what the"
    " weights do",
    slug="load-before-training",
)
_TRAINING = ("training", "training in words", "fitting")
_KINDS = (RequestKind.TENSOR, RequestKind.COPY)
_SAVER = regex(r"(?:\A|/)save(?:_\d+)?/(?:RestoreV2|restore_all|Assign)")
_TRAINS = regex(r"\b(?:fit\w*|predict\w*|evaluate|train\w*|GradientTape)\b\s*\(")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    for index, moment, request in list(requests(case))[:1]:
        if (made := _making(request)) and not on_host(moment):
            yield _of_a_pretrained(index, request, made)
            continue
        how = _loading(request)
        if how is None or on_host(moment) or request.failed.kind not in _KINDS:
            continue
        what = f"it failed while weights were being loaded ({how})"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: each value lies beside the variable that it replaces until it is assigned",
            because=f"{what}, where each new value lies beside the old one until it is assigned",
            explains=request.needed_bytes,
            evidence=(Evidence("the request", request.failed.line),),
            detail="Another model that is alive in the process holds its weights besides.",
            rules_out=_OF_A_BATCH,
            remedies=tuple(_of_a_saver(case, moment))
            if _SAVER.search(request.failed.node or "")
            else (
                *((_USERS,) if request.failed.kind is RequestKind.COPY else ()),
                Remedy(
                    "have one model in the process: let an older one, or a copy of it, go before you load",
                    "del model; tf.keras.backend.clear_session(); model = build(); model.load_weights(path)",
                    slug="one-model-at-a-time",
                ),
                *((_BEFORE_TRAINING,) if any(map(told.shows, _TRAINING)) else ()),
            ),
            moment=index,
        )


def _making(request: Request) -> str | None:
    """The call that makes a pretrained model whose weight found no room, None where none does."""
    failed, shape = request.failed, request.failed.shape
    code = failed.source_text or ""
    match = _MAKES.search(code)
    if match is None or failed.kind is not RequestKind.TENSOR or _TRAINS.search(code) or failed.keras_call:
        return None
    return f"`{match[0][:-1]}` at {failed.source}" if shape is not None and len(shape) <= _MATRIX else None


_MATRIX = 2


def _of_a_pretrained(index: int, request: Request, made: str) -> Finding:
    what = f"a weight of the pretrained model found no room while the model was being made ({made})"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.needed_bytes,
        evidence=(Evidence("the request", request.failed.line),),
        remedies=(
            _less_of_it(request.failed.dtype),
            Remedy(
                "have one model in the process: a cell that is run again leaves the earlier model on the GPU",
                "del model; tf.keras.backend.clear_session()   # or restart the notebook's kernel",
                slug="one-model-at-a-time",
            ),
        ),
        moment=index,
        rules_out=_OF_A_BATCH,
    )


_OF_A_BATCH = (
    *("in-pieces", "smaller-batch", "smaller-input", "smaller-evaluation-batch", "smaller-pipeline"),
    *("growth", "gradient-accumulation", "shorter-sequences", "bucket-sequences"),
)
"""What a training step may lack, which none has run yet."""


def _of_a_saver(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What helps where a checkpoint of a graph is restored, all variables of which must fit. The driver has
    refused regions where something else is on the device, which then comes first.
    """
    refused = moment.incident.driver_failures if moment.incident else ()
    of_copy = moment.request is not None and moment.request.failed.kind is RequestKind.COPY
    others = (*refused, *case.capture.surroundings.refusals)
    users = [each for use in case.capture.surroundings.device_uses for each in use.processes]
    if of_copy and len(users) > 1:
        yield Remedy(
            f"a table lists {len(users)} processes ({users[0].line.place}), and what they hold of this GPU is"
            " missing here: end what is not needed, or run it on another GPU",
            slug="another-gpu",
        )
    elif of_copy and others:
        yield _WHO_ELSE
    yield Remedy(
        "all variables of the graph, the optimizer's slots among them, must fit, whatever the batch: take the"
        " program's smaller model (fewer units or channels, a lighter variant, a smaller image where layers"
        " follow a Flatten), or a GPU with more memory",
        slug="smaller-model",
    )
    yield Remedy(
        "where it only tests or exports: build no optimizer and restore the network alone, a third of the"
        " bytes with Adam",
        "saver = tf.train.Saver(tf.trainable_variables())",
        slug="less-optimizer-state",
    )
    if of_copy and not (others or users):
        yield _WHO_ELSE


_WHO_ELSE = Remedy(
    "see whether another process holds the device, or run it on another GPU",
    "nvidia-smi",
    slug="see-device-users",
)


def _loading(request: Request) -> str | None:
    """How weights were being loaded, None where they were not."""
    failed = request.failed
    if _SAVER.search(failed.node or ""):
        return f"`{failed.node}`"
    code = failed.source_text or ""
    match = _LOADS.search(code)
    if match is None or failed.creating or failed.keras_call or failed.keras_layer or _TRAINS.search(code):
        return None
    return f"`{match['call'] or match['function']}` at {failed.source}"
