"""What the GPU's driver says when it has no memory to give."""

from __future__ import annotations

from tfmemlens.model.case import Moment
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

_CONTEXT = regex(
    r"cuDevicePrimaryCtxRetain|cuCtxCreate|\bcuInit\b|initializing StreamExecutor|implicit initialization"
)


def of_context(moment: Moment) -> bool:
    """Whether the driver failed while it made a context."""
    failed = moment.request.failed if moment.request else None
    return (
        failed is not None
        and failed.kind is RequestKind.DRIVER
        and failed.line is not None
        and bool(_CONTEXT.search(failed.line.text))
    )
