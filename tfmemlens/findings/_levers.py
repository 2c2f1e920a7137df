"""The remedies that several rules offer, with what each would save here."""

from __future__ import annotations

from tfmemlens.findings import _code
from tfmemlens.findings._rows import of_kind, total
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Api, Moment
from tfmemlens.model.finding import Certainty, Remedy

BATCH_KINDS = (Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE, Kind.LOOP_STACK)


def smaller_batch(moment: Moment) -> Remedy:
    """Half the batch: everything whose first dimension is the batch halves. Weight gradients, weights and slots stay."""
    scaling = total(of_kind(moment, *BATCH_KINDS))
    batch = _batch(moment)
    example = f" ({batch} -> {batch // 2})" if batch and batch > 1 else ""
    return Remedy(
        f"halve the batch{example}; accumulate gradients over two steps if you need the same effective batch",
        saves_bytes=scaling // 2 or None,
        certainty=Certainty.ESTIMATE if scaling else None,
    )


def half_precision(moment: Moment, api: Api) -> Remedy | None:
    """Activations in 16 bits; weights and slots stay in 32."""
    code = _code.mixed_precision(api)
    floats = [row for row in of_kind(moment, *BATCH_KINDS) if row.allocation.dtype in (None, "float32")]
    if code is None:
        return None
    return Remedy(
        "compute in float16 or bfloat16 (mixed precision): activations halve, weights and optimizer slots do not",
        code,
        total(floats) // 2 or None,
        Certainty.ESTIMATE if floats else None,
    )


def recompute(moment: Moment, api: Api) -> Remedy | None:
    """Keep only the inputs of blocks, compute the rest again in backward."""
    code = _code.recompute(api)
    kept = total(of_kind(moment, Kind.ACTIVATION))
    if code is None:
        return None
    return Remedy(
        "recompute activations in backward (gradient checkpointing): about 30 % more time, and only the blocks' inputs are kept",
        code,
        kept // 2 or None,
        Certainty.ESTIMATE if kept else None,
    )


def _batch(moment: Moment) -> int | None:
    shape = moment.request.failed.shape if moment.request else None
    return shape[0] if shape and len(shape) >= 2 else None
