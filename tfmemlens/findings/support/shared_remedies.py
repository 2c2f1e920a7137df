"""The remedies that several rules offer, with what each would save here."""

from __future__ import annotations

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import Row, is_forward_only, of_kind, rows, total
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Api, Moment
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.scaling import BATCH_KINDS, grows_with_batch
from tfmemlens.model.scaling import of_weights as node_of_weights


def smaller_batch(moment: Moment) -> Remedy:
    """Half the batch: everything whose first dimension is the batch halves. Weight gradients, weights and
    slots stay.
    """
    scaling = _growing_with_batch(moment)
    batch = _batch(moment)
    if batch == 1 and not scaling:
        return Remedy(
            "the batch is 1 already: make the samples themselves smaller (crop or tile images, shorten"
            " sequences), or the model"
        )
    example = f" ({batch} -> {batch // 2})" if batch and batch > 1 else ""
    training = (
        ""
        if is_forward_only(moment)
        else "; accumulate gradients over two steps if you need the same effective batch"
    )
    return Remedy(
        f"halve the batch{example}{training}",
        saves_bytes=scaling // 2 or None,
        certainty=Certainty.ESTIMATE if scaling else None,
    )


def half_precision(moment: Moment, api: Api) -> Remedy | None:
    """Activations in 16 bits; weights and slots stay in 32."""
    code = code_snippets.mixed_precision(api)
    floats = (
        []
        if _compiled(moment)
        else [row for row in of_kind(moment, *BATCH_KINDS) if row.allocation.dtype in (None, "float32")]
    )
    if code is None:
        return None
    return Remedy(
        "compute in float16 or bfloat16 (mixed precision): activations halve, weights and optimizer slots"
        " do not",
        code,
        total(floats) // 2 or None,
        Certainty.ESTIMATE if floats else None,
    )


def recompute(moment: Moment, api: Api) -> Remedy | None:
    """Keep only the inputs of blocks, compute the rest again in backward."""
    code = code_snippets.recompute(api)
    kept = 0 if _compiled(moment) else total(of_kind(moment, Kind.ACTIVATION))
    if code is None:
        return None
    return Remedy(
        "recompute activations in backward (gradient checkpointing): about 30 % more time, and only the"
        " blocks' inputs are kept",
        code,
        kept // 2 or None,
        Certainty.ESTIMATE if kept else None,
    )


def of_weights(row: Row) -> bool:
    """Whether a gradient is that of a weight: it has the weight's shape, whatever the batch."""
    return node_of_weights(row.allocation.node)


def _compiled(moment: Moment) -> CompilerMemory | None:
    return moment.incident.compiler if moment.incident else None


def _growing_with_batch(moment: Moment) -> int:
    """Bytes of what grows with the batch; of a compiled program its temporaries, for its list names only the
    largest.
    """
    if compiler := _compiled(moment):
        temporaries = compiler.section("preallocated temp") or compiler.section("HLO temp")
        return temporaries.bytes if temporaries else 0
    return total(rows(moment, lambda row: grows_with_batch(row.owner, row.allocation.node)))


def _batch(moment: Moment) -> int | None:
    """The first dimension of what was asked for, where that is a batch: not of weights, slots, or im2col
    buffers.
    """
    request = moment.request
    if (
        request is None
        or request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.WORKSPACE)
        or request.owner.phase is Phase.OPTIMIZER
    ):
        return None
    if request.owner.phase is Phase.GRADIENT and len(request.failed.shape or ()) == 2:
        return None  # as likely the gradient of a kernel
    shape = request.failed.shape
    return shape[0] if shape and len(shape) >= 2 else None
